//! The simulator against its naive twin, on random small runs: the same flow records, the same counts.

mod controllers;
mod engine;
mod hops;
mod hosts;
mod programs;
mod steps;

use self::hosts::Record;
use crate::common::hula::{hula_case, with_hula};
use crate::common::{
    self, BY_THE_CLOCK, Case, NO_OWN_PARTS, PlainFlow, Rest, case, case_of, made, predictions, scheme, settings,
};
use flowsieve_core::Time;
use flowsieve_record::{FlowRow, LinkClass, PointResult, Step};
use flowsieve_sim::topology::Fabric;
use flowsieve_sim::{FctEnd, Flows, Measure, Partitioning, RunSpec};
use flowsieve_workload::{ClosedLoop, Flow, Mix, MixPairs, Offer, Pattern, Queries, Rounding, SizeDistribution, Think};
use proptest::prelude::*;
use proptest::sample::select;

/// What of a flow's row the twin knows: start, FCT, retransmissions, timeouts, packets out of order; packets found lost, duplicate ACKs,
/// packets that came twice, and what its receiver held; nanoseconds in each step.
type Row = ((u32, u64, Option<u64>, u32, u32, u32), (u32, u32, u32, u64, u64), Option<[u64; 5]>);

fn row(row: &FlowRow) -> Row {
    (
        (row.flow, row.start_ps, row.fct_ps, row.retransmissions, row.timeouts, row.out_of_order),
        (row.found_lost, row.duplicate_acks, row.unneeded, row.held_most_bytes, row.held_byte_ns),
        row.steps.as_ref().map(|steps| Step::ALL.map(|step| steps.get(step))),
    )
}

fn row_of_twin(case: &Case, flow: &Flow, record: &Record) -> Row {
    let classes = &case.scheme.classes;
    let class = usize::from(flow.class).min(classes.len() - 1);
    let answered = classes[class].transport.facts().answers();
    let end = if case.fct_end == FctEnd::Ack && answered { record.acknowledged } else { record.arrived };
    let fct = end.map(|end| end - flow.start_ps);
    let effort = record.effort;
    (
        (flow.id, flow.start_ps, fct, effort.retransmissions, effort.timeouts + record.asked, record.out_of_order),
        (effort.found_lost, effort.duplicate_acks, record.unneeded, record.held.most_bytes, record.held.byte_ns),
        record.steps,
    )
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
        queued_before: link
            .found_bytes_by_priority
            .iter()
            .cloned()
            .enumerate()
            .filter(|(_, bytes)| bytes.count() > 0)
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
    case.with_run_spec(|run_spec| agree(case, run_spec))
}

fn agree(case: &Case, run_spec: &RunSpec<'_>) -> Result<(), TestCaseError> {
    let twin = engine::run(run_spec);
    let closed = matches!(run_spec.flows, Flows::Closed { .. });
    if closed && twin.begun.is_empty() {
        return Ok(()); // which the simulator refuses
    }
    let result: PointResult =
        flowsieve_sim::run(run_spec, &mut flowsieve_sim::go_on).map_err(|e| TestCaseError::fail(e.to_string()))?;
    // Given flows have a row even if the run is stopped before they begin, unless queries ended before.
    let given = |message: &usize| match run_spec.flows {
        Flows::Given(_) => true,
        Flows::Until { .. } => !twin.is_too_late(*message),
        Flows::Closed { .. } | Flows::Collectives(_) => false,
        Flows::Queries { queries, .. } => *message >= queries.messages() as usize && !twin.is_too_late(*message),
    };
    let all = twin.messages.iter().zip(&twin.records).enumerate();
    let expected: Vec<Row> = all
        .filter(|(message, _)| given(message) || twin.begun.contains(message))
        .map(|(_, (flow, record))| row_of_twin(case, flow, record))
        .collect();
    let mut found: Vec<Row> = result.flows.iter().map(row).collect();
    found.sort_unstable();
    for (found, expected) in found.iter().zip(&expected) {
        prop_assert_eq!(found, expected);
    }
    prop_assert_eq!(found.len(), expected.len());
    prop_assert_eq!(result.packet_hops, twin.hops);
    // Packets may be of 576 bytes, and every data packet may have its ACK.
    prop_assert!(case.max_time.is_none() || twin.hops <= 6 * case.most_packet_hops() + 100_000, "{}", twin.hops);
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
}

/// Loops over the hosts of a case: outstanding flows, how long they think, how many flows in all.
fn loops() -> impl Strategy<Value = (u32, Think, u32)> {
    // Pauses of no time and of a packet's time make flows begin in the instant of other events.
    let think = prop_oneof![
        2 => Just(Think::Fixed(0)),
        2 => (1u64..4).prop_map(|packets| Think::Fixed(packets * 1_200_000)),
        1 => Just(Think::Exponential(20_000_000)),
    ];
    (1u32..4, think, 1u32..80)
}

/// Whether every flow is acknowledged, so that another can follow it.
fn is_answered(case: &Case) -> bool {
    case.scheme.classes.iter().all(|class| class.transport.facts().answers())
}

fn check_closed(case: &Case, (outstanding, think, flows): (u32, Think, u32)) -> Result<(), TestCaseError> {
    let sizes = |most| SizeDistribution::uniform(1, most, Rounding::Bytes).expect("sizes");
    // Of two classes, where the scheme has them.
    let offer = Offer {
        sizes: sizes(40_000),
        mix: Some(Mix { sizes: sizes(3_000), pairs: MixPairs::Drawn, share: 0.4 }),
        rate_per_host: 0.0,
    };
    let hosts = (case.fabric.hosts, outstanding);
    let closed = ClosedLoop::new(hosts, &Pattern::AllToAll, offer, think, flows, case.seed).expect("loops");
    let until = if case.seed.is_multiple_of(3) { Time::from_us(150) } else { Time::NEVER };
    agree(case, &case.run_spec(Flows::Closed { flows: &closed, until }))
}

/// Queries over the hosts of a case: the client, how many servers, queries, bytes of a request, most bytes of an answer, and how
/// many times later the flows next to them begin.
type Asked = ((u32, u32), u32, u64, u64, u64);

fn asked() -> impl Strategy<Value = Asked> {
    // Requests and answers of full packets make events coincide.
    let request = prop_oneof![2 => Just(1_460u64), 2 => 1u64..3_000, 1 => 1u64..40_000];
    let most = select(vec![2u64, 1_460, 3_000, 40_000]);
    ((0u32..1_000, 0u32..1_000), 1u32..25, request, most, select(vec![1u64, 1, 30]))
}

fn check_queries(case: &Case, asked: Asked) -> Result<(), TestCaseError> {
    let ((client, servers), count, request, most, later) = asked;
    let hosts = case.fabric.hosts;
    let client = client % hosts;
    let others: Vec<u32> = (1..hosts).map(|next| (client + next) % hosts).collect();
    let servers = &others[..=servers as usize % others.len()];
    let sizes = SizeDistribution::uniform(1.max(most / 2), most, Rounding::Bytes).expect("sizes");
    let queries = Queries::new((client, servers), count, request, sizes, case.seed).expect("queries");
    // All begin before the run is stopped: of those that do not, the simulator reads no more than it needs.
    let last = case.flows.iter().map(|flow| flow.start_ps).max().unwrap_or(0);
    let later = if case.max_time.is_none_or(|stop| later * last < stop.0) { later } else { 1 };
    let beside = || -> Box<dyn Iterator<Item = Flow> + '_> {
        let shift = |flow: &Flow| Flow { id: flow.id + queries.messages(), start_ps: later * flow.start_ps, ..*flow };
        Box::new(case.flows.iter().map(shift))
    };
    agree(case, &case.run_spec(Flows::Queries { queries: &queries, beside: &beside }))
}

/// Flows that go on until some of them have finished: every `every`-th, of flows that begin `later` times later.
fn check_until(case: &Case, (every, later): (usize, u64)) -> Result<(), TestCaseError> {
    // The simulator reads no more flows than it needs of a run that is stopped.
    let stop = case.max_time.unwrap_or(Time::NEVER).0;
    let late = case.flows.iter().map(|flow| Flow { start_ps: later * flow.start_ps, ..*flow });
    let begun: Vec<Flow> = late.filter(|flow| flow.start_ps < stop).collect();
    let waited_for: Vec<u32> = begun.iter().step_by(every).map(|flow| flow.id).collect();
    if waited_for.is_empty() {
        return Ok(());
    }
    let flows = || -> Box<dyn Iterator<Item = Flow> + '_> { Box::new(begun.iter().copied()) };
    agree(case, &case.run_spec(Flows::Until { flows: &flows, waited_for: &waited_for }))
}

proptest! {
    #![proptest_config(common::config(1_200))]

    #[test]
    fn run__agrees_with_the_twin(case in case(100)) {
        check(&case)?;
    }

    #[test]
    fn run__agrees_with_the_twin_where_flows_follow_one_another(
        case in case(10).prop_filter("ACKs", is_answered),
        loops in loops(),
    ) {
        check_closed(&case, loops)?;
    }

    #[test]
    fn run__agrees_with_the_twin_where_queries_go_on_beside_flows(
        case in case(30).prop_filter("ACKs", is_answered),
        asked in asked(),
    ) {
        check_queries(&case, asked)?;
    }

    #[test]
    fn run__agrees_with_the_twin_where_flows_go_on_until_others_have_finished(
        case in case(30).prop_filter("ACKs", is_answered),
        until in (1usize..30, select(vec![1u64, 30, 300])),
    ) {
        check_until(&case, until)?;
    }
}

proptest! {
    #![proptest_config(common::config(300))]

    #[test]
    fn run__agrees_with_the_twin_where_thresholds_adapt(case in case_of(BY_THE_CLOCK.to_vec(), 100)) {
        check(&case)?;
    }
}

proptest! {
    #![proptest_config(common::config(200))]

    #[test]
    fn run__agrees_with_the_twin_where_switches_cut(case in case_of(vec!["ndp", "nscc"], 100)) {
        check(&case)?;
    }

    #[test]
    fn run__agrees_with_the_twin_where_probes_tell_of_ways(case in hula_case(60).prop_filter("ACKs", is_answered)) {
        check(&case)?;
    }
}

/// Fabrics of enough ports for packets to stand in a queue before them (`PrefetchQueue` of the simulator), with six
/// busy hosts.
fn large() -> impl Strategy<Value = Case> {
    let given = (
        select(vec!["dctcp", "pias", "pfabric", "ps"]),
        select(vec![("0ns", "0ns"), ("7ns", "3us"), ("1200ns", "0ns"), ("200ns", "20us")]),
        select(vec!["ecmp", "spray", "spray-random", "flowlet"]),
        select(vec!["3pkt", "20pkt"]),
    );
    let flow = (0u64..40, 0u64..6, 1u64..6, 1u64..60_000);
    let stop = prop::option::weighted(0.2, 10u64..400);
    (given, prop::collection::vec(flow, 1..60), 0u64..1_000, stop).prop_map(|(given, mut flows, seed, stop_us)| {
        let (scheme, (link_delay, host_delay), balancing, buffer) = given;
        let given = [
            ("kind", "leaf-spine"),
            ("leaves", "2"),
            ("spines", "3"),
            ("hosts_per_leaf", "180"),
            ("fabric_link", "10Gbps"),
            ("link_delay", link_delay),
            ("host_delay", host_delay),
            ("load_balancing", balancing),
            ("buffer", buffer),
        ];
        flows.sort_by_key(|flow| flow.0);
        let host = |busy: u64| busy / 3 * 180 + busy % 3;
        let flow = |(start, src, offset, bytes): (u64, u64, u64, u64)| {
            [start * 1_200_000, host(src), host((src + offset) % 6), bytes, 0, 0]
        };
        let flows: Vec<PlainFlow> = flows.into_iter().map(flow).collect();
        let rest = Rest { own_parts: NO_OWN_PARTS, seed, wire_overhead: 24, to_ack: true, stop_us };
        made(&given, &[scheme], rest, &flows)
    })
}

proptest! {
    #![proptest_config(common::config(200))]

    #[test]
    fn run__agrees_with_the_twin_where_packets_stand_in_line(case in large()) {
        check(&case)?;
    }
}

/// A failure is printed as this call, which can be put into a test.
#[test]
fn case__is_printed_as_the_call_that_makes_it() {
    macro_rules! case_and_text {
        ($case:expr) => {
            ($case, stringify!($case))
        };
    }
    let (case, text) = case_and_text!(with_hula(
        made(
            &[("kind", "leaf-spine"), ("hosts_per_leaf", "2"), ("0:between", "host0 leaf0"), ("0:loss", "0.2")],
            &["dctcp", "pias"],
            Rest { own_parts: 1, seed: 7, wire_overhead: 24, to_ack: true, stop_us: Some(90) },
            &[[0, 0, 1, 1460, 0, 0], [1200000, 1, 2, 30000, 1, 2000000]]
        ),
        [4, 20, 1, 3, 255]
    ));
    let bare = |text: &str| {
        let code = text.lines().filter(|line| !line.starts_with("//"));
        code.flat_map(str::chars).filter(|letter| !letter.is_whitespace() && *letter != ',').collect::<String>()
    };
    assert_eq!(bare(&format!("{case:?}")), bare(text));
    check(&case).expect("the same");
}

/// Utilisation in a run of closed loops ends with the last packet, which is cut through: its line is still busy.
#[test]
fn run__agrees_where_the_last_packet_is_cut_through() {
    let given = [
        ("kind", "fat-tree"),
        ("hosts_per_edge", "2"),
        ("link_delay", "0ns"),
        ("host_delay", "0ns"),
        ("forwarding", "cut-through"),
    ];
    let rest = Rest { own_parts: 0, seed: 285_103_352_119, wire_overhead: 20, to_ack: false, stop_us: None };
    let case = made(&given, &["dctcp"], rest, &[[0, 0, 1, 1, 0, 0]]);
    check_closed(&case, (1, Think::Fixed(0), 1)).expect("the same");
}

/// The lines of a case carry no more than a stated number of packets until it is stopped, whatever is sent again.
#[test]
fn case__of_a_link_that_loses_most_is_stopped_in_time() {
    let given = [
        ("kind", "fat-tree"),
        ("host_link", "25Gbps"),
        ("fabric_link", "40Gbps"),
        ("rto_min", "60us"),
        ("rto", "constant"),
        ("initial_window", "200"),
    ];
    let rest = Rest { own_parts: NO_OWN_PARTS, seed: 1, wire_overhead: 0, to_ack: true, stop_us: None };
    let case = made(&given, &["pfabric"], rest, &[[0, 0, 15, 400_000, 0, 0]]);
    assert!(case.most_packet_hops() <= 2_000_000 && case.max_time > Some(Time::from_us(3_000)), "{:?}", case.max_time);
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
        wire_overhead: 24,
        fct_end: FctEnd::Ack,
        measure: Measure::All,
        predictions: predictions(3),
        announcements: std::sync::Arc::default(),
        seed: 3,
        max_time: None,
        partitioning: Partitioning::Whole,
        call: String::new(),
    };
    check(&case).expect("the same");
}
