//! Parquet files as streams of Arrow, read as far as the reader wants.

use crate::errors::working;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use flowsieve_experiment::Error;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::fs::File;
use std::path::PathBuf;

/// Rows of a batch.
const BATCH: usize = 1 << 16;

/// A Parquet file as the capsule of Arrow's C stream (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).
#[pyfunction]
pub(crate) fn arrow_stream(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyCapsule>> {
    let refuse = |problem: String| Error::File { path: path.display().to_string(), problem };
    let stream = working(py, || {
        let file = File::open(&path).map_err(|error| refuse(error.to_string()))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| refuse(error.to_string()))?;
        let reader = builder.with_batch_size(BATCH).build().map_err(|error| refuse(error.to_string()))?;
        Ok(FFI_ArrowArrayStream::new(Box::new(reader)))
    })?;
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}
