//! Sessions of processes, and their ends.
#![allow(unsafe_code)]

use std::io::{Error, ErrorKind, Result};

use crate::calls::system::check;

/// How a process is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It may end in its own way (`SIGTERM`).
    Ask,
    /// At once (`SIGKILL`).
    Force,
}

/// Makes the calling process the leader of a new session, without a terminal: it does not end with its starter's.
///
/// # Errors
/// Fails if it leads a group of processes already.
pub fn new_session() -> Result<()> {
    // SAFETY: no pointer is passed.
    check(unsafe { libc::setsid() }).map(drop)
}

/// Tells a process to end.
///
/// # Errors
/// Fails if there is none with this number, or if it may not be told.
pub fn end_process(process: u32, end: End) -> Result<()> {
    let signal = match end {
        End::Ask => libc::SIGTERM,
        End::Force => libc::SIGKILL,
    };
    // Numbers from 1 on: 0 and below stand for groups.
    let process = i32::try_from(process).ok().filter(|&number| number > 0);
    let process = process.ok_or_else(|| Error::from(ErrorKind::InvalidInput))?;
    // SAFETY: no pointer is passed.
    check(unsafe { libc::kill(process, signal) }).map(drop)
}
