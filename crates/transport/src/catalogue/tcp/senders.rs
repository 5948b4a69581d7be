//! The sending sides of a host's connections, and which of them a message takes.

use std::collections::{BTreeMap, BTreeSet};

use flowsieve_core::meta::Ecn;
use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::{Kind, NONE, Tagger, Time};

use crate::endpoint::BaseRoundTrips;
use crate::packet::Packet;
use crate::tcp::alarms::{Alarm, Alarms};
use crate::tcp::header::{Beside, DataHeader, stamp};
use crate::tcp::line::{Line, NicOrder, Urgency};
use crate::tcp::messages::Span;
use crate::tcp::rules::{Connections, Handshake, TcpRules};
use crate::tcp::sender::{Emission, TcpSender};

/// The sending sides of a host and class. The fields that every packet touches are first.
#[repr(C)]
pub(super) struct Senders {
    /// By the slot that travels in packets.
    pub(super) connections: Vec<Connection>,
    /// Connections that may send.
    pub(super) ready: Line,
    /// By destination.
    pairs: BTreeMap<u16, Pair>,
    /// Free slots of closed connections.
    closed: Vec<u32>,
}

/// Connections to another host.
#[derive(Default)]
struct Pair {
    /// Whether a connection to it was ever opened.
    opened: bool,
    /// (first message, slot) of connections without a message; a persistent one is always in it.
    idle: BTreeSet<(u32, u32)>,
}

/// The sending side of a connection.
pub(super) struct Connection {
    pub(super) tcp: TcpSender,
    /// The message that opened it, and the flow that its packets belong to; [`NONE`] once closed.
    pub(super) flow: u32,
    /// The slot of its receiving side at the other host, from its first ACK; [`NONE`] before.
    pub(super) receiver: u32,
    peer: u16,
    /// Whether it is in [`Senders::ready`].
    ready: bool,
    /// The instant of its entry among the alarms; [`Time::NEVER`] if it has none.
    pub(super) alarm: Time,
}

impl Senders {
    pub(super) fn new(order: NicOrder) -> Senders {
        Senders { connections: Vec::new(), ready: Line::new(order), pairs: BTreeMap::new(), closed: Vec::new() }
    }

    /// Returns the connection that a packet names, unless it is closed.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, slot: u32, flow: u32) -> Option<&mut Connection> {
        self.connections.get_mut(slot as usize).filter(|connection| connection.flow == flow && flow != NONE)
    }

    /// Returns the slot of the connection that a message takes, and opens it if necessary.
    pub(super) fn take(
        &mut self,
        rules: &TcpRules,
        round_trips: Option<&BaseRoundTrips>,
        peer: u16,
        message: u32,
    ) -> u32 {
        let pair = self.pairs.entry(peer).or_default();
        let found = match rules.connections {
            Connections::PerFlow => None,
            Connections::Pool | Connections::Warm => pair.idle.pop_first(),
            Connections::Persistent => pair.idle.first().copied(),
        };
        if let Some((_, slot)) = found {
            return slot;
        }
        let handshake = match rules.handshake {
            Handshake::Never => false,
            Handshake::Cold => pair.opened,
            Handshake::Always => true,
        };
        pair.opened = true;
        let mut tcp = TcpSender::new(handshake, &rules.params);
        if let Some(to) = round_trips {
            tcp.know_round_trip(to(peer), &rules.params);
        }
        let connection = Connection { tcp, flow: message, receiver: NONE, peer, ready: false, alarm: Time::NEVER };
        let slot = match self.closed.pop() {
            Some(slot) => {
                self.connections[slot as usize] = connection;
                slot
            }
            None => {
                self.connections.push(connection);
                self.connections.len() as u32 - 1
            }
        };
        if rules.connections == Connections::Persistent {
            pair.idle.insert((message, slot));
        }
        slot
    }

    /// Lines a connection up for a turn. One that is in line moves to where its next packet belongs now.
    pub(super) fn line_up(&mut self, now: Time, rules: &TcpRules, tagger: &Tagger, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        match &mut self.ready {
            Line::Turns(ready) if !connection.ready => ready.push_back(slot),
            Line::Turns(_) => {}
            Line::Ranked(line) => line.put(slot, connection.urgency(now, rules, tagger)),
        }
        connection.ready = true;
    }

    /// Puts every connection in line where it belongs, since the tagger has heard of something.
    pub(super) fn rank_again(&mut self, now: Time, rules: &TcpRules, tagger: &Tagger) {
        if let Line::Ranked(line) = &mut self.ready {
            for slot in line.all() {
                line.put(slot, self.connections[slot as usize].urgency(now, rules, tagger));
            }
        }
    }

    /// Puts a connection that has used its turn back in line.
    #[inline]
    pub(super) fn put_back(&mut self, now: Time, rules: &TcpRules, tagger: &Tagger, slot: u32) {
        match &mut self.ready {
            Line::Turns(ready) => ready.push_back(slot),
            Line::Ranked(line) => line.put(slot, self.connections[slot as usize].urgency(now, rules, tagger)),
        }
    }

    /// Removes a connection that wants no further turn from the line.
    pub(super) fn leave_line(&mut self, rules: &TcpRules, slot: u32) {
        self.connections[slot as usize].ready = false;
        self.close_if_done(rules, slot);
    }

    /// Handles a connection that has no message any more. Returns whether that closes it.
    pub(super) fn idle(&mut self, rules: &TcpRules, slot: u32) -> bool {
        let connection = &self.connections[slot as usize];
        match rules.connections {
            Connections::Persistent => false,
            Connections::Pool | Connections::Warm => {
                self.pairs.entry(connection.peer).or_default().idle.insert((connection.flow, slot));
                false
            }
            Connections::PerFlow => self.close_if_done(rules, slot),
        }
    }

    /// Closes a connection of one message with its message, unless it is still in line.
    fn close_if_done(&mut self, rules: &TcpRules, slot: u32) -> bool {
        let connection = &mut self.connections[slot as usize];
        let done = rules.connections == Connections::PerFlow && !connection.ready && connection.tcp.is_idle();
        if done {
            connection.flow = NONE;
            self.closed.push(slot);
        }
        done
    }
}

impl Connection {
    /// Adds an entry among the alarms if the connection's timer is earlier than the present entry.
    #[inline(always)]
    pub(super) fn set_alarm(&mut self, alarms: &mut Alarms, slot: u32) {
        let at = self.tcp.deadline();
        if at < self.alarm {
            self.alarm = at;
            alarms.push(at, Alarm::Sender { flow: self.flow, slot });
        }
    }

    /// Returns how urgent its next packet is. What carries no data is as urgent as any data, as its tag is.
    fn urgency(&self, now: Time, rules: &TcpRules, tagger: &Tagger) -> Urgency {
        let Some((seq, retransmission)) = self.tcp.next_segment(&rules.params) else {
            return Urgency { tag: 0, age: (Time::ZERO, self.flow) };
        };
        let span = self.tcp.span(seq).expect("the next segment is of a message");
        let facts = self.facts(now, rules, span, seq, retransmission);
        Urgency { tag: tagger.urgency(&facts), age: (tagger.began(&facts), span.message.id) }
    }

    /// Returns what a tagger has to know of a segment.
    #[inline(always)]
    fn facts(&self, now: Time, rules: &TcpRules, span: &Span, seq: u32, retransmission: bool) -> FlowFacts {
        let segment = rules.params.segment;
        FlowFacts {
            flow: self.flow,
            now,
            kind: Kind::Data,
            offset: span.offset(seq, segment),
            payload: span.payload(seq, segment).into(),
            remaining: self.tcp.remaining(span, &rules.params),
            retransmission,
            timeouts: span.effort.timeouts,
            ..FlowFacts::of(&span.message)
        }
    }

    /// Returns the sender's emission as a packet.
    #[inline(always)]
    pub(super) fn packet(
        &mut self,
        now: Time,
        rules: &TcpRules,
        tagger: &mut Tagger,
        slot: u32,
        emission: Emission,
    ) -> Packet {
        let segment = rules.params.segment;
        let beside = Beside { sender: slot, receiver: self.receiver, stamp: stamp(now) };
        match emission {
            Emission::Control(header) => {
                let tag = tagger.tag_control(|| FlowFacts::control(self.flow, Kind::Control, now));
                let packet = Packet {
                    peer: self.peer,
                    len: rules.header,
                    flow: self.flow,
                    kind: Kind::Control,
                    tag,
                    ..Packet::default()
                };
                header.write(beside, packet)
            }
            Emission::Segment { seq, retransmission } => {
                let span = self.tcp.span(seq).expect("the sender emits segments of its messages");
                let (message, payload) = (&span.message, span.payload(seq, segment));
                let tag = tagger.tag(|| self.facts(now, rules, span, seq, retransmission));
                let packet = Packet {
                    peer: self.peer,
                    len: payload + rules.header,
                    flow: self.flow,
                    coflow: message.coflow.unwrap_or(NONE),
                    kind: Kind::Data,
                    ecn: if rules.params.ecn { Ecn::Capable } else { Ecn::NotCapable },
                    tag,
                    ..Packet::default()
                };
                let last = seq + 1 == span.end;
                DataHeader { seq, message: message.id, last, retransmission }.write(beside, packet)
            }
        }
    }
}
