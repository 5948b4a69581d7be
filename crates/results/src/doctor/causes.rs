//! Where packets were lost, why flows were slow, and what would help.

use std::cmp::Reverse;

use flowsieve_record::{Delays, Drops, PointResult};

use super::TIMEOUTS;
use crate::PointInfo;

/// The class of links that hosts send into.
const OWN_PORT: &str = "host-up";

/// A part of less than half of the losses or delays is not the first to mend.
const MOST: f64 = 0.5;

/// The origin of flows: advice for one does not apply to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrivals {
    /// They are drawn at a load.
    AtLoad,
    /// They stand in a list or a coflow trace.
    Listed,
    /// They follow one another.
    Following,
}

impl Arrivals {
    pub(super) fn of(info: &PointInfo) -> Arrivals {
        let has = |key| info.settings.contains_key(key);
        match info.load {
            Some(_) => Arrivals::AtLoad,
            None if has("workload.list") || has("workload.coflows") => Arrivals::Listed,
            None => Arrivals::Following,
        }
    }

    /// How to get more flows.
    pub(super) fn more(self) -> &'static str {
        match self {
            Arrivals::AtLoad | Arrivals::Following => "send more flows",
            Arrivals::Listed => "take a list of more flows",
        }
    }

    /// How to get so many times the flows, if their number is a setting.
    pub(super) fn more_by(self, info: &PointInfo, times: f64) -> String {
        let flows = info.settings.get("workload.flows").and_then(|flows| flows.parse::<f64>().ok());
        match flows.filter(|_| self == Arrivals::AtLoad && times.is_finite() && times > 1.0) {
            Some(flows) => format!("send more flows: about flows = {}", rounded_up(flows * times)),
            None => self.more().to_owned(),
        }
    }

    /// How to reduce the load of links.
    pub(super) fn less(self) -> &'static str {
        match self {
            Arrivals::AtLoad => "lower the load",
            Arrivals::Listed => "take a list whose flows begin further apart",
            Arrivals::Following => "give hosts fewer flows or queries at a time",
        }
    }
}

/// Rounds up to two digits, with a sign between thousands, as experiment files have it.
fn rounded_up(value: f64) -> String {
    let digits = value.max(1.0) as u64;
    let unit = 10u64.pow(digits.ilog10().saturating_sub(1)) as f64;
    // What is whole but for the last bits of a float stays.
    let text = ((value / unit - 1e-9).ceil() * unit).to_string();
    let groups: Vec<&str> =
        text.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join("_")
}

/// Losses and delays of a point's runs, together.
pub(super) struct Causes {
    /// By class of links, in the order of a packet's way.
    lost: Vec<(String, Drops)>,
    sent: u64,
    timeouts: u64,
    flows: u64,
    delays: Option<Delays>,
    pauses: bool,
}

/// The longest wait of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Timers,
    Windows,
    Needless,
    Queues,
}

impl Wait {
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Wait::Timers => "flows waited for retransmission timers",
            Wait::Windows => "windows held flows back",
            Wait::Needless => "packets that were late were sent again",
            Wait::Queues => "queues grew while flows arrived",
        }
    }
}

impl Causes {
    pub(super) fn of<'a>(info: &PointInfo, runs: impl Iterator<Item = &'a PointResult>, flows: u64) -> Causes {
        let pauses = info.settings.get("scheme.nic").is_some_and(|nic| nic == "backpressure");
        let mut causes = Causes { lost: Vec::new(), sent: 0, timeouts: 0, flows, delays: None, pauses };
        for run in runs {
            causes.timeouts = causes.timeouts.saturating_add(run.timeouts);
            for link in &run.links {
                if link.name == OWN_PORT {
                    causes.sent = causes.sent.saturating_add(link.packets);
                }
                match causes.lost.iter_mut().find(|(name, _)| *name == link.name) {
                    Some((_, drops)) => drops.add(link.drops),
                    None => causes.lost.push((link.name.clone(), link.drops)),
                }
            }
            if let Some(delays) = &run.delays {
                causes.delays.get_or_insert_default().merge(delays);
            }
        }
        causes
    }

    fn all_lost(&self) -> u64 {
        self.lost.iter().map(|(_, drops)| drops.total()).fold(0, u64::saturating_add)
    }

    /// Whether hosts lost most of all packets at their own ports, before they were on a line.
    pub(super) fn is_lost_in_hosts(&self) -> bool {
        let (lost, own) = (self.all_lost(), self.lost.iter().find(|(name, _)| name == OWN_PORT));
        let in_hosts = own.map_or(0, |(_, drops)| drops.buffer.saturating_add(drops.evicted));
        lost > 0 && in_hosts as f64 >= MOST * lost as f64
    }

    /// Where packets were lost, and how; `None` if none was.
    pub(super) fn places(&self) -> Option<String> {
        let all = self.all_lost();
        if all == 0 {
            return None;
        }
        let mut places: Vec<(String, u64)> = Vec::new();
        let (mut on_lines, mut down) = (0u64, 0u64);
        for (name, drops) in &self.lost {
            let place = if name == OWN_PORT { "the senders' own ports (host-up)" } else { &format!("{name} ports") };
            places.push((format!("at {place}"), drops.buffer.saturating_add(drops.evicted)));
            on_lines = on_lines.saturating_add(drops.loss);
            down = down.saturating_add(drops.down());
        }
        places.push(("by the random loss of links".to_owned(), on_lines));
        places.push(("by links that were down".to_owned(), down));
        places.retain(|(_, lost)| *lost > 0);
        places.sort_by_key(|(_, lost)| Reverse(*lost));
        let share = |(place, lost): &(String, u64)| format!("{} {place}", per_cent(*lost as f64 / all as f64));
        let places: Vec<String> = places.iter().map(share).collect();
        let s = if all == 1 { " was" } else { "s were" };
        Some(format!("{all} packet{s} lost: {}", places.join(", ")))
    }

    /// What would have prevented the losses; empty if nothing is known.
    pub(super) fn against_losses(&self) -> String {
        let all = self.all_lost() as f64;
        let Some((most, drops)) = self.lost.iter().max_by_key(|(_, drops)| drops.total()) else { return String::new() };
        if self.is_lost_in_hosts() {
            let backpressure = "nic = \"backpressure\" in [network]: a host's stack then holds packets back if its \
                port is full, instead of dropping them";
            return if self.pauses { String::new() } else { backpressure.to_owned() };
        }
        if drops.loss as f64 >= MOST * all {
            return format!("the experiment sets a `loss` for {most} links");
        }
        let down = self.lost.iter().map(|(_, drops)| drops.down()).fold(0, u64::saturating_add);
        if down as f64 >= MOST * all {
            return "the experiment lets links fail; a shorter `reconvergence` loses fewer packets".to_owned();
        }
        format!("at the {most} ports a larger `buffer` or a lower `ecn_threshold`, or smaller windows of the senders")
    }

    /// What flows waited for, as shares of their time beyond the ideal FCT; `None` if it is not reported, or if they waited for
    /// nothing.
    pub(super) fn waits(&self) -> Option<String> {
        let shares = self.delays?.shares()?;
        let [timers, windows, needless, queues] = shares.map(per_cent);
        let needless = format!("{needless} on repairs of packets that were late and not lost, ");
        let needless = if shares[2] > 0.0 { &*needless } else { "" };
        Some(format!(
            "of the time that flows took beyond their ideal FCTs, {timers} was spent waiting for retransmission timers, \
             {windows} for windows and handshakes, {needless}and {queues} in queues or with windows reduced by marks or losses"
        ))
    }

    /// The longest wait of flows, if known.
    pub(super) fn longest_wait(&self) -> Option<Wait> {
        match self.delays.and_then(|delays| delays.shares()) {
            Some(shares) => {
                let waits = [Wait::Timers, Wait::Windows, Wait::Needless, Wait::Queues];
                shares.into_iter().zip(waits).max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, wait)| wait)
            }
            None => self.times_out().then_some(Wait::Timers),
        }
    }

    /// The share of repairs that were not needed.
    pub(super) fn needless(&self) -> f64 {
        self.delays.and_then(|delays| delays.shares()).map_or(0.0, |[_, _, needless, _]| needless)
    }

    /// What helps against repairs that were not needed.
    pub(super) fn against_needless(&self) -> String {
        if self.times_out_in_vain() {
            return "the timers are shorter than round trips; raise `rto_min`, or `resend_after`".to_owned();
        }
        "packets of a flow overtake each other, on several paths or in a port that sorts them, their own host's too: \
         loss_detection = \"rack\" waits for them"
            .to_owned()
    }

    /// Whether more than one timeout fired for ten flows.
    pub(super) fn times_out(&self) -> bool {
        self.timeouts as f64 > TIMEOUTS * self.flows as f64
    }

    /// Whether more than one timeout fired for ten flows, and none of them for a loss.
    pub(super) fn times_out_in_vain(&self) -> bool {
        self.times_out() && self.all_lost() == 0 && self.sent > 0
    }

    /// What helps against timeouts.
    pub(super) fn against_timeouts(&self) -> String {
        if self.times_out_in_vain() { self.against_needless() } else { self.against_losses() }
    }

    /// What helps against the longest wait.
    pub(super) fn against(&self, wait: Option<Wait>, arrivals: Arrivals) -> String {
        match wait {
            Some(Wait::Timers) => self.against_timeouts(),
            Some(Wait::Windows) => "larger windows: see `max_window`, `initial_window` and `ecn_threshold`".to_owned(),
            Some(Wait::Needless) => self.against_needless(),
            Some(Wait::Queues) => arrivals.less().to_owned(),
            None => "look at timeouts, windows and losses".to_owned(),
        }
    }
}

fn per_cent(share: f64) -> String {
    let per_cent = 100.0 * share;
    let rounded = per_cent.round();
    match per_cent {
        0.0 => "0 %".to_owned(),
        few if few < 1.0 => "less than 1 %".to_owned(),
        most if most > 99.0 && most < 100.0 => "more than 99 %".to_owned(),
        _ => format!("{rounded} %"),
    }
}
