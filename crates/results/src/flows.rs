//! `flows.parquet`: one row per flow.
//!
//! Columns: only in the joined file point, seed, scheme, load and each swept key; then those of [`FlowRow::columns`], where
//! `class` is `traffic_class` in the joined file. Those of steps are in the file if a run has measured the steps of any flow,
//! that of waits if any flow waited for a first answer, and that of rates if a run was at flow level. Rows are grouped by point, then seed. The file carries no time and
//! no version of a library, so that equal rows make equal bytes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, PrimitiveArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use flowsieve_files::MOST_BYTES;
use flowsieve_record::{Cell, Column, FlowRow, Presence, Step, StepRow};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::WriterProperties;

use crate::ResultError;
use crate::columns;
use crate::decode::{BATCH, Batches, Table};
use crate::files::write_whole;
use crate::labels::Labels;

/// More bytes than a row takes in any file, and than a file has in addition to its rows.
const ROW_BYTES: u64 = 1_000;
const OTHER_BYTES: u64 = 64_000_000;

/// Writes rows to a growing parquet file.
pub(crate) struct FlowWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    path: PathBuf,
    columns: FlowColumns,
}

/// The columns of a file in addition to those of every file.
pub(crate) struct FlowColumns {
    /// A joined file names the point and seed of each row, and describes the point.
    pub(crate) joined: Option<Labels>,
    /// How long a flow was in each step.
    pub(crate) steps: bool,
    /// How long it waited for a first answer.
    pub(crate) unanswered: bool,
    /// How long it took by rates alone.
    pub(crate) rates: bool,
    /// How long it waited for timers.
    pub(crate) timed_out: bool,
    /// Whether it was given up.
    pub(crate) given_up: bool,
}

impl FlowColumns {
    /// The columns of flows that the file has.
    fn of_flows(&self) -> impl Iterator<Item = Column<FlowRow>> {
        FlowRow::columns().into_iter().filter(|column| match column.presence {
            Presence::Always | Presence::Later => true,
            Presence::IfSteps => self.steps,
            Presence::IfUnanswered => self.unanswered,
            Presence::IfRates => self.rates,
            Presence::IfTimedOut => self.timed_out,
            Presence::IfGivenUp => self.given_up,
        })
    }
}

/// The column of classes of flows in a joined file: in a summary a class is a size class.
pub(crate) const TRAFFIC_CLASS: &str = "traffic_class";
/// The same in parts, and in results of schema 1.
pub(crate) const CLASS: &str = "class";

impl<W: Write + Send> FlowWriter<W> {
    /// `path` is what errors name.
    pub(crate) fn new(out: W, path: &Path, columns: FlowColumns) -> Result<FlowWriter<W>, ResultError> {
        let schema = schema(&columns);
        let writer = arrow_writer(out, path, &schema)?;
        Ok(FlowWriter { writer, schema, path: path.into(), columns })
    }

    /// Appends the rows of one run.
    pub(crate) fn write(&mut self, point: u32, seed: u64, rows: &[FlowRow]) -> Result<(), ResultError> {
        for rows in rows.chunks(BATCH) {
            let mut columns = Vec::new();
            if let Some(labels) = &self.columns.joined {
                columns.push(Arc::new(UInt32Array::from_value(point, rows.len())) as ArrayRef);
                columns.push(Arc::new(UInt64Array::from_value(seed, rows.len())));
                columns.extend(labels.columns(std::iter::repeat_n(point, rows.len())));
            }
            columns.extend(self.columns.of_flows().map(|column| values(&column, rows)));
            let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(ResultError::invalid)?;
            self.writer.write(&batch).map_err(ResultError::writing(&self.path))?;
        }
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<(), ResultError> {
        self.writer.close().map_err(ResultError::writing(&self.path))?;
        Ok(())
    }
}

fn arrow_writer<W: Write + Send>(out: W, path: &Path, schema: &SchemaRef) -> Result<ArrowWriter<W>, ResultError> {
    let mut properties =
        WriterProperties::builder().set_created_by("flowsieve".to_string()).set_compression(Compression::SNAPPY);
    // A dictionary of values that are nearly all different takes time and no less room.
    for column in ["flow", "start_ps", "fct_ps", "ideal_ps", "slowdown", "value"] {
        properties = properties.set_column_dictionary_enabled(column.into(), false);
    }
    for rising in ["flow", "start_ps"] {
        properties = properties.set_column_encoding(rising.into(), Encoding::DELTA_BINARY_PACKED);
    }
    properties = properties.set_key_value_metadata(Some(vec![columns::metadata(schema)]));
    let options = ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
    ArrowWriter::try_new_with_options(out, schema.clone(), options).map_err(ResultError::writing(path))
}

/// Writes a whole table at once, with equal bytes for equal rows.
pub(crate) fn write_table(path: &Path, columns: Vec<(Field, ArrayRef)>) -> Result<(), ResultError> {
    write_tables(path, [columns].into_iter())
}

/// The same for tables with equal columns, one after the other; there is at least one.
pub(crate) fn write_tables(
    path: &Path,
    tables: impl Iterator<Item = Vec<(Field, ArrayRef)>>,
) -> Result<(), ResultError> {
    let mut batches = tables.map(|columns| {
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(ResultError::invalid)
    });
    let Some(first) = batches.next().transpose()? else { return Ok(()) };
    write_whole(path, |file| {
        let mut writer = arrow_writer(file, path, &first.schema())?;
        writer.write(&first).map_err(ResultError::writing(path))?;
        for batch in batches {
            writer.write(&batch?).map_err(ResultError::writing(path))?;
        }
        writer.close().map_err(ResultError::writing(path))?;
        Ok(())
    })
}

fn schema(columns: &FlowColumns) -> SchemaRef {
    let mut fields = Vec::new();
    if let Some(labels) = &columns.joined {
        fields.extend([Field::new("point", DataType::UInt32, false), Field::new("seed", DataType::UInt64, false)]);
        fields.extend(labels.fields());
    }
    fields.extend(columns.of_flows().map(|column| {
        let is_joined = columns.joined.is_some();
        let name = if is_joined && column.name == CLASS { TRAFFIC_CLASS } else { column.name };
        let (kind, empty) = kind(column.cell);
        Field::new(name, kind, empty)
    }));
    Arc::new(Schema::new(fields))
}

/// The type of a column, and whether its values may be empty.
fn kind(cell: Cell<FlowRow>) -> (DataType, bool) {
    match cell {
        Cell::U8(..) => (DataType::UInt8, false),
        Cell::U32(..) => (DataType::UInt32, false),
        Cell::U64(..) => (DataType::UInt64, false),
        Cell::MaybeU32(..) => (DataType::UInt32, true),
        Cell::MaybeU64(..) | Cell::Step(..) => (DataType::UInt64, true),
        Cell::Derived(_) => (DataType::Float64, true),
    }
}

fn values(column: &Column<FlowRow>, rows: &[FlowRow]) -> ArrayRef {
    let rows = rows.iter();
    match column.cell {
        Cell::U8(get, _) => Arc::new(UInt8Array::from_iter_values(rows.map(get))),
        Cell::U32(get, _) => Arc::new(UInt32Array::from_iter_values(rows.map(get))),
        Cell::U64(get, _) => Arc::new(UInt64Array::from_iter_values(rows.map(get))),
        Cell::MaybeU32(get, _) => Arc::new(UInt32Array::from_iter(rows.map(get))),
        Cell::MaybeU64(get, _) => Arc::new(UInt64Array::from_iter(rows.map(get))),
        Cell::Derived(get) => Arc::new(Float64Array::from_iter(rows.map(get))),
        Cell::Step(step, get) => {
            Arc::new(UInt64Array::from_iter(rows.map(|row| get(row).map(|steps| steps.get(step)))))
        }
    }
}

/// The batches of a file whose bytes have this digest.
pub(crate) fn open_batches(path: &Path, expected: &str) -> Result<Batches, ResultError> {
    Table::open(path, MOST_BYTES, expected)?.batches()
}

/// Reads the rows of one run after another.
pub(crate) struct FlowReader {
    path: PathBuf,
    batches: Batches,
    /// The rest of the last batch.
    batch: Option<RecordBatch>,
}

impl FlowReader {
    /// Opens a file of `rows` rows whose bytes have this digest. Nothing of it is decoded before that is known, because the
    /// decoder trusts what it reads.
    pub(crate) fn open(path: &Path, expected: &str, rows: u64) -> Result<FlowReader, ResultError> {
        let table = Table::open(path, rows.saturating_mul(ROW_BYTES).saturating_add(OTHER_BYTES), expected)?;
        let found = table.rows();
        if u64::try_from(found) != Ok(rows) {
            return Err(ResultError::damaged(path, format!("{found} flows, expected {rows}")));
        }
        Ok(FlowReader { path: path.into(), batches: table.batches()?, batch: None })
    }

    /// The next `count` rows, which have to be of this point and seed.
    pub(crate) fn take_run(&mut self, point: u32, seed: u64, count: u64) -> Result<Vec<FlowRow>, ResultError> {
        self.take(count, |path, batch| {
            let points = column::<UInt32Type>(path, batch, "point")?;
            let seeds = column::<UInt64Type>(path, batch, "seed")?;
            if points.values().iter().any(|&found| found != point) || seeds.values().iter().any(|&found| found != seed)
            {
                let why = format!("rows of another run among those of point {point}, seed {seed}");
                return Err(ResultError::damaged(path, why));
            }
            Ok(())
        })
    }

    /// The next `count` rows of a part.
    pub(crate) fn take_part(&mut self, count: u64) -> Result<Vec<FlowRow>, ResultError> {
        self.take(count, |_, _| Ok(()))
    }

    fn take(
        &mut self,
        count: u64,
        check: impl Fn(&Path, &RecordBatch) -> Result<(), ResultError>,
    ) -> Result<Vec<FlowRow>, ResultError> {
        let mut rows = Vec::new();
        let mut missing = usize::try_from(count).map_err(ResultError::invalid)?;
        // As many as there are: a vector that grows holds twice its rows at the end.
        rows.try_reserve_exact(missing).map_err(ResultError::invalid)?;
        while missing > 0 {
            let batch = match self.batch.take() {
                Some(batch) => batch,
                None => match self.batches.next() {
                    Some(batch) => batch?,
                    None => return Err(ResultError::damaged(&self.path, format!("{missing} flows are missing"))),
                },
            };
            let taken = missing.min(batch.num_rows());
            if taken < batch.num_rows() {
                self.batch = Some(batch.slice(taken, batch.num_rows() - taken));
            }
            let batch = batch.slice(0, taken);
            check(&self.path, &batch)?;
            append(&mut rows, &self.path, &batch)?;
            missing -= taken;
        }
        Ok(rows)
    }
}

fn append(all: &mut Vec<FlowRow>, path: &Path, batch: &RecordBatch) -> Result<(), ResultError> {
    let begin = all.len();
    all.resize(begin + batch.num_rows(), FlowRow::default());
    let rows = &mut all[begin..];
    for column in FlowRow::columns() {
        let is_joined = column.name == CLASS && batch.column_by_name(TRAFFIC_CLASS).is_some();
        let from = Source { path, batch, name: if is_joined { TRAFFIC_CLASS } else { column.name } };
        let is_later = column.presence != Presence::Always;
        match column.cell {
            Cell::U8(_, set) => from.fill::<UInt8Type>(rows, is_later, set)?,
            Cell::U32(_, set) => from.fill::<UInt32Type>(rows, is_later, set)?,
            Cell::U64(_, set) => from.fill::<UInt64Type>(rows, is_later, set)?,
            Cell::MaybeU32(_, set) => from.fill_some::<UInt32Type>(rows, is_later, set)?,
            Cell::MaybeU64(_, set) => from.fill_some::<UInt64Type>(rows, is_later, set)?,
            Cell::Derived(_) | Cell::Step(..) => {}
        }
    }
    if let Some(steps) = steps(path, batch)? {
        for (at, row) in rows.iter_mut().enumerate() {
            let is_known = steps.iter().all(|column| column.is_valid(at));
            row.steps = is_known.then(|| StepRow::of_ns(steps.map(|column| column.value(at))));
        }
    }
    if rows.iter().any(|row| row.ideal_ps == 0) {
        return Err(ResultError::damaged(path, "an ideal FCT of zero"));
    }
    Ok(())
}

/// A column of a batch that is read.
struct Source<'a> {
    path: &'a Path,
    batch: &'a RecordBatch,
    name: &'a str,
}

impl Source<'_> {
    /// Puts its values into rows. Earlier results lack a later column.
    fn fill<T: ArrowPrimitiveType>(
        &self,
        rows: &mut [FlowRow],
        is_later: bool,
        set: fn(&mut FlowRow, T::Native),
    ) -> Result<(), ResultError> {
        let values = if is_later {
            optional::<T>(self.path, self.batch, self.name)?
        } else {
            Some(column::<T>(self.path, self.batch, self.name)?)
        };
        if let Some(values) = values {
            rows.iter_mut().zip(values.values()).for_each(|(row, &value)| set(row, value));
        }
        Ok(())
    }

    /// The same for values that may be empty.
    fn fill_some<T: ArrowPrimitiveType>(
        &self,
        rows: &mut [FlowRow],
        is_later: bool,
        set: fn(&mut FlowRow, Option<T::Native>),
    ) -> Result<(), ResultError> {
        let values = if is_later {
            optional::<T>(self.path, self.batch, self.name)?
        } else {
            Some(nullable::<T>(self.path, self.batch, self.name)?)
        };
        if let Some(values) = values {
            rows.iter_mut().zip(values).for_each(|(row, value)| set(row, value));
        }
        Ok(())
    }
}

/// The columns of steps, in their order.
type StepColumns<'a> = [&'a PrimitiveArray<UInt64Type>; Step::ALL.len()];

/// `None` if no run has measured any.
fn steps<'a>(path: &Path, batch: &'a RecordBatch) -> Result<Option<StepColumns<'a>>, ResultError> {
    let mut columns = Vec::new();
    for step in Step::ALL {
        columns.extend(optional::<UInt64Type>(path, batch, step.column())?);
    }
    if columns.is_empty() {
        return Ok(None);
    }
    columns.try_into().map(Some).map_err(|_| ResultError::damaged(path, "columns of some steps alone"))
}

pub(crate) fn column<'a, T: ArrowPrimitiveType>(
    path: &Path,
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a PrimitiveArray<T>, ResultError> {
    let values = nullable::<T>(path, batch, name)?;
    if values.null_count() > 0 {
        return Err(ResultError::damaged(path, format!("column {name:?} has empty values")));
    }
    Ok(values)
}

/// An optional column.
fn optional<'a, T: ArrowPrimitiveType>(
    path: &Path,
    batch: &'a RecordBatch,
    name: &str,
) -> Result<Option<&'a PrimitiveArray<T>>, ResultError> {
    batch.column_by_name(name).map(|_| nullable(path, batch, name)).transpose()
}

fn nullable<'a, T: ArrowPrimitiveType>(
    path: &Path,
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a PrimitiveArray<T>, ResultError> {
    let values = batch.column_by_name(name).and_then(|values| values.as_primitive_opt::<T>());
    values.ok_or_else(|| ResultError::damaged(path, format!("no column {name:?} of type {}", T::DATA_TYPE)))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// A disk with room for some bytes.
    struct Disk {
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.room = self.room.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn write(room: usize) -> Result<(), ResultError> {
        let flow =
            |flow| FlowRow { flow, dst: 1, bytes: 1, start_ps: u64::from(flow), ideal_ps: 1, ..FlowRow::default() };
        let columns =
            FlowColumns { joined: None, steps: true, unanswered: true, rates: true, timed_out: true, given_up: true };
        let mut writer = FlowWriter::new(Disk { room }, Path::new("out/flows.parquet"), columns)?;
        writer.write(0, 1, &(0..1_000).map(flow).collect::<Vec<_>>())?;
        writer.finish()
    }

    #[test]
    fn write__a_full_disk_is_one_clear_error() {
        for room in [0, 4, 1_000, 2_000] {
            let message = write(room).unwrap_err().to_string();
            assert!(message.starts_with("out/flows.parquet: cannot write: no storage space"), "{message}");
            assert!(message.ends_with("free some space and run again: finished points are kept"), "{message}");
        }
        write(1_000_000).unwrap();
    }
}
