//! Reads Parquet with the library's decoder, guarded against its panics.
//!
//! A digest does not vouch for a file if the same author wrote its manifest, and the decoder trusts what it reads. If it
//! panics, the file is reported as damaged, with no other effect.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use bytes::Bytes;
use flowsieve_files::fenced;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};

use crate::ResultError;
use crate::files::digest;

/// Rows handled at a time: some megabytes.
pub(crate) const BATCH: usize = 1 << 16;

/// The most bytes of a table.
pub(crate) const MOST_TABLE_BYTES: u64 = 1_000_000_000_000;

/// The first and the last bytes of a file.
const MAGIC: [u8; 4] = *b"PAR1";

/// Bytes of memory that may be taken for each byte of a file, by its own statements: a dictionary of one value packs a page of
/// equal values into some bytes, but no page is larger than some megabytes.
const MOST_PACKED: u64 = 1 << 16;

/// A file whose bytes have a digest, and that can be read.
pub(crate) struct Table {
    path: PathBuf,
    builder: ParquetRecordBatchReaderBuilder<Shared>,
}

/// A file that is read at several places with one descriptor. The library's own reader of a file takes one for each column,
/// and a process that has no more of them would find an undamaged file damaged.
#[derive(Clone)]
struct Shared(Arc<Mutex<File>>);

/// A place in it, up to which is read.
struct At(Shared, u64);

impl Read for At {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let mut file = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.1))?;
        let count = file.read(into)?;
        self.1 += count as u64;
        Ok(count)
    }
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).metadata().map_or(0, |metadata| metadata.len())
    }
}

impl ChunkReader for Shared {
    type T = BufReader<At>;

    fn get_read(&self, start: u64) -> Result<BufReader<At>, ParquetError> {
        Ok(BufReader::new(At(self.clone(), start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = Vec::new();
        At(self.clone(), start).take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!("{} bytes at {start}, expected {length}", bytes.len())));
        }
        Ok(bytes.into())
    }
}

impl Table {
    /// Opens a file of at most `most` bytes. Nothing of it is decoded before its digest is known.
    pub(crate) fn open(path: &Path, most: u64, expected: &str) -> Result<Table, ResultError> {
        let most = most.min(MOST_TABLE_BYTES);
        let mut file = flowsieve_files::open(path, most).map_err(ResultError::io("read", path))?;
        // A long file of another format is not read to its end.
        if !has_magic(&mut file).map_err(ResultError::io("read", path))? {
            return Err(ResultError::damaged(
                path,
                "cut short or changed: it does not begin and end as Parquet files do",
            ));
        }
        if digest(path, most)? != expected {
            let why = "cut short, changed, or from another experiment than the JSON file next to it";
            return Err(ResultError::damaged(path, why));
        }
        let bytes = file.metadata().map_err(ResultError::io("read", path))?.len();
        let file = Shared(Arc::new(Mutex::new(file)));
        let builder = of_file(path, || ParquetRecordBatchReaderBuilder::try_new(file))?;
        check_pages(builder.metadata(), bytes).map_err(|why| ResultError::damaged(path, why))?;
        Ok(Table { path: path.into(), builder })
    }

    /// Its rows, as it states.
    pub(crate) fn rows(&self) -> i64 {
        self.builder.metadata().file_metadata().num_rows()
    }

    /// Its batches.
    pub(crate) fn batches(self) -> Result<Batches, ResultError> {
        let Table { path, builder } = self;
        let reader = of_file(&path, || builder.with_batch_size(BATCH).build())?;
        Ok(Batches { path, reader: Some(reader) })
    }
}

fn has_magic(file: &mut File) -> std::io::Result<bool> {
    let (mut first, mut last) = ([0; 4], [0; 4]);
    if file.metadata()?.len() < 8 {
        return Ok(false);
    }
    file.read_exact(&mut first)?;
    file.seek(SeekFrom::End(-4))?;
    file.read_exact(&mut last)?;
    Ok((first, last) == (MAGIC, MAGIC))
}

/// Checks the lengths of columns in its footer, before memory is taken for them.
fn check_pages(metadata: &ParquetMetaData, bytes: u64) -> Result<(), String> {
    let rows = metadata.row_groups().iter().try_fold(0_i64, |sum, group| sum.checked_add(group.num_rows()));
    if rows != Some(metadata.file_metadata().num_rows()) {
        return Err("its rows are not those of its groups".into());
    }
    for group in metadata.row_groups() {
        for column in group.columns() {
            let (start, length) = (column.data_page_offset(), column.compressed_size());
            let start = column.dictionary_page_offset().map_or(start, |first| first.min(start));
            let end = start.checked_add(length).and_then(|end| u64::try_from(end).ok());
            let inside = start >= 4 && length >= 0 && end.is_some_and(|end| end <= bytes);
            let unpacked = u64::try_from(column.uncompressed_size()).ok();
            if !inside || unpacked.is_none_or(|unpacked| unpacked > bytes.saturating_mul(MOST_PACKED)) {
                return Err("a column lies outside the file".into());
            }
            if column.num_values() != group.num_rows() {
                return Err("a column with other rows than its group".into());
            }
        }
    }
    Ok(())
}

/// Runs a decoder; its errors and panics become errors about the file.
fn of_file<T, E: ToString>(path: &Path, decode: impl FnOnce() -> Result<T, E>) -> Result<T, ResultError> {
    match fenced(decode) {
        Ok(done) => done.map_err(|error| ResultError::damaged(path, error)),
        Err(said) => Err(ResultError::damaged(path, said)),
    }
}

/// The batches of a file, until one of them cannot be read.
pub(crate) struct Batches {
    path: PathBuf,
    /// None after an error: a reader that panicked is not used again.
    reader: Option<ParquetRecordBatchReader>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ResultError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = self.reader.take()?;
        match of_file(&self.path, || reader.next().transpose()) {
            Ok(batch) => {
                self.reader = batch.is_some().then_some(reader);
                Ok(batch).transpose()
            }
            Err(error) => Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};
    use arrow_schema::{DataType, Field};

    use super::*;
    use crate::flows::write_table;

    /// More than the reader of a small table needs, and less than any length that a changed byte can state.
    const MOST_TAKEN: u64 = 32_000_000;

    /// A table with each kind of column that results have, and its bytes.
    fn table(path: &Path) -> Vec<u8> {
        let rows = 0..40_u64;
        let columns: [(&str, bool, ArrayRef); 4] = [
            (
                "of",
                false,
                Arc::new(StringArray::from_iter_values(rows.clone().map(|row| ["host-up", "core"][row as usize % 2]))),
            ),
            ("flow", false, Arc::new(UInt64Array::from_iter_values(rows.clone()))),
            (
                "fct_ps",
                true,
                Arc::new(UInt64Array::from_iter(rows.clone().map(|row| (row % 3 > 0).then_some(row * 1_000)))),
            ),
            ("value", false, Arc::new(Float64Array::from_iter_values(rows.map(|row| row as f64 / 7.0)))),
        ];
        let field = |(name, nullable, column): (&str, bool, ArrayRef)| {
            let kind: DataType = column.data_type().clone();
            (Field::new(name, kind, nullable), column)
        };
        write_table(path, columns.map(field).into()).unwrap();
        fs::read(path).unwrap()
    }

    /// The rows of these bytes with their own digest.
    fn read(path: &Path, bytes: &[u8]) -> Result<usize, ResultError> {
        fs::write(path, bytes).unwrap();
        let table = Table::open(path, 1_000_000, blake3::hash(bytes).to_hex().as_str())?;
        table.batches()?.try_fold(0, |rows, batch| Ok(rows + batch?.num_rows()))
    }

    /// How many changes of each of these bytes are refused. The guard against panics has tests of its own.
    fn refused(places: impl FnOnce(&[u8]) -> std::ops::Range<usize>, changes: &[u8]) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let kept = table(&path);
        assert_eq!(read(&path, &kept).unwrap(), 40);
        let mut refused = 0;
        for at in places(&kept) {
            for change in changes {
                let mut bytes = kept.clone();
                bytes[at] ^= change;
                let mut done = Ok(0);
                let taken = allocation_counter::measure(|| done = read(&path, &bytes));
                assert!(taken.bytes_max < MOST_TAKEN, "{at} ^ {change}: {} bytes were taken", taken.bytes_max);
                if let Err(error) = done {
                    assert!(matches!(&error, ResultError::Damaged { path: named, .. } if *named == path), "{error}");
                    refused += 1;
                }
            }
        }
        refused
    }

    /// Where the footer begins (parquet-format, "File format").
    fn footer(bytes: &[u8]) -> usize {
        let end = bytes.len() - 8;
        end - u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize
    }

    #[test]
    fn batches__of_a_hostile_footer_are_an_error_of_the_file_without_much_memory() {
        let changes = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff];
        let refused = refused(|bytes| footer(bytes)..bytes.len(), &changes);
        assert!(refused > 1_000, "{refused}");
    }

    #[test]
    fn batches__of_hostile_pages_are_an_error_of_the_file_without_much_memory() {
        let refused = refused(|bytes| 4..footer(bytes), &[0x01, 0x10, 0x80, 0xff]);
        assert!(refused > 100, "{refused}");
    }

    #[test]
    fn open__of_what_neither_begins_nor_ends_as_parquet_does_reads_no_more_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse.parquet");
        File::create(&path).unwrap().set_len(900_000_000_000).unwrap();
        let error = Table::open(&path, MOST_TABLE_BYTES, "").map(|_| ()).unwrap_err();
        assert!(matches!(error, ResultError::Damaged { .. }), "{error}");
    }
}
