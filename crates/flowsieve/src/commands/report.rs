//! `flowsieve report`: a result's table and page again.

use super::{OfResult, show_result};
use crate::options::ReportOptions;
use clap::Args;
use flowsieve_experiment::Error;
use flowsieve_results::ResultDir;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve report results/quickstart
      writes report.html, and plots.csv with the numbers of its plots
  flowsieve report results/first --x ecn_threshold
      with a chosen setting on the x axis, instead of the one with the most values")]
pub(crate) struct Report {
    #[command(flatten)]
    of: OfResult,
    #[command(flatten)]
    options: ReportOptions,
}

pub(crate) fn report(args: &Report) -> Result<(), Error> {
    show_result(&ResultDir::open(&args.of.dir)?, &args.options, args.of.json)
}
