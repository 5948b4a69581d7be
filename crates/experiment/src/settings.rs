//! Every setting of an experiment file: those that the parts of an experiment declare, joined.

use std::sync::LazyLock;

use flowsieve_fabric::topology::FABRIC_SETTINGS;
use flowsieve_settings::{Key, Section, Settings};

use crate::{classes, coflow_weights, plan, points, predictions, simulator, watch, workload};

/// Every setting, by section.
pub static KEYS: LazyLock<Vec<&Key>> = LazyLock::new(|| {
    let own = [
        workload::WORKLOAD_SETTINGS,
        &[
            plan::SETTINGS,
            simulator::SETTINGS,
            watch::SETTINGS,
            points::SETTINGS,
            predictions::SETTINGS,
            classes::SETTINGS,
            coflow_weights::SETTINGS,
        ],
    ]
    .concat();
    let declared = [FABRIC_SETTINGS, &own, flowsieve_schemes::SETTINGS].concat().concat();
    let of = |section: Section| declared.iter().copied().filter(move |key| key.section == section);
    Section::ALL.into_iter().flat_map(of).collect()
});

/// The setting of this name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name).copied()
}

/// None given yet, of all that there are.
pub(crate) fn none_given() -> Settings {
    Settings::of(KEYS.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys__are_unique_and_helped() {
        let names: BTreeSet<&str> = KEYS.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), KEYS.len());
        for key in KEYS.iter() {
            assert!(!key.help.is_empty() && !key.help.ends_with('.'), "{}", key.name);
        }
    }
}
