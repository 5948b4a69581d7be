//! `flowsieve compare`: schemes of a result over the same flows, or another simulator's runs with ours.

use crate::options::CompareOptions;
use crate::output::{in_colour, print, print_json, tell};
use clap::{Args, ValueHint};
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_report as report;
use flowsieve_results::ResultDir;
use flowsieve_studies::against;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve compare results/quickstart
      each scheme with the first
  flowsieve compare results/quickstart pfabric pias --json
      two of them, as JSON with every statistic
  flowsieve compare results/first --vary ecn_threshold
      each value of another swept setting with the first
  flowsieve compare --against crosscheck
      runs of another simulator with ours: NAME.csv has its flows, which are sent through the network of NAME.toml

A ratio below 1 means that the first of the two takes less. A ratio is judged only if all flows finished under both.")]
pub(crate) struct Compare {
    /// The folder of a result
    #[arg(value_hint = ValueHint::DirPath, required_unless_present = "against")]
    dir: Option<PathBuf>,
    /// A scheme of the result, or a value of the varied setting
    #[arg(requires = "baseline")]
    value: Option<String>,
    /// The baseline of the comparison
    baseline: Option<String>,
    #[command(flatten)]
    options: CompareOptions,
    /// Compare runs of another simulator with ours instead: NAME.csv and NAME.toml of this folder, flow by flow
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, conflicts_with_all = ["dir", "value", "baseline", "vary", "class"])]
    against: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn compare(args: &Compare, engines: &Engines) -> Result<(), Error> {
    let Some(dir) = &args.dir else {
        return args.against.as_deref().map_or(Ok(()), |folder| against(folder, args.json, engines));
    };
    let result = ResultDir::open(dir)?;
    let compared = args.options.compared(&result, args.value.as_deref().zip(args.baseline.as_deref()))?;
    if args.json {
        return print_json(&compared);
    }
    let text = |compared: &report::Compared| compared.text(in_colour());
    print(&compared.iter().map(text).collect::<Vec<_>>().join("\n"))
}

/// Replays the runs of other simulators in a folder.
fn against(folder: &Path, json: bool, engines: &Engines) -> Result<(), Error> {
    let replay = |run: &against::Recorded| {
        tell(format!("replaying {}", run.name));
        run.replay(engines)
    };
    let agreements = against::recorded(folder)?.iter().map(replay).collect::<Result<Vec<_>, _>>()?;
    if json { print_json(&agreements) } else { print(&against::table(&agreements)) }
}
