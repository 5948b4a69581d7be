//! Packets between the choice of their next link and its port, in large fabrics.
//!
//! There a port lies beyond the nearest caches, and nobody knows which one a packet will join before its link is chosen.
//! So packets stand in a line of fixed length between the two, and on the way each fetches first its link, then the port,
//! its queues, and the packet that leaves next.
//!
//! Nothing of a result depends on it. Packets join ports in their order and at their own instants, and the whole line joins
//! before anybody looks at one of these ports, before the first event that any of it may bring about, and before the run
//! stops. There is no line where somebody looks at other ports than his own, or sends
//! unasked: where links have [features](crate::features), or switches programs.

use flowsieve_core::{NONE, Time};
use prefetch_index::prefetch_index;

use crate::event::Key;
use crate::network::Network;

/// Places in the line.
const PLACES: usize = 8;
/// A packet looks at its link when so many have come after it, ...
const AT_LINK: usize = 2;
/// ... at the port, ...
const AT_PORT: usize = 4;
/// ... and at its queues.
const AT_QUEUES: usize = 6;

/// A packet that has chosen its link; [`NONE`]: nobody stands here.
#[derive(Clone, Copy)]
struct Chosen {
    at: Time,
    packet: u32,
    link: u32,
    /// The link again where its port will be touched, or else any.
    port: u32,
}

const NOBODY: Chosen = Chosen { at: Time::ZERO, packet: NONE, link: 0, port: 0 };

/// The line.
pub(crate) struct Joining {
    places: [Chosen; PLACES],
    /// Packets that ever stood in it.
    entered: usize,
    /// By link: packets in the line for it; empty where there is no line.
    awaited: Vec<u8>,
    /// What joins a port arrives at the other end no sooner than after this time.
    least_delay: Time,
}

impl Joining {
    /// A line for a partition with so many links.
    pub(crate) fn new(links: usize, least_delay: Time) -> Joining {
        Joining { places: [NOBODY; PLACES], entered: 0, awaited: vec![0; links], least_delay }
    }

    /// No line.
    pub(crate) fn none() -> Joining {
        Joining::new(0, Time::ZERO)
    }

    /// Whether there is a line.
    #[inline(always)]
    pub(crate) fn exists(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Whether a packet stands in the line for this link.
    #[inline(always)]
    pub(crate) fn awaits(&self, link: u32) -> bool {
        self.awaited.get(link as usize).is_some_and(|&packets| packets > 0)
    }

    /// The place after which so many packets entered; that of the next one is 0, and that of the first in line.
    #[inline(always)]
    fn place(&mut self, after: usize) -> &mut Chosen {
        &mut self.places[self.entered.wrapping_sub(after) % PLACES]
    }
}

impl<K: Key> Network<K> {
    /// A packet that has chosen its link enters the line. Where that is full, the first leaves it.
    #[inline(never)]
    pub(crate) fn join_soon(&mut self, link: u32, packet: u32) {
        let line = &mut self.joining;
        line.awaited[link as usize] += 1;
        prefetch_index(&self.links, link as usize);
        let first = std::mem::replace(line.place(0), Chosen { at: self.now, packet, link, port: 0 });
        line.entered += 1;

        let chosen = line.place(AT_LINK);
        let state = &self.links[chosen.link as usize];
        // Idle ports are passed. No branch: it would be a coin's toss.
        chosen.port = if (state.queued > 0) | (state.busy_until > chosen.at) { chosen.link } else { 0 };
        prefetch_index(&self.ports, chosen.port as usize);
        let port = line.place(AT_PORT).port;
        self.ports[port as usize].scheduler.fetch_queues();
        let port = line.place(AT_QUEUES).port;
        self.ports[port as usize].scheduler.fetch_front(&self.slab.metas);

        if first.packet != NONE {
            let at = line.place(0).at;
            self.join(first);
            self.stop_before_effect_of(at);
        } else if self.stop == self.horizon {
            self.stop_before_effect_of(self.now);
        }
    }

    /// The first in line chose its link at this instant.
    #[inline(always)]
    fn stop_before_effect_of(&mut self, at: Time) {
        self.stop = self.horizon.min(K::new(at + self.joining.least_delay, 0));
    }

    #[inline(always)]
    fn join(&mut self, chosen: Chosen) {
        self.joining.awaited[chosen.link as usize] -= 1;
        let now = std::mem::replace(&mut self.now, chosen.at);
        self.enqueue(chosen.link, chosen.packet);
        self.now = now;
    }

    /// The whole line joins.
    #[inline(never)]
    pub(crate) fn join_all(&mut self) {
        for after in (1..=PLACES).rev() {
            let chosen = std::mem::replace(self.joining.place(after), NOBODY);
            if chosen.packet != NONE {
                self.join(chosen);
            }
        }
        self.stop = self.horizon;
    }
}
