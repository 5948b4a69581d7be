//! Measured sizes: a column of a CSV file, one flow per row.

use flowsieve_experiment::Error;
use flowsieve_experiment::FileError;
use flowsieve_settings::files::{self as files, MOST_BYTES};
use flowsieve_workload::samples;
use std::io::BufReader;
use std::path::PathBuf;

/// A column of a file.
#[derive(Debug, Clone)]
pub struct Column {
    /// The file.
    pub path: PathBuf,
    /// The column's name in the first row; by default the first column, with or without a name.
    pub name: Option<String>,
}

/// Rising.
#[derive(Debug)]
pub(super) struct Sizes(Vec<u64>);

impl Sizes {
    /// Returns the quantile of nearest rank: a measured size.
    pub(super) fn quantile_bytes(&self, p: f64) -> Option<u64> {
        let rank = (p * self.0.len() as f64).ceil().max(1.0) as usize;
        self.0.get(rank.min(self.0.len()) - 1).copied()
    }
}

impl Column {
    pub(super) fn read(&self) -> Result<Sizes, Error> {
        let path = &self.path;
        let file =
            files::open_text(path, MOST_BYTES).map_err(|error| FileError::unreadable(path, &error, "a CSV file"))?;
        let mut sizes = samples::read(&path.display().to_string(), BufReader::new(file), self.name.as_deref())?;
        sizes.sort_unstable();
        Ok(Sizes(sizes))
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
        let column = Column { path, name: name.map(str::to_owned) };
        column.read().map(|sizes| sizes.0)
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
        let sizes = Sizes(vec![10, 20, 30, 40]);
        assert_eq!([0.0, 0.25, 0.26, 0.75, 1.0].map(|p| sizes.quantile_bytes(p)), [10, 10, 20, 30, 40].map(Some));
    }
}
