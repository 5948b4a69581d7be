//! What is written from declarations is as they are: the options of the Python package, and tables of docs/reference.
//! `make generate` writes it anew.

mod options;
mod tables;

use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares a file with what it has to be, or writes it.
fn check(path: &str, expected: &str) {
    let found = std::fs::read_to_string(root().join(path)).unwrap_or_default();
    if found == expected {
        return;
    }
    if std::env::var_os("FLOWSIEVE_GENERATE").is_some() {
        std::fs::write(root().join(path), expected).unwrap();
        return;
    }
    let differs = |line: usize| found.lines().nth(line) != expected.lines().nth(line);
    let line = (0..).find(|&line| differs(line)).unwrap();
    let of = |text: &str| text.lines().nth(line).unwrap_or("its end").to_owned();
    panic!(
        "{path}:{}: `make generate` brings it up to date\nfound: {}\nexpected: {}",
        line + 1,
        of(&found),
        of(expected)
    );
}

#[test]
fn python__options_are_those_of_the_command() {
    check("python/flowsieve/_options.py", &options::python(&flowsieve::options::groups()));
}

#[test]
fn python__settings_are_those_of_experiments() {
    check("python/flowsieve/_settings.py", &options::settings(&flowsieve_engines::built_in()));
}

#[test]
fn reference__tables_are_those_of_the_declarations() {
    let pages = tables::filled();
    for (path, text) in pages.pages {
        check(&path, &text);
    }
    assert!(pages.faults.is_empty(), "{}", pages.faults.join("\n"));
}
