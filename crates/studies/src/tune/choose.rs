//! Which candidate is best, by one number, and which are told from it.
//!
//! An operator wants short flows to be quick and all flows not to be slow. So the cost of a candidate in a seed is the
//! geometric mean of two times: the p99 FCT of the smallest flows, and the mean FCT of all. In a sample of receivers, which
//! has too few flows for these, p95 stands in for p99, and the mean slowdown for the mean FCT.

use super::candidates::Candidate;
use crate::thresholds::Marking;
use flowsieve_results::statistics::Sureness;
use flowsieve_results::{Metric, PointSummary, Ratio, SeedStats, Statistic};

/// A candidate within this share of the best costs as little.
pub(super) const AS_GOOD: f64 = 0.01;

/// Two K are a tie if the runs do not tell them apart, and their costs are this near: wide intervals alone are no tie.
pub(super) const TIE: f64 = 0.05;

/// What the overall time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overall {
    /// The mean FCT.
    Fct,
    /// The mean slowdown, in a sample of receivers.
    Slowdown,
}

/// The costs of a candidate, by seed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Costs {
    /// Its place among the candidates.
    pub(super) candidate: usize,
    /// By seed; none if flows did not finish.
    by_seed: Vec<(u64, f64)>,
}

impl Costs {
    /// Returns those of the candidate at `candidate`.
    pub(super) fn of(candidate: usize, point: &PointSummary, overall: Overall) -> Costs {
        let (metric, tail) = match overall {
            Overall::Fct => (Metric::Fct, Statistic::P99),
            Overall::Slowdown => (Metric::Slowdown, Statistic::P95),
        };
        let (small, all) = (point.classes.first(), point.classes.last());
        let finished = all.is_some_and(|all| all.unfinished() == 0);
        let of = |seed: &SeedStats| {
            let small = small.and_then(|small| small.seeds.iter().find(|other| other.seed == seed.seed));
            let overall = seed.get(metric, Statistic::Mean)?;
            // If no flow is small, all flows decide.
            let tail = small.and_then(|small| small.get(Metric::Fct, tail));
            Some((seed.seed, tail.map_or(overall, |tail| (tail * overall).sqrt())))
        };
        let by_seed = all.filter(|_| finished).map_or_else(Vec::new, |all| all.seeds.iter().filter_map(of).collect());
        Costs { candidate, by_seed }
    }

    /// Its costs over those of another, paired by seed; `None` where flows of one did not finish.
    pub(super) fn over(&self, other: &Costs, sureness: Sureness) -> Option<Ratio> {
        let pair = |&(seed, cost): &(u64, f64)| {
            other.by_seed.iter().find(|(at, _)| *at == seed).map(|&(_, other)| (cost, other))
        };
        Ratio::as_sure(sureness, &self.by_seed.iter().filter_map(pair).collect::<Vec<_>>())
    }
}

/// Returns the candidates by rising cost; those whose flows did not finish are left out.
pub(super) fn in_order(costs: &[Costs]) -> Vec<(&Costs, Ratio)> {
    // Pairs are over the seeds that both have.
    let finished = costs.iter().filter(|costs| !costs.by_seed.is_empty());
    let Some(reference) = finished.max_by_key(|costs| costs.by_seed.len()) else { return Vec::new() };
    let over = |costs: &'_ Costs| costs.over(reference, Sureness::USUAL);
    let mut order: Vec<(&Costs, Ratio)> = costs.iter().filter_map(|it| Some((it, over(it)?))).collect();
    order.sort_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
    order
}

/// Returns those that the seeds do not tell from the best: all but those that cost more than it for certain.
pub(super) fn left(costs: &[Costs], sureness: Sureness) -> Vec<usize> {
    let order = in_order(costs);
    let Some((best, _)) = order.first() else { return Vec::new() };
    let is_worse =
        |it: &Costs| it.over(best, sureness).is_none_or(|ratio| ratio.interval.is_some_and(|(low, _)| low > 1.0));
    let mut left: Vec<usize> = order.iter().filter(|(it, _)| !is_worse(it)).map(|(it, _)| it.candidate).collect();
    left.sort_unstable();
    left
}

/// Whether more seeds would change nothing that matters: all that are left cost as little as the best, for certain.
pub(super) fn are_as_good(costs: &[Costs], left: &[usize], sureness: Sureness) -> bool {
    let order = in_order(costs);
    let Some((best, _)) = order.first() else { return true };
    order.iter().filter(|(it, _)| left.contains(&it.candidate)).all(|(it, _)| {
        let interval = it.over(best, sureness).and_then(|ratio| ratio.interval);
        interval.is_some_and(|(low, high)| low >= 1.0 - AS_GOOD && high <= 1.0 + AS_GOOD)
    })
}

/// Chooses: of those that cost at most [`AS_GOOD`] more than the best, the one with the fewest queues; of these one that
/// marks by queue, as switches do; of these one with K by the rule. What is a tie with the same at K by the rule gives way to
/// that: a K that nothing speaks for is not advice.
pub(super) fn choose(candidates: &[Candidate], costs: &[Costs], left: &[usize]) -> Option<usize> {
    let order = in_order(costs);
    let best = order.first()?.1.value;
    let as_good =
        order.iter().filter(|(it, ratio)| left.contains(&it.candidate) && ratio.value <= best * (1.0 + AS_GOOD));
    let rank = |candidate: &Candidate| {
        (candidate.queues, candidate.marking != Marking::Queue, candidate.ramp, candidate.k_per_cent.abs_diff(100))
    };
    let chosen = as_good.map(|(it, _)| it.candidate).min_by_key(|&at| rank(&candidates[at]))?;
    let cost = |at: usize| order.iter().find(|(it, _)| it.candidate == at).map(|(_, ratio)| ratio.value);
    let is_tie = |at: usize| cost(at).zip(cost(chosen)).is_some_and(|(rule, best)| rule <= best * (1.0 + TIE));
    let by_rule = |&at: &usize| candidates[at].is_by_rule() && candidates[at].differs_in_marks(&candidates[chosen]);
    Some(left.iter().copied().filter(|&at| is_tie(at)).find(by_rule).unwrap_or(chosen))
}

#[cfg(test)]
mod tests {
    use super::super::candidates::Kind;
    use super::*;

    fn costs(candidate: usize, by_seed: &[f64]) -> Costs {
        Costs { candidate, by_seed: (1..).zip(by_seed.iter().copied()).collect() }
    }

    fn candidate(queues: usize, marking: Marking, k_per_cent: u64) -> Candidate {
        let name = format!("{queues}-{k_per_cent}");
        Candidate {
            name,
            queues,
            kind: Kind::Clusters,
            marking,
            k_per_cent,
            ramp: false,
            as_today: false,
            by_connection: false,
        }
    }

    #[test]
    fn left__all_but_those_that_cost_more_for_certain() {
        let all = [
            costs(0, &[10.0, 20.0, 30.0]),
            // A tenth more in each seed, although seeds differ by more.
            costs(1, &[11.0, 22.0, 33.0]),
            costs(2, &[9.9, 20.1, 30.2]),
            // Flows did not finish.
            costs(3, &[]),
        ];
        assert_eq!(left(&all, Sureness::USUAL), [0, 2]);
        assert!(!are_as_good(&all, &[0, 2], Sureness::USUAL) && are_as_good(&all, &[0], Sureness::USUAL));
    }

    #[test]
    fn choose__the_fewest_queues_that_cost_as_little() {
        let candidates = [
            candidate(8, Marking::Port, 100),
            candidate(4, Marking::Port, 100),
            candidate(4, Marking::Queue, 200),
            candidate(4, Marking::Queue, 100),
            candidate(2, Marking::Queue, 100),
        ];
        // Two queues cost two per cent more.
        let all: Vec<Costs> =
            [10.0, 10.02, 10.05, 10.09, 10.2].iter().enumerate().map(|(at, cost)| costs(at, &[*cost; 2])).collect();
        assert_eq!(choose(&candidates, &all, &[0, 1, 2, 3, 4]), Some(3));
        // What is told from the best is not chosen.
        assert_eq!(choose(&candidates, &all, &[0, 1]), Some(1));
        // A K that is 1.5 % better, and not told to be, is no advice against the rule's.
        let seeds = [costs(2, &[10.0, 9.7]), costs(3, &[10.0, 10.0])];
        assert_eq!(choose(&candidates, &seeds, &[2, 3]), Some(3));
        assert_eq!(choose(&candidates, &seeds, &[2]), Some(2), "told from the rule's");
        // Wide intervals are no tie: the rule's K costs three times as much, in seeds that differ by more.
        let seeds = [costs(2, &[10.0, 90.0]), costs(3, &[15.0, 540.0])];
        assert_eq!(choose(&candidates, &seeds, &[2, 3]), Some(2));
        assert_eq!(choose(&candidates, &[costs(0, &[])], &[0]), None);
    }
}
