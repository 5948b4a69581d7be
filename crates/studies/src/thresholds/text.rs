//! Thresholds as text.

use super::simulate::Found;
use super::{Expected, Queue, Thresholds};
use flowsieve_settings::units::format_size;
use std::fmt::Write;

/// The unit of the expected times.
pub(super) const UNIT: &str = "in units of a mean flow's time on an idle link";

/// Formats one load as a table of queues and a line for an experiment file, or several loads as one row each.
pub fn text(found: &[Thresholds]) -> String {
    match found {
        [one] => one.text(),
        several => rows(several),
    }
}

fn rows(several: &[Thresholds]) -> String {
    let width = width(several.iter().map(|one| &one.thresholds_bytes[..]));
    let mut text = format!(
        "thresholds, and the models' mean completion time, {UNIT}:\na tandem of M/M/1 queues, and the \
         foreground-background queue\n\n{:>5}  {:>7}  {:>10}  thresholds\n",
        "load", "tandem", "background"
    );
    for one in several {
        let _ = write!(text, "{:>5}  {}", one.load, times(one.expected));
        list(&mut text, &one.thresholds_bytes, width);
    }
    text
}

/// Formats the results of searches, one table per load.
pub fn found_text(found: &[Found]) -> String {
    let mut text = format!(
        "mean completion time in us, simulated with the flows of the search and with those of three other seeds, and \
         the models' mean,\n{UNIT}: a tandem of M/M/1 queues, and the foreground-background queue\n"
    );
    for one in found {
        let _ = writeln!(
            text,
            "\nload {}: {} hosts of 10 Gbit/s at one switch, {} flows a run, {} sets of thresholds run\n\n{:<11}  {:>11}  \
             {:>11}  {:>7}  {:>10}  thresholds",
            one.load, one.hosts, one.flows, one.evaluations, "", "searched", "others", "tandem", "background"
        );
        let width = width(one.compared.iter().map(|row| &row.thresholds_bytes[..]));
        for row in &one.compared {
            let [searched, others] = [row.mean_fct_s, row.mean_fct_of_other_flows_s].map(|seconds| seconds * 1e6);
            let _ = write!(text, "{:<11}  {searched:>11.1}  {others:>11.1}  {}", row.method, times(row.expected));
            list(&mut text, &row.thresholds_bytes, width);
        }
    }
    text
}

fn times(expected: Option<Expected>) -> String {
    let (tandem, background) = expected.map(|times| (times.tandem, times.background)).unzip();
    let time = |time: Option<f64>| time.map_or("-".to_owned(), |time| format!("{time:.3}"));
    format!("{:>7}  {:>10}", time(tandem), time(background))
}

fn width<'a>(several: impl Iterator<Item = &'a [u64]>) -> usize {
    several.flatten().map(|bytes| format_size(*bytes).len()).max().unwrap_or(0)
}

/// Writes the rest of a line.
fn list(text: &mut String, thresholds_bytes: &[u64], width: usize) {
    for bytes in thresholds_bytes {
        let _ = write!(text, "  {:>width$}", format_size(*bytes));
    }
    text.push('\n');
}

/// Returns a queue's cells in a table: up to how many bytes sent, flows that end in it, bytes, load of it and above.
pub(super) fn cells_of(queue: &Queue) -> [String; 4] {
    let sent = queue
        .up_to_bytes
        .map_or_else(|| format!("over {}", format_size(queue.above_bytes)), |upto| format!("to {}", format_size(upto)));
    let per_cent = |share: f64| format!("{:.1} %", share * 100.0);
    [sent, per_cent(queue.flows_ending), per_cent(queue.bytes), format!("{:.3}", queue.load)]
}

impl Thresholds {
    fn text(&self) -> String {
        let mut text = format!(
            "{:>5}  {:>14}  {:>13}  {:>14}  {:>21}\n",
            "queue", "bytes sent", "flows ending", "bytes", "load of it and above"
        );
        for (number, queue) in self.queues.iter().enumerate() {
            let [sent, flows, bytes, load] = cells_of(queue);
            let _ = writeln!(text, "{number:>5}  {sent:>14}  {flows:>13}  {bytes:>14}  {load:>21}");
        }
        let (queues, asked) = (self.queues.len(), self.asked_queues);
        if queues < asked {
            let _ = writeln!(text, "\n{queues} queues carry all flows: {} would carry nothing", asked - queues);
        }
        if let Some(expected) = self.expected {
            let _ = writeln!(
                text,
                "\nexpected mean completion time, {UNIT}:\n  {:>7.3}  tandem of M/M/1 queues\n  {:>7.3}  M/G/1 \
                 foreground-background queue with FIFO levels",
                expected.tandem, expected.background
            );
        }
        if let Some(one) = self.two_level {
            let _ = match one.phases {
                Some(phases) => writeln!(
                    text,
                    "  {:>7.3}  two-level processor sharing, with the best threshold found by search at {}\n\ntwo \
                     exponential phases replace the sizes: {:.1} % of the flows have a mean of {}, {:.1} % of {}",
                    phases.time,
                    format_size(one.numeric_bytes),
                    phases.shares[0] * 100.0,
                    format_size(phases.mean_bytes[0].round() as u64),
                    phases.shares[1] * 100.0,
                    format_size(phases.mean_bytes[1].round() as u64)
                ),
                None => {
                    writeln!(
                        text,
                        "\nsizes vary too little for two exponential phases, so the threshold is the tandem's"
                    )
                }
            };
        }
        let listed = self.thresholds_bytes.iter().map(|bytes| format!("\"{}\"", format_size(*bytes)));
        let _ = writeln!(text, "\nthresholds = [{}]", listed.collect::<Vec<_>>().join(", "));
        text
    }
}
