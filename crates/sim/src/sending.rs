//! The sending side of hosts: which connection a message takes, and every packet that leaves a host.

use flowsieve_core::meta::Ecn;
use flowsieve_core::tagger::{FlowEvent, FlowFacts};
use flowsieve_core::{Kind, Meta, NONE, PortScheduler, Time};
use flowsieve_schemes::scheme::{Connections, Handshake, Transport};
use flowsieve_transport::tcp::{Ack, Emission, Timer};
use flowsieve_transport::{Header, Message, TcpParams, TcpSender};
use flowsieve_workload::Flow;

use crate::event::Key;
use crate::hosts::{Alarm, Coming, Connection, Host, Hosts, Sent};
use crate::network::Network;
use crate::slab::Body;
use crate::trace::Begun;

/// Wrapping nanoseconds, as timestamps carry them.
#[inline]
pub(crate) fn stamp(now: Time) -> u32 {
    (now.0 / 1_000) as u32
}

/// The parameters of a class that has connections.
macro_rules! tcp_params {
    ($hosts:expr, $class:expr) => {
        match &$hosts.rules.classes[usize::from($class)].transport {
            Transport::Tcp(params) => params,
            Transport::OpenLoop { .. } => return,
        }
    };
}

impl Hosts {
    /// A message begins.
    pub(crate) fn begin_message<K: Key>(&mut self, network: &mut Network<K>, coming: &Coming, source: u32) {
        let class = self.rules.class(coming.flow.class);
        if let Transport::OpenLoop { segment } = self.rules.classes[usize::from(class)].transport {
            self.note_begun(coming.flow.id, coming, segment);
            self.announce(network.now, coming, class, coming.flow.id, Time::NEVER);
            self.send_all(network, coming, class, segment);
            let Flow { id, bytes, .. } = coming.flow;
            let event = FlowEvent::MessageEnd { flow: id, message: id, size: bytes };
            self.hosts[coming.host as usize].taggers[usize::from(class)].on_event(&event, network.now);
            return;
        }
        let connection = self.connection_for(coming, class);
        let params = tcp_params!(self, class);
        let state = &mut self.connections[connection as usize];
        let idle = state.tcp.idle_for(network.now);
        let flow = state.flow;
        let Flow { id, bytes, start_ps, coflow, .. } = coming.flow;
        let message = Message { id, bytes, start: Time(start_ps), deadline: deadline(&coming.flow), coflow };
        state.tcp.push(network.now, message, params);
        let segment = params.segment;
        self.note_begun(flow, coming, segment);
        self.announce(network.now, coming, class, flow, idle);
        self.send(network, connection, source);
    }

    fn note_begun(&mut self, connection: u32, coming: &Coming, segment: u16) {
        if let Some(begun) = &mut self.begun {
            begun.push(Begun { connection, bytes: coming.flow.bytes, segment });
        }
    }

    fn announce(&mut self, now: Time, coming: &Coming, class: u8, flow: u32, idle: Time) {
        let event = FlowEvent::MessageStart { flow, message: coming.flow.id, size: coming.flow.bytes, idle };
        self.hosts[coming.host as usize].taggers[usize::from(class)].on_event(&event, now);
    }

    /// The connection that a message takes, opened if need be.
    fn connection_for(&mut self, coming: &Coming, class: u8) -> u32 {
        let key = (coming.flow.dst as u16, class);
        let pair = self.hosts[coming.host as usize].pairs.entry(key).or_default();
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
        let flow = coming.flow.id;
        let Transport::Tcp(params) = &self.rules.classes[usize::from(class)].transport else { return NONE };
        let state = Connection {
            tcp: TcpSender::new(handshake, params),
            flow,
            host: coming.host,
            receiver: coming.receiver,
            dst: coming.flow.dst as u16,
            class,
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
            let pair = self.hosts[coming.host as usize].pairs.entry(key).or_default();
            pair.idle.insert((flow, connection));
        }
        connection
    }

    /// Sends every packet of an open-loop message.
    fn send_all<K: Key>(&mut self, network: &mut Network<K>, coming: &Coming, class: u8, segment: u16) {
        let flow = coming.flow;
        let packets = flow.bytes.div_ceil(u64::from(segment)) as u32;
        let host = &mut self.hosts[coming.host as usize];
        for seq in 0..packets {
            let offset = u64::from(seq) * u64::from(segment);
            let payload = (flow.bytes - offset).min(u64::from(segment)) as u16;
            let tag = host.taggers[usize::from(class)].tag(|| FlowFacts {
                flow: flow.id,
                message: flow.id,
                coflow: flow.coflow,
                start: Time(flow.start_ps),
                now: network.now,
                kind: Kind::Data,
                offset,
                payload: payload.into(),
                size: flow.bytes,
                remaining: flow.bytes,
                retransmission: false,
                timeouts: 0,
                deadline: deadline(&flow),
            });
            let meta = Meta {
                flow: flow.id,
                coflow: flow.coflow.unwrap_or(NONE),
                tag,
                len: payload + self.rules.header,
                dst: flow.dst as u16,
                ..Meta::default()
            };
            let header = Header::Data { seq, message: flow.id, last: seq + 1 == packets, retransmission: false };
            let body = Body {
                header,
                sender: NONE,
                receiver: coming.receiver,
                stamp: stamp(network.now),
                src: host.number,
                class,
            };
            let packet = network.slab.insert(meta, body);
            network.enqueue(host.nic, packet);
        }
    }

    /// A connection may have something to send.
    #[inline(always)]
    pub(crate) fn send<K: Key>(&mut self, network: &mut Network<K>, connection: u32, source: u32) {
        if self.rules.backlog.is_some() {
            return self.send_in_turn(network, connection, source);
        }
        let state = &mut self.connections[connection as usize];
        let params = tcp_params!(self, state.class);
        let host = &mut self.hosts[state.host as usize];
        while let Some(emission) = state.tcp.poll(network.now, params) {
            emit(network, host, self.rules.header, (connection, state), params, emission);
        }
        state.set_alarm(network, host, connection, source);
    }

    /// The same where the host is backpressured.
    #[inline(never)]
    fn send_in_turn<K: Key>(&mut self, network: &mut Network<K>, connection: u32, source: u32) {
        let state = &mut self.connections[connection as usize];
        let host = state.host;
        if !state.ready {
            state.ready = true;
            self.hosts[host as usize].ready.push_back(connection);
        }
        self.pump(network, host, source);
        self.set_sender_alarm(network, connection, source);
    }

    /// Lets the host's connections send in turn while its port has room.
    pub(crate) fn pump<K: Key>(&mut self, network: &mut Network<K>, host: u32, source: u32) {
        let Some(limit) = self.rules.backlog else { return };
        let nic = self.hosts[host as usize].nic;
        network.advance(nic, network.now);
        loop {
            let Some(&connection) = self.hosts[host as usize].ready.front() else { return };
            let line = &network.links[nic as usize];
            let backlog = network.ports[nic as usize].scheduler.backlog_bytes();
            if backlog >= limit {
                // Half of it has left by then, so that the line never runs dry and the host is not woken for each packet.
                let surplus = backlog - limit / 2;
                let at = line.busy_until + line.byte_time.serialise(u32::try_from(surplus).unwrap_or(u32::MAX));
                let state = &mut self.hosts[host as usize];
                if !state.port_alarm {
                    state.port_alarm = true;
                    state.set_alarm(network, source, at, Alarm::Port);
                }
                return;
            }
            self.hosts[host as usize].ready.pop_front();
            if self.send_one(network, connection) {
                self.hosts[host as usize].ready.push_back(connection);
                self.set_sender_alarm(network, connection, source);
            } else {
                self.connections[connection as usize].ready = false;
                self.close_if_done(connection);
            }
        }
    }

    /// Sends the connection's next packet; `false` when it has none to send now.
    fn send_one<K: Key>(&mut self, network: &mut Network<K>, connection: u32) -> bool {
        let state = &mut self.connections[connection as usize];
        let Transport::Tcp(params) = &self.rules.classes[usize::from(state.class)].transport else { return false };
        let Some(emission) = state.tcp.poll(network.now, params) else { return false };
        let host = &mut self.hosts[state.host as usize];
        emit(network, host, self.rules.header, (connection, state), params, emission);
        true
    }

    /// A timer of the connection is due.
    pub(crate) fn on_sender_alarm<K: Key>(&mut self, network: &mut Network<K>, connection: u32, source: u32) {
        let state = &mut self.connections[connection as usize];
        let params = tcp_params!(self, state.class);
        if state.tcp.deadline() <= network.now {
            if state.tcp.on_timer(network.now, params) == Timer::Timeout {
                let event = FlowEvent::Timeout { flow: state.flow };
                self.hosts[state.host as usize].taggers[usize::from(state.class)].on_event(&event, network.now);
            }
            self.send(network, connection, source);
        } else {
            self.set_sender_alarm(network, connection, source);
        }
    }

    fn set_sender_alarm<K: Key>(&mut self, network: &mut Network<K>, connection: u32, source: u32) {
        let state = &mut self.connections[connection as usize];
        let host = &mut self.hosts[state.host as usize];
        state.set_alarm(network, host, connection, source);
    }

    /// An ACK or a SYN-ACK arrives.
    #[inline]
    pub(crate) fn on_reply<K: Key>(&mut self, network: &mut Network<K>, packet: u32, source: u32) {
        let body = network.slab.bodies[packet as usize];
        let flow = network.slab.metas[packet as usize].flow;
        network.slab.remove(packet);
        let state = &mut self.connections[body.sender as usize];
        if state.flow != flow {
            return; // for a connection that is closed
        }
        let params = tcp_params!(self, state.class);
        match body.header {
            Header::Ack { cumulative, block, marked, duplicate } => {
                let round_trip = Time(u64::from(stamp(network.now).wrapping_sub(body.stamp)) * 1_000);
                let ack = Ack { cumulative, block, marked, duplicate, round_trip };
                state.tcp.on_ack(network.now, &ack, params);
                if state.tcp.has_finished() && self.finish_messages(network, body.sender, source) {
                    return;
                }
            }
            _ => state.tcp.on_syn_ack(network.now, params),
        }
        self.send(network, body.sender, source);
    }

    /// Records finished messages, which others may follow; says whether the connection is closed with the last of them.
    #[inline(never)]
    fn finish_messages<K: Key>(&mut self, network: &mut Network<K>, connection: u32, source: u32) -> bool {
        let now = network.now;
        let state = &mut self.connections[connection as usize];
        while let Some(span) = state.tcp.finished() {
            let event = FlowEvent::MessageEnd { flow: state.flow, message: span.message.id, size: span.message.bytes };
            self.hosts[state.host as usize].taggers[usize::from(state.class)].on_event(&event, now);
            self.sent.push(Sent {
                message: span.message.id,
                acknowledged: now,
                retransmissions: span.retransmissions,
                timeouts: span.timeouts,
            });
            if let Some(following) = &mut self.following
                && following.after(span.message.id, now, state.host, &self.rules)
            {
                network.schedule(source - state.host - 1, following.next_start());
            }
        }
        if !state.tcp.is_idle() {
            return false;
        }
        match self.rules.connections {
            Connections::Persistent => false,
            Connections::Pool => {
                let pairs = &mut self.hosts[state.host as usize].pairs;
                pairs.entry((state.dst, state.class)).or_default().idle.insert((state.flow, connection));
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
}

impl Connection {
    /// The connection's timer may be earlier than its entry among the host's.
    #[inline(always)]
    fn set_alarm<K: Key>(&mut self, network: &mut Network<K>, host: &mut Host, connection: u32, source: u32) {
        let at = self.tcp.deadline();
        if at < self.alarm {
            self.alarm = at;
            host.set_alarm(network, source, at, Alarm::Sender { flow: self.flow, connection });
        }
    }
}

/// Sends a packet of a connection; `header`: its bytes of headers.
#[inline(always)]
fn emit<K: Key>(
    network: &mut Network<K>,
    host: &mut Host,
    header_bytes: u16,
    (connection, state): (u32, &mut Connection),
    params: &TcpParams,
    emission: Emission,
) {
    let (tagger, now) = (&mut host.taggers[usize::from(state.class)], network.now);
    let (header, kind, payload, coflow, tag) = match emission {
        Emission::Control(header) => {
            let tag = tagger.tag(|| control_facts(state.flow, Kind::Control, now));
            (header, Kind::Control, 0, NONE, tag)
        }
        Emission::Segment { seq, retransmission } => {
            let span = *state.tcp.span(seq).expect("the sender emits segments of its messages");
            let tag = tagger.tag(|| FlowFacts {
                flow: state.flow,
                message: span.message.id,
                coflow: span.message.coflow,
                start: span.message.start,
                now,
                kind: Kind::Data,
                offset: span.offset(seq, params.segment),
                payload: span.payload(seq, params.segment).into(),
                size: span.message.bytes,
                remaining: state.tcp.remaining(&span, params),
                retransmission,
                timeouts: span.timeouts,
                deadline: span.message.deadline,
            });
            let header = Header::Data { seq, message: span.message.id, last: seq + 1 == span.end, retransmission };
            (header, Kind::Data, span.payload(seq, params.segment), span.message.coflow.unwrap_or(NONE), tag)
        }
    };
    let meta = Meta {
        flow: state.flow,
        coflow,
        tag,
        len: payload + header_bytes,
        dst: state.dst,
        kind,
        ecn: if params.ecn && kind == Kind::Data { Ecn::Capable } else { Ecn::NotCapable },
        ..Meta::default()
    };
    let body = Body {
        header,
        sender: connection,
        receiver: state.receiver,
        stamp: stamp(network.now),
        src: host.number,
        class: state.class,
    };
    let packet = network.slab.insert(meta, body);
    network.enqueue(host.nic, packet);
}

/// When a flow should have finished.
fn deadline(flow: &Flow) -> Option<Time> {
    flow.deadline_ps.map(|after_start| Time(flow.start_ps.saturating_add(after_start.get())))
}

/// Facts of a packet that carries no payload.
pub(crate) fn control_facts(flow: u32, kind: Kind, now: Time) -> FlowFacts {
    FlowFacts { flow, kind, now, ..FlowFacts::default() }
}
