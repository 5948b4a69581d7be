//! Predictions of a flow's size before it begins: the size itself, or bounds of it (QCLIMB, NSDI 2024 §2.3).
//!
//! A prediction is a function of the flow alone, or of its number in a list, so every scheme gets the same ones. It does not
//! change the flow.

use std::num::NonZeroU64;

use crate::Flow;
use crate::random::{Purpose, stream, uniform01};

/// The prediction of a flow's size, in bytes of payload. It may be wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prediction {
    /// The size.
    pub size: Option<NonZeroU64>,
    /// Bounds of it.
    pub bounds: Option<SizeBounds>,
}

/// Bounds of a size, in bytes: the lower one is no larger than the upper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeBounds {
    /// The fewest bytes; 0 if nothing is known.
    pub lower: u64,
    /// The most bytes; the largest number if nothing is known.
    pub upper: NonZeroU64,
}

impl SizeBounds {
    /// Bounds without information.
    pub const NONE: SizeBounds = SizeBounds { lower: 0, upper: NonZeroU64::MAX };
}

/// Predicts sizes of flows.
pub trait Predict: Send + Sync {
    /// The prediction for a flow.
    fn predict(&self, flow: &Flow) -> Prediction;
}

/// Predictions by the numbers of flows; there are none for flows beyond.
impl Predict for Vec<Prediction> {
    fn predict(&self, flow: &Flow) -> Prediction {
        self.get(flow.id as usize).copied().unwrap_or_default()
    }
}

/// The size is known: both bounds are equal to it.
#[derive(Clone, Copy, Debug)]
pub struct Exact;

impl Predict for Exact {
    fn predict(&self, flow: &Flow) -> Prediction {
        let size = NonZeroU64::new(flow.bytes);
        Prediction { size, bounds: size.map(|upper| SizeBounds { lower: flow.bytes, upper }) }
    }
}

/// Nothing is known: bounds 0 and infinity, and no size.
#[derive(Clone, Copy, Debug)]
pub struct Unknown;

impl Predict for Unknown {
    fn predict(&self, _: &Flow) -> Prediction {
        Prediction { size: None, bounds: Some(SizeBounds::NONE) }
    }
}

/// Bounds drawn around the size: L = size · a and U = size · b, with a and b uniform between two numbers each, and the middle
/// of both as the size. For a stated share of the flows the size lies outside. Half of these are larger than U, with the bounds
/// size · a² and size · a; half are smaller than L, with size · b and size · b².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundsLaw {
    /// The range of a; both ends in 0 to 1.
    pub lower: (f64, f64),
    /// The range of b; both ends at least 1.
    pub upper: (f64, f64),
    /// The share of flows outside of their bounds, 0 to 1.
    pub outside: f64,
}

/// A law with the seed of its draws.
#[derive(Clone, Copy, Debug)]
pub struct DrawnBounds {
    /// The law.
    pub law: BoundsLaw,
    /// The run's seed.
    pub seed: u64,
}

impl Predict for DrawnBounds {
    fn predict(&self, flow: &Flow) -> Prediction {
        let mut draws = stream(self.seed, Purpose::Bounds, flow.id.into());
        let between = |(from, to): (f64, f64), share: f64| from + (to - from) * share;
        let a = between(self.law.lower, uniform01(&mut draws));
        let b = between(self.law.upper, uniform01(&mut draws));
        let outside = uniform01(&mut draws);
        let (low, high) = match outside {
            _ if outside < self.law.outside / 2.0 => (a * a, a),
            _ if outside < self.law.outside => (b, b * b),
            _ => (a, b),
        };
        let size = flow.bytes as f64;
        // The lower bound is rounded up and the upper one down, so that neither is looser than drawn.
        let lower = (size * low).ceil() as u64;
        let upper = ((size * high).floor() as u64).max(lower).max(1);
        let middle = lower + (upper - lower) / 2;
        let upper = NonZeroU64::new(upper).unwrap_or(NonZeroU64::MIN);
        Prediction { size: NonZeroU64::new(middle.max(1)), bounds: Some(SizeBounds { lower, upper }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flow(id: u32, bytes: u64) -> Flow {
        Flow { id, start_ps: 0, src: 0, dst: 1, bytes, class: 0, deadline_ps: None, coflow: None }
    }

    const LAW: BoundsLaw = BoundsLaw { lower: (0.5, 0.9), upper: (1.1, 2.0), outside: 0.0 };

    fn bounds(law: BoundsLaw, seed: u64, flow: &Flow) -> SizeBounds {
        DrawnBounds { law, seed }.predict(flow).bounds.unwrap()
    }

    #[test]
    fn exact__both_bounds_are_the_size() {
        let known = Exact.predict(&flow(0, 1_000));
        let upper = NonZeroU64::new(1_000).unwrap();
        assert_eq!(known, Prediction { size: Some(upper), bounds: Some(SizeBounds { lower: 1_000, upper }) });
    }

    #[test]
    fn predict__nothing_of_flows_beyond_the_list() {
        let size = NonZeroU64::new(7);
        let list = vec![Prediction { size, bounds: None }];
        assert_eq!([list.predict(&flow(0, 9)).size, list.predict(&flow(1, 9)).size], [size, None]);
    }

    #[test]
    fn law__with_equal_ends_is_a_formula() {
        let law = BoundsLaw { lower: (0.5, 0.5), upper: (4.0, 4.0), outside: 0.0 };
        let upper = NonZeroU64::new(4_000).unwrap();
        let drawn = DrawnBounds { law, seed: 3 }.predict(&flow(9, 1_000));
        assert_eq!(drawn, Prediction { size: NonZeroU64::new(2_250), bounds: Some(SizeBounds { lower: 500, upper }) });
        let outside = BoundsLaw { outside: 1.0, ..law };
        let ends = |id| (bounds(outside, 3, &flow(id, 1_000)).lower, bounds(outside, 3, &flow(id, 1_000)).upper.get());
        let found: std::collections::BTreeSet<(u64, u64)> = (0..20).map(ends).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [(250, 500), (4_000, 16_000)]);
    }

    fn hold(bounds: SizeBounds, bytes: u64) -> bool {
        (bounds.lower..=bounds.upper.get()).contains(&bytes)
    }

    #[test]
    fn law__a_stated_share_lies_outside() {
        let law = BoundsLaw { outside: 0.1, ..LAW };
        let outside = (0..20_000).filter(|&id| !hold(bounds(law, 1, &flow(id, 50_000)), 50_000)).count();
        // Five standard deviations are 212.
        assert!(outside.abs_diff(2_000) < 212, "{outside}");
    }

    proptest! {
        #[test]
        fn law__bounds_hold_and_do_not_cross(id: u32, bytes in 1u64..=crate::MAX_BYTES, seed: u64) {
            let drawn = bounds(LAW, seed, &flow(id, bytes));
            prop_assert!(hold(drawn, bytes), "{drawn:?} of {bytes}");
            let any = bounds(BoundsLaw { lower: (0.0, 1.0), upper: (1.0, 1e6), outside: 0.5 }, seed, &flow(id, bytes));
            prop_assert!(any.lower <= any.upper.get());
        }
    }
}
