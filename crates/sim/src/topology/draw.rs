//! A fabric as text, at most [`WIDTH`] columns wide: a row for each tier, from the cores down to the hosts. A bar shows
//! the links between tiers; the text at the right gives their number, rates and delays.
//!
//! A tier of many switches shows its first three and its last. Rates and delays are written as in experiment files. A
//! switch's oversubscription is the total rate of its links towards hosts, divided by that of its links away from them.

use flowsieve_core::units::Time;
use flowsieve_settings::units::{format_rate, format_time};
use std::collections::BTreeMap;

use super::assemble::Tier;
use super::events::Event;
use super::{Fabric, Link, Node};
use crate::ideal::{self, Hop, Train};

/// Columns of a drawing.
pub(super) const WIDTH: usize = 100;
/// Columns of its picture; the rest is for text.
const PICTURE: usize = 50;
/// Places in a row of the picture.
const SLOTS: usize = 5;
/// The most changed links that are listed.
const CHANGES: usize = 10;

impl Fabric {
    /// Returns the drawing, with a line break at the end of each line.
    pub fn draw(&self) -> String {
        let mut lines = vec![self.title(), String::new()];
        if self.switches.is_empty() {
            lines.extend(self.draw_single_link());
        } else {
            self.draw_tiers(&mut lines);
        }
        lines.push(String::new());
        lines.extend(self.remarks());
        lines.iter().map(|line| format!("{}\n", clip(line.trim_end(), WIDTH))).collect()
    }

    fn title(&self) -> String {
        let switches = match self.switches.len() {
            0 => String::new(),
            n => format!(", {}", count(n, "switch", "switches")),
        };
        let links = self.links.len() / 2;
        format!("{}: {} hosts{switches}, {}", self.kind, self.hosts, count(links, "link", "links"))
    }

    /// Returns the last host's name, and the round trip of a packet to it with serialisation.
    fn round_trip_of_a_packet(&self) -> String {
        let last = self.hosts - 1;
        let way = |src, dst, bytes| {
            let hops: Vec<Hop> = self.path_links(src, dst).iter().map(Hop::from).collect();
            ideal::arrival(&hops, Train { packets: 1, full: bytes, last: bytes })
        };
        let rtt = way(0, last, 1_500) + way(last, 0, 40);
        format!("{} between host0 and {}", format_time(rtt.0), self.name(Node::Host(last)))
    }

    fn draw_single_link(&self) -> Vec<String> {
        let links: Vec<&Link> = self.links.iter().collect();
        let [rates, delays] = self.words(&links);
        vec![row("  host0 ──────────────────────────────── host1", &format!("{rates}, {delays}"))]
    }

    fn draw_tiers(&self, lines: &mut Vec<String>) {
        let tiers: Vec<Tier> =
            [Tier::Core, Tier::Spine, Tier::Leaf].into_iter().filter(|tier| !self.members(*tier).is_empty()).collect();
        for (position, tier) in tiers.iter().enumerate() {
            let members = self.members(*tier);
            let shown = shown(&members);
            if let Some(upper) = position.checked_sub(1).map(|above| tiers[above]) {
                let above = centres(self.members(upper).len().min(SLOTS));
                let here = centres(shown.len());
                let links = self.between(*tier, upper);
                let [rates, delays] = self.words(&links);
                lines.push(row(&bars(&above), self.wiring(upper)));
                lines.push(row(&bus(&above, &here), &format!("{}: {rates}", count(links.len() / 2, "link", "links"))));
                lines.push(row(&bars(&here), &delays));
            }
            let names = |switch: &Option<u32>| {
                switch.map_or_else(|| "...".to_owned(), |switch| self.switches[switch as usize].name.clone())
            };
            let label = format!("{}{}", self.noun(*tier, members.len()), self.oversubscription(&members));
            lines.push(row(&cells(&shown, names), &label));
            let inside = self.between(*tier, *tier);
            if !inside.is_empty() {
                let [rates, delays] = self.words(&inside);
                let among = format!("{} among them: {rates}", count(inside.len() / 2, "link", "links"));
                lines.push(row("", &among));
                lines.push(row("", &delays));
            }
        }
        let leaves = self.members(Tier::Leaf);
        let shown = shown(&leaves);
        let [rates, delays] = self.words(&self.between(Tier::Host, Tier::Leaf));
        lines.push(row(&bars(&centres(shown.len())), &rates));
        let hosts = |leaf: &Option<u32>| match leaf {
            None => "...".to_owned(),
            Some(leaf) => {
                let here = self.host_partition.iter().filter(|partition| *partition == leaf).count();
                count(here, "host", "hosts")
            }
        };
        lines.push(row(&cells(&shown, hosts), &delays));
    }

    /// Returns the switches of a tier.
    fn members(&self, tier: Tier) -> Vec<u32> {
        let switches = self.switches.iter().zip(0u32..);
        switches.filter(|(switch, _)| Tier::of(switch.place) == tier).map(|(_, number)| number).collect()
    }

    fn tier(&self, node: Node) -> Tier {
        match node {
            Node::Host(_) => Tier::Host,
            Node::Switch(switch) => Tier::of(self.switches[switch as usize].place),
        }
    }

    /// Returns both directions of the links between two tiers.
    fn between(&self, a: Tier, b: Tier) -> Vec<&Link> {
        let ends = |link: &Link| (self.tier(link.from), self.tier(link.to));
        self.links.iter().filter(|link| ends(link) == (a, b) || ends(link) == (b, a)).collect()
    }

    /// Writes the rates and the delays of links.
    fn words(&self, links: &[&Link]) -> [String; 2] {
        let mut by_rate: BTreeMap<u64, usize> = BTreeMap::new();
        for link in links {
            *by_rate.entry(link.rate.bps()).or_default() += 1;
        }
        let each: Vec<String> =
            by_rate.iter().rev().map(|(bps, links)| format!("{} of {}", links / 2, format_rate(*bps))).collect();
        let rates = match (by_rate.first_key_value(), by_rate.last_key_value()) {
            (Some((least, _)), Some((most, _))) if by_rate.len() != 2 => {
                range(&format_rate(*least), &format_rate(*most))
            }
            (Some(_), _) => each.join(", "),
            (None, _) => return ["all failed".to_owned(), String::new()],
        };
        let hosts =
            |link: &Link| [link.from, link.to].iter().filter(|node| matches!(node, Node::Host(_))).count() as u64;
        let propagation = links.iter().map(|link| link.delay.0 - hosts(link) * self.host_delay.0);
        let (least, most) = (propagation.clone().min().unwrap_or(0), propagation.max().unwrap_or(0));
        let mut delays = range(&format_time(least), &format_time(most));
        if self.host_delay != Time::ZERO && links.iter().any(|link| hosts(link) > 0) {
            delays += &format!(", and {} in each host", format_time(self.host_delay.0));
        }
        [rates, delays]
    }

    /// Describes how the switches of a tier are linked to those below.
    fn wiring(&self, upper: Tier) -> &'static str {
        match (self.kind, upper) {
            ("leaf-spine", _) => "every leaf to every spine",
            ("fat-tree" | "three-tier", Tier::Spine) => "every edge to every agg of its pod",
            ("fat-tree", Tier::Core) => "the n-th agg of each pod to the n-th k/2 cores",
            ("three-tier", Tier::Core) => "every agg to every core",
            _ => "",
        }
    }

    fn noun(&self, tier: Tier, n: usize) -> String {
        let (one, many) = match (self.kind, tier) {
            ("leaf-spine", Tier::Spine) => ("spine", "spines"),
            ("leaf-spine", _) => ("leaf", "leaves"),
            ("single-switch", _) => ("switch", "switches"),
            ("big-switch", _) => ("switch, non-blocking", ""),
            ("custom", Tier::Leaf) => ("switch with hosts", "switches with hosts"),
            ("custom", Tier::Spine) => ("switch linked to these", "switches linked to these"),
            ("custom", _) => ("switch further up", "switches further up"),
            (_, Tier::Core) => ("core", "cores"),
            (_, Tier::Spine) => ("aggregation switch", "aggregation switches"),
            (_, _) => ("edge switch", "edge switches"),
        };
        count(n, one, many)
    }

    /// Writes the oversubscription of switches; empty if there is no tier above.
    fn oversubscription(&self, members: &[u32]) -> String {
        let mut ratios: Vec<f64> = Vec::new();
        for switch in members {
            let (mut down, mut up) = (0u64, 0u64);
            for link in self.ports[*switch as usize].iter().map(|link| &self.links[*link as usize]) {
                match self.tier(link.to).cmp(&self.tier(link.from)) {
                    std::cmp::Ordering::Less => down += link.rate.bps(),
                    std::cmp::Ordering::Greater => up += link.rate.bps(),
                    std::cmp::Ordering::Equal => {}
                }
            }
            if up > 0 {
                ratios.push(down as f64 / up as f64);
            }
        }
        let text = |ratio: f64| {
            let digits = format!("{ratio:.2}");
            format!("{}:1", digits.trim_end_matches('0').trim_end_matches('.'))
        };
        let Some(least) = ratios.iter().copied().min_by(f64::total_cmp) else {
            return String::new();
        };
        let most = ratios.iter().copied().fold(least, f64::max);
        format!(", oversubscription {}", range(&text(least), &text(most)))
    }

    /// Returns the remarks below the picture.
    fn remarks(&self) -> Vec<String> {
        let forwarding = if self.cut_through { "cut-through" } else { "store-and-forward" };
        let rtt = format_time(self.base_rtt().0);
        let mut lines = vec![
            format!("Base round trip {rtt} without serialisation; {forwarding}."),
            format!("With it, a packet of 1500 B and its ACK of 40 B take {}.", self.round_trip_of_a_packet()),
        ];
        let through = self.links.iter().filter(|link| link.cut_through).count();
        let into = self.links.iter().filter(|link| matches!(link.to, Node::Switch(_))).count();
        if self.cut_through && through < into {
            let stored = into - through;
            lines.push(format!(
                "Packets from {stored} of {into} links into switches are stored and forwarded, since a link out is faster."
            ));
        }
        let lossy = self.links.iter().filter(|link| link.loss > 0.0).count() / 2;
        if lossy > 0 {
            let most = self.links.iter().map(|link| link.loss).fold(0.0, f64::max);
            lines.push(format!(
                "{} at random, with probability up to {most}.",
                count(lossy, "link loses packets", "links lose packets")
            ));
        }
        if !self.changes.is_empty() {
            lines.push("Changed links:".to_owned());
            lines.extend(self.changes.iter().take(CHANGES).map(|change| format!("  {change}")));
        }
        if self.changes.len() > CHANGES {
            lines.push(format!("  and {} more", self.changes.len() - CHANGES));
        }
        lines.extend(self.events_in_words());
        lines
    }
}

impl Fabric {
    /// Returns a line for each of the first events of links.
    fn events_in_words(&self) -> Vec<String> {
        let Some(first) = self.events.first() else { return Vec::new() };
        let line = |event: &Event| {
            let ends = &self.links[event.links[0] as usize];
            let what = if event.down { "fails" } else { "is back" };
            format!("  {}: {} - {} {what}", format_time(event.at.0), self.name(ends.from), self.name(ends.to))
        };
        let mut lines = vec![format!("Events of links, from {} on:", format_time(first.at.0))];
        lines.extend(self.events.iter().take(CHANGES).map(line));
        if self.events.len() > CHANGES {
            lines.push(format!("  and {} more", self.events.len() - CHANGES));
        }
        lines
    }
}

fn count(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

fn range(least: &str, most: &str) -> String {
    if least == most { least.to_owned() } else { format!("{least} to {most}") }
}

fn clip(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns - 1).chain(['…']).collect()
}

/// Builds a line from picture and text.
fn row(picture: &str, words: &str) -> String {
    format!("{picture:PICTURE$} {words}")
}

/// Returns the members that are shown; `None` stands for those left out.
fn shown(members: &[u32]) -> Vec<Option<u32>> {
    match members {
        [first, second, third, .., last] if members.len() > SLOTS => {
            vec![Some(*first), Some(*second), Some(*third), None, Some(*last)]
        }
        _ => members.iter().copied().map(Some).collect(),
    }
}

/// Returns the middle column of each of `n` cells.
fn centres(n: usize) -> Vec<usize> {
    (0..n).map(|cell| PICTURE * (2 * cell + 1) / (2 * n)).collect()
}

/// Centres texts on their middle columns.
fn cells(shown: &[Option<u32>], text: impl Fn(&Option<u32>) -> String) -> String {
    let mut line = String::new();
    let width = PICTURE / shown.len().max(1) - 1;
    for (item, centre) in shown.iter().zip(centres(shown.len())) {
        let text = clip(&text(item), width);
        let from = centre - text.chars().count() / 2;
        line += &" ".repeat(from - line.chars().count());
        line += &text;
    }
    line
}

fn bars(at: &[usize]) -> String {
    (0..PICTURE).map(|column| if at.contains(&column) { '│' } else { ' ' }).collect()
}

/// Draws the bar that joins the columns above with those below.
fn bus(above: &[usize], below: &[usize]) -> String {
    let all = || above.iter().chain(below).copied();
    let (left, right) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    let glyph = |column: usize| {
        let (up, down) = (above.contains(&column), below.contains(&column));
        match (up, down, column > left, column < right) {
            (_, _, false, false) => '│',
            (true, true, false, true) => '├',
            (true, false, false, true) => '└',
            (_, _, false, true) => '┌',
            (true, true, true, false) => '┤',
            (true, false, true, false) => '┘',
            (_, _, true, false) => '┐',
            (true, true, true, true) => '┼',
            (true, false, true, true) => '┴',
            (false, true, true, true) => '┬',
            (false, false, true, true) => '─',
        }
    };
    (0..=right).map(|column| if column < left { ' ' } else { glyph(column) }).collect()
}
