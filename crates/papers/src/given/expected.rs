//! The value that a paper states: the key `claimed`, by the form of the claim.

use crate::claim::Expected;
use flowsieve_results::Unit;
use flowsieve_settings::units::{Size, parse_rate, parse_size, parse_time};
use flowsieve_settings::{Origin, Raw, SettingsError as Wrong, one_of};

/// The largest number in a claim: ten days in ps are less.
const LARGEST: f64 = 1e18;

/// Reads the claim about a scheme compared with a baseline.
pub(super) fn claimed_ratio(origin: &Origin, raw: &Raw) -> Result<Expected, Wrong> {
    let found = match raw {
        Raw::Text(text) => match (text.as_str(), text.strip_prefix("up to ")) {
            ("lower", _) => Some(Expected::Lower),
            ("higher", _) => Some(Expected::Higher),
            (_, Some(text)) => change(text).filter(|&change| change != 0.0).map(Expected::UpTo),
            _ => change(text).map(Expected::Change),
        },
        Raw::List(ends) => match ends.as_slice() {
            [(Raw::Text(low), _), (Raw::Text(high), _)] => change(low)
                .zip(change(high))
                .filter(|(low, high)| low <= high)
                .map(|(low, high)| Expected::Between(low, high)),
            _ => None,
        },
        _ => None,
    };
    found.ok_or_else(|| {
        let expected =
            "a change such as \"-6.3%\" or \"2.5x\", two of them that rise, \"up to -23%\", \"lower\" or \"higher\"";
        Wrong::new(origin.clone(), format!("`claimed` cannot be {raw}")).expected(expected)
    })
}

/// Reads the claim about a scheme alone, in the unit of its figure.
pub(super) fn claimed_value(unit: Unit, origin: &Origin, raw: &Raw) -> Result<Expected, Wrong> {
    let Raw::List(ends) = raw else { return amount(unit, raw, origin).map(Expected::Value) };
    match ends.as_slice() {
        [(low, low_at), (high, high_at)] => {
            let (low, high) = (amount(unit, low, low_at)?, amount(unit, high, high_at)?);
            let rises = (low <= high).then_some(Expected::Within(low, high));
            rises.ok_or_else(|| {
                Wrong::new(origin.clone(), "the ends of `claimed` fall").expected("two values that rise")
            })
        }
        _ => Err(Wrong::new(origin.clone(), format!("`claimed` has {} ends", ends.len()))
            .expected("a value, or two that rise")),
    }
}

/// Reads the claim about several schemes.
pub(super) fn claimed_order(origin: &Origin, raw: &Raw) -> Result<Expected, Wrong> {
    let orders = [("rising", Expected::Rising), ("close", Expected::Close)];
    let found = orders.iter().find(|(name, _)| matches!(raw, Raw::Text(text) if text == name));
    found.map(|(_, expected)| *expected).ok_or_else(|| {
        let names = orders.map(|(name, _)| name);
        Wrong::new(origin.clone(), format!("`claimed` cannot be {raw}")).expected(one_of(&names))
    })
}

fn amount(unit: Unit, raw: &Raw, origin: &Origin) -> Result<f64, Wrong> {
    let found = match (unit, raw) {
        (Unit::Time, Raw::Text(text)) => parse_time(text).ok().map(|ps| ps as f64),
        (Unit::Size, Raw::Text(text)) => match parse_size(text) {
            Ok(Size::Bytes(bytes)) => Some(bytes as f64),
            _ => None,
        },
        (Unit::Rate, Raw::Text(text)) => parse_rate(text).ok().map(|bps| bps as f64),
        (Unit::Share, Raw::Text(text)) => share(text),
        (Unit::Number, Raw::Integer(number)) => Some(*number as f64),
        (Unit::Number, Raw::Float(number)) => Some(*number),
        _ => None,
    };
    let expected = match unit {
        Unit::Time => "a time such as \"81.6us\", or two that rise",
        Unit::Size => "a size such as \"10KB\", or two that rise",
        Unit::Rate => "a rate such as \"9.4Gbps\", or two that rise",
        Unit::Share => "a share such as \"95%\", or two that rise",
        Unit::Number => "a number, or two that rise",
    };
    found
        .filter(|value| value.abs() <= LARGEST)
        .ok_or_else(|| Wrong::new(origin.clone(), format!("`claimed` cannot be {raw}")).expected(expected))
}

/// Parses a change as a share: from per cent, or from a multiple of the baseline.
fn change(text: &str) -> Option<f64> {
    match text.strip_suffix('x') {
        Some(times) => number(times).filter(|times| *times >= 0.0).map(|times| times - 1.0),
        None => share(text),
    }
}

/// Parses per cent, with a sign, as a share.
pub(super) fn share(text: &str) -> Option<f64> {
    number(text.strip_suffix('%')?.trim_end()).map(|per_cent| per_cent / 100.0)
}

/// Parses digits with a sign and a point, but no other notation of numbers.
fn number(text: &str) -> Option<f64> {
    let digits = text.trim_start_matches(['+', '-']);
    let plain = !digits.is_empty() && digits.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    text.parse().ok().filter(|number: &f64| plain && number.abs() <= 100_000.0)
}
