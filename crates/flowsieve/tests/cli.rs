//! The command as a person meets it: what it prints, what it leaves, how it ends.

use assert_cmd::Command;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

const SMALL: &str = r#"
title = "Eight hosts"
[topology]
kind = "single-switch"
hosts = 8
[workload]
sizes = "web-search"
flows = 40
[sweep]
load = [0.5, 0.8]
scheme = ["dctcp", "pias"]
[run]
seeds = 2
"#;

struct Output {
    status: i32,
    out: String,
    err: String,
}

fn flowsieve(folder: &Path, arguments: &[&str]) -> Output {
    let done = Command::cargo_bin("flowsieve").unwrap().current_dir(folder).args(arguments).output().unwrap();
    Output {
        status: done.status.code().unwrap(),
        out: String::from_utf8(done.stdout).unwrap(),
        err: String::from_utf8(done.stderr).unwrap(),
    }
}

/// A folder with `small.toml`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    folder
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

#[test]
fn run__ends_with_the_table_and_names_the_report() {
    let folder = folder();
    let done = flowsieve(folder.path(), &["run", "small.toml"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.contains("4 points, 8 runs"), "{}", done.err);
    assert!(done.err.contains("load 0.5 on the wire, with ACKs and framing: host-up 0.513"), "{}", done.err);
    assert!(done.out.contains("pias") && done.out.ends_with("Report: results/small/report.html\n"), "{}", done.out);
    for file in ["manifest.json", "run.json", "flows.parquet", "summary.csv", "report.html"] {
        assert!(folder.path().join("results/small").join(file).is_file(), "{file}");
    }
    let again = flowsieve(folder.path(), &["report", "results/small"]);
    assert_eq!((again.status, again.out), (0, done.out));
}

#[test]
fn run__gives_the_same_bytes_with_any_number_of_jobs() {
    let folder = folder();
    for jobs in ["1", "3"] {
        let done = flowsieve(folder.path(), &["run", "small.toml", "--jobs", jobs, "--out", jobs]);
        assert_eq!(done.status, 0, "{}", done.err);
    }
    assert!(bytes(&folder.path().join("1")) == bytes(&folder.path().join("3")));
}

#[test]
fn run__that_was_killed_goes_on_to_the_same_bytes() {
    let folder = folder();
    let arguments = ["run", "small.toml", "--seeds", "12", "--jobs", "1", "--out"];
    let out = folder.path().join("killed");
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("flowsieve"))
        .current_dir(folder.path())
        .args(arguments)
        .arg("killed")
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let finished = || std::fs::read_dir(out.join("parts")).map_or(0, |parts| parts.count());
    let begun = Instant::now();
    while finished() < 2 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(finished() >= 2 && !out.join("manifest.json").exists());
    let unfinished = flowsieve(folder.path(), &["report", "killed"]);
    assert_eq!(unfinished.status, 2);
    assert!(unfinished.err.contains("has not finished"), "{}", unfinished.err);
    for out in ["killed", "whole"] {
        let done = flowsieve(folder.path(), &[&arguments[..], &[out]].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        assert_eq!(done.err.contains("of 48 runs are there already"), out == "killed", "{}", done.err);
    }
    assert!(bytes(&out) == bytes(&folder.path().join("whole")));
}

#[test]
fn run__with_changes_says_so_in_the_manifest() {
    let folder = folder();
    let changes = ["--set", "load=0.7", "--set", "scheme=pias,fcfs", "--seeds", "1", "--scale", "quick"];
    let done = flowsieve(folder.path(), &[&["run", "small.toml"], &changes[..]].concat());
    assert_eq!(done.status, 0, "{}", done.err);
    let manifest = std::fs::read_to_string(folder.path().join("results/small/manifest.json")).unwrap();
    for change in ["\"load=0.7\"", "\"scheme=pias,fcfs\"", "\"seeds=1\"", "\"scale=quick\""] {
        assert!(manifest.contains(change), "{change}");
    }
    assert!(done.err.contains("2 points, 2 runs"), "{}", done.err);
}

#[test]
fn run__of_a_wrong_file_leaves_nothing() {
    let folder = folder();
    std::fs::write(folder.path().join("wrong.toml"), SMALL.replace("hosts = 8", "hosts = 1")).unwrap();
    let done = flowsieve(folder.path(), &["run", "wrong.toml"]);
    assert_eq!((done.status, done.out.as_str()), (2, ""));
    assert!(done.err.contains("--> wrong.toml:5:9") && done.err.contains("2 to 65536"), "{}", done.err);
    assert!(!folder.path().join("results").exists());
}

#[test]
fn run__into_a_folder_that_cannot_be_is_refused() {
    let folder = folder();
    let into_a_file = flowsieve(folder.path(), &["run", "small.toml", "--out", "small.toml/results"]);
    assert_eq!(into_a_file.status, 2);
    assert!(into_a_file.err.contains("small.toml/results: cannot create the folder"), "{}", into_a_file.err);
    let into_another = flowsieve(folder.path(), &["run", "small.toml", "--out", "."]);
    assert_eq!(into_another.status, 2);
    assert!(into_another.err.contains("name an empty or a new folder"), "{}", into_another.err);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn wrong_arguments_end_with_status_2() {
    let folder = folder();
    let wrong: &[&[&str]] = &[
        &[],
        &["rnu"],
        &["run"],
        &["run", "none.toml"],
        &["run", "small.toml", "--jobs", "0"],
        &["run", "small.toml", "--scale", "huge"],
        &["run", "small.toml", "--set", "laod=0.5"],
        &["run", "small.toml", "--seeds", "0"],
        &["list", "colours"],
        &["report", "none"],
        &["thresholds"],
        &["thresholds", "--workload", "web-search", "--cdf", "x.csv"],
        &["thresholds", "--workload", "web-search", "--queues", "0"],
        &["completions", "klingon"],
    ];
    for arguments in wrong {
        let done = flowsieve(folder.path(), arguments);
        assert_eq!(done.status, 2, "{arguments:?}: {}", done.err);
        assert!(!done.err.contains("panicked"), "{}", done.err);
    }
    assert!(flowsieve(folder.path(), &["run", "small.toml", "--set", "laod=0.5"]).err.contains("did you mean `load`?"));
}

#[test]
fn list__and_the_rest_say_what_there_is() {
    let folder = folder();
    let expected: &[(&[&str], &str)] = &[
        (&["list", "schemes"], "pfabric"),
        (&["list", "workloads"], "data-mining"),
        (&["list", "topologies"], "leaf-spine: 144 hosts"),
        (&["list", "settings"], "ecn_threshold"),
        (&["list", "experiments", "--folder", "."], "Eight hosts"),
        (&["thresholds", "--workload", "web-search", "--load", "0.8", "--queues", "8"], "thresholds = [\"8.76KB\", "),
        (&["completions", "bash"], "_flowsieve"),
        (&["--help"], "Examples:"),
        (&["run", "--help"], "--scale"),
    ];
    for (arguments, text) in expected {
        let done = flowsieve(folder.path(), arguments);
        assert_eq!(done.status, 0, "{arguments:?}: {}", done.err);
        assert!(done.out.contains(text), "{arguments:?}: {}", done.out);
    }
}

#[test]
fn flows__are_those_of_a_run_and_can_be_replayed() {
    let folder = folder();
    let several = flowsieve(folder.path(), &["flows", "small.toml"]);
    assert_eq!((several.status, several.out.as_str()), (2, ""));
    assert!(several.err.contains("expected one of them, such as --set load=0.5"), "{}", several.err);
    let flows = flowsieve(folder.path(), &["flows", "small.toml", "--set", "load=0.5", "--seed", "2"]);
    assert_eq!(flows.status, 0, "{}", flows.err);
    assert_eq!(flows.out.lines().count(), 41);
    std::fs::write(folder.path().join("flows.csv"), &flows.out).unwrap();
    let replay = SMALL.replace("sizes = \"web-search\"\nflows = 40", "list = \"flows.csv\"");
    let replay = replay.replace("load = [0.5, 0.8]\n", "").replace("seeds = 2", "seed = 2");
    std::fs::write(folder.path().join("replay.toml"), replay).unwrap();
    // PIAS would need thresholds for a list.
    let schemes = ["--set", "scheme=dctcp,pfabric"];
    let replayed = flowsieve(folder.path(), &[&["run", "replay.toml"], &schemes[..]].concat());
    assert_eq!(replayed.status, 0, "{}", replayed.err);
    let draw = ["run", "small.toml", "--set", "load=0.5", "--set", "seed=2", "--seeds", "1"];
    let drawn = flowsieve(folder.path(), &[&draw[..], &schemes[..]].concat());
    assert_eq!(drawn.status, 0, "{}", drawn.err);
    // The same flows under the same schemes: rows differ in what names the point alone.
    let rows = |result: &str| {
        let path = folder.path().join("results").join(result).join("summary.csv");
        let text = std::fs::read_to_string(path).unwrap();
        let figures = |row: &str| row.split(',').skip(8).map(str::to_owned).collect::<Vec<_>>();
        text.lines().skip(1).map(figures).collect::<Vec<_>>()
    };
    assert_eq!(rows("replay"), rows("small"));
}

#[test]
fn every_experiment_of_the_project_is_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let done = flowsieve(&folder, &["list", "experiments", "--folder", "."]);
    assert!(done.out.contains("quickstart.toml") && !done.out.contains("not an experiment"), "{}", done.out);
}
