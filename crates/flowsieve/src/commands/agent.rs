//! `flowsieve agent`: what this host's messages are, and tags for them.

mod control;
mod record;
mod status;

use crate::output::print;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use flowsieve_agent::maps::{Conf, RULES};
use flowsieve_agent::{AgentError, Device, Kind, Pinned, Recommendation, Tagging};
use flowsieve_experiment::Error;
use flowsieve_experiment::model::MODEL;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  flowsieve agent record eth0 --for 1h --out sizes.csv
      the sizes of messages that leave by eth0, for `flowsieve tune --sizes`; no packet is changed
  flowsieve agent record eth0 --ports 80=web,443=web,9092=kafka --for 1h --out sizes.csv
      by class: sizes-web.csv, sizes-kafka.csv and sizes-other.csv
  flowsieve agent tag eth0 recommendation --dry-run
      counts what it would tag, as `flowsieve tune` recommends, and writes nothing into packets
  flowsieve agent tag eth0 recommendation --percent 5
      tags one socket in twenty; repeat it with other options to change them
  flowsieve agent control eth0 --by awafs
      the same, and thresholds follow the messages that end, by a controller
  flowsieve agent status eth0 --sizes sizes.csv
      bytes by queue, next to what is predicted from these sizes
  flowsieve agent tag eth0 recommendation --copy-outer
      below a tunnel: the tag of the inner header goes into the outer one
  flowsieve agent detach eth0
      removes the agent's programs, and what they keep

It needs Linux 6.6, root and a bpf file system: docs/operate/agent.md.";

/// What to do with the agent.
#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Record the sizes of messages that leave by a device; no packet is changed
    #[command(after_help = EXAMPLES)]
    Record(record::Record),
    /// Tag the packets that leave by a device, as a recommendation of `flowsieve tune` says
    #[command(after_help = EXAMPLES)]
    Tag(Tag),
    /// Tag, and let a controller move the thresholds by the messages that end
    #[command(after_help = EXAMPLES)]
    Control(control::Control),
    /// Show what is tagged, next to what is predicted
    #[command(after_help = EXAMPLES)]
    Status(status::Status),
    /// Remove the agent's programs from a device
    #[command(after_help = EXAMPLES)]
    Detach(Detach),
}

/// What to tag.
#[derive(Debug, Args)]
pub(crate) struct Tag {
    /// The device, such as eth0, in this network namespace
    #[arg(value_name = "DEVICE")]
    device: String,
    /// The folder that `flowsieve tune` has written
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "recommendation")]
    recommendation: PathBuf,
    /// When a message ends
    #[arg(long, value_enum, value_name = "RULE", default_value_t = Message::Turn1ms)]
    message: Message,
    /// The share of the sockets whose packets are tagged
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(0..=100))]
    percent: u8,
    /// Count only, and write nothing into packets
    #[arg(long)]
    dry_run: bool,
    /// Which byte of a super-packet decides on its tag
    #[arg(long, value_enum, value_name = "BYTE", default_value_t = Byte::Middle)]
    super_packets: Byte,
    /// Tag nothing, but copy the tag of a tunnel's inner header into the outer one (VXLAN, Geneve), for pods that tag inside
    #[arg(long)]
    copy_outer: bool,
}

/// What to detach.
#[derive(Debug, Args)]
pub(crate) struct Detach {
    /// The device, in this network namespace
    #[arg(value_name = "DEVICE")]
    device: String,
}

/// When a message ends. In each rule all of it is acknowledged by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Message {
    /// The peer has sent data since
    Turn,
    /// The peer has sent data since, and 1 ms passed without data of ours: also for HTTP/2
    #[value(name = "turn-1ms")]
    Turn1ms,
    /// 50 ms passed without data of ours
    #[value(name = "idle-50ms")]
    Idle50ms,
}

impl Message {
    /// Returns its place among the rules that are recorded.
    fn place(self) -> usize {
        match self {
            Message::Turn => 0,
            Message::Turn1ms => 1,
            Message::Idle50ms => 2,
        }
    }
}

/// A byte of a super-packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Byte {
    /// That in its middle: with `gso_max_size 16384` nearly as packet by packet
    Middle,
    /// The first, as the first packet of it
    First,
}

pub(crate) fn agent(what: Agent) -> Result<(), Error> {
    match what {
        Agent::Record(args) => record::record(&args),
        Agent::Tag(args) => tag(&args),
        Agent::Control(args) => control::control(&args),
        Agent::Status(args) => status::status(&args),
        Agent::Detach(args) => detach(&args),
    }
}

/// Turns an error of the agent into one of the command.
fn in_words_of(error: AgentError) -> Error {
    match error {
        AgentError::File { path, problem } => Error::File { path, problem },
        error => Error::Input(error.to_string()),
    }
}

/// Reads a recommendation of this model of the simulator: another one's shares are not what would be seen.
fn recommended(path: &Path) -> Result<Recommendation, Error> {
    let found = Recommendation::read(path).map_err(in_words_of)?;
    match found.model {
        Some(model) if model != MODEL => {
            let problem = format!("it is of model {model} of the simulator; expected {MODEL}: repeat `flowsieve tune`");
            Err(Error::File { path: path.display().to_string(), problem })
        }
        _ => Ok(found),
    }
}

fn tag(args: &Tag) -> Result<(), Error> {
    // What is asked is read before the device is touched.
    let Recommendation { thresholds, dscps, .. } = recommended(&args.recommendation)?;
    let conf = Conf {
        thresholds,
        dscps,
        end: RULES[args.message.place()],
        percent: args.percent,
        dry: args.dry_run,
        middle: args.super_packets == Byte::Middle,
    };
    let kind = if args.copy_outer { Kind::Copy } else { Kind::Tag };
    let device = Device::find(&args.device).map_err(in_words_of)?;
    let done = flowsieve_agent::tag(&device, kind, &conf).map_err(in_words_of)?;
    let name = &device.name;
    let mut text = match done {
        Tagging::New => format!("{name}: attached\n"),
        Tagging::Replaced => format!("{name}: replaced, and what is known of connections stays\n"),
        Tagging::AfterGone => format!("{name}: attached; the pins of a device that is gone were removed\n"),
    };
    if args.dry_run {
        text += "It counts, and writes nothing into packets.\n";
    }
    if kind == Kind::Tag && conf.thresholds[0] < 65_536 {
        let advice = format!(
            "The first threshold is shorter than a super-packet may be. With `ip link set {name} gso_max_size 16384` tags are \
             nearly those of single packets."
        );
        text += &flowsieve_report::paragraph(&advice, "");
        text.push('\n');
    }
    text += &neighbours(&device)?;
    print(&text)
}

fn detach(args: &Detach) -> Result<(), Error> {
    let device = Device::find_or_pins(&args.device).map_err(in_words_of)?;
    let mut text = String::new();
    for kind in Kind::ALL {
        if flowsieve_agent::pinned(&device, kind).map_err(in_words_of)? == Pinned::No {
            continue;
        }
        let was_there = flowsieve_agent::detach(&device, kind).map_err(in_words_of)?;
        let more = if was_there { "" } else { "; it was at no device any more" };
        let _ = writeln!(text, "{}: {} is detached, and its pins are removed{more}", device.name, kind.name());
    }
    if text.is_empty() {
        let problem = format!("{}: no agent is attached", device.name);
        return Err(Error::Input(format!("{problem}; expected one of `flowsieve agent tag {}`", device.name)));
    }
    print(&text)
}

/// Says which programs of others are at a device's egress.
fn neighbours(device: &Device) -> Result<String, Error> {
    let programs = device.programs().map_err(in_words_of)?;
    let others = programs.iter().filter(|program| !program.name.starts_with("flowsieve_"));
    let others: Vec<String> = others.map(|program| format!("{} ({})", program.name, program.id)).collect();
    Ok(match others.is_empty() {
        true => String::new(),
        false => format!("Other programs at {}: {}\n", device.name, others.join(", ")),
    })
}
