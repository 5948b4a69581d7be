//! Packet traces from the experiment file to the result's folder.

use crate::common::bytes;
use flowsieve_engines::built_in;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_experiment::{Error, ExperimentText};
use flowsieve_report as report;
use flowsieve_results::ResultDir;
use std::path::Path;

const FILE: &str = r#"
title = "Traced"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 3
[workload]
sizes = "exponential(50KB)"
flows = 60
load = 0.6
[network]
buffer = "20pkt"
[sweep]
scheme = ["dctcp", "pfabric"]
[run]
seeds = 2
"#;

fn planned(sets: &[&str]) -> Plan {
    let changes = Changes { sets: sets.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
    plan(&ExperimentText::new("traced.toml", FILE), Path::new(""), &changes, &built_in()).unwrap()
}

fn run(out: &Path, sets: &[&str]) -> ResultDir {
    let done: Result<ResultDir, Error> =
        execute(&planned(sets), &built_in(), out, How { jobs: 2, threads: None, fresh: false, replace: true }, &go_on);
    done.unwrap()
}

/// The lines of a table that hold a cell.
fn lines(table: &[u8], cell: &str) -> u64 {
    let text = std::str::from_utf8(table).unwrap();
    text.lines().filter(|line| line.split(',').any(|found| found == cell)).count() as u64
}

#[test]
fn traces__hold_what_the_links_count_and_change_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, traced) = (folder.path().join("plain"), folder.path().join("traced"));
    let (plain_dir, traced_dir) = (run(&plain, &[]), run(&traced, &["trace=both"]));
    assert_eq!(traced_dir.summary(), plain_dir.summary());
    assert_eq!(
        traced_dir.manifest().runs.iter().map(|run| &run.measured).collect::<Vec<_>>(),
        plain_dir.manifest().runs.iter().map(|run| &run.measured).collect::<Vec<_>>()
    );
    let files = bytes(&traced);
    for run in &traced_dir.manifest().runs {
        let name = format!("traces/{}-{}", run.point, run.seed);
        let table = &files[&format!("{name}/packets.csv")];
        assert_eq!(lines(table, "sent"), run.measured.packet_hops);
        let drops = |of: fn(&flowsieve_record::Drops) -> u64| {
            run.measured.links.iter().map(|link| of(&link.drops)).sum::<u64>()
        };
        assert_eq!(lines(table, "dropped-buffer"), drops(|drops| drops.buffer));
        assert_eq!(lines(table, "dropped-evicted"), drops(|drops| drops.evicted));
        // Six hosts and four links between switches; a packet takes 56 bytes, and a file 24.
        let captures: Vec<u64> = files
            .iter()
            .filter(|(path, _)| path.starts_with(&name) && path.ends_with(".pcap"))
            .map(|(_, bytes)| bytes.len() as u64)
            .collect();
        assert_eq!((captures.len(), captures.iter().sum::<u64>()), (10, 10 * 24 + 56 * run.measured.packet_hops));
    }
    assert!(lines(&files["traces/0-1/packets.csv"], "dropped-buffer") > 0, "nothing is dropped");
    let layout = report::Layout::new(&traced_dir.manifest().experiment, None).unwrap();
    assert!(
        report::doctor(&traced_dir).len() > 10
            && report::write(&traced_dir, &layout, &report::Section::default(), &[]).is_ok()
    );
    assert_eq!(ResultDir::open(&traced).unwrap().manifest(), traced_dir.manifest());
    assert!(!plain.join("traces").exists());
}

#[test]
fn traces__are_about_as_large_as_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ["trace=csv", "trace_links=[\"leaf-up\", \"host0 to leaf0\"]"],
        ["trace=pcap", "trace_links=[\"leaf0 to spine1\"]"],
        ["trace=both", "trace_span=[\"10ms\", \"30ms\"]"],
    ];
    for case in cases {
        let others = ["trace_packets=9999999", "flows=2000", "sizes=fixed(100KB)", "seeds=1"];
        let (sets, out) = ([&case[..], &others].concat(), folder.path().join(case[0]));
        let said = planned(&sets).trace().unwrap();
        run(&out, &sets);
        let size = bytes(&out.join("traces")).values().map(|bytes| bytes.len() as f64).sum::<f64>();
        assert!((0.75..1.25).contains(&(size / said.bytes)), "{sets:?}: {size} B, said {said:?}");
    }
}

#[test]
fn traces__that_are_cut_short_say_so_before_and_after() {
    let folder = tempfile::tempdir().unwrap();
    let sets = ["trace=csv", "trace_packets=1000", "trace_links=[\"host-down\"]"];
    let plan = planned(&sets);
    assert_eq!(plan.trace().unwrap().packets, 4_000.0);
    assert!(plan.warnings.iter().any(|warning| warning.contains("but ends after 1000 (`trace_packets`)")));
    let result = run(folder.path(), &sets);
    for run in &result.manifest().runs {
        let warning = "it holds at most 1000 packets of a run";
        assert!(run.measured.warnings.iter().any(|text| text.ends_with(warning)), "{:?}", run.measured.warnings);
    }
    assert_eq!(bytes(&folder.path().join("traces"))["1-2/packets.csv"].split(|&byte| byte == b'\n').count(), 1_002);
}

#[test]
fn traces__of_a_run_that_goes_on_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, other) = (folder.path().join("whole"), folder.path().join("other"));
    let sets = ["trace=both", "trace_links=[\"host-down\"]"];
    run(&whole, &sets);
    let result = run(&other, &sets);
    let key = &result.manifest().experiment.points[1].parts[0].key;
    std::fs::remove_dir_all(other.join("parts").join(key)).unwrap();
    std::fs::remove_dir_all(other.join("traces/0-2")).unwrap();
    // What a killed process leaves of a run.
    std::fs::create_dir_all(other.join("parts/.partial-x/trace")).unwrap();
    std::fs::write(other.join("parts/.partial-x/trace/packets.csv"), "time_ps").unwrap();
    run(&other, &sets);
    assert!(bytes(&whole) == bytes(&other));

    // Another setting of the trace is another run; without a trace there is none.
    let keys = |sets: &[&str]| planned(sets).runs.into_iter().map(|run| run.key).collect::<Vec<_>>();
    let all = [&sets[..], &["trace=csv", sets[1]], &["trace=both"], &["trace=both", "trace_packets=7"], &[]].map(keys);
    let distinct: std::collections::BTreeSet<&String> = all.iter().flatten().collect();
    assert_eq!(distinct.len(), 5 * 4);
    std::fs::write(other.join("traces/notes.txt"), "mine").unwrap();
    run(&other, &[]);
    assert!(bytes(&other.join("traces")).keys().eq(["notes.txt"]));
    std::fs::remove_file(other.join("traces/notes.txt")).unwrap();
    run(&other, &[]);
    assert!(!other.join("traces").exists());
}
