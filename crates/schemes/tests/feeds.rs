//! What feeds tags, and what ports read: what is declared, held against trials.

use flowsieve_schemes::bare::{self, Facts};
use flowsieve_schemes::feeds::{Fact, Feeds, Field};
use flowsieve_schemes::{REGISTRY, Scheme};
use flowsieve_settings::{Place, Settings};
use flowsieve_sim::topology::{FABRIC_SETTINGS, Fabric};

mod ports;
mod taggers;

fn scheme(name: &str, other: &[(&str, &str)]) -> Scheme {
    let settings =
        other.iter().fold(bare::none_given(), |settings, (key, value)| settings.with(Some(name), key, *value));
    bare::scheme(name, &settings, &Facts::uniform(1_000_000, 0.6)).expect("it is built")
}

/// What trials of a scheme show.
fn tried(scheme: &Scheme) -> Feeds {
    let settings = Settings::of(FABRIC_SETTINGS.concat()).with(None, "kind", "single-switch").with(None, "hosts", 4);
    let fabric = Fabric::from_settings(&settings).expect("a fabric");
    Feeds { classes: taggers::written(scheme, &fabric), ports: ports::read(scheme, &fabric) }
}

/// Panics if a trial shows what is not declared. Returns what is declared, and no trial shows.
fn unseen(name: &str, other: &[(&str, &str)]) -> Vec<String> {
    let scheme = scheme(name, other);
    let (declared, tried) = (Feeds::of(&scheme), tried(&scheme));
    let mut unseen = Vec::new();
    for (declared, tried) in declared.classes.iter().zip(&tried.classes) {
        let (Some(declared), Some(tried)) = (declared, tried) else {
            assert_eq!(declared, tried, "{name} {other:?}");
            continue;
        };
        for (field, declared, tried) in
            [("priority", &declared.priority, &tried.priority), ("rank", &declared.rank, &tried.rank)]
        {
            let undeclared: Vec<&Fact> = tried.iter().filter(|fact| !declared.contains(fact)).collect();
            assert!(undeclared.is_empty(), "{name} {other:?}: {field} depends on {undeclared:?}, too");
            unseen.extend(declared.iter().filter(|fact| !tried.contains(fact)).map(|fact| format!("{field} {fact:?}")));
        }
    }
    for ((place, declared), (_, tried)) in declared.ports.iter().zip(&tried.ports) {
        let (declared, tried) = (declared.iter().flatten(), tried.iter().flatten());
        let undeclared: Vec<&Field> = tried.clone().filter(|field| !declared.clone().any(|of| of == *field)).collect();
        assert!(undeclared.is_empty(), "{name} {other:?}: {place:?} reads {undeclared:?}, too");
        let more = declared.filter(|field| !tried.clone().any(|of| of == *field));
        unseen.extend(more.map(|field| format!("{} {field:?}", place.name())));
    }
    unseen
}

#[test]
fn feeds__every_scheme_depends_on_what_is_declared_and_on_nothing_else() {
    for entry in REGISTRY.iter() {
        let name = entry.name.as_str();
        // Trials of qc-fq leave all packets in one queue, where nothing shows that ACKs would be first.
        let hidden =
            if name == "qc-fq" { Place::ALL.map(|place| format!("{} Kind", place.name())).to_vec() } else { vec![] };
        assert_eq!(unseen(name, &[]), hidden, "{name}");
    }
}

#[test]
fn feeds__settings_change_what_is_declared() {
    for (name, given) in [
        ("nos2", ("controller", "equal-split")),
        ("pias", ("message_gap", "500us")),
        ("pias", ("tag_batch", "1MB")),
        ("es-8", ("tag_batch", "1MB")),
        ("awafs", ("place_of_thresholds", "host")),
        ("awafs", ("flow_ends", "idle")),
    ] {
        assert!(unseen(name, &[given]).is_empty(), "{name} {given:?}");
    }
}
