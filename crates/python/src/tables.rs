//! Parquet files as streams of Arrow, read as far as the reader wants.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use flowsieve_experiment::Error;
use flowsieve_settings::files::{MOST_BYTES, fenced, open};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::path::PathBuf;

use crate::errors::working;

/// Rows of a batch.
const BATCH: usize = 1 << 16;

/// A Parquet file as the capsule of Arrow's C stream (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).
#[pyfunction]
pub(crate) fn arrow_stream(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyCapsule>> {
    let refuse = |problem: String| Error::File { path: path.display().to_string(), problem };
    let stream = working(py, || {
        let file = open(&path, MOST_BYTES).map_err(|error| refuse(error.to_string()))?;
        let decode = || ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(BATCH).build();
        let reader = fenced(decode).map_err(refuse)?.map_err(|error| refuse(error.to_string()))?;
        let schema = reader.schema();
        Ok(FFI_ArrowArrayStream::new(Box::new(Fenced { reader: Some(reader), schema })))
    })?;
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// Batches until one of them cannot be read: a panic must not reach the reader of the stream.
struct Fenced {
    reader: Option<ParquetRecordBatchReader>,
    schema: SchemaRef,
}

impl Iterator for Fenced {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = self.reader.take()?;
        let batch = fenced(|| reader.next()).unwrap_or_else(|said| Some(Err(ArrowError::ParquetError(said))));
        if matches!(batch, Some(Ok(_))) {
            self.reader = Some(reader);
        }
        batch
    }
}

impl RecordBatchReader for Fenced {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
