//! The folder of a result: what is kept, what is refused, what is made again.

use crate::command::{bytes, flowsieve, folder, small_result};
use std::path::Path;
use std::time::Duration;

/// Stops a run with a signal once two of its parts are there; `false` where the machine was so busy that it had finished by then.
#[cfg(unix)]
fn stopped(folder: &Path, arguments: &[&str], signal: &str) -> bool {
    let parts = || std::fs::read_dir(folder.join("killed/parts")).map_or(0, |parts| parts.count());
    // The parent of the tests may ignore signals, which a child inherits.
    let mut child = std::process::Command::new("env")
        .arg("--default-signal")
        .arg(assert_cmd::cargo::cargo_bin("flowsieve"))
        .current_dir(folder)
        .args(arguments)
        .arg("killed")
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while parts() < 2 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let kill = format!("kill -{signal} {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    !child.wait().unwrap().success()
}

/// A run that a signal stops goes on to the result of one that nothing stopped.
#[cfg(unix)]
fn run_stopped_by(signal: &str) {
    for seeds in [12, 100, 1_000] {
        let folder = folder();
        let seeds_given = seeds.to_string();
        let arguments = ["run", "small.toml", "--seeds", &seeds_given, "--jobs", "1", "--out"];
        let out = folder.path().join("killed");
        if !stopped(folder.path(), &arguments, signal) {
            continue;
        }
        assert!(!out.join("manifest.json").exists());
        let unfinished = flowsieve(folder.path(), &["report", "killed"]);
        assert_eq!(unfinished.status, 2);
        assert!(unfinished.err.contains("has not finished"), "{}", unfinished.err);
        for out in ["killed", "whole"] {
            let done = flowsieve(folder.path(), &[&arguments[..], &[out]].concat());
            assert_eq!(done.status, 0, "{}", done.err);
            let there = format!("of {} runs exist already", 4 * seeds);
            assert_eq!(done.err.contains(&there), out == "killed", "{}", done.err);
        }
        assert!(bytes(&out) == bytes(&folder.path().join("whole")));
        return;
    }
    panic!("every run had finished before the signal came");
}

#[cfg(unix)]
#[test]
fn run__that_was_killed_goes_on_to_the_same_bytes() {
    run_stopped_by("KILL");
}

#[cfg(unix)]
#[test]
fn run__that_was_interrupted_or_terminated_goes_on_to_the_same_bytes() {
    run_stopped_by("INT");
    run_stopped_by("TERM");
}

#[test]
fn run__scale_and_changes_have_folders_of_their_own() {
    let folder = small_result();
    for (arguments, out) in [
        (&["--scale", "smoke"][..], "small-smoke"),
        (&["--set", "load=0.9"], "small-load=0.9"),
        (&["--set", "sizes=uniform(1KB, 2KB)", "--seeds", "1"], "small-sizes=uniform_1KB__2KB-"),
    ] {
        let done = flowsieve(folder.path(), &[&["run", "small.toml"], arguments].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        assert!(done.out.contains(&format!("Report: results/{out}")), "{}", done.out);
    }
    let folders = std::fs::read_dir(folder.path().join("results")).unwrap().count();
    assert_eq!(folders, 4);
}

#[test]
fn run__a_result_is_not_lost_unasked() {
    let folder = small_result();
    let run = |arguments: &[&str]| {
        flowsieve(folder.path(), &[&["run", "small.toml", "--out", "results/small"], arguments].concat())
    };
    let before = bytes(&folder.path().join("results/small"));
    // Another buffer, fewer schemes, fewer seeds: each would drop runs that are there.
    for (arguments, why) in [
        (&["--set", "ecn_threshold=30pkt"][..], "8 of its 8 runs would be replaced"),
        (&["--set", "scheme=pias"], "4 of its 8 runs would be replaced"),
        (&["--seeds", "1"], "4 of its 8 runs would be replaced: it has other seeds"),
        (&["--scale", "smoke"], "would be replaced"),
    ] {
        let refused = run(arguments);
        assert_eq!(refused.status, 2, "{arguments:?}");
        assert!(refused.err.contains(why) && refused.err.contains("--replace"), "{}", refused.err);
        assert!(bytes(&folder.path().join("results/small")) == before, "{arguments:?}");
    }
    let named = run(&["--set", "ecn_threshold=30pkt"]).err;
    assert!(named.contains("ecn_threshold is") && named.contains("there and"), "{named}");
    // More seeds and more loads lose nothing.
    assert_eq!(run(&["--set", "load=0.5,0.6,0.8", "--seeds", "3"]).status, 0);
    assert_eq!(run(&["--set", "scheme=pias"]).status, 2);
    assert_eq!(run(&["--set", "scheme=pias", "--replace"]).status, 0);
}

#[test]
fn run__a_damaged_part_is_made_again() {
    let folder = small_result();
    let out = folder.path().join("results/small");
    let before = bytes(&out);
    let parts: Vec<_> = std::fs::read_dir(out.join("parts")).unwrap().map(|part| part.unwrap().path()).collect();
    let flows = parts[0].join("flows.parquet");
    let mut damaged = std::fs::read(&flows).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&flows, damaged).unwrap();
    std::fs::write(parts[1].join("point.json"), "{").unwrap();
    std::fs::remove_file(parts[2].join("flows.parquet")).unwrap();
    // A count that nothing else would miss.
    let mut point = std::fs::read(parts[3].join("point.json")).unwrap();
    let digit = point.iter().position(u8::is_ascii_digit).unwrap();
    let hops = String::from_utf8_lossy(&point).find("\"packet_hops\": ").unwrap_or(digit);
    let digit = hops + point[hops..].iter().position(u8::is_ascii_digit).unwrap();
    point[digit] = if point[digit] == b'1' { b'2' } else { b'1' };
    std::fs::write(parts[3].join("point.json"), point).unwrap();
    let again = flowsieve(folder.path(), &["run", "small.toml"]);
    assert_eq!(again.status, 0, "{}", again.err);
    assert_eq!(again.err.matches("the kept part is damaged and is made again").count(), 4, "{}", again.err);
    assert!(again.err.contains("4 of 8 runs exist already"), "{}", again.err);
    assert!(bytes(&out) == before);
}

#[test]
fn junk__in_any_file_of_a_result_is_noticed() {
    let folder = small_result();
    let out = folder.path().join("results/small");
    for file in ["manifest.json", "run.json", "flows.parquet", "series.parquet", "summary.csv"] {
        let path = out.join(file);
        let whole = std::fs::read(&path).unwrap();
        let mut changed = whole.clone();
        // A digit of a number, where it is text.
        let digit = changed.iter().rposition(|byte| (b'1'..=b'8').contains(byte)).unwrap();
        changed[digit] += 1;
        for junk in [whole[..whole.len() / 2].to_vec(), changed, b"junk".to_vec()] {
            std::fs::write(&path, junk).unwrap();
            for command in ["report", "compare", "doctor"] {
                let done = flowsieve(folder.path(), &[command, "results/small"]);
                assert_eq!(done.status, 2, "{command}: {file}\n{}", done.out);
                assert!(done.err.contains(file), "{command}: {}", done.err);
            }
        }
        std::fs::write(&path, whole).unwrap();
    }
    assert_eq!(flowsieve(folder.path(), &["doctor", "results/small"]).status, 0);
}

#[test]
fn report__that_cannot_be_written_is_status_1_with_the_rest_kept() {
    let folder = small_result();
    let report = folder.path().join("results/small/report.html");
    std::fs::remove_file(&report).unwrap();
    // Root may write into a folder that is read-only; no user may replace a folder by a file.
    std::fs::create_dir_all(report.join("in-the-way")).unwrap();
    for command in [&["report", "results/small"][..], &["run", "small.toml"]] {
        let done = flowsieve(folder.path(), command);
        assert_eq!(done.status, 1, "{}", done.err);
        assert!(done.out.contains("pias") && !done.out.contains("Report:"), "{}", done.out);
        assert!(done.err.contains("no report: results/small/report.html"), "{}", done.err);
    }
    for kept in ["manifest.json", "summary.csv", "flows.parquet"] {
        assert!(folder.path().join("results/small").join(kept).is_file(), "{kept}");
    }
    assert_eq!(flowsieve(folder.path(), &["doctor", "results/small"]).status, 0);
}

/// Sends a run these signals once two of its runs are there; gives its status, what it said then, and its folder. It is started with
/// these arguments of env(1): the parent of the tests may ignore signals, which a child inherits.
#[cfg(unix)]
fn signalled(with: &[&str], signals: &[&str]) -> (Option<i32>, String, tempfile::TempDir) {
    let folder = folder();
    let run = ["run", "small.toml", "--seeds", "1000", "--jobs", "1"];
    let (code, rest) = signalled_at(folder.path(), &run, "2/4000: ", with, signals);
    (code, rest, folder)
}

/// Does so for a command, once it says a line that begins with this.
#[cfg(unix)]
fn signalled_at(folder: &Path, command: &[&str], at: &str, with: &[&str], signals: &[&str]) -> (Option<i32>, String) {
    use std::io::{BufRead, BufReader, Read};
    let mut child = std::process::Command::new("env")
        .args(with)
        .arg(assert_cmd::cargo::cargo_bin("flowsieve"))
        .current_dir(folder)
        .args(command)
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with(at) {
        line.clear();
        assert_ne!(err.read_line(&mut line).unwrap(), 0, "it ended before");
    }
    for signal in signals {
        let kill = format!("kill -{signal} {}", child.id());
        assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }
    let mut rest = String::new();
    err.read_to_string(&mut rest).unwrap();
    (child.wait().unwrap().code(), rest)
}

#[cfg(unix)]
#[test]
fn run__that_a_signal_ends_says_what_is_kept_with_the_status_of_the_signal() {
    for (signal, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let (code, rest, _folder) = signalled(&["--default-signal"], &[signal]);
        assert_eq!(code, Some(status), "{rest}");
        assert!(rest.contains(" of 4000 runs are kept; repeat the command"), "{rest}");
    }
}

#[cfg(unix)]
#[test]
fn verify__that_a_signal_ends_keeps_nothing_and_says_so() {
    let folder = folder();
    let run = flowsieve(folder.path(), &["run", "small.toml", "--seeds", "50"]);
    assert_eq!(run.status, 0, "{}", run.err);
    let verify = ["verify", "results/small", "--jobs", "1"];
    let (code, rest) = signalled_at(folder.path(), &verify, "2/200: ", &["--default-signal"], &["INT"]);
    assert_eq!(code, Some(130), "{rest}");
    assert!(rest.ends_with(" of 200 runs: nothing is verified\n") && !rest.contains("kept"), "{rest}");
}

#[cfg(target_os = "linux")]
#[test]
fn run__a_signal_that_is_ignored_stays_ignored() {
    let (code, rest, _folder) = signalled(&["--default-signal", "--ignore-signal=HUP"], &["HUP", "TERM"]);
    assert_eq!(code, Some(143), "{rest}");
}

#[cfg(unix)]
#[test]
fn run__ctrl_c_says_what_is_kept() {
    let (code, rest, folder) = signalled(&["--default-signal"], &["INT"]);
    assert_eq!(code, Some(130), "{rest}");
    let parts = std::fs::read_dir(folder.path().join("results/small/parts")).unwrap();
    let kept = parts.filter(|part| !part.as_ref().unwrap().file_name().to_string_lossy().starts_with('.')).count();
    assert!(kept >= 2, "{kept}");
}

/// A process that may open so few files that a column of a table has none: the result is not to blame.
#[cfg(unix)]
#[test]
fn report__with_few_descriptors_or_says_so() {
    let folder = small_result();
    let program = assert_cmd::cargo::cargo_bin("flowsieve");
    let with = |most: u32, arguments: &str| {
        let script = format!("ulimit -n {most} && exec '{}' {arguments}", program.display());
        let done = std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let mut worked = false;
    for most in 4..16 {
        let (status, said) = with(most, "export results/small --what flows");
        assert!(!said.contains("damaged"), "{most}: {said}");
        assert!(status == Some(0) || said.contains("Too many open files"), "{most}: {said}");
        assert!(status == Some(0) || !worked, "more of them are no worse: {said}");
        worked = status == Some(0);
    }
    assert!(worked);
}

#[test]
fn tune__a_refused_budget_leaves_nothing() {
    let folder = folder();
    std::fs::write(folder.path().join("fabric.toml"), "[topology]\nkind = \"single-switch\"\nhosts = 8\n").unwrap();
    std::fs::write(folder.path().join("sizes.csv"), "bytes\n1000\n200000\n").unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    for sizes in [["--workload", "web-search"], ["--sizes", "sizes.csv"]] {
        for out in ["new", "empty"] {
            let tune = ["tune", "fabric.toml", sizes[0], sizes[1], "--load", "0.6", "--budget", "1ms", "--out", out];
            let refused = flowsieve(folder.path(), &tune);
            assert!(refused.status == 2 && refused.err.contains("too little for any answer"), "{}", refused.err);
        }
        assert!(!folder.path().join("new").exists());
        assert_eq!(std::fs::read_dir(folder.path().join("empty")).unwrap().count(), 0);
    }
}
