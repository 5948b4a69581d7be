//! Coflows: groups of flows that are done when all of them are. `coflows.parquet`: a row a coflow.
//!
//! Columns: point, seed, coflow, flows, unfinished, bytes, start_ps, cct_ps (null: a flow did not finish). A result
//! without coflows has no such file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field};
use serde::{Deserialize, Serialize};

use crate::classes::SizeClass;
use crate::disorder::Disorder;
use crate::flows::write_table;
use crate::statistics::Figures;
use crate::summary::SeedStats;
use crate::{Breakdown, FlowRow, ResultError};

/// A coflow from the start of its first flow to the end of its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoflowRow {
    /// Its number, the same under every scheme.
    pub coflow: u32,
    /// Flows of it that were counted.
    pub flows: u64,
    /// Flows that did not finish.
    pub unfinished: u64,
    /// Payload of all of them.
    pub bytes: u64,
    /// Start of the first.
    pub start_ps: u64,
    /// Coflow completion time: from there to the end of the last; `None` if one did not finish.
    pub cct_ps: Option<u64>,
}

/// The coflows of these flows, by number.
pub(crate) fn of_flows(flows: &[FlowRow]) -> Vec<CoflowRow> {
    // By coflow: its row so far, and the end of its last flow.
    let mut found: BTreeMap<u32, (CoflowRow, u64)> = BTreeMap::new();
    for flow in flows {
        let Some(coflow) = flow.coflow else { continue };
        let new = CoflowRow { coflow, flows: 0, unfinished: 0, bytes: 0, start_ps: u64::MAX, cct_ps: None };
        let (row, end) = found.entry(coflow).or_insert((new, 0));
        row.flows += 1;
        row.bytes = row.bytes.saturating_add(flow.bytes);
        row.start_ps = row.start_ps.min(flow.start_ps);
        match flow.fct_ps {
            Some(fct_ps) => *end = (*end).max(flow.start_ps.saturating_add(fct_ps)),
            None => row.unfinished += 1,
        }
    }
    let done = |(row, end): (CoflowRow, u64)| {
        let cct_ps = (row.unfinished == 0).then(|| end - row.start_ps);
        CoflowRow { cct_ps, ..row }
    };
    found.into_values().map(done).collect()
}

/// The coflows of a run together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoflowStats {
    /// How many.
    pub coflows: u64,
    /// Coflows of which a flow did not finish.
    pub unfinished: u64,
    /// CCT of the others; `None` if there are none.
    pub cct_ps: Option<Figures>,
}

impl CoflowStats {
    /// `None` without any coflow.
    pub(crate) fn of(rows: &[CoflowRow]) -> Option<CoflowStats> {
        let mut ccts: Vec<f64> = rows.iter().filter_map(|row| row.cct_ps).map(|cct_ps| cct_ps as f64).collect();
        let (coflows, unfinished) = (rows.len() as u64, (rows.len() - ccts.len()) as u64);
        (coflows > 0).then(|| CoflowStats { coflows, unfinished, cct_ps: Figures::of(&mut ccts) })
    }

    /// Of those whose payload is in a size class; `None` without any.
    pub(crate) fn of_class(rows: &[CoflowRow], class: &SizeClass) -> Option<CoflowStats> {
        let rows: Vec<CoflowRow> = rows.iter().filter(|row| class.holds(row.bytes)).copied().collect();
        CoflowStats::of(&rows)
    }

    /// As statistics of a run.
    pub(crate) fn stats(&self, seed: u64) -> SeedStats {
        SeedStats {
            seed,
            flows: self.coflows,
            unfinished: self.unfinished,
            largest_bytes: 0,
            least_slowdown: None,
            fct: self.cct_ps,
            slowdown: None,
            fct_variation: None,
            fairness: None,
            disorder: Disorder::default(),
            breakdown: Breakdown::default(),
        }
    }
}

/// The coflows of a size class that a claim is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimedCoflows {
    /// The class of their payload.
    pub class: SizeClass,
    /// Those of a run.
    pub stats: CoflowStats,
}

/// Writes `coflows.parquet` from the coflows of each run, by point and seed.
pub(crate) fn write(path: &Path, runs: &[(u32, u64, Vec<CoflowRow>)]) -> Result<(), ResultError> {
    let rows = || runs.iter().flat_map(|(point, seed, rows)| rows.iter().map(move |row| (*point, *seed, row)));
    let whole = |of: fn(&CoflowRow) -> u64| {
        Arc::new(UInt64Array::from_iter_values(rows().map(|(.., row)| of(row)))) as ArrayRef
    };
    let field = |name: &str, kind: DataType| Field::new(name, kind, false);
    let columns: Vec<(Field, ArrayRef)> = vec![
        (field("point", DataType::UInt32), Arc::new(UInt32Array::from_iter_values(rows().map(|row| row.0)))),
        (field("seed", DataType::UInt64), Arc::new(UInt64Array::from_iter_values(rows().map(|row| row.1)))),
        (field("coflow", DataType::UInt32), Arc::new(UInt32Array::from_iter_values(rows().map(|row| row.2.coflow)))),
        (field("flows", DataType::UInt64), whole(|row| row.flows)),
        (field("unfinished", DataType::UInt64), whole(|row| row.unfinished)),
        (field("bytes", DataType::UInt64), whole(|row| row.bytes)),
        (field("start_ps", DataType::UInt64), whole(|row| row.start_ps)),
        (
            Field::new("cct_ps", DataType::UInt64, true),
            Arc::new(UInt64Array::from_iter(rows().map(|(.., row)| row.cct_ps))),
        ),
    ];
    write_table(path, columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_flows__from_the_first_start_to_the_last_end() {
        let flow = |coflow, start_ps, fct_ps| FlowRow {
            coflow,
            bytes: 5,
            start_ps,
            fct_ps,
            ideal_ps: 1,
            ..FlowRow::default()
        };
        let flows = [
            flow(Some(7), 100, Some(50)),
            flow(None, 0, Some(900)),
            flow(Some(3), 10, Some(5)),
            flow(Some(7), 120, Some(10)),
            flow(Some(3), 12, None),
        ];
        let row = |coflow, unfinished, start_ps, cct_ps| CoflowRow {
            coflow,
            flows: 2,
            unfinished,
            bytes: 10,
            start_ps,
            cct_ps,
        };
        let rows = [row(3, 1, 10, None), row(7, 0, 100, Some(50))];
        assert_eq!(of_flows(&flows), rows);
        let stats = CoflowStats::of(&rows).unwrap();
        assert_eq!((stats.coflows, stats.unfinished), (2, 1));
        assert_eq!(stats.cct_ps, Figures::of(&mut [50.0]));
        assert_eq!(CoflowStats::of(&[]), None);
    }

    #[test]
    fn of_class__by_the_payload_of_all_its_flows() {
        let row = |bytes, cct_ps| CoflowRow { coflow: 0, flows: 2, unfinished: 0, bytes, start_ps: 0, cct_ps };
        let rows = [row(100, Some(7)), row(101, Some(50)), row(99, Some(3)), row(500, None)];
        let of = |above, up_to| CoflowStats::of_class(&rows, &SizeClass::between(above, up_to));
        let (small, large) = (of(0, Some(100)).unwrap(), of(100, None).unwrap());
        assert_eq!((small.coflows, small.unfinished, small.cct_ps), (2, 0, Figures::of(&mut [7.0, 3.0])));
        assert_eq!((large.coflows, large.unfinished, large.cct_ps), (2, 1, Figures::of(&mut [50.0])));
        assert_eq!(of(500, None), None);
    }
}
