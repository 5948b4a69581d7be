//! The result of a flow-level run, in the form of the packet level's. Values that need packets are zero.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use flowsieve_fabric::topology::Fabric;
use flowsieve_fluid::{Outcome, Spec};
use flowsieve_record::{FlowRow, Goodput, LinkClass, PointResult};
use flowsieve_workload::Flow;

use super::Framing;

/// Builds the result. `flows` and those of `spec` are the same.
pub(super) fn result(
    fabric: &Fabric,
    framing: &Framing,
    flows: &[Flow],
    spec: &Spec<'_>,
    outcome: &Outcome,
) -> PointResult {
    let rows: Vec<FlowRow> = (0..flows.len()).map(|index| row(&flows[index], index, spec, outcome)).collect();
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
        warnings: overloaded.map(warning).collect(),
        links,
        simulated_ps: outcome.now.0,
        arrivals_end_ps: arrivals_end,
        goodput: Some(goodput),
        longest_ideal_ps: rows.iter().map(|row| row.ideal_ps).max().unwrap_or(0),
        events: outcome.steps,
        counts: BTreeMap::from_iter((outcome.lifts > 0).then(|| ("coflow_lifts".to_owned(), outcome.lifts))),
        ideal_ccts_ps: ideal_ccts(fabric, flows, spec),
        flows: rows,
        ..PointResult::default()
    }
}

fn row(flow: &Flow, index: usize, spec: &Spec<'_>, outcome: &Outcome) -> FlowRow {
    let of_network = &spec.flows[index];
    FlowRow {
        flow: flow.id,
        src: flow.src,
        dst: flow.dst,
        class: flow.class,
        bytes: flow.bytes,
        start_ps: flow.start_ps,
        // No flow can take less than a picosecond.
        fct_ps: outcome.ends[index].map(|end| (end.0 - flow.start_ps).max(1)),
        ideal_ps: spec.network.alone(of_network.path, of_network.wire).0.max(1),
        deadline_ps: flow.deadline_ps.map(NonZeroU64::get),
        coflow: flow.coflow,
        ..FlowRow::default()
    }
}

/// Returns the ideal CCT of each coflow, by number: the largest of the times that each link takes for the coflow's
/// bytes, and of each flow's ideal FCT from its start.
fn ideal_ccts(fabric: &Fabric, flows: &[Flow], spec: &Spec<'_>) -> BTreeMap<u32, u64> {
    let (mut on_links, mut starts) = (BTreeMap::<(u32, u32), f64>::new(), BTreeMap::new());
    for (flow, of_network) in flows.iter().zip(spec.flows) {
        let Some(coflow) = flow.coflow else { continue };
        starts.entry(coflow).or_insert(flow.start_ps);
        for crossing in &spec.network.paths[of_network.path as usize].links {
            *on_links.entry((coflow, crossing.link)).or_default() += crossing.share * of_network.wire as f64;
        }
    }
    let mut ideals: BTreeMap<u32, u64> = BTreeMap::new();
    for ((coflow, link), bytes) in on_links {
        let time_ps = 8e12 * bytes / fabric.links[link as usize].rate.bps() as f64;
        let ideal = ideals.entry(coflow).or_insert(1);
        *ideal = (*ideal).max(time_ps as u64);
    }
    for (flow, of_network) in flows.iter().zip(spec.flows) {
        let Some((ideal, start)) = flow.coflow.and_then(|coflow| ideals.get_mut(&coflow).zip(starts.get(&coflow)))
        else {
            continue;
        };
        let alone = spec.network.alone(of_network.path, of_network.wire).0;
        *ideal = (*ideal).max(flow.start_ps - start + alone);
    }
    ideals
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
