//! Errors in a file that an experiment or an argument names: what is wrong, and where.

use crate::error::nearest;
use flowsieve_workload::convert::{ConvertError, Kind};
use flowsieve_workload::{InputError, Problem};
use std::fmt;
use std::path::Path;

/// A file that cannot be used. It is shown as `file:line: what; expected …`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileError {
    /// The kind of problem, in a fixed word: `value`, `columns`, `unreadable` …
    pub kind: &'static str,
    /// The file, as the user wrote it.
    pub file: String,
    /// Its line, from 1; `None` if the whole file is at fault, or has no lines.
    pub line: Option<u64>,
    /// The column at fault, if there is one.
    pub key: Option<String>,
    /// What is wrong, as a sentence without a full stop.
    pub problem: String,
    /// What was expected.
    pub expected: Option<String>,
    /// A suggestion: a name, or a corrected row.
    pub nearest: Option<String>,
}

impl FileError {
    /// Builds the error for a file that is wrong as a whole.
    pub fn new(kind: &'static str, file: &Path, problem: impl Into<String>) -> FileError {
        FileError { kind, file: file.display().to_string(), problem: problem.into(), ..FileError::default() }
    }

    /// Builds the error for a file that cannot be read; `otherwise` is what was expected if the system's error does not
    /// say.
    pub fn unreadable(file: &Path, error: &std::io::Error, otherwise: &str) -> FileError {
        let wrong = FileError::whole(file, &format!("cannot be read: {error}"));
        let expected = wrong.expected.clone().unwrap_or_else(|| otherwise.to_owned());
        FileError { kind: "unreadable", ..wrong }.expected(expected)
    }

    /// Builds the error for a whole file from a message that may say what was expected.
    pub fn whole(file: &Path, message: &str) -> FileError {
        match message.rsplit_once("; expected ") {
            Some((what, expected)) => FileError::new("file", file, what).expected(expected),
            None => FileError::new("file", file, message),
        }
    }

    /// Adds its line, from 1.
    pub fn at(mut self, line: u64) -> FileError {
        self.line = Some(line);
        self
    }

    /// Adds the column at fault.
    pub fn of_key(mut self, key: &str) -> FileError {
        self.key = Some(key.to_owned());
        self
    }

    /// Adds what was expected.
    pub fn expected(mut self, expected: impl Into<String>) -> FileError {
        self.expected = Some(expected.into());
        self
    }

    /// Adds a suggestion.
    pub fn nearest(mut self, nearest: Option<String>) -> FileError {
        self.nearest = nearest;
        self
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        write!(out, ": {}", self.problem)?;
        if let Some(expected) = &self.expected {
            write!(out, "; expected {expected}")?;
        }
        match &self.nearest {
            Some(nearest) => write!(out, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FileError {}

impl From<InputError> for FileError {
    fn from(error: InputError) -> FileError {
        let InputError { file, line, problem } = error;
        let nearest = match &problem {
            Problem::NoColumn { column, columns } => {
                let names: Vec<String> = columns.split(", ").map(str::to_owned).collect();
                nearest(column, &names).map(str::to_owned)
            }
            _ => None,
        };
        let (what, expected) = Problem::in_two(&problem);
        FileError {
            kind: problem.kind(),
            file,
            line,
            key: problem.column().map(str::to_owned),
            problem: what,
            expected,
            nearest,
        }
    }
}

impl From<ConvertError> for FileError {
    fn from(error: ConvertError) -> FileError {
        let ConvertError { file, line, kind, problem, expected } = error;
        let (kind, key) = match kind {
            Kind::Format(_) => ("format", None),
            Kind::Option(option) => ("option", Some(option.to_owned())),
            Kind::Unread(option) => ("unread", Some(option.to_owned())),
            Kind::Lost => ("lost", None),
            Kind::Row => ("row", None),
        };
        FileError { kind, file, line, key, problem, expected: Some(expected), nearest: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_workload::convert::{Options, Source, convert, format};

    #[test]
    fn file_error__of_a_conversion_says_where_and_which_option() {
        let refused = |text: &str, name: &str| {
            let source = Source { name: "flows.txt", text };
            FileError::from(convert(&source, format(name).unwrap(), &Options::default()).unwrap_err())
        };
        let row = refused("1\n0 1 3 100 1000 oops\n", "hpcc");
        assert_eq!((row.kind, row.file.as_str(), row.line, row.key), ("row", "flows.txt", Some(2), None));
        let unit = refused("Nodes 2\nConnections 1\n0->1 id 1 start 0 size 100\n", "htsim");
        assert_eq!((unit.kind, unit.key.as_deref()), ("option", Some("time-unit")));
        assert!(unit.expected.is_some_and(|expected| expected.contains("--time-unit")));
    }
}
