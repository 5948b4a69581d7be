//! Values: as a file holds them ([`Raw`]), as a key requires them ([`Kind`]), and as the program reads them
//! ([`Value`]).

use super::error::{Origin, SettingsError};
use super::units::{self, Size, UnitError};
use std::fmt;

/// A value from TOML or the command line, before its key is known.
#[derive(Debug, Clone, PartialEq)]
pub enum Raw {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A decimal number.
    Float(f64),
    /// `true` or `false`.
    Flag(bool),
    /// A list, each item with its own place in the file.
    List(Vec<(Raw, Origin)>),
    /// Another TOML type (dates, tables), by its name.
    Other(&'static str),
}

impl From<&str> for Raw {
    fn from(text: &str) -> Self {
        Raw::Text(text.to_owned())
    }
}
macro_rules! of_one_value {
    ($($of:ty, $variant:ident;)*) => {$(
        impl From<$of> for Raw {
            fn from(value: $of) -> Self {
                Raw::$variant(value)
            }
        }
    )*};
}
of_one_value! {
    String, Text;
    i64, Integer;
    f64, Float;
    bool, Flag;
}
impl From<Vec<u64>> for Raw {
    fn from(counts: Vec<u64>) -> Self {
        counts.into_iter().map(|count| i64::try_from(count).unwrap_or(i64::MAX)).collect()
    }
}
impl From<&[&str]> for Raw {
    fn from(texts: &[&str]) -> Self {
        texts.iter().copied().collect()
    }
}
/// Collects a list.
impl<T: Into<Raw>> FromIterator<T> for Raw {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Raw::List(items.into_iter().map(|item| (item.into(), Origin::Default)).collect())
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Raw::Text(text) => write!(out, "{text:?}"),
            Raw::Integer(number) => write!(out, "{number}"),
            Raw::Float(number) => write!(out, "{number:?}"),
            Raw::Flag(flag) => write!(out, "{flag}"),
            Raw::List(_) => out.write_str("a list"),
            Raw::Other(name) => out.write_str(name),
        }
    }
}

/// The names in a list of choices, for any type of value.
pub trait Names: fmt::Debug + Sync {
    /// Returns the names, in the order of the list.
    fn names(&self) -> Vec<&'static str>;
}

/// The kind of a key's value, with its limits.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A size with a unit, between these limits in bytes (inclusive). The reader checks limits of packet counts.
    Size(u64, u64),
    /// A link rate, within [`units::MIN_RATE_BPS`] and [`units::MAX_RATE_BPS`].
    Rate,
    /// A time with a unit, between these limits in ps (inclusive).
    Time(u64, u64),
    /// A whole number between these limits (inclusive).
    Count(u64, u64),
    /// A number between these limits (inclusive).
    Number(f64, f64),
    /// A number above the first limit, at most the second.
    NumberAbove(f64, f64),
    /// `true` or `false`.
    Flag,
    /// Any text that is not empty.
    Text,
    /// One of these texts.
    Choice(&'static dyn Names),
    /// A file's path, relative to the experiment file.
    File,
    /// Any text that is not empty. One that ends in `.csv` is a file's path, relative to the experiment file.
    TextOrCsv,
    /// A list of sizes.
    SizeList,
    /// A list of times.
    TimeList,
    /// A list of numbers, each between these limits (inclusive).
    NumberList(f64, f64),
    /// A list of whole numbers of at least 1.
    CountList,
    /// A list of texts.
    TextList,
    /// A whole number between these limits (inclusive), or a list of such.
    CountOrList(u64, u64),
    /// A list of sizes, or one of these texts.
    SizeListOr(&'static dyn Names),
}

/// A value that fits its key's kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A size.
    Size(Size),
    /// A rate in bit/s.
    Rate(u64),
    /// A time in ps.
    Time(u64),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A flag.
    Flag(bool),
    /// A text, a choice or a file's path.
    Text(String),
    /// Sizes.
    SizeList(Vec<Size>),
    /// Times in ps.
    TimeList(Vec<u64>),
    /// Numbers.
    NumberList(Vec<f64>),
    /// Whole numbers.
    CountList(Vec<u64>),
    /// Texts.
    TextList(Vec<String>),
}

/// Joins names in prose: `"a", "b" or "c"`.
pub fn one_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("\"{only}\""),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|name| format!("\"{name}\"")).collect();
            format!("{} or \"{last}\"", first.join(", "))
        }
    }
}

impl Kind {
    /// Describes valid values, for the "expected" of an error and the help of `list settings`.
    pub fn expects(&self) -> String {
        match self {
            Kind::Size(low, high) => format!(
                "a size with a unit (B, KB, MB, GB, KiB, MiB, GiB or pkt), {} to {}",
                units::format_size(*low),
                units::format_size(*high)
            ),
            Kind::Rate => format!(
                "a rate with a unit (bps, Kbps, Mbps or Gbps), {} to {}",
                units::format_rate(units::MIN_RATE_BPS),
                units::format_rate(units::MAX_RATE_BPS)
            ),
            Kind::Time(low, high) => format!(
                "a time with a unit (ps, ns, us, ms or s), {} to {}",
                units::format_time(*low),
                units::format_time(*high)
            ),
            Kind::Count(low, high) => format!("a whole number, {low} to {high}"),
            Kind::Number(low, high) => format!("a number, {low} to {high}"),
            Kind::NumberAbove(low, high) => format!("a number above {low} and up to {high}"),
            Kind::Flag => "true or false".to_owned(),
            Kind::Text | Kind::TextOrCsv => "a text".to_owned(),
            Kind::Choice(choices) => one_of(&choices.names()),
            Kind::File => "a file's path, as a text".to_owned(),
            Kind::SizeList => "a list of sizes, such as [\"100KB\", \"10MB\"]".to_owned(),
            Kind::TimeList => "a list of times, such as [\"10ms\", \"60ms\"]".to_owned(),
            Kind::NumberList(low, high) => format!("a list of numbers, each {low} to {high}"),
            Kind::CountList => "a list of whole numbers of at least 1".to_owned(),
            Kind::TextList => "a list of texts".to_owned(),
            Kind::CountOrList(low, high) => format!("a whole number, {low} to {high}, or a list of such numbers"),
            Kind::SizeListOr(choices) => {
                format!("a list of sizes such as [\"20KB\", \"1MB\"], or {}", one_of(&choices.names()))
            }
        }
    }

    /// Returns whether a text of this kind is a file's path.
    pub fn is_path(&self, text: &str) -> bool {
        match self {
            Kind::File => true,
            Kind::TextOrCsv => text.ends_with(".csv"),
            _ => false,
        }
    }

    /// Returns whether it accepts a list, always or for some values.
    pub fn is_list(&self) -> bool {
        use Kind::{CountList, CountOrList, NumberList, SizeList, SizeListOr, TextList, TimeList};
        matches!(self, SizeList | TimeList | NumberList(..) | CountList | CountOrList(..) | TextList | SizeListOr(_))
    }

    /// Returns whether a value, given or default, is of this kind.
    pub(super) fn holds(&self, value: &Value) -> bool {
        matches!(
            (self, value),
            (Kind::Size(..), Value::Size(_))
                | (Kind::Rate, Value::Rate(_))
                | (Kind::Time(..), Value::Time(_))
                | (Kind::Count(..), Value::Count(_))
                | (Kind::Number(..) | Kind::NumberAbove(..), Value::Number(_))
                | (Kind::Flag, Value::Flag(_))
                | (Kind::Text | Kind::Choice(_) | Kind::File | Kind::TextOrCsv, Value::Text(_))
                | (Kind::SizeList, Value::SizeList(_))
                | (Kind::TimeList, Value::TimeList(_))
                | (Kind::NumberList(..), Value::NumberList(_))
                | (Kind::CountList, Value::CountList(_))
                | (Kind::CountOrList(..), Value::Count(_) | Value::CountList(_))
                | (Kind::TextList, Value::TextList(_))
                | (Kind::SizeListOr(_), Value::SizeList(_) | Value::Text(_))
        )
    }

    /// Reads `raw`, given at `origin` for the key `key`.
    pub fn read(&self, key: &str, raw: &Raw, origin: &Origin) -> Result<Value, SettingsError> {
        let wrong = |problem: String| SettingsError::new(origin.clone(), problem).expected(self.expects()).of_key(key);
        let within = |value: u64, low: u64, high: u64| {
            let fits = (low..=high).contains(&value);
            fits.then_some(value).ok_or_else(|| wrong(format!("`{key}` = {raw} is out of range")))
        };
        let no_quantity = |error: UnitError| wrong(format!("`{key}` = {raw} {error}"));
        Ok(match (self, raw) {
            (Kind::Size(low, high), Raw::Text(text)) => {
                let size = units::parse_size(text).map_err(no_quantity)?;
                if let Size::Bytes(bytes) = size {
                    within(bytes, *low, *high)?;
                }
                Value::Size(size)
            }
            (Kind::Rate, Raw::Text(text)) => {
                let bps = units::parse_rate(text).map_err(no_quantity)?;
                Value::Rate(within(bps, units::MIN_RATE_BPS, units::MAX_RATE_BPS)?)
            }
            (Kind::Time(low, high), Raw::Text(text)) => {
                let ps = units::parse_time(text).map_err(no_quantity)?;
                Value::Time(within(ps, *low, *high)?)
            }
            (Kind::Size(..) | Kind::Rate | Kind::Time(..), Raw::Integer(_) | Raw::Float(_)) => {
                return Err(no_quantity(UnitError::NoUnit));
            }
            (Kind::Count(low, high) | Kind::CountOrList(low, high), Raw::Integer(number)) => {
                // A negative number is out of every range, as is the largest one.
                let count = u64::try_from(*number).unwrap_or(u64::MAX);
                Value::Count(within(count, *low, *high)?)
            }
            (Kind::Number(..) | Kind::NumberAbove(..), Raw::Integer(number)) => {
                return self.read(key, &Raw::Float(*number as f64), origin);
            }
            (Kind::Number(low, high), Raw::Float(number)) if (*low..=*high).contains(number) => Value::Number(*number),
            (Kind::NumberAbove(low, high), Raw::Float(number)) if number > low && number <= high => {
                Value::Number(*number)
            }
            (Kind::Number(..) | Kind::NumberAbove(..), Raw::Float(_)) => {
                return Err(wrong(format!("`{key}` = {raw} is out of range")));
            }
            (Kind::Flag, Raw::Flag(flag)) => Value::Flag(*flag),
            (Kind::Text | Kind::File | Kind::TextOrCsv, Raw::Text(text)) if !text.trim().is_empty() => {
                Value::Text(text.clone())
            }
            (Kind::Choice(choices) | Kind::SizeListOr(choices), Raw::Text(text)) => {
                if !choices.names().contains(&text.as_str()) {
                    return Err(wrong(format!("`{key}` cannot be {raw}")).names(text, choices.names()));
                }
                Value::Text(text.clone())
            }
            (Kind::SizeList | Kind::SizeListOr(_), Raw::List(items)) => {
                let size = |value| if let Value::Size(size) = value { Some(size) } else { None };
                Value::SizeList(Kind::Size(0, 1_000_000_000_000).read_each(key, items, size)?)
            }
            (Kind::TimeList, Raw::List(items)) => {
                let ps = |value| if let Value::Time(ps) = value { Some(ps) } else { None };
                Value::TimeList(Kind::Time(0, MAX_TIME_PS).read_each(key, items, ps)?)
            }
            (Kind::NumberList(low, high), Raw::List(items)) => {
                let number = |value| if let Value::Number(number) = value { Some(number) } else { None };
                Value::NumberList(Kind::Number(*low, *high).read_each(key, items, number)?)
            }
            (Kind::CountList | Kind::CountOrList(..), Raw::List(items)) => {
                let each = match self {
                    Kind::CountOrList(low, high) => Kind::Count(*low, *high),
                    _ => Kind::Count(1, u64::from(u32::MAX)),
                };
                let count = |value| if let Value::Count(count) = value { Some(count) } else { None };
                Value::CountList(each.read_each(key, items, count)?)
            }
            (Kind::TextList, Raw::List(items)) => {
                let text = |value| if let Value::Text(text) = value { Some(text) } else { None };
                Value::TextList(Kind::Text.read_each(key, items, text)?)
            }
            _ => return Err(wrong(format!("`{key}` cannot be {raw}"))),
        })
    }

    /// Reads the items of a list, up to the first error. A kind reads only values of its own variant, so `take` skips
    /// none.
    fn read_each<T>(
        &self,
        key: &str,
        items: &[(Raw, Origin)],
        take: fn(Value) -> Option<T>,
    ) -> Result<Vec<T>, SettingsError> {
        items.iter().filter_map(|(raw, origin)| self.read(key, raw, origin).map(take).transpose()).collect()
    }
}

/// The longest time that a setting can hold: ten days, in ps.
pub const MAX_TIME_PS: u64 = 864_000 * 1_000_000_000_000;

/// The canonical text of the effective configuration: the same value has the same text, however it was written.
impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
            let items: Vec<String> = items.iter().map(text).collect();
            format!("[{}]", items.join(", "))
        }
        let size = |size: &Size| match size {
            Size::Bytes(bytes) => units::format_size(*bytes),
            Size::MilliPackets(milli) => format!("{}pkt", *milli as f64 / 1_000.0),
        };
        out.write_str(&match self {
            Value::Size(value) => size(value),
            Value::Rate(bps) => units::format_rate(*bps),
            Value::Time(ps) => units::format_time(*ps),
            Value::Count(count) => count.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Text(text) => text.clone(),
            Value::SizeList(sizes) => list(sizes, size),
            Value::TimeList(times) => list(times, |ps| units::format_time(*ps)),
            Value::NumberList(numbers) => list(numbers, f64::to_string),
            Value::CountList(counts) => list(counts, u64::to_string),
            Value::TextList(texts) => list(texts, String::clone),
        })
    }
}
