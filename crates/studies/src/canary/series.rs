//! A file of a canary's or a control's latencies: a quantile an hour or a day, or the latencies themselves.

use flowsieve_experiment::{Error, FileError};
use flowsieve_record::nearest_rank;
use flowsieve_settings::files::{MOST_BYTES, open};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Seconds of a day.
pub(crate) const DAY: u64 = 86_400;

/// Seconds of the windows in which latencies have their quantile, unless said otherwise.
const HOUR: u64 = 3_600;

/// Quantiles that are closer would be of few latencies.
const MINUTE: u64 = 60;

/// The most rows: some 500 MB of memory, with their gaps and windows.
const MOST_ROWS: usize = 10_000_000;

/// What of a file is read, and how.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The column of values; `None`: the only one besides the time.
    pub column: Option<String>,
    /// Seconds over which latencies have a quantile. `None`: rows at even times are quantiles already, others are latencies,
    /// with a quantile an hour.
    pub window: Option<u64>,
    /// The quantile of latencies, in thousandths.
    pub per_mille: usize,
}

/// Values of one group in one period, in any unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    /// Seconds that a value stands for.
    pub(crate) window: u64,
    /// By the second since 1970 at which its window begins.
    pub(crate) values: BTreeMap<u64, f64>,
    /// Latencies that the values are quantiles of; 0: the file has quantiles.
    pub(crate) latencies: usize,
}

impl Series {
    /// Reads one.
    pub(crate) fn read(path: &Path, reading: &Reading) -> Result<Series, Error> {
        let file = open(path, MOST_BYTES).map_err(|error| FileError::unreadable(path, &error, "a CSV file"))?;
        let rows = rows(path, file, reading)?;
        let mut gaps: Vec<u64> = rows.windows(2).map(|at| at[1].0 - at[0].0).collect();
        gaps.sort_unstable();
        let Some(&least) = gaps.first() else {
            return Err(FileError::new("file", path, "has one row")
                .expected("a row for each hour or day, or latency")
                .into());
        };
        // Latencies come at any time; of quantiles a few may be missing.
        let is_even = least > 0 && gaps[gaps.len() / 2] == least && gaps.iter().all(|gap| gap % least == 0);
        if reading.window.is_none() && is_even && least < MINUTE {
            let problem = format!("has a row every {least} s: quantiles or latencies?");
            return Err(FileError::new("value", path, problem)
                .expected("--window 1h for latencies, --window of a row's time else")
                .into());
        }
        let (window, is_latencies) = match reading.window {
            Some(window) => (window, true),
            None => (if is_even { least } else { HOUR }, !is_even),
        };
        let mut windows: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        rows.iter().for_each(|(at, value)| windows.entry(at - at % window).or_default().push(*value));
        let of = |mut values: Vec<f64>| {
            values.sort_unstable_by(f64::total_cmp);
            values[nearest_rank(reading.per_mille, values.len())]
        };
        let values: BTreeMap<u64, f64> = windows.into_iter().map(|(at, values)| (at, of(values))).collect();
        let is_latencies = is_latencies && rows.len() > values.len();
        Ok(Series { window, values, latencies: if is_latencies { rows.len() } else { 0 } })
    }
}

/// The times and values of a file, by time.
fn rows(path: &Path, file: File, reading: &Reading) -> Result<Vec<(u64, f64)>, Error> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(file);
    let wrong = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        FileError::new("columns", path, error.to_string()).at(line).expected("a CSV file of text")
    };
    let heading: Vec<String> =
        reader.headers().map_err(wrong)?.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
    let is_time = |name: &String| ["time", "date", "timestamp", "day", "hour"].contains(&name.to_lowercase().as_str());
    let columns = || heading.join(", ");
    let Some(time) = heading.iter().position(is_time) else {
        let problem = format!("no column of times: {}", columns());
        return Err(FileError::new("columns", path, problem).at(1).expected("a heading such as time,p99").into());
    };
    let others: Vec<usize> = (0..heading.len()).filter(|at| *at != time).collect();
    let value = match &reading.column {
        Some(name) => heading.iter().position(|of| of == name).filter(|at| *at != time),
        None if others.len() == 1 => Some(others[0]),
        None => None,
    };
    let Some(value) = value else {
        let expected = "one column of values, or its name as --column";
        return Err(FileError::new("columns", path, format!("columns: {}", columns())).at(1).expected(expected).into());
    };
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let line = record.position().map_or(0, csv::Position::line);
        let (at, text) = (&record[time], &record[value]);
        let refuse = |key: &str, found: &str, expected: &str| {
            let problem = format!("{key}: {:?}", found.chars().take(40).collect::<String>());
            FileError::new("value", path, problem).at(line).of_key(key).expected(expected)
        };
        let at = seconds(at).ok_or_else(|| {
            refuse(&heading[time], at, "2026-11-20, 2026-11-20T13:00:00Z or seconds since 1970, in UTC")
        })?;
        let found = text.parse::<f64>().ok().filter(|found| found.is_finite() && *found > 0.0);
        let found = found.ok_or_else(|| refuse(&heading[value], text, "a number above zero"))?;
        if rows.len() == MOST_ROWS {
            return Err(FileError::new("rows", path, format!("over {MOST_ROWS} rows")).expected("fewer").into());
        }
        rows.push((at, found));
    }
    rows.sort_by_key(|row| row.0);
    if rows.is_empty() {
        return Err(FileError::new("file", path, "has no rows")
            .expected("a row for each hour or day, or latency")
            .into());
    }
    Ok(rows)
}

/// The second since 1970 of a time in UTC: a date, a date and a time, or a number of seconds or, from 1e11 on, milliseconds.
fn seconds(text: &str) -> Option<u64> {
    /// The year 9999 ends here.
    const MOST: f64 = 253_402_300_800.0;
    if let Ok(number) = text.parse::<f64>() {
        let seconds = if number >= 1e11 { number / 1_000.0 } else { number };
        return (0.0..MOST).contains(&seconds).then_some(seconds as u64);
    }
    let with_time = if text.len() == 10 { format!("{text} 00:00:00") } else { text.to_owned() };
    // Minutes without seconds, as spreadsheets write them.
    let with_seconds = if with_time.len() == 16 { with_time + ":00" } else { with_time };
    Some(humantime::parse_rfc3339_weak(&with_seconds).ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// The second as a day, or as a time where days are too coarse.
pub(crate) fn day(second: u64, block: u64) -> String {
    let time = humantime::format_rfc3339_seconds(UNIX_EPOCH + std::time::Duration::from_secs(second)).to_string();
    if block.is_multiple_of(DAY) { time[..10].to_owned() } else { time }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn read(text: &str) -> Result<Series, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let reading = Reading { column: None, window: None, per_mille: 990 };
        Series::read(file.path(), &reading).map_err(|error| {
            let name = file.path().display().to_string();
            error.to_string().replace(&name, "f")
        })
    }

    #[test]
    fn read__times_in_each_form_are_the_same() {
        let values = |first: &str, second: &str| read(&format!("time,p99\n{first},1\n{second},2\n")).unwrap().values;
        let expected = BTreeMap::from([(1_795_132_800, 1.0), (1_795_219_200, 2.0)]);
        assert_eq!(values("2026-11-20", "2026-11-21"), expected);
        assert_eq!(values("2026-11-20T00:00:00Z", "2026-11-21 00:00"), expected);
        assert_eq!(values("1795132800", "1795219200000"), expected);
    }

    #[test]
    fn read__latencies_have_a_quantile_an_hour() {
        let rows: String = (1..=200).map(|n| format!("{},{n}\n", 1_795_132_800 + n % 7 + n / 101 * 3_600)).collect();
        let series = read(&format!("time,latency\n{rows}")).unwrap();
        // Of 1 to 100, and of 101 to 200, the 99th.
        assert_eq!(series.values, BTreeMap::from([(1_795_132_800, 99.0), (1_795_136_400, 199.0)]));
        assert_eq!((series.window, series.latencies), (3_600, 200));
    }

    #[test]
    fn read__what_is_no_series_is_refused_in_one_line() {
        let wrong = |text: &str| read(text).unwrap_err();
        assert_eq!(wrong(""), "f:1: no column of times: ; expected a heading such as time,p99");
        assert_eq!(wrong("time,p99\n"), "f: has no rows; expected a row for each hour or day, or latency");
        assert_eq!(wrong("p99\n1\n"), "f:1: no column of times: p99; expected a heading such as time,p99");
        assert_eq!(
            wrong("time,p50,p99\n2026-11-20,1,2\n"),
            "f:1: columns: time, p50, p99; expected one column of values, or its name as --column"
        );
        assert!(wrong("time,p99\n20.11.2026,1\n").starts_with("f:2: time: \"20.11.2026\"; expected 2026-11-20"));
        assert_eq!(wrong("time,p99\n2026-11-20,0\n"), "f:2: p99: \"0\"; expected a number above zero");
        assert!(wrong("time,p99\n2026-11-20,1,2\n").starts_with("f:2: "));
    }

    proptest! {
        #[test]
        fn read__any_text_is_read_or_refused(text in "(time|date|p99|,|\n|[0-9:.TZe-]{0,12}|.){0,60}") {
            let _ = read(&text);
        }
    }
}
