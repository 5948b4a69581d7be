//! AWAFS in a fabric: thresholds that converge, what uplinks list of sprayed flows, what misuse costs.

use crate::by_hand;
use crate::by_hand::{Trial, flow, scheme, settings};
use flowsieve_core::Time;
use flowsieve_record::{PointResult, Series};
use flowsieve_settings::{Raw, Settings};
use flowsieve_sim::sample::Sampling;
use flowsieve_sim::{Flows, Partitioning, run_sampled};
use flowsieve_workload::Flow;
use flowsieve_workload::random::{Purpose, Xoshiro256PlusPlus, below, stream, uniform01};

const MS: u64 = 1_000_000_000;

/// Numbers flows by their starts.
fn numbered(mut flows: Vec<Flow>) -> Vec<Flow> {
    flows.sort_by_key(|flow| flow.start_ps);
    (0..).zip(flows).map(|(id, flow)| Flow { id, ..flow }).collect()
}

/// Runs flows, with samples of the links whose name begins so.
fn sampled(settings: &Settings, name: &str, flows: &[Flow], interval: Time, links: &str) -> PointResult {
    let trial = Trial::new(settings, scheme(name, settings));
    let given = || -> Box<dyn Iterator<Item = Flow> + '_> { Box::new(flows.iter().copied()) };
    let mut run_spec = trial.run_spec(Flows::Given(&given), Partitioning::Whole);
    run_spec.max_time = Some(Time(5_000 * MS));
    let all = 0..trial.fabric.links.len() as u32;
    let links = all.filter(|&link| trial.fabric.link_name(link).starts_with(links)).collect();
    run_sampled(&run_spec, &Sampling { interval, links, ..Sampling::default() }, &mut flowsieve_sim::go_on)
        .expect("a run")
}

fn series<'a>(result: &'a PointResult, name: &str) -> Vec<&'a Series> {
    result.series.iter().filter(|series| series.name == name).collect()
}

/// Poisson arrivals at host 0: (size, sender) of each flow by its number, a given number in a given time.
fn arrivals(flows: u32, within_ps: u64, of: impl Fn(u32, &mut Xoshiro256PlusPlus) -> (u64, u32)) -> Vec<Flow> {
    let mut random = stream(7, Purpose::Sizes, 0);
    let gap = within_ps as f64 / f64::from(flows);
    let mut now = 0.0;
    let draw = |n| {
        now -= gap * libm::log(1.0 - uniform01(&mut random));
        let (bytes, src) = of(n, &mut random);
        Flow { bytes, src, ..flow(now as u64, (0, 0), 1) }
    };
    numbered((0..flows).map(draw).collect())
}

/// The topology of §5.3: four hosts at 10 Gbit/s around a switch, 20.2 us a link, two queues.
fn micro() -> Settings {
    let percentile = Raw::List(vec![(Raw::from(0.1), flowsieve_settings::Origin::Default)]);
    by_hand::rack(4).with(None, "link_delay", "20200ns").with(None, "queues", 2).with(None, "percentiles", percentile)
}

/// Figure 5-3 with its own 10,000 flows: four in five are of 10 KB from host 2, the others of 1,000 KB from hosts 1 and 3,
/// all to host 0, within 2.5 s (a load of 0.67). From each start the threshold is that of the short flows, to the byte, from
/// the first tick with which it is asked for: after 200 ms.
#[test]
fn threshold__converges_to_the_short_flows_from_any_start() {
    let flows = arrivals(10_000, 2_500 * MS, |_, random| match below(random, 10) {
        0 => (1_000_000, 1),
        1 => (1_000_000, 3),
        _ => (10_000, 2),
    });
    for (start, bytes) in [("1KB", 1_000.0), ("10KB", 10_000.0), ("1000KB", 1_000_000.0)] {
        let settings = micro().with(None, "thresholds", Raw::from(&[start][..]));
        let result = sampled(&settings, "awafs", &flows, Time(50 * MS), "switch0 to host0");
        let thresholds = &series(&result, "threshold (bytes)")[0].values;
        let (before, after) = thresholds.split_at(4);
        assert_eq!(before[..3], [bytes; 3], "before the first tick");
        assert!(after.len() >= 44 && after.iter().all(|&threshold| threshold == 10_000.0), "{start}: {after:?}");
        assert!(result.periodic[0].ticks >= 10, "{:?}", result.periodic);
    }
}

/// At hosts each follows its own messages: host 2 sends short flows alone, host 1 long ones.
#[test]
fn threshold__of_hosts_follows_what_each_sends() {
    let flows = arrivals(1_000, 500 * MS, |n, _| if n % 5 == 0 { (1_000_000, 1) } else { (10_000, 2) });
    let settings = micro().with(None, "place_of_thresholds", "host");
    let last = |host: &str| {
        let result = sampled(&settings, "awafs", &flows, Time(50 * MS), host);
        *series(&result, "threshold (bytes)")[0].values.last().expect("a sample")
    };
    assert_eq!([last("host1 to"), last("host2 to"), last("host3 to")], [1_000_000.0, 10_000.0, 7_000.0]);
}

/// The list of the busy port overflows where more flows complete than its memory holds, and the result says so.
#[test]
fn effective_window__is_reported_where_it_is_short() {
    let flows = arrivals(4_000, 500 * MS, |_, _| (10_000, 2));
    let window = |memory: &str| {
        let settings = micro().with(None, "list_memory", memory);
        let result = sampled(&settings, "awafs", &flows, Time(100 * MS), "switch0 to host0");
        (series(&result, "effective window (s)")[0].values[4], result.warnings)
    };
    // 8,000 flows a second: 341 last 43 ms.
    let (short, warnings) = window("4096B");
    assert!((0.035..0.050).contains(&short), "{short}");
    assert!(warnings.iter().any(|warning| warning.contains("less than update_window")), "{warnings:?}");
    let (long, warnings) = window("100KB");
    assert_eq!(long, 0.25);
    assert!(!warnings.iter().any(|warning| warning.contains("update_window")), "{warnings:?}");
}

/// Packets are sprayed, so that an uplink sees the ends of some of the flows, with their whole sizes: together the uplinks of
/// a leaf list each flow once.
#[test]
fn sprayed_ends__each_flow_is_listed_by_one_uplink() {
    const FLOWS: u64 = 90;
    let settings = settings("leaf-spine")
        .with(None, "leaves", 2)
        .with(None, "spines", 3)
        .with(None, "hosts_per_leaf", 3)
        .with(None, "load_balancing", "spray");
    let between = |n: u64| flow(n * 4_000_000, (n as u32 % 3, 3 + n as u32 / 3 % 3), 1 + n % 20);
    // A flow within the rack keeps the run going until the others have been sampled.
    let flows = numbered((0..FLOWS).map(between).chain([flow(0, (0, 1), 4_000)]).collect());
    let result = sampled(&settings, "awafs", &flows, Time(MS / 10), "leaf0 to spine");
    let lists = series(&result, "flows listed");
    let listed: Vec<f64> = lists.iter().map(|list| *list.values.last().expect("a sample")).collect();
    assert_eq!(listed.len(), 3);
    assert_eq!(listed.iter().sum::<f64>(), FLOWS as f64, "{listed:?}");
    assert!(listed.iter().all(|&listed| listed < FLOWS as f64), "{listed:?}");
    assert_eq!(result.retransmissions, 0);
}

/// What two hosts that claim the highest priority for all that they send cost the others: the mean FCT of the flows of
/// hosts 2 to 6, over what it is where all are honest. Eight hosts around a switch send to the last one, at a load of 0.67. Four
/// in five flows are of 10 KB, from any of them, the others of 1,000 KB from hosts 0 and 1.
fn damage(name: &str, given: &[(&str, &str)]) -> f64 {
    let flows = arrivals(2_000, 500 * MS, |_, random| match below(random, 5) {
        0 => (1_000_000, below(random, 2) as u32),
        _ => (10_000, below(random, 7) as u32),
    });
    let flows: Vec<Flow> = flows.into_iter().map(|flow| Flow { dst: 7, ..flow }).collect();
    let mean_of_honest = |misusing: i64| {
        let settings = by_hand::rack(8)
            .with(None, "queues", 2)
            .with(None, "connections", "per-flow")
            .with(None, "thresholds", Raw::from(&["20KB"][..]))
            .with(None, "misusing_hosts", misusing);
        let settings = given.iter().fold(settings, |settings, (key, value)| settings.with(None, key, *value));
        let result = sampled(&settings, name, &flows, Time(1_000 * MS), "none");
        let fcts: Vec<u64> = result.flows.iter().filter(|row| row.src >= 2).filter_map(|row| row.fct_ps).collect();
        assert!(fcts.len() > 1_000 && result.flows.iter().all(|row| row.fct_ps.is_some()));
        fcts.iter().sum::<u64>() as f64 / fcts.len() as f64
    };
    mean_of_honest(2) / mean_of_honest(0)
}

/// §4.1's misuse. Tags of hosts, be they priorities or bytes sent, are believed, at 2.7 times the mean FCT under PIAS and 2.9
/// under AWAFS in both places; a switch that counts for itself is not deceived.
#[test]
fn misuse__deceives_whoever_believes_hosts() {
    let believing = [
        damage("pias", &[]),
        damage("awafs", &[("place_of_thresholds", "host")]),
        damage("awafs", &[("flow_ends", "marked")]),
    ];
    let counting = [damage("awafs", &[("flow_ends", "idle")]), damage("awafs", &[("flow_ends", "fin")])];
    assert!(believing.iter().all(|&damage| damage > 2.0), "{believing:?}");
    assert!(counting.iter().all(|&damage| (0.99..1.01).contains(&damage)), "{counting:?}");
}
