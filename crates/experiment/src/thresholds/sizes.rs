//! Sizes as they were measured: a column of a CSV file, a flow a row.

use crate::error::Error;
use flowsieve_workload::samples;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

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
        let file = File::open(&self.path).map_err(|error| Error::Input(format!("{path}: cannot read: {error}")))?;
        let sizes = samples::read(&path.to_string(), BufReader::new(file), self.name.as_deref());
        let mut sizes = sizes.map_err(|error| Error::Input(error.to_string()))?;
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
            ("", None, ": no rows; expected"),
            ("bytes\n", None, ": no rows; expected"),
            ("100\n-3\n", None, ":2: the size is `-3`; expected a whole number from 1 to 1000000000000000"),
            ("100\n0\n", None, ":2: the size is `0`; expected"),
            ("a,b\n1,2\n", Some("size"), ":1: no column `size`; the columns are a, b"),
            ("a,b\n1,2\n1\n", Some("b"), ":3: columns: 1; expected 2"),
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
