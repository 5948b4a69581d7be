//! The event queue: a winner tree over the sources that have an event.
//!
//! Every source (a link direction, the arrivals, a host's timers) has at most one event, so scheduling is writing a key
//! and nothing is cancelled. A key holds the instant above the source's number; the least key wins, so that events of one
//! instant are in the order of their sources.
//!
//! A source has a leaf of the tree only while it has an event. The leaf that an event leaves is kept for the next source
//! that gets one: mostly it is the next link of the same packet, and the tree is climbed once for both.

use flowsieve_core::Time;

/// The order of events: by time, then by source.
pub trait Key: Copy + Ord + Send {
    /// After every event.
    const NEVER: Self;
    /// No event runs from here on; what events before it schedule less than 70 s ahead still fits.
    const END: Time;
    /// Most sources that fit.
    const SOURCES: usize;

    /// The key of an event before [`Key::END`].
    fn new(at: Time, source: u32) -> Self;
    /// Its instant.
    fn time(self) -> Time;
    /// Its source.
    fn source(self) -> u32;
}

/// 211 s of picoseconds and 65,536 sources: one word.
impl Key for u64 {
    const NEVER: u64 = u64::MAX;
    const END: Time = Time((1 << 48) - (1 << 46));
    const SOURCES: usize = 1 << 16;

    #[inline]
    fn new(at: Time, source: u32) -> u64 {
        at.0 << 16 | u64::from(source)
    }

    #[inline]
    fn time(self) -> Time {
        Time(self >> 16)
    }

    #[inline]
    fn source(self) -> u32 {
        self as u32 & 0xffff
    }
}

/// For longer runs and larger fabrics.
impl Key for u128 {
    const NEVER: u128 = u128::MAX;
    const END: Time = Time::NEVER;
    const SOURCES: usize = 1 << 32;

    #[inline]
    fn new(at: Time, source: u32) -> u128 {
        u128::from(at.0) << 32 | u128::from(source)
    }

    #[inline]
    fn time(self) -> Time {
        Time((self >> 32) as u64)
    }

    #[inline]
    fn source(self) -> u32 {
        self as u32
    }
}

/// No leaf.
const NONE: u32 = u32::MAX;

/// The least key of a fixed number of sources: a binary tournament of those that have one.
///
/// Every update climbs to the root without a branch on what it finds there: stopping early saves instructions and costs
/// time, as it is mispredicted.
pub struct EventQueue<K> {
    /// Heap-shaped: node i is the lesser of 2i and 2i + 1; the last half are the leaves. The length is a power of two.
    nodes: Vec<K>,
    /// Writes a leaf's key and climbs, in a tree of this size; says who wins.
    climb: fn(&mut [K], u32, K) -> K,
    first: K,
    /// By source: its leaf, or [`NONE`].
    leaves: Vec<u32>,
    free: Vec<u32>,
    /// A leaf whose source has no event any more, although its key still stands in the tree; or [`NONE`].
    vacant: u32,
}

impl<K: Key> EventQueue<K> {
    /// A queue without events for `sources` sources.
    pub fn new(sources: usize) -> EventQueue<K> {
        let mut queue = EventQueue {
            nodes: Vec::new(),
            climb: climb_any,
            first: K::NEVER,
            leaves: vec![NONE; sources],
            free: Vec::new(),
            vacant: NONE,
        };
        queue.resize(1 << FEWEST_LEVELS);
        queue
    }

    /// Gives a source its event.
    #[inline(always)]
    pub fn set(&mut self, source: u32, key: K) {
        let mut leaf = self.leaves[source as usize];
        if leaf == NONE {
            leaf = self.lease(source);
        }
        self.first = (self.climb)(&mut self.nodes, leaf, key);
    }

    /// Takes a source's event away, if it has one.
    #[inline(always)]
    pub fn clear(&mut self, source: u32) {
        let leaf = std::mem::replace(&mut self.leaves[source as usize], NONE);
        if leaf != NONE {
            self.settle();
            self.vacant = leaf;
        }
    }

    /// The next event's key, or [`Key::NEVER`].
    #[inline(always)]
    pub fn first(&mut self) -> K {
        self.settle();
        self.first
    }

    /// A leaf for a source without one.
    fn lease(&mut self, source: u32) -> u32 {
        if self.vacant == NONE && self.free.is_empty() {
            self.resize(self.nodes.len());
        }
        let vacant = std::mem::replace(&mut self.vacant, NONE);
        let leaf = if vacant == NONE { self.free.pop().unwrap_or(NONE) } else { vacant };
        self.leaves[source as usize] = leaf;
        leaf
    }

    /// The vacant leaf's key leaves the tree.
    #[inline(always)]
    fn settle(&mut self) {
        if self.vacant != NONE {
            self.give_back();
        }
    }

    #[inline(never)]
    fn give_back(&mut self) {
        let leaf = std::mem::replace(&mut self.vacant, NONE);
        self.first = (self.climb)(&mut self.nodes, leaf, K::NEVER);
        self.free.push(leaf);
    }

    /// Makes a tree of `leaves` leaves, twice as many as there are or the first.
    #[cold]
    fn resize(&mut self, leaves: usize) {
        let old = std::mem::replace(&mut self.nodes, vec![K::NEVER; 2 * leaves]);
        self.climb = climb_in(leaves.ilog2());
        let (_, keys) = old.split_at(old.len() / 2);
        for (&key, leaf) in keys.iter().zip(0..) {
            self.first = (self.climb)(&mut self.nodes, leaf, key);
        }
        self.free.extend((keys.len() as u32..leaves as u32).rev());
    }
}

/// Levels of the smallest tree.
const FEWEST_LEVELS: u32 = 5;

/// How a tree of so many levels is climbed.
fn climb_in<K: Key>(levels: u32) -> fn(&mut [K], u32, K) -> K {
    macro_rules! sizes {
        ($($levels:literal)*) => {
            match levels {
                $($levels => climb::<K, { 2 << $levels }>,)*
                _ => climb_any,
            }
        };
    }
    sizes!(5 6 7 8 9 10 11 12 13 14 15 16)
}

/// Climbs in a tree whose size the compiler knows, so that it unrolls the loop and checks no index.
fn climb<K: Key, const NODES: usize>(nodes: &mut [K], leaf: u32, key: K) -> K {
    let Ok(nodes) = <&mut [K; NODES]>::try_from(nodes) else { return key };
    let mut at = (NODES / 2 + leaf as usize) % NODES;
    let mut winner = key;
    nodes[at] = winner;
    for _ in 1..NODES.ilog2() {
        winner = winner.min(nodes[at ^ 1]);
        at /= 2;
        nodes[at] = winner;
    }
    winner
}

fn climb_any<K: Key>(nodes: &mut [K], leaf: u32, key: K) -> K {
    let mut at = nodes.len() / 2 + leaf as usize;
    nodes[at] = key;
    while at > 1 {
        let winner = nodes[at].min(nodes[at ^ 1]);
        at /= 2;
        nodes[at] = winner;
    }
    nodes[at]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn event_queue__agrees_with_a_scan(
            sources in 1u32..600,
            steps in prop::collection::vec((0u32..600, prop::option::of(0u64..50)), 0..200),
        ) {
            let mut tree = EventQueue::<u64>::new(sources as usize);
            let mut wide = EventQueue::<u128>::new(sources as usize);
            let mut model = vec![None; sources as usize];
            for (source, at) in steps {
                let source = source % sources;
                model[source as usize] = at;
                match at {
                    Some(at) => {
                        tree.set(source, u64::new(Time(at), source));
                        wide.set(source, u128::new(Time(at), source));
                    }
                    None => {
                        tree.clear(source);
                        wide.clear(source);
                    }
                }
                let first = model.iter().enumerate().filter_map(|(s, at)| at.map(|at| (Time(at), s as u32))).min();
                let key = tree.first();
                prop_assert_eq!((key != u64::NEVER).then(|| (key.time(), key.source())), first);
                let key = wide.first();
                prop_assert_eq!((key != u128::NEVER).then(|| (key.time(), key.source())), first);
            }
        }
    }
}
