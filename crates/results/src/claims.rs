//! What a paper says of two schemes, and whether a result bears it out.
//!
//! A claim is about the ratio of a scheme's figure to a baseline's, over the same flows. It accepts a set of ratios: a
//! stated change give or take a tolerance, a range, or whatever lies below or above 1. What was measured is a ratio with a
//! 95 % interval over seeds:
//!
//! | interval | verdict |
//! | --- | --- |
//! | inside the set | agrees |
//! | outside of it altogether | disagrees |
//! | across its edge, or none (one seed) | not resolved |
//!
//! A claim over several loads is of the mean of the ratios at these, taken in each seed. A range has to hold at each
//! load. An "up to" is judged at the load where the ratio is the most extreme.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::classes::SizeClass;
use crate::statistics::{Ratio, Statistic};
use crate::summary::{Metric, Summary};
use crate::{Axis, Experiment, Manifest, PointResult, Run};

/// A figure that claims are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// A statistic of the flows of a class.
    Flows(Statistic, Metric),
    /// A count over whole runs.
    Count(Count),
}

/// What is counted in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Retransmission timeouts.
    Timeouts,
    /// Data packets sent again.
    Retransmissions,
    /// Data packets that arrived out of order.
    OutOfOrder,
    /// Packets lost of any cause.
    Drops,
    /// Packets that got an ECN mark.
    Marks,
    /// Flows that missed their deadline.
    MissedDeadlines,
}

impl Count {
    const ALL: [(Count, &'static str); 6] = [
        (Count::Timeouts, "timeouts"),
        (Count::Retransmissions, "retransmissions"),
        (Count::OutOfOrder, "out of order"),
        (Count::Drops, "drops"),
        (Count::Marks, "marks"),
        (Count::MissedDeadlines, "missed deadlines"),
    ];

    fn of(self, run: &PointResult) -> u64 {
        match self {
            Count::Timeouts => run.timeouts,
            Count::Retransmissions => run.retransmissions,
            Count::OutOfOrder => run.out_of_order,
            Count::Drops => run.links.iter().map(|link| link.drops.total()).sum(),
            Count::MissedDeadlines => run.deadlines.missed,
            Count::Marks => run.links.iter().map(|link| link.marks).sum(),
        }
    }
}

impl Figure {
    /// Every figure, in the order in which they are listed.
    pub fn all() -> impl Iterator<Item = Figure> {
        let of = |metric| Statistic::ALL.map(|statistic| Figure::Flows(statistic, metric));
        Metric::ALL.into_iter().flat_map(of).chain(Count::ALL.map(|(count, _)| Figure::Count(count)))
    }

    /// Its name in files: `mean fct`, `p99 slowdown`, `timeouts` …
    pub fn name(self) -> String {
        match self {
            Figure::Flows(statistic, metric) => format!("{} {}", statistic.name(), metric.name()),
            Figure::Count(count) => Count::ALL.iter().find(|(other, _)| *other == count).map_or("", |it| it.1).into(),
        }
    }
}

/// As data a figure is its name.
impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Figure, D::Error> {
        let name = String::deserialize(from)?;
        Figure::all()
            .find(|figure| figure.name() == name)
            .ok_or_else(|| D::Error::custom(format!("no figure {name:?}")))
    }
}

/// What a claim says of the ratio. Changes are shares: −0.4 is 40 % less.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// A change, over all loads together.
    Change(f64),
    /// A change between two, at each load.
    Between(f64, f64),
    /// A change at the load where it is the most extreme, in its own direction.
    UpTo(f64),
    /// Less than the baseline.
    Lower,
    /// More than the baseline.
    Higher,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Its name, unique in the experiment.
    pub id: String,
    /// Where the paper says it: "Fig 10".
    pub place: String,
    /// What of.
    pub figure: Figure,
    /// Flows of which sizes.
    pub class: SizeClass,
    /// The scheme.
    pub scheme: String,
    /// What it is compared with.
    pub baseline: String,
    /// The loads; none: all of the sweep.
    pub loads: Vec<f64>,
    /// Values of other swept keys; none: all of the sweep.
    pub at: Vec<Axis>,
    /// What the paper says.
    pub expected: Expected,
    /// How much a measured change may differ from a stated one, as a share of the baseline.
    pub tolerance: f64,
    /// What else is to be said of it.
    pub note: String,
}

/// Whether a result bears a claim out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval is what the claim says.
    Agrees,
    /// None of it is.
    Disagrees,
    /// Neither.
    NotResolved,
}

impl Verdict {
    /// As tables say it.
    pub fn in_words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Disagrees => "disagrees",
            Verdict::NotResolved => "not resolved",
        }
    }
}

/// A claim beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// What was measured: over all loads together, or at the most extreme one for an "up to".
    pub ratio: Option<Ratio>,
    /// The load at which an "up to" was judged.
    pub load: Option<f64>,
    /// By load (and by case, where there are several).
    pub by_load: Vec<(Option<f64>, Ratio)>,
    /// Whether that is what the claim says.
    pub verdict: Verdict,
    /// Why it is not resolved, where more than the width of the interval stands in the way; else empty.
    pub why: String,
}

impl Expected {
    /// The ratios that it accepts.
    fn accepted(self, tolerance: f64) -> (f64, f64) {
        match self {
            Expected::Change(change) | Expected::UpTo(change) => (1.0 + change - tolerance, 1.0 + change + tolerance),
            Expected::Between(low, high) => (1.0 + low - tolerance, 1.0 + high + tolerance),
            Expected::Lower => (f64::NEG_INFINITY, 1.0),
            Expected::Higher => (1.0, f64::INFINITY),
        }
    }
}

/// Whether an interval lies in a set, out of it, or across its edge.
pub fn verdict(ratio: &Ratio, accepted: (f64, f64)) -> Verdict {
    match ratio.interval {
        Some((low, high)) if accepted.0 <= low && high <= accepted.1 => Verdict::Agrees,
        Some((low, high)) if high < accepted.0 || accepted.1 < low => Verdict::Disagrees,
        _ => Verdict::NotResolved,
    }
}

/// Two points that a claim compares: (value, baseline) by seed.
struct Pair {
    load: Option<f64>,
    seeds: Vec<(u64, f64, f64)>,
}

impl Claim {
    /// Holds the claim against a result.
    pub fn check(&self, manifest: &Manifest, summary: &Summary) -> Checked {
        let unresolved = |why: &str| Checked {
            ratio: None,
            load: None,
            by_load: Vec::new(),
            verdict: Verdict::NotResolved,
            why: why.into(),
        };
        let points = self.points(&manifest.experiment);
        if points.is_empty() {
            return unresolved("not run");
        }
        let unfinished = |point: usize| summary.points[point].class(&self.class).map_or(0, |class| class.unfinished());
        if points.iter().any(|&(scheme, baseline)| unfinished(scheme) + unfinished(baseline) > 0) {
            return unresolved("flows did not finish");
        }
        let pairs: Vec<Pair> =
            points.iter().map(|&(scheme, baseline)| self.pair(manifest, summary, scheme, baseline)).collect();
        let of = |pair: &Pair| Ratio::paired(&pair.seeds.iter().map(|&(_, a, b)| (a, b)).collect::<Vec<_>>());
        let by_load: Option<Vec<_>> = pairs.iter().map(|pair| Some((pair.load, of(pair)?))).collect();
        let (Some(by_load), Some(mean)) = (by_load, mean_over(&pairs)) else {
            return unresolved("nothing to compare at one of its points");
        };
        let accepted = self.expected.accepted(self.tolerance);
        let (ratio, load, verdict) = match self.expected {
            Expected::UpTo(change) => {
                let sign = change.signum();
                let extreme = by_load.iter().max_by(|a, b| (sign * a.1.value).total_cmp(&(sign * b.1.value)));
                let (load, ratio) = extreme.map_or((None, mean), |&(load, ratio)| (load, ratio));
                (ratio, load, verdict(&ratio, accepted))
            }
            Expected::Between(..) => (mean, None, worst(by_load.iter().map(|(_, ratio)| verdict(ratio, accepted)))),
            _ => (mean, None, verdict(&mean, accepted)),
        };
        let why = if ratio.interval.is_none() { "one seed has no interval" } else { "" };
        Checked { ratio: Some(ratio), load, by_load, verdict, why: why.into() }
    }

    /// The points that it compares.
    pub fn points(&self, experiment: &Experiment) -> Vec<(usize, usize)> {
        let wanted = |&(point, _): &(usize, usize)| {
            let point = &experiment.points[point];
            let load = self.loads.is_empty() || point.load.is_some_and(|load| self.loads.contains(&load));
            load && self.at.iter().all(|axis| point.axes.contains(axis))
        };
        experiment.pairs(&self.scheme, &self.baseline).into_iter().filter(wanted).collect()
    }

    fn pair(&self, manifest: &Manifest, summary: &Summary, scheme: usize, baseline: usize) -> Pair {
        let values = |point: usize| -> Vec<(u64, f64)> {
            match self.figure {
                Figure::Flows(statistic, metric) => {
                    let class = summary.points[point].class(&self.class);
                    let seeds = class.into_iter().flat_map(|class| &class.seeds);
                    seeds.filter_map(|seed| Some((seed.seed, seed.get(metric, statistic)?))).collect()
                }
                Figure::Count(count) => {
                    let value = |run: &Run| (run.seed, count.of(&run.measured) as f64);
                    // A ratio to nothing, or of nothing, has no logarithm.
                    manifest.runs_of(point).map(value).filter(|(_, value)| *value > 0.0).collect()
                }
            }
        };
        let others = values(baseline);
        let both = |(seed, value)| others.iter().find(|other| other.0 == seed).map(|other| (seed, value, other.1));
        Pair {
            load: manifest.experiment.points[scheme].load,
            seeds: values(scheme).into_iter().filter_map(both).collect(),
        }
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

fn worst(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::Agrees => 0,
        Verdict::NotResolved => 1,
        Verdict::Disagrees => 2,
    };
    verdicts.max_by_key(rank).unwrap_or(Verdict::NotResolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, high: f64) -> Ratio {
        Ratio { value: (low + high) / 2.0, interval: Some((low, high)) }
    }

    #[test]
    fn verdict__table() {
        let judge = |expected: Expected, low: f64, high: f64| verdict(&ratio(low, high), expected.accepted(0.05));
        let change = Expected::Change(-0.4);
        let table = [
            (change, (0.56, 0.64), Verdict::Agrees),
            (change, (0.50, 0.64), Verdict::NotResolved),
            (change, (0.40, 0.80), Verdict::NotResolved),
            (change, (0.70, 0.80), Verdict::Disagrees),
            (change, (0.30, 0.54), Verdict::Disagrees),
            (Expected::Between(-0.4, -0.2), (0.56, 0.84), Verdict::Agrees),
            (Expected::Between(-0.4, -0.2), (0.80, 0.90), Verdict::NotResolved),
            (Expected::Between(-0.4, -0.2), (0.86, 0.90), Verdict::Disagrees),
            (Expected::UpTo(-0.4), (0.56, 0.64), Verdict::Agrees),
            (Expected::Lower, (0.90, 0.99), Verdict::Agrees),
            (Expected::Lower, (0.90, 1.01), Verdict::NotResolved),
            (Expected::Lower, (1.01, 1.10), Verdict::Disagrees),
            (Expected::Higher, (1.01, 1.10), Verdict::Agrees),
            (Expected::Higher, (0.90, 0.99), Verdict::Disagrees),
        ];
        for (expected, (low, high), is) in table {
            assert_eq!(judge(expected, low, high), is, "{expected:?} of {low}..{high}");
        }
        let one_seed = Ratio { value: 0.6, interval: None };
        assert_eq!(verdict(&one_seed, change.accepted(0.05)), Verdict::NotResolved);
    }

    #[test]
    fn worst__one_load_can_refute() {
        use Verdict::{Agrees, Disagrees, NotResolved};
        assert_eq!(worst([Agrees, Agrees].into_iter()), Agrees);
        assert_eq!(worst([Agrees, NotResolved].into_iter()), NotResolved);
        assert_eq!(worst([Disagrees, NotResolved, Agrees].into_iter()), Disagrees);
        assert_eq!(worst([].into_iter()), NotResolved);
    }

    #[test]
    fn name__each_figure_has_its_own_and_comes_back() {
        let names: Vec<String> = Figure::all().map(Figure::name).collect();
        assert!(names.contains(&"p99.9 slowdown".to_string()) && names.contains(&"out of order".to_string()));
        for figure in Figure::all() {
            let text = serde_json::to_string(&figure).unwrap();
            assert_eq!(serde_json::from_str::<Figure>(&text).unwrap(), figure);
        }
        assert_eq!(names.len(), 16);
        assert!(serde_json::from_str::<Figure>("\"speed\"").is_err());
    }
}
