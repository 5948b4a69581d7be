//! What each link of a lab sent, by queue and priority.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flowsieve_sim::in_memory::{Event, Observer, PortCounts};

/// What a link sent, by the queue and by the priority of its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkTally {
    /// What its port counted.
    pub port: PortCounts,
    /// Bytes of packets sent.
    pub bytes: u64,
    /// Packets sent, by queue.
    pub by_queue: Vec<u64>,
    /// Packets sent, by priority.
    pub by_priority: Vec<u64>,
}

/// Counts of all links' packets, by queue and priority. Only the fabric's thread writes.
pub(super) struct Tallies {
    pub(super) links: Vec<[AtomicU64; 1 + 2 * LEVELS]>,
}

/// Queues and priorities that are told apart; the last stands for all beyond.
const LEVELS: usize = 64;

impl Tallies {
    pub(super) fn new(links: usize) -> Tallies {
        Tallies { links: (0..links).map(|_| std::array::from_fn(|_| AtomicU64::new(0))).collect() }
    }

    /// Returns an observer that counts what leaves each port.
    pub(super) fn observer(self: &Arc<Tallies>) -> Observer {
        let tallies = Arc::clone(self);
        Box::new(move |event, meta| {
            if let Event::Sent { link, .. } = event {
                let counts = &tallies.links[link as usize];
                let level = |number: u8| usize::from(number).min(LEVELS - 1);
                let add = |place: usize, by: u64| counts[place].fetch_add(by, Ordering::Relaxed);
                add(0, meta.len.into());
                add(1 + level(meta.queue), 1);
                add(1 + LEVELS + level(meta.tag.priority()), 1);
            }
        })
    }
}

impl LinkTally {
    pub(super) fn of(port: PortCounts, counts: &[AtomicU64; 1 + 2 * LEVELS]) -> LinkTally {
        let get = |place: usize| counts[place].load(Ordering::Relaxed);
        let levels = |from: usize| (from..from + LEVELS).map(get).collect();
        LinkTally { port, bytes: get(0), by_queue: levels(1), by_priority: levels(1 + LEVELS) }
    }

    /// Returns what was counted since an earlier moment, without levels at the end that have nothing.
    pub(super) fn since(&self, earlier: Option<&LinkTally>) -> LinkTally {
        let none = LinkTally::default();
        let earlier = earlier.unwrap_or(&none);
        let less = |now: &[u64], then: &[u64]| {
            let of = |level: usize| now[level] - then.get(level).copied().unwrap_or(0);
            let mut counts: Vec<u64> = (0..now.len()).map(of).collect();
            counts.truncate(counts.iter().rposition(|&count| count > 0).map_or(1, |last| last + 1));
            counts
        };
        LinkTally {
            port: self.port.since(&earlier.port),
            bytes: self.bytes - earlier.bytes,
            by_queue: less(&self.by_queue, &earlier.by_queue),
            by_priority: less(&self.by_priority, &earlier.by_priority),
        }
    }
}
