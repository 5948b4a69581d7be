//! Coflow traces, which the workload crate reads, as a flow list.

use crate::coflow_trace::{self, Like, OwnRack, Placing};
use crate::convert::error::{ConvertError, Kind};
use crate::convert::flows::sorted;
use crate::convert::options::Options;
use crate::convert::outcome::{Notes, What};
use crate::convert::registry::Fit;
use crate::convert::source::{Source, whole};

/// Recognises two counts, then a coflow: FB2010's has a `:`, Sincronia's has 5 + 3 · flows numbers.
pub(crate) fn fit(source: &Source<'_>) -> Fit {
    let mut rows = source.rows();
    let counts = rows.next().is_some_and(|row| {
        let mut words = row.text.split_ascii_whitespace();
        words.clone().count() == 2 && words.all(|word| whole(word).is_some())
    });
    let coflow = rows.next().is_some_and(|row| {
        let words: Vec<&str> = row.text.split_ascii_whitespace().collect();
        let flows = words.get(2).and_then(|flows| whole(flows)).filter(|flows| *flows > 0);
        let has_flows = flows.and_then(|flows| flows.checked_mul(3)?.checked_add(5)) == Some(words.len() as u64);
        words.len() > 5 && (words.last().is_some_and(|last| last.contains(':')) || has_flows)
    });
    if counts && coflow { Fit::Sure } else { Fit::No }
}

pub(crate) fn read(source: &Source<'_>, options: &Options<'_>, notes: &mut Notes) -> Result<What, ConvertError> {
    let trace = coflow_trace::read(source.name, source.text.as_bytes(), Like::Trace).map_err(|error| {
        let problem = error.problem.to_string();
        let (problem, expected) = problem.split_once("; expected ").unwrap_or((&problem, "a coflow trace"));
        source.fault(error.line, Kind::Row, problem, expected)
    })?;
    let placed = trace.place(trace.ports, Placing::Same, OwnRack::Drop);
    if placed.own_host > 0 {
        let (flows, bytes) = (placed.own_host, placed.own_host_bytes);
        notes.say(format!("{flows} flows of {bytes} B from a port to itself are left out"));
    }
    if placed.flows.is_empty() {
        return Err(source.fault(None, Kind::Lost, "no flow is between two ports", "at least one"));
    }
    notes.say(format!("{} coflows between {} ports, which are hosts", trace.coflows.len(), trace.ports));
    Ok(What::Flows(sorted(placed.flows, Vec::new(), options, notes)))
}
