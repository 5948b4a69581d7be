//! Rows of comma-separated numbers, with the line each of them stands in.
//!
//! The files hold numbers only, so quotes have no meaning and a row is a line. Blank lines and lines that start with
//! `#` are skipped; the header is optional; `\r\n` and a byte-order mark are accepted. A file is read line by line
//! into one buffer of bounded length. (A general CSV reader would take quoted line breaks, and counts a row as standing
//! before the comments and blank lines that precede it, which sends the user to the wrong line.)

use crate::error::{InputError, Problem, excerpt};
use std::io::{BufRead, Read};
use std::ops::RangeInclusive;

/// Bytes that a line may have; a row of four numbers has under 100.
const MAX_LINE_BYTES: usize = 10_000;

/// Reader of one file's rows.
pub(crate) struct Rows<R> {
    file: String,
    reader: R,
    columns: &'static str,
    max_rows: usize,
    /// Lines read so far.
    line: u64,
    /// Line of the row given last.
    row_line: u64,
    /// Rows given so far.
    rows: usize,
    /// The line read last.
    buffer: Vec<u8>,
}

impl<R: BufRead> Rows<R> {
    /// The rows of `reader`, which errors call `file` and whose header is `columns`.
    pub(crate) fn new(file: &str, reader: R, columns: &'static str, max_rows: usize) -> Rows<R> {
        Rows { file: file.to_string(), reader, columns, max_rows, line: 0, row_line: 0, rows: 0, buffer: Vec::new() }
    }

    /// The fields of the next row, without blanks around them; none at the end of a file that had a row.
    pub(crate) fn next<const N: usize>(&mut self) -> Result<Option<[&str; N]>, InputError> {
        if !self.advance()? {
            return match self.rows {
                0 => Err(self.error_in_file(Problem::Empty { expected: self.columns })),
                _ => Ok(None),
            };
        }
        if self.rows == self.max_rows {
            return Err(self.error_in_line(Problem::TooManyRows { limit: self.max_rows }));
        }
        self.rows += 1;
        self.row_line = self.line;
        let row = self.text()?;
        let found = row.split(',').count();
        if found != N {
            return Err(self.error_in_line(Problem::Columns { found, expected: self.columns }));
        }
        let mut fields = row.split(',').map(str::trim);
        Ok(Some(std::array::from_fn(|_| fields.next().unwrap_or_default())))
    }

    /// A problem of the row given last.
    pub(crate) fn error_in_row(&self, problem: Problem) -> InputError {
        InputError { file: self.file.clone(), line: Some(self.row_line), problem }
    }

    /// A problem of the line read last.
    fn error_in_line(&self, problem: Problem) -> InputError {
        InputError { file: self.file.clone(), line: Some(self.line), problem }
    }

    /// A problem of the file as a whole.
    fn error_in_file(&self, problem: Problem) -> InputError {
        InputError { file: self.file.clone(), line: None, problem }
    }

    /// Moves to the next line that holds a row; false at the end of the file.
    fn advance(&mut self) -> Result<bool, InputError> {
        let mut header_may_come = self.rows == 0;
        while self.read_line()? {
            let row = self.text()?;
            if row.is_empty() || row.starts_with('#') {
                continue;
            }
            if !header_may_come || !row.starts_with(char::is_alphabetic) {
                return Ok(true);
            }
            if !row.split(',').map(str::trim).eq(self.columns.split(',')) {
                return Err(self.error_in_line(Problem::Header { found: excerpt(row), expected: self.columns }));
            }
            header_may_come = false;
        }
        Ok(false)
    }

    fn read_line(&mut self) -> Result<bool, InputError> {
        self.buffer.clear();
        self.line += 1;
        // One byte more than allowed tells a line that is too long.
        let mut bounded = self.reader.by_ref().take(MAX_LINE_BYTES as u64 + 1);
        let read = bounded.read_until(b'\n', &mut self.buffer).map_err(|error| self.error_in_file(error.into()))?;
        if read > MAX_LINE_BYTES {
            return Err(self.error_in_line(Problem::LongLine { limit: MAX_LINE_BYTES, expected: self.columns }));
        }
        Ok(read > 0)
    }

    fn text(&self) -> Result<&str, InputError> {
        let line = str::from_utf8(&self.buffer).map_err(|_| self.error_in_line(Problem::NotText))?;
        // Some spreadsheets start a file with a byte-order mark.
        Ok(if self.line == 1 { line.trim_start_matches('\u{feff}') } else { line }.trim())
    }
}

/// A whole number in `range`, which may be written with an exponent (`1e6`) or a zero fraction (`10.0`).
pub(crate) fn whole_number(column: &'static str, field: &str, range: RangeInclusive<u64>) -> Result<u64, Problem> {
    let accepted = field.parse::<f64>().ok().filter(|number| {
        // Up to MAX_BYTES every whole number is exact as an f64.
        number.fract() == 0.0 && (*range.start() as f64..=*range.end() as f64).contains(number)
    });
    accepted.map(|number| number as u64).ok_or_else(|| Problem::Number {
        column,
        found: excerpt(field),
        expected: format!("a whole number from {} to {}", range.start(), range.end()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<(u64, [String; 2])>, String> {
        let mut rows = Rows::new("f", bytes, "a,b", 3);
        let mut found = Vec::new();
        while let Some(fields) = rows.next().map_err(|error| error.to_string())? {
            let fields = fields.map(str::to_string);
            found.push((rows.row_line, fields));
        }
        Ok(found)
    }

    fn row(line: u64, a: &str, b: &str) -> (u64, [String; 2]) {
        (line, [a.to_string(), b.to_string()])
    }

    #[test]
    fn next__skips_header_comments_and_blank_lines_but_counts_them() {
        assert_eq!(read(b"# source\n\na,b\n1,2\n  \n#3,4\n 5 , 6 "), Ok(vec![row(4, "1", "2"), row(7, "5", "6")]));
    }

    #[test]
    fn next__takes_windows_line_ends_and_a_byte_order_mark() {
        assert_eq!(read(b"\xef\xbb\xbfa,b\r\n1,2\r\n"), Ok(vec![row(2, "1", "2")]));
    }

    #[test]
    fn next__names_the_line_of_what_it_refuses() {
        let refused = |bytes: &[u8]| read(bytes).unwrap_err();
        assert_eq!(refused(b""), "f: no rows; expected at least one row `a,b`");
        assert_eq!(refused(b"a,b\r\n"), "f: no rows; expected at least one row `a,b`");
        assert_eq!(
            refused(b"b,a\n"),
            "f:1: `b,a` is not the header of this kind of file; expected `a,b` or a row of numbers"
        );
        assert_eq!(refused(b"1,2\n\n3,4,5\n"), "f:3: columns: 3; expected 2: `a,b`");
        assert_eq!(refused(b"1 2\n"), "f:1: columns: 1; expected 2: `a,b`");
        assert_eq!(refused(b"1,2\n\xff\xfe\n"), "f:2: this line is not UTF-8 text; expected a CSV file");
        assert_eq!(refused(b"1,2\n1,2\n1,2\n1,2\n"), "f:4: row 4; expected at most 3 rows");
    }

    #[test]
    fn next__refuses_an_endless_line_without_keeping_it() {
        let endless = std::io::BufReader::new(std::io::repeat(b'1'));
        let mut rows = Rows::new("f", endless, "a,b", 3);
        let refused = rows.next::<2>().unwrap_err();
        assert_eq!(refused.to_string(), "f:1: this line is longer than 10000 bytes; expected a row `a,b`");
        assert!(rows.buffer.capacity() < 10 * MAX_LINE_BYTES);
    }

    #[test]
    fn next__passes_on_that_the_file_cannot_be_read() {
        struct Broken;
        impl std::io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("disk gone"))
            }
        }
        let refused = Rows::new("f", std::io::BufReader::new(Broken), "a,b", 3).next::<2>().unwrap_err();
        assert_eq!(refused.to_string(), "f: cannot be read: disk gone");
    }

    #[test]
    fn whole_number__takes_any_way_to_write_it() {
        for field in ["1500", "1.5e3", "1500.0", "+1500", "15E2"] {
            assert_eq!(whole_number("n", field, 0..=2000).unwrap(), 1500, "{field}");
        }
    }

    #[test]
    fn whole_number__refuses_all_else_with_the_range() {
        for field in ["", "-1", "0.5", "11", "1e400", "nan", "inf", "0x3", "ten", "1 000", "1_000"] {
            let refused = whole_number("n", field, 0..=10).unwrap_err().to_string();
            assert_eq!(refused, format!("n is `{field}`; expected a whole number from 0 to 10"));
        }
    }
}
