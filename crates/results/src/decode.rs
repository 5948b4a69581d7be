//! Reads Parquet with the library's decoder, guarded against its panics.
//!
//! A digest does not vouch for a file if the same author wrote its manifest, and the decoder trusts what it reads. If it
//! panics, the file is reported as damaged, with no other effect.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use flowsieve_settings::files::fenced;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, FileReader, Length};
use parquet::file::serialized_reader::SerializedFileReader;

use crate::ResultError;
use crate::files::digest;
use crate::table::{Cells, Kind, Table, Value, Values};

/// Rows of a batch: some megabytes.
const BATCH: usize = 1 << 14;

/// The most bytes of a table.
pub(crate) const MOST_TABLE_BYTES: u64 = 1_000_000_000_000;

/// The first and the last bytes of a file.
const MAGIC: [u8; 4] = *b"PAR1";

/// Bytes of memory that may be taken for each byte of a file, by its own statements: a dictionary of one value packs a page of
/// equal values into some bytes, but no page is larger than some megabytes.
const MOST_PACKED: u64 = 1 << 16;

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

/// The batches of a file whose bytes have a digest, until one of them cannot be read.
pub(crate) struct Batches {
    path: PathBuf,
    rows: i64,
    /// None after an error: a reader that panicked is not used again.
    decoder: Option<Decoder>,
}

impl Batches {
    /// Opens a file of at most `most` bytes. Nothing of it is decoded before its digest is known.
    pub(crate) fn open(path: &Path, most: u64, expected: &str) -> Result<Batches, ResultError> {
        let most = most.min(MOST_TABLE_BYTES);
        let mut file = flowsieve_settings::files::open(path, most).map_err(ResultError::io("read", path))?;
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
        let reader = of_file(path, || SerializedFileReader::new(Shared(Arc::new(Mutex::new(file)))))?;
        check_pages(reader.metadata(), bytes).map_err(|why| ResultError::damaged(path, why))?;
        let rows = reader.metadata().file_metadata().num_rows();
        let decoder = Decoder { reader, next_group: 0, rows: 0, columns: Vec::new() };
        Ok(Batches { path: path.into(), rows, decoder: Some(decoder) })
    }

    /// Its rows, as it states.
    pub(crate) fn rows(&self) -> i64 {
        self.rows
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, ResultError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut decoder = self.decoder.take()?;
        match of_file(&self.path, || decoder.batch()) {
            Ok(batch) => {
                let (rows, columns) = batch?;
                self.decoder = Some(decoder);
                Some(Ok(Batch { path: self.path.clone(), rows, columns }))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// Reads the groups of a file, one after the other.
struct Decoder {
    reader: SerializedFileReader<Shared>,
    next_group: usize,
    /// The rows of the group that are left, and its columns of kinds that results have.
    rows: usize,
    columns: Vec<(String, Kind, ColumnReader)>,
}

impl Decoder {
    /// The next rows; `None` at the end of the file.
    fn batch(&mut self) -> Result<Option<(usize, Table)>, ParquetError> {
        while self.rows == 0 {
            if self.next_group == self.reader.num_row_groups() {
                return Ok(None);
            }
            let group = self.reader.get_row_group(self.next_group)?;
            self.next_group += 1;
            let rows = group.metadata().num_rows();
            self.rows = usize::try_from(rows).map_err(|_| ParquetError::General(format!("a group of {rows} rows")))?;
            self.columns.clear();
            for (at, column) in group.metadata().columns().iter().enumerate() {
                if let Some(kind) = Kind::of(column.column_descr()) {
                    let name = column.column_descr().name().to_owned();
                    self.columns.push((name, kind, group.get_column_reader(at)?));
                }
            }
        }
        let rows = self.rows.min(BATCH);
        let mut table = Table::new();
        for (name, kind, reader) in &mut self.columns {
            table.push((name.clone(), cells(reader, *kind, rows)?));
        }
        self.rows -= rows;
        Ok(Some((rows, table)))
    }
}

/// The next cells of a column.
fn cells(reader: &mut ColumnReader, kind: Kind, rows: usize) -> Result<Cells, ParquetError> {
    let mut levels = Vec::new();
    let values = match reader {
        ColumnReader::Int32ColumnReader(reader) => Values::Int32(values(reader, rows, &mut levels)?),
        ColumnReader::Int64ColumnReader(reader) => Values::Int64(values(reader, rows, &mut levels)?),
        ColumnReader::DoubleColumnReader(reader) => Values::Double(values(reader, rows, &mut levels)?),
        ColumnReader::ByteArrayColumnReader(reader) => Values::Bytes(values(reader, rows, &mut levels)?),
        _ => unreachable!("no kind is stored otherwise"),
    };
    Ok(Cells { kind, values, levels: (!levels.is_empty()).then_some(levels) })
}

/// The next values, and, in a column that may have empty cells, which cells have one.
fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: &mut Vec<i16>,
) -> Result<Vec<T::T>, ParquetError> {
    let (mut values, mut read) = (Vec::new(), 0);
    while read < rows {
        let (more, ..) = reader.read_records(rows - read, Some(levels), None, &mut values)?;
        if more == 0 {
            return Err(ParquetError::EOF(format!("{read} of {rows} rows of a column")));
        }
        read += more;
    }
    let full = if levels.is_empty() { rows } else { levels.iter().filter(|level| **level > 0).count() };
    if values.len() == full && (levels.is_empty() || levels.len() == rows) {
        Ok(values)
    } else {
        Err(ParquetError::General(format!("a column of {} values, expected {full}", values.len())))
    }
}

/// The values of a column, and by cell whether it has one; `None`: each has.
type Stored<'a, V> = (&'a [<V as Value>::Stored], Option<&'a [i16]>);

/// Some rows of a file.
pub(crate) struct Batch {
    path: PathBuf,
    pub(crate) rows: usize,
    columns: Table,
}

impl Batch {
    /// Whether it has a column.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|(found, _)| found == name)
    }

    /// A column's cells; `None`: empty.
    pub(crate) fn some<V: Value>(&self, name: &str) -> Result<impl Iterator<Item = Option<V>>, ResultError> {
        let (values, levels) = self.column::<V>(name)?;
        let (mut values, mut levels) = (values.iter(), levels.map(|levels| levels.iter()));
        Ok((0..self.rows).map(move |_| {
            let is_full = levels.as_mut().is_none_or(|levels| levels.next() == Some(&1));
            if is_full { values.next().map(V::load) } else { None }
        }))
    }

    /// The cells of a column none of which is empty.
    pub(crate) fn whole<V: Value>(&self, name: &str) -> Result<impl Iterator<Item = V>, ResultError> {
        Ok(self.full::<V>(name)?.iter().map(V::load))
    }

    /// The texts of such a column.
    pub(crate) fn texts(&self, name: &str) -> Result<impl Iterator<Item = Result<&str, ResultError>>, ResultError> {
        let texts = self.full::<ByteArray>(name)?.iter();
        Ok(texts.map(|text| text.as_utf8().map_err(|error| self.damaged(error))))
    }

    /// The file is damaged.
    pub(crate) fn damaged(&self, why: impl ToString) -> ResultError {
        ResultError::damaged(&self.path, why)
    }

    fn full<V: Value>(&self, name: &str) -> Result<&[V::Stored], ResultError> {
        let (values, _) = self.column::<V>(name)?;
        let has_all = values.len() == self.rows;
        has_all.then_some(values).ok_or_else(|| self.damaged(format!("column {name:?} has empty values")))
    }

    fn column<V: Value>(&self, name: &str) -> Result<Stored<'_, V>, ResultError> {
        let of_name = |(found, cells): &&(String, Cells)| found == name && cells.kind == V::KIND;
        let cells = self.columns.iter().find(of_name).map(|(_, cells)| cells);
        let found = cells.and_then(|cells| Some((V::of(&cells.values)?, cells.levels.as_deref())));
        found.ok_or_else(|| self.damaged(format!("no column {name:?} of type {:?}", V::KIND)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::table::write_tables;

    /// More than the reader of a small table needs, and less than any length that a changed byte can state.
    const MOST_TAKEN: u64 = 32_000_000;

    /// A table with each kind of column that results have, and its bytes.
    fn table(path: &Path) -> Vec<u8> {
        let rows = 0..40_u64;
        let text = |row| ByteArray::from(["host-up", "core"][row as usize % 2]);
        let columns = [
            ("of", Cells::whole(rows.clone().map(text))),
            ("flow", Cells::whole(rows.clone())),
            ("fct_ps", Cells::some(rows.clone().map(|row| (row % 3 > 0).then_some(row * 1_000)))),
            ("value", Cells::whole(rows.map(|row| row as f64 / 7.0))),
        ];
        let table = columns.map(|(name, cells)| (name.to_owned(), cells)).into();
        write_tables(path, [(40, table)].into_iter()).unwrap();
        fs::read(path).unwrap()
    }

    /// The rows of these bytes with their own digest.
    fn read(path: &Path, bytes: &[u8]) -> Result<usize, ResultError> {
        fs::write(path, bytes).unwrap();
        let mut batches = Batches::open(path, 1_000_000, blake3::hash(bytes).to_hex().as_str())?;
        batches.try_fold(0, |rows, batch| Ok(rows + batch?.rows))
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
        let error = Batches::open(&path, MOST_TABLE_BYTES, "").map(|_| ()).unwrap_err();
        assert!(matches!(error, ResultError::Damaged { .. }), "{error}");
    }
}
