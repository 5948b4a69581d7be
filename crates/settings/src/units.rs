//! Quantities with a unit, as users write them: `360KB`, `81.6us`, `10Gbps`, `65pkt`.
//!
//! Everything is exact: numbers are decimal, so `81.6us` is exactly 81 600 000 ps. A quantity that is not a whole
//! number of bytes, picoseconds or bits per second is refused, not rounded. KB, MB and GB are decimal, as in network
//! papers; KiB and MiB are binary.

use std::fmt;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// Slowest link that the program models, in bit/s.
pub const MIN_RATE_BPS: u64 = 1_000_000;
/// Fastest link that the program models, in bit/s.
pub const MAX_RATE_BPS: u64 = 800_000_000_000;

const SIZE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("KB", 1_000),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

const TIME_UNITS: &[(&str, u64)] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("µs", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];

const RATE_UNITS: &[(&str, u64)] = &[
    ("bps", 1),
    ("Kbps", 1_000),
    ("kbps", 1_000),
    ("mbps", 1_000_000),
    ("Mbps", 1_000_000),
    ("gbps", 1_000_000_000),
    ("Gbps", 1_000_000_000),
];

/// A size as written: bytes, or packets of the scope's MTU, which only the reader knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A number of bytes.
    Bytes(u64),
    /// A number of MTU-sized packets, in thousandths (`1.5pkt` is 1 500).
    MilliPackets(u64),
}

impl Size {
    /// Returns the size in bytes for packets of `mtu_bytes`, headers included; `None` if it is not whole or too large.
    pub fn in_bytes(self, mtu_bytes: u64) -> Option<u64> {
        match self {
            Size::Bytes(bytes) => Some(bytes),
            Size::MilliPackets(milli) => {
                let scaled = u128::from(milli) * u128::from(mtu_bytes);
                (scaled % 1_000 == 0).then(|| u64::try_from(scaled / 1_000).ok()).flatten()
            }
        }
    }
}

/// Why a text is not a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitError {
    /// It does not start with a decimal number.
    NoNumber,
    /// It starts with a minus sign.
    Negative,
    /// The number has no unit.
    NoUnit,
    /// The unit does not belong to the kind.
    WrongUnit,
    /// It is finer than the smallest unit that the program counts in.
    TooFine,
    /// It does not fit.
    TooLarge,
}

impl fmt::Display for UnitError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            UnitError::NoNumber => "does not start with a decimal number",
            UnitError::Negative => "is negative",
            UnitError::NoUnit => "has no unit",
            UnitError::WrongUnit => "has a unit that is not one of these",
            UnitError::TooFine => "is finer than the program's resolution",
            UnitError::TooLarge => "is too large",
        })
    }
}

/// Splits `12.5KB` or `12.5 KB` into its number and its unit. Underscores may group digits.
fn split(text: &str) -> Result<(Decimal, &str), UnitError> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(UnitError::Negative);
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let starts_with_digit = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    if !starts_with_digit(whole) || !starts_with_digit(fraction) || fraction.contains('.') {
        return Err(UnitError::NoNumber);
    }
    let number = Decimal::from_str_exact(number).map_err(|error| match error {
        rust_decimal::Error::Underflow => UnitError::TooFine,
        // Any other error in digits is their number.
        _ => UnitError::TooLarge,
    })?;
    Ok((number, unit.trim_start()))
}

/// Multiplies a number by `factor`; fails unless the result is a whole number of 64 bits.
fn times(number: Decimal, factor: u64) -> Result<u64, UnitError> {
    let scaled = number.checked_mul(factor.into()).ok_or(UnitError::TooLarge)?;
    if !scaled.is_integer() {
        return Err(UnitError::TooFine);
    }
    scaled.to_u64().ok_or(UnitError::TooLarge)
}

fn parse(text: &str, units: &[(&str, u64)]) -> Result<u64, UnitError> {
    let (number, unit) = split(text)?;
    if unit.is_empty() {
        return Err(UnitError::NoUnit);
    }
    let (_, factor) = units.iter().find(|(name, _)| *name == unit).ok_or(UnitError::WrongUnit)?;
    times(number, *factor)
}

/// Reads a size: `1500B`, `360KB`, `65pkt`.
pub fn parse_size(text: &str) -> Result<Size, UnitError> {
    let (number, unit) = split(text)?;
    if unit == "pkt" {
        return times(number, 1_000).map(Size::MilliPackets);
    }
    parse(text, SIZE_UNITS).map(Size::Bytes)
}

/// Reads a time into picoseconds: `81.6us`, `2ms`.
pub fn parse_time(text: &str) -> Result<u64, UnitError> {
    parse(text, TIME_UNITS)
}

/// Reads a rate into bit/s: `10Gbps`. The caller checks limits.
pub fn parse_rate(text: &str) -> Result<u64, UnitError> {
    parse(text, RATE_UNITS)
}

/// Writes `value` in the largest of `units` that keeps six decimals or fewer, so that it reads back exactly.
fn format(value: u64, units: &[(&str, u64)]) -> String {
    for (name, factor) in units {
        let millionths = u128::from(value % factor) * 1_000_000;
        if value >= *factor && millionths % u128::from(*factor) == 0 {
            let fraction = format!("{:06}", millionths / u128::from(*factor));
            let fraction = fraction.trim_end_matches('0');
            let point = if fraction.is_empty() { "" } else { "." };
            return format!("{}{point}{fraction}{name}", value / factor);
        }
    }
    let smallest = units.last().map_or("", |(name, _)| name);
    format!("{value}{smallest}")
}

/// Writes a size that [`parse_size`] reads back exactly.
pub fn format_size(bytes: u64) -> String {
    format(bytes, &[("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000), ("B", 1)])
}

/// Writes a time that [`parse_time`] reads back exactly.
pub fn format_time(ps: u64) -> String {
    format(ps, &[("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)])
}

/// Writes a rate that [`parse_rate`] reads back exactly.
pub fn format_rate(bps: u64) -> String {
    format(bps, &[("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("Kbps", 1_000), ("bps", 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse__decimals_are_exact() {
        assert_eq!(parse_time("81.6us"), Ok(81_600_000));
        assert_eq!(parse_time("0.2 us"), Ok(200_000));
        assert_eq!(parse_time("2µs"), Ok(2_000_000));
        assert_eq!(parse_size("1.1MB"), Ok(Size::Bytes(1_100_000)));
        assert_eq!(parse_size("0.5KiB"), Ok(Size::Bytes(512)));
        assert_eq!(parse_size("65pkt"), Ok(Size::MilliPackets(65_000)));
        assert_eq!(parse_rate("2.5Gbps"), Ok(2_500_000_000));
        assert_eq!(parse_rate("1_000Mbps"), Ok(1_000_000_000));
    }

    #[test]
    fn parse__refusals() {
        assert_eq!(parse_size(""), Err(UnitError::NoNumber));
        assert_eq!(parse_size("KB"), Err(UnitError::NoNumber));
        assert_eq!(parse_size("1.KB"), Err(UnitError::NoNumber));
        assert_eq!(parse_size(".5KB"), Err(UnitError::NoNumber));
        assert_eq!(parse_size("1.2.3KB"), Err(UnitError::NoNumber));
        assert_eq!(parse_size("-1KB"), Err(UnitError::Negative));
        assert_eq!(parse_size("360"), Err(UnitError::NoUnit));
        assert_eq!(parse_size("360kb"), Err(UnitError::WrongUnit));
        assert_eq!(parse_size("0.5B"), Err(UnitError::TooFine));
        assert_eq!(parse_time("0.5ps"), Err(UnitError::TooFine));
        assert_eq!(parse_time("99999999999s"), Err(UnitError::TooLarge));
        assert_eq!(parse_time(&"9".repeat(400)), Err(UnitError::TooLarge));
        assert_eq!(parse_time(&format!("0.{}1s", "0".repeat(400))), Err(UnitError::TooFine));
        assert_eq!(parse_size("1.000000000000000000000001GiB"), Err(UnitError::TooFine));
    }

    #[test]
    fn in_bytes__needs_whole_bytes() {
        assert_eq!(Size::MilliPackets(1_500).in_bytes(1500), Some(2250));
        assert_eq!(Size::MilliPackets(1).in_bytes(1500), None);
        assert_eq!(Size::MilliPackets(u64::MAX).in_bytes(1500), None);
    }

    #[test]
    fn format__reads_back() {
        for (value, text) in [
            (0, "0B"),
            (1_500, "1.5KB"),
            (360_000, "360KB"),
            (1_108_140, "1.10814MB"),
            (1_000_000_000_001, "1000000.000001MB"),
        ] {
            assert_eq!(format_size(value), text);
            assert_eq!(parse_size(text), Ok(Size::Bytes(value)));
        }
        assert_eq!(format_time(81_600_000), "81.6us");
        assert_eq!(format_rate(10_000_000_000), "10Gbps");
    }
}
