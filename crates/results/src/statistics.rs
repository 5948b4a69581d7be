//! Means, percentiles, intervals over seeds and paired ratios.
//!
//! - The geometric mean, "typical" in names, is the exponential of the mean of logarithms. It weighs each flow the same,
//!   where the mean is made by the few that take longest.
//! - A percentile is of the nearest rank: of `n` values, the p-th is the ⌈p/100 · n⌉-th smallest, a value that was measured and
//!   not one between two.
//! - An estimate over seeds is the mean of one value per seed; its 95 % interval is Student's t with (seeds − 1) degrees of
//!   freedom. Flows of one run depend on each other, seeds do not, so intervals are only over seeds; one seed gives none.
//!   Quantities have bounds (`bounds.rs`): a slowdown is not below 1, nothing is below zero, a share is not above 1. So the
//!   interval is that of a function of the mean without bounds (delta method): of the logarithm of its distance from the lower
//!   bound, or for a share of its odds. If some seed lies on a bound the interval is cut there.
//! - A comparison is paired: the same seed gives two schemes the same flows, so the logarithm of the ratio is taken seed by
//!   seed, and the interval is over these. It resolves differences that the two separate intervals hide.

use std::collections::BTreeMap;

use flowsieve_record::nearest_rank;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::bounds::Bounds;
use crate::student::{student_t, student_t_within};

/// The share of intervals that hold the true value.
pub const CONFIDENCE: f64 = 0.95;

/// A statistic of the values of a size class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// Median, of the nearest rank as the other percentiles.
    P50,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
    /// Geometric mean: that of a typical flow or coflow, where the mean is that of the few largest. The ratio of two of them over
    /// the same flows is the geometric mean of the ratios flow by flow.
    Typical,
}

impl Statistic {
    /// Those of tables, in their order.
    pub const ALL: [Statistic; 5] = [Statistic::Mean, Statistic::P50, Statistic::P95, Statistic::P99, Statistic::P999];

    /// All.
    pub const EVERY: [Statistic; 6] =
        [Statistic::Mean, Statistic::P50, Statistic::P95, Statistic::P99, Statistic::P999, Statistic::Typical];

    /// Its name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Mean => "mean",
            Statistic::P50 => "p50",
            Statistic::P95 => "p95",
            Statistic::P99 => "p99",
            Statistic::P999 => "p99.9",
            Statistic::Typical => "typical",
        }
    }

    /// Its rank in a thousand values; `None` for means.
    pub fn per_mille(self) -> Option<usize> {
        match self {
            Statistic::Mean | Statistic::Typical => None,
            Statistic::P50 => Some(500),
            Statistic::P95 => Some(950),
            Statistic::P99 => Some(990),
            Statistic::P999 => Some(999),
        }
    }

    /// The fewest values for which it differs from the largest; `None` for means.
    pub fn fewest(self) -> Option<u64> {
        self.per_mille().map(|per_mille| 1_000u64.div_ceil(1_000 - per_mille as u64))
    }

    /// The number of these values beyond it; `None` for means.
    pub fn beyond(self, values: u64) -> Option<u64> {
        self.per_mille().map(|per_mille| values.saturating_mul(1_000 - per_mille as u64) / 1_000)
    }
}

/// Every [`Statistic`] of one set of values. As data they are by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// By [`Statistic::ALL`].
    tabled: [f64; Statistic::ALL.len()],
    /// Results of earlier versions have none.
    typical: Option<f64>,
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let all = Statistic::EVERY.iter().filter_map(|&statistic| Some((statistic.name(), self.get(statistic)?)));
        to.collect_map(all)
    }
}

impl<'de> Deserialize<'de> for Figures {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Figures, D::Error> {
        let values = BTreeMap::<String, f64>::deserialize(from)?;
        let value = |statistic: Statistic| values.get(statistic.name()).copied();
        match Statistic::ALL.into_iter().find(|statistic| value(*statistic).is_none()) {
            Some(missing) => Err(D::Error::custom(format!("no {}", missing.name()))),
            None => Ok(Figures {
                tabled: Statistic::ALL.map(|statistic| value(statistic).unwrap_or_default()),
                typical: value(Statistic::Typical),
            }),
        }
    }
}

impl Figures {
    /// From these values above 0, whose order it changes; `None` if there are none. Means add them in the order given.
    pub fn of(values: &mut [f64]) -> Option<Figures> {
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let typical = geometric_mean(values.iter().map(|value| libm::log(*value)).sum(), values.len() as u64);
        values.sort_unstable_by(f64::total_cmp);
        let of = |statistic: Statistic| statistic.per_mille().map_or(mean, |p| values[nearest_rank(p, values.len())]);
        Some(Figures { tabled: Statistic::ALL.map(of), typical: Some(typical) })
    }

    /// From a function that gives each of tables, and the geometric mean.
    pub(crate) fn each(of: impl FnMut(Statistic) -> f64, typical: Option<f64>) -> Figures {
        Figures { tabled: Statistic::ALL.map(of), typical }
    }

    /// One of them; `None` for the geometric mean of a result of an earlier version.
    pub fn get(&self, statistic: Statistic) -> Option<f64> {
        match statistic {
            Statistic::Typical => self.typical,
            tabled => self.tabled.get(tabled as usize).copied(),
        }
    }
}

/// The geometric mean of a number of values, from the sum of their logarithms.
pub(crate) fn geometric_mean(sum_of_logs: f64, values: u64) -> f64 {
    libm::exp(sum_of_logs / values as f64)
}

/// The coefficient of variation, standard deviation over mean, of pairs of a value and its count. `None` without any, or with a
/// mean of zero.
pub(crate) fn variation<I: Iterator<Item = (f64, u64)>>(values: impl Fn() -> I) -> Option<f64> {
    let count = values().map(|(_, count)| count).sum::<u64>() as f64;
    let mean = values().map(|(value, count)| value * count as f64).sum::<f64>() / count;
    let squares: f64 = values().map(|(value, count)| (value - mean) * (value - mean) * count as f64).sum();
    Some((squares / count).sqrt() / mean).filter(|variation| variation.is_finite())
}

/// Jain's index of fairness, (Σx)² / (n Σx²): 1 if all values are equal, 1/n if one has everything. `None` without any above
/// zero.
pub(crate) fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    Some(sum * sum / (values.len() as f64 * squares)).filter(|index| index.is_finite())
}

/// A value over seeds with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Mean over the seeds.
    pub value: f64,
    /// Ends of the 95 % interval; `None` with one seed.
    pub interval: Option<(f64, f64)>,
}

/// The confidence of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sureness {
    /// The share of intervals that miss the true value.
    pub missed: f64,
    /// Over this many seeds instead of the available ones, if these deviate in the same way.
    pub as_if: Option<usize>,
    /// So many standard errors wider, for an interval that other seeds are likely to have, too.
    pub wider: f64,
}

impl Sureness {
    /// That of tables: [`CONFIDENCE`], over the available seeds.
    pub const USUAL: Sureness = Sureness { missed: 1.0 - CONFIDENCE, as_if: None, wider: 0.0 };

    /// The quantile of Student's t for a mean of this many independent values.
    pub(crate) fn quantile(self, values: usize) -> f64 {
        student_t(values, self.missed) + self.wider
    }
}

impl Estimate {
    /// From one value per seed of a quantity with these bounds; `None` without any.
    pub fn over_seeds(bounds: Bounds, values: &[f64]) -> Option<Estimate> {
        Estimate::as_sure(Sureness::USUAL, bounds, values)
    }

    /// The same with another interval.
    pub fn as_sure(sureness: Sureness, bounds: Bounds, values: &[f64]) -> Option<Estimate> {
        let (value, half) = mean_and_half(sureness, values)?;
        Some(Estimate::of(value, half, bounds, values.iter().all(|value| bounds.are_around(*value))))
    }

    /// From a mean of a quantity with these bounds, and half its interval.
    pub(crate) fn of(value: f64, half: Option<f64>, bounds: Bounds, is_inside: bool) -> Estimate {
        Estimate { value, interval: half.map(|half| bounds.ends(value, half, is_inside)) }
    }
}

/// The ends of the interval of a value that may be zero, and not less.
fn cut(value: f64, half: f64) -> (f64, f64) {
    ((value - half).max(0.0), value + half)
}

/// The mean of values of any sign and half its interval, which a single value does not have; `None` without any.
fn mean_and_half(sureness: Sureness, values: &[f64]) -> Option<(f64, Option<f64>)> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let half = (values.len() > 1).then(|| {
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        let seeds = sureness.as_if.unwrap_or(values.len());
        sureness.quantile(seeds) * (squares / (count - 1.0) / seeds as f64).sqrt()
    });
    Some((mean, half))
}

/// A scheme's value as a multiple of a baseline's, paired by seed: below 1 is better if less is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Geometric mean of the ratios of the seeds.
    pub value: f64,
    /// Ends of the 95 % interval; `None` with one seed.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// From (value, baseline) of each seed that both have, all above 0; `None` without any.
    pub fn paired(pairs: &[(f64, f64)]) -> Option<Ratio> {
        Ratio::as_sure(Sureness::USUAL, pairs)
    }

    /// The same with another interval.
    pub fn as_sure(sureness: Sureness, pairs: &[(f64, f64)]) -> Option<Ratio> {
        let logs: Vec<f64> = pairs.iter().map(|(value, baseline)| libm::log(value / baseline)).collect();
        let (log, half) = mean_and_half(sureness, &logs)?;
        let interval = half.map(|half| (libm::exp(log - half), libm::exp(log + half)));
        Some(Ratio { value: libm::exp(log), interval })
    }

    /// How many seeds in all would tell the ratio from 1 in eight of ten cases, if they deviate like these; `None`: not even
    /// `most`. The interval of so many seeds would just leave out 1 if their mean were that of these, which half of all means
    /// miss. So it has to be wider, by as many standard errors as four of five means miss it by at most.
    pub fn seeds_to_tell(pairs: &[(f64, f64)], most: usize) -> Option<usize> {
        /// Two-sided: a fifth of all means lie beyond one of its ends.
        const WITHIN: f64 = 0.6;
        let wider = student_t_within(pairs.len().checked_sub(1).filter(|freedom| *freedom > 0)?, WITHIN);
        let tells = |seeds: &usize| {
            let sureness = Sureness { as_if: Some(*seeds), wider, ..Sureness::USUAL };
            Ratio::as_sure(sureness, pairs).is_some_and(|ratio| ratio.is_resolved())
        };
        // More seeds only narrow the interval, so halving finds the fewest.
        let (mut too_few, mut enough) = (pairs.len(), Some(most).filter(tells)?);
        while too_few + 1 < enough {
            let middle = too_few.midpoint(enough);
            if tells(&middle) { enough = middle } else { too_few = middle }
        }
        Some(enough)
    }

    /// Like [`Ratio::as_sure`], but each seed has several pairs: its value is the mean of their ratios.
    pub fn of_means(sureness: Sureness, seeds: &[Vec<(f64, f64)>]) -> Option<Ratio> {
        let mean = |pairs: &Vec<(f64, f64)>| {
            let sum: f64 = pairs.iter().map(|(value, baseline)| value / baseline).sum();
            (sum / pairs.len() as f64, 1.0)
        };
        Ratio::as_sure(sureness, &seeds.iter().filter(|pairs| !pairs.is_empty()).map(mean).collect::<Vec<_>>())
    }

    /// For counts, which may be zero in some seeds, so that their ratios have no logarithm: the ratio of the means over the
    /// seeds, and for several points the mean of their ratios. The interval is that of each seed's residual about the ratio
    /// (the delta method). `None` without seeds, or with a baseline of zero.
    ///
    /// `points` has the (count, baseline) of the same seeds in the same order.
    pub fn of_counts(sureness: Sureness, points: &[Vec<(f64, f64)>]) -> Option<Ratio> {
        let seeds = points.first()?.len();
        let (mut value, mut left) = (0.0, vec![0.0; seeds]);
        for point in points.iter().filter(|point| point.len() == seeds) {
            let sum = |of: fn(&(f64, f64)) -> f64| point.iter().map(of).sum::<f64>();
            let (counts, baselines) = (sum(|pair| pair.0), sum(|pair| pair.1));
            if baselines <= 0.0 {
                return None;
            }
            let ratio = counts / baselines;
            let mean = baselines / seeds as f64;
            value += ratio / points.len() as f64;
            for (left, (count, baseline)) in left.iter_mut().zip(point) {
                *left += (count - ratio * baseline) / mean / points.len() as f64;
            }
        }
        let (_, half) = mean_and_half(sureness, &left)?;
        Some(Ratio { value, interval: half.map(|half| cut(value, half)) })
    }

    /// Whether the interval excludes 1. One seed resolves nothing.
    pub fn is_resolved(&self) -> bool {
        self.interval.is_some_and(|(low, high)| high < 1.0 || low > 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected} ± {tolerance}");
    }

    #[test]
    fn figures__of_one_to_a_hundred() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let figures = Figures::of(&mut values).unwrap();
        let tabled = Statistic::ALL.map(|statistic| figures.get(statistic).unwrap());
        assert_eq!(tabled, [50.5, 50.0, 95.0, 99.0, 100.0]);
        assert_eq!(Figures::of(&mut []), None);
        let text = serde_json::to_string(&figures).unwrap();
        let earlier = "{\"mean\":50.5,\"p50\":50.0,\"p95\":95.0,\"p99\":99.0,\"p99.9\":100.0";
        assert!(text.starts_with(&format!("{earlier},\"typical\":37.99")), "{text}");
        assert_eq!(serde_json::from_str::<Figures>(&text).unwrap(), figures);
        let without = serde_json::from_str::<Figures>(&format!("{earlier}}}")).unwrap();
        assert_eq!((without.get(Statistic::Typical), without.get(Statistic::P99)), (None, Some(99.0)));
        assert!(serde_json::from_str::<Figures>("{\"mean\":50.5}").unwrap_err().to_string().starts_with("no p50"));
    }

    /// The advice holds: so many seeds tell the ratio in eight of ten cases, where the first few did not.
    #[test]
    fn seeds_to_tell__holds_in_eight_of_ten_cases() {
        use rand_xoshiro::Xoshiro256PlusPlus;
        use rand_xoshiro::rand_core::{Rng, SeedableRng};
        const MOST: usize = 400;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let mut normal = || (-2.0 * libm::log(uniform())).sqrt() * libm::cos(std::f64::consts::TAU * uniform());
        // A scheme that is better by some standard deviations of a seed's ratio.
        for (first, better) in [(3, 0.8), (3, 1.5), (5, 0.6), (5, 1.0), (7, 0.5)] {
            let (mut asked, mut held) = (0, 0);
            for _ in 0..600 {
                let seeds: Vec<(f64, f64)> = (0..MOST).map(|_| (libm::exp(0.1 * (normal() - better)), 1.0)).collect();
                if Ratio::paired(&seeds[..first]).is_some_and(|ratio| ratio.is_resolved()) {
                    continue;
                }
                let Some(enough) = Ratio::seeds_to_tell(&seeds[..first], MOST) else { continue };
                asked += 1;
                held += usize::from(Ratio::paired(&seeds[..enough]).is_some_and(|ratio| ratio.is_resolved()));
            }
            let share = held as f64 / asked as f64;
            assert!(asked > 30 && share >= 0.78, "{first} seeds, {better}: {held} of {asked}");
        }
    }

    #[test]
    fn over_seeds__three_values_by_hand() {
        // s = 1, so half of it is 4.3027 / √3 = 2.4841, up and down a factor of exp(0.248 41).
        let estimate = Estimate::over_seeds(Bounds::POSITIVE, &[9.0, 10.0, 11.0]).unwrap();
        near(estimate.value, 10.0, 1e-12);
        let (low, high) = estimate.interval.unwrap();
        near(low, 7.800_4, 1e-3);
        near(high, 12.819_9, 1e-3);
        let surer = Sureness { missed: 0.05, as_if: Some(4), wider: 0.0 };
        // As if there were four: 3.1824 / 2, and exp(0.159 12).
        near(
            Estimate::as_sure(surer, Bounds::POSITIVE, &[9.0, 10.0, 11.0]).unwrap().interval.unwrap().1,
            11.724_8,
            1e-3,
        );
        assert_eq!(Estimate::over_seeds(Bounds::POSITIVE, &[7.0]).unwrap(), Estimate { value: 7.0, interval: None });
        assert_eq!(Estimate::over_seeds(Bounds::POSITIVE, &[]), None);
    }

    #[test]
    fn paired__resolves_what_separate_intervals_hide() {
        // Seeds differ by a factor of three, schemes by exactly a fifth.
        let pairs = [(80.0, 100.0), (160.0, 200.0), (240.0, 300.0)];
        let ratio = Ratio::paired(&pairs).unwrap();
        near(ratio.value, 0.8, 1e-12);
        assert!(ratio.is_resolved());
        let separate = Estimate::over_seeds(Bounds::POSITIVE, &pairs.map(|(value, _)| value)).unwrap();
        assert!(separate.interval.unwrap().1 > 200.0);
    }

    #[test]
    fn beyond__how_many_values_stand_behind_a_percentile() {
        let beyond = |values| Statistic::ALL.map(|statistic| statistic.beyond(values));
        assert_eq!(beyond(2_500), [None, Some(1_250), Some(125), Some(25), Some(2)]);
        assert_eq!(beyond(999), [None, Some(499), Some(49), Some(9), Some(0)]);
    }

    #[test]
    fn variation__by_hand() {
        // Mean 5, standard deviation 2.
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        near(variation(|| values.iter().map(|&value| (value, 1))).unwrap(), 0.4, 1e-12);
        near(variation(|| [(2.0, 1), (4.0, 3), (5.0, 2), (7.0, 1), (9.0, 1)].into_iter()).unwrap(), 0.4, 1e-12);
        assert_eq!(variation(|| [(7.0, 3)].into_iter()), Some(0.0));
        assert_eq!(variation(|| [].into_iter()), None);
    }

    #[test]
    fn jain__its_ends_and_between() {
        assert_eq!(jain(&[3.0; 4]), Some(1.0));
        assert_eq!(jain(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
        near(jain(&[1.0, 2.0, 3.0]).unwrap(), 36.0 / 42.0, 1e-12);
        assert_eq!([jain(&[]), jain(&[0.0])], [None, None]);
    }

    #[test]
    fn of_means__the_mean_of_the_ratios_of_each_seed() {
        // Seed by seed 0.5 and 0.5: means of (0.4, 0.6) and (0.3, 0.7).
        let seeds = [vec![(4.0, 10.0), (6.0, 10.0)], vec![(3.0, 10.0), (14.0, 20.0)], vec![]];
        let ratio = Ratio::of_means(Sureness::USUAL, &seeds).unwrap();
        near(ratio.value, 0.5, 1e-12);
        let (low, high) = ratio.interval.unwrap();
        near(high - low, 0.0, 1e-9);
        assert_eq!(Ratio::of_means(Sureness::USUAL, &[vec![]]), None);
    }

    #[test]
    fn of_counts__none_in_some_seeds() {
        // A tenth, and a residual of a tenth of the baseline's mean in either seed: 12.7062 · 0.1414 / √2 = 1.2706.
        let one = Ratio::of_counts(Sureness::USUAL, &[vec![(0.0, 10.0), (2.0, 10.0)]]).unwrap();
        near(one.value, 0.1, 1e-12);
        let (low, high) = one.interval.unwrap();
        assert_eq!(low, 0.0);
        near(high, 0.1 + 1.270_6, 1e-4);
        // Three times as many of twice as many are the same share: no seed has a residual.
        let exact = Ratio::of_counts(Sureness::USUAL, &[vec![(1.0, 4.0), (3.0, 12.0)], vec![(0.0, 5.0), (0.0, 7.0)]]);
        assert_eq!(exact.unwrap(), Ratio { value: 0.125, interval: Some((0.125, 0.125)) });
        assert_eq!(Ratio::of_counts(Sureness::USUAL, &[vec![(1.0, 0.0), (3.0, 0.0)]]), None);
        assert_eq!(Ratio::of_counts(Sureness::USUAL, &[]), None);
        assert_eq!(Ratio::of_counts(Sureness::USUAL, &[vec![]]), None);
    }

    #[test]
    fn paired__one_seed_resolves_nothing() {
        let ratio = Ratio::paired(&[(1.0, 2.0)]).unwrap();
        assert_eq!((ratio.value, ratio.interval, ratio.is_resolved()), (0.5, None, false));
    }

    proptest! {
        /// A mean of logarithms: it scales with its values, no order of them changes more than its rounding, and it is at most
        /// the arithmetic mean.
        #[test]
        fn figures__the_geometric_mean(mut values in prop::collection::vec(1.0..1e15f64, 1..300), scale in 1e-3..1e3f64) {
            let typical = |values: &mut [f64]| Figures::of(values).unwrap().get(Statistic::Typical).unwrap();
            let naive = libm::exp(values.iter().copied().map(libm::log).sum::<f64>() / values.len() as f64);
            let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-11;
            let mut scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            let mut turned: Vec<f64> = values.iter().rev().copied().collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let found = typical(&mut values);
            prop_assert!(near(found, naive), "{found} for {naive}");
            prop_assert!(near(typical(&mut scaled), found * scale) && near(typical(&mut turned), found));
            prop_assert!(found <= mean * (1.0 + 1e-11));
        }

        #[test]
        fn figures__rise_and_stay_among_the_values(mut values in prop::collection::vec(0.0..1e15f64, 1..300)) {
            let given = values.clone();
            let figures = Figures::of(&mut values).unwrap();
            let [mean, p50, p95, p99, p999] = Statistic::ALL.map(|statistic| figures.get(statistic).unwrap());
            prop_assert!(p50 <= p95 && p95 <= p99 && p99 <= p999);
            prop_assert!([p50, p95, p99, p999].iter().all(|p| given.contains(p)));
            prop_assert!(values[0] <= mean * (1.0 + 1e-12) && mean <= values[values.len() - 1] * (1.0 + 1e-12));
        }

        #[test]
        fn paired__turning_it_round_inverts_it(pairs in prop::collection::vec((0.1..10.0f64, 0.1..10.0f64), 2..9)) {
            let there = Ratio::paired(&pairs).unwrap();
            let turned: Vec<_> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            let back = Ratio::paired(&turned).unwrap();
            prop_assert!((there.value * back.value - 1.0).abs() < 1e-9);
            let ((low, high), (back_low, back_high)) = (there.interval.unwrap(), back.interval.unwrap());
            prop_assert!((low * back_high - 1.0).abs() < 1e-9 && (high * back_low - 1.0).abs() < 1e-9);
        }
    }
}
