//! The program's output: results on the output, and progress on the error stream.
//!
//! Texts of experiments and results come from outside: their control characters are made harmless here, before they
//! reach a terminal.

use flowsieve_experiment::Error;
use flowsieve_settings::files::for_terminal;
use serde::Serialize;
use std::fmt::{Display, Write as _};
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

/// The output: unchanged for a program or a file, and line by line in safe form for a terminal.
pub(crate) struct Out {
    inner: BufWriter<StdoutLock<'static>>,
    /// The incomplete line so far, for a terminal.
    line: Option<Vec<u8>>,
}

impl Out {
    fn show(&mut self) -> io::Result<()> {
        let Some(line) = &mut self.line else { return Ok(()) };
        let text = String::from_utf8_lossy(line);
        self.inner.write_all(for_terminal(&text, false).as_bytes())?;
        line.clear();
        Ok(())
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(line) = &mut self.line else { return self.inner.write(bytes) };
        let end = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| at + 1);
        line.extend_from_slice(&bytes[..end]);
        if line.ends_with(b"\n") {
            self.show()?;
        }
        Ok(end)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.show()?;
        self.inner.flush()
    }
}

/// Calls `write` with the output. It is an error if the output does not take all of it, as on a full disk.
pub(crate) fn to_output(write: impl FnOnce(&mut Out) -> Result<(), Error>) -> Result<(), Error> {
    let stdout = io::stdout();
    let line = stdout.is_terminal().then(Vec::new);
    let mut out = Out { inner: BufWriter::new(stdout.lock()), line };
    write(&mut out)?;
    // Dropping it would flush it, too, but hide errors.
    out.flush().map_err(Error::Output)
}

/// Prints a text for reading.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut out = BufWriter::new(io::stdout().lock());
    let shown = for_terminal(text, in_colour());
    out.write_all(shown.as_bytes()).and_then(|()| out.flush()).map_err(Error::Output)
}

/// Prints a value as indented JSON. Characters that a terminal would obey are escaped, as JSON allows for any
/// character.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::Output(error.into()))?;
    print(&(escaped(&text) + "\n"))
}

fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        // Line ends occur only between values.
        if letter != '\n' && flowsieve_settings::files::leads(letter) {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(letter);
        }
    }
    text
}

/// Returns whether the output is a terminal that takes colours (<https://no-color.org>).
pub(crate) fn in_colour() -> bool {
    io::stdout().is_terminal() && takes_colours()
}

/// Returns whether the error stream is such a terminal.
pub(crate) fn errors_in_colour() -> bool {
    io::stderr().is_terminal() && takes_colours()
}

fn takes_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints a message on the error stream. If its reader has gone (`2>&1 | head`), a run still continues: its results are
/// in its folder.
pub(crate) fn tell(text: impl Display) {
    let text = text.to_string();
    // A terminal itself would break words.
    let is_line = io::stderr().is_terminal() && !text.contains('\n');
    let text = if is_line { flowsieve_report::paragraph(&text, "  ") } else { text };
    let _ = writeln!(io::stderr(), "{}", for_terminal(&text, errors_in_colour()));
}

/// Returns whether the output's reader has gone, as `head` does when it has seen enough. This is not an error.
pub(crate) fn is_closed_output(error: &Error) -> bool {
    matches!(error, Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped__is_the_same_value_and_nothing_that_a_terminal_obeys() {
        let value = serde_json::json!({ "title": "a\u{1b}[2J\u{9b}2J\u{202e}b\u{7f}µ", "lines": ["x\ny"] });
        let text = escaped(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.chars().all(|letter| letter == '\n' || !flowsieve_settings::files::leads(letter)), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
