//! Coflows: groups of flows that are finished when all of them are.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::FlowRow;

/// A coflow from the start of its first flow to the end of its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CoflowRow {
    /// Its number, the same under every scheme.
    pub coflow: u32,
    /// Flows of it that were counted: its width.
    pub flows: u64,
    /// Flows that did not finish.
    pub unfinished: u64,
    /// Hosts that send.
    pub senders: u64,
    /// Hosts that receive.
    pub receivers: u64,
    /// Payload of all of them.
    pub bytes: u64,
    /// Payload of the longest.
    pub longest_bytes: u64,
    /// Start of the first.
    pub start_ps: u64,
    /// Coflow completion time: from there to the end of the last; `None` if one did not finish.
    pub cct_ps: Option<u64>,
    /// The least CCT that it could have in the fabric; `None` if not known.
    pub ideal_ps: Option<u64>,
}

impl CoflowRow {
    /// CCT over ideal CCT; `None` for an unfinished coflow, and without an ideal.
    pub fn slowdown(&self) -> Option<f64> {
        Some(self.cct_ps? as f64 / self.ideal_ps.filter(|&ideal_ps| ideal_ps > 0)? as f64)
    }

    /// The coflows of these flows, by number, without ideal CCTs.
    pub fn of(flows: &[FlowRow]) -> Vec<CoflowRow> {
        of_flows(flows, &BTreeMap::new())
    }
}

/// The coflows of these flows, by number, with their ideal CCTs.
pub(crate) fn of_flows(flows: &[FlowRow], ideals_ps: &BTreeMap<u32, u64>) -> Vec<CoflowRow> {
    // By coflow: its row so far, and the end of its last flow.
    let mut found: BTreeMap<u32, (CoflowRow, u64)> = BTreeMap::new();
    let (mut senders, mut receivers) = (BTreeSet::new(), BTreeSet::new());
    for flow in flows {
        let Some(coflow) = flow.coflow else { continue };
        let new = || {
            let ideal_ps = ideals_ps.get(&coflow).copied();
            (CoflowRow { coflow, start_ps: u64::MAX, ideal_ps, ..CoflowRow::default() }, 0)
        };
        let (row, end) = found.entry(coflow).or_insert_with(new);
        row.flows += 1;
        row.senders += u64::from(senders.insert((coflow, flow.src)));
        row.receivers += u64::from(receivers.insert((coflow, flow.dst)));
        row.bytes = row.bytes.saturating_add(flow.bytes);
        row.longest_bytes = row.longest_bytes.max(flow.bytes);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_flows__from_the_first_start_to_the_last_end() {
        let flow = |coflow, (src, dst), bytes, start_ps, fct_ps| FlowRow {
            coflow,
            src,
            dst,
            bytes,
            start_ps,
            fct_ps,
            ideal_ps: 1,
            ..FlowRow::default()
        };
        let flows = [
            flow(Some(7), (0, 1), 5, 100, Some(50)),
            flow(None, (0, 1), 9, 0, Some(900)),
            flow(Some(3), (1, 2), 5, 10, Some(5)),
            flow(Some(7), (0, 2), 6, 120, Some(10)),
            flow(Some(3), (1, 2), 5, 12, None),
        ];
        let third = CoflowRow {
            coflow: 3,
            flows: 2,
            unfinished: 1,
            senders: 1,
            receivers: 1,
            bytes: 10,
            longest_bytes: 5,
            start_ps: 10,
            cct_ps: None,
            ideal_ps: None,
        };
        let seventh = CoflowRow {
            coflow: 7,
            unfinished: 0,
            receivers: 2,
            bytes: 11,
            longest_bytes: 6,
            start_ps: 100,
            cct_ps: Some(50),
            ideal_ps: Some(20),
            ..third
        };
        let rows = of_flows(&flows, &BTreeMap::from([(7, 20)]));
        assert_eq!(rows, [third, seventh]);
        assert_eq!(rows.iter().map(CoflowRow::slowdown).collect::<Vec<_>>(), [None, Some(2.5)]);
    }
}
