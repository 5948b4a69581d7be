//! `flowsieve flows`: the flows of an experiment as a list.

use crate::output::to_output;
use clap::{Args, ValueHint};
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::plan::{self, Changes};
use flowsieve_studies::export;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve flows quickstart --set load=0.6 > flows.csv
      and list = \"flows.csv\" in the [workload] of an experiment sends them again")]
pub(crate) struct Flows {
    /// The experiment: a file, or the name of a built-in one, such as quickstart or nos2/fig06
    #[arg(value_name = "EXPERIMENT", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Change a setting, by its name or path
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of the flows [default: the experiment's first]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

pub(crate) fn flows(args: &Flows, engines: &Engines) -> Result<(), Error> {
    let changes = Changes { sets: args.set.clone(), ..Changes::default() };
    let plan = plan::read(&args.file, &changes, engines)?;
    to_output(|out| export::flows(&plan, args.seed.unwrap_or(plan.first_seed()), out))
}
