//! Quantiles of Student's t.

use std::sync::OnceLock;

use crate::statistics::Sureness;

/// The two-sided quantile of Student's t: with `freedom` degrees of freedom (at least one), t lies between minus and plus this
/// bound with probability `share`. It has the same bits on every machine: roots are exact, and the arc is that of `libm`.
pub fn student_t_within(freedom: usize, share: f64) -> f64 {
    let mut high = 1.0;
    while share_within(freedom, high) < share && high < f64::MAX / 2.0 {
        high *= 2.0;
    }
    let mut low = 0.0;
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        if share_within(freedom, middle) < share { low = middle } else { high = middle }
    }
}

/// The probability that Student's t lies within ± `t` (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and
/// 26.7.4): a sum of powers of the cosine of atan(t/√freedom).
fn share_within(freedom: usize, t: f64) -> f64 {
    let tangent = t / (freedom as f64).sqrt();
    let secant = (1.0 + tangent * tangent).sqrt();
    let (sine, cosine) = (tangent / secant, 1.0 / secant);
    let is_odd = freedom % 2 == 1;
    // From cosine, or from one, on.
    let (first, mut term) = if is_odd { (3, cosine) } else { (2, 1.0) };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    for nth in (first..freedom.saturating_sub(1)).step_by(2) {
        term *= cosine * cosine * (nth as f64 - 1.0) / nth as f64;
        sum += term;
    }
    if is_odd { std::f64::consts::FRAC_2_PI * (libm::atan(tangent) + sine * sum) } else { sine * sum }
}

/// The quantile of Student's t that bounds a two-sided interval over this many values (at least two), where the share `missed`
/// of intervals misses the true value.
pub(crate) fn student_t(values: usize, missed: f64) -> f64 {
    /// The quantiles for the usual confidence, computed once: the inverse is a search.
    static QUANTILES: OnceLock<Vec<f64>> = OnceLock::new();
    let quantile = |freedom: usize, missed: f64| student_t_within(freedom, 1.0 - missed);
    if missed != Sureness::USUAL.missed {
        return quantile(values - 1, missed);
    }
    let usual = QUANTILES.get_or_init(|| (1..=32).map(|freedom| quantile(freedom, missed)).collect());
    usual.get(values - 2).copied().unwrap_or_else(|| quantile(values - 1, missed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected} ± {tolerance}");
    }

    /// Tables of Student's t (Abramowitz and Stegun, 26.10), and its closed forms: tan(π share/2) with one degree of
    /// freedom, share·√(2/(1 − share²)) with two.
    #[test]
    fn student_t_within__tables_and_closed_forms() {
        let tabled = [
            (1, 0.95, 12.706),
            (2, 0.95, 4.303),
            (3, 0.95, 3.182),
            (4, 0.99, 4.604),
            (5, 0.999, 6.869),
            (10, 0.95, 2.228),
            (29, 0.95, 2.045),
            (30, 0.95, 2.042),
            (120, 0.95, 1.980),
            (10_000, 0.95, 1.960),
        ];
        for (freedom, share, expected) in tabled {
            near(student_t_within(freedom, share), expected, 5.1e-4);
        }
        for share in [0.5, 0.9, 0.95, 0.999, 0.999_999] {
            let (one, two) =
                (libm::tan(std::f64::consts::FRAC_PI_2 * share), share * (2.0 / (1.0 - share * share)).sqrt());
            near(student_t_within(1, share) / one, 1.0, 1e-9);
            near(student_t_within(2, share) / two, 1.0, 1e-9);
        }
    }

    #[test]
    fn student_t__printed_tables() {
        for (values, quantile) in
            [(2, 12.7062), (3, 4.3027), (4, 3.1824), (6, 2.5706), (11, 2.2281), (31, 2.0423), (121, 1.9799)]
        {
            near(student_t(values, 0.05), quantile, 1e-4);
        }
        near(student_t(6, 0.01), 4.0321, 1e-4);
    }
}
