//! Measured sizes of flows: one per row, or a column of a CSV file.
//!
//! A first row whose cell is not a number is a heading. Cells may be quoted, `#` starts a comment line. A size may have a unit:
//! KB is 1,000 bytes, KiB 1,024.

use crate::MAX_BYTES;
use crate::convert::source::{decimal, nearest};
use crate::error::{InputError, Problem};
use crate::lines::Lines;
use crate::rows::whole_number;
use std::borrow::Cow;
use std::io::BufRead;

/// Sizes that a file may have: 800 MB of memory.
pub const MAX_SIZES: usize = 100_000_000;

/// The sizes in bytes of the column of this name, or of the first; at least one. Errors call the file `name`.
pub fn read(name: &str, reader: impl BufRead, column: Option<&str>) -> Result<Vec<u64>, InputError> {
    let expected = || column.unwrap_or("bytes").to_owned();
    let mut lines = Lines::new(name, reader);
    let (mut at, mut columns, mut sizes, mut is_first) = (0, None, Vec::new(), true);
    while lines.advance(expected)? {
        let cells = cells(lines.text()?);
        if std::mem::take(&mut is_first) {
            if let Some(wanted) = column {
                at = cells.iter().position(|cell| cell == wanted).ok_or_else(|| {
                    lines.error_in_line(Problem::NoColumn { column: wanted.to_owned(), columns: cells.join(", ") })
                })?;
            }
            columns = Some(cells.len());
            if column.is_some() || cells[0].parse::<f64>().is_err() && with_unit(&cells[0]).is_none() {
                continue;
            }
        }
        if columns.is_some_and(|columns| columns != cells.len()) {
            let expected = format!("{} as in the first row", columns.unwrap_or_default());
            return Err(lines.error_in_line(Problem::Columns { found: cells.len(), expected }));
        }
        let what = column.map_or(Cow::Borrowed("the size"), |name| Cow::Owned(name.to_owned()));
        let bytes = with_unit(&cells[at]).map_or_else(|| cells[at].clone(), |bytes| Cow::Owned(bytes.to_string()));
        let size = whole_number(what, &bytes, 1..=MAX_BYTES).map_err(|problem| lines.error_in_line(problem))?;
        if sizes.len() == MAX_SIZES {
            return Err(lines.error_in_line(Problem::TooManyRows { limit: MAX_SIZES }));
        }
        sizes.push(size);
    }
    match sizes.is_empty() {
        true => Err(lines.error_in_file(Problem::Empty { expected: expected() })),
        false => Ok(sizes),
    }
}

/// The bytes of a unit.
pub(crate) fn unit_bytes(unit: &str) -> Option<u64> {
    let (prefix, power) = match unit {
        "B" | "byte" | "bytes" => return Some(1),
        unit => unit
            .strip_suffix("iB")
            .map(|prefix| (prefix, 1_024u64))
            .or(unit.strip_suffix('B').map(|prefix| (prefix, 1_000)))?,
    };
    let at = ["k", "M", "G", "T"].iter().position(|of| prefix == *of || (prefix == "K" && *of == "k"))?;
    Some(power.pow(at as u32 + 1))
}

/// The whole bytes of a number with a unit, such as `1.2 KB`; none without a unit.
fn with_unit(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic() && c != 'e')?);
    nearest(decimal(number.trim())?.checked_mul(unit_bytes(unit)?.into())?)
}

/// Whether the rows of a text have one cell each, like a list of sizes without other columns; judged by its first rows.
pub fn has_one_column(text: &str) -> bool {
    let rows = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let mut rows = rows.filter(|row| !row.is_empty() && !row.starts_with('#')).take(3).peekable();
    rows.peek().is_some() && rows.all(|row| !row.contains([',', ';', ' ', '\t']))
}

/// The cells between commas, outside of quotes.
fn cells(row: &str) -> Vec<Cow<'_, str>> {
    if !row.contains('"') {
        return row.split(',').map(|cell| Cow::Borrowed(cell.trim())).collect();
    }
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for letter in row.chars() {
        match letter {
            // Two quotes within quotes stand for one; no size has one.
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(Cow::Owned(std::mem::take(&mut cell).trim().to_owned())),
            letter => cell.push(letter),
        }
    }
    cells.push(Cow::Owned(cell.trim().to_owned()));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str, column: Option<&str>) -> Result<Vec<u64>, (Option<u64>, String)> {
        read("sizes.csv", text.as_bytes(), column).map_err(|error| (error.line, error.problem.to_string()))
    }

    #[test]
    fn read__one_a_row_or_a_column() {
        assert_eq!(sizes("300\n100\r\n\n# half\n2e2\n", None), Ok(vec![300, 100, 200]));
        assert_eq!(sizes("\u{feff}bytes\n300\n100.0\n", None), Ok(vec![300, 100]));
        assert_eq!(sizes("start_s, bytes\n0.1, 300\n0.2, 7\n", Some("bytes")), Ok(vec![300, 7]));
        assert_eq!(sizes("\"who, when\",bytes\n\"a, 1\",5\n\"b\",\"6\"\n", Some("bytes")), Ok(vec![5, 6]));
        assert_eq!(sizes("5,x\n6,y\n", None), Ok(vec![5, 6]));
    }

    #[test]
    fn read__says_where_a_file_is_wrong() {
        for (text, column, line) in [
            ("", None, None),
            ("bytes\n", None, None),
            ("100\n-3\n", None, Some(2)),
            ("100\n\n0\n", None, Some(3)),
            ("100\n5.5\n", None, Some(2)),
            ("a,b\n1,2\n", Some("size"), Some(1)),
            ("a,b\n1,2\n1\n", Some("b"), Some(3)),
        ] {
            assert_eq!(sizes(text, column).unwrap_err().0, line, "{text:?}");
        }
        assert!(sizes("a,b\n1,2\n", Some("size")).unwrap_err().1.contains("a, b"));
    }

    #[test]
    fn has_one_column__of_the_first_rows() {
        for (text, one) in
            [("5\n6\n", true), ("# x\nbytes\n7", true), ("5,0.5\n", false), ("5 0.5\n", false), ("", false)]
        {
            assert_eq!(has_one_column(text), one, "{text:?}");
        }
    }
}
