//! `flowsieve forest`, over the golden forest of core and the rows that its trainer wrote next to it.

use assert_cmd::Command;
use std::path::Path;

const ROWS: &str = include_str!("../../core/tests/data/forest-rows.csv");
const FOREST: &[u8] = include_bytes!("../../core/tests/data/forest-all.fsf");

/// A folder with the forest and a trace of a flow a second, each as large as the trainer's upper bound for it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut text =
        "start_s,src,dst,bytes,feature:start_us,feature:gap_us,feature:last_size_1,feature:src,feature:port,\
                    feature:protocol\n"
            .to_owned();
    for (second, row) in ROWS.lines().skip(1).enumerate() {
        let fields: Vec<&str> = row.split(',').collect();
        text += &format!("{second},0,1,{},{}\n", fields[7], fields[..6].join(","));
    }
    std::fs::write(folder.path().join("trace.csv"), text).unwrap();
    std::fs::write(folder.path().join("forest.fsf"), FOREST).unwrap();
    folder
}

/// Status, output, and error output.
fn forest(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("flowsieve").unwrap();
    let done = command.current_dir(folder).arg("forest").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
}

#[test]
fn apply__writes_what_the_trainer_says() {
    let folder = folder();
    let (status, written, _) = forest(folder.path(), &["apply", "forest.fsf", "trace.csv", "--from", "0"]);
    assert_eq!(status, 0);
    let mut lines = written.lines();
    let header = lines.next().unwrap();
    assert!(header.starts_with("start_s,src,dst,bytes,lower,upper,predicted,feature:start_us,"), "{header}");
    let expected = ROWS.lines().skip(1).map(|row| row.split(',').skip(6).take(3).collect::<Vec<_>>().join(","));
    let found = lines.map(|row| row.split(',').skip(4).take(3).collect::<Vec<_>>().join(","));
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    let (_, part, _) = forest(folder.path(), &["apply", "forest.fsf", "trace.csv"]);
    let rows = ROWS.lines().count() - 1;
    assert_eq!(part.lines().count() - 1, rows - (0.8 * rows as f64).round() as usize);
}

#[test]
fn report__answers_first_with_a_table() {
    let folder = folder();
    let (status, table, _) = forest(folder.path(), &["report", "forest.fsf", "trace.csv", "--from", "0"]);
    assert_eq!(status, 0);
    let first: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(first[..4], ["class", "flows", "bounded", "%"]);
    let (_, json, _) = forest(folder.path(), &["report", "forest.fsf", "trace.csv", "--from", "0", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let all = json.as_array().unwrap().last().unwrap();
    let rows = ROWS.lines().count() as u64 - 1;
    // Each flow is as large as its upper bound.
    assert_eq!(
        (all["class"].as_str(), all["flows"].as_u64(), all["bounded"].as_u64()),
        (Some("all"), Some(rows), Some(rows))
    );
    assert_eq!(all["mean_upper"], all["mean_size"]);
}

#[test]
fn refused__with_the_file_and_what_is_wrong() {
    let folder = folder();
    std::fs::write(folder.path().join("cut.fsf"), &FOREST[..100]).unwrap();
    std::fs::write(folder.path().join("plain.csv"), "0,0,1,1000\n").unwrap();
    for (arguments, expected) in [
        (["report", "cut.fsf", "trace.csv"], "cut.fsf: byte "),
        (["report", "no.fsf", "trace.csv"], "no.fsf: No such file"),
        (["report", "forest.fsf", "plain.csv"], "it reads the feature `start_us`"),
        (["apply", "forest.fsf", "no.csv"], "no.csv: No such file"),
    ] {
        let (status, out, error) = forest(folder.path(), &arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let (status, _, error) = forest(folder.path(), &["report", "forest.fsf", "trace.csv", "--from", "1"]);
    assert!(status == 2 && error.contains("from 0 to below 1"), "{error}");
}

#[test]
fn import__writes_a_list_of_recorded_flows() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("1.csv"), "index,flow_size,job,cpu\n1,700,a,0.25\n0,9000,a,2\n").unwrap();
    std::fs::write(folder.path().join("2.csv"), "index,flow_size,job,cpu\n0,50,b,0.5\n").unwrap();
    let arguments = ["import", "1.csv", "2.csv", "--drop", "job", "--scale", "cpu=1000"];
    let (status, list, error) = forest(folder.path(), &arguments);
    assert_eq!(status, 0, "{error}");
    let expected = "start_s,src,dst,bytes,feature:cpu\n\
                    0,0,1,9000,2000\n\
                    0.000001,0,1,700,250\n\
                    0.000002,0,1,50,500\n";
    assert_eq!(list, expected);
}

#[test]
fn import__writes_a_list_of_the_simulators_flows() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("0.csv"), "size,perfect,mean\n700,700,650\n9000,9000,650\n").unwrap();
    let (status, list, error) = forest(folder.path(), &["import", "0.csv", "--simulator", "--predicted", "2"]);
    assert_eq!(status, 0, "{error}");
    assert_eq!(list, "start_s,src,dst,bytes,predicted\n0,0,1,700,650\n0.000001,0,1,9000,650\n");
    let (_, list, _) = forest(folder.path(), &["import", "0.csv", "--simulator"]);
    assert_eq!(list, "start_s,src,dst,bytes\n0,0,1,700\n0.000001,0,1,9000\n");
}

#[test]
fn import__refuses_with_the_place_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("1.csv"), "index,flow_size,cpu\n0,700,1\n1,700,0.5\n").unwrap();
    for (arguments, expected) in [
        (&["import", "1.csv"][..], "1.csv:3: cpu is `0.5`; expected a whole number"),
        (&["import", "1.csv", "--drop", "disk"], "1.csv:1: no column `disk`; expected one of index, flow_size, cpu"),
        (&["import", "no.csv"], "no.csv: No such file"),
        (&["import", "1.csv", "--simulator"], "1.csv:2: column 0 (the size) is `0`"),
        (&["import", "1.csv", "--predicted", "1"], "--simulator"),
        (&["import", "1.csv", "--simulator", "--drop", "cpu"], "cannot be used with"),
        (&["import", "1.csv", "--scale", "cpu=0"], "expected COLUMN=FACTOR with a number above 0"),
        (&["import", "1.csv", "--scale", "cpu"], "expected COLUMN=FACTOR with a number above 0"),
        (&["import"], "<FILE>..."),
    ] {
        let (status, out, error) = forest(folder.path(), arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}
