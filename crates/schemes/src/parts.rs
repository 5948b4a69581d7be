//! Builds a scheme from the settings. Each scheme gives its own defaults ([`Parts`]). Every part that a scheme does not
//! build itself can be set in the experiment, for all places or for one. The two parameter sets differ only here and in
//! [`crate::parameters`].

/// Makes the names that settings use for a kind of part, from lines `Name "text" => function that builds the part`.
macro_rules! names {
    ($(#[$of_all:meta])* $Name:ident of $of:ty => $part:ty; $($(#[$doc:meta])* $name:ident $text:literal => $make:expr;)*) => {
        $(#[$of_all])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name {
            $($(#[$doc])* $name,)*
        }

        impl $Name {
            const ALL: &[(&str, $Name); [$($text),*].len()] = &[$(($text, $Name::$name)),*];

            fn make(self, of: $of) -> Result<$part, SettingsError> {
                let make: fn($of) -> Result<$part, SettingsError> = match self {
                    $($Name::$name => $make,)*
                };
                make(of)
            }
        }
    };
}

mod balancing;
mod host_port;
mod port;
mod repair;
mod sending;
mod tagging;

use flowsieve_core::pifo::PifoRules;
use flowsieve_core::taggers::plain::Plain;
use flowsieve_core::{BalancerSpec, Misuse, PortKind, TaggerSpec, Time};
use flowsieve_transport::tcp::CongestionSpec;
use flowsieve_transport::tcp::NicOrder;
use flowsieve_transport::tcp::params::LossDetection;
use flowsieve_transport::{TransportFacts, TransportSpec};

pub(crate) use balancing::SETTINGS as BALANCING_SETTINGS;
pub(crate) use balancing::balancing;
pub use balancing::{BalancingName, LOAD_BALANCING};
pub(crate) use host_port::SETTINGS as HOST_PORT_SETTINGS;
pub use port::QUEUES;
pub(crate) use port::SETTINGS as PORT_SETTINGS;
pub use port::{AdmissionName, DisciplineName, MarkingName};
pub(crate) use port::{PortSettings, own_queues};
pub(crate) use repair::SETTINGS as REPAIR_SETTINGS;
pub(crate) use sending::RTO_MIN_OF_NS2;
pub(crate) use sending::SETTINGS as SENDING_SETTINGS;
pub use sending::{RTO_MIN, ReorderingName, TransportName};
pub use tagging::TaggerName;
pub(crate) use tagging::{SETTINGS as TAGGING_SETTINGS, TAGGER};

use crate::entry::Context;
use crate::marking_rule::ecn_threshold_bytes;
use crate::parameters::{self, ParameterSet, Reference};
use crate::scheme::{ByPlace, Class, Nic, PortSpec, Scheme};
use flowsieve_settings::declare;
use flowsieve_settings::{MTU, Origin, Place, Scope, Section, Setting, SettingsError};
use std::num::NonZeroU32;

declare! {
    static MISUSING_HOSTS: Setting<u64> = Setting::count(
        Section::Transport, "misusing_hosts", 0, 65_535,
        "number of hosts, from the first on, that claim the highest priority and rank for all their packets",
    );
}

/// A part of a scheme.
#[derive(Clone, Debug)]
pub enum Part<N, P> {
    /// Built from the settings: the part of this name, if they name no other.
    Named(N),
    /// The scheme's own. The settings that build such a part are not read, and are in no result.
    Own(P),
}

/// A scheme's own defaults.
#[derive(Clone, Debug)]
pub struct Parts {
    /// How hosts send.
    pub transport: Part<TransportName, TransportSpec>,
    /// The congestion control of TCP, if the scheme brings its own. In that case no name in `transport` is read, and all
    /// other settings of TCP apply. `None`: that of `transport`.
    pub own_congestion: Option<CongestionSpec>,
    /// What hosts write into packets. A scheme with its own refuses another.
    pub tagger: Part<TaggerName, TaggerSpec>,
    /// How switches choose among equal paths. A scheme with its own refuses another. `None`: the parameter set's, unless
    /// the settings name one.
    pub balancer: Option<Part<BalancingName, BalancerSpec>>,
    /// What a gap in the arrivals means, by default.
    pub reordering: ReorderingName,
    /// Which packet of a port leaves next.
    pub port: Part<DisciplineName, PortKind>,
    /// Queues of a port.
    pub queues: u64,
    /// Queues of a host's own port, by the host's levels. 0: its port is like a switch's.
    pub host_queues: u64,
    /// What ECN marking compares with its threshold.
    pub marking: MarkingName,
    /// The marking threshold, in full packets: ECN's, or the beginning of RED's ramp.
    pub mark_packets: u64,
    /// RED's probability at the end of its ramp.
    pub red_probability: f64,
    /// Buffer of a port, in full packets.
    pub buffer_packets: u64,
    /// Initial window in the papers' lineage, in packets.
    pub initial_packets: u64,
    /// What the buffer limits.
    pub admission: AdmissionName,
    /// Whether there is no buffer limit unless one is set.
    pub unlimited: bool,
    /// The rank from which packets of a PIFO wait in a FIFO.
    pub fifo_from: Option<u64>,
    /// Smallest retransmission timeout. `None`: the parameter set's.
    pub rto_min: Option<Time>,
    /// Which connection a host serves next if its port pushes back.
    pub nic_order: NicOrder,
    /// How its TCP differs from that of the parameter set.
    pub sender: Sender,
    /// Whether its numbers of packets are for this fabric, so that no parameter set scales them.
    pub fitted: bool,
}

/// How a scheme's TCP differs by default from that of the parameter set. `None`: not at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sender {
    /// The largest window, in packets.
    pub max_window: Option<u64>,
    /// Packets by which the window grows in a round trip without marks.
    pub growth: Option<f64>,
    /// Whether losses are found by times, whatever the load balancing.
    pub rack: bool,
    /// Data packets that one ACK answers, and how long it may wait for them.
    pub acks: Option<(u64, Time)>,
    /// Backlog in bytes at which a host pauses whose port pushes back.
    pub nic_backlog: Option<u64>,
}

impl Parts {
    /// The placeholder for a scheme that sets its classes' tagger after [`build`].
    pub const TAGGED_LATER: Part<TaggerName, TaggerSpec> = Part::Own(TaggerSpec::Plain(Plain));

    /// DCTCP over one FIFO queue per port.
    pub const DEFAULT: Parts = Parts {
        transport: Part::Named(TransportName::Dctcp),
        own_congestion: None,
        tagger: Part::Named(TaggerName::Plain),
        balancer: None,
        reordering: ReorderingName::Tcp,
        port: Part::Named(DisciplineName::Fifo),
        queues: 1,
        host_queues: 0,
        marking: MarkingName::PerPort,
        mark_packets: 65,
        red_probability: 1.0,
        buffer_packets: 240,
        initial_packets: 70,
        admission: AdmissionName::PerPort,
        unlimited: false,
        fifo_from: None,
        nic_order: NicOrder::Turns,
        rto_min: None,
        sender: Sender { max_window: None, growth: None, rack: false, acks: None, nic_backlog: None },
        fitted: false,
    };
}

impl Default for Parts {
    fn default() -> Parts {
        Parts::DEFAULT
    }
}

impl Parts {
    /// Returns the defaults for another rate and round trip than the papers'. The threshold follows the one rule for K
    /// ([`crate::marking_rule`]), in proportion if a scheme's is not the papers' 65 packets. Windows and buffers follow the
    /// product of rate and round trip. A buffer keeps at least the papers' proportion to the threshold, so that it still
    /// marks before it drops if the fabric's bursts raise the threshold. Schemes without marks get the same buffer, unless
    /// their paper states another: all that compete for one fabric compete with the same memory.
    fn scaled(&self, to: Reference, mtu: u64) -> Parts {
        if self.fitted {
            return Parts {
                rto_min: Some(Parts::DEFAULT.scaled(to, mtu).rto_min.unwrap_or(RTO_MIN_OF_NS2)),
                ..self.clone()
            };
        }
        let papers = Parts::DEFAULT;
        let threshold = ecn_threshold_bytes(to.host_bps, to.round_trip.0, mtu) / mtu.max(1);
        let mark_packets = (self.mark_packets * threshold).div_ceil(papers.mark_packets);
        let own_buffer = self.marking == MarkingName::Off && self.buffer_packets != papers.buffer_packets;
        let least = if own_buffer { 1 } else { (self.buffer_packets * threshold).div_ceil(papers.mark_packets) };
        let buffer_packets = to.scaled(self.buffer_packets).max(least);
        let scaled =
            Parts { mark_packets, buffer_packets, initial_packets: to.scaled(self.initial_packets), ..self.clone() };
        let rto_min = scaled.timer(self, to, mtu, self.rto_min.unwrap_or(RTO_MIN_OF_NS2));
        Parts { rto_min: Some(rto_min), ..scaled }
    }

    /// Scales a timer of the papers, whose parts were `papers`. It outlasts what the buffer holds beyond its product.
    fn timer(&self, papers: &Parts, to: Reference, mtu: u64, timer: Time) -> Time {
        let more = self.buffer_packets.saturating_sub(to.scaled(papers.buffer_packets));
        to.timer(timer, more.saturating_mul(mtu))
    }
}

/// Returns the timer of a transport whose packets wait behind those of other messages, scaled to the fabric where the
/// parameter set scales timers. Such a wait goes with the sizes of messages, so the timer stays as long as they take there.
pub(crate) fn timer(context: &Context<'_>, papers: Time) -> Result<Time, SettingsError> {
    if ParameterSet::read(&context.scope)? != ParameterSet::Scaled {
        return Ok(papers);
    }
    let (to, mtu) = (Reference::read(context)?, context.scope.read(&MTU)?);
    Ok(Parts::DEFAULT.scaled(to, mtu).timer(&Parts::DEFAULT, to, mtu, papers).max(to.time_of_bytes(papers)))
}

/// Builds a scheme from its defaults and the settings. An error names a setting that does not fit.
pub fn build(context: &Context<'_>, parts: &Parts) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let set = ParameterSet::read(scope)?;
    let parts = match set {
        ParameterSet::Ns2 | ParameterSet::Rfc | ParameterSet::Linux => parts,
        ParameterSet::Scaled => &parts.scaled(Reference::read(context)?, scope.read(&MTU)?),
    };
    let balancers = balancing::balancers(scope, parts, set)?;
    // Where there is one path, nothing is split.
    let fabric = context.workload.fabric();
    let splits = |place| balancers.at(place).splits_flows() && fabric.is_none_or(|fabric| fabric.has_choice(place));
    let sprayed = [Place::Leaf, Place::Spine, Place::Core].into_iter().any(splits);
    let transport = sending::transport(scope, parts, set, sprayed)?;
    let sets_priorities = transport.facts().sets_priorities;
    let nic = host_port::nic(scope, parts, &transport, set)?;
    let transport = host_port::nic_order(scope, parts, nic, transport)?;
    // A sender that sends everything at once does not react to marks.
    let reacts = !matches!(transport, TransportSpec::OpenLoop(_));
    let sorts = host_port::sorts_host_ports(scope, nic)?;
    let ports = ByPlace::try_from_fn(|place| match (place, nic) {
        (Place::Nic, _) if sorts => Ok(PortSpec::unlimited(PortKind::Pifo(PifoRules { fifo_from: None }))),
        (Place::Nic, Nic::Backpressure { .. }) => port::port(scope, place, parts, false, reacts),
        _ => port::port(scope, place, parts, true, reacts),
    })?;
    let shares = Place::ALL.iter().any(|&place| ports.at(place).shares_memory());
    // Ports read tags, and so do receivers that compare priorities.
    let compares = matches!(&transport, TransportSpec::Tcp(rules) if matches!(rules.params.loss_detection, LossDetection::ByPriority(_)));
    let tags = compares
        || matches!(transport, TransportSpec::Custom(_))
        || Place::ALL.iter().any(|&place| port::reads_tags(&ports.at(place).kind));
    // If not given, it is not part of the configuration.
    let misuse = Misuse { hosts: scope.optional(&MISUSING_HOSTS)?.unwrap_or(0) as u32, piece: None };
    if sets_priorities && misuse.hosts > 0 {
        let problem = format!("`misusing_hosts` with `{}`", scope.variant());
        let expected = "none: its transport chooses the priorities of packets, and a host's tagger none";
        return Err(scope.error(&MISUSING_HOSTS, problem).expected(expected));
    }
    let tagger = tagging::tagger(scope, parts, tags, sorts)?;
    if sorts {
        host_port::refuse_unsorted(scope, &tagger)?;
    }
    Ok(Scheme {
        name: scope.variant().to_owned(),
        classes: vec![Class { transport, tagger, inference: Time::ZERO }],
        misuse,
        nic,
        ports,
        balancers,
        shared_buffer: if shares { scope.read(&port::SHARED_BUFFER)? } else { 0 },
        controllers: Vec::new(),
    })
}

/// Returns what is known of a scheme's custom transport with the settings' packets; `packets_per_answer` is the transport's.
pub fn packet_facts(
    scope: &Scope<'_>,
    packets_per_answer: Option<NonZeroU32>,
) -> Result<TransportFacts, SettingsError> {
    let (segment, header) = (parameters::segment(scope)?, parameters::header(scope)?);
    Ok(TransportFacts {
        segment: segment.get(),
        header,
        packets_per_answer,
        hears_departures: false,
        acknowledges: packets_per_answer.is_some(),
        sets_priorities: false,
    })
}

/// Refuses a scheme that has replaced a part built from settings by its own: the settings would be in its results without
/// effect. This is a mistake of the scheme's author, who has to declare the part to [`build`].
pub(crate) fn refuse_unsaid(scope: &Scope<'_>, scheme: &Scheme) -> Result<(), SettingsError> {
    let name = scope.variant();
    let refuse = |part: &str, said: &str| {
        let problem = format!("the scheme `{name}` brings its own {part}, so the one made from settings has no effect");
        Err(SettingsError::new(Origin::Default, problem).expected(format!("{said} in its `Parts`")))
    };
    let every = |is_own: fn(&Class) -> bool| !scheme.classes.is_empty() && scheme.classes.iter().all(is_own);
    if every(|class| matches!(class.transport, TransportSpec::Custom(_))) && scope.has_read(&sending::TRANSPORT) {
        return refuse("transport", "`transport: Part::Own`");
    }
    let brings_congestion = |class: &Class| match &class.transport {
        TransportSpec::Tcp(rules) => matches!(rules.params.congestion, CongestionSpec::Custom(_)),
        _ => false,
    };
    if every(brings_congestion) && scope.has_read(&sending::TRANSPORT) {
        return refuse("congestion control", "`own_congestion`");
    }
    if every(|class| matches!(class.tagger, TaggerSpec::Custom(_))) && scope.has_read(&tagging::TAGGER) {
        return refuse("tagger", "`tagger: Part::Own`");
    }
    let is_own = |place: Place| matches!(scheme.balancers.at(place), BalancerSpec::Custom(_));
    if Place::ALL.into_iter().any(|place| is_own(place) && scope.at(place).has_read(&LOAD_BALANCING)) {
        return refuse("balancer", "`balancer: Some(Part::Own)`");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
