//! Random runs: fabrics, schemes and flows, small enough to run by the thousand, and crowded enough that events fall
//! on one instant, buffers overflow and timers fire.

mod gossip;
pub(crate) mod hula;
pub(crate) mod outage;
pub(crate) mod plain;
mod rumour;

use std::convert::Infallible;
use std::num::NonZeroU64;
use std::sync::Arc;

use flowsieve_core::coflow::Announcements;
use flowsieve_core::controller::Hears;
use flowsieve_core::controllers::survival::{Alone, Merged};
use flowsieve_core::controllers::thresholds::{NetworkParams, OwnParams};
use flowsieve_core::{ControllerKind, ControllerSpec, Time};
use flowsieve_schemes::bare::{self, Facts};
use flowsieve_schemes::scheme::ByPlace;
use flowsieve_schemes::{REGISTRY, Scheme};
use flowsieve_settings::{Origin, Place, Raw, Settings, Table};
use flowsieve_sim::topology::Fabric;
use flowsieve_sim::{FctEnd, Flows, Measure, Partitioning, RunSpec, announcements};
use flowsieve_workload::{BoundsLaw, DrawnBounds, Flow, Predict};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use gossip::Gossip;

/// Everything that a run depends on, owned.
pub(crate) struct Case {
    pub(crate) fabric: Fabric,
    pub(crate) scheme: Scheme,
    pub(crate) flows: Vec<Flow>,
    pub(crate) wire_overhead: u16,
    pub(crate) fct_end: FctEnd,
    pub(crate) measure: Measure,
    pub(crate) predictions: Arc<dyn Predict>,
    pub(crate) announcements: Arc<Announcements>,
    pub(crate) seed: u64,
    pub(crate) max_time: Option<Time>,
    pub(crate) partitioning: Partitioning,
    /// The call that makes it, for a failure to be put into a test.
    pub(crate) call: String,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(out, "{}", self.call)?;
        writeln!(out, "// {:?}", self.scheme)?;
        writeln!(out, "// {:?}", self.fabric.changes)
    }
}

impl Case {
    /// Packet-hops that the lines can make of full packets until the run is stopped.
    pub(crate) fn most_packet_hops(&self) -> u64 {
        full_packets(&self.fabric, self.max_time.expect("a drawn case is stopped").0)
    }

    /// Calls `body` with the run.
    pub(crate) fn with_run_spec<R>(&self, body: impl FnOnce(&RunSpec<'_>) -> R) -> R {
        let flows = || -> Box<dyn Iterator<Item = Flow> + '_> { Box::new(self.flows.iter().copied()) };
        body(&self.run_spec(Flows::Given(&flows)))
    }

    /// The run with other flows.
    pub(crate) fn run_spec<'a>(&'a self, flows: Flows<'a>) -> RunSpec<'a> {
        RunSpec {
            wire_overhead: self.wire_overhead,
            predictions: Some(&self.predictions),
            announcements: Some(&self.announcements),
            measure: self.measure,
            fct_end: self.fct_end,
            seed: self.seed,
            max_time: self.max_time,
            partitioning: self.partitioning,
            ..RunSpec::new(&self.fabric, &self.scheme, flows)
        }
    }
}

/// A value as a file would have it.
fn raw(text: &str) -> Raw {
    if let Some(list) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return Raw::from(list.split(", ").map(|item| item.parse().expect("a count")).collect::<Vec<u64>>());
    }
    match text {
        "true" | "false" => Raw::from(text == "true"),
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) => Raw::from(whole),
            (_, Ok(decimal)) => Raw::from(decimal),
            _ => Raw::from(text),
        },
    }
}

/// Settings of these keys; `key@place` gives a port's key at one place, `n:key` one of the n-th changed link. Hosts have ports
/// with buffers and marks unless `nic` says otherwise, so that cases meet losses there, too.
pub(crate) fn settings(given: &[(String, String)]) -> Settings {
    let mut settings = bare::none_given();
    if given.iter().all(|(key, _)| key != "nic") {
        settings = settings.with(None, "nic", "scheme");
    }
    for (key, value) in given {
        let (place, key) = match key.split_once('@') {
            Some((key, place)) => (Place::ALL.into_iter().find(|p| p.name() == place), key),
            None => (None, key.as_str()),
        };
        let (link, key) = match key.split_once(':') {
            Some((link, key)) => (link.parse().ok(), key),
            None => (None, key),
        };
        let key = settings.find(key).unwrap_or_else(|| panic!("{key} is no setting"));
        let table = match (place, link) {
            (Some(place), _) => Table::NetworkAt(place),
            (_, Some(link)) => Table::Link(link),
            _ => Table::Section(key.section),
        };
        let value = match key.name {
            "between" => Raw::from(&value.split(' ').collect::<Vec<_>>()[..]),
            _ => raw(value),
        };
        settings.give(table, key, &value, Origin::Default).unwrap_or_else(|error| panic!("{key:?}: {error}"));
    }
    settings
}

/// The scheme of this name under these settings; `None` where they do not go together.
pub(crate) fn scheme(name: &str, settings: &Settings) -> Option<Scheme> {
    bare::scheme(name, settings, &Facts { uniform_to: Some(200_000), ..Facts::NONE }).ok()
}

type Given = Vec<(String, String)>;

/// One of these values for a key; several keys joined by a space take a value each, joined by a semicolon.
fn one_of(key: &'static str, values: &'static [&'static str]) -> BoxedStrategy<Given> {
    let pairs = move |value: &str| {
        let values = value.split("; ").map(str::to_owned);
        key.split(' ').map(str::to_owned).zip(values).collect::<Given>()
    };
    select(values).prop_map(pairs).boxed()
}

/// The same, or nothing.
fn maybe(share: f64, key: &'static str, values: &'static [&'static str]) -> BoxedStrategy<Given> {
    prop::option::weighted(share, one_of(key, values)).prop_map(Option::unwrap_or_default).boxed()
}

fn together(parts: Vec<BoxedStrategy<Given>>) -> BoxedStrategy<Given> {
    parts.prop_map(|parts| parts.concat()).boxed()
}

fn fabric_settings() -> impl Strategy<Value = Given> {
    let shape = prop_oneof![
        1 => one_of("kind", &["single-link"]),
        2 => together(vec![one_of("kind", &["single-switch"]), one_of("hosts", &["2", "3", "5"])]),
        4 => together(vec![
            one_of("kind", &["leaf-spine"]),
            one_of("leaves", &["1", "2", "3"]),
            one_of("spines", &["1", "2", "3"]),
            one_of("hosts_per_leaf", &["2", "3"]),
            one_of("fabric_link", &["1Gbps", "10Gbps", "10Gbps", "40Gbps"]),
        ]),
        2 => together(vec![
            one_of("kind", &["fat-tree"]),
            one_of("hosts_per_edge", &["1", "2"]),
            maybe(0.5, "fabric_link", &["2.5Gbps", "10Gbps", "40Gbps"]),
        ]),
    ];
    // A full packet takes 1.2 us at 10 Gbit/s, so that these delays make many events coincide.
    let times = together(vec![
        one_of("link_delay host_delay", &["0ns; 0ns", "200ns; 20us", "1200ns; 0ns", "1200ns; 1200ns", "7ns; 3us"]),
        maybe(0.6, "host_link", &["1Gbps", "10Gbps", "10Gbps", "25Gbps"]),
        maybe(0.3, "forwarding", &["cut-through"]),
    ]);
    (shape, times).prop_map(|(shape, times)| [shape, times].concat())
}

fn scheme_settings() -> BoxedStrategy<Given> {
    together(vec![
        prop_oneof![
            4 => Just(Given::new()),
            3 => one_of("parameters", &["rfc"]),
            3 => one_of("parameters", &["linux"]),
            1 => one_of("parameters halves reduction", &["rfc; flight; proportional", "linux; window; at-once"]),
        ]
        .boxed(),
        maybe(0.8, "load_balancing", &["ecmp", "spray", "spray-random", "flowlet"]),
        maybe(0.5, "flowlet_gap", &["1us", "20us", "100us"]),
        maybe(0.4, "nic", &["backpressure", "scheme"]),
        maybe(0.4, "nic_backlog", &["1B", "2pkt", "5000B", "40KB"]),
        maybe(0.6, "connections", &["per-flow", "persistent", "pool"]),
        maybe(0.6, "handshake", &["none", "cold", "always"]),
        maybe(0.6, "buffer", &["2pkt", "5pkt", "10pkt", "30pkt"]),
        maybe(0.4, "admission", &["per-port", "per-queue"]),
        maybe(0.3, "admission@leaf", &["shared"]),
        maybe(0.2, "admission@spine", &["shared"]),
        one_of("shared_buffer", &["20pkt", "60pkt"]),
        maybe(0.7, "dt_alpha", &["0.25", "1.0", "8.0"]),
        maybe(0.7, "marking", &["none", "per-port", "per-queue", "red", "red-per-queue", "red-at-departure"]),
        one_of("ecn_threshold", &["1pkt", "3pkt", "10pkt"]),
        one_of("red_min red_max", &["1pkt; 4pkt", "100B; 20pkt"]),
        maybe(0.5, "red_probability", &["0.3"]),
        maybe(0.5, "red_average", &["0.1"]),
        maybe(0.5, "ecn_counts_arriving", &["false"]),
        maybe(
            0.5,
            "discipline",
            &["fifo", "sp", "wrr", "drr", "pifo", "pfabric", "ps", "least-rank", "fair-queueing", "sp-pifo", "afq"],
        ),
        maybe(0.3, "fifo_from", &["3KB", "100KB"]),
        maybe(0.5, "bytes_per_round", &["1pkt", "20KB"]),
        maybe(0.5, "afq_bids", &["exact"]),
        maybe(0.3, "afq_rows afq_columns", &["1; 1", "2; 4"]),
        maybe(0.5, "afq_beyond", &["last-queue"]),
        maybe(0.2, "discipline@nic", &["fifo", "sp", "drr", "levels", "pifo"]),
        maybe(0.2, "discipline@spine", &["fifo", "sp", "wrr", "pfabric"]),
        maybe(0.5, "queues", &["1", "2", "5", "64"]),
        maybe(0.3, "queues weights", &["2; [3, 1]", "4; [1, 2, 5, 9]"]),
        maybe(0.4, "tagger", &["plain", "demotion", "remaining", "to-the-end", "attained", "deadline"]),
        maybe(0.5, "controller", &["none", "equal-split", "optimal", "two-level"]),
        one_of("controller_period controller_delay", &["12us; 0us", "30us; 7us", "60us; 150us", "1ms; 1us"]),
        one_of("observe_window observe_least", &["1ns; 1", "100us; 2", "1ms; 10", "1s; 1"]),
        maybe(0.3, "host_thresholds", &["unknown", "equal-split"]),
        maybe(0.5, "message_gap", &["1ns", "5us", "300us"]),
        maybe(0.5, "remaining", &["unacknowledged"]),
        maybe(0.3, "transport", &["tcp", "dctcp", "d2tcp", "cubic", "pfabric"]),
        maybe(0.5, "loss_detection", &["off", "dupack", "rack", "rack-tlp", "auto"]),
        maybe(0.2, "undo", &["true", "false"]),
        maybe(0.2, "receive_window", &["2pkt", "9pkt", "80pkt"]),
        prop_oneof![
            6 => Just(Given::new()),
            1 => one_of("reordering", &["tcp", "by-priority"]),
            1 => one_of("reordering gaps", &["by-priority; every"]),
        ]
        .boxed(),
        prop_oneof![
            5 => Just(Given::new()),
            3 => one_of("initial_window", &["1", "4", "20", "200"]),
            2 => one_of("initial_window max_window", &["1; 5", "5; 5", "4; 30", "20; 30"]),
        ]
        .boxed(),
        maybe(0.2, "min_window", &["1", "2", "4"]),
        prop_oneof![
            6 => Just(Given::new()),
            2 => one_of("ack_every", &["2", "4"]),
            1 => one_of("ack_every quick_acks", &["2; 1", "3; 20"]),
        ]
        .boxed(),
        maybe(0.3, "delayed_ack", &["0us", "6us", "100us"]),
        maybe(0.2, "ecn_acks", &["true"]),
        maybe(0.5, "rto_min", &["60us", "250us", "2ms"]),
        maybe(0.4, "rto", &["constant", "rfc6298", "linux"]),
        maybe(0.2, "max_backoff", &["1", "4"]),
        maybe(0.2, "probe_after", &["1", "2"]),
        maybe(0.3, "slow_start_restart", &["false"]),
        maybe(0.3, "mtu", &["576B", "9000B"]),
        maybe(0.5, "nscc_path_choice", &["oblivious", "bitmap", "reps"]),
        maybe(0.3, "nscc_ack_bytes", &["1B", "100KB"]),
        maybe(0.2, "place_of_thresholds", &["host"]),
        maybe(0.5, "flow_ends", &["fin", "idle"]),
        maybe(0.8, "flow_idle flow_table", &["30us; 3", "200us; 20"]),
        maybe(0.8, "update_period update_window", &["7us; 20us", "100us; 100us", "300us; 1ms"]),
        maybe(0.5, "list_memory", &["12B", "60B"]),
        maybe(0.4, "boost", &["5us", "90us"]),
        maybe(0.2, "misusing_hosts", &["1", "2"]),
        maybe(0.3, "inference", &["1ns", "1200ns", "40us"]),
        maybe(0.5, "slack", &["0B", "1pkt", "9KB"]),
        maybe(0.4, "coflow_order", &["none", "sebf", "fifo", "tcf", "d-clas"]),
        maybe(0.5, "levels level_slack", &["sparse; 0", "sparse; 2"]),
        maybe(0.8, "coordinator_delay", &["200ns", "3us", "20us"]),
        maybe(0.3, "coordinator_period", &["7us", "100us"]),
        maybe(0.3, "announce", &["flow"]),
        maybe(0.4, "until_placed", &["hold", "first", "last"]),
        maybe(0.3, "pcoflow_slots", &["1", "5"]),
    ])
}

#[derive(Clone, Debug)]
struct DraftFlow {
    start: u64,
    src: Index,
    dst: Index,
    bytes: u64,
    class: u8,
    due: Option<NonZeroU64>,
}

fn draft_flow() -> impl Strategy<Value = DraftFlow> {
    let bytes = prop_oneof![
        2 => 1u64..3_000,
        1 => (1u64..60).prop_map(|packets| 1_460 * packets),
        2 => 1u64..60_000,
        1 => 1u64..400_000,
    ];
    // Many flows start together, or a packet's time apart.
    let start = prop_oneof![1 => Just(0), 3 => (0u64..250).prop_map(|n| n * 1_200_000), 2 => 0u64..300_000_000];
    let due = prop::option::weighted(0.4, (1u64..2_000_000_000).prop_map(|ps| NonZeroU64::new(ps).expect("above 0")));
    (start, any::<Index>(), any::<Index>(), bytes, 0u8..3, due)
        .prop_map(|(start, src, dst, bytes, class, due)| DraftFlow { start, src, dst, bytes, class, due })
}

/// A flow in plain numbers: when it begins in picoseconds, from which host to which, bytes, class, and its deadline in picoseconds
/// from its begin, 0 for none.
pub(crate) type PlainFlow = [u64; 6];

fn plain_flows(hosts: u32, mut drafts: Vec<DraftFlow>) -> Vec<PlainFlow> {
    drafts.sort_by_key(|draft| draft.start);
    let flow = |draft: DraftFlow| {
        let src = draft.src.index(hosts as usize) as u64;
        let dst = (src + 1 + draft.dst.index(hosts as usize - 1) as u64) % u64::from(hosts);
        [draft.start, src, dst, draft.bytes, draft.class.into(), draft.due.map_or(0, NonZeroU64::get)]
    };
    drafts.into_iter().map(flow).collect()
}

fn flows(plain: &[PlainFlow]) -> Vec<Flow> {
    let flow = |(id, &[start_ps, src, dst, bytes, class, due]): (u32, &PlainFlow)| Flow {
        id,
        start_ps,
        src: src as u32,
        dst: dst as u32,
        bytes,
        class: class as u8,
        deadline_ps: NonZeroU64::new(due),
        coflow: (bytes % 5 < 3).then_some(bytes as u32 % 7),
    };
    (0..).zip(plain).map(flow).collect()
}

/// Links that differ, by the names of their ends in the fabric as it was.
fn changed(given: &Given, changes: &[(Index, &'static str)]) -> Option<Given> {
    let fabric = Fabric::from_settings(&settings(given)).ok()?;
    let mut names: Vec<String> = Vec::new();
    let mut all = given.clone();
    for (index, change) in changes {
        let link = fabric.links[index.index(fabric.links.len())];
        let mut ends = [fabric.name(link.from), fabric.name(link.to)];
        ends.sort();
        let ends = ends.join(" ");
        if names.contains(&ends) {
            continue;
        }
        let (key, value) = change.split_once(' ').expect("a key and its value");
        all.push((format!("{}:between", names.len()), ends.clone()));
        all.push((format!("{}:{key}", names.len()), value.to_owned()));
        names.push(ends);
    }
    Some(all)
}

/// What was a controller of the first class of flows.
fn of_second_class(mut spec: ControllerSpec) -> ControllerSpec {
    match &mut spec.kind {
        ControllerKind::OwnThresholds(OwnParams { of, .. })
        | ControllerKind::NetworkThresholds(NetworkParams { of, .. }) => of.class = 1,
        ControllerKind::SurvivalMerged(Merged(params)) | ControllerKind::SurvivalAlone(Alone(params)) => {
            params.class = 1
        }
        ControllerKind::Actuators(actuators) => actuators.class = 1,
        ControllerKind::Coordinator(params) => params.classes = 1..2,
        ControllerKind::Custom(_) => unreachable!("no scheme of the registry"),
    }
    spec
}

/// Loose bounds of sizes; some sizes lie outside.
pub(crate) fn predictions(seed: u64) -> Arc<dyn Predict> {
    let law = BoundsLaw { lower: (0.0, 1.0), upper: (1.0, 3.0), outside: 0.2 };
    Arc::new(DrawnBounds { law, seed })
}

/// When a run ends in which a flow never does. Parts that act every few microseconds do so until then.
const MOST_TIME: Time = Time::from_us(300_000);
/// What the lines of a fabric can make of full packets until a run is stopped: where they are many or fast, it is stopped before
/// [`MOST_TIME`]. A flow may send the same packets again for as long as a run goes on.
const MOST_HOPS: u64 = 2_000_000;

/// Full packets of 1,500 bytes that all lines together can carry in this time.
fn full_packets(fabric: &Fabric, span_ps: u64) -> u64 {
    let bits: u128 = fabric.links.iter().map(|link| u128::from(link.rate.bps()) * u128::from(span_ps)).sum();
    (bits / 1_000_000_000_000 / 12_000) as u64
}

/// When a run in this fabric is stopped.
fn stop(fabric: &Fabric) -> Time {
    let at_most = full_packets(fabric, MOST_TIME.0).max(1);
    Time((u128::from(MOST_TIME.0) * u128::from(MOST_HOPS) / u128::from(at_most)) as u64).min(MOST_TIME)
}

/// No part of [`Rest::own_parts`].
pub(crate) const NO_OWN_PARTS: u8 = 7;

/// What else a case has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    /// 0: balancers that gossip; 1 and 2: controllers that do; from 3: none.
    pub(crate) own_parts: u8,
    pub(crate) seed: u64,
    pub(crate) wire_overhead: u16,
    pub(crate) to_ack: bool,
    /// When it is stopped, in microseconds, if before its lines have carried all that they may.
    pub(crate) stop_us: Option<u64>,
}

/// The case of these settings, schemes (a second one has a class of flows of its own) and flows: what is printed of a case that
/// fails.
pub(crate) fn made(given: &[(&str, &str)], schemes: &[&str], rest: Rest, flows: &[PlainFlow]) -> Case {
    try_made(given, schemes, rest, |_| flows.to_vec()).expect("a fabric and a scheme that can be")
}

fn try_made(
    given: &[(&str, &str)],
    schemes: &[&str],
    rest: Rest,
    flows_of: impl FnOnce(u32) -> Vec<PlainFlow>,
) -> Option<Case> {
    let owned: Given = given.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let settings = settings(&owned);
    let fabric = Fabric::from_settings(&settings).ok()?;
    let mut scheme = scheme(schemes[0], &settings)?;
    if let Some(second) = schemes.get(1) {
        let second = self::scheme(second, &settings)?;
        scheme.controllers.extend(second.controllers.into_iter().map(of_second_class));
        scheme.classes.extend(second.classes);
    }
    let Rest { own_parts, seed, wire_overhead, to_ack, stop_us } = rest;
    match own_parts {
        0 => {
            scheme.balancers = ByPlace::try_from_fn(|_| Ok::<_, Infallible>(Gossip::spec())).expect("no error is made");
        }
        1 | 2 => {
            let delay = Time::from_us(seed % 4);
            let hears = if seed.is_multiple_of(3) || delay == Time::ZERO {
                Hears::WhenItDecides(delay)
            } else {
                Hears::AsItHappens(delay)
            };
            scheme = rumour::swayed(scheme, &fabric, own_parts == 1, hears);
        }
        _ => {}
    }
    let plain = flows_of(fabric.hosts);
    let call = format!("made(\n    &{given:?},\n    &{schemes:?},\n    {rest:?},\n    &{plain:?},\n)");
    let flows = flows(&plain);
    let max_time = stop_us.map_or(Time::NEVER, Time::from_us).min(stop(&fabric));
    Some(Case {
        predictions: predictions(seed),
        announcements: announcements(flows.iter().copied()),
        flows,
        fabric,
        scheme,
        wire_overhead,
        fct_end: if to_ack { FctEnd::Ack } else { FctEnd::Arrival },
        measure: Measure::All,
        seed,
        max_time: Some(max_time),
        partitioning: Partitioning::Whole,
        call,
    })
}

/// Any run of `most_flows` flows at most.
pub(crate) fn case(most_flows: usize) -> impl Strategy<Value = Case> {
    case_of(REGISTRY.iter().map(|entry| entry.name.as_str()).collect(), most_flows)
}

/// Schemes whose thresholds adapt by the clock, or may.
pub(crate) const BY_THE_CLOCK: [&str; 3] = ["nos2", "es-8", "pias"];

/// The same of these schemes.
pub(crate) fn case_of(names: Vec<&'static str>, most_flows: usize) -> impl Strategy<Value = Case> {
    let changes = prop::collection::vec(
        (any::<Index>(), select(&["loss 0.02", "loss 0.2", "rate 1Gbps", "delay 5us", "failed true"][..])),
        0..3,
    );
    let network = (fabric_settings(), prop_oneof![2 => Just(Vec::new()), 1 => changes]);
    let schemes = (select(names.clone()), prop::option::weighted(0.2, select(names)), scheme_settings());
    let drafts = prop::collection::vec(draft_flow(), most_flows / 10..=most_flows);
    let rest = (select(&[40u16, 60][..]), select(&[0u16, 20, 24][..]), any::<u64>(), any::<bool>(), 0..8u8);
    (network, schemes, drafts, rest).prop_filter_map("a fabric and a scheme that can be", |drawn| {
        let ((fabric, changes), (first, second, given), drafts, (header, wire_overhead, seed, to_ack, own_parts)) =
            drawn;
        let all = [changed(&fabric, &changes)?, given, vec![("header".to_owned(), format!("{header}B"))]].concat();
        let all: Vec<(&str, &str)> = all.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let schemes: Vec<&str> = [Some(first), second].into_iter().flatten().collect();
        let rest = Rest { own_parts, seed, wire_overhead, to_ack, stop_us: None };
        try_made(&all, &schemes, rest, |hosts| plain_flows(hosts, drafts))
    })
}

/// This many cases, or as many as PROPTEST_CASES says.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let default = ProptestConfig { max_shrink_iters: 2_000, failure_persistence: None, ..ProptestConfig::default() };
    ProptestConfig { cases: if given { default.cases } else { cases }, ..default }
}
