//! Files of other simulators where one of ours is expected: what they may be, and the one command that converts them; and what of ours
//! is not read.

use crate::file_error::FileError;
use crate::workload::Workload;
use flowsieve_convert::{self as convert, ConvertError, Gives, Kind, Source};
use flowsieve_fabric::topology::Fabric;
use flowsieve_settings::{Origin, Settings, SettingsError};
use std::io::Read;
use std::path::Path;

/// How much of a file is looked at, in bytes.
const LOOKED_AT: u64 = 16 << 20;

/// The error of a reader of our own files, and which format of another simulator the file may have, if any.
pub(crate) fn with_advice(mut error: FileError, path: &Path, wanted: Gives) -> FileError {
    if let Some(advice) = advice(path, wanted) {
        error.expected = Some(with(error.expected, advice));
    }
    error
}

/// What was expected, and the advice.
fn with(expected: Option<String>, advice: String) -> String {
    match expected {
        Some(expected) => format!("{expected}; {advice}"),
        None => advice,
    }
}

fn advice(path: &Path, wanted: Gives) -> Option<String> {
    let mut bytes = Vec::new();
    flowsieve_builtin::open(path).ok()?.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 == LOOKED_AT {
        // The last line may be cut.
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n')? + 1);
    }
    let text = String::from_utf8(bytes).ok()?;
    convert::advice(&Source { name: &path.display().to_string(), text: &text }, wanted)
}

/// The fabric of settings; an error about an edge list says what the file may be.
pub(crate) fn fabric(settings: &Settings, folder: &Path) -> Result<Fabric, SettingsError> {
    Fabric::from_settings_in(settings, folder).map_err(|mut error| {
        if let Origin::File { file, .. } = &error.origin
            && let Some(advice) = advice(Path::new(file.as_ref()), Gives::Topology)
        {
            error.expected = Some(with(error.expected, advice));
        }
        error
    })
}

impl From<ConvertError> for FileError {
    fn from(error: ConvertError) -> FileError {
        let ConvertError { file, line, kind, problem, expected } = error;
        let (kind, key) = match kind {
            Kind::Format(_) => ("format", None),
            Kind::Option(option) => ("option", Some(option.to_owned())),
            Kind::Unread(option) => ("unread", Some(option.to_owned())),
            Kind::Lost => ("lost", None),
            Kind::Row => ("row", None),
        };
        FileError { kind, file, line, key, problem, expected: Some(expected), nearest: None }
    }
}

/// What of the files of a run is not read, or read in another way than it stands there.
pub(crate) fn notes(fabric: &Fabric, workload: &Workload) -> Vec<String> {
    let of_fabric = unread("the edge list", &fabric.unread);
    of_fabric.into_iter().chain(workload.list_notes()).collect()
}

/// Columns that are not read, in a sentence; none without any.
pub(crate) fn unread(file: &str, columns: &[String]) -> Option<String> {
    let named = || format!("{file} has columns that nothing reads: {}", columns.join(", "));
    (!columns.is_empty()).then(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_convert::{Options, convert, format};

    #[test]
    fn file_error__of_a_conversion_says_where_and_which_option() {
        let refused = |text: &str, name: &str| {
            let source = Source { name: "flows.txt", text };
            FileError::from(convert(&source, format(name).unwrap(), &Options::default()).unwrap_err())
        };
        let row = refused("1\n0 1 3 100 1000 oops\n", "hpcc");
        assert_eq!((row.kind, row.file.as_str(), row.line, row.key), ("row", "flows.txt", Some(2), None));
        let unit = refused("Nodes 2\nConnections 1\n0->1 id 1 start 0 size 100\n", "htsim");
        assert_eq!((unit.kind, unit.key.as_deref()), ("option", Some("time-unit")));
        assert!(unit.expected.is_some_and(|expected| expected.contains("--time-unit")));
    }
}
