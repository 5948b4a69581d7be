//! Who reads the output may go before all of it is written, and a disk may be full.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const SMALL: &str = r#"
title = "Four hosts"
[topology]
kind = "single-switch"
hosts = 4
[workload]
sizes = "web-search"
flows = 10
load = 0.5
[sweep]
scheme = ["dctcp"]
"#;

/// Commands that write each kind of output: lists of flows, tables, JSON and scripts. The run's result comes first.
const COMMANDS: &[&[&str]] = &[
    &["run", "small.toml"],
    &["report", "results/small", "--json"],
    &["doctor", "results/small"],
    &["export", "results/small"],
    &["export", "results/small", "--what", "flows"],
    &["flows", "small.toml"],
    &["flows", "pagerank-like"],
    &["list", "settings"],
    &["list", "schemes", "--json"],
    &["tune", "--model", "--workload", "web-search"],
    &["completions", "bash"],
];

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("flowsieve"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    folder
}

/// A title may come from anywhere; a terminal would obey what is in it.
#[test]
fn title__with_control_characters_is_shown_without_them() {
    let folder = folder();
    let file = SMALL.replace("Four hosts", r"\u001b[31mred \u0007\u0085 \u202Eback");
    std::fs::write(folder.path().join("small.toml"), &file).unwrap();
    std::fs::create_dir(folder.path().join("experiments")).unwrap();
    std::fs::write(folder.path().join("experiments/listed.toml"), &file).unwrap();
    for arguments in
        [["run", "small.toml"], ["list", "experiments"], ["report", "results/small"], ["doctor", "results/small"]]
    {
        let done = command(folder.path(), &arguments).output().unwrap();
        let said = error_text(&done) + &String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success(), "{arguments:?}: {said}");
        assert!(said.contains("\u{fffd}[31mred \u{fffd}\u{fffd} \u{fffd}back"), "{arguments:?}: {said}");
        let obeyed = |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
        assert!(!said.contains(obeyed), "{arguments:?}: {said:?}");
    }
}

/// What a pipe takes if its other end is not read.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn error_text(done: &Output) -> String {
    String::from_utf8(done.stderr.clone()).unwrap()
}

#[test]
fn closed_output__ends_a_command_silently() {
    let folder = folder();
    for arguments in COMMANDS {
        let done = command(folder.path(), arguments).stdout(closed()).output().unwrap();
        let said = error_text(&done);
        assert_eq!(done.status.code(), Some(0), "{arguments:?}: {said}");
        // A run says on the error stream what it does.
        let quiet = arguments[0] == "run" || said.is_empty();
        assert!(quiet && !said.contains("error") && !said.contains("panicked"), "{arguments:?}: {said}");
    }
}

#[test]
fn closed_output__after_the_first_lines_ends_a_list_of_flows() {
    let folder = folder();
    let mut child = command(folder.path(), &["flows", "kmeans-like"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    // The list is far longer than what a pipe holds.
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("start_s,src,dst,bytes,feature:"), "{first}");
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), error_text(&done).as_str()), (Some(0), ""));
}

#[test]
fn closed_error_stream__stops_no_run() {
    let folder = folder();
    let done = command(folder.path(), &["run", "small.toml"]).stderr(closed()).output().unwrap();
    assert_eq!(done.status.code(), Some(0));
    assert!(String::from_utf8(done.stdout).unwrap().contains("Report: "));
    let wrong = command(folder.path(), &["run", "none.toml"]).stderr(closed()).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk__is_an_error() {
    let folder = folder();
    for arguments in COMMANDS {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let done = command(folder.path(), arguments).stdout(full).output().unwrap();
        let said = error_text(&done);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("error: the output: No space left"), "{arguments:?}: {said}");
    }
}
