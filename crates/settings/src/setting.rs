//! How a part declares its settings. Files, `--set`, help and error messages derive from the declarations.
//!
//! A setting is declared once, next to the part that reads it: its section, its kind and limits, its effect, and its
//! default if that is a constant. A choice is a list of texts with their values, so that readers match on an enum and
//! never on a text. [`declare!`](crate::declare) joins the settings of a part. The reader of files joins those of all
//! parts.
//!
//! A name belongs to one setting across all sections, so that `[sweep]` and `--set` can use it alone.

use std::fmt::Debug;
use std::ops::Deref;

use super::layer::Layer;
use super::units::Size;
use super::value::{Kind, Names, Value};

/// The part of an experiment file that holds a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// `[topology]`: the fabric.
    Topology,
    /// `[[topology.link]]`: a link that differs from its class.
    Link,
    /// `[workload]`: the flows and their arrivals.
    Workload,
    /// `[network]`: ports, packets, load balancing; also per place.
    Network,
    /// `[transport]`: the end hosts.
    Transport,
    /// `[[event]]`: what happens to the fabric during a run.
    Event,
    /// `[run]`: seeds, measurement, duration.
    Run,
    /// `[lab]`: what only a run on Linux has.
    Lab,
    /// `[report]`: how results are grouped.
    Report,
    /// `[schemes.<name>]` only: keys of one scheme.
    Scheme,
}

impl Section {
    /// Every section, in the order of a file.
    pub const ALL: [Section; 10] = [
        Section::Topology,
        Section::Link,
        Section::Workload,
        Section::Network,
        Section::Transport,
        Section::Event,
        Section::Run,
        Section::Lab,
        Section::Report,
        Section::Scheme,
    ];

    /// Returns the table's path in a file.
    pub fn path(self) -> &'static str {
        match self {
            Section::Topology => "topology",
            Section::Link => "topology.link",
            Section::Workload => "workload",
            Section::Network => "network",
            Section::Transport => "transport",
            Section::Event => "event",
            Section::Run => "run",
            Section::Lab => "lab",
            Section::Report => "report",
            Section::Scheme => "schemes",
        }
    }
}

/// A setting as files, help and error messages use it.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its section.
    pub section: Section,
    /// Its name, unique over all sections.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: Kind,
    /// Its effect, in one sentence.
    pub help: &'static str,
    /// Whether a smaller scale lowers it.
    pub scaled: Scaled,
    /// What must be set with it, since otherwise nothing reads it.
    pub needs: Option<&'static str>,
    /// The link rate in bit/s for which its default is stated, if that is a time that shrinks as links get faster.
    pub stated_for: Option<u64>,
    /// How its reader works the default out from other settings, in words.
    pub computed: Option<&'static str>,
    /// Whether it is part of the effective configuration only if a user gives it, in an experiment or in a file of a scheme.
    pub silent: bool,
    /// Finds the layer of values that one of its values selects.
    pub selects: Option<Selects>,
}

/// Returns the layer that a value selects, with the value; `None`: of its default.
pub type Selects = fn(Option<&str>) -> Option<(&'static str, &'static Layer)>;

/// Whether a smaller scale of an experiment lowers a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaled {
    /// No.
    No,
    /// It is an amount: how much is run, or how much of that is written.
    Amount,
    /// It is a time in the course of the run: a scale may also shorten the course alone.
    Course,
}

impl Key {
    const fn new(section: Section, name: &'static str, kind: Kind, help: &'static str) -> Key {
        Key {
            section,
            name,
            kind,
            help,
            scaled: Scaled::No,
            needs: None,
            stated_for: None,
            computed: None,
            silent: false,
            selects: None,
        }
    }
}

/// A setting as its reader declares it, which reads a `T`: bytes, ps, bit/s and whole numbers are `u64`.
#[derive(Debug)]
pub struct Setting<T: 'static> {
    key: Key,
    default: Option<T>,
    choices: &'static [(&'static str, T)],
    /// Converts a value of the key's kind, unless it is a choice.
    read: fn(Value) -> Option<T>,
    /// Converts back to a value, unless it is a choice.
    write: fn(&T) -> Option<Value>,
}

impl<T> Deref for Setting<T> {
    type Target = Key;

    fn deref(&self) -> &Key {
        &self.key
    }
}

impl<T> Setting<T> {
    /// Returns the setting as files, help and error messages use it.
    pub const fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the setting, lowered by a smaller scale as `scaled` says.
    pub const fn scaled(mut self, scaled: Scaled) -> Setting<T> {
        self.key.scaled = scaled;
        self
    }

    /// Returns the setting with what it needs, for the error when nothing reads it.
    pub const fn needs(mut self, needs: &'static str) -> Setting<T> {
        self.key.needs = Some(needs);
        self
    }

    /// Returns the setting with the rate of hosts' links, in bit/s, for which its default is stated. The default then
    /// follows the rate of a fabric for which times are scaled ([`crate::Settings::scale_times`]).
    pub const fn stated_for(mut self, bps: u64) -> Setting<T> {
        self.key.stated_for = Some(bps);
        self
    }

    /// Returns the setting with how its reader works the default out from others.
    pub const fn computed(mut self, words: &'static str) -> Setting<T> {
        self.key.computed = Some(words);
        self
    }

    /// Returns the setting as one that says what a built-in scheme is, which its name says already: it is part of the
    /// effective configuration only if a user gives it.
    pub const fn silent(mut self) -> Setting<T> {
        self.key.silent = true;
        self
    }

    /// Returns the setting as the one that selects values of others, where these are neither given nor a scheme's own.
    pub const fn selects(mut self, layer: Selects) -> Setting<T> {
        self.key.selects = Some(layer);
        self
    }

    const fn new(
        key: Key,
        choices: &'static [(&'static str, T)],
        read: fn(Value) -> Option<T>,
        write: fn(&T) -> Option<Value>,
    ) -> Setting<T> {
        Setting { key, default: None, choices, read, write }
    }
}

impl<T: Copy> Setting<T> {
    /// Returns the setting with this default.
    pub const fn with_default(self, default: T) -> Setting<T> {
        Setting { default: Some(default), ..self }
    }
}

impl<T: Clone + PartialEq> Setting<T> {
    /// Returns the default; `None` if there is none, or if the reader decides.
    pub fn default(&self) -> Option<T> {
        self.default.clone()
    }

    /// Returns the choices, each with its text.
    pub fn choices(&self) -> &'static [(&'static str, T)] {
        self.choices
    }

    /// Returns the text of a choice.
    ///
    /// # Panics
    /// Panics if it is not in the list, which is a bug in the program.
    pub fn text_of(&self, choice: &T) -> &'static str {
        let found = self.choices.iter().find(|(_, value)| value == choice);
        found.map(|(text, _)| *text).unwrap_or_else(|| panic!("no choice of `{}`", self.key.name))
    }

    /// Converts a value of the key's kind.
    pub(super) fn read(&self, value: Value) -> T {
        let choice = match &value {
            Value::Text(text) => self.choices.iter().find(|(choice, _)| choice == text).map(|(_, of)| of.clone()),
            _ => None,
        };
        choice.or_else(|| (self.read)(value)).unwrap_or_else(|| panic!("`{}` is of another kind", self.key.name))
    }

    /// Converts back to a value.
    pub(super) fn write(&self, of: &T) -> Value {
        (self.write)(of).unwrap_or_else(|| Value::Text(self.text_of(of).to_owned()))
    }
}

macro_rules! constructors {
    ($([$held:ty, $variant:ident] $(
        $(#[$doc:meta])* $name:ident($($limit:ident: $of:ty),*) = $kind:expr;
    )*)*) => {$($(
        impl Setting<$held> {
            $(#[$doc])*
            pub const fn $name(
                section: Section, name: &'static str, $($limit: $of,)* help: &'static str,
            ) -> Setting<$held> {
                let read = |value| if let Value::$variant(value) = value { Some(value) } else { None };
                let write = |of: &$held| Some(Value::$variant(of.clone()));
                Setting::new(Key::new(section, name, $kind, help), &[], read, write)
            }
        }
    )*)*};
}

constructors! {
    [u64, Rate]
        /// A link rate in bit/s.
        rate() = Kind::Rate;
    [u64, Time]
        /// A time in ps, between these limits (inclusive).
        time(from: u64, to: u64) = Kind::Time(from, to);
    [u64, Count]
        /// A whole number between these limits (inclusive).
        count(from: u64, to: u64) = Kind::Count(from, to);
    [f64, Number]
        /// A number between these limits (inclusive).
        number(from: f64, to: f64) = Kind::Number(from, to);
        /// A number above the first limit, at most the second.
        number_above(above: f64, to: f64) = Kind::NumberAbove(above, to);
    [bool, Flag]
        /// `true` or `false`.
        flag() = Kind::Flag;
    [String, Text]
        /// A text that is not empty.
        text() = Kind::Text;
        /// A file's path, relative to the experiment file.
        file() = Kind::File;
        /// A text that is not empty, or the path of a file that ends in `.csv`.
        text_or_csv() = Kind::TextOrCsv;
    [Vec<u64>, TimeList]
        /// Times in ps.
        times() = Kind::TimeList;
    [Vec<u64>, CountList]
        /// Whole numbers of at least 1.
        counts() = Kind::CountList;
    [Vec<f64>, NumberList]
        /// Numbers, each between these limits (inclusive).
        numbers(from: f64, to: f64) = Kind::NumberList(from, to);
    [Vec<String>, TextList]
        /// Texts.
        texts() = Kind::TextList;
}

impl Setting<u64> {
    /// Declares a size in bytes, between these limits (inclusive).
    pub const fn size(section: Section, name: &'static str, from: u64, to: u64, help: &'static str) -> Setting<u64> {
        let key = Key::new(section, name, Kind::Size(from, to), help);
        Setting::new(
            key,
            &[],
            |value| if let Value::Size(Size::Bytes(bytes)) = value { Some(bytes) } else { None },
            |bytes| Some(Value::Size(Size::Bytes(*bytes))),
        )
    }
}

impl Setting<Vec<u64>> {
    /// Declares a list of sizes in bytes.
    pub const fn sizes(section: Section, name: &'static str, help: &'static str) -> Setting<Vec<u64>> {
        let key = Key::new(section, name, Kind::SizeList, help);
        Setting::new(key, &[], bytes, |sizes| Some(size_list(sizes)))
    }
}

impl<T: Debug + Sync> Setting<T> {
    /// Declares a choice among these texts, each with its value.
    pub const fn choice<const N: usize>(
        section: Section,
        name: &'static str,
        choices: &'static [(&'static str, T); N],
        help: &'static str,
    ) -> Setting<T> {
        let key = Key::new(section, name, Kind::Choice(choices), help);
        Setting::new(key, choices, |_| None, |_| None)
    }
}

/// Sizes, or one of some names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SizesOr<T> {
    /// Sizes in bytes.
    Sizes(Vec<u64>),
    /// The value of the name.
    Named(T),
}

impl<T: Debug + Sync> Setting<SizesOr<T>> {
    /// Declares a list of sizes, or one of these texts.
    pub const fn sizes_or<const N: usize>(
        section: Section,
        name: &'static str,
        choices: &'static [(&'static str, SizesOr<T>); N],
        help: &'static str,
    ) -> Setting<SizesOr<T>> {
        let key = Key::new(section, name, Kind::SizeListOr(choices), help);
        Setting::new(
            key,
            choices,
            |value| bytes(value).map(SizesOr::Sizes),
            |of| match of {
                SizesOr::Sizes(sizes) => Some(size_list(sizes)),
                SizesOr::Named(_) => None,
            },
        )
    }
}

/// One number for all, or one for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counts {
    /// The same for all.
    Equal(u64),
    /// One for each, in their order.
    Each(Vec<u64>),
}

impl Setting<Counts> {
    /// Declares a whole number between these limits (inclusive), or a list of such numbers.
    pub const fn count_or_list(
        section: Section,
        name: &'static str,
        from: u64,
        to: u64,
        help: &'static str,
    ) -> Setting<Counts> {
        let key = Key::new(section, name, Kind::CountOrList(from, to), help);
        Setting::new(
            key,
            &[],
            |value| match value {
                Value::Count(count) => Some(Counts::Equal(count)),
                Value::CountList(counts) => Some(Counts::Each(counts)),
                _ => None,
            },
            |of| {
                Some(match of {
                    Counts::Equal(count) => Value::Count(*count),
                    Counts::Each(counts) => Value::CountList(counts.clone()),
                })
            },
        )
    }
}

fn bytes(value: Value) -> Option<Vec<u64>> {
    let Value::SizeList(sizes) = value else { return None };
    sizes.into_iter().map(|size| if let Size::Bytes(bytes) = size { Some(bytes) } else { None }).collect()
}

fn size_list(sizes: &[u64]) -> Value {
    Value::SizeList(sizes.iter().map(|bytes| Size::Bytes(*bytes)).collect())
}

impl<T: Debug + Sync, const N: usize> Names for [(&'static str, T); N] {
    fn names(&self) -> Vec<&'static str> {
        self.iter().map(|(name, _)| *name).collect()
    }
}

/// Declares the settings of a part, and joins their keys in `SETTINGS`, in this order.
#[macro_export]
macro_rules! declare {
    ($($(#[$doc:meta])* $visible:vis static $name:ident: $type:ty = $setting:expr;)*) => {
        $($(#[$doc])* $visible static $name: $type = $setting;)*

        /// All settings that this part declares.
        pub(crate) static SETTINGS: &[&$crate::Key] = &[$($name.key()),*];
    };
}
