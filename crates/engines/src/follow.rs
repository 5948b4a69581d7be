//! A flow's timeline: where its time went, and what its packets waited for, hop by hop.
//!
//! The run is traced at every link. A packet waits at a port from its arrival, which follows from when the link before
//! began to send it, until the line begins to send it. It waited for the packets that the line sent in between. At its
//! host a packet has no arrival: there, the host's line explains the time between packets.

mod runs;
mod which;

pub use runs::timelines;
pub use which::Which;

use flowsieve_experiment::Error;
use flowsieve_record::{Ends, FlowRow, PacketEvent, PacketKind, PacketRow, TraceSink};
use flowsieve_results::timeline::{Ahead, Cause, Crossing, Ended, Sent, Spent, Timeline};
use flowsieve_sim::topology::{Fabric, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// A link as a timeline needs it.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    name: String,
    from: Node,
    to: Node,
    to_name: String,
    bits_per_ps: f64,
    delay_ps: u64,
    /// The far end has a packet after this many bytes; `None`: after the whole packet.
    forwards_after: Option<u32>,
    /// Bytes of preamble and gap.
    overhead: u32,
}

impl Hop {
    /// Returns every link of a fabric, by number.
    pub(crate) fn all(fabric: &Fabric, overhead: u16) -> Vec<Hop> {
        let of = |(number, link): (u32, &flowsieve_sim::topology::Link)| Hop {
            name: fabric.link_name(number),
            from: link.from,
            to: link.to,
            to_name: fabric.name(link.to),
            bits_per_ps: link.rate.bps() as f64 / 1e12,
            delay_ps: link.delay.0,
            forwards_after: link.cut_through.then_some(flowsieve_sim::ideal::CUT_THROUGH_BYTES),
            overhead: overhead.into(),
        };
        (0..).zip(&fabric.links).map(of).collect()
    }

    fn takes_ps(&self, bytes: u32) -> u64 {
        (8.0 * f64::from(bytes) / self.bits_per_ps).round() as u64
    }

    fn on_line_ps(&self, length: u16) -> u64 {
        self.takes_ps(u32::from(length) + self.overhead)
    }

    /// Returns the time from when the line begins to send a packet until its far end may forward it.
    fn crossed_after_ps(&self, length: u16) -> u64 {
        let whole = u32::from(length) + self.overhead;
        self.delay_ps + self.takes_ps(self.forwards_after.map_or(whole, |head| head.min(whole)))
    }
}

/// The sender of what was sent while a packet waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sender {
    Flow(u32),
    Acks,
    Other,
}

/// The most sends kept of all links while the flow goes on: 16 bytes each.
const MOST_SENDS: usize = 8 << 20;
/// The most sends kept of a host's link before the flow's first packet.
const MOST_BEFORE: usize = 1 << 16;

/// Takes the trace of a run and keeps what concerns a flow.
pub(crate) struct Follower {
    flow: u32,
    hops: Vec<Hop>,
    most_sends: usize,
    /// By link, its sends since the flow began: when, whose, and length.
    sends: Vec<Vec<(u64, Sender, u16)>>,
    kept: usize,
    kept_until_ps: Option<u64>,
    begun: bool,
    /// All of the flow has arrived.
    done: bool,
    /// Its segments that have arrived, the least one sent, and the last one of all.
    arrived: BTreeSet<u32>,
    first: u32,
    last: Option<u32>,
    /// Its transport does not describe its packets.
    own_transport: bool,
    packets: Vec<Sent>,
    /// By segment: its packets under way, with where they will be next.
    open: BTreeMap<u32, Vec<usize>>,
}

impl Follower {
    pub(crate) fn new(flow: u32, hops: Vec<Hop>) -> Follower {
        Follower {
            flow,
            sends: vec![Vec::new(); hops.len()],
            hops,
            most_sends: MOST_SENDS,
            kept: 0,
            kept_until_ps: None,
            begun: false,
            done: false,
            arrived: BTreeSet::new(),
            first: u32::MAX,
            last: None,
            own_transport: false,
            packets: Vec::new(),
            open: BTreeMap::new(),
        }
    }

    /// Keeps a send, behind which others may have waited.
    fn keep(&mut self, link: usize, send: (u64, Sender, u16)) {
        let sends = &mut self.sends[link];
        if self.begun {
            if self.kept >= self.most_sends {
                self.kept_until_ps.get_or_insert(send.0);
                return;
            }
            self.kept += 1;
        } else if !matches!(self.hops[link].from, Node::Host(_)) {
            return;
        } else if sends.len() >= 2 * MOST_BEFORE {
            sends.drain(..MOST_BEFORE);
        }
        sends.push(send);
    }

    /// Returns what a link sent from `from` on, including what was on the line then.
    fn sent_since(&self, link: usize, from: u64) -> &[(u64, Sender, u16)] {
        let (sends, hop) = (&self.sends[link], &self.hops[link]);
        &sends[sends.partition_point(|(at, _, length)| at + hop.on_line_ps(*length) <= from)..]
    }

    /// Returns the packet of a segment at the sending end of a link, and when it arrived there.
    fn at_link(&self, segment: u32, link: usize) -> Option<(usize, u64)> {
        self.open.get(&segment)?.iter().find_map(|&packet| {
            let last = self.packets[packet].crossings.last()?;
            let hop = &self.hops[last.number];
            (hop.to == self.hops[link].from).then(|| (packet, last.sent_ps + hop.crossed_after_ps(last.length)))
        })
    }

    fn own(&mut self, row: &PacketRow, segment: u32, again: bool) {
        let link = row.link as usize;
        let from_host = matches!(self.hops[link].from, Node::Host(_));
        let found = if from_host { None } else { self.at_link(segment, link) };
        match row.event {
            PacketEvent::Sent => {
                let (waited_ps, behind, cause) = match found {
                    Some((_, came)) => {
                        let waited_ps = row.at_ps.saturating_sub(came);
                        let since = if waited_ps > 0 { self.sent_since(link, came) } else { &[] };
                        (Some(waited_ps), ahead(since.iter().map(|(_, sender, _)| *sender)), cause(since, self.flow))
                    }
                    None => (None, Vec::new(), Cause::Unknown),
                };
                let name = self.hops[link].name.clone();
                let crossing = Crossing {
                    link: name,
                    sent_ps: row.at_ps,
                    waited_ps,
                    behind,
                    cause,
                    queue: row.queue,
                    marked: row.ecn == 3,
                    to: self.hops[link].to_name.clone(),
                    crossed_ps: row.at_ps + self.hops[link].crossed_after_ps(row.length),
                    number: link,
                    length: row.length,
                };
                let packet = match found {
                    Some((packet, _)) => packet,
                    None => {
                        self.packets.push(Sent { segment, again, crossings: Vec::new(), ended: Ended::UnderWay });
                        let packet = self.packets.len() - 1;
                        self.open.entry(segment).or_default().push(packet);
                        packet
                    }
                };
                self.packets[packet].crossings.push(crossing);
                if matches!(self.hops[link].to, Node::Host(_)) {
                    let whole = self.hops[link].on_line_ps(row.length) + self.hops[link].delay_ps;
                    self.end(packet, Ended::Arrived(row.at_ps + whole));
                    self.arrived.insert(segment);
                }
            }
            PacketEvent::DroppedLoss => {
                // It was on this link.
                let on_link =
                    |&&packet: &&usize| self.packets[packet].crossings.last().is_some_and(|last| last.number == link);
                let open = self.open.get(&segment).and_then(|open| open.iter().find(on_link).copied());
                // The instant at which it would have arrived at a host.
                let arrived = || {
                    let lost = |sent: &Sent| matches!(sent.ended, Ended::Arrived(at) if at == row.at_ps);
                    self.packets.iter().rposition(|sent| sent.segment == segment && lost(sent))
                };
                if let Some(packet) = open.or_else(arrived) {
                    self.arrived.remove(&segment);
                    self.end(packet, Ended::Lost(self.hops[link].name.clone(), row.at_ps));
                }
            }
            PacketEvent::DroppedBuffer | PacketEvent::DroppedEvicted | PacketEvent::DroppedDown => {
                let ended = Ended::Lost(self.hops[link].name.clone(), row.at_ps);
                // One that was on the line has crossed this link already.
                let on_line = |&&packet: &&usize| {
                    let last = self.packets[packet].crossings.last();
                    row.event == PacketEvent::DroppedDown && last.is_some_and(|last| last.number == link)
                };
                let on_line = self.open.get(&segment).and_then(|open| open.iter().find(on_line).copied());
                match found.or(on_line.map(|packet| (packet, row.at_ps))) {
                    Some((packet, _)) => self.end(packet, ended),
                    None => self.packets.push(Sent { segment, again, crossings: Vec::new(), ended }),
                }
            }
        }
    }

    fn end(&mut self, packet: usize, ended: Ended) {
        let sent = &mut self.packets[packet];
        sent.ended = ended;
        if let Some(open) = self.open.get_mut(&sent.segment) {
            open.retain(|other| *other != packet);
        }
    }

    /// Returns whether it saw any packet of the flow.
    pub(crate) fn has_packets(&self) -> bool {
        !self.packets.is_empty()
    }

    /// Returns the timeline, when the run is over.
    pub(crate) fn timeline(mut self, run: String, flow: &FlowRow, fabric: &Fabric) -> Timeline {
        let time = self.spent(flow);
        let start_ps = flow.start_ps;
        for sent in &mut self.packets {
            for crossing in &mut sent.crossings {
                crossing.sent_ps = crossing.sent_ps.saturating_sub(start_ps);
                crossing.crossed_ps = crossing.crossed_ps.saturating_sub(start_ps);
            }
            if let Ended::Arrived(at) | Ended::Lost(_, at) = &mut sent.ended {
                *at = at.saturating_sub(start_ps);
            }
        }
        Timeline {
            run,
            ends: (fabric.name(Node::Host(flow.src)), fabric.name(Node::Host(flow.dst))),
            flow: flow.flow,
            picked: None,
            own_transport: self.own_transport,
            bytes: flow.bytes,
            start_ps,
            fct_ps: flow.fct_ps,
            ideal_ps: flow.ideal_ps,
            timeouts: flow.timeouts,
            timers_ps: u64::from(flow.timers_us) * 1_000_000,
            packets: self.packets,
            time,
            kept_until_ps: self.kept_until_ps.map(|at| at.saturating_sub(start_ps)),
        }
    }

    /// Splits the time until the last segment had arrived for the first time.
    fn spent(&self, flow: &FlowRow) -> Option<Spent> {
        let start_ps = flow.start_ps;
        let mut first: BTreeMap<u32, Option<(u64, usize)>> = BTreeMap::new();
        for (index, sent) in self.packets.iter().enumerate() {
            let earliest = first.entry(sent.segment).or_default();
            if let Ended::Arrived(at) = sent.ended
                && earliest.is_none_or(|(before, _)| at < before)
            {
                *earliest = Some((at, index));
            }
        }
        let (arrived_ps, last) = if self.own_transport {
            // Lost data may have been sent again under another number, and what comes after the end was not needed.
            let end = start_ps + flow.fct_ps?;
            first.into_values().flatten().filter(|(at, _)| *at <= end).max()?
        } else {
            // A segment that never arrived makes the flow unfinished.
            let arrivals: Option<Vec<(u64, usize)>> = first.into_values().collect();
            arrivals?.into_iter().max()?
        };
        let sent = &self.packets[last];
        let host = sent.crossings.first()?;
        let before = self.sent_since(host.number, start_ps).iter().take_while(|(at, ..)| *at < host.sent_ps);
        let (mut own_ps, mut others_ps, mut others) = (0, 0, Vec::new());
        for &(at, sender, length) in before {
            // For the packet on the line when the flow began, its remaining time.
            let end = at + self.hops[host.number].on_line_ps(length);
            let on_line_ps = end - at.max(start_ps);
            if sender == Sender::Flow(self.flow) {
                own_ps += on_line_ps;
            } else {
                others_ps += on_line_ps;
                others.push(sender);
            }
        }
        let waited = |crossing: &Crossing| Some((crossing.link.clone(), crossing.waited_ps.filter(|&ps| ps > 0)?));
        let since_sent = arrived_ps.saturating_sub(host.sent_ps);
        Some(Spent {
            segment: sent.segment,
            own_ps,
            others_ps,
            others: ahead(others.into_iter()),
            idle_ps: (host.sent_ps.saturating_sub(start_ps)).saturating_sub(own_ps + others_ps),
            waited: sent.crossings.iter().filter_map(waited).collect(),
            under_way_ps: since_sent.saturating_sub(sent.waited_ps()),
        })
    }
}

/// Groups packets by sender, the most frequent first.
fn ahead(senders: impl Iterator<Item = Sender>) -> Vec<Ahead> {
    let mut counts: BTreeMap<Sender, u32> = BTreeMap::new();
    senders.for_each(|sender| *counts.entry(sender).or_default() += 1);
    let mut all: Vec<(Sender, u32)> = counts.into_iter().collect();
    all.sort_by_key(|&(sender, packets)| (std::cmp::Reverse(packets), sender));
    let flow = |sender| if let Sender::Flow(flow) = sender { Some(flow) } else { None };
    all.into_iter()
        .map(|(sender, packets)| Ahead { flow: flow(sender), acks: sender == Sender::Acks, packets })
        .collect()
}

/// Whose packets of these have the most bytes, for a packet of this flow.
fn cause(sent: &[(u64, Sender, u16)], own: u32) -> Cause {
    let mut bytes: BTreeMap<Cause, u64> = BTreeMap::new();
    for (_, sender, length) in sent {
        let cause = match sender {
            Sender::Flow(flow) if *flow == own => Cause::Own,
            Sender::Flow(_) => Cause::Others,
            Sender::Acks | Sender::Other => Cause::Control,
        };
        *bytes.entry(cause).or_default() += u64::from(*length);
    }
    bytes.into_iter().max_by_key(|(_, bytes)| *bytes).map_or(Cause::Unknown, |(cause, _)| cause)
}

fn sender(what: Option<&(Ends, PacketKind)>) -> Sender {
    match what {
        Some((_, PacketKind::Data { flow, .. } | PacketKind::OwnData { flow, .. })) => Sender::Flow(*flow),
        Some((_, PacketKind::Ack { .. })) => Sender::Acks,
        _ => Sender::Other,
    }
}

impl TraceSink for Follower {
    fn begin(&mut self) {
        *self = Follower { most_sends: self.most_sends, ..Follower::new(self.flow, std::mem::take(&mut self.hops)) };
    }

    fn packet(&mut self, row: &PacketRow) -> ControlFlow<()> {
        if let Some((_, PacketKind::Data { flow, segment, retransmission, last, .. })) = row.what
            && flow == self.flow
        {
            (self.begun, self.first) = (true, self.first.min(segment));
            self.last = self.last.or(last.then_some(segment));
            self.own(row, segment, retransmission);
            let segments = self.last.map(|last| last as usize - self.first as usize + 1);
            self.done = segments == Some(self.arrived.len());
        }
        if let Some((_, PacketKind::OwnData { flow, number })) = row.what
            && flow == self.flow
        {
            (self.begun, self.own_transport) = (true, true);
            self.own(row, number, false);
        }
        if row.event == PacketEvent::Sent && !self.done {
            self.keep(row.link as usize, (row.at_ps, sender(row.what.as_ref()), row.length));
        }
        ControlFlow::Continue(())
    }

    fn numbers_own(&self) -> bool {
        true
    }
}

/// Finds the row of a flow in a run's result.
pub(crate) fn find(flows: &[FlowRow], flow: u32, run: &str) -> Result<FlowRow, Error> {
    let found = flows.iter().find(|row| row.flow == flow);
    found.cloned().ok_or_else(|| {
        let (least, most) =
            flows.iter().fold((u32::MAX, 0), |(least, most), row| (least.min(row.flow), most.max(row.flow)));
        Error::Input(format!("{run} has no counted flow {flow}; expected a number from {least} to {most}"))
    })
}
