//! `flowsieve agent status`.

use super::{in_words_of, neighbours};
use crate::output::{print, print_json};
use clap::{Args, ValueHint};
use flowsieve_agent::maps::{Conf, Counts, RULE_NAMES, RULES};
use flowsieve_agent::{Attached, Device, Judgement, Kind, Pinned};
use flowsieve_experiment::Error;
use flowsieve_studies::thresholds::{Column, Method, Wanted, shares_of_bytes};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Of which device, and next to which sizes.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The device, in this network namespace
    #[arg(value_name = "DEVICE")]
    device: String,
    /// Predict shares of bytes from a column of sizes, as `agent record` writes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    sizes: Option<PathBuf>,
    /// The column of these sizes, by its name in the first row [default: the first column]
    #[arg(long, value_name = "NAME", requires = "sizes")]
    column: Option<String>,
    /// Predict them from a file of a distribution: rows of size_bytes,cdf
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "sizes")]
    cdf: Option<String>,
    /// Predict them from a built-in distribution (see `flowsieve list workloads`)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["sizes", "cdf"])]
    workload: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    /// Returns the shares of bytes that are predicted by level, each with its standard error, if sizes are given.
    fn predicted(&self, conf: &Conf, counts: &Counts) -> Result<Option<Vec<(f64, f64)>>, Error> {
        let sizes = self.sizes.clone().map(|path| Column { path, name: self.column.clone(), sampled: None });
        let (workload, cdf) = (self.workload.clone(), self.cdf.clone());
        if workload.is_none() && cdf.is_none() && sizes.is_none() {
            return Ok(None);
        }
        let wanted = Wanted { workload, cdf, sizes, loads: Vec::new(), queues: None, method: Method::EqualSplit };
        shares_of_bytes(&wanted, &conf.thresholds, counts.begun).map(Some)
    }
}

/// A queue, as JSON has it.
#[derive(Serialize)]
struct Queue {
    dscp: u8,
    above_bytes: u64,
    packets: u64,
    bytes: u64,
}

/// A program, as JSON has it.
#[derive(Serialize)]
struct Shown<'a> {
    kind: &'a str,
    attached: bool,
    message: &'a str,
    percent: u8,
    dry_run: bool,
    queues: Vec<Queue>,
    marked: u64,
    no_socket: u64,
    no_storage: u64,
    other: u64,
    spared: u64,
    copied: u64,
    messages: u64,
    older_connections: u64,
    sent_again: u64,
    super_packets: u64,
    longest_super_packet: u64,
    judgement: Option<Judgement>,
}

pub(super) fn status(args: &Status) -> Result<(), Error> {
    let device = Device::find_or_pins(&args.device).map_err(in_words_of)?;
    let (mut text, mut all) = (String::new(), Vec::new());
    for kind in Kind::ALL {
        let pinned = flowsieve_agent::pinned(&device, kind).map_err(in_words_of)?;
        if pinned == Pinned::No {
            continue;
        }
        let attached = flowsieve_agent::status(&device, kind).map_err(in_words_of)?;
        let predicted = args.predicted(&attached.conf, &attached.counts)?.filter(|_| kind == Kind::Tag);
        let judgement = predicted.as_ref().and_then(|shares| Judgement::of(&attached.conf, &attached.counts, shares));
        if args.json {
            all.push(
                serde_json::to_value(shown(&attached, pinned, judgement))
                    .map_err(|error| Error::Output(error.into()))?,
            );
        } else {
            text += &in_words(&device, pinned, &attached, judgement.as_ref());
        }
    }
    if args.json {
        return print_json(&all);
    }
    if text.is_empty() {
        let _ = writeln!(text, "{}: no agent is attached", device.name);
    }
    print(&(text + &neighbours(&device)?))
}

fn rule(conf: &Conf) -> &'static str {
    RULES.iter().position(|&rule| rule == conf.end).map_or("a rule of another version", |place| RULE_NAMES[place])
}

fn queues(conf: &Conf, counts: &Counts) -> Vec<Queue> {
    let above = [0].into_iter().chain(conf.thresholds.iter().copied());
    let counted = counts.packets.iter().zip(counts.bytes);
    let rows = conf.dscps.iter().zip(above).zip(counted);
    rows.map(|((&dscp, above_bytes), (&packets, bytes))| Queue { dscp, above_bytes, packets, bytes }).collect()
}

fn shown<'a>(of: &Attached, pinned: Pinned, judgement: Option<Judgement>) -> Shown<'a> {
    let Attached { kind, conf, counts } = of;
    Shown {
        kind: kind.name(),
        attached: matches!(pinned, Pinned::Attached(_)),
        message: rule(conf),
        percent: conf.percent,
        dry_run: conf.dry,
        queues: queues(conf, counts),
        marked: counts.marked,
        no_socket: counts.no_socket,
        no_storage: counts.no_storage,
        other: counts.other,
        spared: counts.spared,
        copied: counts.copied,
        messages: counts.begun,
        older_connections: counts.older,
        sent_again: counts.again,
        super_packets: counts.supers,
        longest_super_packet: counts.longest,
        judgement,
    }
}

fn in_words(device: &Device, pinned: Pinned, of: &Attached, judgement: Option<&Judgement>) -> String {
    let Attached { kind, conf, counts } = of;
    let name = &device.name;
    let mut text = match pinned {
        Pinned::Attached(id) => format!("{name}: {} is attached (program {id})", kind.name()),
        _ => format!(
            "{name}: {} is at no device any more: it is gone, and these are its last counts. `agent tag` or `agent detach` \
             clears them",
            kind.name()
        ),
    };
    if *kind == Kind::Copy {
        let of_others = (counts.spared, counts.marked);
        let _ = writeln!(
            text,
            "\n{} outer headers written; inner tags of others {}, outer tags of others {}",
            counts.copied, of_others.0, of_others.1
        );
        return text;
    }
    let middle = if conf.middle { "middle" } else { "first byte" };
    let _ = writeln!(
        text,
        "; messages end by {}, {} % of the sockets, super-packets by their {middle}{}",
        rule(conf),
        conf.percent,
        if conf.dry { "; it writes nothing" } else { "" }
    );
    let all: u64 = counts.bytes.iter().sum();
    let mut heading =
        format!("{:<5}  {:>4}  {:>10}  {:>12}  {:>15}  {:>7}", "queue", "DSCP", "above", "packets", "bytes", "share");
    if judgement.is_some() {
        heading += "  predicted";
    }
    let _ = writeln!(text, "{heading}");
    for (at, Queue { dscp, above_bytes, packets, bytes }) in queues(conf, counts).into_iter().enumerate() {
        let above = flowsieve_report::size(above_bytes);
        let share = if all > 0 { format!("{:.2} %", 100.0 * bytes as f64 / all as f64) } else { "-".to_owned() };
        let _ = write!(text, "{:<5}  {dscp:>4}  {above:>10}  {packets:>12}  {bytes:>15}  {share:>7}", at + 1);
        if let Some(predicted) = judgement.and_then(|judgement| judgement.predicted.get(at)) {
            let _ = write!(text, "  {:>9}", format!("{predicted:.2} %"));
        }
        text.push('\n');
    }
    let counted = [
        (counts.begun, "messages began after another one on their connection"),
        (counts.older, "connections stood before, and began in the lowest queue that they could be in"),
        (counts.again, "packets were sent again, at the level of their bytes"),
        (counts.spared, "packets are of sockets outside of the share"),
        (counts.marked, "packets had a DSCP already, and keep it"),
        (
            counts.no_socket,
            "packets without a full socket: of pods and tunnels, and of connections that open or are gone",
        ),
        (counts.no_storage, "packets for whose connection the kernel had no memory"),
        (counts.other, "packets are not TCP over Ethernet"),
    ];
    for (count, what) in counted.into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "{count} {what}");
    }
    match judgement {
        None if all == 0 => text += "Nothing was tagged so far.\n",
        None => {}
        Some(Judgement { apart, allowed, passes, reasons, .. }) => {
            let verdict = if *passes { "as predicted" } else { "not as predicted" };
            let _ = writeln!(text, "Shares are {verdict}: {apart:.2} points apart, {allowed:.2} allowed.");
            for reason in reasons {
                let _ = writeln!(text, "  {}", reason.replace("DEV", name));
            }
        }
    }
    text
}
