//! The points of a sweep: the product of its axes, the scheme fastest, and the seeds slowest of all.
//!
//! Seeds are slowest so that an experiment that is stopped early has compared all schemes at least with the first
//! seeds. A point's flows depend on its settings outside of the schemes and on the seed.

use crate::document::{Axis, Document, SCHEME};
use crate::error::Error;
use crate::folder::Folder;
use crate::scheme_files::{self, SchemeText};
use flowsieve_settings::declare;
use flowsieve_settings::{Address, Kind, Origin, Raw, Section, Setting, Settings, SettingsError, Table, Value};
use std::borrow::Cow;
use std::sync::Arc;

declare! {
    /// The built-in scheme of a variant, which the engine reads.
    pub static BASE: Setting<String> = Setting::text(
        Section::Scheme, "base", "the built-in scheme that this is a variant of",
    );
}

/// The most points: a larger product is a mistake.
const MAX_POINTS: usize = 10_000;

/// A scheme of the sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// The name in the sweep, in results and reports.
    pub name: String,
    /// The scheme that it is, or is a variant of: a built-in one, or one of the user's files.
    pub base: String,
}

/// One point of the sweep, before its seeds.
#[derive(Debug, Clone)]
pub struct Point {
    /// Its scheme.
    pub variant: Variant,
    /// The other axes in the order of the file: name (a path if there are several workloads) → canonical value.
    pub values: Vec<(Cow<'static, str>, String)>,
    /// Its settings.
    pub settings: Settings,
    /// The folder that its paths are relative to.
    pub folder: Folder,
    /// The user's files of schemes that the experiment names, each after that of its base.
    pub schemes: Arc<[SchemeText]>,
}

impl Point {
    /// Returns whether the sweep sets the key of this address.
    pub(crate) fn is_swept(&self, (table, name): &Address) -> bool {
        let axis = table.swept(name);
        self.values.iter().any(|(swept, _)| *swept == axis)
    }

    /// Returns the point in words: `pias, load 0.6`.
    pub fn label(&self) -> String {
        let short = |name: &str| name.strip_prefix("workload.").unwrap_or(name).to_owned();
        let values = self.values.iter().map(|(name, value)| format!(", {} {value}", short(name)));
        std::iter::once(self.variant.name.clone()).chain(values).collect()
    }
}

/// Returns the points of a document in this folder, with `builtin` schemes to choose from, and those of the user's files.
pub(crate) fn points(
    document: &Document,
    folder: &Folder,
    builtin: &[&str],
    schemes: &Arc<[SchemeText]>,
) -> Result<Vec<Point>, Error> {
    let known: Vec<&str> = builtin.iter().copied().chain(schemes.iter().map(|file| file.name.as_str())).collect();
    let variants = variants(document, &known)?;
    let axes: Vec<&Axis> = document.axes.iter().filter(|axis| axis.key.is_some()).collect();
    for axis in &axes {
        check_not_given_twice(document, axis, &variants)?;
    }
    let sizes = axes.iter().map(|axis| axis.values.len()).chain([variants.len()]);
    let count = sizes.clone().try_fold(1usize, usize::checked_mul).filter(|count| *count <= MAX_POINTS);
    let Some(count) = count else {
        let origin = document.axes[0].origin.clone();
        let problem = format!("the sweep has more than {MAX_POINTS} points");
        return Err(SettingsError::new(origin, problem).expected("fewer or shorter lists in [sweep]").into());
    };
    let mut points = Vec::with_capacity(count);
    for index in 0..count {
        let variant = variants[index % variants.len()].clone();
        let mut rest = index / variants.len();
        let mut settings = document.settings.clone();
        let mut values = Vec::with_capacity(axes.len());
        // The last axis of the file is the fastest after the scheme.
        for axis in axes.iter().rev() {
            let (raw, origin) = &axis.values[rest % axis.values.len()];
            rest /= axis.values.len();
            if let Some((table, key)) = axis.table().zip(axis.key) {
                settings.give(table, key, raw, origin.clone())?;
                values.push((axis.name(), key.kind.read(key.name, raw, origin)?.to_string()));
            }
        }
        values.reverse();
        points.push(Point { variant, values, settings, folder: folder.clone(), schemes: Arc::clone(schemes) });
    }
    Ok(points)
}

/// Returns the schemes of the sweep in its order, each with its built-in scheme.
fn variants(document: &Document, builtin: &[&str]) -> Result<Vec<Variant>, Error> {
    let mut known: Vec<Variant> = Vec::new();
    for (name, origin) in &document.variants {
        let table = Table::Scheme(name.clone());
        let base = match document.settings.given(&(table.clone(), BASE.name)) {
            Some((Value::Text(base), origin)) if !builtin.contains(&base.as_str()) => {
                return Err(SettingsError::new(origin.clone(), format!("there is no built-in scheme `{base}`"))
                    .expected(format!(
                        "a built-in scheme (see `flowsieve list schemes`), or one with a file {}",
                        scheme_files::path_in_words(base)
                    ))
                    .names(base, builtin.iter().copied())
                    .into());
            }
            Some((Value::Text(_), origin)) if builtin.contains(&name.as_str()) => {
                let problem = format!("`{name}` is a built-in scheme and cannot have a base");
                return Err(SettingsError::new(origin.clone(), problem).expected("another name for a variant").into());
            }
            Some((Value::Text(base), _)) => base.clone(),
            _ if builtin.contains(&name.as_str()) => name.clone(),
            _ => {
                return Err(SettingsError::new(origin.clone(), format!("there is no built-in scheme `{name}`"))
                    .expected(format!(
                        "a built-in scheme, `base = ...` in [{table}], or a file {}",
                        scheme_files::path_in_words(name)
                    ))
                    .names(name, builtin.iter().copied())
                    .into());
            }
        };
        known.push(Variant { name: name.clone(), base });
    }
    let Some(axis) = document.axes.iter().find(|axis| axis.key.is_none()) else {
        return Err(SettingsError::new(Origin::Default, "no scheme is named")
            .of_missing("scheme", "sweep")
            .expected("[sweep] with a line such as scheme = [\"dctcp\", \"pias\"]")
            .into());
    };
    let mut chosen = Vec::new();
    for (raw, origin) in &axis.values {
        let Raw::Text(name) = raw else { continue };
        let variant =
            known.iter().find(|variant| variant.name == *name).cloned().or_else(|| {
                builtin.contains(&name.as_str()).then(|| Variant { name: name.clone(), base: name.clone() })
            });
        let names = || builtin.iter().copied().chain(known.iter().map(|variant| variant.name.as_str()));
        chosen.push(variant.ok_or_else(|| {
            SettingsError::new(origin.clone(), format!("there is no scheme `{name}`"))
                .expected(format!(
                    "a built-in scheme (see `flowsieve list schemes`), a table [schemes.<name>], or a file {}",
                    scheme_files::path_in_words(name)
                ))
                .names(name, names())
        })?);
    }
    Ok(chosen)
}

/// Refuses a swept key that a scheme of the sweep also fixes: all of its points would be the same.
fn check_not_given_twice(document: &Document, axis: &Axis, variants: &[Variant]) -> Result<(), SettingsError> {
    let Some(key) = axis.key else { return Ok(()) };
    for variant in variants {
        let address = (Table::Scheme(variant.name.clone()), key.name);
        if let Some((_, origin)) = document.settings.given(&address) {
            return Err(SettingsError::new(
                origin.clone(),
                format!("`{}` is swept, but fixed here for the scheme `{}`", key.name, variant.name),
            )
            .expected("one of the two"));
        }
    }
    Ok(())
}

/// A key that nothing reads.
pub(crate) struct Unread {
    pub(crate) table: Table,
    pub(crate) name: &'static str,
    /// The error for this key alone.
    pub(crate) error: SettingsError,
}

/// Returns the counts that make the fabric, if this key is a count, too.
fn counts_of_fabric(settings: &Settings, name: &str) -> Vec<String> {
    let is_count =
        |name: &str| settings.find(name).is_some_and(|key| matches!(key.kind, Kind::Count(..) | Kind::CountOrList(..)));
    let effective = settings.effective();
    let read = effective.keys().filter_map(|key| key.strip_prefix("topology."));
    read.filter(|key| is_count(name) && is_count(key)).map(|key| format!("`{key}`")).collect()
}

/// Describes what is expected in place of a key that nothing reads.
fn absent(settings: &Settings, table: &Table, name: &str) -> String {
    match table {
        Table::Section(Section::Topology) => {
            let counts = counts_of_fabric(settings, name);
            let made = if counts.is_empty() { String::new() } else { format!(": {} make it", counts.join(", ")) };
            format!("no `{name}` with this kind of fabric{made}")
        }
        Table::Section(Section::Workload) | Table::Workload(_) => format!("no `{name}` with this workload"),
        Table::Scheme(_) | Table::SchemeAt(..) => format!("no `{name}`, or `{SCHEME}` with a scheme that reads it"),
        _ => format!("no `{name}`, since no scheme of the sweep reads it with its other settings"),
    }
}

/// Returns the keys that no point read, and that are also unread `elsewhere` (seeds and size classes belong to no
/// point). Keys of schemes outside the sweep count as unread, unless they are `excused`. `without` is what the engine
/// of all points lacks, if it lacks something.
pub(crate) fn unread(
    points: &[Point],
    elsewhere: &[(Address, Origin)],
    excused: impl Fn(&Origin) -> bool,
    without: Option<&'static str>,
) -> Vec<Unread> {
    let mut unread = points.first().map(|point| point.settings.unread()).unwrap_or_default();
    for left in points.iter().map(|point| point.settings.unread()) {
        // A swept key has another origin at every point; compare addresses.
        unread.retain(|(address, _)| left.iter().any(|(other, _)| other == address));
    }
    let swept = |address: &Address| points.iter().any(|point| point.is_swept(address));
    // What only a run on Linux has stays in the file when it runs in the simulator. A key that needs something else is for both.
    let needs = |name: &str| points.first().and_then(|point| point.settings.find(name)?.needs);
    unread.retain(|((table, name), _)| *table != Table::Section(Section::Lab) || needs(name).is_some());
    unread.retain(|(address, _)| swept(address) || elsewhere.iter().any(|(other, _)| other == address));
    let left_out = |table: &Table| match table {
        Table::Scheme(variant) | Table::SchemeAt(variant, _) => {
            (!points.iter().any(|point| point.variant.name == *variant)).then(|| variant.clone())
        }
        _ => None,
    };
    unread.retain(|((table, _), origin)| !excused(origin) || left_out(table).is_none());
    let problem = |(table, name): &(Table, &str)| match left_out(table) {
        Some(variant) => format!("`{name}` is for the scheme `{variant}`, which is not in the sweep"),
        None => format!("nothing reads `{name}` in [{table}]"),
    };
    let expected = |(table, name): &(Table, &'static str)| match (table, without) {
        (
            Table::Section(Section::Network | Section::Transport | Section::Run)
            | Table::Scheme(_)
            | Table::SchemeAt(..)
            | Table::NetworkAt(_),
            Some(without),
        ) if left_out(table).is_none() => format!("no `{name}` {without}"),
        _ => match points.first().and_then(|point| point.settings.find(name)?.needs) {
            Some(needs) => needs.to_owned(),
            None => points.first().map_or_else(String::new, |point| absent(&point.settings, table, name)),
        },
    };
    let mut errors: Vec<Unread> = unread
        .into_iter()
        .map(|(address, origin)| {
            let error = SettingsError::new(origin, problem(&address)).expected(expected(&address));
            Unread { table: address.0, name: address.1, error }
        })
        .collect();
    errors.sort_by_key(|unread| match &unread.error.origin {
        Origin::File { span, .. } => span.start,
        _ => 0,
    });
    errors
}
