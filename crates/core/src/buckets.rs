//! Logarithmic buckets of whole numbers: those of HdrHistogram with two significant digits, of width 1 below 256, and of at
//! most 1/128 of their values above. They are whole numbers, so they are the same on every machine.
//!
//! HdrHistogram's library is not used, because it is too slow for counting every packet.

/// Below twice this value, buckets have a width of 1; above, this many share each power of two.
const STEPS: u64 = 128;

/// The bucket of a value, from 0: the larger the value, the higher. That of 2³² − 1 is below 2¹².
#[inline(always)]
pub const fn bucket(value: u64) -> usize {
    let doublings = ((value | (2 * STEPS - 1)).ilog2() - STEPS.ilog2()) as u64;
    (doublings * STEPS + (value >> doublings)) as usize
}

/// How often the width 1 is doubled to get the width of a bucket.
fn doublings(bucket: usize) -> u64 {
    (bucket as u64 / STEPS).saturating_sub(1)
}

/// The least value of a bucket.
pub fn least(bucket: usize) -> u64 {
    (bucket as u64 - doublings(bucket) * STEPS) << doublings(bucket)
}

/// The value in the middle of a bucket, the upper one of two.
pub fn middle(bucket: usize) -> u64 {
    least(bucket) + (1 << doublings(bucket)) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bucket__of_the_most_that_a_port_holds() {
        assert!(bucket(u32::MAX.into()) < 1 << 12);
    }

    proptest! {
        #[test]
        fn bucket__is_hdr_histograms(value in (0u32..64).prop_flat_map(|bits| 0..=u64::MAX >> bits)) {
            let library = hdrhistogram::Histogram::<u64>::new(2).unwrap();
            prop_assert_eq!(least(bucket(value)), library.lowest_equivalent(value));
            prop_assert_eq!(middle(bucket(value)), library.median_equivalent(value));
            prop_assert_eq!(bucket(library.next_non_equivalent(value >> 1)), bucket(value >> 1) + 1);
        }
    }
}
