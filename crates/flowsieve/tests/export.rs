//! `flowsieve export`: tables, figures and flows of a result.

use std::collections::BTreeSet;

use crate::command::{SMALL, bytes, flowsieve, folder, small_result};

#[test]
fn export__figures_are_drawings_or_their_numbers() {
    let folder = small_result();
    let export = |arguments: &[&str]| {
        let done = flowsieve(folder.path(), &[&["export", "results/small", "--what", "figure"], arguments].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        done.out
    };
    let (one, two) = (export(&[]), export(&["--columns", "2"]));
    assert!(one.starts_with("<svg ") && one.contains(" width=\"3.5in\" "), "{one}");
    assert!(two.contains(" width=\"7.16in\" "), "{two}");
    assert_eq!(one, export(&["--format", "svg", "--y", "mean fct"]));
    let mut pdf = assert_cmd::Command::cargo_bin("flowsieve").unwrap();
    let pdf = pdf
        .current_dir(folder.path())
        .args(["export", "results/small", "--what", "figure", "--format", "pdf"])
        .output();
    let pdf = pdf.unwrap().stdout;
    assert!(pdf.starts_with(b"%PDF-1.") && pdf.windows(10).any(|part| part == b"(mean FCT "), "{} bytes", pdf.len());
    let latex = export(&["--format", "latex", "--class", "all"]);
    assert!(
        latex.contains("\\begin{figure}") && latex.contains("\\caption{Eight hosts: Mean FCT, all flows.}"),
        "{latex}"
    );
    // What the figure shows of a scheme at a load is what its table has.
    let csv = export(&["--format", "csv", "--class", "all", "--at", "load=0.8"]);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.rsplit(',').collect()).collect();
    let unit = rows[1][3];
    let scale = [("ns", 1e-3), ("µs", 1.0), ("ms", 1e3)].into_iter().find(|(name, _)| *name == unit).unwrap().1;
    let table = flowsieve(folder.path(), &["export", "results/small", "--y", "mean fct", "--class", "all"]).out;
    let expected: Vec<f64> = table
        .lines()
        .filter(|line| line.contains(",0.8,"))
        .map(|line| line.split(',').nth(8).unwrap().parse().unwrap())
        .collect();
    assert_eq!((rows.len(), expected.len()), (1 + 2, 2));
    for (row, expected) in rows[1..].iter().zip(expected) {
        let shown: f64 = row[2].parse::<f64>().unwrap() * scale;
        assert!((shown / expected - 1.0).abs() < 1e-5, "{row:?} {expected}");
    }
}

#[test]
fn export__tables_have_the_numbers_of_the_result() {
    let folder = small_result();
    let before = bytes(folder.path());
    let export = |arguments: &[&str]| flowsieve(folder.path(), &[&["export", "results/small"], arguments].concat());
    let csv = export(&["--y", "mean fct", "--class", "all"]);
    assert_eq!(csv.status, 0, "{}", csv.err);
    let rows: Vec<Vec<&str>> = csv.out.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][..9], ["case", "x_name", "x", "scheme", "flows_of", "metric", "statistic", "unit", "value"]);
    let of: Vec<[&str; 4]> = rows[1..].iter().map(|row| [row[1], row[2], row[3], row[7]]).collect();
    assert_eq!(
        of,
        [
            ["load", "0.5", "dctcp", "us"],
            ["load", "0.5", "pias", "us"],
            ["load", "0.8", "dctcp", "us"],
            ["load", "0.8", "pias", "us"]
        ]
    );
    let json: serde_json::Value =
        serde_json::from_str(&flowsieve(folder.path(), &["report", "results/small", "--json"]).out).unwrap();
    let point = json["points"]
        .as_array()
        .unwrap()
        .iter()
        .find(|point| point["scheme"] == "pias" && point["load"] == 0.8)
        .unwrap();
    let all = point["classes"].as_array().unwrap().last().unwrap();
    let shown: f64 = rows[4][8].parse().unwrap();
    let expected = all["fct_us"]["mean"]["value"].as_f64().unwrap();
    assert!((shown / expected - 1.0).abs() < 1e-9, "{shown} {expected}");
    let ratio: f64 = rows[4][11].parse().unwrap();
    assert!((ratio / all["fct_mean_ratio_to_first"]["value"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{ratio}");

    let latex = export(&["--format", "latex", "--y", "p99 slowdown", "--class", "all", "--columns", "2"]).out;
    assert!(
        latex.contains("\\begin{table*}") && latex.contains("\\toprule") && latex.contains("P99 slowdown, all flows"),
        "{latex}"
    );
    assert_eq!(latex.matches("\\begin{tabular}{lrr}").count(), 1);

    let flows = export(&["--what", "flows"]).out;
    assert_eq!(flows.lines().count(), 1 + 2 * 2 * 2 * 40);
    assert!(flows.starts_with("scheme,load,seed,flow,src,dst,traffic_class,bytes,"), "{flows}");
    for (arguments, problem) in [
        (&["--y", "median"][..], "`median` is not a measure"),
        (&["--class", "elephants"], "no class `elephants`"),
        (&["--x", "buffer"], "the sweep varies no setting `buffer`"),
        (&["--what", "flows", "--format", "latex"], "--what flows is CSV"),
        (&["--format", "svg"], "a table cannot be an SVG or a PDF; expected --what figure"),
        (&["--columns", "2"], "CSV has no width"),
        (&["--x", "size"], "the sweep varies no setting `size`"),
        (&["--what", "figure", "--x", "buffer"], "load, size, time"),
        (
            &["--what", "figure", "--x", "time"],
            "no link, flow, host or controller was sampled; expected `sample_interval`",
        ),
        (&["--what", "figure", "--class", "elephants"], "expected 0-100KB"),
        (&["--what", "figure", "--x", "size", "--class", "all"], "a figure by flow size takes no `--class`"),
        (&["--what", "figure", "--at", "load=0.9"], "expected one of 0.5, 0.8"),
    ] {
        let refused = export(arguments);
        assert!(refused.status == 2 && refused.err.contains(problem), "{arguments:?}: {}", refused.err);
    }
    assert!(bytes(folder.path()) == before, "an export changes no result");
}

#[test]
fn export__over_time_what_was_sampled_a_plot_for_each_link_or_flow() {
    let folder = folder();
    let sampled =
        format!("{SMALL}sample_interval = \"500us\"\nsample_utilisation = [\"host-up\"]\nsample_flows = [3, 5]\n");
    std::fs::write(folder.path().join("small.toml"), sampled).unwrap();
    let done = flowsieve(folder.path(), &["run", "small.toml"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let export = |arguments: &[&str]| {
        flowsieve(folder.path(), &[&["export", "results/small", "--what", "figure", "--x", "time"], arguments].concat())
    };
    let csv = export(&["--y", "goodput", "--at", "load=0.8", "--at", "scheme=pias", "--format", "csv"]);
    assert_eq!(csv.status, 0, "{}", csv.err);
    let rows: Vec<Vec<&str>> = csv.out.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let plots: BTreeSet<String> = rows.iter().map(|row| row[..row.len() - 15].join(",")).collect();
    assert_eq!(
        plots,
        BTreeSet::from(["\"goodput, flow 3, load 0.8\"".to_owned(), "\"goodput, flow 5, load 0.8\"".to_owned()]),
        "{}",
        csv.out
    );
    assert!(rows.iter().all(|row| row[row.len() - 12] == "pias"), "{}", csv.out);
    // The time under `x`, and goodput: over the run a flow's payload arrives once.
    let unit = |row: &[&str]| match row[row.len() - 4] {
        "Gbit/s" => 1e9,
        "Mbit/s" => 1e6,
        unit => panic!("{unit}"),
    };
    let bytes: f64 = rows
        .iter()
        .filter(|row| row[1].starts_with(" flow 3"))
        .map(|row| unit(row) * row[row.len() - 3].parse::<f64>().unwrap() * 500e-6 / 8.0)
        .sum();
    let flows = flowsieve(folder.path(), &["export", "results/small", "--what", "flows"]).out;
    let flow = flows.lines().find(|line| line.starts_with("pias,0.8,1,3,")).unwrap();
    let sent: f64 = flow.split(',').nth(7).unwrap().parse().unwrap();
    assert!((bytes / sent - 1.0).abs() < 0.01, "{bytes} {sent}");

    let utilisation = export(&["--y", "utilisation (share)", "--at", "load=0.5", "--format", "csv"]);
    assert!(utilisation.out.contains(",dctcp,measured,time,ms,") && utilisation.out.contains(",utilisation,%,"));
    assert!(export(&["--y", "goodput"]).out.starts_with("<svg "));
    for (arguments, problem) in [
        (&["--y", "window"][..], "is called `window`; expected one of goodput, utilisation. Windows"),
        (&["--class", "all"], "a figure over time takes no `--class`"),
    ] {
        let refused = export(arguments);
        assert!(refused.status == 2 && refused.err.contains(problem), "{arguments:?}: {}", refused.err);
    }
    // The report draws the same.
    let plots = std::fs::read_to_string(folder.path().join("results/small/plots.csv")).unwrap();
    assert!(
        plots.contains("goodput, flow 5")
            && plots.contains(",goodput,Mbit/s,")
            && plots.contains(",pias,measured,time,ms,"),
        "{plots}"
    );
}
