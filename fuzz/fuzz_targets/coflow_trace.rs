//! Any text is a coflow trace that hosts can carry, or an error.
#![no_main]

use flowsieve_workload::coflow_trace::{self, Generation, Like, OwnRack, Placing, Shapes};
use libfuzzer_sys::fuzz_target;

const HOSTS: u32 = 4;

fuzz_target!(|text: &str| {
    for like in [Like::Trace, Like::CoflowSim] {
        let Ok(trace) = coflow_trace::read("fuzz.txt", text.as_bytes(), like) else { continue };
        let flows: usize = trace.coflows.iter().map(|coflow| coflow.flows.len()).sum();
        for placing in [Placing::Modulo, Placing::Random { seed: 1 }] {
            let placed = trace.place(HOSTS, placing, OwnRack::Drop);
            assert_eq!(placed.flows.len() + placed.own_host as usize, flows);
            assert!(placed.flows.iter().all(|flow| flow.src != flow.dst && flow.src < HOSTS && flow.dst < HOSTS));
        }
        let generation = Generation {
            coflows: 3,
            hosts: HOSTS,
            flow_cap: Some(5),
            most_flows: Some(100),
            pods: None,
            shapes: Shapes::EachOnce,
        };
        let made = generation.generate(&trace, 1);
        assert!(
            made.iter().flat_map(|made| &made.coflows).all(|coflow| coflow.flows.iter().all(|flow| flow.bytes <= 5))
        );
    }
});
