//! Homa off its home ground: lossy lines, links that fail, long round trips, hosts that are far away. Each case has the
//! value that follows from the rules.

use flowsieve_engines::built_in;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_record::PointResult;
use std::path::Path;

fn planned(folder: &Path, text: &str) -> Plan {
    plan(&ExperimentText::new("homa.toml", text), folder, &Changes::default(), &built_in()).unwrap()
}

/// The runs of all points, by the name of their scheme.
fn runs(folder: &Path, text: &str, seed: u64) -> Vec<(String, PointResult)> {
    let plan = planned(folder, text);
    let run = |point| built_in().run(point, seed, &mut go_on, None).unwrap();
    plan.points.iter().map(|point| (point.variant.name.clone(), run(point))).collect()
}

fn write(folder: &Path, name: &str, lines: &[&str]) {
    std::fs::write(folder.join(name), lines.join("\n") + "\n").unwrap();
}

fn ms(result: &PointResult) -> Vec<f64> {
    result.flows.iter().map(|row| row.fct_ps.unwrap_or(u64::MAX) as f64 / 1e9).collect()
}

const LOSSY: &str = "[topology]\nkind = \"custom\"\nfile = \"links.csv\"\n[workload]\nlist = \"flows.csv\"\n[sweep]\n";

/// 10 MB over a line of 10 Gbit/s that loses a packet in a thousand.
fn lossy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "links.csv",
        &["from,to,rate,delay,loss", "host0,sw,10Gbps,1us,0", "host1,sw,10Gbps,1us,0.001"],
    );
    write(folder.path(), "flows.csv", &["start_s,src,dst,bytes", "0,host0,host1,10000000"]);
    folder
}

#[test]
fn lossy_line__all_gaps_of_a_message_take_a_silence() {
    // 6,850 packets lose seven of them. A model of the rule (a window of six packets, a silence of 5 ms, every gap asked for at
    // once) has a mean of 23.5 ms over 200 draws, and 90 % of them within 14.8 and 34.0 ms; by the first gap alone 58 ms.
    let folder = lossy();
    let text = format!("{LOSSY}scheme = [\"homa\"]\n");
    let all: Vec<f64> = (1..=20).map(|seed| ms(&runs(folder.path(), &text, seed)[0].1)[0]).collect();
    let mean = all.iter().sum::<f64>() / 20.0;
    assert!((20.0..27.0).contains(&mean), "{mean}: {all:?}");
    assert!(all.iter().all(|&ms| ms < 45.0), "{all:?}");
    // What finds losses by ACKs takes less.
    let text = format!("{LOSSY}scheme = [\"dctcp\", \"pfabric\"]\n[run]\nfct_end = \"arrival\"\n");
    for (scheme, result) in (1..=3).flat_map(|seed| runs(folder.path(), &text, seed)) {
        assert!(ms(&result)[0] < 45.0, "{scheme}: {:?}", ms(&result));
    }
}

const FABRIC: &str = r#"
[run]
parameters = "scaled"
[sweep]
scheme = ["homa", "dctcp", "pfabric"]
[topology]
kind = "leaf-spine"
leaves = 2
spines = 3
hosts_per_leaf = 4
host_link = "25Gbps"
fabric_link = "100Gbps"
host_delay = "2us"
"#;
/// One of three uplinks is down for half a millisecond.
const FAILURE: &str = r#"
reconvergence = "200us"
[[event]]
at = "400us"
link = "leaf0-spine2"
down = true
[[event]]
at = "900us"
link = "leaf0-spine2"
down = false
"#;

#[test]
fn failure__costs_a_flow_two_silences_at_most() {
    // Alone a flow of 4 MB takes 1.34 ms.
    let folder = tempfile::tempdir().unwrap();
    let flows: Vec<String> = (0..4).map(|host| format!("0,host{host},host{},4000000", host + 4)).collect();
    let lines: Vec<&str> = ["start_s,src,dst,bytes"].into_iter().chain(flows.iter().map(String::as_str)).collect();
    write(folder.path(), "flows.csv", &lines);
    let runs = runs(folder.path(), &format!("{FABRIC}{FAILURE}[workload]\nlist = \"flows.csv\"\n"), 1);
    for (scheme, result) in runs {
        assert!(result.counts["lost_at_links_that_were_down"] > 0, "{scheme}");
        assert!(ms(&result).iter().all(|&ms| ms < 12.0), "{scheme}: {:?}", ms(&result));
    }
}

#[test]
fn failure__costs_a_collective_two_silences_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let last = |events: &str, pattern: &str, sizes: &str| {
        let workload =
            format!("pattern = \"{pattern}\"\nsizes = \"fixed({sizes})\"\ncollectives = 1\ngrouping = \"apart\"\n");
        let result = &runs(folder.path(), &format!("{FABRIC}{events}[workload]\n{workload}"), 1)[0].1;
        result.flows.iter().map(|row| row.start_ps + row.fct_ps.unwrap()).max().unwrap() as f64 / 1e9
    };
    for (pattern, sizes) in [("all-reduce-ring", "8MB"), ("all-to-all-v", "1MB"), ("all-reduce-tree", "2MB")] {
        let (failing, whole) = (last(FAILURE, pattern, sizes), last("", pattern, sizes));
        assert!(
            failing > whole && failing < whole + 2.0 * 5.0 + 1.0,
            "{pattern}: {failing} ms, {whole} without a failure"
        );
    }
}

#[test]
fn rtt_bytes__follow_the_pair_of_hosts() {
    // Host 3 is 10 ms away. Hosts 0 to 2 are 4 us apart, so that two of them send 2 · 5 KB without being asked, and not 2 MB
    // each, of which a buffer of 240 packets loses most.
    let folder = tempfile::tempdir().unwrap();
    let near = |host: u32| format!("host{host},sw,10Gbps,1us");
    let lines = [near(0), near(1), near(2), "host3,sw,10Gbps,5ms".to_owned()];
    write(folder.path(), "links.csv", &lines.each_ref().map(String::as_str));
    write(
        folder.path(),
        "flows.csv",
        &["start_s,src,dst,bytes", "0,host0,host2,2000000", "0,host1,host2,2000000", "0.1,host3,host2,20000000"],
    );
    let text = format!("{LOSSY}scheme = [\"homa\"]\n[transport]\nresend_after = \"50ms\"\n");
    let result = &runs(folder.path(), &text, 1)[0].1;
    let rows = &result.flows;
    assert_eq!(result.retransmissions, 0);
    // Two messages of 1,370 packets of 1.2 us, one after the other.
    let last = rows[..2].iter().map(|row| row.fct_ps.unwrap()).max().unwrap();
    assert!((3.28e9..3.32e9).contains(&(last as f64)), "{last}");
    // Alone, each pair has a round trip's worth: no message waits for a grant.
    assert_eq!(rows[2].fct_ps, Some(rows[2].ideal_ps));
}

#[test]
fn scaled__goes_by_round_trips_with_serialisation_where_nothing_has_a_delay() {
    // Three messages of 685 packets of 1.2 us to one host, shortest time left first: one after the other, as under `ns2`. A port
    // holds more than one packet, and no packet is asked for that waits behind another message.
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "flows.csv", &["start_s,src,dst,bytes", "0,0,3,1000000", "0,1,3,1000000", "0,2,3,1000000"]);
    let fabric =
        "kind = \"single-switch\"\nhosts = 4\nhost_link = \"10Gbps\"\nlink_delay = \"0us\"\nhost_delay = \"0us\"\n";
    for set in ["ns2", "scaled"] {
        let text = format!(
            "[topology]\n{fabric}[workload]\nlist = \"flows.csv\"\n[run]\nparameters = \"{set}\"\nfct_end = \"arrival\"\n\
             [sweep]\nscheme = [\"homa\", \"dctcp\", \"pfabric\"]\n"
        );
        for (scheme, result) in runs(folder.path(), &text, 1) {
            let mut ends = ms(&result);
            ends.sort_by(f64::total_cmp);
            assert!((2.46..2.49).contains(&ends[2]), "{set}, {scheme}: {ends:?}");
            if scheme == "homa" {
                assert!((0.82..0.84).contains(&ends[0]) && (1.64..1.66).contains(&ends[1]), "{set}: {ends:?}");
                assert_eq!(result.retransmissions, 0, "{set}");
            }
        }
    }
}

const FAR: &str = r#"
[topology]
kind = "single-switch"
hosts = 2
host_link = "1Gbps"
rtt = "150ms"
[workload]
list = "flows.csv"
[sweep]
scheme = ["homa"]
[transport]
rtt_bytes = "100KB"
"#;

#[test]
fn round_trip__that_is_longer_than_all_attempts_is_said_before_and_after() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "flows.csv", &["start_s,src,dst,bytes", "0,0,1,20000", "0,0,1,2000000"]);
    let warnings = planned(folder.path(), FAR).warnings;
    let said =
        |words: &str| warnings.iter().find(|text| text.contains(words)).unwrap_or_else(|| panic!("{warnings:#?}"));
    assert!(said("`resend_after` = 5ms").contains("messages are given up although nothing is lost"));
    assert!(said("`resend_after` = 5ms").contains("try resend_after = \"460ms\""), "{warnings:#?}");
    assert!(said("`rtt_bytes` = 100KB").contains("does not fill its path"));
    let result = &runs(folder.path(), FAR, 1)[0].1;
    // The short message has arrived, whatever its sender knows of it.
    assert_eq!(result.flows.iter().map(|row| row.given_up).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(result.counts["given_up"], 1);
    assert!(result.warnings.iter().any(|text| text.starts_with("1 flow was given up: ")), "{:?}", result.warnings);
    // The table after the run and `doctor` say so, and do not advise more time.
    let how = How { jobs: 1, threads: None, fresh: true, replace: false };
    let two = FAR.replace("[\"homa\"]", "[\"dctcp\", \"homa\"]");
    let dir = execute(&planned(folder.path(), &two), &built_in(), &folder.path().join("out"), how, &go_on).unwrap();
    let layout = flowsieve_report::Layout::new(&dir.manifest().experiment, None).unwrap();
    let table = flowsieve_report::table(&dir, &layout, false);
    assert!(table.contains("1 flow was given up") && table.contains("1 given up"), "{table}");
    let findings = dir.findings();
    let found = findings.iter().find(|found| found.text.starts_with("flows were given up: ")).unwrap();
    assert!(found.remedy.contains("`resend_after`"), "{}", found.remedy);
    assert!(findings.iter().all(|found| !found.remedy.contains("max_time")), "{findings:#?}");
    // 100 KB a round trip: 20 of them.
    let result = &runs(folder.path(), &format!("{FAR}resend_after = \"460ms\"\n"), 1)[0].1;
    assert_eq!((result.counts.get("given_up"), result.retransmissions), (None, 0));
    assert!((2.9e3..3.1e3).contains(&ms(result)[1]), "{:?}", ms(result));
}

#[test]
fn timers__that_end_before_a_packet_has_left_are_refused() {
    let folder = lossy();
    for (scheme, set, key) in
        [("homa", "ns2", "resend_after"), ("dctcp", "rfc", "initial_rto"), ("dctcp", "ns2", "rto_min")]
    {
        let text =
            format!("{LOSSY}scheme = [\"{scheme}\"]\n[run]\nparameters = \"{set}\"\n[transport]\n{key} = \"1ps\"\n");
        let refused = plan_of(&ExperimentText::new("homa.toml", &text), folder.path()).unwrap_err().to_string();
        let words = ["a timeout of 1 ps is shorter than a full packet takes on a host's link", "expected at least 1.2"];
        assert!(words.iter().all(|words| refused.contains(words)), "{refused}");
    }
}

#[test]
fn collective__of_fewer_bytes_than_its_group_has_hosts_is_refused() {
    let of = |bytes: u32| {
        let text = format!(
            "[topology]\nkind = \"single-switch\"\nhosts = 10\n[sweep]\nscheme = [\"dctcp\"]\n\
             [workload]\npattern = \"all-reduce-ring\"\ncollectives = 1\nsizes = \"fixed({bytes}B)\"\n"
        );
        plan_of(&ExperimentText::new("tiny.toml", &text), Path::new(""))
    };
    let refused = of(9).unwrap_err().to_string();
    assert!(refused.contains("a vector of 9 bytes cannot be cut into 10 chunks"), "{refused}");
    assert!(refused.contains("expected at least 10 bytes"), "{refused}");
    assert!(of(10).unwrap().warnings[0].contains("a collective goes on when a message has arrived"));
}

#[test]
fn fct_end__follows_for_all_from_a_scheme_without_acks() {
    let folder = lossy();
    let text = format!("{LOSSY}scheme = [\"dctcp\", \"homa\"]\n");
    let plan = planned(folder.path(), &text);
    let ends: Vec<&str> = plan.experiment.points.iter().map(|point| point.settings["run.fct_end"].as_str()).collect();
    assert_eq!(ends, ["arrival"; 2]);
    let lines: Vec<&String> = plan.warnings.iter().filter(|text| text.starts_with("fct_end = \"arrival\": ")).collect();
    assert!(lines.len() == 1 && lines[0].contains("`homa` has no ACKs"), "{:#?}", plan.warnings);
    // The same runs as where it is given, and nothing is said then.
    let given = planned(folder.path(), &format!("{text}[run]\nfct_end = \"arrival\"\n"));
    let keys = |plan: &Plan| plan.runs.iter().map(|run| run.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&plan), keys(&given));
    assert!(!given.warnings.iter().any(|text| text.contains("has no ACKs")));
    // Without Homa it is as before; an end with ACKs is refused.
    let alone = planned(folder.path(), &text.replace(", \"homa\"", ""));
    assert_eq!(alone.experiment.points[0].settings["run.fct_end"], "ack");
    let refused = ExperimentText::new("homa.toml", &format!("{text}[run]\nfct_end = \"ack\"\n"));
    let refused = plan_of(&refused, folder.path()).unwrap_err().to_string();
    assert!(refused.contains("`homa` has no ACKs") && refused.contains("expected fct_end = \"arrival\""), "{refused}");
}

fn plan_of(text: &ExperimentText, folder: &Path) -> Result<Plan, flowsieve_experiment::Error> {
    plan(text, folder, &Changes::default(), &built_in())
}
