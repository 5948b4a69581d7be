//! What the tests of ports share: the schemes, and every port that they may have.

use std::collections::BTreeMap;

use flowsieve_schemes::bare::{self, Facts};
use flowsieve_schemes::scheme::PortSpec;
use flowsieve_schemes::{REGISTRY, SETTINGS, Scheme};
use flowsieve_settings::{Kind as Holds, Place, Raw, Section, Settings};

/// A scheme; `None` where the settings do not go together.
pub(crate) fn scheme(name: &str, settings: &Settings) -> Option<Scheme> {
    // What a scheme reads is noted in its settings.
    let settings = settings.clone();
    bare::scheme(name, &settings, &Facts::uniform(200_000, 0.8)).ok()
}

/// Both parameter sets.
pub(crate) fn sets() -> [Settings; 2] {
    ["ns2", "rfc"].map(|set| Settings::of(SETTINGS.concat()).with(None, "parameters", set))
}

/// The settings of schemes that are one of a few words, each with each of its words.
fn choices() -> Vec<(&'static str, Raw)> {
    let mut choices = Vec::new();
    for key in SETTINGS
        .concat()
        .iter()
        .filter(|key| matches!(key.section, Section::Network | Section::Transport | Section::Scheme))
    {
        match key.kind {
            Holds::Choice(words) => choices.extend(words.names().into_iter().map(|word| (key.name, Raw::from(word)))),
            Holds::Flag => choices.extend([true, false].map(|flag| (key.name, Raw::from(flag)))),
            _ => {}
        }
    }
    choices
}

/// The ports of every scheme at every place under both parameter sets: as they are, with each choice made otherwise, and
/// without limits. By what they are, so that each is there once.
pub(crate) fn ports() -> BTreeMap<String, PortSpec> {
    let mut ports = BTreeMap::new();
    for set in sets() {
        let others = choices().into_iter().map(|(key, value)| set.clone().with(None, key, value));
        for settings in std::iter::once(set.clone()).chain(others) {
            for scheme in REGISTRY.iter().filter_map(|entry| scheme(entry.name.as_str(), &settings)) {
                for place in Place::ALL {
                    let port = scheme.ports.at(place);
                    for port in [port.clone(), port.without_limits()] {
                        ports.insert(format!("{port:?}"), port);
                    }
                }
            }
        }
    }
    ports
}
