//! `flowsieve agent control`.

use super::record::until;
use super::{Message, in_words_of, recommended};
use crate::output::{print, tell};
use crate::values::{Budget, Rate};
use clap::{Args, ValueEnum, ValueHint};
use flowsieve_agent::maps::{Conf, RULES};
use flowsieve_agent::{Bins, Device, Kind, Recommendation, Recording, Side};
use flowsieve_core::units::Time;
use flowsieve_experiment::Error;
use flowsieve_studies::control::{By, Controls, Rhythm};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Which devices, and how thresholds follow their messages.
#[derive(Debug, Args)]
pub(crate) struct Control {
    /// The devices, in this network namespace
    #[arg(value_name = "DEVICE", required = true)]
    devices: Vec<String>,
    /// The folder that `flowsieve tune` has written: the first thresholds, and the DSCPs
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "recommendation")]
    recommendation: PathBuf,
    /// Whose controller
    #[arg(long, value_enum, default_value_t = Controller::Model)]
    by: Controller,
    /// Time between two decisions
    #[arg(long, value_name = "TIME", default_value = "10s")]
    every: Budget,
    /// How long a message counts
    #[arg(long, value_name = "TIME", default_value = "10m")]
    window: Budget,
    /// The fewest messages for a decision of nos2 or the model
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    least: u64,
    /// The rate of a device, for its load [default: what its driver says]
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// How long; until Ctrl-C by default
    #[arg(long = "for", value_name = "TIME")]
    time: Option<Budget>,
    /// When a message ends
    #[arg(long, value_enum, value_name = "RULE", default_value_t = Message::Turn1ms)]
    message: Message,
}

/// A controller.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Controller {
    /// NOS2's: one threshold for all devices, for two queues
    Nos2,
    /// AWAFS's: each device's thresholds are percentiles of its own messages
    Awafs,
    /// The model of `tune --model`, from all devices' messages
    Model,
}

pub(super) fn control(args: &Control) -> Result<(), Error> {
    let Recommendation { thresholds, dscps, .. } = recommended(&args.recommendation)?;
    let devices: Vec<Device> =
        args.devices.iter().map(|name| Device::find(name)).collect::<Result<_, _>>().map_err(in_words_of)?;
    let rates = devices.iter().map(|device| rate(device, args.rate)).collect::<Result<Vec<u64>, Error>>()?;
    let by = match args.by {
        Controller::Nos2 => By::Nos2,
        Controller::Awafs => By::Awafs,
        Controller::Model => By::Background,
    };
    let rhythm = Rhythm { period: time(args.every.0), window: time(args.window.0), least: args.least };
    let mut controls = Controls::new(by, rhythm, &rates, &thresholds)?;
    let conf = |thresholds: Vec<u64>| Conf {
        thresholds,
        dscps: dscps.clone(),
        end: RULES[args.message.place()],
        percent: 100,
        dry: false,
        middle: true,
    };
    let recordings: Vec<Recording> = devices
        .iter()
        .map(|device| flowsieve_agent::record(device, &[]))
        .collect::<Result<_, _>>()
        .map_err(in_words_of)?;
    for device in &devices {
        flowsieve_agent::tag(device, Kind::Tag, &conf(thresholds.clone())).map_err(in_words_of)?;
    }
    tell("thresholds follow the messages that end; when this ends, the last ones stay");
    let ended = until()?;
    let (begun, mut known) = (Instant::now(), vec![Bins::default(); devices.len()]);
    loop {
        let left = args.time.map_or(Duration::MAX, |Budget(time)| time.saturating_sub(begun.elapsed()));
        if left.is_zero() || ended.recv_timeout(left.min(args.every.0)).is_ok() {
            return Ok(());
        }
        let mut sizes = Vec::new();
        for (recording, known) in recordings.iter().zip(&mut known) {
            let mut bins = recording.sizes(0, Side::Own).map_err(in_words_of)?;
            let now = std::mem::take(&mut bins[args.message.place()]);
            sizes.push(now.since(known).counts().collect::<Vec<_>>());
            *known = now;
        }
        for (at, thresholds) in controls.observe(time(begun.elapsed()), &sizes) {
            let messages: u64 = sizes[at].iter().map(|size| size.1).sum();
            let words: Vec<String> = thresholds.iter().map(|bytes| flowsieve_report::size(*bytes)).collect();
            flowsieve_agent::push(&devices[at], &conf(thresholds)).map_err(in_words_of)?;
            let seconds = begun.elapsed().as_secs();
            print(&format!(
                "{seconds} s, {}: {messages} messages; thresholds {}\n",
                devices[at].name,
                words.join(", ")
            ))?;
        }
    }
}

fn time(of: Duration) -> Time {
    Time(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1_000))
}

/// Returns the rate of a device: that given, or what its driver says.
fn rate(device: &Device, given: Option<Rate>) -> Result<u64, Error> {
    if let Some(rate) = given {
        return Ok(rate.bps);
    }
    let said = std::fs::read_to_string(format!("/sys/class/net/{}/speed", device.name)).ok();
    let megabits = said.and_then(|text| text.trim().parse::<u64>().ok()).filter(|megabits| *megabits > 0);
    let unknown =
        || Error::Input(format!("{}: its driver says no speed; expected --rate, such as 25Gbps", device.name));
    megabits.map(|megabits| megabits * 1_000_000).ok_or_else(unknown)
}
