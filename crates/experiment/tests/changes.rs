//! Any change of a setting gives a plan or an error, and a run that ends.

use flowsieve_experiment::engine::Engine;
use flowsieve_experiment::plan::{Changes, plan};
use flowsieve_experiment::settings::KEYS;
use flowsieve_experiment::{ExperimentText, Simulator};
use std::path::Path;

const BASE: &str = "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n[workload]\nsizes = \"fixed(20KB)\"\nload = 0.5\nflows = 20\n\
                    [sweep]\nscheme = [\"pias\"]\n";

/// What is wrong for most keys, and what is at the limit of some.
const VALUES: &[&str] = &[
    "0", "1", "-1", "2", "1e9", "0.5", "nan", "1B", "1500B", "1501B", "1TB", "1ps", "1us", "100s", "1bps", "1Gbps",
    "400Gbps", "true", "[]", "[1,2]", "\"\"", "pias", "(,)",
];

/// Packet-hops of a run that is made here.
const FEW: f64 = 100_000.0;

fn try_change(scheme: &str, change: &str) -> (bool, bool) {
    let sets = vec![format!("scheme={scheme}"), change.to_owned()];
    let changes = Changes { sets, ..Changes::default() };
    let Ok(plan) = plan(&ExperimentText::new("t.toml", BASE), Path::new(""), &changes, &Simulator) else {
        return (false, false);
    };
    let mut ran = false;
    for run in plan.runs.iter().filter(|run| run.packet_hops < FEW).take(2) {
        let prepared = Simulator.prepare(&plan.points[run.point], run.seed, Path::new("")).unwrap();
        // It may fail, and has to end.
        let _ = (prepared.run)(&mut |_| {}, None);
        ran = true;
    }
    (true, ran)
}

#[test]
fn set__any_value_of_any_key_is_refused_or_runs_to_an_end() {
    let (mut planned, mut ran) = (0, 0);
    for scheme in ["pias", "pfabric", "qc-las"] {
        for key in KEYS.iter() {
            for value in VALUES {
                let done = try_change(scheme, &format!("{}={value}", key.name));
                planned += usize::from(done.0);
                ran += usize::from(done.1);
            }
        }
    }
    assert!(planned > 500 && ran > 300, "{planned} planned, {ran} ran");
}
