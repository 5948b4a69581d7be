//! Settings that defeat others: each is valid by itself, but together they measure something else than their names say.
//! The run is not refused. A warning appears when it is planned, with a value that would do.
//!
//! Round trips are those of the fabric's kinds of path ([`Fabric::reaches`]), each between the two hosts that are
//! farthest apart, with serialisation. So the check takes microseconds for any number of hosts.

use flowsieve_core::admission::Admission;
use flowsieve_core::bank::BankRules;
use flowsieve_core::host_queues::HostQueueRules;
use flowsieve_core::marker::{MarkScope, Marker};
use flowsieve_core::sp_pifo::SpPifoRules;
use flowsieve_core::{PortKind, Rate, TaggerSpec, Time};
use flowsieve_experiment::engine::BaseRoundTrip;
use flowsieve_fabric::round_trip::Exchange;
use flowsieve_fabric::topology::{Fabric, Node};
use flowsieve_schemes::Scheme;
use flowsieve_schemes::marking_rule::ecn_threshold_bytes;
use flowsieve_schemes::scheme::{Nic, PortSpec};
use flowsieve_settings::{Place, units};
use flowsieve_transport::tcp::params::RtoRule;
use flowsieve_transport::tcp::{NicOrder, TcpParams};
use flowsieve_transport::{TransportFacts, TransportSpec};

/// pFabric's timer is three of its round trips (SIGCOMM 2013, §5.1: 45 us for 14.6 us). So is that of its rescaled set
/// (250 us for 80 us).
const ROUND_TRIPS_OF_A_TIMER: u64 = 3;
/// A window may be smaller than a path by this share, which costs no more for a flow alone.
const LACK: f64 = 0.1;
/// DCTCP's queues do not run empty with a threshold of this part of rate times round trip (RFC 8257, §3.1).
const PART_FOR_DCTCP: u64 = 7;
/// The papers' ratio of buffer to threshold, in packets.
const BUFFER_TO_THRESHOLD: (u64, u64) = (240, 65);

/// Returns the base round trips of a scheme's packets, by kind of path.
pub(super) fn round_trips(scheme: &Scheme, fabric: &Fabric, wire_overhead: u16) -> Vec<BaseRoundTrip> {
    let exchanges = scheme.classes.iter().map(|class| exchange(class.transport.facts(), wire_overhead));
    let Some(exchange) = exchanges.max_by_key(|exchange| exchange.packet) else { return Vec::new() };
    paths(fabric, exchange).into_iter().map(|path| BaseRoundTrip { links: path.links, ps: path.time.0 }).collect()
}

/// A kind of path, with its longest round trip.
struct Path {
    links: u32,
    time: Time,
    /// The rate of its slowest link.
    rate: Rate,
    /// "host0 and host5".
    ends: String,
}

fn paths(fabric: &Fabric, exchange: Exchange) -> Vec<Path> {
    let path = |reach: &flowsieve_fabric::topology::Reach| {
        let found = fabric.round_trip(reach.from, reach.to, exchange);
        let ends = [reach.from, reach.to].map(|host| fabric.name(Node::Host(host))).join(" and ");
        Path { links: reach.links, time: found.time, rate: found.rate, ends }
    };
    fabric.reaches().iter().map(path).collect()
}

fn exchange(facts: TransportFacts, wire_overhead: u16) -> Exchange {
    Exchange::new(facts.segment, facts.header, wire_overhead)
}

/// Returns all findings, in sentences.
pub(super) fn defeats(scheme: &Scheme, fabric: &Fabric, wire_overhead: u16) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for class in &scheme.classes {
        let TransportSpec::Tcp(rules) = &class.transport else { continue };
        let facts = class.transport.facts();
        let (exchange, packet) = (exchange(facts, wire_overhead), u64::from(facts.segment) + u64::from(facts.header));
        let paths = paths(fabric, exchange);
        let Some(longest) = paths.iter().max_by_key(|path| path.time) else { continue };
        let check = Check { scheme, fabric, params: &rules.params, exchange, paths: &paths, longest, packet };
        for text in check.all().into_iter().chain(unordered(rules.order, &class.tagger, scheme)) {
            if !found.contains(&text) {
                found.push(text);
            }
        }
    }
    found
}

/// Finds an order of hosts by tags that do not rank packets.
fn unordered(order: NicOrder, tagger: &TaggerSpec, scheme: &Scheme) -> Option<String> {
    (order != NicOrder::Turns && !tagger.ranks_at_hosts()).then(|| {
        format!(
            "`nic_order` ranks connections by their packets' tags, but hosts of `{}` write no tags that rank them: \
             equal connections {}",
            scheme.name,
            if order == NicOrder::Tag {
                "take turns, as with nic_order = \"turns\""
            } else {
                "are ordered by age alone"
            }
        )
    })
}

/// The data by which one class of flow is checked.
struct Check<'a> {
    scheme: &'a Scheme,
    fabric: &'a Fabric,
    params: &'a TcpParams,
    exchange: Exchange,
    paths: &'a [Path],
    longest: &'a Path,
    /// Bytes that a full packet takes in a buffer.
    packet: u64,
}

/// Ports with the same specification.
struct Ports<'a> {
    places: Vec<Place>,
    spec: &'a PortSpec,
    /// The rate of the fastest link.
    rate: Rate,
}

impl Check<'_> {
    fn all(&self) -> Vec<String> {
        let ports = self.ports();
        let of_ports =
            ports.iter().flat_map(|ports| [self.no_mark(ports), self.early_marks(ports), self.short_buffer(ports)]);
        [
            self.hasty_timer(),
            self.hasty_first_timer(),
            self.hasty_for_held_acks(),
            self.narrow_window(),
            self.own_drops(),
        ]
        .into_iter()
        .chain(of_ports)
        .flatten()
        .collect()
    }

    /// Groups the ports of all places by specification and rate.
    fn ports(&self) -> Vec<Ports<'_>> {
        let mut all: Vec<Ports<'_>> = Vec::new();
        for place in Place::ALL {
            let of_place = self.fabric.links.iter().filter(|link| self.fabric.place_of(link.from) == place);
            let Some(rate) = of_place.map(|link| link.rate).max_by_key(|rate| rate.bps()) else { continue };
            if place == Place::Nic && self.scheme.nic != Nic::Scheme {
                continue;
            }
            let spec = self.scheme.ports.at(place);
            let same = |ports: &&mut Ports<'_>| {
                (ports.spec.admission, ports.spec.marker, ports.rate) == (spec.admission, spec.marker, rate)
            };
            match all.iter_mut().find(same) {
                Some(ports) => ports.places.push(place),
                None => all.push(Ports { places: vec![place], spec, rate }),
            }
        }
        all
    }

    fn longest_in_words(&self) -> String {
        let Path { time, ends, .. } = self.longest;
        format!("the base round trip of {} between {ends}", units::format_time(time.0))
    }

    /// Finds a timer that fires before the first answer can arrive, so that each window is sent again and again.
    fn hasty_timer(&self) -> Option<String> {
        let RtoRule::Constant(rto) = self.params.rto else { return None };
        let least = round_up(ROUND_TRIPS_OF_A_TIMER * self.longest.time.0);
        (rto < self.longest.time).then(|| {
            format!(
                "`rto_min` = {}, a constant timeout, is shorter than {}, so packets are sent again without a loss; \
                 try rto_min = \"{}\"",
                units::format_time(rto.0),
                self.longest_in_words(),
                units::format_time(least)
            )
        })
    }

    /// Finds such a timer before the first measurement.
    fn hasty_first_timer(&self) -> Option<String> {
        let (RtoRule::Rfc6298 { initial, .. } | RtoRule::Linux { initial, .. }) = self.params.rto else { return None };
        let least = round_up(ROUND_TRIPS_OF_A_TIMER * self.longest.time.0);
        (initial < self.longest.time).then(|| {
            format!(
                "`initial_rto` = {} is shorter than {}, so first windows are sent again; try initial_rto = \"{}\"",
                units::format_time(initial.0),
                self.longest_in_words(),
                units::format_time(least)
            )
        })
    }

    /// Finds a receiver that delays the ACK of a single packet under way, as with a window of one, for longer than its
    /// sender waits.
    fn hasty_for_held_acks(&self) -> Option<String> {
        let (key, rto) = match self.params.rto {
            RtoRule::Constant(rto) => ("rto_min", rto),
            RtoRule::Rfc6298 { min, initial } | RtoRule::Linux { min, initial } if initial < min => {
                ("initial_rto", initial)
            }
            RtoRule::Rfc6298 { min, .. } => ("rto_min", min),
            // It is added to the round trip.
            RtoRule::Linux { min, .. } => ("rto_min", min + self.longest.time),
        };
        let needed = self.params.delayed_ack + self.longest.time;
        let held = self.params.ack_every > 1 && self.params.delayed_ack > Time::ZERO;
        // A timer shorter than a round trip is already reported.
        (held && rto < needed && rto >= self.longest.time).then(|| {
            format!(
                "`{key}` = {} is shorter than `delayed_ack` = {} after {}, so a packet that is alone in flight is \
                 sent again; try {key} = \"{}\"",
                units::format_time(rto.0),
                units::format_time(self.params.delayed_ack.0),
                self.longest_in_words(),
                units::format_time(round_up(needed.0))
            )
        })
    }

    /// Finds a window that is full before its first packet is answered.
    fn narrow_window(&self) -> Option<String> {
        let needs = |path: &&Path| product(path.rate, path.time).div_ceil(u64::from(self.exchange.packet));
        let path = self.paths.iter().max_by_key(needs)?;
        let needed = needs(&path);
        let (key, has, would_do) = match self.params.receive_window.filter(|&room| room < self.params.max_window) {
            Some(room) => ("receive_window", room, format!("\"{needed}pkt\"")),
            None => ("max_window", self.params.max_window, needed.to_string()),
        };
        (f64::from(has) < (1.0 - LACK) * needed as f64).then(|| {
            format!(
                "`{key}` = {has} packets is less than rate times base round trip ({} times {} between {}), so a \
                 single flow does not fill its path; try {key} = {would_do}",
                units::format_rate(path.rate.bps()),
                units::format_time(path.time.0),
                path.ends
            )
        })
    }

    /// Finds a threshold that no queue reaches.
    fn no_mark(&self, ports: &Ports<'_>) -> Option<String> {
        if !self.reacts_to_marks() {
            return None;
        }
        let k = Threshold::of(ports.spec.marker, self.packet)?;
        let holds = self.holds(ports.spec, k.scope)?;
        let reached = if k.counts_arriving { holds } else { holds.saturating_sub(self.packet) };
        if k.bytes < reached {
            return None;
        }
        let rule = self.rule(ports.rate);
        let would_do = if rule < reached {
            k.would_be(rule)
        } else {
            let (buffer, threshold) = BUFFER_TO_THRESHOLD;
            let buffer = (rule.max(k.bytes) * buffer).div_ceil(threshold);
            format!("buffer = \"{}\"", units::format_size(buffer))
        };
        Some(format!(
            "`{}` = {} is not below the {} that {} may hold, so packets are lost before one is marked; try {would_do}",
            k.key,
            k.in_words(),
            units::format_size(holds),
            in_words(&ports.places),
        ))
    }

    /// Finds a threshold at which a queue runs empty while senders slow down.
    fn early_marks(&self, ports: &Ports<'_>) -> Option<String> {
        if !self.reacts_to_marks() {
            return None;
        }
        let k = Threshold::of(ports.spec.marker, self.packet)?;
        let needed = product(ports.rate, self.longest.time) / PART_FOR_DCTCP;
        if k.bytes >= needed {
            return None;
        }
        let rule = self.rule(ports.rate);
        let holds = self.holds(ports.spec, MarkScope::Queue).unwrap_or(u64::MAX);
        let (buffer, threshold) = BUFFER_TO_THRESHOLD;
        let room = match holds <= rule {
            true => format!(" with buffer = \"{}\"", units::format_size((rule * buffer).div_ceil(threshold))),
            false => String::new(),
        };
        Some(format!(
            "`{}` = {} is less than a seventh of rate times base round trip at {} ({}, of {} times {}), so their \
             links idle while senders slow down; try {}{room}, or parameters = \"scaled\"",
            k.key,
            k.in_words(),
            in_words(&ports.places),
            units::format_size(needed),
            units::format_rate(ports.rate.bps()),
            units::format_time(self.longest.time.0),
            k.would_be(rule),
        ))
    }

    /// Finds a buffer that is smaller than what a flow has under way when it first loses a packet. For senders that
    /// marks slow down earlier, thresholds are checked instead.
    fn short_buffer(&self, ports: &Ports<'_>) -> Option<String> {
        if self.reacts_to_marks() && ports.spec.marker != Marker::Off {
            return None;
        }
        let hosts = self.fabric.host_uplink.iter().map(|&link| self.fabric.links[link as usize].rate);
        // A flow is no faster than its host.
        let rate = hosts.max_by_key(|rate| rate.bps())?;
        let rate = if rate.bps() < ports.rate.bps() { rate } else { ports.rate };
        let (holds, needed) = (self.holds(ports.spec, MarkScope::Port)?, product(rate, self.longest.time));
        ((holds as f64) < (1.0 - LACK) * needed as f64).then(|| {
            format!(
                "`buffer` = {} in all at {} is less than rate times base round trip ({} times {}), so a single flow \
                 loses packets and its links idle; try {}, or parameters = \"scaled\"",
                units::format_size(holds),
                in_words(&ports.places),
                units::format_rate(rate.bps()),
                units::format_time(self.longest.time.0),
                units::format_size(needed),
            )
        })
    }

    /// Finds a host's own port that drops the host's own packets.
    fn own_drops(&self) -> Option<String> {
        if self.scheme.nic != Nic::Scheme {
            return None;
        }
        let spec = self.scheme.ports.at(Place::Nic);
        let holds = self.holds(spec, MarkScope::Queue)?;
        // If its own port's marks slow it down, only its first window is sure to be there at once.
        let slowed = self.reacts_to_marks() && spec.marker != Marker::Off;
        let (key, window) = match slowed {
            true => ("initial_window", self.params.initial_window.min(self.params.max_window)),
            false => ("max_window", self.params.max_window),
        };
        let bytes = u64::from(window) * self.packet;
        (bytes > holds).then(|| {
            format!(
                "`{key}` = {window} packets ({}) do not fit into the {} of a host's own port, and nic = \"scheme\" \
                 drops them there; try nic = \"backpressure\", or {key} = {}",
                units::format_size(bytes),
                units::format_size(holds),
                holds / self.packet
            )
        })
    }

    fn reacts_to_marks(&self) -> bool {
        self.params.ecn
    }

    /// Returns K by the marking rule.
    fn rule(&self, rate: Rate) -> u64 {
        ecn_threshold_bytes(rate.bps(), self.longest.time.0, self.packet)
    }

    /// Returns the largest possible backlog of a port, or of one of its queues; `None` without a limit.
    fn holds(&self, spec: &PortSpec, scope: MarkScope) -> Option<u64> {
        match (spec.admission, scope) {
            (Admission::Unlimited, _) => None,
            (Admission::PerPort { limit }, _) | (Admission::PerQueue { limit }, MarkScope::Queue) => Some(limit),
            (Admission::PerQueue { limit }, MarkScope::Port) => Some(limit.saturating_mul(queues(&spec.kind)?)),
            // A single queue in its switch grows until it is alpha times the remaining memory.
            (Admission::Shared { alpha_256 }, _) => {
                let alpha = u128::from(alpha_256);
                u64::try_from(u128::from(self.scheme.shared_buffer) * alpha / (alpha + 256)).ok()
            }
        }
    }
}

/// The length from which a port marks.
struct Threshold {
    key: &'static str,
    /// Of full packets, if packets are counted.
    bytes: u64,
    scope: MarkScope,
    counts_arriving: bool,
    /// Bytes of a full packet, if packets are counted.
    counted: Option<u64>,
}

impl Threshold {
    fn of(marker: Marker, packet: u64) -> Option<Threshold> {
        let (key, bytes, scope, counts_arriving, counted) = match marker {
            Marker::Off => return None,
            Marker::Threshold { above, scope, counts_arriving } => {
                ("ecn_threshold", above, scope, counts_arriving, None)
            }
            Marker::Packets { above, scope, counts_arriving } => {
                ("ecn_packets", above.saturating_mul(packet), scope, counts_arriving, Some(packet))
            }
            Marker::Red { min, scope, counts_arriving, .. } => ("red_min", min, scope, counts_arriving, None),
        };
        Some(Threshold { key, bytes, scope, counts_arriving, counted })
    }

    fn in_words(&self) -> String {
        match self.counted {
            None => units::format_size(self.bytes),
            Some(packet) => format!("{} full packets ({})", self.bytes / packet, units::format_size(self.bytes)),
        }
    }

    /// Writes the setting with another length.
    fn would_be(&self, bytes: u64) -> String {
        match self.counted {
            None => format!("{} = \"{}\"", self.key, units::format_size(bytes)),
            Some(packet) => format!("{} = {}", self.key, bytes.div_ceil(packet)),
        }
    }
}

/// Returns the number of queues of a port, if known.
fn queues(kind: &PortKind) -> Option<u64> {
    match kind {
        PortKind::Bank(BankRules { queues, .. })
        | PortKind::Host(HostQueueRules { queues })
        | PortKind::SpPifo(SpPifoRules { queues }) => Some(*queues as u64),
        _ => None,
    }
}

/// Returns rate times time, in bytes.
fn product(rate: Rate, time: Time) -> u64 {
    let bytes = u128::from(rate.bps()) * u128::from(time.0) / 8_000_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Rounds up to two digits.
fn round_up(value: u64) -> u64 {
    let digits = value.checked_ilog10().unwrap_or(0);
    let unit = 10u64.pow(digits.saturating_sub(1));
    value.div_ceil(unit).saturating_mul(unit)
}

fn in_words(places: &[Place]) -> String {
    let names: Vec<&str> = places
        .iter()
        .map(|place| match place {
            Place::Nic => "hosts",
            Place::Leaf => "leaves",
            Place::Spine => "spines",
            Place::Core => "cores",
        })
        .collect();
    format!("ports of {}", names.join(", "))
}
