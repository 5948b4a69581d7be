//! What makes a result less than it seems, found in its numbers.

use std::collections::BTreeMap;

use crate::{Manifest, Run, Summary};

/// Periodic parts that act less often than this have hardly begun to work.
const TICKS: u64 = 10;

/// Links that carry a smaller share of their load have not come to it.
const ENOUGH: f64 = 0.8;

/// One thing to know, and where it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// In a sentence.
    pub text: String,
    /// Indices of the points that it concerns, rising.
    pub points: Vec<u32>,
}

/// The warnings of the runs themselves, and those that their numbers give: unfinished flows, periodic parts that
/// hardly acted, links that carried much less than their load, ports of several queues that used one. Equal sentences are one warning.
pub(crate) fn warnings(manifest: &Manifest, summary: &Summary) -> Vec<Warning> {
    let mut found = Found::default();
    for run in &manifest.runs {
        for text in &run.measured.warnings {
            found.add(text.clone(), run.point);
        }
        for part in run.measured.periodic.iter().filter(|part| part.ticks < TICKS) {
            let text = format!(
                "{} acted {} in a run (every {} ms): fewer than {TICKS} times, so the run is too short to show it",
                part.name,
                times(part.ticks),
                part.period_ps as f64 / 1e9
            );
            found.add(text, run.point);
        }
        if carried_little(run) {
            let text = format!(
                "links carried less than {} % of the load that they were offered while flows arrived: the run is too \
                 short for its load to build up, or flows were held back",
                ENOUGH * 100.0
            );
            found.add(text, run.point);
        }
        if used_one_queue(run) {
            found.add("ports have several queues, and all packets went through one of them".into(), run.point);
        }
    }
    for (index, point) in summary.points.iter().enumerate() {
        // The last class is all flows.
        let unfinished = point.classes.last().map_or(0, |all| all.unfinished());
        if unfinished > 0 {
            let text =
                "flows had not finished when the run ended: FCT and slowdown are of those that did, and too good";
            found.add(text.into(), index as u32);
        }
    }
    found
        .order
        .into_iter()
        .map(|text| Warning { points: found.points.remove(&text).unwrap_or_default(), text })
        .collect()
}

#[derive(Default)]
struct Found {
    points: BTreeMap<String, Vec<u32>>,
    order: Vec<String>,
}

impl Found {
    fn add(&mut self, text: String, point: u32) {
        let points = self.points.entry(text.clone()).or_insert_with(|| {
            self.order.push(text);
            Vec::new()
        });
        if points.last() != Some(&point) {
            points.push(point);
            points.sort_unstable();
            points.dedup();
        }
    }
}

/// Whether the most loaded links carried much less than their load.
fn carried_little(run: &Run) -> bool {
    let most = run.measured.links.iter().max_by(|a, b| a.offered_load.total_cmp(&b.offered_load));
    most.is_some_and(|link| link.utilisation < ENOUGH * link.offered_load.min(1.0))
}

/// Whether ports of several queues carried packets, and none of them through a second queue.
fn used_one_queue(run: &Run) -> bool {
    let used = |queues: &[u64]| queues.iter().filter(|&&packets| packets > 0).count();
    let several = || run.measured.links.iter().map(|link| &link.packets_by_queue).filter(|queues| queues.len() > 1);
    several().any(|queues| used(queues) == 1) && several().all(|queues| used(queues) <= 1)
}

fn times(count: u64) -> String {
    match count {
        0 => "never".into(),
        1 => "once".into(),
        _ => format!("{count} times"),
    }
}
