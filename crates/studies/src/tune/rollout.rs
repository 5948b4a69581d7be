//! What a roll-out does to whom, simulated share by share: all switches have their queues, and some hosts tag.
//!
//! Packets of hosts that do not tag are in one queue. In the top one they wait for none of the others, but those wait for
//! them. In the lowest it is the other way round. Every share is compared with today's network over the same flows, or with
//! one queue where today's hosts have to change first.

use super::Effort;
use super::candidates::{Candidate, Kind};
use super::ground::{Partly, Runs};
use super::steps::Tuning;
use flowsieve_experiment::Error;
use flowsieve_results::looks::LOOKS;
use flowsieve_results::measured::Quantity;
use flowsieve_results::statistics::Sureness;
use flowsieve_results::{ClassSummary, Figure, Further, Metric, Only, PointSummary, Ratio, SizeClass, Statistic};
use serde::Serialize;

/// Per cent of the hosts that tag.
const SHARES: [u32; 6] = [0, 10, 25, 50, 75, 100];

/// Bounds of what anybody may lose, for the upper end of an interval: of a ratio of means, and of p99s.
const MOST_MEAN: f64 = 1.05;
const MOST_P99: f64 = 1.10;

/// A share of hosts that tag.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// Per cent of the hosts.
    pub per_cent: u32,
    /// Their number.
    pub hosts: u32,
    /// Seeds.
    pub seeds: u64,
    /// Flows from hosts that do not tag, over today's network, or one queue if today's hosts have to change first.
    pub others: Option<Group>,
    /// Flows from hosts that do.
    pub tagging: Option<Group>,
}

/// Times over those with one queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Mean FCT of the smallest flows.
    pub small_mean: Option<Ratio>,
    /// Their p99 FCT.
    pub small_p99: Option<Ratio>,
    /// Mean FCT of all flows.
    pub all_mean: Option<Ratio>,
    /// That of the largest.
    pub large_mean: Option<Ratio>,
}

/// Whether a ratio is within a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Within,
    Beyond,
    Open,
}

impl Share {
    /// The times that may not rise, each with its name, its ratio and its bound: those of hosts that do not tag, and of short
    /// flows of those that do. Their long ones are demoted by intent.
    fn bounded(&self) -> Vec<(&'static str, Option<Ratio>, f64)> {
        let others = self.others.iter().flat_map(|of| {
            [
                ("the mean FCT of hosts that do not tag", of.all_mean, MOST_MEAN),
                ("the p99 FCT of their short flows", of.small_p99, MOST_P99),
            ]
        });
        let tagging = self.tagging.iter().flat_map(|of| {
            [
                ("the mean FCT of short flows of hosts that tag", of.small_mean, MOST_MEAN),
                ("their p99 FCT", of.small_p99, MOST_P99),
            ]
        });
        others.chain(tagging).collect()
    }

    /// Returns what is beyond its bound for certain, and what these seeds do not tell.
    pub(super) fn harm(&self) -> (Vec<(&'static str, Ratio)>, Vec<&'static str>) {
        let (mut beyond, mut open) = (Vec::new(), Vec::new());
        for (name, ratio, most) in self.bounded() {
            match (told(ratio, most), ratio) {
                (Told::Beyond, Some(ratio)) => beyond.push((name, ratio)),
                (Told::Open, _) => open.push(name),
                _ => {}
            }
        }
        (beyond, open)
    }
}

fn told(ratio: Option<Ratio>, most: f64) -> Told {
    match ratio.and_then(|ratio| ratio.interval) {
        Some((_, high)) if high <= most => Told::Within,
        Some((low, _)) if low > most => Told::Beyond,
        _ => Told::Open,
    }
}

/// A row that asks for a group of flows.
#[derive(Serialize)]
struct Asks {
    id: String,
    #[serde(flatten)]
    quantity: Quantity,
}

impl Tuning<'_> {
    /// Simulates each share of hosts that tag by the thresholds of a candidate. Returns those that the budget allows, or why
    /// there are none.
    pub(super) fn roll_out(&mut self, candidate: &Candidate) -> Result<Result<Vec<Share>, &'static str>, Error> {
        match &candidate.kind {
            Kind::Thresholds { .. } if self.ground.today.is_mixed || !self.ground.today.classes.is_empty() => {
                return Ok(Err("the file has classes of traffic of its own"));
            }
            Kind::Thresholds { .. } => {}
            // Nothing is rolled out host by host.
            _ => return Ok(Ok(Vec::new())),
        }
        let unmarked = self.request.unmarked.of(candidate.queues);
        let mut shares: Vec<Share> = Vec::new();
        for per_cent in SHARES {
            let hosts = (f64::from(self.ground.hosts * per_cent) / 100.0).round() as u32;
            // Few hosts have few shares.
            if shares.last().is_some_and(|last| last.hosts == hosts) {
                continue;
            }
            // What is simulated is what is said: a quarter of two hosts is one, and so a half.
            let per_cent = (100 * hosts + self.ground.hosts / 2) / self.ground.hosts;
            let partly = Partly { of: candidate.clone(), unmarked, hosts };
            match self.share(per_cent, &partly)? {
                Some(share) => shares.push(share),
                None => {
                    self.cut_short = true;
                    break;
                }
            }
        }
        Ok(Ok(shares))
    }

    fn share(&mut self, per_cent: u32, partly: &Partly) -> Result<Option<Share>, Error> {
        let baseline = if self.ground.is_dctcp || partly.of.as_today {
            self.candidates[0].clone()
        } else {
            Candidate::one_queue()
        };
        let all = [baseline];
        let mut share = None;
        let mut looks = LOOKS.iter();
        let mut seeds = 0;
        loop {
            let (next, sureness) = match (self.request.effort, looks.next()) {
                (Effort::Seeds(seeds), _) => (seeds, Sureness::USUAL),
                (_, Some(look)) => (look.seeds as u64, Sureness { missed: look.missed, ..Sureness::USUAL }),
                (_, None) => return Ok(share),
            };
            if !self.fits(self.hops_of(2 * (next - seeds))?, 1.0) {
                return Ok(share);
            }
            seeds = next;
            let title = format!("{per_cent} % of the hosts tag");
            let runs = Runs {
                title: &title,
                candidates: &all,
                first_seed: self.proof_seed,
                seeds,
                screen: None,
                partly: Some(partly),
            };
            let what = format!("{title}: {seeds} seeds");
            let points = self.make(&what, &format!("rollout/{per_cent}"), &runs)?;
            let [one, other] = &points[..] else { return Ok(share) };
            let group = |class: Option<u8>| group(class, one, other, sureness);
            let found = match (partly.hosts, self.ground.hosts - partly.hosts) {
                (0, _) => (group(None), None),
                (_, 0) => (None, group(None)),
                _ => (group(Some(0)), group(Some(1))),
            };
            let found = Share { per_cent, hosts: partly.hosts, seeds, others: found.0, tagging: found.1 };
            let is_told = found.bounded().iter().all(|(_, ratio, most)| told(*ratio, *most) != Told::Open);
            share = Some(found);
            if is_told || matches!(self.request.effort, Effort::Seeds(_)) {
                return Ok(share);
            }
        }
    }
}

/// Compares the flows of a class of traffic; `None`: all flows.
fn group(class: Option<u8>, one: &PointSummary, other: &PointSummary, sureness: Sureness) -> Option<Group> {
    let of = |point: &PointSummary, size: &SizeClass| -> Option<ClassSummary> {
        match class {
            None => point.classes.iter().find(|it| it.class == *size).cloned(),
            Some(_) => {
                let wanted = Only { workload: class, ..Only::default() };
                let found = point.asked.iter().find(|(only, it)| *only == wanted && it.class == *size);
                found.map(|(_, summary)| summary.clone())
            }
        }
    };
    let ratio = |size: Option<&ClassSummary>, statistic| {
        let size = &size?.class;
        let (one, other) = (of(one, size)?, of(other, size)?);
        let told = other.untold(Metric::Fct, statistic).or(one.untold(Metric::Fct, statistic)).is_none();
        (told && one.unfinished() + other.unfinished() == 0)
            .then(|| other.ratio_as_sure(&one, Metric::Fct, statistic, sureness))?
    };
    let (small, all) = (one.classes.first(), one.classes.last());
    let large = one.classes.iter().rev().nth(1);
    Some(Group {
        small_mean: ratio(small, Statistic::Mean),
        small_p99: ratio(small, Statistic::P99),
        all_mean: ratio(all, Statistic::Mean),
        large_mean: ratio(large, Statistic::Mean),
    })
}

/// Asks for the flows of hosts that tag, and of those that do not, by the sizes that are shown.
pub(super) fn ask_for_groups(sizes: &[SizeClass]) -> Further {
    let mut rows = Vec::new();
    for class in [0u8, 1] {
        for size in sizes {
            let only = Only { workload: Some(class), ..Only::default() };
            let quantity = Quantity {
                class: size.clone(),
                only,
                ..Quantity::of_all_flows(Figure::Flows(Statistic::Mean, Metric::Fct))
            };
            rows.push(Asks { id: format!("class {class}, {}", size.name), quantity });
        }
    }
    Further::default().with("rollout", &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(value: f64, low: f64, high: f64) -> Option<Ratio> {
        Some(Ratio { value, interval: Some((low, high)) })
    }

    #[test]
    fn harm__beyond_a_bound_within_it_and_not_told() {
        let none = Group { small_mean: None, small_p99: None, all_mean: None, large_mean: None };
        let others = Group {
            small_p99: ratio(3.4, 2.9, 4.0),
            all_mean: ratio(1.0, 0.97, 1.04),
            large_mean: ratio(9.0, 8.0, 9.9),
            ..none.clone()
        };
        let tagging = Group { small_mean: ratio(0.9, 0.8, 1.2), small_p99: ratio(0.9, 0.8, 1.0), ..none };
        let share = Share { per_cent: 50, hosts: 8, seeds: 5, others: Some(others), tagging: Some(tagging) };
        let (beyond, open) = share.harm();
        assert_eq!(beyond.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["the p99 FCT of their short flows"]);
        assert_eq!(open, ["the mean FCT of short flows of hosts that tag"]);
    }
}
