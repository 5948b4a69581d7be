//! Lists of schemes, settings, workloads and metrics; thresholds by the model; and the command line.

use crate::calls::Calls;
use crate::errors::{panicked, working, wrong};
use crate::result::json;
use crate::running;
use flowsieve::Place;
use flowsieve::options::{self, Distribution, ModelOptions, TuneOptions};
use flowsieve::papers::TABLES;
use flowsieve_engines::built_in;
use flowsieve_experiment::bundle::failed;
use flowsieve_experiment::{Error, lookup, model};
use flowsieve_report::looks;
use flowsieve_settings::files::{MOST_BYTES, digest_of};
use flowsieve_studies::catalogue::{self, What};
use flowsieve_studies::explain::{self as explaining, Detail, Explained};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
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
    let folders = lookup::folders(folder.as_deref());
    let list = working(py, || catalogue::json(what, word.as_deref(), &built_in().reading(TABLES), &folders))?;
    json(py, &list)
}

/// `flowsieve explain NAME`.
#[pyfunction]
pub(crate) fn explain(py: Python<'_>, name: String) -> PyResult<String> {
    let explained = working(py, || explaining::explain(&name, Detail::All, &built_in().reading(TABLES)))?;
    Ok(explained.iter().map(Explained::text).collect::<Vec<_>>().join("\n"))
}

/// `flowsieve tune --model --json`. `of` are the options of a [`Distribution`], `options` [`ModelOptions`]. Without a method the
/// thresholds are simulated briefly, unless `model_only`.
#[pyfunction]
pub(crate) fn thresholds(
    py: Python<'_>,
    of: Vec<OsString>,
    fabric: Option<PathBuf>,
    model_only: bool,
    options: Vec<OsString>,
) -> PyResult<String> {
    let found = working(py, || {
        let of: Distribution = options::parsed(of)?;
        let options: ModelOptions = options::parsed(options)?;
        let place = Place { fabric, check: !model_only && options.by.method.is_none(), ports: None };
        flowsieve::computed(&of, place, &options, &|_, _, _| {})
    })?;
    json(py, &found)
}

/// `flowsieve tune --json`. `of` are the options of a [`Distribution`], `options` [`TuneOptions`]. `progress` is called as for
/// other runs, step by step.
#[pyfunction]
#[pyo3(signature = (fabric, out, of, options, progress=None))]
pub(crate) fn tune(
    py: Python<'_>,
    fabric: PathBuf,
    out: PathBuf,
    of: Vec<OsString>,
    options: Vec<OsString>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let mut raised = None;
    let found = working(py, || {
        let of: Distribution = options::parsed(of)?;
        let options: TuneOptions = options::parsed(options)?;
        flowsieve::tuned(&fabric, &of, &options, &out, &mut |_, plan, making| {
            let made = Python::try_attach(|py| {
                let progress = progress.as_ref().map(|progress| progress.clone_ref(py));
                running::run(py, plan, progress, &Calls::default().session(), |show| making(show))
            });
            // Without an interpreter nothing waits for the answer.
            made.ok_or(Error::Stopped)?.map_err(|error| {
                raised = Some(error);
                Error::Stopped
            })
        })
    });
    raised.map_or(found, Err).and_then(|found| json(py, &found))
}

/// Version of the program, number of its model, and commit: results of other models may differ.
#[pyfunction]
pub(crate) fn program() -> (&'static str, u32, &'static str) {
    (env!("CARGO_PKG_VERSION"), model::MODEL, flowsieve::COMMIT)
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
        hashed.map_err(failed(&path))?;
        Ok(hasher.finalize().to_hex().to_string())
    })
}

/// Writes sizes in bytes, which are 64-bit integers of this machine, as a file of measured sizes.
#[pyfunction]
pub(crate) fn write_sizes(py: Python<'_>, path: PathBuf, sizes: &[u8]) -> PyResult<()> {
    let (sizes, _) = sizes.as_chunks();
    working(py, || {
        let write = || {
            let mut out = BufWriter::new(File::create_new(&path)?);
            out.write_all(b"bytes\n")?;
            sizes.iter().try_for_each(|&size| writeln!(out, "{}", u64::from_ne_bytes(size)))?;
            out.flush()
        };
        write().map_err(failed(&path))
    })
}

/// The command, with these arguments behind its name; gives its exit status.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    let arguments = [OsString::from("flowsieve")].into_iter().chain(arguments);
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| flowsieve::carry_out(arguments, &[], &[]))));
    done.map_err(|panic| panicked(py, &*panic))
}
