//! Packets between the choice of their next link and its port, in large fabrics.
//!
//! In a large fabric a port lies beyond the nearest caches, and the link of a packet determines which port it joins. So
//! packets wait in a queue of fixed length after the choice of the link. On its way through the queue, a packet first
//! fetches its link, then the port, its queues, and the packet that leaves next.
//!
//! The queue does not affect results. Packets join ports in their order and at their own instants. The whole queue is
//! drained before another part reads one of these ports, before the first event that it may cause, and before the run
//! stops. Where parts read other ports or send unasked, there is no queue: with [features](crate::features) of links,
//! or with programs of switches.

use flowsieve_core::{NONE, Time};
use prefetch_index::prefetch_index;

use crate::event::Key;
use crate::network::Network;

/// Number of slots.
const SLOTS: usize = 8;
/// Position, counted from the last packet that entered, at which a packet fetches its link.
const AT_LINK: usize = 2;
/// Position at which a packet fetches its port.
const AT_PORT: usize = 4;
/// Position at which a packet fetches its port's queues.
const AT_QUEUES: usize = 6;

/// A packet that has chosen its link; [`NONE`]: the slot is empty.
#[derive(Clone, Copy)]
struct Chosen {
    at: Time,
    packet: u32,
    link: u32,
    /// The link again if its port will be touched, or else any link.
    port: u32,
}

const EMPTY_SLOT: Chosen = Chosen { at: Time::ZERO, packet: NONE, link: 0, port: 0 };

/// Packets that have chosen their links and have not joined the ports.
pub(crate) struct PrefetchQueue {
    slots: [Chosen; SLOTS],
    /// Number of packets that ever entered.
    entered: usize,
    /// By link: packets in the queue for it. Empty if there is no queue.
    awaited: Vec<u8>,
    /// The least time from joining a port to the arrival at the far end.
    least_delay: Time,
}

impl PrefetchQueue {
    /// Builds a queue for a partition with `links` links.
    pub(crate) fn new(links: usize, least_delay: Time) -> PrefetchQueue {
        PrefetchQueue { slots: [EMPTY_SLOT; SLOTS], entered: 0, awaited: vec![0; links], least_delay }
    }

    /// Builds a placeholder for no queue.
    pub(crate) fn none() -> PrefetchQueue {
        PrefetchQueue::new(0, Time::ZERO)
    }

    /// Returns whether there is a queue.
    #[inline(always)]
    pub(crate) fn exists(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Returns whether a packet in the queue is for this link.
    #[inline(always)]
    pub(crate) fn awaits(&self, link: u32) -> bool {
        self.awaited.get(link as usize).is_some_and(|&packets| packets > 0)
    }

    /// Returns the slot of the packet that was followed by `after - 1` others. Slot 0 is where the next packet enters
    /// and the first leaves.
    #[inline(always)]
    fn slot(&mut self, after: usize) -> &mut Chosen {
        &mut self.slots[self.entered.wrapping_sub(after) % SLOTS]
    }
}

impl<K: Key> Network<K> {
    /// Adds a packet that has chosen its link. If the queue is full, its first packet leaves.
    #[inline(never)]
    pub(crate) fn enter_prefetch_queue(&mut self, link: u32, packet: u32) {
        let queue = &mut self.prefetch_queue;
        queue.awaited[link as usize] += 1;
        prefetch_index(&self.links, link as usize);
        let first = std::mem::replace(queue.slot(0), Chosen { at: self.now, packet, link, port: 0 });
        queue.entered += 1;

        let chosen = queue.slot(AT_LINK);
        let state = &self.links[chosen.link as usize];
        // Idle ports are bypassed. No branch: it would be unpredictable.
        chosen.port = if (state.queued > 0) | (state.busy_until > chosen.at) { chosen.link } else { 0 };
        prefetch_index(&self.ports, chosen.port as usize);
        let port = queue.slot(AT_PORT).port;
        self.ports[port as usize].scheduler.fetch_queues();
        let port = queue.slot(AT_QUEUES).port;
        self.ports[port as usize].scheduler.fetch_front(&self.slab.metas);

        if first.packet != NONE {
            let at = queue.slot(0).at;
            self.join_port(first);
            self.stop_before_effect_of(at);
        } else if self.stop == self.horizon {
            self.stop_before_effect_of(self.now);
        }
    }

    /// Ensures that the queue is drained before any effect of the packet that chose its link at `at`.
    #[inline(always)]
    fn stop_before_effect_of(&mut self, at: Time) {
        self.stop = self.horizon.min(K::new(at + self.prefetch_queue.least_delay, 0));
    }

    #[inline(always)]
    fn join_port(&mut self, chosen: Chosen) {
        self.prefetch_queue.awaited[chosen.link as usize] -= 1;
        let now = std::mem::replace(&mut self.now, chosen.at);
        self.enqueue(chosen.link, chosen.packet);
        self.now = now;
    }

    /// Lets all packets of the queue join their ports.
    #[inline(never)]
    pub(crate) fn drain_prefetch_queue(&mut self) {
        for after in (1..=SLOTS).rev() {
            let chosen = std::mem::replace(self.prefetch_queue.slot(after), EMPTY_SLOT);
            if chosen.packet != NONE {
                self.join_port(chosen);
            }
        }
        self.stop = self.horizon;
    }
}
