//! The workspace: no file of tests is left out, and what crates of others it has: licences that anybody may link, sources that
//! everybody has, versions that are named.
//!
//! Security advisories are not checked here, because their database has to be fetched: `cargo deny check advisories` does that,
//! by hand, before a release.

use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// Permissive licences only: Flowsieve is Apache-2.0, and may be linked into anything that allows it.
const ALLOWED: [&str; 7] =
    ["Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-3-Clause", "CC0-1.0", "MIT", "Unicode-3.0", "Zlib"];

/// Crates that it must not have, and why.
const REFUSED: [(&str, &str); 2] = [
    ("openssl-sys", "nothing here speaks to a network"),
    ("tokio", "runs are plain threads: what they compute must not depend on a scheduler"),
];

/// More crates than the command needs: each is built before the first run of `make run`.
const MOST_OF_COMMAND: usize = 115;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn cargo(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO")).current_dir(ROOT).args(arguments).arg("--locked").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The allowed licences that satisfy an SPDX expression; none: it is not satisfied. `/` is an older word for OR.
fn chosen(expression: &str) -> Vec<&'static str> {
    let any = |part: &str| {
        let part = part.replace('/', " OR ");
        part.split(" OR ").find_map(|one| {
            let one = one.trim_matches(['(', ')', ' ']);
            ALLOWED.into_iter().find(|allowed| *allowed == one)
        })
    };
    expression.split(" AND ").map(any).collect::<Option<_>>().unwrap_or_default()
}

#[test]
fn licences__an_expression_is_satisfied_by_all_its_parts() {
    assert_eq!(chosen("Unlicense/MIT"), ["MIT"]);
    assert_eq!(chosen("(MIT OR Apache-2.0) AND Unicode-3.0"), ["MIT", "Unicode-3.0"]);
    assert_eq!(chosen("MIT AND GPL-3.0-only"), [""; 0]);
    assert_eq!(chosen(""), [""; 0]);
}

#[test]
fn dependencies__have_permissive_licences_and_come_from_the_registry() {
    let all: Value = serde_json::from_str(&cargo(&["metadata", "--format-version", "1"])).unwrap();
    let mut used = BTreeSet::new();
    for package in all["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let Some(source) = package["source"].as_str() else {
            for dependency in package["dependencies"].as_array().unwrap() {
                let is_named = dependency["req"] != "*" || !dependency["path"].is_null();
                assert!(is_named, "{name}: any version of {}", dependency["name"]);
            }
            continue;
        };
        assert!(source.starts_with("registry+https://github.com/rust-lang/crates.io-index"), "{name}: {source}");
        let licence = package["license"].as_str().unwrap_or_default();
        let chosen = chosen(licence);
        assert!(!chosen.is_empty(), "{name}: the licence {licence:?} is not one of {ALLOWED:?}");
        used.extend(chosen);
        let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
        assert!(refused.is_none(), "{refused:?}");
    }
    assert_eq!(used.len(), ALLOWED.len(), "of the allowed licences {used:?} alone occur");
}

#[test]
fn dependencies__of_the_command_are_few() {
    let tree = cargo(&["tree", "--package", "flowsieve", "--edges", "normal,build", "--prefix", "none"]);
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let foreign: Vec<_> = names.into_iter().filter(|name| !name.starts_with("flowsieve")).collect();
    assert!(foreign.len() <= MOST_OF_COMMAND, "{}: {foreign:?}", foreign.len());
}

/// What a crate's `tests/main.rs` does not name is not even compiled.
#[test]
fn tests__every_file_is_in_the_program_of_its_crate() {
    let mut files = 0;
    for krate in std::fs::read_dir(format!("{ROOT}/crates")).unwrap() {
        let folder = krate.unwrap().path().join("tests");
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let main = std::fs::read_to_string(folder.join("main.rs")).unwrap();
        for entry in entries {
            let path = entry.unwrap().path();
            let is_module = path.extension().is_some_and(|extension| extension == "rs") || path.join("mod.rs").exists();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(name == "main" || !is_module || main.contains(&format!("mod {name};")), "{}", path.display());
            files += 1;
        }
    }
    assert!(files > 100, "{files}");
}
