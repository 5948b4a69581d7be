//! What a result has to be when it is made again, as digests: of its files, and of the columns and rows of its tables, so that it
//! can be said what differs.

use std::collections::BTreeMap;

use blake3::Hasher;
use flowsieve_record::{Cell, Column, FlowRow};
use flowsieve_settings::files::MOST_BYTES;
use serde::{Deserialize, Serialize};

use crate::files::{digest, read_text};
use crate::manifest::{Experiment, Manifest};
use crate::{ResultDir, ResultError};

/// The name of the version that says which commit made a result. Equal runs may differ in it alone.
pub const COMMIT: &str = "commit";

/// The files whose bytes a result has on every machine, if it has them.
const FILES: [&str; 4] = ["coflows.parquet", "flows.parquet", "series.parquet", "summary.csv"];

/// The bytes of a digest of a column or a row, in hexadecimal: they tell accidents, and a file has a whole one.
const SHORT: usize = 16;

/// The most differences of one kind in one file that are named.
const NAMED: usize = 8;

/// Digests of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digests {
    /// Versions of the programs that made it, the commit among them.
    pub versions: BTreeMap<String, String>,
    /// BLAKE3 of its files, by name. That of `manifest.json` is of what it says, apart from versions, the names of runs, which
    /// follow from these, and digests of other files.
    pub files: BTreeMap<String, String>,
    /// Digests of the columns and rows of its tables, by the table's file.
    pub tables: BTreeMap<String, Table>,
}

/// Digests of a table's columns and rows, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    columns: BTreeMap<String, String>,
    rows: BTreeMap<String, String>,
}

/// A table's hashes as they grow.
#[derive(Default)]
struct Hashes {
    columns: BTreeMap<String, Hasher>,
    rows: BTreeMap<String, Hasher>,
}

impl Hashes {
    /// Adds the cells of a column in a row, or in a group of rows that has one name.
    fn add(&mut self, column: &str, row: &str, cells: &[u8]) {
        self.columns.entry(column.to_owned()).or_default().update(cells);
        self.rows.entry(row.to_owned()).or_default().update(cells);
    }

    fn done(self) -> Table {
        let short = |hashes: BTreeMap<String, Hasher>| {
            hashes.into_iter().map(|(name, hash)| (name, hash.finalize().to_hex()[..SHORT].to_owned())).collect()
        };
        Table { columns: short(self.columns), rows: short(self.rows) }
    }
}

impl Experiment {
    /// The same without the commit of the program that made it.
    pub fn without_commit(&self) -> Experiment {
        let mut experiment = self.clone();
        experiment.versions.remove(COMMIT);
        experiment
    }

    fn run_in_words(&self, point: u32, seed: u64) -> String {
        let point = self.points.get(point as usize).map(|point| point.in_words()).unwrap_or_default();
        format!("{point}, seed {seed}")
    }
}

impl Digests {
    /// Those of a result.
    ///
    /// # Errors
    /// If its files cannot be read.
    pub fn of(result: &ResultDir) -> Result<Digests, ResultError> {
        let (manifest, path) = (result.manifest(), result.path());
        let experiment = &manifest.experiment;
        let mut files = BTreeMap::new();
        for name in FILES.into_iter().filter(|name| path.join(name).exists()) {
            files.insert(name.to_owned(), digest(&path.join(name), MOST_BYTES)?);
        }
        let mut said = Manifest {
            flows_blake3: String::new(),
            series_blake3: None,
            beside_blake3: BTreeMap::new(),
            ..manifest.clone()
        };
        said.experiment.versions.clear();
        said.experiment.points.iter_mut().flat_map(|point| &mut point.parts).for_each(|part| part.key.clear());
        let said = serde_json::to_vec(&said).map_err(ResultError::invalid)?;
        files.insert("manifest.json".to_owned(), blake3::hash(&said).to_hex().to_string());

        let mut flows = Hashes::default();
        let columns = FlowRow::columns();
        result.for_each_run(|run, rows| {
            let name = experiment.run_in_words(run.point, run.seed);
            for column in &columns {
                flows.add(column.name, &name, &cells(column, &rows));
            }
        })?;
        let mut measured = Hashes::default();
        for point in &experiment.points {
            for (name, value) in &point.settings {
                measured.add(name, &point.in_words(), value.as_bytes());
            }
        }
        for run in &manifest.runs {
            let name = experiment.run_in_words(run.point, run.seed);
            let said = serde_json::to_value(run).map_err(ResultError::invalid)?;
            add_fields(&mut measured, "", &name, &said);
        }
        let tables =
            [("flows.parquet", flows.done()), ("manifest.json", measured.done()), ("summary.csv", summary(result)?)];
        let tables = tables.map(|(name, table)| (name.to_owned(), table)).into();
        Ok(Digests { versions: experiment.versions.clone(), files, tables })
    }

    /// Where another result differs, a sentence each; none if their bytes are equal.
    pub fn differences(&self, other: &Digests) -> Vec<String> {
        let names = |all: &BTreeMap<String, String>| all.keys().cloned().collect::<Vec<_>>().join(", ");
        let mut said = Vec::new();
        if self.files.keys().ne(other.files.keys()) {
            said.push(format!("its files are {}; expected {}", names(&other.files), names(&self.files)));
        }
        let none = Table::default();
        for (name, digest) in &self.files {
            if other.files.get(name).is_none_or(|found| found == digest) {
                continue;
            }
            let here = self.tables.get(name).unwrap_or(&none);
            let there = other.tables.get(name).unwrap_or(&none);
            let columns = unequal(&here.columns, &there.columns);
            let rows = unequal(&here.rows, &there.rows);
            said.push(match (columns.is_empty(), rows.is_empty()) {
                (true, true) if *here == none => format!("{name}: its bytes differ"),
                (true, true) => {
                    format!("{name}: its bytes differ, and its columns are equal: it is written in another way")
                }
                _ => {
                    let columns = some(&columns, here.columns.len(), "columns");
                    format!("{name}: {columns} in {}", some(&rows, here.rows.len(), "rows"))
                }
            });
        }
        said
    }

    /// Names the digests together, so that a damaged one is noticed.
    pub fn seal(&self) -> String {
        // Texts by name can always be written.
        blake3::hash(&serde_json::to_vec(self).unwrap_or_default()).to_hex().to_string()
    }
}

/// The names that two maps have not in common with equal digests.
fn unequal(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<String> {
    let lacks =
        |map: &BTreeMap<String, String>, name: &str, digest: &str| map.get(name).is_none_or(|found| found != digest);
    let mut names: Vec<String> =
        one.iter().filter(|(name, digest)| lacks(other, name, digest)).map(|(name, _)| name.clone()).collect();
    names.extend(other.keys().filter(|name| !one.contains_key(*name)).cloned());
    names
}

/// Names some of `all`, or says that it is all.
fn some(names: &[String], all: usize, what: &str) -> String {
    if names.len() > NAMED && names.len() == all {
        return format!("all {all} {what}");
    }
    let more = names.len().saturating_sub(NAMED);
    let named = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// The cells of a column as bytes, so that other cells are other bytes.
fn cells(column: &Column<FlowRow>, rows: &[FlowRow]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rows.len() * 8);
    let mut whole = |cell: Option<u64>| match cell {
        Some(value) => bytes.extend_from_slice(&[[1].as_slice(), &value.to_le_bytes()].concat()),
        None => bytes.push(0),
    };
    for row in rows {
        match column.cell {
            Cell::U8(get, _) => whole(Some(get(row).into())),
            Cell::U32(get, _) => whole(Some(get(row).into())),
            Cell::U64(get, _) => whole(Some(get(row))),
            Cell::MaybeU32(get, _) => whole(get(row).map(u64::from)),
            Cell::MaybeU64(get, _) => whole(get(row)),
            Cell::Derived(get) => whole(get(row).map(f64::to_bits)),
            Cell::Step(step, get) => whole(get(row).map(|steps| steps.get(step))),
        }
    }
    bytes
}

/// Adds each field of a run's description as a column; those of an object in it by their path.
fn add_fields(hashes: &mut Hashes, path: &str, row: &str, value: &serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                add_fields(hashes, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, row, value);
            }
        }
        other => hashes.add(path, row, other.to_string().as_bytes()),
    }
}

/// The table of statistics, by scheme, swept values and class.
fn summary(result: &ResultDir) -> Result<Table, ResultError> {
    let path = result.path().join("summary.csv");
    let broken = |error: csv::Error| ResultError::damaged(&path, error);
    let text = read_text(&path)?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().map_err(broken)?.clone();
    let mut hashes = Hashes::default();
    for row in reader.records() {
        let row = row.map_err(broken)?;
        let of =
            |name: &str| names.iter().position(|found| found == name).and_then(|at| row.get(at)).unwrap_or_default();
        let point = of("point").parse().ok().and_then(|point: usize| result.manifest().experiment.points.get(point));
        let point = point.map(|point| point.in_words()).unwrap_or_default();
        let row_name = format!("{point}, {}", of("size_class"));
        for (name, cell) in names.iter().zip(&row) {
            hashes.add(name, &row_name, format!("{cell}\n").as_bytes());
        }
    }
    Ok(hashes.done())
}
