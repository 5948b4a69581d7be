//! Parsimon's `flows.json`: an array of records in bytes and ns.

use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::{BTreeMap, BTreeSet};

use crate::convert::error::{ConvertError, Kind};
use crate::convert::flows::{Ids, Row, Rows};
use crate::convert::options::Options;
use crate::convert::outcome::{Notes, What};
use crate::convert::registry::Fit;
use crate::convert::source::Source;

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "id")]
    _id: u64,
    src: u64,
    dst: u64,
    size: u64,
    start: u64,
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

pub(crate) fn fit(source: &Source<'_>) -> Fit {
    let text = source.text.trim_start_matches('\u{feff}').trim_start();
    let first = text.strip_prefix('[').map(str::trim_start).filter(|rest| rest.starts_with('{'));
    let record = first.and_then(|rest| rest.split('}').next()).unwrap_or_default();
    let has_all = ["\"src\"", "\"dst\"", "\"size\"", "\"start\""].iter().all(|key| record.contains(key));
    if has_all { Fit::Sure } else { Fit::No }
}

pub(crate) fn read(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let records: Vec<Record> = serde_json::from_str(source.text.trim_start_matches('\u{feff}')).map_err(|error| {
        let expected = "an array of records with id, src, dst, size and start, all whole numbers";
        source.fault(Some(error.line() as u64), Kind::Row, error.to_string(), expected)
    })?;
    let mut rows = Rows::new(*source);
    let mut others = BTreeSet::new();
    for (record, nth) in records.into_iter().zip(1u64..) {
        let start_ps = record.start.checked_mul(1_000).ok_or_else(|| {
            let problem = format!("record {nth} starts at {} ns", record.start);
            source.fault(None, Kind::Row, problem, "starts below 2^64 ps (213 days)")
        })?;
        others.extend(record.others.into_keys());
        // Records have no lines; use their number instead.
        rows.add(Row { line: nth, start_ps, src: record.src, dst: record.dst, bytes: record.size }).map_err(
            |error| ConvertError { line: None, problem: format!("record {nth}: {}", error.problem), ..error },
        )?;
    }
    if !others.is_empty() {
        let others: Vec<String> = others.into_iter().take(20).collect();
        notes.say(format!("fields that are not carried over: {}", others.join(", ")));
    }
    rows.finish(Ids::Nodes, options, notes).map(What::Flows)
}
