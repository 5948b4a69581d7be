//! `flowsieve lab watch`: what the ports of a lab do.

use super::{LabWatch, in_words_of, screen};
use crate::output::{print, print_json};
use flowsieve_engines::linux::named;
use flowsieve_engines::linux::requests::{self, Info, LinkInfo, View};
use flowsieve_experiment::Error;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::IsTerminal;

/// What a lab consists of and does, as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    info: &'a Info,
    #[serde(flatten)]
    view: &'a View,
}

/// Shows the ports of a lab: once, or on a terminal until it ends or the user has seen enough.
pub(super) fn watch(args: &LabWatch) -> Result<(), Error> {
    let lab = named::find(args.which.lab.as_deref()).map_err(in_words_of)?;
    let info = requests::info(lab.process).map_err(in_words_of)?;
    let view = requests::view(lab.process).map_err(in_words_of)?;
    if args.json {
        return print_json(&Shown { info: &info, view: &view });
    }
    if args.once || !std::io::stdout().is_terminal() {
        return print(&table(&lab.name, &info, &view));
    }
    screen::show(&lab, &info, view)
}

/// Says in two lines what a lab as a whole has done.
pub(super) fn head(name: &str, info: &Info, view: &View) -> String {
    format!(
        "{name}: {}, {:.0} s; {} packets inside; {} messages began, {} ended\n\
         frames: {} received, {} sent, {} over 1 ms late, {} lost before reception\n",
        info.scheme,
        view.at_ns as f64 / 1e9,
        view.inside,
        view.began,
        view.ended,
        view.received,
        view.sent,
        view.late,
        view.lost_before,
    )
}

/// Names a port by its link.
pub(super) fn name(link: &LinkInfo) -> String {
    format!("{} to {}", link.from, link.to)
}

/// Writes the ports of a lab with their counts so far.
fn table(lab: &str, info: &Info, view: &View) -> String {
    let mut text = head(lab, info, view) + "\n";
    let titles =
        ["port", "busy", "waiting", "packets", "marked", "dropped", "packets by queue", "bytes waiting by queue"];
    let mut rows = vec![titles.map(String::from)];
    for (link, port) in info.links.iter().zip(&view.ports) {
        let bits = 8e9 * port.bytes as f64 / view.at_ns.max(1) as f64;
        rows.push([
            name(link),
            format!("{:.1} %", 100.0 * bits / link.bps as f64),
            format!("{} B", port.waiting_bytes),
            port.packets.to_string(),
            port.marked.to_string(),
            port.dropped.to_string(),
            in_words(&port.by_queue),
            port.waiting_by_queue.as_deref().map_or("no queues".to_owned(), in_words),
        ]);
    }
    let widths: Vec<usize> =
        (0..rows[0].len()).map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0)).collect();
    for [name, numbers @ .., sent, waiting] in &rows {
        let _ = write!(text, "{name:<width$}", width = widths[0]);
        for (number, width) in numbers.iter().zip(&widths[1..]) {
            let _ = write!(text, "  {number:>width$}");
        }
        let _ = writeln!(text, "  {sent:<width$}  {waiting}", width = widths[numbers.len() + 1]);
    }
    text
}

/// Writes a number for each queue, the first of them first.
fn in_words(by_queue: &[u64]) -> String {
    by_queue.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}
