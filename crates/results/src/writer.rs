//! Writes a result directory: parts first, each whole or absent, then what joins them.
//!
//! ```text
//! parts/KEY/point.json, flows.parquet   one run; found again by a later call with the same key
//! parts/KEY/trace/                      its packet trace, where one was asked for
//! flows.parquet, summary.csv            the experiment's flows and statistics
//! series.parquet, coflows.parquet       what changed over time; coflows, where there are any
//! traces/POINT-SEED/                    the packet traces of its runs: the same files as in the parts, not copies
//! manifest.json                         written last: where it is, the result is complete
//! run.json                              time and machine
//! ```
//!
//! Several processes may write parts at once; one at a time joins them, and has the folder's lock meanwhile.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::files::{PARTIAL, digest, partial, partial_folder, read_json, read_sealed, write_sealed, write_whole};
use crate::flows::{FlowColumns, FlowReader, FlowWriter};
use crate::labels::Labels;
use crate::lock::{JOINING, LockFile};
use crate::manifest::{EXACT, Experiment, Manifest, PartId, RUN_SCHEMA, Record, Run, RunInfo, SAMPLE, SCHEMA};
use crate::summary::RunFlows;
use crate::trace::kept::{self, KeptTrace, TRACE, TRACES};
use crate::{
    CoflowStats, FlowRow, FlowSketch, GroupedCoflows, PointResult, ResultDir, ResultError, Summary, coflows, series,
    summary_csv,
};

/// `point.json` of a part.
#[derive(Serialize, Deserialize)]
struct Part {
    schema: u32,
    key: String,
    seed: u64,
    /// Rows of its `flows.parquet`.
    flows: u64,
    flows_blake3: String,
    /// Whether these rows have columns of steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    steps: bool,
    /// All of its flows, where these rows are not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sketch: Option<FlowSketch>,
    /// The files of its packet trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trace: Vec<KeptTrace>,
    measured: PointResult,
}

/// What a result may hold beside its manifest and parts, whoever wrote it.
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

/// Locked, beside the folder of parts, by all who write parts.
const PARTS_IN_USE: &str = ".parts.lock";

/// A result directory that is being written.
#[derive(Clone, Debug)]
pub struct ResultWriter {
    path: PathBuf,
    parts: PathBuf,
    record: Record,
    /// Where sketches are cut.
    cuts: Vec<u64>,
    /// Tells others that parts grow here.
    _in_use: Arc<LockFile>,
}

impl ResultWriter {
    /// Takes a new or empty folder, or one with an earlier result or its parts, and sees whether it can be written.
    /// Whatever an interrupted process left half-written is removed.
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
            return Err(ResultError::Occupied { path, why: "it holds something else than results".into() });
        }
        fs::create_dir_all(&parts).map_err(ResultError::io("create the folder", &parts))?;
        partial().tempfile_in(&parts).map_err(ResultError::io("write into", &parts))?;
        let in_use = LockFile::open(&parts.with_file_name(PARTS_IN_USE))?;
        // What others write is not what a killed process left.
        if in_use.try_alone()? {
            for folder in [&path, &parts] {
                remove_partial(folder)?;
            }
        }
        in_use.share()?;
        Ok(ResultWriter { path, parts, record: Record::Full, cuts: Vec::new(), _in_use: Arc::new(in_use) })
    }

    /// Says which flows its parts keep, and at which sizes sketches are cut: the experiment's [`Experiment::cuts`]. A part's
    /// key has to name both, unless all flows are kept.
    pub fn keeping(self, record: Record, cuts: Vec<u64>) -> ResultWriter {
        ResultWriter { record, cuts, ..self }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the part of this key is there. A part that is damaged, or of another schema, is an error.
    pub fn finished(&self, key: &str) -> Result<bool, ResultError> {
        let folder = self.part_folder(key)?;
        if !folder.try_exists().map_err(ResultError::io("read", &folder))? {
            return Ok(false);
        }
        self.open_part(key).map(|_| true)
    }

    /// Removes the part of this key, such as a damaged one.
    pub fn remove_part(&self, key: &str) -> Result<(), ResultError> {
        let folder = self.part_folder(key)?;
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(ResultError::io("remove", &folder)(error)),
            _ => Ok(()),
        }
    }

    /// Keeps the result of one run. Where its part is already there, that one stays: the same key means the same
    /// result.
    pub fn write_part(&self, key: &str, seed: u64, result: &PointResult) -> Result<(), ResultError> {
        self.begin_part(key)?.finish(seed, result)
    }

    /// Begins to keep a run that will be made.
    pub fn begin_part(&self, key: &str) -> Result<PartWriter<'_>, ResultError> {
        let folder = self.part_folder(key)?;
        let created = partial_folder().tempdir_in(&self.parts);
        let partial = created.map_err(ResultError::io("create the folder", &folder))?;
        Ok(PartWriter { writer: self, key: key.into(), folder, partial })
    }

    /// Makes the result of the experiment out of its parts, all of which have to be there. Replaces what an earlier
    /// call joined; the parts stay.
    pub fn join(&self, experiment: Experiment) -> Result<ResultDir, ResultError> {
        if let Some(point) = experiment.points.iter().find(|point| point.parts.is_empty()) {
            return Err(ResultError::invalid(format!("a point of the scheme {:?} has no run", point.scheme)));
        }
        let _joining = LockFile::join(&self.path)?;
        let manifest_path = self.path.join("manifest.json");
        // Without its manifest, whatever else is there is not taken for a result.
        match fs::remove_file(&manifest_path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(ResultError::io("replace", &manifest_path)(error));
            }
            _ => {}
        }
        let (cuts, coflow_groups) = (experiment.cuts(), experiment.coflow_groups());
        let (mut coflows_by_run, mut series_by_run, mut traces) = (Vec::new(), Vec::new(), Vec::new());
        let flows_path = self.path.join("flows.parquet");
        let columns = FlowColumns { joined: Some(Labels::of(&experiment)), steps: self.any_has_steps(&experiment)? };
        let (runs, summary) = write_whole(&flows_path, |file| {
            let mut writer = FlowWriter::new(file, &flows_path, columns)?;
            let (mut runs, mut summary) = (Vec::new(), Summary::new(&experiment));
            for (index, point) in experiment.points.iter().enumerate() {
                let index = u32::try_from(index).map_err(ResultError::invalid)?;
                let parts = point.parts.iter().map(|id| self.part(id)).collect::<Result<Vec<_>, _>>()?;
                for (id, (part, _)) in point.parts.iter().zip(&parts).filter(|(_, (part, _))| !part.trace.is_empty()) {
                    traces.push((format!("{index}-{}", id.seed), self.parts.join(&id.key), part.trace.clone()));
                }
                // One point's runs are summarised alike.
                let sketched = parts.iter().any(|(part, _)| part.sketch.is_some() || part.flows > EXACT);
                let mut summarised = Vec::new();
                for (mut part, mut reader) in parts {
                    let rows = std::mem::take(&mut part.measured.coflows);
                    let coflows = CoflowStats::of(&rows);
                    let grouped_coflows = GroupedCoflows::of(&rows, &coflow_groups, &experiment.coflow_classes);
                    coflows_by_run.push((index, part.seed, rows));
                    let series = std::mem::take(&mut part.measured.series);
                    let claimed_series =
                        experiment.claims.iter().filter_map(|claim| claim.of_series(&series)).collect();
                    series_by_run.push((index, part.seed, series));
                    let flows = reader.take_part(part.flows)?;
                    writer.write(index, part.seed, &flows)?;
                    let sketch = part.sketch.or_else(|| sketched.then(|| FlowSketch::of(&flows, &cuts)));
                    let run_flows = match &sketch {
                        Some(sketch) => RunFlows::of_sketch(part.seed, sketch.clone(), coflows),
                        None => RunFlows::of(part.seed, &flows, coflows),
                    };
                    summarised.push(run_flows.with_grouped(&grouped_coflows));
                    runs.push(Run {
                        point: index,
                        seed: part.seed,
                        flows: part.flows,
                        sketch,
                        coflows,
                        grouped_coflows,
                        claimed_series,
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
        let adapted = series_by_run.iter().flat_map(|(.., all)| all).any(|series| series.queue().is_some());
        let series_blake3 = adapted.then(|| digest(&series_path)).transpose()?;
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
                beside_blake3.insert(name.to_owned(), digest(&path)?);
            }
        }
        let flows_blake3 = digest(&flows_path)?;
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

    /// The rows that are kept of these, and the sketch of all of them if that is not all.
    fn kept<'a>(&self, flows: &'a [FlowRow]) -> (Cow<'a, [FlowRow]>, Option<FlowSketch>) {
        let sketch = || Some(FlowSketch::of(flows, &self.cuts));
        match self.record {
            Record::Full => (Cow::Borrowed(flows), None),
            Record::Sample => {
                let each = flows.len().div_ceil(SAMPLE).max(1);
                (flows.iter().step_by(each).copied().collect::<Vec<_>>().into(), sketch())
            }
            Record::None => (Cow::Borrowed(&[]), sketch()),
        }
    }

    /// Whether a run of the experiment has measured steps.
    fn any_has_steps(&self, experiment: &Experiment) -> Result<bool, ResultError> {
        /// What of a part is looked at.
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            steps: bool,
        }
        for id in experiment.points.iter().flat_map(|point| &point.parts) {
            let head: Head = read_json(&self.part_folder(&id.key)?.join("point.json"), RUN_SCHEMA)?;
            if head.steps {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn part(&self, id: &PartId) -> Result<(Part, FlowReader), ResultError> {
        let (part, reader) = self.open_part(&id.key)?;
        if part.seed != id.seed {
            let why = format!("seed {}, expected {}", part.seed, id.seed);
            return Err(ResultError::damaged(&self.part_folder(&id.key)?, why));
        }
        Ok((part, reader))
    }

    fn part_folder(&self, key: &str) -> Result<PathBuf, ResultError> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if key.is_empty() || key.len() > 128 || !key.chars().all(plain) {
            return Err(ResultError::invalid(format!("{key:?} cannot be the key of a part")));
        }
        Ok(self.parts.join(key))
    }

    fn open_part(&self, key: &str) -> Result<(Part, FlowReader), ResultError> {
        let folder = self.part_folder(key)?;
        let path = folder.join("point.json");
        let part: Part = read_sealed(&path, RUN_SCHEMA)?;
        if part.key != key {
            return Err(ResultError::damaged(&path, format!("of key {:?}", part.key)));
        }
        let flows = FlowReader::open(&folder.join("flows.parquet"), &part.flows_blake3, part.flows)?;
        kept::check(&folder.join(TRACE), &part.trace)?;
        Ok((part, flows))
    }
}

/// A part that grows in a folder of its own, and is in its place once it is whole.
pub struct PartWriter<'a> {
    writer: &'a ResultWriter,
    key: String,
    folder: PathBuf,
    partial: TempDir,
}

impl PartWriter<'_> {
    /// A folder for the run's packet trace, empty and nobody else's.
    pub fn trace_folder(&self) -> Result<PathBuf, ResultError> {
        let path = self.partial.path().join(TRACE);
        fs::create_dir(&path).map_err(ResultError::io("create the folder", &path))?;
        Ok(path)
    }

    /// Keeps the run's result and trace.
    pub fn finish(self, seed: u64, result: &PointResult) -> Result<(), ResultError> {
        let PartWriter { writer, key, folder, partial } = self;
        if let Some(fault) = result.fault() {
            return Err(ResultError::invalid(fault));
        }
        let (rows, sketch) = writer.kept(&result.flows);
        let flows = partial.path().join("flows.parquet");
        let has_steps = rows.iter().any(|row| row.steps.is_some());
        let columns = FlowColumns { joined: None, steps: has_steps };
        write_whole(&flows, |file| {
            let mut flows = FlowWriter::new(file, &folder.join("flows.parquet"), columns)?;
            flows.write(0, seed, &rows)?;
            flows.finish()
        })?;
        let part = Part {
            schema: RUN_SCHEMA,
            key: key.clone(),
            seed,
            flows: rows.len() as u64,
            flows_blake3: digest(&flows)?,
            steps: has_steps,
            sketch,
            trace: kept::list(&partial.path().join(TRACE))?,
            measured: result.without_flows(),
        };
        write_sealed(&partial.path().join("point.json"), &part)?;
        match fs::rename(partial.path(), &folder) {
            Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {
                writer.open_part(&key).map(|_| ())
            }
            done => done.map_err(ResultError::io("write", &folder)),
        }
    }
}

/// Whether a folder holds what no interrupted writer of a result leaves.
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

/// Removes what a killed process left.
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
