//! Adds seeds until claims are resolved: how many more each claim needs, and the cheapest first.
//!
//! Claims are looked at after fixed numbers of seeds ([`LOOKS`]). A claim that is not resolved at one look gets the
//! seeds of the next look at each of its points. Other claims about these points use them, too.
//!
//! Time is spent where it decides something: first on the claim that the fewest packet-hops are likely to resolve, over
//! all experiments. That is a claim whose interval reaches little beyond the edge of what it accepts, or a cheap one. A claim
//! that twice its seeds would not resolve gets no more.

use crate::claim::{Claim, Claims};
use flowsieve_experiment::Error;
use flowsieve_experiment::machine::HOPS_PER_SECOND;
use flowsieve_experiment::plan::Plan;
use flowsieve_experiment::shards::hops_in_words;
use flowsieve_results::looks::LOOKS;
use flowsieve_results::measured::Measured;
use flowsieve_settings::{Origin, SettingsError};
use std::fmt;

/// The number of cores for which prices are stated.
const CORES: f64 = 2.0;

/// A claim that is not resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Open {
    /// Its name.
    pub claim: String,
    /// Index of its experiment.
    pub figure: usize,
    /// Its points, and the number of seeds of each at the next look.
    points: Vec<usize>,
    next: usize,
    /// Estimated number of seeds at which it is resolved; `None`: not with twice the available ones.
    pub seeds: Option<usize>,
    /// Estimated packet-hops of the runs until then, or of the next look.
    pub packet_hops: f64,
    /// Estimated packet-hops of the next look.
    pub next_packet_hops: f64,
}

impl Open {
    /// The time that the missing runs take on [`CORES`], in minutes.
    pub(crate) fn minutes(&self) -> f64 {
        self.packet_hops / HOPS_PER_SECOND / CORES / 60.0
    }

    /// Its name, the seeds that would do, and their price in words: packet-hops and minutes.
    pub(crate) fn priced(&self) -> [String; 4] {
        let minutes = self.minutes();
        let minutes = if minutes < 1.0 { "less than 1".into() } else { format!("{minutes:.0}") };
        [self.claim.clone(), self.seeds.unwrap_or(self.next).to_string(), hops_in_words(self.packet_hops), minutes]
    }

    /// Adds the seeds of its next look.
    pub fn extend(&self, plan: &mut Plan) {
        self.points.iter().for_each(|&point| plan.raise_seeds(point, self.next));
    }
}

impl fmt::Display for Open {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [claim, seeds, packet_hops, minutes] = self.priced();
        write!(out, "{claim}: about {seeds} seeds, {packet_hops} packet-hops, {minutes} min of two cores")
    }
}

/// An experiment to which seeds may be added.
pub struct Resolving<'a> {
    /// The plan of its runs.
    pub plan: &'a Plan,
    /// Its claims.
    pub claims: &'a Claims,
    /// Measured values of the runs.
    pub measured: Measured,
    /// Returns whether the run of a part exists, so that it costs nothing.
    pub is_made: Box<dyn Fn(&str) -> bool + 'a>,
}

/// Returns the unresolved claims that have fewer seeds than are allowed, cheapest first; only those about `metric`, if
/// given. Claims that twice their seeds would not resolve are last.
pub fn open_claims(figures: &[Resolving<'_>], metric: Option<&str>) -> Vec<Open> {
    let mut open = Vec::new();
    for (index, figure) in figures.iter().enumerate() {
        let Resolving { plan, claims, measured, .. } = figure;
        let is_wanted = |claim: &Claim| metric.is_none_or(|metric| claim.quantity.figure.name() == metric);
        for claim in claims.measured.iter().filter(|claim| is_wanted(claim)) {
            if claim.check(&plan.experiment, measured).is_open() {
                open.extend(of_claim(index, figure, claim));
            }
        }
    }
    open.sort_by(|a, b| {
        let never = a.seeds.is_none().cmp(&b.seeds.is_none());
        never.then(a.packet_hops.total_cmp(&b.packet_hops)).then_with(|| a.claim.cmp(&b.claim))
    });
    open
}

/// Returns those that twice their seeds would resolve.
pub fn left_out(open: &[Open]) -> impl Iterator<Item = &Open> {
    open.iter().filter(|open| open.seeds.is_some())
}

fn of_claim(index: usize, figure: &Resolving<'_>, claim: &Claim) -> Option<Open> {
    let Resolving { plan, measured, is_made, .. } = figure;
    let points = claim.all_points(&plan.experiment);
    let seeds_of = |point: usize| plan.experiment.points[point].parts.len();
    let have = points.iter().map(|&point| seeds_of(point)).min()?;
    let next = LOOKS.iter().map(|look| look.seeds).find(|&seeds| seeds > have)?;
    let seeds = claim.seeds_to_resolve(&plan.experiment, measured);
    let hops_until = |seeds: usize| {
        let more = |&point: &usize| {
            let Some(run) = plan.runs.iter().rfind(|run| run.point == point) else { return 0.0 };
            let new = run.seed + 1..=run.seed + seeds.saturating_sub(seeds_of(point)) as u64;
            run.packet_hops * new.filter(|&seed| !is_made(&plan.key(point, seed))).count() as f64
        };
        points.iter().map(more).sum::<f64>()
    };
    Some(Open {
        claim: claim.id.clone(),
        figure: index,
        next,
        seeds,
        packet_hops: hops_until(seeds.unwrap_or(next)),
        next_packet_hops: hops_until(next),
        points,
    })
}

/// Builds the error for `--resolve METRIC` with a metric that no claim has.
pub fn no_such_metric(metric: &str, there: Vec<String>) -> Error {
    let origin = Origin::CommandLine(format!("--resolve {metric}").into());
    let problem = format!("no claim of the experiment is about the metric {metric:?}");
    let expected = if there.is_empty() { "an experiment with [[claims]]" } else { "the metric of a claim" };
    SettingsError::new(origin, problem).expected(expected).names(metric, there).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(claim: &str, seeds: Option<usize>, packet_hops: f64) -> Open {
        Open { claim: claim.into(), figure: 0, points: vec![0], next: 7, seeds, packet_hops, next_packet_hops: 0.0 }
    }

    #[test]
    fn left_out__what_twice_the_seeds_would_resolve_with_its_price() {
        // 2.4 billion packet-hops are 240 s of one core.
        let all = [open("near", Some(10), 2.4e9), open("on-the-edge", None, 1e6), open("far", Some(7), 1e8)];
        let found: Vec<String> = left_out(&all).map(Open::to_string).collect();
        assert_eq!(
            found,
            [
                "near: about 10 seeds, 2.4 billion packet-hops, 2 min of two cores",
                "far: about 7 seeds, 100 million packet-hops, less than 1 min of two cores",
            ]
        );
        assert_eq!(left_out(&[]).count(), 0);
    }
}
