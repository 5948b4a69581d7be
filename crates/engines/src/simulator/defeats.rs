//! Settings that defeat others: each is valid by itself, but together they measure something else than their names say.
//! The run is not refused. A warning appears when it is planned, with a value that would do.
//!
//! A transport is known by its constants ([`Constants`]) and by nothing else, so that every check is made for each of
//! them. Round trips are those of the fabric's kinds of path ([`Fabric::reaches`]), each between the two hosts that are
//! farthest apart, with serialisation. So the check takes microseconds for any number of hosts.

pub(super) mod ports;

use flowsieve_core::{BalancerSpec, Rate, TaggerSpec, Time};
use flowsieve_experiment::engine::BaseRoundTrip;
use flowsieve_schemes::Scheme;
use flowsieve_settings::{Place, units};
use flowsieve_sim::round_trip::Exchange;
use flowsieve_sim::topology::{Fabric, Link, Node, Reach};
use flowsieve_transport::tcp::NicOrder;
use flowsieve_transport::{Amount, Awaits, Constants, Named, TransportFacts, TransportSpec, Wait};

/// pFabric's timer is three of its round trips (SIGCOMM 2013, §5.1: 45 us for 14.6 us). So is that of its rescaled set
/// (250 us for 80 us).
const ROUND_TRIPS_OF_A_TIMER: u64 = 3;
/// A window may be smaller than a path by this share, which costs no more for a flow alone.
const LACK: f64 = 0.1;

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
    /// Rate of the sender's link.
    first: Rate,
    /// The link to the receiver: the place of its port, and its rate.
    last: (Place, Rate),
    /// Where a flow alone has a queue: in front of the first link that is slower than its host's.
    narrow: Option<Place>,
}

fn paths(fabric: &Fabric, exchange: Exchange) -> Vec<Path> {
    let path = |reach: &Reach| {
        let found = fabric.round_trip(reach.from, reach.to, exchange);
        let ends = [reach.from, reach.to].map(|host| fabric.name(Node::Host(host))).join(" and ");
        let way = fabric.longest_way(reach.from, reach.to);
        let way: Vec<&Link> = way.iter().map(|&link| &fabric.links[link as usize]).collect();
        let (first, last) = (way.first()?.rate, way.last()?);
        let slower = |link: &&&Link| link.rate == found.rate && found.rate.bps() < first.bps();
        let narrow = way.iter().find(slower).map(|link| fabric.place_of(link.from));
        let last = (fabric.place_of(last.from), last.rate);
        Some(Path { links: reach.links, time: found.time, rate: found.rate, ends, first, last, narrow })
    };
    fabric.reaches().iter().filter_map(path).collect()
}

fn exchange(facts: TransportFacts, wire_overhead: u16) -> Exchange {
    Exchange::new(facts.segment, facts.header, wire_overhead)
}

/// What is planned, for all classes of its flows.
pub(super) struct Planned<'a> {
    pub(super) scheme: &'a Scheme,
    pub(super) fabric: &'a Fabric,
    pub(super) wire_overhead: u16,
    /// Whether windows and buffers follow the fabric already.
    pub(super) scaled: bool,
    /// How many hosts may send to one at once, and the largest message that each sends.
    pub(super) at_once: Vec<(u32, u64)>,
}

/// Returns all findings, in sentences.
pub(super) fn defeats(planned: &Planned<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for class in &planned.scheme.classes {
        let (facts, constants) = (class.transport.facts(), class.transport.constants());
        let exchange = exchange(facts, planned.wire_overhead);
        let paths = paths(planned.fabric, exchange);
        let Some(longest) = paths.iter().max_by_key(|path| path.time) else { continue };
        let packet = u64::from(facts.segment) + u64::from(facts.header);
        let check = Check { planned, facts, constants, exchange, paths: &paths, longest, packet };
        for text in check.all().into_iter().chain(unordered(&class.transport, &class.tagger, planned.scheme)) {
            if !found.contains(&text) {
                found.push(text);
            }
        }
    }
    found.extend(early_age(planned.scheme));
    found
}

/// Finds a time after which HULA's flowlets would leave a silent path before its next probe can come.
fn early_age(scheme: &Scheme) -> Option<String> {
    let BalancerSpec::Hula(params) = scheme.balancers.at(Place::Leaf) else { return None };
    let [age, interval, silence] =
        [params.age, params.interval, params.silence()].map(|time| units::format_time(time.0));
    (params.silence() > params.age).then(|| {
        format!(
            "`hula_age` = {age}, but probes come each `probe_interval` = {interval} and may wait in queues, so flowlets leave \
             a silent path after {silence}; try hula_age = \"{silence}\""
        )
    })
}

/// Finds an order of hosts by tags that do not rank packets.
fn unordered(transport: &TransportSpec, tagger: &TaggerSpec, scheme: &Scheme) -> Option<String> {
    let TransportSpec::Tcp(rules) = transport else { return None };
    (rules.order != NicOrder::Turns && !tagger.ranks_at_hosts()).then(|| {
        format!(
            "`nic_order` ranks connections by their packets' tags, but hosts of `{}` write no tags that rank them: \
             equal connections {}",
            scheme.name,
            if rules.order == NicOrder::Tag {
                "take turns, as with nic_order = \"turns\""
            } else {
                "are ordered by age alone"
            }
        )
    })
}

/// The data by which one class of flow is checked.
struct Check<'a> {
    planned: &'a Planned<'a>,
    facts: TransportFacts,
    constants: Constants,
    exchange: Exchange,
    paths: &'a [Path],
    longest: &'a Path,
    /// Bytes that a full packet takes in a buffer.
    packet: u64,
}

impl Check<'_> {
    fn all(&self) -> Vec<String> {
        let mut found: Vec<(&str, String)> = Vec::new();
        for wait in &self.constants.waits {
            // The first sentence about a setting says the worst of it.
            if !found.iter().any(|(key, _)| *key == wait.key) {
                found.extend(self.hasty(wait).map(|text| (wait.key, text)));
            }
        }
        let of_timers = found.into_iter().map(|(_, text)| text);
        of_timers
            .chain([self.narrow_window(), self.few_for_an_answer()].into_iter().flatten())
            .chain(self.of_ports())
            .collect()
    }

    /// Finds a timer that fires before what it waits for can be there.
    fn hasty(&self, wait: &Wait) -> Option<String> {
        let round_trip = self.longest.time;
        let (has, longest) = (
            format!("`{}` = {}", wait.key, units::format_time(wait.time.0)),
            format!("the base round trip of {} between {}", units::format_time(round_trip.0), self.longest.ends),
        );
        let would_do = |ps| format!("try {} = \"{}\"", wait.key, units::format_time(round_up(ps)));
        let needed = match wait.awaits {
            Awaits::Answer => round_trip,
            Awaits::Next => self.longest_gap(),
            Awaits::Measured | Awaits::Added => Time::ZERO,
        };
        if wait.time < needed {
            let waits = |attempts: u32| wait.time.0.saturating_mul(u64::from(attempts) + 1);
            let effect = match wait.attempts.filter(|&attempts| waits(attempts) <= needed.0) {
                Some(_) => "messages are given up although nothing is lost",
                None => wait.effect,
            };
            let would_do = would_do(ROUND_TRIPS_OF_A_TIMER * round_trip.0);
            return Some(format!("{has} is shorter than {longest}, so {effect}; {would_do}"));
        }
        let with_answer = if wait.awaits == Awaits::Added { Time::ZERO } else { round_trip };
        let needed = wait.held + with_answer;
        // A receiver holds the ACK of a first window that is smaller than what it waits for. Later, only a packet that is
        // alone after a timeout is so few; a measured timer that is shorter than a round trip never fires that early.
        let effect = match (wait.awaits, self.first_is_few()) {
            (Awaits::Measured | Awaits::Added, _) => "a packet that is alone after a timeout is sent once more",
            (_, true) => "packets whose ACK is held back are sent again",
            (_, false) => return None,
        };
        (wait.held > Time::ZERO && wait.time < needed && wait.time >= with_answer).then(|| {
            format!(
                "{has} is shorter than `delayed_ack` = {} after {longest}, so {effect}; {}",
                units::format_time(wait.held.0),
                would_do(needed.0)
            )
        })
    }

    /// Returns the longest time between two packets of a flow alone that were asked for: what the window does not cover of
    /// a round trip, or the time of a packet.
    fn longest_gap(&self) -> Time {
        let packets = |named: Named| match named.amount {
            Amount::RoundTrip => None,
            amount => Some(self.packets(amount)),
        };
        let gap = |path: &Path| {
            let slot = path.rate.byte_time().serialise(self.exchange.packet);
            let window = self.constants.window.and_then(packets);
            let covered = window.map(|packets| slot.0.saturating_mul(packets.saturating_sub(1)));
            covered.map_or(slot, |covered| Time(path.time.0.saturating_sub(covered)).max(slot))
        };
        self.paths.iter().map(gap).max().unwrap_or(Time::ZERO)
    }

    /// Finds a window that is full before its first packet is answered.
    fn narrow_window(&self) -> Option<String> {
        let needs = |path: &&Path| product(path.rate, path.time).div_ceil(u64::from(self.exchange.packet));
        let path = self.paths.iter().max_by_key(needs)?;
        let (needed, window) = (needs(&path), self.constants.window?);
        if window.amount == Amount::RoundTrip {
            return None;
        }
        let has = self.packets(window.amount);
        ((has as f64) < (1.0 - LACK) * needed as f64).then(|| {
            format!(
                "{} is less than rate times base round trip ({} times {} between {}), so a single flow does not fill its \
                 path; try {}",
                in_words(window, has),
                units::format_rate(path.rate.bps()),
                units::format_time(path.time.0),
                path.ends,
                self.would_be(window, needed)
            )
        })
    }

    /// Finds a receiver that waits for more packets than a sender may send before the first answer.
    fn few_for_an_answer(&self) -> Option<String> {
        let (every, held) = (self.facts.packets_per_answer?, self.constants.first_answer_held);
        let first = self.constants.unasked?;
        let has = self.packets(first.amount);
        (held > Time::ZERO && self.first_is_few()).then(|| {
            format!(
                "`ack_every` = {every}, but {} may be sent before the first answer, so a longer flow waits for \
                 `delayed_ack` = {} first; try ack_every = {has}",
                in_words(first, has),
                units::format_time(held.0)
            )
        })
    }

    /// Returns whether a receiver waits for more packets than may be sent before the first answer.
    fn first_is_few(&self) -> bool {
        let (every, first) = (self.facts.packets_per_answer, self.constants.unasked);
        every.zip(first).is_some_and(|(every, first)| self.packets(first.amount) < u64::from(every.get()))
    }

    /// Returns an amount in full packets; any number of them for round trips.
    fn packets(&self, amount: Amount) -> u64 {
        match amount {
            Amount::Packets(packets) | Amount::SizeInPackets(packets) => packets.into(),
            Amount::Payload(bytes) => bytes.div_ceil(self.facts.segment.into()).max(1),
            Amount::RoundTrip => u64::MAX,
        }
    }

    /// Writes the setting with another number of packets.
    fn would_be(&self, named: Named, packets: u64) -> String {
        match named.amount {
            Amount::Packets(_) => format!("{} = {packets}", named.key),
            Amount::SizeInPackets(_) => format!("{} = \"{packets}pkt\"", named.key),
            Amount::Payload(_) | Amount::RoundTrip => {
                let bytes = packets.saturating_mul(self.facts.segment.into());
                format!("{} = \"{}\"", named.key, units::format_size(bytes))
            }
        }
    }

    /// Returns the other remedy of windows, buffers and thresholds, if it is one.
    fn or_scaled(&self) -> &'static str {
        if self.planned.scaled { "" } else { ", or parameters = \"scaled\"" }
    }
}

fn in_words(named: Named, packets: u64) -> String {
    match named.amount {
        Amount::Payload(bytes) => format!("`{}` = {}", named.key, units::format_size(bytes)),
        _ => format!("`{}` = {packets} packets", named.key),
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
