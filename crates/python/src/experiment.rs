//! Experiments and their plans.

use crate::calls::{Calls, Session};
use crate::errors::{raised, working, wrong};
use crate::result::Outcome;
use crate::running::run;
use crate::to_toml;
use flowsieve::options::{self, ChangeOptions, JoinOptions, MakeOptions, RunOptions};
use flowsieve_engines::Packets;
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::execute::{execute, execute_parts};
use flowsieve_experiment::joining;
use flowsieve_experiment::plan::Changes;
use flowsieve_experiment::shards::Shard;
use flowsieve_experiment::source::Source;
use flowsieve_experiment::verify::Proof;
use flowsieve_experiment::{ExperimentText, Folder, bundle, overrides, plan};
use flowsieve_results::ResultDir;
use flowsieve_settings::Origin;
use flowsieve_settings::files::{Existing, for_terminal};
use flowsieve_studies::export;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// An experiment: a text, what is changed in it, and the callables that it names.
#[pyclass(frozen, module = "flowsieve._flowsieve")]
pub(crate) struct Experiment(Source, Calls);

#[pymethods]
impl Experiment {
    /// A file, a bundle, or a built-in experiment by its name.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Experiment> {
        working(py, || Source::open(&path)).map(|source| Experiment(source, Calls::default()))
    }

    /// A text, with the name that messages have for it, and the folder of its paths.
    #[staticmethod]
    fn of_text(text: &str, name: &str, folder: PathBuf) -> Experiment {
        Experiment(Source::new(ExperimentText::new(name, text), Folder::at(folder)), Calls::default())
    }

    /// The text that a dict stands for.
    #[staticmethod]
    fn text_of(dict: &Bound<'_, PyDict>) -> PyResult<String> {
        to_toml::document(dict)
    }

    #[getter]
    fn text(&self) -> &str {
        &self.0.text.text
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.text.name
    }

    /// What is changed in it, as the command line would have it.
    #[getter]
    fn changes(&self) -> Vec<String> {
        self.0.changes.sets.clone()
    }

    /// The same with settings changed, by their names or paths, and with [`ChangeOptions`]. A name that no setting has is
    /// refused, unless another program has more of them.
    #[pyo3(signature = (settings, options, of_another_program=false))]
    fn with_changes(
        &self,
        py: Python<'_>,
        settings: &Bound<'_, PyDict>,
        options: Vec<OsString>,
        of_another_program: bool,
    ) -> PyResult<Experiment> {
        let mut sets = Vec::new();
        let engines = working(py, || of_session(&self.1.session(), true))?;
        for (name, value) in settings {
            let name = name.extract::<String>()?;
            let set = to_toml::set(&name, &value)?;
            if !of_another_program {
                let origin = Origin::CommandLine(format!("--set {set}").into());
                overrides::target(engines.keys(), &name, &origin).map_err(|error| raised(py, &error.into()))?;
            }
            sets.push(set);
        }
        let ChangeOptions { seeds, scale } = working(py, || options::parsed(options))?;
        let source = self.0.clone().with(&Changes { sets, seeds, scale: scale.into(), resolve: false });
        Ok(Experiment(source, self.1.clone()))
    }

    /// The same with a flow list as its workload.
    fn with_list(&self, py: Python<'_>, path: PathBuf) -> PyResult<Experiment> {
        let source = working(py, || self.0.with_list(&path, &of_session(&self.1.session(), true)?))?;
        Ok(Experiment(source, self.1.clone()))
    }

    /// The same with more callables, by the names that settings have for them.
    fn with_calls(&self, py: Python<'_>, calls: &Bound<'_, PyDict>) -> PyResult<Experiment> {
        Ok(Experiment(self.0.clone(), self.1.with(py, calls)?))
    }

    fn plan(&self, py: Python<'_>) -> PyResult<Plan> {
        let plan = working(py, || self.0.plan(&of_session(&self.1.session(), true)?))?;
        Ok(Plan(plan, self.1.clone()))
    }

    /// Writes its flows as a list, as `flowsieve flows` does.
    fn write_flows(&self, py: Python<'_>, path: PathBuf, seed: u64) -> PyResult<()> {
        working(py, || {
            let plan = self.0.plan(&of_session(&self.1.session(), true)?)?;
            bundle::whole_file(&path, Existing::Refuse, |out| export::flows(&plan, seed, out))
        })
    }
}

/// What an experiment asks for, checked: nothing is run yet.
#[pyclass(frozen, module = "flowsieve._flowsieve")]
pub(crate) struct Plan(plan::Plan, Calls);

#[pymethods]
impl Plan {
    /// `flowsieve plan --json`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.0.listing()).map_err(|error| wrong(py, &error.to_string()))
    }

    /// `flowsieve plan`.
    fn text(&self) -> String {
        for_terminal(&self.0.listing().text(), false).into_owned()
    }

    #[getter]
    fn hash(&self) -> String {
        self.0.hash()
    }

    /// The keys of the runs of a shard, such as `3/40`.
    fn shard(&self, py: Python<'_>, shard: &str) -> PyResult<BTreeSet<String>> {
        let shard: Shard =
            shard.parse().map_err(|problem: String| wrong(py, &format!("shard {shard:?}: {problem}")))?;
        Ok(self.0.shard(shard))
    }

    /// Writes it as a bundle, with digests of its result if that is given. A file that is there is replaced if `replace` says so.
    #[pyo3(signature = (path, replace=false, result=None))]
    fn pack(&self, py: Python<'_>, path: PathBuf, replace: bool, result: Option<PathBuf>) -> PyResult<()> {
        working(py, || {
            let result = result.map(ResultDir::open).transpose()?;
            let proof = Proof { commit: Some(flowsieve::COMMIT), result: result.as_ref() };
            bundle::pack_file(&self.0, &proof, &path, Existing::replaced(replace)).map(|_| ())
        })
    }

    /// Makes all runs that are not there, and joins them. `options`: [`RunOptions`].
    #[pyo3(signature = (out, options, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        out: PathBuf,
        options: Vec<OsString>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Outcome> {
        let options: RunOptions = working(py, || options::parsed(options))?;
        let session = self.1.session();
        run(py, &self.0, progress, &session, |show| {
            execute(&self.0, &engines(&options.make, &session)?, &out, options.how(), show)
        })
        .map(Outcome)
    }

    /// Makes these runs alone, into parts. `options`: [`MakeOptions`].
    #[pyo3(signature = (keys, out, options, progress=None))]
    fn run_parts(
        &self,
        py: Python<'_>,
        keys: BTreeSet<String>,
        out: PathBuf,
        options: Vec<OsString>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<usize> {
        let options: MakeOptions = working(py, || options::parsed(options))?;
        let some = self.0.only(&keys).map_err(|error| raised(py, &error))?;
        let session = self.1.session();
        run(py, &some, progress, &session, |show| {
            let engines = engines(&options, &session)?;
            execute_parts(&some, &engines, &out, options.how(), show).map(|made| made.run + made.found)
        })
    }

    /// Joins parts of these folders, and those that are there. `options`: [`JoinOptions`].
    #[pyo3(signature = (out, parts, options, progress=None))]
    fn join(
        &self,
        py: Python<'_>,
        out: PathBuf,
        parts: Vec<PathBuf>,
        options: Vec<OsString>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Outcome> {
        let options: JoinOptions = working(py, || options::parsed(options))?;
        let (missing, how) = (options.missing(), options.how());
        let session = self.1.session();
        run(py, &self.0, progress, &session, |show| {
            joining::join(&self.0, &of_session(&session, true)?, &out, &parts, missing, how, show)
        })
        .map(Outcome)
    }

    /// The keys of the runs that are not in the parts of this folder.
    fn missing(&self, py: Python<'_>, out: PathBuf, replace: bool) -> PyResult<Vec<String>> {
        working(py, || joining::missing(&self.0, &out, replace))
    }

    /// The part of a key out of a folder, as an archive.
    fn archive<'py>(&self, py: Python<'py>, out: PathBuf, key: &str) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &working(py, || joining::archive(&self.0, &out, key))?))
    }

    /// Puts a part out of its archive into a folder; says whether it was whole.
    fn take(&self, py: Python<'_>, out: PathBuf, key: &str, archive: &[u8]) -> PyResult<bool> {
        working(py, || joining::take(&self.0, &out, key, archive))
    }
}

fn engines(options: &MakeOptions, session: &Session) -> Result<Engines, Error> {
    of_session(session, !options.no_guard)
}

/// The engines, with what a session's callables decide.
pub(crate) fn of_session(session: &Session, guard: bool) -> Result<Engines, Error> {
    let packets = Packets::default().with_program(Arc::new(session.clone()));
    let engines = flowsieve_engines::of(if guard { packets } else { packets.without_guard() });
    engines.map(|engines| engines.of_commit(flowsieve::COMMIT).reading(flowsieve::papers::TABLES))
}
