use crate::bare::{Facts, none_given};
use crate::registry::find;
use crate::tests::network;
use crate::{Context, Scheme};
use flowsieve_core::TaggerSpec;
use flowsieve_core::admission::Admission;
use flowsieve_core::bank::BankRules;
use flowsieve_core::controllers::thresholds::OwnParams;
use flowsieve_core::host_queues::HostQueueRules;
use flowsieve_core::taggers::levels::LevelParams;
use flowsieve_core::{ControllerKind, PortKind, Time};
use flowsieve_settings::SettingsError;
use flowsieve_settings::{Place, Settings};
use flowsieve_sim::scheme::Nic;

const UNIFORM: Facts = Facts::uniform(8_000, 0.8);

fn built(settings: &Settings, facts: &Facts) -> Result<Scheme, SettingsError> {
    find("nos2").unwrap().scheme(&Context { scope: settings.scheme("nos2"), workload: facts })
}

fn levels(settings: &Settings, facts: &Facts) -> LevelParams {
    match &built(settings, facts).unwrap().classes[0].tagger {
        TaggerSpec::Levels(params) => params.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn build__eight_queues_at_hosts_and_two_in_switches() {
    for set in ["ns2", "rfc"] {
        let scheme = built(&none_given().with(None, "parameters", set), &UNIFORM).unwrap();
        assert!(matches!(scheme.ports.at(Place::Nic).kind, PortKind::Host(HostQueueRules { queues: 8 })));
        for place in [Place::Leaf, Place::Spine, Place::Core] {
            assert!(matches!(scheme.ports.at(place).kind, PortKind::Bank(BankRules { queues: 2, .. })));
        }
        let paused = scheme.ports.at(Place::Nic).without_limits();
        assert!(matches!(paused.kind, PortKind::Host(HostQueueRules { queues: 8 })));
        assert_eq!(paused.admission, Admission::Unlimited);
        assert_eq!(scheme.nic, Nic::Backpressure { backlog: 15_000 });
    }
}

#[test]
fn start__from_what_is_known_of_the_workload() {
    let params = levels(&none_given(), &UNIFORM);
    assert_eq!(params.own.unwrap(), [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000]);
    assert_eq!(params.network.len(), 1);
    let scheme = built(&none_given(), &UNIFORM).unwrap();
    assert!(matches!(scheme.controllers[0].kind, ControllerKind::OwnThresholds(OwnParams { queues: 8, .. })));
    let (spec, controller) = network(&scheme).unwrap();
    assert_eq!((controller.levels, spec.publishes_after), (2, Time::from_us(1_000)));
    assert_eq!(format!("{:?}", controller.rule), "TwoLevel");
    let halves = levels(&none_given().with(None, "thresholds", "equal-split"), &UNIFORM);
    assert_eq!(halves.network, [4_000]);
}

#[test]
fn start__from_nothing_where_nothing_is_known_or_wanted() {
    let unknown = Facts::NONE;
    let nothing = |params: LevelParams| params.network.is_empty() && params.own.unwrap().is_empty();
    assert!(nothing(levels(&none_given(), &unknown)));
    let settings = none_given().with(None, "thresholds", "unknown").with(None, "host_thresholds", "unknown");
    assert!(nothing(levels(&settings, &UNIFORM)));
    for key in ["thresholds", "host_thresholds"] {
        let settings = none_given().with(None, key, "equal-split");
        assert_eq!(built(&settings, &unknown).unwrap_err().key(), Some(key));
    }
}

#[test]
fn settings__place_by_place() {
    // A host with a switch's queues has no levels of its own, and without a controller nothing adapts.
    let alike = none_given().with(None, "discipline", "sp").with(None, "controller", "none");
    assert!(
        matches!(&built(&alike, &UNIFORM).unwrap().classes[0].tagger, TaggerSpec::Demotion(pias) if pias.thresholds.len() == 1)
    );
    let settings = none_given().with(None, "queues", 3).with(None, "controller", "none");
    let params = levels(&settings, &UNIFORM);
    assert_eq!((params.own.unwrap().len(), params.network.len()), (2, 1));
    assert!(network(&built(&settings, &UNIFORM).unwrap()).is_none());
    assert!(built(&none_given().with(None, "thresholds", "published"), &UNIFORM).is_err());
}
