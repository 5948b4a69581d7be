//! For which flow sizes thresholds are computed, and how.

use super::Jobs;
use clap::{Args, ValueEnum, ValueHint};
use flowsieve_settings::units;
use flowsieve_studies::thresholds as studies;
use std::path::PathBuf;
use std::str::FromStr;

/// The flow sizes.
#[derive(Debug, Clone, Args)]
pub struct Distribution {
    /// A built-in distribution (see `flowsieve list workloads`)
    #[arg(long, value_name = "NAME", required_unless_present_any = ["cdf", "sizes"], conflicts_with_all = ["cdf", "sizes"])]
    pub workload: Option<String>,
    /// A file of a distribution: rows of size_bytes,cdf
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub cdf: Option<String>,
    /// A CSV file with the size of a flow in bytes in each row
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "cdf")]
    pub sizes: Option<PathBuf>,
    /// The column of these sizes, by its name in the first row [default: the first column]
    #[arg(long, value_name = "NAME", requires = "sizes")]
    pub column: Option<String>,
}

impl Distribution {
    /// Returns what thresholds are computed from, for these loads.
    pub(crate) fn wanted(&self, loads: Vec<f64>, queues: Option<u64>, method: studies::Method) -> studies::Wanted {
        let sizes = self.sizes.clone().map(|path| studies::Column { path, name: self.column.clone() });
        studies::Wanted { workload: self.workload.clone(), cdf: self.cdf.clone(), sizes, loads, queues, method }
    }
}

/// How thresholds are computed, and for which network.
#[derive(Debug, Clone, Args)]
pub struct ThresholdsOptions {
    /// Load of the host links, or several loads for a table of them
    #[arg(long, value_delimiter = ',', default_value = "0.8")]
    pub load: Vec<f64>,
    /// Number of queues [default: 8, and 2 for --method two-level]
    #[arg(long)]
    pub queues: Option<u64>,
    /// How the thresholds are chosen [default: all methods next to each other, with a recommendation]
    #[arg(long, value_enum)]
    pub method: Option<Method>,
    /// Rate of the host links, then further rates that need an ECN threshold
    #[arg(long, value_name = "RATE", value_delimiter = ',', default_value = "10Gbps", conflicts_with_all = ["method", "fabric"])]
    pub rate: Vec<Rate>,
    /// Round trip without queues, for the ECN thresholds and the simulation
    #[arg(long, value_name = "TIME", default_value = "80us", conflicts_with_all = ["method", "fabric"])]
    pub rtt: Time,
    /// Take rates and round trip from the fabric of this experiment, and simulate there
    #[arg(long, value_name = "EXPERIMENT", value_hint = ValueHint::FilePath, conflicts_with = "method")]
    pub fabric: Option<PathBuf>,
    /// What ECN marking compares with its threshold: a queue's length, as commodity switches do, or a port's
    #[arg(long, value_enum, default_value = "queue", conflicts_with = "method")]
    pub marking: Marking,
    /// Do not simulate: give only the model's numbers
    #[arg(long, conflicts_with = "method")]
    pub model_only: bool,
    /// With --method simulate: most sets of thresholds to run, not counting the final runs with other flows [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub evaluations: Option<u32>,
    /// Flows of a run [default: 2000 with --method simulate, otherwise enough for about a second]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub flows: Option<u32>,
    /// Runs at a time.
    #[command(flatten)]
    pub jobs: Jobs,
}

/// A rate with its unit.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// In bits per second.
    pub bps: u64,
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        units::parse_rate(text).map(|bps| Rate { bps }).map_err(|error| error.to_string())
    }
}

/// A time with its unit.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    /// In picoseconds.
    pub ps: u64,
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Time, String> {
        units::parse_time(text).map(|ps| Time { ps }).map_err(|error| error.to_string())
    }
}

/// What marking compares with its threshold.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Marking {
    /// The length of the whole port
    Port,
    /// The length of the packet's queue
    Queue,
}

/// How thresholds are chosen.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Method {
    /// The same number of flows ends in each queue
    EqualSplit,
    /// Best by PIAS's model, a tandem of M/M/1 queues
    Pias,
    /// Best by an M/G/1 foreground-background queue with FIFO levels
    Background,
    /// One threshold, best by two-level processor sharing
    TwoLevel,
    /// Those published for PIAS
    Published,
    /// Best in the packet simulator, by a search from the others
    Simulate,
}

impl Method {
    /// Returns the method, unless thresholds are searched for.
    pub(crate) fn computed(self) -> Option<studies::Method> {
        match self {
            Method::EqualSplit => Some(studies::Method::EqualSplit),
            Method::Pias => Some(studies::Method::Pias),
            Method::Background => Some(studies::Method::Background),
            Method::TwoLevel => Some(studies::Method::TwoLevel),
            Method::Published => Some(studies::Method::Published),
            Method::Simulate => None,
        }
    }
}

impl From<Marking> for studies::Marking {
    fn from(marking: Marking) -> studies::Marking {
        match marking {
            Marking::Port => studies::Marking::Port,
            Marking::Queue => studies::Marking::Queue,
        }
    }
}
