//! Demotion thresholds that a scheme computes from the point's workload: the rules that the setting `thresholds` names.

use flowsieve_thresholds::{SizeLaw, ThresholdError, background, by_bytes, equal_split_of, tandem, two_level};

use crate::registry::Context;
use crate::settings::SettingsError;

/// The thresholds in bytes, rising, by the rule that the setting `thresholds` names: as many flows in each queue
/// ("equal-split"), the least mean time of the tandem ("optimal"), of the foreground-background queue ("background") or of
/// two-level processor sharing ("two-level") at the point's load, or 60 % of the bytes in the first queue and 30 % in the
/// last ("worst", the others sharing the rest equally).
pub fn by_rule(context: &Context<'_>, rule: &str, queues: usize) -> Result<Vec<u64>, SettingsError> {
    let scope = &context.scope;
    let law = || SizeLaw::from_quantiles(&|p| context.workload.quantile_bytes(p));
    let load = || {
        let expected = "a workload with a `load`, on which these thresholds depend, or \"equal-split\" or sizes";
        context.workload.load().ok_or_else(|| scope.invalid("thresholds", expected))
    };
    let computed = match rule {
        "optimal" => {
            let load = load()?;
            law().and_then(|law| tandem(&law, load, queues))
        }
        "background" => {
            let load = load()?;
            law().and_then(|law| background(&law, load, queues))
        }
        "two-level" if queues == 2 => {
            let load = load()?;
            law().and_then(|law| Ok(vec![two_level(&law, load)?]))
        }
        "two-level" => return Err(scope.invalid("thresholds", format!("`queues` = 2 for it instead of {queues}"))),
        "worst" => law().map(|law| by_bytes(&law, &worst(queues))),
        _ => equal_split_of(queues, |p| context.workload.quantile_bytes(p)),
    };
    computed.map_err(|error| match error {
        ThresholdError::Empty => scope.invalid("thresholds", "sizes: nothing is known of the workload's to split"),
        other => scope.error("thresholds", other.to_string()),
    })
}

/// The shares of the bytes that lie before each threshold.
fn worst(queues: usize) -> Vec<f64> {
    let between = queues.saturating_sub(2);
    (0..queues.saturating_sub(1)).map(|i| if i == 0 { 0.6 } else { 0.6 + 0.1 * i as f64 / between as f64 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::testing::Facts;

    fn rule(rule: &str, queues: usize, facts: &Facts) -> Result<Vec<u64>, String> {
        let settings = Settings::default().with(None, "queues", queues as i64).with(None, "thresholds", rule);
        let context = Context { scope: settings.scheme("pias"), workload: facts };
        by_rule(&context, rule, queues).map_err(|error| error.to_string())
    }

    fn uniform(load: Option<f64>) -> Facts {
        Facts { name: None, load, uniform_to: Some(1_000_000) }
    }

    /// Of uniform sizes up to 1, a share 2a − a² of the bytes lies before the offset a.
    fn near(found: &[u64], shares: &[f64]) {
        assert_eq!(found.len(), shares.len());
        for (found, share) in found.iter().zip(shares) {
            let offset = 1e6 * (1.0 - (1.0 - share).sqrt());
            assert!((*found as f64 - offset).abs() < 20.0, "{found} for {share}");
        }
    }

    #[test]
    fn by_rule__worst_by_the_bytes_of_packets() {
        let worst = |queues| rule("worst", queues, &uniform(Some(0.8))).unwrap();
        near(&worst(2), &[0.6]);
        near(&worst(3), &[0.6, 0.7]);
        let eighths: Vec<f64> = (0..7).map(|i| 0.6 + 0.1 * f64::from(i) / 6.0).collect();
        near(&worst(8), &eighths);
        assert_eq!(worst(1), []);
    }

    #[test]
    fn by_rule__for_the_points_load() {
        // 1 − ρ g = (1 − ρ)^(1/2): at load 3/4 g = 2/3, at load 0.96 g = 5/6. Uniform sizes have no two phases.
        near(&rule("optimal", 2, &uniform(Some(0.75))).unwrap(), &[2.0 / 3.0]);
        near(&rule("optimal", 2, &uniform(Some(0.96))).unwrap(), &[5.0 / 6.0]);
        near(&rule("two-level", 2, &uniform(Some(0.96))).unwrap(), &[5.0 / 6.0]);
        // Uniform sizes are served best in the order in which they come.
        assert!(rule("background", 3, &uniform(Some(0.5))).unwrap()[0] >= 999_000);
    }

    #[test]
    fn by_rule__refuses_what_it_cannot_compute() {
        let refused = |name: &str, queues, load| rule(name, queues, &uniform(load)).unwrap_err();
        for name in ["optimal", "background"] {
            assert!(refused(name, 8, None).contains("a workload with a `load`"), "{}", refused(name, 8, None));
            assert!(refused(name, 8, Some(1.2)).contains("a load of 1.2; expected more than 0 and less than 1"));
        }
        assert!(refused("two-level", 8, Some(0.5)).contains("`queues` = 2"));
        let unknown = Facts { name: None, load: Some(0.5), uniform_to: None };
        assert!(rule("optimal", 8, &unknown).unwrap_err().contains("nothing is known"));
    }
}
