//! Packets between the choice of their next link and its port, in large fabrics.
//!
//! There a port lies beyond the nearest caches, and nobody knows which one a packet will join before its link is chosen.
//! So packets wait in a queue of fixed length between the two. On the way through it each fetches first its link, then the
//! port, its queues, and the packet that leaves next.
//!
//! Nothing of a result depends on it. Packets join ports in their order and at their own instants. The whole queue is
//! drained before anybody looks at one of these ports, before the first event that any of it may bring about, and before the
//! run stops. There is no such queue where somebody looks at other ports than his own, or sends unasked: where links have
//! [features](crate::features), or switches programs.

use flowsieve_core::{NONE, Time};
use prefetch_index::prefetch_index;

use crate::event::Key;
use crate::network::Network;

/// Slots of the queue.
const SLOTS: usize = 8;
/// A packet looks at its link when so many have come after it.
const AT_LINK: usize = 2;
/// A packet looks at its port when so many have come after it.
const AT_PORT: usize = 4;
/// A packet looks at its port's queues when so many have come after it.
const AT_QUEUES: usize = 6;

/// A packet that has chosen its link; [`NONE`]: the slot is empty.
#[derive(Clone, Copy)]
struct Chosen {
    at: Time,
    packet: u32,
    link: u32,
    /// The link again where its port will be touched, or else any.
    port: u32,
}

const EMPTY_SLOT: Chosen = Chosen { at: Time::ZERO, packet: NONE, link: 0, port: 0 };

/// Packets that have chosen their links and have not joined the ports.
pub(crate) struct PrefetchQueue {
    slots: [Chosen; SLOTS],
    /// Packets that ever stood in it.
    entered: usize,
    /// By link: packets in the queue for it; empty where there is no queue.
    awaited: Vec<u8>,
    /// What joins a port arrives at the other end no sooner than after this time.
    least_delay: Time,
}

impl PrefetchQueue {
    /// A queue for a partition with so many links.
    pub(crate) fn new(links: usize, least_delay: Time) -> PrefetchQueue {
        PrefetchQueue { slots: [EMPTY_SLOT; SLOTS], entered: 0, awaited: vec![0; links], least_delay }
    }

    /// No queue.
    pub(crate) fn none() -> PrefetchQueue {
        PrefetchQueue::new(0, Time::ZERO)
    }

    /// Whether there is a queue.
    #[inline(always)]
    pub(crate) fn exists(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Whether a packet is in the queue for this link.
    #[inline(always)]
    pub(crate) fn awaits(&self, link: u32) -> bool {
        self.awaited.get(link as usize).is_some_and(|&packets| packets > 0)
    }

    /// The slot after which so many packets entered. The next one enters at 0, where the first to leave is, too.
    #[inline(always)]
    fn slot(&mut self, after: usize) -> &mut Chosen {
        &mut self.slots[self.entered.wrapping_sub(after) % SLOTS]
    }
}

impl<K: Key> Network<K> {
    /// A packet that has chosen its link enters the queue. Where that is full, the first leaves it.
    #[inline(never)]
    pub(crate) fn enter_prefetch_queue(&mut self, link: u32, packet: u32) {
        let queue = &mut self.prefetch_queue;
        queue.awaited[link as usize] += 1;
        prefetch_index(&self.links, link as usize);
        let first = std::mem::replace(queue.slot(0), Chosen { at: self.now, packet, link, port: 0 });
        queue.entered += 1;

        let chosen = queue.slot(AT_LINK);
        let state = &self.links[chosen.link as usize];
        // Idle ports are bypassed. No branch: it would be a coin's toss.
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

    /// Nothing that the packet brings about which chose its link at this instant happens before the queue is drained.
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

    /// All packets of the queue join their ports.
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
