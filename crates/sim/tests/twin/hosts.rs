//! The twin's hosts: messages, connections, timers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use flowsieve_core::meta::Ecn;
use flowsieve_core::tagger::{FlowEvent, FlowFacts, Tagger};
use flowsieve_core::{Kind, Meta, PortScheduler, Time};
use flowsieve_schemes::Scheme;
use flowsieve_schemes::scheme::{Connections, Handshake, Nic, Transport};
use flowsieve_transport::receiver::{AckRule, Arrival, Reply};
use flowsieve_transport::tcp::{Ack, Emission};
use flowsieve_transport::{Header, Message, OpenLoopReceiver, Receiver, TcpParams, TcpSender};
use flowsieve_workload::Flow;

use crate::engine::{Body, Event, Twin};

/// Whom a timer wakes; the order is that of timers of one host at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    Nic,
    Sender(u32),
    Receiver(u32),
}

pub(crate) struct Host {
    pub(crate) taggers: Vec<Tagger>,
    /// By destination and class: whether a connection was opened before, and those that stand idle (or, where there is
    /// one for all messages, that one).
    pairs: BTreeMap<(u32, u8), (bool, BTreeSet<u32>)>,
    /// Connections that wait for their turn at a backpressured port.
    ring: VecDeque<u32>,
    /// The port's alarm is set.
    waits: bool,
}

impl Host {
    pub(crate) fn new(scheme: &Scheme, number: u32) -> Host {
        let taggers = scheme.taggers(number);
        Host { taggers, pairs: BTreeMap::new(), ring: VecDeque::new(), waits: false }
    }
}

pub(crate) struct Connection {
    tcp: TcpSender,
    src: usize,
    dst: u32,
    class: u8,
    in_ring: bool,
}

pub(crate) enum Side {
    Acknowledging(Receiver),
    Counting(OpenLoopReceiver),
}

/// What is known of a message at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) acknowledged: Option<u64>,
    pub(crate) arrived: Option<u64>,
    pub(crate) retransmissions: u32,
    pub(crate) timeouts: u32,
    pub(crate) out_of_order: u32,
}

/// When a message should have finished.
fn due(flow: &Flow) -> Option<Time> {
    flow.deadline_ps.map(|after| Time(flow.start_ps + after.get()))
}

fn plain(flow: u32, kind: Kind) -> FlowFacts {
    FlowFacts { flow, kind, ..FlowFacts::default() }
}

impl<'a> Twin<'a> {
    fn stamp(&self) -> u32 {
        (self.now.0 / 1_000) as u32
    }

    fn transport(&self, class: u8) -> &'a Transport {
        &self.point.scheme.classes[usize::from(class)].transport
    }

    fn params(&self, class: u8) -> &'a TcpParams {
        match self.transport(class) {
            Transport::Tcp(params) => params,
            Transport::OpenLoop { .. } => panic!("class {class} has no connections"),
        }
    }

    pub(crate) fn on_start(&mut self, message: usize) {
        let flow = self.messages[message];
        let class = flow.class.min(self.point.scheme.classes.len() as u8 - 1);
        if let Transport::OpenLoop { segment } = *self.transport(class) {
            return self.send_everything(message, class, u64::from(segment));
        }
        let (opened, idle) = self.hosts[flow.src as usize].pairs.entry((flow.dst, class)).or_default();
        let reused = match self.point.scheme.connections {
            Connections::PerFlow => None,
            Connections::Pool => idle.pop_first(),
            Connections::Persistent => idle.first().copied(),
        };
        let connection = reused.unwrap_or(flow.id);
        if reused.is_none() {
            let handshake = match self.point.scheme.handshake {
                Handshake::Never => false,
                Handshake::Cold => *opened,
                Handshake::Always => true,
            };
            *opened = true;
            if self.point.scheme.connections == Connections::Persistent {
                idle.insert(flow.id);
            }
            let tcp = TcpSender::new(handshake, self.params(class));
            let src = flow.src as usize;
            self.connections.insert(flow.id, Connection { tcp, src, dst: flow.dst, class, in_ring: false });
        }
        let params = self.params(class);
        let now = self.now;
        let due = due(&flow);
        let tcp = &mut self.connection(connection).tcp;
        let idle = tcp.idle_for(now);
        let (id, size) = (message as u32, flow.bytes);
        let start = Time(flow.start_ps);
        tcp.push(now, Message { id, bytes: size, start, deadline: due, coflow: flow.coflow }, params);
        let begins = FlowEvent::MessageStart { flow: connection, message: id, size, idle };
        self.hosts[flow.src as usize].taggers[usize::from(class)].on_event(&begins, now);
        self.send(connection);
    }

    fn connection(&mut self, flow: u32) -> &mut Connection {
        self.connections.get_mut(&flow).expect("a connection that is open")
    }

    fn send_everything(&mut self, message: usize, class: u8, segment: u64) {
        let flow = self.messages[message];
        let packets = flow.bytes.div_ceil(segment);
        for seq in 0..packets {
            let offset = seq * segment;
            let payload = (flow.bytes - offset).min(segment) as u16;
            let facts = FlowFacts {
                message: flow.id,
                now: self.now,
                offset,
                payload: payload.into(),
                size: flow.bytes,
                remaining: flow.bytes,
                start: Time(flow.start_ps),
                deadline: due(&flow),
                coflow: flow.coflow,
                ..plain(flow.id, Kind::Data)
            };
            let header = Header::Data {
                seq: seq as u32,
                message: message as u32,
                last: seq + 1 == packets,
                retransmission: false,
            };
            self.emit(flow.src as usize, flow.dst, class, facts, (header, self.stamp()), payload, false);
        }
        let ends = FlowEvent::MessageEnd { flow: flow.id, message: flow.id, size: flow.bytes };
        self.hosts[flow.src as usize].taggers[usize::from(class)].on_event(&ends, self.now);
    }

    /// A packet leaves its host's hands.
    #[allow(clippy::too_many_arguments)]
    fn emit(
        &mut self,
        src: usize,
        dst: u32,
        class: u8,
        facts: FlowFacts,
        (header, stamp): Reply,
        payload: u16,
        ecn: bool,
    ) {
        let tag = self.hosts[src].taggers[usize::from(class)].tag(|| facts);
        let meta = Meta {
            flow: facts.flow,
            tag,
            len: self.point.framing.header + payload,
            dst: dst as u16,
            kind: facts.kind,
            ecn: if ecn { Ecn::Capable } else { Ecn::NotCapable },
            ..Meta::default()
        };
        let packet = self.new_packet(meta, Body { header, src, class, stamp, word: None });
        self.enqueue(self.point.fabric.host_uplink[src] as usize, packet);
    }

    fn send(&mut self, flow: u32) {
        if let Nic::Backpressure { .. } = self.point.scheme.nic {
            let connection = self.connection(flow);
            let src = connection.src;
            if !std::mem::replace(&mut connection.in_ring, true) {
                self.hosts[src].ring.push_back(flow);
            }
            self.serve_ring(src);
        } else {
            while self.send_one(flow) {}
        }
        self.arm(flow);
    }

    /// Connections take turns, a packet each, while the port's backlog is below the limit.
    fn serve_ring(&mut self, src: usize) {
        let Nic::Backpressure { backlog: limit } = self.point.scheme.nic else { return };
        let uplink = self.point.fabric.host_uplink[src] as usize;
        while let Some(&flow) = self.hosts[src].ring.front() {
            let port = &self.ports[uplink];
            let backlog = port.scheduler.backlog_bytes();
            if backlog >= limit {
                let surplus = (backlog - limit / 2) as u32;
                let at = port.busy_until + self.point.fabric.links[uplink].rate.serialise(surplus);
                if !std::mem::replace(&mut self.hosts[src].waits, true) {
                    self.at(at, Event::Timer { host: src, alarm: Alarm::Nic });
                }
                return;
            }
            self.hosts[src].ring.pop_front();
            if self.send_one(flow) {
                self.hosts[src].ring.push_back(flow);
                self.arm(flow);
            } else {
                self.connection(flow).in_ring = false;
                self.close_if_over(flow);
            }
        }
    }

    fn send_one(&mut self, flow: u32) -> bool {
        let now = self.now;
        let Some(class) = self.connections.get(&flow).map(|connection| connection.class) else { return false };
        let params = self.params(class);
        let connection = self.connection(flow);
        let (src, dst) = (connection.src, connection.dst);
        let (facts, header, payload) = match connection.tcp.poll(now, params) {
            None => return false,
            Some(Emission::Control(header)) => (plain(flow, Kind::Control), header, 0),
            Some(Emission::Segment { seq, retransmission }) => {
                let span = *connection.tcp.span(seq).expect("a segment belongs to a message");
                let facts = FlowFacts {
                    message: span.message.id,
                    now,
                    offset: span.offset(seq, params.segment),
                    payload: span.payload(seq, params.segment).into(),
                    size: span.message.bytes,
                    remaining: connection.tcp.remaining(&span, params),
                    retransmission,
                    timeouts: span.timeouts,
                    start: span.message.start,
                    deadline: span.message.deadline,
                    coflow: span.message.coflow,
                    ..plain(flow, Kind::Data)
                };
                let last = seq + 1 == span.end;
                let header = Header::Data { seq, message: span.message.id, last, retransmission };
                (facts, header, span.payload(seq, params.segment))
            }
        };
        let ecn = params.ecn && facts.kind == Kind::Data;
        self.emit(src, dst, class, facts, (header, self.stamp()), payload, ecn);
        true
    }

    fn arm(&mut self, flow: u32) {
        if let Some(connection) = self.connections.get(&flow) {
            let (host, alarm) = (connection.src, Alarm::Sender(flow));
            self.at(connection.tcp.deadline(), Event::Timer { host, alarm });
        }
    }

    pub(crate) fn on_timer(&mut self, host: usize, alarm: Alarm) {
        let now = self.now;
        match alarm {
            Alarm::Nic => {
                self.hosts[host].waits = false;
                self.serve_ring(host);
            }
            Alarm::Sender(flow) => {
                let due = |connection: &Connection| connection.tcp.deadline() <= now;
                if self.connections.get(&flow).is_some_and(due) {
                    let params = self.params(self.connections[&flow].class);
                    self.connection(flow).tcp.on_timer(now, params);
                    self.send(flow);
                }
            }
            Alarm::Receiver(flow) => {
                let reply = match self.receivers.get_mut(&flow) {
                    Some(Side::Acknowledging(receiver)) => receiver.on_timer(now),
                    _ => None,
                };
                if let Some(reply) = reply {
                    // The message that opened the connection went from its source to this host.
                    let Some(message) = self.messages.iter().find(|message| message.id == flow) else { return };
                    let class = message.class.min(self.point.scheme.classes.len() as u8 - 1);
                    self.emit(host, message.src, class, plain(flow, Kind::Ack), reply, 0, false);
                }
            }
        }
    }

    pub(crate) fn on_packet(&mut self, host: usize, packet: u32) {
        let Body { header, src, class, stamp, .. } = self.bodies[packet as usize];
        let meta = self.meta(packet);
        let flow = meta.flow;
        if let Header::Ack { .. } | Header::SynAck = header {
            return self.on_answer(flow, header, stamp);
        }
        let now = self.now;
        let rule = match self.transport(class) {
            Transport::Tcp(tcp) => Some(AckRule { every: tcp.ack_every, delay: tcp.delayed_ack, span: tcp.span() }),
            Transport::OpenLoop { .. } => None,
        };
        let side = self.receivers.entry(flow).or_insert_with(|| match rule {
            Some(_) => Side::Acknowledging(Receiver::default()),
            None => Side::Counting(OpenLoopReceiver::default()),
        });
        let mut replies = Vec::new();
        match (side, header) {
            (Side::Counting(receiver), Header::Data { seq, message, last, retransmission }) => {
                let data = Arrival { seq, message, last, retransmission, marked: false, stamp };
                if let Some(out_of_order) = receiver.on_data(&data) {
                    let record = &mut self.records[message as usize];
                    (record.arrived, record.out_of_order) = (Some(now.0), out_of_order);
                }
            }
            (Side::Counting(_), _) => {}
            (Side::Acknowledging(receiver), Header::Data { seq, message, last, retransmission }) => {
                let marked = meta.ecn == Ecn::Marked;
                let data = Arrival { seq, message, last, retransmission, marked, stamp };
                let rule = rule.expect("a class with connections");
                let reaction = receiver.on_data(now, &data, rule);
                while let Some((message, out_of_order)) = receiver.complete() {
                    let record = &mut self.records[message as usize];
                    (record.arrived, record.out_of_order) = (Some(now.0), out_of_order);
                }
                let due = receiver.deadline().unwrap_or(Time::NEVER);
                self.at(due, Event::Timer { host, alarm: Alarm::Receiver(flow) });
                replies.extend(reaction.replies.into_iter().flatten().map(|reply| (Kind::Ack, reply)));
            }
            (Side::Acknowledging(receiver), Header::Probe) => replies.push((Kind::Ack, receiver.on_probe(stamp))),
            (Side::Acknowledging(_), _) => replies.push((Kind::Control, (Header::SynAck, stamp))),
        }
        for (kind, reply) in replies {
            self.emit(host, src as u32, class, plain(flow, kind), reply, 0, false);
        }
    }

    fn on_answer(&mut self, flow: u32, header: Header, echo: u32) {
        let (now, stamp) = (self.now, self.stamp());
        let Some(class) = self.connections.get(&flow).map(|connection| connection.class) else { return };
        let params = self.params(class);
        let tcp = &mut self.connection(flow).tcp;
        if let Header::Ack { cumulative, block, marked, duplicate } = header {
            let round_trip = Time::from_ns(u64::from(stamp.wrapping_sub(echo)));
            tcp.on_ack(now, &Ack { cumulative, block, marked, duplicate, round_trip }, params);
            if self.finish(flow) {
                return;
            }
        } else {
            tcp.on_syn_ack(now, params);
        }
        self.send(flow);
    }

    /// Records what is finished; whether the connection is gone with it.
    fn finish(&mut self, flow: u32) -> bool {
        let mut any = false;
        while let Some(span) = self.connection(flow).tcp.finished() {
            any = true;
            let now = self.now.0;
            let record = &mut self.records[span.message.id as usize];
            record.acknowledged = Some(now);
            (record.retransmissions, record.timeouts) = (span.retransmissions, span.timeouts);
            let Connection { src, class, .. } = *self.connection(flow);
            let ends = FlowEvent::MessageEnd { flow, message: span.message.id, size: span.message.bytes };
            self.hosts[src].taggers[usize::from(class)].on_event(&ends, self.now);
            self.follow(span.message.id);
        }
        let Connection { src, dst, class, .. } = *self.connection(flow);
        if !any || !self.connection(flow).tcp.is_idle() {
            return false;
        }
        if self.point.scheme.connections == Connections::Pool {
            self.hosts[src].pairs.entry((dst, class)).or_default().1.insert(flow);
        }
        self.close_if_over(flow)
    }

    /// A connection of one message is closed with it, once it has left the ring.
    fn close_if_over(&mut self, flow: u32) -> bool {
        let connection = self.connection(flow);
        let over = !connection.in_ring && connection.tcp.is_idle();
        let closes = over && self.point.scheme.connections == Connections::PerFlow;
        if closes {
            self.connections.remove(&flow);
        }
        closes
    }
}
