//! Quantities over the time of a run: `series.parquet`.
//!
//! A row is a step of a series: point, seed, series, of (a place or a part; empty for the whole fabric), start_ps, step_ps,
//! value.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, Float64Array, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field};
use flowsieve_record::Series;

use crate::ResultError;
use crate::flows::{column, open_batches, write_tables};
use crate::labels::Labels;

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
    write_tables(path, batches.into_iter().map(|runs| columns(runs, labels)))
}

fn columns(runs: &[(u32, u64, Vec<Series>)], labels: &Labels) -> Vec<(Field, ArrayRef)> {
    let series = || runs.iter().flat_map(|(point, seed, all)| all.iter().map(move |series| (*point, *seed, series)));
    let steps =
        || series().flat_map(|(point, seed, series)| (0..series.values.len()).map(move |at| (point, seed, series, at)));
    let text = |of: fn(&Series) -> &str| {
        Arc::new(StringArray::from_iter_values(steps().map(|(.., series, _)| of(series)))) as ArrayRef
    };
    let whole = |of: fn(&Series, u64) -> u64| {
        Arc::new(UInt64Array::from_iter_values(steps().map(|(.., series, at)| of(series, at as u64)))) as ArrayRef
    };
    let field = |name: &str, kind: DataType| Field::new(name, kind, false);
    let mut columns: Vec<(Field, ArrayRef)> = vec![
        (field("point", DataType::UInt32), Arc::new(UInt32Array::from_iter_values(steps().map(|step| step.0)))),
        (field("seed", DataType::UInt64), Arc::new(UInt64Array::from_iter_values(steps().map(|step| step.1)))),
        (field("series", DataType::Utf8), text(|series| &series.name)),
        (field("of", DataType::Utf8), text(|series| &series.of)),
        (
            field("start_ps", DataType::UInt64),
            whole(|series, at| series.first_step.saturating_add(at).saturating_mul(series.step_ps)),
        ),
        (field("step_ps", DataType::UInt64), whole(|series, _| series.step_ps)),
        (
            field("value", DataType::Float64),
            Arc::new(Float64Array::from_iter_values(steps().map(|(.., series, at)| series.values[at]))),
        ),
    ];
    columns.splice(2..2, labels.of_rows(steps().map(|step| step.0)));
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
    for batch in open_batches(path, expected)? {
        let batch = batch?;
        let (points, seeds) =
            (column::<UInt32Type>(path, &batch, "point")?, column::<UInt64Type>(path, &batch, "seed")?);
        let (starts, steps) =
            (column::<UInt64Type>(path, &batch, "start_ps")?, column::<UInt64Type>(path, &batch, "step_ps")?);
        let values = column::<Float64Type>(path, &batch, "value")?;
        let text = |name| {
            let column = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
            column.ok_or_else(|| ResultError::damaged(path, format!("no column {name:?} of text")))
        };
        let (names, places) = (text("series")?, text("of")?);
        for row in 0..batch.num_rows() {
            let (point, step_ps) = (points.value(row), steps.value(row).max(1));
            if !runs.contains(&(point, seeds.value(row))) {
                continue;
            }
            let (name, of, step) = (names.value(row), places.value(row), starts.value(row) / step_ps);
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
                series.values.push(values.value(row));
            }
        }
    }
    Ok(all)
}
