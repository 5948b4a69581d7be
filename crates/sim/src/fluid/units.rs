//! Rates in whole units, so that sums and comparisons of rates are exact.

/// The number that a share of 1 has as a weight. Weights are rounded to the nearest: a third is off by 10^-10 of itself.
const ONE: f64 = (1u64 << 32) as f64;

/// The unit of rates: a power of two of a bit/s, so small that the fastest link has 2^61 to 2^62 of them. That is finer
/// than an `f64`.
///
/// Rates of a flow are `u64`, what links have is `u128`: units times the weight of what crosses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    in_a_bit: f64,
}

impl Units {
    /// Chooses the unit for these links.
    pub(crate) fn of(rates: &[f64]) -> Units {
        let most = rates.iter().copied().fold(1.0, f64::max);
        // 2^e with e from the bits of the number (IEEE 754); a rate above 2^1000 bit/s is none.
        let exponent = ((most.to_bits() >> 52) & 0x7ff) as i64 - 1023;
        Units { in_a_bit: f64::from_bits(((1023 + 61 - exponent).max(1) as u64) << 52) }
    }

    /// Returns what a link with this rate has.
    pub(crate) fn capacity(self, rate: f64) -> u128 {
        ((rate * self.in_a_bit) as u128) << 32
    }

    /// Returns the weight of a share of a flow, which is at most 1.
    pub(crate) fn weight(share: f64) -> u64 {
        ((share * ONE).round() as u64).max(1)
    }

    /// Returns a rate in bit/s.
    pub(crate) fn rate(self, units: u64) -> f64 {
        units as f64 / self.in_a_bit
    }
}

/// Returns the rate of each flow if flows of a weight share what is left, rounded down; `u64::MAX` without flows.
pub(crate) fn level(left: u128, weight: u64) -> u64 {
    match weight {
        0 => u64::MAX,
        // Small shares may have higher levels, but then the links of hosts are full first.
        weight => u64::try_from(left / u128::from(weight)).unwrap_or(u64::MAX).min(u64::MAX - 1),
    }
}

/// Returns what flows of a weight take at a rate.
pub(crate) fn load(weight: u64, rate: u64) -> u128 {
    u128::from(weight) * u128::from(rate)
}
