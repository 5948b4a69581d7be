//! `flowsieve pack`: an experiment with all that it names, in one file.

use clap::{Args, ValueHint};
use flowsieve_experiment::Error;
use flowsieve_experiment::bundle;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::verify::Proof;
use flowsieve_report as report;
use flowsieve_results::ResultDir;
use flowsieve_settings::files::Existing;
use std::path::PathBuf;

use super::{Planned, planned};
use crate::output::print;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve pack nos2/fig06 --scale smoke -o fig06.flowsieve
      then `flowsieve run fig06.flowsieve`, `plan` and `join` work on any machine, with the same keys and results
  flowsieve pack quickstart --result results/quickstart -o quickstart.flowsieve
      with digests of a result: `flowsieve verify quickstart.flowsieve` makes the runs again and compares

It holds the experiment, each file that it names (lists, distributions, predictions, edge lists) and your changes. With
--result it also proves what comes out.")]
pub(crate) struct Pack {
    #[command(flatten)]
    of: Planned,
    /// The bundle
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Put digests of this result of it into the bundle, so that others can verify it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    result: Option<PathBuf>,
    /// Replace the bundle if it exists
    #[arg(long)]
    replace: bool,
}

pub(crate) fn pack(args: &Pack, engines: &Engines) -> Result<(), Error> {
    let plan = planned(&args.of, engines)?;
    let result = args.result.as_ref().map(ResultDir::open).transpose()?;
    let proof = Proof { commit: engines.commit(), result: result.as_ref() };
    let content = bundle::pack_file(&plan, &proof, &args.out, Existing::replaced(args.replace))?;
    let (files, size) = (content.files, report::size(content.bytes));
    let s = if files == 1 { "" } else { "s" };
    let beside = if files == 0 { String::new() } else { format!(" with {files} file{s} ({size})") };
    let proves = if result.is_some() { ", with digests of its result" } else { "" };
    print(&format!("{}: {}{beside}, plan {}{proves}\n", args.out.display(), plan.name, plan.hash()))
}
