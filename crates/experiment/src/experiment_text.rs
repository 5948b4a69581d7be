//! The text of an experiment file, read from a folder or from the built-in ones.

pub use flowsieve_settings::toml::Text as ExperimentText;
use std::io::Read;
use std::path::Path;

use crate::error::Error;
use crate::file_error::FileError;

/// The longest experiment file that is read, in bytes. The largest sensible ones have a few thousand.
pub(crate) const MAX_FILE_BYTES: u64 = 256 * 1024;

/// Reads an experiment file.
pub fn read(path: &Path) -> Result<ExperimentText, Error> {
    let name = path.display().to_string();
    let refuse = |problem: String| Error::File { path: name.clone(), problem };
    if path.exists() && !path.is_file() {
        return Err(refuse("is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    let read = flowsieve_settings::files::builtin::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    if read.map_err(|error| refuse(error.to_string()))? as u64 > MAX_FILE_BYTES {
        return Err(refuse(format!("is longer than {MAX_FILE_BYTES} bytes, the most that an experiment may have")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        FileError::new("not-text", path, "this line is not UTF-8 text").at(line as u64).expected("a text file")
    })?;
    Ok(ExperimentText::new(&name, &text))
}
