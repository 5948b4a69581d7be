//! Numbers in readable form: three significant digits, thousands in groups, units that keep them short.

use flowsieve_results::SizeClass;

/// Replaces a percentile that the available flows or seeds cannot determine.
pub(crate) const UNTOLD: &str = "n/a";

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Its symbol.
    pub name: &'static str,
    ps: f64,
}

impl Unit {
    const ALL: [Unit; 4] = [
        Unit { name: "ns", ps: 1e3 },
        Unit { name: "µs", ps: 1e6 },
        Unit { name: "ms", ps: 1e9 },
        Unit { name: "s", ps: 1e12 },
    ];

    /// The largest unit in which the least of some times is at least 1.
    pub fn for_times(times_ps: impl IntoIterator<Item = f64>) -> Unit {
        let least = times_ps.into_iter().reduce(f64::min).unwrap_or(0.0);
        Unit::ALL.into_iter().rfind(|unit| least >= unit.ps).unwrap_or(Unit::ALL[0])
    }

    /// A time in this unit.
    pub fn of(self, time_ps: f64) -> f64 {
        time_ps / self.ps
    }
}

/// A time with its unit.
pub fn time(time_ps: u64) -> String {
    let unit = Unit::for_times([time_ps as f64]);
    format!("{} {}", number(unit.of(time_ps as f64)), unit.name)
}

/// Number of decimals that show three significant digits of a value.
pub fn decimals(value: f64) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let exponent = libm::floor(libm::log10(value.abs())) as i32;
    (2 - exponent).clamp(0, 9) as usize
}

/// Three significant digits, or all digits before the point.
pub fn number(value: f64) -> String {
    with_decimals(value, decimals(value))
}

/// A value with a fixed number of decimals and its thousands in groups.
pub fn with_decimals(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    format!("{sign}{}{fraction}", grouped(digits))
}

/// The interval of a value, as printed next to it: "±0.11" if it reaches as far down as up, else its ends.
pub fn spread(value: f64, interval: Option<(f64, f64)>, text: impl Fn(f64) -> String) -> String {
    let Some((low, high)) = interval else { return String::new() };
    let (down, up) = (text(value - low), text(high - value));
    if down == up { format!("±{up}") } else { format!("({}–{})", text(low), text(high)) }
}

/// A count with its thousands in groups.
pub(crate) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size to three digits in a decimal unit.
pub fn size(bytes: u64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("KB", 1e3)];
    let unit = units.into_iter().find(|(_, each)| bytes as f64 >= *each);
    unit.map_or_else(|| format!("{bytes} B"), |(name, each)| format!("{} {name}", number(bytes as f64 / each)))
}

/// A size class in words.
pub fn flows_of(class: &SizeClass) -> String {
    let limited = class.above_bytes > 0 || class.up_to_bytes.is_some();
    if limited { format!("flows of {}", class.name) } else { "all flows".into() }
}

/// A sentence's beginning with a capital.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A share as per cent.
pub fn per_cent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Six significant digits: enough for a plot, and the same on every machine.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number__three_significant_digits_and_groups() {
        assert_eq!(
            [0.0, 0.012_345, 1.0, 9.876, 45.67, 123.4, 1_234_567.8].map(number),
            ["0", "0.0123", "1.00", "9.88", "45.7", "123", "1,234,568"]
        );
        assert_eq!(number(-1_234.5), "-1,234");
    }

    #[test]
    fn time__unit_by_size() {
        assert_eq!(
            [0, 999, 85_300_000, 1_270_000_000, 12_000_000_000_000].map(time),
            ["0 ns", "0.999 ns", "85.3 µs", "1.27 ms", "12.0 s"]
        );
    }

    #[test]
    fn size__decimal_units() {
        assert_eq!([999, 1_460, 77_380, 29_200_000].map(size), ["999 B", "1.46 KB", "77.4 KB", "29.2 MB"]);
    }
}
