//! Lines of a file of numbers, with the number of each.
//!
//! Blank lines and lines that start with `#` are skipped but counted; `\r\n` and a byte-order mark are accepted. A file is
//! read line by line into one buffer of bounded length.

use crate::error::{InputError, Problem};
use std::io::{BufRead, Read};

/// Bytes that a line may have; a row of six numbers has under 150.
const MAX_LINE_BYTES: usize = 10_000;

/// Reader of one file's lines.
pub(crate) struct Lines<R> {
    file: String,
    reader: R,
    /// Lines read so far.
    number: u64,
    /// Bytes that a line may have.
    limit: usize,
    /// The line read last.
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `reader`, which errors call `file`.
    pub(crate) fn new(file: &str, reader: R) -> Lines<R> {
        Lines::with_limit(file, reader, MAX_LINE_BYTES)
    }

    /// The same for lines of up to `limit` bytes.
    pub(crate) fn with_limit(file: &str, reader: R, limit: usize) -> Lines<R> {
        Lines { file: file.to_string(), reader, number: 0, limit, buffer: Vec::new() }
    }

    /// Moves to the next line that is neither a comment nor blank; false at the end of the file. An error says that a row of
    /// the `expected` columns was expected.
    pub(crate) fn advance(&mut self, expected: impl Fn() -> String) -> Result<bool, InputError> {
        while self.advance_any(&expected)? {
            let line = self.text()?;
            if !line.is_empty() && !line.starts_with('#') {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The line read last, without blanks around it.
    pub(crate) fn text(&self) -> Result<&str, InputError> {
        let line = str::from_utf8(&self.buffer).map_err(|_| self.error_in_line(Problem::NotText))?;
        // Some spreadsheets start a file with a byte-order mark.
        Ok(if self.number == 1 { line.trim_start_matches('\u{feff}') } else { line }.trim())
    }

    /// The number of the line read last, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// A problem of the line read last.
    pub(crate) fn error_in_line(&self, problem: Problem) -> InputError {
        InputError { file: self.file.clone(), line: Some(self.number), problem }
    }

    /// A problem of the file as a whole.
    pub(crate) fn error_in_file(&self, problem: Problem) -> InputError {
        InputError { file: self.file.clone(), line: None, problem }
    }

    /// Like [`Lines::advance`], but to the next line of any kind.
    pub(crate) fn advance_any(&mut self, expected: impl Fn() -> String) -> Result<bool, InputError> {
        self.buffer.clear();
        self.number += 1;
        // One byte more than allowed shows that a line is too long.
        let mut bounded = self.reader.by_ref().take(self.limit as u64 + 1);
        let read = bounded.read_until(b'\n', &mut self.buffer).map_err(|error| self.error_in_file(error.into()))?;
        if read > self.limit {
            return Err(self.error_in_line(Problem::LongLine { limit: self.limit, expected: expected() }));
        }
        Ok(read > 0)
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }
}
