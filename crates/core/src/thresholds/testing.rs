//! Laws for tests.

use proptest::prelude::*;

use crate::thresholds::SizeLaw;

/// Generates observed sizes (one, some similar, very different ones) and quantile functions with and without a tail.
pub(super) fn any_law() -> impl Strategy<Value = SizeLaw> {
    let counts = prop::collection::vec((prop_oneof![1u64..50, 1_000u64..1_000_000], 1u64..100), 1..30);
    let pareto = (0.5..3.0, 1.0..1e4, 1.1..1e4).prop_map(|(shape, low, ratio): (f64, f64, f64)| {
        let whole = 1.0 - libm::pow(ratio, -shape);
        SizeLaw::from_quantiles(&|p| Some((low * libm::pow(1.0 - p * whole, -1.0 / shape)).ceil() as u64)).unwrap()
    });
    let uniform = (1.0..1e6).prop_map(|to| SizeLaw::from_quantiles(&|p| Some((p * to) as u64)).unwrap());
    prop_oneof![2 => counts.prop_map(|counts| SizeLaw::from_counts(counts).unwrap()), 2 => pareto, 1 => uniform]
}

/// Builds a law of exponential phases: a share and a mean each.
pub(super) fn exponential_phases(phases: &[(f64, f64)]) -> SizeLaw {
    let beyond = |x: f64| phases.iter().map(|(share, mean)| share * libm::exp(-x / mean)).sum::<f64>();
    let quantile = |p: f64| {
        let (mut low, mut high) = (0.0, 1e12);
        for _ in 0..90 {
            let middle = (low + high) / 2.0;
            if beyond(middle) > 1.0 - p.min(1.0 - 1e-15) { low = middle } else { high = middle }
        }
        Some(high.ceil() as u64)
    };
    SizeLaw::from_quantiles(&quantile).unwrap()
}
