//! The same result however the fabric is cut, however often a run is made, and however wide the keys of events are.

use crate::common;
use std::collections::BTreeMap;

use crate::common::hula::hula_case;
use crate::common::outage::outage_case;
use crate::common::{BY_THE_CLOCK, Case, NO_OWN_PARTS, Rest, case, case_of, made};
use flowsieve_core::controllers::thresholds::{NetworkParams, OwnParams};
use flowsieve_core::{BalancerSpec, ControllerKind, ControllerSpec, PortKind, TaggerSpec, Time};
use flowsieve_record::{FlowRow, Goodput, LinkClass, PointResult};
use flowsieve_schemes::scheme::Class;
use flowsieve_settings::Place;
use flowsieve_sim::topology::events::Event;
use flowsieve_sim::{FctEnd, Flows, Measure, NoStages, Partitioning, RunSpec, SimError, run, stages as stages_exist};
use flowsieve_workload::{ClosedLoop, Flow, Offer, Pattern, Rounding, SizeDistribution, Think};
use proptest::prelude::*;

fn result(case: &Case, partitioning: Partitioning) -> Result<PointResult, SimError> {
    case.with_run_spec(|run_spec| run(&RunSpec { partitioning, ..*run_spec }, &mut flowsieve_sim::go_on))
}

/// Without the number of events: racks have others where switches cut through.
fn without_events(result: Result<PointResult, SimError>) -> Result<PointResult, SimError> {
    Ok(PointResult { events: 0, ..result? })
}

/// One of 48 ways to cut into stages. Threads always meet, or while a meeting saves at least one packet-hop, or never.
fn stages_of(seed: u64) -> Partitioning {
    let worth = [0, 1, u64::MAX][(seed / 16 % 3) as usize];
    Partitioning::Stages { groups: 1 + (seed % 4) as u32, threads: 1 + (seed / 4 % 4) as u32, worth }
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let whole = result(case, Partitioning::Whole);
    // Without stages it is the same run a second time.
    let stages = stages_of(case.seed);
    prop_assert_eq!(&whole, &result(case, stages), "{:?}: {:?}", stages, stages_exist(&case.fabric, &case.scheme));
    prop_assert_eq!(without_events(whole), without_events(result(case, Partitioning::Racks)));
    Ok(())
}

/// The same where flows follow one another instead of those that the case has.
fn closed_result(
    case: &Case,
    flows: &ClosedLoop,
    until: Time,
    partitioning: Partitioning,
) -> Result<PointResult, SimError> {
    let flows = Flows::Closed { flows, until };
    run(&RunSpec { partitioning, ..case.run_spec(flows) }, &mut flowsieve_sim::go_on)
}

/// Closed loops on the hosts of a case: (flows a host, flows in all, mean time to think in us).
fn loops(case: &Case, (outstanding, flows, think_us): (u32, u32, u64)) -> ClosedLoop {
    let sizes = SizeDistribution::exponential(20_000, Rounding::Bytes).expect("sizes");
    let offer = Offer { sizes, mix: None, rate_per_host: 0.0 };
    let think = if think_us == 0 { Think::Fixed(0) } else { Think::Exponential(1_000_000 * think_us) };
    ClosedLoop::new((case.fabric.hosts, outstanding), &Pattern::AllToAll, offer, think, flows, case.seed)
        .expect("loops")
}

/// Flows that a host keeps under way: several, so that they begin out of the order of their numbers.
const OUTSTANDING: std::ops::Range<u32> = 1..5;

/// The time between flows that do not meet, as a rule: 20 ms.
const APART: Time = Time::from_us(20_000);

/// The same result `span` later. The instant decides between equals, so flows come one after the other, and it is only asked of
/// cases that are the same one to eight seconds later.
fn check_wide(mut case: Case, partitioning: Partitioning, span: Time) -> Result<(), TestCaseError> {
    let mut flows = std::mem::take(&mut case.flows);
    flows.iter_mut().zip(0..).for_each(|(flow, number)| flow.start_ps += APART.0 * number);
    let stop = case.max_time.map(|stop| stop + Time(APART.0 * flows.len() as u64));
    let mut later = |span: Time| {
        case.flows = flows.iter().map(|flow| Flow { start_ps: flow.start_ps + span.0, ..*flow }).collect();
        case.max_time = stop.map(|stop| stop + span);
        result(&case, partitioning).map(timeless).map_err(|error| TestCaseError::fail(error.to_string()))
    };
    let narrow = later(Time::ZERO)?;
    for seconds in 1..=8 {
        let same = later(Time::from_us(1_000_000 * seconds))? == narrow;
        prop_assume!(same, "packets meet, and the instant says which comes first");
    }
    prop_assert_eq!(narrow, later(span)?);
    Ok(())
}

/// What does not depend on when a run begins.
fn timeless(result: PointResult) -> PointResult {
    let without_rates = |link: LinkClass| LinkClass { offered_load: 0.0, utilisation: 0.0, ..link };
    PointResult {
        flows: result.flows.into_iter().map(|row| FlowRow { start_ps: 0, ..row }).collect(),
        links: result.links.into_iter().map(without_rates).collect(),
        goodput: result.goodput.map(|goodput| Goodput { from_ps: 0, ..goodput }),
        simulated_ps: 0,
        arrivals_end_ps: 0,
        events: 0,
        warnings: Vec::new(),
        ..result
    }
}

proptest! {
    #![proptest_config(common::config(100))]

    #[test]
    fn run__the_same_however_it_is_cut(case in prop_oneof![3 => case(80), 1 => outage_case(60)]) {
        check(&case)?;
    }

    #[test]
    fn run__the_same_however_it_is_cut_where_thresholds_adapt(case in case_of(BY_THE_CLOCK.to_vec(), 80)) {
        check(&case)?;
    }

    #[test]
    fn run__the_same_however_it_is_cut_when_it_is_stopped(case in case(80), stop_ps in 1u64..600_000_000) {
        check(&Case { max_time: Some(Time(stop_ps)), ..case })?;
    }

    #[test]
    fn run__the_same_however_a_window_is_cut(case in case(80), from_us in 0u64..150, span_us in 1u64..150) {
        let measure = Measure::Window { from: Time::from_us(from_us), to: Time::from_us(from_us + span_us) };
        check(&Case { measure, max_time: case.max_time.min(Some(Time::from_us(20_000))), ..case })?;
    }
}

proptest! {
    #![proptest_config(common::config(60))]

    /// One timeout is enough to be ended, if the one flow of a case gets nowhere between two looks.
    #[test]
    fn run__ended_or_not_however_it_is_cut(case in case(2)) {
        let of = |partitioning| case.with_run_spec(|run_spec| {
            let run_spec = RunSpec { partitioning, fruitless_timeouts: Some(1), ..*run_spec };
            run(&run_spec, &mut flowsieve_sim::go_on)
        });
        let whole = of(Partitioning::Whole);
        prop_assert_eq!(&whole, &of(stages_of(case.seed)));
        prop_assert_eq!(without_events(whole), without_events(of(Partitioning::Racks)));
    }

    #[test]
    fn run__the_same_however_it_is_cut_where_probes_tell_of_ways(case in hula_case(80)) {
        check(&case)?;
    }
}

proptest! {
    #![proptest_config(common::config(80))]

    #[test]
    fn run__closed_loops_the_same_however_they_are_cut(
        case in case(1), outstanding in OUTSTANDING, flows in 1u32..100, think_us in 0u64..30, stop_us in 100u64..20_000,
        window: bool,
    ) {
        let measure = if window { Measure::Window { from: Time::ZERO, to: Time::from_us(100) } } else { Measure::All };
        let case = Case { measure, max_time: Some(Time::from_us(stop_us)), ..case };
        let closed = loops(&case, (outstanding, flows, think_us));
        let whole = closed_result(&case, &closed, Time::NEVER, Partitioning::Whole);
        let racks = closed_result(&case, &closed, Time::NEVER, Partitioning::Racks);
        prop_assert_eq!(without_events(whole.clone()), without_events(racks));
        if case.scheme.classes.iter().any(|class| !class.transport.facts().answers()) {
            prop_assert!(matches!(whole, Err(SimError::NoAcks { .. })), "{whole:?}");
            return Ok(());
        }
        let Ok(result) = whole else {
            prop_assert_eq!(whole.unwrap_err(), SimError::NoFlows("in the measuring window"));
            return Ok(());
        };
        prop_assert!(result.flows.is_sorted_by_key(|row| (row.start_ps, row.flow)));
        let late = Time(result.simulated_ps / 2);
        let cut = closed_result(&case, &closed, late, stages_of(case.seed));
        prop_assert_eq!(&cut, &closed_result(&case, &closed, late, Partitioning::Whole));
        if let Ok(cut) = cut {
            prop_assert!(cut.flows.iter().all(|row| row.start_ps < late.0));
        }
    }

    #[test]
    fn run__a_flow_of_a_closed_loop_follows_the_one_before_it(
        case in case(1), outstanding in OUTSTANDING, flows in 1u32..100, think_us in 0u64..30
    ) {
        prop_assume!(!case.scheme.classes.iter().any(|class| !class.transport.facts().answers()));
        let stop = case.max_time.expect("a drawn case is stopped");
        let case = Case { fct_end: FctEnd::Ack, ..case };
        let closed = loops(&case, (outstanding, flows, think_us));
        let result = closed_result(&case, &closed, Time::NEVER, Partitioning::Whole).expect("a run");
        let rows: BTreeMap<u32, &FlowRow> = result.flows.iter().map(|row| (row.flow, row)).collect();
        let brief = |row: &FlowRow| (row.start_ps, row.src, row.dst, row.bytes);
        let planned = |flow: Flow| (flow.start_ps, flow.src, flow.dst, flow.bytes);
        for first in closed.first() {
            prop_assert_eq!(rows.get(&first.id).map(|row| brief(row)), Some(planned(first)));
        }
        for row in rows.values() {
            let next = row.fct_ps.and_then(|fct| closed.after(row.flow, row.start_ps + fct))
                .filter(|next| next.start_ps < stop.0);
            let number = row.flow + case.fabric.hosts * outstanding;
            prop_assert_eq!(rows.get(&number).map(|row| brief(row)), next.map(planned));
        }
    }
}

proptest! {
    #![proptest_config(common::config(60))]

    /// Narrow keys end at 3 · 2^46 ps: some runs begin beyond it, some before.
    #[test]
    fn run__the_same_with_wide_keys(case in case(10), early_us in 0u64..200_000, racks: bool) {
        prop_assume!(!matches!(case.scheme.balancers.at(Place::Leaf), BalancerSpec::Custom(_)), "has a clock of its own");
        // Ranks are instants, or ports adapt at instants that are counted from the beginning.
        let by_clock = |class: &Class| matches!(class.tagger, TaggerSpec::DeadlineFirst(_) | TaggerSpec::Cluster(_));
        let adapts = |&place: &Place| matches!(case.scheme.ports.at(place).kind, PortKind::Awafs(_));
        let clocked = case.scheme.classes.iter().any(by_clock)
            || Place::ALL.iter().any(adapts)
            || !case.scheme.controllers.is_empty();
        prop_assume!(!clocked, "the instant matters");
        let partitioning = if racks { Partitioning::Racks } else { Partitioning::Whole };
        // Whole nanoseconds, as timestamps are.
        check_wide(case, partitioning, Time((3 << 46) / 1_000 * 1_000 - 1_000_000 * early_us))?;
    }
}

proptest! {
    #![proptest_config(common::config(12))]

    /// The same where thresholds adapt: after whole periods and windows in which nothing happens.
    #[test]
    fn run__the_same_with_wide_keys_where_thresholds_adapt(
        case in case_of(BY_THE_CLOCK.to_vec(), 10), early_ms in 0u64..50, racks: bool
    ) {
        prop_assume!(!matches!(case.scheme.balancers.at(Place::Leaf), BalancerSpec::Custom(_)), "has a clock of its own");
        let own = |spec: &ControllerSpec| matches!(spec.kind, ControllerKind::Custom(_));
        prop_assume!(!case.scheme.controllers.iter().any(own), "have clocks of their own");
        prop_assume!(!case.scheme.controllers.is_empty());
        let mut case = case;
        for spec in &mut case.scheme.controllers {
            let (ControllerKind::OwnThresholds(OwnParams { of, .. })
            | ControllerKind::NetworkThresholds(NetworkParams { of, .. })) = &mut spec.kind
            else {
                panic!("{spec:?}");
            };
            (of.period, of.window) = (Time::from_us(1_000), Time::from_us(4_000));
        }
        // After a whole window, and some in another period than the first.
        case.flows.iter_mut().for_each(|flow| flow.start_ps = 4_000_000_000 + 20 * flow.start_ps);
        let partitioning = if racks { Partitioning::Racks } else { Partitioning::Whole };
        check_wide(case, partitioning, Time::from_us(((3 << 46) / 4_000_000_000 * 4 - 4 * early_ms) * 1_000))?;
    }
}

/// The drawn fabrics and schemes meet every reason for no stages but a fabric that mixes up and down, and most have stages.
#[test]
fn stages__exist_or_not() {
    let of = |given: &[(&str, &str)], scheme: &str| {
        let case = made(
            given,
            &[scheme],
            Rest { own_parts: NO_OWN_PARTS, seed: 1, wire_overhead: 0, to_ack: true, stop_us: None },
            &[],
        );
        stages_exist(&case.fabric, &case.scheme)
    };
    for kind in ["leaf-spine", "fat-tree", "single-switch"] {
        assert!(of(&[("kind", kind)], "pias").is_ok(), "{kind}");
        assert_eq!(of(&[("kind", kind), ("host_delay", "0ns"), ("link_delay", "0ns")], "pias"), Err(NoStages::NoDelay));
        assert_eq!(
            of(&[("kind", kind), ("admission", "shared"), ("shared_buffer", "90KB")], "pias"),
            Err(NoStages::SharedMemory)
        );
        assert_eq!(of(&[("kind", kind), ("forwarding", "cut-through")], "pias"), Err(NoStages::CutThrough));
    }
    assert_eq!(of(&[("kind", "single-link")], "pias"), Err(NoStages::NoSwitch));
    assert_eq!(of(&[("kind", "leaf-spine"), ("load_balancing", "hula")], "pias"), Err(NoStages::Programs));
    assert_eq!(
        of(&[("kind", "leaf-spine"), ("0:between", "host0 leaf0"), ("0:loss", "0.1")], "pias"),
        Err(NoStages::Losses)
    );
    assert_eq!(
        of(&[("kind", "leaf-spine"), ("0:between", "leaf0 spine0"), ("0:loss", "0.1")], "pias")
            .map(|rounds| rounds.stages),
        Ok(4)
    );
    let rest = Rest { own_parts: NO_OWN_PARTS, seed: 1, wire_overhead: 0, to_ack: true, stop_us: None };
    let mut failing = made(&[("kind", "leaf-spine")], &["pias"], rest, &[]);
    failing.fabric.events = vec![Event { at: Time::from_us(1), links: vec![288, 289], down: true }];
    assert_eq!(stages_exist(&failing.fabric, &failing.scheme), Err(NoStages::Events));
    // Without one of its links a leaf is reached over another leaf.
    let failed = [
        ("kind", "leaf-spine"),
        ("leaves", "3"),
        ("spines", "2"),
        ("0:between", "leaf0 spine0"),
        ("0:failed", "true"),
        ("1:between", "leaf1 spine1"),
        ("1:failed", "true"),
    ];
    assert_eq!(of(&failed, "pias"), Err(NoStages::Valley));
}
