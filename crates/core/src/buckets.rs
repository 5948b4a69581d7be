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

    /// By HdrHistogram 7 with two significant digits: least and middle value of a value's bucket.
    #[test]
    fn bucket__is_hdr_histograms() {
        let known = [
            (0, 0, 0),
            (255, 255, 255),
            (256, 256, 257),
            (257, 256, 257),
            (1_003, 1_000, 1_002),
            (1_004, 1_004, 1_006),
        ];
        for (value, least_of, middle_of) in known {
            assert_eq!((least(bucket(value)), middle(bucket(value))), (least_of, middle_of), "{value}");
        }
        assert_eq!(least(bucket(u64::MAX)), u64::MAX << 56);
    }

    proptest! {
        #[test]
        fn bucket__holds_a_value_and_follows_the_one_below(value in (0u32..64).prop_flat_map(|bits| 0..=u64::MAX >> bits)) {
            let of = bucket(value);
            prop_assert!(least(of) <= value && value - least(of) <= least(of) / STEPS);
            prop_assert!(least(of) <= middle(of) && bucket(middle(of)) == of && bucket(least(of)) == of);
            prop_assert!(of == 0 || bucket(least(of) - 1) == of - 1);
        }
    }
}
