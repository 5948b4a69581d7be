//! Thresholds and buffers of ports that do not fit what flows have under way.

use super::{Check, LACK, Path, product, round_up};
use flowsieve_core::admission::Admission;
use flowsieve_core::bank::BankRules;
use flowsieve_core::host_queues::HostQueueRules;
use flowsieve_core::marker::{MarkScope, Marker};
use flowsieve_core::sp_pifo::SpPifoRules;
use flowsieve_core::{PortKind, Rate};
use flowsieve_schemes::marking_rule::ecn_threshold_bytes;
use flowsieve_schemes::scheme::{Nic, PortSpec};
use flowsieve_settings::{Place, units};
use flowsieve_transport::{Amount, Named};

/// DCTCP's queues do not run empty with a threshold of this part of rate times round trip (RFC 8257, §3.1).
const PART_FOR_DCTCP: u64 = 7;

impl Check<'_> {
    pub(super) fn of_ports(&self) -> Vec<String> {
        let no_mark = self.ports().into_iter().filter_map(|of| self.no_mark(&of)).collect::<Vec<_>>();
        // Of a place the path that asks most of it.
        let of_place = |place: Place| {
            let queue = |path: &&Path| path.narrow.unwrap_or(path.last.0) == place;
            self.paths.iter().filter(queue).max_by_key(|path| product(queue_rate(path), path.time))
        };
        let of_queues = Place::ALL.into_iter().filter_map(of_place);
        let of_queues = of_queues.flat_map(|path| [self.early_marks(path), self.short_buffer(path)]).flatten();
        [self.own_drops(), self.crowd()].into_iter().flatten().chain(no_mark).chain(of_queues).collect()
    }

    fn spec(&self, place: Place) -> &PortSpec {
        self.planned.scheme.ports.at(place)
    }

    /// Groups the ports of all places by what they hold and mark.
    fn ports(&self) -> Vec<Ports<'_>> {
        let mut all: Vec<Ports<'_>> = Vec::new();
        let at = |place| self.planned.fabric.rates_at(place).into_iter().map(move |rate| (place, rate));
        for (place, rate) in Place::ALL.into_iter().flat_map(at) {
            if place == Place::Nic && self.planned.scheme.nic != Nic::Scheme {
                continue;
            }
            let spec = self.spec(place);
            let marker = spec.marker_of(rate.byte_time());
            // The message names a rate only where its ports have a threshold of their own.
            let of_rate = spec.marker_at.iter().any(|(other, _)| *other == rate).then_some(rate);
            match all.iter_mut().find(|of| (of.spec.admission, of.marker, of.rate) == (spec.admission, marker, of_rate))
            {
                Some(of) if of.places.contains(&place) => {}
                Some(of) => of.places.push(place),
                None => all.push(Ports { places: vec![place], spec, marker, rate: of_rate }),
            }
        }
        all
    }

    /// Finds a threshold that no queue reaches.
    fn no_mark(&self, of: &Ports<'_>) -> Option<String> {
        if !self.constants.reacts_to_marks {
            return None;
        }
        let Ports { places, spec, marker, rate } = of;
        let k = Threshold::of(*marker, self.packet, *rate)?;
        let holds = self.holds(spec, k.scope)?;
        let reached = if k.counts_arriving { holds } else { holds.saturating_sub(self.packet) };
        if k.bytes < reached {
            return None;
        }
        let rule = self.rule(self.longest);
        let would_do = if rule < reached { k.would_be(rule) } else { buffer_for(rule.max(k.bytes)) };
        Some(format!(
            "`{}` = {} is not below the {} that {} may hold, so a queue loses packets before it marks one; try {would_do}",
            k.key,
            k.in_words(),
            units::format_size(holds),
            in_words(places),
        ))
    }

    /// Finds a threshold at which a queue runs empty while senders slow down.
    fn early_marks(&self, path: &Path) -> Option<String> {
        if !self.constants.reacts_to_marks {
            return None;
        }
        let place = path.narrow.unwrap_or(path.last.0);
        let spec = self.spec(place);
        let rate = queue_rate(path);
        let of_rate = spec.marker_at.iter().any(|(other, _)| *other == rate).then_some(rate);
        let k = Threshold::of(spec.marker_of(rate.byte_time()), self.packet, of_rate)?;
        let needed = product(queue_rate(path), path.time) / PART_FOR_DCTCP;
        if k.bytes >= needed {
            return None;
        }
        let rule = self.rule(path);
        let holds = self.holds(spec, MarkScope::Queue).unwrap_or(u64::MAX);
        let room = if holds <= rule { format!(" with {}", buffer_for(rule)) } else { String::new() };
        // Without a link that is slower than its host's, a flow alone has its queue in its host.
        let idle = match path.narrow {
            Some(_) => "a flow leaves its link idle while it slows down",
            None => "flows that share a link leave it idle while they slow down",
        };
        Some(format!(
            "`{}` = {} is less than a seventh of rate times base round trip at {} ({}, of {} times {}), so {idle}; try \
             {}{room}{}",
            k.key,
            k.in_words(),
            in_words(&[place]),
            units::format_size(needed),
            units::format_rate(queue_rate(path).bps()),
            units::format_time(path.time.0),
            k.would_be(rule),
            self.or_scaled(),
        ))
    }

    /// Finds a buffer in front of a flow's slowest link that loses what the flow has under way, and then runs empty. For
    /// senders that marks slow down earlier, thresholds are checked instead. Without a link that is slower than its host's,
    /// a flow alone has no queue in the fabric.
    fn short_buffer(&self, path: &Path) -> Option<String> {
        let place = path.narrow?;
        let spec = self.spec(place);
        if self.constants.reacts_to_marks && spec.marker != Marker::Off {
            return None;
        }
        let (holds, needed) = (self.holds(spec, MarkScope::Port)?, product(path.rate, path.time));
        let window = self.constants.window.map_or(u64::MAX, |window| self.bytes(window, path));
        let loses = window > needed.saturating_add(holds);
        (loses && (holds as f64) < (1.0 - LACK) * needed as f64).then(|| {
            format!(
                "`buffer` = {} in all at {} is less than rate times base round trip ({} times {} between {}), so a \
                 single flow loses packets and its links idle; try {}{}",
                units::format_size(holds),
                in_words(&[place]),
                units::format_rate(path.rate.bps()),
                units::format_time(path.time.0),
                path.ends,
                units::format_size(needed),
                self.or_scaled(),
            )
        })
    }

    /// Finds a host's own port that drops the host's own packets.
    fn own_drops(&self) -> Option<String> {
        if self.planned.scheme.nic != Nic::Scheme {
            return None;
        }
        let spec = self.spec(Place::Nic);
        let holds = self.holds(spec, MarkScope::Queue)?;
        // What is sent at once is there at once. Of a window, what the shortest path carries has left; where the port's
        // own marks slow its host down, it never is as long.
        let slowed = self.constants.reacts_to_marks && spec.marker != Marker::Off;
        let carried = self.paths.iter().map(|path| product(path.rate, path.time)).min()?;
        let at_once = self.constants.unasked.map(|unasked| (unasked, 0));
        let in_all = self.constants.window.filter(|_| !slowed).map(|window| (window, carried));
        let fits = |&(named, carried): &(Named, u64)| self.bytes(named, self.longest) <= holds.saturating_add(carried);
        let (named, carried) = at_once.into_iter().chain(in_all).find(|of| !fits(of))?;
        Some(format!(
            "{} ({}) does not fit into the {} of a host's own port, and nic = \"scheme\" drops packets there; try nic = \
             \"backpressure\", or {}",
            super::in_words(named, self.bytes(named, self.longest) / self.packet),
            units::format_size(self.bytes(named, self.longest)),
            units::format_size(holds),
            self.would_be(named, holds.saturating_add(carried) / self.packet)
        ))
    }

    /// Finds a port in front of a host that does not hold what others send to the host without being asked.
    fn crowd(&self) -> Option<String> {
        let unasked = self.constants.unasked?;
        let cases = self.paths.iter().flat_map(|path| self.planned.at_once.iter().map(move |of| (path, *of)));
        let lacks = cases.filter_map(|(path, (senders, largest))| {
            let message = largest.div_ceil(self.facts.segment.into()).saturating_mul(self.packet);
            let each = self.bytes(unasked, path).min(message);
            let all = each.saturating_mul(senders.into());
            // While they send, the link to the host sends on.
            let (first, last) = (u128::from(path.first.bps()), u128::from(path.last.1.bps()));
            let left = u64::try_from(u128::from(each) * last / first.max(1)).unwrap_or(u64::MAX);
            let holds = self.holds(self.spec(path.last.0), MarkScope::Port)?;
            let lack = all.saturating_sub(left).checked_sub(holds).filter(|&lack| lack > 0)?;
            Some((lack, (path, senders, each, all, holds)))
        });
        let (_, (path, senders, each, all, holds)) = lacks.max_by_key(|(lack, _)| *lack)?;
        let (place, key) = (path.last.0, unasked.key);
        let would_do = match self.spec(place).admission {
            Admission::Shared { alpha_256 } => {
                let alpha = u64::from(alpha_256).max(1);
                ("shared_buffer", all.saturating_mul(alpha + 256) / alpha)
            }
            _ => ("buffer", all),
        };
        Some(format!(
            "each host sends up to {} before it hears of its receiver (`{key}`), but {} hold {}, so packets are lost where \
             {senders} hosts send to one at once; try {} = \"{}\"",
            units::format_size(each),
            in_words(&[place]),
            units::format_size(holds),
            would_do.0,
            units::format_size(round_up(would_do.1)),
        ))
    }

    /// Returns an amount in the bytes that its packets take in a buffer.
    fn bytes(&self, named: Named, path: &Path) -> u64 {
        match named.amount {
            Amount::RoundTrip => {
                product(path.rate, path.time).div_ceil(self.facts.segment.into()).saturating_mul(self.packet)
            }
            amount => self.packets(amount).saturating_mul(self.packet),
        }
    }

    /// Returns K by the marking rule.
    fn rule(&self, path: &Path) -> u64 {
        ecn_threshold_bytes(queue_rate(path).bps(), path.time.0, self.packet)
    }

    fn holds(&self, spec: &PortSpec, scope: MarkScope) -> Option<u64> {
        holds(spec, scope, self.planned.scheme.shared_buffer)
    }
}

/// Returns the largest possible backlog of a port, or of one of its queues, in a switch with so much shared memory; `None`
/// without a limit.
pub(in crate::simulator) fn holds(spec: &PortSpec, scope: MarkScope, shared_buffer: u64) -> Option<u64> {
    match (spec.admission, scope) {
        (Admission::Unlimited, _) => None,
        (Admission::PerPort { limit }, _) | (Admission::PerQueue { limit }, MarkScope::Queue) => Some(limit),
        (Admission::PerQueue { limit }, MarkScope::Port) => Some(limit.saturating_mul(queues(&spec.kind)?)),
        // A single queue in its switch grows until it is alpha times the remaining memory.
        (Admission::Shared { alpha_256 }, _) => {
            let alpha = u128::from(alpha_256);
            u64::try_from(u128::from(shared_buffer) * alpha / (alpha + 256)).ok()
        }
    }
}

/// Ports that hold and mark alike.
struct Ports<'a> {
    places: Vec<Place>,
    spec: &'a PortSpec,
    marker: Marker,
    /// The rate of their links, if their threshold is for it alone.
    rate: Option<Rate>,
}

/// Returns the rate of the link whose queue a path's flows fill: the slowest one, or that of the receiver.
fn queue_rate(path: &Path) -> Rate {
    if path.narrow.is_some() { path.rate } else { path.last.1 }
}

/// The length from which a port marks.
struct Threshold {
    key: &'static str,
    /// The rate of the links that it is for, if it is stated by rate.
    rate: Option<Rate>,
    /// Of full packets, if packets are counted.
    bytes: u64,
    scope: MarkScope,
    counts_arriving: bool,
    /// Bytes of a full packet, if packets are counted.
    counted: Option<u64>,
}

impl Threshold {
    fn of(marker: Marker, packet: u64, rate: Option<Rate>) -> Option<Threshold> {
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
        let key = if rate.is_some() { "ecn_threshold_at" } else { key };
        Some(Threshold { key, rate, bytes, scope, counts_arriving, counted })
    }

    fn in_words(&self) -> String {
        match self.counted {
            None => self.of_rate(self.bytes),
            Some(packet) => format!("{} full packets ({})", self.bytes / packet, units::format_size(self.bytes)),
        }
    }

    /// Writes a length, with the rate that it is for.
    fn of_rate(&self, bytes: u64) -> String {
        let rate = self.rate.map_or_else(String::new, |rate| format!("{}: ", units::format_rate(rate.bps())));
        rate + &units::format_size(bytes)
    }

    /// Writes the setting with another length.
    fn would_be(&self, bytes: u64) -> String {
        match self.counted {
            None if self.rate.is_some() => format!("{} = [\"{}\"]", self.key, self.of_rate(bytes)),
            None => format!("{} = \"{}\"", self.key, units::format_size(bytes)),
            Some(packet) => format!("{} = {}", self.key, bytes.div_ceil(packet)),
        }
    }
}

/// Writes the buffer of a threshold by the papers' ratio, 240 packets to 65.
fn buffer_for(threshold: u64) -> String {
    format!("buffer = \"{}\"", units::format_size((threshold * 240).div_ceil(65)))
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
