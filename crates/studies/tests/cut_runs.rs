//! A run that `max_time` ends before the last arrival: every rate is over what was simulated.

use flowsieve_engines::built_in;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{self, Changes};
use flowsieve_record::PointResult;
use std::path::Path;

/// DCTCP on a small fabric, with a flow list that goes on long after the run's end.
fn run(more: &str) -> PointResult {
    let text = format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
         [workload]\nsizes = \"web-search\"\nload = 0.6\nflows = 400\n\
         [sweep]\nscheme = [\"dctcp\"]\n[run]\n{more}\n"
    );
    let text = ExperimentText::new("cut.toml", &text);
    let plan = plan::plan(&text, Path::new(""), &Changes::default(), &built_in()).unwrap();
    built_in().run(&plan.points[0], 1, &mut go_on, None).unwrap()
}

const CUT_PS: u64 = 10_000_000_000;

#[test]
fn rates__of_a_run_that_is_cut_are_over_what_was_simulated() {
    let (whole, cut) = (run(""), run("max_time = \"10ms\""));
    assert!(whole.arrivals_end_ps > 3 * CUT_PS, "the case is no case: {}", whole.arrivals_end_ps);
    assert_eq!((cut.simulated_ps, cut.arrivals_end_ps), (CUT_PS, CUT_PS));
    for link in &cut.links {
        // Without framing, all that was sent was sent while flows arrived, but for the rest of the packet that each line is
        // sending at the end: of at most 1,500 bytes.
        let of = |bytes: f64| 8.0 * bytes / (link.rate_bps as f64 * 0.01);
        let (carried, rest) = (of(link.bytes as f64) / f64::from(link.links), of(1_500.0));
        let in_range = carried - rest..=carried + 1e-9;
        assert!(in_range.contains(&link.utilisation), "{}: {} {in_range:?}", link.name, link.utilisation);
        assert!(link.utilisation > 0.02, "{}: {}", link.name, link.utilisation);
    }
    let goodput = cut.goodput.unwrap();
    assert_eq!(goodput.from_ps + goodput.span_ps, CUT_PS);
    // Flows that were to come later asked for nothing.
    let arrived = cut.flows.iter().filter(|flow| flow.start_ps < CUT_PS);
    assert_eq!(goodput.offered_bytes, arrived.clone().map(|flow| flow.bytes).sum::<u64>());
    assert!(arrived.count() < cut.flows.len() / 2);
    let finished = cut.flows.iter().filter(|flow| flow.fct_ps.is_some()).map(|flow| flow.bytes).sum::<u64>();
    assert_eq!(goodput.finished_bytes, finished);
    // Offered on hosts' links: at least the payload of what arrived.
    let up = cut.links.iter().find(|link| link.name == "host-up").unwrap();
    let payload = 8.0 * goodput.offered_bytes as f64 / (f64::from(up.links) * up.rate_bps as f64 * 0.01);
    assert!(payload < up.offered_load && up.offered_load < 1.15 * payload, "{payload} {}", up.offered_load);
}

#[test]
fn rates__of_a_run_that_ends_by_itself_are_over_its_arrivals() {
    let whole = run("");
    let last = whole.flows.iter().map(|flow| flow.start_ps).max();
    assert_eq!(Some(whole.arrivals_end_ps), last);
    let goodput = whole.goodput.unwrap();
    assert_eq!(Some(goodput.from_ps + goodput.span_ps - 1), last);
    // An end that the run does not come to changes nothing.
    assert_eq!(run("max_time = \"10s\"").links, whole.links);
}

#[test]
fn rates__at_flow_level_too() {
    let level = "fidelity = \"flow\"\n";
    let (whole, cut) = (run(level), run(&format!("{level}max_time = \"10ms\"")));
    assert!(whole.arrivals_end_ps > 3 * CUT_PS);
    assert_eq!((cut.simulated_ps, cut.arrivals_end_ps), (CUT_PS, CUT_PS));
    let goodput = cut.goodput.unwrap();
    let arrived = cut.flows.iter().filter(|flow| flow.start_ps <= CUT_PS).map(|flow| flow.bytes).sum::<u64>();
    assert_eq!(goodput.offered_bytes, arrived);
    for link in &cut.links {
        assert!(link.utilisation > 0.02 && link.utilisation <= link.offered_load * 1.000_001, "{link:?}");
    }
}
