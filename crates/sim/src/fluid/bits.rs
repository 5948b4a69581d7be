//! Sets of hosts as bits: a dense one of all, and sparse ones that are intersected with it word by word.

/// A set of numbers below a bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dense(Vec<u64>);

impl Dense {
    /// Builds an empty set of numbers below `bound`.
    pub(crate) fn new(bound: usize) -> Dense {
        Dense(vec![0; bound.div_ceil(64)])
    }

    pub(crate) fn set(&mut self, number: u32, is_in: bool) {
        let (word, bit) = place(number);
        if is_in {
            self.0[word as usize] |= bit;
        } else {
            self.0[word as usize] &= !bit;
        }
    }

    pub(crate) fn has(&self, number: u32) -> bool {
        let (word, bit) = place(number);
        self.0[word as usize] & bit != 0
    }
}

/// A set whose memory depends on its content: its words with at least one bit, ascending. Each number has a rank: how
/// many are below it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sparse(Vec<Word>);

#[derive(Clone, Copy, Debug)]
struct Word {
    number: u32,
    bits: u64,
    /// The rank of the word's first number.
    rank: u32,
}

impl Word {
    fn rank_of(&self, bit: u64) -> usize {
        self.rank as usize + (self.bits & (bit - 1)).count_ones() as usize
    }
}

impl Sparse {
    /// Returns the rank of a number (`Ok`), or the rank that it would have (`Err`).
    pub(crate) fn rank(&self, number: u32) -> Result<usize, usize> {
        let (word, bit) = place(number);
        match self.0.binary_search_by_key(&word, |entry| entry.number) {
            Ok(at) if self.0[at].bits & bit != 0 => Ok(self.0[at].rank_of(bit)),
            Ok(at) => Err(self.0[at].rank_of(bit)),
            Err(at) => Err(self.rank_behind(at)),
        }
    }

    /// Returns the rank of a number in a new word before the word at `at`.
    fn rank_behind(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |last| {
            let last = self.0[last];
            (last.rank + last.bits.count_ones()) as usize
        })
    }

    pub(crate) fn insert(&mut self, number: u32) {
        let (word, bit) = place(number);
        let at = self.0.binary_search_by_key(&word, |entry| entry.number).unwrap_or_else(|at| {
            let rank = self.rank_behind(at) as u32;
            self.0.insert(at, Word { number: word, bits: 0, rank });
            at
        });
        if self.0[at].bits & bit == 0 {
            self.0[at].bits |= bit;
            self.0[at + 1..].iter_mut().for_each(|later| later.rank += 1);
        }
    }

    pub(crate) fn remove(&mut self, number: u32) {
        let (word, bit) = place(number);
        let Ok(at) = self.0.binary_search_by_key(&word, |entry| entry.number) else { return };
        if self.0[at].bits & bit != 0 {
            self.0[at].bits &= !bit;
            self.0[at + 1..].iter_mut().for_each(|later| later.rank -= 1);
            if self.0[at].bits == 0 {
                self.0.remove(at);
            }
        }
    }

    /// Returns whether the two sets have a number in common.
    pub(crate) fn meets(&self, other: &Dense) -> bool {
        self.0.iter().any(|word| word.bits & other.0[word.number as usize] != 0)
    }

    /// Returns the number of its words.
    pub(crate) fn words(&self) -> usize {
        self.0.len()
    }

    /// Returns the common numbers in one of its words at this moment, with their ranks here.
    pub(crate) fn common(&self, word: usize, other: &Dense) -> Common {
        let word = self.0[word];
        Common { word, left: word.bits & other.0[word.number as usize] }
    }
}

/// Ranks and numbers of a word, ascending.
pub(crate) struct Common {
    word: Word,
    left: u64,
}

impl Iterator for Common {
    type Item = (usize, u32);

    fn next(&mut self) -> Option<(usize, u32)> {
        let bit = self.left.trailing_zeros();
        (bit < 64).then(|| {
            self.left &= self.left - 1;
            (self.word.rank_of(1 << bit), self.word.number * 64 + bit)
        })
    }
}

fn place(number: u32) -> (u32, u64) {
    (number / 64, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common__what_both_have_ascending() {
        let mut dense = Dense::new(200);
        let mut sparse = Sparse::default();
        for number in [199, 3, 70, 64] {
            dense.set(number, true);
            sparse.insert(number);
        }
        sparse.insert(5);
        dense.set(6, true);
        let all = |sparse: &Sparse, dense: &Dense| -> Vec<(usize, u32)> {
            (0..sparse.words()).flat_map(|word| sparse.common(word, dense)).collect()
        };
        assert_eq!(all(&sparse, &dense), [(0, 3), (2, 64), (3, 70), (4, 199)]);
        assert_eq!(
            [3, 4, 5, 100, 130, 199].map(|number| sparse.rank(number)),
            [Ok(0), Err(1), Ok(1), Err(4), Err(4), Ok(4)]
        );
        dense.set(3, false);
        sparse.remove(199);
        assert_eq!((all(&sparse, &dense), sparse.words()), (vec![(2, 64), (3, 70)], 2), "an empty word is none");
        sparse.remove(5);
        assert_eq!((sparse.rank(70), sparse.rank(5)), (Ok(2), Err(1)), "those behind move up");
        assert!(sparse.meets(&dense) && dense.has(6) && !dense.has(3));
        sparse.remove(64);
        sparse.remove(70);
        assert!(!sparse.meets(&dense));
    }
}
