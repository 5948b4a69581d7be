//! One path: a sender, two ports that serve strictly by priority and each priority in order, a receiver. Acknowledgements
//! come back after a while; they are lost where a test says so.
//!
//! `0 push 2 2x 1` begins a message of three segments with these priorities. The path loses the one with `x` once, with `xx`
//! twice. `0 lose 1 2`: the path loses the second and the third of all ACKs.
//!
//! | expectation | meaning |
//! | --- | --- |
//! | `= sent 1 2 1` | how often each segment was sent |
//! | `= found 1` | losses found of finished messages |
//! | `= timeouts 2012/1` | instants, each with the next segment in order at the receiver; or `none` |
//! | `= finished 38 50` | when all of each message was acknowledged; or `none` |
//! | `= cwnd 6.5` | the congestion window |

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use flowsieve_core::{Message, Time};
use flowsieve_transport::tcp::header::{AckHeader, DataHeader, GapReport};
use flowsieve_transport::tcp::params::{Gaps, LossDetection};
use flowsieve_transport::tcp::receiver::{AckRule, Arrival, Reply};
use flowsieve_transport::tcp::sender::{Ack, Emission, Timer};
use flowsieve_transport::tcp::{Receiver, TcpParams, TcpSender};

use super::random::{CLEAR, Weather};
use super::sender::window;
use super::{SEGMENT, Subject, list, number};

/// How long an ACK is under way.
const BACK: Time = Time::from_us(10);

#[derive(Clone, Copy, Debug)]
struct Packet {
    header: DataHeader,
    priority: u8,
    stamp: u32,
    /// The port that loses it.
    lost_at: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A port has sent its packet.
    Sent(usize),
    Ack(Reply),
}

/// A port, which takes so long for a packet.
#[derive(Debug)]
struct Port {
    takes: Time,
    queues: [VecDeque<Packet>; 8],
    sending: Option<Packet>,
}

pub(crate) struct Path {
    params: TcpParams,
    pub(crate) now: Time,
    pub(crate) tcp: TcpSender,
    receiver: Receiver,
    ports: [Port; 2],
    events: BTreeMap<(Time, u64), Event>,
    nth_event: u64,
    /// The next message's number.
    pushed: u32,
    /// Priority and message of each segment.
    segments: Vec<(u8, u32)>,
    /// (segment, how often it was sent before) that the path loses at its second port, in addition to what the weather takes.
    pub(crate) lose: BTreeSet<(u32, u32)>,
    /// Acknowledgements that are lost, counted from 0, and the chance in a thousand of any other.
    pub(crate) lose_acks: BTreeSet<u32>,
    pub(crate) acks_lost: u64,
    acks: u32,
    /// `lost` is for first transmissions, `twice` for others; either port may be the one that loses them.
    pub(crate) weather: Weather,
    /// Nothing is under way when the timer fires: what it repairs must be what priorities do not show.
    pub(crate) patient: bool,
    /// How often each segment was sent.
    pub(crate) sent: Vec<u32>,
    /// What was lost, as in `lose`.
    pub(crate) lost: BTreeSet<(u32, u32)>,
    /// Segments whose first transmission arrived.
    arrived: BTreeSet<u32>,
    /// And those of which any did.
    held: BTreeSet<u32>,
    /// What the receiver said was lost.
    pub(crate) asked: BTreeSet<u32>,
    /// Instants of timeouts in microseconds, with the next segment in order at the receiver.
    pub(crate) timeouts: Vec<(u64, u32)>,
    edge: u32,
    /// Instants in microseconds when all of each message was acknowledged.
    pub(crate) finished: Vec<u64>,
    pub(crate) found_lost: u32,
    pub(crate) delivered: Vec<u32>,
}

impl Subject for Path {
    fn happen(&mut self, at: Time, event: &[&str]) {
        if at > self.now {
            self.run_until(at);
        }
        match event {
            [] => {}
            ["push", segments @ ..] => {
                let first = self.segments.len() as u32;
                for (seq, word) in (first..).zip(segments.iter()) {
                    self.lose.extend((0..word.matches('x').count() as u32).map(|time| (seq, time)));
                }
                let priorities: Vec<u8> = segments.iter().map(|word| number(word.trim_end_matches('x'))).collect();
                self.push(self.pushed, &priorities);
            }
            ["lose", acks @ ..] => self.lose_acks.extend(acks.iter().map(|ack| number::<u32>(ack))),
            other => panic!("no such event: {other:?}"),
        }
    }

    /// What is sent is for `= sent`.
    fn sent(&mut self) -> String {
        String::new()
    }

    fn reading(&mut self, words: &[&str]) -> String {
        match words[0] {
            "sent" => list(&self.sent),
            "found" => self.found_lost.to_string(),
            "timeouts" => list(self.timeouts.iter().map(|(at, edge)| format!("{at}/{edge}"))),
            "finished" => list(&self.finished),
            "cwnd" => window(&self.tcp).to_string(),
            other => panic!("no such reading: {other}"),
        }
    }
}

impl Path {
    /// `takes`: microseconds that each port takes for a packet.
    pub(crate) fn new(params: &TcpParams, takes: [u64; 2]) -> Path {
        Path {
            params: params.clone(),
            now: Time::ZERO,
            tcp: TcpSender::new(false, params),
            receiver: Receiver::comparing_priorities(gaps(params)),
            ports: takes.map(|us| Port { takes: Time::from_us(us), queues: Default::default(), sending: None }),
            events: BTreeMap::new(),
            nth_event: 0,
            pushed: 0,
            segments: Vec::new(),
            lose: BTreeSet::new(),
            lose_acks: BTreeSet::new(),
            acks_lost: 0,
            acks: 0,
            weather: CLEAR,
            patient: false,
            sent: Vec::new(),
            lost: BTreeSet::new(),
            arrived: BTreeSet::new(),
            held: BTreeSet::new(),
            asked: BTreeSet::new(),
            timeouts: Vec::new(),
            edge: 0,
            finished: Vec::new(),
            found_lost: 0,
            delivered: Vec::new(),
        }
    }

    /// A message of full segments with these priorities begins.
    pub(crate) fn push(&mut self, id: u32, priorities: &[u8]) {
        self.pushed = id + 1;
        let bytes = u64::from(SEGMENT) * priorities.len() as u64;
        self.tcp.push(self.now, Message { id, bytes, ..Message::default() }, &self.params);
        self.segments.extend(priorities.iter().map(|&priority| (priority, id)));
        self.sent.resize(self.segments.len(), 0);
    }

    /// Lets everything happen up to an instant, or until nothing is left to happen.
    pub(crate) fn run_until(&mut self, end: Time) {
        loop {
            self.send();
            let event = self.events.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at);
            let receiver = self.receiver.deadline().unwrap_or(Time::NEVER);
            let next = event.min(receiver).min(self.tcp.deadline());
            if next >= end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            if event == next {
                let (_, event) = self.events.pop_first().expect("it was there");
                self.happen(event);
            } else if receiver == next {
                let reply = self.receiver.on_timer(self.now).expect("a timer with a reason");
                self.answer(reply);
            } else {
                let timer = self.tcp.on_timer(self.now, &self.params);
                assert_eq!(timer, Timer::Timeout, "there is no other timer");
                if self.patient && self.timeouts.is_empty() {
                    self.check_timeout();
                }
                self.timeouts.push((self.now.0 / 1_000_000, self.edge));
            }
        }
    }

    /// The oldest segment was sent again in vain, or no segments around it within its run of one priority have arrived. Where
    /// every gap is asked for, the receiver has asked for all that is missing between such segments.
    fn check_timeout(&self) {
        let oldest = self.edge as usize;
        match gaps(&self.params) {
            Gaps::First => assert!(self.sent[oldest] > 1 || !self.is_between(oldest), "{oldest}: {:?}", self.segments),
            Gaps::Every => {
                (oldest..self.segments.len()).filter(|&seq| !self.held.contains(&(seq as u32))).for_each(|seq| {
                    assert!(self.asked.contains(&(seq as u32)) || !self.is_between(seq), "{seq}: {:?}", self.segments);
                })
            }
        }
    }

    /// Of its run of one priority first transmissions have arrived before a segment and beyond it.
    fn is_between(&self, seq: usize) -> bool {
        let alike = |other: &usize| self.segments[*other] == self.segments[seq];
        let arrived = |other: usize| self.arrived.contains(&(other as u32));
        let beyond = (seq + 1..self.segments.len()).take_while(alike).any(arrived);
        beyond && (0..seq).rev().take_while(alike).any(arrived)
    }

    fn later(&mut self, after: Time, event: Event) {
        self.nth_event += 1;
        self.events.insert((self.now + after, self.nth_event), event);
    }

    fn stamp(&self) -> u32 {
        (self.now.0 / 1_000) as u32
    }

    fn send(&mut self) {
        while let Some(emission) = self.tcp.poll(self.now, &self.params) {
            let Emission::Segment { seq, retransmission } = emission else { panic!("no handshake, no probes") };
            let span = *self.tcp.span(seq).expect("a segment of a message");
            let header = DataHeader { seq, message: span.message.id, last: seq + 1 == span.end, retransmission };
            let before = self.sent[seq as usize];
            assert_eq!(retransmission, before > 0);
            self.sent[seq as usize] += 1;
            // Who hears of every gap may know nothing of a run below it whose ACKs are lost.
            let acks_are_lost = self.acks_lost > 0 || !self.lose_acks.is_empty();
            let may_err = gaps(&self.params) == Gaps::Every && acks_are_lost;
            assert!(
                !retransmission || may_err || !self.timeouts.is_empty() || self.lost.contains(&(seq, before - 1)),
                "{seq} is sent again and was not lost: {:?}",
                self.lost
            );
            let chance = if retransmission { self.weather.twice } else { self.weather.lost };
            let lost_at = match self.lose.contains(&(seq, before)) {
                true => Some(1),
                false => self.weather.strikes(chance).then(|| self.weather.draw(2) as usize),
            };
            if lost_at.is_some() {
                self.lost.insert((seq, before));
            }
            let priority = if retransmission { 0 } else { self.segments[seq as usize].0 };
            self.enter(0, Packet { header, priority, stamp: self.stamp(), lost_at });
        }
    }

    /// A packet comes to a port, or to the receiver behind the last.
    fn enter(&mut self, port: usize, packet: Packet) {
        if packet.lost_at == Some(port) {
            return;
        }
        match self.ports.get_mut(port) {
            Some(Port { queues, .. }) => {
                queues[usize::from(packet.priority)].push_back(packet);
                self.serve(port);
            }
            None => self.arrive(packet),
        }
    }

    fn serve(&mut self, port: usize) {
        let Port { takes, queues, sending } = &mut self.ports[port];
        if sending.is_none() {
            *sending = queues.iter_mut().find_map(VecDeque::pop_front);
            if sending.is_some() {
                let takes = *takes;
                self.later(takes, Event::Sent(port));
            }
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Sent(port) => {
                let packet = self.ports[port].sending.take().expect("a packet was being sent");
                self.serve(port);
                self.enter(port + 1, packet);
            }
            Event::Ack((AckHeader { cumulative, block, marked, duplicate, gap }, stamp)) => {
                let round_trip = Time(u64::from(self.stamp().wrapping_sub(stamp)) * 1_000);
                let ack = Ack { cumulative, block, marked, duplicate, gap, round_trip };
                self.tcp.on_ack(self.now, &ack, &self.params);
                while let Some(span) = self.tcp.finished() {
                    self.finished.push(self.now.0 / 1_000_000);
                    self.found_lost += span.effort.found_lost;
                }
            }
        }
    }

    fn arrive(&mut self, Packet { header, priority, stamp, .. }: Packet) {
        let DataHeader { seq, message, last, retransmission } = header;
        if !retransmission {
            self.arrived.insert(seq);
        }
        self.held.insert(seq);
        let rule = AckRule {
            every: self.params.ack_every,
            quick: self.params.quick_acks,
            delay: self.params.delayed_ack,
            span: self.params.kept(),
        };
        let data = Arrival { seq, message, last, retransmission, marked: false, priority, stamp };
        let reaction = self.receiver.on_data(self.now, &data, rule);
        while let Some((message, _)) = self.receiver.complete() {
            self.delivered.push(message);
        }
        for reply in reaction.replies.into_iter().flatten() {
            self.answer(reply);
        }
        let (probe, _) = self.receiver.clone().on_probe(0);
        self.edge = probe.cumulative;
    }

    fn answer(&mut self, reply: Reply) {
        let (ack, _) = reply;
        if ack.gap == GapReport::Retransmit {
            for seq in self.gap_of(&ack) {
                assert!(self.lost.contains(&(seq, 0)), "{seq} was not lost: {:?}", self.lost);
                self.asked.insert(seq);
            }
        }
        self.acks += 1;
        if !self.lose_acks.contains(&(self.acks - 1)) && !self.weather.strikes(self.acks_lost) {
            self.later(BACK, Event::Ack(reply));
        }
    }

    /// What an ACK says is lost whose flag says that something is.
    fn gap_of(&self, ack: &AckHeader) -> Range<u32> {
        let edge = ack.cumulative;
        match gaps(&self.params) {
            Gaps::First => edge..edge + 1,
            Gaps::Every if ack.block.0 < ack.block.1 => {
                let below = self.held.range(..ack.block.0).next_back().expect("the first segment has arrived");
                below + 1..ack.block.0
            }
            Gaps::Every => edge..*self.held.range(edge..).next().expect("there is a gap"),
        }
    }
}

fn gaps(params: &TcpParams) -> Gaps {
    match params.loss_detection {
        LossDetection::ByPriority(gaps) => gaps,
        other => panic!("{other:?} compares no priorities"),
    }
}
