//! Flow sizes in what operators export: flow records, connection logs, conversations, histograms, sockets.
//!
//! Each export is a format of [`convert`](crate::convert), so that `convert` writes its sizes to a file. [`read`] takes an
//! export or a plain list of sizes, whichever the file is; the beginning of the file tells.
//!
//! A size is the payload that a connection carries in one direction, without headers. Nothing is guessed that moves
//! sizes by more than headers do: packet samples and cumulative counts are refused unless they are declared or have all
//! that is needed, and everything left out is counted in a note.

pub mod counters;
pub(crate) mod netflow;
mod plain;
pub(crate) mod prometheus;
mod sampled;
pub(crate) mod sockets;
pub(crate) mod tshark;
pub(crate) mod zeek;

use crate::convert::{
    ConvertError, Drawn, Fit, Format, Notes, Options, Outcome, Point, Sizes, Source, What, convert, formats,
};
use crate::{InputError, MAX_BYTES, samples};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::io::{self, BufReader, Cursor, Read};
use thiserror::Error;

/// The formats of exports, by name.
pub const NAMES: [&str; 6] = ["nfdump", "zeek", "tshark", "prometheus", "ss", "tcplife"];

/// Bytes of a file's beginning that tell what it is.
const HEAD: u64 = 1 << 16;

/// The largest export: records are joined in memory.
const MOST_BYTES: u64 = 1 << 30;

/// Why sizes cannot be read.
#[derive(Debug, Error)]
pub enum Unread {
    /// A plain list with an error.
    #[error(transparent)]
    List(#[from] InputError),
    /// An export with an error, or a file that must not be taken for sizes.
    #[error(transparent)]
    Export(#[from] ConvertError),
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads the sizes in a file: an export, or the column of this name (or the first) of a CSV file. `sampled` says that one
/// in so many packets was counted; 1 says that all were. Errors call the file `name`.
///
/// # Errors
/// Fails on files without sizes, on errors in them, and on what looks sampled or cumulative.
pub fn read(name: &str, mut file: impl Read, column: Option<&str>, sampled: Option<u32>) -> Result<Outcome, Unread> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head)?;
    let whole = (head.len() as u64) < HEAD;
    let end = if whole { head.len() } else { head.iter().rposition(|byte| *byte == b'\n').unwrap_or(head.len()) };
    let text = String::from_utf8_lossy(&head[..end]).into_owned();
    let source = Source { name, text: &text };
    let Some(format) = recognised(&source) else {
        plain::check(&source, column, sampled)?;
        let reader = BufReader::new(Cursor::new(head).chain(file));
        let sizes = samples::read(name, reader, column)?;
        let mut notes = Notes::default();
        let what = plain::corrected(&source, sizes, sampled, &mut notes)?;
        return Ok(Outcome { format: "a list of sizes", what, notes });
    };
    if let Some(column) = column {
        let problem = format!("this is an export ({}), whose rows are joined to flows", format.name);
        return Err(source.wrong(1, problem, format!("no --column {column}")).into());
    }
    let mut bytes = head;
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    if bytes.len() as u64 >= MOST_BYTES {
        return Err(source.wrong(1, "the export is larger than 1 GiB", "a part of it, such as an hour").into());
    }
    let text = String::from_utf8_lossy(&bytes);
    let options = Options { sampled, ..Options::default() };
    Ok(convert(&Source { name, text: &text }, format, &options)?)
}

/// Returns the export that a file with this beginning is.
fn recognised(head: &Source<'_>) -> Option<&'static Format> {
    formats().iter().find(|format| NAMES.contains(&format.name) && (format.fit)(head) == Fit::Sure)
}

/// The sizes of an export, as they are found.
#[derive(Default)]
pub(crate) struct Found {
    sizes: Vec<u64>,
    /// Directions without a byte.
    silent: u64,
}

impl Found {
    /// Adds what a connection carried in one direction.
    pub(crate) fn add(&mut self, bytes: u64) {
        match bytes {
            0 => self.silent += 1,
            bytes => self.sizes.push(bytes.min(MAX_BYTES)),
        }
    }

    /// Returns the sizes, or the error that there are none of `what`.
    pub(crate) fn finish(self, source: &Source<'_>, what: &str, notes: &mut Notes) -> Result<What, ConvertError> {
        notes.count(self.silent, "directions without payload are left out");
        if self.sizes.is_empty() {
            let silent = if self.silent > 0 { format!("; {} without payload", self.silent) } else { String::new() };
            return Err(empty(source, &format!("no {what} with payload{silent}"), what));
        }
        notes.say("a size is what a connection carried in one direction; a connection may have carried many messages");
        Ok(What::Samples(self.sizes))
    }
}

/// Builds the error about an export without flows.
fn empty(source: &Source<'_>, problem: &str, what: &str) -> ConvertError {
    source.fault(None, crate::convert::Kind::Row, problem, format!("at least one of the {what} with payload"))
}

/// Returns the distribution of weights that lie evenly between a lower and an upper bound in bytes. Bounds rise.
fn distribution(bins: &[(f64, f64, f64)]) -> Sizes {
    let whole = |bytes: f64| (bytes.round() as u64).clamp(1, MAX_BYTES);
    let total: f64 = bins.iter().map(|(.., weight)| weight).sum();
    let (mut points, mut sum, mut at): (Vec<Point>, f64, u64) = (Vec::new(), 0.0, 0);
    for &(from, to, weight) in bins.iter().filter(|(.., weight)| *weight > 0.0) {
        let share = |sum: f64| Decimal::from_f64(sum / total).unwrap_or_default().round_dp(12).min(Decimal::ONE);
        let (from, to) = (whole(from).max(at), whole(to).max(at));
        if from > at {
            points.push(Point { bytes: from, share: share(sum) });
        }
        sum += weight;
        points.push(Point { bytes: to.max(from), share: share(sum) });
        at = to.max(from);
    }
    if let Some(last) = points.last_mut() {
        last.share = Decimal::ONE;
    }
    Sizes { points, drawn: Drawn::Unsaid }
}
