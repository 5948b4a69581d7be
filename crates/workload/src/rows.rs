//! Rows of comma-separated numbers, with the line of each.
//!
//! The files hold only numbers, so quotes have no meaning and a row is a line, as [`Lines`] returns them; the header is
//! optional. (A general CSV reader would accept quoted line breaks. It also counts a row as standing before the comments and
//! blank lines that precede it, which sends the user to the wrong line.)

use crate::error::{InputError, Problem, excerpt};
use crate::lines::Lines;
use std::borrow::Cow;
use std::io::BufRead;
use std::ops::RangeInclusive;

/// Columns that a kind of file may have.
const MAX_COLUMNS: usize = 10;

/// Named columns that a file may have in addition to those.
pub(crate) const MAX_NAMED: usize = 64;

/// The columns of a kind of file. Without a header the optional ones stand in this order, and those at the end may be left out.
/// A header may name all required columns and any others in any order, and further ones with a prefix and a name of the user's
/// own. If `others` is set it may also name columns that are not read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    pub(crate) required: &'static [&'static str],
    pub(crate) optional: &'static [&'static str],
    /// The prefix of the user's own columns, if there may be some.
    pub(crate) prefix: Option<&'static str>,
    /// Whether a header may name columns that are not read.
    pub(crate) others: bool,
}

impl Columns {
    pub(crate) const fn all(required: &'static [&'static str]) -> Columns {
        Columns { required, optional: &[], prefix: None, others: false }
    }

    /// Their form in messages: `a,b[,c]`.
    fn shown(&self) -> String {
        let optional = self.optional.iter().map(|name| format!("[,{name}]"));
        let named = self.prefix.map(|prefix| format!("[,{prefix}NAME]..."));
        std::iter::once(self.required.join(",")).chain(optional).chain(named).collect()
    }

    fn most(&self) -> usize {
        self.required.len() + self.optional.len()
    }

    /// The parsed header; none if it is not a header of this kind of file.
    fn of_header(&self, header: &str) -> Option<Header> {
        let mut read = Header::default();
        for name in header.split(',').map(str::trim) {
            let known = self.required.iter().chain(self.optional).position(|known| *known == name);
            let column = match (known, self.prefix.and_then(|prefix| name.strip_prefix(prefix))) {
                (Some(column), _) => column,
                (None, Some(name))
                    if !name.is_empty() && read.own.len() < MAX_NAMED && !read.own.iter().any(|own| own == name) =>
                {
                    read.own.push(name.to_string());
                    self.most() + read.own.len() - 1
                }
                (None, None) if self.others && read.unread.len() < MAX_NAMED => {
                    // In pandas' tables the index has no name.
                    read.unread.push(if name.is_empty() { "(without a name)".to_owned() } else { excerpt(name) });
                    read.layout.push(None);
                    continue;
                }
                (None, _) => return None,
            };
            if read.layout.contains(&Some(column)) {
                return None;
            }
            read.layout.push(Some(column));
        }
        (0..self.required.len()).all(|column| read.layout.contains(&Some(column))).then_some(read)
    }
}

/// A parsed header.
#[derive(Debug, Default)]
struct Header {
    /// The column of each field of a row; the user's own follow the others in the header's order. None for one that is not
    /// read.
    layout: Vec<Option<usize>>,
    /// The names of the user's own columns.
    own: Vec<String>,
    /// The names of columns that are not read.
    unread: Vec<String>,
}

/// Reader of one file's rows.
pub(crate) struct Rows<R> {
    lines: Lines<R>,
    columns: Columns,
    /// Empty before the header or the first row.
    header: Header,
    max_rows: usize,
    /// Line of the last returned row.
    row_line: u64,
    /// Rows returned so far.
    rows: usize,
}

/// A row's fields by column, without blanks around them; an omitted column is empty.
pub(crate) struct Row<'a> {
    fields: [&'a str; MAX_COLUMNS],
    /// The fields of the user's own columns, if there are some, and their names.
    own: Vec<&'a str>,
    own_names: &'a [String],
}

impl<'a> Row<'a> {
    /// The first `N` columns.
    pub(crate) fn fields<const N: usize>(&self) -> [&'a str; N] {
        std::array::from_fn(|column| self.fields[column])
    }

    /// The whole numbers of the user's own columns, in the order of [`Rows::own`]; errors name them after `prefix`.
    pub(crate) fn own_numbers(&self, prefix: &str) -> Result<Vec<u64>, Problem> {
        let number = |(nth, field): (usize, &&str)| {
            let column = format!("{prefix}{}", self.own_names[nth]);
            whole_number(column, field, 0..=u64::MAX)
        };
        self.own.iter().enumerate().map(number).collect()
    }
}

impl<R: BufRead> Rows<R> {
    /// The rows of `reader`, which errors call `file`.
    pub(crate) fn new(file: &str, reader: R, columns: Columns, max_rows: usize) -> Rows<R> {
        debug_assert!(columns.most() <= MAX_COLUMNS);
        Rows { lines: Lines::new(file, reader), columns, header: Header::default(), max_rows, row_line: 0, rows: 0 }
    }

    /// The names of the user's own columns without their prefix; known with the first row.
    pub(crate) fn own(&self) -> &[String] {
        &self.header.own
    }

    /// The names of the columns that are not read.
    pub(crate) fn unread(&self) -> &[String] {
        &self.header.unread
    }

    /// The line of the last returned row.
    pub(crate) fn row_line(&self) -> u64 {
        self.row_line
    }

    /// The next row; none at the end of a file that had one.
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>, InputError> {
        if !self.advance()? {
            return match self.rows {
                0 => Err(self.lines.error_in_file(Problem::Empty { expected: self.columns.shown() })),
                _ => Ok(None),
            };
        }
        if self.rows == self.max_rows {
            return Err(self.lines.error_in_line(Problem::TooManyRows { limit: self.max_rows }));
        }
        if self.header.layout.is_empty() {
            // The first row determines how many of the optional columns there are.
            let least = self.columns.required.len();
            let found = self.lines.text()?.split(',').count().clamp(least, self.columns.most());
            self.header.layout = (0..found).map(Some).collect();
        }
        self.rows += 1;
        self.row_line = self.lines.number();
        let (mut fields, mut own) = ([""; MAX_COLUMNS], vec![""; self.header.own.len()]);
        let mut found = 0;
        for field in self.lines.text()?.split(',') {
            if let Some(&Some(column)) = self.header.layout.get(found) {
                match column.checked_sub(self.columns.most()) {
                    None => fields[column] = field.trim(),
                    Some(nth) => own[nth] = field.trim(),
                }
            }
            found += 1;
        }
        if found == self.header.layout.len() {
            Ok(Some(Row { fields, own, own_names: &self.header.own }))
        } else {
            Err(self.wrong_columns(found))
        }
    }

    /// A problem of the last returned row.
    pub(crate) fn error_in_row(&self, problem: Problem) -> InputError {
        InputError { line: Some(self.row_line), ..self.lines.error_in_line(problem) }
    }

    fn wrong_columns(&self, found: usize) -> InputError {
        let (least, most) = (self.columns.required.len(), self.columns.most());
        let expected = if self.rows == 1 && least < most && self.header.layout.len() == found.clamp(least, most) {
            format!("{least} to {most}: `{}`", self.columns.shown())
        } else {
            let known = self.columns.required.iter().chain(self.columns.optional).map(|name| (*name).to_string());
            let prefix = self.columns.prefix.unwrap_or_default();
            let known: Vec<String> =
                known.chain(self.header.own.iter().map(|name| format!("{prefix}{name}"))).collect();
            let mut unread = self.header.unread.iter();
            let mut name = |column: &Option<usize>| match column {
                Some(column) => known[*column].clone(),
                None => unread.next().cloned().unwrap_or_default(),
            };
            let names: Vec<String> = self.header.layout.iter().map(&mut name).collect();
            format!("{}: `{}`", names.len(), names.join(","))
        };
        self.lines.error_in_line(Problem::Columns { found, expected })
    }

    /// Moves to the next line that holds a row; false at the end of the file.
    fn advance(&mut self) -> Result<bool, InputError> {
        while self.lines.advance(|| self.columns.shown())? {
            let row = self.lines.text()?;
            let may_be_header =
                |row: &str| row.starts_with(char::is_alphabetic) || self.columns.others && row.starts_with([',', '_']);
            if !self.header.layout.is_empty() || !may_be_header(row) {
                return Ok(true);
            }
            match self.columns.of_header(row) {
                Some(header) => self.header = header,
                None => {
                    let problem = Problem::Header { found: excerpt(row), expected: self.columns.shown() };
                    return Err(self.lines.error_in_line(problem));
                }
            }
        }
        Ok(false)
    }
}

/// A whole number in `range`, which may be written with an exponent (`1e6`) or a zero fraction (`10.0`).
pub(crate) fn whole_number(
    column: impl Into<Cow<'static, str>>,
    field: &str,
    range: RangeInclusive<u64>,
) -> Result<u64, Problem> {
    let accepted = if !field.is_empty() && field.bytes().all(|digit| digit.is_ascii_digit()) {
        // The usual form, which is exact.
        field.parse::<u64>().ok().filter(|number| range.contains(number))
    } else {
        // Up to MAX_BYTES every whole number is exact as an f64.
        let whole =
            |number: &f64| number.fract() == 0.0 && (*range.start() as f64..=*range.end() as f64).contains(number);
        field.parse::<f64>().ok().filter(whole).map(|number| number as u64)
    };
    accepted.ok_or_else(|| Problem::Number {
        column: column.into(),
        found: excerpt(field),
        expected: format!("a whole number from {} to {}", range.start(), range.end()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<(u64, [String; 2])>, String> {
        let mut rows = Rows::new("f", bytes, Columns::all(&["a", "b"]), 3);
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(|error| error.fields())? {
            let fields = row.fields().map(str::to_string);
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
        assert_eq!(refused(b""), "f empty");
        assert_eq!(refused(b"a,b\r\n"), "f empty");
        assert_eq!(refused(b"b,c\n"), "f:1 header");
        assert_eq!(read(b"b,a\n1,2\n"), Ok(vec![row(2, "2", "1")]));
        assert_eq!(refused(b"1,2\n\n3,4,5\n"), "f:3 columns");
        assert_eq!(refused(b"1 2\n"), "f:1 columns");
        assert_eq!(refused(b"1,2\n\xff\xfe\n"), "f:2 not-text");
        assert_eq!(refused(b"1,2\n1,2\n1,2\n1,2\n"), "f:4 too-many");
    }

    #[test]
    fn next__takes_optional_columns_by_number_or_by_header() {
        let columns = Columns { required: &["a"], optional: &["b", "c"], prefix: None, others: false };
        let read = |text: &'static str| -> Result<Vec<[String; 3]>, String> {
            let mut rows = Rows::new("f", text.as_bytes(), columns, 9);
            let mut found = Vec::new();
            while let Some(row) = rows.next().map_err(|error| error.fields())? {
                found.push(row.fields().map(str::to_string));
            }
            Ok(found)
        };
        assert_eq!(read("1\n2").unwrap(), [["1", "", ""], ["2", "", ""]]);
        assert_eq!(read("1,2\n3,").unwrap(), [["1", "2", ""], ["3", "", ""]]);
        assert_eq!(read("a,c\n1,3\n").unwrap(), [["1", "", "3"]]);
        assert_eq!(read("a, c ,b\n1,3,2\n").unwrap(), [["1", "2", "3"]]);
        let refused = |text| read(text).unwrap_err();
        assert_eq!(refused("1,2,3,4"), "f:1 columns");
        assert_eq!(refused("1,2\n1,2,3"), "f:2 columns");
        assert_eq!(refused("a,c\n1"), "f:2 columns");
        assert_eq!(read("c,a\n3,1\n").unwrap(), [["1", "", "3"]]);
        for header in ["c", "a,b,b", "a,d", "b"] {
            assert_eq!(refused(header), "f:1 header");
        }
        assert_eq!(refused("a,c\na,c\n1,3\n".get(..4).unwrap()), "f empty");
    }

    #[test]
    fn next__names_columns_that_it_does_not_read() {
        let columns = Columns { required: &["a"], optional: &["b"], prefix: Some("f:"), others: true };
        let mut rows = Rows::new("f", &b",note,b,f:x,a\n0,left,2,5,1\n1,left,2\n"[..], columns, 9);
        let row = rows.next().unwrap().unwrap();
        assert_eq!((row.fields(), row.own_numbers("f:").unwrap()), (["1", "2"], vec![5]));
        assert_eq!(rows.unread(), ["(without a name)", "note"]);
        let refused = rows.next().map(|_| ()).unwrap_err().to_string();
        assert_eq!(refused, "f:3: columns: 3; expected 5: `(without a name),note,b,f:x,a`");
    }

    #[test]
    fn next__refuses_an_endless_line_without_keeping_it() {
        let endless = std::io::BufReader::new(std::io::repeat(b'1'));
        let mut rows = Rows::new("f", endless, Columns::all(&["a", "b"]), 3);
        let refused = rows.next().map(|_| ()).unwrap_err();
        assert_eq!(refused.fields(), "f:1 long-line");
        assert!(rows.lines.capacity() < 100_000);
    }

    #[test]
    fn next__passes_on_that_the_file_cannot_be_read() {
        struct Broken;
        impl std::io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("disk gone"))
            }
        }
        let mut rows = Rows::new("f", std::io::BufReader::new(Broken), Columns::all(&["a", "b"]), 3);
        let refused = rows.next().map(|_| ()).unwrap_err();
        assert_eq!(refused.fields(), "f unreadable");
    }

    #[test]
    fn whole_number__takes_any_way_to_write_it() {
        for field in ["1500", "1.5e3", "1500.0", "+1500", "15E2"] {
            assert_eq!(whole_number("n", field, 0..=2000).unwrap(), 1500, "{field}");
        }
    }

    #[test]
    fn whole_number__refuses_all_else_with_the_range() {
        for field in
            ["", "-1", "0.5", "11", "+", "-", "1e", "1 1", "1e400", "nan", "inf", "0x3", "ten", "1 000", "1_000"]
        {
            let refused = whole_number("n", field, 0..=10).unwrap_err();
            assert_eq!((refused.kind(), refused.column()), ("value", Some("n")), "{field}");
            assert!(refused.in_two().1.is_some_and(|expected| expected.contains("10")));
        }
    }
}
