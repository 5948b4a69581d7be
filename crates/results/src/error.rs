//! Errors of a result directory, each one sentence with the file and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use thiserror::Error;

/// A failure to write or to read results.
#[derive(Debug, Error)]
pub enum ResultError {
    /// The operating system refused.
    #[error("{path}: cannot {action}: {source}{}", remedy(source))]
    Io {
        /// The failed action: "write", "create the folder" …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// A folder that holds something other than a result.
    #[error("{path}: {why}; name an empty or a new folder")]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// What it holds.
        why: String,
    },
    /// A folder without a finished result.
    #[error("{path}: {why}")]
    Unfinished {
        /// The folder.
        path: PathBuf,
        /// What it lacks, and what to do.
        why: String,
    },
    /// Written by another version of the schema.
    #[error(
        "{path}: results of schema version {found}, expected at most {expected}: read it with the program that wrote it"
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The newest that this program reads.
        expected: u32,
    },
    /// Runs of a model with other results.
    #[error("{path}: runs of model {found}, expected {expected}: `--fresh` makes them again")]
    Model {
        /// The file or folder.
        path: PathBuf,
        /// Its model.
        found: String,
        /// This program's.
        expected: String,
    },
    /// A part that another version of the program made, whose measurements may differ.
    #[error("{path}: a part made by {found}, expected {expected}: make it again with this program")]
    OtherVersion {
        /// The part.
        path: PathBuf,
        /// What made it.
        found: String,
        /// What makes parts here.
        expected: String,
    },
    /// Two parts of one key. One of them is wrong.
    #[error(
        "{path} and {other} differ, although they are the same run: a machine made an error, or the programs differ; \
         remove one of them, or both"
    )]
    Unequal {
        /// The part that was to be taken.
        path: PathBuf,
        /// The existing part.
        other: PathBuf,
    },
    /// Another process writes into the folder, and keeps what it has made.
    #[error("{path}: {by} is at work in this folder: run again when that is done, or name another folder")]
    Locked {
        /// The folder.
        path: PathBuf,
        /// The other process.
        by: String,
    },
    /// A result that would be lost.
    #[error(
        "{path}: it holds \"{title}\", and {lost} of its {all} runs would be replaced: {differs}; name another folder \
         with --out, or use --replace"
    )]
    WouldReplace {
        /// The folder.
        path: PathBuf,
        /// The title of the existing result.
        title: String,
        /// Runs that would be lost.
        lost: usize,
        /// Existing runs.
        all: usize,
        /// How they differ from the requested ones.
        differs: String,
    },
    /// Cut short, changed or mixed up after it was written.
    #[error("{path}: damaged result: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The mismatch.
        why: String,
    },
    /// The given data cannot be a result.
    #[error("not a result: {why}")]
    Invalid {
        /// What is wrong with it.
        why: String,
    },
}

impl ResultError {
    /// Whether the read data is damaged or cut short, so that it has to be made again.
    pub fn is_damage(&self) -> bool {
        match self {
            ResultError::Damaged { .. } => true,
            ResultError::Io { source, .. } => {
                matches!(
                    source.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
                )
            }
            _ => false,
        }
    }

    /// Whether a folder cannot be written, whatever is written into it.
    pub fn is_read_only(&self) -> bool {
        matches!(self, ResultError::Io { source, .. } if flowsieve_settings::files::is_read_only(source))
    }

    /// It could not do something with a file.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ResultError {
        move |source| ResultError::Io { action, path: path.into(), source }
    }

    /// A failure of the parquet library while it wrote: usually the disk's, which it wraps.
    pub(crate) fn writing(path: &Path) -> impl Fn(ParquetError) -> ResultError {
        move |error| ResultError::Io { action: "write", path: path.into(), source: io_error(error) }
    }

    /// A file is not what was written.
    pub fn damaged(path: &Path, why: impl ToString) -> ResultError {
        ResultError::Damaged { path: path.into(), why: why.to_string() }
    }

    /// Something cannot be written as it is.
    pub fn invalid(why: impl ToString) -> ResultError {
        ResultError::Invalid { why: why.to_string() }
    }
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

/// The system's numbers for a process, or a machine, without further descriptors.
const TOO_FEW_DESCRIPTORS: [i32; 2] = [24, 23];

fn remedy(error: &io::Error) -> &'static str {
    if error.raw_os_error().is_some_and(|number| TOO_FEW_DESCRIPTORS.contains(&number)) {
        return "; raise the limit of open files (`ulimit -n`) and run again: finished points are kept";
    }
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space and run again: finished points are kept"
        }
        io::ErrorKind::FileTooLarge => {
            "; raise the limit of a file's size (`ulimit -f`) and run again: finished points are kept"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "; name a folder that can be written",
        _ => "",
    }
}
