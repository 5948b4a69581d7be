//! A 64-bit hash, for the tables of balancers and sketches.

/// SplitMix64's finaliser (Steele, Lea and Flood, OOPSLA 2014): every bit of the word flips about half of the hash's bits.
#[inline]
pub fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// Maps a hash, or random bits, to `0..bound`, by the upper 32 bits. The bound is at most 2³².
#[inline]
pub(crate) fn reduce(hash: u64, bound: usize) -> usize {
    (((hash >> 32) * bound as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn mix__is_what_splitmix64_gives() {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        for seed in [0, 1, STEP, u64::MAX] {
            assert_eq!(mix(seed.wrapping_add(STEP)), SplitMix64::seed_from_u64(seed).next_u64(), "{seed}");
        }
    }

    #[test]
    fn reduce__shares_the_range_evenly() {
        let ends = [0, (1 << 62) - 1, 1 << 62, u64::MAX];
        assert_eq!(ends.map(|hash| reduce(hash, 4)), [0, 0, 1, 3]);
        assert_eq!(reduce(u64::MAX, 1), 0);
    }
}
