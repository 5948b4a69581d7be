//! The simulator against its naive twin, on random small points: the same flow records, the same counts.

#[path = "../common/mod.rs"]
mod common;
mod engine;
mod hosts;

use common::{Case, case, scheme, settings};
use flowsieve_results::{FlowRow, LinkClass, PointResult};
use flowsieve_schemes::scheme::Transport;
use flowsieve_sim::topology::Fabric;
use flowsieve_sim::{FctEnd, Framing, Measure, Partitioning};
use flowsieve_workload::Flow;
use hosts::Record;
use proptest::prelude::*;

/// What of a flow's row the twin knows: FCT, retransmissions, timeouts, packets out of order.
type Row = (u32, Option<u64>, u32, u32, u32);

fn row(row: &FlowRow) -> Row {
    (row.flow, row.fct_ps, row.retransmissions, row.timeouts, row.out_of_order)
}

fn row_of_twin(case: &Case, flow: usize, record: &Record) -> Row {
    let classes = &case.scheme.classes;
    let class = usize::from(case.flows[flow].class).min(classes.len() - 1);
    let answered = matches!(classes[class].transport, Transport::Tcp(_));
    let end = if case.fct_end == FctEnd::Ack && answered { record.acknowledged } else { record.arrived };
    let fct = end.map(|end| end - case.flows[flow].start_ps);
    (flow as u32, fct, record.retransmissions, record.timeouts, record.out_of_order)
}

fn count(link: &LinkClass) -> engine::Count {
    let counted = |by: &[u64]| by.iter().copied().enumerate().filter(|&(_, packets)| packets > 0).collect();
    engine::Count {
        packets: link.packets,
        bytes: link.bytes,
        drops: link.drops,
        marks: link.marks,
        by_queue: counted(&link.packets_by_queue),
        by_priority: counted(&link.packets_by_priority),
        found: link
            .found_bytes_by_priority
            .iter()
            .cloned()
            .enumerate()
            .filter(|(_, found)| found.count() > 0)
            .collect(),
        most_backlog: link.max_backlog_bytes,
        while_flows_arrive: 0,
    }
}

/// Bytes on the wire that a utilisation stands for.
fn bytes_of(link: &LinkClass, rate_total_bps: u64, span_ps: u64) -> f64 {
    link.utilisation * rate_total_bps as f64 * (span_ps as f64 / 1e12) / 8.0
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    case.with_point(|point| {
        let twin = engine::run(point);
        let result: PointResult =
            flowsieve_sim::run(point, &mut |_| {}).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let expected: Vec<Row> =
            (0..).zip(&twin.records).map(|(flow, record)| row_of_twin(case, flow, record)).collect();
        let found: Vec<Row> = result.flows.iter().map(row).collect();
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(found, expected);
        }
        prop_assert_eq!(found.len(), expected.len());
        prop_assert_eq!(result.packet_hops, twin.hops);
        if !twin.drained {
            return Ok(()); // a run that is stopped leaves packets that only an eager engine has sent
        }
        for ((class, twin), share) in result.links.iter().zip(&twin.counts).zip(case.fabric.class_shares()) {
            let expected = engine::Count { while_flows_arrive: 0, ..twin.clone() };
            prop_assert_eq!(count(class), expected, "{}", class.name);
            let early = bytes_of(class, share.rate_total_bps, result.arrivals_end_ps);
            let expected = if result.arrivals_end_ps > 0 { twin.while_flows_arrive as f64 } else { 0.0 };
            prop_assert!((early - expected).abs() < 0.5, "{}: {early} B, not {expected}", class.name);
        }
        Ok(())
    })
}

proptest! {
    #![proptest_config(common::config(2_000))]

    #[test]
    fn run__agrees_with_the_twin(case in case(100)) {
        check(&case)?;
    }
}

/// More flows than are handed over at once, many of one instant, so that some such instant lies astride.
#[test]
fn run__agrees_where_flows_are_many() {
    let given = [("kind", "leaf-spine"), ("leaves", "2"), ("hosts_per_leaf", "3"), ("buffer", "20pkt")];
    let settings = settings(&given.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let flow = |id: u32| Flow {
        id,
        start_ps: u64::from(id / 100) * 12_000_000,
        src: id % 6,
        dst: (id + 1 + id / 6 % 5) % 6,
        bytes: 100 + u64::from(id % 7) * 1_000,
        class: 0,
        deadline_ps: None,
        coflow: None,
    };
    let case = Case {
        fabric: Fabric::from_settings(&settings).expect("a fabric"),
        scheme: scheme("pfabric", &settings).expect("a scheme"),
        flows: (0..17_000).map(flow).collect(),
        framing: Framing { header: 40, overhead: 24 },
        fct_end: FctEnd::Ack,
        measure: Measure::All,
        seed: 3,
        max_time: None,
        partitioning: Partitioning::Whole,
        settings: Vec::new(),
    };
    check(&case).expect("the same");
}
