//! Holds a claim against a result.

use super::{Checked, Claim, Expected, Figure, Verdict, verdict};
use crate::statistics::{Estimate, Ratio};
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
        verdict: Verdict::NotResolved,
        why: why.into(),
    }
}

const ONE_SEED: &str = "one seed has no interval";

impl Claim {
    /// Holds the claim against a result.
    pub fn check(&self, manifest: &Manifest, summary: &Summary) -> Checked {
        if self.stand_in.is_none() {
            return self.check_stated(manifest, summary);
        }
        let Some((expected, tolerance)) = self.expected.direction() else {
            let why = "a stand-in tells no value, and the claim has no direction".to_owned();
            return Checked { verdict: Verdict::NotResolved, why, ..self.check_stated(manifest, summary) };
        };
        let checked = Claim { expected, tolerance, ..self.clone() }.check_stated(manifest, summary);
        let verdict = match checked.verdict {
            Verdict::Agrees => Verdict::SameDirection,
            Verdict::Disagrees => Verdict::OtherDirection,
            other => other,
        };
        Checked { verdict, ..checked }
    }

    /// The same for what it states.
    fn check_stated(&self, manifest: &Manifest, summary: &Summary) -> Checked {
        let experiment = &manifest.experiment;
        let schemes = || [&self.scheme].into_iter().chain(&self.baselines);
        let points: Vec<Vec<usize>> = schemes().map(|scheme| self.points(experiment, scheme)).collect();
        if points.iter().any(Vec::is_empty) {
            return unresolved("not run");
        }
        if let Some(why) = points.iter().flatten().find_map(|&point| self.missing(summary, point)) {
            return unresolved(why);
        }
        let values = || {
            let mean = |(scheme, points): (&String, &Vec<usize>)| {
                let by_point: Vec<BySeed> = points.iter().map(|&point| self.values(manifest, summary, point)).collect();
                Some((scheme.clone(), mean_of(&by_point)?))
            };
            schemes().zip(&points).map(mean).collect::<Option<Vec<_>>>()
        };
        match self.expected {
            Expected::Value(_) | Expected::Within(..) => self.check_value(manifest, summary, &points[0], values()),
            Expected::Rising | Expected::Close => self.check_order(manifest, summary, values()),
            _ => self.check_ratio(manifest, summary),
        }
    }

    fn check_ratio(&self, manifest: &Manifest, summary: &Summary) -> Checked {
        let pairs = self.pairs(manifest, summary, &self.scheme, self.baselines.first().unwrap_or(&self.scheme));
        if pairs.is_empty() {
            return unresolved("not run");
        }
        let by_load: Option<Vec<_>> = pairs.iter().map(|pair| Some((pair.load, pair.ratio()?))).collect();
        let (Some(by_load), Some(mean)) = (by_load, mean_over(&pairs)) else {
            return unresolved("nothing to compare at one of its points");
        };
        let accepted = self.expected.accepted(self.tolerance);
        let judge = |ratio: &Ratio| match ratio.interval {
            // On no side, even if it is 1 in every seed.
            Some((low, high)) if self.stand_in.is_some() && low <= 1.0 && 1.0 <= high => Verdict::NotResolved,
            interval => verdict(interval, accepted),
        };
        let (ratio, load, verdict) = match self.expected {
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

    fn check_value(
        &self,
        manifest: &Manifest,
        summary: &Summary,
        points: &[usize],
        values: Option<Vec<(String, Estimate)>>,
    ) -> Checked {
        let at = |&point: &usize| {
            let values: Vec<f64> = self.values(manifest, summary, point).into_iter().map(|(_, value)| value).collect();
            Some((manifest.experiment.points[point].load, Estimate::over_seeds(&values)?))
        };
        let by_load: Option<Vec<_>> = points.iter().map(at).collect();
        let (Some(values), Some(values_by_load)) = (values, by_load) else {
            return unresolved("there is no value at one of its points");
        };
        let accepted = self.expected.accepted(self.tolerance);
        let judge = |value: &Estimate| verdict(value.interval(), accepted);
        let verdict = match self.expected {
            Expected::Within(..) => worst(values_by_load.iter().map(|(_, value)| judge(value))),
            _ => worst(values.iter().map(|(_, value)| judge(value))),
        };
        let why = if values_by_load.iter().any(|(_, value)| value.half_width.is_none()) { ONE_SEED } else { "" };
        Checked { values, values_by_load, verdict, ..unresolved(why) }
    }

    fn check_order(&self, manifest: &Manifest, summary: &Summary, values: Option<Vec<(String, Estimate)>>) -> Checked {
        let schemes: Vec<&String> = [&self.scheme].into_iter().chain(&self.baselines).collect();
        let accepted = self.expected.accepted(self.tolerance);
        let (mut by_load, mut verdicts, mut failing) = (Vec::new(), Vec::new(), Vec::new());
        for (index, scheme) in schemes.iter().enumerate() {
            // What rises from each to the next does so from each to any later one.
            let others = if self.expected == Expected::Rising { 1 } else { schemes.len() };
            for other in schemes.iter().skip(index + 1).take(others) {
                let pairs = self.pairs(manifest, summary, scheme, other);
                if pairs.is_empty() {
                    return unresolved("not run");
                }
                for pair in pairs {
                    let Some(ratio) = pair.ratio() else {
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

    /// The value that it is about in the series of a run, under its id; `None` unless it is of one that is there.
    pub(crate) fn of_series(&self, series: &[Series]) -> Option<(String, f64)> {
        Some((self.id.clone(), self.series.as_ref()?.value(series)?))
    }

    /// Why nothing can be said of a point, if nothing can.
    fn missing(&self, summary: &Summary, point: usize) -> Option<&'static str> {
        let group = self.group(summary, point);
        let told =
            |sketched: bool| (sketched && !summary.points[point].exact).then_some("sketches of flows do not tell it");
        let finished = || group.is_some_and(|group| group.unfinished() > 0).then_some("flows did not finish");
        match self.figure {
            Figure::Coflows(..) => {
                let groups = [group, self.baseline_group(summary, point)];
                let unfinished = groups.iter().flatten().any(|coflows| coflows.unfinished() > 0);
                unfinished.then_some("coflows did not finish")
            }
            // Flows that did not finish are among those that missed their deadline.
            Figure::Series | Figure::Count(Count::MissedDeadlines | Count::DeadlinesMet) => None,
            figure => told(figure == Figure::Fairness || !self.only.is_all()).or_else(finished),
        }
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

    fn pairs(&self, manifest: &Manifest, summary: &Summary, scheme: &str, baseline: &str) -> Vec<Pair> {
        let experiment = &manifest.experiment;
        let pairs = experiment.pairs(scheme, baseline).into_iter().filter(|&(point, _)| self.is_at(experiment, point));
        let of = |(point, baseline): (usize, usize)| {
            // A ratio to nothing, or of nothing, has no logarithm.
            let positive = |point, group| {
                let values = self.values_of(manifest, point, group);
                values.into_iter().filter(|(_, value)| *value > 0.0).collect::<BySeed>()
            };
            let others = positive(baseline, self.baseline_group(summary, baseline));
            let both = |(seed, value)| others.iter().find(|other| other.0 == seed).map(|other| (seed, value, other.1));
            Pair {
                load: experiment.points[point].load,
                seeds: positive(point, self.group(summary, point)).into_iter().filter_map(both).collect(),
            }
        };
        pairs.map(of).collect()
    }

    /// The flows, or the coflows, that it is about.
    fn group<'a>(&self, summary: &'a Summary, point: usize) -> Option<&'a ClassSummary> {
        let point = &summary.points[point];
        match self.figure {
            Figure::Coflows(..) => point.coflows_of(&self.coflow_group()),
            _ => point.group(&self.class, &self.only),
        }
    }

    /// What these are compared with, at a point of the baseline.
    fn baseline_group<'a>(&self, summary: &'a Summary, point: usize) -> Option<&'a ClassSummary> {
        match self.baseline_class {
            Some(class) => Some(summary.points[point].coflow_class(class)),
            None => self.group(summary, point),
        }
    }

    fn values(&self, manifest: &Manifest, summary: &Summary, point: usize) -> BySeed {
        self.values_of(manifest, point, self.group(summary, point))
    }

    fn values_of(&self, manifest: &Manifest, point: usize, group: Option<&ClassSummary>) -> BySeed {
        let of_group = |of: &dyn Fn(&SeedStats) -> Option<f64>| {
            let seeds = group.into_iter().flat_map(|group| &group.seeds);
            seeds.filter_map(|seed| Some((seed.seed, of(seed)?))).collect()
        };
        let of_runs = |of: &dyn Fn(&Run) -> Option<f64>| {
            manifest.runs_of(point).filter_map(|run| Some((run.seed, of(run)?))).collect()
        };
        match self.figure {
            Figure::Flows(statistic, metric) | Figure::Coflows(statistic, metric) => {
                of_group(&|seed| seed.get(metric, statistic))
            }
            Figure::Variation => of_group(&|seed| seed.fct_variation),
            Figure::Held => of_group(&|seed| seed.disorder.held_mean_bytes()),
            Figure::Share(step) => of_group(&|seed| seed.breakdown.share(step)),
            Figure::Fairness => of_group(&|seed| seed.fairness),
            Figure::Count(count) => of_runs(&|run| count.of(&run.measured)),
            Figure::Series => of_runs(&|run| run.claimed_series.get(&self.id).copied()),
        }
    }
}

impl Pair {
    fn ratio(&self) -> Option<Ratio> {
        Ratio::paired(&self.seeds.iter().map(|&(_, a, b)| (a, b)).collect::<Vec<_>>())
    }
}

/// The mean of the ratios of all pairs in each seed that all of them have.
fn mean_over(pairs: &[Pair]) -> Option<Ratio> {
    let seeds = pairs.first()?.seeds.iter().map(|(seed, ..)| *seed);
    let of = |seed: u64| -> Option<Vec<(f64, f64)>> {
        let at = |pair: &Pair| pair.seeds.iter().find(|other| other.0 == seed).map(|&(_, a, b)| (a, b));
        pairs.iter().map(at).collect()
    };
    Ratio::of_means(&seeds.filter_map(of).collect::<Vec<_>>())
}

/// The mean over the points in each seed that all of them have.
fn mean_of(points: &[BySeed]) -> Option<Estimate> {
    let of = |&(seed, _): &(u64, f64)| -> Option<f64> {
        let at = |point: &BySeed| point.iter().find(|other| other.0 == seed).map(|(_, value)| *value);
        let values: Vec<f64> = points.iter().map(at).collect::<Option<_>>()?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    };
    Estimate::over_seeds(&points.first()?.iter().filter_map(of).collect::<Vec<_>>())
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
    fn mean_of__over_the_points_of_each_seed() {
        let points = [vec![(1, 2.0), (2, 4.0), (3, 9.0)], vec![(2, 6.0), (1, 4.0)]];
        let mean = mean_of(&points).unwrap();
        // Seed by seed 3 and 5; seed 3 is not everywhere.
        assert_eq!(mean.value, 4.0);
        assert!(mean.half_width.is_some());
        assert_eq!(mean_of(&[vec![(1, 2.0)], vec![]]), None);
    }
}
