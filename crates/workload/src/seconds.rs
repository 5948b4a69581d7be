//! Decimal seconds to picoseconds and back, without a floating-point number between.

use crate::error::{Problem, excerpt};

const DECIMALS: i64 = 12;

/// The picoseconds of a start, a field of the column `start_s`.
pub(crate) fn start(field: &str) -> Result<u64, Problem> {
    parse_ps(field).ok_or_else(|| Problem::Number {
        column: "start_s",
        found: excerpt(field),
        expected: "decimal seconds from 0 to 18446744 (213 days)".to_string(),
    })
}

/// The picoseconds of a decimal number of seconds such as `12`, `0.000001` or `1e-6`; the nearest one where the number
/// is finer. None where it is no such number, negative, or beyond a `u64` (213 days).
pub(crate) fn parse_ps(text: &str) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i8>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // Digits before the point once the unit is a picosecond.
    let kept = whole.len() as i64 + i64::from(exponent) + DECIMALS;
    if kept < 0 {
        return Some(0);
    }
    let mut values = digits().map(|digit| u64::from(digit - b'0'));
    let mut take = |sum: u64| sum.checked_mul(10)?.checked_add(values.next().unwrap_or(0));
    let ps = (0..kept).try_fold(0, |sum, _| take(sum))?;
    let rest = take(0)?;
    ps.checked_add(u64::from(rest >= 5))
}

/// Seconds with as many decimals as they need.
pub(crate) fn format_ps(ps: u64) -> String {
    let (seconds, rest) = (ps / 1_000_000_000_000, ps % 1_000_000_000_000);
    let text = format!("{seconds}.{rest:012}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parse_ps__is_exact() {
        assert_eq!(parse_ps("0"), Some(0));
        assert_eq!(parse_ps("12"), Some(12_000_000_000_000));
        assert_eq!(parse_ps("0.000000000001"), Some(1));
        assert_eq!(parse_ps("1.5"), Some(1_500_000_000_000));
        assert_eq!(parse_ps(".5"), Some(500_000_000_000));
        assert_eq!(parse_ps("5."), Some(5_000_000_000_000));
        assert_eq!(parse_ps("1e-6"), Some(1_000_000));
        assert_eq!(parse_ps("2.5E+3"), Some(2_500_000_000_000_000));
        // As an f64 this would end in …6 or …8.
        assert_eq!(parse_ps("9007199.254740993127"), Some(9_007_199_254_740_993_127));
        assert_eq!(parse_ps("18446744.073709551615"), Some(u64::MAX));
    }

    #[test]
    fn parse_ps__rounds_what_is_finer_to_the_nearest() {
        assert_eq!(parse_ps("0.30000000000000004"), Some(300_000_000_000));
        assert_eq!(parse_ps("0.29999999999999998"), Some(300_000_000_000));
        assert_eq!(parse_ps("5e-13"), Some(1));
        assert_eq!(parse_ps("4.9e-13"), Some(0));
        assert_eq!(parse_ps("9e-99"), Some(0));
    }

    #[test]
    fn parse_ps__refuses_what_is_no_time() {
        for text in ["", ".", "-1", "+1", "1s", "1e", "e5", "1e1.5", "nan", "inf", "1.2.3", "0x1", "1e999", "１"] {
            assert_eq!(parse_ps(text), None, "{text}");
        }
        for too_long in ["18446744.073709551616", "18446744.0737095516155", "1e8", "99999999999999999999"] {
            assert_eq!(parse_ps(too_long), None, "{too_long}");
        }
    }

    proptest! {
        #[test]
        fn format_ps__is_read_back(ps: u64) {
            prop_assert_eq!(parse_ps(&format_ps(ps)), Some(ps));
        }

        #[test]
        fn parse_ps__never_panics(text in "[0-9.eE+-]{0,40}|\\PC*") {
            let _ = parse_ps(&text);
        }
    }
}
