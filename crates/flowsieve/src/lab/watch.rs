//! `flowsieve lab watch`: what the ports of a lab do.

use super::in_words_of;
use crate::args::LabWatch;
use crate::output::{print, print_json};
use flowsieve_engines::linux::named::{self, Named};
use flowsieve_engines::linux::requests::{self, Info, PortView, View};
use flowsieve_experiment::Error;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::thread;
use std::time::Duration;

/// How often the table is drawn.
const PAUSE: Duration = Duration::from_secs(1);
/// Moves a terminal's cursor to its first place.
const HOME: &str = "\x1b[H";
/// Clears what is behind the cursor.
const REST: &str = "\x1b[J";

/// What a lab consists of and does, as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    info: &'a Info,
    #[serde(flatten)]
    view: &'a View,
}

/// Shows the ports of a lab: once, or each second until it ends.
pub(super) fn watch(args: &LabWatch) -> Result<(), Error> {
    let lab = named::find(args.which.lab.as_deref()).map_err(in_words_of)?;
    let info = requests::info(lab.process).map_err(in_words_of)?;
    let view = || requests::view(lab.process).map_err(in_words_of);
    if args.json {
        return print_json(&Shown { info: &info, view: &view()? });
    }
    if args.once || !std::io::stdout().is_terminal() {
        return print(&table(&lab, &info, &view()?, None));
    }
    let mut before = view()?;
    draw("")?;
    go_on(&lab, &info, &mut before)
}

/// Draws the table each second, until the lab ends.
fn go_on(lab: &Named, info: &Info, before: &mut View) -> Result<(), Error> {
    while lab.runs() {
        thread::sleep(PAUSE);
        let Ok(view) = requests::view(lab.process) else { break };
        let text = table(lab, info, &view, Some(before));
        draw(&text)?;
        *before = view;
    }
    print("the lab has ended\n")
}

/// Puts a text in place of all that a terminal shows.
fn draw(text: &str) -> Result<(), Error> {
    // The moves are this program's own; what names of hosts hold is made harmless.
    let line = |line: &str| format!("{}\x1b[K\n", flowsieve_files::for_terminal(line, false));
    let lines: String = text.lines().map(line).collect();
    let mut out = std::io::stdout().lock();
    write!(out, "{HOME}{lines}{REST}").and_then(|()| out.flush()).map_err(Error::Output)
}

/// Writes the ports of a lab: all counts, or those since an earlier moment as rates.
fn table(lab: &Named, info: &Info, view: &View, before: Option<&View>) -> String {
    let seconds = before.map(|before| view.at_ns.saturating_sub(before.at_ns) as f64 / 1e9);
    let mut text = format!(
        "{}: {}, {:.0} s; {} packets inside; {} messages began, {} ended\n\
         frames: {} received, {} sent, {} over 1 ms late, {} lost before reception\n\n",
        lab.name,
        info.scheme,
        view.at_ns as f64 / 1e9,
        view.inside,
        view.began,
        view.ended,
        view.received,
        view.sent,
        view.late,
        view.lost_before,
    );
    let mut rows =
        vec![["port", "busy", "waiting", "packets", "marked", "dropped", "packets by queue"].map(String::from)];
    for (place, (link, port)) in info.links.iter().zip(&view.ports).enumerate() {
        let earlier = before.and_then(|before| before.ports.get(place));
        let bytes = port.bytes - earlier.map_or(0, |earlier| earlier.bytes);
        let time = seconds.unwrap_or(view.at_ns as f64 / 1e9).max(1e-9);
        rows.push([
            format!("{} to {}", link.from, link.to),
            format!("{:.1} %", 800.0 * bytes as f64 / time / link.bps as f64),
            format!("{} B", port.waiting_bytes),
            port.packets.to_string(),
            port.marked.to_string(),
            port.dropped.to_string(),
            queues(port),
        ]);
    }
    let widths: Vec<usize> =
        (0..rows[0].len()).map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0)).collect();
    for row in &rows {
        let [name, numbers @ .., queues] = row;
        let _ = write!(text, "{name:<width$}", width = widths[0]);
        for (number, width) in numbers.iter().zip(&widths[1..]) {
            let _ = write!(text, "  {number:>width$}");
        }
        let _ = writeln!(text, "  {queues}");
    }
    text
}

/// Writes packets by queue, from the most urgent one on.
fn queues(port: &PortView) -> String {
    port.by_queue.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}
