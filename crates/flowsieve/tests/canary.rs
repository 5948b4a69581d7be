//! The judge of a canary as a user has it.

use crate::command::flowsieve;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The shell commands of the page's example.
fn example() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operate/canary.md");
    let text = fs::read_to_string(page).unwrap();
    text.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0.to_owned()
}

/// The page's commands over a tenth of the flows: PIAS on the eighth day is told from nothing, and nothing is not.
#[test]
fn canary__the_example_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin("flowsieve");
    let steps = example().replace("--seeds 28", "--seeds 28 --scale quick").replace("flowsieve ", "\"$F\" ");
    let made = Command::new("sh").args(["-euc", &steps]).env("F", program).current_dir(&folder).output().unwrap();
    let found = String::from_utf8(made.stdout).unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(found.contains("Keep it: latencies fell for certain.\n\nThe canary changed by -"), "{found}");
    // The control's second week as if it were the canary's: days of the same scheme.
    let none = ["before.csv", "control-after.csv", "--control", "control-before.csv", "control-after.csv"];
    let none = [&["canary"], &none[..], &["--window", "1day", "--quantile", "0.9"]].concat();
    let none = flowsieve(folder.path(), &none);
    assert!(!none.out.starts_with("Keep it") && !none.out.starts_with("Go back"), "{}", none.out);
}

/// Hours of days from the first on, each with the value.
fn hours(folder: &Path, name: &str, days: [u32; 2], hours: [u32; 2], value: impl Fn(u32, u32) -> f64) {
    let rows = (days[0]..=days[1]).flat_map(|day| (hours[0]..=hours[1]).map(move |hour| (day, hour)));
    let row = |(day, hour)| format!("2026-11-{day:02}T{hour:02}:00:00Z,{}\n", value(day, hour));
    fs::write(folder.join(name), format!("time,p99\n{}", rows.map(row).collect::<String>())).unwrap();
}

/// What racks and weeks have in common falls out: the canary's rack is a third slower, the second week twice as slow, and the
/// change takes a quarter.
#[test]
fn canary__racks_and_weeks_differ() {
    let folder = tempfile::tempdir().unwrap();
    let noise = |day: u32, hour: u32| 1.0 + f64::from(day * 7 % 5) / 50.0 + f64::from(hour % 7) / 10.0;
    let other = |day: u32, hour: u32| 1.0 + f64::from(day * 3 % 4) / 50.0 + f64::from(hour % 7) / 10.0;
    let path = folder.path();
    hours(path, "before.csv", [2, 8], [0, 23], |day, hour| 4.0 / 3.0 * noise(day, hour));
    hours(path, "after.csv", [9, 15], [0, 23], |day, hour| 2.0 * noise(day, hour));
    hours(path, "control-before.csv", [2, 8], [0, 23], other);
    hours(path, "control-after.csv", [9, 15], [0, 23], |day, hour| 2.0 * other(day, hour));
    let files = ["canary", "before.csv", "after.csv", "--control", "control-before.csv", "control-after.csv"];
    let judged = flowsieve(path, &[&files[..], &["--json"]].concat());
    let judged: serde_json::Value = serde_json::from_str(&judged.out).unwrap();
    assert_eq!((&judged["verdict"], &judged["looked_at"]), (&"keep".into(), &5.into()), "{judged}");
    let value = judged["effect"]["value"].as_f64().unwrap();
    assert!((value - 0.75).abs() < 0.02, "{value}");
    // A gate decides before any latency.
    fs::write(path.join("was.csv"), "packets,1000000\ndiscards,10\n").unwrap();
    fs::write(path.join("is.csv"), "packets,1000000\ndiscards,90\n").unwrap();
    let gated = flowsieve(path, &[&files[..], &["--counters", "was.csv", "is.csv"]].concat());
    assert!(gated.out.starts_with("Go back: a gate fails, discards.\n"), "{}", gated.out);
    assert!(gated.out.contains("  fails\n"), "{}", gated.out);
}

#[test]
fn canary__files_that_cannot_be_compared_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let of = |name: &str, days: [u32; 2], of_day: [u32; 2]| hours(path, name, days, of_day, |day, _| f64::from(day));
    of("before.csv", [2, 8], [0, 23]);
    of("after.csv", [9, 15], [0, 23]);
    of("nights.csv", [2, 8], [0, 7]);
    of("noons.csv", [9, 15], [11, 14]);
    of("later.csv", [20, 28], [0, 23]);
    of("one.csv", [9, 9], [0, 23]);
    fs::write(path.join("daily.csv"), "time,p99\n2026-11-09,1\n2026-11-10,1\n").unwrap();
    let wrong = |before: &str, after: &str, control: [&str; 2], expected: &str| {
        let found = flowsieve(path, &["canary", before, after, "--control", control[0], control[1]]);
        assert_eq!((found.status, found.out.as_str()), (2, ""), "{}", found.err);
        assert_eq!(found.err.trim_end(), format!("error: {expected}"));
    };
    wrong(
        "before.csv",
        "after.csv",
        ["later.csv", "after.csv"],
        "before.csv: shares 0 of 168 times with later.csv; expected the same hours of canary and control, in UTC",
    );
    wrong(
        "nights.csv",
        "noons.csv",
        ["nights.csv", "noons.csv"],
        "noons.csv: has no hour of the day that the earlier files have, too; expected the same hours before and after",
    );
    wrong(
        "after.csv",
        "before.csv",
        ["after.csv", "before.csv"],
        "before.csv: begins before the canary's earlier file ends; expected the time after the change",
    );
    wrong(
        "before.csv",
        "one.csv",
        ["before.csv", "one.csv"],
        "one.csv: 1 whole blocks of 86400 s; expected at least 2; 7 days tell more",
    );
    wrong(
        "before.csv",
        "daily.csv",
        ["before.csv", "after.csv"],
        "daily.csv: a value every 86400 s, and the control every 3600 s; expected the same in both; --window for latencies",
    );
    wrong(
        "before.csv",
        "no.csv",
        ["before.csv", "after.csv"],
        "no.csv: cannot be read: No such file or directory (os error 2); expected a CSV file",
    );
}
