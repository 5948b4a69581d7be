//! Means and intervals of independent batches.

use flowsieve_results::student_t_within;

/// The mean of equally long, independent batches, with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// Mean of the batches' means.
    pub(super) mean: f64,
    /// Standard error of the mean.
    pub(super) error: f64,
    /// Number of batches.
    pub(super) batches: usize,
}

impl Estimate {
    /// Computes it from the means of at least two batches.
    pub(super) fn of(means: &[f64]) -> Option<Estimate> {
        if means.len() < 2 {
            return None;
        }
        let count = means.len() as f64;
        let mean = means.iter().sum::<f64>() / count;
        let squares: f64 = means.iter().map(|value| (value - mean) * (value - mean)).sum();
        Some(Estimate { mean, error: (squares / (count - 1.0) / count).sqrt(), batches: means.len() })
    }

    /// Returns half the width of the two-sided interval that contains the true mean with this probability, by Student's
    /// t.
    pub(super) fn half_width(&self, confidence: f64) -> f64 {
        student_t_within(self.batches.saturating_sub(1).max(1), confidence) * self.error
    }

    /// Estimates the total number of batches that reduces half of the 95 % interval to this share of the mean.
    pub(super) fn batches_for(&self, share: f64) -> usize {
        let ratio = self.half_width(0.95) / (share * self.mean);
        (self.batches as f64 * ratio * ratio).ceil() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate__by_hand() {
        // The standard deviation is 1, its error 1/√3; t with two degrees of freedom is 4.3027, and 31.599 for 99.9 %.
        let estimate = Estimate::of(&[9.0, 10.0, 11.0]).unwrap();
        assert_eq!(estimate.mean, 10.0);
        assert!((estimate.half_width(0.95) - 4.3027 / 3f64.sqrt()).abs() < 1e-3);
        assert!((estimate.half_width(0.999) - 31.599 / 3f64.sqrt()).abs() < 1e-2);
        assert_eq!(Estimate::of(&[1.0]), None);
    }

    #[test]
    fn batches_for__grows_with_the_square() {
        let estimate = Estimate::of(&[9.0, 10.0, 11.0]).unwrap();
        let share = estimate.half_width(0.95) / estimate.mean;
        assert_eq!(estimate.batches_for(share), 3);
        assert_eq!(estimate.batches_for(share / 2.0), 12);
    }
}
