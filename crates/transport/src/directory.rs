//! Places by flow, for packets that do not name their place: a table with open addressing, in which nothing is forgotten.

use flowsieve_core::NONE;

/// From a flow's number to a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    /// (flow, place), where the place is not [`NONE`]; empty, or a power of two, at most three quarters full.
    entries: Vec<(u32, u32)>,
    used: usize,
}

impl Directory {
    #[inline]
    fn slot(&self, flow: u32) -> usize {
        // Fibonacci hashing: the upper bits are the good ones.
        let hash = flow.wrapping_mul(0x9e37_79b9);
        let mut at = (hash >> 16 ^ hash) as usize & (self.entries.len() - 1);
        while self.entries[at].1 != NONE && self.entries[at].0 != flow {
            at = (at + 1) & (self.entries.len() - 1);
        }
        at
    }

    /// The flow's place.
    #[inline]
    pub(crate) fn get(&self, flow: u32) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        let (_, place) = self.entries[self.slot(flow)];
        (place != NONE).then_some(place)
    }

    /// Gives a new flow its place.
    pub(crate) fn insert(&mut self, flow: u32, place: u32) {
        if 4 * (self.used + 1) > 3 * self.entries.len() {
            let size = (2 * self.entries.len()).max(8);
            let old = std::mem::replace(&mut self.entries, vec![(0, NONE); size]);
            for (flow, place) in old.into_iter().filter(|&(_, place)| place != NONE) {
                let slot = self.slot(flow);
                self.entries[slot] = (flow, place);
            }
        }
        let slot = self.slot(flow);
        self.entries[slot] = (flow, place);
        self.used += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn get__after_many_inserts() {
        let mut directory = Directory::default();
        assert_eq!(directory.get(7), None);
        (0..1_000).for_each(|i| directory.insert(i * 977, i));
        assert!((0..1_000).all(|i| directory.get(i * 977) == Some(i)));
        assert_eq!(directory.get(1), None);
    }
}
