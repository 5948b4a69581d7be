//! Tables as Parquet holds them: columns of numbers and of texts, some with empty cells.
//!
//! A file carries no time and no version of a library, so that equal rows make equal bytes, however they come.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnDescriptor, Type};

use crate::ResultError;
use crate::columns;
use crate::files::write_whole;

/// Rows of a group of a file: the memory that a writer takes.
const GROUP: usize = 1 << 16;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    U8,
    U32,
    U64,
    F64,
    Text,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::U8, Kind::U32, Kind::U64, Kind::F64, Kind::Text];

    /// As Parquet stores it, what it means there, and what that is called in earlier versions of the format.
    fn stored(self) -> (Physical, Option<LogicalType>, ConvertedType) {
        match self {
            Kind::U8 => (Physical::INT32, Some(LogicalType::integer(8, false)), ConvertedType::UINT_8),
            Kind::U32 => (Physical::INT32, Some(LogicalType::integer(32, false)), ConvertedType::UINT_32),
            Kind::U64 => (Physical::INT64, Some(LogicalType::integer(64, false)), ConvertedType::UINT_64),
            Kind::F64 => (Physical::DOUBLE, None, ConvertedType::NONE),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String), ConvertedType::UTF8),
        }
    }

    /// That of a column of a file; `None` if results have no such column.
    pub(crate) fn of(column: &ColumnDescriptor) -> Option<Kind> {
        let found = (column.physical_type(), column.converted_type());
        let fits = |kind: &Kind| {
            let (physical, _, converted) = kind.stored();
            found == (physical, converted)
        };
        let is_flat = column.max_rep_level() == 0 && column.max_def_level() <= 1;
        Kind::ALL.into_iter().find(fits).filter(|_| is_flat)
    }
}

/// The values of cells that are not empty, as Parquet stores them.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

/// A value of a cell.
pub(crate) trait Value: Sized {
    const KIND: Kind;
    type Stored: 'static;

    fn store(self) -> Self::Stored;
    fn load(stored: &Self::Stored) -> Self;
    /// `None`: these are stored otherwise.
    fn of(values: &Values) -> Option<&[Self::Stored]>;
    fn all(values: Vec<Self::Stored>) -> Values;
}

macro_rules! value {
    ($type:ty, $kind:ident, $stored:ty, $values:ident, $store:expr, $load:expr) => {
        impl Value for $type {
            const KIND: Kind = Kind::$kind;
            type Stored = $stored;

            fn store(self) -> $stored {
                $store(self)
            }

            fn load(stored: &$stored) -> $type {
                $load(stored)
            }

            fn of(values: &Values) -> Option<&[$stored]> {
                if let Values::$values(values) = values { Some(values) } else { None }
            }

            fn all(values: Vec<$stored>) -> Values {
                Values::$values(values)
            }
        }
    };
}

value!(u8, U8, i32, Int32, i32::from, |stored: &i32| *stored as u8);
value!(u32, U32, i32, Int32, u32::cast_signed, |stored: &i32| stored.cast_unsigned());
value!(u64, U64, i64, Int64, u64::cast_signed, |stored: &i64| stored.cast_unsigned());
value!(f64, F64, f64, Double, |value| value, f64::clone);
value!(ByteArray, Text, ByteArray, Bytes, |value| value, ByteArray::clone);

/// The cells of a column.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    pub(crate) kind: Kind,
    pub(crate) values: Values,
    /// By cell, 0 if it is empty, otherwise 1; `None` in a column without empty ones.
    pub(crate) levels: Option<Vec<i16>>,
}

impl Cells {
    /// None of which is empty.
    pub(crate) fn whole<V: Value>(values: impl IntoIterator<Item = V>) -> Cells {
        let values = V::all(values.into_iter().map(V::store).collect());
        Cells { kind: V::KIND, values, levels: None }
    }

    /// Some of which may be empty.
    pub(crate) fn some<V: Value>(values: impl IntoIterator<Item = Option<V>>) -> Cells {
        let (mut full, mut levels) = (Vec::new(), Vec::new());
        for value in values {
            levels.push(i16::from(value.is_some()));
            full.extend(value.map(V::store));
        }
        Cells { kind: V::KIND, values: V::all(full), levels: Some(levels) }
    }

    /// A column of this kind without rows.
    fn emptied(&self) -> Cells {
        let values = match self.values {
            Values::Int32(_) => Values::Int32(Vec::new()),
            Values::Int64(_) => Values::Int64(Vec::new()),
            Values::Double(_) => Values::Double(Vec::new()),
            Values::Bytes(_) => Values::Bytes(Vec::new()),
        };
        Cells { kind: self.kind, values, levels: self.levels.as_ref().map(|_| Vec::new()) }
    }

    /// Adds the cells of another column of this kind.
    fn append(&mut self, more: Cells) {
        match (&mut self.values, more.values) {
            (Values::Int32(all), Values::Int32(more)) => all.extend(more),
            (Values::Int64(all), Values::Int64(more)) => all.extend(more),
            (Values::Double(all), Values::Double(more)) => all.extend(more),
            (Values::Bytes(all), Values::Bytes(more)) => all.extend(more),
            _ => unreachable!("a column has one kind"),
        }
        if let (Some(all), Some(more)) = (&mut self.levels, more.levels) {
            all.extend(more);
        }
    }

    fn write(&self, writer: &mut SerializedColumnWriter<'_>) -> Result<usize, ParquetError> {
        fn put<T: DataType>(
            writer: &mut SerializedColumnWriter<'_>,
            values: &[T::T],
            levels: Option<&[i16]>,
        ) -> Result<usize, ParquetError> {
            writer.typed::<T>().write_batch(values, levels, None)
        }
        let levels = self.levels.as_deref();
        match &self.values {
            Values::Int32(values) => put::<Int32Type>(writer, values, levels),
            Values::Int64(values) => put::<Int64Type>(writer, values, levels),
            Values::Double(values) => put::<DoubleType>(writer, values, levels),
            Values::Bytes(values) => put::<ByteArrayType>(writer, values, levels),
        }
    }
}

/// Columns of equal length with their names.
pub(crate) type Table = Vec<(String, Cells)>;

/// Writes rows to a growing file.
pub(crate) struct TableWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    path: PathBuf,
    /// The rows that make no group yet.
    rows: usize,
    group: Table,
}

impl<W: Write + Send> TableWriter<W> {
    /// `empty` is a table without rows; `path` is what errors name.
    pub(crate) fn new(out: W, path: &Path, empty: Table) -> Result<TableWriter<W>, ResultError> {
        let mut properties =
            WriterProperties::builder().set_created_by("flowsieve".to_string()).set_compression(Compression::SNAPPY);
        // A dictionary of values that are nearly all different takes time and no less room.
        for column in ["flow", "start_ps", "fct_ps", "ideal_ps", "slowdown", "value"] {
            properties = properties.set_column_dictionary_enabled(column.into(), false);
        }
        for rising in ["flow", "start_ps"] {
            properties = properties.set_column_encoding(rising.into(), Encoding::DELTA_BINARY_PACKED);
        }
        let names = empty.iter().map(|(name, _)| name.as_str());
        let properties = properties.set_key_value_metadata(Some(vec![columns::metadata(names)])).build();
        let writer = schema(&empty).and_then(|schema| SerializedFileWriter::new(out, schema.into(), properties.into()));
        let writer = writer.map_err(ResultError::writing(path))?;
        Ok(TableWriter { writer, path: path.into(), rows: 0, group: empty })
    }

    /// How many rows the next call of [`TableWriter::write`] takes at most; not zero.
    pub(crate) fn room(&self) -> usize {
        GROUP - self.rows
    }

    /// Appends rows with the columns of the first table.
    pub(crate) fn write(&mut self, rows: usize, table: Table) -> Result<(), ResultError> {
        for ((_, all), (_, more)) in self.group.iter_mut().zip(table) {
            all.append(more);
        }
        self.rows += rows;
        if self.rows < GROUP { Ok(()) } else { self.write_group() }
    }

    fn write_group(&mut self) -> Result<(), ResultError> {
        let TableWriter { writer, path, group, rows } = self;
        let mut write = || {
            let mut writer = writer.next_row_group()?;
            for (_, cells) in &*group {
                let column = writer.next_column()?;
                let mut column = column.ok_or_else(|| ParquetError::General("more columns than the schema".into()))?;
                cells.write(&mut column)?;
                column.close()?;
            }
            writer.close()
        };
        write().map_err(ResultError::writing(path))?;
        group.iter_mut().for_each(|(_, cells)| *cells = cells.emptied());
        *rows = 0;
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<(), ResultError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.close().map_err(ResultError::writing(&self.path))?;
        Ok(())
    }
}

fn schema(table: &Table) -> Result<Type, ParquetError> {
    let field = |(name, cells): &(String, Cells)| {
        let (physical, logical, _) = cells.kind.stored();
        let repetition = if cells.levels.is_some() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        field.with_repetition(repetition).build().map(Arc::new)
    };
    let fields = table.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("flowsieve").with_fields(fields).build()
}

/// Writes whole tables with equal columns, one after the other; there is at least one.
pub(crate) fn write_tables(path: &Path, tables: impl Iterator<Item = (usize, Table)>) -> Result<(), ResultError> {
    let mut tables = tables.peekable();
    let Some((_, first)) = tables.peek() else { return Ok(()) };
    let empty = first.iter().map(|(name, cells)| (name.clone(), cells.emptied())).collect();
    write_whole(path, |file| {
        let mut writer = TableWriter::new(file, path, empty)?;
        for (rows, table) in tables {
            writer.write(rows, table)?;
        }
        writer.finish()
    })
}
