//! Schemes of the user's own, as files: `schemes/NAME.toml` beside the experiment, found by its name.

use std::io::Read;
use std::path::{Path, PathBuf};

use flowsieve_settings::toml::{Entry, Text, flat};
use flowsieve_settings::{Origin, Raw, Settings, SettingsError, Table, Value};

use crate::document::{Document, check_variant_name};
use crate::error::Error;
use crate::folder::Folder;
use crate::points::BASE;

/// The folder of the files, in that of the experiment.
const FOLDER: &str = "schemes";
/// The longest file of a scheme, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// A scheme's file.
#[derive(Debug, Clone)]
pub struct SchemeText {
    /// The scheme's name.
    pub name: String,
    /// The file's text.
    pub text: Text,
}

/// Returns the path of a scheme's file, relative to the experiment's folder.
pub(crate) fn path(name: &str) -> String {
    format!("{FOLDER}/{name}.toml")
}

/// Says where the file of a name would be; of a text that is no name, where files of schemes are.
pub(crate) fn path_in_words(name: &str) -> String {
    path(check_variant_name(name, &Origin::Default).map_or("<name>", |()| name))
}

/// Reads the files of the schemes that these documents name, each after that of its base: an experiment as it is written, and
/// as the command line changed it.
pub(crate) fn read(documents: [&Document; 2], folder: &Folder, builtin: &[&str]) -> Result<Vec<SchemeText>, Error> {
    let mut reader = Reader { folder, builtin, found: Vec::new() };
    documents.into_iter().try_for_each(|document| reader.document(document))?;
    Ok(reader.found)
}

/// Returns the schemes of the classes of flow of a variant.
fn classes(settings: &Settings, variant: &str) -> Vec<(String, Origin)> {
    match settings.given(&(Table::Scheme(variant.to_owned()), "classes")) {
        Some((Value::TextList(names), origin)) => names.iter().map(|name| (name.clone(), origin.clone())).collect(),
        _ => Vec::new(),
    }
}

struct Reader<'a> {
    folder: &'a Folder,
    builtin: &'a [&'a str],
    found: Vec<SchemeText>,
}

impl Reader<'_> {
    fn document(&mut self, document: &Document) -> Result<(), Error> {
        for (name, origin) in &document.variants {
            let of_table = |key| document.settings.given(&(Table::Scheme(name.clone()), key));
            match of_table(BASE.name) {
                Some((Value::Text(base), at)) => {
                    self.refuse_hidden(name, at, "a table with a `base`")?;
                    self.named(base, at, &mut Vec::new())?;
                }
                _ => self.named(name, origin, &mut Vec::new())?,
            }
            for (class, at) in classes(&document.settings, name) {
                self.named(&class, &at, &mut Vec::new())?;
            }
        }
        let swept = document.axes.iter().filter(|axis| axis.key.is_none()).flat_map(|axis| &axis.values);
        for (raw, origin) in swept {
            match raw {
                Raw::Text(name) if !document.variants.contains_key(name) => {
                    self.named(name, origin, &mut Vec::new())?
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the file of a scheme that is named at `origin`, if there is one, and those that it builds on. `above`: the schemes
    /// that build on it.
    fn named(&mut self, name: &str, origin: &Origin, above: &mut Vec<String>) -> Result<(), Error> {
        if self.builtin.contains(&name) {
            return self.refuse_hidden(name, origin, "a built-in scheme");
        }
        if above.iter().any(|other| other == name) {
            let circle: Vec<String> = above
                .iter()
                .skip_while(|other| *other != name)
                .chain([&name.to_owned()])
                .map(|name| format!("`{name}`"))
                .collect();
            let problem = format!("`{name}` builds on itself: {}", circle.join(" on "));
            return Err(SettingsError::new(origin.clone(), problem).expected("a built-in scheme at the end").into());
        }
        if self.found.iter().any(|file| file.name == name) {
            return Ok(());
        }
        let text = match (self.folder.scheme(name), self.file(name)) {
            (Some(text), _) => Text::new(&path(name), text),
            (None, Some(file)) => text(&file)?,
            // What the experiment names and is nowhere is refused with its points.
            (None, None) if above.is_empty() => return Ok(()),
            (None, None) => return Err(self.missing(name, origin)),
        };
        let entries = flat(&text).map_err(|error| Error::from(error).in_text(&text))?;
        let is_base = |entry: &&Entry| entry.table.is_none() && entry.name == "base";
        let Some(Entry { value: Raw::Text(base), value_origin, .. }) = entries.iter().find(is_base) else {
            let problem = format!("{} names no `base`", text.name);
            let error = SettingsError::new(text.origin(None), problem).expected("base = \"dctcp\", or another scheme");
            return Err(Error::from(error).in_text(&text));
        };
        above.push(name.to_owned());
        self.named(base, value_origin, above).map_err(|error| error.in_text(&text))?;
        above.pop();
        self.found.push(SchemeText { name: name.to_owned(), text });
        Ok(())
    }

    /// Returns the file of a name, if there is one. A name that cannot be a scheme's has none: it leads nowhere else.
    fn file(&self, name: &str) -> Option<PathBuf> {
        check_variant_name(name, &Origin::Default).ok()?;
        let file = self.folder.path().join(path(name));
        flowsieve_settings::files::builtin::is_file(&file).then_some(file)
    }

    fn missing(&self, name: &str, origin: &Origin) -> Error {
        let names = self.builtin.iter().copied();
        let problem = format!("there is no scheme `{name}`");
        let expected = format!("a built-in scheme (see `flowsieve list schemes`), or one with a file {}", path(name));
        let expected = match check_variant_name(name, origin) {
            Ok(()) => expected,
            Err(_) => "the name of a scheme: ASCII letters, digits, `-` and `_`".to_owned(),
        };
        SettingsError::new(origin.clone(), problem).expected(expected).names(name, names).into()
    }

    /// Refuses a file that would have the name of something else.
    fn refuse_hidden(&self, name: &str, origin: &Origin, what: &str) -> Result<(), Error> {
        let Some(file) = self.file(name) else { return Ok(()) };
        let problem = format!("`{name}` is {what}, and {} has the same name", file.display());
        Err(SettingsError::new(origin.clone(), problem).expected("another name for one of them").into())
    }
}

fn text(file: &Path) -> Result<Text, Error> {
    let name = file.display().to_string();
    let refuse = |problem: String| Error::File { path: name.clone(), problem };
    let mut text = String::new();
    let read = flowsieve_settings::files::builtin::open(file)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    if read.map_err(|error| refuse(error.to_string()))? as u64 > MAX_BYTES {
        return Err(refuse(format!("is longer than {MAX_BYTES} bytes, the most that a scheme's file may have")));
    }
    Ok(Text::new(&name, &text))
}
