//! Results: their folder, and what follows from it.

use crate::calls::Calls;
use crate::errors::{working, wrong};
use crate::experiment::of_session;
use crate::running::run;
use flowsieve::options::{self, CompareOptions, ExportOptions, ReportOptions};
use flowsieve::papers;
use flowsieve_engines::follow::{Which, timelines};
use flowsieve_experiment::verify::plan_of;
use flowsieve_report as report;
use flowsieve_results::ResultDir;
use flowsieve_results::timeline::Timeline;
use flowsieve_settings::files::for_terminal;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ffi::OsString;
use std::path::PathBuf;

/// A finished result in its folder.
#[pyclass(frozen, module = "flowsieve._flowsieve")]
pub(crate) struct Outcome(pub(crate) ResultDir);

#[pymethods]
impl Outcome {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Outcome> {
        working(py, || Ok(ResultDir::open(path)?)).map(Outcome)
    }

    #[getter]
    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    /// The manifest's description of the experiment, as JSON.
    fn experiment(&self, py: Python<'_>) -> PyResult<String> {
        json(py, &self.0.manifest().experiment)
    }

    /// What `flowsieve report DIR` prints.
    fn table(&self, py: Python<'_>) -> PyResult<String> {
        working(py, || Ok(shown(&papers::table(&self.0, &ReportOptions::default().layout(&self.0)?, false)?)))
    }

    /// The same as JSON. `options`: [`ReportOptions`].
    fn data(&self, py: Python<'_>, options: Vec<OsString>) -> PyResult<String> {
        let data = working(py, || {
            let options: ReportOptions = options::parsed(options)?;
            Ok(papers::table_json(&self.0, &options.layout(&self.0)?)?)
        })?;
        json(py, &data)
    }

    /// `flowsieve compare`: as JSON, and as text. `options`: [`CompareOptions`].
    fn compare(
        &self,
        py: Python<'_>,
        value: Option<String>,
        baseline: Option<String>,
        options: Vec<OsString>,
    ) -> PyResult<(String, String)> {
        let compared = working(py, || {
            let options: CompareOptions = options::parsed(options)?;
            options.compared(&self.0, value.as_deref().zip(baseline.as_deref()))
        })?;
        let text: Vec<String> = compared.iter().map(|compared| compared.text(false)).collect();
        Ok((json(py, &compared)?, shown(&text.join("\n"))))
    }

    /// `flowsieve doctor`: as JSON, and as text.
    fn doctor(&self, py: Python<'_>) -> PyResult<(String, String)> {
        Ok((json(py, &report::doctor_json(&self.0))?, shown(&report::doctor(&self.0))))
    }

    /// The plots of `flowsieve export --what figure`, as JSON from which they are drawn.
    #[pyo3(signature = (x=None, y=None, class_=None, at=vec![]))]
    fn figure(
        &self,
        py: Python<'_>,
        x: Option<String>,
        y: Option<String>,
        class_: Option<String>,
        at: Vec<String>,
    ) -> PyResult<String> {
        let plots = working(py, || {
            let asked = report::export::asked(&self.0, x.as_deref(), y.as_deref(), class_.as_deref(), &at);
            Ok(asked.map_err(flowsieve::refused)?.json())
        })?;
        json(py, &plots)
    }

    /// `flowsieve run --follow-flow` for the runs of this result: as JSON, as text, and drawn. `calls`: the callables of its
    /// schemes.
    fn flow(&self, py: Python<'_>, which: &str, calls: &Bound<'_, PyDict>) -> PyResult<(String, String, String)> {
        let which: Which = which.parse().map_err(|problem: String| wrong(py, &format!("flow {which:?}: {problem}")))?;
        let session = Calls::default().with(py, calls)?.session();
        let plan = working(py, || plan_of(&self.0, &of_session(&session, true)?))?;
        let (timelines, svg) = run(py, &plan, None, &session, |show| {
            let timelines = timelines(&plan, &of_session(&session, true)?, &which, show)?;
            let svg = report::flow_svg(&timelines).map_err(flowsieve::refused)?;
            Ok((timelines, svg))
        })?;
        let text: Vec<String> = timelines.iter().map(Timeline::text).collect();
        Ok((json(py, &timelines)?, shown(&text.join("\n")), svg))
    }

    /// Writes report.html and plots.csv, and gives the page's path. `options`: [`ReportOptions`].
    fn report(&self, py: Python<'_>, options: Vec<OsString>) -> PyResult<PathBuf> {
        working(py, || {
            let options: ReportOptions = options::parsed(options)?;
            Ok(papers::write(&self.0, &options.layout(&self.0)?)?)
        })
    }

    /// `flowsieve export`: bytes, of a text unless it is a PDF. `options`: [`ExportOptions`].
    fn export<'py>(&self, py: Python<'py>, options: Vec<OsString>) -> PyResult<Bound<'py, PyBytes>> {
        let written = working(py, || {
            let options: ExportOptions = options::parsed(options)?;
            let mut out = Vec::new();
            flowsieve::export_to(&self.0, &options, &mut out)?;
            Ok(out)
        })?;
        Ok(PyBytes::new(py, &written))
    }
}

/// A text that Python prints.
fn shown(text: &str) -> String {
    for_terminal(text, false).into_owned()
}

pub(crate) fn json(py: Python<'_>, value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| wrong(py, &error.to_string()))
}
