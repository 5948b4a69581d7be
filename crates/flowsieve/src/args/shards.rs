//! The command line of `flowsieve plan`, `join` and `pack`: a sweep that is spread over machines.

use crate::options::{ChangeOptions, Jobs, JoinOptions, Threads};
use clap::{Args, ValueHint};
use flowsieve_experiment::plan::Changes;
use std::path::PathBuf;

/// An experiment and its changes: the same for all commands that plan it, so that they mean the same plan.
#[derive(Debug, Args)]
pub(crate) struct Planned {
    /// The experiment: a file, a bundle of `flowsieve pack`, or the name of a built-in one
    #[arg(value_name = "EXPERIMENT", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Change a setting, by its name or path; several values make a sweep
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) change: ChangeOptions,
}

impl Planned {
    /// Returns the changes that it asks for.
    pub(crate) fn changes(&self) -> Changes {
        Changes { sets: self.set.clone(), seeds: self.change.seeds, scale: self.change.scale.into(), resolve: false }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve plan quickstart
      the points with their seeds, and the cost of a run of each
  flowsieve plan quickstart --seeds 20 --json > plan.json
      each run with its key; `flowsieve run --keys` takes a selection of these

Nothing is run. The hash names the plan: it is the same on every machine with the same experiment and program.")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) of: Planned,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

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
    pub(crate) of: Planned,
    /// Folders of parts, or results with some; the parts in --out count as well
    #[arg(long, value_name = "DIR", num_args = 1.., value_hint = ValueHint::DirPath)]
    pub(crate) parts: Vec<PathBuf>,
    /// Where the result goes [default: results/ and the file's name, with scale and changes]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: JoinOptions,
    /// Print the results as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve pack nos2/fig06 --scale smoke -o fig06.flowsieve
      then `flowsieve run fig06.flowsieve`, `plan` and `join` work on any machine, with the same keys and results
  flowsieve pack quickstart --result results/quickstart -o quickstart.flowsieve
      with digests of a result: `flowsieve verify quickstart.flowsieve` makes the runs again and compares

It holds the experiment, each file that it names (lists, distributions, forests, edge lists) and your changes. With
--result it also proves what comes out.")]
pub(crate) struct Pack {
    #[command(flatten)]
    pub(crate) of: Planned,
    /// The bundle
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: PathBuf,
    /// Put digests of this result of it into the bundle, so that others can verify it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) result: Option<PathBuf>,
    /// Replace the bundle if it exists
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve verify quickstart.flowsieve
      makes the runs of a bundle that was packed with --result
  flowsieve verify results/quickstart
      makes those of a result; files that it names are looked for from the current folder on

Exit status: 0 the bytes are the same; 1 they are not, and it says in which columns and rows; 2 it cannot be told, and why.")]
pub(crate) struct Verify {
    /// A bundle of `flowsieve pack --result`, or the folder of a result
    #[arg(value_name = "BUNDLE|DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) what: PathBuf,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    #[command(flatten)]
    pub(crate) threads: Threads,
    /// Keep the new result in this folder
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}
