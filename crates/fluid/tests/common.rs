//! Small networks for tests.

use flowsieve_core::units::Time;
use flowsieve_fluid::{Crossing, Discipline, Flow, Network, Outcome, Path, Spec, run};

/// A switch with hosts at 10 Gbit/s, where a MB takes 0.8 ms; paths from each host to each, `from * hosts + to`.
pub fn switch(hosts: u32) -> Network {
    let whole = |link| Crossing { link, share: 1.0 };
    let path = |from, to| Path { from, to, links: vec![whole(from), whole(hosts + to)] };
    Network {
        rates: vec![1e10; 2 * hosts as usize],
        up: (0..hosts).collect(),
        down: (hosts..2 * hosts).collect(),
        paths: (0..hosts).flat_map(|from| (0..hosts).map(move |to| path(from, to))).collect(),
    }
}

/// A flow of so many KB, without headers.
pub fn flow(start_us: u64, path: u32, kilobytes: u64, coflow: u32) -> Flow {
    let bytes = kilobytes * 1_000;
    Flow { start: Time::from_us(start_us), payload: bytes, wire: bytes, path, coflow }
}

/// What comes of flows.
pub fn outcome(network: &Network, flows: &[Flow], discipline: &Discipline) -> Outcome {
    run(&Spec { network, flows, discipline, until: Time::NEVER }, &mut |_| {})
}

/// When each flow ends, in us.
#[allow(dead_code, reason = "not every test works by hand")]
pub fn ends_us(network: &Network, flows: &[Flow], discipline: &Discipline) -> Vec<u64> {
    let us = |end: Option<Time>| {
        let end = end.expect("it ends").0;
        assert_eq!(end % 1_000_000, 0, "whole us");
        end / 1_000_000
    };
    outcome(network, flows, discipline).ends.into_iter().map(us).collect()
}
