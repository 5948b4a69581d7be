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
    /// End of simulated time: no event runs from here on. Events that earlier ones schedule less than 70 s ahead still
    /// fit.
    const END: Time;
    /// The largest number of sources.
    const SOURCES: usize;

    /// Builds the key of an event before [`Key::END`].
    fn new(at: Time, source: u32) -> Self;
    /// Returns its instant.
    fn time(self) -> Time;
    /// Returns its source.
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
    const END: Time = Time(u64::MAX - (1 << 46));
    const SOURCES: usize = u32::MAX as usize;

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

/// The least key of a fixed number of sources: a binary tournament.
///
/// Every update climbs to the root without a branch on what it finds there: stopping early saves instructions and costs
/// time, as it is mispredicted. Four children a node instead of two were slower too, and so were leaves only for sources
/// that have an event.
pub struct WinnerTree<K> {
    /// Heap-shaped: node i is the lesser of 2i and 2i + 1; the sources are the last half. The length is a power of two.
    nodes: Vec<K>,
    /// Writes a source's key, climbs to the root of a tree of this size, and returns the least key.
    climb: fn(&mut [K], u32, K) -> K,
    first: K,
}

impl<K: Key> WinnerTree<K> {
    /// Builds a tree without events.
    pub fn new(sources: usize) -> WinnerTree<K> {
        let levels = sources.next_power_of_two().ilog2().max(FEWEST_LEVELS);
        WinnerTree { nodes: vec![K::NEVER; 2 << levels], climb: climb_in(levels), first: K::NEVER }
    }

    /// Sets a source's event, or removes it with [`Key::NEVER`].
    #[inline(always)]
    pub fn set(&mut self, source: u32, key: K) {
        self.first = (self.climb)(&mut self.nodes, source, key);
    }

    /// Returns whether the sources' data exceeds the nearest caches.
    #[inline(always)]
    pub fn is_large(&self) -> bool {
        self.nodes.len() >= LARGE
    }

    /// Returns the sources with the first event in the sixteenth and in the 256th that contain `source`, for a large
    /// tree. Every source is returned as the first of its 256th, then of its sixteenth, before its event runs.
    #[inline(always)]
    pub fn soon(&self, source: u32) -> [u32; 2] {
        let leaf = self.nodes.len() / 2 + source as usize;
        let levels = leaf.ilog2();
        [4, 8].map(|level| self.nodes[leaf >> (levels - level)].source())
    }

    /// Returns the next event's key.
    #[inline(always)]
    pub fn first(&self) -> K {
        self.first
    }
}

/// Nodes of a large tree: 2,048 sources.
const LARGE: usize = 1 << 12;

/// Levels of the smallest tree.
const FEWEST_LEVELS: u32 = 5;

/// Returns the climbing function for a tree of `levels` levels.
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
fn climb<K: Key, const NODES: usize>(nodes: &mut [K], source: u32, key: K) -> K {
    let Ok(nodes) = <&mut [K; NODES]>::try_from(nodes) else { return key };
    let mut at = (NODES / 2 + source as usize) % NODES;
    let mut winner = key;
    nodes[at] = winner;
    for _ in 1..NODES.ilog2() {
        winner = winner.min(nodes[at ^ 1]);
        at /= 2;
        nodes[at] = winner;
    }
    winner
}

fn climb_any<K: Key>(nodes: &mut [K], source: u32, key: K) -> K {
    let mut at = nodes.len() / 2 + source as usize;
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
        fn winner_tree__agrees_with_a_scan(
            sources in 1u32..600,
            steps in prop::collection::vec((0u32..600, prop::option::of(0u64..50)), 0..200),
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
