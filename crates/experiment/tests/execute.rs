//! Running a plan: order, jobs, finished parts, failures.

use crate::toy::Made;
use flowsieve_experiment::engine::{Progress, go_on};
use flowsieve_experiment::execute::{Event, How, execute};
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_experiment::{Error, ExperimentText, Point, Scale};
use flowsieve_results::ResultDir;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

const FILE: &str = r#"
title = "Made up"
[workload]
flows = 40
[network]
queues = 8
[sweep]
load = [0.6, 0.8]
scheme = ["dctcp", "pias", "few"]
[run]
seeds = 2
[schemes.few]
base = "pias"
queues = 2
"#;

fn planned(engine: &Made, changes: &Changes) -> Plan {
    plan(&ExperimentText::new("made.toml", FILE), Path::new(""), changes, &engine.engines()).unwrap()
}

/// The bytes of every file of a result but `run.json`, by path.
fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(bytes(&entry.path()).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else if name != "run.json" {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// The runs of `few` are not valid: all others are made, the result has those alone and says why. The same command makes the
/// missing ones once the machine permits.
#[test]
fn execute__a_run_that_is_not_valid_is_in_no_figure() {
    let folder = tempfile::tempdir().unwrap();
    let how = How { jobs: 2, threads: None, fresh: false, replace: false };
    let late = Made { is_late: Some("few"), ..Made::default() };
    let result = execute(&planned(&late, &Changes::default()), &late.engines(), folder.path(), how, &go_on).unwrap();
    let experiment = &result.manifest().experiment;
    assert_eq!((experiment.points.len(), experiment.missing_runs, late.runs.load(Ordering::Relaxed)), (4, 4, 12));
    let warnings: Vec<String> = result.warnings().into_iter().map(|warning| warning.text).collect();
    assert!(
        warnings[0].starts_with("4 of 12 runs are not valid, and no figure has them: few, load 0.6"),
        "{warnings:?}"
    );
    assert!(warnings[0].contains("not valid: frames left late"), "{warnings:?}");

    let quiet = Made::default();
    assert_eq!(run(&quiet, folder.path(), 1).unwrap(), 4);
    let all = ResultDir::open(folder.path()).unwrap();
    assert_eq!((all.manifest().experiment.points.len(), all.manifest().experiment.missing_runs), (6, 0));

    // If none is valid, there is no result.
    let other = tempfile::tempdir().unwrap();
    let plan = planned(&late, &Changes { sets: vec!["scheme=few".into()], ..Changes::default() });
    let error = execute(&plan, &late.engines(), other.path(), how, &go_on).unwrap_err();
    assert!(matches!(error, Error::NotValid { .. }), "{error}");
}

fn keys_of(plan: &Plan) -> BTreeSet<String> {
    plan.runs.iter().map(|run| run.key.clone()).collect()
}

fn run(engine: &Made, out: &Path, jobs: usize) -> Result<usize, Error> {
    let plan = planned(engine, &Changes::default());
    engine.runs.store(0, Ordering::Relaxed);
    execute(&plan, &engine.engines(), out, How { jobs, threads: None, fresh: false, replace: false }, &go_on)?;
    Ok(engine.runs.load(Ordering::Relaxed))
}

#[test]
fn plan__orders_schemes_then_loads_then_seeds() {
    let plan = planned(&Made::default(), &Changes::default());
    let points: Vec<String> = plan.points.iter().map(Point::label).collect();
    assert_eq!(
        points,
        ["dctcp, load 0.6", "pias, load 0.6", "few, load 0.6", "dctcp, load 0.8", "pias, load 0.8", "few, load 0.8"]
    );
    let runs: Vec<(u64, usize)> = plan.runs.iter().map(|run| (run.seed, run.point)).collect();
    assert_eq!(runs, [1, 2].map(|seed| (0..6).map(|point| (seed, point)).collect::<Vec<_>>()).concat());
    assert_eq!(plan.experiment.schemes.len(), 3);
    assert_eq!(plan.experiment.schemes[2].summary, "pias with other settings: made up");
    assert_eq!(plan.experiment.points[5].load, Some(0.8));
    assert_eq!(plan.experiment.points[5].settings["scheme.queues"], "2");
    assert_eq!(plan.packet_hops(), 1200.0);
}

#[test]
fn plan__key_is_of_what_the_run_depends_on() {
    let keys = |changes: Changes| planned(&Made::default(), &changes).runs.into_iter().map(|run| run.key).collect();
    let set = |set: &str| Changes { sets: vec![set.to_owned()], ..Changes::default() };
    let all: Vec<String> = keys(Changes::default());
    let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
    let fewer_seeds: Vec<String> = keys(Changes { seeds: Some(1), ..Changes::default() });
    assert_eq!(fewer_seeds, all[..6]);
    let one_load: Vec<String> = keys(set("load=0.8"));
    assert_eq!(one_load, [&all[3..6], &all[9..12]].concat());
    // The same size in other words is the same point; another number of flows is not.
    let other_flows: Vec<String> = keys(set("flows=41"));
    assert!(other_flows.iter().all(|key| !all.contains(key)));
    // A network-wide setting does not reach a scheme that does not read it.
    let other_queues: Vec<String> = keys(set("queues=4"));
    assert_eq!((&other_queues[0], &other_queues[2]), (&all[0], &all[2]));
    assert_ne!(other_queues[1], all[1]);
}

#[test]
fn plan__scale_has_fewer_flows_and_seeds() {
    let changes =
        Changes { sets: vec!["flows=5000".into(), "seeds=9".into()], scale: Scale::Quick, ..Changes::default() };
    let plan = planned(&Made::default(), &changes);
    assert_eq!(plan.runs.len(), 6 * 3);
    assert_eq!(plan.experiment.points[0].settings["workload.flows"], "500");
    assert_eq!(plan.experiment.changes, ["flows=5000", "seeds=9", "scale=quick"]);
}

#[test]
fn plan__seeds_on_the_command_line_win_over_the_scale() {
    for (scale, seeds) in [(Scale::Smoke, 3), (Scale::Quick, 5)] {
        let plan = planned(&Made::default(), &Changes { seeds: Some(seeds), scale, ..Changes::default() });
        assert_eq!(plan.runs.len() as u64, 6 * seeds);
    }
}

#[test]
fn plan__points_get_seeds_of_their_own() {
    let changes = Changes { resolve: true, ..Changes::default() };
    let mut plan = planned(&Made::default(), &changes);
    let first = keys_of(&plan);
    assert_eq!(first.len(), 6 * 5, "the first look takes five");
    plan.raise_seeds(2, 7);
    plan.raise_seeds(2, 6);
    let seeds = |plan: &Plan| plan.experiment.points.iter().map(|point| point.parts.len()).collect::<Vec<_>>();
    assert_eq!(seeds(&plan), [5, 5, 7, 5, 5, 5]);
    let added: Vec<(u64, usize)> = plan.runs.iter().map(|run| (run.seed, run.point)).skip(30).collect();
    assert_eq!(added, [(6, 2), (7, 2)]);
    // They are what a plan with as many seeds for all would have.
    let seven = planned(&Made::default(), &Changes { seeds: Some(7), ..Changes::default() });
    assert!(keys_of(&plan).is_subset(&keys_of(&seven)));
    assert_eq!(plan.experiment.changes, ["resolve"]);
}

#[test]
fn execute__any_number_of_jobs_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let outs: Vec<_> = [1, 2, 7].map(|jobs| (jobs, folder.path().join(jobs.to_string()))).into();
    for (jobs, out) in &outs {
        assert_eq!(run(&Made::default(), out, *jobs).unwrap(), 12);
    }
    let first = bytes(&outs[0].1);
    assert!(first.contains_key("manifest.json") && first.contains_key("flows.parquet"));
    for (_, out) in &outs[1..] {
        assert!(bytes(out) == first);
    }
}

#[test]
fn execute__reads_a_point_once_for_its_plan_and_carries_one_seed_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Made::default();
    let plan = planned(&engine, &Changes::default());
    let asked = || (engine.reads.load(Ordering::Relaxed), engine.runs.load(Ordering::Relaxed));
    assert_eq!(asked(), (6, 0));
    execute(
        &plan,
        &engine.engines(),
        folder.path(),
        How { jobs: 2, threads: None, fresh: false, replace: false },
        &go_on,
    )
    .unwrap();
    assert_eq!(asked(), (6, 12));
}

#[test]
fn execute__finds_finished_parts_again() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, stopped) = (folder.path().join("whole"), folder.path().join("stopped"));
    run(&Made::default(), &whole, 1).unwrap();
    // `few` is the last of each three: two runs are finished when its first one fails.
    let failing = Made { fails: Some("few"), ..Made::default() };
    let error = run(&failing, &stopped, 1).unwrap_err();
    assert_eq!(error.to_string(), "few, load 0.6: made to fail");
    assert!(!stopped.join("manifest.json").exists());
    let again = Made::default();
    let plan = planned(&again, &Changes::default());
    again.runs.store(0, Ordering::Relaxed);
    let events = Mutex::new(Vec::new());
    let show = |event: Event| {
        events.lock().unwrap().push(event);
        ControlFlow::Continue(())
    };
    execute(&plan, &again.engines(), &stopped, How { jobs: 1, threads: None, fresh: false, replace: false }, &show)
        .unwrap();
    assert_eq!(again.runs.load(Ordering::Relaxed), 10);
    assert!(bytes(&stopped) == bytes(&whole));
    let events = events.into_inner().unwrap();
    assert_eq!(
        events[..3],
        [Event::Found(2, 200.0), Event::Started(2), Event::Going(2, Progress { share: 0.5, packet_hops: 7 })]
    );
    // And nothing is left to do, unless asked.
    assert_eq!(run(&again, &stopped, 3).unwrap(), 0);
    again.runs.store(0, Ordering::Relaxed);
    execute(&plan, &again.engines(), &stopped, How { jobs: 3, threads: None, fresh: true, replace: false }, &go_on)
        .unwrap();
    assert_eq!(again.runs.load(Ordering::Relaxed), 12);
}

#[test]
fn execute__refuses_a_folder_of_something_else() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "mine").unwrap();
    let error = run(&Made::default(), folder.path(), 1).unwrap_err();
    assert!(error.to_string().contains("name an empty or a new folder"), "{error}");
    let file = folder.path().join("thesis.tex");
    assert!(run(&Made::default(), &file, 1).is_err());
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}

#[test]
fn plan__warns_of_twins() {
    let changes = Changes { sets: vec!["schemes.few.queues=8".into()], ..Changes::default() };
    let plan = planned(&Made::default(), &changes);
    assert_eq!(plan.warnings, ["the schemes `pias` and `few` have the same settings"]);
}
