//! What must hold of every run: packets are neither lost nor made, no flow is faster than alone, flows that do not finish
//! are reported, and a window counts its own flows.

use crate::common;
use std::collections::BTreeSet;

use crate::common::outage::outage_case;
use crate::common::plain::plain;
use crate::common::{BY_THE_CLOCK, Case, case, case_of};
use flowsieve_core::{BalancerSpec, Time};
use flowsieve_record::{LinkClass, PointResult};
use flowsieve_schemes::REGISTRY;
use flowsieve_settings::Place;
use flowsieve_sim::topology::{Fabric, Node};
use flowsieve_sim::{Flows, Measure, RunSpec, SimError, run};
use flowsieve_transport::TransportSpec;
use flowsieve_transport::tcp::Handshake;
use flowsieve_workload::Flow;
use proptest::prelude::*;
use proptest::sample::select;

fn result(case: &Case) -> Result<PointResult, SimError> {
    case.with_run_spec(|run_spec| run(run_spec, &mut flowsieve_sim::go_on))
}

fn flow(id: u32, start_ps: u64, bytes: u64) -> Flow {
    Flow { id, start_ps, src: 0, dst: 1, bytes, class: 0, deadline_ps: None, coflow: None }
}

/// Packets that came to the ports of a class of links.
fn offered(link: &LinkClass) -> u64 {
    link.packets + link.drops.buffer + link.drops.evicted + link.drops.port_down
}

/// Packets that reached the far ends.
fn delivered(link: &LinkClass) -> u64 {
    link.packets - link.drops.loss - link.drops.line_down
}

fn place(fabric: &Fabric, node: Node) -> Place {
    match node {
        Node::Host(_) => Place::Nic,
        Node::Switch(switch) => fabric.switches[switch as usize].place,
    }
}

/// (offered by the ports of a place, delivered to it).
fn through(case: &Case, result: &PointResult, at: Place) -> (u64, u64) {
    let (mut out, mut into) = (0, 0);
    for (class, link) in result.links.iter().enumerate() {
        let Some(any) = case.fabric.links.iter().find(|link| usize::from(link.class) == class) else { continue };
        out += if place(&case.fabric, any.from) == at { offered(link) } else { 0 };
        into += if place(&case.fabric, any.to) == at { delivered(link) } else { 0 };
    }
    (out, into)
}

/// Data packets of all flows, each counted once.
fn segments(case: &Case) -> u64 {
    let classes = &case.scheme.classes;
    let of = |flow: &Flow| {
        let class = usize::from(flow.class).min(classes.len() - 1);
        flow.bytes.div_ceil(u64::from(classes[class].transport.facts().segment))
    };
    case.flows.iter().map(of).sum()
}

/// Fabrics in which two hosts have one way.
const SINGLE_WAYS: &[&[(&str, &str)]] = &[
    &[("kind", "single-link")],
    &[("kind", "single-switch"), ("host_link", "25Gbps")],
    &[("kind", "leaf-spine"), ("spines", "1"), ("fabric_link", "40Gbps")],
    &[("kind", "leaf-spine"), ("spines", "1"), ("fabric_link", "1Gbps")],
];

proptest! {
    #![proptest_config(common::config(250))]

    #[test]
    fn packets__are_neither_lost_nor_made(
        case in prop_oneof![4 => case(80), 1 => outage_case(80), 1 => case_of(BY_THE_CLOCK.to_vec(), 80)]
    ) {
        prop_assume!(!matches!(case.scheme.balancers.at(Place::Leaf), BalancerSpec::Custom(_)), "makes packets");
        let result = result(&case).map_err(|error| TestCaseError::fail(error.to_string()))?;
        if case.max_time.is_some_and(|stop| result.simulated_ps >= stop.0) {
            return Ok(()); // perhaps not drained
        }
        for link in &result.links {
            prop_assert_eq!(link.packets_by_queue.iter().sum::<u64>(), link.packets);
            prop_assert_eq!(link.packets_by_priority.iter().sum::<u64>(), link.packets);
        }
        // What was on a line that failed was sent and never came.
        let crossed = result.links.iter().map(|link| link.packets - link.drops.line_down);
        prop_assert_eq!(crossed.sum::<u64>(), result.packet_hops);
        for at in [Place::Leaf, Place::Spine, Place::Core] {
            let (out, into) = through(&case, &result, at);
            prop_assert_eq!(out, into, "{:?}", at);
        }
        let transports = || case.scheme.classes.iter().map(|class| &class.transport);
        let (sent, _) = through(&case, &result, Place::Nic);
        let lost: u64 = result.links.iter().map(|link| link.drops.total()).sum();
        if transports().all(|transport| !transport.facts().answers()) {
            prop_assert_eq!(sent, segments(&case));
        }
        // Where nothing is lost every data packet has its ACK.
        let answered = |transport: &TransportSpec| match transport {
            TransportSpec::Tcp(rules) => rules.params.ack_every == 1 && rules.handshake == Handshake::Never,
            _ => false,
        };
        if lost == 0 && transports().all(answered) && result.timeouts == 0 {
            prop_assert_eq!(sent, 2 * (segments(&case) + result.retransmissions));
        }
    }

    #[test]
    fn slowdown__is_at_least_one(case in case(60)) {
        let result = result(&case).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(result.flows.len(), case.flows.len());
        for row in &result.flows {
            prop_assert!(row.fct_ps.is_none_or(|fct| fct >= row.ideal_ps), "{:?}", row);
        }
        for (&coflow, &ideal) in &result.ideal_ccts_ps {
            let flows = || result.flows.iter().filter(|row| row.coflow == Some(coflow));
            let start = flows().map(|row| row.start_ps).min().unwrap_or(0);
            let ends: Option<Vec<u64>> = flows().map(|row| Some(row.start_ps + row.fct_ps?)).collect();
            let cct = ends.and_then(|ends| ends.into_iter().max()).map(|end| end - start);
            prop_assert!(cct.is_none_or(|cct| cct >= ideal), "coflow {coflow}: {cct:?} and {ideal}");
        }
        let coflows: BTreeSet<u32> = result.flows.iter().filter_map(|row| row.coflow).collect();
        prop_assert!(coflows.iter().eq(result.ideal_ccts_ps.keys()));
    }

    #[test]
    fn slowdown__is_one_alone_on_a_single_way(
        // These have a pace, which without a fabric is that of 10 Gbit/s, and HPCC's leaves a share of the line free.
        name in select(REGISTRY.iter().map(|entry| entry.name.as_str()).filter(|name| !["hpcc", "dcqcn"].contains(name)).collect::<Vec<_>>()),
        shape in select(SINGLE_WAYS),
        set in select(&["ns2", "rfc"][..]),
        nic in select(&["backpressure", "scheme"][..]),
        forwarding in select(&["store-and-forward", "cut-through"][..]),
        overhead in select(&[0u16, 24][..]),
        // Beyond this the pFabric transport's ACKs would wait for its own data at a slow link longer than its timer.
        bytes in 1u64..400_000,
        far: bool,
    ) {
        let open = ["fcfs", "ps", "srpt", "las"].contains(&name);
        let given = [
            shape,
            &[
                ("parameters", set),
                ("nic", if open { "scheme" } else { nic }),
                ("forwarding", forwarding),
                ("buffer", "2MB"),
                ("marking", "none"),
                ("handshake", "none"),
                ("initial_window", "1000"),
                ("ndp_window", "1000"),
                ("max_window", "1000"),
                ("rto_min", "1s"),
            ],
        ].concat();
        let tagger: &[_] = match name {
            // The last bytes of a message would overtake those before them; and hosts count a line's overhead by the setting.
            "homa" | "homa-predicted" => &[("rtt_bytes", "1MB"), ("queues", "2"), ("wire_overhead", "0B")],
            "ndp" | "nscc" => &[("wire_overhead", "0B")],
            // A flow whose rank falls would overtake itself in SP-PIFO's queues.
            "sp-pifo" => &[("tagger", "plain")],
            // A flow that sinks would do so where all queues have a share.
            "qc-coflow" => &[("order", "sp")],
            // A flow that climbs overtakes itself, and so does one by its places in a queue that moves.
            "qclimb" | "qclimb-ps" | "qclimb-pp" => &[("queues", "1")],
            // And so does one whose coflow rises or sinks, where switches do not keep its order.
            "sincronia" | "sebf" | "sp-elastic" | "aalo" => &[("coflow_order", "none")],
            // A flow that is held until it has a place takes longer than its packets.
            "pcoflow-sp-pifo" => &[("queues", "1"), ("until_placed", "first")],
            "pcoflow-ecn" | "pcoflow-drop" | "pcoflow-move" => &[("until_placed", "first")],
            _ => &[],
        };
        let mut case = plain(name, &[given.as_slice(), tagger].concat(), vec![flow(0, 777, bytes)]);
        case.wire_overhead = overhead;
        if far {
            case.flows[0].dst = case.fabric.hosts - 1;
        }
        let result = result(&case).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(result.flows[0].fct_ps, Some(result.flows[0].ideal_ps));
    }
}

#[test]
fn max_time__reports_what_is_unfinished() {
    let flows = vec![flow(0, 0, 1_460), flow(1, 0, 10_000_000), flow(2, 900_000_000, 1_460)];
    let mut case = plain("dctcp", &[("kind", "single-link")], flows);
    case.max_time = Some(Time::from_us(500));
    let result = result(&case).unwrap();
    let finished: Vec<bool> = result.flows.iter().map(|row| row.fct_ps.is_some()).collect();
    assert_eq!(finished, [true, false, false]);
    assert_eq!(result.simulated_ps, 500_000_000);
}

/// A packet of 1,500 B every `gap_us` from either end, for ever.
fn run_window(gap_us: u64, from_us: u64, to_us: u64) -> Result<PointResult, SimError> {
    let case = plain("dctcp", &[("kind", "single-link")], Vec::new());
    let endless = || -> Box<dyn Iterator<Item = Flow>> {
        let way =
            |id: u32| Flow { src: id % 2, dst: 1 - id % 2, ..flow(id, u64::from(id / 2) * gap_us * 1_000_000, 1_460) };
        Box::new((0u32..).map(way))
    };
    let measure = Measure::Window { from: Time::from_us(from_us), to: Time::from_us(to_us) };
    run(&RunSpec { measure, ..case.run_spec(Flows::Given(&endless)) }, &mut flowsieve_sim::go_on)
}

#[test]
fn window__counts_its_own_flows() {
    let result = run_window(10, 100, 200).unwrap();
    let counted: Vec<u32> = result.flows.iter().map(|row| row.flow).collect();
    assert_eq!(counted, (20..40).collect::<Vec<u32>>());
    assert!(result.flows.iter().all(|row| row.fct_ps.is_some()));
    // 1,500 B in 10 us at 10 Gbit/s, and their ACKs on the same links.
    let load = result.links[0].utilisation;
    assert!((load - 0.12 * 1_540.0 / 1_500.0).abs() < 0.01, "{load}");
}

#[test]
fn window__refuses_overload() {
    assert!(run_window(2, 100, 200).is_ok());
    let refused = run_window(1, 100, 200).unwrap_err();
    assert!(matches!(refused, SimError::Overload { load, .. } if load > 1.0 && load < 1.3), "{refused}");
    assert!(matches!(run_window(500, 100, 200), Err(SimError::NoFlows(_))));
}

/// Every `gap_us` one packet from each of three hosts of a rack to its neighbour on the left, from 0 on: to host 3, 0, 1.
/// With `to_one`, all of them go to host 3.
fn run_rack(gap_us: u64, to_one: bool, to_us: u64) -> Result<PointResult, SimError> {
    let case = plain("fcfs", &[("kind", "single-switch"), ("hosts", "4")], Vec::new());
    let endless = || -> Box<dyn Iterator<Item = Flow>> {
        let way = |id: u32| {
            let (src, start) = (id % 3, u64::from(id / 3) * gap_us * 1_000_000);
            Flow { src, dst: if to_one { 3 } else { (src + 3) % 4 }, ..flow(id, start, 1_460) }
        };
        Box::new((0u32..).map(way))
    };
    let measure = Measure::Window { from: Time::from_us(to_us / 2), to: Time::from_us(to_us) };
    run(&RunSpec { measure, ..case.run_spec(Flows::Given(&endless)) }, &mut flowsieve_sim::go_on)
}

#[test]
fn window__refuses_a_single_overloaded_link() {
    // 3 · 1.2 us of packets every 2 us for one of four hosts: 45 % of the class, 180 % of its link.
    let refused = run_rack(2, true, 1_000).unwrap_err();
    let SimError::Overload { class, load } = &refused else { panic!("{refused}") };
    assert_eq!(class, "host-down (switch0 to host3 alone)");
    assert!((load - 1.8).abs() < 1e-9, "{load}");
    assert!(run_rack(2, false, 1_000).is_ok());
    // The same overload for 10 us is what chance may do: 15 packets are no more than four standard deviations above 8.
    assert!(run_rack(2, true, 10).is_ok());
}
