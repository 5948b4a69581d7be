use super::*;
use crate::none_given;
use flowsieve_workload::HostNames;

fn settings() -> Settings {
    none_given().with(None, "sizes", "web-search").with(None, "load", 0.6).with(None, "flows", 100)
}

fn read(settings: &Settings) -> Result<Workload, Error> {
    let hosts = Hosts {
        bps: 10_000_000_000,
        racks: (0..144).map(|host| host / 16).collect(),
        names: HostNames::numbered(144),
        round_trip_ps: 0,
        narrower: None,
    };
    Workload::read(settings, &hosts, &Folder::default(), 1)
}

fn drawn(workload: &Workload) -> &Drawn {
    match &workload.origin {
        Origin::Drawn(drawn) => drawn,
        Origin::Collective(_) | Origin::Listed(_) | Origin::Several(_) => panic!("not drawn"),
    }
}

fn rate(settings: &Settings) -> f64 {
    drawn(&read(settings).unwrap()).traffic.from_start.rate_per_host
}

#[test]
fn read__web_search_as_ns2() {
    let workload = read(&settings()).unwrap();
    let offer = &drawn(&workload).traffic.from_start;
    let (rate_per_host, sizes) = (offer.rate_per_host, &offer.sizes);
    // The formula of the ns-2 scripts.
    let rate = 10e9 * 0.6 / (sizes.mean_bytes() * 8.0 * 1500.0 / 1460.0);
    assert!((rate_per_host - rate).abs() < 1e-6 * rate, "{rate_per_host} {rate}");
    assert_eq!(workload.extent, Extent::Flows(100));
    assert_eq!(workload.flows(1).unwrap().take(3).count(), 3);
    // Sizes are whole packets, so the true load is the nominal one plus 40 bytes of ACK per packet.
    let load = workload.offered_bps().unwrap() / (144.0 * 10e9);
    assert!((load - 0.6 * 1540.0 / 1500.0).abs() < 1e-9, "{load}");
    assert!((workload.packets_per_flow() - 2.0 * sizes.mean_bytes() / 1460.0).abs() < 1e-6);
}

/// Returns the kind of an error, and its key.
fn fault(error: &Error) -> (&'static str, String) {
    let details = error.details();
    (details.kind, details.key.unwrap_or_default())
}

#[test]
fn read__says_what_is_missing_or_double() {
    let fault = |settings: Settings| fault(&read(&settings).unwrap_err());
    assert_eq!(fault(none_given()), ("missing", "sizes".to_owned()));
    let both = settings().with(None, "duration", "1s");
    assert_eq!(fault(both), ("value", "duration".to_owned()));
    let window = settings().with(None, "measure", "window");
    assert_eq!(fault(window), ("value", "flows".to_owned()));
    let tiny = settings().with(None, "mtu", "64B").with(None, "header", "64B");
    assert_eq!(fault(tiny), ("value", "mtu".to_owned()));
}

#[test]
fn flows__depend_on_the_seed_alone() {
    let workload = read(&settings()).unwrap();
    let first = |seed| workload.flows(seed).unwrap().take(50).collect::<Vec<_>>();
    assert_eq!(first(3), first(3));
    assert_ne!(first(3), first(4));
}

#[test]
fn read__takes_the_rate_from_the_sources_mean_on_request() {
    let source = settings().with(None, "sizes", "web-search-source-mean");
    // The sizes are unchanged, and so are values that schemes look up by name.
    let workload = read(&source).unwrap();
    assert_eq!(workload.distribution(), Some("web-search"));
    let mean = drawn(&workload).traffic.from_start.sizes.mean_bytes();
    assert!((rate(&source) / rate(&settings()) / (mean / 1_661_480.0) - 1.0).abs() < 1e-12);
}

#[test]
fn read__a_mix_offers_the_load_of_both() {
    let mixed = settings().with(None, "mix_sizes", "fixed(1460B)").with(None, "mix_share", 0.75);
    let workload = read(&mixed).unwrap();
    let load = workload.offered_bps().unwrap() / (144.0 * 10e9);
    assert!((load - 0.6 * 1540.0 / 1500.0).abs() < 1e-9, "{load}");
    assert_eq!(workload.distribution(), None);
    // Three quarters have one packet, and a little more than a tenth of the others at most ten.
    assert_eq!([0.5, 0.75].map(|p| workload.quantile_bytes(p)), [Some(1_460), Some(1_460)]);
    assert!(workload.quantile_bytes(0.8).unwrap() > 10_000);
}

#[test]
fn read__rising_pairs_have_the_load_on_every_host_link() {
    let mixed = settings().with(None, "mix_sizes", "fixed(14600B)").with(None, "mix_pairs", "rising");
    let workload = read(&mixed).unwrap();
    let load = workload.offered_bps().unwrap() / (144.0 * 10e9);
    assert!((load - 0.6 * 1540.0 / 1500.0).abs() < 1e-9, "{load}");
    // As many bytes in one direction as in the other, in whole packets.
    let offer = &drawn(&workload).traffic.from_start;
    let mix = offer.mix.as_ref().unwrap();
    assert!((mix.share * 14_600.0 / ((1.0 - mix.share) * offer.sizes.mean_bytes()) - 1.0).abs() < 1e-9);
}

#[test]
fn read__listed_pairs_load_the_busiest_link() {
    let listed = none_given()
        .with(None, "sizes", "fixed(14600B)")
        .with(None, "mix_sizes", "fixed(1460KB)")
        .with(None, "mix_pairs", "from")
        .with(None, "mix_from", &["host1", "host3"][..])
        .with(None, "pattern", "listed")
        .with(None, "pairs", &["host2 to host0", "host1 to host0", "host3 to host0"][..])
        .with(None, "load", 0.5)
        .with(None, "flows", 100);
    let workload = read(&listed).unwrap();
    // All traffic goes to host 0: data and ACKs on its link.
    let load = workload.offered_bps().unwrap() / 10e9;
    assert!((load - 0.5 * 1540.0 / 1500.0).abs() < 1e-9, "{load}");
    // One pair in three has short flows.
    assert_eq!(drawn(&workload).traffic.from_start.mix.as_ref().unwrap().share, 2.0 / 3.0);
}

#[test]
fn read__a_change_keeps_the_load_or_takes_another() {
    let changing = |with: &[(&str, &str)]| {
        let settings = settings().with(None, "change_at", "35s");
        with.iter().fold(settings, |settings, (name, text)| settings.with(None, name, *text))
    };
    let workload = read(&changing(&[("change_sizes", "data-mining")])).unwrap();
    let (at, after) = drawn(&workload).traffic.change.clone().unwrap();
    assert_eq!(at, 35_000_000_000_000);
    let mining = settings().with(None, "sizes", "data-mining");
    assert_eq!(after.rate_per_host, rate(&mining));
    let louder = changing(&[]).with(None, "change_load", 0.9);
    let (_, after) = drawn(&read(&louder).unwrap()).traffic.change.clone().unwrap();
    assert!((after.rate_per_host / rate(&settings()) - 1.5).abs() < 1e-12);
    assert_eq!(fault(&read(&changing(&[])).unwrap_err()), ("value", "change_at".to_owned()));
    // 100 flows end long before the change.
    assert!((workload.packets_per_flow() - read(&settings()).unwrap().packets_per_flow()).abs() < 1e-9);
}

#[test]
fn read__a_trace_has_its_own_rate_or_the_loads() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("starts.csv"), "start_s\n0.001\n0.004\n").unwrap();
    let hosts = Hosts {
        bps: 10_000_000_000,
        racks: [0, 0, 1, 1].into(),
        names: HostNames::numbered(4),
        round_trip_ps: 0,
        narrower: None,
    };
    let files = Folder::at(folder.path());
    let of = |settings: &Settings| Workload::read(settings, &hosts, &files, 1).unwrap();
    let trace = |sizes: &str| {
        none_given().with(None, "sizes", sizes).with(None, "flows", 100).with(None, "arrivals", "trace").with(
            None,
            "arrival_trace",
            "starts.csv",
        )
    };
    let own = of(&trace("fixed(1460B)"));
    let starts: Vec<u64> = own.flows(1).unwrap().take(4).map(|flow| flow.start_ps / 1_000_000_000).collect();
    assert_eq!((starts, own.load()), (vec![1, 4, 5, 8], None));
    let loaded = of(&trace("fixed(1460B)").with(None, "load", 0.5));
    assert!((loaded.offered_bps().unwrap() / (4.0 * 10e9) - 0.5 * 1540.0 / 1500.0).abs() < 1e-9);
    // The gaps of the trace, in proportion.
    let starts: Vec<u64> = loaded.flows(1).unwrap().take(2).map(|flow| flow.start_ps).collect();
    assert!(starts[1].abs_diff(4 * starts[0]) <= 4, "{starts:?}");
}

#[test]
fn read__deadlines_change_nothing_but_deadlines() {
    let bare: Vec<Flow> = read(&settings()).unwrap().flows(1).unwrap().take(500).collect();
    for (rule, time) in [("fixed", Some("1ms")), ("exponential", Some("1ms")), ("qcluster", None)] {
        let with = settings().with(None, "deadlines", rule).with(None, "deadline_up_to", "200KB");
        let with = time.iter().fold(with, |with, time| with.with(None, "deadline_time", *time));
        let workload = read(&with).unwrap();
        assert_eq!(workload.extras(), Extras { deadlines: true, ..Extras::default() });
        let due: Vec<Flow> = workload.flows(1).unwrap().take(500).collect();
        for (bare, due) in bare.iter().zip(&due) {
            assert_eq!(*bare, Flow { deadline_ps: None, ..*due });
            assert_eq!(due.deadline_ps.is_some(), due.bytes <= 200_000);
        }
        assert!(due.iter().any(|flow| flow.deadline_ps.is_some()), "{rule}");
    }
    let timeless = read(&settings().with(None, "deadlines", "fixed")).unwrap_err();
    assert_eq!(fault(&timeless), ("missing", "deadline_time".to_owned()));
}

#[test]
fn read__patterns_say_what_hosts_cannot_do() {
    let fault = |settings: Settings| fault(&read(&settings).unwrap_err());
    let incast = settings().with(None, "pattern", "incast");
    assert_eq!(fault(incast), ("missing", "fan_in".to_owned()));
    let many = settings().with(None, "pattern", "incast").with(None, "fan_in", 144);
    assert_eq!(fault(many), ("value", "fan_in".to_owned()));
    let local = settings().with(None, "pattern", "rack-local");
    assert_eq!(fault(local), ("missing", "rack_local".to_owned()));
    let good = settings().with(None, "pattern", "rack-local").with(None, "rack_local", 1.0);
    assert!(read(&good).unwrap().flows(1).unwrap().take(100).all(|flow| flow.src / 16 == flow.dst / 16));
}

#[test]
fn quantile_bytes__of_a_list_are_its_sizes() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flows.csv"), "0,0,1,300,0.5\n0,1,0,100,\n").unwrap();
    let hosts = Hosts {
        bps: 10_000_000_000,
        racks: [0, 0].into(),
        names: HostNames::numbered(2),
        round_trip_ps: 0,
        narrower: None,
    };
    let settings = none_given().with(None, "list", "flows.csv");
    let workload = Workload::read(&settings, &hosts, &Folder::at(folder.path()), 1).unwrap();
    assert_eq!([0.5, 1.0].map(|p| workload.quantile_bytes(p)), [Some(100), Some(300)]);
    assert_eq!(workload.extras(), Extras { deadlines: true, ..Extras::default() });
}

#[test]
fn screen__keeps_the_flows_to_every_so_manieth_host_and_another_first_one_in_each_seed() {
    let all = read(&settings()).unwrap();
    let screened = read(&settings().with(None, "screen", 18)).unwrap();
    let hundred = || all.flows(5).unwrap().take(100).filter(|flow| flow.dst % 18 == 5);
    let expected: Vec<Flow> = hundred().zip(0..).map(|(flow, id)| Flow { id, ..flow }).collect();
    // The hundred flows are counted before the others are left out, and the rest has numbers of its own.
    let kept: Vec<Flow> = screened.flows(5).unwrap().collect();
    assert!(!expected.is_empty() && kept == expected, "{kept:?}");
    assert!(screened.flows(18 + 4).unwrap().all(|flow| flow.dst % 18 == 4));
    assert!((screened.expected_flows() - 100.0 / 18.0).abs() < 1e-9);
    // Neither the rate nor what thresholds are computed from changes.
    assert_eq!(screened.offered_bps(), all.offered_bps());
    assert_eq!(screened.quantile_bytes(0.9), all.quantile_bytes(0.9));
    assert!(screened.average().is_none() && all.average().is_some());
    assert!(screened.sentences()[0].starts_with("screened: only the flows to one host in 18"));
}

#[test]
fn law__is_that_of_its_closed_form() {
    let law = |sizes: &str| {
        let settings = settings().with(None, "sizes", sizes);
        read(&settings).unwrap().law(&settings).unwrap()
    };
    // At half the mean, the mean and twice the mean: 1 - exp(-1/2), 1 - 1/e, 1 - 1/e^2.
    let drawn = law("exponential(100KB)");
    assert_eq!(drawn.name, "exponential(100KB)");
    for (bytes, expected) in [(50_118, 0.394_18), (100_000, 0.632_12), (199_526, 0.864_02)] {
        let (_, share) = drawn.shares.iter().find(|(drawn, _)| *drawn == bytes).unwrap();
        assert!((share - expected).abs() < 1e-4, "{bytes}: {share}");
    }
    // All flows have one size: drawn are the last point below it and the first that reaches it. The smallest size is drawn,
    // and of sizes beyond the last point what lies below it.
    assert_eq!(law("fixed(20KB)").shares, [(19_952, 0.0), (25_118, 1.0)]);
    assert_eq!(law("fixed(1B)").shares, [(1, 1.0)]);
    assert!(law("exponential(10GB)").shares.last().unwrap().1 < 0.7);
}
