//! `flowsieve explain`: a name, in words.

use crate::output::{print, print_json};
use clap::Args;
use flowsieve_experiment::Error;
use flowsieve_experiment::engine::Engines;
use flowsieve_studies::explain::{self, Detail, Explained};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve explain ecn_threshold
      what it is, its unit and limits, its default, and what reads it
  flowsieve explain network.leaf.queues
      a setting by its path, as --set takes it
  flowsieve explain pias
      a scheme, with its parameters
  flowsieve explain fct
      a word in the names of metrics; pfc, hpcc and others that are not modelled have an answer, too
  flowsieve explain \"p99 slowdown\" --json
      a metric of claims, as JSON")]
pub(crate) struct Explain {
    /// Its name in any case, or the path of a setting
    name: String,
    /// List every scheme that reads a setting, where they are counted otherwise
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn explain(args: &Explain, engines: &Engines) -> Result<(), Error> {
    let detail = if args.all { Detail::All } else { Detail::Short };
    let explained = explain::explain(&args.name, detail, engines)?;
    if args.json {
        return print_json(&explained);
    }
    print(&explained.iter().map(Explained::text).collect::<Vec<_>>().join("\n"))
}
