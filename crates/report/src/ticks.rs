//! Round numbers along an axis.

use std::ops::Range;

use crate::format::with_decimals;

/// Numbers of one, two or five times a power of ten within a range, at most `most` of them, with as many decimals as they need.
pub(crate) fn linear((from, to): (f64, f64), most: usize) -> Vec<(f64, String)> {
    /// Below it, numbers cannot be divided by a step.
    const LEAST: f64 = 1e-290;
    let span = to - from;
    if !(span > LEAST && span.is_finite()) || most < 2 {
        return Vec::new();
    }
    let mut exponent = libm::floor(libm::log10(span / most as f64)) as i32;
    let steps = || [1.0, 2.0, 5.0].map(|digit| digit * libm::pow(10.0, f64::from(exponent)));
    let step = match steps().into_iter().find(|step| libm::floor(span / step) < most as f64) {
        Some(step) => step,
        None => {
            exponent += 1;
            libm::pow(10.0, f64::from(exponent))
        }
    };
    let first = libm::ceil(from / step - 1e-9) as i64;
    let last = libm::floor(to / step + 1e-9) as i64;
    (first..=last).map(|many| many as f64 * step).map(|at| (at, words(at, exponent))).collect()
}

/// A whole multiple of a power of ten, written with that power if it would be long.
fn words(at: f64, exponent: i32) -> String {
    const LARGE: f64 = 1e7;
    const MOST_DECIMALS: usize = 5;
    let decimals = usize::try_from(-exponent).unwrap_or(0);
    if at == 0.0 && decimals > MOST_DECIMALS {
        return "0".into();
    }
    if at.abs() < LARGE && decimals <= MOST_DECIMALS {
        return with_decimals(at, decimals);
    }
    let digits = (libm::floor(libm::log10(at.abs())) as i32 - exponent).clamp(0, 9).unsigned_abs() as usize;
    format!("{at:.digits$e}")
}

/// Returns the ticks of an axis in the report's figures, each with its words: those of a logarithmic one, or at most seven.
pub fn ticks(range: (f64, f64), is_log: bool) -> Vec<(f64, String)> {
    const MOST: usize = 7;
    if is_log { logarithmic(range) } else { linear(range, MOST) }
}

/// Round ratios around 1, within a range that reaches as far below it as above.
pub(crate) fn ratios((from, to): (f64, f64)) -> Vec<(f64, String)> {
    /// How far a range reaches at most, and its ticks.
    const AROUND_ONE: [(f64, &[&str]); 8] = [
        (1.035, &["0.97", "0.98", "0.99", "1", "1.01", "1.02", "1.03"]),
        (1.08, &["0.95", "0.98", "1", "1.02", "1.05"]),
        (1.18, &["0.9", "0.95", "1", "1.05", "1.1"]),
        (1.5, &["0.7", "0.8", "0.9", "1", "1.1", "1.25", "1.4"]),
        (2.2, &["0.5", "0.6", "0.8", "1", "1.25", "1.6", "2"]),
        (3.5, &["0.4", "0.5", "0.8", "1", "1.25", "2", "2.5"]),
        (6.0, &["0.2", "0.5", "1", "2", "5"]),
        (25.0, &["0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]),
    ];
    let Some((_, words)) = AROUND_ONE.into_iter().find(|(reach, _)| to <= *reach) else {
        return logarithmic((from, to));
    };
    let ticks = words.iter().filter_map(|words| Some((words.parse().ok()?, (*words).to_owned())));
    ticks.filter(|(at, _)| (from..=to).contains(at)).collect()
}

/// Powers of ten within a range of positive numbers, with twice and five times these if there is room.
pub(crate) fn logarithmic((from, to): (f64, f64)) -> Vec<(f64, String)> {
    /// The most that stand below each other.
    const MOST: usize = 9;
    const MOST_TENS: usize = 6;
    let powers: Vec<i32> = decades(from, to).collect();
    let of = |digits: &[u8]| -> Vec<(f64, String)> {
        let each = powers.iter().flat_map(|&power| digits.iter().map(move |&digit| (power, digit)));
        let tick = |(power, digit): (i32, u8)| (f64::from(digit) * libm::pow(10.0, f64::from(power)), power);
        let inside = each.map(tick).filter(|(at, _)| (from..=to).contains(at));
        inside.map(|(at, power)| (at, words(at, power))).collect()
    };
    let all = of(&[1, 2, 5]);
    if all.len() <= MOST {
        return all;
    }
    let tens = of(&[1]);
    let many = tens.len();
    tens.into_iter().rev().step_by(many.div_ceil(MOST_TENS)).rev().collect()
}

/// All whole multiples of powers of ten within a range of positive numbers.
pub(crate) fn logarithmic_grid((from, to): (f64, f64)) -> Vec<f64> {
    /// More decades would make the plot grey all over.
    const MOST_DECADES: usize = 10;
    if decades(from, to).count() > MOST_DECADES {
        return Vec::new();
    }
    let each = decades(from, to)
        .flat_map(|power| (1..10).map(move |digit| f64::from(digit) * libm::pow(10.0, f64::from(power))));
    each.filter(|at| (from..=to).contains(at)).collect()
}

/// The exponents of the powers of ten about a range; none unless it is of positive numbers.
fn decades(from: f64, to: f64) -> Range<i32> {
    let exponent = |value: f64| libm::floor(libm::log10(value)) as i32;
    if from > 0.0 && to.is_finite() { exponent(from)..exponent(to) + 1 } else { 0..0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(ticks: Vec<(f64, String)>) -> Vec<String> {
        ticks.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn linear__round_numbers_with_the_decimals_of_their_step() {
        assert_eq!(names(linear((0.0, 1.05), 6)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(names(linear((0.0, 5_200.0), 6)), ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]);
        assert_eq!(names(linear((-0.3, 0.31), 5)), ["-0.2", "0.0", "0.2"]);
        assert_eq!(names(linear((0.0, 2.5e9), 6)), ["0", "5e8", "1.0e9", "1.5e9", "2.0e9", "2.5e9"]);
        assert_eq!(names(linear((0.0, 2.5e-9), 4)), ["0", "1e-9", "2e-9"]);
        assert!(linear((1.0, 1.0), 6).is_empty() && linear((0.0, f64::NAN), 6).is_empty());
    }

    #[test]
    fn logarithmic__powers_of_ten_or_what_lies_between_them() {
        assert_eq!(names(logarithmic((0.8, 1_200.0))), ["1", "10", "100", "1,000"]);
        assert_eq!(names(logarithmic((0.07, 3.0))), ["0.1", "0.2", "0.5", "1", "2"]);
        assert_eq!(names(logarithmic((1.0, 1e12))), ["1", "1,000", "1,000,000", "1e9", "1e12"]);
        assert_eq!(names(logarithmic((1.5, 250.0))), ["2", "5", "10", "20", "50", "100", "200"]);
        assert!(logarithmic((0.0, 1.0)).is_empty());
    }

    #[test]
    fn ratios__around_one_and_as_many_below_it_as_above() {
        assert_eq!(names(ratios((0.45, 1.0 / 0.45))), ["0.5", "0.8", "1", "1.25", "2"]);
        assert_eq!(names(ratios((0.2, 5.0))), ["0.2", "0.5", "1", "2", "5"]);
        assert_eq!(names(ratios((0.01, 100.0))), ["0.01", "0.1", "1", "10", "100"]);
        for reach in (1..400).map(|step| 1.0 + 0.015 * f64::from(step)) {
            let ticks = ratios((1.0 / reach, reach));
            let below = ticks.iter().filter(|(at, _)| *at < 1.0).count();
            let above = ticks.iter().filter(|(at, _)| *at > 1.0).count();
            assert!(below.abs_diff(above) <= 1 && (3..=9).contains(&ticks.len()), "{reach}: {ticks:?}");
        }
    }

    proptest! {
        #[test]
        fn linear__inside_and_few(from in -1e3f64..1e3, span in 1e-3f64..1e9, most in 2usize..9) {
            let ticks = linear((from, from + span), most);
            prop_assert!(ticks.len() <= most + 1, "{ticks:?}");
            for (at, _) in ticks {
                prop_assert!(at >= from - 1e-6 * span && at <= from + span * (1.0 + 1e-6));
            }
        }
    }
}
