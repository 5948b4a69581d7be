//! Queue weights and the thresholds that follow from them (QCluster §3.4, §5.2).
//!
//! The packet path adds each packet's weight, and a count of one, to its queue, and looks its queue up among thresholds. A
//! slow path does the divisions: once per period it takes the mean weight of each queue, places each threshold between two
//! means, and ages the counts. Between updates thresholds stay fixed, as in a switch whose control plane computes them.
//!
//! What the paper leaves open, and what is done here:
//! - *How alpha adapts.* Each threshold has its own. With r the share of the queue above in the size of both, alpha grows
//!   by 2^(gain (1 - 2r)) per update, within 1/16 and 16, so it stays fixed when both have the same size.
//! - *Aging.* Sums and numbers decay by half per half-life, one step per update.
//! - *An empty queue* keeps its previous mean. Means are kept rising, by at least 1.
//! - *Idle periods* age the counts and adapt nothing.

use crate::units::Time;

/// Where a threshold lies between the mean weights of two neighbouring queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThresholdRule {
    /// At m_i b + m_(i+1) (1 - b), with b = (s_i / (s_i + s_(i+1)))^alpha of the clusters' sizes s.
    Adaptive {
        /// The definition of size.
        size: ClusterSize,
        /// Alpha at the start; above zero.
        alpha: f64,
        /// How fast alpha adapts, in powers of two per update; 0: it is fixed.
        gain: f64,
    },
    /// The geometric mean, as in the authors' code.
    Geometric,
    /// The harmonic mean.
    Harmonic,
    /// The arithmetic mean: k-means' own.
    Arithmetic,
}

/// The quantity that clusters share equally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterSize {
    /// The number of packets: `Same-Cluster-Size`, for fair queueing.
    Same,
    /// The number of packets over the queue weight: `Proportional-Cluster-Size`, so that high priorities hold few.
    Proportional,
}

/// How queue weights are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightParams {
    /// The initial thresholds, one fewer than queues, in the unit of weights: they rise, after zeros, whose queues no packet
    /// enters before the first update.
    pub initial: Vec<u32>,
    /// The rule by which they move.
    pub rule: ThresholdRule,
    /// Time between two updates; above zero.
    pub period: Time,
    /// Time after which counts weigh half.
    pub half_life: Time,
}

/// Mean weights of a group of queues, and the thresholds between them.
#[derive(Clone, Debug)]
pub struct QueueWeights {
    rule: ThresholdRule,
    /// Half-lives in a period.
    half_lives: f64,
    sums: Vec<u64>,
    packets: Vec<u64>,
    /// Mean weights, rising.
    means: Vec<f64>,
    thresholds: Vec<u32>,
    /// By threshold.
    alphas: Vec<f64>,
    updates: u64,
}

/// Alpha stays between 1 over this and this.
const ALPHA_MOST: f64 = 16.0;

impl QueueWeights {
    /// Builds the weights of `initial.len() + 1` queues.
    ///
    /// # Panics
    /// If the thresholds do not rise or a time is zero; set-up checks both.
    pub fn new(params: &WeightParams) -> QueueWeights {
        let WeightParams { initial, rule, period, half_life } = params;
        assert!(initial.is_sorted_by(|a, b| a < b || *b == 0 && a == b), "thresholds rise");
        assert!(*period > Time::ZERO && *half_life > Time::ZERO, "a period is above zero");
        let queues = initial.len() + 1;
        let alpha = if let ThresholdRule::Adaptive { alpha, .. } = rule { *alpha } else { 1.0 };
        let last = initial.last().map_or(1.0, |&last| 2.0 * f64::from(last));
        QueueWeights {
            rule: *rule,
            half_lives: period.0 as f64 / half_life.0 as f64,
            sums: vec![0; queues],
            packets: vec![0; queues],
            means: initial.iter().map(|&threshold| f64::from(threshold)).chain([last]).collect(),
            thresholds: initial.clone(),
            alphas: vec![alpha; queues - 1],
            updates: 0,
        }
    }

    /// Returns the queue of a packet of this weight: the first whose threshold it does not exceed.
    #[inline]
    pub fn choose(&self, weight: u32) -> usize {
        self.thresholds.iter().take_while(|&&threshold| weight > threshold).count()
    }

    /// Counts a packet of this weight in its queue.
    #[inline]
    pub fn note(&mut self, queue: usize, weight: u32) {
        self.sums[queue] += u64::from(weight);
        self.packets[queue] += 1;
    }

    /// Runs the slow path: one update, after which `periods` of them have passed.
    pub fn update(&mut self, periods: u64) {
        self.updates += 1;
        let mut least = 0.0;
        for (mean, (&sum, &packets)) in self.means.iter_mut().zip(self.sums.iter().zip(&self.packets)) {
            if packets > 0 {
                *mean = sum as f64 / packets as f64;
            }
            *mean = mean.max(least);
            least = *mean + 1.0;
        }
        let mut below = 0;
        for upper in 0..self.thresholds.len() {
            let threshold = self.between(upper).clamp(0.0, f64::from(u32::MAX)) as u32;
            self.thresholds[upper] = threshold.max(below);
            below = self.thresholds[upper].saturating_add(1);
        }
        self.age(periods);
    }

    /// Returns the new threshold under queue `upper`, and adapts its alpha.
    fn between(&mut self, upper: usize) -> f64 {
        let (m, n) = (self.means[upper], self.means[upper + 1]);
        match self.rule {
            ThresholdRule::Arithmetic => (m + n) / 2.0,
            ThresholdRule::Geometric => libm::sqrt(m * n),
            ThresholdRule::Harmonic => 2.0 * m * n / (m + n),
            ThresholdRule::Adaptive { size, gain, .. } => {
                let of = |queue: usize| match size {
                    ClusterSize::Same => self.packets[queue] as f64,
                    ClusterSize::Proportional => self.packets[queue] as f64 / self.means[queue].max(1.0),
                };
                let (above, both) = (of(upper), of(upper) + of(upper + 1));
                if both == 0.0 {
                    return f64::from(self.thresholds[upper]);
                }
                let share = above / both;
                let alpha = &mut self.alphas[upper];
                *alpha = (*alpha * libm::exp2(gain * (1.0 - 2.0 * share))).clamp(1.0 / ALPHA_MOST, ALPHA_MOST);
                let beta = libm::pow(share, *alpha);
                m * beta + n * (1.0 - beta)
            }
        }
    }

    fn age(&mut self, periods: u64) {
        let kept = libm::exp2(-(periods as f64) * self.half_lives);
        for (sum, packets) in self.sums.iter_mut().zip(&mut self.packets) {
            *packets = (*packets as f64 * kept) as u64;
            *sum = if *packets == 0 { 0 } else { (*sum as f64 * kept) as u64 };
        }
    }

    /// Returns service weights in inverse proportion to the mean weights (fair queueing, §3.4): 1 for the queue of the heaviest.
    pub fn inverse(&self) -> impl Iterator<Item = u32> {
        let heaviest = self.means.last().copied().unwrap_or(1.0);
        self.means.iter().map(move |mean| (heaviest / mean.max(1.0)).round().clamp(1.0, MOST_SERVICE) as u32)
    }

    /// Returns the thresholds, rising.
    pub fn thresholds(&self) -> &[u32] {
        &self.thresholds
    }

    /// Returns the mean weight of each queue.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Returns the packets counted in each queue, after aging.
    pub fn packets(&self) -> &[u64] {
        &self.packets
    }

    /// Returns the weight counted in each queue, after aging.
    pub fn sums(&self) -> &[u64] {
        &self.sums
    }

    /// Returns the alpha of each threshold.
    pub fn alphas(&self) -> &[f64] {
        &self.alphas
    }

    /// Returns the number of updates so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }
}

/// The most packets that one queue sends in a turn, for one of the heaviest.
const MOST_SERVICE: f64 = 1_024.0;

#[cfg(test)]
#[path = "weights_tests.rs"]
mod tests;
