//! The typed settings that every part of an experiment reads. Each part declares its own ([`Setting`]).
//!
//! A value comes from the experiment file or the command line and keeps its place there. So a part deep inside can
//! refuse it ([`Scope::invalid`]), and the user sees the file, line and column. Each read is recorded, and the record
//! *is* the effective configuration of a point. A given key that no point reads is an error, found by comparing
//! [`Settings::unread`] over the points.
//!
//! Lookup, from the most specific to the most general, for a scheme variant `v` at a place `p`. First what is given, in a
//! file, by a sweep or on the command line: `[schemes.v.p]`, `[schemes.v]`, `[network.p]` (only keys of ports), the key's own
//! section. Then the scheme's own value ([`Scope::with_own`]), for the place before that for all places; the parameter set's
//! ([`Setting::selects`]); and the default of the setting or its reader.
//!
//! Units: sizes in bytes, times in ps, rates in bit/s ([`units`]). One `pkt` is the scope's `mtu`.

mod error;
pub mod files;
mod layer;
mod scope;
mod setting;
pub mod toml;
pub mod units;
mod value;

pub use error::{Origin, SettingsError, WrongName};
pub use flowsieve_core::Place;
pub use layer::Layer;
pub use scope::{MTU, Scope};
pub use setting::{Counts, Key, Scaled, Section, Selects, Setting, SizesOr};
pub use value::{Kind, MAX_TIME_PS, Names, Raw, Value, one_of};

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The settings that all readers of sizes need.
pub const SETTINGS: &[&Key] = scope::SETTINGS;

/// All settings that an experiment may give, each name once.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    list: Arc<[&'static Key]>,
    /// The one that selects a layer of values, if there is one.
    selecting: Option<&'static Key>,
}

impl Keys {
    /// Joins the settings of several declarations, section by section.
    pub fn joined(lists: &[&[&'static Key]]) -> Keys {
        let of = |section: Section| lists.iter().copied().flatten().copied().filter(move |key| key.section == section);
        Keys::of(Section::ALL.into_iter().flat_map(of).collect())
    }

    fn of(list: Arc<[&'static Key]>) -> Keys {
        Keys { selecting: list.iter().copied().find(|key| key.selects.is_some()), list }
    }

    /// Finds the setting of this name.
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.iter().find(|key| key.name == name)
    }

    /// Returns all of them, section by section.
    pub fn iter(&self) -> impl Iterator<Item = &'static Key> + Clone + '_ {
        self.list.iter().copied()
    }

    /// Builds the settings of a point, with none given yet.
    pub fn none_given(&self) -> Settings {
        Settings { declared: self.clone(), ..Settings::default() }
    }
}

/// A table of an experiment file that holds keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// A section. [`Section::Scheme`] here means every scheme: a sweep over a scheme's key.
    Section(Section),
    /// `[network.leaf]`.
    NetworkAt(Place),
    /// The n-th `[[topology.link]]`, from 0.
    Link(usize),
    /// The n-th `[[event]]`, from 0.
    Event(usize),
    /// The `[[workload]]` of this name.
    Workload(String),
    /// `[schemes.pias]`.
    Scheme(String),
    /// `[schemes.pias.leaf]`.
    SchemeAt(String, Place),
}

impl std::fmt::Display for Table {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Table::Section(section) => write!(out, "{}", section.path()),
            Table::NetworkAt(place) => write!(out, "network.{}", place.name()),
            Table::Link(index) => write!(out, "{}.{index}", Section::Link.path()),
            Table::Event(index) => write!(out, "{}.{index}", Section::Event.path()),
            Table::Workload(name) => write!(out, "workload.{name}"),
            Table::Scheme(variant) => write!(out, "schemes.{variant}"),
            Table::SchemeAt(variant, place) => write!(out, "schemes.{variant}.{}", place.name()),
        }
    }
}

impl Table {
    /// Returns the name of a swept key of this table: the bare name, unless several workloads share their keys.
    pub fn swept(&self, name: &'static str) -> Cow<'static, str> {
        match self {
            Table::Workload(_) => Cow::Owned(format!("{self}.{name}")),
            _ => Cow::Borrowed(name),
        }
    }

    /// Returns whether a key may stand in this table.
    pub fn takes(&self, key: &Key) -> bool {
        match self {
            Table::Section(section) => key.section == *section && key.name != "base",
            Table::Link(_) => key.section == Section::Link,
            Table::Event(_) => key.section == Section::Event,
            Table::Workload(_) => key.section == Section::Workload,
            Table::NetworkAt(_) => key.section == Section::Network,
            Table::Scheme(_) => matches!(key.section, Section::Network | Section::Transport | Section::Scheme),
            Table::SchemeAt(..) => matches!(key.section, Section::Network | Section::Scheme) && key.name != "base",
        }
    }
}

/// A key's place in a file: its table and its name.
pub type Address = (Table, &'static str);

#[derive(Debug, Clone)]
struct Given {
    value: Value,
    origin: Origin,
}

/// The reads so far.
#[derive(Debug, Clone, Default)]
struct Record {
    /// What was given and read, by the reader's name in the effective configuration.
    used: BTreeSet<(Address, String)>,
    values: BTreeMap<String, String>,
    /// What was read of schemes' own values, by the place for which it is.
    own: BTreeSet<(&'static str, Option<Place>)>,
    /// The rate to which times are scaled, in bit/s.
    rate_bps: Option<u64>,
    /// Whether times were read that can be scaled, by the reader's name: whether scaling changed the value.
    stated: BTreeMap<String, bool>,
}

/// The settings of one point of an experiment.
#[derive(Debug, Default)]
pub struct Settings {
    declared: Keys,
    given: BTreeMap<Address, Given>,
    links: usize,
    events: usize,
    /// The names of the `[[workload]]`s in the order of the file, and where each is.
    workloads: Vec<(String, Origin)>,
    /// The error of what [`Settings::with`] could not set.
    refused: Option<Box<SettingsError>>,
    record: Mutex<Record>,
}

impl Clone for Settings {
    fn clone(&self) -> Self {
        let record = Mutex::new(self.record().clone());
        Settings {
            declared: self.declared.clone(),
            given: self.given.clone(),
            links: self.links,
            events: self.events,
            workloads: self.workloads.clone(),
            refused: self.refused.clone(),
            record,
        }
    }
}

impl Settings {
    /// Builds settings with none given yet, from the declarations of some parts.
    pub fn of(declared: impl IntoIterator<Item = &'static Key>) -> Settings {
        Keys::of(declared.into_iter().collect()).none_given()
    }

    /// Returns every setting that may be given.
    pub fn declared(&self) -> &Keys {
        &self.declared
    }

    /// Finds the declared setting of this name.
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.declared.find(name)
    }

    /// Sets `key` in `table`; an earlier value at the same address is replaced.
    pub fn give(&mut self, table: Table, key: &'static Key, raw: &Raw, origin: Origin) -> Result<(), SettingsError> {
        let value = key.kind.read(key.name, raw, &origin)?;
        match table {
            Table::Link(index) => self.links = self.links.max(index + 1),
            Table::Event(index) => self.events = self.events.max(index + 1),
            _ => {}
        }
        self.given.insert((table, key.name), Given { value, origin });
        Ok(())
    }

    /// Adds a `[[workload]]` of this name, given at `origin`. From then on `[workload]` has no keys.
    pub fn add_workload(&mut self, name: impl Into<String>, origin: Origin) {
        self.workloads.push((name.into(), origin));
    }

    /// Returns the `[[workload]]`s, each with its place, in the order of the file; none if there is one workload,
    /// `[workload]`.
    pub fn workloads(&self) -> &[(String, Origin)] {
        &self.workloads
    }

    /// Returns the tables with the keys of workloads.
    pub fn workload_tables(&self) -> Vec<Table> {
        match self.workloads.as_slice() {
            [] => vec![Table::Section(Section::Workload)],
            several => several.iter().map(|(name, _)| Table::Workload(name.clone())).collect(),
        }
    }

    /// Returns the settings for every scheme, as the `[[workload]]` of this name sees them; with `None`, as
    /// `[workload]` does.
    pub fn workload(&self, name: Option<&str>) -> Scope<'_> {
        self.common().of_workload(name.map(str::to_owned))
    }

    /// Replaces a given value by another one.
    ///
    /// # Errors
    /// Fails if the value is not of the key's kind.
    pub fn replace(
        &mut self,
        table: Table,
        key: &'static Key,
        value: Value,
        origin: Origin,
    ) -> Result<(), SettingsError> {
        if !key.kind.holds(&value) {
            let problem = format!("`{}` cannot be {value}", key.name);
            return Err(SettingsError::new(origin, problem).expected(key.kind.expects()).of_key(key.name));
        }
        self.given.insert((table, key.name), Given { value, origin });
        Ok(())
    }

    /// Sets a key by its name in its own section, or in the variant's table with `Some(variant)`: for programs that
    /// have no file. If there is no such setting or the value does not fit, that is the error of every read, and only
    /// the first such error is kept.
    #[must_use]
    pub fn with(mut self, variant: Option<&str>, name: &str, raw: impl Into<Raw>) -> Settings {
        if let Err(error) = self.give_by_name(variant, name, &raw.into()) {
            self.refused.get_or_insert_with(|| Box::new(error));
        }
        self
    }

    fn give_by_name(&mut self, variant: Option<&str>, name: &str, raw: &Raw) -> Result<(), SettingsError> {
        let Some(key) = self.find(name) else {
            let error = SettingsError::new(Origin::Default, format!("there is no setting `{name}`"));
            return Err(error.names(name, self.declared.iter().map(|key| key.name)));
        };
        let table = match variant {
            Some(variant) => Table::Scheme(variant.to_owned()),
            None => Table::Section(key.section),
        };
        self.give(table, key, raw, Origin::Default)
    }

    /// Returns the settings for every scheme: workload, topology, run and report keys, and the network as the workload
    /// sees it.
    pub fn common(&self) -> Scope<'_> {
        Scope::new(self, None)
    }

    /// Returns the settings of one scheme variant.
    pub fn scheme(&self, variant: &str) -> Scope<'_> {
        Scope::new(self, Some(variant.to_owned()))
    }

    /// Returns one scope for each `[[topology.link]]`.
    pub fn links(&self) -> Vec<Scope<'_>> {
        (0..self.links).map(|index| Scope::of_row(self, Table::Link(index))).collect()
    }

    /// Returns one scope for each `[[event]]`.
    pub fn events(&self) -> Vec<Scope<'_>> {
        (0..self.events).map(|index| Scope::of_row(self, Table::Event(index))).collect()
    }

    /// Returns the effective configuration so far: address of the reader → canonical value. Keys read for a scheme are
    /// under `scheme.` (and the place), others under their section.
    pub fn effective(&self) -> BTreeMap<String, String> {
        self.record().values.clone()
    }

    /// Removes from the effective configuration the reads under these names, which served only for comparison.
    pub fn leave_out(&self, is_left_out: impl Fn(&str) -> bool) {
        self.record().values.retain(|name, _| !is_left_out(name));
    }

    /// Scales the defaults of times that are stated for one rate of links to another one, in bit/s; `None`: they are as
    /// stated. Holds for the reads that follow.
    pub fn scale_times(&self, bps: Option<u64>) {
        let mut record = self.record();
        record.rate_bps = bps;
        record.stated.clear();
    }

    /// Returns the defaults of times stated for one rate that the effective configuration has, each with its reader's
    /// name, its value and whether scaling changed it.
    pub fn stated_times(&self) -> Vec<(String, String, bool)> {
        let record = self.record();
        let of = |(name, changed): (&String, &bool)| Some((name.clone(), record.values.get(name)?.clone(), *changed));
        record.stated.iter().filter_map(of).collect()
    }

    /// Adds an entry to the effective configuration that is not a key: a file's digest, the built-in scheme's name.
    pub fn note(&self, name: &str, value: impl std::fmt::Display) {
        self.record().values.insert(name.to_owned(), value.to_string());
    }

    /// Returns the given keys that have not been read yet, with their place in the file.
    pub fn unread(&self) -> Vec<(Address, Origin)> {
        let record = self.record();
        self.given
            .iter()
            .filter(|(address, _)| !record.used.iter().any(|(used, _)| used == *address))
            .map(|(address, given)| (address.clone(), given.origin.clone()))
            .collect()
    }

    /// Returns whether a scheme's own value for a place, or for all places, has been read.
    pub fn has_read_own(&self, name: &str, place: Option<Place>) -> bool {
        self.record().own.iter().any(|(known, at)| *known == name && *at == place)
    }

    /// Returns the record. It is whole even if a reader panicked, since each entry is written in one step.
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the value of the layer that a setting selects. That setting counts as read, then.
    fn selected(&self, name: &str) -> Option<(&'static Raw, &'static Origin)> {
        let key = self.declared.selecting?;
        let address = (Table::Section(key.section), key.name);
        let given = self.given.get(&address).map(|given| given.value.to_string());
        let (choice, layer) = key.selects?(given.as_deref())?;
        let (_, raw, origin) = layer.at(None, name)?;
        let reader = format!("{}.{}", key.section.path(), key.name);
        let mut record = self.record();
        if given.is_some() {
            record.used.insert((address, reader.clone()));
        }
        record.values.insert(reader, choice.to_owned());
        Some((raw, origin))
    }

    /// Returns all given values, by address; does not count as reading them.
    pub fn all_given(&self) -> impl Iterator<Item = (&Address, &Value, &Origin)> {
        self.given.iter().map(|(address, given)| (address, &given.value, &given.origin))
    }

    /// Returns the value at an address and where it was given; does not count as reading it.
    pub fn given(&self, address: &Address) -> Option<(&Value, &Origin)> {
        self.given.get(address).map(|given| (&given.value, &given.origin))
    }
}

#[cfg(test)]
mod tests;
