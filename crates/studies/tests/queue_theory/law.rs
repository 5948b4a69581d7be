//! The message sizes of the validation, as formulas. They are independent of the code that draws sizes, because the
//! validation checks that code, too.
//!
//! Sizes are in packets and need not be whole: a message's last packet has the remaining length. *X* is a size, F its
//! distribution function and S = 1 − F.

/// A distribution of sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Law {
    /// S(x) = exp(−x / mean).
    Exponential { mean: f64 },
    /// Uniform from 0 to `most`.
    Uniform { most: f64 },
    /// S(x) = ((low/x)^shape − (low/high)^shape) / (1 − (low/high)^shape) from low to high; `shape` is neither 1 nor 2.
    BoundedPareto { shape: f64, low: f64, high: f64 },
}

impl Law {
    /// Builds the bounded Pareto distribution with this mean.
    pub(super) fn bounded_pareto(shape: f64, high_by_low: f64, mean: f64) -> Law {
        let unit = Law::BoundedPareto { shape, low: 1.0, high: high_by_low };
        let low = mean / unit.mean();
        Law::BoundedPareto { shape, low, high: low * high_by_low }
    }

    /// Returns E X.
    pub(super) fn mean(self) -> f64 {
        self.beyond(0.0)
    }

    /// Returns E X² / (E X)² − 1, the squared coefficient of variation.
    pub(super) fn variation(self) -> f64 {
        2.0 * self.moment(self.most()) / (self.mean() * self.mean()) - 1.0
    }

    /// Returns a size beyond which nothing matters: less than 10⁻¹⁷ of the messages.
    pub(super) fn most(self) -> f64 {
        match self {
            Law::Exponential { mean } => 40.0 * mean,
            Law::Uniform { most } => most,
            Law::BoundedPareto { high, .. } => high,
        }
    }

    /// Returns S(x).
    pub(super) fn survival(self, x: f64) -> f64 {
        match self {
            Law::Exponential { mean } => libm::exp(-x / mean),
            Law::Uniform { most } => (1.0 - x / most).clamp(0.0, 1.0),
            Law::BoundedPareto { low, .. } if x <= low => 1.0,
            Law::BoundedPareto { high, .. } if x >= high => 0.0,
            Law::BoundedPareto { shape, low, high } => {
                let end = libm::pow(low / high, shape);
                (libm::pow(low / x, shape) - end) / (1.0 - end)
            }
        }
    }

    /// Returns F′(x).
    pub(super) fn density(self, x: f64) -> f64 {
        match self {
            Law::Exponential { mean } => libm::exp(-x / mean) / mean,
            Law::Uniform { most } => f64::from(u8::from((0.0..=most).contains(&x))) / most,
            Law::BoundedPareto { shape, low, high } if (low..=high).contains(&x) => {
                shape * libm::pow(low / x, shape) / x / (1.0 - libm::pow(low / high, shape))
            }
            Law::BoundedPareto { .. } => 0.0,
        }
    }

    /// Returns ∫ S from x on: the mean part of a message beyond x, zero for a shorter message.
    pub(super) fn beyond(self, x: f64) -> f64 {
        match self {
            Law::Exponential { mean } => mean * libm::exp(-x / mean),
            Law::Uniform { most } => {
                let left = (most - x).max(0.0);
                left * left / (2.0 * most)
            }
            Law::BoundedPareto { low, .. } if x < low => low - x + self.beyond(low),
            Law::BoundedPareto { high, .. } if x >= high => 0.0,
            Law::BoundedPareto { shape, low, high } => {
                let end = libm::pow(low / high, shape);
                let integral = (x * libm::pow(low / x, shape) - high * end) / (shape - 1.0);
                (integral - end * (high - x)) / (1.0 - end)
            }
        }
    }

    /// Returns ∫ t S(t) dt from 0 to x: half of E min(X, x)².
    pub(super) fn moment(self, x: f64) -> f64 {
        match self {
            Law::Exponential { mean } => mean * (mean - (x + mean) * libm::exp(-x / mean)),
            Law::Uniform { most } => {
                let x = x.min(most);
                x * x / 2.0 - x * x * x / (3.0 * most)
            }
            Law::BoundedPareto { low, .. } if x <= low => x * x / 2.0,
            Law::BoundedPareto { shape, low, high } => {
                let x = x.min(high);
                let end = libm::pow(low / high, shape);
                let integral = (x * x * libm::pow(low / x, shape) - low * low) / (2.0 - shape);
                low * low / 2.0 + (integral - end * (x * x - low * low) / 2.0) / (1.0 - end)
            }
        }
    }

    /// Returns ∫ t dF(t) from 0 to x: the work of messages of at most x.
    pub(super) fn brought_up_to(self, x: f64) -> f64 {
        self.mean() - self.beyond(x) - x * self.survival(x)
    }

    /// Returns panels from 0 to [`Law::most`], with a bound at each bend of S.
    pub(super) fn panels(self) -> Vec<f64> {
        let even = |to: f64, count: u32| (0..=count).map(move |n| to * f64::from(n) / f64::from(count));
        match self {
            Law::Exponential { .. } => even(self.most(), 160).collect(),
            Law::Uniform { most } => even(most, 32).collect(),
            Law::BoundedPareto { low, high, .. } => {
                let step = |n: u32| low * libm::pow(high / low, f64::from(n) / 64.0);
                even(low, 4).chain((1..=64).map(step)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::integrate::Rule;
    use super::*;

    pub(super) const LAWS: [Law; 4] = [
        Law::Exponential { mean: 64.0 },
        Law::Uniform { most: 128.0 },
        Law::BoundedPareto { shape: 1.5, low: 23.0, high: 2_300.0 },
        Law::BoundedPareto { shape: 0.7, low: 2.0, high: 50.0 },
    ];

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn moments__of_the_textbook() {
        near(LAWS[0].variation(), 1.0);
        near(LAWS[1].variation(), 1.0 / 3.0);
        near(LAWS[1].mean(), 64.0);
        let pareto = Law::bounded_pareto(1.5, 100.0, 64.0);
        near(pareto.mean(), 64.0);
        // With low = 1: the mean is 3 · 0.9 / 0.999 and the second moment 3 · 9 / 0.999.
        near(pareto.variation(), 27.0 / 0.999 / (2.7 / 0.999 * 2.7 / 0.999) - 1.0);
    }

    #[test]
    fn integrals__are_those_of_the_survival_and_the_density() {
        let rule = Rule::new();
        for law in LAWS {
            let panels = law.panels();
            assert!(panels.is_sorted() && panels[0] == 0.0);
            near(panels[panels.len() - 1], law.most());
            near(rule.over(&panels, |x| law.survival(x)), law.mean());
            near(rule.over(&panels, |x| law.density(x)), 1.0);
            for &x in &panels[1..panels.len() - 1] {
                let below: Vec<f64> = panels.iter().copied().filter(|bound| *bound <= x).collect();
                near(rule.over(&below, |t| t * law.survival(t)), law.moment(x));
                near(1.0 + law.mean() - rule.over(&below, |t| law.survival(t)), 1.0 + law.beyond(x));
                near(1.0 + rule.over(&below, |t| t * law.density(t)), 1.0 + law.brought_up_to(x));
            }
        }
    }
}
