//! NOS2 and what else adapts by the clock, by hand: the paper's example, levels and tags of packets on their way, estimates,
//! the controller and its delay.

use crate::by_hand::{Trial, fcts, flow, in_order, rack, scheme, sent, settings, sizes, with_run_spec};
use flowsieve_core::Time;
use flowsieve_core::controllers::thresholds::CONTROLLER_THRESHOLD;
use flowsieve_core::taggers::levels::{HOST_THRESHOLD, TAG_THRESHOLD};
use flowsieve_record::{PacketKind, PointResult, Series};
use flowsieve_settings::Settings;
use flowsieve_sim::run_sampled;
use flowsieve_sim::sample::{CONTROLLER, Sampling};
use flowsieve_workload::Flow;

const US: u64 = 1_000_000;

/// NOS2 §III, Fig. 1: three flows of one instant on one link. The paper's figures are FCTs of 3, 7 and 9 without a
/// scheduler, 6.33 in the mean, and of 1, 4 and 10 with one that knows sizes, 5 in the mean. No sizes give both: a
/// scheme that leaves no link idle sends the last packet when all is sent, so the last flow ends at 9 in both or at 10
/// in both. Flows of 1, 3 and 6 units give the second row and 3, 7, 10 in the first; of 1, 3 and 5 the first row and 1,
/// 4, 9 in the second.
#[test]
fn example__of_three_flows_on_one_link() {
    let unit = 1_000;
    // A packet takes 1.2 us, and the link 0.2 us.
    let in_units = |name: &str, sizes: [u64; 3]| -> Vec<f64> {
        let settings = settings("single-link");
        let flows = sizes.map(|size| flow(0, (0, 1), unit * size));
        let result = Trial::new(&settings, scheme(name, &settings)).run(&flows);
        fcts(&result).iter().map(|fct| (fct - 200_000) as f64 / (unit * 1_200_000) as f64).collect()
    };
    for (sizes, shared, by_size) in
        [([1, 3, 6], [3.0, 7.0, 10.0], [1.0, 4.0, 10.0]), ([1, 3, 5], [3.0, 7.0, 9.0], [1.0, 4.0, 9.0])]
    {
        assert_eq!(in_units("srpt", sizes), by_size);
        // Flows take turns by packets: each ends within a few packets of when a fluid would.
        for (found, expected) in in_units("ps", sizes).into_iter().zip(shared) {
            assert!((found - expected).abs() <= 4.5 / unit as f64, "{found}, not {expected}");
        }
    }
}

/// Three hosts on a switch, connections that need no handshake.
fn three_hosts() -> Settings {
    rack(3).with(None, "handshake", "none")
}

fn nos2(settings: &Settings) -> Trial {
    Trial::new(settings, scheme("nos2", settings))
}

/// Host 0 sends A, of five packets, and a little later B, of two, to host 2; host 1 sends C, of four, when A's last ones are
/// on their way. Levels change at 2,920 and 5,840 bytes, tags at 4,380: each with the packet before which there are as many.
#[test]
fn packets__go_by_levels_in_hosts_and_by_tags_in_switches() {
    let flows = in_order(&[flow(0, (0, 2), 5), flow(US, (0, 2), 2), flow(6 * US, (1, 2), 4)]);
    for nic in ["scheme", "backpressure"] {
        let settings = three_hosts()
            .with(None, "nic", nic)
            .with(None, "host_thresholds", sizes(&[2_920, 5_840, 10_000, 20_000, 30_000, 40_000, 50_000]))
            .with(None, "thresholds", sizes(&[4_380]));
        let trial = nos2(&settings);
        let host: Vec<_> = sent(&trial, &flows, "host0 to switch0")
            .iter()
            .map(|(flow, row)| (row.at_ps / 1_000, *flow, row.rank, row.priority, row.queue))
            .collect();
        // A packet of level 0 overtakes what waits at levels 1 and 2, whatever the tags.
        assert_eq!(
            host,
            [
                (0, 0, 0, 0, Some(0)),
                (1_200, 0, 0, 0, Some(0)),
                (2_400, 1, 0, 0, Some(0)),
                (3_600, 1, 0, 0, Some(0)),
                (4_800, 0, 1, 0, Some(1)),
                (6_000, 0, 1, 1, Some(1)),
                (7_200, 0, 2, 1, Some(2)),
            ],
            "{nic}"
        );
        let switch: Vec<_> = sent(&trial, &flows, "switch0 to host2")
            .iter()
            .map(|(flow, row)| (row.at_ps / 1_000, *flow, row.priority, row.queue))
            .collect();
        // C comes from 7.4 us on. A's last packet, with tag 1, is there at 8.6 us and waits for C's three of tag 0; C's own
        // last one has tag 1, too, and comes after it.
        assert_eq!(
            switch,
            [
                (1_400, 0, 0, Some(0)),
                (2_600, 0, 0, Some(0)),
                (3_800, 1, 0, Some(0)),
                (5_000, 1, 0, Some(0)),
                (6_200, 0, 0, Some(0)),
                (7_400, 0, 1, Some(1)),
                (8_600, 2, 0, Some(0)),
                (9_800, 2, 0, Some(0)),
                (11_000, 2, 0, Some(0)),
                (12_200, 0, 1, Some(1)),
                (13_400, 2, 1, Some(1)),
            ],
            "{nic}"
        );
    }
}

/// Estimates every 100 us, the controller's median at the hosts 30 us later; at first nothing is known.
fn adapting(least: i64, window: &str) -> Settings {
    three_hosts()
        .with(None, "thresholds", "unknown")
        .with(None, "host_thresholds", "unknown")
        .with(None, "controller", "equal-split")
        .with(None, "controller_period", "100us")
        .with(None, "controller_delay", "30us")
        .with(None, "observe_window", window)
        .with(None, "observe_least", least)
}

#[test]
fn estimates__hold_at_once_in_hosts_and_after_the_delay_in_the_network() {
    // Three messages make the first estimate, at 100 us. Four of five packets look at what holds when they begin.
    let mut flows = vec![flow(0, (0, 2), 1), flow(0, (0, 2), 2), flow(0, (0, 2), 3)];
    flows.extend([99_999_999, 100 * US, 129_999_999, 130 * US].map(|at| flow(at, (0, 2), 5)));
    let trial = nos2(&adapting(3, "1s"));
    let rows = sent(&trial, &flows, "host0 to switch0");
    let of = |flow: u32| -> (Vec<u32>, Vec<u8>) {
        let mut rows: Vec<_> = rows.iter().filter(|(of, _)| *of == flow).map(|(_, row)| row).collect();
        rows.sort_by_key(|row| match row.what {
            Some((_, PacketKind::Data { segment, .. })) => segment,
            _ => 0,
        });
        rows.iter().map(|row| (row.rank, row.priority)).unzip()
    };
    let nothing = (vec![0; 5], vec![0; 5]);
    // Eighths of three messages: 1460, 1460, 2920 thrice and 4380 twice, the last within a bucket; equal ones rise by a
    // byte. The packets begin after 0, 1460, 2920, 4380 and 5840 bytes. The controller's median is 2920.
    let levels = vec![0, 1, 3, 7, 7];
    assert_eq!(of(3), nothing);
    assert_eq!(of(4), (levels.clone(), vec![0; 5]));
    assert_eq!(of(5), (levels.clone(), vec![0; 5]));
    assert_eq!(of(6), (levels, vec![0, 0, 1, 1, 1]));
}

/// Samples host 0's link, every 50 us.
fn sampled(settings: &Settings, flows: &[Flow]) -> PointResult {
    with_run_spec(&nos2(settings), flows, |run_spec| {
        let links = (0..run_spec.fabric.links.len() as u32)
            .filter(|&n| run_spec.fabric.link_name(n) == "host0 to switch0")
            .collect();
        run_sampled(
            run_spec,
            &Sampling { interval: Time::from_us(50), links, ..Sampling::default() },
            &mut flowsieve_sim::go_on,
        )
        .expect("a run")
    })
}

/// A threshold's value with the step from which it has it.
fn changes(result: &PointResult, name: &str, place: &str, queue: usize) -> Vec<(u64, f64)> {
    let of = Series::of_queue(place, queue);
    let series = result.series.iter().find(|series| series.name == name && series.of == of);
    let Some(series) = series else { return Vec::new() };
    let mut all: Vec<(u64, f64)> = (series.first_step..).zip(series.values.iter().copied()).collect();
    all.dedup_by_key(|(_, value)| *value);
    all
}

/// Ten messages of this many packets, one after another from an instant on.
fn ten(at_us: u64, packets: u64) -> impl Iterator<Item = Flow> {
    (0..10).map(move |n| flow((at_us + 8 * n) * US, (0, 2), packets))
}

#[test]
fn estimates__follow_the_traffic_and_stay_where_there_is_none() {
    // Messages of one packet, then of three, then nothing until 2 ms. A window of 400 us is two halves of 200 us.
    let flows: Vec<Flow> = ten(0, 1).chain(ten(200, 3)).chain([flow(2_000 * US, (0, 2), 1)]).collect();
    let result = sampled(&adapting(10, "400us"), &flows);
    let near = |found: &[(u64, f64)], expected: &[(u64, u64)]| {
        assert_eq!(
            found.iter().map(|(step, _)| *step).collect::<Vec<_>>(),
            expected.iter().map(|(step, _)| *step).collect::<Vec<_>>()
        );
        for ((_, found), (_, expected)) in found.iter().zip(expected) {
            assert!((found - *expected as f64).abs() <= *expected as f64 / 128.0, "{found}, not {expected}");
        }
    };
    // A sample is of the 50 us up to it, step 1 ends at 100 us. At 300 us both kinds are remembered, at 400 us the later one
    // alone: the median of ten and ten is the smaller, the last eighth the larger.
    let published = changes(&result, CONTROLLER_THRESHOLD, CONTROLLER, 0);
    near(&published, &[(1, 1_460), (7, 4_380)]);
    near(&changes(&result, TAG_THRESHOLD, "host0 to switch0", 0), &[(2, 1_460), (8, 4_380)]);
    near(&changes(&result, HOST_THRESHOLD, "host0 to switch0", 0), &[(1, 1_460), (7, 4_380)]);
    near(&changes(&result, HOST_THRESHOLD, "host0 to switch0", 6), &[(1, 1_466), (5, 4_383), (7, 4_387)]);
    // From 600 us on nothing is remembered, and every estimate stays.
    let parts: Vec<_> = result.periodic.iter().map(|part| (part.name.as_str(), part.period_ps, part.ticks)).collect();
    assert_eq!(parts, [("thresholds of hosts", 100 * US, 5), ("threshold controller", 100 * US, 5)]);
}

#[test]
fn estimates__of_equal_sizes_and_of_one_flow_demote_nobody() {
    for flows in [ten(0, 2).collect(), vec![flow(0, (0, 2), 2)]] {
        for controller in ["equal-split", "two-level", "optimal"] {
            let settings = adapting(1, "1s").with(None, "controller", controller);
            let flows: Vec<Flow> = Vec::into_iter(flows.clone()).chain([flow(500 * US, (0, 2), 2)]).collect();
            let trial = nos2(&settings);
            let last = sent(&trial, &flows, "host0 to switch0").split_off(2 * (flows.len() - 1));
            assert_eq!(
                last.iter().map(|(_, row)| (row.rank, row.at_ps)).collect::<Vec<_>>(),
                [(0, 500 * US), (0, 501_200_000)]
            );
            let result = trial.run(&flows);
            assert!(result.periodic.iter().all(|part| part.ticks == 5), "{:?}", result.periodic);
            assert!(fcts(&result).iter().all(|fct| *fct > 0));
        }
    }
}

/// A controller whose thresholds never arrive changes nothing, takes no event, and has acted all the same. The last flow
/// begins as the controller acts and as a packet leaves host 0, which is busy from 300 to 660 us: the packet leaves while
/// flows arrive.
#[test]
fn controller__is_no_event_of_the_run() {
    let flows: Vec<Flow> = ten(0, 3).chain(ten(300, 30)).chain([flow(420 * US, (1, 2), 1)]).collect();
    let settings = || three_hosts().with(None, "thresholds", sizes(&[5_000, 9_000])).with(None, "queues", 3);
    let run = |settings: &Settings| Trial::new(settings, scheme("pias", settings)).run(&flows);
    let without = run(&settings());
    assert!(without.periodic.is_empty());
    let with = settings()
        .with(None, "controller", "optimal")
        .with(None, "controller_delay", "1s")
        .with(None, "controller_period", "10us")
        .with(None, "observe_least", 1);
    let mut with = run(&with);
    let [controller] = &with.periodic[..] else { panic!("{:?}", with.periodic) };
    assert!(controller.ticks > 30, "{controller:?}");
    with.periodic.clear();
    assert_eq!(with, without);
}
