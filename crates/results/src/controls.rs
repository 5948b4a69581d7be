//! Control variates: quantities that are known of a run's flows before it is made remove a part of the noise of a mean over
//! seeds.
//!
//! Runs whose sizes happen to be large, or whose arrivals happen to be dense, have a higher mean FCT than others. The average
//! size and the average length of arrivals are known beforehand, so a seed's deviation from them explains a part of the
//! deviation of its mean FCT. With the regression of the latter on the former (Lavenberg and Welch, Management Science 27(3),
//! 1981) the mean over seeds is moved to where it would lie had the seeds been average. For normal values the estimate is
//! unbiased and its interval exact; the tests count both for values as runs have them.
//!
//! A regression costs degrees of freedom, so it is used from [`FEWEST`] seeds on, and only for means over all flows: those of
//! small flows, percentiles and ratios of paired seeds have next to nothing in common with these controls.

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::statistics::{Estimate, Sureness};

/// Fewer seeds are averaged as they are: three controls leave too few to estimate the remaining noise.
pub const FEWEST: usize = 8;

/// Flows above this size are large ones.
pub const LARGE_BYTES: u64 = 100_000;

/// Properties of the flows of a run: on average beforehand, and of each seed afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Controls {
    /// Mean size, in bytes.
    pub mean_bytes: f64,
    /// The share of the flows that are larger than [`LARGE_BYTES`].
    pub large_share: f64,
    /// When the last flow starts, in ps.
    pub span_ps: f64,
}

const CONTROLS: usize = 3;

impl Controls {
    /// How far a seed is from the average, as a share of the average.
    fn deviation(&self, average: &Controls) -> Option<[f64; CONTROLS]> {
        let pairs = [
            (self.mean_bytes, average.mean_bytes),
            (self.large_share, average.large_share),
            (self.span_ps, average.span_ps),
        ];
        let deviations = pairs.map(|(is, average)| is / average - 1.0);
        deviations.iter().all(|deviation| deviation.is_finite()).then_some(deviations)
    }

    /// The mean of several runs of a seed.
    pub fn mean(all: &[Controls]) -> Option<Controls> {
        let of = |part: fn(&Controls) -> f64| all.iter().map(part).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| Controls {
            mean_bytes: of(|it| it.mean_bytes),
            large_share: of(|it| it.large_share),
            span_ps: of(|it| it.span_ps),
        })
    }
}

/// A mean over seeds, each with its controls, corrected to the known averages of these; `None` if there are too few seeds, or
/// if these deviate in fewer ways than there are controls.
pub fn adjusted(sureness: Sureness, bounds: Bounds, seeds: &[(f64, Controls)], average: &Controls) -> Option<Estimate> {
    let count = seeds.len();
    if count < FEWEST {
        return None;
    }
    let deviations: Vec<[f64; CONTROLS]> =
        seeds.iter().map(|(_, its)| its.deviation(average)).collect::<Option<_>>()?;
    let n = count as f64;
    // Each column about its mean.
    let centred = |column: Vec<f64>| {
        let mean = column.iter().sum::<f64>() / n;
        (mean, column.into_iter().map(|value| value - mean).collect::<Vec<f64>>())
    };
    let (mean_value, values) = centred(seeds.iter().map(|(value, _)| *value).collect());
    let controls: [(f64, Vec<f64>); CONTROLS] =
        std::array::from_fn(|k| centred(deviations.iter().map(|row| row[k]).collect()));
    let means: [f64; CONTROLS] = std::array::from_fn(|k| controls[k].0);
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let squares: [[f64; CONTROLS]; CONTROLS] =
        std::array::from_fn(|i| std::array::from_fn(|j| product(&controls[i].1, &controls[j].1)));
    let slopes = solve(squares, std::array::from_fn(|k| product(&controls[k].1, &values)))?;
    let explained = |seed: usize| (0..CONTROLS).map(|k| slopes[k] * controls[k].1[seed]).sum::<f64>();
    let left: f64 = (0..count).map(|seed| values[seed] - explained(seed)).map(|residual| residual * residual).sum();
    let freedom = count - 1 - CONTROLS;
    let seeds = sureness.as_if.unwrap_or(count);
    // The slopes are estimated, too: the further the controls' means lie from the known ones, the more their error weighs.
    let weight = 1.0 / n + dot(&means, &solve(squares, means)?);
    let variance = left / freedom as f64 * weight * n / seeds as f64;
    let half = sureness.quantile(seeds.saturating_sub(CONTROLS).max(2)) * variance.sqrt();
    let value = mean_value - dot(&slopes, &means);
    Some(Estimate::of(value, Some(half), bounds, bounds.are_around(value)))
}

fn dot(a: &[f64; CONTROLS], b: &[f64; CONTROLS]) -> f64 {
    (0..CONTROLS).map(|k| a[k] * b[k]).sum()
}

/// The solution of a system of equations, by elimination with the largest pivot; `None` if it has none or many.
fn solve(mut matrix: [[f64; CONTROLS]; CONTROLS], mut right: [f64; CONTROLS]) -> Option<[f64; CONTROLS]> {
    let size = matrix.iter().flatten().fold(0.0, |most: f64, value| most.max(value.abs()));
    for k in 0..CONTROLS {
        let pivot = (k..CONTROLS).max_by(|&a, &b| matrix[a][k].abs().total_cmp(&matrix[b][k].abs()))?;
        matrix.swap(k, pivot);
        right.swap(k, pivot);
        // Controls that deviate together, up to rounding, or not at all.
        if matrix[k][k].abs() <= 1e-12 * size || !size.is_finite() {
            return None;
        }
        for row in k + 1..CONTROLS {
            let factor = matrix[row][k] / matrix[k][k];
            let above = matrix[k];
            matrix[row].iter_mut().zip(above).for_each(|(value, above)| *value -= factor * above);
            right[row] -= factor * right[k];
        }
    }
    for k in (0..CONTROLS).rev() {
        let known: f64 = (k + 1..CONTROLS).map(|column| matrix[k][column] * right[column]).sum();
        right[k] = (right[k] - known) / matrix[k][k];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    const AVERAGE: Controls = Controls { mean_bytes: 1e6, large_share: 0.4, span_ps: 1e12 };

    fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
        let mut uniform = || -> f64 { ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64 };
        (-2.0 * libm::log(uniform())).sqrt() * libm::cos(std::f64::consts::TAU * uniform())
    }

    /// Makes a seed whose mean FCT follows its controls, with noise of its own. The second control moves with the first.
    fn seed(random: &mut Xoshiro256PlusPlus, of_value: impl Fn(f64) -> f64) -> (f64, Controls) {
        let [a, b, c, noise] = std::array::from_fn(|_| normal(random));
        let controls = Controls {
            mean_bytes: 1e6 * (1.0 + 0.05 * a),
            large_share: 0.4 * (1.0 + 0.02 * a + 0.01 * b),
            span_ps: 1e12 * (1.0 + 0.03 * c),
        };
        (of_value(0.05 * a + 0.02 * b - 0.06 * c + 0.03 * noise), controls)
    }

    /// The mean of the estimates of 10,000 questions, how many intervals leave out the truth, and the mean square of errors.
    fn counted(count: usize, of_value: impl Fn(f64) -> f64 + Copy, truth: f64) -> ([f64; 2], usize, [f64; 2]) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let (mut means, mut missed, mut squares) = ([0.0; 2], 0, [0.0; 2]);
        for _ in 0..10_000 {
            let seeds: Vec<_> = (0..count).map(|_| seed(&mut random, of_value)).collect();
            let found = adjusted(Sureness::USUAL, Bounds::POSITIVE, &seeds, &AVERAGE).unwrap();
            let plain = seeds.iter().map(|seed| seed.0).sum::<f64>() / count as f64;
            let (low, high) = found.interval.unwrap();
            missed += usize::from(truth < low || high < truth);
            for (at, value) in [found.value, plain].into_iter().enumerate() {
                means[at] += (value - truth) / 10_000.0;
                squares[at] += (value - truth) * (value - truth) / 10_000.0;
            }
        }
        (means, missed, squares)
    }

    #[test]
    fn adjusted__is_unbiased_and_as_sure_as_it_says() {
        for count in [8, 14, 40] {
            let ([bias, plain], missed, [square, plain_square]) = counted(count, |value| 10.0 + value, 10.0);
            // Standard error of the mean of 10,000 estimates, five times over.
            let error = 5.0 * (square / 10_000.0).sqrt();
            assert!(bias.abs() < error && plain.abs() < 5.0 * (plain_square / 10_000.0).sqrt(), "{count}: {bias}");
            assert!((430..=570).contains(&missed), "{count}: {missed} of 10,000");
            if count == 40 {
                // Only the noise's part of the variance 0.0074 is left, 0.0009, plus the cost of the slopes.
                assert!((6.5..9.0).contains(&(plain_square / square)), "{}", plain_square / square);
            }
        }
    }

    /// A mean FCT rises faster than its load: here as an exponential, skewed like means over flows.
    #[test]
    fn adjusted__of_values_that_follow_their_controls_askew() {
        let truth = libm::exp((0.05f64 * 0.05 + 0.02 * 0.02 + 0.06 * 0.06 + 0.03 * 0.03) / 2.0);
        let ([bias, _], missed, [square, plain_square]) = counted(14, libm::exp, truth);
        assert!(bias.abs() < 0.1 * square.sqrt(), "{bias} with an error of {}", square.sqrt());
        assert!(missed <= 600 && plain_square / square > 4.0, "{missed} of 10,000, {}", plain_square / square);
    }

    #[test]
    fn adjusted__by_hand() {
        // Values that are their controls: whatever the seeds, the average is known.
        let controls =
            |a: f64, b: f64, c: f64| Controls { mean_bytes: 1e6 + a, large_share: 0.4 + b, span_ps: 1e12 + c };
        let all = [(1e4, 0.0, 0.0), (0.0, 0.01, 0.0), (0.0, 0.0, 1e10), (2e4, 0.01, 0.0), (0.0, 0.02, 1e10)];
        let more = [(1e4, 0.03, 2e10), (3e4, 0.0, 1e10), (1e4, 0.01, 3e10)];
        let seeds: Vec<_> = all
            .into_iter()
            .chain(more)
            .map(|(a, b, c)| (50.0 + a / 1e4 + b / 0.01 - c / 1e10, controls(a, b, c)))
            .collect();
        let found = adjusted(Sureness::USUAL, Bounds::POSITIVE, &seeds, &AVERAGE).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!((found.value - 50.0).abs() < 1e-9 && high - low < 1e-9, "{found:?}");
        assert_eq!(adjusted(Sureness::USUAL, Bounds::POSITIVE, &seeds[1..], &AVERAGE), None, "too few");
        let alike: Vec<_> = seeds.iter().map(|&(value, it)| (value, Controls { large_share: 0.4, ..it })).collect();
        assert_eq!(
            adjusted(Sureness::USUAL, Bounds::POSITIVE, &alike, &AVERAGE),
            None,
            "a control that does not deviate"
        );
    }
}
