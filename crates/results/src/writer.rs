//! Writes a result directory: parts first, each complete or absent, then the files that join them.
//!
//! ```text
//! parts/KEY/point.json, flows.parquet   one run; found again by a later call with the same key
//! parts/KEY/trace/                      its packet trace, where one was asked for
//! flows.parquet, summary.csv            the experiment's flows and statistics
//! series.parquet, coflows.parquet       what changed over time; coflows, where there are any
//! traces/POINT-SEED/                    the packet traces of its runs: the same files as in the parts, not copies
//! manifest.json                         written last: if it exists, the result is complete
//! run.json                              time and machine
//! ```
//!
//! Several processes may write parts at once. One at a time joins them, and has the folder's lock meanwhile.

mod parts;
mod taking;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::decode::MOST_TABLE_BYTES;
use crate::files::{PARTIAL, digest, partial, read_json, write_sealed, write_whole};
use crate::flows::{FlowColumns, FlowWriter};
use crate::further::Asked;
use crate::labels::Labels;
use crate::lock::{Alone, JOINING, LockFile};
use crate::manifest::{EXACT, Experiment, Manifest, RUN_SCHEMA, Record, Run, RunInfo, SCHEMA};
use crate::summary::RunFlows;
use crate::trace::kept::{self, TRACES};
use crate::{CoflowStats, FlowSketch, GroupedCoflows, ResultDir, ResultError, Summary, coflows, series, summary_csv};

pub use parts::PartWriter;

/// Files that a result may hold in addition to its manifest and parts.
const BESIDE: [&str; 10] = [
    "flows.parquet",
    "coflows.parquet",
    "series.parquet",
    "summary.csv",
    "run.json",
    "report.html",
    "plots.csv",
    TRACES,
    JOINING,
    PARTS_IN_USE,
];

/// Locked, next to the folder of parts, by all processes that write parts.
const PARTS_IN_USE: &str = ".parts.lock";

/// Properties that all parts of an experiment determine together.
#[derive(Default)]
struct Shape {
    /// Whether a run has measured steps.
    steps: bool,
    /// Whether a flow waited for a first answer.
    unanswered: bool,
    /// Whether a run was at flow level.
    rates: bool,
    /// Whether a flow waited for timers.
    timed_out: bool,
    /// Whether a flow was given up.
    given_up: bool,
    /// By point, whether its runs are summarised by sketches: all alike.
    sketched: Vec<bool>,
}

/// A result directory that is being written.
#[derive(Clone, Debug)]
pub struct ResultWriter {
    path: PathBuf,
    parts: PathBuf,
    record: Record,
    /// The sizes at which sketches are cut.
    cuts: Vec<u64>,
    /// The versions of the programs that make its parts.
    versions: BTreeMap<String, String>,
    /// Shows others that parts grow here.
    _in_use: Arc<LockFile>,
}

impl ResultWriter {
    /// Takes a new or empty folder, or one with an earlier result or its parts, and checks that it can be written. Partial
    /// files of an interrupted process are removed.
    pub fn create(path: impl Into<PathBuf>) -> Result<ResultWriter, ResultError> {
        let path = path.into();
        let parts = path.join("parts");
        ResultWriter::create_with_parts(path, parts)
    }

    /// The same, with its parts in a folder that several results share.
    pub fn create_with_parts(path: impl Into<PathBuf>, parts: impl Into<PathBuf>) -> Result<ResultWriter, ResultError> {
        let (path, parts) = (path.into(), parts.into());
        fs::create_dir_all(&path).map_err(ResultError::io("create the folder", &path))?;
        let ours = path.join("parts").is_dir() || path.join("manifest.json").is_file();
        if !ours && holds_others(&path)? {
            return Err(ResultError::Occupied { path, why: "it holds other files than results".into() });
        }
        fs::create_dir_all(&parts).map_err(ResultError::io("create the folder", &parts))?;
        partial().tempfile_in(&parts).map_err(ResultError::io("write into", &parts))?;
        let in_use = LockFile::open(&parts.with_file_name(PARTS_IN_USE))?;
        // Files that others are writing are not left over from a killed process.
        if in_use.try_alone()? {
            for folder in [&path, &parts] {
                remove_partial(folder)?;
            }
        }
        in_use.share()?;
        Ok(ResultWriter {
            path,
            parts,
            record: Record::Full,
            cuts: Vec::new(),
            versions: BTreeMap::new(),
            _in_use: Arc::new(in_use),
        })
    }

    /// Sets properties of its parts: which flows they keep, at which sizes sketches are cut ([`Experiment::cuts`]) and which
    /// versions make them. A part's key has to name the first two, unless all flows are kept.
    pub fn of(self, experiment: &Experiment) -> ResultWriter {
        ResultWriter {
            record: experiment.record,
            cuts: experiment.cuts(),
            versions: experiment.versions.clone(),
            ..self
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the result of the experiment out of its parts; every part has to exist. Replaces an earlier call's result; the
    /// parts stay.
    pub fn join(&self, experiment: Experiment) -> Result<ResultDir, ResultError> {
        if let Some(point) = experiment.points.iter().find(|point| point.parts.is_empty()) {
            return Err(ResultError::invalid(format!("a point of the scheme {:?} has no run", point.scheme)));
        }
        let _joining = Alone::take(&self.path)?;
        let manifest_path = self.path.join("manifest.json");
        // Without a manifest, the other files are not taken for a result.
        match fs::remove_file(&manifest_path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(ResultError::io("replace", &manifest_path)(error));
            }
            _ => {}
        }
        let (cuts, coflow_groups) = (experiment.cuts(), experiment.coflow_groups());
        let (mut coflows_by_run, mut series_by_run, mut traces) = (Vec::new(), Vec::new(), Vec::new());
        let flows_path = self.path.join("flows.parquet");
        let shape = self.shape(&experiment)?;
        let Shape { steps, unanswered, rates, timed_out, given_up, .. } = shape;
        let joined = Some(Labels::of(&experiment));
        let columns = FlowColumns { joined, steps, unanswered, rates, timed_out, given_up };
        let (runs, summary) = write_whole(&flows_path, |file| {
            let mut writer = FlowWriter::new(file, &flows_path, columns)?;
            let (mut runs, mut summary) = (Vec::new(), Summary::new(&experiment));
            for ((index, point), &sketched) in experiment.points.iter().enumerate().zip(&shape.sketched) {
                let index = u32::try_from(index).map_err(ResultError::invalid)?;
                let mut summarised = Vec::new();
                for id in &point.parts {
                    let (mut part, mut reader) = self.part(id)?;
                    if !part.trace.is_empty() {
                        let trace = std::mem::take(&mut part.trace);
                        traces.push((format!("{index}-{}", id.seed), self.parts.join(&id.key), trace));
                    }
                    let rows = std::mem::take(&mut part.measured.coflows);
                    let coflows = CoflowStats::of(&rows);
                    let grouped_coflows = GroupedCoflows::of(&rows, &coflow_groups, &experiment.coflow_classes);
                    coflows_by_run.push((index, part.seed, rows));
                    let series = std::mem::take(&mut part.measured.series);
                    let value =
                        |asked: &Asked| Some((asked.id.clone(), asked.quantity.series.as_ref()?.value(&series)?));
                    let asked_series = experiment.further.asked().iter().filter_map(value).collect();
                    series_by_run.push((index, part.seed, series));
                    let flows = reader.take_part(part.flows)?;
                    writer.write(index, part.seed, &flows)?;
                    let sketch = part.sketch.or_else(|| sketched.then(|| FlowSketch::of(&flows, &cuts)));
                    let run_flows = match &sketch {
                        Some(sketch) => RunFlows::of_sketch(part.seed, sketch.clone(), coflows),
                        None => RunFlows::of(part.seed, flows, coflows),
                    };
                    summarised.push(run_flows.with_grouped(&grouped_coflows));
                    runs.push(Run {
                        point: index,
                        seed: part.seed,
                        flows: part.flows,
                        sketch,
                        coflows,
                        grouped_coflows,
                        asked_series,
                        measured: part.measured,
                    });
                }
                summary.add_point(summarised).map_err(ResultError::invalid)?;
            }
            writer.finish()?;
            Ok((runs, summary))
        })?;
        let series_path = self.path.join("series.parquet");
        let labels = Labels::of(&experiment);
        series::write(&series_path, &series_by_run, &labels)?;
        let sampled = series_by_run.iter().flat_map(|(.., all)| all).any(|series| !series.of.is_empty());
        let series_blake3 = sampled.then(|| digest(&series_path, MOST_TABLE_BYTES)).transpose()?;
        let coflows_path = self.path.join("coflows.parquet");
        if coflows_by_run.iter().any(|(.., rows)| !rows.is_empty()) {
            coflows::write(&coflows_path, &coflows_by_run, &labels)?;
        } else if coflows_path.exists() {
            fs::remove_file(&coflows_path).map_err(ResultError::io("remove", &coflows_path))?;
        }
        kept::join(&self.path, &traces)?;
        let csv_path = self.path.join("summary.csv");
        write_whole(&csv_path, |file| summary_csv::write(file, &csv_path, &experiment, &summary))?;
        let mut beside_blake3 = BTreeMap::new();
        for name in ["coflows.parquet", "series.parquet", "summary.csv"] {
            let path = self.path.join(name);
            if path.exists() {
                beside_blake3.insert(name.to_owned(), digest(&path, MOST_TABLE_BYTES)?);
            }
        }
        let flows_blake3 = digest(&flows_path, MOST_TABLE_BYTES)?;
        let manifest = Manifest { schema: SCHEMA, flows_blake3, series_blake3, beside_blake3, experiment, runs };
        write_sealed(&manifest_path, &manifest)?;
        Ok(ResultDir::from_parts(self.path.clone(), manifest, summary))
    }

    /// Writes `run.json`.
    pub fn write_run(&self, run: &RunInfo) -> Result<(), ResultError> {
        #[derive(Serialize)]
        struct Versioned<'a> {
            schema: u32,
            #[serde(flatten)]
            run: &'a RunInfo,
        }
        write_sealed(&self.path.join("run.json"), &Versioned { schema: SCHEMA, run })
    }

    /// Checks all parts of an experiment before the first is read, so that no more than one has to be held.
    fn shape(&self, experiment: &Experiment) -> Result<Shape, ResultError> {
        /// The relevant part of a part's description.
        #[derive(Deserialize)]
        struct Head {
            flows: u64,
            #[serde(default)]
            steps: bool,
            #[serde(default)]
            unanswered: bool,
            #[serde(default)]
            rates: bool,
            #[serde(default)]
            timed_out: bool,
            #[serde(default)]
            given_up: bool,
            sketch: Option<IgnoredAny>,
        }
        let mut shape = Shape::default();
        for point in &experiment.points {
            let mut sketched = false;
            for id in &point.parts {
                let head: Head = read_json(&self.part_folder(&id.key)?.join(parts::POINT), RUN_SCHEMA)?;
                shape.steps |= head.steps;
                shape.unanswered |= head.unanswered;
                shape.rates |= head.rates;
                shape.timed_out |= head.timed_out;
                shape.given_up |= head.given_up;
                sketched |= head.sketch.is_some() || head.flows > EXACT;
            }
            shape.sketched.push(sketched);
        }
        Ok(shape)
    }
}

/// Whether a folder holds files that no interrupted writer of a result leaves.
fn holds_others(folder: &Path) -> Result<bool, ResultError> {
    for entry in fs::read_dir(folder).map_err(ResultError::io("read", folder))? {
        let name = entry.map_err(ResultError::io("read", folder))?.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(PARTIAL) && !BESIDE.contains(&&*name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the files that a killed process left.
fn remove_partial(folder: &Path) -> Result<(), ResultError> {
    for entry in fs::read_dir(folder).map_err(ResultError::io("read", folder))? {
        let entry = entry.map_err(ResultError::io("read", folder))?;
        if entry.file_name().to_string_lossy().starts_with(PARTIAL) {
            let path = entry.path();
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(ResultError::io("remove", &path))?;
        }
    }
    Ok(())
}
