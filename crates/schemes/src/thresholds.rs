//! Demotion thresholds: the setting, and the thresholds that a scheme computes from the point's workload if no sizes are given.

use flowsieve_core::thresholds::{SizeLaw, ThresholdError, by_bytes, equal_split_of};

use crate::adaptation::Rule;
use crate::entry::Context;
use crate::parameters::Reference;
use flowsieve_settings::declare;
use flowsieve_settings::{Scope, Section, Setting, SettingsError, SizesOr};

/// The source of thresholds that are not given as sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A paper.
    Published,
    /// A computation.
    Computed(Computed),
    /// Spread evenly by their logarithms, from the fabric's rate and round trip.
    Spread,
    /// None, before there are estimates.
    Unknown,
}

/// How thresholds are computed for the sizes and the load of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computed {
    /// The same number of flows in each queue.
    EqualSplit,
    /// The least mean time of the tandem.
    Optimal,
    /// The least mean time of the foreground-background queue.
    Background,
    /// The least mean time of two-level processor sharing.
    TwoLevel,
    /// 60 % of the bytes in the first queue and 30 % in the last; the others share the rest equally.
    Worst,
}

declare! {
    /// Demotion thresholds.
    pub static THRESHOLDS: Setting<SizesOr<Start>> = Setting::sizes_or(
        Section::Scheme,
        "thresholds",
        &[
            ("published", SizesOr::Named(Start::Published)),
            ("equal-split", SizesOr::Named(Start::Computed(Computed::EqualSplit))),
            ("optimal", SizesOr::Named(Start::Computed(Computed::Optimal))),
            ("background", SizesOr::Named(Start::Computed(Computed::Background))),
            ("two-level", SizesOr::Named(Start::Computed(Computed::TwoLevel))),
            ("worst", SizesOr::Named(Start::Computed(Computed::Worst))),
            ("spread", SizesOr::Named(Start::Spread)),
            ("unknown", SizesOr::Named(Start::Unknown)),
        ],
        "demotion thresholds, one less than the queues: sizes; the published ones; equal shares of the flows; the \
         best at the point's load in the tandem of M/M/1 queues, in the foreground-background queue or (2 queues) in \
         two-level processor sharing; 60 % of the bytes in the first queue and 30 % in the last; a quarter of a bandwidth-delay product and each √10 \
         times the one before; or none until there are estimates",
    );
}

/// Reads the thresholds in bytes, if given, for a scheme that takes only sizes.
pub fn sizes(scope: &Scope<'_>) -> Result<Option<Vec<u64>>, SettingsError> {
    match scope.optional(&THRESHOLDS)? {
        None => Ok(None),
        Some(SizesOr::Sizes(sizes)) => Ok(Some(sizes)),
        Some(SizesOr::Named(_)) => Err(scope.invalid(&THRESHOLDS, "a list of sizes")),
    }
}

/// Returns thresholds in bytes that know nothing of the workload: a quarter of a bandwidth-delay product of the fabric's
/// farthest hosts, or of the papers' if there is no fabric, and each √10 times the one before.
pub(crate) fn spread(context: &Context<'_>, queues: usize) -> Result<Vec<u64>, SettingsError> {
    /// 1,000 √10.
    const STEP: u128 = 3_162;
    /// No size is larger.
    const MOST: u128 = 1_000_000_000_000_000;
    let reference = Reference::read(context)?;
    let quarter = (u128::from(reference.bdp_bytes()) / 4).max(1);
    let half_decades = |i: u32| {
        let decades = 10u128.saturating_pow(i / 2).saturating_mul(quarter);
        if i.is_multiple_of(2) { decades } else { decades.saturating_mul(STEP) / 1_000 }
    };
    let mut least = 1;
    let threshold = |i: u32| {
        let threshold = (half_decades(i).min(MOST) as u64).max(least);
        least = threshold + 1;
        threshold
    };
    Ok((0..queues.saturating_sub(1) as u32).map(threshold).collect())
}

/// Computes the thresholds in bytes, rising, for the point's workload.
pub fn compute(context: &Context<'_>, rule: Computed, queues: usize) -> Result<Vec<u64>, SettingsError> {
    let scope = &context.scope;
    let law = || SizeLaw::from_quantiles(&|p| context.workload.quantile_bytes(p));
    let load = || {
        let expected = "a workload with a `load`, on which these thresholds depend, or \"equal-split\" or sizes";
        context.workload.load().ok_or_else(|| scope.invalid(&THRESHOLDS, expected))
    };
    let at_load = |rule: Rule| load().map(|load| law().and_then(|law| rule.for_law(&law, load, queues)));
    let computed = match rule {
        Computed::Optimal => at_load(Rule::Optimal)?,
        Computed::Background => at_load(Rule::Survival)?,
        Computed::TwoLevel if queues == 2 => at_load(Rule::TwoLevel)?,
        Computed::TwoLevel => {
            return Err(scope.invalid(&THRESHOLDS, format!("`queues` = 2 for it instead of {queues}")));
        }
        Computed::Worst => law().map(|law| by_bytes(&law, &worst(queues))),
        Computed::EqualSplit => equal_split_of(queues, |p| context.workload.quantile_bytes(p)),
    };
    computed.map_err(|error| match error {
        ThresholdError::Empty => scope.invalid(&THRESHOLDS, "sizes: the workload's sizes are not known"),
        other => scope.error(&THRESHOLDS, other.to_string()),
    })
}

/// Returns the shares of the bytes before each threshold.
fn worst(queues: usize) -> Vec<f64> {
    let between = queues.saturating_sub(2);
    (0..queues.saturating_sub(1)).map(|i| if i == 0 { 0.6 } else { 0.6 + 0.1 * i as f64 / between as f64 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{Facts, none_given};

    fn computed(rule: Computed, queues: usize, facts: &Facts) -> Result<Vec<u64>, String> {
        let settings = none_given();
        let context = Context { scope: settings.scheme("pias"), workload: facts };
        compute(&context, rule, queues).map_err(|error| error.to_string())
    }

    fn uniform(load: Option<f64>) -> Facts {
        Facts { load, uniform_to: Some(1_000_000), ..Facts::NONE }
    }

    /// With uniform sizes up to 1, a share 2a − a² of the bytes lies before the offset a.
    fn near(found: &[u64], shares: &[f64]) {
        assert_eq!(found.len(), shares.len());
        for (found, share) in found.iter().zip(shares) {
            let offset = 1e6 * (1.0 - (1.0 - share).sqrt());
            assert!((*found as f64 - offset).abs() < 20.0, "{found} for {share}");
        }
    }

    #[test]
    fn compute__worst_by_the_bytes_of_packets() {
        let worst = |queues| computed(Computed::Worst, queues, &uniform(Some(0.8))).unwrap();
        near(&worst(2), &[0.6]);
        near(&worst(3), &[0.6, 0.7]);
        let eighths: Vec<f64> = (0..7).map(|i| 0.6 + 0.1 * f64::from(i) / 6.0).collect();
        near(&worst(8), &eighths);
        assert_eq!(worst(1), Vec::<u64>::new());
    }

    #[test]
    fn compute__for_the_points_load() {
        // 1 − ρ g = (1 − ρ)^(1/2): at load 3/4 g = 2/3, at load 0.96 g = 5/6. Uniform sizes have no two phases.
        near(&computed(Computed::Optimal, 2, &uniform(Some(0.75))).unwrap(), &[2.0 / 3.0]);
        near(&computed(Computed::Optimal, 2, &uniform(Some(0.96))).unwrap(), &[5.0 / 6.0]);
        near(&computed(Computed::TwoLevel, 2, &uniform(Some(0.96))).unwrap(), &[5.0 / 6.0]);
        // For uniform sizes, the order of arrival is best.
        assert!(computed(Computed::Background, 3, &uniform(Some(0.5))).unwrap()[0] >= 999_000);
    }

    #[test]
    fn compute__refuses_what_it_cannot_compute() {
        let refused = |rule, queues, load| computed(rule, queues, &uniform(load)).unwrap_err();
        for rule in [Computed::Optimal, Computed::Background] {
            assert!(refused(rule, 8, None).contains("a workload with a `load`"), "{}", refused(rule, 8, None));
            assert!(refused(rule, 8, Some(1.2)).contains("a load of 1.2; expected more than 0 and less than 1"));
        }
        assert!(refused(Computed::TwoLevel, 8, Some(0.5)).contains("`queues` = 2"));
        let unknown = Facts { load: Some(0.5), ..Facts::NONE };
        assert!(computed(Computed::Optimal, 8, &unknown).unwrap_err().contains("are not known"));
    }
}
