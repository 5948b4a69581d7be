//! Sizes as they were measured: a column of a CSV file, a flow a row.

use crate::error::Error;
use crate::files::{self, MOST_BYTES, ShortLines};
use std::path::PathBuf;

/// More sizes than this are refused, a gigabyte of memory.
const MOST: usize = 100_000_000;

/// The largest size, a petabyte: as that of a flow list.
const LARGEST: u64 = 1_000_000_000_000_000;

/// A column of a file.
#[derive(Debug, Clone)]
pub struct Column {
    /// The file.
    pub path: PathBuf,
    /// The column's name in the first row; not given, the first column, with or without a name.
    pub name: Option<String>,
}

/// Rising.
#[derive(Debug)]
pub(super) struct Sizes(Vec<u64>);

impl Sizes {
    /// Of the nearest rank: a size that was measured.
    pub(super) fn quantile_bytes(&self, p: f64) -> Option<u64> {
        let rank = (p * self.0.len() as f64).ceil().max(1.0) as usize;
        self.0.get(rank.min(self.0.len()) - 1).copied()
    }
}

impl Column {
    pub(super) fn read(&self) -> Result<Sizes, Error> {
        let path = self.path.display();
        let wrong = |line: u64, problem: String| Error::Input(format!("{path}, line {line}: {problem}"));
        let file = files::open_text(&self.path, MOST_BYTES)
            .map_err(|error| Error::Input(format!("{path}: cannot read: {error}")))?;
        let file = ShortLines::new(file);
        let mut rows =
            csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).comment(Some(b'#')).from_reader(file);
        let (mut at, mut sizes, mut row) = (0, Vec::new(), csv::StringRecord::new());
        let mut is_first = true;
        while rows.read_record(&mut row).map_err(|error| Error::Input(format!("{path}: {error}")))? {
            let line = row.position().map_or(0, csv::Position::line);
            if std::mem::take(&mut is_first) {
                if let Some(name) = &self.name {
                    let names = || row.iter().collect::<Vec<_>>().join(", ");
                    at = row
                        .iter()
                        .position(|other| other == name)
                        .ok_or_else(|| wrong(line, format!("no column `{name}`; expected one of {}", names())))?;
                    continue;
                }
                // A name, and no number, is a heading.
                if row.get(0).is_some_and(|cell| cell.parse::<f64>().is_err()) {
                    continue;
                }
            }
            let cell = row.get(at).unwrap_or_default();
            let size: Option<u64> = cell.parse().ok().filter(|size| (1..=LARGEST).contains(size));
            sizes.push(
                size.ok_or_else(|| wrong(line, format!("{cell:?}; expected a size in whole bytes, 1 to {LARGEST}")))?,
            );
            if sizes.len() > MOST {
                return Err(wrong(line, format!("more than {MOST} sizes; take a sample")));
            }
        }
        if sizes.is_empty() {
            return Err(Error::Input(format!("{path}: no sizes; expected a row a flow")));
        }
        sizes.sort_unstable();
        Ok(Sizes(sizes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(text: &str, name: Option<&str>) -> Result<Vec<u64>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sizes.csv");
        fs::write(&path, text).unwrap();
        let column = Column { path, name: name.map(str::to_owned) };
        let shown = |error: Error| error.to_string().rsplit("sizes.csv").next().unwrap_or_default().to_owned();
        column.read().map(|sizes| sizes.0).map_err(shown)
    }

    #[test]
    fn read__with_and_without_a_heading() {
        assert_eq!(read("300\n100\n200\n", None), Ok(vec![100, 200, 300]));
        assert_eq!(read("bytes\n300\n# half\n100\n", None), Ok(vec![100, 300]));
        assert_eq!(read("start_s, bytes\n0.1, 300\n0.2, 7\n", Some("bytes")), Ok(vec![7, 300]));
    }

    #[test]
    fn read__says_where_a_file_is_wrong() {
        for (text, name, expected) in [
            ("", None, ": no sizes; expected a row a flow"),
            ("bytes\n", None, ": no sizes; expected a row a flow"),
            ("100\n-3\n", None, ", line 2: \"-3\"; expected a size in whole bytes, 1 to 1000000000000000"),
            ("100\n0\n", None, ", line 2: \"0\"; expected"),
            ("a,b\n1,2\n", Some("size"), ", line 1: no column `size`; expected one of a, b"),
            ("a,b\n1,2\n1\n", Some("b"), ": CSV error: record 2"),
        ] {
            let found = read(text, name).unwrap_err();
            assert!(found.starts_with(expected), "{text:?}: {found}");
        }
    }

    #[test]
    fn quantile__of_the_nearest_rank() {
        let sizes = Sizes(vec![10, 20, 30, 40]);
        assert_eq!([0.0, 0.25, 0.26, 0.75, 1.0].map(|p| sizes.quantile_bytes(p)), [10, 10, 20, 30, 40].map(Some));
    }
}
