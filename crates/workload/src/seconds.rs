//! Decimal seconds to picoseconds and back, without floating-point numbers.

use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};

use crate::error::{Problem, excerpt};

const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// The picoseconds of a start, a field of the column `start_s`.
pub(crate) fn start(field: &str) -> Result<u64, Problem> {
    parse_ps(field).ok_or_else(|| Problem::Number {
        column: "start_s".into(),
        found: excerpt(field),
        expected: "decimal seconds from 0 to 18446744 (213 days)".to_string(),
    })
}

/// The picoseconds of a decimal number of seconds such as `12`, `0.000001` or `1e-6`; the nearest one if the number is finer.
/// None if it is not such a number, negative, has an exponent below −28, or is beyond a `u64` (213 days).
pub(crate) fn parse_ps(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|letter| letter.is_ascii_digit() || b".eE+-".contains(&letter));
    let seconds = text.parse::<Decimal>().ok().filter(|_| plain && !text.starts_with(['+', '-']))?;
    seconds
        .checked_mul(PS_PER_SECOND.into())?
        .round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero)
        .to_u64()
}

/// The picoseconds of a time of day in seconds since 1970, between 1973 and 2286; none for anything else.
pub(crate) fn parse_epoch_ps(text: &str) -> Option<u128> {
    let plain = text.bytes().all(|letter| letter.is_ascii_digit() || b".eE+-".contains(&letter));
    let seconds = text.parse::<Decimal>().ok().filter(|_| plain && !text.starts_with(['+', '-']))?;
    let is_time = (Decimal::from(100_000_000)..Decimal::from(10_000_000_000u64)).contains(&seconds);
    let ps = is_time.then(|| seconds.checked_mul(PS_PER_SECOND.into()))??;
    ps.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero).to_u128()
}

/// Seconds with as many decimals as they need.
pub(crate) fn format_ps(ps: u64) -> String {
    let (seconds, rest) = (ps / PS_PER_SECOND, ps % PS_PER_SECOND);
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
        assert_eq!(parse_ps("1.2345678901234567e-15"), Some(0));
    }

    #[test]
    fn parse_ps__refuses_what_is_no_time() {
        for text in
            ["", ".", "-1", "+1", "1s", "1e", "e5", "1e1.5", "nan", "inf", "1.2.3", "0x1", "1e999", "9e-99", "１"]
        {
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
