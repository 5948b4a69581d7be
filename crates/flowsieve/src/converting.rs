//! The command `flowsieve convert`.

use crate::args::Convert;
use crate::output::{print, tell};
use flowsieve_convert::{self as convert, Options, Source};
use flowsieve_experiment::bundle::whole_file;
use flowsieve_experiment::{Error, FileError};
use flowsieve_files::{self as files, Existing};
use std::io;
use std::path::Path;

/// The largest file that is read, in bytes: a flow list of HPCC of some 30 million flows.
const MAX_BYTES: u64 = 1 << 30;

pub(crate) fn convert(args: &Convert) -> Result<(), Error> {
    let refused = |error: convert::ConvertError| Error::from(FileError::from(error));
    let (name, text) = read(&args.file)?;
    let beside = args.with.as_deref().map(read).transpose()?;
    let source = Source { name: &name, text: &text };
    let options = Options {
        size_unit: args.size_unit,
        time_unit: args.time_unit,
        shift_start: args.shift_start,
        with: beside.as_ref().map(|(name, text)| Source { name, text }),
        hosts_first: args.hosts_first,
        leave_out: args.leave_out,
    };
    let format = args.from.map_or_else(|| convert::detected(&source), Ok).map_err(refused)?;
    let outcome = convert::convert(&source, format, &options).map_err(refused)?;
    whole_file(&args.out, Existing::replaced(args.replace), |out| {
        outcome.write(&name, out).map_err(|error| FileError::new("unwritable", &args.out, error.to_string()).into())
    })?;
    outcome.notes.all().iter().for_each(|note| tell(format!("note: {note}")));
    let (summary, written) = (outcome.summary(), args.out.display().to_string());
    print(&format!("{written}: {summary}, from {}\nTake it with {}\n", outcome.format, outcome.usage(&written)))
}

/// Reads a file; returns its name and its text.
fn read(path: &Path) -> Result<(String, String), Error> {
    let name = path.display().to_string();
    let refused = |error: io::Error| FileError::unreadable(path, &error, "a text file of at most 1 GiB");
    let bytes = files::read(path, MAX_BYTES).map_err(refused)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line =
            1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count()
                as u64;
        FileError::new("text", path, "this line is not UTF-8 text").at(line).expected("a text file")
    })?;
    Ok((name, text))
}
