//! Plain lists of sizes: what must not be taken for one, and lists of sampled sizes.

use super::sampled;
use crate::convert::source::{decimal, whole};
use crate::convert::{ConvertError, Kind, Notes, Source, What};
use rust_decimal::Decimal;

/// Sampling at fewer than one packet in so many is rare, and common factors of sizes below it say nothing.
pub(super) const LEAST_RATE: u64 = 64;

/// The bytes of a full packet, and of the shortest.
const PACKET: u64 = 1_500;
const HEADER: u64 = 40;

/// Beginnings of files that are no lists, and what would do.
const OTHERS: [(&str, &str, &str); 4] = [
    ("Date first seen", "nfdump's table for people", "`nfdump -o csv`"),
    ("State", "`ss` without counts of bytes", "`ss -tin`, which has bytes_acked"),
    ("Netid", "`ss` without counts of bytes", "`ss -tin`, which has bytes_acked"),
    ("{", "JSON", "a list of sizes, or an export as text: Zeek's with tabs, Prometheus's /metrics"),
];

/// Refuses files that are read as a list of sizes without being one, by their beginning.
pub(super) fn check(source: &Source<'_>, column: Option<&str>, sampled: Option<u32>) -> Result<(), ConvertError> {
    let mut rows = source.rows();
    let Some(first) = rows.next() else { return Ok(()) };
    if let Some((_, what, expected)) = OTHERS.iter().find(|(begin, ..)| first.text.starts_with(begin)) {
        return Err(source.wrong(first.line, format!("this is {what}"), *expected));
    }
    let names: Vec<&str> = first.text.split(',').map(str::trim).collect();
    let is_rate = |name: &&str| {
        let name: String = name.to_ascii_lowercase().replace(['_', '-', ' '], "");
        ["samplingrate", "samplerate", "samplinginterval", "samplingpacketinterval"].iter().any(|of| name.contains(of))
    };
    if let (Some(at), Some(row)) = (names.iter().position(is_rate), rows.clone().next()) {
        let rate = row.text.split(',').nth(at).unwrap_or_default().trim();
        check_rate(source, row.line, rate, sampled)?;
        if column.is_none_or(|column| column == names[at]) && at == 0 {
            return Err(source.wrong(
                first.line,
                format!("`{}` has no sizes", names[0]),
                "--column with that of the sizes",
            ));
        }
    }
    if column.is_none_or(|column| column == names[0]) {
        refuse_cumulative(source, &names)?;
    }
    Ok(())
}

/// Refuses a histogram whose bounds would be taken for sizes: few rows with rising numbers in two columns, whose first one is
/// named `le`, or rises by about the same factor.
fn refuse_cumulative(source: &Source<'_>, names: &[&str]) -> Result<(), ConvertError> {
    const MOST_BOUNDS: usize = 200;
    let is_le = names[0].split(['_', ' ']).any(|word| word.eq_ignore_ascii_case("le"));
    let mut pairs = Vec::new();
    for row in source.rows() {
        let mut cells = row.text.split(',').map(str::trim);
        match (cells.next().and_then(decimal), cells.next().and_then(decimal)) {
            (Some(bound), Some(count)) => pairs.push((bound, count)),
            _ if pairs.is_empty() => {}
            // A last bound such as +Inf.
            _ => break,
        }
        if pairs.len() > MOST_BOUNDS {
            return Ok(());
        }
    }
    let rises = pairs.len() >= 4 && pairs.windows(2).all(|at| at[0].0 < at[1].0 && at[0].1 <= at[1].1);
    let ratios: Vec<Decimal> = pairs.windows(2).filter_map(|at| at[1].0.checked_div(at[0].0)).collect();
    let near = |ratio: &Decimal| (*ratio - ratios[0]).abs() * Decimal::ONE_HUNDRED <= ratios[0] * Decimal::TEN;
    let steps =
        ratios.len() + 1 >= pairs.len() && ratios.iter().all(near) && ratios.first() > Some(&Decimal::new(12, 1));
    if rises && (is_le || steps) {
        let problem = format!("{} rising bounds with rising counts: a cumulative histogram, not sizes", pairs.len());
        let expected =
            "a distribution with --cdf (rows `bound,count/all`, the last one 1), or Prometheus's lines with `_sum`";
        return Err(source.fault(None, Kind::Row, problem, expected));
    }
    Ok(())
}

/// Refuses a sampling rate above 1 that is not declared.
pub(super) fn check_rate(source: &Source<'_>, line: u64, rate: &str, sampled: Option<u32>) -> Result<(), ConvertError> {
    match whole(rate) {
        None | Some(0 | 1) => Ok(()),
        Some(rate) if sampled.is_some_and(|sampled| u64::from(sampled) == rate) => Ok(()),
        Some(rate) => {
            let problem = match sampled {
                Some(sampled) => format!("the sampling rate is {rate}, and --sampled {sampled}"),
                None => format!("these are samples: the sampling rate is {rate}"),
            };
            let expected = format!("--sampled {rate}, which corrects sizes, or sizes without samples");
            Err(source.fault(Some(line), Kind::Option("sampled"), problem, expected))
        }
    }
}

/// Builds the error about what looks sampled.
pub(super) fn looks_sampled(source: &Source<'_>, line: Option<u64>, what: &str) -> ConvertError {
    let expected = "--sampled N for samples of 1 in N packets, or --sampled 1 if all were counted";
    source.fault(line, Kind::Option("sampled"), format!("{what}, as in packet samples"), expected)
}

/// Returns the greatest common divisor.
pub(super) fn common(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the sizes of a list, corrected if they are sampled; refuses those that look it.
///
/// Scaled samples are multiples of the rate, and have at least a packet: so all sizes are multiples of a number of at least 64, and
/// the least is 40 times that number. Or packets have one length, and all sizes are multiples of 64 full packets or more, ten different ones
/// and the number itself. Lists of fewer than ten different sizes are never refused.
pub(super) fn corrected(
    source: &Source<'_>,
    sizes: Vec<u64>,
    sampled: Option<u32>,
    notes: &mut Notes,
) -> Result<What, ConvertError> {
    let of_all = sizes.iter().fold(0, |of, size| common(of, *size));
    let least = sizes.iter().copied().min().unwrap_or_default();
    match sampled {
        None => {
            let mut different: Vec<u64> = sizes.iter().copied().take(1_000_000).collect();
            different.sort_unstable();
            different.dedup();
            let of_rate = of_all >= LEAST_RATE && least / of_all >= HEADER;
            let of_packets = of_all >= LEAST_RATE * PACKET && least == of_all;
            if different.len() >= 10 && (of_rate || of_packets) {
                let what = format!("all sizes are multiples of {of_all} B, and the least is {least} B");
                return Err(looks_sampled(source, None, &what));
            }
            Ok(What::Samples(sizes))
        }
        Some(1) => Ok(What::Samples(sizes)),
        Some(one_in) => {
            let is_scaled = of_all.is_multiple_of(one_in.into()) && least >= HEADER * u64::from(one_in);
            let scale = if is_scaled { u64::from(one_in) } else { 1 };
            let packets = |bytes: &u64| (bytes / scale + PACKET / 2) / PACKET;
            let counted: Vec<u64> = sizes.iter().map(|bytes| packets(bytes).max(1)).collect();
            let (bytes, all): (f64, f64) =
                (sizes.iter().map(|bytes| (bytes / scale) as f64).sum(), counted.iter().map(|k| *k as f64).sum());
            notes.say(format!(
                "the list is taken for {} of packets of {PACKET} B, ACKs left out",
                if is_scaled { "scaled samples" } else { "samples that are not scaled" }
            ));
            sampled::estimated(source, &counted, one_in, (bytes / all - HEADER as f64).max(1.0), notes).map(What::Sizes)
        }
    }
}
