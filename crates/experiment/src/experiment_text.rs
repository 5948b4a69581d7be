//! The text of an experiment file, and the places in it.

use crate::error::Error;
use crate::file_error::FileError;
use flowsieve_settings::Origin;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The longest experiment file that is read, in bytes. The largest sensible ones have a few thousand.
pub(crate) const MAX_FILE_BYTES: u64 = 256 * 1024;

/// An experiment file's text with its name.
#[derive(Debug, Clone)]
pub struct ExperimentText {
    /// The path as the user wrote it.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    /// The byte at which each line starts.
    lines: Vec<usize>,
}

impl ExperimentText {
    /// Wraps a text that is already in memory.
    pub fn new(name: &str, text: &str) -> ExperimentText {
        let after_newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(after_newlines).collect();
        ExperimentText { name: name.into(), text: text.into(), lines }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<ExperimentText, Error> {
        let name = path.display().to_string();
        let refuse = |problem: String| Error::File { path: name.clone(), problem };
        if path.exists() && !path.is_file() {
            return Err(refuse("is not a file".to_owned()));
        }
        let mut bytes = Vec::new();
        let read = flowsieve_builtin::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
        if read.map_err(|error| refuse(error.to_string()))? as u64 > MAX_FILE_BYTES {
            return Err(refuse(format!("is longer than {MAX_FILE_BYTES} bytes, the most that an experiment may have")));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
            FileError::new("not-text", path, "this line is not UTF-8 text").at(line as u64).expected("a text file")
        })?;
        Ok(ExperimentText::new(&name, &text))
    }

    /// Returns the file's name without folder and extension.
    pub fn stem(&self) -> String {
        let stem = Path::new(&*self.name).file_stem();
        stem.map_or_else(|| "experiment".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Returns the span of a table's heading, to report what is missing in it. If there is no such table: the heading
    /// of [sweep], which every experiment has, or else the first line.
    pub(crate) fn table(&self, name: Option<&str>) -> Range<usize> {
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
    pub(crate) fn key_in_line(&self, line: u32) -> Option<&str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin__counts_characters_from_one() {
        let input = ExperimentText::new("x", "a = 1\nµµ = 2\n");
        let at = input.text.find("= 2").unwrap();
        let Origin::File { line, column, .. } = input.origin(Some(at..at + 1)) else { panic!() };
        assert_eq!((line, column), (2, 4));
        let Origin::File { line, column, .. } = input.origin(None) else { panic!() };
        assert_eq!((line, column), (1, 1));
    }
}
