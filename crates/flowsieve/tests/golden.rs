//! Golden results: every scheme under both parameter sets, through the command. Their bytes may change, but not unnoticed:
//! a change needs a reason in `golden/REASONS.md` (`docs/reference/validation.md` says what else).
//!
//!     GOLDEN_REASON="why they differ" cargo test -p flowsieve --test flowsieve_tests golden
//!
//! writes them anew, with a row for the reason.

use assert_cmd::Command;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The experiments, in `golden/`.
const EXPERIMENTS: [&str; 2] = ["ns2", "rfc"];

/// Schemes that order coflows, which have experiments with some.
const WITH_COFLOWS: [&str; 8] =
    ["sp-elastic", "sincronia", "sebf", "aalo", "pcoflow-ecn", "pcoflow-drop", "pcoflow-move", "pcoflow-sp-pifo"];

/// Schemes without ACKs, whose flows end with their arrival.
const WITHOUT_ACKS: [&str; 2] = ["homa", "homa-predicted"];

/// What the command is told for these.
const TO_ARRIVAL: [&str; 4] = ["--set", "fct_end=arrival", "--set", "schemes.homa-predicted.bounds=law"];

/// Schemes without packets, whose results are kept by `crates/studies/tests/flow_level.rs`.
const WITHOUT_PACKETS: [&str; 3] = ["varys", "per-flow-fair", "per-flow-priority"];

fn orders_coflows(scheme: &str) -> bool {
    WITH_COFLOWS.contains(&scheme)
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs an experiment into a new folder, which stays, so that you can see what differs.
fn run(experiment: &str, folder: &str, arguments: &[&str]) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden").join(folder);
    let _ = std::fs::remove_dir_all(&out);
    let mut command = Command::cargo_bin("flowsieve").unwrap();
    command.arg("run").arg(golden(&format!("{experiment}.toml"))).arg("--out").arg(&out).args(arguments);
    command.assert().success();
    out
}

/// The schemes that there are.
fn schemes() -> Vec<String> {
    let listed = Command::cargo_bin("flowsieve").unwrap().args(["list", "schemes"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    // A scheme's line starts with its name, two columns in; what is said about it stands further right.
    let name =
        |line: &str| Some(line.strip_prefix("  ")?.split(' ').next()?.to_owned()).filter(|name| !name.is_empty());
    listed.lines().filter_map(name).filter(|name| !WITHOUT_PACKETS.contains(&name.as_str())).collect()
}

/// What is kept of a scheme's result: the digest of its flows, and `summary.csv`.
fn kept(out: &Path) -> String {
    let flows = blake3::hash(&std::fs::read(out.join("flows.parquet")).unwrap());
    format!("flows.parquet {flows}\n{}", read(&out.join("summary.csv")))
}

/// The run whose manifest is kept, word for word: what settings a point has, and what a run counts.
const WITH_MANIFEST: &str = "ns2-nos2";

/// A result's manifest. A new version alone is no change of it.
fn manifest(out: &Path) -> String {
    let version = format!("\"flowsieve\": \"{}\"", env!("CARGO_PKG_VERSION"));
    let manifest = read(&out.join("manifest.json"));
    assert!(manifest.contains(&version), "{}: no {version} in manifest.json", out.display());
    let manifest = manifest.replace(&version, "\"flowsieve\": \"any\"");
    // Its own hash follows from the rest, version and commit included.
    let is_result = |line: &&str| !line.starts_with("  \"blake3\": ") && !line.starts_with("      \"commit\": ");
    manifest.lines().filter(is_result).map(|line| format!("{line}\n")).collect()
}

/// Names all golden results together, for the table of reasons.
fn name_of(results: &BTreeMap<String, String>) -> String {
    let all = results.iter().fold(String::new(), |mut all, (file, text)| {
        let _ = writeln!(all, "{file}\n{text}");
        all
    });
    blake3::hash(all.as_bytes()).to_hex()[..12].to_owned()
}

/// The rows of `REASONS.md`, latest last: the name of the golden results and why they are as they are.
fn reasons() -> Vec<(String, String)> {
    let row = |line: &str| {
        let (name, reason) = line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | ")?;
        Some((name.to_owned(), reason.trim().to_owned()))
    };
    read(&golden("REASONS.md")).lines().filter_map(row).collect()
}

fn write_anew(found: &BTreeMap<String, String>, reason: &str) {
    for (file, text) in found {
        std::fs::write(golden(file), text).unwrap();
    }
    let row = format!("| `{}` | {} |\n", name_of(found), reason.replace(['\n', '|'], " "));
    let reasons = read(&golden("REASONS.md"));
    if !reasons.ends_with(&row) {
        std::fs::write(golden("REASONS.md"), reasons + &row).unwrap();
    }
}

#[test]
fn results_are_the_golden_ones_or_there_is_a_reason() {
    let mut found = BTreeMap::new();
    for experiment in EXPERIMENTS {
        for scheme in schemes() {
            let name = format!("{experiment}-{scheme}");
            let suffix = if orders_coflows(&scheme) { "-coflows" } else { "" };
            let chosen = format!("scheme={scheme}");
            let more: &[&str] = match WITHOUT_ACKS.iter().position(|name| *name == scheme) {
                None => &[],
                Some(0) => &TO_ARRIVAL[..2],
                Some(_) => &TO_ARRIVAL,
            };
            let arguments = [&["--set", chosen.as_str()], more].concat();
            let out = run(&format!("{experiment}{suffix}"), &name, &arguments);
            found.insert(format!("{name}.txt"), kept(&out));
            if name == WITH_MANIFEST {
                found.insert(format!("{name}-manifest.json"), manifest(&out));
            }
        }
    }
    if let Ok(reason) = std::env::var("GOLDEN_REASON") {
        write_anew(&found, &reason);
    }
    for (file, found) in &found {
        let expected = std::fs::read_to_string(golden(file)).unwrap_or_default();
        assert!(
            *found == expected,
            "the result is not that of golden/{file}. If it has to change, write it anew:\n  \
             GOLDEN_REASON=\"why\" cargo test -p flowsieve --test flowsieve_tests golden\nexpected:\n{expected}\nfound:\n{found}"
        );
    }
    let (name, reasons) = (name_of(&found), reasons());
    let latest = reasons.last().expect("a row in golden/REASONS.md");
    assert_eq!(latest.0, name, "the last row of golden/REASONS.md is of other golden results");
    assert!(reasons.iter().all(|(_, reason)| reason.len() > 10), "a row of golden/REASONS.md without a reason");
}

#[test]
fn golden_results_are_all_of_a_scheme_that_there_is() {
    let schemes = schemes();
    for entry in std::fs::read_dir(golden("")).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let Some(case) = name.strip_suffix(".txt") else { continue };
        let (experiment, scheme) = case.split_once('-').unwrap();
        assert!(EXPERIMENTS.contains(&experiment) && schemes.iter().any(|known| known == scheme), "{name}");
    }
}

/// The bytes of every file but `run.json`, by path.
fn bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(bytes(&path).into_iter().map(|(inner, bytes)| (path.join(inner), bytes)));
        } else if path.file_name().is_some_and(|name| name != "run.json") {
            let bytes = std::fs::read(&path).unwrap();
            found.insert(path, bytes);
        }
    }
    found.into_iter().map(|(path, bytes)| (path.strip_prefix(folder).unwrap().to_owned(), bytes)).collect()
}

#[test]
fn all_schemes_give_the_same_bytes_with_one_job_and_with_two_of_two_threads() {
    let (ordering, others): (Vec<String>, Vec<String>) = schemes().into_iter().partition(|name| orders_coflows(name));
    let (arriving, others): (Vec<String>, Vec<String>) =
        others.into_iter().partition(|name| WITHOUT_ACKS.contains(&name.as_str()));
    let none: &[&str] = &[];
    let cases = EXPERIMENTS.into_iter().flat_map(|set| {
        let plain = |schemes, more| (set.to_owned(), set.to_owned(), schemes, more);
        let coflows = format!("{set}-coflows");
        let arrival = (set.to_owned(), format!("{set}-arrival"), &arriving, &TO_ARRIVAL[..]);
        [plain(&others, none), (coflows.clone(), coflows, &ordering, none), arrival]
    });
    for (experiment, folder, schemes, more) in cases {
        let [one, two] = ["1", "2"].map(|jobs| {
            let scheme = format!("scheme={}", schemes.join(","));
            // What has no stages says so, and stays whole.
            let arguments = [&["--set", &scheme, "--jobs", jobs, "--threads", jobs], more].concat();
            bytes(&run(&experiment, &format!("{folder}-jobs-{jobs}"), &arguments))
        });
        assert_eq!(one.keys().collect::<Vec<_>>(), two.keys().collect::<Vec<_>>());
        assert!(one.len() > 2 * schemes.len(), "parts of every scheme and seed");
        for (path, bytes) in one {
            assert!(bytes == two[&path], "{experiment}: {} differs", path.display());
        }
    }
}
