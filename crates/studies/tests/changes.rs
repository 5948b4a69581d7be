//! Any change of a setting gives a plan or an error, and a run that ends.

use flowsieve_engines::{Packets, built_in};
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::plan::{Changes, plan};
use flowsieve_experiment::{Error, ExperimentText};
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
    let Ok(plan) = plan(&ExperimentText::new("t.toml", BASE), Path::new(""), &changes, &built_in()) else {
        return (false, false);
    };
    let mut ran = false;
    for run in plan.runs.iter().filter(|run| run.packet_hops < FEW).take(2) {
        // It may fail while it runs, and has to end.
        let ended = built_in().run(&plan.points[run.point], run.seed, &mut go_on, None);
        assert!(matches!(ended, Ok(_) | Err(Error::Simulation { .. })), "{ended:?}");
        ran = true;
    }
    (true, ran)
}

#[test]
fn set__any_value_of_any_key_is_refused_or_runs_to_an_end() {
    let (mut planned, mut ran, mut panicked) = (0, 0, Vec::new());
    for scheme in ["pias", "pfabric", "qc-las"] {
        for key in built_in().keys().iter() {
            for value in VALUES {
                let change = format!("{}={value}", key.name);
                let Ok(done) = std::panic::catch_unwind(|| try_change(scheme, &change)) else {
                    panicked.push(format!("{scheme}: --set {change}"));
                    continue;
                };
                planned += usize::from(done.0);
                ran += usize::from(done.1);
            }
        }
    }
    assert!(panicked.is_empty(), "{panicked:#?}");
    assert!(planned > 200 && ran > 200, "{planned} planned, {ran} ran");
}

/// The key at fault.
fn refused(sets: &[&str]) -> Option<String> {
    let changes = Changes { sets: sets.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
    plan(&ExperimentText::new("t.toml", BASE), Path::new(""), &changes, &built_in()).unwrap_err().details().key
}

#[test]
fn plan__refuses_what_could_not_end() {
    // 1,500 bytes take 1.2 us at 10 Gbit/s.
    let hasty = refused(&["rto_min=1us"]);
    assert_eq!(hasty.as_deref(), Some("rto_min"));
    assert!(plan_of(&["rto_min=2us"]).is_ok());
    let buffer = refused(&["buffer=1499B"]);
    assert_eq!(buffer.as_deref(), Some("buffer"));
    let often = refused(&["sample_interval=1ps"]);
    assert_eq!(often.as_deref(), Some("sample_interval"));
    assert!(plan_of(&["sample_interval=1us"]).is_ok());
    let none = refused(&["classes=[]"]);
    assert_eq!(none.as_deref(), Some("classes"));
}

fn plan_of(sets: &[&str]) -> Result<(), String> {
    let changes = Changes { sets: sets.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
    let planned = plan(&ExperimentText::new("t.toml", BASE), Path::new(""), &changes, &built_in());
    planned.map(|_| ()).map_err(|error| error.to_string())
}

/// Flows arrive until those of the first millisecond have finished, and one host's link loses nearly all that they send.
#[test]
fn run__far_beyond_its_estimate_is_ended_and_says_what_goes_on() {
    let text = BASE.replace("flows = 20\n", "")
        + "[run]\nmeasure = \"window\"\nwindow = [\"0ms\", \"1ms\"]\nmax_time = \"1s\"\n\
           [[topology.link]]\nbetween = [\"host0\", \"leaf0\"]\nloss = 0.999\n";
    let planned = plan(&ExperimentText::new("t.toml", &text), Path::new(""), &Changes::default(), &built_in()).unwrap();
    let run = |packets: Packets| {
        let engines = flowsieve_engines::of(packets).unwrap();
        engines.run(&planned.points[0], 1, &mut go_on, None).map_err(|error| error.to_string())
    };
    let ended = run(Packets::default()).unwrap_err();
    for says in
        ["ten times the expected number", "flow ", "has not finished", "the fullest port", "were timers", "--no-guard"]
    {
        assert!(ended.contains(says), "{says}: {ended}");
    }
    assert!(run(Packets::default().without_guard()).is_ok());
}

/// What `--set` leaves without a reader is one sentence, and not one for each key.
#[test]
fn set__another_kind_says_in_one_sentence_which_keys_no_longer_apply() {
    let warnings = |sets: &[&str]| {
        let changes = Changes { sets: sets.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
        let text = BASE.replace("[sweep]", "pattern = \"rack-local\"\nrack_local = 0.5\n[sweep]");
        plan(&ExperimentText::new("t.toml", &text), Path::new(""), &changes, &built_in()).unwrap().warnings
    };
    assert_eq!(warnings(&[]), [""; 0]);
    let kind = "with --set kind=fat-tree, nothing reads these keys of t.toml (line 2, 3, 4): \
                `leaves`, `spines`, `hosts_per_leaf` in [topology]";
    assert_eq!(warnings(&["kind=fat-tree"]), [kind]);
    let two = "with --set kind=fat-tree --set pattern=all-to-all, nothing reads these keys of t.toml (line 2, 3, 4, 10): \
               `leaves`, `spines`, `hosts_per_leaf` in [topology]; `rack_local` in [workload]";
    assert_eq!(warnings(&["kind=fat-tree", "pattern=all-to-all"]), [two]);
    let one = "with --set pattern=all-to-all, nothing reads this key of t.toml (line 10): `rack_local` in [workload]";
    assert_eq!(warnings(&["pattern=all-to-all"]), [one]);
}
