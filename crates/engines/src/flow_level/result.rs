//! The result of a flow-level run, in the form of the packet level's. Values that need packets are zero.
//!
//! Rates know no propagation and no store and forward. So the FCT of a row is that by rates alone, minus what the flow
//! takes alone by rates, plus what its packets take alone on the same path. Ideal times are those of the same run with
//! packets, which may use all paths. The time by rates alone has a column of its own.

use std::collections::BTreeMap;

use flowsieve_core::Time;
use flowsieve_record::{FlowRow, Goodput, LinkClass, PointResult};
use flowsieve_sim::Ways;
use flowsieve_sim::fluid::{Crossing, Outcome, Path, Spec};
use flowsieve_sim::ideal::{self, Hop, Train};
use flowsieve_sim::ideal_cct::{self, IdealCcts};
use flowsieve_sim::topology::Fabric;
use flowsieve_workload::Flow;

use super::{Framing, Run};

/// What a reader has to know of the times.
const OTHER_TIMES: &str = "this is flow level: an FCT is that by rates alone, plus the propagation and store and \
    forward that the flow's packets have without others; flows.parquet has the time by rates alone (rates_only_ps)";

/// Builds the result. `flows` and those of `spec` are the same.
pub(super) fn result(run: &Run<'_>, flows: &[Flow], spec: &Spec<'_>, outcome: &Outcome) -> PointResult {
    let (fabric, framing) = (run.fabric, &run.framing);
    let mut ideals = Ideals { run, ways: Ways::new(fabric) };
    let mut ccts = IdealCcts::default();
    let rows: Vec<FlowRow> = (0..flows.len())
        .map(|index| {
            let flow = &flows[index];
            let ideal = ideals.of_flow(flow, ideals.train(flow));
            ideals.add_to(&mut ccts, flow, ideal);
            let on_path = ideals.on_path(flow, ideal, &spec.network.paths[spec.flows[index].path as usize]);
            row(flow, (ideal, on_path), index, spec, outcome)
        })
        .collect();
    // If the run ended before the last flow began, rates are over the simulated time.
    let arrivals_end = flows.last().map_or(0, |flow| flow.start_ps).min(outcome.now.0);
    let links = links(fabric, framing, flows, spec, outcome);
    let overloaded = links.iter().filter(|class| class.offered_load >= 1.0);
    let warning = |class: &LinkClass| {
        let LinkClass { name, offered_load, .. } = class;
        format!("the {name} links are offered {offered_load:.3} of their rate: flows accumulate as long as they arrive")
    };
    let arriving = flows.first().map_or(0, |flow| flow.start_ps)..arrivals_end + 1;
    let end = |row: &FlowRow| row.fct_ps.map(|fct_ps| row.start_ps + fct_ps);
    let goodput = Goodput::of(arriving, rows.iter().map(|row| (row.start_ps, end(row), row.bytes)));
    PointResult {
        warnings: std::iter::once(OTHER_TIMES.to_owned()).chain(overloaded.map(warning)).collect(),
        links,
        simulated_ps: rows.iter().filter_map(end).max().unwrap_or(0).max(outcome.now.0),
        arrivals_end_ps: arrivals_end,
        goodput: Some(goodput),
        longest_ideal_ps: rows.iter().map(|row| row.ideal_ps).max().unwrap_or(0),
        events: outcome.steps,
        counts: BTreeMap::from_iter((outcome.lifts > 0).then(|| ("coflow_lifts".to_owned(), outcome.lifts))),
        ideal_ccts_ps: ccts.finish(),
        flows: rows,
        ..PointResult::default()
    }
}

/// The packet level's ideal times.
struct Ideals<'a> {
    run: &'a Run<'a>,
    ways: Ways<'a>,
}

impl Ideals<'_> {
    fn train(&self, flow: &Flow) -> Train {
        Train::new(flow.bytes, self.run.framing.segment, self.run.framing.beside())
    }

    /// Returns the ideal FCT of a flow with this train of packets.
    fn of_flow(&mut self, flow: &Flow, train: Train) -> Time {
        ideal::arrival(&self.ways.hops(flow.src, flow.dst), train) + self.back(flow)
    }

    /// Returns the time of the last ACK, if flows end with it.
    fn back(&mut self, flow: &Flow) -> Time {
        match self.run.ends_with_ack {
            true => ideal::acknowledgement(&self.ways.hops(flow.dst, flow.src), self.run.framing.beside()),
            false => Time::ZERO,
        }
    }

    /// Returns what a flow's packets take alone on its path: its ideal FCT, unless it takes one of several.
    fn on_path(&mut self, flow: &Flow, ideal: Time, path: &Path) -> Time {
        if self.run.spreads {
            return ideal;
        }
        let hop = |crossing: &Crossing| {
            let link = &self.run.fabric.links[crossing.link as usize];
            let forwards_after = link.cut_through.then_some(ideal::CUT_THROUGH_BYTES);
            Hop { rate: link.rate, delay: link.delay, parallel: 1, forwards_after }
        };
        let hops: Vec<Hop> = path.links.iter().map(hop).collect();
        ideal::arrival(&hops, self.train(flow)) + self.back(flow)
    }

    fn add_to(&mut self, ccts: &mut IdealCcts, flow: &Flow, ideal: Time) {
        let (Some(coflow), train) = (flow.coflow, self.train(flow)) else { return };
        let fabric = self.run.fabric;
        let up = &fabric.links[fabric.host_uplink[flow.src as usize] as usize];
        let down = self.ways.between(flow.src, flow.dst).next_back();
        let rates = (up.rate, down.map_or(up.rate, |stage| stage.rate));
        let last_ideal = self.of_flow(flow, Train { packets: 1, ..train });
        let start = Time(flow.start_ps);
        ccts.add(&ideal_cct::Flow { coflow, src: flow.src, dst: flow.dst, start, ideal, last_ideal, train, rates });
    }
}

fn row(flow: &Flow, (ideal, on_path): (Time, Time), index: usize, spec: &Spec<'_>, outcome: &Outcome) -> FlowRow {
    let of_network = &spec.flows[index];
    // No flow can take less than a picosecond.
    let rates_only_ps = outcome.ends[index].map(|end| (end.0 - flow.start_ps).max(1));
    let alone = spec.network.alone(of_network.path, of_network.wire).0.max(1);
    let with_packets = |ps: u64| ps.saturating_add(on_path.0.saturating_sub(alone));
    let ends_in_time = |fct_ps: &u64| flow.start_ps.saturating_add(*fct_ps) <= spec.until.0;
    FlowRow {
        fct_ps: rates_only_ps.map(with_packets).filter(ends_in_time),
        ideal_ps: ideal.0.max(1),
        rates_only_ps,
        ..flowsieve_sim::row_of(flow)
    }
}

/// Builds the rows of links, by class.
fn links(fabric: &Fabric, framing: &Framing, flows: &[Flow], spec: &Spec<'_>, outcome: &Outcome) -> Vec<LinkClass> {
    let shares = fabric.class_shares();
    // By class: bytes on the wire of all flows, and of packets of those that ended.
    let (mut offered, mut sent) = (vec![0.0; shares.len()], vec![0.0; shares.len()]);
    let class_of = |link: u32| usize::from(fabric.links[link as usize].class);
    let arrived = flows.iter().take_while(|flow| flow.start_ps <= outcome.now.0);
    for ((flow, of_network), end) in arrived.zip(spec.flows).zip(&outcome.ends) {
        for crossing in &spec.network.paths[of_network.path as usize].links {
            let class = class_of(crossing.link);
            offered[class] += crossing.share * of_network.wire as f64;
            if end.is_some() {
                sent[class] += crossing.share * framing.packets(flow.bytes) as f64;
            }
        }
    }
    let mut used = vec![0.0; shares.len()];
    outcome.crossed.iter().zip(0..).for_each(|(bytes, link)| used[class_of(link)] += bytes);
    let seconds = flows.last().map_or(0, |flow| flow.start_ps).min(outcome.now.0) as f64 / 1e12;
    let of_rate = |bytes: f64, rate_bps: u64| {
        let share = 8.0 * bytes / (rate_bps as f64 * seconds);
        if share.is_finite() { share } else { 0.0 }
    };
    let class = |(number, name): (usize, &&str)| {
        let share = &shares[number];
        LinkClass {
            name: (*name).to_owned(),
            links: share.links,
            rate_bps: share.rate_total_bps / u64::from(share.links.max(1)),
            offered_load: of_rate(offered[number], share.rate_total_bps),
            utilisation: of_rate(used[number], share.rate_total_bps),
            bytes: sent[number].round() as u64,
            ..LinkClass::default()
        }
    };
    fabric.classes.iter().enumerate().map(class).collect()
}
