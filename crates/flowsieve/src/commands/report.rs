//! `flowsieve report`: a result's table and page again.

use super::{OfResult, show_with};
use crate::options::ReportOptions;
use crate::progress::shown;
use clap::Args;
use flowsieve_engines::follow::{Which, timelines};
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::verify::plan_of;
use flowsieve_results::ResultDir;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve report results/quickstart
      writes report.html, and plots.csv with the numbers of its plots
  flowsieve report results/first --x ecn_threshold
      with a chosen setting on the x axis, instead of the one with the most values
  flowsieve report results/first --follow-flow slowest:0-100KB
      with a picture of one flow: each packet's way, and behind what it waited")]
pub(crate) struct Report {
    #[command(flatten)]
    of: OfResult,
    #[command(flatten)]
    options: ReportOptions,
    /// Draw a flow in the report, as time against place: the first seed of each point is made again for it.
    /// Named as for `flowsieve run --follow-flow`
    #[arg(long, value_name = "FLOW")]
    follow_flow: Option<Which>,
}

pub(crate) fn report(args: &Report, engines: &Engines) -> Result<(), Error> {
    let result = ResultDir::open(&args.of.dir)?;
    let followed = match &args.follow_flow {
        Some(which) => {
            let plan = plan_of(&result, engines)?;
            shown(&plan, |show| timelines(&plan, engines, which, show))?
        }
        None => Vec::new(),
    };
    show_with(&result, &args.options, args.of.json, &followed)
}
