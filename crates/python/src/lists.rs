//! What there is to choose from, thresholds, forests, and the command itself.

use crate::errors::{panicked, working, wrong};
use crate::result::json;
use flowsieve_engines::built_in;
use flowsieve_engines::forest::{Predicted, SizeClasses};
use flowsieve_experiment::machine;
use flowsieve_experiment::{Error, lookup, plan};
use flowsieve_files::{MOST_BYTES, digest_of};
use flowsieve_report::looks;
use flowsieve_settings::units;
use flowsieve_studies::catalogue::{self, What};
use flowsieve_studies::explain::{self as explaining, Detail, Explained};
use flowsieve_studies::thresholds::{self as computing, Column, Deployment, Marking, Method, Network, Trial, Wanted};
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
    let list = working(py, || catalogue::json(what, word.as_deref(), &built_in(), &folder))?;
    json(py, &list)
}

/// `flowsieve explain NAME`.
#[pyfunction]
pub(crate) fn explain(py: Python<'_>, name: String) -> PyResult<String> {
    let explained = working(py, || explaining::explain(&name, Detail::All, &built_in()))?;
    Ok(explained.iter().map(Explained::text).collect::<Vec<_>>().join("\n"))
}

/// `flowsieve thresholds --json`: by a method, or all of them side by side with advice.
#[pyfunction]
#[pyo3(signature = (workload=None, cdf=None, sizes=None, column=None, loads=vec![0.8], queues=None, method=None, rate="10Gbps", rtt="80us", fabric=None, marking="queue", model_only=false))]
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
    fabric: Option<PathBuf>,
    marking: &str,
    model_only: bool,
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
    let rates_bps = rate.split(',').map(|rate| units::parse_rate(rate.trim())).collect::<Result<Vec<u64>, _>>();
    let rates_bps = rates_bps.map_err(|error| wrong(py, &format!("rate: {error}")))?;
    let rtt_ps = units::parse_time(rtt).map_err(|error| wrong(py, &format!("rtt: {error}")))?;
    let sizes = sizes.map(|path| Column { path, name: column });
    let wanted = Wanted { workload, cdf, sizes, loads, queues, method: method.unwrap_or(Method::Background) };
    match method {
        Some(_) => json(py, &working(py, || computing::thresholds(&wanted))?),
        None => {
            let marking = match marking {
                "port" => Marking::Port,
                "queue" => Marking::Queue,
                other => return Err(wrong(py, &format!("there is no marking {other:?}; expected port, queue"))),
            };
            let network = fabric.map_or(Network::Switch { rates_bps, rtt_ps }, Network::Fabric);
            let trial = (!model_only).then(|| Trial { flows: None, jobs: machine::cores() });
            let deployment = Deployment { network, marking, trial };
            json(py, &working(py, || computing::advice(&wanted, &deployment, &|_, _, _| {}))?)
        }
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

/// Colour, symbol and dash of a scheme in the report's figures, by its number in the sweep.
#[pyfunction]
pub(crate) fn look(scheme: usize) -> (&'static str, &'static str, &'static str) {
    let looks::Look { colour, symbol, dash } = looks::look(scheme);
    (colour, symbol, dash)
}

/// Ticks of an axis of the report's figures: where each is, and its words.
#[pyfunction]
pub(crate) fn ticks(low: f64, high: f64, log: bool) -> Vec<(f64, String)> {
    flowsieve_report::ticks((low, high), log)
}

/// BLAKE3 of a file.
#[pyfunction]
pub(crate) fn digest(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    working(py, || {
        let mut hasher = blake3::Hasher::new();
        let hashed = digest_of(&path, MOST_BYTES, |bytes| {
            hasher.update(bytes);
        });
        let refuse =
            |error: std::io::Error| Error::File { path: path.display().to_string(), problem: error.to_string() };
        hashed.map_err(refuse)?;
        Ok(hasher.finalize().to_hex().to_string())
    })
}

/// The command, with these arguments behind its name; gives its exit status.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    let arguments = [OsString::from("flowsieve")].into_iter().chain(arguments);
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| flowsieve::carry_out(arguments, &[], &[]))));
    done.map_err(|panic| panicked(py, &*panic))
}
