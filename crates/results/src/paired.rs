//! A quantity of a scheme's points over that of a baseline's, paired by seed.

use crate::looks::look_by_look;
use crate::measured::{Found, Measured, Quantity};
use crate::statistics::{Ratio, Sureness};
use crate::{Dimension, Experiment};

/// Two points that are compared.
pub struct Pair {
    /// Their load, if they have one.
    pub load: Option<f64>,
    is_count: bool,
    /// Seed, value and the baseline's value.
    seeds: Vec<(u64, f64, f64)>,
}

/// Measured values as they are after some seeds.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The experiment that was measured.
    pub experiment: &'a Experiment,
    /// Its values.
    pub measured: &'a Measured,
    /// The number of first seeds of each point that count.
    pub seeds: usize,
    /// How sure intervals are.
    pub sureness: Sureness,
}

impl View<'_> {
    /// The values of the first seeds.
    pub fn found(self, point: usize, quantity: &Quantity) -> impl Iterator<Item = (u64, Found)> {
        self.measured.by_seed(point, quantity).take(self.seeds)
    }

    /// Why nothing can be concluded about a point, if nothing can.
    pub fn missing(self, point: usize, quantity: &Quantity) -> Option<&'static str> {
        self.found(point, quantity).find_map(|(_, found)| match found {
            Found::Value(_) | Found::Nothing => None,
            Found::Unfinished if quantity.figure.is_of_coflows() => Some("coflows did not finish"),
            Found::Unfinished => Some("flows did not finish"),
            Found::Sketched => Some("sketches of flows do not contain it"),
        })
    }

    /// The points of a scheme that are meant, each paired with a baseline's: its quantity with another, or the same.
    pub fn pairs(
        self,
        (scheme, its): (&str, &Quantity),
        (baseline, other): (&str, &Quantity),
        is_meant: impl Fn(usize) -> bool,
    ) -> Vec<Pair> {
        // A ratio with zero has no logarithm; ratios of counts are not taken by seed.
        let is_count = its.figure.is_count();
        let positive = |point, quantity| -> Vec<(u64, f64)> {
            let values = self.found(point, quantity).filter_map(|(seed, found)| Some((seed, found.value()?)));
            values.filter(|(_, value)| is_count || *value > 0.0).collect()
        };
        let of = |(point, baseline): (usize, usize)| {
            let others = positive(baseline, other);
            let both = |(seed, value)| others.iter().find(|other| other.0 == seed).map(|other| (seed, value, other.1));
            let seeds = positive(point, its).into_iter().filter_map(both).collect();
            Pair { load: self.experiment.points[point].load, is_count, seeds }
        };
        let pairs = self.experiment.pairs(&Dimension::Scheme, scheme, baseline).into_iter();
        pairs.filter(|&(point, _)| is_meant(point)).map(of).collect()
    }

    /// The ratio of a pair.
    pub fn ratio(self, pair: &Pair) -> Option<Ratio> {
        if pair.is_count {
            return self.mean_over(std::slice::from_ref(pair));
        }
        Ratio::as_sure(self.sureness, &pair.seeds.iter().map(|&(_, a, b)| (a, b)).collect::<Vec<_>>())
    }

    /// The mean of the ratios of all pairs in each seed that all of them have.
    pub fn mean_over(self, pairs: &[Pair]) -> Option<Ratio> {
        let first = pairs.first()?;
        let of = |seed: u64| -> Option<Vec<(f64, f64)>> {
            let at = |pair: &Pair| pair.seeds.iter().find(|other| other.0 == seed).map(|&(_, a, b)| (a, b));
            pairs.iter().map(at).collect()
        };
        let by_seed: Vec<Vec<(f64, f64)>> = first.seeds.iter().filter_map(|(seed, ..)| of(*seed)).collect();
        if first.is_count {
            let of_pair = |at: usize| by_seed.iter().map(|seed| seed[at]).collect();
            return Ratio::of_counts(self.sureness, &(0..pairs.len()).map(of_pair).collect::<Vec<_>>());
        }
        Ratio::of_means(self.sureness, &by_seed)
    }
}

/// A scheme's quantity over a baseline's: the mean of the ratios at all points that are meant. `None` if something is missing
/// at one of them. If seeds are added look by look, it is that of the first look which tells on which side of 1 it lies.
pub fn mean_ratio(
    experiment: &Experiment,
    measured: &Measured,
    quantity: &Quantity,
    (scheme, baseline): (&str, &str),
    is_meant: impl Fn(usize) -> bool,
) -> Option<Ratio> {
    let points: Vec<usize> = (0..experiment.points.len())
        .filter(|&point| [scheme, baseline].contains(&experiment.points[point].scheme.as_str()) && is_meant(point))
        .collect();
    let of = |seeds: usize, sureness: Sureness| {
        let view = View { experiment, measured, seeds, sureness };
        if points.iter().any(|&point| view.missing(point, quantity).is_some()) {
            return None;
        }
        let pairs = view.pairs((scheme, quantity), (baseline, quantity), &is_meant);
        let all = pairs.iter().all(|pair| view.ratio(pair).is_some());
        view.mean_over(&pairs).filter(|_| all)
    };
    let fewest = points.iter().map(|&point| experiment.points[point].parts.len()).min().filter(|_| experiment.looks);
    let is_told = |ratio: &Option<Ratio>| {
        ratio.and_then(|ratio| ratio.interval).is_some_and(|(low, high)| high <= 1.0 || 1.0 < low)
    };
    look_by_look(fewest, of, is_told).1
}
