//! Two exponential phases as a fit of a law of sizes: short flows and long ones.

use crate::thresholds::law::SizeLaw;

/// Number of bins of sizes per factor of two.
const BINS: u32 = 8;

/// The most rounds of the fit, and the change of a phase's mean below which it ends.
const ROUNDS: u32 = 500;
const SETTLED: f64 = 1e-7;

/// F(x) = 1 − p₁ e^(−μ₁ x) − p₂ e^(−μ₂ x), short flows first: μ₁ > μ₂.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phases {
    /// p₁ and p₂, which add up to 1.
    pub shares: [f64; 2],
    /// 1/μ₁ and 1/μ₂, in bytes.
    pub means: [f64; 2],
}

impl Phases {
    /// Fits the two most likely phases by expectation maximisation, starting from the flows up to the mean and those
    /// above. Every round keeps the mean of the law. `None` if sizes vary no more than exponential ones, or if the
    /// phases become one.
    pub fn fit(law: &SizeLaw) -> Option<Phases> {
        let mean = law.mean();
        if law.second_moment_up_to(u64::MAX) <= 2.0 * mean * mean {
            return None;
        }
        let split = mean as u64;
        let (long, long_bytes) = (law.share_beyond(split), mean - law.mean_of_up_to(split));
        let mut phases =
            Phases { shares: [1.0 - long, long], means: [(mean - long_bytes) / (1.0 - long), long_bytes / long] };
        let bins = bins(law);
        for _ in 0..ROUNDS {
            let next = phases.likelier(&bins);
            let change = (0..2).map(|i| (next.means[i] / phases.means[i] - 1.0).abs()).fold(0.0, f64::max);
            phases = next;
            if change < SETTLED {
                break;
            }
        }
        let sound = phases.shares.iter().all(|share| *share > 1e-12) && phases.means[0] < 0.999 * phases.means[1];
        sound.then_some(phases)
    }

    fn likelier(&self, bins: &[(f64, f64)]) -> Phases {
        let ([short, long], [short_mean, long_mean]) = (self.shares, self.means);
        let odds = long / long_mean / (short / short_mean);
        let nearer = 1.0 / short_mean - 1.0 / long_mean;
        let (mut shares, mut bytes) = ([0.0; 2], [0.0; 2]);
        for (share, of_bytes) in bins {
            let to_long = odds * libm::exp(nearer * of_bytes / share);
            // Both are exact if the other vanishes; `to_long` may be infinite.
            let parts = [1.0 / (1.0 + to_long), 1.0 / (1.0 + 1.0 / to_long)];
            for (phase, part) in parts.into_iter().enumerate() {
                shares[phase] += part * share;
                bytes[phase] += part * of_bytes;
            }
        }
        let total = shares[0] + shares[1];
        Phases { shares: shares.map(|share| share / total), means: [bytes[0] / shares[0], bytes[1] / shares[1]] }
    }

    /// Returns the mean, in bytes.
    pub fn mean(&self) -> f64 {
        self.sum(|_, mean| mean)
    }

    /// Sums the share times `each(share, mean)` over both phases.
    pub(super) fn sum(&self, each: impl Fn(f64, f64) -> f64) -> f64 {
        (0..2).map(|i| self.shares[i] * each(self.shares[i], self.means[i])).sum()
    }
}

/// Returns the share of the flows in each bin of sizes, and what they add to the mean.
fn bins(law: &SizeLaw) -> Vec<(f64, f64)> {
    let mut bins = Vec::new();
    let (mut beyond, mut ended) = (1.0, 0.0);
    for bin in 0.. {
        let up_to = libm::exp2(f64::from(bin) / f64::from(BINS)) as u64;
        let next = (law.share_beyond(up_to), law.mean_of_up_to(up_to));
        if next.0 < beyond && next.1 > ended {
            bins.push((beyond - next.0, next.1 - ended));
            (beyond, ended) = next;
        }
        if up_to >= law.max() {
            break;
        }
    }
    bins
}
