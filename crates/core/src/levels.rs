//! Levels of the network and of the host, whose thresholds controllers adapt to the messages that have ended (NOS2:
//! Sviridov, Bianco and Giaccone, GLOBECOM 2019, §IV; with one set of queues for host and network its Fig. 2).
//!
//! A packet gets two levels by the bytes before it, as in PIAS. The network's is its priority, by thresholds that a
//! controller of the whole fabric sends to all hosts. Where the host has queues of its own, the host's level is its rank, by
//! an equal split of the sizes that this host has seen. Both kinds of thresholds are recomputed once in a period. Sizes are
//! known when a message ends, and at no time before.
//!
//! It leaves out flows under way, which nobody counts before they end: a change towards longer messages shows late.

use crate::controller::{Audience, Controller, Gauges, HostEvent, Latest, Publish, Published, Table};
use crate::message::FlowEvent;
use crate::meta::Kind;
use crate::observed::{RecentSizes, SizeSketch};
use crate::readings::{Gauge, Reading};
use crate::solver::Solver;
use crate::tag::Tag;
use crate::tagger::FlowFacts;
use crate::units::Time;

/// Thresholds of a host's own queues.
pub const HOST_THRESHOLD: &str = "host's threshold (bytes)";
/// Thresholds by which a host tags packets for the network.
pub const TAG_THRESHOLD: &str = "tag threshold (bytes)";
/// The same as the controller published them last, whether or not they have arrived at the hosts.
pub const CONTROLLER_THRESHOLD: &str = "controller's threshold (bytes)";

/// The number of thresholds that so many bytes exceed: PIAS's levels.
pub(crate) fn level(thresholds: &[u64], bytes: u64) -> usize {
    thresholds.iter().take_while(|&&threshold| bytes > threshold).count()
}

/// The level p of a message of which so many bytes were sent, ω_p ≤ bytes < ω_(p+1) (NOS2, §III). The sentence after that formula
/// has the flow demoted where its bytes exceed the threshold, as PIAS does: the two differ in one packet, where they are equal.
fn level_from(thresholds: &[u64], bytes: u64) -> usize {
    thresholds.iter().take_while(|&&threshold| bytes >= threshold).count()
}

/// Says each threshold.
pub(crate) fn observe_thresholds(name: &'static str, thresholds: &[u64], see: &mut dyn FnMut(Reading)) {
    for (queue, &threshold) in thresholds.iter().enumerate() {
        see(Reading::Gauge(Gauge { name, queue, value: threshold as f64 }));
    }
}

/// What a host's levels begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelParams {
    /// The network's thresholds, in bytes, rising; none: everything has priority 0.
    pub network: Vec<u64>,
    /// Where the host has queues of its own, their thresholds; none: everything goes to the first.
    pub own: Option<Vec<u64>>,
}

/// The levels of a host's packets of one class.
#[derive(Clone, Debug)]
pub struct Levels {
    network: Latest,
    own: Option<Latest>,
}

impl Levels {
    /// The levels of one host.
    pub fn new(params: &LevelParams) -> Levels {
        Levels { network: Latest::new(params.network.clone()), own: params.own.clone().map(Latest::new) }
    }

    /// What a packet carries: the network's level and the host's. Packets without payload are of the first.
    pub fn tag(&self, facts: &FlowFacts) -> Tag {
        if facts.kind != Kind::Data {
            return Tag::default();
        }
        let own = self.own.as_ref().map_or(0, |own| level_from(&own.values, facts.offset));
        Tag::with_levels(level_from(&self.network.values, facts.offset) as u8, own as u32)
    }

    /// Takes a controller's thresholds.
    pub fn on_table(&mut self, published: &Published) {
        match (published.table.name, &mut self.own) {
            (TAG_THRESHOLD, _) => self.network.take(published),
            (HOST_THRESHOLD, Some(own)) => own.take(published),
            _ => {}
        }
    }

    /// Says all thresholds.
    pub fn observe(&self, see: &mut dyn FnMut(Reading)) {
        if let Some(own) = &self.own {
            observe_thresholds(HOST_THRESHOLD, &own.values, see);
        }
        observe_thresholds(TAG_THRESHOLD, &self.network.values, see);
    }
}

/// How thresholds follow the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptation {
    /// The class of flow.
    pub class: u8,
    /// Time from one estimate to the next, and from the start to the first.
    pub period: Time,
    /// How long sizes are remembered, as [`RecentSizes::new`] takes it.
    pub window: Time,
    /// The fewest sizes that make an estimate; with fewer, thresholds stay.
    pub least: u64,
}

/// The sizes of a class of flow, and when thresholds are made of them.
struct Estimates {
    of: Adaptation,
    sizes: RecentSizes,
    next: Time,
}

impl Estimates {
    fn new(of: Adaptation) -> Estimates {
        Estimates { of, sizes: RecentSizes::new(of.window), next: of.period }
    }

    fn on_event(&mut self, event: &HostEvent) {
        if let FlowEvent::MessageEnd { message, .. } = event.event
            && event.class == self.of.class
        {
            self.sizes.record(message.bytes, event.at);
        }
    }

    /// Goes on to the next period. The sizes, if there are enough.
    fn take(&mut self, now: Time) -> Option<SizeSketch> {
        self.next = Time(now.0.saturating_add(self.of.period.0));
        if self.sizes.count(now) < self.of.least.max(1) {
            return None;
        }
        let mut sizes = SizeSketch::default();
        self.sizes.gather(now, &mut sizes);
        Some(sizes)
    }
}

/// The controller of a host's own queues: an equal split of the sizes of its own messages (NOS2 §IV-B).
pub struct OwnThresholds {
    host: u32,
    queues: usize,
    estimates: Estimates,
}

impl OwnThresholds {
    /// Of a host with so many queues, 1 to 64.
    pub fn new(host: u32, queues: usize, of: Adaptation) -> OwnThresholds {
        OwnThresholds { host, queues, estimates: Estimates::new(of) }
    }
}

impl Controller for OwnThresholds {
    fn on_event(&mut self, _: Time, event: &HostEvent) {
        self.estimates.on_event(event);
    }

    fn next(&self) -> Time {
        self.estimates.next
    }

    fn decide(&mut self, now: Time, _: &mut dyn Gauges, publish: Publish<'_>) {
        if let Some(sizes) = self.estimates.take(now) {
            let to = Audience::Host { host: self.host, class: self.estimates.of.class };
            publish(to, Table::of_thresholds(HOST_THRESHOLD, &sizes.equal_split(self.queues)));
        }
    }
}

/// What hosts have seen together.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Sizes of messages that ended.
    pub sizes: &'a SizeSketch,
    /// Over how long.
    pub span: Time,
    /// The rates of the hosts' links together, in bit/s.
    pub rate_bps: u64,
}

impl Seen<'_> {
    /// The least and the most that the load is taken to be: no queue is stable at 1, and a moment's load is known badly.
    pub const LOADS: [f64; 2] = [0.05, 0.95];

    /// The load of the hosts' links by the payload of the messages that ended, within [`Seen::LOADS`].
    pub fn load(&self) -> f64 {
        let most = self.rate_bps as f64 * self.span.as_secs();
        let [low, high] = Self::LOADS;
        if most > 0.0 { (8.0 * self.sizes.bytes() as f64 / most).clamp(low, high) } else { low }
    }
}

/// How the network's thresholds are computed.
#[derive(Clone, Debug)]
pub struct NetworkParams {
    /// The model.
    pub rule: &'static dyn Solver,
    /// Levels that packets are tagged with.
    pub levels: usize,
    /// What hosts begin with, in bytes.
    pub start: Vec<u64>,
    /// When and from which sizes; `least` is of all hosts together.
    pub of: Adaptation,
}

/// The controller of the network's thresholds, from the sizes of all hosts (NOS2 §IV-A).
pub struct NetworkThresholds {
    rule: &'static dyn Solver,
    levels: usize,
    rate_bps: u64,
    estimates: Estimates,
    /// What it published last, or what hosts began with.
    last: Vec<u64>,
}

impl NetworkThresholds {
    /// For hosts whose links together have this rate, in bit/s.
    pub fn new(params: &NetworkParams, rate_bps: u64) -> NetworkThresholds {
        let NetworkParams { rule, levels, start, of } = params;
        let (rule, levels, last) = (*rule, *levels, start.clone());
        NetworkThresholds { rule, levels, rate_bps, estimates: Estimates::new(*of), last }
    }
}

impl Controller for NetworkThresholds {
    fn on_event(&mut self, _: Time, event: &HostEvent) {
        self.estimates.on_event(event);
    }

    fn next(&self) -> Time {
        self.estimates.next
    }

    fn decide(&mut self, now: Time, _: &mut dyn Gauges, publish: Publish<'_>) {
        let Some(sizes) = self.estimates.take(now) else { return };
        let span = RecentSizes::span(self.estimates.of.window, now);
        let seen = Seen { sizes: &sizes, span, rate_bps: self.rate_bps };
        if let Some(thresholds) = self.rule.thresholds(&mut sizes.counts(), seen.load(), self.levels) {
            publish(
                Audience::Hosts { class: self.estimates.of.class },
                Table::of_thresholds(TAG_THRESHOLD, &thresholds),
            );
            self.last = thresholds;
        }
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        observe_thresholds(CONTROLLER_THRESHOLD, &self.last, see);
    }
}

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;
