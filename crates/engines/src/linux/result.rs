//! What a run of the lab has measured, as a result like the simulator's.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use flowsieve_core::Time;
use flowsieve_lab::hosts::Seen;
use flowsieve_lab::linux::{Finished, Order, Outcome};
use flowsieve_record::{Drops, FlowRow, Goodput, LinkClass, PeriodicPart, PointResult};
use flowsieve_sim::control::Periodic;
use flowsieve_sim::{Flows, RunSpec};
use flowsieve_workload::Flow;

use super::{Run, judge, refusals, source};

/// Builds the result.
pub(super) fn of(run: &Run, outcome: &Outcome) -> PointResult {
    let setup = &run.setup;
    let measure = setup.with_flows(run.seed, |_, _, measure| measure);
    // Ideal times and the offered load follow from the flows that began. Real hosts add what they take to ideal times.
    let fabric = setup.fabric.without_host_delay();
    let given = || -> Box<dyn Iterator<Item = Flow>> { Box::new(std::iter::empty()) };
    let run_spec = RunSpec {
        wire_overhead: setup.wire_overhead,
        measure,
        seed: run.seed,
        ..RunSpec::new(&fabric, &setup.scheme, Flows::Given(&given))
    };
    let mut finished: Vec<&Finished> = outcome.sent.finished.iter().collect();
    finished.sort_by_key(|finished| finished.order.message.id);
    let of_lab = finished.into_iter().map(|finished| {
        let flow = flow(&finished.order);
        (flow, finished.fct_ns.map(|ns| ns.saturating_mul(1_000)), source::counts(measure, Time(flow.start_ps)))
    });
    let mut begun: Vec<(Flow, Option<u64>, bool)> = of_lab.collect();
    let numbers = begun.last().map_or(0, |(last, ..)| last.id.saturating_add(1))..u32::MAX;
    begun.extend(numbers.zip(&outcome.seen).map(|(id, seen)| (flow_of(id, seen), seen.fct.map(|fct| fct.0), true)));
    let flows: Vec<Flow> = begun.iter().map(|(flow, ..)| *flow).collect();
    let (ideals, ideal_ccts_ps) = flowsieve_sim::ideals(&run_spec, &flows);
    let rows: Vec<FlowRow> = begun
        .iter()
        .zip(ideals)
        .filter(|((.., counts), _)| *counts)
        .map(|((flow, fct_ps, _), ideal)| FlowRow { fct_ps: *fct_ps, ideal_ps: ideal.0, ..flowsieve_sim::row_of(flow) })
        .collect();
    let end = |row: &FlowRow| row.fct_ps.map(|fct| row.start_ps + fct);
    let last_start = flows.iter().map(|flow| flow.start_ps).max().unwrap_or(0);
    let first_start = flows.iter().map(|flow| flow.start_ps).min().unwrap_or(0);
    let spans = rows.iter().map(|row| (row.start_ps, end(row), row.bytes));
    let mut result = PointResult {
        links: links(run, outcome, flowsieve_sim::offered_load(&run_spec, &flows, Time(last_start))),
        simulated_ps: rows.iter().filter_map(end).max().unwrap_or(last_start).max(last_start),
        arrivals_end_ps: last_start,
        goodput: Some(Goodput::of(first_start..last_start.saturating_add(1), spans)),
        longest_ideal_ps: rows.iter().map(|row| row.ideal_ps).max().unwrap_or(0),
        packet_hops: outcome.links.iter().map(|link| link.port.sent).sum(),
        events: outcome.carried.turns,
        counts: counts(outcome),
        periodic: outcome.periodic.iter().map(periodic).collect(),
        warnings: warnings(run, outcome),
        flows: rows,
        ideal_ccts_ps,
        ..PointResult::default()
    };
    result.count_flows();
    // The kernel counts them for all flows together.
    let kernel =
        |name: &str| outcome.sent.counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
    result.timeouts = kernel("TCPTimeouts");
    result.retransmissions = kernel("RetransSegs");
    result
}

/// Returns a message as a flow of the workload.
fn flow(order: &Order) -> Flow {
    let message = &order.message;
    let after_start = message.deadline.map(|deadline| (deadline - message.start).0);
    Flow {
        id: message.id,
        start_ps: message.start.0,
        src: order.from.into(),
        dst: message.to.into(),
        bytes: message.bytes,
        class: message.class,
        deadline_ps: after_start.and_then(NonZeroU64::new),
        coflow: message.coflow,
    }
}

/// Returns a message of a program as a flow. Its start is from the lab's own beginning; those of a workload's flows are from the
/// first of them.
fn flow_of(id: u32, seen: &Seen) -> Flow {
    Flow {
        id,
        start_ps: seen.start.0,
        src: seen.from.into(),
        dst: seen.to.into(),
        bytes: seen.bytes,
        class: 0,
        deadline_ps: None,
        coflow: None,
    }
}

/// Builds the rows of links, by class.
fn links(run: &Run, outcome: &Outcome, offered: Vec<f64>) -> Vec<LinkClass> {
    let fabric = &run.setup.fabric;
    let seconds = outcome.length.as_secs_f64();
    let mut classes = flowsieve_sim::link_classes(fabric, offered);
    for (link, tally) in fabric.links.iter().zip(&outcome.links) {
        let class = &mut classes[usize::from(link.class)];
        class.packets += tally.port.sent;
        class.bytes += tally.bytes;
        class.marks += tally.port.marked;
        class.max_backlog_bytes = class.max_backlog_bytes.max(tally.port.most_backlog);
        class.drops.add(Drops {
            buffer: tally.port.turned_away,
            evicted: tally.port.evicted,
            loss: tally.port.lost,
            ..Drops::default()
        });
        add(&mut class.packets_by_queue, &tally.by_queue);
        add(&mut class.packets_by_priority, &tally.by_priority);
    }
    for (class, share) in classes.iter_mut().zip(fabric.class_shares()) {
        let wire = class.bytes + class.packets * u64::from(run.setup.wire_overhead);
        let capacity = share.rate_total_bps as f64 / 8.0 * seconds;
        class.utilisation = if capacity > 0.0 { wire as f64 / capacity } else { 0.0 };
    }
    classes
}

/// Adds counts by level.
fn add(sum: &mut Vec<u64>, more: &[u64]) {
    if sum.len() < more.len() {
        sum.resize(more.len(), 0);
    }
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// Returns a part of a controller that acts once in a period.
fn periodic(Periodic { name, period, ticks }: &Periodic) -> PeriodicPart {
    PeriodicPart { name: (*name).into(), period_ps: period.0, ticks: *ticks }
}

/// Returns what only the lab counts, by name; zeros are left out.
fn counts(outcome: &Outcome) -> BTreeMap<String, u64> {
    let carried = &outcome.carried;
    let [.., later, late] = carried.released;
    let own = [
        ("lab frames received", carried.received),
        ("lab frames sent", carried.all_sent()),
        ("lab frames over 250 us late", later + late),
        ("lab frames over 1 ms late", late),
        ("lab latest frame us", outcome.frames.worst_ns / 1_000),
        ("lab flows started over 1 ms late", outcome.sent.starts.all.late),
        ("lab latest start us", outcome.sent.starts.worst_ns / 1_000),
        ("lab readings", outcome.sent.reads.all.events),
        ("lab readings over 1 ms late", outcome.sent.reads.all.late),
        ("lab readings of bytes that had waited for earlier ones", outcome.sent.reads_untold),
        ("lab latest reading us", outcome.sent.reads.worst_ns / 1_000),
        ("lab windows of 100 ms", judge::windows(outcome)),
        ("lab windows with much that was late", judge::bad_windows(outcome).len() as u64),
        ("lab stolen ms", outcome.stolen.values().sum::<std::time::Duration>().as_millis() as u64),
        ("lab frames not sent", carried.not_sent),
        ("lab frames too long", carried.too_long),
        ("lab frames for no host", carried.elsewhere),
        ("lab frames lost before reception", carried.lost_before),
        ("lab packets delivered", outcome.packets.delivered),
        ("lab packets dropped", outcome.packets.dropped),
        ("lab packets inside at the end", outcome.inside),
        ("lab packets of no known message", outcome.hosts.untold + outcome.hosts.unknown),
        ("lab packets of no room for their connection", outcome.hosts.no_room),
        ("lab datagrams", outcome.hosts.datagrams),
        ("lab messages not kept", outcome.hosts.not_kept),
        ("lab programs ended", outcome.ended_programs as u64),
        ("lab widest window at the end", outcome.sent.widest_window.into()),
        ("lab CPU us of the fabric", outcome.cpu.as_micros() as u64),
    ];
    let own = own.map(|(name, count)| (name.to_owned(), count));
    let controllers = outcome.controllers.iter().map(|(name, count)| ((*name).to_owned(), *count));
    let kernel = outcome.sent.counters.iter().map(|(name, count)| (format!("kernel {name}"), *count));
    own.into_iter().chain(controllers).chain(kernel).filter(|(_, count)| *count > 0).collect()
}

/// Lists what you must know before you trust a number.
fn warnings(run: &Run, outcome: &Outcome) -> Vec<String> {
    let mut said = Vec::new();
    if !outcome.real_time {
        said.push("the lab ran without real-time priority, which needs root: frames left later".to_owned());
    }
    if let Some(bytes) = outcome.narrow_buffer {
        let kb = bytes / 1_000;
        said.push(format!(
            "the kernel keeps at most {kb} kB of frames for the fabric, and more if the lab runs as root"
        ));
    }
    if outcome.sent.waited > 0 {
        said.push(format!(
            "{} flows found no idle connection and waited for one, which their FCTs include; expected \
             `connections_per_pair` above {}",
            outcome.sent.waited, run.connections
        ));
    }
    if outcome.hosts.untold + outcome.hosts.unknown > 0 {
        let packets = outcome.hosts.untold + outcome.hosts.unknown;
        said.push(format!("{packets} data packets were of no known message and had no tag"));
    }
    if outcome.hosts.not_kept > 0 {
        said.push(format!(
            "{} messages of programs were too many to keep: they are in counts alone",
            outcome.hosts.not_kept
        ));
    }
    said.extend(refusals::replaced(&run.setup));
    said.extend(outcome.problem.clone());
    said
}
