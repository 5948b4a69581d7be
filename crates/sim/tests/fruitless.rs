//! Runs in which timers fire for ever and nothing is acknowledged: they are ended, the same however the fabric is cut; others
//! are not, however many timeouts they have.
use crate::common::Case;
use crate::common::plain::plain;
use flowsieve_record::PointResult;
use flowsieve_sim::{FRUITLESS_TIMEOUTS, Partitioning, RunSpec, SimError, run};
use flowsieve_workload::Flow;

/// This many flows to the last host, one after the other.
fn flows(count: u32, bytes: u64) -> Vec<Flow> {
    let flow = |id: u32| Flow {
        id,
        start_ps: u64::from(id),
        src: id % 7,
        dst: 7,
        bytes,
        class: 0,
        deadline_ps: None,
        coflow: None,
    };
    (0..count).map(flow).collect()
}

fn guarded(case: &Case, partitioning: Partitioning) -> Result<PointResult, SimError> {
    let fruitless_timeouts = Some(FRUITLESS_TIMEOUTS);
    case.with_run_spec(|run_spec| {
        run(&RunSpec { partitioning, fruitless_timeouts, ..*run_spec }, &mut flowsieve_sim::go_on)
    })
}

/// Two racks; the last host's link loses what it carries with this probability.
fn lossy(loss: f64, scheme: &str, flows: Vec<Flow>) -> Case {
    let given = [("kind", "leaf-spine"), ("leaves", "2"), ("spines", "2"), ("hosts_per_leaf", "4")];
    let mut case = plain(scheme, &given, flows);
    let host = case.fabric.hosts - 1;
    let up = case.fabric.host_uplink[host as usize];
    for link in &mut case.fabric.links {
        if link.to == flowsieve_core::Node::Host(host) {
            link.loss = loss;
        }
    }
    case.fabric.links[up as usize].loss = loss;
    case
}

#[test]
fn run__in_which_nothing_arrives_is_ended_the_same_however_it_is_cut() {
    for (scheme, count) in [("dctcp", 3), ("pfabric", 3), ("pias", 90)] {
        let case = lossy(1.0, scheme, flows(count, 30_000));
        let ended = guarded(&case, Partitioning::Whole).map(drop).unwrap_err();
        let SimError::Fruitless { timeouts, .. } = &ended else { panic!("{ended}") };
        assert!(*timeouts >= FRUITLESS_TIMEOUTS.max(20 * u64::from(count)), "{ended}");
        let said = ended.to_string();
        for says in
            ["without an acknowledgement", "flow 0 from host0 to host7", "the fullest port, ", "timers", "--no-guard"]
        {
            assert!(said.contains(says), "{says}: {said}");
        }
        assert_eq!(guarded(&case, Partitioning::Racks).map(drop), Err(ended), "{scheme}");
    }
}

#[test]
fn run__with_many_timeouts_that_gets_on_is_not_ended() {
    let case = lossy(0.6, "dctcp", flows(70, 60_000));
    let result = guarded(&case, Partitioning::Whole).expect("it gets on");
    let timeouts: u64 = result.flows.iter().map(|flow| u64::from(flow.timeouts)).sum();
    assert!(timeouts > 2 * FRUITLESS_TIMEOUTS, "{timeouts}");
    assert!(result.flows.iter().all(|flow| flow.fct_ps.is_some()));
    let unguarded = case.with_run_spec(|run_spec| run(run_spec, &mut flowsieve_sim::go_on)).expect("it ends");
    assert_eq!(result, unguarded);
}

#[test]
fn run__says_how_far_it_is_as_often_with_the_guard_as_without() {
    let given = [("kind", "leaf-spine"), ("leaves", "2"), ("spines", "2"), ("hosts_per_leaf", "4")];
    let case = plain("dctcp", &given, flows(4, 20_000_000));
    for partitioning in [Partitioning::Whole, Partitioning::Racks] {
        let told = |fruitless_timeouts| {
            let mut calls = 0;
            let result = case.with_run_spec(|run_spec| {
                run(&RunSpec { partitioning, fruitless_timeouts, ..*run_spec }, &mut |_| {
                    calls += 1;
                    std::ops::ControlFlow::Continue(())
                })
            });
            (calls, result.unwrap().packet_hops)
        };
        // Looks for timeouts in vain come every few milliseconds: between two of them there is no batch of events.
        let ((with, hops), (without, _)) = (told(Some(FRUITLESS_TIMEOUTS)), told(None));
        assert!(with >= without && with >= hops / (1 << 19), "{partitioning:?}: {with} {without} {hops}");
    }
}
