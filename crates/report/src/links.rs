//! Counts of links, ports and transports, by point over its seeds.

use std::collections::BTreeMap;

use flowsieve_record::{Goodput, LinkClass, PointResult, QuantileSketch};
use flowsieve_results::ResultDir;

use crate::format::{count, number, per_cent, size, time};

/// A class of links at one point.
pub(crate) struct LinkRow {
    pub(crate) name: String,
    pub(crate) what: String,
    pub(crate) offered: String,
    /// Whether more is offered than the links carry.
    pub(crate) overloaded: bool,
    pub(crate) utilisation: String,
    /// The time over which both are.
    pub(crate) over: String,
    pub(crate) packets: String,
    pub(crate) dropped: [String; 3],
    pub(crate) marks: String,
    pub(crate) backlog: String,
    pub(crate) by_queue: String,
    pub(crate) by_priority: String,
    /// The queue lengths that arriving packets found: median, 99th and 99.9th percentile, by priority.
    pub(crate) found: String,
}

/// The runs of one point.
pub(crate) struct RunRow {
    pub(crate) flows: String,
    pub(crate) unfinished: String,
    /// Payload that ended while flows arrived, next to the offered payload.
    pub(crate) goodput: String,
    /// Flows that missed their deadline, out of those that had one; a dash if none had.
    pub(crate) missed: String,
    pub(crate) timeouts: String,
    pub(crate) retransmissions: String,
    pub(crate) out_of_order: String,
    pub(crate) duplicate_acks: String,
    /// The counts of the scheme's parts.
    pub(crate) counts: String,
    pub(crate) simulated: String,
    pub(crate) longest_ideal: String,
    /// How often periodic parts acted.
    pub(crate) ticks: String,
    /// The ticks of the part that had the fewest.
    pub(crate) fewest_ticks: String,
    pub(crate) packet_hops: String,
    pub(crate) events: String,
}

/// The classes of links of a point: counts of all seeds together, shares averaged, backlog the largest.
pub(crate) fn mean_links(dir: &ResultDir, point: usize) -> Vec<LinkClass> {
    let mut links: Vec<LinkClass> = Vec::new();
    let mut runs = 0;
    for run in dir.manifest().runs_of(point) {
        runs += 1;
        for link in &run.measured.links {
            match links.iter_mut().find(|other| other.name == link.name) {
                Some(sum) => add(sum, link),
                None => links.push(link.clone()),
            }
        }
    }
    for link in &mut links {
        link.offered_load /= f64::from(runs);
        link.utilisation /= f64::from(runs);
    }
    links
}

fn add(sum: &mut LinkClass, link: &LinkClass) {
    sum.offered_load += link.offered_load;
    sum.utilisation += link.utilisation;
    sum.packets = sum.packets.saturating_add(link.packets);
    sum.bytes = sum.bytes.saturating_add(link.bytes);
    sum.drops.add(link.drops);
    sum.marks = sum.marks.saturating_add(link.marks);
    add_each(&mut sum.packets_by_queue, &link.packets_by_queue);
    add_each(&mut sum.packets_by_priority, &link.packets_by_priority);
    let found = sum.found_bytes_by_priority.len().max(link.found_bytes_by_priority.len());
    sum.found_bytes_by_priority.resize_with(found, QuantileSketch::default);
    for (sum, sketch) in sum.found_bytes_by_priority.iter_mut().zip(&link.found_bytes_by_priority) {
        sum.merge(sketch);
    }
    if let Some(paused) = link.paused {
        sum.paused.get_or_insert_default().add(paused);
    }
    sum.max_backlog_bytes = sum.max_backlog_bytes.max(link.max_backlog_bytes);
}

fn add_each(sums: &mut Vec<u64>, values: &[u64]) {
    sums.resize(sums.len().max(values.len()), 0);
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = sum.saturating_add(*value);
    }
}

/// Whether load has a meaning in some run of a point: its flows do not all begin at once.
pub(crate) fn has_load(dir: &ResultDir, point: usize) -> bool {
    dir.manifest().runs_of(point).any(|run| !run.measured.is_burst())
}

/// The rows of a point's links.
pub(crate) fn link_rows(dir: &ResultDir, point: usize) -> Vec<LinkRow> {
    let over = shares_over(dir, point);
    let has_load = has_load(dir, point);
    let of_load = |share| if has_load { per_cent(share) } else { "–".into() };
    let row = |link: LinkClass| LinkRow {
        over: over.clone(),
        what: format!("{} × {}", count(link.links.into()), rate(link.rate_bps)),
        offered: of_load(link.offered_load),
        overloaded: has_load && link.offered_load >= 1.0,
        utilisation: of_load(link.utilisation),
        packets: count(link.packets),
        dropped: [link.drops.buffer, link.drops.evicted, link.drops.loss].map(count),
        marks: count(link.marks),
        backlog: size(link.max_backlog_bytes),
        by_queue: shares(&link.packets_by_queue),
        by_priority: shares(&link.packets_by_priority),
        found: found(&link.found_bytes_by_priority),
        name: link.name,
    };
    mean_links(dir, point).into_iter().map(row).collect()
}

/// The time over which links are offered and carry their shares: from the beginning of a run to its last arrival or its end.
pub(crate) fn shares_over(dir: &ResultDir, point: usize) -> String {
    window(0, dir.manifest().runs_of(point).map(|run| run.measured.arrivals_end_ps).collect::<Vec<_>>().into_iter())
}

/// "0 to 20.1 ms": from an instant to the mean of those at which it ended in the runs.
fn window(from_ps: u64, ends: impl ExactSizeIterator<Item = u64>) -> String {
    let from = if from_ps == 0 { "0".to_owned() } else { time(from_ps) };
    format!("{from} to {}", time(mean(ends)))
}

/// The counts of the scheme's parts in all runs. A sum of waiting times becomes the mean over the packets that waited.
fn counts(runs: &[&PointResult]) -> String {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, number) in runs.iter().flat_map(|run| &run.counts) {
        let sum = sums.entry(name).or_default();
        *sum = sum.saturating_add(*number);
    }
    let in_words = |(name, &sum): (&&str, &u64)| {
        let waited = name.strip_suffix("_wait_ns").and_then(|of| sum.saturating_mul(1_000).checked_div(*sums.get(of)?));
        match waited {
            Some(mean_ps) => format!("these waited {} on average", time(mean_ps)),
            None => format!("{} {}", name.replace('_', " "), count(sum)),
        }
    };
    sums.iter().map(in_words).collect::<Vec<_>>().join(", ")
}

/// The row of a point's runs.
pub(crate) fn run_row(dir: &ResultDir, point: usize) -> RunRow {
    let runs: Vec<&PointResult> = dir.manifest().runs_of(point).map(|run| &run.measured).collect();
    let sum = |of: fn(&PointResult) -> u64| count(runs.iter().map(|run| of(run)).fold(0, u64::saturating_add));
    let all = dir.summary().points[point].classes.last();
    RunRow {
        flows: count(all.map_or(0, |all| all.flows())),
        unfinished: count(all.map_or(0, |all| all.unfinished())),
        goodput: goodput(&runs),
        missed: missed(&runs),
        timeouts: sum(|run| run.timeouts),
        retransmissions: sum(|run| run.retransmissions),
        out_of_order: sum(|run| run.out_of_order),
        duplicate_acks: sum(|run| run.duplicate_acks),
        simulated: time(mean(runs.iter().map(|run| run.simulated_ps))),
        longest_ideal: time(runs.iter().map(|run| run.longest_ideal_ps).max().unwrap_or(0)),
        ticks: ticks(&runs),
        counts: counts(&runs),
        fewest_ticks: runs
            .iter()
            .flat_map(|run| &run.periodic)
            .map(|part| part.ticks)
            .min()
            .map_or_else(|| "–".into(), count),
        packet_hops: sum(|run| run.packet_hops),
        events: sum(|run| run.events),
    }
}

/// The mean CCT that the coflows of a point would have without congestion control and queues, if every run knows it.
pub(crate) fn flow_level_cct_ps(dir: &ResultDir, point: usize) -> Option<u64> {
    let ccts: Option<Vec<u64>> = dir.manifest().runs_of(point).map(|run| run.measured.flow_level_cct_ps).collect();
    ccts.filter(|ccts| !ccts.is_empty()).map(|ccts| mean(ccts.into_iter()))
}

fn mean(values: impl ExactSizeIterator<Item = u64>) -> u64 {
    let runs = values.len().max(1) as u64;
    values.fold(0, u64::saturating_add) / runs
}

fn missed(runs: &[&PointResult]) -> String {
    let sum = |of: fn(&PointResult) -> u64| runs.iter().map(|run| of(run)).fold(0, u64::saturating_add);
    match (sum(|run| run.deadlines.missed), sum(|run| run.deadlines.flows)) {
        (_, 0) => "–".into(),
        (missed, flows) => format!("{} of {}", count(missed), count(flows)),
    }
}

/// The goodput next to the offered payload, all runs together.
fn goodput(runs: &[&PointResult]) -> String {
    let mut all = Goodput::default();
    for goodput in runs.iter().filter(|run| !run.is_burst()).filter_map(|run| run.goodput) {
        all.span_ps = all.span_ps.saturating_add(goodput.span_ps);
        all.offered_bytes = all.offered_bytes.saturating_add(goodput.offered_bytes);
        all.finished_bytes = all.finished_bytes.saturating_add(goodput.finished_bytes);
    }
    if all.span_ps == 0 || all.offered_bytes == 0 {
        return "–".into();
    }
    let share = all.finished_bytes as f64 / all.offered_bytes as f64;
    let [reached, offered] = [all.reached_bps(), all.offered_bps()].map(|bps| number(bps / 1e9));
    let spans: Vec<Goodput> = runs.iter().filter_map(|run| run.goodput).collect();
    let from = mean(spans.iter().map(|span| span.from_ps));
    let over = window(from, spans.iter().map(|span| span.from_ps.saturating_add(span.span_ps)));
    format!("{reached} / {offered} Gbit/s ({}), {over}", per_cent(share))
}

/// The periodic parts with the fewest ticks that any run saw.
fn ticks(runs: &[&PointResult]) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let part = |at: usize| {
        let part = &first.periodic[at];
        let ticks = runs.iter().filter_map(|run| run.periodic.get(at)).map(|part| part.ticks).min().unwrap_or(0);
        format!("{}: {} (every {})", part.name, count(ticks), time(part.period_ps))
    };
    (0..first.periodic.len()).map(part).collect::<Vec<_>>().join("; ")
}

/// The entries that packets went through, with their shares: "0: 91.2 %, 3: 8.80 %".
fn shares(packets: &[u64]) -> String {
    let total = packets.iter().copied().fold(0, u64::saturating_add);
    let used = packets.iter().enumerate().filter(|(_, packets)| **packets > 0);
    let share =
        |(at, packets): (usize, &u64)| format!("{at}:\u{a0}{}\u{a0}%", number(100.0 * *packets as f64 / total as f64));
    let text = used.map(share).collect::<Vec<_>>().join(", ");
    if text.is_empty() { "–".into() } else { text }
}

/// "0: 0 B / 9.00 KB / 24.0 KB" for each priority with at least one packet.
fn found(by_priority: &[QuantileSketch]) -> String {
    let of = |(priority, sketch): (usize, &QuantileSketch)| {
        let percentiles = [500, 990, 999].map(|per_mille| sketch.percentile(per_mille).map(size));
        let [Some(median), Some(p99), Some(p999)] = percentiles else { return None };
        Some(format!("{priority}: {median} / {p99} / {p999}"))
    };
    let text = by_priority.iter().enumerate().filter_map(of).collect::<Vec<_>>().join(", ");
    if text.is_empty() { "–".into() } else { text }
}

/// A rate in its largest whole unit.
fn rate(bps: u64) -> String {
    let units = [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000)];
    let unit = units.into_iter().find(|(_, each)| bps >= *each);
    unit.map_or_else(|| format!("{bps} bit/s"), |(name, each)| format!("{} {name}", bps as f64 / each as f64))
}
