//! The load of a link's busiest minute, from the octets that its interface has counted.
//!
//! Rows have a time in seconds and the counter (ifHCOutOctets, `tx.bytes` of `ip -s -j link`), or, under a heading
//! `bytes_per_second`, a rate (Prometheus's `rate`). A counter of 32 bits wraps; a larger one that falls was reset, and that
//! interval is left out. So is an interval of over three times the usual one, as samples are missing. Samples that are
//! rarer than a minute give their busiest interval, which is less than the busiest minute.

use crate::convert::source::{At, decimal};
use crate::convert::{ConvertError, Kind, Notes, Source};
use rust_decimal::prelude::ToPrimitive;

/// The time that the load is a mean of, in seconds.
const MINUTE: f64 = 60.0;

/// 2^32: where a counter of 32 bits begins again.
const WRAP: f64 = 4_294_967_296.0;

/// The most rows.
const MOST_ROWS: usize = 10_000_000;

/// A link carries no more than this of its rate; clocks of samples differ a little.
const MOST_LOAD: f64 = 1.05;

/// The name of a column of rates.
const RATE: &str = "bytes_per_second";

/// Returns the load of the busiest minute of a link of this rate.
///
/// # Errors
/// Fails on rows that are not two numbers, times that do not rise, and counts that the link cannot have carried.
pub fn load(source: &Source<'_>, rate_bps: u64, notes: &mut Notes) -> Result<f64, ConvertError> {
    let numbers = |row: At<'_>| -> Option<(f64, f64)> {
        let (time, octets) = row.text.split_once([',', ';', '\t', ' '])?;
        Some((decimal(time.trim())?.to_f64()?, decimal(octets.trim())?.to_f64()?))
    };
    let heading = source
        .rows()
        .next()
        .filter(|row| numbers(*row).is_none() && !row.text.starts_with(|c: char| c.is_ascii_digit()));
    let is_rate = heading.is_some_and(|row| row.text.ends_with(RATE));
    let mut samples: Vec<(f64, f64)> = Vec::new();
    for row in source.rows().filter(|row| Some(row.line) != heading.map(|row| row.line)) {
        let Some(sample) = numbers(row).filter(|_| samples.len() < MOST_ROWS) else {
            return Err(source.wrong_field(
                row.line,
                "the row",
                row.text,
                "a time in seconds and octets: `time,octets`",
            ));
        };
        if let Some(last) = samples.last().filter(|last| last.0 >= sample.0) {
            let problem = format!("the time goes back from {} to {}", last.0, sample.0);
            return Err(source.wrong(row.line, problem, "times that rise: one interface, one clock"));
        }
        samples.push(sample);
    }
    if samples.len() < 3 {
        let problem = format!("{} samples", samples.len());
        return Err(source.fault(None, Kind::Row, problem, "at least 3, over a busy time"));
    }
    let mut gaps: Vec<f64> = samples.windows(2).map(|at| at[1].0 - at[0].0).collect();
    gaps.sort_unstable_by(f64::total_cmp);
    let usual = gaps[gaps.len() / 2];
    let bytes_per_second = rate_bps as f64 / 8.0;
    let is_short = samples.iter().all(|(_, octets)| *octets < WRAP);
    let (mut wraps, mut resets, mut missing) = (0, 0, 0);
    // By interval: its length and octets; none if it says nothing.
    let mut intervals: Vec<Option<(f64, f64)>> = Vec::new();
    for at in samples.windows(2) {
        let seconds = at[1].0 - at[0].0;
        let (carried, fits) = (at[1].1 - at[0].1, |octets: f64| octets <= bytes_per_second * seconds * MOST_LOAD);
        let octets = if seconds > 3.0 * usual {
            missing += 1;
            None
        } else if is_rate {
            Some(at[1].1 * seconds)
        } else if carried >= 0.0 {
            Some(carried)
        } else if is_short && bytes_per_second * seconds >= WRAP {
            let wrap = WRAP / bytes_per_second;
            let problem = format!(
                "a counter below 2^32 falls between samples {seconds} s apart, in which it may wrap every {wrap:.1} s"
            );
            return Err(source.fault(None, Kind::Row, problem, "a counter of 64 bits, such as ifHCOutOctets"));
        } else if is_short && fits(carried + WRAP) {
            wraps += 1;
            Some(carried + WRAP)
        } else {
            resets += 1;
            None
        };
        if let Some(octets) = octets.filter(|octets| !fits(*octets)) {
            let problem = format!(
                "{octets:.0} octets in {seconds} s are {:.2} of the link's rate",
                octets / seconds / bytes_per_second
            );
            return Err(source.fault(None, Kind::Row, problem, "the rate of this link, and octets of one direction"));
        }
        intervals.push(octets.map(|octets| (seconds, octets)));
    }
    let busiest = busiest(&intervals, MINUTE.max(usual * 0.999)).ok_or_else(|| {
        let problem = "no minute without resets or missing samples".to_owned();
        source.fault(None, Kind::Row, problem, "a minute of samples")
    })?;
    let load = (busiest / bytes_per_second * 1e4).round() / 1e4;
    notes.count(wraps, "wraps of a counter of 32 bits");
    notes.count(resets, "resets of the counter; the intervals are left out");
    notes.count(missing, "intervals with missing samples are left out");
    if usual > MINUTE {
        notes.say(format!("samples are {usual} s apart: the busiest minute had more than this mean"));
    }
    if !(load > 0.0 && load < 1.0) {
        return Err(source.fault(
            None,
            Kind::Row,
            format!("the busiest minute has a load of {load}"),
            "more than 0 and less than 1",
        ));
    }
    notes.say(format!("load {load} in the busiest minute of {:.0} s", samples[samples.len() - 1].0 - samples[0].0));
    Ok(load)
}

/// Returns the highest mean rate over neighbouring intervals of at least this length together.
fn busiest(intervals: &[Option<(f64, f64)>], least: f64) -> Option<f64> {
    let (mut best, mut from, mut seconds, mut octets): (Option<f64>, usize, f64, f64) = (None, 0, 0.0, 0.0);
    for (at, interval) in intervals.iter().enumerate() {
        let Some((length, carried)) = interval else {
            (from, seconds, octets) = (at + 1, 0.0, 0.0);
            continue;
        };
        (seconds, octets) = (seconds + length, octets + carried);
        while let Some((length, carried)) = intervals[from].filter(|(length, _)| seconds - length >= least) {
            (from, seconds, octets) = (from + 1, seconds - length, octets - carried);
        }
        if seconds >= least {
            let rate = octets / seconds;
            best = Some(best.map_or(rate, |best: f64| best.max(rate)));
        }
    }
    best
}
