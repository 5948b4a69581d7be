//! Errors in files of other simulators: one message with the file, the line and what was expected.

use thiserror::Error;

/// Why a file cannot be converted, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}{}: {problem}; expected {expected}", .line.map_or_else(String::new, |line| format!(":{line}")))]
pub struct ConvertError {
    /// The file's name, as the caller gave it.
    pub file: String,
    /// The line, from 1; `None` if the whole file is at fault.
    pub line: Option<u64>,
    /// The kind of error.
    pub kind: Kind,
    /// What is wrong.
    pub problem: String,
    /// What would be valid.
    pub expected: String,
}

/// Kinds of errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The format cannot be told from the contents; these formats fit, by name. If the list is empty, no known format
    /// fits.
    Format(Vec<&'static str>),
    /// The format leaves something open that this option must say: its name without dashes.
    Option(&'static str),
    /// An option that the format does not read, by its name without dashes.
    Unread(&'static str),
    /// The file uses something that Flowsieve does not have.
    Lost,
    /// A row or field breaks the format's grammar, or is out of range.
    Row,
}

/// Returns the start of a piece of input, short and printable enough for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() { shown + "…" } else { shown }
}
