//! The simulator against closed forms, as the command shows it: the minute of it that every test run can afford.

use assert_cmd::Command;
use std::process::Output;

fn validate(arguments: &[&str]) -> Output {
    Command::cargo_bin("flowsieve").unwrap().arg("validate").args(arguments).output().unwrap()
}

#[test]
fn case__runs_those_that_are_named() {
    let done = validate(&["--case", "dctcp-2", "--case", "fcfs-uniform-64-0.3", "--case", "dctcp-2"]);
    let out = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{out}");
    let passes: Vec<&str> = out.lines().filter(|line| line.ends_with("PASS")).collect();
    assert!(passes[0].starts_with("fcfs  uniform             64  0.3"), "{out}");
    assert!(passes[1..].iter().all(|line| line.starts_with("dctcp     2")), "{out}");
    assert!(out.contains("1 of 1 pass") && out.contains("1 of 1 numbers of flows pass"), "{out}");
    let alone = validate(&["--case", "dctcp-2"]);
    let alone = String::from_utf8(alone.stdout).unwrap();
    assert!(!alone.contains("of 1 pass;") && out.ends_with(&alone), "{alone}");
}

#[test]
fn case__an_unknown_one_is_refused_with_the_nearest() {
    let done = validate(&["--case", "dctcp-2", "--case", "fcfs-unifrom-64-0.3"]);
    let err = String::from_utf8(done.stderr).unwrap();
    assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0), "{err}");
    let expected = "\
error: there is no case `fcfs-unifrom-64-0.3`
--> --case fcfs-unifrom-64-0.3
 = help: did you mean `fcfs-uniform-64-0.3`?
 = note: expected a name that `flowsieve validate --list` prints
";
    assert_eq!(err, expected);
    for other in ["--quick", "--list"] {
        assert_eq!(validate(&["--case", "dctcp-2", other]).status.code(), Some(2), "{other}");
    }
}

#[test]
fn list__names_each_case() {
    let names = |arguments: &[&str]| {
        let done = validate(arguments);
        assert!(done.status.success() && done.stderr.is_empty());
        String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (all, quick) = (names(&["--list"]), names(&["--list", "--quick"]));
    assert_eq!((all.len(), quick.len()), (123, 48));
    assert!(quick.iter().all(|name| all.contains(name)), "{quick:?}");
}

#[test]
fn validate__quick_agrees_with_theory() {
    let done = validate(&["--quick"]);
    let (out, err) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert!(done.status.success(), "{out}\n{err}");
    assert!(out.contains("45 of 45 pass"), "{out}");
    let rows = |scheme: &str| out.lines().filter(|line| line.starts_with(scheme) && line.ends_with("PASS")).count();
    assert_eq!(["fcfs ", "ps ", "srpt ", "las ", "rates "].map(rows), [9; 5], "{out}");
    assert!(out.contains("3 of 3 numbers of flows pass") && rows("dctcp ") == 6, "{out}");
    assert_eq!(err.lines().filter(|line| line.contains("/45: ")).count(), 45, "{err}");
}
