//! The command line of `flowsieve thresholds`.

use crate::options::{Distribution, ThresholdsOptions};
use clap::Args;

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
  flowsieve thresholds --cdf sizes.csv --queues 4")]
pub(crate) struct Thresholds {
    #[command(flatten)]
    pub(crate) of: Distribution,
    #[command(flatten)]
    pub(crate) options: ThresholdsOptions,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
