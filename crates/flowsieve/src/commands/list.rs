//! `flowsieve list`: what there is to choose from.

use clap::{Args, ValueEnum, ValueHint};
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::{Error, lookup};
use flowsieve_studies::catalogue;
use std::path::PathBuf;

use crate::output::{print, print_json};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve list schemes
  flowsieve list settings ecn
      only those with this word in their names or descriptions
  flowsieve list experiments --folder built-in:
      the experiments of the program, even if there are others
  flowsieve list workloads --json")]
pub(crate) struct List {
    /// What to list
    what: What,
    /// Only entries with this word in their name or description
    word: Option<String>,
    /// Where to look for experiments; built-in: has those of the program [default: experiments and papers, if they
    /// exist, else built-in:]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum What {
    /// Schedulers that can be compared
    Schemes,
    /// Distributions of flow sizes
    Workloads,
    /// Kinds of fabric, drawn
    Topologies,
    /// Experiment files in a folder
    Experiments,
    /// Every key of an experiment file
    Settings,
    /// Files of other simulators that `flowsieve convert` reads
    Formats,
}

impl From<What> for catalogue::What {
    fn from(what: What) -> catalogue::What {
        match what {
            What::Schemes => catalogue::What::Schemes,
            What::Workloads => catalogue::What::Workloads,
            What::Topologies => catalogue::What::Topologies,
            What::Experiments => catalogue::What::Experiments,
            What::Settings => catalogue::What::Settings,
            What::Formats => catalogue::What::Formats,
        }
    }
}

pub(crate) fn list(args: &List, engines: &Engines) -> Result<(), Error> {
    let folders = lookup::folders(args.folder.as_deref());
    let (what, word) = (args.what.into(), args.word.as_deref());
    if args.json {
        return print_json(&catalogue::json(what, word, engines, &folders)?);
    }
    print(&catalogue::text(what, word, engines, &folders)?)
}
