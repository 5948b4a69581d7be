//! `flowsieve plan`: which runs an experiment has.

use super::{Planned, planned};
use crate::output::{print, print_json, tell};
use clap::Args;
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve plan quickstart
      the points with their seeds, and the cost of a run of each
  flowsieve plan quickstart --seeds 20 --json > plan.json
      each run with its key; `flowsieve run --keys` takes a selection of these

Nothing is run. The hash names the plan: it is the same on every machine with the same experiment and program.")]
pub(crate) struct Plan {
    #[command(flatten)]
    of: Planned,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn plan(args: &Plan, engines: &Engines) -> Result<(), Error> {
    let listing = planned(&args.of, engines)?.listing();
    for warning in listing.warnings.iter().filter(|_| !args.json) {
        tell(format!("warning: {warning}"));
    }
    if args.json { print_json(&listing) } else { print(&listing.text()) }
}
