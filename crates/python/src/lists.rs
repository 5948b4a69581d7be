//! What there is to choose from, thresholds, forests, and the command itself.

use crate::errors::{panicked, working, wrong};
use crate::result::json;
use flowsieve_experiment::catalogue::{self, What};
use flowsieve_experiment::explain::{self as explaining, Explained};
use flowsieve_experiment::forest::{Predicted, SizeClasses};
use flowsieve_experiment::thresholds::{self as computing, Column, Link, Method, Wanted};
use flowsieve_experiment::{Error, OwnSchemes, lookup, plan, units};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// `flowsieve list WHAT --json`.
#[pyfunction]
#[pyo3(signature = (what, word=None, folder=None))]
pub(crate) fn list_of(py: Python<'_>, what: &str, word: Option<String>, folder: Option<PathBuf>) -> PyResult<String> {
    let what = match what {
        "schemes" => What::Schemes,
        "workloads" => What::Workloads,
        "topologies" => What::Topologies,
        "experiments" => What::Experiments,
        "settings" => What::Settings,
        "formats" => What::Formats,
        other => return Err(wrong(py, &format!("there is no list of {other:?}"))),
    };
    let folder = lookup::catalogue(folder.as_deref());
    let list = working(py, || catalogue::json(what, word.as_deref(), &OwnSchemes::default(), &folder))?;
    json(py, &list)
}

/// `flowsieve explain NAME`.
#[pyfunction]
pub(crate) fn explain(py: Python<'_>, name: String) -> PyResult<String> {
    let explained = working(py, || explaining::explain(&name, OwnSchemes::default()))?;
    Ok(explained.iter().map(Explained::text).collect::<Vec<_>>().join("\n"))
}

/// `flowsieve thresholds --json`: by a method, or all of them side by side with advice.
#[pyfunction]
#[pyo3(signature = (workload=None, cdf=None, sizes=None, column=None, loads=vec![0.8], queues=None, method=None, rate="10Gbps", rtt="80us"))]
#[expect(clippy::too_many_arguments, reason = "they are the options of the command")]
pub(crate) fn thresholds(
    py: Python<'_>,
    workload: Option<String>,
    cdf: Option<String>,
    sizes: Option<PathBuf>,
    column: Option<String>,
    loads: Vec<f64>,
    queues: Option<u64>,
    method: Option<&str>,
    rate: &str,
    rtt: &str,
) -> PyResult<String> {
    let methods = [
        ("equal-split", Method::EqualSplit),
        ("pias", Method::Pias),
        ("background", Method::Background),
        ("two-level", Method::TwoLevel),
        ("published", Method::Published),
    ];
    let named = |name: &str| {
        let found = methods.iter().find(|(other, _)| *other == name).map(|(_, method)| *method);
        let names = methods.map(|(name, _)| name).join(", ");
        found.ok_or_else(|| wrong(py, &format!("there is no method {name:?}; expected {names}")))
    };
    let method = method.map(named).transpose()?;
    let rate_bps = units::parse_rate(rate).map_err(|error| wrong(py, &format!("rate: {error}")))?;
    let rtt_ps = units::parse_time(rtt).map_err(|error| wrong(py, &format!("rtt: {error}")))?;
    let sizes = sizes.map(|path| Column { path, name: column });
    let wanted = Wanted { workload, cdf, sizes, loads, queues, method: method.unwrap_or(Method::Background) };
    match method {
        Some(_) => json(py, &working(py, || computing::thresholds(&wanted))?),
        None => json(py, &working(py, || computing::advice(&wanted, Link { rate_bps, rtt_ps }))?),
    }
}

/// `flowsieve forest report --json`.
#[pyfunction]
pub(crate) fn worth_of_forest(py: Python<'_>, forest: PathBuf, trace: PathBuf, from_: f64) -> PyResult<String> {
    let worth = working(py, || Ok(Predicted::read(&forest, &trace, from_)?.worth(&SizeClasses::default())))?;
    json(py, &worth)
}

/// Version of the program and number of its model: results of other ones may differ.
#[pyfunction]
pub(crate) fn program() -> (&'static str, u32) {
    (env!("CARGO_PKG_VERSION"), plan::MODEL)
}

/// BLAKE3 of a file.
#[pyfunction]
pub(crate) fn digest(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    working(py, || {
        let file = std::fs::File::open(&path);
        let hash = file.and_then(|file| Ok(blake3::Hasher::new().update_reader(file)?.finalize()));
        let refuse =
            |error: std::io::Error| Error::File { path: path.display().to_string(), problem: error.to_string() };
        Ok(hash.map_err(refuse)?.to_hex().to_string())
    })
}

/// Panics, so that tests see what becomes of a panic.
#[pyfunction]
pub(crate) fn panic(py: Python<'_>, text: String) -> PyResult<()> {
    working(py, || std::panic::panic_any(text))
}

/// The command, with these arguments behind its name; gives its exit status.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    let arguments = [OsString::from("flowsieve")].into_iter().chain(arguments);
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| flowsieve::carry_out(arguments, &[]))));
    done.map_err(|panic| panicked(py, &*panic))
}
