//! What a right conversion of each sample holds: hosts, flows, bytes, starts, links, points and means.

use flowsieve_workload::convert::{
    ConvertError, Kind, Notes, Options, Outcome, Role, SizeUnit, Source, TimeUnit, Topology, What, convert, detected,
    format,
};
use std::collections::BTreeMap;

/// The text of a sample.
fn text(name: &str) -> String {
    let path = format!("{}/tests/samples/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Converts a sample with the file that stands next to it, by detection unless a format is named.
fn converted(
    name: &str,
    from: Option<&str>,
    options: Options<'_>,
    with: Option<&str>,
) -> Result<Outcome, ConvertError> {
    let (text, beside) = (text(name), with.map(text));
    let source = Source { name, text: &text };
    let with = with.zip(beside.as_deref()).map(|(name, text)| Source { name, text });
    let format = match from {
        Some(from) => format(from).expect("a format"),
        None => detected(&source)?,
    };
    convert(&source, format, &Options { with, ..options })
}

const PLAIN: Options<'static> = Options {
    size_unit: None,
    time_unit: None,
    shift_start: false,
    with: None,
    hosts_first: false,
    leave_out: false,
    sampled: None,
};
const HOSTS_FIRST: Options<'static> = Options { hosts_first: true, ..PLAIN };

const fn packets(payload: u32) -> Options<'static> {
    Options { size_unit: Some(SizeUnit::Packets(payload)), ..PLAIN }
}

const fn time(unit: TimeUnit) -> Options<'static> {
    Options { time_unit: Some(unit), ..PLAIN }
}

const BYTES: Options<'static> = Options { size_unit: Some(SizeUnit::Bytes), ..PLAIN };

fn said(notes: &Notes, what: &str) -> bool {
    notes.all().iter().any(|note| note.contains(what))
}

/// A flow list: the format that is found, total bytes, and by flow its source, destination and start in ns.
struct FlowCase {
    file: &'static str,
    /// Where the contents do not tell.
    from: Option<&'static str>,
    options: Options<'static>,
    with: Option<&'static str>,
    format: &'static str,
    bytes: u64,
    flows: &'static [(u32, u32, u64)],
    /// What has to be said.
    says: &'static [&'static str],
}

#[rustfmt::skip]
const FLOWS: &[FlowCase] = &[
    FlowCase {
        file: "hpcc-flows.txt", from: None, options: PLAIN, with: Some("hpcc-topology.txt"), format: "hpcc", bytes: 271_501,
        // Nodes 2 to 6 are hosts 0 to 4.
        flows: &[(3, 0, 2_000_000_000), (0, 4, 2_000_012_500), (4, 3, 2_000_012_500), (1, 2, 2_001_000_007)],
        says: &["priority groups and ports of 4 flows"],
    },
    FlowCase {
        file: "conweave-flows.txt", from: None, options: HOSTS_FIRST, with: None, format: "conweave", bytes: 154_097,
        flows: &[(0, 2, 2_000_000_100), (1, 3, 2_000_000_200), (2, 0, 2_000_350_000)],
        says: &["1 sizes of 0 become 1 byte"],
    },
    FlowCase {
        file: "ns3-rdma-flows.txt", from: None, options: Options { hosts_first: true, ..packets(1_000) }, with: None,
        format: "ns3-rdma", bytes: 712_000, flows: &[(2, 1, 2_000_000_000), (3, 1, 2_500_000_000)],
        says: &["2 stop times are not carried over", "1 lines after the promised records are not read", "packets of 1000 B"],
    },
    FlowCase {
        file: "parsimon-flows.txt", from: None, options: HOSTS_FIRST, with: None, format: "parsimon", bytes: 67_769,
        flows: &[(0, 3, 1_000_000_000), (2, 1, 1_000_000_750), (3, 0, 1_000_001_000)],
        says: &["the stop time 1.500000 s at the end is not carried over"],
    },
    FlowCase {
        file: "parsimon-flows.json", from: None, options: HOSTS_FIRST, with: None, format: "parsimon-json", bytes: 67_769,
        flows: &[(0, 3, 1_000_000_000), (2, 1, 1_000_000_750), (3, 0, 1_000_001_000)], says: &[],
    },
    FlowCase {
        file: "htsim.cm", from: None, options: Options { leave_out: true, ..time(TimeUnit::Ps) }, with: None,
        format: "htsim", bytes: 2_130_000, flows: &[(0, 4, 0), (1, 5, 2_500), (2, 6, 1_000_000)],
        says: &["left out: 1 flows that wait for a trigger", "1 priorities are not carried over"],
    },
    FlowCase {
        file: "htsim-us.cm", from: None, options: time(TimeUnit::Us), with: None, format: "htsim", bytes: 65_500,
        flows: &[(3, 1, 0), (0, 4, 12_500), (7, 2, 250_000)], says: &[],
    },
    FlowCase {
        file: "opera-flows.htsim", from: Some("opera"), options: time(TimeUnit::Ns), with: None, format: "opera", bytes: 102_400,
        flows: &[(12, 3, 0), (3, 12, 2_500), (7, 1, 2_501)], says: &[],
    },
    FlowCase {
        file: "yaps-trace.txt", from: None, options: PLAIN, with: None, format: "yaps-trace", bytes: 1_027_840,
        flows: &[(5, 17, 1_000_000_000), (17, 5, 1_000_012_500), (143, 0, 1_000_020_000)], says: &["packets of 1460 B"],
    },
    FlowCase {
        file: "netbench-flows.csv", from: None, options: PLAIN, with: Some("netbench.topology"), format: "netbench-log", bytes: 153_000,
        // Nodes 0 and 2 are the hosts.
        flows: &[(0, 1, 0), (1, 0, 1_500), (0, 1, 1_999_000)], says: &["1 flows had not finished"],
    },
    FlowCase {
        file: "netbench.properties", from: None, options: PLAIN, with: Some("netbench.topology"), format: "netbench", bytes: 103_000,
        flows: &[(0, 1, 0), (1, 0, 1_500)], says: &["13 other keys"],
    },
    FlowCase {
        file: "homa-trace.txt", from: Some("homa-trace"), options: PLAIN, with: None, format: "homa-trace", bytes: 405_500,
        flows: &[(1, 0, 1_000), (2, 0, 3_000), (1, 3, 6_000), (2, 1, 6_500)], says: &[],
    },
    FlowCase {
        file: "coflow-fb.txt", from: None, options: PLAIN, with: None, format: "coflow", bytes: 7_864_320,
        flows: &[(2, 5, 0), (0, 3, 150_000_000), (0, 1, 150_000_000), (1, 3, 150_000_000), (0, 4, 2_048_000_000),
                 (1, 4, 2_048_000_000), (2, 4, 2_048_000_000)],
        says: &["1 flows of 1572864 B from a port to itself", "3 coflows between 6 ports"],
    },
    FlowCase {
        file: "coflow-sincronia.txt", from: None, options: PLAIN, with: None, format: "coflow", bytes: 15_728_640,
        flows: &[(3, 2, 5_000_000), (0, 2, 5_000_000), (1, 3, 166_000_000)], says: &["2 coflows between 4 ports"],
    },
];

#[test]
fn convert__flow_lists_hold_what_the_samples_say() {
    for case in FLOWS {
        let file = case.file;
        let outcome = converted(file, case.from, case.options, case.with).unwrap_or_else(|error| panic!("{error}"));
        let What::Flows(list) = &outcome.what else { panic!("{file}: {:?}", outcome.what) };
        assert_eq!((outcome.format, list.total_bytes()), (case.format, case.bytes), "{file}");
        let mut flows: Vec<_> = list.flows.iter().map(|flow| (flow.start_ps, flow.src, flow.dst)).collect();
        let mut expected: Vec<_> = case.flows.iter().map(|(src, dst, ns)| (ns * 1_000, *src, *dst)).collect();
        // Coflows may list their flows in any order.
        flows.sort_unstable();
        expected.sort_unstable();
        assert_eq!(flows, expected, "{file}");
        case.says.iter().for_each(|what| assert!(said(&outcome.notes, what), "{file}: {what}: {:?}", outcome.notes));
    }
}

#[test]
fn convert__eight_columns_of_yaps_round_and_give_the_nine_columns_starts() {
    let outcome = converted("yaps-trace-8.txt", None, PLAIN, None).unwrap();
    let What::Flows(list) = &outcome.what else { panic!("{outcome:?}") };
    let starts: Vec<u64> = list.flows.iter().map(|flow| (flow.start_ps + 500) / 1_000).collect();
    assert_eq!((list.total_bytes(), starts), (1_027_840, vec![1_000_000_000, 1_000_012_500, 1_000_020_000]));
    assert!(said(&outcome.notes, "finer than a picosecond"), "{:?}", outcome.notes);
}

#[test]
fn convert__coflows_keep_their_numbers() {
    let outcome = converted("coflow-fb.txt", None, PLAIN, None).unwrap();
    let What::Flows(list) = &outcome.what else { panic!("{outcome:?}") };
    let of_seven: Vec<u64> = list.flows.iter().filter(|flow| flow.coflow == Some(7)).map(|flow| flow.bytes).collect();
    assert_eq!((of_seven.len(), of_seven.iter().sum()), (3, 1_048_576_u64));
}

#[test]
fn convert__starts_are_shifted_to_the_first_when_asked_for() {
    let options = Options { shift_start: true, hosts_first: true, ..PLAIN };
    let outcome = converted("conweave-flows.txt", None, options, None).unwrap();
    let What::Flows(list) = &outcome.what else { panic!("{outcome:?}") };
    assert_eq!(list.flows.iter().map(|flow| flow.start_ps).collect::<Vec<_>>(), [0, 100_000, 349_900_000]);
    assert!(said(&outcome.notes, "2000000100000 ps"), "{:?}", outcome.notes);
}

/// A topology: hosts, switches, and how many cables have each rate in Gbit/s and delay in ns.
type TopologyCase =
    (&'static str, Option<&'static str>, &'static str, &'static [u64], usize, &'static [(u64, u64, u64, u64)]);

#[rustfmt::skip]
const TOPOLOGIES: &[TopologyCase] = &[
    ("hpcc-topology.txt", None, "hpcc-topology", &[2, 3, 4, 5, 6], 2, &[(25, 1_000, 5, 5), (100, 500, 1, 1)]),
    ("hpcc-topology-tors.txt", None, "hpcc-topology", &[0, 1, 2, 3], 3, &[(25, 1_000, 4, 4), (100, 5_000, 2, 2)]),
    ("htsim.topo", None, "htsim-topo", &[0, 1, 2, 3, 4, 5, 6, 7], 4, &[(100, 600, 8, 8), (100, 900, 4, 4)]),
    ("netbench.topology", Some("netbench.properties"), "netbench-topology", &[0, 2], 1, &[(10, 500, 2, 2)]),
];

fn cables(topology: &Topology) -> Vec<(u64, u64, u64, u64)> {
    let mut found: BTreeMap<(u64, u64), (u64, u64)> = BTreeMap::new();
    for cable in &topology.cables {
        assert_eq!((cable.rate_bps % 1_000_000_000, cable.delay_ps % 1_000), (0, 0));
        let of = found.entry((cable.rate_bps / 1_000_000_000, cable.delay_ps / 1_000)).or_default();
        *of = (of.0 + cable.count, of.1 + 1);
    }
    found.into_iter().map(|((gbps, ns), (all, rows))| (gbps, ns, all, rows)).collect()
}

#[test]
fn convert__topologies_hold_what_the_samples_say() {
    for (file, with, format, hosts, switches, links) in TOPOLOGIES {
        let outcome = converted(file, None, PLAIN, *with).unwrap_or_else(|error| panic!("{error}"));
        let What::Topology(topology) = &outcome.what else { panic!("{file}: {:?}", outcome.what) };
        assert_eq!(
            (outcome.format, topology.host_ids(), topology.switches()),
            (*format, hosts.to_vec(), *switches),
            "{file}"
        );
        assert_eq!(cables(topology), links.to_vec(), "{file}");
    }
    let outcome = converted("htsim.topo", None, PLAIN, None).unwrap();
    assert!(said(&outcome.notes, "the internal latency of 50 ns of 2 switches in tier 0"), "{:?}", outcome.notes);
}

#[test]
fn convert__gpus_with_two_links_are_refused_and_convert_without_their_nvswitches() {
    let refused = converted("hpcc-topology-simai.txt", None, PLAIN, None).unwrap_err();
    assert_eq!((refused.kind, refused.line), (Kind::Lost, Some(4)));
    assert!(refused.expected.contains("--leave-out") && refused.problem.contains("second link"), "{}", refused.problem);
    let outcome = converted("hpcc-topology-simai.txt", None, Options { leave_out: true, ..PLAIN }, None).unwrap();
    let What::Topology(topology) = &outcome.what else { panic!("{outcome:?}") };
    assert_eq!(
        (topology.host_ids(), topology.switches(), cables(topology)),
        (vec![0, 1, 2, 3], 1, vec![(200, 500, 4, 4)])
    );
    assert!(
        said(&outcome.notes, "2 NVSwitches") && said(&outcome.notes, "4 links of NVSwitches"),
        "{:?}",
        outcome.notes
    );
}

#[test]
fn convert__an_edge_list_says_which_node_is_which_host() {
    let outcome = converted("hpcc-topology.txt", None, PLAIN, None).unwrap();
    let mut out = Vec::new();
    outcome.write("hpcc-topology.txt", &mut out).unwrap();
    let written = String::from_utf8(out).unwrap();
    assert!(written.contains("# host0 is node 2\n") && written.contains("# host4 is node 6\n"), "{written}");
    assert!(written.contains("from,to,rate,delay\nhost0,switch0,25Gbps,1us\n"), "{written}");
    assert!(written.ends_with("switch0,switch1,100Gbps,500ns\n"), "{written}");
}

#[test]
fn convert__a_run_file_of_yaps_becomes_its_fabric_and_load() {
    let outcome = converted("yaps.conf", None, PLAIN, None).unwrap();
    let What::Experiment(text) = &outcome.what else { panic!("{outcome:?}") };
    let has = |line: &str| assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    for line in
        ["leaves = 9", "spines = 4", "hosts_per_leaf = 16", "host_link = \"40Gbps\"", "fabric_link = \"160Gbps\""]
    {
        has(line);
    }
    for line in
        ["link_delay = \"200ns\"", "load = 0.6", "flows = 1000", "reading = \"interpolated\"", "buffer = \"36864B\""]
    {
        has(line);
    }
    assert!(said(&outcome.notes, "2 keys are not carried over: flow_type, interarrival_cdf"), "{:?}", outcome.notes);
}

/// A distribution: points in bytes and shares in 10^-6, and the two means.
type CdfCase =
    (&'static str, Options<'static>, &'static str, &'static [(u64, u64)], &'static str, Option<&'static str>);

#[rustfmt::skip]
const CDFS: &[CdfCase] = &[
    ("cdf-percent.txt", PLAIN, "cdf", &[(0, 0), (1_000, 200_000), (5_000, 600_000), (20_000, 900_000), (100_000, 1_000_000)], "18200", Some("11050")),
    ("cdf-fraction.txt", PLAIN, "cdf", &[(0, 0), (1_000, 200_000), (5_000, 600_000), (20_000, 900_000), (100_000, 1_000_000)], "18200", Some("11050")),
    ("cdf-three-columns.txt", BYTES, "cdf-three-columns", &[(500, 0), (1_500, 250_000), (9_000, 800_000), (90_000, 1_000_000)], "23325", Some("13037.5")),
    ("cdf-crlf.csv", PLAIN, "cdf", &[(325, 0), (1_177, 300_000), (20_000, 900_000), (300_000, 1_000_000)], "42353.1", Some("22578.4")),
    ("yaps-cdf.txt", packets(1_460), "cdf-three-columns", &[(1_460, 0), (1_460, 400_000), (4_380, 700_000), (29_200, 950_000), (146_000, 1_000_000)], "16498", Some("10037.5")),
    ("homa-dist.txt", BYTES, "homa-dist", &[(100, 500_000), (1_448, 800_000), (10_000, 950_000), (20_000, 1_000_000)], "2984.4", None),
    ("homa-dist-packets.txt", packets(1_442), "homa-dist", &[(1_442, 500_000), (7_210, 750_000), (28_840, 950_000), (86_520, 1_000_000)], "12617.5", None),
];

#[test]
fn convert__distributions_hold_what_the_samples_say() {
    for (file, options, format, points, stepped, interpolated) in CDFS {
        let outcome = converted(file, None, *options, None).unwrap_or_else(|error| panic!("{error}"));
        let What::Sizes(sizes) = &outcome.what else { panic!("{file}: {:?}", outcome.what) };
        let found: Vec<_> = sizes.points.iter().map(|point| (point.bytes, point.share)).collect();
        let expected: Vec<_> = points
            .iter()
            .map(|(bytes, share)| (*bytes, rust_decimal::Decimal::new(*share as i64, 6).normalize()))
            .collect();
        assert_eq!((outcome.format, found), (*format, expected), "{file}");
        assert_eq!(sizes.stepped_mean().to_string(), *stepped, "{file}");
        if let Some(mean) = interpolated {
            assert_eq!(sizes.interpolated_mean().to_string(), *mean, "{file}");
        }
        // The mean that Homa's first line states is that of its steps.
        assert!(!said(&outcome.notes, "states a mean"), "{file}: {:?}", outcome.notes);
    }
}

#[test]
fn convert__steps_draw_the_same_in_either_reading() {
    use flowsieve_workload::{Reading, Rounding, SizeDistribution};
    let outcome = converted("homa-dist.txt", None, BYTES, None).unwrap();
    let mut out = Vec::new();
    outcome.write("homa-dist.txt", &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for reading in [Reading::Stepped, Reading::Interpolated] {
        let sizes = SizeDistribution::parse("sizes.csv", &text, reading, Rounding::Bytes).unwrap();
        assert!((sizes.mean_bytes() - 2984.4).abs() < 1e-6, "{reading}: {}", sizes.mean_bytes());
    }
}

#[test]
fn convert__round_trips_become_a_sample_of_sizes() {
    let outcome = converted("homa-rtts.txt", None, PLAIN, None).unwrap();
    assert_eq!(outcome.what, What::Samples(vec![100, 1_448, 20_000]));
    assert!(said(&outcome.notes, "no hosts and no starts"), "{:?}", outcome.notes);
}

/// A sample that has to be refused: its kind.
#[rustfmt::skip]
const REFUSED: &[(&str, Option<&str>, Options<'static>, Kind)] = &[
    // Ids of nodes are not taken for hosts.
    ("hpcc-flows.txt", None, PLAIN, Kind::Option("with")),
    ("parsimon-flows.json", None, PLAIN, Kind::Option("with")),
    ("ns3-rdma-flows.txt", None, HOSTS_FIRST, Kind::Option("size-unit")),
    ("htsim-us.cm", None, PLAIN, Kind::Option("time-unit")),
    ("htsim.cm", None, PLAIN, Kind::Option("time-unit")),
    ("htsim.cm", None, time(TimeUnit::Ps), Kind::Lost),
    ("opera-flows.htsim", Some("opera"), PLAIN, Kind::Option("time-unit")),
    ("netbench.topology", None, PLAIN, Kind::Option("with")),
    ("cdf-three-columns.txt", None, PLAIN, Kind::Option("size-unit")),
    ("yaps-cdf.txt", None, PLAIN, Kind::Option("size-unit")),
    ("homa-dist.txt", None, PLAIN, Kind::Option("size-unit")),
    ("opera-flows.htsim", None, PLAIN, Kind::Format(Vec::new())),
    ("homa-trace.txt", None, PLAIN, Kind::Format(Vec::new())),
    ("yaps-trace.txt", None, HOSTS_FIRST, Kind::Unread("hosts-first")),
];

#[test]
fn convert__what_the_contents_do_not_tell_is_asked_for() {
    for (file, from, options, kind) in REFUSED {
        let refused = converted(file, *from, *options, None).expect_err(file);
        match (&refused.kind, kind) {
            (Kind::Format(found), Kind::Format(_)) => {
                assert!(found.contains(&"homa-trace"), "{file}: {found:?}");
                assert!(
                    refused.expected.contains("flowsieve convert") && refused.expected.contains("--from"),
                    "{refused}"
                );
            }
            (found, kind) => assert_eq!(found, kind, "{file}: {refused}"),
        }
        assert_eq!(refused.file, *file);
    }
    let refused = converted("opera-flows.htsim", None, PLAIN, None).unwrap_err();
    assert_eq!(refused.kind, Kind::Format(vec!["opera", "homa-trace"]));
}

#[test]
fn detect__each_sample_names_its_format_and_no_other_surely() {
    let samples =
        FLOWS.iter().map(|case| (case.file, case.format)).chain(TOPOLOGIES.iter().map(|case| (case.0, case.2)));
    let samples = samples.chain(CDFS.iter().map(|case| (case.0, case.2)));
    let samples = samples.chain([
        ("yaps.conf", "yaps"),
        ("hpcc-config.txt", "hpcc-config"),
        ("homa-rtts.txt", "homa-rtts"),
        ("yaps-trace-8.txt", "yaps-trace"),
    ]);
    for (file, name) in samples {
        let text = text(file);
        let found = flowsieve_workload::convert::detect(&Source { name: file, text: &text });
        assert!(found.iter().any(|(format, _)| format.name == name), "{file}");
        let sure = found.iter().filter(|(_, fit)| *fit == flowsieve_workload::convert::Fit::Sure);
        assert!(
            sure.count() <= 1
                && found
                    .iter()
                    .all(|(format, fit)| *fit != flowsieve_workload::convert::Fit::Sure || format.name == name),
            "{file}"
        );
    }
}

#[test]
fn role__of_a_switch_is_its_name() {
    let outcome = converted("htsim.topo", None, PLAIN, None).unwrap();
    let What::Topology(topology) = &outcome.what else { panic!("{outcome:?}") };
    assert_eq!(topology.nodes[&8], Role::Switch("tor0".to_owned()));
    assert_eq!(topology.nodes[&11], Role::Switch("spine1".to_owned()));
}
