//! Thresholds that follow the messages that have ended, for the tagger of [`crate::taggers::levels`], which names their source.

use crate::controller::{Audience, Controller, ControllerRules, FabricSite, Gauges, HostEvent, Publish, Table};
use crate::message::FlowEvent;
use crate::observed::{RecentSizes, SizeSketch};
use crate::readings::{Reading, observe_thresholds};
use crate::solver::Solver;
use crate::taggers::levels::{HOST_THRESHOLD, TAG_THRESHOLD};
use crate::units::Time;

/// [`TAG_THRESHOLD`] as the controller published it last, whether or not it has arrived at the hosts.
pub const CONTROLLER_THRESHOLD: &str = "controller's threshold (bytes)";

/// How thresholds follow the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptation {
    /// The class of flow.
    pub class: u8,
    /// Time between two estimates, and from the start to the first.
    pub period: Time,
    /// How long sizes are remembered, as [`RecentSizes::new`] takes it.
    pub window: Time,
    /// The fewest sizes for an estimate; with fewer, thresholds stay.
    pub least: u64,
}

/// The sizes of a class of flow, and when thresholds are computed from them.
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

    /// Moves to the next period. Returns the sizes if there are enough.
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

/// How the thresholds of hosts' own queues are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnParams {
    /// Queues of a host, 1 to 64.
    pub queues: usize,
    /// When, and from which sizes.
    pub of: Adaptation,
}

/// The controller of a host's own queues: an equal split of its own messages' sizes (NOS2 §IV-B).
pub struct OwnThresholds {
    host: u32,
    queues: usize,
    estimates: Estimates,
}

impl ControllerRules for OwnParams {
    type Controller = OwnThresholds;

    const AT_HOSTS: bool = true;

    fn build(&self, _: &FabricSite, host: u32) -> OwnThresholds {
        OwnThresholds { host, queues: self.queues, estimates: Estimates::new(self.of) }
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

/// What all hosts together have seen.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Sizes of messages that ended.
    pub sizes: &'a SizeSketch,
    /// The time over which they ended.
    pub span: Time,
    /// The rates of the hosts' links together, in bit/s.
    pub rate_bps: u64,
}

impl Seen<'_> {
    /// Bounds of the load estimate: no queue is stable at 1, and the load of a short time is uncertain.
    pub const LOADS: [f64; 2] = [0.05, 0.95];

    /// Returns the load of the hosts' links by the payload of the messages that ended, within [`Seen::LOADS`].
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
    /// The initial thresholds of hosts, in bytes.
    pub start: Vec<u64>,
    /// When, and from which sizes; `least` counts the sizes of all hosts together.
    pub of: Adaptation,
}

/// The controller of the network's thresholds, from the sizes of all hosts (NOS2 §IV-A).
pub struct NetworkThresholds {
    rule: &'static dyn Solver,
    levels: usize,
    /// The sum of the rates of the hosts' links, in bit/s.
    rate_bps: u64,
    estimates: Estimates,
    /// The thresholds published last, or the initial ones of hosts.
    last: Vec<u64>,
}

impl ControllerRules for NetworkParams {
    type Controller = NetworkThresholds;

    const AT_HOSTS: bool = false;

    fn build(&self, fabric: &FabricSite, _: u32) -> NetworkThresholds {
        let rates = fabric.hosts.iter().flat_map(|host| host.ports.iter()).map(|port| port.rate.bps());
        let (rate_bps, last) = (rates.fold(0, u64::saturating_add), self.start.clone());
        NetworkThresholds { rule: self.rule, levels: self.levels, rate_bps, estimates: Estimates::new(self.of), last }
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
#[path = "thresholds_tests.rs"]
mod tests;
