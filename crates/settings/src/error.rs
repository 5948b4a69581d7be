//! Errors of settings: what is wrong, and where the value was given.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In a file.
    File {
        /// Its path, as the user wrote it.
        file: Arc<str>,
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
        /// The range of bytes in the file's text, for an excerpt.
        span: Range<usize>,
    },
    /// On the command line, as this argument.
    CommandLine(Arc<str>),
    /// Not given: a default applies.
    Default,
}

impl Origin {
    /// Returns the key of an argument such as `--set workload.load=0.5`.
    pub fn key_of_argument(&self) -> Option<&str> {
        let Origin::CommandLine(argument) = self else { return None };
        let (key, _) = argument.strip_prefix("--set ")?.split_once('=')?;
        key.rsplit('.').next()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { file, line, column, .. } => write!(out, "{file}:{line}:{column}"),
            Origin::CommandLine(argument) => write!(out, "{argument}"),
            Origin::Default => out.write_str("default"),
        }
    }
}

/// An error in one setting: where, what is wrong, what was expected.
///
/// It is a value, not a text, so that the command can show the excerpt of the file and the nearest valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{origin}: {problem}{}{}",
    .expected.as_ref().map(|e| format!("; expected {e}")).unwrap_or_default(),
    .next.as_ref().map(|next| format!("\n{next}")).unwrap_or_default()
)]
pub struct SettingsError {
    /// Where the value was given.
    pub origin: Origin,
    /// The problem, as a sentence without a full stop.
    pub problem: String,
    /// What would be valid.
    pub expected: Option<String>,
    /// The wrong name and the valid ones, if the problem is a name.
    pub wrong_name: Option<Box<WrongName>>,
    /// The key at fault, if there is one.
    fault: Option<Box<Fault>>,
    /// A further error of the same experiment.
    next: Option<Box<SettingsError>>,
}

/// A key at fault and, if it is not given, the table in which it could be.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    key: String,
    table: Option<&'static str>,
}

/// A name that is not among the valid ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongName {
    /// The name given.
    pub given: String,
    /// The valid names.
    pub valid: Vec<String>,
}

impl SettingsError {
    /// Builds an error without a list of names.
    pub fn new(origin: Origin, problem: impl Into<String>) -> Self {
        SettingsError { origin, problem: problem.into(), expected: None, wrong_name: None, fault: None, next: None }
    }

    /// Joins errors of an experiment into one, which is the first with the others behind it; `None` if there are none.
    pub fn joined(errors: Vec<SettingsError>) -> Option<SettingsError> {
        errors.into_iter().rev().reduce(|next, error| SettingsError { next: Some(Box::new(next)), ..error })
    }

    /// Returns this error and those behind it.
    pub fn each(&self) -> impl Iterator<Item = &SettingsError> {
        std::iter::successors(Some(self), |error| error.next.as_deref())
    }

    /// Does something with this error and those behind it.
    pub fn for_each_mut(&mut self, mut change: impl FnMut(&mut SettingsError)) {
        let mut at = Some(self);
        while let Some(error) = at {
            change(error);
            at = error.next.as_deref_mut();
        }
    }

    /// Adds what was expected.
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// Adds the key at fault, which is given.
    pub fn of_key(mut self, key: &str) -> Self {
        self.fault = Some(Box::new(Fault { key: key.to_owned(), table: None }));
        self
    }

    /// Adds the key at fault, which is not given, and the table in which it could be.
    pub fn of_missing(mut self, key: &str, table: &'static str) -> Self {
        self.fault = Some(Box::new(Fault { key: key.to_owned(), table: Some(table) }));
        self
    }

    /// Returns the key at fault, if there is one.
    pub fn key(&self) -> Option<&str> {
        self.fault.as_ref().map(|fault| fault.key.as_str())
    }

    /// Returns the table in which that key could be given, such as `workload`; `None` if it is given.
    pub fn table(&self) -> Option<&'static str> {
        self.fault.as_ref()?.table
    }

    /// Adds the wrong name and the valid ones; the nearest is shown.
    pub fn names<S: Into<String>>(mut self, given: impl Into<String>, valid: impl IntoIterator<Item = S>) -> Self {
        let valid = valid.into_iter().map(Into::into).collect();
        self.wrong_name = Some(Box::new(WrongName { given: given.into(), valid }));
        self
    }
}
