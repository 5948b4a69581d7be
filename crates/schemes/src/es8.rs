//! ES-8 of NOS2 (Sviridov, Bianco and Giaccone, GLOBECOM 2019, §III and Fig. 2): PIAS's queues in hosts and switches, with
//! thresholds that split the flows of the whole data centre equally.

use flowsieve_core::TaggerSpec;
use flowsieve_core::taggers::levels::LevelParams;

use crate::entry::{Context, Entry, Knows};
use crate::pias;
use crate::scheme::Scheme;
use crate::thresholds::{Computed, Start};
use flowsieve_settings::SettingsError;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    name: "es-8",
    label: "ES-8",
    summary: "hosts demote flows by bytes sent, with the same number of flows in each of eight queues; strict priorities",
    paper: "Sviridov et al., GLOBECOM 2019",
    knows: Knows::Nothing,
    build,
};

fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let mut scheme = pias::build_with(context, &pias::PARTS, Some(Start::Computed(Computed::EqualSplit)), None)?;
    for class in &mut scheme.classes {
        // The levels of §III begin at their threshold; PIAS's begin after it.
        if let TaggerSpec::Demotion(pias) = &mut class.tagger {
            class.tagger = TaggerSpec::Levels(LevelParams { network: std::mem::take(&mut pias.thresholds), own: None });
        }
    }
    Ok(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Facts, none_given};
    use flowsieve_core::PortKind;
    use flowsieve_core::bank::BankRules;
    use flowsieve_settings::Place;

    #[test]
    fn build__an_equal_split_whatever_was_published() {
        let facts = Facts { name: Some("web-search"), load: Some(0.8), uniform_to: Some(8_000) };
        let settings = none_given();
        let scheme = (ENTRY.build)(&Context { scope: settings.scheme("es-8"), workload: &facts }).unwrap();
        assert!(
            matches!(&scheme.classes[0].tagger, TaggerSpec::Levels(of) if of.network[..2] == [1_000, 2_000] && of.network.len() == 7 && of.own.is_none())
        );
        assert!(matches!(scheme.ports.at(Place::Nic).kind, PortKind::Bank(BankRules { queues: 8, .. })));
    }
}
