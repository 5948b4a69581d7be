//! Builds a scheme from the settings, which its file gives values that hold where none is given ([`mod@crate::file`]). Every part
//! that a scheme does not bring as code ([`Own`]) can be set in the experiment, for all places or for one.

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
mod controls;
mod host_port;
mod lossless;
mod port;
mod repair;
mod sending;
mod tagging;

use flowsieve_core::hops::marks::Marks;
use flowsieve_core::pifo::PifoRules;
use flowsieve_core::{BalancerSpec, Misuse, PortKind, TaggerSpec};
use flowsieve_transport::tcp::CongestionSpec;
use flowsieve_transport::tcp::params::LossDetection;
use flowsieve_transport::{TransportFacts, TransportSpec};

pub(crate) use balancing::SETTINGS as BALANCING_SETTINGS;
pub use balancing::{BalancingName, LOAD_BALANCING};
use controls::Reads;
pub(crate) use controls::SETTINGS as CONTROL_SETTINGS;
pub(crate) use host_port::SETTINGS as HOST_PORT_SETTINGS;
pub(crate) use lossless::{SETTINGS as LOSSLESS_SETTINGS, refuse_pauses};
use port::Limits;
pub use port::QUEUES;
pub(crate) use port::SETTINGS as PORT_SETTINGS;
pub use port::{AdmissionName, DisciplineName, MarkingName};
pub(crate) use port::{PortSettings, own_queues};
pub(crate) use repair::SETTINGS as REPAIR_SETTINGS;
pub(crate) use sending::SETTINGS as SENDING_SETTINGS;
pub(crate) use sending::TRANSPORT;
pub use sending::{RTO_MIN, ReorderingName, TransportName};
use tagging::Readers;
pub use tagging::TaggerName;
pub(crate) use tagging::{OUTLIVED, SETTINGS as TAGGING_SETTINGS, TAGGER};

use crate::entry::Context;
use crate::parameters;
use crate::{coflows, pias, sets};
use flowsieve_settings::declare;
use flowsieve_settings::{Origin, Place, Scope, Section, Setting, SettingsError};
use flowsieve_sim::scheme::{ByPlace, Class, EVERY_PLACE, Nic, PortSpec, Scheme, places};
use std::num::NonZeroU32;

declare! {
    static MISUSING_HOSTS: Setting<u64> = Setting::count(
        Section::Transport, "misusing_hosts", 0, 65_535,
        "number of hosts, from the first on, that claim the highest priority and rank for all their packets",
    );
}

/// The parts that a scheme brings as code. The settings that would build such a part are not read, and are in no result; if they
/// are given, they are refused.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// How hosts send.
    pub transport: Option<TransportSpec>,
    /// The congestion control of TCP. No name in `transport` is read, and all other settings of TCP apply.
    pub congestion: Option<CongestionSpec>,
    /// What hosts write into packets.
    pub tagger: Option<TaggerSpec>,
    /// How switches choose among equal paths.
    pub balancer: Option<BalancerSpec>,
    /// Which packet of a port leaves next.
    pub port: Option<PortKind>,
}

/// Builds a scheme from the settings, its file and its own parts. An error names a setting that does not fit.
pub fn build(context: &Context<'_>, own: Own) -> Result<Scheme, SettingsError> {
    let scope = &context.scope;
    let set = sets::of(scope)?;
    let there = context.workload.fabric().map_or(EVERY_PLACE, places);
    let balancers = balancing::balancers(scope, there, own.balancer.as_ref())?;
    // Where there is one path, nothing is split.
    let fabric = context.workload.fabric();
    let splits = |place| balancers.at(place).splits_flows() && fabric.is_none_or(|fabric| fabric.has_choice(place));
    let sprayed = [Place::Leaf, Place::Spine, Place::Core].into_iter().any(splits);
    let transport = sending::transport(context, &own, set, sprayed)?;
    let reads = match own.transport.is_none() && own.congestion.is_none() {
        true => scope.read(&TRANSPORT)?.reads(),
        false => Reads::Nothing,
    };
    let sprays = |place| {
        matches!(balancers.at(place), BalancerSpec::SprayRoundRobin(_) | BalancerSpec::SprayRandom(_))
            && fabric.is_none_or(|fabric| fabric.has_choice(place))
    };
    lossless::refuse_spray(scope, reads, [Place::Leaf, Place::Spine, Place::Core].into_iter().any(sprays))?;
    let carries = |place| matches!(balancers.at(place), BalancerSpec::Conga(_));
    let coalesces = matches!(&transport, TransportSpec::Tcp(rules) if rules.params.congestion.coalescing().is_some());
    let mut on_hop = lossless::on_hop(context, reads, coalesces || Place::ALL.into_iter().any(carries))?;
    let limits = if lossless::is_lossless(scope)? { Limits::Marks } else { Limits::Buffer };
    let sets_priorities = transport.facts().sets_priorities;
    let nic = host_port::nic(scope, &transport)?;
    let order = coflows::order(scope, &own)?;
    let transport = host_port::nic_order(scope, coflows::nic_order(order), nic, transport)?;
    // A sender that sends everything at once does not react to marks.
    let reacts = !matches!(transport, TransportSpec::OpenLoop(_));
    let sorts = host_port::sorts_host_ports(scope, nic)?;
    let mut departing = Vec::new();
    let ports = ByPlace::at_places(there, |place| {
        let limits = match (place, nic) {
            (Place::Nic, _) if sorts => return Ok(PortSpec::unlimited(PortKind::Pifo(PifoRules { fifo_from: None }))),
            (Place::Nic, Nic::Backpressure { .. }) => Limits::Nothing,
            _ => limits,
        };
        let mut port = port::port(scope, (place, fabric), own.port.as_ref(), limits, reacts)?;
        departing.extend(port::take_departing(scope, place, &mut port)?);
        Ok(port)
    })?;
    if !departing.is_empty() {
        on_hop.push(Marks::spec(departing));
    }
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
    let has_tagger = own.tagger.is_some();
    let priorities = Place::ALL.iter().any(|&place| port::serves_by_priority(&ports.at(place).kind));
    let readers = Readers { any: tags, priorities, sorts };
    let tagger = tagging::tagger(context, own.tagger, readers)?;
    if sorts {
        host_port::refuse_unsorted(scope, &tagger)?;
    }
    let inference = tagging::inference(scope, &tagger)?;
    let mut scheme = Scheme {
        name: scope.variant().to_owned(),
        classes: vec![Class { transport, tagger, inference }],
        misuse,
        nic,
        ports,
        balancers,
        shared_buffer: if shares { scope.read(&port::SHARED_BUFFER)? } else { 0 },
        on_hop,
        controllers: Vec::new(),
    };
    if !has_tagger {
        pias::demote(context, &mut scheme)?;
        coflows::coordinate(context, &mut scheme, order)?;
    }
    Ok(scheme)
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
        reads_trims: false,
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
        Err(SettingsError::new(Origin::Default, problem).expected(format!("{said} in its `Own`")))
    };
    let every = |is_own: fn(&Class) -> bool| !scheme.classes.is_empty() && scheme.classes.iter().all(is_own);
    if every(|class| matches!(class.transport, TransportSpec::Custom(_))) && scope.has_read(&sending::TRANSPORT) {
        return refuse("transport", "`transport`");
    }
    let brings_congestion = |class: &Class| match &class.transport {
        TransportSpec::Tcp(rules) => matches!(&rules.params.congestion, CongestionSpec::Custom(own) if own.is_users()),
        _ => false,
    };
    if every(brings_congestion) && scope.has_read(&sending::TRANSPORT) {
        return refuse("congestion control", "`congestion`");
    }
    if every(|class| matches!(class.tagger, TaggerSpec::Custom(_))) && scope.has_read(&tagging::TAGGER) {
        return refuse("tagger", "`tagger`");
    }
    let is_own = |place: Place| matches!(scheme.balancers.at(place), BalancerSpec::Custom(_));
    if Place::ALL.into_iter().any(|place| is_own(place) && scope.at(place).has_read(&LOAD_BALANCING)) {
        return refuse("balancer", "`balancer`");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
