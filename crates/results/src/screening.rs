//! Screening: the order of a sweep's points in a sample of receivers, and which of them to run whole.
//!
//! A sample ranks what its flows meet at their receivers: the mean slowdown of all flows and the p99 FCT of the smallest.
//! It does not rank the mean FCT, since that is the mean of a few large flows, of which a sample has too few. Each seed
//! has other receivers, so an interval over seeds is one over samples.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::statistics::{Ratio, Statistic};
use crate::summary::{ClassSummary, Metric, PointSummary, Summary};
use crate::{Experiment, PointInfo};

/// A measure that a sample ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranked {
    /// Of all flows.
    MeanSlowdown,
    /// Of the smallest size class.
    SmallP99,
}

impl Ranked {
    /// Both.
    pub const ALL: [Ranked; 2] = [Ranked::MeanSlowdown, Ranked::SmallP99];

    /// Its class at a point.
    pub fn class(self, point: &PointSummary) -> Option<&ClassSummary> {
        match self {
            Ranked::MeanSlowdown => point.classes.last(),
            Ranked::SmallP99 => point.classes.first(),
        }
    }

    /// Its metric and statistic.
    pub fn measure(self) -> (Metric, Statistic) {
        match self {
            Ranked::MeanSlowdown => (Metric::Slowdown, Statistic::Mean),
            Ranked::SmallP99 => (Metric::Fct, Statistic::P99),
        }
    }

    fn ratio(self, point: &PointSummary, other: &PointSummary) -> Option<Ratio> {
        let (this, other) = (self.class(point)?, self.class(other)?);
        let (metric, statistic) = self.measure();
        (this.unfinished() + other.unfinished() == 0).then(|| this.ratio(other, metric, statistic))?
    }
}

/// A point in an order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// The point.
    pub point: usize,
    /// Its value over that of the best; `None` where it has none, or flows did not finish.
    pub ratio: Option<Ratio>,
}

/// The points with the same flows, in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranking {
    /// By measure, the best point first.
    pub orders: Vec<(Ranked, Vec<Place>)>,
    /// Those to run whole, rising: no measure tells them from its best, or they cannot be ranked.
    pub whole: Vec<usize>,
}

/// Ranks the points of a result with a sample of flows; nothing for any other result. There is a ranking for each set of
/// points with the same flows.
pub fn rankings(experiment: &Experiment, summary: &Summary) -> Vec<Ranking> {
    if experiment.screened().is_none() {
        return Vec::new();
    }
    let mut groups: BTreeMap<Vec<(&str, &str)>, Vec<usize>> = BTreeMap::new();
    for (at, point) in experiment.points.iter().enumerate() {
        groups.entry(flows_of(point)).or_default().push(at);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|points| points.len() > 1).collect();
    groups.sort_unstable();
    groups.iter().map(|points| rank(points, summary)).collect()
}

/// What decides which flows a point sends.
fn flows_of(point: &PointInfo) -> Vec<(&str, &str)> {
    let settings = point.settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    settings.filter(|(key, _)| key.starts_with("workload.") || key.starts_with("topology.")).collect()
}

fn rank(points: &[usize], summary: &Summary) -> Ranking {
    let orders: Vec<(Ranked, Vec<Place>)> =
        Ranked::ALL.into_iter().map(|measure| (measure, order(points, summary, measure))).collect();
    let is_open = |place: &Place| {
        place.ratio.is_none_or(|ratio| ratio.value <= 1.0 || ratio.interval.is_none_or(|(low, _)| low <= 1.0))
    };
    let open = |point: usize| orders.iter().flat_map(|(_, order)| order).any(|it| it.point == point && is_open(it));
    Ranking { whole: points.iter().copied().filter(|&point| open(point)).collect(), orders }
}

fn order(points: &[usize], summary: &Summary, measure: Ranked) -> Vec<Place> {
    let ratio = |point: usize, other: usize| measure.ratio(&summary.points[point], &summary.points[other]);
    let value = |ratio: &Option<Ratio>| ratio.map_or(f64::INFINITY, |ratio| ratio.value);
    // Any point with values can be the reference by which the best is found.
    let Some(&reference) = points.iter().find(|&&point| ratio(point, point).is_some()) else {
        return points.iter().map(|&point| Place { point, ratio: None }).collect();
    };
    let by_reference = |point: &usize| value(&ratio(*point, reference));
    let best = points.iter().copied().min_by(|a, b| by_reference(a).total_cmp(&by_reference(b))).unwrap_or(reference);
    let mut order: Vec<Place> = points.iter().map(|&point| Place { point, ratio: ratio(point, best) }).collect();
    order.sort_by(|a, b| value(&a.ratio).total_cmp(&value(&b.ratio)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{flow, summary_of_points};

    /// Three points with three seeds of two small flows and a large one each, by the FCT in us of each.
    fn ranked(fcts: [[[u64; 3]; 3]; 3], screen: Option<&str>) -> Vec<Ranking> {
        let seed =
            |fct: &[u64; 3]| vec![flow(1_000, Some(fct[0])), flow(1_000, Some(fct[1])), flow(20_000_000, Some(fct[2]))];
        let points = fcts.map(|seeds| seeds.iter().enumerate().map(|(at, fct)| (at as u64 + 1, seed(fct))).collect());
        let point = || PointInfo {
            settings: screen.map(|every| ("workload.screen".to_owned(), every.to_owned())).into_iter().collect(),
            ..PointInfo::default()
        };
        let experiment = Experiment { points: vec![point(), point(), point()], ..Experiment::default() };
        rankings(&experiment, &summary_of_points(points.to_vec()))
    }

    #[test]
    fn rankings__the_best_first_and_what_no_sample_tells_from_it_to_run_whole() {
        let found = ranked(
            [
                [[10, 20, 90], [10, 20, 90], [10, 21, 90]],
                // The same small flows, give or take; the large one is twice as slow.
                [[10, 20, 180], [10, 21, 180], [10, 20, 180]],
                [[30, 60, 270], [30, 60, 270], [30, 63, 270]],
            ],
            Some("8"),
        );
        let [ranking] = &found[..] else { panic!("{found:?}") };
        let order = |at: usize| ranking.orders[at].1.iter().map(|place| place.point).collect::<Vec<_>>();
        assert_eq!((order(0), ranking.orders[0].0), (vec![0, 1, 2], Ranked::MeanSlowdown));
        // p99 of 20 us, and of 20, 21, 20 in another order: not told apart.
        assert_eq!(ranking.whole, [0, 1]);
        let worst = ranking.orders[0].1[2].ratio.unwrap();
        assert!((worst.value - 3.0).abs() < 0.01 && worst.is_resolved(), "{worst:?}");
        let best = ranking.orders[0].1[0].ratio.unwrap();
        assert_eq!((best.value, best.interval), (1.0, Some((1.0, 1.0))));
    }

    #[test]
    fn rankings__none_of_a_whole_result() {
        assert_eq!(ranked([[[10, 20, 90]; 3]; 3], None), []);
    }
}
