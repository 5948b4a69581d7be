use flowsieve_core::PortKind;
use flowsieve_core::admission::Admission;
use flowsieve_core::afq::{Beyond, BidStore};
use flowsieve_core::bank::BankRules;
use flowsieve_core::fair_queueing::BitByBit;
use flowsieve_core::marker::{MarkScope, Marker};
use flowsieve_core::pifo::PifoRules;
use flowsieve_core::sp_pifo::SpPifoRules;
use flowsieve_core::taggers::bytes::Bytes;
use flowsieve_core::taggers::message_gap::DemotionByGap;
use flowsieve_core::{Rate, Time};
use flowsieve_sim::topology::Fabric;

use super::*;
use crate::bare::{Facts, none_given};
use crate::entry::Entry;
use crate::file::SchemeFile;
use crate::registry::{self, REGISTRY};
use flowsieve_settings::{Key, Kind, Origin, Raw, Settings, Table};
use flowsieve_sim::scheme::PortSpec;
use flowsieve_transport::tcp::congestion::{Acked, CongestionControl, Lost};
use flowsieve_transport::tcp::params::{Gaps, Halves, LossDetection, Reduction, RtoRule};
use flowsieve_transport::tcp::{CongestionSpec, Connections, Handshake, TcpParams};
use flowsieve_transport::{Constants, CustomTransport, TransportSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

const WEB_SEARCH: Facts = Facts { name: Some("web-search"), ..Facts::uniform(1_000_000, 0.6) };

fn scheme(name: &str, settings: &Settings) -> Result<Scheme, SettingsError> {
    registry::find(name).unwrap().scheme(&Context { scope: settings.scheme(name), workload: &WEB_SEARCH })
}

/// A scheme on DCTCP with parts of its own.
fn own(settings: &Settings, own: Own) -> Result<Scheme, SettingsError> {
    let context = Context { scope: settings.scheme("own"), workload: &WEB_SEARCH };
    build(&registry::find("dctcp").unwrap().within(&context)?, own)
}

fn tcp(scheme: &Scheme) -> &TcpParams {
    match &scheme.classes[0].transport {
        TransportSpec::Tcp(rules) => &rules.params,
        _ => panic!("{} is open loop", scheme.name),
    }
}

#[test]
fn registry__every_scheme_builds_with_each_set() {
    for entry in REGISTRY.iter() {
        for set in ["ns2", "rfc", "scaled"] {
            let settings = none_given().with(None, "parameters", set);
            assert_eq!(scheme(entry.name.as_str(), &settings).unwrap().name, entry.name.as_str());
        }
    }
}

#[test]
fn ns2__the_published_parameters() {
    let pfabric = scheme("pfabric", &none_given()).unwrap();
    let params = tcp(&pfabric);
    assert_eq!((params.initial_window, params.max_window, params.probe_after), (70, 139, Some(5)));
    assert_eq!(params.rto, RtoRule::Constant(Time::from_us(250)));
    assert_eq!((params.loss_detection, params.ecn), (LossDetection::Off, false));
    let pool = pfabric.ports.at(Place::Spine);
    assert!(matches!(pool.kind, PortKind::Pfabric(_)));
    assert_eq!((pool.admission, pool.marker), (Admission::PerPort { limit: 210_000 }, Marker::Off));

    let pias = scheme("pias", &none_given()).unwrap();
    assert_eq!(tcp(&pias).max_window, 239);
    assert_eq!(tcp(&pias).rto, RtoRule::Constant(Time::from_us(2_000)));
    assert!(matches!(&pias.classes[0].tagger, TaggerSpec::Demotion(pias) if pias.thresholds[0] == 1_395_760));
    let PortSpec { kind, admission, marker, .. } = pias.ports.at(Place::Leaf);
    assert!(matches!(kind, PortKind::Bank(BankRules { queues: 8, .. })));
    assert_eq!(*admission, Admission::PerPort { limit: 360_000 });
    assert!(matches!(marker, Marker::Threshold { above: 97_500, scope: MarkScope::Port, .. }));
}

#[test]
fn ecn_threshold_at__by_the_rate_of_a_ports_link() {
    let of = |settings: &Settings| scheme("pias", settings).unwrap().ports.at(Place::Leaf).clone();
    let rates = Raw::List(["25Gbps: 244KB", "100Gbps: 650pkt"].map(|text| (Raw::from(text), Origin::Default)).into());
    let settings = none_given().with(None, "ecn_threshold_at", rates);
    let port = of(&settings);
    let at = |gbps: u64| port.marker_of(Rate::new(gbps * 1_000_000_000).unwrap().byte_time());
    let k = |above| Marker::Threshold { above, scope: MarkScope::Port, counts_arriving: true };
    assert_eq!([10, 25, 100].map(at), [97_500, 244_000, 975_000].map(k));
    // A ramp keeps its proportions.
    let ramp = settings.with(None, "marking", "red").with(None, "red_min", "100KB").with(None, "red_max", "400KB");
    let port = of(&ramp.with(None, "red_probability", 0.2));
    let bounds = |gbps: u64| match port.marker_of(Rate::new(gbps * 1_000_000_000).unwrap().byte_time()) {
        Marker::Red { min, max, .. } => (min, max),
        other => panic!("{other:?}"),
    };
    assert_eq!([10, 25].map(bounds), [(100_000, 400_000), (244_000, 976_000)]);
}

#[test]
fn comparisons__what_each_is_made_of() {
    let of = |name: &str| scheme(name, &none_given()).unwrap();
    let port = |name: &str| of(name).ports.at(Place::Spine).clone();

    let sp_pifo = of("sp-pifo");
    assert_eq!((tcp(&sp_pifo).max_window, tcp(&sp_pifo).probe_after), (70, Some(5)));
    assert!(matches!(sp_pifo.classes[0].tagger, TaggerSpec::Bytes(Bytes::Remaining)));
    let queue = Admission::PerQueue { limit: 27_000 };
    assert!(matches!(port("sp-pifo").kind, PortKind::SpPifo(SpPifoRules { queues: 8 })));
    assert_eq!(port("sp-pifo").admission, queue);

    let PortKind::Afq(rules) = port("afq").kind else { panic!() };
    assert_eq!((rules.queues, rules.bytes_per_round, rules.beyond), (8, 150_000, Beyond::Drop));
    assert_eq!(rules.bids, BidStore::Sketch { rows: 3, columns: 1_024 });
    let PortKind::Afq(rules) = port("afq").without_limits().kind else { panic!() };
    assert_eq!(rules.beyond, Beyond::LastQueue, "a paused host loses nothing");

    for name in ["fair-queueing", "nagle", "pifo-las"] {
        assert!(matches!(tcp(&of(name)).congestion, CongestionSpec::Dctcp(_)) && tcp(&of(name)).ecn, "{name}");
        assert!(format!("{:?}", port(name)).contains("above: 97500"), "{name}: {:?}", port(name));
    }
    assert!(matches!(port("pifo-las").kind, PortKind::Pifo(PifoRules { fifo_from: None })));
    assert!(matches!(port("pifo-fifo-las").kind, PortKind::Pifo(PifoRules { fifo_from: Some(100_000) })));
    assert!(matches!(tcp(&of("d2tcp")).congestion, CongestionSpec::D2tcp(_)));
}

#[test]
fn comparisons__settings_of_taggers() {
    let fast = none_given().with(None, "host_link", "25Gbps");
    let tagger = |name: &str, settings: &Settings| scheme(name, settings).unwrap().classes[0].tagger.clone();
    let rate = |settings: &Settings| match tagger("pfabric-edf", settings) {
        TaggerSpec::DeadlineFirst(edf) => edf.rate.bps(),
        other => panic!("{other:?}"),
    };
    assert_eq!([rate(&none_given()), rate(&fast)], [10_000_000_000, 25_000_000_000]);
    assert_eq!(rate(&fast.with(Some("pfabric-edf"), "edf_rate", "1Gbps")), 1_000_000_000);
    let real = none_given().with(None, "message_gap", "3ms");
    let TaggerSpec::DemotionByGap(DemotionByGap { thresholds, gap }) = tagger("pias", &real) else { panic!() };
    assert_eq!((thresholds[0], gap), (1_395_760, Time::from_us(3_000)));
}

#[test]
fn ns2__duplicate_acks_with_ecmp_alone() {
    let ecmp = none_given().with(None, "load_balancing", "ecmp");
    assert_eq!(tcp(&scheme("dctcp", &ecmp).unwrap()).loss_detection, LossDetection::DupAck(3));
    assert_eq!(tcp(&scheme("dctcp", &none_given()).unwrap()).loss_detection, LossDetection::Off);
}

#[test]
fn rfc__rack_where_packets_are_sprayed() {
    let sprayed = none_given().with(None, "parameters", "rfc").with(None, "load_balancing", "spray");
    let dctcp = scheme("dctcp", &sprayed).unwrap();
    assert_eq!(tcp(&dctcp).loss_detection, LossDetection::Rack);
    assert_eq!(dctcp.nic, Nic::Backpressure { backlog: 15_000 });
}

#[test]
fn reordering__by_priority_on_one_path() {
    let given = none_given().with(None, "load_balancing", "ecmp").with(None, "reordering", "by-priority");
    assert_eq!(tcp(&scheme("pias", &given).unwrap()).loss_detection, LossDetection::ByPriority(Gaps::First));
    assert_eq!(given.effective()["scheme.reordering"], "by-priority");
    let as_ever = none_given().with(None, "load_balancing", "ecmp").with(None, "reordering", "tcp");
    assert_eq!(tcp(&scheme("pias", &as_ever).unwrap()).loss_detection, LossDetection::DupAck(3));
}

#[test]
fn reordering__is_refused_where_it_cannot_be() {
    let refused = |name: &str, given: &[(&str, &str)]| {
        let settings = given.iter().fold(none_given(), |settings, (key, value)| settings.with(None, key, *value));
        scheme(name, &settings).unwrap_err().key().map(String::from)
    };
    let by_priority = ("reordering", "by-priority");
    let key = |name: &str| Some(name.to_owned());
    assert_eq!(refused("pias", &[by_priority]), key("reordering"), "ns2 sprays");
    for way in ["spray", "spray-random", "flowlet", "hula"] {
        let found = refused("pias", &[by_priority, ("parameters", "rfc"), ("load_balancing", way)]);
        assert_eq!(found, key("reordering"), "{way}");
    }
    let found = refused("pias", &[by_priority, ("load_balancing", "ecmp"), ("loss_detection", "dupack")]);
    assert_eq!(found, key("loss_detection"));
    assert_eq!(refused("srpt", &[by_priority, ("load_balancing", "ecmp")]), key("reordering"));
}

#[test]
fn gaps__of_losses_by_priority() {
    let gaps = |value: &str| {
        let settings = none_given().with(None, "load_balancing", "ecmp").with(None, "reordering", "by-priority");
        let settings = settings.with(None, "gaps", value);
        let detection = tcp(&scheme("pias", &settings).unwrap()).loss_detection;
        assert_eq!(settings.effective()["scheme.gaps"], value);
        detection
    };
    assert_eq!(gaps("first"), LossDetection::ByPriority(Gaps::First));
    assert_eq!(gaps("every"), LossDetection::ByPriority(Gaps::Every));
    let qclimb = none_given();
    assert_eq!(tcp(&scheme("qclimb", &qclimb).unwrap()).loss_detection, LossDetection::ByPriority(Gaps::First));
    assert!(!qclimb.effective().contains_key("scheme.gaps"));
    let every = none_given().with(Some("qclimb"), "gaps", "every");
    assert_eq!(tcp(&scheme("qclimb", &every).unwrap()).loss_detection, LossDetection::ByPriority(Gaps::Every));
}

#[test]
fn gaps__are_refused_where_priorities_are_not_compared() {
    let refused = |name: &str, gaps: &str, reordering: Option<&str>| {
        let settings = none_given().with(None, "load_balancing", "ecmp").with(None, "gaps", gaps);
        let settings = match reordering {
            Some(reordering) => settings.with(None, "reordering", reordering),
            None => settings,
        };
        scheme(name, &settings).unwrap_err().key().map(String::from)
    };
    for (name, reordering) in [("pias", None), ("dctcp", Some("tcp")), ("qclimb", Some("tcp")), ("srpt", None)] {
        for gaps in ["first", "every"] {
            assert_eq!(refused(name, gaps, reordering).as_deref(), Some("gaps"), "{name}");
        }
    }
}

#[test]
fn hula__times_are_multiples_of_its_interval() {
    let params = |given: &[(&str, &str)]| {
        let settings = none_given().with(None, "load_balancing", "hula");
        let settings = given.iter().fold(settings, |settings, (key, value)| settings.with(None, key, *value));
        let scheme = scheme("dctcp", &settings).unwrap();
        let BalancerSpec::Hula(params) = *scheme.balancers.at(Place::Spine) else { panic!("{scheme:?}") };
        (params, [params.interval, params.flowlet_gap, params.age, params.memory].map(|time| time.0 / 1_000_000))
    };
    assert_eq!(params(&[]).1, [200, 500, 600, 400]);
    assert_eq!(params(&[]).0.probe_priority, 0);
    assert_eq!(params(&[("probe_interval", "50us"), ("flowlet_gap", "70us")]).1, [50, 70, 150, 100]);
    assert_eq!(params(&[("hula_age", "1ms"), ("hula_memory", "300us")]).1, [200, 500, 1_000, 300]);
    // Multiples of the longest interval also fit into a time.
    assert_eq!(params(&[("probe_interval", "864000s")]).1, [864_000_000_000, 500, 864_000_000_000, 864_000_000_000]);
}

#[test]
fn parts__own_defaults_of_paths_and_reordering() {
    const FILE: &str = "base = \"dctcp\"\nload_balancing = \"ecmp\"\nreordering = \"by-priority\"\n";
    let entry = Entry { name: "own", file: FILE, own: None };
    let of = |settings: &Settings| entry.scheme(&Context { scope: settings.scheme("own"), workload: &WEB_SEARCH });
    let settings = none_given();
    let own = of(&settings).unwrap();
    assert_eq!(tcp(&own).loss_detection, LossDetection::ByPriority(Gaps::First));
    assert!(matches!(own.balancers.at(Place::Leaf), BalancerSpec::Ecmp(_)));
    assert_eq!(settings.effective()["scheme.reordering"], "by-priority");
    let sprayed = none_given().with(None, "load_balancing", "spray");
    assert_eq!(of(&sprayed).unwrap_err().key(), Some("load_balancing"));
    let both = of(&sprayed.with(None, "reordering", "tcp")).unwrap();
    assert_eq!(tcp(&both).loss_detection, LossDetection::Off);
    assert!(matches!(both.balancers.at(Place::Leaf), BalancerSpec::SprayRoundRobin(_)));
}

#[test]
fn parts__own_transport_and_ports_read_none_of_the_settings_of_others() {
    let make = |_: &flowsieve_transport::HostSite<'_>| -> Box<dyn flowsieve_transport::Endpoint> { unreachable!() };
    let settings = none_given();
    let facts = packet_facts(&settings.scheme("own"), None).unwrap();
    let custom = || {
        TransportSpec::Custom(CustomTransport {
            facts,
            constants: Constants::NONE,
            make: Arc::new(make),
            rules: String::new(),
        })
    };
    let parts = Own { transport: Some(custom()), port: Some(PortKind::Fair(BitByBit)), ..Own::default() };
    let scheme = own(&settings, parts.clone()).unwrap();
    assert!(matches!(scheme.classes[0].transport, TransportSpec::Custom(_)));
    assert!(matches!(scheme.ports.at(Place::Leaf).kind, PortKind::Fair(_)));
    let read = settings.effective();
    let keys = sending::SETTINGS.iter().filter(|key| key.section != Section::Network);
    for key in keys.map(|key| key.name).chain(["discipline", "queues"]) {
        assert!(!read.keys().any(|name| name.rsplit('.').next() == Some(key)), "{key}: {read:?}");
    }
    // No part reads these settings if they are given.
    let given = none_given().with(Some("own"), "rto_min", "5ms").with(Some("own"), "buffer", "90KB");
    own(&given, parts).unwrap();
    assert_eq!(given.unread().iter().map(|((_, name), _)| *name).collect::<Vec<_>>(), ["rto_min"]);
}

/// A window of one segment.
struct Frozen;

impl CongestionControl for Frozen {
    fn on_ack(&mut self, _: &Acked<'_>, _: &TcpParams) {}

    fn on_loss(&mut self, _: &Lost, _: &TcpParams) {}

    fn on_timeout(&mut self, _: &Lost, _: bool, _: &TcpParams) {}

    fn window(&self) -> u32 {
        1
    }
}

#[test]
fn parts__own_congestion_reads_all_of_tcp_but_the_transport() {
    let settings = none_given();
    let parts = Own { congestion: Some(CongestionSpec::custom(|_| Frozen)), ..Own::default() };
    let scheme = own(&settings, parts).unwrap();
    assert!(matches!(tcp(&scheme).congestion, CongestionSpec::Custom(_)) && tcp(&scheme).ecn);
    let read = settings.effective();
    let has = |key: &str| read.contains_key(&format!("scheme.{key}"));
    assert_eq!(["transport", "dctcp_g", "initial_alpha", "probe_after"].map(has), [false; 4], "{read:?}");
    assert_eq!(["initial_window", "max_window", "rto_min", "ecn"].map(has), [true; 4], "{read:?}");
}

#[test]
fn scheme__that_replaces_a_part_without_saying_so_is_refused() {
    fn replaced(context: &Context<'_>) -> Result<Scheme, SettingsError> {
        let mut scheme = build(context, Own::default())?;
        let facts = scheme.classes[0].transport.facts();
        let make: Arc<flowsieve_transport::MakeEndpoint> = Arc::new(|_| unreachable!());
        scheme.classes[0].transport =
            TransportSpec::Custom(CustomTransport { facts, constants: Constants::NONE, make, rules: String::new() });
        Ok(scheme)
    }
    let settings = none_given();
    let context = Context { scope: settings.scheme("own"), workload: &WEB_SEARCH };
    let entry = Entry { name: "own", file: "base = \"dctcp\"\n", own: Some(replaced) };
    let error = entry.scheme(&context).unwrap_err().to_string();
    assert!(error.contains("`transport`"), "{error}");
    fn other_congestion(context: &Context<'_>) -> Result<Scheme, SettingsError> {
        let mut scheme = build(context, Own::default())?;
        let TransportSpec::Tcp(rules) = &mut scheme.classes[0].transport else { unreachable!() };
        Arc::make_mut(rules).params.congestion = CongestionSpec::custom(|_| Frozen);
        Ok(scheme)
    }
    let entry = Entry { own: Some(other_congestion), ..entry };
    let error = entry.scheme(&context).unwrap_err().to_string();
    assert!(error.contains("`congestion`"), "{error}");
}

#[test]
fn build__reads_only_what_acts() {
    let read = |name: &str, settings: Settings| {
        scheme(name, &settings).unwrap();
        settings.effective().into_keys().collect::<Vec<_>>()
    };
    let has = |keys: &[String], key: &str| keys.iter().any(|name| name == key);
    let usual = read("dctcp", none_given());
    assert!(!has(&usual, "scheme.nic.load_balancing") && has(&usual, "scheme.leaf.load_balancing"), "{usual:?}");
    assert!(has(&usual, "scheme.slow_start_restart") && has(&usual, "scheme.buffer"), "{usual:?}");
    // A connection of one flow is never idle, and a window that is given needs no buffer.
    let flows = read("dctcp", none_given().with(None, "connections", "per-flow").with(None, "max_window", 100));
    assert!(!has(&flows, "scheme.slow_start_restart") && !has(&flows, "scheme.buffer"), "{flows:?}");
    // Nothing reads a tag in a FIFO, and nothing reacts to a mark if everything is sent at once.
    assert!(!has(&usual, "scheme.tagger") && has(&read("pias", none_given()), "scheme.tagger"));
    assert!(has(&read("dctcp", none_given().with(None, "discipline", "pifo")), "scheme.tagger"));
    let open = read("srpt", none_given());
    assert!(!has(&open, "scheme.leaf.marking") && !has(&open, "scheme.leaf.mtu"), "{open:?}");
    // The window of today's standards does not depend on a queue.
    assert!(!has(&read("dctcp", none_given().with(None, "parameters", "rfc")), "scheme.buffer"));
}

#[test]
fn build__refuses_what_does_not_fit() {
    let two = Raw::List(vec![(Raw::from(1), Origin::Default), (Raw::from(2), Origin::Default)]);
    let weights = none_given().with(None, "discipline", "drr").with(None, "weights", two);
    assert!(scheme("pias", &weights).is_err(), "8 queues");
    let red = none_given().with(None, "marking", "red").with(None, "red_max", "1KB");
    assert!(scheme("dctcp", &red).is_err());
    let open = none_given().with(None, "nic", "backpressure");
    assert!(scheme("srpt", &open).is_err());
    let header = none_given().with(None, "mtu", "100B").with(None, "header", "100B");
    assert!(scheme("dctcp", &header).is_err());
}

#[test]
fn buffer__one_default_for_ports_and_windows() {
    // 140 packets of 1,500 bytes, for any size of the headers.
    let settings = none_given().with(None, "header", "60B");
    let pfabric = scheme("pfabric", &settings).unwrap();
    assert_eq!((tcp(&pfabric).segment, tcp(&pfabric).max_window), (1_440, 139));
    assert_eq!(pfabric.ports.at(Place::Leaf).admission, Admission::PerPort { limit: 210_000 });
    let effective = settings.effective();
    assert_eq!([&effective["scheme.buffer"], &effective["scheme.leaf.buffer"]], ["210KB"; 2]);
}

#[test]
fn buffer__holds_a_full_packet() {
    for (buffer, ends) in [("1499B", false), ("0B", false), ("1500B", true), ("1pkt", true)] {
        let built = scheme("dctcp", &none_given().with(None, "buffer", buffer));
        assert_eq!(built.is_ok(), ends, "{buffer}");
        let said = built.err().map_or_else(String::new, |error| error.to_string());
        assert_eq!(said.contains("holds no full packet"), !ends, "{said}");
    }
}

#[test]
fn mtu__the_largest_without_headers() {
    let settings = none_given().with(None, "mtu", "65535B").with(None, "header", "0B");
    let dctcp = scheme("dctcp", &settings).unwrap();
    assert_eq!((tcp(&dctcp).segment, tcp(&dctcp).max_window), (65_535, 239));
    assert_eq!(dctcp.ports.at(Place::Leaf).admission, Admission::PerPort { limit: 240 * 65_535 });
}

#[test]
fn own_parts__are_refused_where_they_are_given() {
    let refused = |name: &str, key: &str, value: &str| {
        let mut settings = none_given();
        let origin = Origin::File { file: "x.toml".into(), line: 7, column: 10, span: 0..1 };
        let key = settings.find(key).unwrap();
        settings.give(Table::Scheme(name.to_owned()), key, &Raw::from(value), origin).unwrap();
        scheme(name, &settings).unwrap_err()
    };
    assert_eq!(
        refused("qc-srpt", "tagger", "plain").to_string(),
        "x.toml:7:10: `tagger` = plain does not fit here; expected no `tagger` for `qc-srpt`, which writes its own tags into packets"
    );
    for (name, key, value) in [
        ("awafs", "tagger", "attained"),
        ("pfabric", "tagger", "demotion"),
        ("qc-las", "discipline", "drr"),
        ("awafs", "discipline", "drr"),
    ] {
        let error = refused(name, key, value);
        assert_eq!(error.key(), Some(key), "{error}");
        assert!(
            matches!(error.origin, Origin::File { line: 7, column: 10, .. }) && error.expected.is_some(),
            "{error}"
        );
    }
}

/// The effect of a choice that is given.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// The scheme is built differently.
    Heard,
    /// The choice is the default.
    Default,
    /// An error, or a setting that no part reads, which is an error in an experiment.
    Refused,
    /// No effect.
    Ignored,
}

/// The defaults that are not part of the configuration.
const UNSAID: [(&str, &str); 8] = [
    ("admission", "none"),
    ("reordering", "tcp"),
    ("gaps", "first"),
    ("nic_order", "turns"),
    ("halves", "flight"),
    ("reduction", "at-once"),
    ("cutoffs", "workload"),
    ("loss_detection", "go-back"),
];

/// Settings, and each scheme without any others: as it is built, and what it has read.
struct Situation {
    settings: Settings,
    plain: BTreeMap<&'static str, (String, BTreeMap<String, String>)>,
}

impl Situation {
    fn new(settings: Settings) -> Situation {
        let plain = |entry: &'static SchemeFile| {
            let own = settings.clone();
            let scheme = scheme(entry.name.as_str(), &own).ok()?;
            Some((entry.name.as_str(), (format!("{scheme:?}"), own.effective())))
        };
        Situation { plain: REGISTRY.iter().filter_map(plain).collect(), settings }
    }
}

fn outcome(name: &str, situation: &Situation, key: &str, choice: &str) -> Outcome {
    // A scheme that needs one path refuses spraying, for any other choice.
    let Some((plain, effective)) = situation.plain.get(name) else { return Outcome::Refused };
    let settings = situation.settings.clone().with(Some(name), key, choice);
    let Ok(given) = scheme(name, &settings) else { return Outcome::Refused };
    if settings.unread().iter().any(|((_, unread), _)| *unread == key) {
        return Outcome::Refused;
    }
    if *plain != format!("{given:?}") {
        return Outcome::Heard;
    }
    let of_key = |address: &str| address.rsplit('.').next() == Some(key);
    let said = effective.iter().any(|(address, value)| of_key(address) && value == choice);
    let silent = settings.find(key).is_some_and(|key| key.silent);
    match said || silent || UNSAID.contains(&(key, choice)) {
        true => Outcome::Default,
        false => Outcome::Ignored,
    }
}

#[test]
fn registry__no_choice_is_taken_and_ignored() {
    let sets = ["ns2", "rfc", "linux"].map(|set| none_given().with(None, "parameters", set));
    let sprayed = sets.iter().map(|set| set.clone().with(None, "load_balancing", "spray"));
    let settings = sprayed.chain(sets.iter().cloned()).chain([none_given().with(None, "queues", 4)]);
    let situations: Vec<Situation> = settings.map(Situation::new).collect();
    let of_schemes = |key: &&Key| matches!(key.section, Section::Network | Section::Transport | Section::Scheme);
    for key in crate::SETTINGS.concat().into_iter().filter(of_schemes) {
        let Kind::Choice(choices) = key.kind else { continue };
        for (entry, choice) in REGISTRY.iter().flat_map(|entry| choices.names().into_iter().map(move |c| (entry, c))) {
            let outcomes: Vec<Outcome> =
                situations.iter().map(|situation| outcome(entry.name.as_str(), situation, key.name, choice)).collect();
            // A value that is derived in one situation differs from the choice in another.
            let ignored = outcomes.contains(&Outcome::Ignored) && !outcomes.contains(&Outcome::Heard);
            assert!(!ignored, "`{}` = {choice} for `{}`: {outcomes:?}", key.name, entry.name.as_str());
        }
    }
}

/// The web search workload on a fabric.
struct On(Fabric);

impl crate::entry::WorkloadFacts for On {
    fn distribution(&self) -> Option<&str> {
        WEB_SEARCH.distribution()
    }

    fn load(&self) -> Option<f64> {
        WEB_SEARCH.load()
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        WEB_SEARCH.quantile_bytes(p)
    }

    fn fabric(&self) -> Option<&Fabric> {
        Some(&self.0)
    }
}

/// Returns the initial and largest window in packets, and the buffer and K of a leaf in bytes.
fn scaled(name: &str, gbps: u64, us: u64) -> (u32, u32, u64, u64) {
    let settings = none_given().with(None, "parameters", "scaled");
    let fabric = none_given().with(None, "kind", "leaf-spine").with(None, "rtt", format!("{us}us").as_str());
    let fabric = fabric.with(None, "host_link", format!("{gbps}Gbps").as_str());
    let fabric = fabric.with(None, "fabric_link", format!("{}Gbps", 4 * gbps).as_str());
    let workload = On(Fabric::from_settings(&fabric).unwrap());
    let entry = crate::registry::find(name).unwrap();
    let scheme = entry.scheme(&Context { scope: settings.scheme(name), workload: &workload }).unwrap();
    let port = scheme.ports.at(Place::Leaf);
    let Admission::PerPort { limit } = port.admission else { panic!("{port:?}") };
    let above = match port.marker {
        Marker::Threshold { above, .. } => above,
        _ => 0,
    };
    (tcp(&scheme).initial_window, tcp(&scheme).max_window, limit, above)
}

#[test]
fn scaled__is_the_papers_at_10_gbps_and_80_us() {
    assert_eq!(scaled("pias", 10, 80), (70, 239, 360_000, 97_500));
    assert_eq!(scaled("pfabric", 10, 80), (70, 139, 210_000, 0));
}

#[test]
fn scaled__windows_buffers_and_k_follow_rate_and_round_trip() {
    // At 100 Gbit/s a packet and its ACK take 0.308 us and not 3.08: 80.308 us of 83.08, ten times.
    assert_eq!(scaled("dctcp", 100, 80), (677, 2_399, 3_600_000, 975_000));
    assert_eq!(scaled("pfabric", 10, 300), (256, 510, 511 * 1_500, 0));
    // At 1 Gbit/s K is 20 packets, and a buffer of 33 would hardly be above it.
    assert_eq!(scaled("dctcp", 1, 80), (10, 73, 74 * 1_500, 30_000));
    // A scheme without marks has the buffer of those that mark: K's, where that is more.
    assert_eq!([scaled("afq", 100, 8), scaled("dctcp", 100, 8)].map(|of| of.2), [3_600_000; 2]);
    // 100 Gbit/s in 1 ms are 12.5 MB; a seventh is 1.79 MB, in whole packets.
    assert_eq!(scaled("dctcp", 100, 1_000).3, 1_190 * 1_500);
}

#[test]
fn nic__hosts_push_back_unless_a_file_says_otherwise() {
    for set in ["ns2", "rfc", "scaled"] {
        let settings = none_given().with(None, "parameters", set);
        for name in ["dctcp", "pias", "pfabric", "qc-las"] {
            assert_eq!(scheme(name, &settings).unwrap().nic, Nic::Backpressure { backlog: 15_000 }, "{name}, {set}");
        }
        assert_eq!(scheme("fcfs", &settings).unwrap().nic, Nic::Scheme, "an open loop does not pause");
    }
    assert_eq!(scheme("pias", &none_given().with(None, "nic", "scheme")).unwrap().nic, Nic::Scheme);
}

#[test]
fn nic_order__of_a_hosts_own_port_needs_levels() {
    let sorted = none_given().with(None, "nic", "scheme").with(None, "nic_order", "tag, then age");
    let pias = scheme("pias", &sorted).unwrap();
    assert!(matches!(pias.ports.at(Place::Nic).kind, PortKind::Pifo(_)));
    assert!(matches!(pias.classes[0].tagger, TaggerSpec::AgedLevels(_)));
    for name in ["dctcp", "qc-las", "awafs", "nos2", "pcoflow-drop"] {
        let error = scheme(name, &sorted).map(|scheme| format!("{:?}", scheme.ports.at(Place::Nic))).unwrap_err();
        assert!(matches!(error.key(), Some("nic_order" | "tagger")), "{name}: {error}");
    }
}

#[test]
fn linux__is_what_the_kernel_does() {
    let linux = none_given().with(None, "parameters", "linux");
    let dctcp = scheme("dctcp", &linux).unwrap();
    let TransportSpec::Tcp(rules) = &dctcp.classes[0].transport else { panic!("DCTCP") };
    let params = &rules.params;
    let (min, initial) = (Time::from_us(10_000), RtoRule::RFC_INITIAL);
    assert_eq!((params.rto, params.loss_detection), (RtoRule::Linux { min, initial }, LossDetection::RackTlp));
    assert_eq!((params.halves, params.reduction, params.undo), (Halves::Window, Reduction::Proportional, true));
    assert_eq!((params.initial_window, params.min_window, params.ack_every, params.quick_acks), (10, 2, 1, 0));
    assert!(params.ecn_acks, "DCTCP needs marks");
    let reno = tcp(&scheme("dctcp", &linux.clone().with(None, "transport", "tcp")).unwrap()).clone();
    assert!(reno.ecn && !reno.ecn_acks);
    assert_eq!((rules.connections, rules.handshake), (Connections::Warm, Handshake::Never));
    assert_eq!(dctcp.nic, Nic::Scheme);
    // Delayed ACKs are quick at first.
    let delayed = linux.clone().with(None, "ack_every", 2);
    assert_eq!(tcp(&scheme("dctcp", &delayed).unwrap()).quick_acks, 16);
    // What differs may be given.
    let given = [("rto", "rfc6298"), ("loss_detection", "dupack"), ("reduction", "at-once"), ("nic", "backpressure")];
    let given = given.iter().fold(linux, |settings, (key, value)| settings.with(None, key, *value));
    let as_rfc = scheme("dctcp", &given.with(None, "undo", false)).unwrap();
    let params = tcp(&as_rfc);
    assert_eq!((params.rto, params.undo), (RtoRule::Rfc6298 { min, initial }, false));
    assert_eq!((params.loss_detection, params.reduction), (LossDetection::DupAck(3), Reduction::AtOnce));
    assert_eq!(as_rfc.nic, Nic::Backpressure { backlog: 15_000 });
}

#[test]
fn linux__its_parts_are_not_those_of_other_sets_and_may_be_given_there() {
    for set in ["ns2", "rfc"] {
        let settings = none_given().with(None, "parameters", set);
        let dctcp = scheme("dctcp", &settings).unwrap();
        let params = tcp(&dctcp);
        assert_eq!((params.halves, params.reduction, params.undo), (Halves::Flight, Reduction::AtOnce, false));
        let said: Vec<String> = settings.effective().into_keys().collect();
        let of_linux = ["halves", "reduction", "undo", "receive_window", "quick_acks", "ecn_acks"];
        let is_said = |key: &&str| said.iter().any(|address| address.rsplit('.').next() == Some(key));
        assert!(!of_linux.iter().any(is_said), "{said:?}");
    }
    let rfc = none_given().with(None, "parameters", "rfc");
    let given = rfc.clone().with(None, "reduction", "proportional").with(None, "receive_window", "10KB");
    let dctcp = scheme("dctcp", &given.with(None, "undo", true)).unwrap();
    let params = tcp(&dctcp);
    assert_eq!((params.reduction, params.undo, params.receive_window), (Reduction::Proportional, true, Some(6)));
    let refused = |key: &str, value: &str, settings: &Settings| {
        let error = scheme("dctcp", &settings.clone().with(None, key, value)).unwrap_err();
        assert_eq!(error.key(), Some(key), "{error}");
    };
    refused("reduction", "proportional", &none_given());
    refused("halves", "window", &none_given());
    refused("receive_window", "1KB", &rfc);
    let cubic = scheme("dctcp", &rfc.with(None, "transport", "cubic")).unwrap();
    assert!(matches!(tcp(&cubic).congestion, CongestionSpec::Cubic(_)));
}

#[test]
fn initial_rto__is_that_of_each_set() {
    let of = |set: &str, given: &[(&str, &str)]| {
        let start = none_given().with(None, "parameters", set);
        let settings = given.iter().fold(start, |settings, (key, value)| settings.with(None, key, *value));
        tcp(&scheme("dctcp", &settings).unwrap()).rto
    };
    let (ms, second) = (Time::from_us(1_000), RtoRule::RFC_INITIAL);
    let estimated = |min, initial| RtoRule::Rfc6298 { min, initial };
    assert_eq!(of("rfc", &[]), estimated(Time::from_us(10_000), second));
    assert_eq!(of("rfc", &[("rto_min", "2s")]), estimated(Time(2 * second.0), Time(2 * second.0)), "RFC 6298, 2.4");
    assert_eq!(of("rfc", &[("initial_rto", "1ms")]), estimated(Time::from_us(10_000), ms));
    assert_eq!(of("ns2", &[("rto", "rfc6298")]), estimated(Time::from_us(2_000), Time::from_us(2_000)));
    assert_eq!(of("ns2", &[]), RtoRule::Constant(Time::from_us(2_000)));
    // Nothing reads it with a constant timer, and a setting that nothing reads is refused.
    let settings = none_given().with(None, "initial_rto", "1s");
    scheme("pfabric", &settings).unwrap();
    assert_eq!(settings.unread().len(), 1);
}

/// What cannot be, of pauses and of telemetry: one line before the run, at the setting that would have to change.
#[test]
fn lossless__what_cannot_be_is_refused() {
    let refused = |name: &str, given: &[(&str, &str)]| {
        let settings = given.iter().fold(none_given(), |settings, (key, value)| settings.with(None, key, *value));
        let error = scheme(name, &settings).unwrap_err();
        error.key().unwrap_or_default().to_owned()
    };
    assert_eq!(refused("dcqcn", &[("pfc_headroom", "0B")]), "pfc_headroom");
    assert_eq!(refused("dcqcn", &[("pfc_xoff", "10KB"), ("pfc_xon", "20KB")]), "pfc_xon");
    assert_eq!(refused("dcqcn", &[("pfc_xon", "10KB")]), "pfc_xon");
    assert_eq!(refused("dctcp", &[("pfc_headroom", "10KB")]), "pfc_headroom");
    assert_eq!(refused("dcqcn", &[("queues", "9"), ("discipline", "sp")]), "queues");
    assert_eq!(refused("hpcc", &[("hpcc_target", "0")]), "hpcc_target");
    assert_eq!(refused("hpcc", &[("load_balancing", "spray")]), "load_balancing");
    assert_eq!(refused("swift", &[("swift_range_from", "200")]), "swift_range_from");
    assert_eq!(refused("ndp", &[("header", "0B")]), "header");
    assert_eq!(refused("dctcp", &[("loss_detection", "go-back"), ("load_balancing", "spray")]), "loss_detection");
}

/// Those of RoCE's cards go back, unless packets take several paths; others do if that is said.
#[test]
fn go_back__of_lossless_transports_on_one_path() {
    let of = |name: &str, given: &[(&str, &str)]| {
        let settings = given.iter().fold(none_given(), |settings, (key, value)| settings.with(None, key, *value));
        tcp(&scheme(name, &settings).unwrap()).loss_detection
    };
    assert_eq!(["hpcc", "dcqcn"].map(|name| of(name, &[])), [LossDetection::GoBack; 2]);
    assert_eq!(of("dcqcn", &[("load_balancing", "flowlet")]), LossDetection::Off);
    assert_eq!(of("dcqcn", &[("loss_detection", "dupack")]), LossDetection::DupAck(3));
    let ecmp = ("load_balancing", "ecmp");
    assert_eq!(of("swift", &[ecmp, ("loss_detection", "go-back")]), LossDetection::GoBack);
}

/// A receiver that coalesces marks needs trails, which pauses alone would not give it.
#[test]
fn notifications__of_a_port_come_with_trails() {
    let of = |by: &str| {
        let settings = none_given().with(None, "pfc", false).with(None, "dcqcn_notify_by", by);
        scheme("dcqcn", &settings).unwrap().on_hop.len()
    };
    assert_eq!(["connection", "host", "port"].map(of), [0, 1, 1]);
}

/// All switches tell each other of congestion, or none: a leaf alone would hear nothing.
#[test]
fn conga__at_all_places_or_at_none() {
    let everywhere = none_given().with(None, "load_balancing", "conga");
    let conga = scheme("dctcp", &everywhere).unwrap();
    assert!(matches!(conga.balancers.at(Place::Spine), BalancerSpec::Conga(_)) && conga.on_hop.len() == 1);
    let mut leaves = none_given();
    let key = leaves.find("load_balancing").unwrap();
    leaves.give(Table::NetworkAt(Place::Leaf), key, &Raw::from("conga"), Origin::Default).unwrap();
    assert_eq!(scheme("dctcp", &leaves).unwrap_err().key(), Some("load_balancing"));
}
