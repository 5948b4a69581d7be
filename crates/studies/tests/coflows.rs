//! Coflow traces through experiment files: loads, hosts, sizes, and whose weight counts.

use flowsieve_experiment::engine::go_on;
use std::path::Path;

use flowsieve_engines::built_in;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_record::FlowRow;

/// Coflow 7 has 3 MB to port 2 in two parts, coflow 9 has 4 MB in two parts to the same, and coflow 3 has 1 MB and 2 MB from port 1.
const TRACE: &str = "4 3\n7 0 2 0 1 1 2:3.0\n9 1 2 0 3 1 2:4.0\n3 2 1 1 2 0:1.0 3:2.0\n";

const FILE: &str = r#"
[topology]
kind = "single-switch"
hosts = 4
host_link = "10Gbps"
[workload]
coflows = "coflows.txt"
[sweep]
scheme = ["sincronia"]
[run]
fidelity = "flow"
"#;

const MB: u64 = 1 << 20;

fn planned(text: &str, folder: &Path) -> Plan {
    let plan = plan(&ExperimentText::new("test.toml", text), folder, &Changes::default(), &built_in());
    plan.unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// What was said before the run, and the flows of the first point.
fn flows(trace: &str, text: &str, seed: u64) -> (Plan, Vec<FlowRow>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("coflows.txt"), trace).unwrap();
    std::fs::write(folder.path().join("weights.csv"), "coflow,weight\n1,4\n").unwrap();
    let plan = planned(text, folder.path());
    let flows = built_in().run(&plan.points[0], seed, &mut go_on, None).unwrap().flows;
    (plan, flows)
}

fn with(line: &str) -> String {
    FILE.replace("[sweep]", &format!("{line}\n[sweep]"))
}

#[test]
fn load__is_that_of_the_mean_hosts_link() {
    // In packets of 1,460 bytes with 40 of headers: 2 · 1,615,984 B, 2 · 2,154,632 B, and 1,077,336 + 2,154,632 B. That are
    // 10,773,200 B, which four links take in 4.30928 ms at half their rate. Port 2 receives 7,541,232 B of them.
    let (plan, flows) = flows(TRACE, &with("load = 0.5"), 1);
    let starts: Vec<u64> = flows.iter().map(|flow| flow.start_ps).collect();
    let expected = [0, 0, 2_154_640_000, 2_154_640_000, 4_309_280_000, 4_309_280_000];
    assert!(starts.iter().zip(expected).all(|(start, expected)| start.abs_diff(expected) <= 1), "{starts:?}");
    let (name, busiest) = &plan.loads[0].classes[0];
    assert_eq!(name, "busiest host without ACKs");
    assert!((busiest - 4.0 * 0.5 * 7_541_232.0 / 10_773_200.0).abs() < 1e-9, "{busiest}");
}

#[test]
fn load__is_that_of_the_busiest_link() {
    // Port 2 receives 7,541,232 B, which take 6.0329856 ms at the rate of its link and so 12.0659712 ms at half of it.
    let (plan, flows) = flows(TRACE, &with("load = 0.5\nload_of = \"busiest\""), 1);
    let starts: Vec<u64> = flows.iter().map(|flow| flow.start_ps).collect();
    let (half, last) = (6_032_985_600, 12_065_971_200);
    let expected = [0, 0, half, half, last, last];
    assert!(starts.iter().zip(expected).all(|(start, expected)| start.abs_diff(expected) <= 1), "{starts:?}");
    assert!((plan.loads[0].classes[0].1 - 0.5).abs() < 1e-9, "{:?}", plan.loads[0].classes);
}

#[test]
fn load__of_the_mean_link_is_what_it_is_without_saying_so() {
    let starts = |more: &str| -> Vec<u64> {
        let (_, flows) = flows(TRACE, &with(&format!("load = 0.5{more}")), 1);
        flows.iter().map(|flow| flow.start_ps).collect()
    };
    assert_eq!(starts(""), starts("\nload_of = \"mean\""));
}

#[test]
fn hosts__by_number_or_drawn_for_each_seed() {
    let two = |placing: &str| with(&format!("coflow_hosts = \"{placing}\"")).replace("hosts = 4", "hosts = 2");
    let (plan, by_number) = flows(TRACE, &two("modulo"), 1);
    // Ports 0 and 2 are host 0, 1 and 3 host 1.
    let pairs: Vec<_> = by_number.iter().map(|flow| (flow.coflow, flow.src, flow.dst)).collect();
    assert_eq!(pairs, [(Some(7), 1, 0), (Some(9), 1, 0), (Some(3), 1, 0)]);
    assert!(plan.warnings.iter().any(|warning| warning.contains("3 flows from a host to itself are left out")));
    let drawn = |seed| -> Vec<(u32, u32)> {
        let (_, flows) = flows(TRACE, &with("coflow_hosts = \"random\""), seed);
        flows.iter().map(|flow| (flow.src, flow.dst)).collect()
    };
    assert_eq!(drawn(1), drawn(1));
    assert!((2..9).any(|seed| drawn(seed) != drawn(1)));
}

#[test]
fn sizes__as_coflowsim_takes_them_and_scaled() {
    // 3 MB in two parts are 2 MB each.
    let (_, flows) = flows(TRACE, &with("coflows_like = \"coflowsim\"\nsize_scale = 0.5"), 1);
    assert_eq!(flows.iter().map(|flow| flow.bytes).collect::<Vec<_>>(), [MB, MB, MB, MB, MB / 2, MB]);
    assert!(flows.iter().all(|flow| flow.start_ps == 0));
}

#[test]
fn weights__decide_who_goes_first() {
    // Coflow 1 has 20 MB and coflow 2 has 10 MB for the same host. With four times the weight the larger one goes first.
    let trace = "4 2\n1 0 1 0 1 2:20\n2 0 1 1 1 2:10\n";
    for fidelity in ["packet", "flow"] {
        let file = FILE.replace("\"flow\"", &format!("\"{fidelity}\""));
        let first = |file: &str| {
            let (_, flows) = flows(trace, file, 1);
            flows.iter().min_by_key(|flow| flow.fct_ps).unwrap().coflow
        };
        assert_eq!(first(&file), Some(2), "{fidelity}");
        let weighed = format!("{file}[schemes.sincronia]\ncoflow_weights = \"weights.csv\"\n");
        assert_eq!(first(&weighed), Some(1), "{fidelity}");
    }
}

/// A file of the project.
fn project(path: &str) -> std::path::PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

#[test]
fn guide__has_a_first_comparison_that_runs() {
    let text = std::fs::read_to_string(project("docs/guide/coflows.md")).unwrap();
    let (_, first) = text.split_once("## A first comparison").unwrap();
    let trace: String =
        first.lines().filter_map(|line| line.strip_prefix("    ")).take(4).map(|l| format!("{l}\n")).collect();
    let (file, _) = first.split_once("```toml\n").unwrap().1.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("coflows.txt"), trace).unwrap();
    let plan = planned(file, folder.path());
    for point in &plan.points {
        let result = built_in().run(point, 1, &mut go_on, None).unwrap();
        assert_eq!(result.flows.len(), 7, "{}", point.label());
        assert!(result.flows.iter().all(|flow| flow.fct_ps.is_some()), "{}", point.label());
    }
}

#[test]
fn experiments__can_be_planned() {
    let changes = |sets: &[&str]| Changes {
        scale: flowsieve_experiment::Scale::Smoke,
        sets: sets.iter().map(|&set| set.to_owned()).collect(),
        ..Changes::default()
    };
    for name in ["coordinator", "fidelity", "levels"] {
        let path = project(&format!("papers/coflows/{name}.toml"));
        let planned = flowsieve_experiment::plan::read(&path, &changes(&[]), &built_in());
        assert!(planned.is_ok(), "{name}: {}", planned.unwrap_err());
    }
    // The trace of Facebook is not part of the project.
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.txt");
    std::fs::write(&trace, "150 1\n1 0 2 0 1 1 2:3\n").unwrap();
    let set = format!("coflows={}", trace.display());
    for (name, points) in [("facebook", 9), ("coflowsim", 8)] {
        let path = project(&format!("papers/coflows/{name}.toml"));
        let planned = flowsieve_experiment::plan::read(&path, &changes(&[&set]), &built_in());
        assert_eq!(planned.unwrap_or_else(|error| panic!("{error}")).points.len(), points);
    }
}
