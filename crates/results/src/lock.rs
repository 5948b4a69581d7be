//! Locks of result folders. A lock ends with its process, however that ends.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flowsieve_settings::files::Existing;
#[cfg(unix)]
use fs4::fs_std::FileExt;

use crate::ResultError;

/// The most bytes of a lock file's description of its owner.
const MOST_WORDS: u64 = 1_000;

/// Held while a result is joined or replaced.
pub(crate) const JOINING: &str = ".lock";

/// A file that processes lock.
#[derive(Debug)]
pub(crate) struct LockFile {
    file: File,
    path: PathBuf,
}

impl LockFile {
    pub(crate) fn open(path: &Path) -> Result<LockFile, ResultError> {
        // Opening a FIFO in its place would block.
        flowsieve_settings::files::check_new(path, Existing::Replace).map_err(ResultError::io("lock", path))?;
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = opened.map_err(ResultError::io("lock", path))?;
        Ok(LockFile { file, path: path.into() })
    }

    /// Takes it for this process alone; returns whether no other process had it.
    #[cfg(unix)]
    pub(crate) fn try_alone(&self) -> Result<bool, ResultError> {
        FileExt::try_lock_exclusive(&self.file).map_err(ResultError::io("lock", &self.path))
    }

    /// Shares it with others.
    #[cfg(unix)]
    pub(crate) fn share(&self) -> Result<(), ResultError> {
        FileExt::lock_shared(&self.file).map_err(ResultError::io("lock", &self.path))
    }

    /// Where there are no processes there are no others.
    #[cfg(not(unix))]
    pub(crate) fn try_alone(&self) -> Result<bool, ResultError> {
        Ok(true)
    }

    #[cfg(not(unix))]
    pub(crate) fn share(&self) -> Result<(), ResultError> {
        Ok(())
    }
}

/// A folder of one or several results in which this process is at work alone: while it joins a result, for instance.
#[derive(Debug)]
pub struct Alone(LockFile);

impl Alone {
    /// Takes an existing folder, or fails with the name of the owner.
    ///
    /// # Errors
    /// [`ResultError::Locked`] if another process has it.
    pub fn take(folder: &Path) -> Result<Alone, ResultError> {
        let mut lock = LockFile::open(&folder.join(JOINING))?;
        if lock.try_alone()? {
            let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let by = format!("process {} on {}", std::process::id(), host.trim());
            lock.file.write_all(by.as_bytes()).map_err(ResultError::io("lock", &lock.path))?;
            return Ok(Alone(lock));
        }
        let mut by = String::new();
        // A process that has just taken it may not have written its name yet.
        if Read::by_ref(&mut lock.file).take(MOST_WORDS).read_to_string(&mut by).is_err() || by.is_empty() {
            by = "another process".to_owned();
        }
        Err(ResultError::Locked { path: folder.into(), by })
    }

    /// Returns whether a process is or was at work in a folder.
    pub fn is_used_in(folder: &Path) -> bool {
        folder.join(JOINING).is_file()
    }

    /// Returns whether a file says so.
    pub fn is_lock(path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == JOINING)
    }

    /// Leaves the folder as if nobody had been there.
    pub fn remove(self) {
        let _ = std::fs::remove_file(&self.0.path);
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // Leaves the same bytes as in any other finished folder. The lock itself ends with the file.
        let _ = self.0.file.set_len(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take__says_who_is_at_work_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let first = Alone::take(folder.path()).unwrap();
        let refused = Alone::take(folder.path()).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(first);
        assert_eq!(std::fs::read(folder.path().join(JOINING)).unwrap(), b"");
        assert!(Alone::take(folder.path()).is_ok());
    }
}
