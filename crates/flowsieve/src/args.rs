//! The command line.

mod choice;
mod convert;
mod export;
mod forest;
#[cfg(target_os = "linux")]
mod lab;
mod shards;

use crate::commands::tune::Tune;
use crate::options::{Budget, ChangeOptions, CompareOptions, Jobs, ReportOptions, RunOptions, Threads};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use flowsieve_engines::follow::Which;
use flowsieve_experiment::shards::Shard;
use flowsieve_studies::export::Like;
use std::path::PathBuf;

pub(crate) use choice::{Explain, Init, List};
pub(crate) use convert::Convert;
pub(crate) use export::Export;
pub(crate) use forest::{Forest, Traced};
#[cfg(target_os = "linux")]
pub(crate) use lab::{Lab, LabCompare, LabDown, LabExec, LabUp, LabWatch};
pub(crate) use shards::{Join, Pack, PlanArgs, Planned, Verify};

/// Simulates data-centre fabrics, and compares schemes that schedule flows with the few priority queues of real
/// switches.
#[derive(Debug, Parser)]
#[command(version = env!("FLOWSIEVE_VERSION"), after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  flowsieve run quickstart
  flowsieve run quickstart --set load=0.9 --set scheme=pias,pfabric --seeds 5
  flowsieve init
  flowsieve list schemes
  flowsieve explain ecn_threshold
  flowsieve report results/quickstart
  flowsieve compare results/quickstart pias dctcp
  flowsieve doctor results/quickstart
  flowsieve reproduce awafs/fig05-26 --scale quick
  flowsieve tune --model --workload web-search --load 0.8 --queues 8
  flowsieve convert flow.txt -o flows.csv --with topology.txt

Exit status: 0 success; 1 the simulation failed, or `verify` found other bytes; 2 the file, the arguments or the folders need a change.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment and show how its schemes compare
    Run(Run),
    /// Show which runs an experiment has and what they need, without running them
    Plan(PlanArgs),
    /// Join runs that were made elsewhere into a result
    Join(Join),
    /// Put an experiment and every file that it names into one file, for other machines
    Pack(Pack),
    /// Make the runs of a bundle or a result again, and say whether they give the same bytes
    Verify(Verify),
    /// List the available schemes, workloads, settings and more
    List(List),
    /// Explain a setting, scheme, workload, kind of fabric or metric
    Explain(Explain),
    /// Write a first experiment, or a crate for a scheme of your own
    Init(Init),
    /// Show a result again, and write its report.html
    Report(Report),
    /// Compare schemes of a result, or values of another setting, over the same flows, with intervals
    Compare(Compare),
    /// Say what looks wrong in a result
    Doctor(Doctor),
    /// Write a result for a paper or for another program: tables and figures as LaTeX, SVG or CSV
    Export(Export),
    /// Run a paper's experiments and compare them with its claims
    Reproduce(Reproduce),
    /// Write the flows of an experiment as a list that can be replayed
    Flows(Flows),
    /// Write the flows of a coflow trace as a list that can be replayed
    Coflows(Coflows),
    /// Convert a file of another simulator: a flow list, a topology or a distribution of flow sizes
    Convert(Convert),
    /// Find by simulation, or at once by a model, what would help a fabric's traffic: queues, thresholds and marks
    Tune(Tune),
    /// Report how good a forest's predictions of flow sizes are, or write them into a flow list
    Forest {
        /// What to do
        #[command(subcommand)]
        what: Forest,
    },
    /// Run experiments with real packets: the TCP of this machine's Linux between network namespaces
    #[cfg(target_os = "linux")]
    Lab {
        /// What to do
        #[command(subcommand)]
        what: Lab,
    },
    /// Print a script that completes commands and names in a shell
    #[command(after_help = "Example:
  flowsieve completions bash > ~/.local/share/bash-completion/completions/flowsieve

It knows this program's schemes, workloads, settings and built-in experiments. Print it again after an update.")]
    Completions {
        /// The shell
        shell: Shell,
        /// Print what `compare` takes of this result instead: what the script asks for
        #[arg(long, value_name = "DIR", hide = true)]
        result: Option<PathBuf>,
    },
}

const RUN_EXAMPLES: &str = "\
Examples:
  flowsieve run quickstart
      a built-in experiment, into results/quickstart; a stopped run continues if you repeat the command
  flowsieve run quickstart --set load=0.5,0.7,0.9
      another sweep of the load
  flowsieve run quickstart --set network.ecn_threshold=30pkt --out results/k30
      a different setting, with its result next to the first
  flowsieve run first
      another experiment: two marking thresholds in one rack
  flowsieve run quickstart --scale smoke
      a hundredth of it, to see whether it works
  flowsieve run quickstart --screen 4
      the flows to every fourth host alone: ranks the points, and names those to run whole
  flowsieve run quickstart --set scheme=pias --set load=0.7 --follow-flow p99:0-100KB
      the timeline of one flow, by its slowdown or its number: where its time went, and which packets it waited for
  flowsieve run quickstart --set trace=pcap --set 'trace_links=[\"host-up\", \"host-down\"]'
      with captures of the hosts' links for Wireshark; their size is estimated first";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) of: Planned,
    /// Where results go [default: results/ and the file's name, with scale and changes]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
    /// Rank the points by the flows to every Kth host
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=65_535))]
    pub(crate) screen: Option<u32>,
    /// Add seeds, five to 40, until the experiment's claims of this metric are resolved, such as "mean fct"
    #[arg(long, value_name = "METRIC", conflicts_with_all = ["seeds", "screen"])]
    pub(crate) resolve: Option<String>,
    /// Time for adding seeds, from the start of the command; the first five are always run
    #[arg(long, value_name = "TIME", default_value = "60m", requires = "resolve")]
    pub(crate) budget: Budget,
    /// Print the timeline of a flow instead: what its packets waited for, hop by hop, in each point's first seed.
    /// Give its number, or `slowest` or `p99` by slowdown, optionally of a size class: `slowest:0-100KB`
    #[arg(long, value_name = "FLOW", conflicts_with_all = ["out", "fresh", "replace", "resolve", "threads"])]
    pub(crate) follow_flow: Option<Which>,
    /// Make only this share of the runs, by estimated cost, such as 3/40: no result, but parts for `flowsieve join`
    #[arg(long, value_name = "I/N", conflicts_with_all = ["keys", "resolve", "follow_flow", "replace"])]
    pub(crate) shard: Option<Shard>,
    /// Make only these runs: a file with one key per line, or with runs of `flowsieve plan --json`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["resolve", "follow_flow", "replace"])]
    pub(crate) keys: Option<PathBuf>,
    /// Print the results as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve coflows trace.txt > flows.csv
      and list = \"flows.csv\" in the [workload] of an experiment sends them. With coflows = \"trace.txt\" an experiment reads the
      trace itself, and can bring it to a load")]
pub(crate) struct Coflows {
    /// The trace, in the format of coflow-benchmark or of Sincronia
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Number of hosts; a port's host is its number modulo this [default: a host for each port]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=65_535))]
    pub(crate) hosts: Option<u32>,
    /// How sizes and arrivals are read
    #[arg(long, value_enum, default_value_t)]
    pub(crate) like: LikeArg,
}

/// How sizes and arrivals of a coflow trace are read.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum LikeArg {
    /// Unchanged
    #[default]
    Trace,
    /// As CoflowSim reads them, so that results can be compared with its own
    Coflowsim,
}

impl From<LikeArg> for Like {
    fn from(like: LikeArg) -> Like {
        match like {
            LikeArg::Trace => Like::Trace,
            LikeArg::Coflowsim => Like::CoflowSim,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve flows quickstart --set load=0.6 > flows.csv
      and list = \"flows.csv\" in the [workload] of an experiment sends them again")]
pub(crate) struct Flows {
    /// The experiment: a file, or the name of a built-in one, such as quickstart or nos2/fig06
    #[arg(value_name = "EXPERIMENT", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Change a setting, by its name or path
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of the flows [default: the experiment's first]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve report results/quickstart
      writes report.html, and plots.csv with the numbers of its plots
  flowsieve report results/first --x ecn_threshold
      with a chosen setting on the x axis, instead of the one with the most values")]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) of: OfResult,
    #[command(flatten)]
    pub(crate) options: ReportOptions,
}

/// A result, and the form of the output.
#[derive(Debug, Args)]
pub(crate) struct OfResult {
    /// The folder of a result
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

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
    pub(crate) dir: Option<PathBuf>,
    /// A scheme of the result, or a value of the varied setting
    #[arg(requires = "baseline")]
    pub(crate) value: Option<String>,
    /// The baseline of the comparison
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) options: CompareOptions,
    /// Compare runs of another simulator with ours instead: NAME.csv and NAME.toml of this folder, flow by flow
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, conflicts_with_all = ["dir", "value", "baseline", "vary", "class"])]
    pub(crate) against: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  flowsieve doctor results/quickstart
      saturated links, unfinished flows, queues that nothing used although a threshold lies inside the sizes …")]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) of: OfResult,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve reproduce awafs/fig05-26 --scale quick
      runs one figure and prints its claims with what was measured
  flowsieve reproduce nos2 --scale quick --dry-run
      what all of a paper would take
  flowsieve reproduce nos2 --scale quick --from-measured
      runs nothing; shows what is kept of earlier runs
  flowsieve reproduce nos2/fig06 --page nos2.md
      writes the page of claims and values to this file
  flowsieve reproduce nos2 --scale quick --resolve --budget 2h
      adds seeds to claims that are not resolved, for two hours

Figures share their points: a run that several figures need is made once.
Repeat an interrupted command to continue it.")]
pub(crate) struct Reproduce {
    /// A paper's folder in the catalogue, or one of its figures: PAPER or PAPER/FIGURE
    #[arg(value_name = "PAPER[/FIGURE]")]
    pub(crate) what: String,
    /// Folder of the catalogue [default: experiments if it exists, else built in]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) change: ChangeOptions,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    #[command(flatten)]
    pub(crate) threads: Threads,
    /// Where results go, one folder per figure [default: results/ and the paper's name]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Where the page of claims and values goes [default: reproduction.md in that folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) page: Option<PathBuf>,
    /// Replace that page and its figures if they exist; those in the folder of the results are always replaced
    #[arg(long, requires = "page")]
    pub(crate) replace: bool,
    /// Add seeds, five to 40, to unresolved claims that twice their seeds would resolve, the cheapest first
    #[arg(long, conflicts_with = "seeds")]
    pub(crate) resolve: bool,
    /// Time for adding seeds, from the start of the command; the first five are always run
    #[arg(long, value_name = "TIME", default_value = "60m", requires = "resolve")]
    pub(crate) budget: Budget,
    /// Run nothing; show the measurements that are kept next to the experiments
    #[arg(long, conflicts_with_all = ["fresh", "keep", "seeds", "resolve", "jobs", "threads", "dry_run"])]
    pub(crate) from_measured: bool,
    /// Make all runs again: use neither existing results nor, with --keep, kept measurements
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Keep the measurements next to the experiments, and continue from those kept there
    #[arg(long)]
    pub(crate) keep: bool,
    /// Show the cost, without running anything
    #[arg(long)]
    pub(crate) dry_run: bool,
}
