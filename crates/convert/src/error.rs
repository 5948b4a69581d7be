//! What can be wrong with a file of another simulator: one message with the file, the line and what was expected.

use thiserror::Error;

/// Why a file cannot be converted, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}{}: {problem}; expected {expected}", .line.map_or_else(String::new, |line| format!(":{line}")))]
pub struct ConvertError {
    /// The file as the caller named it.
    pub file: String,
    /// The line, from 1; none where the whole file is at fault.
    pub line: Option<u64>,
    /// Which kind of fault it is.
    pub kind: Kind,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub expected: String,
}

/// Kinds of faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The contents do not tell the format; these formats fit, by name. Without any the file has no known format.
    Format(Vec<&'static str>),
    /// The format does not tell something, and this option has to: its name without dashes.
    Option(&'static str),
    /// An option that the format does not read, by its name without dashes.
    Unread(&'static str),
    /// The file has something that Flowsieve does not have.
    Lost,
    /// A row or field breaks the format's grammar, or is out of range.
    Row,
}

/// The start of a piece of input, short and printable enough for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() { shown + "…" } else { shown }
}
