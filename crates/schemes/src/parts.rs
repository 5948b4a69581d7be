//! Puts a scheme together from the settings. Each scheme gives its own defaults ([`Parts`]); every part can be set
//! otherwise in the experiment, for all places or for one. The two parameter sets differ here and in
//! [`crate::parameters`], nowhere else.

use std::sync::Arc;

use flowsieve_core::admission::Admission;
use flowsieve_core::bank::BankRules;
use flowsieve_core::discipline::Discipline;
use flowsieve_core::fair_queueing::BitByBit;
use flowsieve_core::flow_queues::Order;
use flowsieve_core::host_queues::HostQueueRules;
use flowsieve_core::marker::{Marker, Scope as Length, WHOLE};
use flowsieve_core::pfabric::PoolRules;
use flowsieve_core::pifo::PifoRules;
use flowsieve_core::sp_pifo::SpPifoRules;
use flowsieve_core::{PortKind, Rate, Time};
use flowsieve_transport::TransportSpec;
use flowsieve_transport::open_loop::OpenLoopRules;
use flowsieve_transport::tcp::params::{Congestion, LossDetection, Restart, RtoRule, WindowRule};
use flowsieve_transport::tcp::{Connections, HEADER_BYTES, Handshake, TcpParams, TcpRules};

use crate::afq;
use crate::parameters::{ParameterSet, header, segment};
use crate::registry::Context;
use crate::scheme::{BalancerSpec, Class, Nic, Places, PortSpec, Scheme, TaggerSpec};
use crate::settings::{DEFAULT_MTU_BYTES, Place, Scope, SettingsError};

/// A scheme's own defaults, by the names that settings use.
#[derive(Clone, Debug)]
pub struct Parts {
    /// How hosts send.
    pub transport: &'static str,
    /// What hosts write into packets.
    pub tagger: &'static str,
    /// Which packet of a port leaves next.
    pub discipline: &'static str,
    /// Queues of a port.
    pub queues: u64,
    /// Queues of a host's own port by levels of the host's own. 0: its port is like a switch's.
    pub host_queues: u64,
    /// What ECN marking compares with its threshold.
    pub marking: &'static str,
    /// Buffer of a port, in full packets.
    pub buffer_packets: u64,
    /// What the buffer limits.
    pub admission: &'static str,
    /// No buffer limit unless one is set.
    pub unlimited: bool,
    /// The rank from which a PIFO is a FIFO.
    pub fifo_from: Option<u64>,
    /// Smallest retransmission timeout. [`Time::NEVER`]: the parameter set's.
    pub rto_min: Time,
    /// Timeouts in a row after which pFabric's sender probes. 0: never.
    pub probe_after: u64,
}

impl Parts {
    /// DCTCP over one FIFO queue a port.
    pub const DEFAULT: Parts = Parts {
        transport: "dctcp",
        tagger: "plain",
        discipline: "fifo",
        queues: 1,
        host_queues: 0,
        marking: "per-port",
        buffer_packets: 240,
        admission: "per-port",
        unlimited: false,
        fifo_from: None,
        rto_min: Time::NEVER,
        probe_after: 0,
    };
}

impl Default for Parts {
    fn default() -> Parts {
        Parts::DEFAULT
    }
}

/// Builds a scheme from its defaults and the settings. An error names a setting that does not fit.
pub fn build(context: &Context<'_>, parts: &Parts) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let set = ParameterSet::read(scope)?;
    let balancers = Places::try_from_fn(|place| balancer(&scope.at(place), set))?;
    let sprayed = [Place::Leaf, Place::Spine, Place::Core].iter().any(|&place| balancers.at(place).splits_flows());
    let transport = transport(scope, parts, set, sprayed)?;
    let nic = nic(scope, set, &transport)?;
    let ports = Places::try_from_fn(|place| match (place, nic) {
        (Place::Nic, Nic::Backpressure { .. }) => port(scope, place, parts, false),
        _ => port(scope, place, parts, true),
    })?;
    let shares = Place::ALL.iter().any(|&place| ports.at(place).shares_memory());
    Ok(Scheme {
        name: scope.variant().to_owned(),
        classes: vec![Class { transport, tagger: tagger(scope, parts)? }],
        // Not given it is no part of the configuration.
        misusing_hosts: scope.optional_count("misusing_hosts")?.unwrap_or(0) as u32,
        nic,
        ports,
        balancers,
        shared_buffer: if shares { scope.bytes("shared_buffer", 4_000_000)? } else { 0 },
    })
}

fn transport(
    scope: &Scope<'_>,
    parts: &Parts,
    set: ParameterSet,
    sprayed: bool,
) -> Result<TransportSpec, SettingsError> {
    let (segment, header) = (segment(scope)?.get(), header(scope)?);
    let ns2 = set == ParameterSet::Ns2;
    let marking = parts.marking != "none";
    let kinds = [
        ("tcp", Some(false)),
        ("dctcp", Some(true)),
        ("d2tcp", Some(true)),
        ("pfabric", Some(false)),
        ("open-loop", None),
    ];
    let name = scope.text("transport", parts.transport)?;
    let Some(estimates) = scope.choice("transport", &kinds, parts.transport)? else {
        return Ok(TransportSpec::OpenLoop(Arc::new(OpenLoopRules { segment, header })));
    };
    let congestion = if estimates {
        let gain = scope.number("dctcp_g", 1.0 / 16.0)?;
        let initial_alpha = scope.number("initial_alpha", if ns2 { 0.0 } else { 1.0 })?;
        match name.as_str() {
            "d2tcp" => Congestion::D2tcp { gain, initial_alpha },
            _ => Congestion::Dctcp { gain, initial_alpha },
        }
    } else {
        Congestion::NewReno
    };
    let initial_window = scope.count("initial_window", if ns2 { 70 } else { 10 })?;
    let buffer = scope.bytes("buffer", parts.buffer_packets * u64::from(segment + HEADER_BYTES))?;
    let mtu = scope.bytes("mtu", DEFAULT_MTU_BYTES)?;
    // ns-2's scripts: one packet less than the queue holds, and no less than the initial window.
    let largest = if ns2 { (buffer / mtu).saturating_sub(1).max(initial_window) } else { 4_096 };
    let max_window = scope.count("max_window", largest)?.max(initial_window);
    let detections = [("off", 0), ("dupack", 1), ("rack", 2), ("auto", 3)];
    let loss_detection = match (scope.choice("loss_detection", &detections, "auto")?, sprayed) {
        (0, _) => LossDetection::Off,
        (3, true) if ns2 => LossDetection::Off,
        (2, _) | (3, true) => LossDetection::Rack,
        _ => LossDetection::DupAck(scope.count("dupack_threshold", 3)? as u32),
    };
    let own_rto = parts.rto_min != Time::NEVER;
    let rto_default = if own_rto { parts.rto_min } else { Time::from_us(if ns2 { 2_000 } else { 10_000 }) };
    let rto_min = Time(scope.time("rto_min", rto_default.0)?);
    let constant = scope.choice(
        "rto",
        &[("constant", true), ("rfc6298", false)],
        match ns2 || own_rto {
            true => "constant",
            false => "rfc6298",
        },
    )?;
    let restarts = scope.flag("slow_start_restart", true)?;
    let ack_every = set.ack_every(scope)?;
    let probes = match name == "pfabric" {
        true => scope.count("probe_after", parts.probe_after.max(5))?,
        false => 0,
    };
    let params = TcpParams {
        segment,
        initial_window: initial_window as u32,
        max_window: max_window as u32,
        window: if ns2 { WindowRule::FromCumulative } else { WindowRule::Pipe },
        congestion,
        ecn: scope.flag("ecn", marking && name != "pfabric")?,
        loss_detection,
        rto: if constant { RtoRule::Constant(rto_min) } else { RtoRule::Rfc6298 { min: rto_min } },
        restart: match (restarts, ns2) {
            (false, _) => Restart::Off,
            (true, true) => Restart::Initial,
            (true, false) => Restart::AtMostInitial,
        },
        ack_every,
        delayed_ack: if ack_every > 1 { Time(scope.time("delayed_ack", Time::from_us(1_000).0)?) } else { Time::ZERO },
        probe_after: (probes > 0).then_some(probes as u32),
    };
    let (connections, handshake) = (connections(scope)?, handshake(scope)?);
    Ok(TransportSpec::Tcp(Arc::new(TcpRules { params, connections, handshake, header })))
}

fn connections(scope: &Scope<'_>) -> Result<Connections, SettingsError> {
    let kinds =
        [("per-flow", Connections::PerFlow), ("persistent", Connections::Persistent), ("pool", Connections::Pool)];
    scope.choice("connections", &kinds, "pool")
}

fn handshake(scope: &Scope<'_>) -> Result<Handshake, SettingsError> {
    let kinds = [("none", Handshake::Never), ("cold", Handshake::Cold), ("always", Handshake::Always)];
    scope.choice("handshake", &kinds, "cold")
}

/// A message that arrives whole needs a port that takes it whole; ns-2's hosts have the switches' queues.
fn nic(scope: &Scope<'_>, set: ParameterSet, transport: &TransportSpec) -> Result<Nic, SettingsError> {
    let open = matches!(transport, TransportSpec::OpenLoop(_));
    let default = if open || set == ParameterSet::Ns2 { "scheme" } else { "backpressure" };
    match scope.choice("nic", &[("backpressure", true), ("scheme", false)], default)? {
        true if open => Err(scope.invalid("nic", "\"scheme\": an open-loop sender does not pause")),
        true => Ok(Nic::Backpressure { backlog: scope.bytes("nic_backlog", 10 * DEFAULT_MTU_BYTES)? }),
        false => Ok(Nic::Scheme),
    }
}

/// The rate of the hosts' links, in bit/s.
pub fn host_link(scope: &Scope<'_>) -> Result<u64, SettingsError> {
    scope.common().rate("host_link", 10_000_000_000)
}

/// A setting's rate in bit/s as a link's.
pub fn link_rate(scope: &Scope<'_>, name: &str, bps: u64) -> Result<Rate, SettingsError> {
    Rate::new(bps).ok_or_else(|| scope.invalid(name, "1Mbps to 800Gbps"))
}

fn tagger(scope: &Scope<'_>, parts: &Parts) -> Result<TaggerSpec, SettingsError> {
    if scope.text("tagger", parts.tagger)? == "deadline" {
        let rate = scope.rate("edf_rate", host_link(scope)?)?;
        return Ok(TaggerSpec::DeadlineFirst(link_rate(scope, "edf_rate", rate)?));
    }
    let kinds = [
        ("plain", TaggerSpec::Plain),
        ("demotion", TaggerSpec::Demotion(Vec::new())),
        ("remaining", TaggerSpec::Remaining),
        ("to-the-end", TaggerSpec::ToTheEnd),
        ("attained", TaggerSpec::Attained),
    ];
    scope.choice("tagger", &kinds, parts.tagger)
}

fn balancer(scope: &Scope<'_>, set: ParameterSet) -> Result<BalancerSpec, SettingsError> {
    let default = if set == ParameterSet::Ns2 { "spray" } else { "ecmp" };
    let kinds = [("ecmp", 0), ("spray", 1), ("spray-random", 2), ("flowlet", 3)];
    Ok(match scope.choice("load_balancing", &kinds, default)? {
        0 => BalancerSpec::Ecmp,
        1 => BalancerSpec::SprayRoundRobin,
        2 => BalancerSpec::SprayRandom,
        _ => BalancerSpec::Flowlet { gap: Time(scope.time("flowlet_gap", Time::from_us(500).0)?) },
    })
}

/// A port at one place; `limited`: with its buffer and marks.
fn port(scope: &Scope<'_>, place: Place, parts: &Parts, limited: bool) -> Result<PortSpec, SettingsError> {
    let scope = &scope.at(place);
    let own = place == Place::Nic && parts.host_queues > 0;
    let mtu = scope.bytes("mtu", DEFAULT_MTU_BYTES)?;
    let of = PortSettings { scope, parts, queues: if own { parts.host_queues } else { parts.queues }, mtu };
    let make = scope.choice("discipline", &DISCIPLINES, if own { "levels" } else { parts.discipline })?;
    let kind = make(&of)?;
    if !limited {
        return Ok(PortSpec::unlimited(kind));
    }
    let buffer = parts.buffer_packets * mtu;
    if let PortKind::Pfabric(_) = kind {
        // A pool turns away by rank, within the port's buffer, and marks nothing.
        let limit = scope.bytes("buffer", buffer)?;
        return Ok(PortSpec { kind, admission: Admission::PerPort { limit }, marker: Marker::Off });
    }
    Ok(PortSpec { kind, admission: admission(scope, place, parts, buffer)?, marker: marker(scope, parts, mtu)? })
}

/// What a discipline may read.
pub(crate) struct PortSettings<'a> {
    /// The port's settings.
    pub(crate) scope: &'a Scope<'a>,
    /// The scheme's defaults.
    pub(crate) parts: &'a Parts,
    /// Queues, unless they are set.
    queues: u64,
    /// Bytes of a full packet.
    pub(crate) mtu: u64,
}

impl PortSettings<'_> {
    /// How many queues.
    pub(crate) fn queues(&self) -> Result<usize, SettingsError> {
        Ok(self.scope.count("queues", self.queues)? as usize)
    }
}

type MakeKind = fn(&PortSettings<'_>) -> Result<PortKind, SettingsError>;

/// The disciplines that a port may be set to.
const DISCIPLINES: [(&str, MakeKind); 12] = [
    ("fifo", |_| bank(1, Discipline::StrictPriority)),
    ("sp", |of| bank(of.queues()?, Discipline::StrictPriority)),
    ("wrr", |of| bank(of.queues()?, Discipline::WeightedRoundRobin { weights: weights(of, 1)? })),
    ("drr", |of| bank(of.queues()?, Discipline::DeficitRoundRobin { quanta: weights(of, of.mtu)? })),
    ("levels", |of| Ok(PortKind::Host(HostQueueRules { queues: of.queues()? }))),
    ("pifo", pifo),
    ("pfabric", |_| Ok(PortKind::Pfabric(PoolRules))),
    ("ps", |_| Ok(PortKind::Flows(Order::RoundRobin))),
    ("least-rank", |_| Ok(PortKind::Flows(Order::LeastRank))),
    ("fair-queueing", |_| Ok(PortKind::Fair(BitByBit))),
    ("sp-pifo", |of| Ok(PortKind::SpPifo(SpPifoRules { queues: of.queues()? }))),
    ("afq", |of| Ok(PortKind::Afq(afq::rules(of)?))),
];

fn bank(queues: usize, discipline: Discipline) -> Result<PortKind, SettingsError> {
    Ok(PortKind::Bank(BankRules { queues, discipline }))
}

fn pifo(of: &PortSettings<'_>) -> Result<PortKind, SettingsError> {
    let fifo_from = match (of.scope.optional_bytes("fifo_from")?, of.parts.fifo_from) {
        (None, Some(default)) => Some(of.scope.bytes("fifo_from", default)?),
        (given, _) => given,
    };
    // No rank is above 32 bits.
    Ok(PortKind::Pifo(PifoRules { fifo_from: fifo_from.and_then(|from| u32::try_from(from).ok()) }))
}

/// A class that sends as another one does, with a tagger of its own.
pub fn with_tagger(class: &Class, tagger: TaggerSpec) -> Class {
    Class { transport: class.transport.clone(), tagger }
}

/// One weight a queue, times `unit`.
fn weights(of: &PortSettings<'_>, unit: u64) -> Result<Vec<u32>, SettingsError> {
    let (scope, queues) = (of.scope, of.queues()?);
    let given = scope.count_list("weights")?.unwrap_or_else(|| vec![1; queues]);
    let weights: Option<Vec<u32>> = given
        .iter()
        .map(|&weight| weight.checked_mul(unit).and_then(|w| u32::try_from(w).ok()).filter(|&w| w > 0))
        .collect();
    match weights {
        Some(weights) if weights.len() == queues => Ok(weights),
        _ => Err(scope.invalid("weights", format!("{queues} weights of at least 1, one for each queue"))),
    }
}

fn admission(scope: &Scope<'_>, place: Place, parts: &Parts, buffer: u64) -> Result<Admission, SettingsError> {
    if parts.unlimited && !scope.is_given("buffer") && !scope.is_given("admission") {
        return Ok(Admission::Unlimited);
    }
    match scope.choice("admission", &[("per-port", 0), ("per-queue", 1), ("shared", 2)], parts.admission)? {
        0 => Ok(Admission::PerPort { limit: scope.bytes("buffer", buffer)? }),
        // A host's port has nobody to share with.
        2 if place == Place::Nic => Ok(Admission::PerPort { limit: scope.bytes("buffer", buffer)? }),
        1 => Ok(Admission::PerQueue { limit: scope.bytes("buffer", buffer)? }),
        _ => Ok(Admission::Shared { alpha_256: (scope.number("dt_alpha", 1.0)? * 256.0).round().max(1.0) as u32 }),
    }
}

fn marker(scope: &Scope<'_>, parts: &Parts, mtu: u64) -> Result<Marker, SettingsError> {
    let kinds = [
        ("none", None),
        ("per-port", Some((Length::Port, false))),
        ("per-queue", Some((Length::Queue, false))),
        ("red", Some((Length::Port, true))),
        ("red-per-queue", Some((Length::Queue, true))),
    ];
    let Some((length, red)) = scope.choice("marking", &kinds, parts.marking)? else {
        return Ok(Marker::Off);
    };
    let counts_arriving = scope.flag("ecn_counts_arriving", true)?;
    if !red {
        return Ok(Marker::Threshold {
            above: scope.bytes("ecn_threshold", 65 * mtu)?,
            scope: length,
            counts_arriving,
        });
    }
    let min = scope.bytes("red_min", 65 * mtu)?;
    let max = scope.bytes("red_max", 2 * min)?;
    if max <= min {
        return Err(scope.invalid("red_max", "more than red_min"));
    }
    Ok(Marker::Red {
        min,
        max,
        most: (scope.number("red_probability", 1.0)? * f64::from(u32::MAX)).round() as u32,
        weight: (scope.number("red_average", 1.0)? * f64::from(WHOLE)).round().max(1.0) as u32,
        scope: length,
        counts_arriving,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::REGISTRY;
    use crate::settings::{Origin, Raw, Settings};
    use crate::testing::Facts;
    use flowsieve_core::afq::{Beyond, BidStore};

    const WEB_SEARCH: Facts = Facts { name: Some("web-search"), load: Some(0.6), uniform_to: Some(1_000_000) };

    fn scheme(name: &str, settings: &Settings) -> Result<Scheme, SettingsError> {
        let entry = crate::registry::find(name).unwrap();
        (entry.build)(&Context { scope: settings.scheme(name), workload: &WEB_SEARCH })
    }

    fn tcp(scheme: &Scheme) -> &TcpParams {
        match &scheme.classes[0].transport {
            TransportSpec::Tcp(rules) => &rules.params,
            _ => panic!("{} is open loop", scheme.name),
        }
    }

    #[test]
    fn registry__every_scheme_builds_with_both_sets() {
        for entry in REGISTRY {
            for set in ["ns2", "rfc"] {
                let settings = Settings::default().with(None, "parameters", set);
                assert_eq!(scheme(entry.name, &settings).unwrap().name, entry.name);
            }
        }
    }

    #[test]
    fn ns2__the_published_parameters() {
        let pfabric = scheme("pfabric", &Settings::default()).unwrap();
        let params = tcp(&pfabric);
        assert_eq!((params.initial_window, params.max_window, params.probe_after), (70, 139, Some(5)));
        assert_eq!(params.rto, RtoRule::Constant(Time::from_us(250)));
        assert_eq!((params.loss_detection, params.ecn), (LossDetection::Off, false));
        let pool = pfabric.ports.at(Place::Spine);
        assert!(matches!(pool.kind, PortKind::Pfabric(_)));
        assert_eq!((pool.admission, pool.marker), (Admission::PerPort { limit: 210_000 }, Marker::Off));

        let pias = scheme("pias", &Settings::default()).unwrap();
        assert_eq!(tcp(&pias).max_window, 239);
        assert_eq!(tcp(&pias).rto, RtoRule::Constant(Time::from_us(2_000)));
        assert!(matches!(&pias.classes[0].tagger, TaggerSpec::Demotion(t) if t[0] == 1_395_760));
        let PortSpec { kind, admission, marker } = pias.ports.at(Place::Leaf);
        assert!(matches!(kind, PortKind::Bank(BankRules { queues: 8, .. })));
        assert_eq!(*admission, Admission::PerPort { limit: 360_000 });
        assert!(matches!(marker, Marker::Threshold { above: 97_500, scope: Length::Port, .. }));
    }

    #[test]
    fn comparisons__what_each_is_made_of() {
        let of = |name: &str| scheme(name, &Settings::default()).unwrap();
        let port = |name: &str| of(name).ports.at(Place::Spine).clone();

        let sp_pifo = of("sp-pifo");
        assert_eq!((tcp(&sp_pifo).max_window, tcp(&sp_pifo).probe_after), (70, Some(5)));
        assert!(matches!(sp_pifo.classes[0].tagger, TaggerSpec::Remaining));
        let queue = Admission::PerQueue { limit: 27_000 };
        assert!(matches!(port("sp-pifo").kind, PortKind::SpPifo(SpPifoRules { queues: 8 })));
        assert_eq!(port("sp-pifo").admission, queue);

        let PortKind::Afq(rules) = port("afq").kind else { panic!() };
        assert_eq!((rules.queues, rules.bytes_per_round, rules.beyond), (8, 150_000, Beyond::Drop));
        assert_eq!(rules.bids, BidStore::Sketch { rows: 3, columns: 1_024 });
        let PortKind::Afq(rules) = port("afq").without_limits().kind else { panic!() };
        assert_eq!(rules.beyond, Beyond::LastQueue, "a paused host loses nothing");

        for name in ["fair-queueing", "nagle", "pifo-las"] {
            assert!(matches!(tcp(&of(name)).congestion, Congestion::Dctcp { .. }) && tcp(&of(name)).ecn, "{name}");
            assert!(format!("{:?}", port(name)).contains("above: 97500"), "{name}: {:?}", port(name));
        }
        assert!(matches!(port("pifo-las").kind, PortKind::Pifo(PifoRules { fifo_from: None })));
        assert!(matches!(port("pifo-fifo-las").kind, PortKind::Pifo(PifoRules { fifo_from: Some(100_000) })));
        assert!(matches!(tcp(&of("d2tcp")).congestion, Congestion::D2tcp { .. }));
    }

    #[test]
    fn comparisons__settings_of_taggers() {
        let fast = Settings::default().with(None, "host_link", "25Gbps");
        let tagger = |name: &str, settings: &Settings| scheme(name, settings).unwrap().classes[0].tagger.clone();
        let rate = |settings: &Settings| match tagger("pfabric-edf", settings) {
            TaggerSpec::DeadlineFirst(rate) => rate.bps(),
            other => panic!("{other:?}"),
        };
        assert_eq!([rate(&Settings::default()), rate(&fast)], [10_000_000_000, 25_000_000_000]);
        assert_eq!(rate(&fast.with(Some("pfabric-edf"), "edf_rate", "1Gbps")), 1_000_000_000);
        let real = Settings::default().with(None, "message_gap", "3ms");
        let TaggerSpec::DemotionByGap(thresholds, gap) = tagger("pias", &real) else { panic!() };
        assert_eq!((thresholds[0], gap), (1_395_760, Time::from_us(3_000)));
    }

    #[test]
    fn ns2__duplicate_acks_with_ecmp_alone() {
        let ecmp = Settings::default().with(None, "load_balancing", "ecmp");
        assert_eq!(tcp(&scheme("dctcp", &ecmp).unwrap()).loss_detection, LossDetection::DupAck(3));
        assert_eq!(tcp(&scheme("dctcp", &Settings::default()).unwrap()).loss_detection, LossDetection::Off);
    }

    #[test]
    fn rfc__rack_where_packets_are_sprayed() {
        let sprayed = Settings::default().with(None, "parameters", "rfc").with(None, "load_balancing", "spray");
        let dctcp = scheme("dctcp", &sprayed).unwrap();
        assert_eq!(tcp(&dctcp).loss_detection, LossDetection::Rack);
        assert_eq!(dctcp.nic, Nic::Backpressure { backlog: 15_000 });
    }

    #[test]
    fn build__refuses_what_does_not_fit() {
        let two = Raw::List(vec![(Raw::from(1), Origin::Default), (Raw::from(2), Origin::Default)]);
        let weights = Settings::default().with(None, "discipline", "drr").with(None, "weights", two);
        assert!(scheme("pias", &weights).is_err(), "8 queues");
        let red = Settings::default().with(None, "marking", "red").with(None, "red_max", "1KB");
        assert!(scheme("dctcp", &red).is_err());
        let open = Settings::default().with(None, "nic", "backpressure");
        assert!(scheme("srpt", &open).is_err());
        let header = Settings::default().with(None, "mtu", "100B").with(None, "header", "100B");
        assert!(scheme("dctcp", &header).is_err());
    }
}
