//! Queries to several servers at once, and collectives: by hand, and whatever holds of any of them.

use crate::by_hand;
use crate::common;
use std::collections::BTreeMap;

use crate::by_hand::{Trial, rack, scheme};
use crate::common::{Case, case};
use flowsieve_core::Time;
use flowsieve_record::{FlowRow, PointResult};
use flowsieve_sim::{FctEnd, Flows, Measure, Partitioning, QUERY_EPOCH, RunSpec, SimError, run};
use flowsieve_workload::{Collectives, Exchange, Flow, Queries, Rounding, SizeDistribution};
use proptest::prelude::*;

fn fixed(bytes: u64) -> SizeDistribution {
    SizeDistribution::fixed(bytes, Rounding::Bytes).expect("a size")
}

/// Number, start and FCT in ns.
fn brief(row: &FlowRow) -> (u32, u64, u64) {
    (row.flow, row.start_ps / 1_000, row.fct_ps.expect("a finished flow") / 1_000)
}

/// Host 0 asks hosts 1 and 2 on one switch of 10 Gbit/s. A link adds 200 ns. A request of 60 bytes is 100 on the line, 80 ns; an
/// answer of 1,460 is 1,500, 1.2 us; an ACK takes 32 ns.
///
/// The first request is at host 1 after 80 + 200 + 80 + 200 = 560 ns, the second, 80 ns behind it, at host 2 after 640. Each host
/// sends an ACK, then its answer, which is at the switch 32 + 1,200 + 200 ns later: at 1,992 and at 2,072. The first goes on at
/// once and arrives at 1,992 + 1,400 = 3,392. The second waits for its last bit to leave, until 3,192, and arrives at 4,592.
///
/// At that instant the next requests begin, behind the ACK of the second answer: everything is as before, 32 ns later.
#[test]
fn queries__two_to_two_servers_by_hand() {
    let settings = rack(3).with(None, "handshake", "none");
    let trial = Trial::new(&settings, scheme("dctcp", &settings));
    let queries = Queries::new((0, &[1, 2]), 2, 60, fixed(1_460), 1).expect("queries");
    let nothing = || -> Box<dyn Iterator<Item = Flow>> { Box::new(std::iter::empty()) };
    let result = |partitioning| {
        let flows = Flows::Queries { queries: &queries, beside: &nothing };
        let result = run(&trial.run_spec(flows, partitioning), &mut flowsieve_sim::go_on).expect("a run");
        PointResult { events: 0, ..result }
    };
    let whole = result(Partitioning::Whole);
    assert_eq!(whole, result(Partitioning::Racks));
    assert_eq!(whole, result(Partitioning::Stages { groups: 2, threads: 2, worth: 0 }));
    let mut rows: Vec<_> = whole.flows.iter().map(brief).collect();
    rows.sort_unstable();
    assert_eq!(rows[..4], [(0, 0, 560), (1, 0, 640), (2, 560, 3_392 - 560), (3, 640, 4_592 - 640)]);
    assert_eq!(rows[4..], [(4, 4_592, 592), (5, 4_592, 672), (6, 5_184, 2_832), (7, 5_264, 3_952)]);
    assert!(whole.flows.iter().all(|row| row.class == 1 && row.coflow == Some(row.flow / 4)));
}

/// A flow of three packets to the client holds up the answer.
#[test]
fn queries__wait_behind_flows_beside_them() {
    let settings = rack(4).with(None, "handshake", "none");
    let trial = Trial::new(&settings, scheme("dctcp", &settings));
    let queries = Queries::new((0, &[1]), 1, 60, fixed(1_460), 1).expect("queries");
    let beside = || -> Box<dyn Iterator<Item = Flow>> {
        Box::new([Flow { id: 2, ..by_hand::flow(500_000, (3, 0), 3) }].into_iter())
    };
    let flows = Flows::Queries { queries: &queries, beside: &beside };
    let result = run(&trial.run_spec(flows, Partitioning::Whole), &mut flowsieve_sim::go_on).expect("a run");
    // The flow's first packet is at the switch at 0.5 + 1.4 us, the answer, as above, at 1.992 us: behind one packet on the line
    // and before the other two, it leaves from 3.1 us on.
    assert_eq!(result.flows.iter().map(brief).collect::<Vec<_>>(), [(0, 0, 560), (2, 500, 6_400), (1, 560, 3_940)]);
    assert_eq!(result.arrivals_end_ps, result.simulated_ps);
}

#[test]
fn queries__refusals() {
    let settings = rack(3).with(None, "mtu", "576B");
    let run_of = |name: &str, queries: &Queries, beside: Vec<Flow>, measure| {
        let trial = Trial::new(&settings, scheme(name, &settings));
        let beside = || -> Box<dyn Iterator<Item = Flow>> { Box::new(beside.clone().into_iter()) };
        let run_spec = trial.run_spec(Flows::Queries { queries, beside: &beside }, Partitioning::Whole);
        run(&RunSpec { measure, ..run_spec }, &mut flowsieve_sim::go_on).map(drop)
    };
    let of = |servers: &[u32], bytes| Queries::new((0, servers), 3, 60, fixed(bytes), 1).expect("queries");
    let window = Measure::Window { from: Time::ZERO, to: Time::from_us(10) };
    assert_eq!(run_of("fcfs", &of(&[1], 9), Vec::new(), Measure::All), Err(SimError::MayLose { class: 0 }));
    assert_eq!(run_of("dctcp", &of(&[1], 9), Vec::new(), window), Err(SimError::QueriesInWindow));
    let refused = |flow, result: Result<(), SimError>| match result {
        Err(SimError::Flow { flow: found, why }) if found == flow => why,
        other => panic!("{other:?}"),
    };
    let far = run_of("dctcp", &of(&[1, 3], 9), Vec::new(), Measure::All);
    assert_eq!(refused(1, far), "the fabric has no such host");
    let huge = run_of("dctcp", &of(&[1, 2], 1_000_000_000_000), Vec::new(), Measure::All);
    assert_eq!(refused(2, huge), "its size is zero, or beyond a billion packets");
    let double = run_of("dctcp", &of(&[1], 9), vec![Flow { id: 5, ..by_hand::flow(0, (1, 2), 1) }], Measure::All);
    assert_eq!(refused(5, double), "its number is that of a query's message");
}

/// Flows next to queries, without end: one of 2,000 bytes every 7 us.
fn endless(hosts: u32, from: u32) -> impl Iterator<Item = Flow> {
    (0..).map(move |n: u32| Flow {
        id: from + n,
        start_ps: u64::from(n) * 7_000_000,
        src: n % hosts,
        dst: (n + 1) % hosts,
        bytes: 2_000,
        class: 0,
        deadline_ps: None,
        coflow: None,
    })
}

fn asked(case: &Case, queries: &Queries, partitioning: Partitioning) -> Result<PointResult, SimError> {
    let beside = || -> Box<dyn Iterator<Item = Flow>> { Box::new(endless(case.fabric.hosts, queries.messages())) };
    let flows = Flows::Queries { queries, beside: &beside };
    let result = run(&RunSpec { partitioning, ..case.run_spec(flows) }, &mut flowsieve_sim::go_on)?;
    Ok(PointResult { events: 0, ..result })
}

fn queries_of(case: &Case, count: u32) -> Queries {
    let sizes = SizeDistribution::exponential(20_000, Rounding::Bytes).expect("sizes");
    let servers: Vec<u32> = (1..case.fabric.hosts).collect();
    Queries::new((0, &servers), count, 100, sizes, case.seed).expect("queries")
}

fn is_answered(case: &Case) -> bool {
    case.scheme.classes.iter().all(|class| class.transport.facts().answers())
}

proptest! {
    #![proptest_config(common::config(60))]

    #[test]
    fn queries__the_same_however_the_fabric_is_cut(case in case(1), count in 1u32..40, stop_us in 100u64..20_000) {
        let case = Case { max_time: Some(Time::from_us(stop_us)), ..case };
        let queries = queries_of(&case, count);
        let whole = asked(&case, &queries, Partitioning::Whole);
        prop_assert_eq!(&whole, &asked(&case, &queries, Partitioning::Racks));
        prop_assert_eq!(&whole, &asked(&case, &queries, Partitioning::Stages { groups: 2, threads: 2, worth: 0 }));
        prop_assert!(whole.is_ok() || !is_answered(&case), "{whole:?}");
    }

    #[test]
    fn queries__each_begins_when_the_one_before_it_has_all_its_answers(
        case in case(1).prop_filter("ACKs", is_answered), count in 1u32..40
    ) {
        let stop = Time::from_us(50_000).min(case.max_time.expect("a drawn case is stopped"));
        let case = Case { fct_end: FctEnd::Arrival, max_time: Some(stop), ..case };
        let queries = queries_of(&case, count);
        let result = asked(&case, &queries, Partitioning::Whole).expect("a run");
        let rows: BTreeMap<u32, &FlowRow> = result.flows.iter().map(|row| (row.flow, row)).collect();
        prop_assert!(result.flows.is_sorted_by_key(|row| (row.start_ps, row.flow)));
        prop_assume!(result.simulated_ps < stop.0); // a lossy fabric may not be done by then
        // No message is missing, and none begins twice.
        prop_assert_eq!(rows.len(), result.flows.len());
        let servers = queries.servers().len() as u32;
        let end = |id: u32| rows[&id].start_ps + rows[&id].fct_ps.expect("a finished flow");
        let mut begins = 0;
        for query in 0..count {
            let first = 2 * servers * query;
            for request in first..first + servers {
                prop_assert_eq!(rows[&request].start_ps, begins);
                prop_assert_eq!(rows[&(request + servers)].start_ps, end(request));
            }
            begins = (first + servers..first + 2 * servers).map(end).max().expect("an answer");
        }
        // Others arrive until the epoch is over in which the last query ends.
        let over = (begins / QUERY_EPOCH.0 + 1) * QUERY_EPOCH.0;
        let beside = result.flows.iter().filter(|row| row.flow >= queries.messages());
        prop_assert_eq!(beside.count() as u64, over.div_ceil(7_000_000));
        prop_assert!(result.flows.iter().all(|row| row.fct_ps.is_some()));
    }
}

/// The packets of a message in the tests of collectives.
const PACKETS: u64 = 1_000;
/// A full packet on a line of 10 Gbit/s, an ACK, and how long the last packet takes over the switch; in ns.
const PACKET: u64 = 1_200;
const ACK: u64 = 32;
const OVER: u64 = 1_600;

/// The results of collectives alone on one switch, where windows and buffers are no limits: when each ends, and the flows.
/// It is the same however the fabric is cut.
fn collectives(
    exchange: Exchange,
    hosts: u32,
    bytes: u64,
    (repeats, gap_us): (u32, u64),
) -> (Vec<(u64, u64)>, PointResult) {
    let settings = rack(hosts.into()).with(None, "handshake", "none").with(None, "buffer", "100MB");
    let trial = Trial::new(&settings.clone().with(None, "marking", "none"), scheme("dctcp", &settings));
    let repeats = (repeats, gap_us * 1_000_000);
    let of = Collectives::new(exchange, ((0..hosts).collect(), hosts), repeats, fixed(bytes), 1).expect("collectives");
    let result = |partitioning| {
        let result = run(&trial.run_spec(Flows::Collectives(&of), partitioning), &mut flowsieve_sim::go_on);
        PointResult { events: 0, ..result.expect("a run") }
    };
    let whole = result(Partitioning::Whole);
    assert_eq!(whole, result(Partitioning::Stages { groups: 2, threads: 2, worth: 0 }));
    assert_eq!(whole.flows.len(), of.messages() as usize);
    let span = |coflow: u32| {
        let rows = || whole.flows.iter().filter(|row| row.coflow == Some(coflow)).map(brief);
        let first = rows().map(|(_, start, _)| start).min().expect("a flow");
        (first, rows().map(|(_, start, fct)| start + fct).max().expect("a flow"))
    };
    ((0..of.collectives()).map(span).collect(), whole)
}

fn assert_within(per_cent: u64, found: u64, expected: u64) {
    assert!(100 * found.abs_diff(expected) <= per_cent * expected, "{found} ns instead of {expected}");
}

/// In each of 14 steps a host sends a chunk, and the ACKs of the chunk that it receives. Together they are 2 (n - 1) / n of
/// the vector on the line, and a step's last packet is at the next host 1.6 us after it has left.
#[test]
fn collectives__ring_takes_what_its_bytes_and_steps_do() {
    let bytes = 8 * PACKETS * 1_460;
    let (spans, result) = collectives(Exchange::Ring, 8, bytes, (2, 300));
    let on_line = 2 * 7 * (bytes / 8) / 1_460 * (PACKET + ACK);
    let expected = on_line + 14 * OVER;
    let [(0, first), (again, second)] = spans[..] else { panic!("{spans:?}") };
    assert_within(1, first, expected);
    assert_within(1, second - again, expected);
    // Each host computes for 300 us after it has all.
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    for row in result.flows.iter().filter(|row| row.coflow == Some(0)) {
        let end = row.start_ps + row.fct_ps.expect("a finished flow");
        ends.entry(row.dst).and_modify(|last| *last = end.max(*last)).or_insert(end);
    }
    for row in result.flows.iter().filter(|row| (112..120).contains(&row.flow)) {
        assert_eq!(row.start_ps, ends[&row.src] + 300_000_000, "{row:?}");
    }
    // A host begins a step when the chunk before has come, and not earlier.
    let by_number: BTreeMap<u32, &FlowRow> = result.flows.iter().map(|row| (row.flow, row)).collect();
    for row in result.flows.iter().filter(|row| row.flow % 112 >= 8) {
        let before = by_number[&(row.flow / 112 * 112 + (row.flow % 112 / 8 - 1) * 8 + (row.src + 7) % 8)];
        assert!(before.dst == row.src);
        assert_eq!(row.start_ps, before.start_ps + before.fct_ps.expect("a finished flow"), "{row:?} after {before:?}");
    }
}

/// Seven hosts: two levels up, in each of which two vectors come by one line, and two levels down, in each of which two leave
/// by one line.
#[test]
fn collectives__tree_takes_two_vectors_a_level() {
    let (spans, _) = collectives(Exchange::Tree, 7, PACKETS * 1_460, (1, 0));
    assert_within(1, spans[0].1, 4 * (2 * PACKETS * PACKET + OVER));
}

/// Each of three hosts sends two messages and receives two, and ACKs beside.
#[test]
fn collectives__all_to_all_takes_what_a_line_carries() {
    let (spans, _) = collectives(Exchange::AllToAllV, 3, PACKETS * 1_460, (1, 0));
    assert_within(1, spans[0].1, 2 * PACKETS * (PACKET + ACK) + OVER);
}
