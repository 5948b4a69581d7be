//! Thresholds that adapt: the settings of what hosts estimate and of the central controller, for every scheme whose hosts
//! demote flows by bytes sent.
//!
//! Defaults, none of them stated by NOS2, and why: [docs/nos2.md](../../../docs/nos2.md).

use flowsieve_core::host_queues::HostQueueRules;
use flowsieve_core::levels::{Adaptation, ControllerParams, LevelParams, OwnQueues, Rule, Seen};
use flowsieve_core::thresholds::SizeLaw;
use flowsieve_core::{PortKind, Time};

use crate::registry::Context;
use crate::scheme::{PortSpec, TaggerSpec};
use crate::settings::{SettingsError, SizesOrName, one_of};

/// The controller of a scheme whose packets are tagged with so many levels, if it has one.
pub(crate) fn controller(
    context: &Context<'_>,
    default: &str,
    levels: usize,
) -> Result<Option<ControllerParams>, SettingsError> {
    let scope = &context.scope;
    let rules = [
        ("none", None),
        ("equal-split", Some(Rule::EqualSplit)),
        ("optimal", Some(Rule::Optimal)),
        ("two-level", Some(Rule::TwoLevel)),
    ];
    let Some(rule) = scope.choice("controller", &rules, default)? else { return Ok(None) };
    if rule == Rule::TwoLevel && levels != 2 {
        return Err(scope.invalid("controller", format!("another rule for {levels} levels: it computes one threshold")));
    }
    let delay = Time(scope.time("controller_delay", Time::from_us(1_000).0)?);
    Ok(Some(ControllerParams { rule, levels, delay }))
}

/// What hosts write where the network's thresholds begin with these: levels that adapt, if there is a controller or the
/// host's port `nic` has queues of the host's own.
pub(crate) fn tagger(
    context: &Context<'_>,
    nic: &PortSpec,
    network: Vec<u64>,
    controller: Option<ControllerParams>,
) -> Result<TaggerSpec, SettingsError> {
    let scope = &context.scope;
    let own = match nic.kind {
        PortKind::Host(HostQueueRules { queues }) => {
            let rules = [("equal-split", Rule::EqualSplit)];
            let thresholds = start(context, "host_thresholds", &rules, Rule::EqualSplit, queues)?;
            Some(OwnQueues { queues, thresholds })
        }
        _ => None,
    };
    if own.is_none() && controller.is_none() {
        return Ok(TaggerSpec::Demotion(network));
    }
    let adaptation = Adaptation {
        period: Time(scope.time("controller_period", Time::from_us(10_000).0)?),
        window: Time(scope.time("observe_window", Time::from_us(10_000_000).0)?),
        least: scope.count("observe_least", 100)?,
        controller,
    };
    Ok(TaggerSpec::Levels(Box::new(LevelParams { network, own, adaptation })))
}

/// The thresholds at the start, in bytes: sizes, or those of a rule for what is known of the workload. Not given: those of
/// the default, or none where it needs what is not known.
pub(crate) fn start(
    context: &Context<'_>,
    key: &str,
    rules: &[(&str, Rule)],
    default: Rule,
    levels: usize,
) -> Result<Vec<u64>, SettingsError> {
    let scope = &context.scope;
    let name = match scope.sizes_or_name(key)? {
        Some(SizesOrName::Sizes(sizes)) => return given(context, key, sizes, levels),
        Some(SizesOrName::Name(name)) => name,
        None => {
            let known = known(context, default, levels).is_some();
            let name = rules.iter().find(|(_, rule)| known && *rule == default).map_or(UNKNOWN, |(name, _)| name);
            scope.text(key, name)?
        }
    };
    if name == UNKNOWN {
        return Ok(Vec::new());
    }
    let rule = rules.iter().find(|(rule, _)| *rule == name);
    rule.and_then(|(_, rule)| known(context, *rule, levels)).ok_or_else(|| {
        let names: Vec<&str> = rules.iter().map(|(name, _)| *name).collect();
        let expected =
            format!("sizes, \"{UNKNOWN}\", or where sizes and load of the workload are known {}", one_of(&names));
        scope.invalid(key, expected)
    })
}

/// Before there are estimates, nothing is known.
pub(crate) const UNKNOWN: &str = "unknown";

/// Thresholds as the file gives them, in bytes.
pub(crate) fn given(
    context: &Context<'_>,
    key: &str,
    sizes: Vec<u64>,
    queues: usize,
) -> Result<Vec<u64>, SettingsError> {
    let scope = &context.scope;
    if sizes.len() + 1 != queues {
        return Err(scope.invalid(key, format!("{} sizes for {queues} queues", queues - 1)));
    }
    if !sizes.is_sorted_by(|a, b| a < b) {
        return Err(scope.invalid(key, "sizes that rise"));
    }
    Ok(sizes)
}

/// What the rule gives for the workload's own sizes and nominal load; `None` where these are not known.
pub(crate) fn known(context: &Context<'_>, rule: Rule, levels: usize) -> Option<Vec<u64>> {
    let law = SizeLaw::from_quantiles(&|p| context.workload.quantile_bytes(p)).ok()?;
    let [low, high] = Seen::LOADS;
    // An equal split knows no load.
    let load = match rule {
        Rule::EqualSplit => high,
        Rule::Optimal | Rule::TwoLevel => context.workload.load()?.clamp(low, high),
    };
    rule.thresholds(&law, load, levels).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::find;
    use crate::scheme::Scheme;
    use crate::settings::Settings;
    use crate::testing::Facts;

    const UNIFORM: Facts = Facts { name: None, load: Some(0.8), uniform_to: Some(8_000) };

    fn built(scheme: &str, settings: &Settings, facts: &Facts) -> Result<Scheme, SettingsError> {
        (find(scheme).unwrap().build)(&Context { scope: settings.scheme(scheme), workload: facts })
    }

    fn levels(scheme: &str, settings: &Settings, facts: &Facts) -> LevelParams {
        match &built(scheme, settings, facts).unwrap().classes[0].tagger {
            TaggerSpec::Levels(params) => (**params).clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn controller__of_eight_levels_begins_with_what_is_known() {
        let settings = Settings::default().with(None, "controller", "optimal").with(None, "controller_delay", "3ms");
        for scheme in ["pias", "es-8"] {
            let params = levels(scheme, &settings, &UNIFORM);
            assert_eq!((params.network.len(), params.own), (7, None));
            let controller = params.adaptation.controller.unwrap();
            assert_eq!(
                (controller.rule, controller.levels, controller.delay),
                (Rule::Optimal, 8, Time::from_us(3_000))
            );
            let unknown = Facts { name: None, load: None, uniform_to: None };
            assert!(levels(scheme, &settings, &unknown).network.is_empty());
            assert_eq!(settings.effective()["scheme.thresholds"], "unknown");
            assert!(
                built(scheme, &Settings::default(), &unknown).is_err(),
                "without a controller nothing will be known"
            );
        }
    }

    #[test]
    fn controller__refuses_what_does_not_fit() {
        let two = Settings::default().with(None, "controller", "two-level");
        let refused = built("pias", &two, &UNIFORM).unwrap_err().to_string();
        assert!(refused.contains("controller"), "{refused}");
        assert_eq!(levels("pias", &two.with(None, "queues", 2), &UNIFORM).adaptation.controller.unwrap().levels, 2);
        let gap = Settings::default().with(None, "controller", "optimal").with(None, "message_gap", "1ms");
        let refused = built("pias", &gap, &UNIFORM).unwrap_err().to_string();
        assert!(refused.contains("message_gap"), "{refused}");
    }

    #[test]
    fn levels__of_hosts_under_any_scheme_that_demotes() {
        // The keys of the nic alone would do: what switches have does not matter to hosts.
        let settings =
            Settings::default().with(None, "discipline", "levels").with(None, "host_thresholds", "equal-split");
        let params = levels("pias", &settings, &UNIFORM);
        assert_eq!((params.own.unwrap().queues, params.network.len(), params.adaptation.controller), (8, 7, None));
    }
}
