//! The command line of `flowsieve thresholds`.

use crate::options::{Distribution, NamedPort, ThresholdsOptions};
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve thresholds --workload web-search --load 0.8 --rate 25Gbps,100Gbps --rtt 40us
      which ones to take, what they gain in a short simulation, how many queues
      help, the ECN threshold of each speed, and DSCPs
  flowsieve thresholds --workload web-search --load 0.6 --fabric quickstart --marking port
      for the fabric of an experiment, with marks by the length of a port
  flowsieve thresholds --sizes flows.csv --column bytes --load 0.6
      from measured sizes
  flowsieve thresholds --workload web-search --load 0.8 --queues 8 --method pias
  flowsieve thresholds --workload data-mining --load 0.5,0.6,0.7,0.8,0.9 --method background
  flowsieve thresholds --workload web-search --load 0.8 --method simulate --evaluations 200
  flowsieve thresholds --cdf sizes.csv --queues 4
  flowsieve thresholds --cdf sizes.csv --queues 4 --write settings --ports Ethernet0=10Gbps
      and configuration of switches and hosts, for SONiC, EOS, NX-OS, tc and nftables")]
pub(crate) struct Thresholds {
    #[command(flatten)]
    pub(crate) of: Distribution,
    #[command(flatten)]
    pub(crate) options: ThresholdsOptions,
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Files for switches and hosts.
#[derive(Debug, Args)]
pub(crate) struct Configuration {
    /// Write configuration for switches and hosts into this folder
    #[arg(long, value_name = "DIR", requires = "ports", conflicts_with_all = ["method", "json"], value_hint = ValueHint::DirPath)]
    pub(crate) write: Option<PathBuf>,
    /// The switch's ports, each with its speed, which is one of --rate
    #[arg(long, value_name = "NAME=RATE", value_delimiter = ',', requires = "write")]
    pub(crate) ports: Vec<NamedPort>,
    /// Queues of a port that may be used, by the switch's numbers [default: 0 to 7; for SONiC 0,1,2,5,6, as its default
    /// template holds 3 and 4 for lossless traffic]
    #[arg(long, value_name = "QUEUE", value_delimiter = ',', requires = "write")]
    pub(crate) queues_of_port: Vec<u8>,
    /// Replace the files of --write if they exist
    #[arg(long, requires = "write")]
    pub(crate) replace: bool,
}
