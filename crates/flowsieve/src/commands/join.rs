//! `flowsieve join`: runs that were made elsewhere become a result.

use super::{Planned, default_out, planned, show_result};
use crate::interruption;
use crate::options::{JoinOptions, ReportOptions};
use crate::progress::shown;
use clap::{Args, ValueHint};
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::joining;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve run quickstart --set flows=200 --shard 1/2 --out one
  flowsieve run quickstart --set flows=200 --shard 2/2 --out two
  flowsieve join quickstart --set flows=200 --parts one two --out whole
      the result, with the same bytes as if one command had made all runs
  flowsieve join quickstart --set flows=200 --parts one --out part --run-missing
      makes the missing runs here

Give the same experiment and changes as for the parts: the keys of the parts depend on them.")]
pub(crate) struct Join {
    #[command(flatten)]
    of: Planned,
    /// Folders of parts, or results with some; the parts in --out count as well
    #[arg(long, value_name = "DIR", num_args = 1.., value_hint = ValueHint::DirPath)]
    parts: Vec<PathBuf>,
    /// Where the result goes [default: results/ and the file's name, with scale and changes]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    #[command(flatten)]
    options: JoinOptions,
    /// Print the results as JSON instead of a table
    #[arg(long)]
    json: bool,
}

pub(crate) fn join(args: &Join, engines: &Engines) -> Result<(), Error> {
    let plan = planned(&args.of, engines)?;
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.of.file, &args.of.changes(), ""));
    let (missing, how) = (args.options.missing(), args.options.how());
    interruption::answer()?;
    let result = shown(&plan, |show| joining::join(&plan, engines, &out, &args.parts, missing, how, show))?;
    show_result(&result, &ReportOptions::default(), args.json)
}
