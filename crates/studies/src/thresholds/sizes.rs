//! Measured sizes: a column of a CSV file, one flow per row, or an export of flows.

use flowsieve_experiment::Error;
use flowsieve_experiment::FileError;
use flowsieve_settings::files::{self as files, MOST_BYTES};
use flowsieve_workload::convert::{self, Notes, Source, What};
use flowsieve_workload::exports::{self, Unread};
use std::path::{Path, PathBuf};

/// The largest file of an interface's counter.
const MOST_COUNTS: u64 = 1 << 30;

/// A column of a file.
#[derive(Debug, Clone)]
pub struct Column {
    /// The file.
    pub path: PathBuf,
    /// The column's name in the first row; by default the first column, with or without a name.
    pub name: Option<String>,
    /// One in so many packets was counted; `None`: the file decides, and is refused if it looks sampled.
    pub sampled: Option<u32>,
}

/// Measured sizes.
#[derive(Debug)]
pub(super) enum Sizes {
    /// Each of them, rising.
    List(Vec<u64>),
    /// A distribution.
    Law(convert::Sizes),
}

impl Sizes {
    /// Returns the quantile: of a list that of nearest rank, a measured size; of a distribution on straight lines between its
    /// points.
    pub(super) fn quantile_bytes(&self, p: f64) -> Option<u64> {
        let sizes = match self {
            Sizes::List(sizes) => sizes,
            Sizes::Law(law) => return law.quantile_bytes(p),
        };
        let rank = (p * sizes.len() as f64).ceil().max(1.0) as usize;
        sizes.get(rank.min(sizes.len()) - 1).copied()
    }
}

/// Reads the load of a link of this rate in its busiest minute from the counter of its interface, and what to know of it.
///
/// # Errors
/// Fails if the file cannot be read, or the link cannot have carried what it says.
pub fn counted_load(path: &Path, rate_bps: u64) -> Result<(f64, Vec<String>), Error> {
    let unreadable = |error: std::io::Error| FileError::unreadable(path, &error, "rows `seconds,octets`");
    let text = files::read_text(path, MOST_COUNTS).map_err(unreadable)?;
    let (name, mut notes) = (path.display().to_string(), Notes::default());
    let source = Source { name: &name, text: &text };
    let load = exports::counters::load(&source, rate_bps, &mut notes).map_err(FileError::from)?;
    Ok((load, notes.all().to_vec()))
}

impl Column {
    pub(super) fn read(&self) -> Result<Sizes, Error> {
        Ok(match self.outcome()?.what {
            What::Sizes(law) => Sizes::Law(law),
            What::Samples(mut sizes) => {
                sizes.sort_unstable();
                Sizes::List(sizes)
            }
            other => return Err(FileError::new("file", &self.path, format!("no sizes: {other:?}")).into()),
        })
    }

    /// Reads the file for what you need to know of it: what it was taken for, what was joined and left out.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn notes(&self) -> Result<Vec<String>, Error> {
        Ok(self.outcome()?.notes.all().to_vec())
    }

    fn outcome(&self) -> Result<convert::Outcome, Error> {
        let path = &self.path;
        let unreadable = |error: std::io::Error| FileError::unreadable(path, &error, "a CSV file");
        let file = files::open_text(path, MOST_BYTES).map_err(unreadable)?;
        let read = exports::read(&path.display().to_string(), file, self.name.as_deref(), self.sampled);
        read.map_err(|error| match error {
            Unread::List(error) => error.into(),
            Unread::Export(error) => FileError::from(error).into(),
            Unread::Io(error) => unreadable(error).into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(text: &[u8], name: Option<&str>) -> Result<Vec<u64>, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sizes.csv");
        fs::write(&path, text).unwrap();
        let column = Column { path, name: name.map(str::to_owned), sampled: None };
        column.read().map(|sizes| match sizes {
            Sizes::List(sizes) => sizes,
            Sizes::Law(law) => panic!("{law:?}"),
        })
    }

    #[test]
    fn read__with_and_without_a_heading() {
        assert_eq!(read(b"300\n100\n200\n", None).unwrap(), [100, 200, 300]);
        assert_eq!(read(b"bytes\n300\n# half\n100\n", None).unwrap(), [100, 300]);
        assert_eq!(read(b"start_s, bytes\n0.1, 300\n0.2, 7\n", Some("bytes")).unwrap(), [7, 300]);
    }

    #[test]
    fn read__says_where_a_file_is_wrong() {
        let whole: (Option<u32>, Option<&str>) = (None, None);
        for (text, name, kind, (line, key)) in [
            (&b""[..], None, "empty", whole),
            (b"bytes\n", None, "empty", whole),
            (b"100\n-3\n", None, "value", (Some(2), Some("the size"))),
            (b"100\n# half\n0\n", None, "value", (Some(3), Some("the size"))),
            (b"a,b\n1,2\n", Some("size"), "unknown-column", (Some(1), Some("size"))),
            (b"a,b\n1,2\n1\n", Some("b"), "columns", (Some(3), None)),
            (b"a\n1\n\xff\n", Some("a"), "not-text", (Some(3), None)),
        ] {
            let details = read(text, name).unwrap_err().details();
            assert_eq!((details.kind, details.line, details.key.as_deref()), (kind, line, key), "{text:?}");
            assert!(details.file.is_some_and(|file| file.ends_with("sizes.csv")) && details.expected.is_some());
        }
    }

    #[test]
    fn read__an_error_is_file_line_what_and_expected() {
        let shown = |text: &[u8], name| {
            let text = read(text, name).unwrap_err().to_string();
            text[text.rfind("sizes.csv").unwrap()..].to_owned()
        };
        assert_eq!(shown(b"a,b\n1,2\n1\n", Some("b")), "sizes.csv:3: columns: 1; expected 2 as in the first row");
        assert_eq!(
            shown(b"bytes,b\n1,2\n", Some("byte")),
            "sizes.csv:1: no column `byte`; expected one of bytes, b; did you mean `bytes`?"
        );
    }

    #[test]
    fn quantile__of_the_nearest_rank() {
        let sizes = Sizes::List(vec![10, 20, 30, 40]);
        assert_eq!([0.0, 0.25, 0.26, 0.75, 1.0].map(|p| sizes.quantile_bytes(p)), [10, 10, 20, 30, 40].map(Some));
    }

    #[test]
    fn read__an_export_is_joined_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flows");
        let rows = "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows\n\
                    2026-01-31 12:00:00.000,0.5,6,10.0.0.1,5000,10.0.0.2,80,4,660,1\n";
        fs::write(&path, rows).unwrap();
        let column = Column { path, name: None, sampled: None };
        assert_eq!(column.read().unwrap().quantile_bytes(0.5), Some(500));
        assert!(column.notes().unwrap().iter().any(|note| note.contains("40 B a packet")));
        let details = Column { name: Some("bytes".to_owned()), ..column }.read().unwrap_err().details();
        assert!(details.expected.is_some_and(|expected| expected.contains("--column")));
    }
}
