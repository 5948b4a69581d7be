//! `flows.parquet`: one row per flow.
//!
//! Columns: only in the joined file point, seed, scheme, load and each swept key; then those of [`FlowRow::columns`], where
//! `class` is `traffic_class` in the joined file. Those of steps are in the file if a run has measured the steps of any flow,
//! that of waits if any flow waited for a first answer, and that of rates if a run was at flow level. Rows are grouped by point, then seed. The file carries no time and
//! no version of a library, so that equal rows make equal bytes.

use std::io::Write;
use std::path::{Path, PathBuf};

use flowsieve_record::{Cell, Column, FlowRow, Presence, Step, StepRow};

use crate::ResultError;
use crate::decode::{Batch, Batches};
use crate::labels::Labels;
use crate::table::{Cells, Table, TableWriter};

/// More bytes than a row takes in any file, and than a file has in addition to its rows.
const ROW_BYTES: u64 = 1_000;
const OTHER_BYTES: u64 = 64_000_000;

/// Writes rows to a growing file.
pub(crate) struct FlowWriter<W: Write + Send> {
    writer: TableWriter<W>,
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

    /// The rows of a run.
    fn table(&self, point: u32, seed: u64, rows: &[FlowRow]) -> Table {
        let mut table = Table::new();
        if let Some(labels) = &self.joined {
            let points = std::iter::repeat_n(point, rows.len());
            table.push(("point".into(), Cells::whole(points.clone())));
            table.push(("seed".into(), Cells::whole(std::iter::repeat_n(seed, rows.len()))));
            table.extend(labels.columns(points));
        }
        table.extend(self.of_flows().map(|column| {
            let is_class = self.joined.is_some() && column.name == CLASS;
            let name = if is_class { TRAFFIC_CLASS } else { column.name };
            (name.to_owned(), cells(&column, rows))
        }));
        table
    }
}

/// The column of classes of flows in a joined file: in a summary a class is a size class.
pub(crate) const TRAFFIC_CLASS: &str = "traffic_class";
/// The same in parts, and in results of schema 1.
pub(crate) const CLASS: &str = "class";

impl<W: Write + Send> FlowWriter<W> {
    /// `path` is what errors name.
    pub(crate) fn new(out: W, path: &Path, columns: FlowColumns) -> Result<FlowWriter<W>, ResultError> {
        Ok(FlowWriter { writer: TableWriter::new(out, path, columns.table(0, 0, &[]))?, columns })
    }

    /// Appends the rows of one run.
    pub(crate) fn write(&mut self, point: u32, seed: u64, mut rows: &[FlowRow]) -> Result<(), ResultError> {
        while !rows.is_empty() {
            let (now, later) = rows.split_at(rows.len().min(self.writer.room()));
            self.writer.write(now.len(), self.columns.table(point, seed, now))?;
            rows = later;
        }
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<(), ResultError> {
        self.writer.finish()
    }
}

fn cells(column: &Column<FlowRow>, rows: &[FlowRow]) -> Cells {
    let rows = rows.iter();
    match column.cell {
        Cell::U8(get, _) => Cells::whole(rows.map(get)),
        Cell::U32(get, _) => Cells::whole(rows.map(get)),
        Cell::U64(get, _) => Cells::whole(rows.map(get)),
        Cell::MaybeU32(get, _) => Cells::some(rows.map(get)),
        Cell::MaybeU64(get, _) => Cells::some(rows.map(get)),
        Cell::Derived(get) => Cells::some(rows.map(get)),
        Cell::Step(step, get) => Cells::some(rows.map(|row| get(row).map(|steps| steps.get(step)))),
    }
}

/// A row, in a joined file with point and seed.
type Row = (Option<(u32, u64)>, FlowRow);

/// Reads the rows of one run after another.
pub(crate) struct FlowReader {
    path: PathBuf,
    batches: Batches,
    /// The rest of the last batch.
    rest: std::vec::IntoIter<Row>,
}

impl FlowReader {
    /// Opens a file of `rows` rows whose bytes have this digest. Nothing of it is decoded before that is known, because the
    /// decoder trusts what it reads.
    pub(crate) fn open(path: &Path, expected: &str, rows: u64) -> Result<FlowReader, ResultError> {
        let most = rows.saturating_mul(ROW_BYTES).saturating_add(OTHER_BYTES);
        let batches = Batches::open(path, most, expected)?;
        let found = batches.rows();
        if u64::try_from(found) != Ok(rows) {
            return Err(ResultError::damaged(path, format!("{found} flows, expected {rows}")));
        }
        Ok(FlowReader { path: path.into(), batches, rest: Vec::new().into_iter() })
    }

    /// The next `count` rows, which have to be of this point and seed.
    pub(crate) fn take_run(&mut self, point: u32, seed: u64, count: u64) -> Result<Vec<FlowRow>, ResultError> {
        self.take(count, Some((point, seed)))
    }

    /// The next `count` rows of a part.
    pub(crate) fn take_part(&mut self, count: u64) -> Result<Vec<FlowRow>, ResultError> {
        self.take(count, None)
    }

    fn take(&mut self, count: u64, run: Option<(u32, u64)>) -> Result<Vec<FlowRow>, ResultError> {
        let mut rows = Vec::new();
        let count = usize::try_from(count).map_err(ResultError::invalid)?;
        // As many as there are: a vector that grows holds twice its rows at the end.
        rows.try_reserve_exact(count).map_err(ResultError::invalid)?;
        while rows.len() < count {
            match (self.rest.next(), run) {
                (Some((found, row)), _) if found == run => rows.push(row),
                (Some(_), Some((point, seed))) => {
                    let why = format!("rows of another run among those of point {point}, seed {seed}");
                    return Err(ResultError::damaged(&self.path, why));
                }
                (Some(_), None) => unreachable!("rows of a part are read without point and seed"),
                (None, _) => {
                    let missing = count - rows.len();
                    let none = || Err(ResultError::damaged(&self.path, format!("{missing} flows are missing")));
                    self.rest = rows_of(&self.batches.next().unwrap_or_else(none)?, run.is_some())?.into_iter();
                }
            }
        }
        Ok(rows)
    }
}

/// The rows of a batch; `in_runs`: with point and seed.
fn rows_of(batch: &Batch, in_runs: bool) -> Result<Vec<Row>, ResultError> {
    let mut rows = vec![(None, FlowRow::default()); batch.rows];
    if in_runs {
        let runs = batch.whole::<u32>("point")?.zip(batch.whole::<u64>("seed")?);
        rows.iter_mut().zip(runs).for_each(|((of, _), run)| *of = Some(run));
    }
    for column in FlowRow::columns() {
        let is_joined = column.name == CLASS && batch.has(TRAFFIC_CLASS);
        let name = if is_joined { TRAFFIC_CLASS } else { column.name };
        // Earlier results lack a later column.
        if column.presence != Presence::Always && !batch.has(name) {
            continue;
        }
        match column.cell {
            Cell::U8(_, set) => fill(&mut rows, batch.whole(name)?, set),
            Cell::U32(_, set) => fill(&mut rows, batch.whole(name)?, set),
            Cell::U64(_, set) => fill(&mut rows, batch.whole(name)?, set),
            Cell::MaybeU32(_, set) => fill(&mut rows, batch.some(name)?, set),
            Cell::MaybeU64(_, set) => fill(&mut rows, batch.some(name)?, set),
            Cell::Derived(_) | Cell::Step(..) => {}
        }
    }
    if batch.has(Step::ALL[0].column()) {
        let mut steps = Vec::new();
        for step in Step::ALL {
            steps.push(batch.some::<u64>(step.column())?);
        }
        for (_, row) in &mut rows {
            // Each of them goes on to the next row, also after an empty one.
            let of_row: Vec<Option<u64>> = steps.iter_mut().map(|step| step.next().flatten()).collect();
            let all: Option<Vec<u64>> = of_row.into_iter().collect();
            row.steps = all.and_then(|all| all.try_into().ok()).map(StepRow::of_ns);
        }
    }
    if rows.iter().any(|(_, row)| row.ideal_ps == 0) {
        return Err(batch.damaged("an ideal FCT of zero"));
    }
    Ok(rows)
}

fn fill<V>(rows: &mut [Row], values: impl Iterator<Item = V>, set: fn(&mut FlowRow, V)) {
    rows.iter_mut().zip(values).for_each(|((_, row), value)| set(row, value));
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
