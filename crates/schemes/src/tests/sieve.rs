use std::num::NonZeroU64;

use crate::bare::{Facts, none_given};
use crate::registry::find;
use crate::{Context, Scheme};
use flowsieve_core::Time;
use flowsieve_core::admission::Admission;
use flowsieve_core::controllers::survival::{Alone, Merged};
use flowsieve_core::marker::{MarkScope, Marker};
use flowsieve_core::taggers::demotion::Demotion;
use flowsieve_core::taggers::kept_levels::KeptLevelParams;
use flowsieve_core::taggers::level_cap::LevelCap;
use flowsieve_core::{ControllerKind, Misuse, PortKind, TaggerSpec};
use flowsieve_settings::SettingsError;
use flowsieve_settings::{Place, Settings};
use flowsieve_sim::scheme::Nic;
use flowsieve_transport::TransportSpec;
use flowsieve_transport::tcp::NicOrder;
use flowsieve_transport::tcp::TcpRules;
use flowsieve_transport::tcp::params::LossDetection;

const UNKNOWN: Facts = Facts::NONE;

fn built(settings: &Settings) -> Result<Scheme, SettingsError> {
    find("sieve").unwrap().scheme(&Context { scope: settings.scheme("sieve"), workload: &UNKNOWN })
}

fn tcp(scheme: &Scheme) -> &TcpRules {
    let TransportSpec::Tcp(rules) = &scheme.classes[0].transport else { panic!("it is TCP") };
    rules
}

#[test]
fn build__from_nothing_known_under_every_parameter_set() {
    for set in ["ns2", "rfc", "scaled"] {
        let scheme = built(&none_given().with(None, "parameters", set)).unwrap();
        let TaggerSpec::KeptLevels(KeptLevelParams { thresholds, levels: 8, by_age: false, cap: None }) =
            &scheme.classes[0].tagger
        else {
            panic!("{:?}", scheme.classes[0].tagger)
        };
        assert_eq!(thresholds[..], [25_962, 82_091, 259_620, 820_918, 2_596_200, 8_209_184, 25_962_000]);
        let rules = tcp(&scheme);
        assert_eq!(rules.order, NicOrder::TagThenAge);
        let params = &rules.params;
        assert_eq!((params.initial_window, params.max_window), (70, 140), "{set}");
        assert_eq!((params.growth, params.ack_every, params.delayed_ack), (Some(8.75), 4, Time(41_540_000)));
        assert_eq!(params.loss_detection, LossDetection::Rack);
        assert_eq!(scheme.nic, Nic::Backpressure { backlog: 3_000 });
        let leaf = scheme.ports.at(Place::Leaf);
        assert_eq!(leaf.admission, Admission::Shared { alpha_256: 256 });
        let marks = Marker::Threshold { above: 210_000, scope: MarkScope::Port, counts_arriving: true };
        assert_eq!((leaf.marker, scheme.shared_buffer), (marks, 4_000_000));
    }
}

#[test]
fn controller__of_all_hosts_of_each_or_none() {
    let kind = |name: &str| built(&none_given().with(None, "controller", name)).unwrap();
    assert!(matches!(built(&none_given()).unwrap().controllers[0].kind, ControllerKind::SurvivalMerged(Merged(_))));
    assert!(matches!(kind("survival, alone").controllers[0].kind, ControllerKind::SurvivalAlone(Alone(_))));
    let none = kind("none");
    assert!(none.controllers.is_empty());
    assert!(matches!(&none.classes[0].tagger, TaggerSpec::Demotion(Demotion { thresholds }) if thresholds.len() == 7));
    let two = built(&none_given().with(None, "queues", 2)).unwrap();
    assert!(
        matches!(&two.classes[0].tagger, TaggerSpec::KeptLevels(KeptLevelParams { levels: 2, thresholds, .. }) if thresholds.len() == 1)
    );
    let gap = none_given().with(None, "message_gap", "1ms");
    assert_eq!(built(&gap).unwrap_err().key(), Some("message_gap"));
    assert!(built(&gap.with(None, "controller", "none")).is_ok());
}

#[test]
fn level_cap__of_the_controllers_shares() {
    let capped = none_given().with(None, "level_cap", 2);
    let scheme = built(&capped).unwrap();
    let TaggerSpec::KeptLevels(KeptLevelParams { cap: Some(cap), .. }) = &scheme.classes[0].tagger else {
        panic!("{:?}", scheme.classes[0].tagger)
    };
    let expected = LevelCap { thousandths: 2_000, line_bps: 10_000_000_000, burst: Time::from_us(10_000) };
    assert_eq!(*cap, expected);
    assert!(matches!(&scheme.controllers[0].kind, ControllerKind::SurvivalMerged(Merged(params)) if params.shares));
    let alone = built(&capped.with(None, "controller", "survival, alone"));
    assert_eq!(alone.unwrap_err().key(), Some("level_cap"));
}

#[test]
fn misuse_piece__needs_hosts_that_misuse() {
    let split = none_given().with(None, "misuse_piece", "20KB");
    assert_eq!(built(&split).unwrap_err().key(), Some("misuse_piece"));
    let scheme = built(&split.with(None, "misusing_hosts", 2)).unwrap();
    assert_eq!(scheme.misuse, Misuse { hosts: 2, piece: NonZeroU64::new(20_000) });
}

#[test]
fn hosts__with_their_own_port_sort_in_it_if_told_to() {
    let own = none_given().with(None, "parameters", "rfc").with(None, "nic", "scheme").with(None, "buffer", "90KB");
    let turns = built(&own).unwrap();
    assert_eq!(format!("{turns:?}"), format!("{:?}", built(&own.clone().with(None, "nic_order", "turns")).unwrap()));
    let own = own.with(None, "nic_order", "tag, then age");
    let sorts = built(&own).unwrap();
    let port = sorts.ports.at(Place::Nic);
    assert!(matches!(port.kind, PortKind::Pifo(_)), "{port:?}");
    assert_eq!((port.admission, port.marker), (Admission::Unlimited, Marker::Off));
    let levels = |scheme: &Scheme| match &scheme.classes[0].tagger {
        TaggerSpec::KeptLevels(params) => params.by_age,
        other => panic!("{other:?}"),
    };
    assert!(levels(&sorts));
    let given = built(&own.clone().with(None, "controller", "none")).unwrap();
    assert!(matches!(&given.classes[0].tagger, TaggerSpec::AgedLevels(aged) if aged.thresholds.len() == 7));
    let port = turns.ports.at(Place::Nic);
    assert!(matches!(port.kind, PortKind::Bank(_)), "{port:?}");
    assert_eq!(port.admission, Admission::PerPort { limit: 90_000 }, "a host's port shares no memory");
    assert!(!levels(&turns));
    for (key, value) in [("nic_order", "tag"), ("tagger", "attained"), ("controller", "optimal")] {
        assert!(built(&own.clone().with(None, key, value)).is_err(), "{key} = {value}");
    }
}

#[test]
fn settings__that_would_do_nothing_are_refused() {
    let refused = |key: &str, value: &str, other: &[(&str, &str)]| {
        let settings = other.iter().fold(none_given(), |settings, (key, value)| settings.with(None, key, *value));
        let error = built(&settings.with(None, key, value)).unwrap_err();
        assert_eq!(error.key(), Some(key));
    };
    refused("window_growth", "4", &[("transport", "cubic")]);
    refused("controller", "survival", &[("discipline", "levels")]);
    refused("min_window", "200", &[]);
}
