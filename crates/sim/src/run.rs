//! A run: feeds flows, runs partitions, and decides when it is over.
//!
//! Several partitions run in [`rounds`]. A single partition needs none.

use std::ops::ControlFlow;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_record::{PointResult, TraceSink};
use flowsieve_workload::Flow;

use crate::build::{Built, build};
use crate::controllers::Controllers;
use crate::event::Key;
use crate::following::Rule;
use crate::hosts::Hosts;
use crate::measure;
use crate::network::Network;
use crate::outages::Outages;
use crate::partition::Partition;
use crate::run_spec::{Flows, Measure, Progress, RunSpec, SimError};
use crate::sample::{Sampler, Sampling};
use crate::trace::{Tracer, Tracing};
use crate::upcoming::Upcoming;

mod barrier;
mod follow;
mod guard;
mod rounds;

pub use follow::QUERY_EPOCH;
use guard::Fruitless;
pub use guard::{FRUITLESS_PER_FLOW, FRUITLESS_TIMEOUTS};
pub(crate) use rounds::Pace;

/// The largest number of segments in a flow.
pub const MOST_SEGMENTS: u64 = (u32::MAX / 4) as u64;

/// Returns why a fabric of `hosts` hosts cannot carry a flow in segments of `segment` bytes.
pub(crate) fn refusal(flow: &Flow, hosts: u32, segment: u16) -> Option<&'static str> {
    if flow.src >= hosts || flow.dst >= hosts {
        return Some("the fabric has no such host");
    }
    if flow.src == flow.dst {
        return Some("it goes to its own sender");
    }
    if flow.start_ps == Time::NEVER.0 {
        return Some("it would begin after the end of simulated time, 2^64 picoseconds (213 days)");
    }
    if flow.bytes == 0 || flow.bytes.div_ceil(u64::from(segment)) > MOST_SEGMENTS {
        return Some("its size is zero, or beyond a billion packets");
    }
    None
}

/// Events between two calls of `progress`.
const BATCH: u64 = 1 << 18;
/// Events between two calls when a trace is taken and its records are held meanwhile.
const TRACED_BATCH: u64 = 1 << 12;
/// Time between two checks whether all flows have finished, if programs of switches keep the fabric busy.
const PROGRAM_EPOCH: Time = Time::from_us(1_000);
/// Number of flows fed at once.
const FEED: usize = 1 << 14;

/// Makes a run. `progress` is called at intervals and decides whether the run goes on.
pub fn run(
    run_spec: &RunSpec<'_>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<PointResult, SimError> {
    run_watched(run_spec, Watchers { sampling: None, tracing: None }, progress)
}

/// Makes a run and takes samples. Sampling changes nothing else of the result.
pub fn run_sampled(
    run_spec: &RunSpec<'_>,
    sampling: &Sampling,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<PointResult, SimError> {
    run_watched(run_spec, Watchers { sampling: Some(sampling), tracing: None }, progress)
}

/// Makes a run, passes its packets at chosen links to `sink`, and takes samples if asked. Neither changes anything else
/// of the result, except for a warning if the trace is cut short.
pub fn run_traced(
    run_spec: &RunSpec<'_>,
    sampling: Option<&Sampling>,
    tracing: &Tracing,
    sink: &mut dyn TraceSink,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<PointResult, SimError> {
    run_watched(run_spec, Watchers { sampling, tracing: Some((tracing, sink)) }, progress)
}

/// Observations that a run makes in addition to its result.
struct Watchers<'a> {
    sampling: Option<&'a Sampling>,
    tracing: Option<(&'a Tracing, &'a mut dyn TraceSink)>,
}

fn run_watched(
    run_spec: &RunSpec<'_>,
    mut watchers: Watchers<'_>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<PointResult, SimError> {
    match run_with::<u64>(run_spec, &mut watchers, progress) {
        Err(SimError::KeyTooNarrow) => match run_with::<u128>(run_spec, &mut watchers, progress) {
            Err(SimError::KeyTooNarrow) => Err(SimError::BeyondTime),
            result => result,
        },
        result => result,
    }
}

fn run_with<K: Key>(
    run_spec: &RunSpec<'_>,
    watchers: &mut Watchers<'_>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<PointResult, SimError> {
    let mut built = build::<K>(run_spec)?;
    let tracing = watchers.tracing.as_mut();
    let controllers = Controllers::new(run_spec, &mut built)?;
    let outages = built.outages.take();
    let mut run = Run {
        sampler: watchers.sampling.map(|sampling| Sampler::new(sampling, run_spec.fabric, &mut built)),
        tracer: tracing.map(|(tracing, sink)| Tracer::new(tracing, &mut **sink, run_spec, &mut built)),
        controllers,
        outages,
        built,
        told: 0,
        run_spec: *run_spec,
        flows: Vec::new(),
        arrivals_ended: None,
        fruitless: run_spec.fruitless_timeouts.map(|most| Fruitless::new(most, run_spec.fabric)),
        stop: run_spec.max_time.unwrap_or(Time::NEVER),
    };
    let mut upcoming: Arrivals<'_> = match run_spec.flows {
        Flows::Given(flows) | Flows::Until { flows, .. } => flows().peekable(),
        Flows::Closed { flows, until } => {
            run.close_loops(|| Rule::Closed { flows: Arc::new(flows.clone()), until })?;
            (Box::new(flows.first().into_iter()) as Box<dyn Iterator<Item = Flow>>).peekable()
        }
        Flows::Collectives(collectives) => {
            run.begin_collectives(collectives)?;
            (Box::new(std::iter::empty()) as Box<dyn Iterator<Item = Flow>>).peekable()
        }
        Flows::Queries { queries, beside } => {
            run.ask(queries)?;
            beside().peekable()
        }
    };
    let follow = matches!(run_spec.flows, Flows::Queries { .. } | Flows::Collectives(_));
    if upcoming.peek().is_none() && !follow {
        return Err(SimError::NoFlows("at all"));
    }
    let ended = match run_spec.measure {
        Measure::Window { .. } if follow => return Err(SimError::QueriesInWindow),
        Measure::All => match run_spec.flows {
            Flows::Given(_) => run.all(upcoming, progress)?,
            Flows::Closed { .. } | Flows::Collectives(_) => run.all_closed(upcoming, progress)?,
            Flows::Queries { .. } | Flows::Until { .. } => run.all_until(upcoming, progress)?,
        },
        Measure::Window { from, to } => Some(run.window(upcoming, from, to, progress)?),
    };
    run.gather();
    let Run { mut built, flows, arrivals_ended, controllers, sampler, tracer, .. } = run;
    let cut_short = tracer.map(|tracer| tracer.finish(&mut built)).transpose()?.flatten();
    let mut result = measure::result(run_spec, built, (&flows, arrivals_ended), ended)?;
    if let Some(controllers) = &controllers {
        let end = Time(result.simulated_ps);
        result.periodic.extend(controllers.periodic(end));
        result.counts.extend(controllers.counts(end).into_iter().map(|(name, count)| (name.to_owned(), count)));
    }
    if let Some(sampler) = sampler {
        let (series, warning) = sampler.finish(run_spec.fabric);
        result.series.extend(series);
        result.warnings.extend(warning);
    }
    result.warnings.extend(cut_short);
    Ok(result)
}

/// Returns when something happens next in a partition.
fn next_event<K: Key>(partition: &Partition<K>) -> Time {
    partition.network.next_event().min(partition.network.next_crossing())
}

type Arrivals<'a> = std::iter::Peekable<Box<dyn Iterator<Item = Flow> + 'a>>;

struct Run<'a, 't, K> {
    built: Built<K>,
    run_spec: RunSpec<'a>,
    /// By start. Flows that follow others are here after [`Run::gather`].
    flows: Vec<Flow>,
    /// When flows stopped arriving, if not at the last start.
    arrivals_ended: Option<Time>,
    stop: Time,
    /// Ends the run if nothing is acknowledged any more.
    fruitless: Option<Fruitless>,
    sampler: Option<Sampler>,
    tracer: Option<Tracer<'t>>,
    controllers: Option<Controllers>,
    /// Links that fail and come back.
    outages: Option<Outages>,
    /// Events at the last due call of `progress`; packet-hops if there are several partitions.
    told: u64,
}

impl<K: Key> Run<'_, '_, K> {
    /// Runs until the fabric is empty; returns when the run was stopped if it was not.
    fn all(
        &mut self,
        mut upcoming: Arrivals<'_>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<Time>, SimError> {
        while upcoming.peek().is_some() {
            for flow in upcoming.by_ref().take(FEED) {
                self.feed(flow)?;
            }
            if let Some(next) = upcoming.peek() {
                let next = Time(next.start_ps);
                self.until(next, progress)?;
            }
        }
        let last = self.flows.last().map_or(Time::ZERO, |flow| Time(flow.start_ps));
        self.until(last, progress)?;
        self.note_arrivals_end(last);
        self.drain(last, progress)
    }

    /// Runs from `end` on until the fabric is empty.
    fn drain(
        &mut self,
        mut end: Time,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<Time>, SimError> {
        while self.programs_go_on() {
            // Programs may never stop by themselves: the flows decide, at fixed instants.
            if end >= self.stop || !self.others_follow() && self.is_finished() {
                return Ok(Some(self.cut_off(end.min(self.stop))));
            }
            end += PROGRAM_EPOCH;
            self.until(end, progress)?;
        }
        self.until(Time::NEVER, progress)?;
        if self.is_drained() {
            return Ok(None);
        }
        Ok(Some(self.cut_off(self.stop)))
    }

    /// Ends the run before the fabric is empty. Packets that were due earlier count, whether or not their port was
    /// looked at since.
    fn cut_off(&mut self, end: Time) -> Time {
        self.advance_all(Time(end.0.saturating_sub(1)));
        end
    }

    /// Runs until the flows of the window have finished; returns when the run ended.
    fn window(
        &mut self,
        mut upcoming: Arrivals<'_>,
        from: Time,
        to: Time,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Time, SimError> {
        let epoch = Time(((to - from).0 / 4).max(1));
        let mut end = to;
        loop {
            let closed = self.run_spec.flows.are_closed();
            while let Some(flow) = upcoming.next_if(|flow| closed || flow.start_ps < end.0) {
                self.feed(flow)?;
            }
            // The flows of closed loops depend on the queues.
            if end == to && !closed {
                measure::refuse_overload(&self.run_spec, &self.flows, to)?;
            }
            self.until(end, progress)?;
            if end >= self.stop || self.is_finished() {
                break;
            }
            self.refuse_crowd()?;
            end += epoch;
        }
        let end = end.min(self.stop);
        self.note_arrivals_end(Time(end.0.saturating_sub(1)));
        Ok(end)
    }

    /// Returns whether every flow that counts has finished, or can never finish.
    fn is_finished(&mut self) -> bool {
        self.gather();
        let measure = self.run_spec.measure;
        measure::is_finished(&self.run_spec, &self.built, &self.flows, |flow| measure::counts(measure, flow))
    }

    /// Returns whether a switch's program has its timer set.
    fn programs_go_on(&self) -> bool {
        self.built.partitions.iter().any(|partition| partition.programs.go_on())
    }

    /// Returns whether nothing will happen any more; then no packet is left.
    fn is_drained(&self) -> bool {
        let partitions = &self.built.partitions;
        let drained = partitions.iter().all(|partition| {
            let network = &partition.network;
            debug_assert!(network.crossings.is_empty(), "a round ends when packets have crossed");
            let is_still = network.events.first() == K::NEVER && network.waiting.is_empty();
            is_still && !partition.hosts.holds_any()
        });
        let slabs = || partitions.iter().map(|partition| &partition.network.slab).chain(&self.built.slabs);
        let whole = |drained| drained && self.built.ring_of_pauses(self.run_spec.fabric).is_none();
        debug_assert!(!whole(drained) || slabs().all(|slab| slab.live() == 0));
        drained
    }

    /// Moves out all packets that are due up to `at`.
    fn advance_all(&mut self, at: Time) {
        for link in 0..self.built.placement.from.len() {
            self.built.advance(self.built.placement.from[link], at);
        }
    }

    /// Feeds the next flow, given or the first of flows that others follow.
    fn feed(&mut self, flow: Flow) -> Result<(), SimError> {
        self.refuse_unsound(&flow)?;
        let refuse = |why| Err(SimError::Flow { flow: flow.id, why });
        if self.flows.last().is_some_and(|last| last.start_ps > flow.start_ps) {
            return refuse("it starts before the flow ahead of it");
        }
        match self.run_spec.flows {
            Flows::Queries { queries, .. } if flow.id < queries.messages() => {
                return refuse("its number is that of a query's message");
            }
            Flows::Closed { .. } => self.hand_over(flow, Hosts::hand_over_first),
            _ => {
                self.hand_over(flow, Hosts::hand_over);
                self.flows.push(flow);
            }
        }
        Ok(())
    }

    fn refuse_unsound(&self, flow: &Flow) -> Result<(), SimError> {
        let RunSpec { fabric, scheme, .. } = self.run_spec;
        let class = scheme.classes.len().min(usize::from(flow.class) + 1) - 1;
        match refusal(flow, fabric.hosts, scheme.classes[class].transport.facts().segment) {
            Some(why) => Err(SimError::Flow { flow: flow.id, why }),
            None => Ok(()),
        }
    }

    /// Hands a flow to its sender's partition.
    fn hand_over(&mut self, flow: Flow, how: fn(&mut Hosts, &mut Network<K>, Upcoming)) {
        let (from, host) = self.built.placement.hosts[flow.src as usize];
        let partition = &mut self.built.partitions[from as usize];
        how(&mut partition.hosts, &mut partition.network, Upcoming::new(flow, host));
    }

    /// Runs every event before `horizon` and the end of the run.
    fn until(&mut self, horizon: Time, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<(), SimError> {
        let drains = horizon == Time::NEVER;
        let horizon = horizon.min(self.stop);
        loop {
            let due = [
                self.next_outage(horizon),
                self.next_decision(horizon, drains),
                self.next_sample(horizon),
                self.next_look(horizon),
            ];
            let due = due.into_iter().flatten().min();
            let reach = due.unwrap_or(horizon).min(self.first_surprise());
            self.events_until(reach, progress)?;
            if let Some(controllers) = &mut self.controllers {
                controllers.gather(&mut self.built);
            }
            if reach >= K::END && self.waits() {
                break; // for keys that are too narrow
            }
            if due == Some(reach) {
                self.stop_at(reach);
                self.refuse_fruitless(reach)?;
            } else if reach == horizon {
                break;
            }
        }
        self.tell(progress)?;
        let narrow = |partition: &Partition<K>| {
            partition.network.overflows || next_event(partition) != Time::NEVER && horizon > K::END
        };
        if self.built.partitions.iter().any(narrow) {
            return Err(SimError::KeyTooNarrow);
        }
        match self.following().filter_map(|following| following.refused).min() {
            Some((flow, why)) => Err(SimError::Flow { flow, why }),
            None => Ok(()),
        }
    }

    /// Reports progress; ends the run if the caller wants no more of it, or if it exceeds its limits.
    fn tell(&mut self, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<(), SimError> {
        match progress(self.progress()) {
            ControlFlow::Continue(()) => self.refuse_runaway(),
            ControlFlow::Break(()) => Err(SimError::Stopped),
        }
    }

    /// Acts at an instant at which the run has stopped: links fail or come back, tables arrive, controllers decide,
    /// samples are taken.
    fn stop_at(&mut self, at: Time) {
        if let Some(outages) = self.outages.as_mut().filter(|outages| outages.next() <= at) {
            outages.act(&mut self.built, self.run_spec.fabric, at);
        }
        if let Some(controllers) = self.controllers.as_mut().filter(|controllers| controllers.next() <= at) {
            controllers.act(&mut self.built, self.run_spec.fabric, at);
        }
        if let Some(sampler) = self.sampler.as_mut().filter(|sampler| sampler.next() == Some(at)) {
            sampler.sample(&mut self.built, self.controllers.as_ref(), at);
        }
    }

    /// Returns the first instant at which a controller may hear of a future event.
    fn first_surprise(&self) -> Time {
        let Some(delay) = self.controllers.as_ref().and_then(Controllers::least_delay) else { return Time::NEVER };
        let next = self.built.partitions.iter().map(next_event).min().unwrap_or(Time::NEVER);
        Time(next.0.saturating_add(delay.0))
    }

    /// Returns when a link fails or comes back next, up to `horizon`; `None` once the fabric is empty for good.
    fn next_outage(&self, horizon: Time) -> Option<Time> {
        let at = self.outages.as_ref()?.next();
        (at <= horizon && at < Time::NEVER && (horizon < Time::NEVER || self.waits())).then_some(at)
    }

    /// Returns when to sample next, up to `horizon`; `None` once the fabric is empty for good.
    fn next_sample(&self, horizon: Time) -> Option<Time> {
        let at = self.sampler.as_ref()?.next()?;
        (at <= horizon && (horizon < Time::NEVER || self.waits())).then_some(at)
    }

    /// Returns when controllers act next, up to `horizon`; while the fabric drains, only as long as it is not empty.
    fn next_decision(&self, horizon: Time, drains: bool) -> Option<Time> {
        // A controller that never decides again has no instant.
        let at = self.controllers.as_ref().map(Controllers::next).filter(|&at| at < Time::NEVER)?;
        (at <= horizon && (!drains || self.waits())).then_some(at)
    }

    /// Returns whether something will happen, or a host waits for a controller's table.
    fn waits(&self) -> bool {
        let waits = |partition: &Partition<K>| next_event(partition) != Time::NEVER || partition.hosts.holds_any();
        self.built.partitions.iter().any(waits)
    }

    fn events_until(
        &mut self,
        horizon: Time,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimError> {
        if self.built.partitions.len() > 1 {
            return self.rounds_until(horizon, progress);
        }
        let batch = if self.tracer.is_some() { TRACED_BATCH } else { BATCH };
        loop {
            // Count events across stretches, so that progress is reported as often when controllers or samples
            // interrupt the run.
            let handled = self.built.partitions[0].network.events_handled;
            if self.built.partitions[0].run(horizon, (self.told + batch).saturating_sub(handled)) {
                return Ok(());
            }
            self.told = self.built.partitions[0].network.events_handled;
            self.hand_over_watched(self.built.partitions[0].network.now)?;
            self.tell(progress)?;
        }
    }

    /// Passes on samples and traces, when every event before `done` is done.
    fn hand_over_watched(&mut self, done: Time) -> Result<(), SimError> {
        if let Some(sampler) = &mut self.sampler {
            sampler.gather(&mut self.built);
        }
        self.tracer.as_mut().map_or(Ok(()), |tracer| tracer.hand_over(&mut self.built, done))
    }

    fn rounds_until(
        &mut self,
        horizon: Time,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimError> {
        let batch = if self.tracer.is_some() { TRACED_BATCH } else { BATCH * self.built.slabs.len() as u64 };
        loop {
            let handled = self.progress().packet_hops;
            let ended = rounds::run(&mut self.built, horizon, (self.told + batch).saturating_sub(handled).max(1));
            self.hand_over_watched(self.built.reached.iter().copied().min().unwrap_or(horizon))?;
            if ended {
                return Ok(());
            }
            self.told = self.progress().packet_hops;
            self.tell(progress)?;
        }
    }

    fn progress(&self) -> Progress {
        let partitions = &self.built.partitions;
        Progress {
            now: partitions.iter().map(|p| p.network.now).max().unwrap_or(Time::ZERO),
            packet_hops: partitions.iter().map(|p| p.network.hops()).sum(),
            finished: partitions.iter().map(|p| p.hosts.received.len() as u64).sum(),
        }
    }

    /// Records what was sent while flows arrived, without the rest of packets on lines, or of those that failures cut short.
    fn note_arrivals_end(&mut self, at: Time) {
        let at = at.min(Time(self.stop.0.saturating_sub(1)));
        self.advance_all(at);
        for partition in &mut self.built.partitions {
            for class in &mut partition.network.classes {
                class.wire_bytes_at_arrivals_end = class.wire_bytes;
            }
        }
        for (link, &(partition, index)) in self.run_spec.fabric.links.iter().zip(&self.built.placement.from) {
            let network = &mut self.built.partitions[partition as usize].network;
            let rest = network.links[index as usize].rest(at) + network.ports[index as usize].cut_short;
            network.classes[usize::from(link.class)].wire_bytes_at_arrivals_end -= link.rate.bytes_in(rest);
        }
    }
}
