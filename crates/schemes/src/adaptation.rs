//! Adaptive thresholds: the settings of the hosts' estimates and of the central controller, for every scheme whose hosts
//! demote flows by bytes sent.
//!
//! The defaults, which NOS2 does not state, and their reasons: [docs/reference/qcluster-nos2.md](../../../docs/reference/qcluster-nos2.md).

use std::sync::Arc;

use flowsieve_core::controller::Hears;
use flowsieve_core::controllers::survival::{Alone, Merged, SurvivalParams};
use flowsieve_core::controllers::thresholds::{Adaptation, NetworkParams, OwnParams, Seen};
use flowsieve_core::host_queues::HostQueueRules;
use flowsieve_core::solver::Solver;
use flowsieve_core::taggers::demotion::Demotion;
use flowsieve_core::taggers::kept_levels::KeptLevelParams;
use flowsieve_core::taggers::level_cap::LevelCap;
use flowsieve_core::taggers::levels::LevelParams;
use flowsieve_core::thresholds::{
    SizeLaw, ThresholdError, background, background_slowdown_at_sizes, equal_split, tandem, two_level,
};
use flowsieve_core::{PortKind, Time};

use crate::entry::Context;
use crate::parameters::Reference;
use crate::thresholds::{Computed, Start};
use flowsieve_core::{ControllerKind, ControllerSpec, TaggerSpec};
use flowsieve_settings::declare;
use flowsieve_settings::{Key, MAX_TIME_PS, Place, Scope, Section, Setting, SettingsError, SizesOr, one_of};
use flowsieve_sim::scheme::Scheme;

declare! {
    static HOST_THRESHOLDS: Setting<SizesOr<Start>> = Setting::sizes_or(
        Section::Scheme,
        "host_thresholds",
        &[
            ("equal-split", SizesOr::Named(Start::Computed(Computed::EqualSplit))),
            ("unknown", SizesOr::Named(Start::Unknown)),
        ],
        "discipline = \"levels\" at hosts: initial thresholds of a host's own queues, one less than the queues: \
         sizes, equal shares of the workload's flows, or none until there are estimates",
    );
    static CONTROLLER: Setting<Option<Rule>> = Setting::choice(
        Section::Scheme,
        "controller",
        &[
            ("none", None),
            ("equal-split", Some(Rule::EqualSplit)),
            ("optimal", Some(Rule::Optimal)),
            ("two-level", Some(Rule::TwoLevel)),
            ("survival", Some(Rule::Survival)),
            ("survival, alone", Some(Rule::SurvivalAlone)),
        ],
        "central controller that sends thresholds to the hosts: equal shares of the flows that they have seen, PIAS's \
         optimisation, NOS2's one threshold, or the foreground-background queue for what messages have sent, also those \
         that are not over; the last also by each host for itself, without a controller",
    )
    .with_default(None);
    pub(crate) static CONTROLLER_PERIOD: Setting<u64> = Setting::time(
        Section::Scheme, "controller_period", 1_000_000, MAX_TIME_PS,
        "time between two estimates of thresholds, by hosts and controller",
    )
    .with_default(Time::from_us(10_000).0);
    pub(crate) static CONTROLLER_DELAY: Setting<u64> = Setting::time(
        Section::Scheme, "controller_delay", 0, MAX_TIME_PS,
        "delay from the hosts' sizes at the controller to its thresholds at the hosts",
    )
    .with_default(Time::from_us(1_000).0);
    static LEVEL_CAP: Setting<f64> = Setting::number(
        Section::Scheme, "level_cap", 0.001, 1_000.0,
        "controller = \"survival\": the most that a host sends in a level, over the level's share of all bytes on the \
         fastest host's line, and in a controller_period at once; the rest goes to the next level",
    );
    static OBSERVE_WINDOW: Setting<u64> = Setting::time(
        Section::Scheme, "observe_window", 1, MAX_TIME_PS,
        "longest time for which hosts remember the sizes of their messages; the shortest is half of it",
    )
    .with_default(Time::from_us(10_000_000).0);
    static OBSERVE_LEAST: Setting<u64> = Setting::count(
        Section::Scheme, "observe_least", 1, 1_000_000_000,
        "fewest sizes for an estimate, of one host, or of all hosts for the controller",
    )
    .with_default(100);
}

/// How thresholds are computed, from what hosts have seen or from what is known of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The same number of flows ends in each level: [`equal_split`].
    EqualSplit,
    /// PIAS's optimisation: [`tandem`].
    Optimal,
    /// NOS2's one threshold: [`two_level`].
    TwoLevel,
    /// The foreground-background queue: [`BySlowdown`] by what messages have sent, [`background`] by what is known.
    Survival,
    /// The same, for each host by itself.
    SurvivalAlone,
}

/// The load for which thresholds are computed by what messages have sent: it hardly matters, and a host does not know it.
const SURVIVAL_LOAD: f64 = 0.8;

impl Rule {
    fn solver(self) -> &'static dyn Solver {
        match self {
            Rule::EqualSplit => &Rule::EqualSplit,
            Rule::Optimal => &Rule::Optimal,
            Rule::TwoLevel => &Rule::TwoLevel,
            Rule::Survival | Rule::SurvivalAlone => &Rule::Survival,
        }
    }

    /// Returns the thresholds for these sizes and a load of the hosts' links, within 0 and 1.
    pub(crate) fn for_law(self, law: &SizeLaw, load: f64, levels: usize) -> Result<Vec<u64>, ThresholdError> {
        match self {
            Rule::EqualSplit => equal_split(law, levels),
            Rule::Optimal => tandem(law, load, levels),
            Rule::TwoLevel => Ok(vec![two_level(law, load)?]),
            Rule::Survival | Rule::SurvivalAlone => background(law, load, levels),
        }
    }
}

/// The thresholds of [`background_slowdown_at_sizes`] in a network that takes as long for nothing as its line for `idle`
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BySlowdown {
    idle: u64,
}

impl Solver for BySlowdown {
    fn thresholds(&self, sizes: &mut dyn Iterator<Item = (u64, u64)>, load: f64, queues: usize) -> Option<Vec<u64>> {
        background_slowdown_at_sizes(&SizeLaw::from_counts(sizes).ok()?, load, queues, self.idle).ok()
    }
}

impl Solver for Rule {
    fn thresholds(&self, sizes: &mut dyn Iterator<Item = (u64, u64)>, load: f64, queues: usize) -> Option<Vec<u64>> {
        self.for_law(&SizeLaw::from_counts(sizes).ok()?, load, queues).ok()
    }
}

/// Returns the rule of the controller of a scheme whose packets are tagged with `levels` levels, if it has a controller.
pub(crate) fn controller(context: &Context<'_>, levels: usize) -> Result<Option<Rule>, SettingsError> {
    let scope = &context.scope;
    let Some(rule) = scope.read(&CONTROLLER)? else { return Ok(None) };
    if rule == Rule::TwoLevel && levels != 2 {
        return Err(
            scope.invalid(&CONTROLLER, format!("another rule for {levels} levels, since it computes one threshold"))
        );
    }
    Ok(Some(rule))
}

/// Returns the rule of the controller of a scheme whose packets also have the age of their messages, if it has a controller:
/// one whose levels have a rank by age. If none is given or the scheme's own, it is not part of the configuration.
pub(crate) fn by_age(context: &Context<'_>) -> Result<Option<Rule>, SettingsError> {
    let scope = &context.scope;
    if scope.usual(&CONTROLLER)?.flatten().is_none() && !scope.is_given(&CONTROLLER) {
        return Ok(None);
    }
    match scope.read(&CONTROLLER)? {
        None => Ok(None),
        Some(rule @ (Rule::Survival | Rule::SurvivalAlone)) => Ok(Some(rule)),
        Some(_) => Err(scope.invalid(&CONTROLLER, "\"survival\" or \"none\" with tagger = \"demotion, then age\"")),
    }
}

/// Builds what hosts write into packets of a class, with these initial thresholds of the network. Thresholds adapt if a
/// controller has a rule, for `levels` levels, or if the host's port has its own queues. The controllers that this needs
/// are added to the scheme's.
pub(crate) fn tagger(
    context: &Context<'_>,
    scheme: &mut Scheme,
    class: u8,
    network: Vec<u64>,
    rule: Option<Rule>,
    levels: usize,
) -> Result<TaggerSpec, SettingsError> {
    let scope = &context.scope;
    let queues = match scheme.ports.at(Place::Nic).kind {
        PortKind::Host(HostQueueRules { queues }) => Some(queues),
        _ => None,
    };
    if queues.is_none() && rule.is_none() {
        return Ok(TaggerSpec::Demotion(Demotion { thresholds: network }));
    }
    if let Some(rule @ (Rule::Survival | Rule::SurvivalAlone)) = rule {
        if queues.is_some() {
            return Err(scope.invalid(&CONTROLLER, "another rule where hosts have queues of their own"));
        }
        return survival(context, scheme, class, network, rule, levels, false);
    }
    let own = match queues {
        Some(queues) => Some(start(context, &HOST_THRESHOLDS, &[Rule::EqualSplit], Rule::EqualSplit, queues)?),
        None => None,
    };
    let publishes_after = match rule {
        Some(_) => Time(scope.read(&CONTROLLER_DELAY)?),
        None => Time::ZERO,
    };
    let period = Time(scope.read(&CONTROLLER_PERIOD)?);
    let of =
        Adaptation { class, period, window: Time(scope.read(&OBSERVE_WINDOW)?), least: scope.read(&OBSERVE_LEAST)? };
    let mut add = |name, publishes_after, kind| {
        let hears = Hears::WhenItDecides(Time::ZERO);
        scheme.controllers.push(ControllerSpec { name, period: Some(period), hears, publishes_after, kind });
    };
    if let Some(queues) = queues {
        add("thresholds of hosts", Time::ZERO, ControllerKind::OwnThresholds(OwnParams { queues, of }));
    }
    if let Some(rule) = rule {
        let params = NetworkParams { rule: rule.solver(), levels, start: network.clone(), of };
        add("threshold controller", publishes_after, ControllerKind::NetworkThresholds(params));
    }
    Ok(TaggerSpec::Levels(LevelParams { network, own }))
}

/// Builds what hosts write whose thresholds follow what messages have sent; `by_age`: with a rank by age.
pub(crate) fn survival(
    context: &Context<'_>,
    scheme: &mut Scheme,
    class: u8,
    thresholds: Vec<u64>,
    rule: Rule,
    levels: usize,
    by_age: bool,
) -> Result<TaggerSpec, SettingsError> {
    let scope = &context.scope;
    let period = Time(scope.read(&CONTROLLER_PERIOD)?);
    let reference = Reference::read(context)?;
    let cap = scope.optional(&LEVEL_CAP)?;
    if cap.is_some() && rule == Rule::SurvivalAlone {
        let expected = "none where each host has a controller of its own: a host that splits would set its own cap";
        return Err(scope.invalid(&LEVEL_CAP, expected));
    }
    let cap = cap.map(|cap| LevelCap {
        thousandths: (cap * 1_000.0).round() as u64,
        line_bps: reference.host_bps,
        burst: period,
    });
    let params = SurvivalParams {
        class,
        period,
        least: scope.read(&OBSERVE_LEAST)?,
        rule: Arc::new(BySlowdown { idle: reference.bdp_bytes() }),
        load: SURVIVAL_LOAD,
        levels,
        start: thresholds.clone(),
        shares: cap.is_some(),
    };
    let (name, publishes_after, kind) = match rule {
        Rule::SurvivalAlone => ("thresholds of hosts", Time::ZERO, ControllerKind::SurvivalAlone(Alone(params))),
        _ => {
            let delay = Time(scope.read(&CONTROLLER_DELAY)?);
            ("threshold controller", delay, ControllerKind::SurvivalMerged(Merged(params)))
        }
    };
    let hears = Hears::WhenItDecides(Time::ZERO);
    scheme.controllers.push(ControllerSpec { name, period: Some(period), hears, publishes_after, kind });
    Ok(TaggerSpec::KeptLevels(KeptLevelParams { thresholds, levels, by_age, cap }))
}

/// Returns the initial thresholds, in bytes: sizes, or those of one of these rules for what is known of the workload. If
/// not given: those of the default rule, or none if it needs something unknown.
pub(crate) fn start(
    context: &Context<'_>,
    setting: &Setting<SizesOr<Start>>,
    rules: &[Rule],
    default: Rule,
    levels: usize,
) -> Result<Vec<u64>, SettingsError> {
    let scope = &context.scope;
    let by = |rule| Start::Computed(computed(rule));
    let known_by = |rule| known(context, rule, levels);
    let default = match !scope.is_given(setting) && known_by(default).is_some() {
        true => by(default),
        false => Start::Unknown,
    };
    match scope.read_or(setting, SizesOr::Named(default))? {
        SizesOr::Sizes(sizes) => given(scope, setting, sizes, levels),
        SizesOr::Named(Start::Unknown) => Ok(Vec::new()),
        SizesOr::Named(start) => {
            let rule = rules.iter().find(|rule| by(**rule) == start);
            rule.and_then(|rule| known_by(*rule)).ok_or_else(|| {
                let names: Vec<&str> = rules.iter().map(|rule| setting.text_of(&SizesOr::Named(by(*rule)))).collect();
                let unknown = setting.text_of(&SizesOr::Named(Start::Unknown));
                let names = one_of(&names);
                let expected =
                    format!("sizes, \"{unknown}\", or where sizes and load of the workload are known {names}");
                scope.invalid(setting, expected)
            })
        }
    }
}

/// Returns what a controller's rule computes.
fn computed(rule: Rule) -> Computed {
    match rule {
        Rule::EqualSplit => Computed::EqualSplit,
        Rule::Optimal => Computed::Optimal,
        Rule::TwoLevel => Computed::TwoLevel,
        Rule::Survival | Rule::SurvivalAlone => Computed::Background,
    }
}

/// Returns thresholds as the file gives them, in bytes.
pub(crate) fn given(scope: &Scope<'_>, key: &Key, sizes: Vec<u64>, queues: usize) -> Result<Vec<u64>, SettingsError> {
    if sizes.len() + 1 != queues {
        return Err(scope.invalid(key, format!("{} sizes for {queues} queues", queues - 1)));
    }
    if !sizes.is_sorted_by(|a, b| a < b) {
        return Err(scope.invalid(key, "sizes that rise"));
    }
    Ok(sizes)
}

/// Returns the rule's thresholds for the workload's own sizes and nominal load; `None` if these are unknown.
pub(crate) fn known(context: &Context<'_>, rule: Rule, levels: usize) -> Option<Vec<u64>> {
    let law = SizeLaw::from_quantiles(&|p| context.workload.quantile_bytes(p)).ok()?;
    let [low, high] = Seen::LOADS;
    // An equal split does not depend on the load.
    let load = match rule {
        Rule::EqualSplit => high,
        Rule::Survival | Rule::SurvivalAlone => SURVIVAL_LOAD,
        Rule::Optimal | Rule::TwoLevel => context.workload.load()?.clamp(low, high),
    };
    rule.for_law(&law, load, levels).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{Facts, none_given};
    use crate::registry::find;
    use crate::tests::network;
    use flowsieve_core::observed::SizeSketch;
    use flowsieve_core::survival::SurvivalSketch;
    use flowsieve_settings::Settings;
    use proptest::prelude::*;

    const UNIFORM: Facts = Facts::uniform(8_000, 0.8);

    fn built(scheme: &str, settings: &Settings, facts: &Facts) -> Result<Scheme, SettingsError> {
        find(scheme).unwrap().scheme(&Context { scope: settings.scheme(scheme), workload: facts })
    }

    fn levels(scheme: &str, settings: &Settings, facts: &Facts) -> LevelParams {
        match &built(scheme, settings, facts).unwrap().classes[0].tagger {
            TaggerSpec::Levels(params) => params.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn controller__of_eight_levels_begins_with_what_is_known() {
        let settings = none_given().with(None, "controller", "optimal").with(None, "controller_delay", "3ms");
        for scheme in ["pias", "es-8"] {
            let params = levels(scheme, &settings, &UNIFORM);
            assert_eq!((params.network.len(), params.own), (7, None));
            let built_of = built(scheme, &settings, &UNIFORM).unwrap();
            let (spec, controller) = network(&built_of).unwrap();
            assert_eq!((controller.levels, spec.publishes_after), (8, Time::from_us(3_000)));
            assert_eq!(format!("{:?}", controller.rule), "Optimal");
            let unknown = Facts::NONE;
            assert!(levels(scheme, &settings, &unknown).network.is_empty());
            assert_eq!(settings.effective()["scheme.thresholds"], "unknown");
            assert!(built(scheme, &none_given(), &unknown).is_err(), "without a controller nothing will be known");
        }
    }

    #[test]
    fn controller__refuses_what_does_not_fit() {
        let two = none_given().with(None, "controller", "two-level");
        assert_eq!(built("pias", &two, &UNIFORM).unwrap_err().key(), Some("controller"));
        let scheme = built("pias", &two.with(None, "queues", 2), &UNIFORM).unwrap();
        assert_eq!(network(&scheme).unwrap().1.levels, 2);
        let gap = none_given().with(None, "controller", "optimal").with(None, "message_gap", "1ms");
        assert_eq!(built("pias", &gap, &UNIFORM).unwrap_err().key(), Some("message_gap"));
    }

    #[test]
    fn levels__of_hosts_under_any_scheme_that_demotes() {
        // The keys of the nic alone would do: hosts do not depend on what switches have.
        let settings = none_given().with(None, "discipline", "levels").with(None, "host_thresholds", "equal-split");
        let params = levels("pias", &settings, &UNIFORM);
        assert_eq!((params.own.unwrap().len(), params.network.len()), (7, 7));
        let scheme = built("pias", &settings, &UNIFORM).unwrap();
        let [ControllerSpec { kind: ControllerKind::OwnThresholds(OwnParams { queues: 8, .. }), .. }] =
            &scheme.controllers[..]
        else {
            panic!("{:?}", scheme.controllers)
        };
    }

    #[test]
    fn survival__of_one_size_of_one_packet_and_of_a_gigabyte_alone() {
        const SOLVER: BySlowdown = BySlowdown { idle: 100_000 };
        let thresholds = |sketch: &SurvivalSketch, queues| {
            let found = SOLVER.thresholds(&mut sketch.sizes(), SURVIVAL_LOAD, queues).expect("thresholds");
            assert!(found.is_sorted_by(|a, b| a < b) && found.len() + 1 == queues, "{found:?}");
            found
        };
        for size in [1, 1_000, 100_000] {
            let mut same = SurvivalSketch::default();
            (0..200).for_each(|_| same.end(0, size));
            for queues in [2, 8] {
                assert!(thresholds(&same, queues)[0] >= size, "no message of {size} is demoted");
            }
        }
        let mut alone = SurvivalSketch::default();
        alone.advance(0, 1_000_000_000);
        assert!(thresholds(&alone, 8)[0] >= 1_000_000_000);
        // With short messages next to it, it is demoted where they end.
        (0..200).for_each(|_| alone.end(0, 1_000));
        assert!((1_000..1_100).contains(&thresholds(&alone, 2)[0]), "{:?}", thresholds(&alone, 2));
        assert_eq!(SOLVER.thresholds(&mut SurvivalSketch::default().sizes(), SURVIVAL_LOAD, 8), None);
    }

    proptest! {
        #[test]
        fn rules__thresholds_rise_whatever_was_seen(
            found in prop::collection::vec(1u64..2_000_000_000, 1..40), levels in 2usize..=64, span_us in 0u64..100_000,
        ) {
            let mut sizes = SizeSketch::default();
            found.iter().for_each(|&size| sizes.record(size));
            for rule in [Rule::EqualSplit, Rule::Optimal, Rule::TwoLevel, Rule::Survival] {
                let seen = Seen { sizes: &sizes, span: Time::from_us(span_us), rate_bps: 1_000_000_000 };
                let thresholds = rule.thresholds(&mut sizes.counts(), seen.load(), levels).expect("thresholds");
                prop_assert!(thresholds[0] > 0 && thresholds.is_sorted_by(|a, b| a < b), "{rule:?}: {thresholds:?}");
                let expected = if rule == Rule::TwoLevel { 1 } else { levels - 1 };
                prop_assert_eq!(thresholds.len(), expected);
            }
        }
    }
}
