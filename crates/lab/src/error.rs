//! Why a lab cannot be built, or ends.

use std::io;

/// Why a lab cannot be built, or ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabError {
    /// The machine or the process's rights do not permit it.
    #[error("this machine does not permit {what}: {problem}; expected {expected}")]
    NotPermitted {
        /// What it does not permit.
        what: String,
        /// Why.
        problem: String,
        /// What would do.
        expected: String,
    },
    /// A call of the kernel, or a command, has failed.
    #[error("cannot {what}: {problem}")]
    Failed {
        /// What was to be done.
        what: String,
        /// Why it failed.
        problem: String,
    },
    /// It was told to stop.
    #[error("stopped")]
    Stopped,
}

impl LabError {
    pub(crate) fn failed(what: impl Into<String>, problem: impl ToString) -> LabError {
        LabError::Failed { what: what.into(), problem: problem.to_string() }
    }
}

/// Adds to errors of the kernel what was to be done.
pub(crate) trait Doing<T> {
    /// Names what was to be done, as the end of "cannot …".
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, LabError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, LabError> {
        self.map_err(|error| LabError::failed(what(), error.into()))
    }
}
