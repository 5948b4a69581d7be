//! A timeline as text: the flow, where its time went, links, packets.

use super::{Ahead, Ended, Sent, Timeline};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The number of packets with a line each; of more, those that waited longest.
const PACKETS: usize = 40;
/// Flows that are named of those ahead.
const NAMED: usize = 3;

fn us(ps: u64) -> String {
    format!("{:.1}", ps as f64 / 1e6)
}

/// Whose packets were sent ahead: "flow 4 (12), flow 9 (2), ACKs (1)".
fn of(ahead: &[Ahead], own: u32) -> String {
    let name = |each: &Ahead| match each.flow {
        Some(flow) if flow == own => "its own".to_owned(),
        Some(flow) => format!("flow {flow}"),
        None if each.acks => "ACKs".to_owned(),
        None => "others".to_owned(),
    };
    let mut named: Vec<String> =
        ahead.iter().take(NAMED).map(|each| format!("{} ({})", name(each), each.packets)).collect();
    let rest: u32 = ahead.iter().skip(NAMED).map(|each| each.packets).sum();
    if rest > 0 {
        named.push(format!("{} more ({rest})", ahead.len() - NAMED));
    }
    named.join(", ")
}

/// A part of a flow's time.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What the flow did then.
    pub kind: Kind,
    /// The same in words.
    pub what: String,
    /// How long, in ps.
    pub ps: u64,
}

/// What a flow did, or waited for.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Its host's line sent its packets.
    Own,
    /// Its host's line sent packets of others.
    Others,
    /// Its host's line sent nothing.
    Idle,
    /// The packet that completed it waited for this link.
    Waited(String),
    /// That packet was on lines and on the way.
    UnderWay,
    /// The last ACK was on its way back.
    Back,
}

impl Timeline {
    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = self.summary();
        // A String takes everything.
        let _ = self.write_packets_by_link(&mut text);
        text
    }

    /// Returns which flow it is, how long it took, and where its time went, with an empty line after each.
    pub fn summary(&self) -> String {
        format!("{}\n\n{}\n", self.heading().join("\n"), self.time_text())
    }

    /// Returns the flow, its completion time, and the number of its packets: a line each.
    pub fn heading(&self) -> [String; 3] {
        let (from, to) = &self.ends;
        let picked = self.picked.as_ref().map_or(String::new(), |picked| format!(", {picked},"));
        let flow = format!("Flow {}{picked} under {}: {from} to {to}, {} bytes", self.flow, self.run, self.bytes);
        let start = format!("begins at {} µs", us(self.start_ps));
        let took = match self.fct_ps {
            Some(fct_ps) => {
                let slowdown = fct_ps as f64 / self.ideal_ps.max(1) as f64;
                let (fct, ideal) = (us(fct_ps), us(self.ideal_ps));
                format!("{start}; FCT {fct} µs, {slowdown:.2} times the ideal of {ideal} µs")
            }
            None => format!("{start}; not finished when the run ended"),
        };
        let again = self.packets.iter().filter(|sent| sent.again).count();
        let lost = self.packets.iter().filter(|sent| matches!(sent.ended, Ended::Lost(..))).count();
        let sent = self.packets.len();
        let packets = if self.own_transport {
            format!("{sent} packets sent, {lost} lost; its transport does not report retransmissions")
        } else {
            let timeouts = self.timeouts;
            format!("{sent} packets sent, {again} of them again, {lost} lost; {timeouts} timeouts")
        };
        [flow, took, packets]
    }

    /// Returns until when it is known what was sent ahead of its packets, unless it is known for all.
    pub fn known_until(&self) -> Option<String> {
        let until = us(self.kept_until_ps?);
        Some(format!("The packets sent ahead of its own are known up to {until} µs."))
    }

    /// Returns the parts of its time that are longer than nothing, one after the other; none if not all of it arrived.
    pub fn parts(&self) -> Vec<Part> {
        let Some(time) = &self.time else { return Vec::new() };
        let from = &self.ends.0;
        let others = format!("{from} sent packets of others: {}", of(&time.others, self.flow));
        let mut parts = vec![
            (Kind::Own, format!("{from} sent its packets"), time.own_ps),
            (Kind::Others, others, time.others_ps),
            (Kind::Idle, format!("{from} sent nothing, until an ACK, a timer or the scheme let it"), time.idle_ps),
        ];
        let waited =
            |(link, ps): &(String, u64)| (Kind::Waited(link.clone()), format!("the packet waited for {link}"), *ps);
        parts.extend(time.waited.iter().map(waited));
        parts.push((Kind::UnderWay, "it was on the way".to_owned(), time.under_way_ps));
        let arrived = parts.iter().map(|(_, _, ps)| ps).sum();
        let back = self.fct_ps.and_then(|fct_ps| fct_ps.checked_sub(arrived)).unwrap_or(0);
        parts.push((Kind::Back, "the last ACK was on its way back".to_owned(), back));
        // Its packets and their way take time always.
        let is_some = |kind: &Kind, ps| ps > 0 || matches!(kind, Kind::Own | Kind::UnderWay);
        parts.retain(|(kind, _, ps)| is_some(kind, *ps));
        parts.into_iter().map(|(kind, what, ps)| Part { kind, what, ps }).collect()
    }

    fn time_text(&self) -> String {
        let Some(time) = &self.time else { return "Not all of its packets arrived.\n".to_owned() };
        let line = |what: &str, ps: u64| format!("{:>12} µs  {what}\n", us(ps));
        let mut text = format!("Where the time went until packet {}, its last, had arrived:\n", time.segment);
        for Part { kind, what, ps } in self.parts() {
            text += &line(&what, ps);
            if kind == Kind::UnderWay && self.timers_ps > 0 {
                let s = if self.timeouts == 1 { "" } else { "s" };
                let what = format!("of this the flow waited until a timer fired ({} time{s})", self.timeouts);
                text += &line(&what, self.timers_ps);
            }
        }
        text
    }

    /// Returns all of its packets or, of more than `most`, those that were lost, sent again or waited longest, in the order in
    /// which they were sent.
    pub fn notable(&self, most: usize) -> Vec<&Sent> {
        let notable = |sent: &Sent| !matches!(sent.ended, Ended::Arrived(_)) || sent.again;
        let mut order: Vec<(usize, &Sent)> = self.packets.iter().enumerate().collect();
        if order.len() > most {
            order.sort_by_key(|(index, sent)| {
                (std::cmp::Reverse(notable(sent)), std::cmp::Reverse(sent.waited_ps()), *index)
            });
            order.truncate(most);
            order.sort_by_key(|(index, _)| *index);
        }
        order.into_iter().map(|(_, sent)| sent).collect()
    }

    fn write_packets_by_link(&self, text: &mut String) -> std::fmt::Result {
        self.write_links(text)?;
        self.write_packets(text)?;
        self.known_until().map_or(Ok(()), |until| writeln!(text, "\n{until}"))
    }

    fn write_links(&self, text: &mut String) -> std::fmt::Result {
        #[derive(Default)]
        struct Total<'a> {
            packets: u32,
            waited_ps: u64,
            longest_ps: u64,
            marked: u32,
            behind: BTreeMap<(Option<u32>, bool), u32>,
            name: &'a str,
        }
        let mut links: Vec<Total> = Vec::new();
        for crossing in self.packets.iter().flat_map(|sent| &sent.crossings) {
            let at = links.iter().position(|total| total.name == crossing.link).unwrap_or_else(|| {
                links.push(Total { name: &crossing.link, ..Total::default() });
                links.len() - 1
            });
            let (total, waited_ps) = (&mut links[at], crossing.waited_ps.unwrap_or(0));
            total.packets += 1;
            total.waited_ps += waited_ps;
            total.longest_ps = total.longest_ps.max(waited_ps);
            total.marked += u32::from(crossing.marked);
            for each in &crossing.behind {
                *total.behind.entry((each.flow, each.acks)).or_default() += each.packets;
            }
        }
        let width = links.iter().map(|total| total.name.len()).max().unwrap_or(0).max(4);
        writeln!(text, "{:width$}  packets  wait, µs: mean  longest  marked  behind (packets)", "link")?;
        for total in &links {
            let mut behind: Vec<Ahead> =
                total.behind.iter().map(|(&(flow, acks), &packets)| Ahead { flow, acks, packets }).collect();
            behind.sort_by_key(|each| (std::cmp::Reverse(each.packets), each.flow));
            let mean = us(total.waited_ps / u64::from(total.packets.max(1)));
            let line = format!(
                "{:width$}  {:>7}  {mean:>14}  {:>7}  {:>6}  {}",
                total.name,
                total.packets,
                us(total.longest_ps),
                total.marked,
                of(&behind, self.flow)
            );
            writeln!(text, "{}", line.trim_end())?;
        }
        writeln!(text)
    }

    fn write_packets(&self, text: &mut String) -> std::fmt::Result {
        let shown = self.notable(PACKETS);
        if shown.len() < self.packets.len() {
            writeln!(
                text,
                "The {PACKETS} packets that were lost, sent again or waited longest, of {}:",
                self.packets.len()
            )?;
        }
        writeln!(text, "packet  left host, µs  waited at (µs)")?;
        for sent in shown {
            let left = sent.crossings.first().map_or("-".to_owned(), |first| us(first.sent_ps));
            let again = if sent.again { " (again)" } else { "" };
            writeln!(text, "{:>6}  {left:>13}  {}{again}", sent.segment, sent.in_words())?;
        }
        Ok(())
    }

    /// Returns a packet in words: when it left, behind what it waited, and its end.
    pub fn packet(&self, sent: &Sent) -> String {
        let again = if sent.again { ", sent again" } else { "" };
        let left =
            sent.crossings.first().map_or("not sent".to_owned(), |first| format!("left at {} µs", us(first.sent_ps)));
        let behind = sent.crossings.iter().filter(|crossing| !crossing.behind.is_empty());
        let behind =
            behind.map(|crossing| format!("; at {} behind {}", crossing.link, of(&crossing.behind, self.flow)));
        format!("Packet {}{again}: {left}; {}{}", sent.segment, sent.in_words(), behind.collect::<String>())
    }
}

impl Sent {
    /// Returns where it waited and how it ended, with times in µs.
    fn in_words(&self) -> String {
        let waits = self.crossings.iter().filter_map(|crossing| {
            let waited_ps = crossing.waited_ps.filter(|&ps| ps > 0)?;
            let mark = if crossing.marked { ", marked" } else { "" };
            Some(format!("{} {}{mark}", crossing.link, us(waited_ps)))
        });
        let mut what: Vec<String> = waits.collect();
        what.push(match &self.ended {
            Ended::Arrived(at) => format!("arrived at {}", us(*at)),
            Ended::Lost(link, at) => format!("lost at {link} at {}", us(*at)),
            Ended::UnderWay => "on the way when the run ended".to_owned(),
        });
        what.join("; ")
    }
}
