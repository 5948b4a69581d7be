//! What was found, in words.

use super::series::DAY;
use super::{Failure, Judged, Verdict};
use std::fmt::Write;

impl Judged {
    /// The answer, then what it stands on.
    pub fn text(&self) -> String {
        let per_cent = |ratio: f64| 100.0 * (ratio - 1.0);
        let (low, high) = self.effect.interval.unwrap_or((self.effect.value, self.effect.value));
        let at_most = 100.0 * self.at_most;
        let answer = match self.verdict {
            Verdict::Keep => "Keep it: latencies fell for certain.".to_owned(),
            Verdict::NoHarm => format!("It does no harm above {at_most:.0} %. Whether it helps is not told."),
            Verdict::Wait => "Wait: these days do not tell yet.".to_owned(),
            Verdict::GoBack => match self.gates.iter().find(|gate| !gate.passes && gate.failure == Failure::Harm) {
                Some(gate) => format!("Go back: a gate fails, {}.", gate.name),
                None => "Go back: latencies rose for certain.".to_owned(),
            },
            Verdict::NotInEffect => {
                "Do not judge it yet: what was rolled out does not do what was simulated.".to_owned()
            }
        };
        let units = if self.block == DAY { "days" } else { "blocks" };
        let mut text = format!(
            "{answer}\n\nThe canary changed by {:+.1} % beside the control ({:+.1} to {:+.1} %; {} {units} after the \
             change, {:.2} % sure).\n\n",
            per_cent(self.effect.value),
            per_cent(low),
            per_cent(high),
            self.looked_at,
            100.0 * self.sureness
        );
        let _ = writeln!(text, "{:<7} {:>6}  canary / control  from, to", "", units);
        for (name, period) in ["before", "after"].iter().zip(&self.periods) {
            let (from, to) = &period.from_to;
            let _ = writeln!(text, "{name:<7} {:>6}  {:>16.3}  {from}, {to}", period.blocks, period.ratio);
        }
        if !self.gates.is_empty() {
            let _ = writeln!(text, "\n{:<40} {:>10} {:>10} {:>10}", "gate", "before", "after", "allowed");
        }
        for gate in &self.gates {
            let before = gate.before.map_or_else(|| "-".to_owned(), share);
            let (after, allowed) = (share(gate.after), share(gate.allowed));
            let fails = if gate.passes { "" } else { "  fails" };
            let _ = writeln!(text, "{:<40} {before:>10} {after:>10} {allowed:>10}{fails}", gate.name);
        }
        let _ = writeln!(text, "\nThe smallest decrease that such {units} tell in eight of ten cases:");
        for tells in &self.tells {
            let _ = writeln!(text, "  {:>2} {units} after the change: {:.0} %", tells.blocks, 100.0 * tells.decrease);
        }
        text += "Decide at these, by this command; to look at it in between changes nothing. After the last, go back if \
                 nothing is told.\n";
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }
}

/// A share with the digits that it needs.
fn share(of: f64) -> String {
    if of == 0.0 || of >= 0.001 { format!("{of:.4}") } else { format!("{of:.1e}") }
}
