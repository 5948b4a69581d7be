use crate::Context;
use crate::bare::{Facts, none_given};
use crate::registry::find;
use flowsieve_core::PortKind;
use flowsieve_core::TaggerSpec;
use flowsieve_core::bank::BankRules;
use flowsieve_settings::Place;

#[test]
fn build__an_equal_split_whatever_was_published() {
    let facts = Facts { name: Some("web-search"), ..Facts::uniform(8_000, 0.8) };
    let settings = none_given();
    let scheme = find("es-8").unwrap().scheme(&Context { scope: settings.scheme("es-8"), workload: &facts }).unwrap();
    assert!(
        matches!(&scheme.classes[0].tagger, TaggerSpec::Levels(of) if of.network[..2] == [1_000, 2_000] && of.network.len() == 7 && of.own.is_none())
    );
    assert!(matches!(scheme.ports.at(Place::Nic).kind, PortKind::Bank(BankRules { queues: 8, .. })));
}
