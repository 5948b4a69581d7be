//! The command `flowsieve convert`.

use crate::args::Convert;
use crate::output::{new_file, print, tell};
use flowsieve_experiment::Error;
use flowsieve_experiment::convert::{self, Options, Source};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file that is read, in bytes: a flow list of HPCC of some 30 million flows.
const MAX_BYTES: u64 = 1 << 30;

pub(crate) fn convert(args: &Convert) -> Result<(), Error> {
    let refused = |error: convert::ConvertError| Error::Input(error.to_string());
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
    new_file(&args.out, |out| outcome.write(&name, out))?;
    outcome
        .notes
        .all()
        .iter()
        .for_each(|note| tell(format!("note: {}", flowsieve_experiment::report::printable(note))));
    let (summary, written) = (outcome.summary(), args.out.display().to_string());
    print(&format!("{written}: {summary}, from {}\nTake it with {}\n", outcome.format, outcome.usage(&written)))
}

/// A file's name and its text.
fn read(path: &Path) -> Result<(String, String), Error> {
    let name = path.display().to_string();
    let refused = |problem: String| Error::Input(format!("{name}: {problem}; expected a text file of at most 1 GiB"));
    let file = File::open(path).map_err(|error| refused(error.to_string()))?;
    let is_file = file.metadata().map_err(|error| refused(error.to_string()))?.is_file();
    if !is_file {
        return Err(refused("is no regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| refused(error.to_string()))?;
    if read as u64 > MAX_BYTES {
        return Err(refused("is larger than that".to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let line =
            1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        Error::Input(format!("{name}:{line}: this line is not UTF-8 text; expected a text file"))
    })?;
    Ok((name, text))
}
