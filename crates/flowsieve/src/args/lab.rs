//! The command line of the lab.

use super::Run;
use clap::Subcommand;

const LAB_EXAMPLES: &str = "\
Examples:
  flowsieve lab doctor
      what this machine permits, how many frames a second it carries, and which rates and hosts follow
  flowsieve lab run lab/demonstration
      a built-in experiment on this machine's own TCP, as root
  flowsieve lab run my.toml --set scheme=pias,qc-las --out results/linux
      your own; the same file without `lab` runs in the simulator
  flowsieve lab clean
      removes what a lab that was killed has left";

/// What to do with the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// Run an experiment with the TCP of this machine's Linux between network namespaces, one run at a time
    #[command(after_help = LAB_EXAMPLES)]
    Run(Box<Run>),
    /// Say what this machine permits and carries, and the delay of its hosts
    #[command(after_help = LAB_EXAMPLES)]
    Doctor,
    /// Remove the network namespaces of labs whose processes are gone
    #[command(after_help = LAB_EXAMPLES)]
    Clean,
}
