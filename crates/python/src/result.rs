//! Results: their folder, and what follows from it.

use crate::errors::{not_there, working, wrong};
use flowsieve_experiment::Error;
use flowsieve_files::for_terminal;
use flowsieve_report as report;
use flowsieve_results::ResultDir;
use pyo3::prelude::*;
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
    #[pyo3(signature = (x=None))]
    fn table(&self, py: Python<'_>, x: Option<String>) -> PyResult<String> {
        working(py, || Ok(shown(&report::table(&self.0, &self.layout(x.as_deref())?, false))))
    }

    /// The same as JSON.
    #[pyo3(signature = (x=None))]
    fn data(&self, py: Python<'_>, x: Option<String>) -> PyResult<String> {
        let data = working(py, || Ok(report::table_json(&self.0, &self.layout(x.as_deref())?)))?;
        json(py, &data)
    }

    /// `flowsieve compare`: as JSON, and as text.
    #[pyo3(signature = (value=None, baseline=None, vary=None))]
    fn compare(
        &self,
        py: Python<'_>,
        value: Option<String>,
        baseline: Option<String>,
        vary: Option<String>,
    ) -> PyResult<(String, String)> {
        let pair = value.as_deref().zip(baseline.as_deref());
        let compared = working(py, || Ok(report::compared(&self.0, vary.as_deref(), pair)?))?;
        let text: Vec<String> = compared.iter().map(|compared| compared.text(false)).collect();
        Ok((json(py, &compared)?, shown(&text.join("\n"))))
    }

    /// `flowsieve doctor`: as JSON, and as text.
    fn doctor(&self, py: Python<'_>) -> PyResult<(String, String)> {
        Ok((json(py, &report::doctor_json(&self.0))?, shown(&report::doctor(&self.0))))
    }

    /// Writes report.html and plots.csv, and gives the page's path.
    #[pyo3(signature = (x=None))]
    fn report(&self, py: Python<'_>, x: Option<String>) -> PyResult<PathBuf> {
        working(py, || Ok(report::write(&self.0, &self.layout(x.as_deref())?)?))
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
        let asked = || {
            Ok(report::export::asked(&self.0, x.as_deref(), y.as_deref(), class_.as_deref(), &at).map(|it| it.json()))
        };
        match working(py, asked)? {
            Ok(plots) => json(py, &plots),
            Err(error) => Err(not_there(py, &shown(&error.to_string()))),
        }
    }

    /// `flowsieve export --format csv`.
    #[pyo3(signature = (x=None, y=None, class_=None))]
    fn export(&self, py: Python<'_>, x: Option<String>, y: Option<String>, class_: Option<String>) -> PyResult<String> {
        working(py, || {
            let layout = self.layout(x.as_deref())?;
            let selection = report::export::Selection::new(&self.0, y.as_deref(), class_.as_deref())
                .map_err(|error| Error::Input(error.to_string()))?;
            let mut out = Vec::new();
            report::export::csv(&self.0, &layout, &selection, &mut out).map_err(Error::Output)?;
            Ok(String::from_utf8_lossy(&out).into_owned())
        })
    }
}

impl Outcome {
    fn layout(&self, x: Option<&str>) -> Result<report::Layout, Error> {
        Ok(report::Layout::new(&self.0.manifest().experiment, x)?)
    }
}

/// A text that Python prints.
fn shown(text: &str) -> String {
    for_terminal(text, false).into_owned()
}

pub(crate) fn json(py: Python<'_>, value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| wrong(py, &error.to_string()))
}
