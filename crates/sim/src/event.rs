//! The event queue: a winner tree over a fixed array of sources.
//!
//! Every source (a link direction, the arrivals, a host's timers) has at most one event, so scheduling is writing a key
//! and nothing is ever allocated or cancelled. A key holds the instant above the source's number; the least key wins, so
//! that events of one instant are in the order of their sources.

use flowsieve_core::Time;

/// The order of events: by time, then by source.
pub trait Key: Copy + Ord + Send {
    /// After every event.
    const NEVER: Self;
    /// Instants from here on do not fit.
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

/// 281 s of picoseconds and 65,536 sources: one word.
impl Key for u64 {
    const NEVER: u64 = u64::MAX;
    const END: Time = Time(1 << 48);
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

/// The least key of a fixed number of sources.
pub struct WinnerTree<K> {
    /// A heap-shaped binary tree: node i is the lesser of 2i and 2i + 1; the leaves are the last half.
    nodes: Vec<K>,
}

impl<K: Key> WinnerTree<K> {
    /// A tree without events.
    pub fn new(sources: usize) -> WinnerTree<K> {
        WinnerTree { nodes: vec![K::NEVER; 2 * sources.next_power_of_two().max(2)] }
    }

    /// Gives a source its event, or takes it away with [`Key::NEVER`].
    #[inline]
    pub fn set(&mut self, source: u32, key: K) {
        let mut at = self.nodes.len() / 2 + source as usize;
        self.nodes[at] = key;
        while at > 1 {
            let winner = self.nodes[at].min(self.nodes[at ^ 1]);
            at /= 2;
            self.nodes[at] = winner;
        }
    }

    /// The next event's key.
    #[inline]
    pub fn first(&self) -> K {
        self.nodes[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn winner_tree__agrees_with_a_scan(
            sources in 1u32..70,
            steps in prop::collection::vec((0u32..70, prop::option::of(0u64..50)), 0..200),
        ) {
            let mut tree = WinnerTree::<u64>::new(sources as usize);
            let mut wide = WinnerTree::<u128>::new(sources as usize);
            let mut model = vec![None; sources as usize];
            for (source, at) in steps {
                let source = source % sources;
                model[source as usize] = at;
                tree.set(source, at.map_or(u64::NEVER, |at| u64::new(Time(at), source)));
                wide.set(source, at.map_or(u128::NEVER, |at| u128::new(Time(at), source)));
                let first = model.iter().enumerate().filter_map(|(s, at)| at.map(|at| (Time(at), s as u32))).min();
                let key = tree.first();
                prop_assert_eq!((key != u64::NEVER).then(|| (key.time(), key.source())), first);
                let key = wide.first();
                prop_assert_eq!((key != u128::NEVER).then(|| (key.time(), key.source())), first);
            }
        }
    }
}
