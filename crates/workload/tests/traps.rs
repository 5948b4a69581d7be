//! Files whose wrong reading looks right: each is read as its simulator reads it, or refused with the reason.

use flowsieve_workload::convert::{
    ConvertError, Gives, Kind, Options, Outcome, SizeUnit, Source, TimeUnit, What, advice, convert, detect, detected,
    format,
};

const HOSTS_FIRST: Options<'static> = Options {
    size_unit: None,
    time_unit: None,
    shift_start: false,
    with: None,
    hosts_first: true,
    leave_out: false,
    sampled: None,
};
const PLAIN: Options<'static> = Options { hosts_first: false, ..HOSTS_FIRST };

fn read(from: &str, text: &str, options: Options<'_>) -> Result<Outcome, ConvertError> {
    convert(&Source { name: "in.txt", text }, format(from).expect("a format"), &options)
}

fn starts(outcome: &Outcome) -> Vec<u64> {
    let What::Flows(list) = &outcome.what else { panic!("{outcome:?}") };
    list.flows.iter().map(|flow| flow.start_ps).collect()
}

fn names(text: &str) -> Vec<&'static str> {
    detect(&Source { name: "in.txt", text }).iter().map(|(format, _)| format.name).collect()
}

#[test]
fn count__too_large_is_an_error_and_not_the_last_record_again() {
    let refused = read("hpcc", "9980\n0 1 3 100 10 2.0\n2 1 3 100 10 2.0\n", HOSTS_FIRST).unwrap_err();
    assert_eq!((refused.kind, refused.line), (Kind::Row, Some(1)));
    assert!(refused.problem.contains("9980") && refused.problem.contains("2"), "{}", refused.problem);
    // 998 over 1000.
    let records: String = (0..998).map(|nth| format!("0 1 3 100 10 2.{nth:03}\n")).collect();
    let refused = read("hpcc", &format!("9980\n{records}"), HOSTS_FIRST).unwrap_err();
    assert!(refused.expected.contains("may leave digits"), "{}", refused.expected);
}

#[test]
fn count__too_small_says_how_many_records_are_not_read() {
    let outcome =
        read("hpcc", "1\n0 1 3 100 10 2.0\n2 1 3 100 10 2.0\n3 1 3 100 10 2.0\nand prose", HOSTS_FIRST).unwrap();
    assert_eq!(starts(&outcome).len(), 1);
    assert!(outcome.notes.all().iter().any(|note| note.contains("2 further records")), "{:?}", outcome.notes);
}

#[test]
fn records__line_ends_mean_nothing() {
    let outcome = read("hpcc", "2 0 1 3 100\n10 2.0 2\n1 3 100 10 2.5", HOSTS_FIRST).unwrap();
    assert_eq!(starts(&outcome), [2_000_000_000_000, 2_500_000_000_000]);
}

#[test]
fn six_columns__that_fit_both_dialects_are_refused() {
    let both = "2\n0 1 3 5 2 9.5\n2 1 3 5 2 9.5\n";
    assert_eq!(names(both), ["hpcc", "ns3-rdma"]);
    let refused = detected(&Source { name: "in.txt", text: both }).unwrap_err();
    assert_eq!(refused.kind, Kind::Format(vec!["hpcc", "ns3-rdma"]));
    assert!(
        refused.expected.contains("`flowsieve convert in.txt -o flows.csv --from hpcc --with TOPOLOGY`"),
        "{}",
        refused.expected
    );
}

#[test]
fn seven_columns__that_fit_both_dialects_are_refused() {
    assert_eq!(names("1\n0 1 3 100 7 2 9.5\n"), ["hpcc-stop", "parsimon"]);
    assert_eq!(names("1\n0 1 3 100 7 20000 9.5\n"), ["parsimon"]);
    assert_eq!(names("1\n0 1 3 100 20000 2.5 9.5\n"), ["hpcc-stop"]);
    let outcome = read("hpcc-stop", "1\n0 1 3 100 7 2 9.5\n", HOSTS_FIRST).unwrap();
    assert!(outcome.notes.all().iter().any(|note| note.starts_with("1 stop times")), "{:?}", outcome.notes);
}

#[test]
fn nodes__a_flow_of_a_switch_is_refused() {
    let topology = "3 1 2\n0\n1 0 25Gbps 1us 0\n2 0 25Gbps 1us 0\n";
    let with = Some(Source { name: "topology.txt", text: topology });
    let refused = read("hpcc", "1\n0 1 3 100 10 2.0\n", Options { with, ..PLAIN }).unwrap_err();
    assert_eq!((refused.kind, refused.line), (Kind::Row, Some(2)));
    assert!(refused.expected.contains("topology.txt"), "{}", refused.expected);
}

#[test]
fn delay__without_a_unit_is_seconds() {
    let text = "3 1 2\n0\n1 0 25Gbps 0.000001 0\n2 0 25Gbps 1us 0.01\n";
    let What::Topology(topology) = read("hpcc-topology", text, PLAIN).unwrap().what else { panic!() };
    assert_eq!(topology.cables.iter().map(|cable| cable.delay_ps).collect::<Vec<_>>(), [1_000_000; 2]);
    assert_eq!(topology.cables[1].loss.to_string(), "0.01");
    let long = read("hpcc-topology", "3 1 2\n0\n1 0 25Gbps 1000 0\n2 0 25Gbps 1us 0\n", PLAIN).unwrap_err();
    assert_eq!((long.kind, long.line), (Kind::Lost, Some(3)));
}

#[test]
fn parallel__links_become_a_bundle_or_are_refused_where_they_differ() {
    let rows =
        "5 2 5\n0 1\n2 0 25Gbps 1us 0\n3 1 25Gbps 1us 0\n4 1 25Gbps 1us 0\n0 1 100Gbps 1us 0\n1 0 100Gbps 1us 0\n";
    let outcome = read("hpcc-topology", rows, PLAIN).unwrap();
    let mut out = Vec::new();
    outcome.write("in.txt", &mut out).unwrap();
    let written = String::from_utf8(out).unwrap();
    assert!(
        written.contains("from,to,rate,delay,bundle\n") && written.ends_with("switch0,switch1,100Gbps,1us,2\n"),
        "{written}"
    );
    assert!(
        outcome.notes.all().iter().any(|note| note.starts_with("1 links are parallel to another link")),
        "{:?}",
        outcome.notes
    );
    let differs = read("hpcc-topology", &rows.replace("1 0 100Gbps", "1 0 40Gbps"), PLAIN).unwrap_err();
    assert_eq!((differs.kind, differs.line), (Kind::Lost, Some(7)));
}

#[test]
fn host__with_two_links_says_what_to_do() {
    let refused =
        read("hpcc-topology", "4 2 3\n0 1\n2 0 25Gbps 1us 0\n2 1 25Gbps 1us 0\n3 1 25Gbps 1us 0\n", PLAIN).unwrap_err();
    assert_eq!((refused.kind, refused.line), (Kind::Lost, Some(4)));
    assert!(refused.expected.contains("keep one of its links"), "{}", refused.expected);
}

#[test]
fn first_line__of_reverie_has_two_rates() {
    let text = "3 1 1 2 25000000000 100000000000\n2\n0 2 25Gbps 1us 0\n1 2 25Gbps 1us 0\n";
    let What::Topology(topology) = read("hpcc-topology", text, PLAIN).unwrap().what else { panic!() };
    assert_eq!((topology.host_ids(), topology.switches()), (vec![0, 1], 1));
}

#[test]
fn topo__bundles_and_three_tiers() {
    let text = "Nodes 16\nTiers 3\nPodsize 4\n\
                Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1\n\
                Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 2\n\
                Tier 2\nDownlink_speed_Gbps 200\nRadix_Down 4\nDownlink_Latency_ns 3\n";
    let What::Topology(topology) = read("htsim-topo", text, PLAIN).unwrap().what else { panic!() };
    // 16 uplinks of ToRs at 100G, 8 of aggregation switches at 200G, 2 cores of 4 ports.
    assert_eq!((topology.host_ids().len(), topology.switches()), (16, 8 + 8 + 2));
    let of = |ns: u64| topology.cables.iter().filter(|cable| cable.delay_ps == ns * 1_000).collect::<Vec<_>>();
    assert_eq!((of(1).len(), of(2).len(), of(3).len()), (16, 16, 8));
    // A ToR's uplink has the speed of tier 1, and the p-th switch of a pod the core p.
    assert!(of(3).iter().all(|cable| cable.rate_bps == 200_000_000_000 && cable.ends[0] % 2 == cable.ends[1] % 2));
    let bundled = "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n\
                   Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nBundle 2\n";
    let What::Topology(topology) = read("htsim-topo", bundled, PLAIN).unwrap().what else { panic!() };
    let core: Vec<u64> = topology.cables[4..].iter().map(|cable| cable.count).collect();
    assert_eq!((topology.switches(), core), (3, vec![2, 2]));
    let lost = read("htsim-topo", &bundled.replace("Bundle 2\n", ""), PLAIN).unwrap_err();
    assert_eq!(lost.kind, Kind::Row);
    let unknown = read("htsim-topo", &bundled.replace("Bundle", "Bundel"), PLAIN).unwrap_err();
    assert_eq!((unknown.kind, unknown.line), (Kind::Row, Some(11)));
}

#[test]
fn matrix__endless_flows_and_wrong_counts() {
    let ps = Options { time_unit: Some(TimeUnit::Ps), ..PLAIN };
    let endless = "Nodes 4\nConnections 2\n0->1 start 0 size 0\n1->2 start 20000001 size 9\n";
    let refused = read("htsim", endless, ps).unwrap_err();
    assert_eq!((refused.kind, refused.line), (Kind::Lost, Some(3)));
    let outcome = read("htsim", endless, Options { leave_out: true, ..ps }).unwrap();
    // Above 2^24 ps htsim's float would make 20000000 of it.
    assert_eq!(starts(&outcome), [20_000_001]);
    assert!(outcome.notes.all().iter().any(|note| note == "left out: 1 endless flows (size 0)"), "{:?}", outcome.notes);
    for wrong in [
        "Nodes 4\nConnections 3\n0->1 start 0 size 5\n",
        "Nodes 4\n0->1 start 0 size 5\n",
        "Nodes 1\nConnections 1\n0->1 start 0 size 5\n",
    ] {
        assert_eq!(read("htsim", wrong, ps).unwrap_err().kind, Kind::Row, "{wrong}");
    }
}

#[test]
fn directions__one_of_a_cable_alone_is_refused() {
    let run = Some(Source { name: "run", text: "link_bandwidth_bit_per_ns=10\nlink_delay_ns=5\n" });
    let head = "|V|=3\n|E|=3\nToRs=set(0,2)\nServers=set(0,2)\nSwitches=set(1)\n";
    let refused =
        read("netbench-topology", &format!("{head}0 1\n1 0\n1 2\n"), Options { with: run, ..PLAIN }).unwrap_err();
    assert_eq!((refused.kind, refused.line), (Kind::Lost, Some(8)));
}

#[test]
fn servers__that_the_run_file_adds_lie_below_their_tors() {
    let text = "|V|=3\n|E|=4\nToRs=set(0,2)\nServers=set(0,2)\nSwitches=set(1)\n0 1\n1 0\n1 2\n2 1\n";
    let run = "link_bandwidth_bit_per_ns=10\nlink_delay_ns=5\nscenario_topology_extend_with_servers=regular\n\
               scenario_topology_extend_servers_per_tl_node=2\n";
    let with = Some(Source { name: "run", text: run });
    let What::Topology(topology) = read("netbench-topology", text, Options { with, ..PLAIN }).unwrap().what else {
        panic!()
    };
    assert_eq!((topology.host_ids(), topology.switches()), (vec![3, 4, 5, 6], 3));
    assert!(topology.cables.iter().any(|cable| cable.ends == [5, 2]));
}

#[test]
fn shares__are_what_the_last_row_says() {
    let shares = |text: &str| -> Result<Vec<String>, ConvertError> {
        let What::Sizes(sizes) = read("cdf", text, PLAIN)?.what else { panic!() };
        Ok(sizes.points.iter().map(|point| point.share.to_string()).collect())
    };
    // Per cent that begin below 1 are no fractions.
    assert_eq!(shares("10 0.5\n20 1\n30 100").unwrap(), ["0.005", "0.01", "1"]);
    assert_eq!(shares("10 0.5\n20 1\n").unwrap(), ["0.5", "1"]);
    assert_eq!(shares("10,50%\n20,100%\n").unwrap(), ["0.5", "1"]);
    assert_eq!(shares("x, y\n0.5, 0.5\n2, 1.0004\n").unwrap(), ["0.5", "1"]);
    for (text, line) in
        [("10 0.5\n20 0.47", 2), ("10 0.2\n20 0.47", 2), ("10 50\n20 97", 2), ("10 0.5\n5 1", 2), ("0 0.5\n9 1", 1)]
    {
        let refused = shares(text).unwrap_err();
        assert_eq!((refused.kind, refused.line), (Kind::Row, Some(line)), "{text}");
    }
}

#[test]
fn curve__of_parsimon_is_in_kilobytes() {
    let What::Sizes(sizes) = read("cdf", "x, y\n0.5, 0.5\n2, 1.0004\n", PLAIN).unwrap().what else { panic!() };
    assert_eq!(sizes.points.iter().map(|point| point.bytes).collect::<Vec<_>>(), [500, 2_000]);
}

#[test]
fn homa__a_distribution_that_ends_early_is_refused_and_another_mean_is_said() {
    let bytes = Options { size_unit: Some(SizeUnit::Bytes), ..PLAIN };
    let refused = read("homa-dist", "185\n10 0.2\n20 0.47\n", bytes).unwrap_err();
    assert_eq!((refused.kind, refused.line), (Kind::Row, Some(3)));
    let outcome = read("homa-dist", "16\n10 0.5\n20 1\n", bytes).unwrap();
    assert!(outcome.notes.all().iter().any(|note| note.contains("states a mean of 16 B")), "{:?}", outcome.notes);
}

#[test]
fn rows__that_are_wrong_have_their_line() {
    let ns = Options { time_unit: Some(TimeUnit::Ns), ..PLAIN };
    #[rustfmt::skip]
    let cases = [
        ("hpcc", "1\n1 1 3 100 10 2.0\n", HOSTS_FIRST, 2),
        ("hpcc", "1\n\n0 1 3 100 0 2.0\n", HOSTS_FIRST, 3),
        ("hpcc", "1\n0 1 3 100 10 -2.0\n", HOSTS_FIRST, 2),
        ("hpcc", "1\n0 99999999 3 100 10 2.0\n", HOSTS_FIRST, 2),
        ("hpcc", "x\n", HOSTS_FIRST, 1),
        ("hpcc", "99999999999\n", HOSTS_FIRST, 1),
        ("opera", "0 1 5 0\n0 1 5\n", ns, 2),
        ("yaps-trace", "0 1 2 3 4 5 6 7 8\n0 1\n", PLAIN, 2),
        ("yaps-trace", "0 1 0 0 18446744073709551615 0 0 1 2\n", PLAIN, 1),
        ("homa-trace", "0 1 5 18446744\n0 1 5 18446744\n", PLAIN, 2),
        ("netbench-log", "0,0,1,5,5,0,1,1,TRUE\n0,0,1,5,5,0,1,1\n", HOSTS_FIRST, 2),
        ("coflow", "4 1\n1 0 1 9 1 2:3\n", PLAIN, 2),
        ("hpcc-topology", "4294967295 1 1\n", PLAIN, 1),
        ("hpcc-topology", "3 1 2\n7\n", PLAIN, 2),
        ("hpcc-topology", "3 1 2\n0\n1 0 25Gbps 1us 0\n", PLAIN, 1),
        ("hpcc-topology", "3 1 2\n0\n1 0 25Gbs 1us 0\n2 0 25Gbps 1us 0\n", PLAIN, 3),
    ];
    let with = Some(Source { name: "topology.txt", text: "2 1 1\n0\n0 1 25Gbps 1us 0\n" });
    let named = "TOPOLOGY_FILE t\nBUFFER_SIZE 1\n";
    for (key, line) in [
        ("CC_MODE 7", 3),
        ("CC_MODE 3\nRATE_AI fast", 4),
        ("CC_MODE 3\nMIN_RATE 26Gb/s", 4),
        ("CC_MODE 1\nKMIN_MAP 1 25000000000", 4),
    ] {
        let text = format!("{named}{key}\n");
        let refused = read("hpcc-config", &text, Options { with, ..PLAIN }).expect_err(&text);
        assert_eq!((refused.kind, refused.line), (Kind::Row, Some(line)), "{text}: {}", refused.problem);
    }
    let other = "CC_MODE 1\nKMIN_MAP 1 100000000000 400\n";
    let refused = read("hpcc-config", &format!("{named}{other}"), Options { with, ..PLAIN }).unwrap_err();
    assert!(refused.problem.contains("no thresholds for hosts of 25Gbps"), "{refused}");
    let without = read("hpcc-config", &format!("{named}CC_MODE 3\n"), PLAIN).unwrap_err();
    assert_eq!(without.kind, Kind::Option("with"));
    for (from, text, options, line) in cases {
        let refused = read(from, text, options).expect_err(text);
        assert_eq!((refused.kind, refused.line), (Kind::Row, Some(line)), "{from}: {text:?}: {}", refused.problem);
    }
    let json =
        read("parsimon-json", "[{\"id\":0,\n\"src\":0,\"dst\":1,\"size\":-5,\"start\":0}]", HOSTS_FIRST).unwrap_err();
    assert_eq!((json.kind, json.line), (Kind::Row, Some(2)));
}

#[test]
fn text__of_no_format_has_the_nearest_one_and_the_line_that_breaks_it() {
    let refused = |text: &str| detected(&Source { name: "in.txt", text }).map(|format| format.name).unwrap_err();
    // dcPIM's listing: a number before the flows, and words after them.
    let listing = refused("2.24e-06\n0 1460 1 2 10.5\n1 1460 3 2 11.5\n2018-12-06 Simulator ended: 0 seconds\n");
    assert_eq!((&listing.kind, listing.line), (&Kind::Format(Vec::new()), Some(1)));
    assert!(listing.problem.contains("match yaps-listing, but not this line: `2.24e-06`"), "{listing}");
    assert!(listing.expected.contains("a file without it, and `flowsieve convert in.txt"), "{listing}");
    // HPCC's list of finished flows, and a list of routes.
    for text in ["0b000901 0b000a01 10000 100 5444 1000032281 7464 7421\n", "3,3\n0:1-0,1-32,32-0,\n"] {
        let other = refused(text);
        assert_eq!(other.line, Some(1), "{other}");
        assert!(other.problem.contains("match no known format; it begins `"), "{other}");
    }
}

#[test]
fn matrix__a_key_given_twice_is_refused_and_any_blank_parts_fields() {
    let ps = Options { time_unit: Some(TimeUnit::Ps), ..PLAIN };
    let twice = "Nodes 4\nConnections 1\n0->1 id 1 size 3000 start 4000000 size 9000\n";
    let refused = read("htsim", twice, ps).unwrap_err();
    assert_eq!((refused.line, refused.problem.as_str()), (Some(3), "a second `size`"));
    let tab = "Nodes 4\nConnections 1\n0->1\tid 1 start 5 size 2000\n";
    assert_eq!(names(tab), ["htsim"]);
    assert_eq!(starts(&read("htsim", tab, ps).unwrap()), [5]);
}

#[test]
fn topology__hosts_without_a_path_are_refused() {
    let refused = read("hpcc-topology", "4 2 2\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n", PLAIN).unwrap_err();
    assert_eq!((refused.kind, refused.problem.as_str()), (Kind::Lost, "no path leads from host 0 to host 1"));
}

#[test]
fn run_file__of_poisson_arrivals_is_refused() {
    let refused = read("netbench", "traffic=poisson_arrival\n", HOSTS_FIRST).unwrap_err();
    assert_eq!((refused.kind, refused.line), (Kind::Lost, Some(1)));
}

#[test]
fn advice__names_the_format_and_the_command() {
    let of = |name, text| advice(&Source { name, text }, Gives::Flows);
    let said = of("my flows.txt", "1\n0 1 3 100 1500 2.0\n").unwrap();
    assert!(said.contains("`flowsieve convert 'my flows.txt' -o flows.csv --from hpcc --with TOPOLOGY`"), "{said}");
    assert!(of("x", "1 0 400 0\n").unwrap().contains("opera or homa-trace"));
    assert_eq!(of("x", "hello\n"), None);
    // Another kind of file is none that helps.
    assert_eq!(of("x", "10 0.5\n20 1\n"), None);
}

#[test]
fn written__lists_are_read_back_by_the_workload_crate() {
    let text = "2\n0 2 3 100 10 2.000000001\n2 1 3 100 7 2.5\n";
    let outcome = read("hpcc", text, HOSTS_FIRST).unwrap();
    let mut out = Vec::new();
    outcome.write("a\nname", &mut out).unwrap();
    let list = flowsieve_workload::flow_list::parse("flows.csv", &String::from_utf8(out).unwrap(), 3).unwrap();
    let What::Flows(flows) = outcome.what else { panic!() };
    assert_eq!(list.flows, flows.flows);
}
