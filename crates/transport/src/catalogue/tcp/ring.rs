//! A ring of bits over a sliding window of sequence numbers: which are acknowledged, lost or received.
//!
//! Bits outside the window are zero, and queries stay inside the window that [`Ring::ensure`] has made room for. Memory is
//! allocated with the first bit that is set, and grows with the window by doubling.

/// `LANES` bits for each sequence number of a window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring<const LANES: usize> {
    /// Empty, or a power of two of words; sequence number s is in word s / 64 modulo their number.
    words: Vec<[u64; LANES]>,
}

impl<const LANES: usize> Ring<LANES> {
    /// Makes room for the window `from..to` and keeps the bits from `from` on.
    #[inline]
    pub(crate) fn ensure(&mut self, from: u32, to: u32) {
        // One word more than the window fills, as it may start in the middle of a word.
        let words = ((to - from) / 64 + 2) as usize;
        if words > self.words.len() {
            self.grow(from, words.next_power_of_two());
        }
    }

    #[cold]
    fn grow(&mut self, from: u32, size: usize) {
        let old = std::mem::replace(&mut self.words, vec![[0; LANES]; size]);
        let first = (from / 64) as usize;
        for word in first..first + old.len() {
            self.words[word & (size - 1)] = old[word & (old.len() - 1)];
        }
    }

    #[inline]
    fn at(&self, seq: u32) -> usize {
        (seq / 64) as usize & (self.words.len() - 1)
    }

    #[inline]
    pub(crate) fn get(&self, lane: usize, seq: u32) -> bool {
        self.words[self.at(seq)][lane] >> (seq % 64) & 1 == 1
    }

    #[inline]
    pub(crate) fn set(&mut self, lane: usize, seq: u32) {
        let at = self.at(seq);
        self.words[at][lane] |= 1 << (seq % 64);
    }

    #[inline]
    pub(crate) fn clear(&mut self, lane: usize, seq: u32) {
        let at = self.at(seq);
        self.words[at][lane] &= !(1 << (seq % 64));
    }

    /// Visits the words that `from..to` touches, each with the mask of its bits in the range.
    #[inline]
    pub(crate) fn for_each_word(&mut self, from: u32, to: u32, mut visit: impl FnMut(&mut [u64; LANES], u64)) {
        let mut seq = from;
        while seq < to {
            let next = (seq | 63).saturating_add(1).min(to);
            let mask = (u64::MAX >> (64 - (next - seq))) << (seq % 64);
            let at = self.at(seq);
            visit(&mut self.words[at], mask);
            seq = next;
        }
    }

    /// Returns the first sequence number in `from..to` whose bit is set.
    #[inline]
    pub(crate) fn first_set(&self, lane: usize, from: u32, to: u32) -> Option<u32> {
        let mut seq = from;
        while seq < to {
            let rest = self.words[self.at(seq)][lane] >> (seq % 64);
            if rest != 0 {
                let found = seq + rest.trailing_zeros();
                return (found < to).then_some(found);
            }
            seq = (seq | 63).checked_add(1)?;
        }
        None
    }

    /// Returns one past the run of set bits that starts at `from`.
    #[inline]
    pub(crate) fn run_end(&self, lane: usize, from: u32) -> u32 {
        let mut seq = from;
        loop {
            let ones = (!(self.words[self.at(seq)][lane] >> (seq % 64))).trailing_zeros().min(64 - seq % 64);
            seq += ones;
            if ones == 0 || !seq.is_multiple_of(64) || seq - from >= 64 * self.words.len() as u32 {
                return seq;
            }
        }
    }

    /// Returns the start of the run of set bits that ends with `seq`, not before `floor`.
    #[inline]
    pub(crate) fn run_start(&self, lane: usize, seq: u32, floor: u32) -> u32 {
        let mut end = seq + 1;
        while end > floor {
            let last = end - 1;
            let ones = (!(self.words[self.at(last)][lane] << (63 - last % 64))).leading_zeros().min(last % 64 + 1);
            end -= ones;
            if ones == 0 || !end.is_multiple_of(64) {
                break;
            }
        }
        end.max(floor)
    }

    /// Returns the `nth` (from 1) highest sequence number in `from..to` whose bit is set.
    pub(crate) fn nth_highest(&self, lane: usize, from: u32, to: u32, nth: u32) -> Option<u32> {
        let mut left = nth;
        let mut end = to;
        while end > from {
            let last = end - 1;
            let start = (last & !63).max(from);
            let mut word = self.words[self.at(last)][lane] << (63 - last % 64) >> (63 - last % 64);
            word &= u64::MAX << (start % 64);
            let here = word.count_ones();
            if here >= left {
                for _ in 1..left {
                    word &= !(1 << word.ilog2());
                }
                return Some((last & !63) + word.ilog2());
            }
            left -= here;
            end = start;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Compares every query with a plain set, over windows that start anywhere and grow twice.
        #[test]
        fn ring__agrees_with_a_set(
            base in 0u32..1_000,
            bits in prop::collection::btree_set(0u32..400, 0..300),
            probe in 0u32..400,
            nth in 1u32..5,
        ) {
            let set: BTreeSet<u32> = bits.iter().map(|b| b + base).collect();
            let mut ring = Ring::<1>::default();
            for &seq in &set {
                ring.ensure(base, seq + 1);
                ring.set(0, seq);
            }
            let (from, to, at) = (base, base + 400, base + probe);
            ring.ensure(from, to);
            for seq in from..to {
                prop_assert_eq!(ring.get(0, seq), set.contains(&seq));
            }
            prop_assert_eq!(ring.first_set(0, at, to), set.range(at..to).next().copied());
            prop_assert_eq!(ring.nth_highest(0, from, at, nth), set.range(from..at).rev().nth(nth as usize - 1).copied());
            if set.contains(&at) {
                let end = (at..).find(|s| !set.contains(s)).unwrap();
                let start = (from..=at).rev().take_while(|s| set.contains(s)).last().unwrap();
                prop_assert_eq!(ring.run_end(0, at), end);
                prop_assert_eq!(ring.run_start(0, at, from), start);
            }
            let mut count = 0;
            ring.for_each_word(at, to, |word, mask| { count += (word[0] & mask).count_ones(); word[0] &= !mask; });
            prop_assert_eq!(count as usize, set.range(at..to).count());
            prop_assert_eq!(ring.first_set(0, at, to), None);
        }
    }
}
