//! A histogram in Prometheus's text format: cumulative counts `NAME_bucket{le="…"}`, with `NAME_sum`.
//!
//! Sizes between two bounds are taken as evenly spread over the logarithm, below the first bound evenly. Flows above the last
//! bound get the mean that `_sum` leaves for them, so a histogram without `_sum` is refused if it has such flows.

use super::{distribution, empty};
use crate::MAX_BYTES;
use crate::convert::source::At;
use crate::convert::{ConvertError, Fit, Kind, Notes, Options, Source, What};
use std::collections::{BTreeMap, BTreeSet};

/// The most different bounds.
const MOST_BOUNDS: usize = 10_000;

/// Pieces that a bin is cut into, so that straight lines between them follow the logarithm.
const PIECES: u32 = 8;

/// A line: the metric's name, its labels but `le`, `le`, and the value.
struct Sample<'a> {
    name: &'a str,
    labels: String,
    le: Option<f64>,
    value: f64,
}

fn number(text: &str) -> Option<f64> {
    match text {
        "+Inf" | "Inf" => Some(f64::INFINITY),
        text => text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0),
    }
}

/// Parses a line. Label values may have escaped quotes, commas and braces.
fn sample(text: &str) -> Option<Sample<'_>> {
    let end = text.find(['{', ' ', '\t'])?;
    let (name, mut rest) = text.split_at(end);
    let (mut labels, mut le) = (String::new(), None);
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner.trim_start();
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"")?;
            let mut escaped = false;
            let close = after.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            })?;
            let value = &after[..close];
            match label.trim() {
                "le" => le = Some(number(value)?),
                label => labels += &format!("{label}={value},"),
            }
            rest = after[close + 1..].trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        rest = &rest[1..];
    }
    let value = number(rest.split_whitespace().next()?).filter(|value| value.is_finite())?;
    Some(Sample { name, labels, le, value })
}

fn is_bucket(row: &At<'_>) -> bool {
    row.text.contains("_bucket{") && row.text.contains("le=\"")
}

pub(crate) fn fit(source: &Source<'_>) -> Fit {
    let is_histogram = source.rows().take(2_000).any(|row| is_bucket(&row) && sample(row.text).is_some());
    if is_histogram { Fit::Sure } else { Fit::No }
}

pub(crate) fn read(source: &Source<'_>, _: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let (mut names, mut sets): (BTreeSet<&str>, BTreeMap<String, BTreeMap<u64, f64>>) = Default::default();
    let mut others: Vec<(u64, Sample<'_>)> = Vec::new();
    for row in source.rows() {
        let Some(sample) = sample(row.text) else {
            return Err(source.wrong_field(
                row.line,
                "the line",
                row.text,
                "a metric, its labels and a number of at least 0",
            ));
        };
        let Some(name) = sample.name.strip_suffix("_bucket") else {
            others.push((row.line, sample));
            continue;
        };
        let Some(le) = sample.le else {
            return Err(source.wrong(row.line, format!("`{}` has no label le", sample.name), "its upper bound"));
        };
        names.insert(name);
        let bounds = sets.entry(sample.labels).or_default();
        // The bits of floats of at least 0 rise as they do.
        if bounds.insert(le.to_bits(), sample.value).is_some() || bounds.len() > MOST_BOUNDS {
            let expected = format!("one scrape, each bound once and at most {MOST_BOUNDS}");
            return Err(source.wrong(row.line, format!("the bound {le} comes twice, or there are too many"), expected));
        }
    }
    let Some(name) = names.pop_first() else {
        return Err(empty(source, "no line `NAME_bucket{le=\"…\"}`", "buckets"));
    };
    if let Some(other) = names.first() {
        let problem = format!("there are the histograms {name} and {other}");
        return Err(source.fault(None, Kind::Row, problem, "the lines of one, such as by `grep '^NAME_'`"));
    }
    if name.contains("second") || name.contains("duration") {
        return Err(source.fault(None, Kind::Row, format!("{name} counts time"), "a histogram of bytes"));
    }
    let (cumulative, count) = summed(source, &sets)?;
    let of_name = |what: &str| {
        let lines = others.iter().filter(|(_, sample)| sample.name.strip_prefix(name) == Some(what));
        let values: Vec<f64> = lines.map(|(_, sample)| sample.value).collect();
        (values.len() == sets.len()).then(|| values.iter().sum::<f64>())
    };
    notes.say(format!("the histogram {name}: {count} flows since its counters began"));
    if sets.len() > 1 {
        notes.say(format!("{} sets of labels are summed", sets.len()));
    }
    let mut bins: Vec<(f64, f64, f64)> = Vec::new();
    let (mut from, mut below, mut least, mut middle, mut most) = (1.0, 0.0, 0.0, 0.0, 0.0);
    for &(bound, up_to) in &cumulative {
        let weight = up_to - below;
        let ratio: f64 = bound / from;
        least += weight * from;
        most += weight * bound;
        if bins.is_empty() && below == 0.0 && from == 1.0 {
            middle += weight * (from + bound) / 2.0;
            bins.push((from, bound, weight));
        } else {
            for piece in 0..PIECES {
                let end = |piece: u32| from * libm::pow(ratio, f64::from(piece) / f64::from(PIECES));
                let (low, high) = (end(piece), end(piece + 1));
                middle += weight / f64::from(PIECES) * (low + high) / 2.0;
                bins.push((low, high, weight / f64::from(PIECES)));
            }
        }
        (from, below) = (bound, up_to);
    }
    let above = count - below;
    if above > 0.0 {
        let Some(sum) = of_name("_sum") else {
            let problem =
                format!("{above} of {count} flows are above the last bound {from}, and `{name}_sum` is missing");
            return Err(source.fault(None, Kind::Row, problem, format!("the line `{name}_sum` of the same scrape")));
        };
        if sum < least + above * from {
            let problem = format!("`{name}_sum` is {sum}, less than the bounds allow ({})", least + above * from);
            return Err(source.fault(None, Kind::Row, problem, "buckets and sum of one scrape"));
        }
        let mean = |rest: f64| ((sum - rest) / above).clamp(from, MAX_BYTES as f64);
        let (low, mean, high) = (mean(most), mean(middle), mean(least));
        notes.say(format!(
            "{above} flows above the last bound {from} have a mean of {mean:.0} B by the sum ({low:.0} to {high:.0} B, by where \
             sizes lie between bounds)"
        ));
        bins.push((from, 2.0 * mean - from, above));
    }
    Ok(What::Sizes(distribution(&bins)))
}

/// Returns the finite bounds with their cumulative counts over all sets of labels, and the count of all.
fn summed(
    source: &Source<'_>,
    sets: &BTreeMap<String, BTreeMap<u64, f64>>,
) -> Result<(Vec<(f64, f64)>, f64), ConvertError> {
    let fault = |problem: String, expected: &str| Err(source.fault(None, Kind::Row, problem, expected));
    let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
    let first: Vec<&u64> = sets.values().next().into_iter().flat_map(BTreeMap::keys).collect();
    for (labels, bounds) in sets {
        if bounds.keys().ne(first.iter().copied()) {
            return fault(
                format!("the bounds of {{{labels}}} differ from those of other labels"),
                "the same bounds in all",
            );
        }
        let falls = bounds.iter().zip(bounds.iter().skip(1)).find(|(one, next)| next.1 < one.1);
        if let Some(((from, before), (to, after))) = falls {
            let [from, to] = [from, to].map(|bits| f64::from_bits(*bits));
            let problem = format!("counts fall from {before} up to {from} to {after} up to {to}");
            return fault(problem, "counts that rise with the bounds, as Prometheus has them");
        }
        for (bound, count) in bounds {
            *sums.entry(*bound).or_default() += count;
        }
    }
    let mut cumulative: Vec<(f64, f64)> = sums.into_iter().map(|(bits, count)| (f64::from_bits(bits), count)).collect();
    let Some((bound, count)) = cumulative.pop().filter(|(bound, _)| bound.is_infinite()) else {
        return fault("the bucket le=\"+Inf\" is missing".to_owned(), "all buckets of the histogram");
    };
    debug_assert!(bound > 0.0);
    if let Some((bound, _)) = cumulative.iter().find(|(bound, _)| !(1.0..=MAX_BYTES as f64).contains(bound)) {
        return fault(format!("the bound {bound}"), "bounds from 1 byte on");
    }
    if count < 1.0 || cumulative.is_empty() {
        return fault(format!("{count} flows under {} finite bounds", cumulative.len()), "at least one of each");
    }
    Ok((cumulative, count))
}
