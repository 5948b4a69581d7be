//! Builds the result of a run: what each flow did, and what links and ports counted.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::ops::Range;

use flowsieve_core::message::{Effort, Waits};
use flowsieve_core::steps::StepTimes;
use flowsieve_core::{PortScheduler, Time};
use flowsieve_record::{Delays, Drops, FlowDelay, FlowRow, Goodput, LinkClass, Paused, PointResult, StepRow};
use flowsieve_transport::TransportSpec;
use flowsieve_workload::Flow;

use crate::Ways;
use crate::build::Built;
use crate::event::Key;
use crate::ideal::{self, Train};
use crate::ideal_cct::{self, IdealCcts};
use crate::link::Tally;
use crate::observations::Observations;
use crate::queued_before::QueuedBefore;
use crate::records::{Ends, Record, Records};
use crate::run_spec::{FctEnd, Measure, RunSpec, SimError};
use crate::topology::{ClassShare, Fabric};

/// Returns whether a run counts a flow.
pub(crate) fn counts(measure: Measure, flow: &Flow) -> bool {
    match measure {
        Measure::All => true,
        Measure::Window { from, to } => (from.0..to.0).contains(&flow.start_ps),
    }
}

/// Returns a flow's transport.
fn transport<'a>(run_spec: &RunSpec<'a>, flow: &Flow) -> &'a TransportSpec {
    let classes = &run_spec.scheme.classes;
    &classes[usize::from(flow.class).min(classes.len() - 1)].transport
}

/// Returns whether a flow has ended once its sender knows that, by the run's definition.
fn ends_acknowledged(run_spec: &RunSpec<'_>, flow: &Flow) -> bool {
    run_spec.fct_end == FctEnd::Ack && transport(run_spec, flow).facts().answers()
}

/// Returns when a flow ended, by the run's definition.
fn end(run_spec: &RunSpec<'_>, flow: &Flow, record: &Record) -> Option<Time> {
    if ends_acknowledged(run_spec, flow) {
        record.sent.map(|sent| sent.acknowledged)
    } else {
        record.received.map(|received| received.at)
    }
}

/// Returns whether all of these flows that count have finished, or can never finish.
pub(crate) fn is_finished<K: Key>(
    run_spec: &RunSpec<'_>,
    built: &Built<K>,
    flows: &[Flow],
    matters: impl Fn(&Flow) -> bool,
) -> bool {
    let ends = Ends::new(built, flows);
    let lost_messages: BTreeSet<u32> = built
        .partitions
        .iter()
        .flat_map(|p| p.network.lost_messages.iter().chain(&p.hosts.given_up))
        .copied()
        .collect();
    flows.iter().all(|flow| {
        !matters(flow) || lost_messages.contains(&flow.id) || ends.has(flow, ends_acknowledged(run_spec, flow))
    })
}

/// Returns the flow that began first among those that have not finished.
pub(crate) fn oldest_unfinished<K: Key>(run_spec: &RunSpec<'_>, built: &Built<K>, flows: &[Flow]) -> Option<Flow> {
    let ends = Ends::new(built, flows);
    flows.iter().find(|flow| !ends.has(flow, ends_acknowledged(run_spec, flow))).copied()
}

/// What a flow puts on the wire.
struct Demand {
    train: Train,
    /// Bytes of all ACKs with preamble and gap.
    acks: u64,
}

impl Demand {
    fn new(run_spec: &RunSpec<'_>, flow: &Flow) -> Demand {
        let transport = transport(run_spec, flow).facts();
        let beside = u32::from(transport.header) + u32::from(run_spec.wire_overhead);
        let train = Train::new(flow.bytes, transport.segment, beside);
        let acks = transport.answers_to(train.packets) * u64::from(beside);
        Demand { train, acks }
    }

    fn data(&self) -> u64 {
        (self.train.packets - 1) * u64::from(self.train.full) + u64::from(self.train.last)
    }
}

/// Returns each class's offered load as a share of its rate, for flows that arrive over `span`: data, headers, framing
/// and ACKs.
pub fn offered_load(run_spec: &RunSpec<'_>, flows: &[Flow], span: Time) -> Vec<f64> {
    let shares = run_spec.fabric.class_shares();
    let mut bytes = vec![0.0; shares.len()];
    let mut ways = Ways::new(run_spec.fabric);
    for flow in flows {
        let demand = Demand::new(run_spec, flow);
        for stage in ways.between(flow.src, flow.dst) {
            bytes[usize::from(stage.class)] += demand.data() as f64;
        }
        for stage in ways.between(flow.dst, flow.src) {
            bytes[usize::from(stage.class)] += demand.acks as f64;
        }
    }
    let seconds = span.as_secs();
    let load = |(bytes, share): (&f64, &ClassShare)| 8.0 * bytes / (share.rate_total_bps as f64 * seconds);
    bytes.iter().zip(shares).map(load).map(|load| if load.is_finite() { load } else { 0.0 }).collect()
}

/// Bytes that flows put on a link, with the sum of squares that separates overload from chance.
#[derive(Clone, Copy, Default)]
struct Bytes {
    sum: f64,
    squares: f64,
}

impl Bytes {
    /// Standard deviations by which an overload must exceed chance: one link in 30,000 is refused wrongly.
    const SURE: f64 = 4.0;

    fn add(&mut self, other: Bytes, share: f64) {
        self.sum += share * other.sum;
        // Each flow takes one of the paths or spreads; one path gives the larger variance.
        self.squares += share * other.squares;
    }

    fn of(bytes: u64) -> Bytes {
        Bytes { sum: bytes as f64, squares: (bytes as f64) * (bytes as f64) }
    }

    /// Returns the least sum that is plausible for a Poisson process of flows with these sizes: the variance of such a
    /// sum is the second moment of its sizes.
    fn surely(&self) -> f64 {
        self.sum - Bytes::SURE * self.squares.sqrt()
    }
}

/// Refuses a measuring window if queues grow without bound: on a class of links, or on a single link beyond chance.
pub(crate) fn refuse_overload(run_spec: &RunSpec<'_>, flows: &[Flow], to: Time) -> Result<(), SimError> {
    let fabric = run_spec.fabric;
    let loads = offered_load(run_spec, flows, to);
    if let Some((&load, class)) = loads.iter().zip(&fabric.classes).find(|(load, _)| **load >= 1.0) {
        return Err(SimError::Overload { class: class.to_string(), load });
    }
    let mut by_pair: BTreeMap<(u32, u32), Bytes> = BTreeMap::new();
    for flow in flows {
        let demand = Demand::new(run_spec, flow);
        by_pair.entry((flow.src, flow.dst)).or_default().add(Bytes::of(demand.data()), 1.0);
        by_pair.entry((flow.dst, flow.src)).or_default().add(Bytes::of(demand.acks), 1.0);
    }
    let mut by_link = vec![Bytes::default(); fabric.links.len()];
    for ((src, dst), bytes) in by_pair {
        for (link, share) in fabric.shares_on_ways(src, dst) {
            by_link[link as usize].add(bytes, share);
        }
    }
    for (link, bytes) in fabric.links.iter().zip(by_link) {
        let carries = link.rate.bps() as f64 / 8.0 * to.as_secs();
        if bytes.surely() >= carries {
            let (class, ends) =
                (fabric.classes[usize::from(link.class)], [link.from, link.to].map(|end| fabric.name(end)));
            let class = format!("{class} ({} alone)", ends.join(" to "));
            return Err(SimError::Overload { class, load: bytes.sum / carries });
        }
    }
    Ok(())
}

/// Builds the result of a run that has ended. `arrivals_ended` is when flows stopped arriving, if not at the last start;
/// `ended` is when the run was stopped, if it did not end by itself.
pub(crate) fn result<K: Key>(
    run_spec: &RunSpec<'_>,
    built: Built<K>,
    (flows, arrivals_ended): (&[Flow], Option<Time>),
    ended: Option<Time>,
) -> Result<PointResult, SimError> {
    let last_arrival = built.partitions.iter().map(|p| p.network.last_arrival).max().unwrap_or(Time::ZERO);
    let last_start = Time(flows.last().map_or(0, |flow| flow.start_ps));
    let simulated = ended.unwrap_or(last_arrival.max(last_start));
    let arrivals_end = match run_spec.measure {
        Measure::All if !run_spec.flows.are_closed() => arrivals_ended.unwrap_or(last_start).min(simulated),
        _ => simulated,
    };
    // Flows that were to start at or after the end of the run offered no load.
    let arrived = ended.map_or(flows, |end| &flows[..flows.partition_point(|flow| flow.start_ps < end.0)]);
    let (observed, ring_of_pauses) = (Observations::of_parts(&built), built.ring_of_pauses(run_spec.fabric));
    let mut result = PointResult {
        links: links(run_spec, &built, arrived, (arrivals_end, simulated)),
        periodic: observed.periodic(&built, simulated),
        simulated_ps: simulated.0,
        arrivals_end_ps: arrivals_end.0,
        packet_hops: built.partitions.iter().map(|p| p.network.hops()).sum(),
        events: built.partitions.iter().map(|p| p.network.events_handled).sum::<u64>() - built.surplus_events,
        counts: observed.counts(),
        ..PointResult::default()
    };
    let span = match run_spec.measure {
        Measure::All => (flows.first().map_or(0, |flow| flow.start_ps), last_start.0.saturating_add(1)),
        Measure::Window { from, to } => (from.0, to.0),
    };
    add_flows(
        &mut result,
        run_spec,
        flows,
        Records::of(built, flows),
        span.0..ended.map_or(span.1, |end| span.1.min(end.0)),
    );
    if result.flows.is_empty() {
        return Err(SimError::NoFlows("in the measuring window"));
    }
    let down = result.links.iter().map(|link| link.drops.down()).sum();
    if down > 0 {
        result.counts.insert("lost_at_links_that_were_down".to_owned(), down);
    }
    let given_up = result.flows.iter().filter(|row| row.given_up > 0).count();
    if given_up > 0 {
        result.counts.insert("given_up".to_owned(), given_up as u64);
    }
    result.count_flows();
    if !run_spec.flows.are_closed() && !result.is_burst() {
        result.warnings = warnings(&result);
    }
    result.warnings.extend(observed.warnings());
    result.warnings.extend(ring_of_pauses);
    if given_up > 0 {
        let (s, were) = if given_up == 1 { ("", "was") } else { ("s", "were") };
        result.warnings.push(format!(
            "{given_up} flow{s} {were} given up: a host asked in vain as often as its transport may, and nothing more is sent"
        ));
    }
    Ok(result)
}

/// Adds what is known of each flow: rows of those that count, the time beyond their ideal FCTs by its causes if a transport
/// reports them, and the payload of all flows that started, and that ended, in `span`.
fn add_flows(result: &mut PointResult, run_spec: &RunSpec<'_>, flows: &[Flow], mut records: Records, span: Range<u64>) {
    let mut ways = Ways::new(run_spec.fabric);
    let mut goodput = Goodput::over(span);
    let marked = result.links.iter().any(|class| class.marks > 0);
    // A vector that grows would hold them one and a half times, when memory is fullest.
    let mut rows = Vec::with_capacity(flows.iter().filter(|flow| counts(run_spec.measure, flow)).count());
    for flow in flows {
        let record = records.take(flow);
        let end = end(run_spec, flow, &record);
        goodput.add(flow.start_ps, end.map(|end| end.0), flow.bytes);
        if counts(run_spec.measure, flow) {
            let row = row(run_spec, &mut ways, flow, (&record, end));
            if let Some(delay) = delay(run_spec, &mut ways, flow, (&record, &row), marked) {
                result.delays.get_or_insert_with(Delays::default).add(&delay);
            }
            rows.push(row);
        }
    }
    result.longest_ideal_ps = rows.iter().map(|row| row.ideal_ps).max().unwrap_or(0);
    result.flows = rows;
    result.goodput = Some(goodput);
    result.ideal_ccts_ps = ideal_ccts(run_spec, &mut ways, flows);
}

/// Returns what held a flow back that has finished, if its transport reports it. `marked`: packets of the run were marked.
fn delay(
    run_spec: &RunSpec<'_>,
    ways: &mut Ways<'_>,
    flow: &Flow,
    (record, row): (&Record, &FlowRow),
    marked: bool,
) -> Option<FlowDelay> {
    let fct_ps = row.fct_ps?;
    let waits = record.sent.map_or(Waits::default(), |sent| sent.effort.waits);
    let transport = transport(run_spec, flow);
    let facts = transport.facts();
    // Receivers without ACKs wait, and none of their senders says so.
    let receivers_wait = !facts.acknowledges && !transport.constants().waits.is_empty();
    if waits == Waits::default() && !receivers_wait {
        return None;
    }
    let beside = u32::from(facts.header) + u32::from(run_spec.wire_overhead);
    let full = Train::new(facts.segment.into(), facts.segment, beside);
    let there = ideal::arrival(&ways.hops(flow.src, flow.dst), full);
    let back = ideal::acknowledgement(&ways.hops(flow.dst, flow.src), beside);
    Some(FlowDelay {
        flow: flow.id,
        timeouts: row.timeouts,
        fct_ps,
        ideal_ps: row.ideal_ps,
        timers_ps: waits.timer.0.saturating_add(record.awaited.time.0),
        retransmissions: row.retransmissions,
        needless: row.unneeded,
        cut_by_marks: marked,
        held_back_ps: waits.window.0,
        round_trip_ps: waits.round_trips.0.checked_div(waits.samples.into()).unwrap_or(0),
        least_round_trip_ps: (there + back).0,
    })
}

/// Returns the row of a flow with what is known of it before it runs.
pub fn row_of(flow: &Flow) -> FlowRow {
    FlowRow {
        flow: flow.id,
        src: flow.src,
        dst: flow.dst,
        class: flow.class,
        bytes: flow.bytes,
        start_ps: flow.start_ps,
        deadline_ps: flow.deadline_ps.map(NonZeroU64::get),
        coflow: flow.coflow,
        ..FlowRow::default()
    }
}

fn row(run_spec: &RunSpec<'_>, ways: &mut Ways<'_>, flow: &Flow, (record, end): (&Record, Option<Time>)) -> FlowRow {
    let effort = record.sent.map_or(Effort::default(), |sent| sent.effort);
    let ideal = ideal_fct(run_spec, ways, flow, Demand::new(run_spec, flow).train);
    FlowRow {
        fct_ps: end.map(|end| end.0 - flow.start_ps),
        ideal_ps: ideal.0,
        retransmissions: effort.retransmissions,
        timeouts: effort.timeouts.saturating_add(record.awaited.asked),
        timers_us: u32::try_from(effort.waits.timer.0.saturating_add(record.awaited.time.0) / 1_000_000)
            .unwrap_or(u32::MAX),
        out_of_order: record.received.map_or(0, |received| received.out_of_order),
        found_lost: effort.found_lost,
        unneeded: record.unneeded,
        held_most_bytes: record.held.most_bytes,
        held_byte_ns: record.held.byte_ns,
        duplicate_acks: effort.duplicate_acks,
        steps: record.steps.as_ref().map(step_row),
        unanswered_us: effort.unanswered_us,
        given_up: u32::from(record.given_up && record.received.is_none()),
        ..row_of(flow)
    }
}

/// Returns the ideal FCT of a flow with this train of packets, to the end that the run counts.
fn ideal_fct(run_spec: &RunSpec<'_>, ways: &mut Ways<'_>, flow: &Flow, train: Train) -> Time {
    let mut ideal = ideal::arrival(&ways.hops(flow.src, flow.dst), train);
    let transport = transport(run_spec, flow).facts();
    if run_spec.fct_end == FctEnd::Ack && transport.answers() {
        let bytes = u32::from(transport.header) + u32::from(run_spec.wire_overhead);
        ideal += ideal::acknowledgement(&ways.hops(flow.dst, flow.src), bytes);
    }
    ideal
}

/// Returns the ideal FCT of each flow, and the ideal CCT of each of their coflows by its number.
pub fn ideals(run_spec: &RunSpec<'_>, flows: &[Flow]) -> (Vec<Time>, BTreeMap<u32, u64>) {
    let mut ways = Ways::new(run_spec.fabric);
    let of_flow = |flow: &Flow| ideal_fct(run_spec, &mut ways, flow, Demand::new(run_spec, flow).train);
    let of_flows = flows.iter().map(of_flow).collect();
    (of_flows, ideal_ccts(run_spec, &mut ways, flows))
}

/// Returns the ideal CCT of each coflow among these flows, by number.
fn ideal_ccts(run_spec: &RunSpec<'_>, ways: &mut Ways<'_>, flows: &[Flow]) -> BTreeMap<u32, u64> {
    let mut ccts = IdealCcts::default();
    for flow in flows.iter().filter(|flow| counts(run_spec.measure, flow)) {
        let (Some(coflow), train) = (flow.coflow, Demand::new(run_spec, flow).train) else { continue };
        let rates = {
            let mut rates = ways.between(flow.src, flow.dst).map(|stage| stage.rate);
            rates.next().map(|first| (first, rates.next_back().unwrap_or(first)))
        };
        let Some(rates) = rates else { continue };
        let last = Train { packets: 1, ..train };
        ccts.add(&ideal_cct::Flow {
            coflow,
            src: flow.src,
            dst: flow.dst,
            start: Time(flow.start_ps),
            ideal: ideal_fct(run_spec, ways, flow, train),
            last_ideal: ideal_fct(run_spec, ways, flow, last),
            train,
            rates,
        });
    }
    ccts.finish()
}

/// Converts the time that a flow spent in each step to a row of the result.
fn step_row(times: &StepTimes) -> StepRow {
    StepRow::of_ns(times.in_ns())
}

/// Returns the row of each class of links with what is known of it before a run.
pub fn link_classes(fabric: &Fabric, offered_loads: Vec<f64>) -> Vec<LinkClass> {
    let class = |(name, (share, offered_load)): (&&str, (&ClassShare, f64))| LinkClass {
        name: (*name).to_owned(),
        links: share.links,
        rate_bps: share.rate_total_bps / u64::from(share.links.max(1)),
        offered_load,
        ..LinkClass::default()
    };
    fabric.classes.iter().zip(fabric.class_shares().iter().zip(offered_loads)).map(class).collect()
}

/// Builds the result's rows of links, by class.
fn links<K: Key>(
    run_spec: &RunSpec<'_>,
    built: &Built<K>,
    flows: &[Flow],
    (span, ended): (Time, Time),
) -> Vec<LinkClass> {
    let fabric = run_spec.fabric;
    let shares = fabric.class_shares();
    let mut classes = link_classes(fabric, offered_load(run_spec, flows, span));
    for (number, link) in fabric.links.iter().enumerate() {
        let class = &mut classes[usize::from(link.class)];
        let port = built.port(number);
        class.marks += port.marks;
        class.max_backlog_bytes = class.max_backlog_bytes.max(port.most_backlog);
        let (partition, index) = built.placement.to[number];
        let loss = built.partitions[partition as usize].network.ports[index as usize].drops.loss;
        class.drops.add(Drops { loss, ..port.drops });
        let (partition, index) = built.placement.from[number];
        let hops = &built.partitions[partition as usize].network.hops;
        if let Some(time) = hops.as_ref().and_then(|hops| hops.paused(index, ended)) {
            class.paused.get_or_insert_default().add(Paused { links: 1, all_ps: time.0, most_ps: time.0 });
        }
    }
    for (number, class) in classes.iter_mut().enumerate() {
        let counts = || built.partitions.iter().map(|partition| &partition.network.classes[number]);
        class.packets_by_queue = Tally::sum(counts().map(|count| &count.by_queue));
        class.packets_by_queue.resize(queues(run_spec, built, number), 0);
        // A packet that bypasses an idle port counts for the queue of its priority.
        let last = class.packets_by_queue.len() - 1;
        for (priority, bypassed) in Tally::sum(counts().map(|count| &count.bypassed)).into_iter().enumerate() {
            class.packets_by_queue[priority.min(last)] += bypassed;
        }
        class.packets_by_priority = Tally::sum(counts().flat_map(|count| [&count.waited, &count.bypassed]));
        class.found_bytes_by_priority = QueuedBefore::sum(counts());
        class.packets = class.packets_by_queue.iter().sum();
        class.bytes = counts().map(|count| count.wire_bytes).sum();
        class.bytes -= class.packets * u64::from(run_spec.wire_overhead);
        let at_arrivals_end: u64 = counts().map(|count| count.wire_bytes_at_arrivals_end).sum();
        let capacity = shares[number].rate_total_bps as f64 * span.as_secs() / 8.0;
        class.utilisation = if capacity > 0.0 { at_arrivals_end as f64 / capacity } else { 0.0 };
    }
    classes
}

/// Returns the number of queues of the ports that feed a class of links.
fn queues<K: Key>(run_spec: &RunSpec<'_>, built: &Built<K>, class: usize) -> usize {
    let feeding = run_spec.fabric.links.iter().position(|link| usize::from(link.class) == class);
    feeding.map_or(1, |number| built.port(number).scheduler.queues())
}

/// Lists what you must know before you trust a number and cannot see in the result's own figures.
fn warnings(result: &PointResult) -> Vec<String> {
    let overloaded = result.links.iter().filter(|class| class.offered_load >= 1.0);
    let warn = |class: &LinkClass| {
        format!(
            "the flows that arrived offer the {} links {:.3} of their rate, ACKs and framing included: queues grow as \
             long as flows arrive",
            class.name, class.offered_load
        )
    };
    overloaded.map(warn).collect()
}
