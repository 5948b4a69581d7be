//! Faults that the naive twin found once, one test each.
use crate::common::Case;
use crate::common::plain::plain;
use flowsieve_core::Time;
use flowsieve_record::PointResult;
use flowsieve_sim::{FctEnd, Measure, Partitioning, RunSpec, run};
use flowsieve_workload::Flow;

fn flow(id: u32, start_ps: u64, dst: u32, bytes: u64) -> Flow {
    Flow { id, start_ps, src: 0, dst, bytes, class: 0, deadline_ps: None, coflow: None }
}

fn result(case: &Case) -> PointResult {
    case.with_run_spec(|run_spec| run(run_spec, &mut flowsieve_sim::go_on)).unwrap()
}

/// The result, unless it takes far more than a few packets do.
fn ends(case: &Case) -> Option<PointResult> {
    case.with_run_spec(|run_spec| {
        run(&RunSpec { most_packet_hops: Some(10_000), ..*run_spec }, &mut flowsieve_sim::go_on).ok()
    })
}

/// 1. A packet that is forwarded early arrives before its line is free; the next one's turn is then not considered.
#[test]
fn cut_through__goes_on_after_a_packet_that_was_forwarded_early() {
    let given = [
        ("kind", "leaf-spine"),
        ("spines", "1"),
        ("fabric_link", "10Gbps"),
        ("host_delay", "0ns"),
        ("forwarding", "cut-through"),
    ];
    let row = result(&plain("dctcp", &given, vec![flow(0, 0, 20, 100 * 1_460)])).flows.remove(0);
    assert_eq!(row.fct_ps, Some(row.ideal_ps));
}

/// 2. Shared memory, cut into racks: `wait` lists the port in `due` and not in `waiting`.
#[test]
fn racks__with_shared_memory() {
    let given = [
        ("kind", "leaf-spine"),
        ("leaves", "2"),
        ("spines", "1"),
        ("hosts_per_leaf", "2"),
        ("fabric_link", "1Gbps"),
        ("admission@leaf", "shared"),
    ];
    let mut case = plain("dctcp", &given, vec![flow(0, 0, 2, 100_000)]);
    let whole = result(&case);
    case.partitioning = Partitioning::Racks;
    assert_eq!(whole.flows, result(&case).flows);
}

/// 3. Hosts' memory has a capacity of 0: every packet is dropped at the NIC, for ever.
#[test]
fn nic__shared_admission_does_not_drop_everything() {
    let mut case = plain("dctcp", &[("kind", "single-switch"), ("admission", "shared")], vec![flow(0, 0, 1, 10_000)]);
    case.max_time = Some(Time::from_us(100_000));
    assert!(result(&case).flows[0].fct_ps.is_some());
}

/// 4. `nic_backlog = "0B"` never sends and sets an alarm for now, for ever.
#[test]
fn nic_backlog__of_zero() {
    let given = [("kind", "single-link"), ("nic", "backpressure"), ("nic_backlog", "0B")];
    let mut case = plain("dctcp", &given, vec![flow(0, 0, 1, 1_460)]);
    case.max_time = Some(Time::from_us(1_000));
    assert!(ends(&case).expect("it ends").flows[0].fct_ps.is_some());
}

/// 5. `window_finished` looks at arrivals and not at ACKs.
#[test]
fn window__waits_for_the_last_ack() {
    let mut case = plain("dctcp", &[("kind", "single-link")], vec![flow(0, 0, 1, 1_460)]);
    case.measure = Measure::Window { from: Time::ZERO, to: Time::from_us(20) };
    case.fct_end = FctEnd::Ack;
    assert!(result(&case).flows[0].fct_ps.is_some());
}

/// 6. An open-loop flow that lost a packet never finishes, and the window waits for it for ever.
#[test]
fn window__ends_when_a_flow_can_never_finish() {
    let given = [("kind", "single-link"), ("buffer", "2pkt")];
    let mut case = plain("fcfs", &given, vec![flow(0, 0, 1, 14_600), flow(1, 100_000_000, 1, 1_460)]);
    case.measure = Measure::Window { from: Time::ZERO, to: Time::from_us(50) };
    assert_eq!(ends(&case).expect("it ends").flows[0].fct_ps, None);
}

/// 7. Ports are advanced to the last arrival although the run stopped before it, and not to the stop otherwise.
#[test]
fn max_time__counts_what_has_left_by_then() {
    // 1.2 us a packet: 25 have left before 30 us.
    let mut case = plain("dctcp", &[("kind", "single-link")], vec![flow(0, 0, 1, 70 * 1_460)]);
    case.max_time = Some(Time::from_us(30));
    assert_eq!(result(&case).links[0].packets, 25);
    case.flows.push(flow(1, 60_000_000, 1, 1));
    assert_eq!(result(&case).links[0].packets, 25);
}

/// 8. The last event may be an obsolete timer: here 2 ms instead of 82 us.
#[test]
fn simulated__ends_with_the_last_packet() {
    let result = result(&plain("dctcp", &[("kind", "single-link")], vec![flow(0, 0, 1, 1_460)]));
    assert_eq!(result.simulated_ps, 81_632_000);
}

/// 9. On several ways a short last packet overtakes: slowdown 0.995.
#[test]
fn ideal__short_packet_overtakes() {
    let given = [("kind", "fat-tree"), ("link_delay", "0ns"), ("host_delay", "0ns")];
    let row = result(&plain("dctcp", &given, vec![flow(0, 0, 15, 1_461)])).flows.remove(0);
    assert!(row.fct_ps >= Some(row.ideal_ps), "{row:?}");
}

/// 10. `Demand::acks == 0` stands for open loop, and is so too where an ACK has no bytes.
#[test]
fn ack__without_headers_still_ends_a_flow() {
    let mut case = plain("dctcp", &[("kind", "single-link"), ("header", "0B")], vec![flow(0, 0, 1, 1_500)]);
    case.fct_end = FctEnd::Ack;
    let row = result(&case).flows.remove(0);
    assert_eq!(row.fct_ps, Some(1_200_000 + 2 * case.fabric.links[0].delay.0), "{row:?}");
}

/// 11. The new assertion "nothing will happen any more, and packets are left" forgets ports to other partitions.
#[test]
fn racks__stopped_with_packets_at_a_crossing() {
    let given =
        [("kind", "leaf-spine"), ("leaves", "2"), ("spines", "1"), ("hosts_per_leaf", "2"), ("fabric_link", "1Gbps")];
    let mut case = plain("fcfs", &given, vec![flow(0, 0, 2, 14_600)]);
    case.partitioning = Partitioning::Racks;
    case.max_time = Some(Time::from_us(60));
    assert_eq!(result(&case).flows[0].fct_ps, None);
}
