//! CSV for spreadsheets, which take a text that begins with `=`, `+`, `-` or `@` for a formula and execute it.

use std::io::{self, Write};

use flowsieve_settings::files::safe_cell;

/// Passes CSV on with an apostrophe before each text that a spreadsheet would take for a formula. Numbers stay as they are.
#[derive(Debug)]
pub struct SafeCsv<W> {
    out: W,
    /// The part of a row that has come so far.
    row: Vec<u8>,
    /// Whether its end lies within quotes.
    quoted: bool,
}

impl<W: Write> SafeCsv<W> {
    /// Writes into `out`. The last row is passed on by a flush.
    pub fn new(out: W) -> SafeCsv<W> {
        SafeCsv { out, row: Vec::new(), quoted: false }
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let mut rows = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(self.row.as_slice());
        let mut safe = csv::WriterBuilder::new().flexible(true).from_writer(&mut self.out);
        for row in rows.records() {
            safe.write_record(row?.iter().map(|cell| safe_cell(cell).into_owned()))?;
        }
        safe.flush()?;
        drop(safe);
        self.row.clear();
        Ok(())
    }
}

impl<W: Write> Write for SafeCsv<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            self.row.push(byte);
            self.quoted ^= byte == b'"';
            if byte == b'\n' && !self.quoted {
                self.pass_on()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_csv__quotes_texts_in_every_cell_whatever_stands_around_them() {
        let mut out = Vec::new();
        let mut safe = SafeCsv::new(&mut out);
        safe.write_all(b"scheme,x\n=1+1,-2.5\n\"a,\"\"b\"\"\n=c\",").unwrap();
        safe.write_all(b"\"=HYPERLINK(\"\"x\"\",1)\"\n@a,+b").unwrap();
        safe.flush().unwrap();
        drop(safe);
        let rows = "scheme,x\n'=1+1,-2.5\n\"a,\"\"b\"\"\n=c\",\"'=HYPERLINK(\"\"x\"\",1)\"\n'@a,'+b\n";
        assert_eq!(String::from_utf8(out).unwrap(), rows);
    }
}
