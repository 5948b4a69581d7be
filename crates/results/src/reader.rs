//! Reads a finished result directory.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flowsieve_record::{FlowRow, Series};
use flowsieve_settings::files::MOST_BYTES;

use crate::doctor::{Finding, Severity, findings};
use crate::files::{digest, read_json, read_sealed, write_whole};
use crate::flows::FlowReader;
use crate::manifest::{Manifest, Run, RunInfo, SCHEMA};
use crate::measured::{Measured, Quantity};
use crate::summary::RunFlows;
use crate::{Experiment, ResultError, Summary, series};

/// A finished result, checked to be complete.
#[derive(Clone, Debug)]
pub struct ResultDir {
    path: PathBuf,
    manifest: Manifest,
    summary: Summary,
}

impl ResultDir {
    /// Reads the manifest and the flows of a folder, and computes the statistics.
    pub fn open(path: impl Into<PathBuf>) -> Result<ResultDir, ResultError> {
        let path = path.into();
        let manifest = read_manifest(&path)?;
        check_beside(&path, &manifest)?;
        let mut summary = Summary::new(&manifest.experiment);
        let mut runs_of_point = Vec::new();
        let mut left: Vec<usize> = manifest.experiment.points.iter().map(|point| point.parts.len()).collect();
        let mut misfit = Ok(());
        for_each_run(&path, &manifest, |run, flows| {
            let run_flows = match &run.sketch {
                Some(sketch) => RunFlows::of_sketch(run.seed, sketch.clone(), run.coflows),
                None => RunFlows::of(run.seed, flows, run.coflows),
            };
            runs_of_point.push(run_flows.with_grouped(&run.grouped_coflows));
            left[run.point as usize] -= 1;
            if left[run.point as usize] == 0 && misfit.is_ok() {
                misfit = summary.add_point(std::mem::take(&mut runs_of_point));
            }
        })?;
        misfit.map_err(|why| ResultError::damaged(&path.join("manifest.json"), why))?;
        let result = ResultDir { path, manifest, summary };
        result.run_info()?;
        Ok(result)
    }

    /// From data that has just been written and summarised.
    pub(crate) fn from_parts(path: PathBuf, manifest: Manifest, summary: Summary) -> ResultDir {
        ResultDir { path, manifest, summary }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The experiment, and each run's measurements apart from flows.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The statistics of its flows, by point.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Everything that looks wrong in it, the most important first.
    pub fn findings(&self) -> Vec<Finding> {
        findings(&self.manifest, &self.summary)
    }

    /// Warnings that a reader has to know before trusting its figures: the findings that are more than notes.
    pub fn warnings(&self) -> Vec<Finding> {
        let mut findings = self.findings();
        findings.retain(|finding| finding.severity > Severity::Note);
        findings
    }

    /// These quantities of each run.
    pub fn measured(&self, quantities: Vec<Quantity>) -> Measured {
        Measured::of(quantities, &self.manifest, &self.summary)
    }

    /// Whether `flows.parquet` holds every flow.
    pub fn keeps_all_flows(&self) -> bool {
        self.manifest.experiment.record.is_full()
    }

    /// Time and machine; `None` if `run.json` was not kept.
    pub fn run_info(&self) -> Result<Option<RunInfo>, ResultError> {
        let path = self.path.join("run.json");
        let exists = path.try_exists().map_err(ResultError::io("read", &path))?;
        exists.then(|| read_sealed(&path, SCHEMA)).transpose()
    }

    /// Writes a file next to the result, such as its report, and returns its path. It is complete or absent.
    pub fn write_beside(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf, ResultError> {
        let path = self.path.join(name);
        write_whole(&path, |file| {
            let mut file = BufWriter::new(file);
            write(&mut file).and_then(|()| file.flush()).map_err(ResultError::io("write", &path))
        })?;
        Ok(path)
    }

    /// The samples over time in the first run of each point, by point, in the order of the file. `is_wanted` is called with a
    /// point and a series without values, and selects the series.
    pub fn series(&self, is_wanted: impl FnMut(u32, &Series) -> bool) -> Result<Vec<(u32, Series)>, ResultError> {
        let Some(expected) = &self.manifest.series_blake3 else { return Ok(Vec::new()) };
        let mut firsts: Vec<(u32, u64)> = self.manifest.runs.iter().map(|run| (run.point, run.seed)).collect();
        firsts.dedup_by_key(|(point, _)| *point);
        series::read(&self.path.join("series.parquet"), expected, &firsts, is_wanted)
    }

    /// Hands over the flows of each run, in the order of [`Manifest::runs`], one run in memory at a time.
    pub fn for_each_run(&self, each: impl FnMut(&Run, Vec<FlowRow>)) -> Result<(), ResultError> {
        for_each_run(&self.path, &self.manifest, each)
    }
}

/// Refuses a folder whose result has another model than an experiment. A folder without a result is accepted.
pub fn refuse_other_model(folder: &Path, experiment: &Experiment) -> Result<(), ResultError> {
    /// The relevant part of a manifest.
    #[derive(serde::Deserialize)]
    struct Head {
        experiment: Versions,
    }
    #[derive(serde::Deserialize)]
    struct Versions {
        versions: std::collections::BTreeMap<String, String>,
    }
    let path = folder.join("manifest.json");
    if !path.try_exists().map_err(ResultError::io("read", &path))? {
        return Ok(());
    }
    let head: Head = read_json(&path, SCHEMA)?;
    let model =
        |versions: &std::collections::BTreeMap<String, String>| versions.get("model").cloned().unwrap_or_default();
    let (found, expected) = (model(&head.experiment.versions), model(&experiment.versions));
    if found == expected { Ok(()) } else { Err(ResultError::Model { path, found, expected }) }
}

/// Checks that the files that nothing else reads are the written ones.
fn check_beside(folder: &Path, manifest: &Manifest) -> Result<(), ResultError> {
    for (name, expected) in &manifest.beside_blake3 {
        let plain = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '.');
        let path = folder.join(if plain { name } else { "manifest.json" });
        if !plain || digest(&path, MOST_BYTES)? != *expected {
            return Err(ResultError::damaged(&path, "its bytes are not those that were written"));
        }
    }
    Ok(())
}

fn for_each_run(path: &Path, manifest: &Manifest, mut each: impl FnMut(&Run, Vec<FlowRow>)) -> Result<(), ResultError> {
    let path = path.join("flows.parquet");
    let rows = manifest.runs.iter().map(|run| run.flows).fold(0, u64::saturating_add);
    let mut flows = FlowReader::open(&path, &manifest.flows_blake3, rows)?;
    for run in &manifest.runs {
        each(run, flows.take_run(run.point, run.seed, run.flows)?);
    }
    Ok(())
}

fn read_manifest(folder: &Path) -> Result<Manifest, ResultError> {
    if folder.exists() && !folder.is_dir() {
        let why = "this is a file, and a result is a folder";
        return Err(ResultError::Unfinished { path: folder.into(), why: why.into() });
    }
    let path = folder.join("manifest.json");
    let exists = |path: &Path| path.try_exists().map_err(ResultError::io("read", path));
    if !exists(&path)? {
        let why = if exists(&folder.join("parts"))? {
            "the experiment has not finished; run it again into this folder to go on"
        } else {
            "this is not a result: it has no manifest.json"
        };
        return Err(ResultError::Unfinished { path: folder.into(), why: why.into() });
    }
    let manifest: Manifest = read_sealed(&path, SCHEMA)?;
    let points = &manifest.experiment.points;
    let planned = points.iter().zip(0..).flat_map(|(point, at)| point.parts.iter().map(move |part| (at, part.seed)));
    if !manifest.runs.iter().map(|run| (run.point, run.seed)).eq(planned) {
        return Err(ResultError::damaged(&path, "its runs are not those of its points"));
    }
    if points.iter().any(|point| point.parts.is_empty()) {
        return Err(ResultError::damaged(&path, "a point without a run"));
    }
    if let Some(fault) = manifest.runs.iter().filter_map(|run| run.sketch.as_ref()).find_map(|sketch| sketch.fault()) {
        return Err(ResultError::damaged(&path, fault));
    }
    let full = manifest.experiment.record.is_full();
    if !full && manifest.runs.iter().any(|run| run.sketch.is_none()) {
        return Err(ResultError::damaged(&path, "a run without its sketch, and its flows are not all there"));
    }
    Ok(manifest)
}
