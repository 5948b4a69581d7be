//! Files of other simulators in place of ours: their possible formats, and the command that converts them; and the
//! parts of our own files that are not read.

use crate::workload::Workload;
use flowsieve_experiment::FileError;
use flowsieve_settings::{Origin, Settings, SettingsError};
use flowsieve_sim::topology::Fabric;
use flowsieve_workload::convert::{self as convert, Gives, Source};
use std::io::Read;
use std::path::Path;

/// How much of a file is inspected, in bytes.
const LOOKED_AT: u64 = 16 << 20;

/// Adds to the error of a reader of our own files which format of another simulator the file may have, if any.
pub(crate) fn with_advice(mut error: FileError, path: &Path, wanted: Gives) -> FileError {
    if let Some(advice) = advice(path, wanted) {
        error.expected = Some(with(error.expected, advice));
    }
    error
}

/// How a forest's file begins. Python applies forests.
const FOREST: &[u8] = b"FSFOREST";

/// Joins what was expected and the advice.
fn with(expected: Option<String>, advice: String) -> String {
    match expected {
        Some(expected) => format!("{expected}; {advice}"),
        None => advice,
    }
}

fn advice(path: &Path, wanted: Gives) -> Option<String> {
    let mut bytes = Vec::new();
    flowsieve_settings::files::builtin::open(path).ok()?.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    if bytes.starts_with(FOREST) {
        let apply = "python -m flowsieve_forest apply FOREST.fsf LIST.csv --out PREDICTED.csv";
        return Some(format!("this is a forest; `{apply}` writes what it predicts of a list"));
    }
    if bytes.len() as u64 == LOOKED_AT {
        // The last line may be cut.
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n')? + 1);
    }
    let text = String::from_utf8(bytes).ok()?;
    convert::advice(&Source { name: &path.display().to_string(), text: &text }, wanted)
}

/// Builds the fabric of settings; an error about an edge list says which format the file may have.
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

/// Lists what of a run's files is not read, or read differently than written.
pub(crate) fn notes(fabric: &Fabric, workload: &Workload) -> Vec<String> {
    let of_fabric = unread("the edge list", &fabric.unread);
    of_fabric.into_iter().chain(workload.list_notes()).collect()
}

/// Writes a sentence about columns that are not read; `None` if there are none.
pub(crate) fn unread(file: &str, columns: &[String]) -> Option<String> {
    let named = || format!("{file} has columns that nothing reads: {}", columns.join(", "));
    (!columns.is_empty()).then(named)
}
