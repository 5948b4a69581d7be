//! Rates and times as written by ns-3 and in our edge lists.

use rust_decimal::Decimal;

use crate::convert::source::decimal;

/// Parses an ns-3 DataRate to bit/s: bit/s without a unit; `b` is a bit and `B` a byte; k, M, G are 1000, Ki, Mi, Gi
/// 1024.
pub(crate) fn ns3_rate(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let (prefix, bits) = [("bps", 1), ("b/s", 1), ("Bps", 8), ("B/s", 8)]
        .into_iter()
        .find_map(|(end, bits)| unit.strip_suffix(end).map(|prefix| (prefix, bits)))
        .or(unit.is_empty().then_some(("", 1)))?;
    let factor: u64 = match prefix {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return None,
    };
    exact(number, Decimal::from(bits * factor))
}

/// Parses an ns-3 Time to ps; seconds without a unit.
pub(crate) fn ns3_time_ps(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let ps = match unit {
        "fs" => Decimal::new(1, 3),
        "ps" => Decimal::from(1),
        "ns" => Decimal::from(1_000),
        "us" => Decimal::from(1_000_000),
        "ms" => Decimal::from(1_000_000_000),
        "s" | "" => Decimal::from(1_000_000_000_000u64),
        _ => return None,
    };
    exact(number, ps)
}

/// Splits a number without an exponent from what follows it.
fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()))
}

/// Returns the product, if it is a whole number.
fn exact(number: &str, factor: Decimal) -> Option<u64> {
    let product = decimal(number)?.checked_mul(factor)?;
    product.fract().is_zero().then_some(product.trunc())?.try_into().ok()
}

/// Formats a rate for an edge list.
pub(crate) fn format_rate(bps: u64) -> String {
    with_unit(bps, &[("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("Kbps", 1_000)], "bps")
}

/// Formats a time for an edge list.
pub(crate) fn format_time(ps: u64) -> String {
    let units = [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000)];
    with_unit(ps, &units, "ps")
}

fn with_unit(number: u64, units: &[(&str, u64)], smallest: &str) -> String {
    let whole = units.iter().find(|(_, factor)| number > 0 && number.is_multiple_of(*factor));
    whole.map_or_else(|| format!("{number}{smallest}"), |(unit, factor)| format!("{}{unit}", number / factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ns3_rate__as_its_parser_reads_it() {
        let read = [
            ("25Gbps", 25_000_000_000),
            ("25000000000.0", 25_000_000_000),
            ("25000000000bps", 25_000_000_000),
            ("1MB/s", 8_000_000),
            ("1Kib/s", 1_024),
            ("0.1Gb/s", 100_000_000),
            ("8kbps", 8_000),
        ];
        read.iter().for_each(|(text, bps)| assert_eq!(ns3_rate(text), Some(*bps), "{text}"));
        for wrong in ["", "Gbps", "1e9", "10Gb", "-1Gbps", "1.2.3Gbps", "0.5bps", "10gbps", "99999999999999999999Gbps"]
        {
            assert_eq!(ns3_rate(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn ns3_time_ps__without_a_unit_is_seconds() {
        let read = [
            ("0.001ms", 1_000_000),
            ("1us", 1_000_000),
            ("1000ns", 1_000_000),
            ("0.000001", 1_000_000),
            ("500fs", 0),
            ("2000fs", 2),
            ("0.000025ms", 25_000),
        ];
        for (text, ps) in read {
            assert_eq!(ns3_time_ps(text), (text != "500fs").then_some(ps), "{text}");
        }
        for wrong in ["", "us", "1e-6", "1min", "-1us", "1 us"] {
            assert_eq!(ns3_time_ps(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn format__as_edge_lists_write_it() {
        assert_eq!([25_000_000_000, 1_500_000, 7].map(format_rate), ["25Gbps", "1500Kbps", "7bps"]);
        assert_eq!([0, 1_000_000, 500_000, 7].map(format_time), ["0ps", "1us", "500ns", "7ps"]);
    }
}
