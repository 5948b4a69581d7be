//! A host that adapts its demotion thresholds to the messages that it has finished, and the controller of many such hosts
//! (NOS2: Sviridov, Bianco and Giaccone, GLOBECOM 2019, §IV; with one set of queues for host and network its Fig. 2).
//!
//! A packet gets two levels by the bytes before it, as in PIAS: the network's, by thresholds that a controller sends to all
//! hosts, as its priority; and, where the host has queues of its own, the host's, by an equal split of the sizes that this
//! host has seen, as its rank. Both kinds of thresholds are recomputed once in a period, by whoever owns the hosts: all here
//! is without a clock. Sizes are known when a message ends, and at no time before.
//!
//! It leaves out flows under way, which no host counts before they end: a change towards longer messages shows late.

use crate::message::FlowEvent;
use crate::meta::Kind;
use crate::observed::{RecentSizes, SizeSketch};
use crate::solver::Solver;
use crate::tag::Tag;
use crate::tagger::FlowFacts;
use crate::units::Time;

/// The number of thresholds that so many bytes exceed.
pub(crate) fn level(thresholds: &[u64], bytes: u64) -> usize {
    thresholds.iter().take_while(|&&threshold| bytes > threshold).count()
}

/// What a host's levels begin with, and how they adapt.
#[derive(Clone, Debug)]
pub struct LevelParams {
    /// The network's thresholds at the start, in bytes, rising; none: everything has priority 0.
    pub network: Vec<u64>,
    /// The host's own queues, where it has some.
    pub own: Option<OwnQueues>,
    /// How both adapt.
    pub adaptation: Adaptation,
}

/// Queues of a host's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnQueues {
    /// How many, from 1 to 64.
    pub queues: usize,
    /// Their thresholds, to begin with those of the start, in bytes, rising; none: everything goes to the first.
    pub thresholds: Vec<u64>,
}

/// How thresholds follow the traffic.
#[derive(Clone, Copy, Debug)]
pub struct Adaptation {
    /// Time from one estimate to the next, and from the start to the first.
    pub period: Time,
    /// How long a host remembers sizes, as [`RecentSizes::new`] takes it.
    pub window: Time,
    /// The fewest sizes that make an estimate; with fewer, thresholds stay.
    pub least: u64,
    /// The controller, where there is one.
    pub controller: Option<ControllerParams>,
}

/// A controller of the network's thresholds.
#[derive(Clone, Copy, Debug)]
pub struct ControllerParams {
    /// The model that it computes them by.
    pub rule: &'static dyn Solver,
    /// Levels that packets are tagged with.
    pub levels: usize,
    /// From the hosts' sizes at the controller to its thresholds at the hosts, both ways and the computation.
    pub delay: Time,
}

/// The levels of a host's packets of one class.
#[derive(Clone, Debug)]
pub struct Levels {
    network: Vec<u64>,
    /// That of what the controller sent last; 0 at the start.
    version: u64,
    own: Option<OwnQueues>,
    sizes: RecentSizes,
    least: u64,
}

/// Thresholds of a controller: never changed, only followed by others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Counts from 1.
    pub version: u64,
    /// In bytes, rising.
    pub thresholds: Vec<u64>,
}

impl Levels {
    /// The levels of one host.
    pub fn new(params: &LevelParams) -> Levels {
        Levels {
            network: params.network.clone(),
            version: 0,
            own: params.own.clone(),
            sizes: RecentSizes::new(params.adaptation.window),
            least: params.adaptation.least.max(1),
        }
    }

    /// What a packet carries: the network's level and the host's. Packets without payload are of the first.
    pub fn tag(&self, facts: &FlowFacts) -> Tag {
        if facts.kind != Kind::Data {
            return Tag::default();
        }
        let own = self.own.as_ref().map_or(0, |own| level(&own.thresholds, facts.offset));
        Tag::with_levels(level(&self.network, facts.offset) as u8, own as u32)
    }

    /// Counts messages that end.
    pub fn on_event(&mut self, event: &FlowEvent, now: Time) {
        if let FlowEvent::MessageEnd { message, .. } = event {
            self.sizes.record(message.bytes, now);
        }
    }

    /// Recomputes the thresholds of the host's own queues, if it has such and remembers enough sizes; says whether.
    pub fn re_estimate(&mut self, now: Time) -> bool {
        let Some(own) = &mut self.own else { return false };
        if self.sizes.count(now) < self.least {
            return false;
        }
        let mut sizes = SizeSketch::default();
        self.sizes.gather(now, &mut sizes);
        own.thresholds = sizes.equal_split(own.queues);
        true
    }

    /// Adds the sizes that the host remembers.
    pub fn gather(&mut self, now: Time, into: &mut SizeSketch) {
        self.sizes.gather(now, into);
    }

    /// Takes the controller's thresholds, unless it has later ones.
    pub fn apply(&mut self, published: &Published) {
        if published.version > self.version {
            self.version = published.version;
            self.network.clone_from(&published.thresholds);
        }
    }

    /// The network's thresholds as this host knows them, in bytes.
    pub fn network(&self) -> &[u64] {
        &self.network
    }

    /// The thresholds of the host's own queues, in bytes, where it has such.
    pub fn own(&self) -> Option<&[u64]> {
        self.own.as_ref().map(|own| own.thresholds.as_slice())
    }
}

/// What the hosts of a controller have seen together.
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

/// The central controller: it computes the network's thresholds from what all hosts have seen.
#[derive(Clone, Debug)]
pub struct Controller {
    params: ControllerParams,
    least: u64,
    /// What it published last.
    last: Published,
}

impl Controller {
    /// A controller of hosts that begin with these thresholds; `least`: as [`Adaptation::least`], of all hosts together.
    pub fn new(params: ControllerParams, least: u64, start: &[u64]) -> Controller {
        let last = Published { version: 0, thresholds: start.to_vec() };
        Controller { params, least: least.max(1), last }
    }

    /// Thresholds for what was seen; `None`: too few sizes, the last ones hold.
    pub fn decide(&mut self, seen: &Seen<'_>) -> Option<Published> {
        if seen.sizes.count() < self.least {
            return None;
        }
        let thresholds = self.params.rule.thresholds(&mut seen.sizes.counts(), seen.load(), self.params.levels)?;
        self.last = Published { version: self.last.version + 1, thresholds };
        Some(self.last.clone())
    }

    /// What it published last; of version 0 what hosts began with.
    pub fn last(&self) -> &Published {
        &self.last
    }
}

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;
