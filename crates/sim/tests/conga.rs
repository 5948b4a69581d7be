//! CONGA by hand: two racks of two hosts at 10 Gbit/s, and two spines behind lines of 40 Gbit/s. The way over the first spine is
//! slow: 1 Gbit/s from it to the second leaf, which only that leaf can tell of.

use crate::by_hand::{Trial, fcts, flow, scheme, sent, settings};
use flowsieve_settings::{Origin, Raw, Settings, Table};
use flowsieve_workload::Flow;

const US: u64 = 1_000_000;

fn fabric(slow: &str) -> Settings {
    let mut settings =
        settings("leaf-spine").with(None, "leaves", 2).with(None, "spines", 2).with(None, "hosts_per_leaf", 2);
    for (name, value) in [("between", Raw::from(&["leaf1", "spine0"][..])), ("rate", Raw::from(slow))] {
        let key = settings.find(name).expect("a setting");
        settings.give(Table::Link(0), key, &value, Origin::Default).expect("a value");
    }
    settings
}

fn balanced(slow: &str, by: &str) -> Trial {
    let settings = fabric(slow).with(None, "load_balancing", by).with(None, "flowlet_gap", "50us");
    let settings = settings.with(None, "connections", "per-flow").with(None, "handshake", "none");
    Trial::new(&settings, scheme("dctcp", &settings))
}

/// The flows whose first packet left the first leaf for the first spine.
fn over_the_first(trial: &Trial, flows: &[Flow]) -> Vec<u32> {
    let mut first: Vec<u32> = sent(trial, flows, "leaf0 to spine0").into_iter().map(|(flow, _)| flow).collect();
    first.sort_unstable();
    first.dedup();
    first
}

/// A long flow on the slow way keeps that line busy, at level 6 and more. Its ACKs bring that back, and short flows between two
/// other hosts take the other way; by hash some of them would wait behind the long one.
#[test]
fn conga__leaves_a_way_that_is_slow_far_from_the_leaf() {
    let conga = balanced("1Gbps", "conga");
    let short = (0..8).map(|nth| flow((2_000 + 100 * nth) * US, (1, 3), 1));
    // A packet more or less before the long flow: it draws one way or the other.
    let with = |before: u64| -> Vec<Flow> {
        let before = (0..before).map(|nth| flow(nth * 20 * US, (1, 3), 1));
        before.chain([flow(200 * US, (0, 2), 600)]).chain(short.clone()).collect()
    };
    let flows = (0..4).map(with).find(|flows| over_the_first(&conga, flows).contains(&(flows.len() as u32 - 9)));
    let flows = flows.expect("a way of two");
    let long = flows.len() as u32 - 9;
    assert!(over_the_first(&conga, &flows).iter().all(|&flow| flow <= long));
    assert!(over_the_first(&balanced("1Gbps", "ecmp"), &flows).iter().any(|&flow| flow > long));
    // A short one takes 1.2 + 0.3 + 0.3 + 1.2 us and four lines of 0.2 us, as if alone.
    assert_eq!(fcts(&conga.run(&flows))[long as usize + 1..], [3_800_000; 8]);
}

/// Where all ways are equal and idle, each is as likely: of 200 flows one after the other about half take each.
#[test]
fn conga__draws_among_equal_ways() {
    let flows: Vec<Flow> = (0..200).map(|nth| flow(nth * 1_000 * US, (0, 2), 1)).collect();
    let first = over_the_first(&balanced("40Gbps", "conga"), &flows).len();
    // Each flow has a path of its own; 100, and four deviations of 7.
    assert!((72..=128).contains(&first), "{first} of 200");
}
