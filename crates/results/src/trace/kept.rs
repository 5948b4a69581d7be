//! The places of traces: in the parts of their runs, and under the result's own names.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ResultError;
use crate::files::partial_folder;

/// The folder of a part's trace.
pub(crate) const TRACE: &str = "trace";

/// The folder of a result's traces.
pub(crate) const TRACES: &str = "traces";

/// A file of a part's trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptTrace {
    pub(crate) name: String,
    bytes: u64,
}

/// The files of a folder, which may be absent, by name.
pub(crate) fn list(folder: &Path) -> Result<Vec<KeptTrace>, ResultError> {
    let failed = || ResultError::io("read", folder);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed())?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed())?;
        let bytes = entry.metadata().map_err(failed())?.len();
        files.push(KeptTrace { name: entry.file_name().to_string_lossy().into_owned(), bytes });
    }
    files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// Whether these files exist, by their lengths: checking more would take as long as reading them.
pub(crate) fn check(folder: &Path, files: &[KeptTrace]) -> Result<(), ResultError> {
    for file in files {
        let path = folder.join(&file.name);
        if path.parent() != Some(folder) {
            return Err(ResultError::damaged(&path, "the trace of a run is not in its own folder"));
        }
        let found = fs::metadata(&path).map_err(ResultError::io("read", &path))?;
        if !found.is_file() {
            return Err(ResultError::damaged(&path, "the trace of a run is not a regular file"));
        }
        let bytes = found.len();
        if bytes != file.bytes {
            return Err(ResultError::damaged(&path, format!("{bytes} bytes, expected {}", file.bytes)));
        }
    }
    Ok(())
}

/// Puts traces (name, part, files) into a result, in the place of an earlier call's. Each is complete or absent.
pub(crate) fn join(result: &Path, traces: &[(String, PathBuf, Vec<KeptTrace>)]) -> Result<(), ResultError> {
    let folder = result.join(TRACES);
    remove_earlier(&folder).map_err(ResultError::io("replace", &folder))?;
    if traces.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(&folder).map_err(ResultError::io("create the folder", &folder))?;
    for (name, part, files) in traces {
        let to = folder.join(name);
        let partial = partial_folder().tempdir_in(result).map_err(ResultError::io("create the folder", &to))?;
        for file in files {
            let (from, to) = (part.join(TRACE).join(&file.name), partial.path().join(&file.name));
            // If a file system allows only one name per file, the file has to be copied.
            let linked = fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(|_| ()));
            linked.map_err(ResultError::io("write", &to))?;
        }
        fs::rename(partial.path(), &to).map_err(ResultError::io("write", &to))?;
    }
    Ok(())
}

/// Removes the traces of an earlier call, but no files that others have put there.
fn remove_earlier(folder: &Path) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let number = |text: &str| !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit());
    let mut others = false;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name
            .to_str()
            .and_then(|name| name.split_once('-'))
            .is_some_and(|(point, seed)| number(point) && number(seed))
        {
            fs::remove_dir_all(entry.path())?;
        } else {
            others = true;
        }
    }
    if others { Ok(()) } else { fs::remove_dir(folder) }
}
