//! The command line of `flowsieve convert`.

use clap::{Args, ValueHint};
use flowsieve_convert::{self as convert, Format, SizeUnit, TimeUnit};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve convert topology.txt -o fabric.csv
      a topology of HPCC as an edge list: file = \"fabric.csv\" in [topology] of an experiment
  flowsieve convert flow.txt -o flows.csv --with topology.txt
      its flows, with nodes of that topology as ids: list = \"flows.csv\" in [workload]
  flowsieve convert permutation.cm -o flows.csv --time-unit ps
      a connection matrix of htsim, whose file does not say its unit of time
  flowsieve convert CDF_search.txt -o sizes.csv --size-unit packets:1460
      a distribution of ns-2 or YAPS, whose sizes are packets: cdf = \"sizes.csv\" in [workload]

The contents tell most formats; `flowsieve list formats` has them all, with what each loses. If a file does not state a unit, you must
give it. What Flowsieve does not have is refused, or counted in a note. docs/reference/flow-lists.md has the details.")]
pub(crate) struct Convert {
    /// The file of another simulator
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The file to write
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) out: PathBuf,
    /// The format, if the contents do not tell it
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) from: Option<&'static Format>,
    /// The unit of sizes: bytes, KB or packets:N with their payload in bytes
    #[arg(long, value_name = "UNIT", value_parser = size_unit)]
    pub(crate) size_unit: Option<SizeUnit>,
    /// The unit of starts: ps, ns or us
    #[arg(long, value_name = "UNIT", value_parser = time_unit)]
    pub(crate) time_unit: Option<TimeUnit>,
    /// Count starts from the first
    #[arg(long)]
    pub(crate) shift_start: bool,
    /// The second file that some formats need: the topology of flows, the run file of a NetBench topology
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) with: Option<PathBuf>,
    /// The hosts are the nodes 0 to n−1; then no topology is needed to tell them from switches
    #[arg(long, conflicts_with = "with")]
    pub(crate) hosts_first: bool,
    /// Leave out, with a count, what Flowsieve does not have: flows that wait for triggers, endless flows, NVSwitches
    #[arg(long)]
    pub(crate) leave_out: bool,
    /// Replace the output file if it exists
    #[arg(long)]
    pub(crate) replace: bool,
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
