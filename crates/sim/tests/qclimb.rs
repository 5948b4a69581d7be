//! QCLIMB from end to end: the paper's worked example, and what it has in common with PIAS.

// Each test uses some of it.
use std::num::NonZeroU64;
use std::sync::Arc;

use crate::by_hand::{Trial, fcts, flow, rack, scheme, settings};
use flowsieve_record::FlowRow;
use flowsieve_settings::{Origin, Place, Raw, Settings, Table};
use flowsieve_workload::{Flow, Prediction, SizeBounds, Unknown};

const PACKET: u64 = 1_460;

/// Bounds, or a size, in packets.
fn bounds(lower: u64, upper: u64) -> Prediction {
    let upper = NonZeroU64::new(upper * PACKET).unwrap();
    Prediction { size: None, bounds: Some(SizeBounds { lower: lower * PACKET, upper }) }
}

fn size(packets: u64) -> Prediction {
    Prediction { size: NonZeroU64::new(packets * PACKET), bounds: None }
}

/// Thresholds, in packets.
fn thresholds(packets: &[u64]) -> Raw {
    let sizes: Vec<String> = packets.iter().map(|packets| format!("{}B", packets * PACKET)).collect();
    Raw::from(&sizes.iter().map(String::as_str).collect::<Vec<_>>()[..])
}

// The worked example (Appendix C, Fig. 26): a port that sends a unit of data at each time, and three queues, for up to 2
// units, for 3 to 5, and for 6 and more, without slack. A unit is a full packet, and a time 1.2 us at 10 Gbit/s.
//
// A packet from host 2 to host 3 starts at 0 ns. It is at the switch at 1,400 ns, and on the line to host 3 until 2,600 ns:
// time 0. Host 0's f1 and host 1's f2 start at 600 ns and go to host 3, too: their n-th packets are at the switch at 2,000 +
// 1,200 (n - 1) ns, so that at time n their packets n + 1 are there. Hosts' own ports keep their packets in order, as the
// figure has one port. What leaves in time n is at host 3 at 2,600 +
// 1,200 n + 200 ns.

fn three_queues(hosts: i64, slack: u64) -> Settings {
    let mut settings = rack(hosts)
        .with(None, "queues", 3)
        .with(None, "thresholds", thresholds(&[2, 5]))
        .with(None, "handshake", "none")
        .with(None, "slack", &*format!("{}B", slack * PACKET));
    let discipline = settings.find("discipline").expect("a setting");
    settings.give(Table::NetworkAt(Place::Nic), discipline, &"fifo".into(), Origin::Default).expect("a discipline");
    settings
}

/// When f1 and f2 have finished, in units of time.
fn worked_example(name: &str, sizes: [u64; 2], predictions: [Prediction; 2]) -> [u64; 2] {
    let settings = three_queues(4, 0);
    let [f1, f2] = sizes;
    // Of packets that arrive at one instant, f1's is first.
    let flows = [flow(0, (2, 3), 1), flow(600_000, (0, 3), f1), flow(600_001, (1, 3), f2)];
    let mut trial = Trial::new(&settings, scheme(name, &settings));
    trial.predictions = Some(Arc::new(vec![Prediction::default(), predictions[0], predictions[1]]));
    let result = trial.run(&flows);
    assert_eq!(result.retransmissions, 0);
    let fcts = fcts(&result);
    [fcts[1] + 600_000, fcts[2] + 600_001].map(|end| {
        let since_time_zero = end - 2_800_000;
        assert_eq!(since_time_zero % 1_200_000, 0);
        since_time_zero / 1_200_000
    })
}

/// What the paper computes: averages of 6.0 and 7.5.
#[test]
fn fig_26__climbing_to_bounds_and_to_predicted_sizes() {
    // f1: 6, 5, 4, 3, 2, 1 to its bound, in queues 3, 2, 2, 2, 1, 1. f2: 3, 2, 1, in queues 2, 1, 1. At each time f2's
    // packet is in a higher queue than f1's.
    assert_eq!(worked_example("qclimb", [6, 3], [bounds(6, 10), bounds(3, 6)]), [9, 3]);
    // f1 has the larger size, but the smaller prediction: 6 units, in queues 3, 2, 2, 2, 1, 1. f2's 9 keeps it in queue 3,
    // behind f1's first packet.
    assert_eq!(worked_example("qclimb-pp", [6, 3], [size(6), size(9)]), [6, 9]);
}

/// What the paper tells: f2 has a packet beyond its bound, which leaves from queue 2 before f1 begins. That makes 7.0 and 8.0.
#[test]
fn fig_26__with_a_packet_beyond_the_bound() {
    // f1 is at least 9 units from its bound until time 4, so that it waits in queue 3, as in the figure. f2: 3, 2, 1 to its
    // bound, in queues 2, 1, 1; then 3 units are sent: queue 2.
    assert_eq!(worked_example("qclimb", [6, 4], [bounds(9, 10), bounds(3, 6)]), [10, 4]);
    assert_eq!(worked_example("qclimb-pp", [6, 4], [size(6), size(9)]), [6, 10]);
}

/// Three flows of 10, 4 and 7 units, by hand: whose unit leaves in each time. They begin 100 ns after one another, so that of
/// packets that come in one time f1's is first. Lower bounds are 8, 4 and 3, upper ones 9, 6 and 12, predicted sizes 6, 9 and 2.
/// So f1 outlives its upper bound and f3's prediction is far too small. QCLIMB has a slack of one unit, the others none.
#[test]
fn three_flows__with_bounds_and_predictions_that_err() {
    let predictions = [(8, 9, 6), (4, 6, 9), (3, 12, 2)].map(|(lower, upper, size)| Prediction {
        size: NonZeroU64::new(size * PACKET),
        bounds: Some(SizeBounds { lower: lower * PACKET, upper: NonZeroU64::new(upper * PACKET).unwrap() }),
    });
    let lasts = |name: &str| {
        let settings = three_queues(5, 1);
        let mut flows = vec![flow(0, (3, 4), 1)];
        for (nth, size) in (0..).zip([10, 4, 7]) {
            flows.push(flow(600_000 + 100_000 * u64::from(nth), (nth, 4), size));
        }
        let mut trial = Trial::new(&settings, scheme(name, &settings));
        trial.predictions = Some(Arc::new([&[Prediction::default()], &predictions[..]].concat()));
        let result = trial.run(&flows);
        assert_eq!(result.retransmissions, 0, "{name}");
        let since_time_zero = |nth: usize| fcts(&result)[nth] + flows[nth].start_ps - 2_800_000;
        [1, 2, 3].map(|nth| since_time_zero(nth) as f64 / 1_200_000.0)
    };
    let by_hand = |leaves: &str| {
        let last = |flow: char| leaves.rfind(flow).unwrap() as f64 + 1.0;
        ['1', '2', '3'].map(last)
    };
    // Demoted after two units and after five, all alike.
    assert_eq!(lasts("pias"), by_hand("123123123123131313111"));
    // f2 and f3 climb past f1; each has a unit of slack at the top before it is demoted.
    assert_eq!(lasts("qclimb"), by_hand("232323111321131311131"));
    // By true sizes f2 is the first to reach the top.
    assert_eq!(lasts("qclimb-ps"), by_hand("222233331131111313111"));
    // f3 is at the top for its two predicted units, then last of all; f2 begins at the bottom.
    assert_eq!(lasts("qclimb-pp"), by_hand("331111112223233313111"));
    // Each stays in the queue of its prediction.
    assert_eq!(lasts("qclimb-fp"), by_hand("333333312121212111111"));
}

/// A crowded fabric with small buffers, and PIAS's thresholds where flows cross them.
fn crowded() -> Settings {
    settings("leaf-spine")
        .with(None, "leaves", 2)
        .with(None, "spines", 2)
        .with(None, "hosts_per_leaf", 4)
        .with(None, "fabric_link", "10Gbps")
        .with(None, "load_balancing", "ecmp")
        .with(None, "buffer", "30pkt")
        .with(None, "thresholds", thresholds(&[1, 2, 4, 8, 16, 32, 64]))
}

/// Flows of 1 to 200 packets to half of the hosts.
fn incasts() -> Vec<Flow> {
    let flow_of = |n: u64| {
        let (src, dst) = (n % 8, (n / 8 + n) % 4);
        flow(n / 6 * 20_000_000, (src as u32, if src == dst { 4 } else { dst as u32 }), 1 + n * n % 200)
    };
    (0..200).map(flow_of).collect()
}

#[test]
fn qclimb__without_bounds_and_slack_is_pias() {
    for parameters in ["ns2", "rfc"] {
        let settings = crowded()
            .with(None, "parameters", parameters)
            .with(None, "reordering", "tcp")
            .with(Some("qclimb"), "retransmission_priority", "offset")
            .with(Some("qclimb"), "slack", "0B");
        let pias = Trial::new(&settings, scheme("pias", &settings)).run(&incasts());
        let mut trial = Trial::new(&settings, scheme("qclimb", &settings));
        trial.predictions = Some(Arc::new(Unknown));
        let qclimb = trial.run(&incasts());
        assert!(pias.retransmissions > 100, "{}", pias.retransmissions);
        // Only QCLIMB measures its steps. PIAS has one.
        let without_steps = |row: FlowRow| FlowRow { steps: None, ..row };
        let flows: Vec<FlowRow> = qclimb.flows.into_iter().map(without_steps).collect();
        assert_eq!(flows, pias.flows);
        assert_eq!(qclimb.counts.get("data_packets_tagged_unlike_pias"), None);
    }
}

/// Whatever overtakes, what is sent again by priority was lost: the switches lost at least as much.
#[test]
fn by_priority__nothing_is_sent_again_that_was_not_lost() {
    let sent_again = |buffer: &str, gaps: &str| {
        let settings = crowded().with(None, "buffer", buffer).with(None, "rto_min", "1s").with(None, "gaps", gaps);
        let result = Trial::new(&settings, scheme("qclimb-ps", &settings)).run(&incasts());
        let drops: u64 = result.links.iter().map(|class| class.drops.total()).sum();
        assert!(result.out_of_order > 100, "{}", result.out_of_order);
        (result.retransmissions, drops)
    };
    assert_eq!(["first", "every"].map(|gaps| sent_again("10000pkt", gaps)), [(0, 0); 2]);
}

/// Where bursts are lost, a receiver that speaks of every gap has most of what the first alone leaves to the timer sent again.
#[test]
fn gaps__of_every_one_more_losses_are_found() {
    let found = |gaps: &str| {
        let settings = crowded().with(None, "gaps", gaps);
        let result = Trial::new(&settings, scheme("qclimb-ps", &settings)).run(&incasts());
        assert!(fcts(&result).len() == incasts().len() && result.retransmissions > 100);
        result.flows.iter().map(|flow| u64::from(flow.found_lost)).sum::<u64>()
    };
    let [first, every] = ["first", "every"].map(found);
    assert!(every > 2 * first, "{first} and {every}");
}
