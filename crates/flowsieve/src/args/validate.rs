//! The arguments of `flowsieve validate`.

use crate::options::Jobs;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve validate --quick
      48 of the 123 cases, in about a minute
  flowsieve validate --list
  flowsieve validate --case srpt-uniform-64-0.7 --case dctcp-2
      two of them, by their names
  flowsieve validate --against crosscheck
      replays the runs of other simulators in this folder, and prints how well they agree

Exit status: 1 if a case fails. docs/reference/validation.md says what is compared, and how.")]
pub(crate) struct Validate {
    /// Only this case; may be given several times [default: all]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["quick", "list"])]
    pub(crate) case: Vec<String>,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// Only loads up to 0.7 and messages of 64 packets, and DCTCP's cases
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print the names of the cases without running them
    #[arg(long)]
    pub(crate) list: bool,
    /// Replay the runs of other simulators in this folder instead: NAME.csv with NAME.toml
    #[arg(long, value_name = "DIR", conflicts_with_all = ["case", "jobs", "quick", "list"])]
    pub(crate) against: Option<PathBuf>,
}
