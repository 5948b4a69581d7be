//! Samples: the state of connections and chosen links at equal intervals of a run.
//!
//! Samples have no events: the run stops between events to take them. A run without samples does nothing for them. A
//! sampled link's scheduler is wrapped to record its backlog; the same packets leave at the same instants.
//!
//! Open-loop senders are not sampled, because they have no window. Backlogs leave out the packet on the line, as
//! everywhere.

mod rates;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowsieve_core::controller::Published;
use flowsieve_core::marker::Waiting;
use flowsieve_core::readings::{Gauge, Reading};
use flowsieve_core::{Meta, PortContext, PortScheduler, Scheduler, Time, Verdict};
use flowsieve_record::Series;

use crate::build::Built;
use crate::controllers::Controllers;
use crate::event::Key;
use crate::topology::{Fabric, Node};
use rates::Rates;

/// What to sample, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampling {
    /// The time between samples, and from the beginning to the first.
    pub interval: Time,
    /// The links to sample backlog at, by their numbers in the fabric.
    pub links: Vec<u32>,
    /// The links to sample utilisation of.
    pub utilised: Vec<u32>,
    /// The flows to sample goodput of, by their numbers.
    pub flows: BTreeSet<u32>,
}

/// The most values kept per run; sampling ends before the sample that would exceed it.
pub const MOST_VALUES: usize = 1 << 18;

/// The smallest backlog of a link's port during a step.
pub const LEAST_BACKLOG: &str = "least backlog (bytes)";
/// The largest backlog of a link's port during a step.
pub const MOST_BACKLOG: &str = "most backlog (bytes)";
/// The share of a step in which a link's line was busy, framing included.
pub const UTILISATION: &str = "utilisation (share)";
/// Payload of a flow that arrived for the first time in a step, as a rate.
pub const GOODPUT: &str = "goodput (bit/s)";
/// The name under which gauges of fabric-wide controllers appear.
pub const CONTROLLER: &str = "controller";

/// The backlog of a port since the last sample.
struct Backlog {
    bytes: u64,
    /// When it became `bytes`; a backlog that lasted for no time does not count.
    since: Time,
    least: u64,
    most: u64,
}

impl Backlog {
    fn change(&mut self, at: Time, bytes: u64) {
        if at > self.since {
            self.least = self.least.min(self.bytes);
            self.most = self.most.max(self.bytes);
            self.since = at;
        }
        self.bytes = bytes;
    }

    fn take(&mut self, at: Time) -> (u64, u64) {
        self.change(at, self.bytes);
        (std::mem::replace(&mut self.least, u64::MAX), std::mem::take(&mut self.most))
    }
}

/// A scheduler that records its backlog and otherwise behaves as the one inside it.
struct BacklogRecorder {
    within: Scheduler,
    backlog: Arc<Mutex<Backlog>>,
}

fn open(backlog: &Mutex<Backlog>) -> MutexGuard<'_, Backlog> {
    backlog.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PortScheduler for BacklogRecorder {
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let verdict = self.within.enqueue(metas, packet, context);
        open(&self.backlog).change(context.now, self.within.backlog_bytes());
        verdict
    }

    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        let packet = self.within.dequeue(metas, context);
        open(&self.backlog).change(context.now, self.within.backlog_bytes());
        packet
    }

    fn dequeue_unheld(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>, held: u64) -> Option<u32> {
        let packet = self.within.dequeue_unheld(metas, context, held);
        open(&self.backlog).change(context.now, self.within.backlog_bytes());
        packet
    }

    // Another packet joins at the same instant, when the backlog is recorded.
    fn take_newest(&mut self, metas: &mut [Meta], queue: usize, longer_than: u16) -> Option<u32> {
        self.within.take_newest(metas, queue, longer_than)
    }

    fn waiting_in(&self, queue: usize) -> Option<Waiting> {
        self.within.waiting_in(queue)
    }

    fn bypass_bytes(&self) -> u64 {
        self.within.bypass_bytes()
    }

    fn backlog_bytes(&self) -> u64 {
        self.within.backlog_bytes()
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        self.within.observe(see);
    }

    fn on_table(&mut self, published: &Published) {
        self.within.on_table(published);
    }

    fn queues(&self) -> usize {
        self.within.queues()
    }
}

/// A sampled link: its number, where its port is, and the values so far.
struct Watched {
    number: u32,
    partition: u32,
    index: u32,
    backlog: Arc<Mutex<Backlog>>,
    least: Vec<f64>,
    most: Vec<f64>,
    /// The host that the port belongs to: its number, its partition, its index there.
    host: Option<(u32, u32, u32)>,
    /// Values that its scheduler and its host have adapted.
    gauges: Gauges,
}

/// Adapted values, by name and queue: the first step with a value, and the values from then on.
#[derive(Default)]
struct Gauges(BTreeMap<(&'static str, usize), (u64, Vec<f64>)>);

impl Gauges {
    /// Takes a reading at a step; of repeated readings, the first.
    fn see(&mut self, step: u64, reading: Reading) {
        let Reading::Gauge(Gauge { name, queue, value }) = reading else { return };
        let (first_step, values) = self.0.entry((name, queue)).or_insert((step, Vec::new()));
        if *first_step + values.len() as u64 == step {
            values.push(value);
        }
    }

    fn series(self, place: &str, step_ps: u64) -> impl Iterator<Item = Series> {
        self.0.into_iter().map(move |((name, queue), (first_step, values))| Series {
            name: name.to_owned(),
            of: Series::of_queue(place, queue),
            first_step,
            step_ps,
            values,
        })
    }
}

/// A flow with a message under way, from `first_step` on: the values that its endpoint reports of it.
struct Stretch {
    first_step: u64,
    series: Vec<(&'static str, Vec<f64>)>,
}

impl Stretch {
    fn next_step(&self) -> u64 {
        self.first_step + self.series.first().map_or(0, |(_, values)| values.len() as u64)
    }
}

/// Takes the samples of a run.
pub(crate) struct Sampler {
    interval: Time,
    links: Vec<Watched>,
    rates: Rates,
    /// Values that the controller published.
    controller: Gauges,
    /// By the flow of a connection's packets: its stretches.
    connections: BTreeMap<u32, Vec<Stretch>>,
    /// Number of samples so far.
    steps: u64,
    values: usize,
    most_values: usize,
    full: bool,
}

impl Sampler {
    /// Wraps the ports of the sampled links.
    pub(crate) fn new<K: Key>(sampling: &Sampling, fabric: &Fabric, built: &mut Built<K>) -> Sampler {
        let mut links = Vec::new();
        for &number in &sampling.links {
            let (partition, index) = built.placement.from[number as usize];
            let port = &mut built.partitions[partition as usize].network.ports[index as usize];
            let backlog = Backlog { bytes: 0, since: Time::ZERO, least: u64::MAX, most: 0 };
            let backlog = Arc::new(Mutex::new(backlog));
            let within = std::mem::take(&mut port.scheduler);
            port.scheduler = Scheduler::Custom(Box::new(BacklogRecorder { within, backlog: Arc::clone(&backlog) }));
            let host = match fabric.links[number as usize].from {
                Node::Host(host) => {
                    let (partition, index) = built.placement.hosts[host as usize];
                    Some((host, partition, index))
                }
                Node::Switch(_) => None,
            };
            let (least, most, gauges) = (Vec::new(), Vec::new(), Gauges::default());
            links.push(Watched { number, partition, index, backlog, least, most, host, gauges });
        }
        Sampler {
            interval: Time(sampling.interval.0.max(1)),
            links,
            rates: Rates::new(sampling, fabric, built),
            controller: Gauges::default(),
            connections: BTreeMap::new(),
            steps: 0,
            values: 0,
            most_values: MOST_VALUES,
            full: false,
        }
    }

    /// Returns when the next sample is due, if there is one.
    pub(crate) fn next(&self) -> Option<Time> {
        let at = (self.steps + 1).checked_mul(self.interval.0)?;
        (!self.full).then_some(Time(at))
    }

    /// Takes a sample, when every event before `at` is done and none from then on.
    pub(crate) fn sample<K: Key>(&mut self, built: &mut Built<K>, controllers: Option<&Controllers>, at: Time) {
        let step = self.steps;
        let mut values: usize = self.links.iter().map(|link| 2 + link.gauges.0.len()).sum();
        values += self.controller.0.len() + self.rates.count();
        let mut found = Vec::new();
        for hosts in built.partitions.iter().map(|partition| &partition.hosts) {
            for side in &hosts.sides {
                side.endpoint.observe(&mut |flow, seen| {
                    values += seen.len();
                    found.push((flow, seen.to_vec()));
                });
            }
        }
        if self.values + values > self.most_values {
            self.full = true;
            return;
        }
        self.values += values;
        self.steps += 1;
        for (flow, seen) in found {
            let stretches = self.connections.entry(flow).or_default();
            if stretches.last().is_none_or(|last| last.next_step() != step) {
                let series = seen.iter().map(|&(name, _)| (name, Vec::new()));
                stretches.push(Stretch { first_step: step, series: series.collect() });
            }
            if let Some(last) = stretches.last_mut() {
                last.series.iter_mut().zip(seen).for_each(|((_, values), (_, value))| values.push(value));
            }
        }
        for link in &mut self.links {
            built.advance((link.partition, link.index), Time(at.0 - 1));
            let network = &built.partitions[link.partition as usize].network;
            let (least, most) = open(&link.backlog).take(at);
            link.least.push(least as f64);
            link.most.push(most as f64);
            let gauges = &mut link.gauges;
            network.ports[link.index as usize].scheduler.observe(&mut |reading| gauges.see(step, reading));
            if let Some((host, partition, index)) = link.host {
                let hosts = &built.partitions[partition as usize].hosts;
                let sides = &hosts.sides[hosts.sides_of(index)];
                sides.iter().for_each(|side| side.tagger.observe(&mut |reading| gauges.see(step, reading)));
                if let Some(controllers) = controllers {
                    controllers.observe(Some(host), &mut |reading| gauges.see(step, reading));
                }
            }
        }
        self.rates.sample(built, at, self.interval);
        if let Some(controllers) = controllers {
            controllers.observe(None, &mut |reading| self.controller.see(step, reading));
        }
    }

    /// Counts what has arrived since the last call, so that arrivals need not be kept for long.
    pub(crate) fn gather<K: Key>(&mut self, built: &mut Built<K>) {
        self.rates.gather(built);
    }

    /// Returns the samples, links first, and a warning about them if there is one.
    pub(crate) fn finish(self, fabric: &Fabric) -> (Vec<Series>, Option<String>) {
        let step_ps = self.interval.0;
        let mut all = Vec::new();
        for link in self.links {
            let of = fabric.link_name(link.number);
            for (name, values) in [(LEAST_BACKLOG, link.least), (MOST_BACKLOG, link.most)] {
                all.push(Series { name: name.to_owned(), of: of.clone(), first_step: 0, step_ps, values });
            }
            all.extend(link.gauges.series(&of, step_ps));
        }
        all.extend(self.rates.finish(fabric, step_ps));
        all.extend(self.controller.series(CONTROLLER, step_ps));
        for (flow, stretches) in self.connections {
            for Stretch { first_step, series } in stretches {
                for (name, values) in series {
                    let of = Series::of_connection(flow);
                    all.push(Series { name: name.to_owned(), of, first_step, step_ps, values });
                }
            }
        }
        let ended = || {
            let at = Time(self.steps.saturating_mul(step_ps));
            format!("sampling ended at {at}: a run keeps at most {} values", self.most_values)
        };
        (all, self.full.then(ended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backlog__what_was_there_for_no_time_does_not_count() {
        let mut backlog = Backlog { bytes: 0, since: Time::ZERO, least: u64::MAX, most: 0 };
        backlog.change(Time(5), 3_000);
        backlog.change(Time(5), 1_500);
        backlog.change(Time(9), 4_500);
        assert_eq!(backlog.take(Time(10)), (0, 4_500));
        // It leaves at the instant of the sample, so it is not in the next step.
        backlog.change(Time(10), 700);
        assert_eq!(backlog.take(Time(20)), (700, 700));
        assert_eq!(backlog.take(Time(30)), (700, 700));
    }
}
