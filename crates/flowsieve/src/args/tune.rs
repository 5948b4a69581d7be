//! The command line of `flowsieve tune`.

use crate::options::{Distribution, TuneOptions};
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve tune quickstart --sizes flows.csv --column bytes --load 0.6
      what would help these flows in this fabric, into the folder recommendation
  flowsieve tune quickstart --workload web-search --load 0.6 --ports Ethernet0=10Gbps
      with configuration of switches and hosts, for SONiC, EOS, NX-OS, tc and nftables
  flowsieve tune quickstart --workload web-search --load 0.6 --seeds 5
      the same answer every time, however long it takes

A command that is stopped or has used its budget continues if you repeat it.")]
pub(crate) struct Tune {
    /// The fabric: an experiment, or a file with a [topology] alone
    #[arg(value_name = "FABRIC", value_hint = ValueHint::FilePath)]
    pub(crate) fabric: PathBuf,
    #[command(flatten)]
    pub(crate) of: Distribution,
    #[command(flatten)]
    pub(crate) options: TuneOptions,
    /// Where the recommendation goes
    #[arg(long, value_name = "DIR", default_value = "recommendation", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
