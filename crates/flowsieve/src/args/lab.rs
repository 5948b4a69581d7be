//! The command line of the lab.

use super::{Planned, Run};
use clap::{Args, Subcommand, ValueHint};
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

/// What to do with the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// Run an experiment with the TCP of this machine's Linux between network namespaces, one run at a time
    #[command(after_help = LAB_EXAMPLES)]
    Run(Box<Run>),
    /// Run an experiment in the simulator and twice on Linux, and say how far they agree, flow by flow
    #[command(after_help = LAB_EXAMPLES)]
    Compare(LabCompare),
    /// Say what this machine permits and carries, and the delay of its hosts
    #[command(after_help = LAB_EXAMPLES)]
    Doctor,
    /// Remove the network namespaces of labs whose processes are gone
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
