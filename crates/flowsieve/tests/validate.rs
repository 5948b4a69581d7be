//! The simulator against closed forms, as the command shows it: the minute of it that every test run can afford.

use assert_cmd::Command;

#[test]
fn validate__quick_agrees_with_theory() {
    let done = Command::cargo_bin("flowsieve").unwrap().args(["validate", "--quick"]).output().unwrap();
    let (out, err) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert!(done.status.success(), "{out}\n{err}");
    assert!(out.contains("45 of 45 pass"), "{out}");
    let rows = |scheme: &str| out.lines().filter(|line| line.starts_with(scheme) && line.ends_with("PASS")).count();
    assert_eq!(["fcfs ", "ps ", "srpt ", "las ", "rates "].map(rows), [9; 5], "{out}");
    assert!(out.contains("3 of 3 numbers of flows pass") && rows("dctcp ") == 6, "{out}");
    assert_eq!(err.lines().filter(|line| line.contains("/45: ")).count(), 45, "{err}");
}
