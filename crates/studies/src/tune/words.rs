//! The answer in words: a paragraph that says what to do, then the figures behind it.

use super::candidates::{Candidate, Kind};
use super::{Change, Compared, Group, Share, Step, Tuned, Verdict};
use crate::thresholds::Marking;
use flowsieve_results::Ratio;
use flowsieve_settings::units::{format_rate, format_size};
use std::fmt::Write;

/// "21.0 % less (17.2 to 24.9)", or that it is not told from none.
fn change(ratio: Option<Ratio>) -> String {
    let Some(ratio) = ratio else { return "too few flows to tell".to_owned() };
    let per_cent = |ratio: f64| 100.0 * (ratio - 1.0).abs();
    let side = |ratio: f64| if ratio < 1.0 { "less" } else { "more" };
    match ratio.interval {
        Some((low, high)) if high < 1.0 => {
            format!("{:.1} % less ({:.1} to {:.1})", per_cent(ratio.value), per_cent(high), per_cent(low))
        }
        Some((low, high)) if low > 1.0 => {
            format!("{:.1} % more ({:.1} to {:.1})", per_cent(ratio.value), per_cent(low), per_cent(high))
        }
        Some((low, high)) => {
            format!("no difference told ({:+.1} to {:+.1} %)", 100.0 * (low - 1.0), 100.0 * (high - 1.0))
        }
        None => format!("{:.1} % {}", per_cent(ratio.value), side(ratio.value)),
    }
}

/// "is 21.0 % lower (17.2 to 24.9)", for a change that is told from none.
fn is_changed(ratio: Option<Ratio>) -> String {
    format!("is {}", change(ratio).replace(" less", " lower").replace(" more", " higher"))
}

/// The columns of a terminal.
const WIDTH: usize = 100;

/// Flows of a class in words.
fn flows(change: &Change) -> String {
    if change.class == "all" { "all flows".to_owned() } else { format!("flows of {}", change.class) }
}

fn is(ratio: Option<Ratio>, of: fn((f64, f64)) -> bool) -> bool {
    ratio.and_then(|ratio| ratio.interval).is_some_and(of)
}

fn gains(ratio: Option<Ratio>) -> bool {
    is(ratio, |(_, high)| high < 1.0)
}

fn loses(ratio: Option<Ratio>) -> bool {
    is(ratio, |(low, _)| low > 1.0)
}

impl Tuned {
    /// What is told of each class and measure: (words, ratio).
    fn told(&self) -> Vec<(String, Option<Ratio>)> {
        let of = |change: &Change| {
            [("mean", change.mean), ("p99", change.p99)]
                .map(|(measure, ratio)| (format!("the {measure} FCT of {}", flows(change)), ratio))
        };
        self.changes.iter().flat_map(of).collect()
    }

    /// What to do, what it gains, what it costs, and where it does not help, in a paragraph.
    pub fn paragraph(&self) -> String {
        let dctcp = match self.todays_hosts_are_dctcp || self.recommended.as_today {
            true => "",
            false => ", with DCTCP at all hosts",
        };
        let mut text = match self.verdict {
            Verdict::Use => format!("Use {}{dctcp}.", self.recommended.with_marks()),
            Verdict::OneQueueOtherK => {
                let per_cent = self.recommended.k_per_cent;
                let ramp = if self.recommended.ramp { " in a ramp around it, from 31 to 169 %" } else { "" };
                format!("Keep one queue{dctcp}, and mark at {per_cent} % of the K that the rule gives{ramp}.")
            }
            Verdict::KeepOneQueue => match &self.measured {
                Some(measured) => {
                    let all = self.changes.last().and_then(|all| all.mean);
                    format!(
                        "Keep today's network as it is: the best of the others, {}, changes the mean FCT of all flows by {}.",
                        measured.with_marks(),
                        plus_minus(all)
                    )
                }
                None => "Keep today's network as it is: no other candidate differs from it.".to_owned(),
            },
        };
        text += &self.of_k();
        let told = self.told();
        let list = |which: &dyn Fn(Option<Ratio>) -> bool| {
            let found = told.iter().filter(|(_, ratio)| which(*ratio));
            found.map(|(what, ratio)| format!("{what} {}", is_changed(*ratio))).collect::<Vec<_>>()
        };
        let of_it = if self.verdict == Verdict::KeepOneQueue { "With it" } else { "On this fabric" };
        for (begin, found) in [
            (format!(" {of_it}, compared with today's network, "), list(&gains)),
            (" It costs: ".to_owned(), list(&loses)),
        ] {
            if !found.is_empty() {
                let _ = write!(text, "{begin}{}.", found.join("; "));
            }
        }
        let open: Vec<String> = told
            .iter()
            .filter(|(_, ratio)| ratio.is_some() && !gains(*ratio) && !loses(*ratio))
            .map(|(what, ratio)| format!("{what} ({})", plus_minus(*ratio)))
            .collect();
        if !open.is_empty() {
            let _ = write!(text, " It does not change what these runs can tell in {}.", open.join(", "));
        }
        text += &self.of_connections();
        text += &self.of_roll_out();
        for warning in &self.warnings {
            let _ = write!(text, " The runs warn: {warning}.");
        }
        text
    }

    /// What the file of nftables makes of it, which counts connections.
    fn of_connections(&self) -> String {
        let Some(measured) = &self.measured else { return String::new() };
        let step = |name: &str| self.steps.iter().find(|step| step.name == name);
        let Some((connections, messages)) = step(&measured.by_connection().name).zip(step(&measured.name)) else {
            return String::new();
        };
        let (what, both) = match (connections.small_p99_us, messages.small_p99_us) {
            (Some(one), Some(other)) => ("p99", Some((one, other))),
            _ => ("mean", connections.small_mean_us.zip(messages.small_mean_us)),
        };
        both.map_or_else(String::new, |(connections, messages)| {
            format!(
                " nftables.conf counts connections: if hosts keep theirs open, the {what} FCT of the smallest flows is \
                 {connections:.1} us with it, and {messages:.1} us if messages are counted, as `flowsieve agent` does."
            )
        })
    }

    /// Who loses on the way, at which share of hosts that tag.
    fn of_roll_out(&self) -> String {
        let mut text = String::new();
        if let Some(why) = &self.no_roll_out {
            let _ = write!(text, " The roll-out is not simulated: {why}.");
        }
        let (mut all_within, mut open) = (!self.shares.is_empty(), Vec::new());
        for share in &self.shares {
            let (beyond, not_told) = share.harm();
            all_within &= beyond.is_empty() && not_told.is_empty();
            for (name, ratio) in beyond {
                let _ =
                    write!(text, " While {} % of the hosts tag, {name} {}.", share.per_cent, is_changed(Some(ratio)));
            }
            if !not_told.is_empty() {
                open.push(share.per_cent.to_string());
            }
        }
        if text.contains("While") {
            text += " Compare the other queues of --unmarked.";
        }
        if all_within {
            text += " At no share of hosts that tag does anybody lose: hosts that do not tag, and short flows of those that do, are \
                     at most 5 % slower on average, and 10 % at p99.";
        }
        if !open.is_empty() {
            let _ =
                write!(text, " With {} % of the hosts tagging, so few seeds do not tell all of it.", open.join(", "));
        }
        let large = self.shares.iter().filter_map(|share| Some((share, share.tagging.as_ref()?.large_mean?)));
        let most = large.max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
        if let (Some(at_most), Some((share, ratio))) = (self.at_most, most)
            && ratio.interval.is_none_or(|(_, high)| high > 1.0 + at_most)
        {
            let _ = write!(
                text,
                " The longest flows of hosts that tag may lose more than the {:.0} % of --at-most: {} while {} % tag.",
                100.0 * at_most,
                change(Some(ratio)),
                share.per_cent
            );
        }
        text
    }

    /// The roll-out as rows.
    fn shares(&self) -> Vec<[String; 7]> {
        let ratio = |of: Option<Ratio>| match of.and_then(|of| Some((of.value, of.interval?))) {
            Some((value, (low, high))) => format!("{value:.2} ({low:.2}-{high:.2})"),
            None => "n/a".to_owned(),
        };
        let row = |share: &Share| {
            let of = |group: &Option<Group>, what: fn(&Group) -> Option<Ratio>| {
                group.as_ref().map_or_else(|| "-".to_owned(), |group| ratio(what(group)))
            };
            [
                format!("{} % ({})", share.per_cent, share.hosts),
                of(&share.others, |of| of.all_mean),
                of(&share.others, |of| of.small_mean),
                of(&share.others, |of| of.small_p99),
                of(&share.tagging, |of| of.small_mean),
                of(&share.tagging, |of| of.small_p99),
                of(&share.tagging, |of| of.large_mean),
            ]
        };
        self.shares.iter().map(row).collect()
    }

    /// What these runs tell of K, if it is to be set.
    fn of_k(&self) -> String {
        let mut text = String::new();
        if self.verdict == Verdict::KeepOneQueue {
            return text;
        }
        if let Some((least, most)) = self.k_range.filter(|_| !self.marks.is_empty()) {
            let _ = write!(text, " K does not matter here between {least} and {most} % of the rule's.");
        }
        if self.k_at_end && !self.marks.is_empty() {
            text += " That K is at the end of what was tried: a further one may do better.";
        }
        for mark in &self.cut_marks {
            let (bytes, rate) = (format_size(mark.bytes), format_rate(mark.rate_bps));
            let _ = write!(text, " At {rate} K is {bytes}, half of what a queue may hold there.");
        }
        text
    }

    /// What each step from today's network gains, as rows of a name and three times.
    fn steps(&self) -> Vec<[String; 4]> {
        let time = |us: Option<f64>| us.map_or_else(|| "n/a".to_owned(), |us| format!("{us:.1}"));
        let row = |of: &Step| [of.name.clone(), time(of.small_mean_us), time(of.small_p99_us), time(of.all_mean_us)];
        self.steps.iter().map(row).collect()
    }

    /// The lines of a switch and of experiments.
    fn settings(&self) -> String {
        let mut text = String::new();
        if let Kind::Thresholds { bytes, .. } = &self.recommended.kind {
            let listed: Vec<String> = bytes.iter().map(|bytes| format!("\"{}\"", format_size(*bytes))).collect();
            let _ = writeln!(text, "thresholds = [{}]", listed.join(", "));
        }
        if let Kind::Counted { .. } = &self.recommended.kind {
            let _ = writeln!(text, "{}", self.recommended.in_words());
            text += "a connection counts anew after a pause of 1 ms; hosts do nothing\n";
        }
        if self.marks.is_empty() {
            text += "marks: as today\n";
        } else {
            text += &self.recommended.marks(&self.marks);
        }
        if !self.dscps.is_empty() {
            let dscps: Vec<String> = self.dscps.iter().map(u8::to_string).collect();
            let _ = writeln!(text, "DSCPs, highest queue first: {}", dscps.join(", "));
        }
        text
    }

    /// What a share of hosts that tag is compared with: today's network, unless its hosts have to change first.
    fn base_of_rollout(&self) -> &'static str {
        let is_todays = self.todays_hosts_are_dctcp || self.measured.as_ref().is_some_and(|of| of.as_today);
        if is_todays { "today's network" } else { "one queue with DCTCP" }
    }

    /// What a candidate costs more than the chosen one.
    fn cost_of(&self, other: &Compared) -> String {
        match other.cost {
            None => "flows did not finish".to_owned(),
            Some(Ratio { interval: Some((1.0, 1.0)), .. }) => {
                let is_measured = self.measured.as_ref().is_some_and(|of| of.name == other.name);
                let words = match other.name == self.recommended.name {
                    true => "chosen",
                    // Today's network stays, as this one is not told from it.
                    false if is_measured => "the others over this",
                    false => "as much",
                };
                words.to_owned()
            }
            cost => change(cost),
        }
    }

    /// How it was found.
    fn how(&self) -> String {
        let tried = match (self.screened, &self.not_screened) {
            (Some(every), _) => format!(
                "{} candidates were screened with the flows to one host in {every}, and the best run whole",
                self.candidates
            ),
            (None, Some(why)) => {
                format!("{} candidates were run whole in short, without screening: {why}", self.candidates)
            }
            (None, None) => format!("{} candidates were run", self.candidates),
        };
        let (first, seeds) = self.seeds_of_proof;
        let mut text = format!(
            "Simulated: {}. {tried}, next to today's network. It was chosen on {} seeds; the figures are from \
             {seeds} others ({first} to {}), with 95 % intervals.",
            self.network,
            self.seeds_of_choice,
            first + seeds.saturating_sub(1),
        );
        // There are words on configuration only if ports were named.
        if !self.configuration.is_empty() {
            text += " Only marks by the length of a queue were tried, as configuration has no others.";
        }
        for note in &self.of_sizes {
            let _ = write!(text, " Sizes: {note}.");
        }
        if self.cut_short {
            text += " The budget ended before all was resolved; repeat the command with a larger one to go on.";
        }
        text
    }

    /// The answer for a terminal.
    pub fn text(&self) -> String {
        let [answer, how] = [self.paragraph(), self.how()].map(|text| textwrap::fill(&text, WIDTH));
        let mut text = format!("{answer}\n\n{how}\n\n{}", self.settings());
        if !self.changes.is_empty() {
            let head = ["flows", "number", "mean FCT", "p99 FCT"].map(str::to_owned).to_vec();
            let rows = self.changes.iter();
            let rows = rows.map(|of| vec![of.class.clone(), of.flows.to_string(), change(of.mean), change(of.p99)]);
            let _ = write!(text, "\n{}", aligned(&[head].into_iter().chain(rows).collect::<Vec<_>>(), ""));
        }
        if !self.steps.is_empty() {
            let head = "mean and p99 FCT of the smallest flows and mean FCT of all, in us";
            let _ = writeln!(text, "\nfrom today's network, step by step: {head}");
            for [name, mean, p99, all] in self.steps() {
                let _ = writeln!(text, "  {name:<36}  {mean:>10}  {p99:>10}  {all:>10}");
            }
        }
        if !self.shares.is_empty() {
            let head = [
                "hosts that tag",
                "others: mean",
                "short mean",
                "short p99",
                "tagging: short",
                "short p99",
                "long mean",
            ];
            let queue = self.unmarked.unwrap_or_default();
            let over = self.base_of_rollout();
            let _ = writeln!(
                text,
                "\nroll-out, FCTs over {over}; hosts that do not tag are in queue {queue} from the top:"
            );
            let rows = [head.map(str::to_owned)].into_iter().chain(self.shares());
            text += &aligned(&rows.map(|row| row.to_vec()).collect::<Vec<_>>(), "  ");
        }
        text += "\nrun whole, by cost (the geometric mean of the small flows' p99 FCT and all flows' mean FCT):\n";
        for other in &self.compared {
            let _ = writeln!(text, "  {:<24}  {:>2} queues  {}", other.name, other.queues, self.cost_of(other));
        }
        text
    }

    /// The page of the folder.
    pub fn page(&self) -> String {
        let mut text = format!("# What would help\n\n{}\n\n{}\n\n", self.paragraph(), self.how());
        let _ = write!(text, "## Settings\n\n```text\n{}```\n\n", self.settings());
        if !self.changes.is_empty() {
            text += "## Changes by size\n\nMeasured next to today's network, over the same flows.\n\n\
                     | flows | number | mean FCT | p99 FCT |\n| --- | --- | --- | --- |\n";
            for of in &self.changes {
                let (mean, p99) = (change(of.mean), change(of.p99));
                let _ = writeln!(text, "| {} | {} | {mean} | {p99} |", of.class, of.flows);
            }
        }
        if !self.steps.is_empty() {
            text += "\n## From today's network, step by step\n\nTimes in us. `one-queue` has DCTCP at all hosts, and marks at the \
                     rule's K.\n\n| | mean FCT of the smallest flows | their p99 FCT | mean FCT of all |\n| --- | ---: | ---: | \
                     ---: |\n";
            for [name, mean, p99, all] in self.steps() {
                let _ = writeln!(text, "| {name} | {mean} | {p99} | {all} |");
            }
        }
        if !self.shares.is_empty() {
            let (queue, over) = (self.unmarked.unwrap_or_default(), self.base_of_rollout());
            let _ = write!(
                text,
                "\n## Roll-out\n\nAll switches have the queues, and this share of hosts tags. FCTs are over those of {over}, \
                     with the same flows. Packets without a mark are in queue {queue}, 0 being served first. The first three columns are of hosts that do not tag, the others of those that do.\n\n\
                     | hosts that tag | all flows, mean | short, mean | short, p99 | short, mean | short, p99 | long, mean |\n\
                     | --- | --- | --- | --- | --- | --- | --- |\n"
            );
            for row in self.shares() {
                let _ = writeln!(text, "| {} |", row.join(" | "));
            }
        }
        text += "\n## Run whole\n\nBy cost: the geometric mean of the small flows' p99 FCT and all flows' mean FCT, compared with the \
                 chosen one.\n\n| candidate | queues | seeds | cost |\n| --- | --- | --- | --- |\n";
        for other in &self.compared {
            let (name, queues, seeds, cost) = (&other.name, other.queues, other.seeds, self.cost_of(other));
            let _ = writeln!(text, "| {name} | {queues} | {seeds} | {cost} |");
        }
        text += "\n## Files\n\n| file | content |\n| --- | --- |\n";
        if self.measured.is_some() {
            text += "| `proof/report.html` | the figures of the last step |\n\
                     | `experiment.toml` | proves it again: `flowsieve run experiment.toml` in this folder |\n";
        }
        text += "| `compared`, `screened` | the results of the steps before |\n| `tune.json` | all of this as data |\n";
        for file in &self.configuration {
            let what = match &file.refused {
                None => {
                    let first = "configuration; try it on one rack first".to_owned();
                    [first].iter().chain(&file.notes).cloned().collect::<Vec<_>>().join("; ")
                }
                Some(why) => format!("not written: {why}"),
            };
            let _ = writeln!(text, "| `{}` | {what} |", file.file);
        }
        text
    }
}

impl Candidate {
    /// In words, with what it marks by.
    fn with_marks(&self) -> String {
        if self.as_today {
            return format!("{}, with today's hosts and marks", self.in_words());
        }
        let by = match self.marking {
            Marking::Queue => "by the length of a queue",
            Marking::Port => "by the length of a port",
        };
        let k = match self.k_per_cent {
            _ if self.ramp => " in a ramp around the rule's K, from 31 to 169 % of it".to_owned(),
            100 => String::new(),
            per_cent => format!(" at {per_cent} % of the rule's K"),
        };
        format!("{}, with marks {by}{k}", self.in_words())
    }
}

/// Rows with columns as wide as their widest cell, each line after `indent`.
fn aligned(rows: &[Vec<String>], indent: &str) -> String {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let mut text = String::new();
    for row in rows {
        let cell = |(column, cell): (usize, &String)| format!("{cell:<0$}", width(column).unwrap_or_default() + 2);
        let cells: String = row.iter().enumerate().map(cell).collect();
        let _ = writeln!(text, "{indent}{}", cells.trim_end());
    }
    text
}

/// "1.2 ± 2.0 %".
fn plus_minus(ratio: Option<Ratio>) -> String {
    match ratio.and_then(|ratio| Some((ratio.value, ratio.interval?))) {
        // No time falls by more than all of it.
        Some((_, (low, high))) if high - low > 1.0 => {
            format!("{:+.0} to {:+.0} %", 100.0 * (low - 1.0), 100.0 * (high - 1.0))
        }
        Some((value, (low, high))) => {
            format!("{:+.1} ± {:.1} %", 100.0 * (value - 1.0), 50.0 * (high - low))
        }
        None => "an amount that these runs do not tell".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(value: f64, low: f64, high: f64) -> Option<Ratio> {
        Some(Ratio { value, interval: Some((low, high)) })
    }

    #[test]
    fn aligned__no_cell_runs_into_the_next() {
        let rows = [["a", "15.22 (9.45-24.51)", "1"], ["bcd", "±", "2"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows, " "), " a    15.22 (9.45-24.51)  1\n bcd  ±                   2\n");
    }

    #[test]
    fn change__in_words() {
        assert_eq!(change(ratio(0.79, 0.75, 0.83)), "21.0 % less (17.0 to 25.0)");
        assert_eq!(change(ratio(1.1, 1.05, 1.2)), "10.0 % more (5.0 to 20.0)");
        assert_eq!(change(ratio(1.0, 0.98, 1.03)), "no difference told (-2.0 to +3.0 %)");
        assert_eq!(change(None), "too few flows to tell");
        assert_eq!(is_changed(ratio(0.79, 0.75, 0.83)), "is 21.0 % lower (17.0 to 25.0)");
        assert_eq!(plus_minus(ratio(1.01, 0.99, 1.03)), "+1.0 ± 2.0 %");
        assert_eq!(plus_minus(ratio(0.95, 0.08, 11.73)), "-92 to +1073 %");
    }
}
