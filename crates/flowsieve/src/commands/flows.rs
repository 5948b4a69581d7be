//! `flowsieve flows`: the flows of an experiment, or of a stand-in for a trace, as a list.

use crate::output::to_output;
use clap::{Args, ValueHint};
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::plan::{self, Changes};
use flowsieve_studies::export;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve flows quickstart --set load=0.6 > flows.csv
      and list = \"flows.csv\" in the [workload] of an experiment sends them again
  flowsieve flows kmeans-like --set calibration=tight > trace.csv
      the flows of a stand-in with their recorded features, to train predictions on")]
pub(crate) struct Flows {
    /// The experiment: a file, or the name of a built-in one, such as quickstart or nos2/fig06; or a stand-in for a trace,
    /// as `flowsieve list workloads` names it
    #[arg(value_name = "EXPERIMENT", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Change a setting, by its name or path
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of the flows [default: the experiment's first, or 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

pub(crate) fn flows(args: &Flows, engines: &Engines) -> Result<(), Error> {
    if let Some(stand_in) = args.file.to_str().and_then(export::known_stand_in) {
        return to_output(|out| export::stand_in(stand_in, &args.set, args.seed.unwrap_or(1), out));
    }
    let changes = Changes { sets: args.set.clone(), ..Changes::default() };
    let plan = plan::read(&args.file, &changes, engines)?;
    to_output(|out| export::flows(&plan, args.seed.unwrap_or(plan.first_seed()), out))
}
