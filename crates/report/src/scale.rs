//! The places of a swept key's values on an axis: numbers and sizes to scale, words in their order.

/// Values on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    /// By value.
    pub(crate) positions: Vec<f64>,
    /// Whether the values lie so far apart that only a logarithmic axis shows them.
    pub(crate) is_log: bool,
    /// That of the positions, empty for plain numbers; `None` for words.
    pub(crate) unit: Option<&'static str>,
}

/// Units in experiment files, with the factor to the first unit of their kind.
const UNITS: [(&str, u8, f64); 23] = [
    ("", 0, 1.0),
    ("%", 1, 1.0),
    ("pkt", 2, 1.0),
    ("B", 3, 1.0),
    ("KB", 3, 1e3),
    ("kB", 3, 1e3),
    ("MB", 3, 1e6),
    ("GB", 3, 1e9),
    ("TB", 3, 1e12),
    ("KiB", 3, 1024.0),
    ("MiB", 3, 1_048_576.0),
    ("GiB", 3, 1_073_741_824.0),
    ("ps", 4, 1.0),
    ("ns", 4, 1e3),
    ("us", 4, 1e6),
    ("µs", 4, 1e6),
    ("ms", 4, 1e9),
    ("s", 4, 1e12),
    ("bps", 5, 1.0),
    ("kbps", 5, 1e3),
    ("Kbps", 5, 1e3),
    ("Mbps", 5, 1e6),
    ("Gbps", 5, 1e9),
];

/// The places of these values: to scale if all are numbers of one kind, else one after the other.
pub(crate) fn scale(values: &[&str]) -> Scale {
    /// Values further apart than this crowd at one end of a linear axis.
    const SPAN: f64 = 20.0;
    let measured: Option<Vec<(u8, f64)>> = values.iter().map(|value| measure(value)).collect();
    match measured {
        Some(measured) if measured.windows(2).all(|pair| pair[0].0 == pair[1].0) => {
            let kind = measured.first().map_or(0, |(kind, _)| *kind);
            let unit = UNITS.iter().find(|(_, other, _)| *other == kind).map(|(name, ..)| *name);
            let positions: Vec<f64> = measured.into_iter().map(|(_, position)| position).collect();
            let least = positions.iter().copied().fold(f64::INFINITY, f64::min);
            let most = positions.iter().copied().fold(0.0, f64::max);
            Scale { is_log: least > 0.0 && most > SPAN * least, positions, unit }
        }
        _ => Scale { positions: (0..values.len()).map(|at| at as f64).collect(), is_log: false, unit: None },
    }
}

/// The kind of a value's unit, and the value in the first unit of that kind.
fn measure(value: &str) -> Option<(u8, f64)> {
    let value = value.trim_matches('"').trim();
    let end = value.find(|letter: char| !letter.is_ascii_digit() && !"+-._".contains(letter)).unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let number: f64 = number.replace('_', "").parse().ok()?;
    let (_, kind, factor) = UNITS.into_iter().find(|(name, ..)| *name == unit.trim())?;
    Some((kind, number * factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale__numbers_of_one_kind() {
        assert_eq!(scale(&["20pkt", "65pkt"]), Scale { positions: vec![20.0, 65.0], is_log: false, unit: Some("pkt") });
        assert_eq!(
            scale(&["900B", "20KB", "1MB"]),
            Scale { positions: vec![900.0, 2e4, 1e6], is_log: true, unit: Some("B") }
        );
        assert_eq!(
            scale(&["0", "0.5", "100"]),
            Scale { positions: vec![0.0, 0.5, 100.0], is_log: false, unit: Some("") }
        );
        assert_eq!(scale(&["\"81.6us\"", "1ms"]).positions, [81.6e6, 1e9]);
    }

    #[test]
    fn scale__words_and_mixed_kinds_in_their_order() {
        for values in [&["ecmp", "spray", "hula"], &["20pkt", "30KB", "40pkt"], &["[1, 2]", "3", "4"]] {
            assert_eq!(scale(values), Scale { positions: vec![0.0, 1.0, 2.0], is_log: false, unit: None });
        }
    }
}
