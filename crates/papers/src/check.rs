//! Compares a claim with the measured values.

use crate::claim::{Checked, Claim, Expected, LEAST_SHARE, Verdict, verdict};
use flowsieve_results::looks::{LOOKS, Look, look_by_look};
use flowsieve_results::measured::{Measured, Quantity};
use flowsieve_results::paired::{Pair, View};
use flowsieve_results::{Estimate, Experiment, Ratio, Sureness};
use std::collections::BTreeSet;

fn unresolved(why: impl Into<String>) -> Checked {
    Checked { why: why.into(), ..Checked::default() }
}

impl Claim {
    /// Compares the claim with the measured values: over all seeds or, if seeds are added until claims are resolved, at the
    /// look at which it was resolved.
    pub fn check(&self, experiment: &Experiment, measured: &Measured) -> Checked {
        let have = self.seeds(experiment, measured);
        let hold = |seeds, sureness| self.hold(experiment, measured, seeds, sureness);
        let is_resolved = |held: &Checked| held.verdict != Verdict::NotResolved;
        let (look, held) = look_by_look(experiment.looks.then_some(have), hold, is_resolved);
        if have >= LOOKS[0].seeds {
            return Checked { seeds: look.or(Some(have)), ..held };
        }
        let few = format!("{have} seed{} of {}; {}", if have == 1 { "" } else { "s" }, LOOKS[0].seeds, held.why);
        Checked { verdict: Verdict::NotJudged, why: few.trim_end_matches("; ").into(), ..held }
    }

    /// After how many seeds, up to twice the available ones, it will be resolved if further ones deviate like these; `None`: at
    /// no such look. Half an interval becomes narrower by a factor of about √2 with twice the seeds. If it would then
    /// still cross the edge of what the claim accepts, the measured value lies so near to that edge that more seeds are
    /// a poor use of time. The deviation of a few seeds is too rough an estimate to foresee more than that.
    pub fn seeds_to_resolve(&self, experiment: &Experiment, measured: &Measured) -> Option<usize> {
        let seeds = self.seeds(experiment, measured);
        let resolves = |look: &&Look| {
            let sureness = Sureness { missed: look.missed, as_if: Some(look.seeds), ..Sureness::USUAL };
            self.hold(experiment, measured, usize::MAX, sureness).verdict != Verdict::NotResolved
        };
        let next = |look: &&Look| seeds < look.seeds && look.seeds <= 2 * seeds;
        LOOKS.iter().filter(next).find(resolves).map(|look| look.seeds)
    }

    /// The points that it is about.
    pub fn all_points(&self, experiment: &Experiment) -> Vec<usize> {
        let schemes = [&self.scheme].into_iter().chain(&self.baselines);
        let mut points: Vec<usize> = schemes.flat_map(|scheme| self.points(experiment, scheme)).collect();
        points.sort_unstable();
        points.dedup();
        points
    }

    /// Whether each of its schemes has a point.
    pub(crate) fn has_points(&self, experiment: &Experiment) -> bool {
        let mut schemes = [&self.scheme].into_iter().chain(&self.baselines);
        schemes.all(|scheme| !self.points(experiment, scheme).is_empty())
    }

    /// The number of seeds that all of its points have.
    fn seeds(&self, experiment: &Experiment, measured: &Measured) -> usize {
        let seeds = |point: usize| measured.rows(point).iter().map(|row| row.seed).collect::<BTreeSet<u64>>();
        self.all_points(experiment).into_iter().map(seeds).reduce(|one, other| &one & &other).map_or(0, |all| all.len())
    }

    fn hold(&self, experiment: &Experiment, measured: &Measured, seeds: usize, sureness: Sureness) -> Checked {
        let view = View { experiment, measured, seeds, sureness };
        let hold = |claim: &Claim| Hold { claim, view }.check();
        if self.stand_in.is_none() {
            return hold(self);
        }
        let of_share = |share| {
            let (expected, tolerance) = self.expected.direction(share)?;
            Some(hold(&Claim { expected, tolerance, ..self.clone() }))
        };
        let (Some(side), Some(size)) = (of_share(0.0), of_share(LEAST_SHARE)) else {
            let why = "a stand-in gives no value, and the claim has no direction".to_owned();
            return Checked { verdict: Verdict::NotResolved, why, ..hold(self) };
        };
        let verdict = match (side.verdict, size.verdict) {
            (Verdict::Agrees, Verdict::Agrees) => Verdict::SameDirection,
            (Verdict::Agrees, Verdict::Disagrees) => Verdict::Weaker,
            (Verdict::Agrees, _) => {
                let why = "the claimed direction, with about a third of the size".to_owned();
                return Checked { verdict: Verdict::NotResolved, why, ..side };
            }
            (Verdict::Disagrees, _) => Verdict::OtherDirection,
            (other, _) => other,
        };
        Checked { verdict, ..side }
    }

    /// What its ideal scheme has in its scheme's place, if even that falls short of the claim, and off it: for a stand-in, short
    /// of a third of its size. A scheme that does worse than the claim's own, or better than claimed, bounds nothing.
    pub(crate) fn ideal(&self, experiment: &Experiment, measured: &Measured) -> Option<Checked> {
        let ideal = self.ideal.clone()?;
        let check = |(expected, tolerance), scheme: &str, baselines: &[String]| {
            let (scheme, baselines) = (scheme.to_owned(), baselines.to_vec());
            let claim = Claim { scheme, baselines, expected, tolerance, stand_in: None, acts: None, ..self.clone() };
            claim.check(experiment, measured)
        };
        let misses =
            |expected| Some(check(expected, &ideal, &self.baselines)).filter(|its| its.verdict == Verdict::Disagrees);
        let is_worse =
            check(self.expected.direction(0.0)?, &self.scheme, std::slice::from_ref(&ideal)).verdict == Verdict::Agrees;
        let short = misses(self.expected.direction(if self.stand_in.is_some() { LEAST_SHARE } else { 1.0 })?)?;
        match self.stand_in {
            _ if is_worse => None,
            Some(_) => Some(short),
            None => misses((self.expected, self.tolerance)),
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
}

/// A claim that is compared with the measured values.
#[derive(Clone, Copy)]
struct Hold<'a> {
    claim: &'a Claim,
    view: View<'a>,
}

impl Hold<'_> {
    /// The check for the kind of its expectation.
    fn check(self) -> Checked {
        let schemes = || [&self.claim.scheme].into_iter().chain(&self.claim.baselines);
        let points: Vec<Vec<usize>> = schemes().map(|scheme| self.claim.points(self.view.experiment, scheme)).collect();
        if points.iter().any(Vec::is_empty) {
            return unresolved("not run");
        }
        let (its, baseline) = (&self.claim.quantity, self.claim.quantity_of_baseline());
        let missing = |&point: &usize| self.view.missing(point, its).or_else(|| self.view.missing(point, &baseline));
        if let Some(why) = points.iter().flatten().find_map(missing) {
            return unresolved(why);
        }
        if let Some(why) = self.idle(&points) {
            return Checked { verdict: Verdict::NotTested, ..unresolved(why) };
        }
        let values = || {
            let mean = |(scheme, points): (&String, &Vec<usize>)| Some((scheme.clone(), self.mean_of(points)?));
            schemes().zip(&points).map(mean).collect::<Option<Vec<_>>>()
        };
        match self.claim.expected {
            Expected::Value(_) | Expected::Within(..) => self.check_value(&points[0], values()),
            Expected::Rising | Expected::Close => self.check_order(values()),
            _ => self.check_ratio(),
        }
    }

    /// In how many runs the mechanism that the claim is about did not act, in words, if there are any. For an order these are
    /// the runs of all its schemes, else those of the scheme alone: a baseline may have no such mechanism.
    fn idle(self, points: &[Vec<usize>]) -> Option<String> {
        let figure = self.claim.acts?;
        let least = figure.idle()?;
        let is_order = matches!(self.claim.expected, Expected::Rising | Expected::Close);
        let acting = if is_order { points } else { points.get(..1)? };
        let quantity = Quantity::of_all_flows(figure);
        let (mut runs, mut idle) = (0, 0);
        for &point in acting.iter().flatten() {
            for (_, found) in self.view.found(point, &quantity) {
                runs += 1;
                idle += usize::from(found.value().is_none_or(|count| count <= least));
            }
        }
        let counted = if least > 0.0 { format!("no more than {least}") } else { "none".to_owned() };
        (idle > 0).then(|| format!("{}: {counted} in {idle} of {runs} runs", figure.name()))
    }

    fn check_ratio(self) -> Checked {
        let Claim { scheme, baselines, expected, tolerance, stand_in, .. } = self.claim;
        let (its, baseline) = (&self.claim.quantity, self.claim.quantity_of_baseline());
        let pairs_of =
            |quantity: &Quantity| self.pairs((scheme, quantity), (baselines.first().unwrap_or(scheme), &baseline));
        let pairs = pairs_of(its);
        if pairs.is_empty() {
            return unresolved("not run");
        }
        let by_load: Option<Vec<_>> = pairs.iter().map(|pair| Some((pair.load, self.view.ratio(pair)?))).collect();
        let (Some(by_load), Some(mean)) = (by_load, self.view.mean_over(&pairs)) else {
            return unresolved("nothing to compare at one of its points");
        };
        let accepted = expected.accepted(*tolerance);
        let bound = its.ideal().and_then(|ideal| self.bound(&pairs_of(&ideal)));
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
        Checked { ratio: Some(ratio), bound, load, by_load, verdict, ..Checked::default() }
    }

    /// The least ratio that any scheme could have: over all loads together, or for an "up to" at the load where it is least.
    fn bound(self, pairs: &[Pair]) -> Option<Ratio> {
        if let Expected::UpTo(_) = self.claim.expected {
            let by_load = pairs.iter().map(|pair| self.view.ratio(pair)).collect::<Option<Vec<_>>>()?;
            return by_load.into_iter().min_by(|a, b| a.value.total_cmp(&b.value));
        }
        self.view.mean_over(pairs)
    }

    fn check_value(self, points: &[usize], values: Option<Vec<(String, Estimate)>>) -> Checked {
        let at = |&point: &usize| Some((self.view.experiment.points[point].load, self.mean_of(&[point])?));
        let by_load: Option<Vec<_>> = points.iter().map(at).collect();
        let (Some(values), Some(values_by_load)) = (values, by_load) else {
            return unresolved("there is no value at one of its points");
        };
        let accepted = self.claim.expected.accepted(self.claim.tolerance);
        let judge = |value: &Estimate| verdict(value.interval, accepted);
        let verdict = match self.claim.expected {
            Expected::Within(..) => worst(values_by_load.iter().map(|(_, value)| judge(value))),
            _ => worst(values.iter().map(|(_, value)| judge(value))),
        };
        Checked { values, values_by_load, verdict, ..Checked::default() }
    }

    fn check_order(self, values: Option<Vec<(String, Estimate)>>) -> Checked {
        let Claim { scheme, baselines, expected, tolerance, .. } = self.claim;
        let its = &self.claim.quantity;
        let schemes: Vec<&String> = [scheme].into_iter().chain(baselines).collect();
        let accepted = expected.accepted(*tolerance);
        let (mut by_load, mut verdicts, mut failing) = (Vec::new(), Vec::new(), Vec::new());
        for (index, scheme) in schemes.iter().enumerate() {
            // A quantity that rises from each scheme to the next rises also from each to any later one.
            let others = if *expected == Expected::Rising { 1 } else { schemes.len() };
            for other in schemes.iter().skip(index + 1).take(others) {
                let pairs = self.pairs((scheme, its), (other, its));
                if pairs.is_empty() {
                    return unresolved("not run");
                }
                for pair in pairs {
                    let Some(ratio) = self.view.ratio(&pair) else {
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
            [] => String::new(),
            [(_, one)] => one.clone(),
            [(_, one), more @ ..] => format!("{one}, and {} more", more.len()),
        };
        Checked { by_load, values: values.unwrap_or_default(), verdict, ..unresolved(why) }
    }

    /// A scheme's values of a quantity paired with a baseline's values of another quantity, or of the same.
    fn pairs(self, its: (&str, &Quantity), other: (&str, &Quantity)) -> Vec<Pair> {
        self.view.pairs(its, other, |point| self.claim.is_at(self.view.experiment, point))
    }

    /// The mean of its quantity over points.
    fn mean_of(self, points: &[usize]) -> Option<Estimate> {
        self.view.measured.mean(points, &self.claim.quantity, self.view.seeds, self.view.sureness)
    }
}

/// The verdict of several: one that disagrees decides, and one that is open leaves all open.
pub(crate) fn worst(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::Agrees | Verdict::SameDirection => 0,
        Verdict::Disagrees | Verdict::OtherDirection => 2,
        _ => 1,
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
}
