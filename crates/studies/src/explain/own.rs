//! What schemes and parameter sets have of their own: the values that hold where none is given.

use super::Detail;
use flowsieve_schemes::{SchemeFile, registry, sets};
use flowsieve_settings::{Key, Layer, Place, Raw};

/// Returns the values that schemes' files and parameter sets have of a setting, each fact with its heading.
pub(super) fn of_setting(key: &Key, detail: Detail) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut by_value: Vec<(String, Vec<&SchemeFile>)> = Vec::new();
    for scheme in registry::all() {
        let Some(value) = value(scheme.layer(), key.name) else { continue };
        match by_value.iter_mut().find(|(known, _)| *known == value) {
            Some((_, schemes)) => schemes.push(scheme),
            None => by_value.push((value, vec![scheme])),
        }
    }
    let lines = by_value.iter().map(|(value, schemes)| format!("{value}: {}", names(schemes, key, detail)));
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        facts.push(("in schemes", lines.join("\n")));
    }
    let of_sets = sets::all().iter().filter_map(|set| {
        let scaled = set.scaled.get(key.name).map(|rule| format!("{rule} (scaled)"));
        let value = value(&set.layer, key.name).map(|value| format!("{value} ({})", set.name));
        scaled.or(value)
    });
    let of_sets: Vec<String> = of_sets.collect();
    if !of_sets.is_empty() {
        facts.push(("in sets", of_sets.join(", ")));
    }
    facts
}

/// Names the schemes with a value: all, or in short those whose own files say it.
fn names(schemes: &[&SchemeFile], key: &Key, detail: Detail) -> String {
    let says = |scheme: &&&SchemeFile| {
        let base = scheme.base.as_ref().and_then(|base| registry::all().find(|known| known.name == *base));
        base.is_none_or(|base| value(base.layer(), key.name) != value(scheme.layer(), key.name))
    };
    let name = |scheme: &&SchemeFile| scheme.name.clone();
    let all: Vec<String> = schemes.iter().map(name).collect();
    let saying: Vec<String> = schemes.iter().filter(says).map(name).collect();
    match detail {
        Detail::Short if saying.len() < all.len() => {
            let others = all.len() - saying.len();
            let s = if others == 1 { "" } else { "s" };
            format!("{}, and {others} scheme{s} on it", saying.join(", "))
        }
        _ => all.join(", "),
    }
}

/// Returns a layer's value of a setting, with those for single places.
fn value(layer: &Layer, name: &str) -> Option<String> {
    let of_place = |place: Place| match layer.at(Some(place), name) {
        Some((Some(_), raw, _)) => Some(format!("{} at the {}", text(raw), place.name())),
        _ => None,
    };
    let all = layer.at(None, name).map(|(_, raw, _)| text(raw));
    let values: Vec<String> = all.into_iter().chain(Place::ALL.into_iter().filter_map(of_place)).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

fn text(raw: &Raw) -> String {
    match raw {
        Raw::Text(text) => text.clone(),
        Raw::List(items) => {
            let items: Vec<String> = items.iter().map(|(item, _)| text(item)).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}
