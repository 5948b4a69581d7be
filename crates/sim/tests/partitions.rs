//! The same result however the fabric is cut, however often the point is run, and however wide the keys of events are.

mod common;

use common::{Case, case};
use flowsieve_core::Time;
use flowsieve_results::{LinkClass, PointResult};
use flowsieve_schemes::scheme::BalancerSpec;
use flowsieve_schemes::settings::Place;
use flowsieve_sim::{Measure, Partitioning, Point, SimError, run};
use flowsieve_workload::Flow;
use proptest::prelude::*;

/// Everything that a result says but the number of events, which is the engine's own business.
fn result(case: &Case, partitioning: Partitioning) -> Result<PointResult, SimError> {
    let result = case.with_point(|point| run(&Point { partitioning, ..*point }, &mut |_| {}))?;
    Ok(PointResult { events: 0, ..result })
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let whole = result(case, Partitioning::Whole);
    prop_assert_eq!(&whole, &result(case, Partitioning::Racks));
    prop_assert_eq!(&whole, &result(case, Partitioning::Whole), "the second time");
    Ok(())
}

/// The point, with every flow later by `span`.
fn shifted(case: &Case, span: Time) -> Vec<Flow> {
    case.flows.iter().map(|flow| Flow { start_ps: flow.start_ps + span.0, ..*flow }).collect()
}

/// What does not depend on when a run begins.
fn timeless(result: PointResult) -> PointResult {
    let without_rates = |link: LinkClass| LinkClass { offered_load: 0.0, utilisation: 0.0, ..link };
    PointResult {
        flows: result.flows.into_iter().map(|row| flowsieve_results::FlowRow { start_ps: 0, ..row }).collect(),
        links: result.links.into_iter().map(without_rates).collect(),
        simulated_ps: 0,
        arrivals_end_ps: 0,
        warnings: Vec::new(),
        ..result
    }
}

proptest! {
    #![proptest_config(common::config(150))]

    #[test]
    fn run__the_same_however_it_is_cut(case in case(80)) {
        check(&case)?;
    }

    #[test]
    fn run__the_same_however_it_is_cut_when_it_is_stopped(case in case(80), stop_ps in 1u64..600_000_000) {
        check(&Case { max_time: Some(Time(stop_ps)), ..case })?;
    }

    #[test]
    fn run__the_same_however_a_window_is_cut(case in case(80), from_us in 0u64..150, span_us in 1u64..150) {
        let measure = Measure::Window { from: Time::from_us(from_us), to: Time::from_us(from_us + span_us) };
        check(&Case { measure, max_time: Some(Time::from_us(20_000)), ..case })?;
    }
}

proptest! {
    #![proptest_config(common::config(60))]

    /// Narrow keys end at 3 · 2^46 ps: some runs begin beyond it, some before.
    #[test]
    fn run__the_same_with_wide_keys(case in case(60), early_us in 0u64..300, racks: bool) {
        prop_assume!(!matches!(case.scheme.balancers.at(Place::Leaf), BalancerSpec::Custom(_)), "has a clock of its own");
        let partitioning = if racks { Partitioning::Racks } else { Partitioning::Whole };
        let narrow = timeless(result(&case, partitioning).map_err(|error| TestCaseError::fail(error.to_string()))?);
        // Whole nanoseconds, as timestamps are.
        let span = Time((3 << 46) / 1_000 * 1_000 - 1_000_000 * early_us);
        let flows = shifted(&case, span);
        let late = Case { flows, max_time: case.max_time.map(|stop| stop + span), ..case };
        let wide = timeless(result(&late, partitioning).map_err(|error| TestCaseError::fail(error.to_string()))?);
        prop_assert_eq!(narrow, wide);
    }
}
