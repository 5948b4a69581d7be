//! A file's text, its rows and tokens with their lines, and exact numbers.

use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};

use crate::convert::error::{ConvertError, Kind, excerpt};

/// The text of a file.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The file's name in errors.
    pub name: &'a str,
    /// Its content.
    pub text: &'a str,
}

/// A row or a token, and its line, from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) line: u64,
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    /// Returns the lines that are neither blank nor comments, without surrounding blanks.
    pub(crate) fn rows(&self) -> impl Iterator<Item = At<'a>> + Clone + use<'a> {
        self.lines().filter(|row| !row.text.is_empty() && !row.text.starts_with('#'))
    }

    /// Returns all lines, without surrounding blanks.
    pub(crate) fn lines(&self) -> impl Iterator<Item = At<'a>> + Clone + use<'a> {
        // Some editors start a file with a byte-order mark.
        let text = self.text.trim_start_matches('\u{feff}');
        text.lines().zip(1..).map(|(text, line)| At { line, text: text.trim() })
    }

    /// Splits a row at white space into this many fields.
    pub(crate) fn fields<const N: usize>(&self, row: At<'a>, expected: &str) -> Result<[&'a str; N], ConvertError> {
        let fields: Vec<&str> = row.text.split_ascii_whitespace().collect();
        let found = fields.len();
        fields.try_into().map_err(|_| self.wrong(row.line, format!("this row has {found} fields"), expected))
    }

    /// Splits at white space. Lines have no meaning.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = At<'a>> + Clone + use<'a> {
        self.lines().flat_map(|row| row.text.split_ascii_whitespace().map(move |text| At { line: row.line, text }))
    }

    /// Builds an error about a row.
    pub(crate) fn wrong(&self, line: u64, problem: impl Into<String>, expected: impl Into<String>) -> ConvertError {
        self.fault(Some(line), Kind::Row, problem, expected)
    }

    /// Builds an error of any kind.
    pub(crate) fn fault(
        &self,
        line: Option<u64>,
        kind: Kind,
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> ConvertError {
        let (file, problem, expected) = (self.name.to_owned(), problem.into(), expected.into());
        ConvertError { file, line, kind, problem, expected }
    }

    /// Builds the error about a field with an invalid value.
    pub(crate) fn wrong_field(&self, line: u64, field: &str, found: &str, expected: impl Into<String>) -> ConvertError {
        self.wrong(line, format!("{field} is `{}`", excerpt(found)), expected)
    }

    /// Reads a whole number up to `most`, which may end in `.0`.
    pub(crate) fn whole(&self, line: u64, field: &str, found: &str, most: u64) -> Result<u64, ConvertError> {
        let number = whole(found).filter(|number| *number <= most);
        number.ok_or_else(|| self.wrong_field(line, field, found, format!("a whole number from 0 to {most}")))
    }

    /// Reads a decimal number times `per_unit`, rounded to whole units. `finer` counts the rounded ones.
    pub(crate) fn scaled(
        &self,
        line: u64,
        field: &str,
        found: &str,
        per_unit: u64,
        finer: &mut u64,
    ) -> Result<u64, ConvertError> {
        let (number, rounded) = scaled(found, per_unit)
            .ok_or_else(|| self.wrong_field(line, field, found, "a decimal number of at least 0 that is in range"))?;
        *finer += u64::from(rounded);
        Ok(number)
    }
}

/// Parses a whole number of at least 0, which may end in `.0`.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let digits = text.split_once('.').filter(|(_, rest)| rest.bytes().all(|zero| zero == b'0')).map_or(text, |at| at.0);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// Parses a decimal number of at least 0, which may have an exponent.
pub(crate) fn decimal(text: &str) -> Option<Decimal> {
    let plain = text.bytes().all(|letter| letter.is_ascii_digit() || b".eE+-".contains(&letter));
    text.parse().ok().filter(|_| plain && !text.starts_with(['+', '-']))
}

/// Returns the number times `per_unit`, and whether it was rounded to the nearest whole number.
pub(crate) fn scaled(text: &str, per_unit: u64) -> Option<(u64, bool)> {
    let exact = decimal(text)?.checked_mul(per_unit.into())?;
    Some((nearest(exact)?, !exact.fract().is_zero()))
}

/// Returns the nearest whole number; halves go up.
pub(crate) fn nearest(number: Decimal) -> Option<u64> {
    number.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero).to_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled__is_exact_and_rounds_to_the_nearest() {
        assert_eq!(scaled("2.000000100", 1_000_000_000), Some((2_000_000_100, false)));
        assert_eq!(scaled("1.0000124999999999709", 1_000_000_000), Some((1_000_012_500, true)));
        assert_eq!(scaled("1.3e-05", 1_000_000), Some((13, false)));
        for wrong in ["", "-1", "+1", "nan", "inf", "1e99", "0x1", "1s", "1e20"] {
            assert_eq!(scaled(wrong, 1_000_000_000_000), None, "{wrong}");
        }
    }

    #[test]
    fn whole__takes_a_zero_fraction_and_no_more() {
        assert_eq!(["7", "007", "7.0", "25000000000.0"].map(whole), [7, 7, 7, 25_000_000_000].map(Some));
        assert_eq!(["", ".", ".0", "7.5", "-7", "1e3", "18446744073709551616"].map(whole), [None; 7]);
    }

    #[test]
    fn rows__keep_their_lines() {
        let source = Source { name: "f", text: "\u{feff}1 2\r\n\r\n# x\n 3\t4 " };
        let rows: Vec<(u64, &str)> = source.rows().map(|row| (row.line, row.text)).collect();
        assert_eq!(rows, [(1, "1 2"), (4, "3\t4")]);
    }
}
