//! The tandem of M/M/1 queues: PIAS's model of its thresholds (Bai et al., NSDI 2015, §3.2 and §4; NOS2, §III).
//!
//! Queue l serves what flows send between the thresholds a_(l−1) and a_l, at the rate that the queues above leave. Let
//! g_l be the share of all bytes before a_l, E\[min(X, a_l)\] / E\[X\]. A flow spends a mean of (g_l − g_(l−1)) / (1 −
//! ρ g_l) in queue l, in units of a mean flow's time on an idle link; flows that do not reach it count as 0. The mean
//! completion time is the sum over all queues.
//!
//! NOS2 calls the choice NP-hard, as a sum of ratios; this sum is not. With u_l = 1 / (1 − ρ g_l) the l-th term is (u_l
//! / u_(l−1) − 1) / ρ, and the product of the k ratios is fixed, u_k / u_0 = 1 / (1 − ρ). By the inequality of the
//! means, their sum is least when all are equal: 1 − ρ g_l = (1 − ρ)^(l/k), with a mean time of k ((1 − ρ)^(−1/k) − 1)
//! / ρ. Every g_l is reached, as E\[min(X, a)\] is continuous in a. So this is the global optimum for every law of
//! sizes, and no optimiser is needed. PIAS's authors solve their programme numerically; notes/thresholds.md compares the results.

use crate::thresholds::law::SizeLaw;
use crate::thresholds::{ThresholdError, by_bytes, checked_load, checked_queues};

/// Returns the thresholds in bytes with the least mean time of the tandem at this load. Each is the first byte at which
/// its share of the bytes is reached.
pub fn tandem(law: &SizeLaw, load: f64, queues: usize) -> Result<Vec<u64>, ThresholdError> {
    checked_load(load)?;
    checked_queues(queues)?;
    let idle = libm::log1p(-load);
    let share = |level: usize| -libm::expm1(level as f64 / queues as f64 * idle) / load;
    Ok(by_bytes(law, &(1..queues).map(share).collect::<Vec<_>>()))
}

/// Returns the mean completion time in the tandem at a load within (0, 1), in units of a mean flow's time on an idle
/// link.
pub fn tandem_time(law: &SizeLaw, load: f64, thresholds: &[u64]) -> f64 {
    let (mut time, mut before) = (0.0, 0.0);
    for threshold in thresholds.iter().copied().chain([u64::MAX]) {
        let share = law.mean_up_to(threshold) / law.mean();
        time += (share - before) / (1.0 - load * share);
        before = share;
    }
    time
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::testing::any_law;
    use proptest::prelude::*;

    /// Returns the lower bound of the tandem.
    fn bound(load: f64, queues: usize) -> f64 {
        queues as f64 * (libm::pow(1.0 - load, -1.0 / queues as f64) - 1.0) / load
    }

    #[test]
    fn tandem__by_hand() {
        // One size of 12,000 bytes at load 3/4: 1 − 3/4 g = (1/4)^(1/2) = 1/2, so g = 2/3.
        let law = SizeLaw::from_counts([(12_000, 1)]).unwrap();
        assert_eq!(tandem(&law, 0.75, 2), Ok(vec![8_000]));
        let time = tandem_time(&law, 0.75, &[8_000]);
        // 2/3 at half the rate, 1/3 at a quarter.
        assert!((time - (2.0 / 3.0 * 2.0 + 1.0 / 3.0 * 4.0)).abs() < 1e-12 && (time - bound(0.75, 2)).abs() < 1e-12);
        assert!((tandem_time(&law, 0.75, &[]) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn tandem__no_grid_has_better() {
        // 400 byte offsets each, for two and three queues; sizes are so large that a byte hardly matters.
        let laws = [
            SizeLaw::from_counts([(40_000, 1)]).unwrap(),
            SizeLaw::from_counts([(2_000, 90), (100_000, 9), (4_000_000, 1)]).unwrap(),
            SizeLaw::from_quantiles(&|p| Some((1e4 / (1.0 - 0.999 * p)) as u64)).unwrap(),
        ];
        for law in &laws {
            let grid: Vec<u64> = (1..=400).map(|i| law.offset_of(f64::from(i) / 400.0)).collect();
            for load in [0.1, 0.5, 0.8, 0.95] {
                let time = |thresholds: &[u64]| tandem_time(law, load, thresholds);
                let two = grid.iter().map(|a| time(&[*a])).fold(f64::INFINITY, f64::min);
                let pairs = grid.iter().enumerate().flat_map(|(i, a)| grid[i + 1..].iter().map(|b| time(&[*a, *b])));
                let three = pairs.fold(f64::INFINITY, f64::min);
                for (queues, best) in [(2, two), (3, three)] {
                    let found = time(&tandem(law, load, queues).unwrap());
                    assert!(found <= best * (1.0 + 1e-7), "{found} {best}");
                    // The grid comes close, so it is a meaningful comparison.
                    assert!(best < found * 1.001 && (found / bound(load, queues) - 1.0).abs() < 1e-6, "{found} {best}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn tandem__no_other_thresholds_are_better(
            law in any_law(),
            load in 0.01..0.99,
            mut other in prop::collection::vec(1u64..2_000_000, 0..10)
        ) {
            other.sort_unstable();
            let least = bound(load, other.len() + 1);
            prop_assert!(tandem_time(&law, load, &other) >= least * (1.0 - 1e-9));
            // Rounding up to a byte moves a share of the bytes by at most 1 / E X.
            let found = tandem_time(&law, load, &tandem(&law, load, other.len() + 1).unwrap());
            let byte = (other.len() + 1) as f64 / law.mean() / (1.0 - load) / (1.0 - load);
            prop_assert!(found >= least * (1.0 - 1e-9) && found <= least + byte, "{found} {least}");
        }
    }
}
