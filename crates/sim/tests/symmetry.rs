//! Equal hosts are equal: nobody is always the first of those whose packets arrive at one instant.
//!
//! ACKs clock all senders into the slots of one line, so that their packets come to it at the same picosecond for the whole run,
//! however their starts differ. Each test is of a fabric in which exchanging two hosts changes nothing.

use crate::by_hand::{Trial, fcts, flow, rack, scheme, sent, settings};
use flowsieve_core::Time;
use flowsieve_record::PacketRow;
use flowsieve_settings::Settings;
use flowsieve_sim::{Flows, Partitioning, RunSpec, run};
use flowsieve_workload::Flow;
use flowsieve_workload::random::{Purpose, below, stream};

/// Hosts of 100 Gbit/s on one switch whose ports hold 520 KB, with the parameters of today's standards.
fn fast_rack(hosts: i64, name: &str) -> Trial {
    let settings = rack(hosts)
        .with(None, "parameters", "rfc")
        .with(None, "host_link", "100Gbps")
        .with(None, "link_delay", "500ns")
        .with(None, "host_delay", "500ns")
        .with(None, "nic", "backpressure")
        .with(None, "buffer", "520KB");
    trial(name, settings)
}

/// Reno is TCP without marks; PIAS has thresholds that a flow of this test passes.
fn trial(name: &str, settings: Settings) -> Trial {
    let (name, settings) = match name {
        "reno" => ("dctcp", settings.with(None, "transport", "tcp").with(None, "marking", "none")),
        "pias" => ("pias", settings.with(None, "queues", 3i64).with(None, "thresholds", &["20KB", "200KB"][..])),
        // Cutoffs without a workload.
        "homa" => (
            "homa",
            settings.with(None, "queues", 4i64).with(None, "overcommitment", 2i64).with(
                None,
                "thresholds",
                &["5KB"][..],
            ),
        ),
        other => (other, settings),
    };
    let scheme = scheme(name, &settings);
    Trial::new(&settings, scheme)
}

const SCHEMES: [&str; 4] = ["reno", "dctcp", "pias", "homa"];

/// The FCTs of flows in the order of their senders, with this seed.
fn fcts_of(trial: &Trial, flows: &[Flow], seed: u64) -> Vec<u64> {
    let numbered = || -> Box<dyn Iterator<Item = Flow>> {
        let mut numbered = flows.to_vec();
        numbered.sort_by_key(|flow| flow.start_ps);
        Box::new((0..).zip(numbered).map(|(id, flow)| Flow { id, ..flow }))
    };
    let run_spec = RunSpec { seed, ..trial.run_spec(Flows::Given(&numbered), Partitioning::Whole) };
    let mut rows = run(&run_spec, &mut flowsieve_sim::go_on).expect("a run").flows;
    rows.sort_by_key(|row| row.src);
    rows.iter().map(|row| row.fct_ps.expect("a finished flow")).collect()
}

/// Two hosts send 32 MiB at once to a third.
#[test]
fn two_senders__neither_is_ahead() {
    for name in SCHEMES {
        let trial = fast_rack(3, name);
        let flows = [flow(0, (0, 2), 22_983), flow(0, (1, 2), 22_983)];
        let each: Vec<Vec<u64>> = (1..=20).map(|seed| fcts_of(&trial, &flows, seed)).collect();
        let ahead = |first: usize| each.iter().filter(|fcts| fcts[first] < fcts[1 - first]).count();
        let sum = |host: usize| each.iter().map(|fcts| fcts[host]).sum::<u64>() as f64;
        assert!(ahead(0) <= 15 && ahead(1) <= 15, "{name}: {} and {} of 20", ahead(0), ahead(1));
        assert!((sum(0) / sum(1) - 1.0).abs() < 0.15, "{name}: {} and {} ps", sum(0) / 20.0, sum(1) / 20.0);
        assert!((1..20).any(|seed| each[seed] != each[0]), "{name}: seeds differ");
    }
}

/// The rank correlation (Spearman) of values with their places.
fn rank_correlation(values: &[u64]) -> f64 {
    let rank = |value: u64| {
        let below = values.iter().filter(|&&other| other < value).count();
        let equal = values.iter().filter(|&&other| other == value).count();
        below as f64 + (equal - 1) as f64 / 2.0
    };
    let ranks: Vec<f64> = values.iter().map(|&value| rank(value)).collect();
    let middle = (values.len() - 1) as f64 / 2.0;
    let product = |a: &dyn Fn(usize) -> f64, b: &dyn Fn(usize) -> f64| -> f64 {
        (0..values.len()).map(|place| (a(place) - middle) * (b(place) - middle)).sum()
    };
    let (rank, place) = (|at: usize| ranks[at], |at: usize| at as f64);
    let spread = (product(&rank, &rank) * product(&place, &place)).sqrt();
    if spread > 0.0 { product(&rank, &place) / spread } else { 0.0 }
}

#[test]
fn rank_correlation__textbook_values() {
    assert_eq!(rank_correlation(&[1, 2, 5, 9]), 1.0);
    assert_eq!(rank_correlation(&[9, 5, 2, 1]), -1.0);
    assert_eq!(rank_correlation(&[3, 3, 3]), 0.0);
    // d = (1, -1, 1, -1): 1 - 6 · 4 / (4 · 15).
    assert!((rank_correlation(&[2, 1, 4, 3]) - 0.6).abs() < 1e-12);
}

/// A hundred incasts: ten hosts send 200 KB to an eleventh and begin within 2 us, or all at once.
#[test]
fn incast__fct_does_not_follow_the_number_of_the_host() {
    const SENDERS: u32 = 10;
    for name in SCHEMES {
        let trial = fast_rack(i64::from(SENDERS) + 1, name);
        for within in [Time::from_us(2), Time(1)] {
            let of_seed = |seed: u64| {
                let mut random = stream(seed, Purpose::Arrivals, 0);
                let sent = |host| flow(below(&mut random, within.0), (host, SENDERS), 137);
                let flows: Vec<Flow> = (0..SENDERS).map(sent).collect();
                rank_correlation(&fcts_of(&trial, &flows, seed))
            };
            let mean = (1..=100).map(of_seed).sum::<f64>() / 100.0;
            // One incast of ten alone has a standard deviation of 1/3, a mean of a hundred 0.033.
            assert!(mean.abs() <= 0.1, "{name}, within {within:?}: {mean:.3}");
        }
    }
}

/// Eight hosts of a leaf send in step to those of another, over four spines.
#[test]
fn spray__flows_in_step_take_all_paths() {
    let settings = settings("leaf-spine")
        .with(None, "leaves", 2i64)
        .with(None, "spines", 4i64)
        .with(None, "hosts_per_leaf", 8i64)
        .with(None, "fabric_link", "10Gbps")
        .with(None, "nic", "backpressure")
        .with(None, "load_balancing", "spray");
    let trial = Trial::new(&settings, scheme("dctcp", &settings));
    let flows: Vec<Flow> = (0..8).map(|host| flow(0, (host, host + 8), 685)).collect();
    let over_spine = |spine| sent(&trial, &flows, &format!("leaf0 to spine{spine}"));
    let over: Vec<Vec<(u32, PacketRow)>> = (0..4).map(over_spine).collect();
    for number in 0..8 {
        let packets: Vec<usize> =
            over.iter().map(|sent| sent.iter().filter(|(flow, _)| *flow == number).count()).collect();
        // Some packets are sent again.
        let quarter = packets.iter().sum::<usize>() as f64 / 4.0;
        assert!(quarter >= 685.0 / 4.0, "flow {number}: {packets:?}");
        assert!(packets.iter().all(|&packets| (packets as f64 - quarter).abs() <= 2.0), "flow {number}: {packets:?}");
    }
    // None of them waits for another at the hosts, so that they end together but for the queues at the spines.
    let ends = fcts(&trial.run(&flows));
    let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    assert!(*last < first + first / 10, "{first} to {last} ps");
}
