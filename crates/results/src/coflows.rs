//! Coflows: groups of flows that are finished when all of them are. `coflows.parquet`: one row per coflow.
//!
//! Columns: point, seed, coflow, flows, unfinished, bytes, start_ps, cct_ps (null: a flow did not finish), senders,
//! receivers, longest_bytes, ideal_ps (null: not known), slowdown. A result without coflows has no such file.

use std::path::Path;

use flowsieve_record::CoflowRow;
use serde::{Deserialize, Serialize};

use crate::ResultError;
use crate::coflow_class::{CoflowClassBounds, CoflowGroup};
use crate::labels::Labels;
use crate::statistics::Figures;
use crate::summary::SeedStats;
use crate::table::{Cells, Table, write_tables};

/// Statistics of the coflows of a run together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoflowStats {
    /// Their number.
    pub coflows: u64,
    /// Coflows with a flow that did not finish.
    pub unfinished: u64,
    /// CCT of the others; `None` if there are none.
    pub cct_ps: Option<Figures>,
    /// Their slowdown: CCT over ideal CCT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<Figures>,
}

impl CoflowStats {
    /// `None` without any coflow.
    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = &'a CoflowRow>) -> Option<CoflowStats> {
        let (mut coflows, mut ccts, mut slowdowns) = (0, Vec::new(), Vec::new());
        for row in rows {
            coflows += 1;
            ccts.extend(row.cct_ps.map(|cct_ps| cct_ps as f64));
            slowdowns.extend(row.slowdown());
        }
        let unfinished = coflows - ccts.len() as u64;
        let (cct_ps, slowdown) = (Figures::of(&mut ccts), Figures::of(&mut slowdowns));
        (coflows > 0).then_some(CoflowStats { coflows, unfinished, cct_ps, slowdown })
    }

    /// As statistics of a run.
    pub(crate) fn stats(&self, seed: u64) -> SeedStats {
        SeedStats {
            seed,
            flows: self.coflows,
            unfinished: self.unfinished,
            fct: self.cct_ps,
            slowdown: self.slowdown,
            ..SeedStats::default()
        }
    }
}

/// The coflows of a run that are in a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupedCoflows {
    /// The group.
    #[serde(rename = "class")]
    pub group: CoflowGroup,
    /// Those of a run.
    pub stats: CoflowStats,
}

impl GroupedCoflows {
    /// For each group that contains any of these coflows.
    pub(crate) fn of(rows: &[CoflowRow], groups: &[CoflowGroup], bounds: &CoflowClassBounds) -> Vec<GroupedCoflows> {
        let of = |group: &CoflowGroup| {
            let stats = CoflowStats::of(rows.iter().filter(|row| group.holds(row, bounds)))?;
            Some(GroupedCoflows { group: group.clone(), stats })
        };
        groups.iter().filter_map(of).collect()
    }
}

/// Writes `coflows.parquet` from the coflows of each run, by point and seed.
pub(crate) fn write(path: &Path, runs: &[(u32, u64, Vec<CoflowRow>)], labels: &Labels) -> Result<(), ResultError> {
    let rows = || runs.iter().flat_map(|(point, seed, rows)| rows.iter().map(move |row| (*point, *seed, row)));
    let whole = |of: fn(&CoflowRow) -> u64| Cells::whole(rows().map(|(.., row)| of(row)));
    let mut columns: Table = [
        ("point", Cells::whole(rows().map(|row| row.0))),
        ("seed", Cells::whole(rows().map(|row| row.1))),
        ("coflow", Cells::whole(rows().map(|row| row.2.coflow))),
        ("flows", whole(|row| row.flows)),
        ("unfinished", whole(|row| row.unfinished)),
        ("bytes", whole(|row| row.bytes)),
        ("start_ps", whole(|row| row.start_ps)),
        ("cct_ps", Cells::some(rows().map(|(.., row)| row.cct_ps))),
        ("senders", whole(|row| row.senders)),
        ("receivers", whole(|row| row.receivers)),
        ("longest_bytes", whole(|row| row.longest_bytes)),
        ("ideal_ps", Cells::some(rows().map(|(.., row)| row.ideal_ps))),
        ("slowdown", Cells::some(rows().map(|(.., row)| row.slowdown()))),
    ]
    .map(|(name, cells)| (name.to_owned(), cells))
    .into();
    columns.splice(2..2, labels.columns(rows().map(|row| row.0)));
    write_tables(path, [(rows().count(), columns)].into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::SizeClass;
    use crate::coflow_class::CoflowClass;

    #[test]
    fn of__finished_coflows_alone_have_times() {
        let row = |cct_ps, ideal_ps| CoflowRow { cct_ps, ideal_ps, ..CoflowRow::default() };
        let stats = CoflowStats::of(&[row(None, None), row(Some(50), Some(20))]).unwrap();
        assert_eq!((stats.coflows, stats.unfinished), (2, 1));
        assert_eq!((stats.cct_ps, stats.slowdown), (Figures::of(&mut [50.0]), Figures::of(&mut [2.5])));
        assert_eq!(CoflowStats::of(&[]), None);
    }

    #[test]
    fn of__groups_by_the_payload_of_all_flows_and_by_class() {
        let row =
            |bytes, flows, cct_ps| CoflowRow { bytes, longest_bytes: bytes, flows, cct_ps, ..CoflowRow::default() };
        let rows = [row(100, 1, Some(7)), row(101, 9, Some(50)), row(99, 1, Some(3)), row(500, 8, None)];
        let bounds = CoflowClassBounds { long_bytes: 101, wide_flows: 9 };
        let size = |above, up_to| CoflowGroup::Size(SizeClass::between(above, up_to));
        let mut groups = vec![size(0, Some(100)), size(100, None), size(500, None)];
        groups.extend(CoflowClass::ALL.map(CoflowGroup::Class));
        let found = GroupedCoflows::of(&rows, &groups, &bounds);
        let found: Vec<_> =
            found.iter().map(|of| (of.group.name(), of.stats.coflows, of.stats.unfinished, of.stats.cct_ps)).collect();
        let two = Figures::of(&mut [7.0, 3.0]);
        let one = Figures::of(&mut [50.0]);
        assert_eq!(
            found,
            [("0-100B", 2, 0, two), (">100B", 2, 1, one), ("SN", 2, 0, two), ("LN", 1, 1, None), ("LW", 1, 0, one)]
        );
    }
}
