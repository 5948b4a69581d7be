//! `flowsieve doctor`: what looks wrong in a result.

use super::OfResult;
use crate::output::{print, print_json};
use clap::Args;
use flowsieve_experiment::Error;
use flowsieve_report as report;
use flowsieve_results::ResultDir;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve doctor results/quickstart
      saturated links, unfinished flows, queues that nothing used although a threshold lies inside the sizes …")]
pub(crate) struct Doctor {
    #[command(flatten)]
    of: OfResult,
}

pub(crate) fn doctor(args: &Doctor) -> Result<(), Error> {
    let result = ResultDir::open(&args.of.dir)?;
    if args.of.json {
        return print_json(&report::doctor_json(&result));
    }
    print(&report::doctor(&result))
}
