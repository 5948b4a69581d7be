//! The flow level through experiment files: what comes of a small trace, and the same bytes again.

use flowsieve_experiment::engine::go_on;
use std::fmt::Write;
use std::path::Path;

use crate::common::bytes;
use flowsieve_engines::built_in;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_record::PointResult;

/// Four hosts in two racks, two spines between them. MB of 2^20 bytes; coflow 3 has a flow from a host to itself.
const TRACE: &str =
    "4 4\n0 0 2 1 2 1 2 2 0 2 3\n1 1 4 2 2 0 2 1 0 3 2 1 2 1 1 3 4\n2 2 1 1 1 3 2 1\n3 2 2 1 2 2 2 1 2 0 1\n";

const FILE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = "10Gbps"
fabric_link = "5Gbps"
[workload]
coflows = "coflows.txt"
[sweep]
load_balancing = ["ecmp", "spray"]
scheme = ["dctcp", "sebf", "sincronia", "varys", "aalo", "per-flow-fair", "per-flow-priority"]
[run]
fidelity = "flow"
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("coflows.txt"), TRACE).unwrap();
    folder
}

fn planned(text: &str, folder: &Path) -> Plan {
    let plan = plan(&ExperimentText::new("test.toml", text), folder, &Changes::default(), &built_in());
    plan.unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn results(text: &str) -> Vec<(String, PointResult)> {
    let folder = folder();
    let plan = planned(text, folder.path());
    let run = |point| built_in().run(point, 1, &mut go_on, None).unwrap();
    plan.points.iter().map(|point| (point.label(), run(point))).collect()
}

#[test]
fn ends__of_a_small_trace() {
    let mut all = String::new();
    for (label, result) in results(FILE) {
        let _ = writeln!(all, "## {label}: {} steps", result.events);
        for row in &result.flows {
            let (end, by_rates) = (row.start_ps + row.fct_ps.unwrap(), row.start_ps + row.rates_only_ps.unwrap());
            let (coflow, src, dst, ideal) = (row.coflow.unwrap(), row.src, row.dst, row.ideal_ps);
            let _ = writeln!(all, "coflow {coflow}, {src} to {dst}: {by_rates} ps; as packets {end}, alone in {ideal}");
            assert!(row.fct_ps.unwrap() >= row.ideal_ps && end > by_rates, "{label}");
        }
        for class in &result.links {
            assert!(class.utilisation <= 1.0 + 1e-9, "{label}: {class:?}");
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn own_rack__is_kept_over_both_links_of_its_host() {
    let kept = FILE.replace("[sweep]", "own_rack = \"keep\"\n[sweep]");
    for ((_, dropped), (label, kept)) in results(FILE).into_iter().zip(results(&kept)) {
        assert_eq!((dropped.flows.len(), kept.flows.len()), (8, 9), "{label}");
        let own = kept.flows.iter().find(|row| row.src == row.dst).unwrap();
        // 2^20 bytes in 719 packets of 1460 bytes with 40 of headers, at 10 Gbit/s.
        let by_rates = (1 << 20) * 800 + 719 * 40 * 800;
        // A packet more on the second link, and an ACK of 40 bytes back; at each link 0.2 us, and 20 us at either host.
        let of_packets = 1_200_000 + 2 * 32_000 + 4 * 20_200_000;
        assert_eq!((own.src, own.ideal_ps), (2, by_rates + of_packets), "{label}");
    }
}

#[test]
fn results__are_the_same_bytes_again_and_say_their_fidelity() {
    let folder = folder();
    let plan = planned(FILE, folder.path());
    let run = |name: &str, jobs| {
        let out = folder.path().join(name);
        execute(&plan, &built_in(), &out, How { jobs, threads: None, fresh: false, replace: false }, &go_on).unwrap();
        bytes(&out)
    };
    let (one, two) = (run("one", 1), run("two", 2));
    assert_eq!(one, two);
    let manifest = String::from_utf8(one["manifest.json"].clone()).unwrap();
    assert!(manifest.contains("\"run.fidelity\": \"flow\""), "{manifest}");
    assert!(one.contains_key("coflows.parquet") && one.contains_key("summary.csv"), "{:?}", one.keys());
}

/// A link of 10 Gbit/s takes 1.2 us for 1,500 bytes, whatever the level. The way of packets is added to that.
#[test]
fn one_flow__takes_as_long_as_its_packets() {
    let file = FILE
        .replace("coflows = \"coflows.txt\"", "list = \"one.csv\"")
        .replace("load_balancing = [\"ecmp\", \"spray\"]", "fidelity = [\"packet\", \"flow\"]")
        .replace(
            "[\"dctcp\", \"sebf\", \"sincronia\", \"varys\", \"aalo\", \"per-flow-fair\", \"per-flow-priority\"]",
            "[\"ps\"]",
        )
        .replace("fidelity = \"flow\"\n", "fct_end = \"arrival\"\n");
    let folder = folder();
    std::fs::write(folder.path().join("one.csv"), "0,0,1,14600000\n").unwrap();
    let plan = planned(&file, folder.path());
    let times = |point| {
        let result = built_in().run(point, 1, &mut go_on, None).unwrap();
        let row = &result.flows[0];
        (row.fct_ps.unwrap(), row.ideal_ps, row.rates_only_ps)
    };
    let [(packet, ideal, none), (flow, same, by_rates)] = [0, 1].map(|index| times(&plan.points[index]));
    assert_eq!((none, by_rates), (None, Some(10_000 * 1_200_000)));
    // A packet more on the second link, two propagations of 0.2 us, and 20 us at either host.
    assert_eq!(flow, 10_000 * 1_200_000 + 1_200_000 + 2 * 200_000 + 2 * 20_000_000);
    assert_eq!((packet, ideal), (flow, same));
}
