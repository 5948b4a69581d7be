//! A host's TCP connections of one class of flow: which connection a message takes, handshakes, timers, ACKs, turns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;

use flowsieve_core::meta::Ecn;
use flowsieve_core::tagger::{FlowEvent, FlowFacts, Tagger};
use flowsieve_core::{Kind, Meta, NONE, Time};

use crate::directory::Directory;
use crate::endpoint::{ALPHA, Acknowledged, Effects, HostEvent, Out, Timer, WINDOW};
use crate::header::Header;
use crate::messages::Message;
use crate::packet::{Body, Packet};
use crate::params::{Congestion, TcpParams};
use crate::receiver::{AckRule, Arrival, Receiver, Reply};
use crate::tcp::{self, Ack, Emission, TcpSender};

/// How messages share connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// Each message opens its own.
    PerFlow,
    /// One for each ordered host pair; messages queue on it.
    Persistent,
    /// An idle one of the host pair, or else a new one; messages never queue.
    Pool,
}

/// Which connections begin with a handshake of one round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// None.
    Never,
    /// All but the first of each host pair, which counts as opened before the run (ns-2's warmed connections).
    Cold,
    /// All.
    Always,
}

/// What holds at every host.
#[derive(Clone, Debug)]
pub struct TcpRules {
    params: TcpParams,
    acks: AckRule,
    connections: Connections,
    handshake: Handshake,
    /// Connections take turns, a packet each; or else each sends all it may at once.
    in_turn: bool,
    /// Bytes of headers.
    header: u16,
    class: u8,
}

impl TcpRules {
    /// The rules of a class of flow whose packets have so many bytes of headers.
    pub fn new(
        params: TcpParams,
        (connections, handshake): (Connections, Handshake),
        in_turn: bool,
        (header, class): (u16, u8),
    ) -> TcpRules {
        let acks = AckRule { every: params.ack_every, delay: params.delayed_ack, span: params.span() };
        TcpRules { params, acks, connections, handshake, in_turn, header, class }
    }
}

/// The connections of a host and class.
pub struct TcpEndpoint {
    rules: Arc<TcpRules>,
    /// Sending sides, by the index that travels in packets.
    connections: Vec<Connection>,
    /// Receiving sides, made when their first packet arrives, by the index that ACKs tell the sender.
    receivers: Vec<ReceiverState>,
    host: u16,
    /// The connection that the last call was about.
    touched: u32,
    timers: Timers,
    events: VecDeque<HostEvent>,
    /// Connections that want to send, in turn.
    ready: VecDeque<u32>,
    /// Receiving sides by flow, until their senders name them.
    directory: Directory,
    /// By destination.
    pairs: BTreeMap<u16, Pair>,
    closed: Vec<u32>,
}

/// Connections to another host.
#[derive(Default)]
struct Pair {
    /// Whether a connection was ever opened.
    opened: bool,
    /// (first message, connection) of those without a message.
    idle: BTreeSet<(u32, u32)>,
}

/// The sending side of a connection.
struct Connection {
    tcp: TcpSender,
    /// The message that opened it, and the flow that its packets belong to; [`NONE`] once closed.
    flow: u32,
    /// Index of its receiving side at its host, as soon as an ACK has told it.
    receiver: u32,
    dst: u16,
    /// It stands in [`TcpEndpoint::ready`].
    ready: bool,
    /// The instant of its entry among the timers; [`Time::NEVER`]: it has none.
    alarm: Time,
}

/// The receiving side of a connection, and how its ACKs find the sender.
struct ReceiverState {
    side: Receiver,
    flow: u32,
    sender: u32,
    src: u16,
    /// The instant of its entry among the timers; [`Time::NEVER`]: it has none.
    alarm: Time,
}

/// Whom a timer calls. The order at one instant does not depend on places in memory: flows are compared first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    /// A sending side.
    Sender { flow: u32, connection: u32 },
    /// A receiving side's delayed ACK.
    Receiver { flow: u32, place: u32 },
}

impl Alarm {
    fn order(self) -> u64 {
        match self {
            Alarm::Sender { flow, .. } => flow.into(),
            Alarm::Receiver { flow, .. } => 1 << 32 | u64::from(flow),
        }
    }
}

/// Wrapping nanoseconds, as timestamps carry them.
#[inline]
pub(crate) fn stamp(now: Time) -> u32 {
    (now.0 / 1_000) as u32
}

/// Facts of a packet that carries no payload.
fn control_facts(flow: u32, kind: Kind, now: Time) -> FlowFacts {
    FlowFacts { flow, kind, now, ..FlowFacts::default() }
}

/// Alarms. None is ever taken back: whoever it wakes too early sets another.
struct Timers {
    first: Time,
    heap: BinaryHeap<Reverse<(Time, Alarm)>>,
}

impl Timers {
    #[inline(never)]
    fn push(&mut self, at: Time, alarm: Alarm) {
        self.first = self.first.min(at);
        self.heap.push(Reverse((at, alarm)));
    }

    fn pop(&mut self, now: Time) -> Option<(Time, Alarm)> {
        let &Reverse(first) = self.heap.peek().filter(|first| first.0.0 <= now)?;
        self.heap.pop();
        self.first = self.heap.peek().map_or(Time::NEVER, |next| next.0.0);
        Some(first)
    }
}

impl Connection {
    /// The connection's timer may be earlier than its entry among the host's.
    #[inline(always)]
    fn set_alarm(&mut self, timers: &mut Timers, connection: u32) {
        let at = self.tcp.deadline();
        if at < self.alarm {
            self.alarm = at;
            timers.push(at, Alarm::Sender { flow: self.flow, connection });
        }
    }

    /// What the sender emits, as a packet.
    #[inline(always)]
    fn packet(
        &mut self,
        now: Time,
        rules: &TcpRules,
        (src, connection): (u16, u32),
        tagger: &mut Tagger,
        emission: Emission,
    ) -> Packet {
        let params = &rules.params;
        let (header, kind, payload, tag) = match emission {
            Emission::Control(header) => {
                let tag = tagger.tag(|| control_facts(self.flow, Kind::Control, now));
                (header, Kind::Control, 0, tag)
            }
            Emission::Segment { seq, retransmission } => {
                let span = *self.tcp.span(seq).expect("the sender emits segments of its messages");
                let tag = tagger.tag(|| FlowFacts {
                    flow: self.flow,
                    message: span.message.id,
                    coflow: span.message.coflow,
                    start: span.message.start,
                    now,
                    kind: Kind::Data,
                    offset: span.offset(seq, params.segment),
                    payload: span.payload(seq, params.segment).into(),
                    size: span.message.bytes,
                    remaining: self.tcp.remaining(&span, params),
                    retransmission,
                    timeouts: span.timeouts,
                    deadline: span.message.deadline,
                });
                let header =
                    Header::Data { seq, message: span.message.id, last: seq + 1 == span.end, retransmission };
                (header, Kind::Data, span.payload(seq, params.segment), tag)
            }
        };
        let meta = Meta {
            flow: self.flow,
            rank: tag.rank,
            priority: tag.priority,
            len: payload + rules.header,
            dst: self.dst,
            kind,
            ecn: if params.ecn && kind == Kind::Data { Ecn::Capable } else { Ecn::NotCapable },
            ..Meta::default()
        };
        let body = Body {
            header,
            sender: connection,
            receiver: self.receiver,
            stamp: stamp(now),
            src,
            class: rules.class,
        };
        Packet { meta, body }
    }
}

impl TcpEndpoint {
    /// A host's.
    pub fn new(rules: Arc<TcpRules>, host: u16) -> TcpEndpoint {
        TcpEndpoint {
            rules,
            connections: Vec::new(),
            receivers: Vec::new(),
            host,
            touched: NONE,
            timers: Timers { first: Time::NEVER, heap: BinaryHeap::new() },
            events: VecDeque::new(),
            ready: VecDeque::new(),
            directory: Directory::default(),
            pairs: BTreeMap::new(),
            closed: Vec::new(),
        }
    }

    /// The connection that a message takes, opened if need be.
    fn connection_for(&mut self, to: u16, flow: u32) -> u32 {
        let pair = self.pairs.entry(to).or_default();
        let found = match self.rules.connections {
            Connections::PerFlow => None,
            Connections::Pool => pair.idle.pop_first(),
            Connections::Persistent => pair.idle.first().copied(),
        };
        if let Some((_, connection)) = found {
            return connection;
        }
        let handshake = match self.rules.handshake {
            Handshake::Never => false,
            Handshake::Cold => pair.opened,
            Handshake::Always => true,
        };
        pair.opened = true;
        let state = Connection {
            tcp: TcpSender::new(handshake, &self.rules.params),
            flow,
            receiver: NONE,
            dst: to,
            ready: false,
            alarm: Time::NEVER,
        };
        let connection = match self.closed.pop() {
            Some(place) => {
                self.connections[place as usize] = state;
                place
            }
            None => {
                self.connections.push(state);
                self.connections.len() as u32 - 1
            }
        };
        if self.rules.connections == Connections::Persistent {
            // The one connection of the pair is always to be found here.
            pair.idle.insert((flow, connection));
        }
        connection
    }

    /// A connection may have something to send: it does so, or joins those that take turns.
    #[inline(always)]
    fn go<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O, connection: u32) -> bool {
        if self.rules.in_turn {
            self.line_up(connection);
            return true;
        }
        let state = &mut self.connections[connection as usize];
        while let Some(emission) = state.tcp.poll(now, &self.rules.params) {
            out.send(state.packet(now, &self.rules, (self.host, connection), tagger, emission));
        }
        state.set_alarm(&mut self.timers, connection);
        false
    }

    #[inline(never)]
    fn line_up(&mut self, connection: u32) {
        self.touched = connection;
        let state = &mut self.connections[connection as usize];
        if !state.ready {
            state.ready = true;
            self.ready.push_back(connection);
        }
    }

    /// An ACK or a SYN-ACK arrives.
    #[inline(always)]
    fn on_reply<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O, packet: &Packet) -> Effects {
        let body = &packet.body;
        let state = &mut self.connections[body.sender as usize];
        if state.flow != packet.meta.flow {
            return Effects::NONE; // for a connection that is closed
        }
        state.receiver = body.receiver;
        let params = &self.rules.params;
        let mut events = false;
        match body.header {
            Header::Ack { cumulative, block, marked, duplicate } => {
                let round_trip = Time(u64::from(stamp(now).wrapping_sub(body.stamp)) * 1_000);
                let ack = Ack { cumulative, block, marked, duplicate, round_trip };
                state.tcp.on_ack(now, &ack, params);
                if state.tcp.has_finished() {
                    events = true;
                    if self.finish_messages(now, tagger, body.sender) {
                        return Effects { events: true, ..Effects::NONE };
                    }
                }
            }
            _ => state.tcp.on_syn_ack(now, params),
        }
        Effects { events, sends: self.go(now, tagger, out, body.sender) }
    }

    /// Reports finished messages; says whether the connection is closed with the last of them.
    #[inline(never)]
    fn finish_messages(&mut self, now: Time, tagger: &mut Tagger, connection: u32) -> bool {
        let state = &mut self.connections[connection as usize];
        while let Some(span) = state.tcp.finished() {
            let ends = FlowEvent::MessageEnd { flow: state.flow, message: span.message.id, size: span.message.bytes };
            tagger.on_event(&ends, now);
            let (retransmissions, timeouts) = (span.retransmissions, span.timeouts);
            let acknowledged = Some(Acknowledged { retransmissions, timeouts });
            self.events.push_back(HostEvent::Ended { flow: state.flow, message: span.message, acknowledged });
        }
        if !state.tcp.is_idle() {
            return false;
        }
        match self.rules.connections {
            Connections::Persistent => false,
            Connections::Pool => {
                self.pairs.entry(state.dst).or_default().idle.insert((state.flow, connection));
                false
            }
            Connections::PerFlow => self.close_if_done(connection),
        }
    }

    /// A connection of one message ends with it, unless it still stands in line.
    fn close_if_done(&mut self, connection: u32) -> bool {
        let state = &mut self.connections[connection as usize];
        let done = self.rules.connections == Connections::PerFlow && !state.ready && state.tcp.is_idle();
        if done {
            state.flow = NONE;
            self.closed.push(connection);
        }
        done
    }

    /// Data, a probe or a SYN arrives.
    #[inline(always)]
    fn on_request<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O, packet: &Packet) -> Effects {
        let body = &packet.body;
        let place = match body.receiver {
            NONE => self.receiver(packet.meta.flow, body.sender, body.src),
            place => place,
        };
        let state = &mut self.receivers[place as usize];
        let (replies, kind, events) = match body.header {
            Header::Data { seq, message, last, retransmission } => {
                let marked = packet.meta.ecn == Ecn::Marked;
                let data = Arrival { seq, message, last, retransmission, marked, stamp: body.stamp };
                let reaction = state.side.on_data(now, &data, self.rules.acks);
                let mut events = false;
                if reaction.advanced {
                    while let Some((message, out_of_order)) = state.side.complete() {
                        self.events.push_back(HostEvent::Delivered { message, out_of_order });
                        events = true;
                    }
                }
                state.set_alarm(&mut self.timers, place);
                (reaction.replies, Kind::Ack, events)
            }
            Header::Probe => ([None, Some(state.side.on_probe(body.stamp))], Kind::Ack, false),
            Header::Syn => ([None, Some((Header::SynAck, body.stamp))], Kind::Control, false),
            _ => return Effects::NONE,
        };
        let [held_back, reply] = replies;
        if let Some(held_back) = held_back {
            self.answer_late(now, tagger, out, place, held_back);
        }
        if let Some(reply) = reply {
            self.answer(now, tagger, out, place, (reply, kind));
        }
        Effects { events, sends: false }
    }

    /// The place of the receiving side that a packet is for whose sender does not know it yet, made if it is the first.
    #[inline(never)]
    fn receiver(&mut self, flow: u32, sender: u32, src: u16) -> u32 {
        if let Some(place) = self.directory.get(flow) {
            return place;
        }
        let place = self.receivers.len() as u32;
        self.directory.insert(flow, place);
        self.receivers.push(ReceiverState {
            side: Receiver::default(),
            flow,
            sender,
            src,
            alarm: Time::NEVER,
        });
        place
    }

    #[inline(always)]
    fn answer<O: Out + ?Sized>(
        &self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        place: u32,
        ((header, stamp), kind): (Reply, Kind),
    ) {
        let state = &self.receivers[place as usize];
        let tag = tagger.tag(|| control_facts(state.flow, kind, now));
        let meta = Meta {
            flow: state.flow,
            rank: tag.rank,
            priority: tag.priority,
            len: self.rules.header,
            dst: state.src,
            kind,
            ..Meta::default()
        };
        let (sender, receiver, class) = (state.sender, place, self.rules.class);
        out.send(Packet { meta, body: Body { header, sender, receiver, stamp, src: self.host, class } });
    }

    /// Sends an ACK that was held back.
    #[inline(never)]
    fn answer_late<O: Out + ?Sized>(&self, now: Time, tagger: &mut Tagger, out: &mut O, place: u32, reply: Reply) {
        self.answer(now, tagger, out, place, (reply, Kind::Ack));
    }

    /// As [`crate::Endpoint::begin`].
    pub(crate) fn begin<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        to: u16,
        message: &Message,
    ) -> Effects {
        let connection = self.connection_for(to, message.id);
        let state = &mut self.connections[connection as usize];
        let (flow, idle) = (state.flow, state.tcp.idle_for(now));
        state.tcp.push(now, *message, &self.rules.params);
        tagger.on_event(&FlowEvent::MessageStart { flow, message: message.id, size: message.bytes, idle }, now);
        self.events.push_back(HostEvent::Begun { flow, message: *message });
        Effects { events: true, sends: self.go(now, tagger, out, connection) }
    }

    /// As [`crate::Endpoint::receive`].
    #[inline(always)]
    pub(crate) fn receive<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        packet: &Packet,
    ) -> Effects {
        match packet.body.header {
            Header::Ack { .. } | Header::SynAck => self.on_reply(now, tagger, out, packet),
            _ => self.on_request(now, tagger, out, packet),
        }
    }

    /// As [`crate::Endpoint::on_timer`].
    #[inline(never)]
    pub(crate) fn on_timer<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O) -> Effects {
        let Some((at, alarm)) = self.timers.pop(now) else { return Effects::NONE };
        match alarm {
            Alarm::Sender { flow, connection } => {
                let state = &mut self.connections[connection as usize];
                if state.flow != flow || state.alarm != at {
                    return Effects::NONE;
                }
                state.alarm = Time::NEVER;
                if state.tcp.deadline() > now {
                    state.set_alarm(&mut self.timers, connection);
                    return Effects::NONE;
                }
                let events = state.tcp.on_timer(now, &self.rules.params) == tcp::Timer::Timeout;
                if events {
                    tagger.on_event(&FlowEvent::Timeout { flow }, now);
                    self.events.push_back(HostEvent::Timeout { flow });
                }
                Effects { events, sends: self.go(now, tagger, out, connection) }
            }
            Alarm::Receiver { place, .. } => {
                let state = &mut self.receivers[place as usize];
                if state.alarm != at {
                    return Effects::NONE;
                }
                state.alarm = Time::NEVER;
                let reply = state.side.on_timer(now);
                state.set_alarm(&mut self.timers, place);
                if let Some(reply) = reply {
                    self.answer_late(now, tagger, out, place, reply);
                }
                Effects::NONE
            }
        }
    }

    /// As [`crate::Endpoint::next_timer`].
    #[inline(always)]
    pub(crate) fn next_timer(&mut self) -> Timer {
        if self.touched != NONE {
            self.settle();
        }
        let order = self.timers.heap.peek().map_or(u64::MAX, |first| first.0.1.order());
        Timer { at: self.timers.first, order }
    }

    /// The connection that took a place in line may need its timer even if it had no turn.
    #[inline(never)]
    fn settle(&mut self) {
        let touched = std::mem::replace(&mut self.touched, NONE);
        self.connections[touched as usize].set_alarm(&mut self.timers, touched);
    }

    /// As [`crate::Endpoint::turns`].
    #[inline]
    pub(crate) fn turns(&self) -> u32 {
        self.ready.len() as u32
    }

    /// As [`crate::Endpoint::poll`].
    #[inline]
    pub(crate) fn poll<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O) {
        let Some(connection) = self.ready.pop_front() else { return };
        let state = &mut self.connections[connection as usize];
        let Some(emission) = state.tcp.poll(now, &self.rules.params) else {
            state.ready = false;
            self.close_if_done(connection);
            return;
        };
        out.send(state.packet(now, &self.rules, (self.host, connection), tagger, emission));
        state.set_alarm(&mut self.timers, connection);
        self.ready.push_back(connection);
    }

    #[inline]
    pub(crate) fn poll_event(&mut self) -> Option<HostEvent> {
        self.events.pop_front()
    }

    pub(crate) fn observe(&self, see: &mut dyn FnMut(u32, &[(&'static str, f64)])) {
        let params = &self.rules.params;
        let estimates = matches!(params.congestion, Congestion::Dctcp { .. } | Congestion::D2tcp { .. });
        for connection in self.connections.iter().filter(|c| c.flow != NONE && !c.tcp.is_idle()) {
            let values = [(WINDOW, connection.tcp.congestion_window()), (ALPHA, connection.tcp.alpha())];
            see(connection.flow, if estimates { &values } else { &values[..1] });
        }
    }
}

impl ReceiverState {
    #[inline(always)]
    fn set_alarm(&mut self, timers: &mut Timers, place: u32) {
        if let Some(at) = self.side.deadline().filter(|&at| at < self.alarm) {
            self.alarm = at;
            timers.push(at, Alarm::Receiver { flow: self.flow, place });
        }
    }
}
