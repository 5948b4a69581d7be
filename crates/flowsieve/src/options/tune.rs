//! For what a recommendation is, and how long it is looked for.

use super::{Jobs, Marking, Rate};
use clap::Args;
use flowsieve_studies::tune::Ports;
use std::str::FromStr;
use std::time::Duration;

/// For what a recommendation is, and how long it is looked for.
#[derive(Debug, Clone, Args)]
pub struct TuneOptions {
    /// Load of the host links
    #[arg(long, value_name = "LOAD")]
    pub load: f64,
    /// Numbers of queues to try
    #[arg(long, value_name = "FEWEST..MOST", default_value = "2..8")]
    pub queues: Span,
    /// What ports compare with their marking threshold: a queue's length, a port's, or both [default: queue,port; with
    /// --ports queue]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub marking: Vec<Marking>,
    /// Also try what needs programmable switches: QCluster
    #[arg(long)]
    pub programmable: bool,
    /// Flows of a run [default: as many as take some seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub flows: Option<u32>,
    /// Seeds of each candidate that is run whole, and as many others for the chosen one; instead of a budget, for the
    /// same answer every time
    #[arg(long, value_name = "N", conflicts_with = "budget")]
    pub seeds: Option<u64>,
    /// Time for the whole search
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub budget: Budget,
    /// Write configuration for these ports of a switch, each with its speed
    #[arg(long, value_name = "NAME=RATE", value_delimiter = ',')]
    pub ports: Vec<NamedPort>,
    /// Queues of a port that may be used, by the switch's numbers [default: 0 to 7; for SONiC 0,1,2,5,6, as its default
    /// template holds 3 and 4 for lossless traffic]
    #[arg(long, value_name = "QUEUE", value_delimiter = ',', requires = "ports")]
    pub queues_of_port: Vec<u8>,
    /// Replace the recommendation for another question in the folder
    #[arg(long)]
    pub replace: bool,
    /// Runs at a time.
    #[command(flatten)]
    pub jobs: Jobs,
}

impl TuneOptions {
    /// Returns the ports to write configuration for.
    pub(crate) fn ports(&self) -> Option<Ports> {
        let ports: Vec<(String, u64)> =
            self.ports.iter().map(|NamedPort { name, rate }| (name.clone(), rate.bps)).collect();
        let queues_of_port = (!self.queues_of_port.is_empty()).then(|| self.queues_of_port.clone());
        (!ports.is_empty()).then_some(Ports { ports, queues_of_port })
    }
}

/// Whole numbers from one to another, such as `2..8`, or one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub fewest: u64,
    /// The last.
    pub most: u64,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let number =
            |text: &str| text.trim().parse::<u64>().map_err(|_| "expected numbers such as 2..8, or one such as 4");
        let (fewest, most) = match text.split_once("..") {
            Some((fewest, most)) => (number(fewest)?, number(most)?),
            None => (number(text)?, number(text)?),
        };
        if fewest > most {
            return Err(format!("expected the fewest first, such as {most}..{fewest}"));
        }
        Ok(Span { fewest, most })
    }
}

/// A time above zero, such as `60m` or `1h 30m`.
#[derive(Debug, Clone, Copy)]
pub struct Budget(pub Duration);

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Budget, String> {
        match humantime::parse_duration(text) {
            Ok(Duration::ZERO) => Err("expected a time above zero".into()),
            Ok(time) => Ok(Budget(time)),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A switch's port and its speed.
#[derive(Debug, Clone)]
pub struct NamedPort {
    /// Its name on the switch.
    pub name: String,
    /// Its speed.
    pub rate: Rate,
}

impl FromStr for NamedPort {
    type Err = String;

    fn from_str(text: &str) -> Result<NamedPort, String> {
        let (name, rate) = text.rsplit_once('=').ok_or("expected a name and a rate, such as Ethernet0=25Gbps")?;
        Ok(NamedPort { name: name.to_owned(), rate: rate.parse()? })
    }
}
