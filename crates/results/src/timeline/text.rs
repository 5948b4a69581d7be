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

impl Timeline {
    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // A String takes everything.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let (from, to) = &self.ends;
        let picked = self.picked.as_ref().map_or(String::new(), |picked| format!(", {picked},"));
        writeln!(text, "Flow {}{picked} under {}: {from} to {to}, {} bytes", self.flow, self.run, self.bytes)?;
        let start = format!("begins at {} µs", us(self.start_ps));
        match self.fct_ps {
            Some(fct_ps) => {
                let slowdown = fct_ps as f64 / self.ideal_ps.max(1) as f64;
                let (fct, ideal) = (us(fct_ps), us(self.ideal_ps));
                writeln!(text, "{start}; FCT {fct} µs, {slowdown:.2} times the ideal of {ideal} µs")?;
            }
            None => writeln!(text, "{start}; not finished when the run ended")?,
        }
        let again = self.packets.iter().filter(|sent| sent.again).count();
        let lost = self.packets.iter().filter(|sent| matches!(sent.ended, Ended::Lost(..))).count();
        let sent = self.packets.len();
        if self.own_transport {
            writeln!(text, "{sent} packets sent, {lost} lost; its transport does not report retransmissions\n")?;
        } else {
            let timeouts = self.timeouts;
            writeln!(text, "{sent} packets sent, {again} of them again, {lost} lost; {timeouts} timeouts\n")?;
        }
        self.write_time(text)?;
        self.write_links(text)?;
        self.write_packets(text)?;
        if let Some(until) = self.kept_until_ps {
            writeln!(text, "\nThe packets sent ahead of its own are known up to {} µs.", us(until))?;
        }
        Ok(())
    }

    fn write_time(&self, text: &mut String) -> std::fmt::Result {
        let Some(time) = &self.time else {
            return writeln!(text, "Not all of its packets arrived.\n");
        };
        writeln!(text, "Where the time went until packet {}, its last, had arrived:", time.segment)?;
        let mut line = |what: &str, ps: u64, more: &str| writeln!(text, "{:>12} µs  {what}{more}", us(ps));
        line(&format!("{} sent its packets", self.ends.0), time.own_ps, "")?;
        if time.others_ps > 0 {
            let whose = format!(": {}", of(&time.others, self.flow));
            line(&format!("{} sent packets of others", self.ends.0), time.others_ps, &whose)?;
        }
        if time.idle_ps > 0 {
            line(
                &format!("{} sent nothing", self.ends.0),
                time.idle_ps,
                ", until an ACK, a timer or the scheme let it",
            )?;
        }
        for (link, ps) in &time.waited {
            line(&format!("the packet waited for {link}"), *ps, "")?;
        }
        line("it was on the way", time.under_way_ps, "")?;
        if self.timers_ps > 0 {
            let s = if self.timeouts == 1 { "" } else { "s" };
            let what = format!("of this the flow waited until a timer fired ({} time{s})", self.timeouts);
            line(&what, self.timers_ps, "")?;
        }
        let arrived = time.own_ps + time.others_ps + time.idle_ps + time.under_way_ps;
        let arrived = arrived + time.waited.iter().map(|(_, ps)| ps).sum::<u64>();
        if let Some(back) = self.fct_ps.and_then(|fct_ps| fct_ps.checked_sub(arrived)).filter(|&back| back > 0) {
            line("the last ACK was on its way back", back, "")?;
        }
        writeln!(text)
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
        let mut shown: Vec<&Sent> = self.packets.iter().collect();
        if shown.len() > PACKETS {
            let notable = |sent: &&Sent| !matches!(sent.ended, Ended::Arrived(_)) || sent.again;
            let mut order: Vec<(usize, &Sent)> = shown.iter().copied().enumerate().collect();
            order.sort_by_key(|(index, sent)| {
                (std::cmp::Reverse(notable(sent)), std::cmp::Reverse(sent.waited_ps()), *index)
            });
            order.truncate(PACKETS);
            order.sort_by_key(|(index, _)| *index);
            shown = order.into_iter().map(|(_, sent)| sent).collect();
            writeln!(
                text,
                "The {PACKETS} packets that were lost, sent again or waited longest, of {}:",
                self.packets.len()
            )?;
        }
        writeln!(text, "packet  left host, µs  waited at (µs)")?;
        for sent in shown {
            let left = sent.crossings.first().map_or("-".to_owned(), |first| us(first.sent_ps));
            let waits = sent.crossings.iter().filter_map(|crossing| {
                let waited_ps = crossing.waited_ps.filter(|&ps| ps > 0)?;
                let mark = if crossing.marked { ", marked" } else { "" };
                Some(format!("{} {}{mark}", crossing.link, us(waited_ps)))
            });
            let mut what: Vec<String> = waits.collect();
            match &sent.ended {
                Ended::Arrived(at) => what.push(format!("arrived at {}", us(*at))),
                Ended::Lost(link, at) => what.push(format!("lost at {link} at {}", us(*at))),
                Ended::UnderWay => what.push("on the way when the run ended".to_owned()),
            }
            let again = if sent.again { " (again)" } else { "" };
            writeln!(text, "{:>6}  {left:>13}  {}{again}", sent.segment, what.join("; "))?;
        }
        Ok(())
    }
}
