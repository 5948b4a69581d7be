//! How long flows are in the steps of QCLIMB's Algorithm 1 (NSDI 2024 §5.2.1, Fig 16).

// Each test uses some of it.
use std::num::NonZeroU64;
use std::sync::Arc;

use crate::by_hand::{Trial, fcts, flow, rack, scheme, settings};
use flowsieve_record::{FlowRow, PointResult, Step};
use flowsieve_settings::{Raw, Settings};
use flowsieve_workload::{BoundsLaw, DrawnBounds, Flow, Prediction, SizeBounds};

/// Bounds in packets.
fn bounds(lower: u64, upper: u64) -> Prediction {
    let upper = NonZeroU64::new(upper * 1_460).unwrap();
    Prediction { size: upper.into(), bounds: Some(SizeBounds { lower: lower * 1_460, upper }) }
}

/// Which priority a step has does not matter here: packets stay in their order, but for those beyond the upper bound.
fn thresholds() -> Raw {
    Raw::from(&["1MB", "2MB"][..])
}

/// Inference, climb, slack, demotion, beyond: nanoseconds of each flow.
fn steps(result: &PointResult) -> Vec<Option<[u64; 5]>> {
    let of = |row: &FlowRow| row.steps.as_ref().map(|steps| Step::ALL.map(|step| steps.get(step)));
    result.flows.iter().map(of).collect()
}

/// Two hosts on a switch, a slack of a packet, 3.1 us of inference; the ACK of a packet sent at 0 is there at 3,264 ns: 1,200 +
/// 200 on each of two links, and 32 + 200 on each of two back.
fn two_hosts() -> Settings {
    rack(2)
        .with(None, "queues", 3)
        .with(None, "thresholds", thresholds())
        .with(None, "handshake", "none")
        .with(Some("qclimb"), "slack", "1460B")
        .with(Some("qclimb"), "inference", "3100ns")
}

fn run(settings: &Settings, name: &str, predictions: Vec<Prediction>, flows: &[Flow]) -> PointResult {
    let mut trial = Trial::new(settings, scheme(name, settings)).until_ack();
    trial.predictions = Some(Arc::new(predictions));
    trial.run(flows)
}

#[test]
fn steps__of_one_flow() {
    // Packet n of 6 is sent at 3,100 + 1,200 (n - 1) ns and acknowledged at 6,364 + 1,200 (n - 1) ns. With L = 2 packets, S = 1 and
    // U = 4 the climb ends with the second ACK at 7,564, the slack with the third, the demotion with the fourth.
    let result = run(&two_hosts(), "qclimb", vec![bounds(2, 4)], &[flow(0, (0, 1), 6)]);
    assert_eq!(fcts(&result), [12_364_000]);
    assert_eq!(steps(&result), [Some([3_100, 4_464, 1_200, 1_200, 2_400])]);
}

#[test]
fn steps__of_a_flow_without_bounds_are_one() {
    let result = run(&two_hosts(), "qclimb", vec![Prediction::default()], &[flow(0, (0, 1), 6)]);
    assert_eq!(steps(&result), [Some([3_100, 0, 0, 9_264, 0])]);
}

#[test]
fn steps__of_a_flow_that_waits_for_its_connection_are_of_its_first_byte() {
    // The second flow begins to send at 4,100 ns, behind the first on the same connection, whose third packet is acknowledged at
    // 8,764. Its own packets are acknowledged 1,200 and 2,400 ns later.
    let settings = two_hosts().with(None, "connections", "persistent");
    let flows = [flow(0, (0, 1), 3), flow(1_000_000, (0, 1), 2)];
    let result = run(&settings, "qclimb", vec![bounds(3, 3), bounds(1, 2)], &flows);
    assert_eq!(fcts(&result), [8_764_000, 10_164_000]);
    assert_eq!(steps(&result), [Some([3_100, 5_664, 0, 0, 0]), Some([3_100, 5_864, 1_200, 0, 0])]);
}

#[test]
fn inference__delays_the_first_packet_of_its_own_scheme_alone() {
    // Flows of class 0 infer for 3.1 us, those of class 1 do not: the second starts later and begins before.
    let settings = two_hosts();
    let mut of_two = scheme("qclimb", &settings);
    of_two.classes.extend(scheme("pias", &settings).classes);
    let flows = [flow(0, (0, 1), 1), Flow { class: 1, ..flow(1_000_000, (0, 1), 1) }];
    let mut trial = Trial::new(&settings, of_two).until_ack();
    trial.predictions = Some(Arc::new(vec![bounds(1, 1), bounds(1, 1)]));
    let result = trial.run(&flows);
    assert_eq!(fcts(&result), [6_364_000, 3_264_000]);
    assert_eq!(steps(&result), [Some([3_100, 3_264, 0, 0, 0]), None]);
}

#[test]
fn steps__are_measured_where_there_are_any() {
    let of = |name| steps(&run(&two_hosts(), name, vec![bounds(2, 4)], &[flow(0, (0, 1), 6)]));
    assert_eq!(of("qclimb-ps"), [Some([0, 9_264, 0, 0, 0])]);
    assert_eq!(of("qclimb-pp"), [Some([0, 6_864, 0, 0, 2_400])]);
    // One priority for all packets: no step.
    assert_eq!(of("qclimb-fp"), [None]);
    assert_eq!(of("pias"), [None]);
}

/// Crowded switches that drop: whatever is sent again, the steps of each flow are its sender's time, which ends with the last
/// ACK.
#[test]
fn steps__add_up_to_the_time_of_the_sender() {
    let crowded = settings("leaf-spine")
        .with(None, "leaves", 2)
        .with(None, "spines", 2)
        .with(None, "hosts_per_leaf", 4)
        .with(None, "fabric_link", "10Gbps")
        .with(None, "load_balancing", "ecmp")
        .with(None, "buffer", "30pkt")
        .with(None, "queues", 3)
        .with(None, "thresholds", thresholds())
        .with(None, "slack", "10KB");
    let flow_of = |n: u64| {
        let (src, dst) = (n % 8, (n / 8 + n) % 4);
        flow(n / 6 * 20_000_000, (src as u32, if src == dst { 4 } else { dst as u32 }), 1 + n * n % 200)
    };
    let flows: Vec<Flow> = (0..200).map(flow_of).collect();
    for (parameters, inference) in [("ns2", "0us"), ("rfc", "7us")] {
        let settings =
            crowded.clone().with(None, "parameters", parameters).with(Some("qclimb"), "inference", inference);
        let mut trial = Trial::new(&settings, scheme("qclimb", &settings)).until_ack();
        let law = BoundsLaw { lower: (0.2, 1.0), upper: (1.0, 3.0), outside: 0.1 };
        trial.predictions = Some(Arc::new(DrawnBounds { law, seed: 1 }));
        let result = trial.run(&flows);
        assert!(result.retransmissions > 100, "{}", result.retransmissions);
        let (mut by_step, mut finished) = ([0; 5], 0);
        for (row, steps) in result.flows.iter().zip(steps(&result)) {
            // Of a flow that did not finish nothing is known.
            assert_eq!(steps.map(|steps| steps.iter().sum()), row.fct_ps.map(|ps| ps / 1_000), "{row:?}");
            by_step.iter_mut().zip(steps.into_iter().flatten()).for_each(|(all, ns)| *all += ns);
            finished += u64::from(steps.is_some());
        }
        assert!(finished > 190, "{finished}");
        assert!(by_step[1..].iter().all(|&ns| ns > 0), "{by_step:?}");
        assert_eq!(by_step[0], if inference == "7us" { finished * 7_000 } else { 0 });
    }
}
