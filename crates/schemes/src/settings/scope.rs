//! Reading settings for one scheme variant at one place.

use super::error::{Origin, SettingsError};
use super::keys::{Key, Section};
use super::units::{self, Size};
use super::value::{Value, one_of};
use super::{DEFAULT_MTU_BYTES, Given, Place, Settings, Table, declared};

/// Thresholds as a person gives them: numbers, or the name of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SizesOrName {
    /// Sizes in bytes.
    Sizes(Vec<u64>),
    /// The name of a rule.
    Name(String),
}

/// A view of the settings: one scheme variant, one place, or what holds for all.
///
/// Every reader takes the key's name and, except the `optional_` ones, the default that applies when it is not given.
///
/// # Panics
/// Reading a name that is not in the table of keys, or with the wrong reader for its kind, is a mistake of the
/// program and panics in the first test that reaches it; no input can cause it.
#[derive(Debug, Clone)]
pub struct Scope<'a> {
    settings: &'a Settings,
    variant: Option<String>,
    place: Option<Place>,
    link: Option<usize>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        variant: Option<String>,
        place: Option<Place>,
        link: Option<usize>,
    ) -> Self {
        Scope { settings, variant, place, link }
    }

    /// The same scheme at a place.
    pub fn at(&self, place: Place) -> Scope<'a> {
        Scope { place: Some(place), ..self.clone() }
    }

    /// The settings as they hold for every scheme and place.
    pub fn common(&self) -> Scope<'a> {
        self.settings.common()
    }

    /// The scheme variant's name; empty for what holds for all.
    pub fn variant(&self) -> &str {
        self.variant.as_deref().unwrap_or("")
    }

    /// A size in bytes; `pkt` is the scope's `mtu`.
    pub fn bytes(&self, name: &str, default: u64) -> Result<u64, SettingsError> {
        Ok(self.size(name, Some(default))?.unwrap_or(default))
    }

    /// A size in bytes, if given.
    pub fn optional_bytes(&self, name: &str) -> Result<Option<u64>, SettingsError> {
        self.size(name, None)
    }

    /// A rate in bit/s.
    pub fn rate(&self, name: &str, default: u64) -> Result<u64, SettingsError> {
        Ok(self.optional_rate_or(name, Some(default)).unwrap_or(default))
    }

    /// A rate in bit/s, if given.
    pub fn optional_rate(&self, name: &str) -> Result<Option<u64>, SettingsError> {
        Ok(self.optional_rate_or(name, None))
    }

    /// A time in ps.
    pub fn time(&self, name: &str, default: u64) -> Result<u64, SettingsError> {
        Ok(self.optional_time_or(name, Some(default)).unwrap_or(default))
    }

    /// A time in ps, if given.
    pub fn optional_time(&self, name: &str) -> Result<Option<u64>, SettingsError> {
        Ok(self.optional_time_or(name, None))
    }

    /// A whole number.
    pub fn count(&self, name: &str, default: u64) -> Result<u64, SettingsError> {
        Ok(self.optional_count_or(name, Some(default)).unwrap_or(default))
    }

    /// A whole number, if given.
    pub fn optional_count(&self, name: &str) -> Result<Option<u64>, SettingsError> {
        Ok(self.optional_count_or(name, None))
    }

    /// A number.
    pub fn number(&self, name: &str, default: f64) -> Result<f64, SettingsError> {
        Ok(self.optional_number_or(name, Some(default)).unwrap_or(default))
    }

    /// A number, if given.
    pub fn optional_number(&self, name: &str) -> Result<Option<f64>, SettingsError> {
        Ok(self.optional_number_or(name, None))
    }

    /// A flag.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, SettingsError> {
        match self.read(name, Some(Value::Flag(default))) {
            None => Ok(default),
            Some(Value::Flag(flag)) => Ok(flag),
            Some(other) => mismatch(name, &other),
        }
    }

    /// A text.
    pub fn text(&self, name: &str, default: &str) -> Result<String, SettingsError> {
        let text = self.optional_text_or(name, Some(default));
        Ok(text.unwrap_or_else(|| default.to_owned()))
    }

    /// A text (or choice, or path), if given.
    pub fn optional_text(&self, name: &str) -> Result<Option<String>, SettingsError> {
        Ok(self.optional_text_or(name, None))
    }

    /// One of `choices`, by name. A value of the key that this reader does not have is refused with those it has.
    pub fn choice<T: Clone>(&self, name: &str, choices: &[(&str, T)], default: &str) -> Result<T, SettingsError> {
        let text = self.text(name, default)?;
        match choices.iter().find(|(choice, _)| *choice == text) {
            Some((_, value)) => Ok(value.clone()),
            None => {
                let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
                Err(self.invalid(name, one_of(&names)).names(text, names))
            }
        }
    }

    /// Sizes in bytes, if given as a list.
    pub fn bytes_list(&self, name: &str) -> Result<Option<Vec<u64>>, SettingsError> {
        match self.sizes_or_name(name)? {
            None => Ok(None),
            Some(SizesOrName::Sizes(sizes)) => Ok(Some(sizes)),
            Some(SizesOrName::Name(_)) => Err(self.invalid(name, "a list of sizes")),
        }
    }

    /// Sizes in bytes or the name of a rule, if given.
    pub fn sizes_or_name(&self, name: &str) -> Result<Option<SizesOrName>, SettingsError> {
        match self.read(name, None) {
            None => Ok(None),
            Some(Value::SizeList(sizes)) => {
                let bytes = sizes.iter().map(|size| self.in_bytes(name, *size));
                let bytes = bytes.collect::<Result<Vec<u64>, _>>()?;
                let exact = bytes.iter().map(|bytes| Size::Bytes(*bytes)).collect();
                self.note(name, &Value::SizeList(exact));
                Ok(Some(SizesOrName::Sizes(bytes)))
            }
            Some(Value::Text(text)) => Ok(Some(SizesOrName::Name(text))),
            Some(other) => mismatch(name, &other),
        }
    }

    /// Times in ps, if given.
    pub fn time_list(&self, name: &str) -> Result<Option<Vec<u64>>, SettingsError> {
        match self.read(name, None) {
            None => Ok(None),
            Some(Value::TimeList(times)) => Ok(Some(times)),
            Some(other) => mismatch(name, &other),
        }
    }

    /// Numbers.
    pub fn number_list(&self, name: &str, default: &[f64]) -> Result<Vec<f64>, SettingsError> {
        match self.read(name, Some(Value::NumberList(default.to_vec()))) {
            None => Ok(default.to_vec()),
            Some(Value::NumberList(numbers)) => Ok(numbers),
            Some(other) => mismatch(name, &other),
        }
    }

    /// Whole numbers, if given.
    pub fn count_list(&self, name: &str) -> Result<Option<Vec<u64>>, SettingsError> {
        match self.read(name, None) {
            None => Ok(None),
            Some(Value::CountList(counts)) => Ok(Some(counts)),
            Some(other) => mismatch(name, &other),
        }
    }

    /// Texts, if given.
    pub fn text_list(&self, name: &str) -> Result<Option<Vec<String>>, SettingsError> {
        match self.read(name, None) {
            None => Ok(None),
            Some(Value::TextList(texts)) => Ok(Some(texts)),
            Some(other) => mismatch(name, &other),
        }
    }

    /// Whether the key is given for this scope; does not count as reading it.
    pub fn is_given(&self, name: &str) -> bool {
        self.lookup(declared(name)).is_some()
    }

    /// The error that refuses a key's value, pointing at where it was given.
    pub fn invalid(&self, name: &str, expected: impl Into<String>) -> SettingsError {
        let problem = match self.lookup(declared(name)) {
            Some((_, given)) => format!("`{name}` = {} does not fit here", given.value),
            None => match self.settings.record().values.get(&self.address(declared(name))) {
                Some(default) => format!("`{name}` is not given, and its default {default} does not fit here"),
                None => format!("`{name}` is missing"),
            },
        };
        self.error(name, problem).expected(expected)
    }

    /// An error about a key with its own sentence, pointing at where the key was given.
    pub fn error(&self, name: &str, problem: impl Into<String>) -> SettingsError {
        let origin = match self.lookup(declared(name)) {
            Some((_, given)) => given.origin.clone(),
            None => Origin::Default,
        };
        SettingsError::new(origin, problem)
    }

    fn optional_rate_or(&self, name: &str, default: Option<u64>) -> Option<u64> {
        self.read(name, default.map(Value::Rate)).map(|value| match value {
            Value::Rate(bps) => bps,
            other => mismatch(name, &other),
        })
    }

    fn optional_time_or(&self, name: &str, default: Option<u64>) -> Option<u64> {
        self.read(name, default.map(Value::Time)).map(|value| match value {
            Value::Time(ps) => ps,
            other => mismatch(name, &other),
        })
    }

    fn optional_count_or(&self, name: &str, default: Option<u64>) -> Option<u64> {
        self.read(name, default.map(Value::Count)).map(|value| match value {
            Value::Count(count) => count,
            other => mismatch(name, &other),
        })
    }

    fn optional_number_or(&self, name: &str, default: Option<f64>) -> Option<f64> {
        self.read(name, default.map(Value::Number)).map(|value| match value {
            Value::Number(number) => number,
            other => mismatch(name, &other),
        })
    }

    fn optional_text_or(&self, name: &str, default: Option<&str>) -> Option<String> {
        let default = default.map(|text| Value::Text(text.to_owned()));
        self.read(name, default).map(|value| match value {
            Value::Text(text) => text,
            other => mismatch(name, &other),
        })
    }

    /// A size, checked against the key's limits once packets have become bytes.
    fn size(&self, name: &str, default: Option<u64>) -> Result<Option<u64>, SettingsError> {
        let default = default.map(|bytes| Value::Size(Size::Bytes(bytes)));
        match self.read(name, default) {
            None => Ok(None),
            Some(Value::Size(size)) => {
                let bytes = self.in_bytes(name, size)?;
                self.note(name, &Value::Size(Size::Bytes(bytes)));
                Ok(Some(bytes))
            }
            Some(other) => mismatch(name, &other),
        }
    }

    fn in_bytes(&self, name: &str, size: Size) -> Result<u64, SettingsError> {
        let Size::MilliPackets(_) = size else {
            return Ok(size.in_bytes(1).unwrap_or(0));
        };
        if name == "mtu" {
            return Err(self.invalid(name, "a size in bytes: `mtu` is what 1pkt means"));
        }
        let mtu = self.bytes("mtu", DEFAULT_MTU_BYTES)?;
        let whole = size.in_bytes(mtu);
        let limits = match declared(name).kind {
            super::Kind::Size(low, high) => low..=high,
            _ => 0..=u64::MAX,
        };
        match whole.filter(|bytes| limits.contains(bytes)) {
            Some(bytes) => Ok(bytes),
            None => Err(self.invalid(
                name,
                format!(
                    "{}, and whole bytes with an MTU of {}",
                    declared(name).kind.expects(),
                    units::format_size(mtu)
                ),
            )),
        }
    }

    /// Looks a key up, notes that it was read and with which value; `None` when neither given nor defaulted.
    fn read(&self, name: &str, default: Option<Value>) -> Option<Value> {
        let key = declared(name);
        let value = match self.lookup(key) {
            Some((table, given)) => {
                self.settings.record().used.insert((table, key.name));
                Some(given.value.clone())
            }
            None => default,
        };
        if let Some(value) = &value {
            if !key.kind.holds(value) {
                mismatch(name, value);
            }
            self.note(name, value);
        }
        value
    }

    fn note(&self, name: &str, value: &Value) {
        self.settings.note(&self.address(declared(name)), value);
    }

    /// The most special table that gives the key, and its value there.
    fn lookup(&self, key: &'static Key) -> Option<(Table, &'a Given)> {
        let mut tables = Vec::with_capacity(4);
        if let Some(index) = self.link {
            tables.push(Table::Link(index));
        }
        if let Some(variant) = &self.variant {
            if let Some(place) = self.place {
                tables.push(Table::SchemeAt(variant.clone(), place));
            }
            tables.push(Table::Scheme(variant.clone()));
        }
        if let Some(place) = self.place {
            tables.push(Table::NetworkAt(place));
        }
        tables.push(Table::Section(key.section));
        tables.into_iter().find_map(|table| {
            let address = (table, key.name);
            let given = self.settings.given.get(&address)?;
            Some((address.0, given))
        })
    }

    /// The key's name in the effective configuration.
    fn address(&self, key: &Key) -> String {
        let place = self.place.map(|place| format!("{}.", place.name())).unwrap_or_default();
        match (self.link, &self.variant) {
            (Some(index), _) => format!("{}.{index}.{}", Section::Link.path(), key.name),
            (None, Some(_)) => format!("scheme.{place}{}", key.name),
            (None, None) => format!("{}.{place}{}", key.section.path(), key.name),
        }
    }
}

fn mismatch(name: &str, value: &Value) -> ! {
    panic!("`{name}` is read as another kind than the table of settings gives it: {value:?}")
}
