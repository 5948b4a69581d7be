//! What the program says: results on the output, and how it goes on the error stream.

use flowsieve_experiment::Error;
use serde::Serialize;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::Path;

/// Gives the output to `write`. An output that does not take all of it, such as a full disk, is an error.
pub(crate) fn to_output(write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> Result<(), Error>) -> Result<(), Error> {
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out)?;
    // Dropping it would flush it, too, and say nothing of what went wrong.
    out.flush().map_err(Error::Output)
}

pub(crate) fn print(text: &str) -> Result<(), Error> {
    to_output(|out| out.write_all(text.as_bytes()).map_err(Error::Output))
}

/// Prints a value as indented JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::Output(error.into()))?;
    print(&(text + "\n"))
}

/// Whether the output is a terminal that takes colours (<https://no-color.org>).
pub(crate) fn in_colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Says something on the error stream. If nobody listens any more (`2>&1 | head`), a run still goes on: its results are in
/// its folder.
pub(crate) fn tell(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Whether this is the output's reader having gone, as `head` goes when it has seen enough. Nothing is wrong then.
pub(crate) fn is_closed_output(error: &Error) -> bool {
    matches!(error, Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
}

/// Writes a new file that a person named. What is there already stays, and a file that could not be written whole goes.
pub(crate) fn new_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), Error> {
    let refused = |error: io::Error| {
        let expected = match error.kind() {
            io::ErrorKind::AlreadyExists => "a name that is free: nothing is replaced",
            _ => "a place where a file can be written",
        };
        Error::Input(format!("{}: {error}; expected {expected}", path.display()))
    };
    let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(refused)?;
    let mut out = BufWriter::new(file);
    write(&mut out).and_then(|()| out.flush()).map_err(|error| {
        let _ = fs::remove_file(path);
        refused(error)
    })
}
