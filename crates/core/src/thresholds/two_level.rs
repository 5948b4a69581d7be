//! Two-level processor sharing: one threshold for two queues (Avrachenkov, Brown and Osipova, "Optimal choice of
//! threshold in two level processor sharing", Annals of Operations Research, 2009), which NOS2 (§IV-A) uses for its
//! switches.
//!
//! Flows share the link equally while they have sent less than θ; those that have sent more share what is left. Sizes
//! have two exponential phases, [`Phases`]. With X₁ = E\[min(X, θ)\], X₂ = E\[min(X, θ)²\], r = 1 − λ X₁, t = 1 − F(θ)
//! and W = λ X₂ / (2 r), the mean time is (X₁ + t W + t E\[α\]) / r at a link that serves a byte per unit of time. α(x)
//! is the time that a flow needs for x bytes beyond θ among batches of others (Kleinrock, Muntz and Rodemich, 1971):
//! α′(x) = 1 + b B(x) + λ′ (∫₀^∞ α′(y) B(x+y) dy + ∫₀^x α′(y) B(x−y) dy). Here B(x) = Σ qᵢ e^(−μᵢ x) is the share of
//! the flows beyond θ that are beyond θ + x, qᵢ = pᵢ e^(−μᵢ θ) / t, λ′ = λ t / r and b = 2 λ t (W + θ) / r.
//!
//! For such B there is a solution. Let Aⱼ be the Laplace transform of α′ at μⱼ. The first integral is Σ qᵢ Aᵢ e^(−μᵢ
//! x), the second a convolution. Transforming at μ₁ and μ₂ gives two linear equations, Aⱼ (1 − λ′ Σ qᵢ / (μⱼ + μᵢ)) =
//! 1/μⱼ + Σ qᵢ (b + λ′ Aᵢ) / (μⱼ + μᵢ), and E\[α\] = ∫ α′ B = Σ qᵢ Aᵢ.

use crate::thresholds::law::SizeLaw;
use crate::thresholds::phases::Phases;
use crate::thresholds::{ThresholdError, checked_load, tandem};

/// Number of thresholds at which the mean time is computed, before the search around the best one.
const STEPS: u32 = 64;

/// Returns the paper's approximation of the best threshold in bytes, ln((μ₁ − λ) / (μ₂ (1 − ρ))) / (μ₁ − μ₂), for the
/// two most likely phases. If there are none ([`Phases::fit`]), it returns the threshold of the [`tandem`] of two
/// queues.
pub fn two_level(law: &SizeLaw, load: f64) -> Result<u64, ThresholdError> {
    by_phases(law, load, Phases::threshold)
}

/// Finds the threshold by search: the least mean time of two-level processor sharing, to a hundredth of a percent.
pub fn two_level_numeric(law: &SizeLaw, load: f64) -> Result<u64, ThresholdError> {
    by_phases(law, load, Phases::best_threshold)
}

fn by_phases(law: &SizeLaw, load: f64, of: impl Fn(&Phases, f64) -> f64) -> Result<u64, ThresholdError> {
    checked_load(load)?;
    match Phases::fit(law) {
        Some(phases) => Ok((of(&phases, load).ceil() as u64).max(1)),
        None => Ok(tandem(law, load, 2)?[0]),
    }
}

impl Phases {
    /// Returns the closed form, in bytes, at a load within (0, 1).
    pub fn threshold(&self, load: f64) -> f64 {
        let rate = load / self.mean();
        let [short, long] = self.means.map(|mean| 1.0 / mean);
        // 1/μ₁ < E X < 1/μ₂, so μ₁ > λ and the logarithm is positive.
        libm::log((short - rate) / (long * (1.0 - load))) / (short - long)
    }

    /// Returns the threshold in bytes with the least [`time`](Self::time), from steps at equal ratios and a
    /// golden-section search around the best one.
    pub fn best_threshold(&self, load: f64) -> f64 {
        let time = |logarithm: f64| self.time(load, libm::exp(logarithm));
        let (low, high) = (libm::log(1e-3 * self.means[0]), libm::log(30.0 * self.means[1]));
        let at = |i: u32| low + (high - low) * f64::from(i) / f64::from(STEPS);
        let best = (0..=STEPS).min_by(|a, b| time(at(*a)).total_cmp(&time(at(*b)))).unwrap_or(0);
        let (mut low, mut high) = (at(best.saturating_sub(1)), at((best + 1).min(STEPS)));
        let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
        while high - low > 1e-4 {
            let (left, right) = (high - golden * (high - low), low + golden * (high - low));
            if time(left) <= time(right) { high = right } else { low = left }
        }
        libm::exp((low + high) / 2.0)
    }

    /// Returns the mean time with a threshold in bytes at a load within (0, 1), in units of a mean flow's time on an
    /// idle link.
    pub fn time(&self, load: f64, threshold: f64) -> f64 {
        let mean = self.mean();
        let rate = load / mean;
        let left = |mean: f64| libm::exp(-threshold / mean);
        let tail = self.sum(|_, mean| left(mean));
        if tail < 1e-200 {
            return 1.0 / (1.0 - load);
        }
        let first = self.sum(|_, mean| -mean * libm::expm1(-threshold / mean));
        let second = self.sum(|_, mean| 2.0 * mean * (-mean * libm::expm1(-threshold / mean) - threshold * left(mean)));
        let free = 1.0 - rate * first;
        let wait = rate * second / (2.0 * free);
        (first + tail * wait + tail * self.shared(rate, threshold, tail, free, wait)) / free / mean
    }

    /// Returns E\[α\]: the mean time for what flows have beyond the threshold, in bytes at the link's rate.
    fn shared(&self, rate: f64, threshold: f64, tail: f64, free: f64, wait: f64) -> f64 {
        let rates = self.means.map(|mean| 1.0 / mean);
        let among = [0, 1].map(|i| self.shares[i] * libm::exp(-rates[i] * threshold) / tail);
        let batches = rate * tail / free;
        let batch = 2.0 * rate * tail * (wait + threshold) / free;
        // Rows j, columns i of the linear equations, and their right-hand sides.
        let ratio = |j: usize, i: usize| among[i] / (rates[j] + rates[i]);
        let whole = |j: usize| ratio(j, 0) + ratio(j, 1);
        let row = |j: usize| {
            let mut row = [0, 1].map(|i| -batches * ratio(j, i));
            row[j] += 1.0 - batches * whole(j);
            row
        };
        let ([a, b], [c, d]) = (row(0), row(1));
        let [e, f] = [0, 1].map(|j| self.means[j] + batch * whole(j));
        let determinant = a * d - b * c;
        among[0] * (e * d - b * f) / determinant + among[1] * (a * f - e * c) / determinant
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::testing::exponential_phases;
    use proptest::prelude::*;

    fn phases(share: f64, means: [f64; 2]) -> Phases {
        Phases { shares: [share, 1.0 - share], means }
    }

    /// Returns short and long flows with mean 1 and half of the bytes each; the mean of the long ones is `ratio` times
    /// that of the short ones.
    fn balanced(ratio: f64) -> Phases {
        let short = ratio / (1.0 + ratio);
        phases(short, [0.5 / short, 0.5 / (1.0 - short)])
    }

    #[test]
    fn time__of_no_threshold_and_of_one_beyond_all_sizes_is_processor_sharing() {
        for load in [0.1, 0.5, 0.9] {
            for ratio in [2.0, 10.0, 1000.0] {
                for threshold in [1e-9, 1e5, 1e9] {
                    let time = balanced(ratio).time(load, threshold);
                    assert!((time * (1.0 - load) - 1.0).abs() < 1e-6, "{load} {ratio} {threshold}: {time}");
                }
            }
        }
    }

    #[test]
    fn time__solves_the_integral_equation() {
        // Computes α′ again by stepping through x, with the two transforms summed from the results, until they settle.
        let (phases, load, threshold) = (balanced(10.0), 0.8, 1.5);
        let rates = phases.means.map(|mean| 1.0 / mean);
        let left = [0, 1].map(|i| phases.shares[i] * libm::exp(-rates[i] * threshold));
        let tail = left[0] + left[1];
        let beyond = |x: f64| (0..2).map(|i| left[i] / tail * libm::exp(-rates[i] * x)).sum::<f64>();
        let first = phases.sum(|_, mean| -mean * libm::expm1(-threshold / mean));
        let second = phases.sum(|_, mean| {
            2.0 * mean * (-mean * libm::expm1(-threshold / mean) - threshold * libm::exp(-threshold / mean))
        });
        let free = 1.0 - load * first;
        let wait = load * second / (2.0 * free);
        let (batches, batch) = (load * tail / free, 2.0 * load * tail * (wait + threshold) / free);
        let (step, steps) = (0.02, 5_000);
        let mut slope = vec![1.0; steps];
        for _ in 0..60 {
            let at = |i: usize| (i as f64 + 0.5) * step;
            let sum = |rate: f64| (0..steps).map(|i| slope[i] * libm::exp(-rate * at(i)) * step).sum::<f64>();
            let transforms = rates.map(sum);
            // The convolution of α′ with each exponential, updated step by step: a cell adds half of itself at its
            // middle.
            let mut carried = [0.0; 2];
            let next = |i: usize| {
                let mut slope_there = 1.0 + batch * beyond(at(i));
                for (phase, rate) in rates.into_iter().enumerate() {
                    let whole = -libm::expm1(-rate * step) / rate;
                    let half = -libm::expm1(-rate * step / 2.0) / rate;
                    let share = left[phase] / tail;
                    slope_there += batches * share * libm::exp(-rate * at(i)) * transforms[phase];
                    slope_there += batches * share * (carried[phase] * libm::exp(-rate * step / 2.0) + slope[i] * half);
                    carried[phase] = carried[phase] * libm::exp(-rate * step) + slope[i] * whole;
                }
                slope_there
            };
            slope = (0..steps).map(next).collect();
        }
        let mean: f64 = (0..steps).map(|i| slope[i] * beyond((i as f64 + 0.5) * step) * step).sum();
        let solved = phases.shared(load, threshold, tail, free, wait);
        assert!((mean / solved - 1.0).abs() < 1e-3, "{mean} {solved}");
    }

    #[test]
    fn threshold__is_near_the_best() {
        for load in [0.5, 0.7, 0.9] {
            for ratio in [10.0, 100.0, 1000.0] {
                let phases = balanced(ratio);
                let (closed, best) = (phases.threshold(load), phases.best_threshold(load));
                let (worse, least) = (phases.time(load, closed), phases.time(load, best));
                assert!((closed / best - 1.0).abs() < 0.06, "{load} {ratio}: {closed} {best}");
                assert!(worse >= least && worse < least * 1.0002, "{load} {ratio}: {worse} {least}");
            }
        }
    }

    #[test]
    fn best_threshold__no_other_is_better() {
        let phases = phases(0.9, [1e4, 1e6]);
        for load in [0.2, 0.6, 0.95] {
            let least = phases.time(load, phases.best_threshold(load));
            for i in 0..4_000 {
                let other = libm::exp(f64::from(i) * 0.005);
                assert!(phases.time(load, other) >= least * (1.0 - 1e-9), "{load} {other}");
            }
        }
    }

    #[test]
    fn two_level__falls_back_where_sizes_have_no_two_phases() {
        for law in [
            SizeLaw::from_counts([(12_000, 1)]).unwrap(),
            SizeLaw::from_quantiles(&|p| Some((p * 1e6) as u64)).unwrap(),
        ] {
            let one = tandem(&law, 0.75, 2).unwrap()[0];
            assert_eq!((two_level(&law, 0.75), two_level_numeric(&law, 0.75)), (Ok(one), Ok(one)));
        }
        assert_eq!(two_level(&SizeLaw::from_counts([(12_000, 1)]).unwrap(), 0.75), Ok(8_000));
    }

    #[test]
    fn fit__finds_the_phases_of_two_phases() {
        for (share, means) in [(0.9, [1e4, 1e6]), (0.5, [1e3, 1e6]), (0.99, [1e5, 1e7])] {
            let found = Phases::fit(&exponential_phases(&[(share, means[0]), (1.0 - share, means[1])])).unwrap();
            assert!((found.shares[0] / share - 1.0).abs() < 0.01, "{found:?}");
            assert!((0..2).all(|i| (found.means[i] / means[i] - 1.0).abs() < 0.03), "{found:?}");
        }
    }

    proptest! {
        #[test]
        fn fit__keeps_the_mean(law in crate::thresholds::testing::any_law()) {
            if let Some(phases) = Phases::fit(&law) {
                prop_assert!((phases.mean() / law.mean() - 1.0).abs() < 1e-6, "{phases:?}");
                prop_assert!(phases.means[0] < phases.means[1]);
            }
        }
    }
}
