//! Quantities over the time of a run: `series.parquet`.
//!
//! A row is a step of a series: point, seed, series, of (a place or a part; empty for the whole fabric), start_ps, step_ps,
//! value.

use std::path::Path;

use flowsieve_record::Series;
use flowsieve_settings::files::MOST_BYTES;
use parquet::data_type::ByteArray;

use crate::ResultError;
use crate::decode::Batches;
use crate::labels::Labels;
use crate::table::{Cells, Table, write_tables};

/// Approximate rows of a batch: the memory that is held in addition to the series themselves.
const BATCH: usize = 1 << 16;

/// Writes `series.parquet` from the series of each run, by point and seed.
pub(crate) fn write(path: &Path, runs: &[(u32, u64, Vec<Series>)], labels: &Labels) -> Result<(), ResultError> {
    let rows = |run: &(u32, u64, Vec<Series>)| run.2.iter().map(|series| series.values.len()).sum::<usize>();
    let (mut batches, mut rest) = (Vec::new(), runs);
    while !rest.is_empty() {
        let mut together = 0;
        let fitting = rest.iter().take_while(|run| {
            together += rows(run);
            together <= BATCH
        });
        let (batch, others) = rest.split_at(fitting.count().max(1));
        batches.push(batch);
        rest = others;
    }
    if batches.is_empty() {
        batches.push(&[]);
    }
    write_tables(path, batches.into_iter().map(|runs| (runs.iter().map(rows).sum(), columns(runs, labels))))
}

fn columns(runs: &[(u32, u64, Vec<Series>)], labels: &Labels) -> Table {
    let series = || runs.iter().flat_map(|(point, seed, all)| all.iter().map(move |series| (*point, *seed, series)));
    let steps =
        || series().flat_map(|(point, seed, series)| (0..series.values.len()).map(move |at| (point, seed, series, at)));
    let text = |of: fn(&Series) -> &str| {
        Cells::whole(
            series().flat_map(|(.., series)| std::iter::repeat_n(ByteArray::from(of(series)), series.values.len())),
        )
    };
    let start = |(.., series, at): (u32, u64, &Series, usize)| {
        series.first_step.saturating_add(at as u64).saturating_mul(series.step_ps)
    };
    let mut columns: Table = [
        ("point", Cells::whole(steps().map(|step| step.0))),
        ("seed", Cells::whole(steps().map(|step| step.1))),
        ("series", text(|series| &series.name)),
        ("of", text(|series| &series.of)),
        ("start_ps", Cells::whole(steps().map(start))),
        ("step_ps", Cells::whole(steps().map(|(.., series, _)| series.step_ps))),
        ("value", Cells::whole(steps().map(|(.., series, at)| series.values[at]))),
    ]
    .map(|(name, cells)| (name.to_owned(), cells))
    .into();
    columns.splice(2..2, labels.columns(steps().map(|step| step.0)));
    columns
}

/// The wanted series of these runs, from a file whose bytes have this digest: nothing of it is decoded before that is known. A
/// series with pauses is returned as one series for each stretch.
pub(crate) fn read(
    path: &Path,
    expected: &str,
    runs: &[(u32, u64)],
    mut is_wanted: impl FnMut(u32, &Series) -> bool,
) -> Result<Vec<(u32, Series)>, ResultError> {
    let mut all: Vec<(u32, Series)> = Vec::new();
    // The series of the last row, and whether it is the last one of `all`.
    let mut current: Option<(u32, u64, Series, bool)> = None;
    for batch in Batches::open(path, MOST_BYTES, expected)? {
        let batch = batch?;
        let (mut points, mut seeds) = (batch.whole::<u32>("point")?, batch.whole::<u64>("seed")?);
        let (mut starts, mut steps) = (batch.whole::<u64>("start_ps")?, batch.whole::<u64>("step_ps")?);
        let (mut names, mut places) = (batch.texts("series")?, batch.texts("of")?);
        let mut values = batch.whole::<f64>("value")?;
        let mut next_row = || {
            let run = (points.next()?, seeds.next()?);
            Some((run, starts.next()?, steps.next()?.max(1), names.next()?, places.next()?, values.next()?))
        };
        while let Some((run, start, step_ps, name, of, value)) = next_row() {
            if !runs.contains(&run) {
                continue;
            }
            let (point, name, of, step) = (run.0, name?, of?, start / step_ps);
            let goes_on = |(of_point, next, last, _): &(u32, u64, Series, bool)| {
                *of_point == point && *next == step && last.name == name && last.of == of
            };
            match current.as_mut().filter(|current| goes_on(current)) {
                Some((_, next, ..)) => *next += 1,
                None => {
                    let series = Series {
                        name: name.to_owned(),
                        of: of.to_owned(),
                        first_step: step,
                        step_ps,
                        values: Vec::new(),
                    };
                    let is_taken = is_wanted(point, &series);
                    if is_taken {
                        all.push((point, series.clone()));
                    }
                    current = Some((point, step + 1, series, is_taken));
                }
            }
            if let (Some((.., true)), Some((_, series))) = (&current, all.last_mut()) {
                series.values.push(value);
            }
        }
    }
    Ok(all)
}
