//! Integrals of smooth functions by the Gauss–Legendre rule, panel by panel.
//!
//! The integrands are smooth between known bends. So a fixed rule on panels between the bends is exact up to rounding,
//! without adaptation.

/// Points of the rule on each panel.
const POINTS: usize = 16;

/// Nodes and weights on −1 to 1.
#[derive(Debug, Clone)]
pub(super) struct Rule([(f64, f64); POINTS]);

impl Rule {
    /// Computes the zeros of the Legendre polynomial by Newton's method from Chebyshev's guesses, and their weights 2 /
    /// ((1 − x²) P′(x)²) (Abramowitz and Stegun, 25.4.29).
    pub(super) fn new() -> Rule {
        let mut rule = [(0.0, 0.0); POINTS];
        for (index, node) in rule.iter_mut().enumerate() {
            let mut x = libm::cos(std::f64::consts::PI * (index as f64 + 0.75) / (POINTS as f64 + 0.5));
            for _ in 0..8 {
                let (value, slope) = legendre(x);
                x -= value / slope;
            }
            let slope = legendre(x).1;
            *node = (x, 2.0 / ((1.0 - x * x) * slope * slope));
        }
        Rule(rule)
    }

    /// Integrates over every panel between two neighbours in `bounds`, which rise.
    pub(super) fn over(&self, bounds: &[f64], of: impl Fn(f64) -> f64) -> f64 {
        let panel = |ends: &[f64]| {
            let (middle, half) = ((ends[0] + ends[1]) / 2.0, (ends[1] - ends[0]) / 2.0);
            half * self.0.iter().map(|(x, weight)| weight * of(middle + half * x)).sum::<f64>()
        };
        bounds.windows(2).map(panel).sum()
    }
}

/// Computes the Legendre polynomial of degree [`POINTS`] and its derivative, by Bonnet's recursion.
fn legendre(x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for degree in 2..=POINTS {
        let n = degree as f64;
        (before, value) = (value, ((2.0 * n - 1.0) * x * value - (n - 1.0) * before) / n);
    }
    (value, POINTS as f64 * (x * value - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule__is_exact_for_polynomials_up_to_twice_its_points() {
        let rule = Rule::new();
        for degree in 0..2 * POINTS {
            let integral = rule.over(&[0.0, 1.0], |x| (0..degree).map(|_| x).product());
            assert!((integral * (degree as f64 + 1.0) - 1.0).abs() < 1e-13, "{degree}: {integral}");
        }
    }

    #[test]
    fn rule__adds_panels() {
        let rule = Rule::new();
        let bounds: Vec<f64> = (0..=20).map(f64::from).collect();
        assert!((rule.over(&bounds, |x| libm::exp(-x)) + libm::expm1(-20.0)).abs() < 1e-14);
        assert_eq!(rule.over(&[3.0], |x| x), 0.0);
    }
}
