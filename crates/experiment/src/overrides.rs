//! Changes to an experiment from the command line: `--set key=value`.
//!
//! The key is a setting's name (`load`), its path (`network.leaf.queues`, `schemes.pias.thresholds`,
//! `workload.incast.load`) or `scheme`. The value is written as in the file, except that a text needs no quotes and a
//! list no brackets: `thresholds=20KB`. Several values, separated by commas, make a sweep if the key holds no list. A
//! single value also makes a sweep if the file already sweeps the key: `--set load=0.8` runs that load alone.

use crate::document::{self, Axis, Document};
use crate::error::nearest;
use flowsieve_settings::{Key, Keys, Kind, Origin, Place, Raw, Section, SettingsError, Table};

/// Applies one `--set`.
pub(crate) fn apply(document: &mut Document, argument: &str) -> Result<(), SettingsError> {
    let origin = Origin::CommandLine(format!("--set {argument}").into());
    let Some((path, value)) = argument.split_once('=') else {
        return Err(SettingsError::new(origin, "there is no `=`").expected("--set key=value"));
    };
    give(document, path.trim(), &origin, |kind| values(value.trim(), kind, &origin))
}

/// Like `apply`, for a value from a `[scale.*]` table. `path` is the name or path of the setting, given at `origin`;
/// `at` is the place of the value.
pub(crate) fn apply_value(
    document: &mut Document,
    path: &str,
    origin: &Origin,
    (raw, at): &(Raw, Origin),
) -> Result<(), SettingsError> {
    give(document, path, origin, |kind| match raw {
        Raw::List(items) if !kind.is_some_and(|kind| kind.is_list()) => items.clone(),
        one => vec![(one.clone(), at.clone())],
    })
}

/// Gives a setting, or a sweep, the values that `values` returns for its key's kind; `None` means a sweep of schemes.
fn give(
    document: &mut Document,
    path: &str,
    origin: &Origin,
    values: impl Fn(Option<Kind>) -> Vec<(Raw, Origin)>,
) -> Result<(), SettingsError> {
    let origin = origin.clone();
    let keys = document.settings.declared().clone();
    match target(&keys, path, &origin)? {
        Target::Sweep(key) => {
            if let Some(key) = key {
                document::check_workload(&document.settings, &Table::Section(key.section), key, &origin)?;
            }
            let values = values(key.map(|key| key.kind));
            sweep(document, document::axis((None, key), values, origin)?);
        }
        Target::Key(table, key) => {
            document::check_workload(&document.settings, &table, key, &origin)?;
            let values = values(Some(key.kind));
            let workload = if let Table::Workload(name) = &table { Some(name.clone()) } else { None };
            let can_be_swept = table == Table::Section(key.section) || workload.is_some();
            let is_swept =
                |axis: &Axis| axis.workload == workload && axis.key.is_some_and(|swept| swept.name == key.name);
            if can_be_swept && (document.axes.iter().any(is_swept) || values.len() > 1) {
                let key = document::sweepable(&keys, key.name, &origin)?;
                sweep(document, document::axis((workload, key), values, origin)?);
            } else if let [(raw, at)] = values.as_slice() {
                if let Table::Scheme(variant) | Table::SchemeAt(variant, _) = &table {
                    document.variants.entry(variant.clone()).or_insert_with(|| origin.clone());
                }
                let given = document.settings.give(table, key, raw, at.clone());
                given.map_err(|error| document::into_sweep(&keys, error, key, raw))?;
            } else {
                let problem = format!("`{path}` takes one value");
                let several = Raw::List(vec![(Raw::List(Vec::new()), Origin::Default)]);
                return Err(document::into_sweep(&keys, SettingsError::new(origin, problem), key, &several));
            }
        }
    }
    Ok(())
}

/// The meaning of a name or path.
pub enum Target {
    /// An axis; `None` is the schemes.
    Sweep(Option<&'static Key>),
    /// A key in a table.
    Key(Table, &'static Key),
}

/// The names that a change takes without a path: those of settings that have one place, and `scheme`.
pub fn names(keys: &Keys) -> impl Iterator<Item = &'static str> {
    let all = keys.iter().map(|key| key.name).chain([document::SCHEME]);
    all.filter(|name| target(keys, name, &Origin::Default).is_ok())
}

/// Resolves a name or path.
pub fn target(keys: &Keys, path: &str, origin: &Origin) -> Result<Target, SettingsError> {
    let parts: Vec<&str> = path.split('.').collect();
    let key_of = |table: Table, name: &str| {
        let key = document::known_key(keys, &table, name, origin.clone())?;
        Ok(Target::Key(table, key))
    };
    match parts.as_slice() {
        [document::SCHEME] => Ok(Target::Sweep(None)),
        [name] => match keys.find(name) {
            Some(key) if !matches!(key.section, Section::Link | Section::Event) && key.name != "base" => {
                Ok(Target::Key(Table::Section(key.section), key))
            }
            Some(key) => Err(SettingsError::new(origin.clone(), format!("`{name}` has no place in a change"))
                .expected(format!("`{name}` in {} of the experiment's file", document::home(key)))),
            None => Err(SettingsError::new(origin.clone(), format!("unknown setting `{name}`"))
                .expected("a setting's name or path (see `flowsieve list settings`)")
                .names(*name, names(keys))),
        },
        ["sweep", name] => Ok(Target::Sweep(document::sweepable(keys, name, origin)?)),
        ["schemes", variant, name] => key_of(Table::Scheme((*variant).to_owned()), name),
        ["schemes", variant, place, name] if document::place_of(place).is_some() => {
            let place = document::place_of(place).unwrap_or(Place::Leaf);
            key_of(Table::SchemeAt((*variant).to_owned(), place), name)
        }
        ["network", place, name] if document::place_of(place).is_some() => {
            let place = document::place_of(place).unwrap_or(Place::Leaf);
            key_of(Table::NetworkAt(place), name)
        }
        ["workload", workload, name] => key_of(Table::Workload((*workload).to_owned()), name),
        [section, name] if section_of(section).is_some() => {
            key_of(Table::Section(section_of(section).unwrap_or(Section::Network)), name)
        }
        parts => {
            let error = SettingsError::new(origin.clone(), format!("unknown setting `{path}`")).expected(
                "`name`, `section.name`, `network.<place>.name`, `schemes.<name>.name` or `workload.<name>.name`",
            );
            Err(match meant(keys, parts) {
                Some(meant) => error.names(meant.clone(), [meant]),
                None => error,
            })
        }
    }
}

/// Suggests a path for a wrong one that ends in a key: `pias.queues`, `leaf.queues`, `netwrok.queues`.
fn meant(keys: &Keys, parts: &[&str]) -> Option<String> {
    let key = keys.find(parts.last()?).filter(|key| !matches!(key.section, Section::Link | Section::Event))?;
    let section = key.section.path();
    Some(match parts {
        [place, name] if document::place_of(place).is_some() => format!("network.{place}.{name}"),
        [head, name] if nearest(head, &[section.to_owned()]).is_some() => format!("{section}.{name}"),
        [workload, name] if key.section == Section::Workload => format!("workload.{workload}.{name}"),
        [scheme, name] => format!("schemes.{scheme}.{name}"),
        _ => key.name.to_owned(),
    })
}

fn section_of(name: &str) -> Option<Section> {
    let plain = |section: &Section| !matches!(section, Section::Link | Section::Event | Section::Scheme);
    Section::ALL.into_iter().filter(plain).find(|section| section.path() == name)
}

/// Parses the values in an argument: brackets make a TOML list, commas separate values, and what is not TOML is a text.
fn values(text: &str, kind: Option<Kind>, origin: &Origin) -> Vec<(Raw, Origin)> {
    let of_lists = kind.is_some_and(|kind| kind.is_list());
    let with_origin = |raw| (raw, origin.clone());
    let parts = match toml_value(text, origin) {
        Some(Raw::List(items)) if !of_lists => return items,
        Some(list @ Raw::List(_)) => return vec![with_origin(list)],
        Some(one) => vec![with_origin(one)],
        None => {
            let item = |part: &str| with_origin(toml_value(part, origin).unwrap_or_else(|| Raw::from(part)));
            parts_of(text).map(|part| item(part.trim())).collect()
        }
    };
    // A single value may also be a text that stands for a list, or a number that does not need one.
    let stands_alone = match kind {
        Some(Kind::SizeListOr(_)) => parts.len() == 1 && !text.starts_with(|c: char| c.is_ascii_digit()),
        // Without brackets, several numbers are several values.
        Some(Kind::CountOrList(..)) => true,
        _ => false,
    };
    if of_lists && !stands_alone { vec![with_origin(Raw::List(parts))] } else { parts }
}

/// Splits at commas, except within the brackets of a formula or within quotes: `fixed(1KB),uniform(1KB, 2KB)` has two
/// parts.
fn parts_of(text: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut is_quoted) = (0u32, false);
    text.split(move |letter| {
        match letter {
            '"' => is_quoted = !is_quoted,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0 && !is_quoted
    })
}

fn toml_value(text: &str, origin: &Origin) -> Option<Raw> {
    let value: toml_edit::Value = text.parse().ok()?;
    Some(flowsieve_settings::toml::raw_value(&value, &|_| origin.clone()))
}

fn sweep(document: &mut Document, axis: Axis) {
    match document.axes.iter_mut().find(|old| old.name() == axis.name()) {
        Some(old) => *old = axis,
        None => document.axes.push(axis),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of__a_formula_keeps_its_commas() {
        let parts = |text| parts_of(text).collect::<Vec<_>>();
        assert_eq!(parts("web-search,uniform(1KB, 2KB),fixed(3KB)"), ["web-search", "uniform(1KB, 2KB)", "fixed(3KB)"]);
        assert_eq!(parts("0.5,0.8"), ["0.5", "0.8"]);
        assert_eq!(parts("\"my, sizes.csv\",other.csv"), ["\"my, sizes.csv\"", "other.csv"]);
        assert_eq!(parts("a),b((,c"), ["a)", "b((,c"]);
    }
}
