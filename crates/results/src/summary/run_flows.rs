//! The flows of one run, by rising size or as a sketch, and their statistics.

use std::collections::BTreeMap;

use flowsieve_record::{Breakdown, Disorder, FlowRow};

use super::SeedStats;
use crate::classes::SizeClass;
use crate::controls::{Controls, LARGE_BYTES};
use crate::flow_sketch::FlowSketch;
use crate::statistics::{Figures, jain, variation};
use crate::{CoflowStats, FirstAnswers, GroupedCoflows, Only};

/// The flows of a run, for statistics.
pub(crate) struct RunFlows {
    pub(super) seed: u64,
    pub(super) kept: Kept,
    pub(super) coflows: Option<CoflowStats>,
    pub(super) grouped_coflows: Vec<GroupedCoflows>,
}

pub(super) enum Kept {
    /// All flows by rising size, so that a class is a slice of them; and their common properties.
    Rows(Vec<FlowRow>, Option<Controls>),
    Sketch(FlowSketch),
}

impl RunFlows {
    /// From all flows of a run, with its coflows.
    pub(crate) fn of(seed: u64, mut flows: Vec<FlowRow>, coflows: Option<CoflowStats>) -> RunFlows {
        by_size(&mut flows);
        let controls = controls(&flows);
        RunFlows { seed, kept: Kept::Rows(flows, controls), coflows, grouped_coflows: Vec::new() }
    }

    /// From the sketch of a run.
    pub(crate) fn of_sketch(seed: u64, sketch: FlowSketch, coflows: Option<CoflowStats>) -> RunFlows {
        RunFlows { seed, kept: Kept::Sketch(sketch), coflows, grouped_coflows: Vec::new() }
    }

    /// With its coflows by groups.
    pub(crate) fn with_grouped(self, coflows: &[GroupedCoflows]) -> RunFlows {
        RunFlows { grouped_coflows: coflows.to_vec(), ..self }
    }

    pub(super) fn fits(&self, class: &SizeClass) -> bool {
        match &self.kept {
            Kept::Rows(..) => true,
            Kept::Sketch(sketch) => sketch.fits(class),
        }
    }

    /// Sizes, and the number of flows that are at most that large and larger than the one before.
    pub(super) fn sizes(&self) -> Vec<(u64, u64)> {
        match &self.kept {
            Kept::Rows(flows, _) => flows.iter().map(|flow| (flow.bytes, 1)).collect(),
            Kept::Sketch(sketch) => sketch.sizes().collect(),
        }
    }

    /// `None` if sketches would have to tell flows of one size apart.
    pub(super) fn stats(&self, class: &SizeClass, only: &Only) -> Option<SeedStats> {
        let (flows, controls) = match &self.kept {
            Kept::Rows(flows, controls) => (flows, *controls),
            Kept::Sketch(sketch) => return only.is_all().then(|| sketch.stats(self.seed, class)),
        };
        let upto = |bound: u64| flows.partition_point(|flow| flow.bytes <= bound);
        let flows = &flows[upto(class.above_bytes)..class.up_to_bytes.map_or(flows.len(), upto)];
        let flows = || flows.iter().filter(|flow| only.holds(flow));
        let count = flows().count();
        let mut fct: Vec<f64> = flows().filter_map(|flow| flow.fct_ps).map(|fct_ps| fct_ps as f64).collect();
        let mut slowdown: Vec<f64> = flows().filter_map(FlowRow::slowdown).collect();
        let (mut disorder, mut breakdown) = (Disorder::default(), Breakdown::default());
        let mut first_answers = FirstAnswers::default();
        for flow in flows() {
            disorder.add(&Disorder::of(flow));
            breakdown.add(&Breakdown::of(flow));
            first_answers.add(&FirstAnswers::of(flow));
        }
        Some(SeedStats {
            seed: self.seed,
            flows: count as u64,
            unfinished: (count - fct.len()) as u64,
            largest_bytes: flows().next_back().map_or(0, |flow| flow.bytes),
            least_slowdown: slowdown.iter().copied().reduce(f64::min),
            controls,
            ideal_fct_ps: mean(flows().filter(|flow| flow.fct_ps.is_some()).map(|flow| flow.ideal_ps as f64)),
            fct_variation: variation(|| fct.iter().map(|&fct_ps| (fct_ps, 1))),
            fairness: fairness(flows()),
            disorder,
            breakdown,
            first_answers,
            fct: Figures::of(&mut fct),
            slowdown: Figures::of(&mut slowdown),
        })
    }
}

/// Sorts flows by size. The order within a size stays: it determines how the last bit of a mean is rounded.
fn by_size(flows: &mut [FlowRow]) {
    // A stable sort of the rows would take half of their memory again.
    let mut order: Vec<u32> = (0..flows.len() as u32).collect();
    order.sort_by_key(|&flow| flows[flow as usize].bytes);
    // Each cycle of the order moves its flows by one place along it.
    for first in 0..order.len() {
        let mut at = first;
        while order[at] as usize != first {
            let from = order[at] as usize;
            flows.swap(at, from);
            order[at] = at as u32;
            at = from;
        }
        order[at] = at as u32;
    }
}

/// The common properties of flows by rising size; `None` without any.
fn controls(flows: &[FlowRow]) -> Option<Controls> {
    let large = flows.len() - flows.partition_point(|flow| flow.bytes <= LARGE_BYTES);
    Some(Controls {
        mean_bytes: mean(flows.iter().map(|flow| flow.bytes as f64))?,
        large_share: large as f64 / flows.len() as f64,
        span_ps: flows.iter().map(|flow| flow.start_ps).max()? as f64,
    })
}

/// `None` without any.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Jain's index of flows by rising size.
fn fairness<'a>(flows: impl Iterator<Item = &'a FlowRow>) -> Option<f64> {
    // By decade: the sum of the throughputs, and their number.
    let mut decades: BTreeMap<u32, (f64, u64)> = BTreeMap::new();
    for flow in flows {
        let (Some(decade), Some(fct_ps)) = (flow.bytes.checked_ilog10(), flow.fct_ps) else { continue };
        let (sum, count) = decades.entry(decade).or_default();
        *sum += flow.bytes as f64 / fct_ps as f64;
        *count += 1;
    }
    jain(&decades.into_values().map(|(sum, count)| sum / count as f64).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_size__like_a_stable_sort() {
        // Sizes 0 to 12 in some order, each many times; then sorted, and the other way round.
        let scattered =
            (0..1_000u32).map(|flow| FlowRow { flow, bytes: u64::from(flow * flow % 13), ..FlowRow::default() });
        let mut flows: Vec<FlowRow> = scattered.collect();
        for _ in 0..3 {
            let mut expected = flows.clone();
            expected.sort_by_key(|flow| flow.bytes);
            by_size(&mut flows);
            assert_eq!(flows, expected);
            flows.reverse();
        }
    }
}
