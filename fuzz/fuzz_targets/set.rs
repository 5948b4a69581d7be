//! Any changes of settings, a line each, give a plan or an error, and short runs end. libFuzzer's timeout finds those that do not.
#![no_main]

use flowsieve_engines::built_in;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::plan::{Changes, plan};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

const BASE: &str = "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n[workload]\nsizes = \"fixed(20KB)\"\nload = 0.5\nflows = 20\n\
                    [sweep]\nscheme = [\"pias\"]\n";

fuzz_target!(|text: &str| {
    let changes = Changes { sets: text.lines().take(4).map(str::to_owned).collect(), ..Changes::default() };
    let Ok(plan) = plan(&ExperimentText::new("fuzz.toml", BASE), Path::new(""), &changes, &built_in()) else { return };
    for run in plan.runs.iter().filter(|run| run.packet_hops < 100_000.0).take(2) {
        let _ = built_in().run(&plan.points[run.point], run.seed, &mut flowsieve_experiment::engine::go_on, None);
    }
});
