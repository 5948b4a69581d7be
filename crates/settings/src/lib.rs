//! The typed settings that every part of an experiment reads. Each part declares its own ([`Setting`]).
//!
//! A value comes from the experiment file or the command line and keeps its place there, so that a part deep inside
//! can refuse it ([`Scope::invalid`]) and the person sees the file, line and column. Each read is recorded, and the
//! record *is* the effective configuration of a point. A given key that no point reads is an error, found by comparing
//! [`Settings::unread`] over the points.
//!
//! Lookup, from the most specific to the most general, for a scheme variant `v` at a place `p`:
//! `[schemes.v.p]`, `[schemes.v]`, `[network.p]` (only keys of ports), the key's own section, the default of the setting or its reader.
//!
//! Units: sizes in bytes, times in ps, rates in bit/s ([`units`]). One `pkt` is the scope's `mtu`.

mod error;
mod scope;
mod setting;
pub mod units;
mod value;

pub use error::{Origin, SettingsError, WrongName};
pub use flowsieve_core::Place;
pub use scope::{MTU, Scope};
pub use setting::{Key, Scaled, Section, Setting, SizesOr};
pub use value::{Kind, MAX_TIME_PS, Names, Raw, Value, one_of};

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The settings that every reader of sizes reads.
pub const SETTINGS: &[&Key] = scope::SETTINGS;

/// Every setting that an experiment may give, each name once.
#[derive(Debug, Clone, Default)]
pub struct Keys(Arc<[&'static Key]>);

impl Keys {
    /// Those of several declarations, section by section.
    pub fn joined(lists: &[&[&'static Key]]) -> Keys {
        let of = |section: Section| lists.iter().copied().flatten().copied().filter(move |key| key.section == section);
        Keys(Section::ALL.into_iter().flat_map(of).collect())
    }

    /// The setting of this name.
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.iter().find(|key| key.name == name)
    }

    /// All of them, section by section.
    pub fn iter(&self) -> impl Iterator<Item = &'static Key> + Clone + '_ {
        self.0.iter().copied()
    }

    /// The settings of a point to which none is given yet.
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
            Table::Link(index) => write!(out, "topology.link.{index}"),
            Table::Workload(name) => write!(out, "workload.{name}"),
            Table::Scheme(variant) => write!(out, "schemes.{variant}"),
            Table::SchemeAt(variant, place) => write!(out, "schemes.{variant}.{}", place.name()),
        }
    }
}

impl Table {
    /// What a swept key of this table is called: a name alone, but in one of several workloads, which share their keys.
    pub fn swept(&self, name: &'static str) -> Cow<'static, str> {
        match self {
            Table::Workload(_) => Cow::Owned(format!("{self}.{name}")),
            _ => Cow::Borrowed(name),
        }
    }

    /// Whether a key may stand in this table.
    pub fn takes(&self, key: &Key) -> bool {
        match self {
            Table::Section(section) => key.section == *section && key.name != "base",
            Table::Link(_) => key.section == Section::Link,
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

/// What has been read so far.
#[derive(Debug, Clone, Default)]
struct Record {
    /// What was given and who read it, by its name in the effective configuration.
    used: BTreeSet<(Address, String)>,
    values: BTreeMap<String, String>,
}

/// The settings of one point of an experiment.
#[derive(Debug, Default)]
pub struct Settings {
    declared: Keys,
    given: BTreeMap<Address, Given>,
    links: usize,
    /// The names of the `[[workload]]`s in the order of the file, and where each stands.
    workloads: Vec<(String, Origin)>,
    record: Mutex<Record>,
}

impl Clone for Settings {
    fn clone(&self) -> Self {
        let record = Mutex::new(self.record().clone());
        Settings {
            declared: self.declared.clone(),
            given: self.given.clone(),
            links: self.links,
            workloads: self.workloads.clone(),
            record,
        }
    }
}

impl Settings {
    /// None given yet, of those that some parts declare.
    pub fn of(declared: impl IntoIterator<Item = &'static Key>) -> Settings {
        Keys(declared.into_iter().collect()).none_given()
    }

    /// Every setting that may be given.
    pub fn declared(&self) -> &Keys {
        &self.declared
    }

    /// The declared setting of this name.
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.declared.find(name)
    }

    /// Gives `key` in `table` a value; an earlier one of the same address is replaced.
    pub fn give(&mut self, table: Table, key: &'static Key, raw: &Raw, origin: Origin) -> Result<(), SettingsError> {
        let value = key.kind.read(key.name, raw, &origin)?;
        if let Table::Link(index) = table {
            self.links = self.links.max(index + 1);
        }
        self.given.insert((table, key.name), Given { value, origin });
        Ok(())
    }

    /// Adds a `[[workload]]` of this name, which stands at `origin`. From then on `[workload]` has no keys.
    pub fn add_workload(&mut self, name: impl Into<String>, origin: Origin) {
        self.workloads.push((name.into(), origin));
    }

    /// The `[[workload]]`s, each with its place, in the order of the file; none where there is one workload, `[workload]`.
    pub fn workloads(&self) -> &[(String, Origin)] {
        &self.workloads
    }

    /// The tables in which the keys of workloads stand.
    pub fn workload_tables(&self) -> Vec<Table> {
        match self.workloads.as_slice() {
            [] => vec![Table::Section(Section::Workload)],
            several => several.iter().map(|(name, _)| Table::Workload(name.clone())).collect(),
        }
    }

    /// What holds for every scheme, as the `[[workload]]` of this name sees it; with `None` as `[workload]` does.
    pub fn workload(&self, name: Option<&str>) -> Scope<'_> {
        self.common().of_workload(name.map(str::to_owned))
    }

    /// Puts another value, of the key's kind, in the place of a given one.
    pub fn replace(&mut self, table: Table, key: &'static Key, value: Value, origin: Origin) {
        debug_assert!(key.kind.holds(&value), "`{}` cannot be {value}", key.name);
        self.given.insert((table, key.name), Given { value, origin });
    }

    /// For tests and examples: gives a key by its name in its own section, or in the variant's table with
    /// `Some(variant)`.
    ///
    /// # Panics
    /// When no such setting is declared or its value does not fit: both are mistakes of the program.
    pub fn with(mut self, variant: Option<&str>, name: &str, raw: impl Into<Raw>) -> Self {
        let key = self.find(name).unwrap_or_else(|| panic!("`{name}` is not declared"));
        let table = match variant {
            Some(variant) => Table::Scheme(variant.to_owned()),
            None => Table::Section(key.section),
        };
        if let Err(error) = self.give(table, key, &raw.into(), Origin::Default) {
            panic!("{error}");
        }
        self
    }

    /// What holds for every scheme: workload, topology, run and report keys, and the network as the workload sees it.
    pub fn common(&self) -> Scope<'_> {
        Scope::new(self, None, None, None)
    }

    /// What holds for one scheme variant.
    pub fn scheme(&self, variant: &str) -> Scope<'_> {
        Scope::new(self, Some(variant.to_owned()), None, None)
    }

    /// One scope for each `[[topology.link]]`.
    pub fn links(&self) -> Vec<Scope<'_>> {
        (0..self.links).map(|index| Scope::new(self, None, None, Some(index))).collect()
    }

    /// The effective configuration so far: address of the reader → canonical value. Keys read for a scheme stand under
    /// `scheme.` (and the place), others under their section.
    pub fn effective(&self) -> BTreeMap<String, String> {
        self.record().values.clone()
    }

    /// Leaves out of the effective configuration what was read under these names only to be compared.
    pub fn leave_out(&self, is_left_out: impl Fn(&str) -> bool) {
        self.record().values.retain(|name, _| !is_left_out(name));
    }

    /// Takes back what was read under these names of the effective configuration, where it turns out to have nothing to act on: it
    /// is no part of the configuration, and what is given and read by nothing else counts as unread.
    pub fn take_back(&self, has_nothing_to_act_on: impl Fn(&str) -> bool) {
        let mut record = self.record();
        record.values.retain(|name, _| !has_nothing_to_act_on(name));
        record.used.retain(|(_, reader)| !has_nothing_to_act_on(reader));
    }

    /// Adds what is not a key to the effective configuration: a file's digest, the built-in scheme's name.
    pub fn note(&self, name: &str, value: impl std::fmt::Display) {
        self.record().values.insert(name.to_owned(), value.to_string());
    }

    /// The given keys that nobody has read yet, with their place in the file.
    pub fn unread(&self) -> Vec<(Address, Origin)> {
        let record = self.record();
        self.given
            .iter()
            .filter(|(address, _)| !record.used.iter().any(|(used, _)| used == *address))
            .map(|(address, given)| (address.clone(), given.origin.clone()))
            .collect()
    }

    /// The record; whole even if a reader panicked, since each entry is written in one step.
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that is given, by address; does not count as reading it.
    pub fn all_given(&self) -> impl Iterator<Item = (&Address, &Value, &Origin)> {
        self.given.iter().map(|(address, given)| (address, &given.value, &given.origin))
    }

    /// The value at an address and where it was given; does not count as reading it.
    pub fn given(&self, address: &Address) -> Option<(&Value, &Origin)> {
        self.given.get(address).map(|given| (&given.value, &given.origin))
    }
}

#[cfg(test)]
mod tests;
