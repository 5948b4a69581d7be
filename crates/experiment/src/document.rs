//! Reads the text of an experiment file into settings, sweep and scheme variants, each value with its place in the
//! text.
//!
//! Only the form is checked here: which tables and keys there are, and that each value has its key's kind and is within
//! its limits. Readers check whether the values fit each other.

use crate::engine::Engines;
use crate::error::Error;
use crate::experiment_text::ExperimentText;
use crate::further::{Given, Tables};
use crate::scale::ScaleTable;
use flowsieve_settings::toml::{Span, entries, not_toml, raw_item};
use flowsieve_settings::{Key, Keys, Origin, Place, Raw, Section, Settings, SettingsError, Table, one_of};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml_edit::{Item, TableLike, Value};

/// The top level of an experiment file, but for [`Tables`].
const TOP: [&str; 11] =
    ["title", "topology", "workload", "network", "transport", "event", "sweep", "run", "schemes", "report", "scale"];

/// The name of the sweep's axis over schemes.
pub const SCHEME: &str = "scheme";

/// One dimension of the sweep.
#[derive(Debug, Clone)]
pub struct Axis {
    /// The key; `None` for the schemes.
    pub key: Option<&'static Key>,
    /// The `[[workload]]` that the key belongs to, if there are several.
    pub workload: Option<String>,
    /// Its values, at least one.
    pub values: Vec<(Raw, Origin)>,
    /// Where its name is.
    pub origin: Origin,
}

impl Axis {
    /// Returns its name in the file.
    pub fn name(&self) -> Cow<'static, str> {
        let name = self.key.map_or(SCHEME, |key| key.name);
        self.table().map_or(Cow::Borrowed(name), |table| table.swept(name))
    }

    /// Returns the table in which a point has its value; `None` for the schemes.
    pub fn table(&self) -> Option<Table> {
        let key = self.key?;
        Some(self.workload.clone().map_or(Table::Section(key.section), Table::Workload))
    }
}

/// An experiment as written.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// The user's title.
    pub title: Option<String>,
    /// Everything except the sweep.
    pub settings: Settings,
    /// The sweep, in the order of the file.
    pub axes: Vec<Axis>,
    /// The tables `[schemes.<name>]`: name → place in the file.
    pub variants: BTreeMap<String, Origin>,
    /// The tables `[scale.<name>]`.
    pub(crate) scales: Vec<ScaleTable>,
    /// What it gives in [`Tables`].
    pub(crate) further: Option<Arc<dyn Given>>,
}

/// Reads an experiment file's text, in which the settings of these engines may be given.
pub fn parse(input: &ExperimentText, engines: &Engines) -> Result<Document, Error> {
    let (document, faults) = read(input, engines).map_err(|error| Error::from(error).in_text(input))?;
    SettingsError::joined(faults).map_or(Ok(document), |error| Err(Error::from(error).in_text(input)))
}

/// Does so, and returns what is wrong in it beside the document without that. Fails if it is not TOML.
pub(crate) fn read(input: &ExperimentText, engines: &Engines) -> Result<(Document, Vec<Wrong>), Wrong> {
    let document = Document { settings: engines.keys().none_given(), ..Document::default() };
    Reader { input, document, faults: Vec::new(), further: engines.tables() }.read()
}

pub(crate) type Wrong = SettingsError;

struct Reader<'a> {
    input: &'a ExperimentText,
    document: Document,
    faults: Vec<Wrong>,
    further: Option<Tables>,
}

impl Reader<'_> {
    fn read(mut self) -> Result<(Document, Vec<Wrong>), Wrong> {
        let parsed = toml_edit::Document::parse(&*self.input.text).map_err(|error| not_toml(self.input, &error))?;
        self.each(parsed.as_table(), Reader::top);
        let axes = std::mem::take(&mut self.document.axes);
        for axis in &axes {
            let Some((table, key)) = axis.table().zip(axis.key) else { continue };
            let checked = check_workload(&self.document.settings, &table, key, &axis.origin);
            self.faults.extend(checked.err());
        }
        Ok((Document { axes, ..self.document }, self.faults))
    }

    /// Reads each entry of a table, and goes on after those that are wrong.
    fn each(
        &mut self,
        table: &dyn TableLike,
        mut entry: impl FnMut(&mut Self, &str, Span, &Item) -> Result<(), Wrong>,
    ) {
        for (name, key, item) in entries(table) {
            let read = entry(self, name, key, item);
            self.faults.extend(read.err());
        }
    }

    fn top(&mut self, name: &str, key: Span, item: &Item) -> Result<(), Wrong> {
        let origin = self.input.origin(key);
        match name {
            "title" => self.document.title = Some(self.title(item, &origin)?),
            "topology" => self.topology(table(name, item, &origin)?),
            "network" => self.network(table(name, item, &origin)?),
            "workload" if is_list(item) => {
                self.workloads(&tables(name, "[[workload]]", item, &origin)?, &origin)?;
            }
            "workload" => self.section(Section::Workload, table(name, item, &origin)?),
            "transport" => self.section(Section::Transport, table(name, item, &origin)?),
            "event" => self.events(&tables(name, "[[event]]", item, &origin)?),
            "run" => self.section(Section::Run, table(name, item, &origin)?),
            "lab" => self.section(Section::Lab, table(name, item, &origin)?),
            "report" => self.section(Section::Report, table(name, item, &origin)?),
            "sweep" => self.each(table(name, item, &origin)?, Reader::axis),
            "scale" => self.scales(table(name, item, &origin)?),
            "schemes" => self.schemes(table(name, item, &origin)?),
            _ => match self.further.filter(|tables| tables.name == name) {
                Some(tables) => {
                    let given = (tables.read)(self.input, self.keys(), item, &origin)?;
                    self.document.further = Some(given);
                }
                None => return Err(unknown_at_top(self.keys(), name, origin, self.further)),
            },
        }
        Ok(())
    }

    fn keys(&self) -> &Keys {
        self.document.settings.declared()
    }

    /// Reads the tables `[[workload]]`.
    fn workloads(&mut self, tables: &[&dyn TableLike], origin: &Origin) -> Result<(), Wrong> {
        if tables.len() > MOST_WORKLOADS {
            let problem = format!("{} workloads", tables.len());
            return Err(Wrong::new(origin.clone(), problem).expected(format!("at most {MOST_WORKLOADS}")));
        }
        for of_workload in tables {
            let entries = entries(*of_workload);
            let Some((_, _, item)) = entries.iter().find(|(name, ..)| *name == WORKLOAD_NAME) else {
                let first =
                    entries.first().map_or_else(|| origin.clone(), |(_, key, _)| self.input.origin(key.clone()));
                return Err(Wrong::new(first, "one of several workloads has no `name`")
                    .expected("a name in each [[workload]], such as name = \"incast\""));
            };
            let (raw, at) = raw_item(self.input, item);
            let name = check_workload_name(&raw, &self.document.settings, &at)?;
            self.document.settings.add_workload(name.as_str(), at);
            self.each(*of_workload, |reader, key_name, key, item| match key_name {
                WORKLOAD_NAME => Ok(()),
                _ => reader.key(Table::Workload(name.clone()), key_name, key, item),
            });
        }
        Ok(())
    }

    fn title(&self, item: &Item, origin: &Origin) -> Result<String, Wrong> {
        let text = item.as_str().map(str::to_owned);
        text.ok_or_else(|| Wrong::new(origin.clone(), "`title` is not a text").expected("a text"))
    }

    fn section(&mut self, section: Section, entries_of: &dyn TableLike) {
        self.all_keys(&Table::Section(section), entries_of);
    }

    fn all_keys(&mut self, at: &Table, entries_of: &dyn TableLike) {
        self.each(entries_of, |reader, name, key, item| reader.key(at.clone(), name, key, item));
    }

    fn topology(&mut self, entries_of: &dyn TableLike) {
        self.each(entries_of, |reader, name, key, item| {
            if name != "link" {
                return reader.key(Table::Section(Section::Topology), name, key, item);
            }
            let origin = reader.input.origin(key);
            for (index, link) in tables(name, "[[topology.link]]", item, &origin)?.into_iter().enumerate() {
                reader.all_keys(&Table::Link(index), link);
            }
            Ok(())
        });
    }

    fn events(&mut self, events: &[&dyn TableLike]) {
        events.iter().enumerate().for_each(|(index, event)| self.all_keys(&Table::Event(index), *event));
    }

    fn network(&mut self, entries_of: &dyn TableLike) {
        self.each(entries_of, |reader, name, key, item| match place_with(reader.keys(), name, item) {
            Some(place) => reader.place(Table::NetworkAt(place), name, key, item),
            None => reader.key(Table::Section(Section::Network), name, key, item),
        });
    }

    fn schemes(&mut self, entries_of: &dyn TableLike) {
        self.each(entries_of, |reader, variant, key, item| {
            let origin = reader.input.origin(key);
            check_variant_name(variant, &origin)?;
            let entries_of = table(&format!("schemes.{variant}"), item, &origin)?;
            reader.each(entries_of, |reader, name, key, item| match place_with(reader.keys(), name, item) {
                Some(place) => reader.place(Table::SchemeAt(variant.to_owned(), place), name, key, item),
                None => reader.key(Table::Scheme(variant.to_owned()), name, key, item),
            });
            reader.document.variants.insert(variant.to_owned(), origin);
            Ok(())
        });
    }

    fn scales(&mut self, entries_of: &dyn TableLike) {
        self.each(entries_of, |reader, name, key, item| {
            let origin = reader.input.origin(key);
            let entries_of = table(&format!("scale.{name}"), item, &origin)?;
            reader.document.scales.push(ScaleTable::read(name, origin, entries_of, reader.input)?);
            Ok(())
        });
    }

    fn place(&mut self, at: Table, name: &str, key: Span, item: &Item) -> Result<(), Wrong> {
        self.all_keys(&at, table(name, item, &self.input.origin(key))?);
        Ok(())
    }

    fn key(&mut self, at: Table, name: &str, key: Span, item: &Item) -> Result<(), Wrong> {
        let known = known_key(self.keys(), &at, name, self.input.origin(key))?;
        let (raw, origin) = raw_item(self.input, item);
        self.document
            .settings
            .give(at, known, &raw, origin)
            .map_err(|error| into_sweep(self.document.settings.declared(), error, known, &raw))
    }

    /// Reads a key of the sweep. An unquoted name with dots makes a table within it: then each key in that table.
    fn axis(&mut self, path: &str, key: Span, item: &Item) -> Result<(), Wrong> {
        if let Some(table) = item.as_table_like() {
            self.each(table, |reader, name, key, item| reader.axis(&format!("{path}.{name}"), key, item));
            return Ok(());
        }
        let origin = self.input.origin(key);
        let (workload, key) = swept_path(self.keys(), path, &origin)?;
        let values = match raw_item(self.input, item) {
            (Raw::List(values), _) => values,
            single => vec![single],
        };
        // The other values of a sweep say what else is wrong.
        let (mut good, several) = (Vec::new(), values.len());
        for (raw, at) in values {
            match key.map_or(Ok(()), |key| key.kind.read(key.name, &raw, &at).map(|_| ())) {
                Ok(()) => good.push((raw, at)),
                Err(wrong) => self.faults.push(wrong),
            }
        }
        if several == 0 || !good.is_empty() {
            self.document.axes.push(axis((workload, key), good, origin)?);
        }
        Ok(())
    }
}

/// The most `[[workload]]`s of an experiment.
const MOST_WORKLOADS: usize = 64;

/// The key of a `[[workload]]` by which paths name it.
const WORKLOAD_NAME: &str = "name";

fn is_list(item: &Item) -> bool {
    matches!(item, Item::ArrayOfTables(_) | Item::Value(Value::Array(_)))
}

/// Checks the name of one of several workloads: it is used in paths, in names of columns and next to keys.
fn check_workload_name(raw: &Raw, settings: &Settings, origin: &Origin) -> Result<String, Wrong> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fits = |name: &&String| {
        name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(good)
    };
    let name = if let Raw::Text(name) = raw { Some(name).filter(fits) } else { None };
    let Some(name) = name else {
        return Err(Wrong::new(origin.clone(), format!("{raw} cannot name a workload"))
            .expected("a text of ASCII letters, digits and `_` that begins with a letter, 64 at most"));
    };
    if settings.find(name).is_some_and(|key| key.section == Section::Workload) {
        return Err(Wrong::new(origin.clone(), format!("`{name}` is a key of workloads and cannot name one"))
            .expected("another name"));
    }
    if settings.workloads().iter().any(|(known, _)| known == name) {
        return Err(
            Wrong::new(origin.clone(), format!("two workloads are called `{name}`")).expected("names that differ")
        );
    }
    Ok(name.clone())
}

/// Refuses keys of an unknown workload, and keys of a single workload if there are several.
pub(crate) fn check_workload(settings: &Settings, table: &Table, key: &Key, origin: &Origin) -> Result<(), Wrong> {
    let names = || settings.workloads().iter().map(|(name, _)| name.as_str());
    let paths: Vec<String> = names().map(|name| format!("`workload.{name}.{}`", key.name)).collect();
    match table {
        Table::Section(Section::Workload) if names().next().is_some() => {
            let problem = format!("`{}` is for a single workload, but this experiment has several", key.name);
            Err(Wrong::new(origin.clone(), problem).expected(paths.join(" or ")))
        }
        Table::Workload(name) if !names().any(|known| known == name) => {
            let problem = format!("there is no [[workload]] with the name `{name}`");
            let one = format!("`workload.{}`, since there is one workload", key.name);
            let expected = if paths.is_empty() { one } else { paths.join(" or ") };
            Err(Wrong::new(origin.clone(), problem).expected(expected).names(name, names()))
        }
        _ => Ok(()),
    }
}

/// Resolves a name or path in [sweep] to the workload, if there are several, and the key.
pub(crate) fn swept_path(
    keys: &Keys,
    path: &str,
    origin: &Origin,
) -> Result<(Option<String>, Option<&'static Key>), Wrong> {
    let Some((workload, name)) = path.strip_prefix("workload.").and_then(|rest| rest.split_once('.')) else {
        return Ok((None, sweepable(keys, path, origin)?));
    };
    let table = Table::Workload(workload.to_owned());
    known_key(keys, &table, name, origin.clone()).map(|key| (Some(workload.to_owned()), Some(key)))
}

fn table<'a>(name: &str, item: &'a Item, origin: &Origin) -> Result<&'a dyn TableLike, Wrong> {
    item.as_table_like()
        .ok_or_else(|| Wrong::new(origin.clone(), format!("`{name}` is not a table")).expected(format!("[{name}]")))
}

/// Lists the tables of `[[name]]`, or of a list of inline tables.
///
/// # Errors
/// Fails if it is neither; `form` is what was expected.
pub fn tables<'a>(name: &str, form: &str, item: &'a Item, origin: &Origin) -> Result<Vec<&'a dyn TableLike>, Wrong> {
    let wrong = || Wrong::new(origin.clone(), format!("`{name}` is not a list of tables")).expected(form);
    match item {
        Item::ArrayOfTables(tables) => Ok(tables.iter().map(|table| table as &dyn TableLike).collect()),
        Item::Value(Value::Array(items)) => {
            let inline = |value: &'a Value| value.as_inline_table().map(|table| table as &dyn TableLike);
            items.iter().map(|value| inline(value).ok_or_else(wrong)).collect()
        }
        _ => Err(wrong()),
    }
}

/// Returns the place of this name, even if a key has it, too: `nic = "scheme"` is the key, `[network.nic]` the place.
fn place_with(keys: &Keys, name: &str, item: &Item) -> Option<Place> {
    place_of(name).filter(|_| item.is_table_like() || keys.find(name).is_none())
}

/// Returns the place of this name, as a sub-table.
pub fn place_of(name: &str) -> Option<Place> {
    Place::ALL.into_iter().find(|place| place.name() == name)
}

/// Returns the key of this name, if it may stand in the table.
pub fn known_key(keys: &Keys, at: &Table, name: &str, origin: Origin) -> Result<&'static Key, Wrong> {
    if let Some(key) = keys.find(name).filter(|key| at.takes(key)) {
        return Ok(key);
    }
    if let Some(key) = keys.find(name) {
        let home = home(key);
        return Err(
            Wrong::new(origin, format!("`{name}` does not belong in [{at}]")).expected(format!("`{name}` in {home}"))
        );
    }
    let valid = keys.iter().filter(|key| at.takes(key)).map(|key| key.name);
    Err(Wrong::new(origin, format!("unknown key `{name}` in [{at}]"))
        .expected(format!("a key of [{at}] (see `flowsieve list settings`)"))
        .names(name, valid))
}

/// Returns the table that a key belongs to.
pub fn home(key: &Key) -> String {
    match key.section {
        Section::Link | Section::Event => format!("[[{}]]", key.section.path()),
        Section::Scheme => "[schemes.<name>]".to_owned(),
        section => format!("[{}]", section.path()),
    }
}

fn unknown_at_top(keys: &Keys, name: &str, origin: Origin, further: Option<Tables>) -> Wrong {
    let top: Vec<&str> = TOP.into_iter().chain(further.map(|tables| tables.name)).collect();
    match keys.find(name) {
        Some(key) => {
            Wrong::new(origin, format!("`{name}` is outside all tables")).expected(format!("`{name}` in {}", home(key)))
        }
        None => Wrong::new(origin, format!("unknown table or key `{name}`")).expected(one_of(&top)).names(name, top),
    }
}

/// Checks a variant's name, which becomes part of paths, labels and `--set` addresses.
pub fn check_variant_name(name: &str, origin: &Origin) -> Result<(), Wrong> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(good) {
        return Ok(());
    }
    Err(Wrong::new(origin.clone(), format!("{name:?} cannot name a scheme"))
        .expected("ASCII letters, digits, `-` and `_`, 64 at most"))
}

/// Returns the key of an axis; `None` for the schemes.
pub fn sweepable(keys: &Keys, name: &str, origin: &Origin) -> Result<Option<&'static Key>, Wrong> {
    if name == SCHEME {
        return Ok(None);
    }
    let can = |key: &&Key| {
        !matches!(key.section, Section::Link | Section::Event | Section::Report)
            && !["base", "seeds", "seed", "flow_records"].contains(&key.name)
    };
    match keys.find(name) {
        Some(key) if can(&key) => Ok(Some(key)),
        Some(key) => Err(Wrong::new(origin.clone(), format!("`{name}` cannot be swept"))
            .expected(format!("`{name}` in {}", home(key)))),
        None => Err(Wrong::new(origin.clone(), format!("unknown key `{name}` in [sweep]"))
            .expected("`scheme` or any other setting's name (see `flowsieve list settings`)")
            .names(name, keys.iter().filter(can).map(|key| key.name).chain([SCHEME]))),
    }
}

/// Builds the error of a value. If it is a list for a key that takes one value, the error says where lists go.
pub(crate) fn into_sweep(keys: &Keys, error: Wrong, key: &'static Key, raw: &Raw) -> Wrong {
    let is_list = |raw: &Raw| matches!(raw, Raw::List(_));
    let has_several = match raw {
        Raw::List(items) => !key.kind.is_list() || items.iter().any(|(item, _)| is_list(item)),
        _ => false,
    };
    match sweepable(keys, key.name, &error.origin) {
        Ok(Some(_)) if has_several => error.expected(format!("{}; lists go into [sweep]", key.kind.expects())),
        _ => error,
    }
}

/// Builds the axis of a key, which may be of one of several workloads. Its values must fit it, each once.
pub fn axis(
    (workload, key): (Option<String>, Option<&'static Key>),
    values: Vec<(Raw, Origin)>,
    origin: Origin,
) -> Result<Axis, Wrong> {
    let name = key.map_or(SCHEME, |key| key.name);
    if values.is_empty() {
        return Err(Wrong::new(origin, format!("`{name}` has no values to sweep")).expected("at least one"));
    }
    let mut seen: Vec<String> = Vec::new();
    for (raw, at) in &values {
        let text = match key {
            Some(key) => key.kind.read(key.name, raw, at)?.to_string(),
            None => match raw {
                Raw::Text(text) => text.clone(),
                other => {
                    return Err(Wrong::new(at.clone(), format!("`scheme` cannot be {other}"))
                        .expected("a scheme's name, as a text"));
                }
            },
        };
        if seen.contains(&text) {
            return Err(Wrong::new(at.clone(), format!("`{name}` has {text} twice")).expected("each value once"));
        }
        seen.push(text);
    }
    Ok(Axis { key, workload, values, origin })
}
