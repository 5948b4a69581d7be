//! Holds a claim against a result.

use super::looks::{LOOKS, Look};
use super::{Checked, Claim, Expected, Figure, Verdict, verdict};
use crate::statistics::{Estimate, Ratio, Sureness};
use crate::{ClassSummary, Count, Experiment, Manifest, Run, SeedStats, Series, Summary};

/// Values by seed.
type BySeed = Vec<(u64, f64)>;

/// Two points that a claim compares: (value, baseline) by seed.
struct Pair {
    load: Option<f64>,
    seeds: Vec<(u64, f64, f64)>,
}

fn unresolved(why: impl Into<String>) -> Checked {
    Checked {
        ratio: None,
        load: None,
        by_load: Vec::new(),
        values: Vec::new(),
        values_by_load: Vec::new(),
        seeds: None,
        verdict: Verdict::NotResolved,
        why: why.into(),
    }
}

const ONE_SEED: &str = "one seed has no interval";

impl Claim {
    /// Holds the claim against a result: over all seeds, or where seeds were added until claims were resolved at the look at
    /// which it was.
    pub fn check(&self, manifest: &Manifest, summary: &Summary) -> Checked {
        let usual = || self.hold(manifest, summary, usize::MAX, Sureness::USUAL);
        if !manifest.experiment.looks {
            return usual();
        }
        let seeds = self.fewest_seeds(&manifest.experiment);
        let look = |look: &Look| {
            let held = self.hold(manifest, summary, look.seeds, Sureness { missed: look.missed, as_if: None });
            Checked { seeds: Some(look.seeds), ..held }
        };
        let mut looks = LOOKS.iter().filter(|look| look.seeds <= seeds).map(look).peekable();
        let mut last = None;
        for held in looks.by_ref() {
            let is_resolved = held.verdict != Verdict::NotResolved;
            last = Some(held);
            if is_resolved {
                break;
            }
        }
        last.unwrap_or_else(usual)
    }

    /// After how many seeds it will be resolved if these deviate as those at hand do; `None`: not at any look.
    pub fn seeds_to_resolve(&self, manifest: &Manifest, summary: &Summary) -> Option<usize> {
        let seeds = self.fewest_seeds(&manifest.experiment);
        let resolves = |look: &&Look| {
            let sureness = Sureness { missed: look.missed, as_if: Some(look.seeds) };
            self.hold(manifest, summary, usize::MAX, sureness).verdict != Verdict::NotResolved
        };
        LOOKS.iter().filter(|look| look.seeds > seeds).find(resolves).map(|look| look.seeds)
    }

    /// The points that it is about.
    pub fn all_points(&self, experiment: &Experiment) -> Vec<usize> {
        let schemes = [&self.scheme].into_iter().chain(&self.baselines);
        let mut points: Vec<usize> = schemes.flat_map(|scheme| self.points(experiment, scheme)).collect();
        points.sort_unstable();
        points.dedup();
        points
    }

    /// The seeds that each of its points has at least.
    fn fewest_seeds(&self, experiment: &Experiment) -> usize {
        let seeds = |point: usize| experiment.points[point].parts.len();
        self.all_points(experiment).into_iter().map(seeds).min().unwrap_or(0)
    }

    fn hold(&self, manifest: &Manifest, summary: &Summary, seeds: usize, sureness: Sureness) -> Checked {
        let hold = |claim: &Claim| Hold { claim, manifest, summary, seeds, sureness }.check();
        if self.stand_in.is_none() {
            return hold(self);
        }
        let Some((expected, tolerance)) = self.expected.direction() else {
            let why = "a stand-in tells no value, and the claim has no direction".to_owned();
            return Checked { verdict: Verdict::NotResolved, why, ..hold(self) };
        };
        let checked = hold(&Claim { expected, tolerance, ..self.clone() });
        let verdict = match checked.verdict {
            Verdict::Agrees => Verdict::SameDirection,
            Verdict::Disagrees => Verdict::OtherDirection,
            other => other,
        };
        Checked { verdict, ..checked }
    }

    /// The value that it is about in the series of a run, under its id; `None` unless it is of one that is there.
    pub(crate) fn of_series(&self, series: &[Series]) -> Option<(String, f64)> {
        Some((self.id.clone(), self.series.as_ref()?.value(series)?))
    }

    /// The points of a scheme that it is about.
    fn points(&self, experiment: &Experiment, scheme: &str) -> Vec<usize> {
        let of = |&point: &usize| experiment.points[point].scheme == *scheme && self.is_at(experiment, point);
        (0..experiment.points.len()).filter(of).collect()
    }

    fn is_at(&self, experiment: &Experiment, point: usize) -> bool {
        let point = &experiment.points[point];
        let load = self.loads.is_empty() || point.load.is_some_and(|load| self.loads.contains(&load));
        load && self.at.iter().all(|axis| point.axes.contains(axis))
    }
}

/// A claim that is held against a result.
#[derive(Clone, Copy)]
struct Hold<'a> {
    claim: &'a Claim,
    manifest: &'a Manifest,
    summary: &'a Summary,
    /// So many seeds of each point, its first ones.
    seeds: usize,
    sureness: Sureness,
}

impl<'a> Hold<'a> {
    /// For what it states.
    fn check(self) -> Checked {
        let experiment = &self.manifest.experiment;
        let schemes = || [&self.claim.scheme].into_iter().chain(&self.claim.baselines);
        let points: Vec<Vec<usize>> = schemes().map(|scheme| self.claim.points(experiment, scheme)).collect();
        if points.iter().any(Vec::is_empty) {
            return unresolved("not run");
        }
        if let Some(why) = points.iter().flatten().find_map(|&point| self.missing(point)) {
            return unresolved(why);
        }
        let values = || {
            let mean = |(scheme, points): (&String, &Vec<usize>)| {
                let by_point: Vec<BySeed> =
                    points.iter().map(|&point| self.values_of(point, self.group(point))).collect();
                Some((scheme.clone(), self.mean_of(&by_point)?))
            };
            schemes().zip(&points).map(mean).collect::<Option<Vec<_>>>()
        };
        match self.claim.expected {
            Expected::Value(_) | Expected::Within(..) => self.check_value(&points[0], values()),
            Expected::Rising | Expected::Close => self.check_order(values()),
            _ => self.check_ratio(),
        }
    }

    fn check_ratio(self) -> Checked {
        let Claim { scheme, baselines, expected, tolerance, stand_in, .. } = self.claim;
        let pairs = self.pairs(scheme, baselines.first().unwrap_or(scheme));
        if pairs.is_empty() {
            return unresolved("not run");
        }
        let by_load: Option<Vec<_>> = pairs.iter().map(|pair| Some((pair.load, self.ratio(pair)?))).collect();
        let (Some(by_load), Some(mean)) = (by_load, self.mean_over(&pairs)) else {
            return unresolved("nothing to compare at one of its points");
        };
        let accepted = expected.accepted(*tolerance);
        let judge = |ratio: &Ratio| match ratio.interval {
            // On no side, even if it is 1 in every seed.
            Some((low, high)) if stand_in.is_some() && low <= 1.0 && 1.0 <= high => Verdict::NotResolved,
            interval => verdict(interval, accepted),
        };
        let (ratio, load, verdict) = match expected {
            Expected::UpTo(change) => {
                let sign = change.signum();
                let extreme = by_load.iter().max_by(|a, b| (sign * a.1.value).total_cmp(&(sign * b.1.value)));
                let (load, ratio) = extreme.map_or((None, mean), |&(load, ratio)| (load, ratio));
                (ratio, load, judge(&ratio))
            }
            Expected::Between(..) => (mean, None, worst(by_load.iter().map(|(_, ratio)| judge(ratio)))),
            _ => (mean, None, judge(&mean)),
        };
        let why = if ratio.interval.is_none() { ONE_SEED } else { "" };
        Checked { ratio: Some(ratio), load, by_load, verdict, ..unresolved(why) }
    }

    fn check_value(self, points: &[usize], values: Option<Vec<(String, Estimate)>>) -> Checked {
        let at = |&point: &usize| {
            let values = self.values_of(point, self.group(point));
            Some((self.manifest.experiment.points[point].load, self.mean_of(&[values])?))
        };
        let by_load: Option<Vec<_>> = points.iter().map(at).collect();
        let (Some(values), Some(values_by_load)) = (values, by_load) else {
            return unresolved("there is no value at one of its points");
        };
        let accepted = self.claim.expected.accepted(self.claim.tolerance);
        let judge = |value: &Estimate| verdict(value.interval(), accepted);
        let verdict = match self.claim.expected {
            Expected::Within(..) => worst(values_by_load.iter().map(|(_, value)| judge(value))),
            _ => worst(values.iter().map(|(_, value)| judge(value))),
        };
        let why = if values_by_load.iter().any(|(_, value)| value.half_width.is_none()) { ONE_SEED } else { "" };
        Checked { values, values_by_load, verdict, ..unresolved(why) }
    }

    fn check_order(self, values: Option<Vec<(String, Estimate)>>) -> Checked {
        let Claim { scheme, baselines, expected, tolerance, .. } = self.claim;
        let schemes: Vec<&String> = [scheme].into_iter().chain(baselines).collect();
        let accepted = expected.accepted(*tolerance);
        let (mut by_load, mut verdicts, mut failing) = (Vec::new(), Vec::new(), Vec::new());
        for (index, scheme) in schemes.iter().enumerate() {
            // What rises from each to the next does so from each to any later one.
            let others = if *expected == Expected::Rising { 1 } else { schemes.len() };
            for other in schemes.iter().skip(index + 1).take(others) {
                let pairs = self.pairs(scheme, other);
                if pairs.is_empty() {
                    return unresolved("not run");
                }
                for pair in pairs {
                    let Some(ratio) = self.ratio(&pair) else {
                        return unresolved("nothing to compare at one of its points");
                    };
                    let verdict = verdict(ratio.interval, accepted);
                    by_load.push((pair.load, ratio));
                    verdicts.push(verdict);
                    if verdict != Verdict::Agrees {
                        let load = pair.load.map_or(String::new(), |load| format!(" at load {load}"));
                        failing.push((verdict, format!("{scheme} and {other}{load}")));
                    }
                }
            }
        }
        let verdict = worst(verdicts.into_iter());
        failing.retain(|(its, _)| *its == verdict);
        let why = match failing.as_slice() {
            _ if by_load.iter().any(|(_, ratio)| ratio.interval.is_none()) => ONE_SEED.into(),
            [] => String::new(),
            [(_, one)] => one.clone(),
            [(_, one), more @ ..] => format!("{one}, and {} more", more.len()),
        };
        Checked { by_load, values: values.unwrap_or_default(), verdict, ..unresolved(why) }
    }

    /// Why nothing can be said of a point, if nothing can.
    fn missing(self, point: usize) -> Option<&'static str> {
        let group = self.group(point);
        let told = |sketched: bool| {
            (sketched && !self.summary.points[point].exact).then_some("sketches of flows do not tell it")
        };
        let has_unfinished = |group: &ClassSummary| self.first(&group.seeds).any(|seed| seed.unfinished > 0);
        let finished = || group.is_some_and(has_unfinished).then_some("flows did not finish");
        match self.claim.figure {
            Figure::Coflows(..) => {
                let groups = [group, self.baseline_group(point)];
                groups.into_iter().flatten().any(has_unfinished).then_some("coflows did not finish")
            }
            // Flows that did not finish are among those that missed their deadline.
            Figure::Series | Figure::Count(Count::MissedDeadlines | Count::DeadlinesMet) => None,
            figure => told(figure == Figure::Fairness || !self.claim.only.is_all()).or_else(finished),
        }
    }

    /// Of the first seeds.
    fn first(self, seeds: &[SeedStats]) -> impl Iterator<Item = &SeedStats> {
        seeds.iter().take(self.seeds)
    }

    fn pairs(self, scheme: &str, baseline: &str) -> Vec<Pair> {
        let experiment = &self.manifest.experiment;
        let pairs = experiment.pairs(scheme, baseline).into_iter();
        let of = |(point, baseline): (usize, usize)| {
            // A ratio to nothing, or of nothing, has no logarithm.
            let positive = |point, group| {
                let values = self.values_of(point, group);
                values.into_iter().filter(|(_, value)| *value > 0.0).collect::<BySeed>()
            };
            let others = positive(baseline, self.baseline_group(baseline));
            let both = |(seed, value)| others.iter().find(|other| other.0 == seed).map(|other| (seed, value, other.1));
            Pair {
                load: experiment.points[point].load,
                seeds: positive(point, self.group(point)).into_iter().filter_map(both).collect(),
            }
        };
        pairs.filter(|&(point, _)| self.claim.is_at(experiment, point)).map(of).collect()
    }

    /// The flows, or the coflows, that it is about.
    fn group(self, point: usize) -> Option<&'a ClassSummary> {
        let point = &self.summary.points[point];
        match self.claim.figure {
            Figure::Coflows(..) => point.coflows_of(&self.claim.coflow_group()),
            _ => point.group(&self.claim.class, &self.claim.only),
        }
    }

    /// What these are compared with, at a point of the baseline.
    fn baseline_group(self, point: usize) -> Option<&'a ClassSummary> {
        match self.claim.baseline_class {
            Some(class) => Some(self.summary.points[point].coflow_class(class)),
            None => self.group(point),
        }
    }

    fn values_of(self, point: usize, group: Option<&ClassSummary>) -> BySeed {
        let of_group = |of: &dyn Fn(&SeedStats) -> Option<f64>| {
            let seeds = group.into_iter().flat_map(|group| self.first(&group.seeds));
            seeds.filter_map(|seed| Some((seed.seed, of(seed)?))).collect()
        };
        let of_runs = |of: &dyn Fn(&Run) -> Option<f64>| {
            let runs = self.manifest.runs_of(point).take(self.seeds);
            runs.filter_map(|run| Some((run.seed, of(run)?))).collect()
        };
        match self.claim.figure {
            Figure::Flows(statistic, metric) | Figure::Coflows(statistic, metric) => {
                of_group(&|seed| seed.get(metric, statistic))
            }
            Figure::Variation => of_group(&|seed| seed.fct_variation),
            Figure::Held => of_group(&|seed| seed.disorder.held_mean_bytes()),
            Figure::TimedOut => of_group(&|seed| Some(seed.disorder.timed_out as f64)),
            Figure::Share(step) => of_group(&|seed| seed.breakdown.share(step)),
            Figure::Fairness => of_group(&|seed| seed.fairness),
            Figure::Count(count) => of_runs(&|run| count.of(&run.measured)),
            Figure::Series => of_runs(&|run| run.claimed_series.get(&self.claim.id).copied()),
        }
    }

    fn ratio(self, pair: &Pair) -> Option<Ratio> {
        Ratio::as_sure(self.sureness, &pair.seeds.iter().map(|&(_, a, b)| (a, b)).collect::<Vec<_>>())
    }

    /// The mean of the ratios of all pairs in each seed that all of them have.
    fn mean_over(self, pairs: &[Pair]) -> Option<Ratio> {
        let seeds = pairs.first()?.seeds.iter().map(|(seed, ..)| *seed);
        let of = |seed: u64| -> Option<Vec<(f64, f64)>> {
            let at = |pair: &Pair| pair.seeds.iter().find(|other| other.0 == seed).map(|&(_, a, b)| (a, b));
            pairs.iter().map(at).collect()
        };
        Ratio::of_means(self.sureness, &seeds.filter_map(of).collect::<Vec<_>>())
    }

    /// The mean over the points in each seed that all of them have.
    fn mean_of(self, points: &[BySeed]) -> Option<Estimate> {
        Estimate::as_sure(self.sureness, &means(points))
    }
}

/// By seed that all points have: the mean over these.
fn means(points: &[BySeed]) -> Vec<f64> {
    let of = |&(seed, _): &(u64, f64)| -> Option<f64> {
        let at = |point: &BySeed| point.iter().find(|other| other.0 == seed).map(|(_, value)| *value);
        let values: Vec<f64> = points.iter().map(at).collect::<Option<_>>()?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    };
    points.first().into_iter().flatten().filter_map(of).collect()
}

fn worst(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::Agrees | Verdict::SameDirection => 0,
        Verdict::NotResolved | Verdict::NotMeasured => 1,
        Verdict::Disagrees | Verdict::OtherDirection => 2,
    };
    verdicts.max_by_key(rank).unwrap_or(Verdict::NotResolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worst__one_load_can_refute() {
        use Verdict::{Agrees, Disagrees, NotResolved};
        assert_eq!(worst([Agrees, Agrees].into_iter()), Agrees);
        assert_eq!(worst([Agrees, NotResolved].into_iter()), NotResolved);
        assert_eq!(worst([Disagrees, NotResolved, Agrees].into_iter()), Disagrees);
        assert_eq!(worst([].into_iter()), NotResolved);
    }

    #[test]
    fn means__over_the_points_of_each_seed() {
        let points = [vec![(1, 2.0), (2, 4.0), (3, 9.0)], vec![(2, 6.0), (1, 4.0)]];
        assert_eq!(means(&points), [3.0, 5.0], "seed 3 is not everywhere");
        assert!(means(&[vec![(1, 2.0)], vec![]]).is_empty());
        assert!(means(&[]).is_empty());
    }
}
