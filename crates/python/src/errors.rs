//! Errors and panics as Python's exceptions: the classes of `flowsieve.errors`, with the command's text.

use flowsieve_experiment::{Details, Error};
use flowsieve_settings::files::for_terminal;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The exception of this name with these arguments; Python's own, should the package be damaged.
fn exception<'py>(py: Python<'py>, name: &str, arguments: impl pyo3::call::PyCallArgs<'py>, text: &str) -> PyErr {
    let made = || py.import("flowsieve.errors")?.getattr(name)?.call1(arguments);
    made().map_or_else(|_| PyRuntimeError::new_err(text.to_owned()), PyErr::from_value)
}

/// An error as the exception that it is in Python.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let text = error.render(false);
    // A traceback goes to a terminal.
    let text = for_terminal(text.strip_prefix("error: ").unwrap_or(&text), false).into_owned();
    match error {
        Error::Results(_) | Error::Unreported(_) | Error::Output(_) => {
            exception(py, "ResultError", (text.clone(),), &text)
        }
        Error::Simulation { .. } | Error::NotValid { .. } | Error::Stopped => {
            exception(py, "SimulationError", (text.clone(),), &text)
        }
        Error::Setting { .. } | Error::File { .. } | Error::InFile(_) | Error::Input(_) => {
            let Details { kind, key, file, line, column, expected, nearest } = error.details();
            let arguments = (text.clone(), file, line, column, expected, nearest, kind, key);
            exception(py, "ExperimentError", arguments, &text)
        }
    }
}

/// What went wrong where Python's own exceptions do not say it: a wrong argument.
pub(crate) fn wrong(py: Python<'_>, text: &str) -> PyErr {
    exception(py, "ExperimentError", (text,), text)
}

/// What a panic says.
pub(crate) fn panicked(py: Python<'_>, panic: &(dyn std::any::Any + Send)) -> PyErr {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    exception(py, "InternalError", (said.clone(),), &said)
}

/// Works without the interpreter's lock.
pub(crate) fn working<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(done) => done.map_err(|error| raised(py, &error)),
        Err(panic) => Err(panicked(py, &*panic)),
    }
}
