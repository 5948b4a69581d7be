//! Sets of hosts as bits: a dense one of all, and sparse ones that are met with it word by word.

/// A set of numbers below a bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dense(Vec<u64>);

impl Dense {
    /// None of the numbers below `bound`.
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

/// A set that takes memory by what is in it: words with a bit at least, ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sparse(Vec<(u32, u64)>);

impl Sparse {
    pub(crate) fn insert(&mut self, number: u32) {
        let (word, bit) = place(number);
        match self.0.binary_search_by_key(&word, |entry| entry.0) {
            Ok(at) => self.0[at].1 |= bit,
            Err(at) => self.0.insert(at, (word, bit)),
        }
    }

    pub(crate) fn remove(&mut self, number: u32) {
        let (word, bit) = place(number);
        if let Ok(at) = self.0.binary_search_by_key(&word, |entry| entry.0) {
            self.0[at].1 &= !bit;
            if self.0[at].1 == 0 {
                self.0.remove(at);
            }
        }
    }

    /// Whether the two have a number in common.
    pub(crate) fn meets(&self, other: &Dense) -> bool {
        self.0.iter().any(|&(word, bits)| bits & other.0[word as usize] != 0)
    }

    /// How many words it has.
    pub(crate) fn words(&self) -> usize {
        self.0.len()
    }

    /// The numbers in common in one of its words, as they are now.
    pub(crate) fn common(&self, word: usize, other: &Dense) -> Common {
        let (number, bits) = self.0[word];
        Common { first: number * 64, bits: bits & other.0[number as usize] }
    }
}

/// Numbers of a word, ascending.
pub(crate) struct Common {
    first: u32,
    bits: u64,
}

impl Iterator for Common {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let bit = self.bits.trailing_zeros();
        (bit < 64).then(|| {
            self.bits &= self.bits - 1;
            self.first + bit
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
        let all = |sparse: &Sparse, dense: &Dense| -> Vec<u32> {
            (0..sparse.words()).flat_map(|word| sparse.common(word, dense)).collect()
        };
        assert_eq!(all(&sparse, &dense), [3, 64, 70, 199]);
        dense.set(3, false);
        sparse.remove(199);
        assert_eq!((all(&sparse, &dense), sparse.words()), (vec![64, 70], 2), "an empty word is none");
        assert!(sparse.meets(&dense) && dense.has(6) && !dense.has(3));
        sparse.remove(64);
        sparse.remove(70);
        assert!(!sparse.meets(&dense));
    }
}
