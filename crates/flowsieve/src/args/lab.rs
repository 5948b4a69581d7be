//! The command line of the lab.

use super::{Planned, Run};
use clap::{Args, Subcommand, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

const LAB_EXAMPLES: &str = "\
Examples:
  flowsieve lab doctor
      what this machine permits, how many frames a second it carries, and which rates and hosts follow
  flowsieve lab run lab/demonstration
      a built-in experiment on this machine's own TCP, as root
  flowsieve lab run my.toml --set scheme=pias,qc-las --out results/linux
      your own; the same file without `lab` runs in the simulator
  flowsieve lab compare my.toml
      the simulator and two runs on Linux, flow by flow
  flowsieve lab clean
      removes what a lab that was killed has left";

const UP_EXAMPLES: &str = "\
Examples:
  flowsieve lab up fabric.toml
      hosts and the fabric between them, until `lab down`; a [workload] in the file is sent beside your programs
  flowsieve lab exec host0 -- nginx -g 'daemon off;'
      a program of your own in a host
  flowsieve lab exec host1 -- curl http://198.18.0.1/
      another one: host0 has the address 198.18.0.1, host1 198.18.0.2 …
  flowsieve lab watch
      what ports send, mark and drop, and what waits in their queues; q leaves; with --once a table and the end
  flowsieve lab down
      ends the lab and its programs, and shows the result: a flow for each direction of a connection
  flowsieve lab up fabric.toml --set scheme=qc-las --set message_gap=5ms --name second
      another lab beside the first; `--lab second` names it for the other commands";

/// What to do with the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// Run an experiment with the TCP of this machine's Linux between network namespaces, one run at a time
    #[command(after_help = LAB_EXAMPLES)]
    Run(Box<Run>),
    /// Run an experiment in the simulator and twice on Linux, and say how far they agree, flow by flow
    #[command(after_help = LAB_EXAMPLES)]
    Compare(LabCompare),
    /// Build an experiment's fabric for programs of your own, and leave it running
    #[command(after_help = UP_EXAMPLES)]
    Up(LabUp),
    /// Run a program in a host of a lab that runs; its exit status is passed on
    #[command(after_help = UP_EXAMPLES)]
    Exec(LabExec),
    /// Show what the ports of a lab that runs do
    #[command(after_help = UP_EXAMPLES)]
    Watch(LabWatch),
    /// End a lab that runs, with the programs in it, and show its result
    #[command(after_help = UP_EXAMPLES)]
    Down(LabDown),
    /// Say what this machine permits and carries, and the delay of its hosts
    #[command(after_help = LAB_EXAMPLES)]
    Doctor,
    /// Remove the network namespaces and names of labs whose processes are gone
    #[command(after_help = LAB_EXAMPLES)]
    Clean,
}

/// What to compare.
#[derive(Debug, Args)]
pub(crate) struct LabCompare {
    #[command(flatten)]
    pub(crate) of: Planned,
    /// Where the three results go, and the times of all flows [default: results/ and the file's name, and -agreement]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Replace results of another experiment, scale or settings in the folder
    #[arg(long)]
    pub(crate) replace: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which lab to build.
#[derive(Debug, Args)]
pub(crate) struct LabUp {
    /// The experiment, with one scheme: a file, or the name of a built-in one. It needs no [workload]
    #[arg(value_name = "EXPERIMENT", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Change a setting, by its name or path
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The name by which other commands find it [default: the file's]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Where the result goes [default: results/ and the file's name, with changes, and -lab]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Replace a result in the folder
    #[arg(long)]
    pub(crate) replace: bool,
    /// Stay in the foreground, until Ctrl-C or `lab down`
    #[arg(long)]
    pub(crate) foreground: bool,
    /// Where the messages of the process go that another one has started to hold the lab
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) held: Option<PathBuf>,
}

/// Which lab that runs.
#[derive(Debug, Args)]
pub(crate) struct WhichLab {
    /// The lab's name, if several run
    #[arg(long, value_name = "NAME")]
    pub(crate) lab: Option<String>,
}

/// What to run where.
#[derive(Debug, Args)]
pub(crate) struct LabExec {
    #[command(flatten)]
    pub(crate) which: WhichLab,
    /// The host: its name in the fabric, or its number
    pub(crate) host: String,
    /// The program and its arguments
    #[arg(required = true, last = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// How to watch.
#[derive(Debug, Args)]
pub(crate) struct LabWatch {
    #[command(flatten)]
    pub(crate) which: WhichLab,
    /// Print the counts so far, and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Print JSON, and end
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to end.
#[derive(Debug, Args)]
pub(crate) struct LabDown {
    #[command(flatten)]
    pub(crate) which: WhichLab,
    /// Print the result as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}
