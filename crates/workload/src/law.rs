//! Distributions of sizes with a formula: exponential, bounded Pareto, lognormal.
//!
//! Each gives its survival function S(x), the integral of S from x on (a flow's mean excess over x), its density and the
//! inverse of its distribution function, all before sizes are rounded. From these the mean number of packets follows without
//! drawing: it is the sum of S over the multiples of a packet. The sum is added term by term where S bends, and by the
//! Euler–Maclaurin formula (Graham, Knuth and Patashnik, Concrete Mathematics, section 9.5) beyond.
//!
//! Sizes are bytes. Logarithms, powers and the error function are libm's, so that they are the same on every machine.

use crate::MAX_BYTES;
use thiserror::Error;

/// The largest number below 1 that a draw can give; sizes beyond its quantile are never drawn.
const LAST_DRAW: f64 = 1.0 - 1.0 / (1u64 << 53) as f64;

/// Multiples of a packet that are summed one by one, from where S begins to fall.
const TERMS: u64 = 4_096;

/// A distribution of sizes with a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Law {
    /// S(x) = exp(−x / mean).
    Exponential { mean: f64 },
    /// S(x) = ((low/x)^shape − (low/high)^shape) / (1 − (low/high)^shape) from low to high.
    BoundedPareto { shape: f64, low: f64, high: f64 },
    /// The logarithm of a size is normal around that of the median, with the standard deviation `sigma`.
    Lognormal { median: f64, sigma: f64 },
}

/// Parameters that give no distribution.
#[derive(Debug, Error, Clone, Copy, PartialEq)]
pub enum LawError {
    /// A size out of range.
    #[error("a size of {0} bytes; expected 1 to 1000000000000 (1 TB)")]
    Size(u64),
    /// The larger size is not larger.
    #[error("sizes from {0} to {1} bytes; expected the second to be the larger")]
    Order(u64, u64),
    /// A bounded Pareto distribution with an unusable shape.
    #[error("a shape of {0}; expected 0.05 to 20")]
    Shape(f64),
    /// A lognormal distribution too narrow or too wide.
    #[error("a sigma of {0}; expected 0.01 to 5")]
    Sigma(f64),
    /// A tail beyond the largest flow.
    #[error("sizes up to {0:e} bytes can be drawn; expected at most {MAX_BYTES} (1 PB)")]
    Tail(f64),
}

/// A size that a law may be given, in bytes.
pub(crate) fn size(bytes: u64) -> Result<u64, LawError> {
    if (1..=1_000_000_000_000).contains(&bytes) { Ok(bytes) } else { Err(LawError::Size(bytes)) }
}

/// Two sizes; the second is the larger.
pub(crate) fn range(low: u64, high: u64) -> Result<(u64, u64), LawError> {
    let (low, high) = (size(low)?, size(high)?);
    if low < high { Ok((low, high)) } else { Err(LawError::Order(low, high)) }
}

impl Law {
    /// Refuses parameters for which the formulas, or the drawn sizes, get out of range.
    pub(crate) fn checked(self) -> Result<Law, LawError> {
        match self {
            Law::BoundedPareto { shape, .. } if !(0.05..=20.0).contains(&shape) => return Err(LawError::Shape(shape)),
            Law::Lognormal { sigma, .. } if !(0.01..=5.0).contains(&sigma) => return Err(LawError::Sigma(sigma)),
            _ => {}
        }
        let largest = self.quantile(1.0);
        if largest <= MAX_BYTES as f64 { Ok(self) } else { Err(LawError::Tail(largest)) }
    }

    /// The size that a share `p` (0 to 1) of the flows do not exceed; for 1 the largest that can be drawn.
    pub(crate) fn quantile(self, p: f64) -> f64 {
        let p = p.min(LAST_DRAW);
        match self {
            Law::Exponential { mean } => -libm::log1p(-p) * mean,
            Law::BoundedPareto { shape, low, high } => {
                // The share of the unbounded distribution's survivors.
                let survivors = 1.0 - p * (1.0 - libm::pow(low / high, shape));
                (low * libm::pow(survivors, -1.0 / shape)).clamp(low, high)
            }
            Law::Lognormal { median, sigma } => median * libm::exp(sigma * normal_quantile(p)),
        }
    }

    /// S(x), the share of the flows of more than `x` bytes.
    pub(crate) fn survival(self, x: f64) -> f64 {
        match self {
            Law::Exponential { mean } => libm::exp(-x / mean),
            Law::BoundedPareto { low, .. } if x <= low => 1.0,
            Law::BoundedPareto { high, .. } if x >= high => 0.0,
            Law::BoundedPareto { shape, low, high } => {
                let end = libm::pow(low / high, shape);
                (libm::pow(low / x, shape) - end) / (1.0 - end)
            }
            Law::Lognormal { .. } if x <= 0.0 => 1.0,
            Law::Lognormal { median, sigma } => normal_survival(libm::log(x / median) / sigma),
        }
    }

    /// The integral of S from `x` on.
    fn excess(self, x: f64) -> f64 {
        match self {
            Law::Exponential { mean } => mean * libm::exp(-x / mean),
            Law::BoundedPareto { low, .. } if x < low => low - x + self.excess(low),
            Law::BoundedPareto { high, .. } if x >= high => 0.0,
            Law::BoundedPareto { shape, low, high } => {
                let end = libm::pow(low / high, shape);
                // The integral of (low/t)^shape from x to high, which is a logarithm for the shape 1.
                let power = 1.0 - shape;
                let log = libm::log(high / x);
                let integral = x * libm::pow(low / x, shape) * relative_growth(power, log);
                (integral - end * (high - x)) / (1.0 - end)
            }
            Law::Lognormal { median, sigma } => {
                let mean = median * libm::exp(sigma * sigma / 2.0);
                if x <= 0.0 {
                    return mean - x;
                }
                let deviations = libm::log(x / median) / sigma;
                mean * normal_survival(deviations - sigma) - x * normal_survival(deviations)
            }
        }
    }

    /// −S′(x).
    fn density(self, x: f64) -> f64 {
        match self {
            Law::Exponential { mean } => libm::exp(-x / mean) / mean,
            Law::BoundedPareto { shape, low, high } => {
                if x < low || x > high {
                    return 0.0;
                }
                shape * libm::pow(low / x, shape) / x / (1.0 - libm::pow(low / high, shape))
            }
            Law::Lognormal { median, sigma } => {
                let deviations = libm::log(x / median) / sigma;
                libm::exp(-deviations * deviations / 2.0) / (x * sigma * (2.0 * std::f64::consts::PI).sqrt())
            }
        }
    }

    /// The mean of ceil(size / `group`), where the size is rounded up to a multiple of `unit`; both above 0.
    ///
    /// A flow has more than j units with the probability S(j · unit), and each unit adds its groups.
    pub(crate) fn mean_groups(self, unit: u64, group: u64) -> f64 {
        // Rounding up twice, first to a divisor of the group, is rounding up once.
        let unit = if group.is_multiple_of(unit) { group } else { unit };
        let groups = |units: u64| (u128::from(units) * u128::from(unit)).div_ceil(u128::from(group)) as f64;
        let at = |units: u64| units as f64 * unit as f64;
        if let Law::BoundedPareto { low, high, .. } = self {
            // A size of more than k groups is larger than the units that k groups hold; if there are few groups they are added
            // one by one.
            let more_than = |k: u64| self.survival(at((u128::from(k) * u128::from(group) / u128::from(unit)) as u64));
            let (all_have, most) = ((low / group as f64) as u64, ((high + unit as f64) / group as f64) as u64);
            if most - all_have <= TERMS {
                return all_have as f64 + (all_have..=most).map(more_than).sum::<f64>();
            }
        }
        let (flat, last) = match self {
            // Below `low` S is 1, at `high` it ends.
            Law::BoundedPareto { low, high, .. } => ((low / unit as f64) as u64, (high / unit as f64) as u64),
            _ => (0, u64::MAX),
        };
        let one_by_one = |units: std::ops::Range<u64>| -> f64 {
            units.map(|j| self.survival(at(j)) * (groups(j + 1) - groups(j))).sum()
        };
        if last - flat <= TERMS {
            return groups(flat) + one_by_one(flat..last + 1);
        }
        let begin = flat + TERMS;
        let summed = one_by_one(flat..begin);
        let end = |of: fn(Law, f64) -> f64| if last == u64::MAX { 0.0 } else { of(self, at(last)) };
        let from = at(begin);
        // The sum of S over the units from `begin` to the last: integral, ends, and the first correction.
        let units = (self.excess(from) - end(Law::excess)) / unit as f64
            + (self.survival(from) + end(Law::survival)) / 2.0
            + unit as f64 / 12.0 * (self.density(from) - end(Law::density));
        // ceil(j · unit / group) is ahead of j · unit / group by a mean of (1 − gcd/group) / 2.
        let ahead = (1.0 - greatest_common_divisor(unit, group) as f64 / group as f64) / 2.0;
        let now_ahead = groups(begin) - from / group as f64;
        groups(flat) + summed + units * (unit as f64 / group as f64) + self.survival(from) * (ahead - now_ahead)
    }
}

/// (e^(power · log) − 1) / power, which is `log` for the power 0.
fn relative_growth(power: f64, log: f64) -> f64 {
    if power == 0.0 { log } else { libm::expm1(power * log) / power }
}

/// The share of a standard normal above `z`.
fn normal_survival(z: f64) -> f64 {
    libm::erfc(z / std::f64::consts::SQRT_2) / 2.0
}

/// The number that a share `p` of a standard normal do not exceed, by bisection to the last bit: the inverse of libm's
/// own error function, and no further approximation.
fn normal_quantile(p: f64) -> f64 {
    // The smaller tail keeps its digits.
    let (tail, sign) = if p > 0.5 { (1.0 - p, 1.0) } else { (p, -1.0) };
    let (mut low, mut high) = (0.0, 40.0);
    loop {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            return sign * middle;
        }
        if normal_survival(middle) > tail { low = middle } else { high = middle }
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_law() -> impl Strategy<Value = Law> {
        prop_oneof![
            (1.0..1e6).prop_map(|mean| Law::Exponential { mean }),
            (0.05..5.0, 1u32..10_000, 1.5..1e4).prop_map(|(shape, low, ratio): (f64, u32, f64)| Law::BoundedPareto {
                shape,
                low: f64::from(low),
                high: (f64::from(low) * ratio).ceil() + 1.0
            }),
            (1u32..10_000).prop_map(|low| Law::BoundedPareto {
                shape: 1.0,
                low: f64::from(low),
                high: 1e3 * f64::from(low)
            }),
            (1.0..1e6, 0.05..3.0).prop_map(|(median, sigma)| Law::Lognormal { median, sigma }),
        ]
    }

    #[test]
    fn normal_quantile__has_the_values_of_tables() {
        for (p, z) in
            [(0.5, 0.0), (0.975, 1.959_963_984_540_054), (0.99, 2.326_347_874_040_841), (1e-9, -5.997_807_015_007_69)]
        {
            assert!((normal_quantile(p) - z).abs() < 1e-9, "{p}: {}", normal_quantile(p));
        }
        assert!((normal_quantile(0.1) + normal_quantile(0.9)).abs() < 1e-12);
    }

    #[test]
    fn excess__of_nothing_is_the_mean() {
        let pareto = |shape| Law::BoundedPareto { shape, low: 1e3, high: 1e6 };
        // shape/(shape−1) · low · (1 − (low/high)^(shape−1)) / (1 − (low/high)^shape), and its limit for 1.
        let two = 2.0 * 1e3 * (1.0 - 1e-3) / (1.0 - 1e-6);
        let one = 1e3 * libm::log(1e3) / (1.0 - 1e-3);
        let near_one = pareto(1.0 + 1e-9).excess(0.0);
        assert!((pareto(2.0).excess(0.0) / two - 1.0).abs() < 1e-12);
        assert!((pareto(1.0).excess(0.0) / one - 1.0).abs() < 1e-12);
        assert!((near_one / one - 1.0).abs() < 1e-6);
        assert_eq!(Law::Exponential { mean: 77.0 }.excess(0.0), 77.0);
        let lognormal = Law::Lognormal { median: 1e4, sigma: 2.0 };
        assert!((lognormal.excess(1e-9) / (1e4 * libm::exp(2.0)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn mean_groups__of_the_exponential_is_a_geometric_sum() {
        for (mean, group) in [(100.0, 1u64), (100.0, 1460), (1e6, 1), (1e6, 1460), (1e9, 1)] {
            let closed = 1.0 / -libm::expm1(-(group as f64) / mean);
            let law = Law::Exponential { mean };
            assert!((law.mean_groups(1, group) / closed - 1.0).abs() < 1e-9, "{mean} {group}");
            assert!((law.mean_groups(group, group) / closed - 1.0).abs() < 1e-9, "{mean} {group}");
        }
    }

    #[test]
    fn checked__refuses_what_is_out_of_range() {
        let refused = |law: Law| law.checked().unwrap_err().to_string();
        assert_eq!(
            refused(Law::BoundedPareto { shape: 0.0, low: 1.0, high: 2.0 }),
            "a shape of 0; expected 0.05 to 20"
        );
        assert_eq!(refused(Law::Lognormal { median: 1.0, sigma: f64::NAN }), "a sigma of NaN; expected 0.01 to 5");
        assert!(refused(Law::Lognormal { median: 1e12, sigma: 5.0 }).contains("1 PB"));
        assert_eq!(
            range(5, 5).unwrap_err().to_string(),
            "sizes from 5 to 5 bytes; expected the second to be the larger"
        );
        assert_eq!(size(0).unwrap_err().to_string(), "a size of 0 bytes; expected 1 to 1000000000000 (1 TB)");
    }

    proptest! {
        #[test]
        fn quantile__inverts_the_survival(law in any_law(), p in 0.0..1.0) {
            prop_assert!((law.survival(law.quantile(p)) - (1.0 - p)).abs() < 1e-9);
        }

        #[test]
        fn density__is_the_slope(law in any_law(), p in 0.01..0.99) {
            let x = law.quantile(p);
            let step = x * 1e-5;
            let slope = (law.survival(x - step) - law.survival(x + step)) / (2.0 * step);
            let inside = !matches!(law, Law::BoundedPareto { low, high, .. } if x - step < low || x + step > high);
            prop_assert!(!inside || (slope / law.density(x) - 1.0).abs() < 1e-3, "{slope} {}", law.density(x));
            let integrated = (law.excess(x - step) - law.excess(x + step)) / (2.0 * step);
            prop_assert!((integrated / law.survival(x) - 1.0).abs() < 1e-3, "{integrated}");
        }

        #[test]
        fn mean_groups__few_groups_are_counted(low in 1u64..5_000, width in 1u64..10_000, unit in 1u64..50, group in 1u64..3_000) {
            let (shape, high) = (0.3, (low + width) as f64);
            let law = Law::BoundedPareto { shape, low: low as f64, high };
            let last = (low + width) / unit + 1;
            let groups = |units: u64| (units * unit).div_ceil(group) as f64;
            let sum: f64 = (0..last).map(|j| law.survival((j * unit) as f64) * (groups(j + 1) - groups(j))).sum();
            let mean = law.mean_groups(unit, group);
            let is_exact = high / group as f64 <= TERMS as f64 / 2.0;
            prop_assert!((mean / sum - 1.0).abs() < if is_exact { 1e-12 } else { 1e-4 }, "{mean} instead of {sum}");
        }

        #[test]
        fn mean_groups__is_the_sum_over_all_units(law in any_law(), unit in 1u64..3_000, group in 1u64..3_000) {
            // One by one up to where less than a billionth is left, if that takes only a moment.
            let last = (law.quantile(1.0 - 1e-12) / unit as f64).ceil() as u64 + 1;
            prop_assume!(last < 300_000);
            let groups = |units: u64| (units * unit).div_ceil(group) as f64;
            let sum: f64 = (0..last).map(|j| law.survival((j * unit) as f64) * (groups(j + 1) - groups(j))).sum();
            let mean = law.mean_groups(unit, group);
            prop_assert!((mean / sum - 1.0).abs() < 1e-4, "{mean} instead of {sum}");
        }
    }
}
