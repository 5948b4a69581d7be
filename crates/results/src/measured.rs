//! A few numbers of each run, of what is asked: one value of each [`Quantity`]. They can be kept without the flows.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::controls::{Controls, adjusted};
use crate::statistics::{Statistic, Sureness};
use crate::{
    ClassSummary, CoflowClass, CoflowGroup, Count, Estimate, Experiment, Figure, Manifest, Metric, Only, PointSummary,
    Run, SeedStats, SeriesAt, SizeClass, Summary,
};

/// A figure of certain flows or coflows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The figure.
    pub figure: Figure,
    /// The series, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesAt>,
    /// The sizes of its flows or coflows.
    pub class: SizeClass,
    /// A further restriction of these.
    #[serde(default, skip_serializing_if = "Only::is_all")]
    pub only: Only,
    /// The class of its coflows, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coflow_class: Option<CoflowClass>,
}

impl Quantity {
    /// The figure of all flows.
    pub fn of_all_flows(figure: Figure) -> Quantity {
        Quantity { figure, series: None, class: SizeClass::between(0, None), only: Only::default(), coflow_class: None }
    }

    /// The least that a mean FCT can be: that of the same flows, each of them alone in the network.
    pub fn ideal(&self) -> Option<Quantity> {
        (self.figure == Figure::Flows(Statistic::Mean, Metric::Fct))
            .then(|| Quantity { figure: Figure::IdealFct, ..self.clone() })
    }

    fn group<'a>(&self, point: &'a PointSummary) -> Option<&'a ClassSummary> {
        match (self.figure, self.coflow_class) {
            (Figure::Coflows(..), Some(class)) => Some(point.coflow_class(class)),
            (Figure::Coflows(..), None) => point.coflows_of(&CoflowGroup::Size(self.class.clone())),
            _ => point.group(&self.class, &self.only),
        }
    }
}

/// A run's value of a quantity. As data a value is a number, nothing is null, and the others are words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// A value.
    Value(f64),
    /// No flow of the group, or nothing to take a share of.
    Nothing,
    /// Flows or coflows of the group did not finish.
    Unfinished,
    /// It needs the flows themselves, and only sketches of them are kept.
    Sketched,
}

impl Found {
    /// The value, if it is one.
    pub fn value(self) -> Option<f64> {
        match self {
            Found::Value(value) => Some(value),
            _ => None,
        }
    }
}

const UNFINISHED: &str = "unfinished";
const SKETCHED: &str = "sketched";

impl Serialize for Found {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Found::Value(value) => to.serialize_f64(*value),
            Found::Nothing => to.serialize_none(),
            Found::Unfinished => to.serialize_str(UNFINISHED),
            Found::Sketched => to.serialize_str(SKETCHED),
        }
    }
}

impl<'de> Deserialize<'de> for Found {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Found, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Data {
            Number(f64),
            Word(String),
        }
        Ok(match Option::<Data>::deserialize(from)? {
            Some(Data::Number(value)) => Found::Value(value),
            None => Found::Nothing,
            Some(Data::Word(word)) if word == UNFINISHED => Found::Unfinished,
            Some(Data::Word(word)) if word == SKETCHED => Found::Sketched,
            Some(Data::Word(word)) => return Err(D::Error::custom(format!("{word:?} is not a value"))),
        })
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its seed.
    pub seed: u64,
    /// Its flows.
    pub flows: u64,
    /// The properties of its flows that remove noise from means over all of them.
    pub controls: Option<Controls>,
    /// One value of each quantity.
    pub values: Vec<Found>,
}

/// The numbers of all runs of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    quantities: Vec<Quantity>,
    /// By point, then in the order of its seeds.
    points: Vec<Vec<Row>>,
    /// By point: the average properties of flows, if known.
    averages: Vec<Option<Controls>>,
}

impl Measured {
    /// These quantities of a result.
    pub fn of(quantities: Vec<Quantity>, manifest: &Manifest, summary: &Summary) -> Measured {
        let mut points: Vec<Vec<Row>> = vec![Vec::new(); manifest.experiment.points.len()];
        for run in &manifest.runs {
            let point = &summary.points[run.point as usize];
            let value = |quantity: &Quantity| found(&manifest.experiment, quantity, point, run);
            let flows = point.classes.last().and_then(|all| all.seeds.iter().find(|seed| seed.seed == run.seed));
            points[run.point as usize].push(Row {
                seed: run.seed,
                flows: flows.map_or(0, |all| all.flows),
                controls: flows.and_then(|all| all.controls),
                values: quantities.iter().map(value).collect(),
            });
        }
        Measured::from_rows(&manifest.experiment, quantities, points)
    }

    /// From rows of the points of an experiment, each with a value of each quantity.
    pub fn from_rows(experiment: &Experiment, quantities: Vec<Quantity>, points: Vec<Vec<Row>>) -> Measured {
        Measured { quantities, points, averages: experiment.points.iter().map(|point| point.average).collect() }
    }

    /// The measured quantities.
    pub fn quantities(&self) -> &[Quantity] {
        &self.quantities
    }

    /// The runs of a point.
    pub fn rows(&self, point: usize) -> &[Row] {
        self.points.get(point).map_or(&[], Vec::as_slice)
    }

    /// A quantity at a point by seed, in the order of its seeds.
    pub fn by_seed(&self, point: usize, quantity: &Quantity) -> impl Iterator<Item = (u64, Found)> {
        let at = self.quantities.iter().position(|other| other == quantity);
        let found = move |row: &Row| at.and_then(|at| row.values.get(at)).copied().unwrap_or(Found::Nothing);
        self.rows(point).iter().map(move |row| (row.seed, found(row)))
    }

    /// A quantity at a point over the seeds that have a value.
    pub fn estimate(&self, point: usize, quantity: &Quantity) -> Option<Estimate> {
        self.mean(&[point], quantity, usize::MAX, Sureness::USUAL)
    }

    /// The mean of a quantity over points in each of their first seeds that all of them have, and its mean over the seeds; for
    /// a mean over all flows with its controls.
    pub fn mean(&self, points: &[usize], quantity: &Quantity, seeds: usize, sureness: Sureness) -> Option<Estimate> {
        let by_point: Vec<Vec<(u64, f64)>> = points
            .iter()
            .map(|&point| self.by_seed(point, quantity).take(seeds))
            .map(|all| all.filter_map(|(seed, found)| Some((seed, found.value()?))).collect())
            .collect();
        let means = means(&by_point);
        let controlled = || {
            let is_controlled = matches!(quantity.figure, Figure::Flows(Statistic::Mean, _))
                && *quantity == Quantity::of_all_flows(quantity.figure);
            let averages: Option<Vec<Controls>> =
                points.iter().map(|&point| self.averages.get(point).copied().flatten()).collect();
            let average = Controls::mean(&averages.filter(|_| is_controlled)?)?;
            let of_seed = |&(seed, value): &(u64, f64)| {
                let its = |&point: &usize| self.rows(point).iter().find(|row| row.seed == seed)?.controls;
                Some((value, Controls::mean(&points.iter().map(its).collect::<Option<Vec<_>>>()?)?))
            };
            adjusted(
                sureness,
                quantity.figure.bounds(),
                &means.iter().map(of_seed).collect::<Option<Vec<_>>>()?,
                &average,
            )
        };
        let values: Vec<f64> = means.iter().map(|(_, value)| *value).collect();
        let plain = || Estimate::as_sure(sureness, quantity.figure.bounds(), &values);
        controlled().or_else(plain)
    }
}

/// By seed that all points have: the mean over these.
fn means(points: &[Vec<(u64, f64)>]) -> Vec<(u64, f64)> {
    let of = |&(seed, _): &(u64, f64)| -> Option<(u64, f64)> {
        let at = |point: &Vec<(u64, f64)>| point.iter().find(|other| other.0 == seed).map(|(_, value)| *value);
        let values: Vec<f64> = points.iter().map(at).collect::<Option<_>>()?;
        Some((seed, values.iter().sum::<f64>() / values.len() as f64))
    };
    points.first().into_iter().flatten().filter_map(of).collect()
}

fn found(experiment: &Experiment, quantity: &Quantity, point: &PointSummary, run: &Run) -> Found {
    let seed = quantity.group(point).and_then(|group| group.seeds.iter().find(|seed| seed.seed == run.seed));
    let is_unfinished = seed.is_some_and(|seed| seed.unfinished > 0);
    match quantity.figure {
        // Flows that did not finish are among those that missed their deadline.
        Figure::Series | Figure::Count(Count::MissedDeadlines | Count::DeadlinesMet | Count::DeadlineBytesMet) => {}
        Figure::Coflows(..) if is_unfinished => return Found::Unfinished,
        Figure::Coflows(..) => {}
        figure if !point.exact && (figure == Figure::Fairness || !quantity.only.is_all()) => return Found::Sketched,
        _ if is_unfinished => return Found::Unfinished,
        _ => {}
    }
    let value = match quantity.figure {
        Figure::Count(count) => count.of(&run.measured),
        Figure::Series => {
            let asked = experiment.further.asked().iter().find(|asked| asked.quantity == *quantity);
            asked.and_then(|asked| run.asked_series.get(&asked.id)).copied()
        }
        figure => seed.and_then(|seed| of_seed(figure, seed)),
    };
    value.map_or(Found::Nothing, Found::Value)
}

fn of_seed(figure: Figure, seed: &SeedStats) -> Option<f64> {
    match figure {
        Figure::Flows(statistic, metric) | Figure::Coflows(statistic, metric) => seed.get(metric, statistic),
        Figure::IdealFct => seed.ideal_fct_ps,
        Figure::Variation => seed.fct_variation,
        Figure::Held => seed.disorder.held_mean_bytes(),
        Figure::TimedOut => Some(seed.disorder.timed_out as f64),
        Figure::Share(step) => seed.breakdown.share(step),
        Figure::Fairness => seed.fairness,
        Figure::Count(_) | Figure::Series => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found__comes_back() {
        let all = [Found::Value(1.5), Found::Nothing, Found::Unfinished, Found::Sketched];
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(text, "[1.5,null,\"unfinished\",\"sketched\"]");
        assert_eq!(serde_json::from_str::<[Found; 4]>(&text).unwrap(), all);
        assert!(serde_json::from_str::<Found>("\"lost\"").is_err());
    }

    #[test]
    fn means__over_the_points_of_each_seed() {
        let points = [vec![(1, 2.0), (2, 4.0), (3, 9.0)], vec![(2, 6.0), (1, 4.0)]];
        assert_eq!(means(&points), [(1, 3.0), (2, 5.0)], "seed 3 is not everywhere");
        assert!(means(&[vec![(1, 2.0)], vec![]]).is_empty());
        assert!(means(&[]).is_empty());
    }
}
