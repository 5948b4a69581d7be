//! Settings that other settings defeat: each is said when the run is planned, with a number that would do, and the number does.

use flowsieve_engines::built_in;
use flowsieve_experiment::ExperimentText;
use flowsieve_experiment::engine::go_on;
use flowsieve_experiment::execute::{How, execute};
use flowsieve_experiment::plan::{Changes, Plan, plan};
use flowsieve_record::FlowRow;
use flowsieve_report as report;
use flowsieve_results::ResultDir;
use std::path::Path;

/// A flow alone between two hosts of one switch.
struct Alone<'a> {
    bytes: u64,
    topology: &'a str,
    scheme: &'a str,
    /// Further tables.
    rest: &'a str,
}

impl Alone<'_> {
    fn planned(&self, folder: &Path) -> Plan {
        std::fs::write(folder.join("flows.csv"), format!("start_s,src,dst,bytes\n0,host0,host1,{}\n", self.bytes))
            .unwrap();
        let Alone { topology, scheme, rest, .. } = self;
        let text = format!(
            "[topology]\n{topology}\n[workload]\nlist = \"flows.csv\"\n[sweep]\nscheme = [\"{scheme}\"]\n{rest}\n"
        );
        plan(&ExperimentText::new("alone.toml", &text), folder, &Changes::default(), &built_in()).unwrap()
    }

    fn findings(&self) -> Vec<String> {
        self.planned(tempfile::tempdir().unwrap().path()).warnings
    }

    fn result(&self, folder: &Path) -> ResultDir {
        let how = How { jobs: 1, threads: None, fresh: true, replace: false };
        execute(&self.planned(folder), &built_in(), &folder.join("out"), how, &go_on).unwrap()
    }

    /// What the result warns of.
    fn warnings(&self) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        self.result(folder.path()).warnings().into_iter().map(|warning| warning.text).collect()
    }

    /// Slowdown and timeouts of the flow.
    fn run(&self) -> (f64, u32) {
        let folder = tempfile::tempdir().unwrap();
        let result = self.result(folder.path());
        let mut row = None;
        result.for_each_run(|_, mut flows| row = Some(flows.remove(0))).unwrap();
        let row = row.unwrap();
        (row.slowdown().unwrap(), row.timeouts)
    }
}

/// The value that a finding says would do for a key.
fn would_do(finding: &str, key: &str) -> String {
    let (_, rest) = finding.rsplit_once(&format!(" {key} = ")).unwrap_or_else(|| panic!("no {key} in {finding}"));
    rest.split([' ', ',', ';']).next().unwrap().trim_matches('"').to_owned()
}

/// The only finding, which is about these words.
fn only(findings: &[String], words: &[&str]) -> String {
    let [finding] = findings else { panic!("{findings:#?}") };
    assert!(words.iter().all(|word| finding.contains(word)), "{words:?} in {finding}");
    finding.clone()
}

const RACK: &str = "kind = \"single-switch\"\nhosts = 4";

#[test]
fn defeats__a_constant_timer_below_the_base_round_trip() {
    let topology = format!("{RACK}\nrtt = \"300us\"");
    let alone = |rest| Alone { bytes: 1_000_000, topology: &topology, scheme: "pfabric", rest };
    let findings = alone("").findings();
    let finding = findings.iter().find(|text| text.contains("rto_min")).unwrap_or_else(|| panic!("{findings:#?}"));
    assert!(finding.contains("`rto_min` = 250us") && finding.contains("302.464us"), "{finding}");
    let (slowdown, timeouts) = alone("").run();
    assert!(slowdown > 50.0 && timeouts > 200, "{slowdown} {timeouts}");
    let in_vain = |text: &String| text.contains("no packet was lost: packets in flight were sent again");
    assert!(alone("").warnings().iter().any(in_vain));

    let number = would_do(finding, "rto_min");
    let mended = format!("[transport]\nrto_min = \"{number}\"\n");
    assert!(alone(&mended).findings().iter().all(|text| !text.contains("rto_min")));
    let (slowdown, timeouts) = alone(&mended).run();
    assert!((slowdown - 1.68).abs() < 0.02, "{slowdown} with {number}");
    assert_eq!(timeouts, 0);
}

#[test]
fn defeats__one_long_link_of_an_edge_list() {
    let folder = tempfile::tempdir().unwrap();
    let list = |far: &str| {
        let text =
            format!("host0,tor0,10Gbps,20us\nhost1,tor0,10Gbps,20us\nhost2,tor1,10Gbps,20us\ntor0,tor1,40Gbps,{far}\n");
        std::fs::write(folder.path().join("edges.csv"), text).unwrap();
        let topology = "kind = \"custom\"\nfile = \"edges.csv\"";
        Alone { bytes: 1_000, topology, scheme: "dctcp", rest: "" }.planned(folder.path())
    };
    assert_eq!(list("1us").warnings, [""; 0]);
    let findings = list("1ms").warnings;
    let finding =
        findings.iter().find(|text| text.contains("`rto_min` = 2ms")).unwrap_or_else(|| panic!("{findings:#?}"));
    assert!(finding.contains("host2"), "{finding}");
    // 2.08 ms of propagation, and some microseconds of serialisation.
    assert!(finding.contains("2.08"), "{finding}");
    assert_eq!(would_do(finding, "rto_min"), "6.3ms");
}

#[test]
fn defeats__dctcp_at_40_ms_and_100_gbps() {
    let topology = format!("{RACK}\nhost_link = \"100Gbps\"\nrtt = \"40ms\"");
    let findings = Alone { bytes: 1_000, topology: &topology, scheme: "dctcp", rest: "" }.findings();
    for key in ["`rto_min`", "`max_window`", "`ecn_threshold`"] {
        assert_eq!(findings.iter().filter(|text| text.contains(key)).count(), 1, "{key} in {findings:#?}");
    }
}

#[test]
fn defeats__a_window_below_rate_times_round_trip() {
    let rest = |window: &str| {
        format!("[run]\nparameters = \"ns2\"\n[network]\necn_threshold = \"4MB\"\nbuffer = \"16MB\"\n{window}")
    };
    let topology = format!("{RACK}\nhost_link = \"400Gbps\"\nrtt = \"80us\"");
    let narrow = rest("[transport]\nmax_window = 239\n");
    let alone = |rest| Alone { bytes: 100_000_000, topology: &topology, scheme: "dctcp", rest };
    let finding = only(&alone(&narrow).findings(), &["`max_window` = 239 packets", "400Gbps"]);
    let (slowdown, timeouts) = alone(&narrow).run();
    assert!(slowdown > 8.0 && timeouts == 0, "{slowdown}: 25 ms where 2 ms would do");

    let number = would_do(&finding, "max_window");
    let wide = rest(&format!("[transport]\nmax_window = {number}\n"));
    assert_eq!(alone(&wide).findings(), [""; 0]);
    let (slowdown, timeouts) = alone(&wide).run();
    assert!(slowdown < 1.5 && timeouts == 0, "{slowdown} with {number}");

    // The receiver's window does the same. 239 packets of 1,500 B are 245 segments.
    let with = |room: &str| rest(&format!("[transport]\nmax_window = {number}\nreceive_window = \"{room}\"\n"));
    let small = with("239pkt");
    let finding = only(&alone(&small).findings(), &["`receive_window` = 245 packets", "400Gbps"]);
    let large = with(&would_do(&finding, "receive_window"));
    assert_eq!(alone(&large).findings(), [""; 0]);
}

#[test]
fn defeats__a_threshold_that_no_queue_comes_to() {
    let topology = format!("{RACK}\nrtt = \"80us\"");
    let of = |rest: &str| Alone { bytes: 1_000, topology: &topology, scheme: "dctcp", rest }.findings();
    let finding = only(
        &of("[network]\nbuffer = \"100pkt\"\necn_threshold = \"100pkt\"\n"),
        &["`ecn_threshold` = 150KB", "leaves"],
    );
    assert_eq!(would_do(&finding, "ecn_threshold"), "97.5KB");
    assert_eq!(of("[network]\nbuffer = \"100pkt\"\necn_threshold = \"97.5KB\"\n"), [""; 0]);
    // A threshold of 65 packets in a buffer of 50: the buffer has to grow.
    let finding = only(&of("[network]\nbuffer = \"50pkt\"\n"), &["`ecn_threshold` = 97.5KB"]);
    assert_eq!(would_do(&finding, "buffer"), "360KB");
    let red = "[network]\nmarking = \"red\"\nbuffer = \"100pkt\"\nred_min = \"150KB\"\nred_max = \"300KB\"\n";
    let finding = only(&of(red), &["`red_min` = 150KB"]);
    assert_eq!(would_do(&finding, "red_min"), "97.5KB");
    // Each of eight queues holds 30 packets, and together they reach 65.
    let queues = "[network]\nadmission = \"per-queue\"\nbuffer = \"30pkt\"\ndiscipline = \"sp\"\nqueues = 8\n";
    assert_eq!(of(queues), [""; 0]);
    only(&of(&format!("{queues}marking = \"per-queue\"\n")), &["`ecn_threshold` = 97.5KB", "45KB"]);
}

#[test]
fn defeats__numbers_for_10_gbps_at_100_and_scaled_ones() {
    let topology = format!("{RACK}\nhost_link = \"100Gbps\"\nrtt = \"80us\"");
    let of = |scheme, set: &str| {
        let rest = format!("[run]\nparameters = \"{set}\"\n");
        Alone { bytes: 100_000_000, topology: &topology, scheme, rest: &rest }.findings()
    };
    let keys = |findings: &[String]| -> Vec<bool> {
        ["max_window", "ecn_threshold", "buffer"]
            .map(|key| findings.iter().any(|text| text.starts_with(&format!("`{key}` "))))
            .to_vec()
    };
    // The points of a sweep have their labels before a sentence; one point alone, too.
    let bare = |findings: Vec<String>| -> Vec<String> {
        findings
            .into_iter()
            .map(|text| text.split_once(": ").map_or(text.clone(), |(_, rest)| rest.to_owned()))
            .collect()
    };
    assert_eq!(keys(&bare(of("dctcp", "ns2"))), [true, true, false]);
    // A flow alone has no queue where all links are alike, so no buffer is too small for it.
    assert_eq!(keys(&bare(of("pfabric", "ns2"))), [true, false, false]);
    for scheme in ["dctcp", "pias", "pfabric"] {
        assert_eq!(of(scheme, "scaled"), [""; 0], "{scheme}");
    }
    let times = "message_gap 5us, pda_gap 30us, weight_half_life 1ms, weight_period 10us";
    let said = format!("times that are stated for other links are scaled to 100Gbps (`scale_times`): {times}");
    assert_eq!(bare(of("qc-las", "scaled")), [said]);
    let rest = "[run]\nparameters = \"scaled\"\n";
    let (slowdown, timeouts) = Alone { bytes: 100_000_000, topology: &topology, scheme: "dctcp", rest }.run();
    assert!(slowdown < 1.1 && timeouts == 0, "{slowdown}");
}

#[test]
fn defeats__a_window_that_a_hosts_own_port_does_not_hold() {
    let topology = format!("{RACK}\nrtt = \"80us\"");
    let of = |rest: &str| Alone { bytes: 1_000, topology: &topology, scheme: "pfabric", rest }.findings();
    let finding =
        only(&of("[network]\nnic = \"scheme\"\n[transport]\nmax_window = 300\n"), &["`max_window` = 300", "210KB"]);
    assert_eq!(would_do(&finding, "nic"), "backpressure");
    assert_eq!(would_do(&finding, "max_window"), "208", "140 in the port and 68 on the way");
    assert_eq!(of("[transport]\nmax_window = 300\n"), [""; 0]);
    assert_eq!(of("[network]\nnic = \"scheme\"\n[transport]\nmax_window = 208\n"), [""; 0]);
    assert_eq!(of("[network]\nnic = \"scheme\"\n"), [""; 0]);
}

#[test]
fn defeats__held_acks_and_first_timers() {
    let topology = format!("{RACK}\nrtt = \"80us\"");
    let of = |rest: &str| Alone { bytes: 1_000, topology: &topology, scheme: "dctcp", rest }.findings();
    let finding = only(
        &of("[run]\nparameters = \"rfc\"\n[transport]\nrto_min = \"500us\"\n"),
        &["`rto_min` = 500us", "`delayed_ack` = 1ms"],
    );
    assert_eq!(would_do(&finding, "rto_min"), "1.1ms");
    let finding =
        only(&of("[run]\nparameters = \"rfc\"\n[transport]\ninitial_rto = \"50us\"\n"), &["`initial_rto` = 50us"]);
    assert_eq!(would_do(&finding, "initial_rto"), "250us");
    // The ACK of a first window is held back only where the window is smaller than what the receiver waits for.
    assert_eq!(of("[run]\nparameters = \"rfc\"\n[transport]\ninitial_rto = \"1ms\"\n"), [""; 0]);
    let findings = of("[run]\nparameters = \"rfc\"\n[transport]\ninitial_rto = \"1ms\"\ninitial_window = 1\n");
    let finding = findings.iter().find(|text| text.contains("`initial_rto` = 1ms")).unwrap();
    assert!(finding.contains("`delayed_ack` = 1ms"), "{finding}");
    assert_eq!(would_do(finding, "initial_rto"), "1.1ms");
    assert_eq!(of("[run]\nparameters = \"rfc\"\n"), [""; 0]);
}

#[test]
fn plan__tells_the_base_round_trips() {
    let folder = tempfile::tempdir().unwrap();
    let topology = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2";
    let planned = Alone { bytes: 1_000, topology, scheme: "dctcp", rest: "" }.planned(folder.path());
    let text = planned.listing().text();
    // Within a rack 80.8 us and 1,540 bytes over 10 Gbit/s twice; between racks 81.6 us and two links of 40 Gbit/s besides.
    let line = "base round trip, a full packet and its answer: 83.264us over 2 links, 84.68us\n  over 4 links\n";
    assert!(text.contains(line), "{text}");
    assert_eq!(planned.round_trips.len(), 1);
}

const WAITING: &str = r#"
[topology]
kind = "single-switch"
hosts = 4
rtt = "80us"
[[topology.link]]
between = ["switch0", "host0"]
loss = 0.002
[workload]
sizes = "fixed(5KB)"
load = 0.2
flows = 4000
[sweep]
scheme = ["dctcp"]
[run]
parameters = "rfc"
[transport]
connections = "per-flow"
handshake = "always"
"#;

fn result(text: &str, folder: &Path) -> ResultDir {
    let planned = plan(&ExperimentText::new("waiting.toml", text), folder, &Changes::default(), &built_in()).unwrap();
    let how = How { jobs: 1, threads: None, fresh: true, replace: false };
    execute(&planned, &built_in(), &folder.join("out"), how, &go_on).unwrap()
}

/// How many flows waited, and for how long at least and at most, in µs.
fn waits(result: &ResultDir) -> (usize, Option<(u32, u32)>) {
    let mut waits = Vec::new();
    let of = |flows: &[FlowRow]| flows.iter().map(|row| row.unanswered_us).filter(|&us| us > 0).collect::<Vec<_>>();
    result.for_each_run(|_, flows| waits.extend(of(&flows))).unwrap();
    let ends = waits.iter().min().zip(waits.iter().max()).map(|(least, most)| (*least, *most));
    (waits.len(), ends)
}

#[test]
fn first_answers__a_few_flows_that_waited_for_a_second_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let rfc = result(WAITING, folder.path());
    let (flows, ends) = waits(&rfc);
    assert!(flows > 2 && flows < 40, "{flows}");
    assert_eq!(ends.map(|(least, _)| least), Some(1_000_000));
    let said: Vec<_> = rfc.warnings().into_iter().filter(|found| found.text.contains("for a first answer")).collect();
    assert!(!said.is_empty(), "{:?}", rfc.findings());
    assert!(said[0].text.starts_with(&format!("{flows} flows waited 1 s")), "{}", said[0].text);

    // The same flows where the timer knows the network from the start, and where it was told.
    for (which, wait_us) in
        [("connections = \"warm\"", None), ("initial_rto = \"3ms\"\nconnections = \"per-flow\"", Some(3_000))]
    {
        let folder = tempfile::tempdir().unwrap();
        let mended = result(&WAITING.replace("connections = \"per-flow\"", which), folder.path());
        assert_eq!(waits(&mended).1.map(|(least, _)| least), wait_us, "{which}");
        assert!(mended.findings().iter().all(|found| !found.text.contains("for a first answer")), "{which}");
    }
}

#[test]
fn first_answers__stand_where_results_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let swept = WAITING.replace(
        "scheme = [\"dctcp\"]",
        "scheme = [\"dctcp\", \"pias\"]\n[schemes.pias]\nthresholds = [\"20KB\"]\nqueues = 2",
    );
    let result = result(&swept, folder.path());
    let compared = report::compared(&result, None, None).unwrap();
    let text = compared[0].text(false);
    assert!(text.contains("dctcp: ") && text.contains("for a first answer; they make up"), "{text}");
}

#[test]
fn defeats__an_order_of_hosts_by_tags_that_rank_nothing() {
    let found = |scheme, order: &str| {
        Alone { bytes: 1_000, topology: RACK, scheme, rest: &format!("[network]\nnic_order = \"{order}\"") }.findings()
    };
    only(&found("dctcp", "tag"), &["hosts of `dctcp` write no tags", "nic_order = \"turns\""]);
    only(&found("dctcp", "tag, then age"), &["are ordered by age alone"]);
    only(&found("qc-las", "tag"), &["hosts of `qc-las` write no tags"]);
    assert_eq!(found("pias", "tag"), [""; 0]);
    assert_eq!(found("dctcp", "turns"), [""; 0]);
}
