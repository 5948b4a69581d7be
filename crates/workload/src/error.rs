//! Errors in a file of sizes or flows: one message with the file, the line and what was expected.

use std::borrow::Cow;

use thiserror::Error;

/// A file of numbers that cannot be used, and the place of the error.
#[derive(Debug, Error)]
#[error("{file}{}: {problem}", .line.map_or_else(String::new, |line| format!(":{line}")))]
pub struct InputError {
    /// The file as the caller named it.
    pub file: String,
    /// The line, from 1; none if the whole file is at fault.
    pub line: Option<u64>,
    /// The problem.
    pub problem: Problem,
}

#[cfg(test)]
impl InputError {
    /// File and line, kind and column: tests compare these, independently of the message's words.
    pub(crate) fn fields(&self) -> String {
        let line = self.line.map_or_else(String::new, |line| format!(":{line}"));
        let column = self.problem.column().map_or_else(String::new, |column| format!(" {column}"));
        format!("{}{line} {}{column}", self.file, self.problem.kind())
    }
}

impl Problem {
    /// The kind of problem, in a word or two that stay the same.
    pub fn kind(&self) -> &'static str {
        match self {
            Problem::Read(_) => "unreadable",
            Problem::NotText => "not-text",
            Problem::LongLine { .. } => "long-line",
            Problem::Header { .. } => "header",
            Problem::Columns { .. } => "columns",
            Problem::Number { .. } => "value",
            Problem::NoHost { .. } => "unknown-host",
            Problem::Empty { .. } => "empty",
            Problem::TooManyRows { .. }
            | Problem::TooManyFlows { .. }
            | Problem::TooManyBytes
            | Problem::TooManyFeatures { .. }
            | Problem::ManyColumns { .. } => "too-many",
            Problem::SizeGoesBack { .. } | Problem::CdfGoesBack { .. } => "falls",
            Problem::CdfEndsEarly { .. } => "ends-early",
            Problem::EmptyFlows { .. } => "empty-flows",
            Problem::NoTimePasses => "no-time",
            Problem::Bounds { .. } => "bounds",
            Problem::LineEnds { .. } | Problem::LineGoesOn { .. } | Problem::Promised { .. } => "count",
            Problem::RepeatedId { .. } | Problem::PortTwice { .. } => "twice",
            Problem::NoFlows => "no-flows",
            Problem::NoColumn { .. } => "unknown-column",
            Problem::TwoColumns { .. } => "twice",
            Problem::NoFeature { .. } => "no-feature",
            Problem::OtherColumns { .. } => "other-columns",
            Problem::SameHost { .. } => "same-host",
        }
    }

    /// The column at fault, if it is one.
    pub fn column(&self) -> Option<&str> {
        match self {
            Problem::Number { column, .. } => Some(column),
            Problem::NoHost { column, .. } | Problem::TwoColumns { column } => Some(column),
            Problem::NoColumn { column, .. } | Problem::NoFeature { column } => Some(column),
            Problem::SizeGoesBack { .. } => Some("size_bytes"),
            Problem::CdfGoesBack { .. } | Problem::CdfEndsEarly { .. } => Some("cdf"),
            _ => None,
        }
    }

    /// The problem and the expectation: the message in two parts.
    pub fn in_two(&self) -> (String, Option<String>) {
        let text = self.to_string();
        match text.rsplit_once("; expected ") {
            Some((what, expected)) => (what.to_owned(), Some(expected.to_owned())),
            None => (text, None),
        }
    }
}

/// A problem of a file of numbers; the message says what was expected.
#[derive(Debug, Error)]
pub enum Problem {
    /// The system could not read the file.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// Bytes that are not text.
    #[error("this line is not UTF-8 text; expected a text file")]
    NotText,
    /// A line that is longer than any row of numbers.
    #[error("this line is longer than {limit} bytes; expected a row `{expected}`")]
    LongLine {
        /// Bytes that a line may have.
        limit: usize,
        /// The columns.
        expected: String,
    },
    /// The first row is neither the header nor numbers.
    #[error("`{found}` is not the header of this kind of file; expected `{expected}` or a row of numbers")]
    Header {
        /// The row.
        found: String,
        /// The columns.
        expected: String,
    },
    /// A row with too few or too many columns.
    #[error("columns: {found}; expected {expected}")]
    Columns {
        /// Columns of the row.
        found: usize,
        /// The number and names of the expected columns.
        expected: String,
    },
    /// A field that is not a number of the right kind and range.
    #[error("{column} is `{found}`; expected {expected}")]
    Number {
        /// Name of the column.
        column: Cow<'static, str>,
        /// The field.
        found: String,
        /// Kind and range.
        expected: String,
    },
    /// A name that no host has.
    #[error("{column} is `{found}`, which is not a host; expected {expected}")]
    NoHost {
        /// Name of the column.
        column: &'static str,
        /// The field.
        found: String,
        /// The hosts that there are.
        expected: String,
    },
    /// A file without a row.
    #[error("no rows; expected at least one row `{expected}`")]
    Empty {
        /// The columns.
        expected: String,
    },
    /// A file with more rows than can be kept in memory.
    #[error("row {}; expected at most {limit} rows", .limit + 1)]
    TooManyRows {
        /// Rows that a file may have.
        limit: usize,
    },
    /// Coflows with more flows than can be kept in memory.
    #[error("more than {limit} flows up to here; expected at most {limit}")]
    TooManyFlows {
        /// Flows that a trace may have.
        limit: usize,
    },
    /// A size smaller than that of the row before.
    #[error("size_bytes goes back from {before} to {found}; expected sizes that never fall")]
    SizeGoesBack {
        /// Size of the row before, in bytes.
        before: u64,
        /// Size of this row, in bytes.
        found: u64,
    },
    /// A probability smaller than that of the row before.
    #[error("cdf goes back from {before} to {found}; expected values that never fall")]
    CdfGoesBack {
        /// Value of the row before.
        before: f64,
        /// Value of this row.
        found: f64,
    },
    /// A last row that is neither 1 nor 100 per cent.
    #[error("cdf ends at {found}; expected the last row to reach 1, or 100 where shares are per cent")]
    CdfEndsEarly {
        /// Value of the last row.
        found: f64,
    },
    /// A positive probability of flows without a byte.
    #[error("a size of 0 bytes has the probability {found}; expected flows of at least 1 byte, so `0,0` at most")]
    EmptyFlows {
        /// The probability.
        found: f64,
    },
    /// Starts without a length of time, from which no rate follows.
    #[error("no start is later than 0; expected starts at different times")]
    NoTimePasses,
    /// Bounds of a size whose lower one is the higher.
    #[error("lower is {lower} and upper is {upper}; expected a lower bound that is no larger than the upper one")]
    Bounds {
        /// In bytes.
        lower: u64,
        /// In bytes.
        upper: u64,
    },
    /// A line that ends before everything that it promises.
    #[error("the line ends where {what} should be; expected as many as the line says")]
    LineEnds {
        /// What is missing.
        what: &'static str,
    },
    /// A line that has more than it promises.
    #[error("`{field}` follows the promised fields; expected the end of the line")]
    LineGoesOn {
        /// The surplus field.
        field: String,
    },
    /// A count that differs from the promised one.
    #[error("{what}: {found}; expected {promised}, as promised before")]
    Promised {
        /// The counted things.
        what: &'static str,
        /// The promised number.
        promised: u64,
        /// The number found.
        found: u64,
    },
    /// A coflow's number that another coflow has.
    #[error("a second coflow {id}; expected each number once")]
    RepeatedId {
        /// The number.
        id: u32,
    },
    /// A port that stands twice on one side of a coflow.
    #[error("port {port} is a {what} twice; expected each once")]
    PortTwice {
        /// The port.
        port: u32,
        /// Mapper or reducer.
        what: &'static str,
    },
    /// A coflow that sends nothing.
    #[error("a coflow without flows; expected at least one sender and one receiver")]
    NoFlows,
    /// Sizes whose sum cannot be counted.
    #[error("all flows up to here have more than 2^64 bytes together; expected less")]
    TooManyBytes,
    /// More features than can be kept in memory.
    #[error("{rows} rows of {features} features; expected at most {limit} numbers in all")]
    TooManyFeatures {
        /// Rows so far.
        rows: usize,
        /// Features of each.
        features: usize,
        /// The most that can be kept.
        limit: usize,
    },
    /// A column that the header does not have.
    #[error("no column `{column}`; expected one of {columns}")]
    NoColumn {
        /// Its name.
        column: String,
        /// Those of the file.
        columns: String,
    },
    /// A second column of a name that may appear only once.
    #[error("two columns `{column}`; expected one")]
    TwoColumns {
        /// Its name.
        column: &'static str,
    },
    /// A column that should be treated as a feature, but is not one.
    #[error("`{column}` is not a feature; expected another column to drop or to scale")]
    NoFeature {
        /// Its name.
        column: String,
    },
    /// More columns than become features.
    #[error("{found} columns of features; expected at most {limit}: drop some")]
    ManyColumns {
        /// Their number.
        found: usize,
        /// The most that a flow list may have.
        limit: usize,
    },
    /// A file with another header than the first one.
    #[error("the columns differ from those of {first}; expected files with the same header")]
    OtherColumns {
        /// The first file.
        first: String,
    },
    /// A flow from a host to itself.
    #[error("src and dst are both {host}; expected two different hosts")]
    SameHost {
        /// The host.
        host: u32,
    },
}

/// The start of a piece of input, short and printable enough for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests {
    use crate::flow_list::read;
    use crate::{HostNames, Problem, Reading, Rounding, SizeDistribution};

    #[test]
    fn message__is_file_line_what_and_expected() {
        let list = |text: &str| read("flows.csv", text.as_bytes(), &HostNames::numbered(3)).unwrap_err();
        assert_eq!(list("0,0,4,1").to_string(), "flows.csv:1: dst is `4`; expected a whole number from 0 to 2");
        assert_eq!(
            list("0,0,1,1\n0,0,1,1,").to_string(),
            "flows.csv:2: columns: 5; expected 4: `start_s,src,dst,bytes`"
        );
        let sizes = |text: &str| {
            SizeDistribution::parse("sizes.csv", text, Reading::Interpolated, Rounding::Bytes).unwrap_err()
        };
        assert_eq!(
            sizes("0,0\n20000,x\n").to_string(),
            "sizes.csv:2: cdf is `x`; expected a share of the flows, from 0 to 1 or from 0 to 100 per cent"
        );
    }

    #[test]
    fn in_two__is_the_message_before_and_after_expected() {
        let problem = Problem::CdfEndsEarly { found: 0.5 };
        assert_eq!(
            problem.in_two(),
            (
                "cdf ends at 0.5".to_owned(),
                Some("the last row to reach 1, or 100 where shares are per cent".to_owned())
            )
        );
        assert_eq!((problem.kind(), problem.column()), ("ends-early", Some("cdf")));
    }
}
