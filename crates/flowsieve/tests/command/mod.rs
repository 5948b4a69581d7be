//! The command, executed in a folder with a small experiment.

use assert_cmd::Command;
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) const SMALL: &str = r#"
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

pub(crate) struct Output {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn flowsieve(folder: &Path, arguments: &[&str]) -> Output {
    let done = Command::cargo_bin("flowsieve").unwrap().current_dir(folder).args(arguments).output().unwrap();
    Output {
        status: done.status.code().unwrap(),
        out: String::from_utf8(done.stdout).unwrap(),
        err: String::from_utf8(done.stderr).unwrap(),
    }
}

/// A folder with `small.toml`.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    folder
}

/// The bytes of every file of a result but `run.json`, by path. Not every test file asks for them.
pub(crate) fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
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

/// A result of `small.toml` in `results/small`.
pub(crate) fn small_result() -> tempfile::TempDir {
    let folder = folder();
    let done = flowsieve(folder.path(), &["run", "small.toml"]);
    assert_eq!(done.status, 0, "{}", done.err);
    folder
}
