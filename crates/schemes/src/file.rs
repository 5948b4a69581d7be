//! Schemes as files: what a scheme is, in the form in which users write variants. A file names the scheme that it builds on,
//! says what it is, and has its own values of settings, for all places or, in a table, for one.
//!
//! A file's values hold where nothing is given. Before those of its base come its own; a value for all places comes before
//! the base's for one. Beside the values of settings, a file has these words: `base`, `label`, `summary`, `paper`, `knows`
//! ([`Knows`]), `fixed` (settings that no experiment may give), `only = "flow"` with `instead`, and `own` (code of the built-in
//! schemes). A base's `rates` are not a scheme's on it: without its own, a scheme has no meaning at flow level.

use std::sync::Arc;

use flowsieve_settings::toml::{Entry as Line, Text, flat};
use flowsieve_settings::{Key, Keys, Layer, Origin, Place, Raw, Scope, Section, SettingsError, one_of};

use flowsieve_sim::scheme::Scheme;

use crate::entry::{Build, Context, Knows};
use crate::fabric_values::{self, Formula};
use crate::flow_level::{FIDELITY, RATES};
use crate::parts;
use crate::registry;
use crate::sets;

/// A scheme as its file has it.
#[derive(Clone, Debug)]
pub struct SchemeFile {
    /// Its name in an experiment.
    pub name: String,
    /// Its name in reports and figures, as its authors write it: `pFabric`. Empty: the same as `name`.
    pub label: String,
    /// Its description, in one line.
    pub summary: String,
    /// Where it was published.
    pub paper: String,
    /// What it must know.
    pub knows: Knows,
    /// The scheme that it builds on.
    pub base: Option<String>,
    /// The nearest scheme, itself or of its bases, that is not a user's file: what the configuration of a run names.
    pub root: String,
    /// What does the same with packets, if it has a meaning at flow level alone.
    pub instead: Option<String>,
    /// The text.
    pub text: Text,
    /// Its values with those of its bases.
    layer: Arc<Layer>,
    /// Its code.
    own: Option<Build>,
}

/// What a file says beside values of settings.
const WORDS: [&str; 9] = ["base", "label", "summary", "paper", "knows", "fixed", "only", "instead", "own"];

/// The sections whose settings a scheme may have values for.
const SECTIONS: [Section; 3] = [Section::Network, Section::Transport, Section::Scheme];

impl SchemeFile {
    /// Reads a built-in scheme's file, or that of a scheme with code. Its places are of no interest to users.
    ///
    /// # Errors
    /// Fails if the file is wrong.
    pub fn read(
        name: &str,
        text: &str,
        own: Option<Build>,
        keys: &Keys,
        find: &dyn Fn(&str) -> Option<SchemeFile>,
    ) -> Result<SchemeFile, SettingsError> {
        let reader = Reader { text: Text::new(&format!("schemes/{name}.toml"), text), keys, find, users: false };
        reader.read(name, own)
    }

    /// Reads a user's file. Errors about its values name their places in it, when it is read and when a scheme is built.
    ///
    /// # Errors
    /// Fails if the file is wrong.
    pub fn read_users(
        name: &str,
        text: &Text,
        keys: &Keys,
        find: &dyn Fn(&str) -> Option<SchemeFile>,
    ) -> Result<SchemeFile, SettingsError> {
        Reader { text: text.clone(), keys, find, users: true }.read(name, None)
    }

    /// Returns its values of settings with those of its bases.
    pub fn layer(&self) -> &Layer {
        &self.layer
    }

    /// Returns a scope of settings with the scheme's own values, as far as they do not depend on the fabric.
    pub fn scope<'a>(&self, scope: Scope<'a>) -> Scope<'a> {
        scope.with_own(Arc::clone(&self.layer))
    }

    /// Returns the context with the scheme's own values, those that depend on the fabric worked out: what its code gets.
    ///
    /// # Errors
    /// Fails if a setting does not fit.
    pub fn within<'a>(&self, context: &Context<'a>) -> Result<Context<'a>, SettingsError> {
        let context = Context { scope: self.scope(context.scope.clone()), workload: context.workload };
        let layer = fabric_values::resolved(&self.layer, &context, sets::of(&context.scope)?)?;
        Ok(Context { scope: context.scope.with_own(layer), workload: context.workload })
    }

    /// Builds the scheme.
    ///
    /// # Errors
    /// A setting that does not fit, or a part of its own that the scheme has not declared to [`parts::build`].
    pub fn scheme(&self, context: &Context<'_>) -> Result<Scheme, SettingsError> {
        if let Some(instead) = &self.instead {
            let problem = format!("`{}` sets rates, but hosts at packet level do not", self.name);
            let expected = format!("fidelity = \"flow\" in [run], or {instead}");
            return Err(context.scope.error(&FIDELITY, problem).expected(expected));
        }
        let context = self.within(context)?;
        let scheme = match self.own {
            Some(build) => build(&context)?,
            None => parts::build(&context, parts::Own::default())?,
        };
        parts::refuse_unsaid(&context.scope, &scheme)?;
        Ok(scheme)
    }
}

struct Reader<'a> {
    text: Text,
    keys: &'a Keys,
    find: &'a dyn Fn(&str) -> Option<SchemeFile>,
    users: bool,
}

impl Reader<'_> {
    fn read(&self, name: &str, own: Option<Build>) -> Result<SchemeFile, SettingsError> {
        let lines = flat(&self.text)?;
        let word = |word: &str| lines.iter().find(|line| line.table.is_none() && line.name == word);
        let base = match word("base") {
            None => None,
            Some(line) => Some(self.base(line)?),
        };
        let text_of = |name: &str| word(name).map(text).transpose();
        let inherited = |of: fn(&SchemeFile) -> &String| base.as_ref().map(of).cloned().unwrap_or_default();
        let knows = match word("knows") {
            Some(line) => self.knows(line, base.as_ref())?,
            None => base.as_ref().map_or(Knows::Nothing, |base| base.knows),
        };
        let own = match (own, word("own")) {
            (Some(own), _) => Some(own),
            (None, Some(line)) => Some(self.own(line)?),
            (None, None) => base.as_ref().and_then(|base| base.own),
        };
        let instead = match word("only") {
            Some(line) if text(line)? != "flow" => return Err(wrong(line, "\"flow\"")),
            Some(line) => Some(text_of("instead")?.ok_or_else(|| wrong(line, "`instead` with it"))?),
            None => match word("instead") {
                Some(line) => {
                    let problem = "`instead` without `only`";
                    return Err(SettingsError::new(line.origin.clone(), problem).expected("only = \"flow\" with it"));
                }
                None => base.as_ref().and_then(|base| base.instead.clone()),
            },
        };
        let mut farther = base.as_ref().map(|base| Layer::clone(&base.layer)).unwrap_or_default();
        // What a scheme means at flow level may be another than what its base means.
        farther.retain(|name, _| name != RATES.name);
        let layer = farther.under(&self.values(&lines)?);
        Ok(SchemeFile {
            name: name.to_owned(),
            label: text_of("label")?.unwrap_or_default(),
            summary: text_of("summary")?.unwrap_or_else(|| inherited(|base| &base.summary)),
            paper: text_of("paper")?.unwrap_or_else(|| inherited(|base| &base.paper)),
            knows,
            root: base.as_ref().filter(|_| self.users).map_or_else(|| name.to_owned(), |base| base.root.clone()),
            base: base.as_ref().map(|base| base.name.clone()),
            instead,
            text: self.text.clone(),
            layer: Arc::new(layer),
            own,
        })
    }

    fn base(&self, line: &Line) -> Result<SchemeFile, SettingsError> {
        let base = text(line)?;
        (self.find)(&base).ok_or_else(|| {
            SettingsError::new(line.value_origin.clone(), format!("there is no scheme `{base}`"))
                .expected("a built-in scheme (see `flowsieve list schemes`), or a file of this name beside this one")
                .names(&base, registry::names())
        })
    }

    /// Reads what the scheme must know. What its base must know, it must, too.
    fn knows(&self, line: &Line, base: Option<&SchemeFile>) -> Result<Knows, SettingsError> {
        let name = text(line)?;
        let names = Knows::ALL.map(|(name, _)| name);
        let known = Knows::ALL.iter().find(|(known, _)| *known == name);
        let Some((_, knows)) = known else {
            return Err(wrong(line, one_of(&names)).names(&name, names));
        };
        let needed = base.filter(|base| matches!(base.knows, Knows::Bounds | Knows::PredictedSize));
        match needed.filter(|base| self.users && base.knows != *knows) {
            None => Ok(*knows),
            Some(base) => {
                let problem = format!("`{}` needs {}, so a scheme on it does", base.name, base.knows.in_words());
                Err(SettingsError::new(line.value_origin.clone(), problem).expected("no `knows`"))
            }
        }
    }

    fn own(&self, line: &Line) -> Result<Build, SettingsError> {
        let name = text(line)?;
        let problem = format!("there is no code `{name}`");
        let found = registry::OWN.iter().find(|(known, _)| *known == name && !self.users);
        let error = || {
            SettingsError::new(line.value_origin.clone(), problem)
                .expected("a built-in scheme with that code as `base`")
        };
        found.map(|(_, build)| *build).ok_or_else(error)
    }

    /// Reads the file's own values.
    fn values(&self, lines: &[Line]) -> Result<Layer, SettingsError> {
        let mut layer = Layer::default();
        for line in lines {
            let place = match &line.table {
                Some(table) => Some(place(table, line)?),
                None if line.name == "fixed" => {
                    self.fix(line, &mut layer)?;
                    continue;
                }
                None if WORDS.contains(&line.name.as_str()) => continue,
                None => None,
            };
            let key = self.key(line, place)?;
            let origin = if self.users { line.value_origin.clone() } else { Origin::Default };
            if Formula::of(key, &line.value).is_none() {
                key.kind.read(key.name, &line.value, &line.value_origin)?;
            }
            layer.put(place, key.name, line.value.clone(), origin);
        }
        Ok(layer)
    }

    fn fix(&self, line: &Line, layer: &mut Layer) -> Result<(), SettingsError> {
        let Raw::List(names) = &line.value else { return Err(wrong(line, "a list of settings")) };
        for (name, at) in names {
            let known = |name: &str| self.keys.find(name).filter(|key| SECTIONS.contains(&key.section));
            match name {
                Raw::Text(name) if known(name).is_some() => layer.fix(name),
                other => {
                    let problem = format!("there is no setting {other} of schemes");
                    return Err(SettingsError::new(at.clone(), problem).expected("names of settings"));
                }
            }
        }
        Ok(())
    }

    fn key(&self, line: &Line, place: Option<Place>) -> Result<&'static Key, SettingsError> {
        let fits = |key: &&'static Key| match place {
            Some(_) => matches!(key.section, Section::Network | Section::Scheme),
            None => SECTIONS.contains(&key.section),
        };
        if let Some(key) = self.keys.find(&line.name).filter(|key| fits(key) && key.name != "base") {
            return Ok(key);
        }
        let problem = match self.keys.find(&line.name) {
            Some(key) => format!("`{}` is a setting of [{}], not of schemes", key.name, key.section.path()),
            None => format!("there is no setting `{}`", line.name),
        };
        let names =
            self.keys.iter().filter(fits).map(|key| key.name).chain(WORDS.into_iter().filter(|_| place.is_none()));
        let expected = "a setting of [network], [transport] or of schemes (see `flowsieve list settings`)";
        Err(SettingsError::new(line.origin.clone(), problem).expected(expected).names(&line.name, names))
    }
}

fn place(table: &str, line: &Line) -> Result<Place, SettingsError> {
    let names = Place::ALL.map(Place::name);
    Place::ALL.into_iter().find(|place| place.name() == table).ok_or_else(|| {
        SettingsError::new(line.origin.clone(), format!("[{table}] is no place of ports"))
            .expected(one_of(&names))
            .names(table, names)
    })
}

fn text(line: &Line) -> Result<String, SettingsError> {
    match &line.value {
        Raw::Text(text) if !text.trim().is_empty() => Ok(text.clone()),
        _ => Err(wrong(line, "a text")),
    }
}

fn wrong(line: &Line, expected: impl Into<String>) -> SettingsError {
    SettingsError::new(line.value_origin.clone(), format!("`{}` cannot be {}", line.name, line.value))
        .expected(expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{Facts, none_given};
    use proptest::prelude::*;

    const FACTS: Facts = Facts::uniform(1_000_000, 0.6);

    fn read(text: &str) -> Result<SchemeFile, SettingsError> {
        let find = |name: &str| registry::all().find(|scheme| scheme.name == name).cloned();
        SchemeFile::read_users("mine", &Text::new("mine.toml", text), none_given().declared(), &find)
    }

    /// Every built-in file says what it is and builds on one that stands before it; what it fixes, it has.
    #[test]
    fn file__of_every_scheme_is_whole() {
        for scheme in registry::all() {
            let SchemeFile { name, summary, paper, .. } = scheme;
            assert!(!summary.is_empty() && !paper.is_empty() && !summary.ends_with('.'), "{name}");
            assert!(scheme.base.is_some() || name == "dctcp", "{name}");
            for (key, ..) in scheme.layer().iter() {
                assert!(none_given().find(key).is_some(), "{name}: {key}");
            }
        }
        let own = registry::all().filter(|scheme| scheme.own.is_some()).count();
        assert_eq!((registry::all().count(), own), (55, 21), "34 need no Rust of their own");
    }

    #[test]
    fn file__of_a_user_is_at_least_what_its_base_is() {
        let mine = read("base = \"qclimb\"\nslack = \"50KB\"\n").unwrap();
        assert_eq!((mine.knows, mine.root.as_str(), mine.label.as_str()), (Knows::Bounds, "qclimb", ""));
        let settings = none_given();
        let context = Context { scope: settings.scheme("mine"), workload: &FACTS };
        assert!(format!("{:?}", mine.scheme(&context).unwrap().classes[0].tagger).contains("slack: 50000"));
    }

    proptest! {
        /// A file of any lines is a scheme or an error, and building it, too.
        #[test]
        fn read_users__of_any_lines_is_a_scheme_or_an_error(
            lines in prop::collection::vec(
                prop_oneof![
                    "base = \"(dctcp|pias|nos2|sieve|homa|x)\"",
                    "(queues|buffer|ecn_threshold|max_window|window_growth|delayed_ack|tagger|discipline|rates|own|only|knows|fixed|x) = \
                     (-?[0-9]{1,20}|\"[0-9]{0,20}(pkt|bdp|rtt|KB|us)?(/[0-9]{1,3})?(, at least [0-9])?\"|\"(demotion|sp|climb|coflow)\"|true|\\[\"tagger\"\\])",
                    "\\[(nic|leaf|spine|core|x)\\]",
                    ".{0,20}",
                ],
                0..8,
            ),
        ) {
            if let Ok(scheme) = read(&lines.join("\n")) {
                let settings = none_given();
                let _ = scheme.scheme(&Context { scope: settings.scheme("mine"), workload: &FACTS });
            }
        }
    }
}
