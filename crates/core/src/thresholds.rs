//! Demotion thresholds of a multi-level feedback queue, from a distribution of flow sizes and a load.
//!
//! A flow's bytes up to the first threshold go through the first queue, those up to the second through the second, and
//! so on; queues are served by strict priority. All of this is slow path: for a controller, or before a run. No
//! function uses random numbers or depends on the order of observations. Thresholds always rise, from at least 1 byte.
//!
//! - [`equal_split`]: as many flows end in each queue (NOS2, Sviridov, Bianco and Giaccone, GLOBECOM 2019, §III);
//! - [`tandem`]: minimises the mean completion time of a tandem of M/M/1 queues, the model of PIAS (Bai et al., NSDI
//!   2015);
//! - [`background`]: minimises that of an M/G/1 foreground-background queue with FIFO levels, which is the scheduler
//!   itself under Poisson arrivals at one link; [`background_slowdown_at_sizes`] minimises its mean slowdown, over few
//!   sizes;
//! - [`two_level`]: one threshold, which minimises that of two-level processor sharing (Avrachenkov, Brown and Osipova,
//!   2009).

mod background;
mod law;
mod phases;
mod tandem;
#[cfg(test)]
mod testing;
mod two_level;

pub use background::{background, background_slowdown_at_sizes, background_time};
pub use law::SizeLaw;
pub use phases::Phases;
pub use tandem::{tandem, tandem_time};
pub use two_level::{two_level, two_level_numeric};

use thiserror::Error;

/// The largest number of queues.
pub const MAX_QUEUES: usize = 64;

/// Why there are no thresholds.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum ThresholdError {
    /// No sizes.
    #[error("no flow sizes are known; expected at least one flow")]
    Empty,
    /// A size beyond every bound, which makes the mean meaningless.
    #[error("flows of up to {0} bytes; expected at most 1 PB, since sizes without a bound may have no mean")]
    TooLarge(u64),
    /// A quantile function that falls.
    #[error(
        "a share {share} of the flows has at most {found} bytes, a smaller one {before}; expected sizes that never fall"
    )]
    Falls {
        /// The share.
        share: f64,
        /// The size at a smaller share, in bytes.
        before: u64,
        /// The size at this share, in bytes.
        found: u64,
    },
    /// Too few or too many queues.
    #[error("{0} queues; expected 1 to {MAX_QUEUES}")]
    Queues(usize),
    /// A load at which no queue is stable, or nothing arrives.
    #[error("a load of {0}; expected more than 0 and less than 1")]
    Load(f64),
}

/// Returns the equal split of [`equal_split_of`] for a law.
pub fn equal_split(law: &SizeLaw, queues: usize) -> Result<Vec<u64>, ThresholdError> {
    equal_split_of(queues, |p| Some(law.quantile(p)))
}

/// Returns the equal split (NOS2, §III): the i-th of `queues` − 1 thresholds is the size that a share i / `queues` of
/// the flows do not exceed, by the given quantile function.
pub fn equal_split_of(queues: usize, quantile: impl Fn(f64) -> Option<u64>) -> Result<Vec<u64>, ThresholdError> {
    checked_queues(queues)?;
    let sizes = (1..queues).map(|i| quantile(i as f64 / queues as f64));
    let sizes: Vec<u64> = sizes.collect::<Option<_>>().ok_or(ThresholdError::Empty)?;
    Ok(rising(sizes))
}

/// Returns offsets before which these rising shares of the bytes of all flows lie.
pub fn by_bytes(law: &SizeLaw, shares: &[f64]) -> Vec<u64> {
    rising(shares.iter().map(|share| law.offset_of(*share)))
}

/// Separates equal offsets by one byte.
fn rising(offsets: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut least = 1;
    let spread = |offset: u64| {
        let offset = offset.max(least);
        least = offset + 1;
        offset
    };
    offsets.into_iter().map(spread).collect()
}

fn checked_queues(queues: usize) -> Result<(), ThresholdError> {
    if (1..=MAX_QUEUES).contains(&queues) { Ok(()) } else { Err(ThresholdError::Queues(queues)) }
}

fn checked_load(load: f64) -> Result<(), ThresholdError> {
    if load > 0.0 && load < 1.0 { Ok(()) } else { Err(ThresholdError::Load(load)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::testing::any_law;
    use proptest::prelude::*;

    #[test]
    fn equal_split__rises_where_quantiles_repeat() {
        let point_mass = |p: f64| Some(if p < 0.6 { 1_460 } else { 9_000 });
        assert_eq!(equal_split_of(4, point_mass), Ok(vec![1_460, 1_461, 9_000]));
        assert_eq!(equal_split_of(1, point_mass), Ok(vec![]));
        assert_eq!(equal_split_of(3, |_| None), Err(ThresholdError::Empty));
        let law = SizeLaw::from_counts((1..=8).map(|size| (size * 100, 1))).unwrap();
        assert_eq!(equal_split(&law, 8), Ok(vec![100, 200, 300, 400, 500, 600, 700]));
    }

    #[test]
    fn by_bytes__of_one_size_and_of_two() {
        let one = SizeLaw::from_counts([(8_000, 1)]).unwrap();
        assert_eq!(by_bytes(&one, &[0.25, 0.5]), [2_000, 4_000]);
        // Of flows with 1,000 and 3,000 bytes, a quarter of the bytes lie before 500, three quarters before 2,000.
        let two = SizeLaw::from_counts([(1_000, 1), (3_000, 1)]).unwrap();
        assert_eq!(by_bytes(&two, &[0.25, 0.5, 0.75]), [500, 1_000, 2_000]);
        let smallest = SizeLaw::from_counts([(1, 1)]).unwrap();
        assert_eq!(by_bytes(&smallest, &[0.25, 0.5]), [1, 2]);
    }

    #[test]
    fn thresholds__refuse_loads_and_queues_out_of_range() {
        let law = SizeLaw::from_counts([(1_000, 3), (5_000, 1)]).unwrap();
        for load in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
            for refused in [
                tandem(&law, load, 4),
                background(&law, load, 4),
                background_slowdown_at_sizes(&law, load, 4, 100_000),
                two_level(&law, load).map(|one| vec![one]),
            ] {
                assert!(matches!(refused, Err(ThresholdError::Load(_))), "{load}");
            }
        }
        for queues in [0, 65, usize::MAX] {
            for refused in [
                tandem(&law, 0.5, queues),
                background(&law, 0.5, queues),
                background_slowdown_at_sizes(&law, 0.5, queues, 100_000),
                equal_split(&law, queues),
            ] {
                assert_eq!(refused, Err(ThresholdError::Queues(queues)));
            }
        }
    }

    proptest! {
        #[test]
        fn thresholds__always_rise(law in any_law(), load in 0.001..0.999, queues in 1usize..=64) {
            for found in [equal_split(&law, queues), tandem(&law, load, queues), background(&law, load, queues), background_slowdown_at_sizes(&law, load, queues, 100_000)] {
                let found = found.unwrap();
                prop_assert_eq!(found.len(), queues - 1);
                prop_assert!(found.first().is_none_or(|first| *first > 0) && found.is_sorted_by(|a, b| a < b), "{:?}", found);
                prop_assert!(tandem_time(&law, load, &found) >= 1.0 && background_time(&law, load, &found) >= 1.0 - 1e-9);
            }
            for found in [two_level(&law, load), two_level_numeric(&law, load)] {
                prop_assert!(found.unwrap() > 0);
            }
        }
    }
}
