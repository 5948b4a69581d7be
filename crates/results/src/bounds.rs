//! The bounds of measured quantities, and intervals that respect them.
//!
//! An interval is computed on a function of the mean that has no bounds (delta method): the logarithm of its distance from the
//! lower bound, or for a share the logarithm of its odds.

/// The range in which a quantity lies by definition, such as 0 to 1 for a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    least: f64,
    most: f64,
}

impl Bounds {
    /// Times, sizes and counts: nothing below zero.
    pub const POSITIVE: Bounds = Bounds { least: 0.0, most: f64::INFINITY };
    /// Slowdowns: no flow is faster than alone.
    pub const SLOWDOWN: Bounds = Bounds { least: 1.0, most: f64::INFINITY };
    /// Shares, and indices of fairness.
    pub const SHARE: Bounds = Bounds { least: 0.0, most: 1.0 };

    /// Whether a value is within, and on neither bound.
    pub(crate) fn are_around(self, value: f64) -> bool {
        self.least < value && value < self.most
    }

    /// The ends of the interval of a value with half of it on the value's own scale. `is_inside`: no seed lies on a bound.
    pub(crate) fn ends(self, value: f64, half: f64, is_inside: bool) -> (f64, f64) {
        let Bounds { least, most } = self;
        let above = value - least;
        if !(is_inside && self.are_around(value)) {
            return ((value - half).max(least).min(value), (value + half).min(most).max(value));
        }
        if most == f64::INFINITY {
            let factor = libm::exp(half / above);
            return (least + above / factor, least + above * factor);
        }
        let (share, width) = (above / (most - least), most - least);
        let factor = libm::exp(half / (width * share * (1.0 - share)));
        let of_odds = |odds: f64| least + width * if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 };
        let odds = share / (1.0 - share);
        (of_odds(odds / factor), of_odds(odds * factor))
    }

    /// Whether the ends of an interval are so far apart that the seeds do not determine the value's order of magnitude.
    pub(crate) fn tell_nothing(self, (low, high): (f64, f64)) -> bool {
        high - self.least > Bounds::APART * (low - self.least)
    }

    /// The factor, counted from the lower bound.
    const APART: f64 = 10.0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Estimate;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected} ± {tolerance}");
    }

    proptest! {
        #[test]
        fn over_seeds__no_interval_reaches_beyond_a_bound(
            values in proptest::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0f64], 2..8),
            scale in prop_oneof![Just(1.0), 1.0..1e6f64],
        ) {
            let within = |bounds: Bounds, values: Vec<f64>| {
                let estimate = Estimate::over_seeds(bounds, &values).unwrap();
                let (low, high) = estimate.interval.unwrap();
                let slack = 1e-12 * estimate.value.abs();
                bounds.least <= low && low <= estimate.value + slack && estimate.value <= high + slack && high <= bounds.most
            };
            prop_assert!(within(Bounds::SHARE, values.clone()));
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            prop_assert!(within(Bounds::SLOWDOWN, scaled.iter().map(|value| 1.0 + value).collect()));
            prop_assert!(within(Bounds::POSITIVE, scaled));
        }
    }

    #[test]
    fn over_seeds__the_p99_slowdown_of_three_seeds_is_not_below_one() {
        // Mean 8.0667, half of it 26.8: on the logarithm of the value itself it would reach from 0.29 on.
        let estimate = Estimate::over_seeds(Bounds::SLOWDOWN, &[1.7, 2.0, 20.5]).unwrap();
        let (low, high) = estimate.interval.unwrap();
        assert!(1.0 < low && low < 1.2 && high > 180.0, "{low} to {high}");
        assert!(Bounds::SLOWDOWN.tell_nothing((low, high)));
        // Half of it on the logarithm of the excess over 1: s = 0.1, 4.3027 · 0.1 / √3 = 0.248 41, of 1.1.
        let (low, high) = Estimate::over_seeds(Bounds::SLOWDOWN, &[2.0, 2.1, 2.2]).unwrap().interval.unwrap();
        near(low, 1.0 + 1.1 / libm::exp(0.248_41 / 1.1), 1e-4);
        near(high, 1.0 + 1.1 * libm::exp(0.248_41 / 1.1), 1e-4);
        // All flows of all seeds alone in the network.
        assert_eq!(Estimate::over_seeds(Bounds::SLOWDOWN, &[1.0; 3]).unwrap().interval, Some((1.0, 1.0)));
    }

    /// The share of 10,000 intervals over this many seeds that hold the true value.
    fn coverage(bounds: Bounds, seeds: usize, truth: f64, of: impl Fn(f64, f64) -> f64) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let mut holds = |_: &usize| {
            let values: Vec<f64> = (0..seeds).map(|_| of(uniform(), uniform())).collect();
            let (low, high) = Estimate::over_seeds(bounds, &values).unwrap().interval.unwrap();
            low <= truth && truth <= high
        };
        (0..10_000usize).filter(|run| holds(run)).count() as f64 / 10_000.0
    }

    #[test]
    fn over_seeds__hold_the_true_value_as_often_as_they_say() {
        let normal = |a: f64, b: f64| (-2.0 * libm::log(a)).sqrt() * libm::cos(std::f64::consts::TAU * b);
        for seeds in [3, 5, 10] {
            for (deviation, least) in [(0.2, 0.94), (0.5, 0.92)] {
                // The excess over 1 deviates by a factor.
                let truth = 1.0 + libm::exp(deviation * deviation / 2.0);
                let slowdown = |a, b| 1.0 + libm::exp(deviation * normal(a, b));
                let found = coverage(Bounds::SLOWDOWN, seeds, truth, slowdown);
                assert!(
                    (least..=0.97).contains(&found),
                    "slowdowns of {seeds} seeds that deviate by {deviation}: {found}"
                );
            }
            // The largest of two uniform values: a share of two thirds on average.
            let found = coverage(Bounds::SHARE, seeds, 2.0 / 3.0, f64::max);
            assert!((0.92..=0.97).contains(&found), "shares of {seeds} seeds: {found}");
        }
    }
}
