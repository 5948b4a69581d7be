//! TOML texts whose values keep their places: experiment files, and those of schemes.

use super::error::{Origin, SettingsError};
use super::value::Raw;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use toml_edit::{Item, TableLike, Value};

/// A TOML file's text with its name.
#[derive(Debug, Clone)]
pub struct Text {
    /// The path as the user wrote it.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    /// The byte at which each line starts.
    lines: Vec<usize>,
}

impl Text {
    /// Wraps a text that is already in memory.
    pub fn new(name: &str, text: &str) -> Text {
        let after_newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(after_newlines).collect();
        Text { name: name.into(), text: text.into(), lines }
    }

    /// Returns the file's name without folder and extension.
    pub fn stem(&self) -> String {
        let stem = Path::new(&*self.name).file_stem();
        stem.map_or_else(|| "experiment".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Returns the span of a table's heading, to report what is missing in it. If there is no such table: the heading
    /// of `[sweep]`, which every experiment has, or else the first line.
    pub fn table(&self, name: Option<&str>) -> Range<usize> {
        let heading = |name: &str| {
            let starts = self.lines.iter().copied();
            let mut lines = starts.zip(self.text.split_inclusive('\n').map(str::trim_end));
            lines.find(|(_, line)| line.strip_prefix('[').is_some_and(|line| line.starts_with(&format!("{name}]"))))
        };
        let found = name.and_then(heading).or_else(|| heading("sweep"));
        let (start, line) = found.unwrap_or((0, self.text.lines().next().unwrap_or_default()));
        start..start + line.len()
    }

    /// Returns the key in a line.
    pub fn key_in_line(&self, line: u32) -> Option<&str> {
        let start = *self.lines.get(line.checked_sub(1)? as usize)?;
        let (key, _) = self.text.get(start..)?.lines().next()?.split_once('=')?;
        let key = key.trim();
        let is_bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
        (!key.is_empty() && key.chars().all(is_bare)).then_some(key)
    }

    /// Returns the place of a span of the text.
    pub fn origin(&self, span: Option<Range<usize>>) -> Origin {
        let span = span.unwrap_or(0..0);
        let line = self.lines.partition_point(|start| *start <= span.start).max(1);
        let before = self.text.get(self.lines[line - 1]..span.start).unwrap_or("");
        let column = before.chars().count() + 1;
        Origin::File { file: self.name.clone(), line: line as u32, column: column as u32, span }
    }
}

/// Returns an item's value, and its place.
pub fn raw_item(input: &Text, item: &Item) -> (Raw, Origin) {
    let origin = input.origin(item.span());
    match item {
        Item::Value(value) => (raw_value(value, &|span| input.origin(span)), origin),
        Item::Table(_) => (Raw::Other("a table"), origin),
        Item::ArrayOfTables(_) => (Raw::Other("a list of tables"), origin),
        Item::None => (Raw::Other("nothing"), origin),
    }
}

/// The bytes of a part of the text, if it is in the text.
pub type Span = Option<std::ops::Range<usize>>;

/// Lists a table's entries: name, the name's span, item.
pub fn entries(table: &dyn TableLike) -> Vec<(&str, Span, &Item)> {
    let span = |name: &str| table.get_key_value(name).and_then(|(key, _)| key.span());
    table.iter().map(|(name, item)| (name, span(name), item)).collect()
}

/// Returns a TOML value without its decoration.
pub fn raw_value(value: &Value, origin: &dyn Fn(Span) -> Origin) -> Raw {
    match value {
        Value::String(text) => Raw::Text(text.value().clone()),
        Value::Integer(number) => Raw::Integer(*number.value()),
        Value::Float(number) => Raw::Float(*number.value()),
        Value::Boolean(flag) => Raw::Flag(*flag.value()),
        Value::Datetime(_) => Raw::Other("a date"),
        Value::InlineTable(_) => Raw::Other("a table"),
        Value::Array(items) => {
            Raw::List(items.iter().map(|item| (raw_value(item, origin), origin(item.span()))).collect())
        }
    }
}

/// A value of a text whose tables hold nothing but values.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name of its table; `None`: it is before all tables.
    pub table: Option<String>,
    /// Its name.
    pub name: String,
    /// Where its name is.
    pub origin: Origin,
    /// Its value.
    pub value: Raw,
    /// Where its value is.
    pub value_origin: Origin,
}

/// Lists the values of a text, in its order, with the tables in which they are.
///
/// # Errors
/// Fails if it is not TOML. A table in a table is a value, of no setting's kind.
pub fn flat(text: &Text) -> Result<Vec<Entry>, SettingsError> {
    let parsed = toml_edit::Document::parse(&*text.text).map_err(|error| not_toml(text, &error))?;
    let mut found = Vec::new();
    let mut take = |table: Option<&str>, of: &dyn TableLike| {
        for (name, key, item) in entries(of).into_iter().filter(|(.., item)| table.is_some() || !item.is_table()) {
            let ((value, value_origin), origin) = (raw_item(text, item), text.origin(key));
            found.push(Entry { table: table.map(str::to_owned), name: name.to_owned(), origin, value, value_origin });
        }
    };
    take(None, parsed.as_table());
    for (name, _, item) in entries(parsed.as_table()) {
        if let Item::Table(table) = item {
            take(Some(name), table);
        }
    }
    Ok(found)
}

/// Builds the error of a text that is not TOML.
pub fn not_toml(text: &Text, error: &toml_edit::TomlError) -> SettingsError {
    let problem = error.message().lines().collect::<Vec<_>>().join("; ");
    SettingsError::new(text.origin(error.span()), format!("this is not TOML: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin__counts_characters_from_one() {
        let input = Text::new("x", "a = 1\nµµ = 2\n");
        let at = input.text.find("= 2").unwrap();
        let Origin::File { line, column, .. } = input.origin(Some(at..at + 1)) else { panic!() };
        assert_eq!((line, column), (2, 4));
        let Origin::File { line, column, .. } = input.origin(None) else { panic!() };
        assert_eq!((line, column), (1, 1));
    }
}
