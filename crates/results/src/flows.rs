//! `flows.parquet`: one row per flow.
//!
//! Columns: only in the joined file point, seed, scheme, load and each swept key; flow, src, dst, traffic_class (`class` in a
//! part), bytes, start_ps, fct_ps (null: unfinished), ideal_ps, slowdown, retransmissions, timeouts, out_of_order, deadline_ps
//! (null: none), coflow (null: of none), found_lost, unneeded, held_most_bytes, held_byte_ns, duplicate_acks; if a run has
//! measured the steps of any flow, inference_ns, climb_ns, slack_ns, demotion_ns, beyond_ns (null: those of this flow are not
//! known); and, if any flow waited for a first answer, unanswered_us. Rows are grouped by point, then seed. The file carries no
//! time and no version of a library, so that equal rows make equal bytes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, PrimitiveArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use flowsieve_files::MOST_BYTES;
use flowsieve_record::{FlowRow, Step, StepRow};
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
}

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
            columns.extend(columns_of(rows));
            if self.columns.steps {
                columns.extend(Step::ALL.map(|step| steps_of(rows, step)));
            }
            if self.columns.unanswered {
                columns.push(Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.unanswered_us))));
            }
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
    let whole = |name: &str| Field::new(name, DataType::UInt64, false);
    let count = |name: &str| Field::new(name, DataType::UInt32, false);
    let mut fields = Vec::new();
    if let Some(labels) = &columns.joined {
        fields.extend([count("point"), whole("seed")]);
        fields.extend(labels.fields());
    }
    fields.extend([
        count("flow"),
        count("src"),
        count("dst"),
        // In a summary a class is a size class.
        Field::new(if columns.joined.is_some() { "traffic_class" } else { "class" }, DataType::UInt8, false),
        whole("bytes"),
        whole("start_ps"),
        Field::new("fct_ps", DataType::UInt64, true),
        whole("ideal_ps"),
        Field::new("slowdown", DataType::Float64, true),
        count("retransmissions"),
        count("timeouts"),
        count("out_of_order"),
        Field::new("deadline_ps", DataType::UInt64, true),
        Field::new("coflow", DataType::UInt32, true),
        count("found_lost"),
        count("unneeded"),
        whole("held_most_bytes"),
        whole("held_byte_ns"),
        count("duplicate_acks"),
    ]);
    if columns.steps {
        fields.extend(Step::ALL.map(|step| Field::new(step_column(step), DataType::UInt64, true)));
    }
    if columns.unanswered {
        fields.push(count(UNANSWERED));
    }
    Arc::new(Schema::new(fields))
}

fn columns_of(rows: &[FlowRow]) -> [ArrayRef; 19] {
    let count = |of: fn(&FlowRow) -> u32| Arc::new(UInt32Array::from_iter_values(rows.iter().map(of))) as ArrayRef;
    let whole = |of: fn(&FlowRow) -> u64| Arc::new(UInt64Array::from_iter_values(rows.iter().map(of))) as ArrayRef;
    [
        count(|row| row.flow),
        count(|row| row.src),
        count(|row| row.dst),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| row.class))),
        whole(|row| row.bytes),
        whole(|row| row.start_ps),
        Arc::new(UInt64Array::from_iter(rows.iter().map(|row| row.fct_ps))),
        whole(|row| row.ideal_ps),
        Arc::new(Float64Array::from_iter(rows.iter().map(FlowRow::slowdown))),
        count(|row| row.retransmissions),
        count(|row| row.timeouts),
        count(|row| row.out_of_order),
        Arc::new(UInt64Array::from_iter(rows.iter().map(|row| row.deadline_ps))),
        Arc::new(UInt32Array::from_iter(rows.iter().map(|row| row.coflow))),
        count(|row| row.found_lost),
        count(|row| row.unneeded),
        whole(|row| row.held_most_bytes),
        whole(|row| row.held_byte_ns),
        count(|row| row.duplicate_acks),
    ]
}

/// The column of waits for a first answer.
const UNANSWERED: &str = "unanswered_us";

fn step_column(step: Step) -> String {
    format!("{}_ns", step.name())
}

fn steps_of(rows: &[FlowRow], step: Step) -> ArrayRef {
    Arc::new(UInt64Array::from_iter(rows.iter().map(|row| row.steps.map(|steps| steps.get(step)))))
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

fn append(rows: &mut Vec<FlowRow>, path: &Path, batch: &RecordBatch) -> Result<(), ResultError> {
    let count = |name| column::<UInt32Type>(path, batch, name);
    let whole = |name| column::<UInt64Type>(path, batch, name);
    let (flow, src, dst) = (count("flow")?, count("src")?, count("dst")?);
    // Parts, and results of schema 1, name it `class`.
    let class = match optional::<UInt8Type>(path, batch, "traffic_class")? {
        Some(_) => column::<UInt8Type>(path, batch, "traffic_class")?,
        None => column::<UInt8Type>(path, batch, "class")?,
    };
    let (bytes, start, ideal) = (whole("bytes")?, whole("start_ps")?, whole("ideal_ps")?);
    let (sent_again, timeouts) = (count("retransmissions")?, count("timeouts")?);
    let (out_of_order, fct) = (count("out_of_order")?, nullable::<UInt64Type>(path, batch, "fct_ps")?);
    // Earlier results have none of these.
    let (deadline, coflow) =
        (optional::<UInt64Type>(path, batch, "deadline_ps")?, optional::<UInt32Type>(path, batch, "coflow")?);
    let (found_lost, unneeded) =
        (optional::<UInt32Type>(path, batch, "found_lost")?, optional::<UInt32Type>(path, batch, "unneeded")?);
    let (held_most, held) =
        (optional::<UInt64Type>(path, batch, "held_most_bytes")?, optional::<UInt64Type>(path, batch, "held_byte_ns")?);
    let duplicate_acks = optional::<UInt32Type>(path, batch, "duplicate_acks")?;
    let steps = steps(path, batch)?;
    let unanswered = optional::<UInt32Type>(path, batch, UNANSWERED)?;
    if ideal.values().contains(&0) {
        return Err(ResultError::damaged(path, "an ideal FCT of zero"));
    }
    rows.extend((0..batch.num_rows()).map(|at| FlowRow {
        flow: flow.value(at),
        src: src.value(at),
        dst: dst.value(at),
        class: class.value(at),
        bytes: bytes.value(at),
        start_ps: start.value(at),
        fct_ps: fct.is_valid(at).then(|| fct.value(at)),
        ideal_ps: ideal.value(at),
        retransmissions: sent_again.value(at),
        timeouts: timeouts.value(at),
        out_of_order: out_of_order.value(at),
        deadline_ps: deadline.filter(|column| column.is_valid(at)).map(|column| column.value(at)),
        coflow: coflow.filter(|column| column.is_valid(at)).map(|column| column.value(at)),
        found_lost: found_lost.map_or(0, |column| column.value(at)),
        unneeded: unneeded.map_or(0, |column| column.value(at)),
        held_most_bytes: held_most.map_or(0, |column| column.value(at)),
        held_byte_ns: held.map_or(0, |column| column.value(at)),
        duplicate_acks: duplicate_acks.map_or(0, |column| column.value(at)),
        steps: steps.as_ref().and_then(|steps| steps.at(at)),
        unanswered_us: unanswered.map_or(0, |column| column.value(at)),
    }));
    Ok(())
}

/// The columns of steps, in their order.
struct StepColumns<'a>([&'a PrimitiveArray<UInt64Type>; 5]);

/// `None` if no run has measured any.
fn steps<'a>(path: &Path, batch: &'a RecordBatch) -> Result<Option<StepColumns<'a>>, ResultError> {
    let mut columns = Vec::new();
    for step in Step::ALL {
        columns.extend(optional::<UInt64Type>(path, batch, &step_column(step))?);
    }
    if columns.is_empty() {
        return Ok(None);
    }
    let all = columns.try_into().map_err(|_| ResultError::damaged(path, "columns of some steps alone"))?;
    Ok(Some(StepColumns(all)))
}

impl StepColumns<'_> {
    fn at(&self, row: usize) -> Option<StepRow> {
        let value = |step: Step| {
            let column = self.0[step as usize];
            column.is_valid(row).then(|| column.value(row))
        };
        Some(StepRow {
            inference_ns: value(Step::Inference)?,
            climb_ns: value(Step::Climb)?,
            slack_ns: value(Step::Slack)?,
            demotion_ns: value(Step::Demotion)?,
            beyond_ns: value(Step::Beyond)?,
        })
    }
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
        let columns = FlowColumns { joined: None, steps: true, unanswered: true };
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
