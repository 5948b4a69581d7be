//! Values that options take, with their units.

use clap::ValueEnum;
use flowsieve_settings::units;
use flowsieve_studies::configuration::Given;
use flowsieve_studies::configure::{Kept, Lossless};
use flowsieve_studies::thresholds as studies;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

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

/// Reads the ports of a switch, each with its speed, or a file of the switch that lists them.
pub(crate) fn ports(text: &str) -> Result<Given, String> {
    let rate = |text: &str| text.parse::<Rate>().map(|rate| rate.bps);
    match text.rsplit_once('=') {
        None => Ok(Given::File(text.into(), None)),
        Some((path, of)) if Path::new(path).is_file() => Ok(Given::File(path.into(), Some(rate(of)?))),
        Some(_) => {
            let named = |text: &str| {
                let (name, of) = text.rsplit_once('=').ok_or("expected a name and a rate, such as Ethernet0=25Gbps")?;
                Ok((name.to_owned(), rate(of)?))
            };
            text.split(',').map(named).collect::<Result<_, String>>().map(Given::List)
        }
    }
}

/// Reads DSCPs and the queue that they keep, such as `24,26=3`.
pub(crate) fn kept(text: &str) -> Result<Kept, String> {
    let number = |text: &str| text.parse::<u8>().map_err(|_| "expected DSCPs and a queue, such as 24,26=3".to_owned());
    let (dscps, queue) = text.split_once('=').unwrap_or_default();
    Ok((dscps.split(',').map(number).collect::<Result<_, _>>()?, number(queue)?))
}

/// Reads where lossless queues stand.
pub(crate) fn lossless(text: &str) -> Result<Lossless, String> {
    [("above", Lossless::Above), ("behind", Lossless::Behind), ("none", Lossless::None)]
        .into_iter()
        .find_map(|(name, lossless)| (name == text).then_some(lossless))
        .ok_or("expected above, behind or none".to_owned())
}

/// What marking compares with its threshold.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Marking {
    /// The length of the whole port
    Port,
    /// The length of the packet's queue
    Queue,
}

impl From<Marking> for studies::Marking {
    fn from(marking: Marking) -> studies::Marking {
        match marking {
            Marking::Port => studies::Marking::Port,
            Marking::Queue => studies::Marking::Queue,
        }
    }
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
