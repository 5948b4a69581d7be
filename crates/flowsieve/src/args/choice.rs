//! The command line of what there is to choose from, and of what to begin with.

use clap::{Args, ValueEnum, ValueHint};
use flowsieve_studies::catalogue;
use std::path::PathBuf;

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
    pub(crate) what: What,
    /// Only entries with this word in their name or description
    pub(crate) word: Option<String>,
    /// Where to look for experiments; built-in: has those of the program [default: experiments if it exists, else
    /// built-in:]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve init
      a first experiment with comments, first.toml
  flowsieve init --fabric 25-100
      an experiment on a leaf-spine fabric of today, with its sources: also 100-400 and 400-800
  flowsieve init --scheme nearest-first
      a crate in flowsieve-nearest-first: a scheme, an experiment and tests. Its binary is this command with the scheme in it

Nothing is overwritten. A crate is built with Rust's cargo and needs Flowsieve's source, which is not on crates.io.")]
pub(crate) struct Init {
    /// Where to write it [default: the current folder; for a crate flowsieve- and the scheme's name]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Write an experiment on a fabric of today: the speeds of its hosts and uplinks in Gbit/s, such as 25-100
    #[arg(long, value_name = "SPEEDS", conflicts_with = "scheme")]
    pub(crate) fabric: Option<String>,
    /// Write a crate for a scheme of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) scheme: Option<String>,
    /// Where the crate takes Flowsieve from: a folder with its source, or the address of a git repository [default: the
    /// source in which the current folder lies, else Flowsieve's repository]
    #[arg(long, value_name = "SOURCE", requires = "scheme")]
    pub(crate) flowsieve: Option<String>,
}

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
    pub(crate) name: String,
    /// List every scheme that reads a setting, where they are counted otherwise
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
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
