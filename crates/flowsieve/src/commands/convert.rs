//! `flowsieve convert`: files of other simulators, and exports of flows.

use clap::{Args, Subcommand, ValueHint};
use flowsieve_experiment::bundle::whole_file;
use flowsieve_experiment::{Error, FileError};
use flowsieve_settings::files::{self as files, Existing};
use flowsieve_studies::export::{self, Layout};
use flowsieve_workload::convert::{self as convert, Format, Options, SizeUnit, Source, TimeUnit};
use std::io;
use std::path::{Path, PathBuf};

use crate::output::{print, tell};

/// One file, or those of Flux.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  flowsieve convert topology.txt -o fabric.csv
      a topology of HPCC as an edge list: file = \"fabric.csv\" in [topology] of an experiment
  flowsieve convert flow.txt -o flows.csv --with topology.txt
      its flows, with nodes of that topology as ids: list = \"flows.csv\" in [workload]
  flowsieve convert permutation.cm -o flows.csv --time-unit ps
      a connection matrix of htsim, whose file does not say its unit of time
  flowsieve convert CDF_search.txt -o sizes.csv --size-unit packets:1460
      a distribution of ns-2 or YAPS, whose sizes are packets: cdf = \"sizes.csv\" in [workload]
  flowsieve convert conn.log -o measured.csv
      sizes in an export of nfdump, Zeek, tshark, Prometheus, ss or tcplife: sizes = \"measured.csv\" in [workload]

The contents tell most formats; `flowsieve list formats` has them all, with what each loses. If a file does not state a unit, you must
give it. What Flowsieve does not have is refused, or counted in a note. docs/reference/flow-lists.md has the details."
)]
pub(crate) struct Convert {
    /// The files that take other options
    #[command(subcommand)]
    of: Option<Family>,
    /// One file
    #[command(flatten)]
    one: Option<OneFile>,
}

/// Files that take other options.
#[derive(Debug, Subcommand)]
enum Family {
    /// Write traces in the layout of Flux as a flow list
    #[command(after_help = "Examples:
  flowsieve convert flux ml/KMeans/training/*.csv -o trace.csv --drop job --scale cpu=1000
      the flows of Flux's traces, without one column and with another in thousandths
  flowsieve convert flux simulator/KMeans/0.csv -o trace.csv --simulator --predicted 2
      the flows of Flux's simulator, with the second prediction of their sizes")]
    Flux(Flux),
}

#[derive(Debug, Args)]
struct OneFile {
    /// The file of another simulator, or an export of flows
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// The file to write
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// The format, if the contents do not tell it
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    from: Option<&'static Format>,
    /// The unit of sizes: bytes, KB or packets:N with their payload in bytes
    #[arg(long, value_name = "UNIT", value_parser = size_unit)]
    size_unit: Option<SizeUnit>,
    /// The unit of starts: ps, ns or us
    #[arg(long, value_name = "UNIT", value_parser = time_unit)]
    time_unit: Option<TimeUnit>,
    /// Count starts from the first
    #[arg(long)]
    shift_start: bool,
    /// The second file that some formats need: the topology of flows, the run file of a NetBench topology
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    with: Option<PathBuf>,
    /// The hosts are the nodes 0 to n−1; then no topology is needed to tell them from switches
    #[arg(long, conflicts_with = "with")]
    hosts_first: bool,
    /// Leave out, with a count, what Flowsieve does not have: flows that wait for triggers, endless flows, NVSwitches
    #[arg(long)]
    leave_out: bool,
    /// One in N packets was counted (sFlow, sampled NetFlow): sizes are corrected; 1: all were, though sizes look sampled
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sampled: Option<u32>,
    /// Replace the output file if it exists
    #[arg(long)]
    replace: bool,
}

/// Files of Flux's traces.
#[derive(Debug, Args)]
struct Flux {
    /// The files, whose flows follow one another; all have the same header
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// The file to write
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Leave a column out
    #[arg(long, value_name = "COLUMN", conflicts_with = "simulator")]
    drop: Vec<String>,
    /// Multiply the numbers of a column, and round them: features are whole numbers
    #[arg(long, value_name = "COLUMN=FACTOR", value_parser = scale, conflicts_with = "simulator")]
    scale: Vec<(String, f64)>,
    /// The files are those of Flux's simulator: column 0 is the size, the others are predictions of it
    #[arg(long)]
    simulator: bool,
    /// The column that becomes the predicted size, from 1 [default: none]
    #[arg(long, value_name = "N", requires = "simulator", value_parser = clap::value_parser!(u16).range(1..=1000))]
    predicted: Option<u16>,
    /// Replace the output file if it exists
    #[arg(long)]
    replace: bool,
}

impl Flux {
    /// Returns how the files are read.
    fn layout(&self) -> Layout {
        if self.simulator {
            Layout::Simulated { predicted: self.predicted.map(usize::from) }
        } else {
            Layout::Recorded { drop: self.drop.clone(), scale: self.scale.clone() }
        }
    }
}

/// Parses a column and a number above 0.
fn scale(text: &str) -> Result<(String, f64), String> {
    let scale = text.rsplit_once('=').and_then(|(column, factor)| Some((column, factor.parse::<f64>().ok()?)));
    let valid = scale.filter(|(column, factor)| !column.is_empty() && factor.is_finite() && *factor > 0.0);
    let named = valid.map(|(column, factor)| (column.to_owned(), factor));
    named.ok_or_else(|| "expected COLUMN=FACTOR with a number above 0, such as cpu=1000".to_owned())
}

fn format(text: &str) -> Result<&'static Format, String> {
    convert::format(text).ok_or_else(|| {
        let names: Vec<String> = convert::formats().iter().map(|format| format.name.to_owned()).collect();
        let nearest = flowsieve_experiment::nearest(text, &names);
        let hint = nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        format!("expected one of {}{hint}", names.join(", "))
    })
}

fn size_unit(text: &str) -> Result<SizeUnit, String> {
    SizeUnit::parse(text).ok_or_else(|| "expected bytes, KB, or packets:N with N from 1 to 1000000".to_owned())
}

fn time_unit(text: &str) -> Result<TimeUnit, String> {
    TimeUnit::parse(text).ok_or_else(|| "expected ps, ns or us".to_owned())
}

/// The largest file that is read, in bytes: a flow list of HPCC of some 30 million flows.
const MAX_BYTES: u64 = 1 << 30;

pub(crate) fn convert(args: &Convert) -> Result<(), Error> {
    match (&args.of, &args.one) {
        (Some(Family::Flux(args)), _) => flux(args),
        (None, Some(args)) => one_file(args),
        // clap asks for a file.
        (None, None) => Ok(()),
    }
}

fn flux(args: &Flux) -> Result<(), Error> {
    let list = export::flux(&args.files, args.layout())?;
    whole_file(&args.out, Existing::replaced(args.replace), |out| export::write(&list, out))?;
    print(&format!("{}: {} flows\n", args.out.display(), list.flows.len()))
}

fn one_file(args: &OneFile) -> Result<(), Error> {
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
        sampled: args.sampled,
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
