//! Why the agent does nothing.

/// Why the agent does nothing. Each is one line, and nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// A device or an option is wrong.
    #[error("{0}")]
    Input(String),
    /// A file is wrong.
    #[error("{path}: {problem}")]
    File {
        /// Its path.
        path: String,
        /// What it is, and what was expected.
        problem: String,
    },
    /// The machine or the process's rights do not permit it.
    #[error("this machine does not permit {what}: {problem}; expected {expected}")]
    NotPermitted {
        /// What it does not permit.
        what: String,
        /// Why.
        problem: String,
        /// What would do.
        expected: &'static str,
    },
    /// The kernel refused a call.
    #[error("cannot {what}: {problem}")]
    Failed {
        /// What was to be done.
        what: String,
        /// Why it failed.
        problem: String,
    },
}

impl AgentError {
    pub(crate) fn failed(what: impl Into<String>, problem: impl ToString) -> AgentError {
        AgentError::Failed { what: what.into(), problem: problem.to_string() }
    }
}
