//! Files as people have them, in the place of ours: what is sure is taken and said, and what is not names its format and the command.

use flowsieve_engines::built_in;
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_experiment::{Error, ExperimentText};
use flowsieve_studies::export;
use std::path::Path;

const STAR: &str = "[topology]\nkind = \"single-switch\"\nhosts = 4\n";

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
    folder
}

fn planned(tables: &str, folder: &Path) -> Result<Plan, Error> {
    let text = format!("{tables}\n[sweep]\nscheme = [\"dctcp\"]\n");
    plan(&ExperimentText::new("test.toml", &text), folder, &Changes::default(), &built_in())
}

/// The flows of a distribution.
fn with_cdf(file: &str, text: &str) -> Result<String, Error> {
    let folder = folder(&[(file, text)]);
    let plan = planned(&format!("{STAR}[workload]\ncdf = \"{file}\"\nload = 0.5\nflows = 50\n"), folder.path());
    plan.map(|plan| flows_of(&plan))
}

fn with_list(text: &str) -> Result<Plan, Error> {
    let folder = folder(&[("flows.csv", text)]);
    planned(&format!("{STAR}[workload]\nlist = \"flows.csv\"\n"), folder.path())
}

fn with_fabric(edges: &str, flows: &str) -> Result<(Plan, tempfile::TempDir), Error> {
    let folder = folder(&[("fabric.csv", edges), ("flows.csv", flows)]);
    let tables = "[topology]\nkind = \"custom\"\nfile = \"fabric.csv\"\n[workload]\nlist = \"flows.csv\"\n";
    planned(tables, folder.path()).map(|plan| (plan, folder))
}

fn flows_of(plan: &Plan) -> String {
    let mut out = Vec::new();
    export::flows(plan, 1, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn cdf__of_hpcc_in_per_cent_is_the_same_as_fractions() {
    let percent = with_cdf("WebSearch.txt", "0 0\n1000 20\n5000 60\n20000 90\n100000 100\n").unwrap();
    let fraction = with_cdf("sizes.csv", "size_bytes,cdf\n0,0\n1000,0.2\n5000,0.6\n20000,0.9\n100000,1\n").unwrap();
    assert_eq!(percent, fraction);
}

#[test]
fn cdf__of_another_format_names_it_and_the_command() {
    #[rustfmt::skip]
    let cases = [
        ("homa.txt", "2984.4\n100 0.5\n1448 0.8\n10000 0.95\n20000 1.0\n", "homa-dist", "--size-unit bytes"),
        ("ns2.tcl", "1 1 0\n1 1 0.4\n100 1 1\n", "cdf-three-columns", "--size-unit packets:1460"),
        ("curve.csv", "x, y\n0.5, 0.5\n2, 1.0004\n", "cdf", ""),
    ];
    for (file, text, format, options) in cases {
        let refused = with_cdf(file, text).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("flowsieve convert ") && refused.contains(&format!("--from {format}")), "{refused}");
        assert!(refused.contains(options) && refused.contains(file), "{refused}");
    }
    // What has no known format is not given one.
    assert!(!with_cdf("own.csv", "10,0.5\n20,0.7\n").map(|_| ()).unwrap_err().to_string().contains("convert"));
}

#[test]
fn list__of_another_format_names_it_and_the_command() {
    let refused = with_list("1\n0 1 3 100 1500 2.0\n").map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("--from hpcc --with TOPOLOGY`"), "{refused}");
    let refused = with_list("0 1 400 0\n").map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("opera or homa-trace"), "{refused}");
    assert!(!with_list("0,0,9,5\n").map(|_| ()).unwrap_err().to_string().contains("convert"));
}

#[test]
fn edge_list__of_another_format_names_it_and_the_command() {
    let refused = with_fabric("3 1 2\n0\n1 0 25Gbps 1us 0\n2 0 25Gbps 1us 0\n", "0,0,1,9\n").map(|_| ()).unwrap_err();
    let details = refused.details();
    assert_eq!(details.line, Some(1));
    let expected = details.expected.unwrap();
    assert!(expected.contains("--from hpcc-topology`"), "{expected}");
}

#[test]
fn sizes__of_measured_flows_are_drawn_as_often_as_they_stand_there() {
    let files = [
        ("one.csv", "bytes\n1000\n1000\n1000\n50000\n"),
        ("several.csv", "when,bytes,who\n1,1000,a\n2,1000,\"b, c\"\n3,1000,a\n4,50000,a\n"),
        ("cdf.csv", "1000,0.75\n50000,1\n"),
    ];
    let folder = folder(&files);
    let of = |keys: &str| {
        let plan = planned(&format!("{STAR}[workload]\nload = 0.5\nflows = 100\n{keys}\n"), folder.path());
        plan.map(|plan| flows_of(&plan))
    };
    let one = of("sizes = \"one.csv\"").unwrap();
    assert_eq!(of("sizes = \"several.csv\"\nsizes_column = \"bytes\"").unwrap(), one);
    assert_eq!(of("sizes = \"cdf.csv\"\nreading = \"stepped\"").unwrap(), one);
    let large = one.lines().filter(|row| row.ends_with(",50000")).count();
    assert!(
        (10..=45).contains(&large) && one.lines().skip(1).all(|row| row.ends_with(",1000") || row.ends_with(",50000"))
    );
    // Rounded up where packets are asked for.
    assert!(of("sizes = \"one.csv\"\nrounding = \"packets\"").unwrap().contains(",1460\n"));
    let refused = of("sizes = \"several.csv\"\nsizes_column = \"size\"").unwrap_err().to_string();
    assert!(refused.contains("several.csv:1: no column `size`"), "{refused}");
    // A column is of a file alone.
    assert!(of("sizes = \"web-search\"\nsizes_column = \"bytes\"").is_err());
}

#[test]
fn list__of_pandas_is_taken_by_its_header_and_its_other_columns_are_named() {
    let plan = with_list(",bytes,dst,note,src,start_s\n0,10,1,web,0,0.5\n1,20,3,db,2,0.25\n").unwrap();
    assert_eq!(flows_of(&plan), "start_s,src,dst,bytes\n0.25,2,3,20\n0.5,0,1,10\n");
    let warned = |what: &str| plan.warnings.iter().any(|warning| warning.contains(what));
    assert!(warned("columns that nothing reads: (without a name), note"), "{:?}", plan.warnings);
}

#[test]
fn list__of_times_of_day_begins_with_its_first_flow_and_says_so() {
    let plan = with_list("1700000000.75,0,1,10\n1700000000.5,2,3,20\n").unwrap();
    assert_eq!(flows_of(&plan), "start_s,src,dst,bytes\n0,2,3,20\n0.25,0,1,10\n");
    assert!(plan.warnings.iter().any(|warning| warning.ends_with("at 1700000000.5")), "{:?}", plan.warnings);
}

#[test]
fn list__a_host_with_two_links_is_said_to_be_a_switch() {
    let edges = "web,tor0,10Gbps,1us\nweb,tor1,10Gbps,1us\ndb,tor0,10Gbps,1us\nmail,tor1,10Gbps,1us\n";
    let refused = with_fabric(edges, "0,web,db,9\n").map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("flows.csv:1") && refused.contains("`web` is a switch"), "{refused}");
}

#[test]
fn list__of_hosts_that_are_called_by_numbers_goes_round() {
    let edges = "0,2,25Gbps,1us\n0,5,25Gbps,1us\n0,6,25Gbps,1us\n";
    let (plan, _kept) = with_fabric(edges, "0,6,2,9\n1,5,6,7\n").unwrap();
    assert_eq!(flows_of(&plan), "start_s,src,dst,bytes\n0,6,2,9\n1,5,6,7\n");
    let refused = with_fabric(edges, "0,0,2,9\n").map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("`0` is a switch"), "{refused}");
}

#[test]
fn edge_list__columns_that_nothing_reads_are_named() {
    let edges = "to,from,delay,rate,colour\ntor,host0,1us,10Gbps,red\ntor,host1,1us,10Gbps,blue\n";
    let (plan, _kept) = with_fabric(edges, "0,host0,host1,9\n").unwrap();
    let warned = |what: &str| plan.warnings.iter().any(|warning| warning.contains(what));
    assert!(warned("the edge list has columns that nothing reads: colour"), "{:?}", plan.warnings);
}
