//! Reading settings for one scheme variant at one place.

use super::error::{Origin, SettingsError};
use super::layer::Layer;
use super::setting::{Key, Section, Setting};
use super::units::{self, Size};
use super::value::{Kind, Raw, Value};
use super::{Given, Keys, Place, Settings, Table};
use crate::declare;
use std::sync::Arc;

declare! {
    /// Bytes of the largest packet; by default an Ethernet packet's.
    pub static MTU: Setting<u64> = Setting::size(
        Section::Network, "mtu", 64, 65_535, "largest packet, headers included; the size of 1pkt",
    )
    .with_default(1_500);
}

/// A view of the settings: of one scheme variant, at one place, or for all of them.
#[derive(Debug, Clone)]
pub struct Scope<'a> {
    settings: &'a Settings,
    variant: Option<String>,
    place: Option<Place>,
    /// The table of a list of tables whose keys it reads.
    row: Option<Table>,
    /// The class of flow, if this is the scheme of a class under another scheme.
    class: Option<usize>,
    /// The `[[workload]]` whose keys it reads, if there are several.
    workload: Option<String>,
    /// The scheme's own values.
    own: Option<Arc<Layer>>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(settings: &'a Settings, variant: Option<String>) -> Self {
        Scope { settings, variant, place: None, row: None, class: None, workload: None, own: None }
    }

    /// Builds the scope of one table of a list of tables.
    pub(super) fn of_row(settings: &'a Settings, row: Table) -> Self {
        Scope { row: Some(row), ..Scope::new(settings, None) }
    }

    /// Returns the same scheme at a place.
    pub fn at(&self, place: Place) -> Scope<'a> {
        Scope { place: Some(place), ..self.clone() }
    }

    /// Returns the same scheme as one class of flow of another scheme: the effective configuration then separates the
    /// two.
    #[must_use]
    pub fn of_class(self, class: usize) -> Scope<'a> {
        Scope { class: Some(class), ..self }
    }

    /// Returns the same scope with values that its scheme has where none is given.
    #[must_use]
    pub fn with_own(self, own: Arc<Layer>) -> Scope<'a> {
        Scope { own: Some(own), ..self }
    }

    /// Returns the same scope with the keys of one of several workloads.
    pub(super) fn of_workload(self, workload: Option<String>) -> Scope<'a> {
        Scope { workload, ..self }
    }

    /// Returns the name of the workload whose keys it reads, if there are several.
    pub fn workload(&self) -> Option<&str> {
        self.workload.as_deref()
    }

    /// Returns every setting that may be given.
    pub fn declared(&self) -> &'a Keys {
        self.settings.declared()
    }

    /// Returns the settings for every scheme and place.
    pub fn common(&self) -> Scope<'a> {
        self.settings.common()
    }

    /// Returns the scheme variant's name; empty for the scope of all schemes.
    pub fn variant(&self) -> &str {
        self.variant.as_deref().unwrap_or("")
    }

    /// Reads a setting: the given value, or its own default. Sizes are in bytes; a `pkt` is the scope's `mtu`.
    ///
    /// # Errors
    /// Also fails if the setting is not given and has no default.
    pub fn read<T: Clone + PartialEq>(&self, setting: &Setting<T>) -> Result<T, SettingsError> {
        let found = self.value(setting, setting.default(), setting.stated_for)?;
        found.ok_or_else(|| self.invalid(setting, setting.kind.expects()))
    }

    /// Reads a setting with the reader's default, which may depend on the scheme or on other settings.
    pub fn read_or<T: Clone + PartialEq>(&self, setting: &Setting<T>, default: T) -> Result<T, SettingsError> {
        Ok(self.value(setting, Some(default.clone()), setting.stated_for)?.unwrap_or(default))
    }

    /// Reads a time with the reader's default, which is stated for this rate of hosts' links, in bit/s.
    pub fn read_stated_for(&self, setting: &Setting<u64>, default: u64, bps: u64) -> Result<u64, SettingsError> {
        Ok(self.value(setting, Some(default), Some(bps))?.unwrap_or(default))
    }

    /// Reads a setting that is given, or the scheme's own, or the parameter set's.
    pub fn optional<T: Clone + PartialEq>(&self, setting: &Setting<T>) -> Result<Option<T>, SettingsError> {
        self.value(setting, None, None)
    }

    /// Reads a setting whose default the reader works out from the scheme's own value ([`Scope::usual`]): the given value, or
    /// this default.
    pub fn given_or<T: Clone + PartialEq>(&self, setting: &Setting<T>, default: T) -> Result<T, SettingsError> {
        let found = self.given_or_else(setting, || {
            self.note_own(setting);
            Ok(Some((setting.write(&default), false)))
        })?;
        Ok(found.unwrap_or(default))
    }

    /// Returns the value that holds if none is given, of the scheme or of the parameter set; does not count as reading the
    /// setting.
    pub fn usual<T: Clone + PartialEq>(&self, setting: &Setting<T>) -> Result<Option<T>, SettingsError> {
        let Some((raw, origin)) = self.unsaid(setting) else { return Ok(None) };
        let value = self.whole(setting, setting.kind.read(setting.name, raw, origin)?)?;
        Ok(Some(setting.read(value)))
    }

    /// Reads a setting that has to be given here; `expected` says what is.
    pub fn needed<T: Clone + PartialEq>(&self, setting: &Setting<T>, expected: &str) -> Result<T, SettingsError> {
        self.optional(setting)?.ok_or_else(|| self.invalid(setting, expected))
    }

    /// Adds the digest of a file that a setting names to the effective configuration.
    pub fn note_digest(&self, key: &Key, digest: &str) {
        self.settings.note(&format!("{}.digest", self.address(key)), digest);
    }

    /// Replaces the value of a setting in the effective configuration by what it comes to.
    pub fn note_instead(&self, key: &Key, value: &str) {
        self.settings.note(&self.address(key), value);
    }

    /// Adds an entry to the effective configuration that is not a key. A name `workload.…` belongs to this scope's
    /// workload, if there are several.
    pub fn note(&self, name: &str, value: impl std::fmt::Display) {
        match (&self.workload, name.strip_prefix("workload.")) {
            (Some(workload), Some(rest)) => self.settings.note(&format!("workload.{workload}.{rest}"), value),
            _ => self.settings.note(name, value),
        }
    }

    /// Returns whether the setting is given for this scope; does not count as reading it.
    pub fn is_given(&self, key: &Key) -> bool {
        self.lookup(key).is_some()
    }

    /// Returns whether the setting is given for this scope, or is the scheme's own; does not count as reading it.
    pub fn is_given_or_own(&self, key: &Key) -> bool {
        self.is_given(key) || self.own.as_ref().is_some_and(|own| own.at(self.place, key.name).is_some())
    }

    /// Returns whether this scope has read the setting, given or by default.
    pub fn has_read(&self, key: &Key) -> bool {
        self.settings.record().values.contains_key(&self.address(key))
    }

    /// Builds the error that refuses a setting's value, pointing at where it was given.
    pub fn invalid(&self, key: &Key, expected: impl Into<String>) -> SettingsError {
        let name = key.name;
        let problem = match (self.lookup(key), self.users_own(key)) {
            (Some((_, given)), _) => format!("`{name}` = {} does not fit here", given.value),
            (None, Some((raw, _))) => format!("`{name}` = {raw} does not fit here"),
            (None, None) => match self.settings.record().values.get(&self.address(key)) {
                Some(default) => format!("`{name}` is not given, and its default {default} does not fit here"),
                None => format!("`{name}` is missing"),
            },
        };
        self.error(key, problem).expected(expected)
    }

    /// Builds an error about a setting with its own sentence, pointing at where the setting was given.
    pub fn error(&self, key: &Key, problem: impl Into<String>) -> SettingsError {
        match (self.lookup(key), self.users_own(key)) {
            (Some((_, given)), _) => SettingsError::new(given.origin.clone(), problem).of_key(key.name),
            (None, Some((_, origin))) => SettingsError::new(origin.clone(), problem).of_key(key.name),
            (None, None) => SettingsError::new(Origin::Default, problem).of_missing(key.name, key.section.path()),
        }
    }

    /// Looks up a setting, records the read and its value; `None` if neither given nor defaulted.
    fn value<T: Clone + PartialEq>(
        &self,
        setting: &Setting<T>,
        default: Option<T>,
        stated_for: Option<u64>,
    ) -> Result<Option<T>, SettingsError> {
        self.given_or_else(setting, || match (self.unsaid(setting).inspect(|_| self.note_own(setting)), &default) {
            (Some((raw, origin)), _) => {
                Ok(Some((setting.kind.read(setting.name, raw, origin)?, *origin != Origin::Default)))
            }
            (None, Some(default)) => Ok(Some((self.scaled(setting, setting.write(default), stated_for), false))),
            (None, None) => Ok(None),
        })
    }

    /// Looks up a setting that may be given, and records it; otherwise `otherwise` has its value, and whether a user wrote it.
    fn given_or_else<T: Clone + PartialEq>(
        &self,
        setting: &Setting<T>,
        otherwise: impl FnOnce() -> Result<Option<(Value, bool)>, SettingsError>,
    ) -> Result<Option<T>, SettingsError> {
        if let Some(error) = &self.settings.refused {
            return Err((**error).clone());
        }
        let fixed = self.own.as_ref().is_some_and(|own| own.is_fixed(setting.name));
        let (value, is_users) = match self.lookup(setting) {
            Some(_) if fixed => {
                let (name, scheme) = (setting.name, self.variant());
                return Err(self.invalid(setting, format!("no `{name}` for `{scheme}`, of which it is a fixed part")));
            }
            Some((table, given)) => {
                self.settings.record().used.insert(((table, setting.name), self.address(setting)));
                (given.value.clone(), true)
            }
            None => match otherwise()? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        let value = self.whole(setting, value)?;
        // The ports of a class's scheme serve only to show that they are those of the outer scheme.
        let acts = self.class.is_none() || self.place.is_none();
        if acts && (is_users || !(fixed || setting.silent)) {
            self.settings.note(&self.address(setting), &value);
        }
        Ok(Some(setting.read(value)))
    }

    /// Finds the value that holds if none is given: the scheme's own, or the parameter set's.
    fn unsaid(&self, key: &Key) -> Option<(&Raw, &Origin)> {
        let own = self.own.as_ref().and_then(|own| own.at(self.place, key.name));
        own.map(|(_, raw, origin)| (raw, origin)).or_else(|| self.settings.selected(key.name))
    }

    /// Notes that the scheme's own value of a setting acts, if it has one: for readers that take it by [`Scope::usual`].
    pub fn note_own(&self, key: &Key) {
        if let Some((place, ..)) = self.own.as_ref().and_then(|own| own.at(self.place, key.name)) {
            self.settings.record().own.insert((key.name, place));
        }
    }

    /// Finds the user's own value of a scheme's file.
    fn users_own(&self, key: &Key) -> Option<(&Raw, &Origin)> {
        let (_, raw, origin) = self.own.as_ref()?.at(self.place, key.name)?;
        (*origin != Origin::Default).then_some((raw, origin))
    }

    /// Converts the sizes of a value to bytes.
    fn whole(&self, key: &Key, value: Value) -> Result<Value, SettingsError> {
        Ok(match value {
            Value::Size(size) => Value::Size(self.in_bytes(key, size)?),
            Value::SizeList(sizes) => {
                let sizes = sizes.into_iter().map(|size| self.in_bytes(key, size));
                Value::SizeList(sizes.collect::<Result<_, _>>()?)
            }
            other => other,
        })
    }

    /// Scales a default that is stated for a rate of links to the rate of the settings, if they have one.
    fn scaled(&self, key: &Key, default: Value, stated_for: Option<u64>) -> Value {
        let (Some(stated_bps), Value::Time(ps), Kind::Time(low, high)) = (stated_for, &default, key.kind) else {
            return default;
        };
        let mut record = self.settings.record();
        // A packet takes as many times longer as links are slower.
        let scaled = record.rate_bps.map_or(*ps, |bps| {
            let scaled = u128::from(*ps) * u128::from(stated_bps) / u128::from(bps.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX).clamp(low, high)
        });
        record.stated.insert(self.address(key), scaled != *ps);
        Value::Time(scaled)
    }

    /// Converts a size to bytes, and checks it against the setting's limits.
    fn in_bytes(&self, key: &Key, size: Size) -> Result<Size, SettingsError> {
        let Size::MilliPackets(_) = size else { return Ok(size) };
        if key.name == MTU.name {
            return Err(self.invalid(key, "a size in bytes, since `mtu` defines 1pkt"));
        }
        let mtu = self.read(&MTU)?;
        let limits = match key.kind {
            Kind::Size(low, high) => low..=high,
            _ => 0..=u64::MAX,
        };
        let whole = size.in_bytes(mtu).filter(|bytes| limits.contains(bytes));
        whole.map(Size::Bytes).ok_or_else(|| {
            let mtu = units::format_size(mtu);
            self.invalid(key, format!("{}, and whole bytes with an MTU of {mtu}", key.kind.expects()))
        })
    }

    /// Finds the most specific table that gives the key, and its value there.
    fn lookup(&self, key: &Key) -> Option<(Table, &'a Given)> {
        let mut tables = Vec::with_capacity(4);
        tables.extend(self.row.clone());
        if let Some(variant) = &self.variant {
            if let Some(place) = self.place {
                tables.push(Table::SchemeAt(variant.clone(), place));
            }
            tables.push(Table::Scheme(variant.clone()));
        }
        if let Some(place) = self.place {
            tables.push(Table::NetworkAt(place));
        }
        tables.push(match &self.workload {
            Some(name) if key.section == Section::Workload => Table::Workload(name.clone()),
            _ => Table::Section(key.section),
        });
        tables.into_iter().find_map(|table| {
            let address = (table, key.name);
            let given = self.settings.given.get(&address)?;
            Some((address.0, given))
        })
    }

    /// Returns the key's name in the effective configuration.
    fn address(&self, key: &Key) -> String {
        let place = self.place.map(|place| format!("{}.", place.name())).unwrap_or_default();
        match (&self.row, &self.variant) {
            (Some(row), _) => format!("{row}.{}", key.name),
            (None, Some(_)) => {
                let class = self.class.map(|class| format!("class{class}.")).unwrap_or_default();
                format!("scheme.{class}{place}{}", key.name)
            }
            (None, None) => match &self.workload {
                Some(name) if key.section == Section::Workload => format!("workload.{name}.{}", key.name),
                _ => format!("{}.{place}{}", key.section.path(), key.name),
            },
        }
    }
}
