//! The parts of a result: each a run, kept completely or not at all, with checksums of all that it holds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use flowsieve_record::{FlowRow, PointResult};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::ResultWriter;
use crate::decode::MOST_TABLE_BYTES;
use crate::files::{digest, partial_folder, read_sealed, write_sealed, write_whole};
use crate::flows::{FlowColumns, FlowReader, FlowWriter};
use crate::manifest::{PartId, RUN_SCHEMA, Record, SAMPLE};
use crate::trace::kept::{self, KeptTrace, TRACE};
use crate::{FlowSketch, ResultError};

/// The description of a part without its flows.
pub(super) const POINT: &str = "point.json";
/// The flows of a part.
pub(super) const FLOWS: &str = "flows.parquet";

/// `point.json` of a part.
#[derive(Serialize, Deserialize)]
pub(super) struct Part {
    schema: u32,
    key: String,
    /// Versions of the programs that made it, by name. Earlier parts have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) versions: BTreeMap<String, String>,
    pub(super) seed: u64,
    /// Rows of its `flows.parquet`.
    pub(super) flows: u64,
    flows_blake3: String,
    /// Whether these rows have columns of steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) steps: bool,
    /// Whether these rows have the column of waits for a first answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unanswered: bool,
    /// Whether these rows have the column of times by rates alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) rates: bool,
    /// Whether these rows have the column of waits for timers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) timed_out: bool,
    /// Whether these rows have the column of flows that were given up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) given_up: bool,
    /// All of its flows, if these rows are not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sketch: Option<FlowSketch>,
    /// The files of its packet trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) trace: Vec<KeptTrace>,
    pub(super) measured: PointResult,
}

impl Part {
    /// Reads the part of this key from its folder. A part that is damaged, or of another schema, is an error.
    pub(super) fn open(folder: &Path, key: &str) -> Result<(Part, FlowReader), ResultError> {
        let path = folder.join(POINT);
        let part: Part = read_sealed(&path, RUN_SCHEMA)?;
        if part.key != key {
            return Err(ResultError::damaged(&path, format!("of key {:?}", part.key)));
        }
        let flows = FlowReader::open(&folder.join(FLOWS), &part.flows_blake3, part.flows)?;
        kept::check(&folder.join(TRACE), &part.trace)?;
        Ok((part, flows))
    }

    /// The paths of its files, relative to its folder.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let traces = self.trace.iter().map(|file| Path::new(TRACE).join(&file.name));
        [POINT, FLOWS].into_iter().map(PathBuf::from).chain(traces).collect()
    }
}

impl ResultWriter {
    /// Whether the part of this key exists. A part that is damaged, or of another schema, is an error.
    pub fn finished(&self, key: &str) -> Result<bool, ResultError> {
        let folder = self.part_folder(key)?;
        if !folder.try_exists().map_err(ResultError::io("read", &folder))? {
            return Ok(false);
        }
        Part::open(&folder, key).map(|_| true)
    }

    /// Removes the part of this key, such as a damaged one.
    pub fn remove_part(&self, key: &str) -> Result<(), ResultError> {
        let folder = self.part_folder(key)?;
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(ResultError::io("remove", &folder)(error)),
            _ => Ok(()),
        }
    }

    /// Keeps the result of one run. An existing part stays: the same key means the same result.
    pub fn write_part(&self, key: &str, seed: u64, result: &PointResult) -> Result<(), ResultError> {
        self.begin_part(key)?.finish(seed, result.clone())
    }

    /// Begins to keep a run that will be made.
    pub fn begin_part(&self, key: &str) -> Result<PartWriter<'_>, ResultError> {
        let folder = self.part_folder(key)?;
        let partial = self.partial_part()?;
        Ok(PartWriter { writer: self, key: key.into(), folder, partial })
    }

    /// A folder in which a part can grow.
    pub(super) fn partial_part(&self) -> Result<TempDir, ResultError> {
        partial_folder().tempdir_in(&self.parts).map_err(ResultError::io("create a folder in", &self.parts))
    }

    pub(super) fn part(&self, id: &PartId) -> Result<(Part, FlowReader), ResultError> {
        let folder = self.part_folder(&id.key)?;
        let (part, reader) = Part::open(&folder, &id.key)?;
        if part.seed != id.seed {
            return Err(ResultError::damaged(&folder, format!("seed {}, expected {}", part.seed, id.seed)));
        }
        Ok((part, reader))
    }

    pub(super) fn part_folder(&self, key: &str) -> Result<PathBuf, ResultError> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if key.is_empty() || key.len() > 128 || !key.chars().all(plain) {
            return Err(ResultError::invalid(format!("{key:?} cannot be the key of a part")));
        }
        Ok(self.parts.join(key))
    }

    /// Moves a folder in which a part has grown to its place. An existing part stays if it is complete.
    pub(super) fn place(&self, partial: &Path, key: &str) -> Result<(), ResultError> {
        let folder = self.part_folder(key)?;
        match fs::rename(partial, &folder) {
            Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {
                Part::open(&folder, key).map(|_| ())
            }
            done => done.map_err(ResultError::io("write", &folder)),
        }
    }

    /// The rows of these that are kept, and the sketch of all of them if not all are kept.
    fn kept<'a>(&self, flows: &'a [FlowRow]) -> (Cow<'a, [FlowRow]>, Option<FlowSketch>) {
        let sketch = || Some(FlowSketch::of(flows, &self.cuts));
        match self.record {
            Record::Full => (Cow::Borrowed(flows), None),
            Record::Sample => {
                let each = flows.len().div_ceil(SAMPLE).max(1);
                (flows.iter().step_by(each).cloned().collect::<Vec<_>>().into(), sketch())
            }
            Record::None => (Cow::Borrowed(&[]), sketch()),
        }
    }
}

/// A part that grows in a folder of its own, and is moved to its place once it is complete.
pub struct PartWriter<'a> {
    writer: &'a ResultWriter,
    key: String,
    folder: PathBuf,
    partial: TempDir,
}

impl PartWriter<'_> {
    /// A folder for the run's packet trace, empty and without another writer.
    pub fn trace_folder(&self) -> Result<PathBuf, ResultError> {
        let path = self.partial.path().join(TRACE);
        fs::create_dir(&path).map_err(ResultError::io("create the folder", &path))?;
        Ok(path)
    }

    /// Keeps the run's result and trace.
    pub fn finish(self, seed: u64, result: PointResult) -> Result<(), ResultError> {
        let PartWriter { writer, key, folder, partial } = self;
        if let Some(fault) = result.fault() {
            return Err(ResultError::invalid(fault));
        }
        let (rows, sketch) = writer.kept(&result.flows);
        let flows = partial.path().join(FLOWS);
        let has_steps = rows.iter().any(|row| row.steps.is_some());
        let unanswered = rows.iter().any(|row| row.unanswered_us > 0);
        let rates = rows.iter().any(|row| row.rates_only_ps.is_some());
        let timed_out = rows.iter().any(|row| row.timers_us > 0);
        let given_up = rows.iter().any(|row| row.given_up > 0);
        let columns = FlowColumns { joined: None, steps: has_steps, unanswered, rates, timed_out, given_up };
        write_whole(&flows, |file| {
            let mut flows = FlowWriter::new(file, &folder.join(FLOWS), columns)?;
            flows.write(0, seed, &rows)?;
            flows.finish()
        })?;
        let count = rows.len() as u64;
        drop(rows);
        let part = Part {
            schema: RUN_SCHEMA,
            key: key.clone(),
            versions: writer.versions.clone(),
            seed,
            flows: count,
            flows_blake3: digest(&flows, MOST_TABLE_BYTES)?,
            steps: has_steps,
            unanswered,
            rates,
            timed_out,
            given_up,
            sketch,
            trace: kept::list(&partial.path().join(TRACE))?,
            measured: result.without_flows(),
        };
        write_sealed(&partial.path().join(POINT), &part)?;
        writer.place(partial.path(), &key)
    }
}
