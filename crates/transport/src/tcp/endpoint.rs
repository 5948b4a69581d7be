//! A host's connections of one class of flow: which a message takes, handshakes, turns, timers.

use std::collections::VecDeque;
use std::sync::Arc;

use flowsieve_core::meta::Ecn;
use flowsieve_core::tagger::{FlowEvent, Tagger};
use flowsieve_core::{Kind, Message, NONE, Time};

use crate::endpoint::{Effects, Out, Timer, Turn};
use crate::packet::{Packet, Said};
use crate::tcp::alarms::{Alarm, Alarms};
use crate::tcp::header::{Beside, Header, stamp};
use crate::tcp::params::Congestion;
use crate::tcp::receiver::{AckRule, Arrival, Reply};
use crate::tcp::receivers::Receivers;
use crate::tcp::rules::{Connections, TcpRules};
use crate::tcp::sender::{self, Ack};
use crate::tcp::senders::Senders;

/// Congestion window of a connection with a message under way.
pub const WINDOW: &str = "congestion window (packets)";
/// DCTCP's estimate of such a connection that has one.
pub const ALPHA: &str = "dctcp alpha";

/// The connections of a host and class. Its methods are those of [`crate::Endpoint`].
pub struct TcpEndpoint {
    rules: Arc<TcpRules>,
    acks: AckRule,
    /// Connections take turns, a packet each; or else each sends at once what it may.
    in_turn: bool,
    senders: Senders,
    receivers: Receivers,
    alarms: Alarms,
    events: VecDeque<FlowEvent>,
    /// The connection that last came to want a turn, until its alarm is set; or [`NONE`].
    lined_up: u32,
}

impl TcpEndpoint {
    /// A host's, whose data waits for its turn where the host pauses.
    pub fn new(rules: Arc<TcpRules>, pauses: bool) -> TcpEndpoint {
        TcpEndpoint {
            acks: rules.acks(),
            rules,
            in_turn: pauses,
            senders: Senders::new(),
            receivers: Receivers::new(),
            alarms: Alarms::new(),
            events: VecDeque::new(),
            lined_up: NONE,
        }
    }

    fn report(&mut self, now: Time, tagger: &mut Tagger, event: FlowEvent) {
        tagger.on_event(&event, now);
        self.events.push_back(event);
    }

    pub(crate) fn begin<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        message: &Message,
    ) -> Effects {
        let place = self.senders.take(&self.rules, message.to, message.id);
        let connection = &mut self.senders.connections[place as usize];
        let (flow, idle) = (connection.flow, connection.tcp.idle_for(now));
        connection.tcp.push(now, *message, &self.rules.params);
        self.report(now, tagger, FlowEvent::MessageStart { flow, message: *message, idle });
        Effects { events: true, turns: self.send(now, tagger, out, place) }
    }

    #[inline(always)]
    pub(crate) fn receive<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        packet: &Packet,
    ) -> Effects {
        let Some(header) = Header::read(packet) else { return Effects::NONE };
        match header {
            Header::Ack { .. } | Header::SynAck => self.on_answer(now, tagger, out, packet, header),
            _ => self.on_request(now, tagger, out, packet, header),
        }
    }

    /// An ACK or a SYN-ACK arrives.
    #[inline(always)]
    fn on_answer<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        packet: &Packet,
        header: Header,
    ) -> Effects {
        let Beside { sender: place, receiver, stamp: echo } = Beside::read(packet);
        let Some(connection) = self.senders.get_mut(place, packet.flow) else { return Effects::NONE };
        connection.receiver = receiver;
        let mut events = false;
        if let Header::Ack { cumulative, block, marked, duplicate } = header {
            let round_trip = Time(u64::from(stamp(now).wrapping_sub(echo)) * 1_000);
            let ack = Ack { cumulative, block, marked, duplicate, round_trip };
            connection.tcp.on_ack(now, &ack, &self.rules.params);
            if connection.tcp.has_finished() {
                events = true;
                if self.finish_messages(now, tagger, place) {
                    return Effects { events, ..Effects::NONE };
                }
            }
        } else {
            connection.tcp.on_syn_ack(now, &self.rules.params);
        }
        Effects { events, turns: self.send(now, tagger, out, place) }
    }

    /// Reports finished messages; says whether the connection is closed with the last of them.
    #[inline(never)]
    fn finish_messages(&mut self, now: Time, tagger: &mut Tagger, place: u32) -> bool {
        loop {
            let connection = &mut self.senders.connections[place as usize];
            let Some(span) = connection.tcp.finished() else { break };
            let ended =
                FlowEvent::MessageEnd { flow: connection.flow, message: span.message, effort: Some(span.effort) };
            self.report(now, tagger, ended);
        }
        self.senders.connections[place as usize].tcp.is_idle() && self.senders.idle(&self.rules, place)
    }

    /// A connection may have something to send: it does so, or wants a turn; says which.
    #[inline(always)]
    fn send<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O, place: u32) -> bool {
        if self.in_turn {
            self.line_up(place);
            return true;
        }
        let connection = &mut self.senders.connections[place as usize];
        while let Some(emission) = connection.tcp.poll(now, &self.rules.params) {
            out.send(connection.packet(now, &self.rules, tagger, place, emission));
        }
        connection.set_alarm(&mut self.alarms, place);
        false
    }

    #[inline(never)]
    fn line_up(&mut self, place: u32) {
        self.senders.line_up(place);
        self.lined_up = place;
    }

    /// Data, a probe or a SYN arrives.
    #[inline(always)]
    fn on_request<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        packet: &Packet,
        header: Header,
    ) -> Effects {
        let Beside { sender, receiver, stamp } = Beside::read(packet);
        let place = self.receivers.place_for(now, packet, [sender, receiver]);
        let side = self.receivers.at(place);
        let mut events = false;
        let (replies, kind) = match header {
            Header::Data { seq, message, last, retransmission } => {
                let data = Arrival { seq, message, last, retransmission, marked: packet.ecn == Ecn::Marked, stamp };
                let reaction = side.receiver.on_data(now, &data, self.acks);
                side.set_alarm(&mut self.alarms, place);
                if reaction.advanced && side.receiver.has_ends() {
                    events = self.deliver(now, tagger, place);
                }
                (reaction.replies, Kind::Ack)
            }
            Header::Probe => ([None, Some(side.receiver.on_probe(stamp))], Kind::Ack),
            _ => ([None, Some((Header::SynAck, stamp))], Kind::Control),
        };
        let [held_back, reply] = replies;
        if let Some(held_back) = held_back {
            self.answer_late(now, tagger, out, place, held_back);
        }
        if let Some(reply) = reply {
            self.answer(now, tagger, out, place, reply, kind);
        }
        Effects { events, turns: false }
    }

    /// Reports messages that are complete; says whether there are any.
    #[inline(never)]
    fn deliver(&mut self, now: Time, tagger: &mut Tagger, place: u32) -> bool {
        let mut any = false;
        while let Some((message, out_of_order)) = self.receivers.at(place).receiver.complete() {
            any = true;
            self.report(now, tagger, FlowEvent::Delivered { message, out_of_order });
            if self.rules.connections == Connections::PerFlow {
                self.receivers.completed(now, place);
            }
        }
        any
    }

    #[inline(always)]
    fn answer<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        place: u32,
        reply: Reply,
        kind: Kind,
    ) {
        out.send(self.receivers.at(place).answer(now, tagger, place, self.rules.header, reply, kind));
    }

    /// Sends an ACK that was held back.
    #[inline(never)]
    fn answer_late<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O, place: u32, reply: Reply) {
        self.answer(now, tagger, out, place, reply, Kind::Ack);
    }

    #[inline(never)]
    pub(crate) fn on_timer<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O) -> Effects {
        let Some((at, alarm)) = self.alarms.pop(now) else { return Effects::NONE };
        match alarm {
            Alarm::Sender { flow, place } => {
                let Some(connection) = self.senders.get_mut(place, flow).filter(|c| c.alarm == at) else {
                    return Effects::NONE;
                };
                connection.alarm = Time::NEVER;
                if connection.tcp.deadline() > now {
                    connection.set_alarm(&mut self.alarms, place);
                    return Effects::NONE;
                }
                let events = connection.tcp.on_timer(now, &self.rules.params) == sender::Timer::Timeout;
                if events {
                    self.report(now, tagger, FlowEvent::Timeout { flow });
                }
                Effects { events, turns: self.send(now, tagger, out, place) }
            }
            Alarm::Receiver { place, .. } => {
                let side = self.receivers.at(place);
                if side.alarm == at {
                    side.alarm = Time::NEVER;
                    let reply = side.receiver.on_timer(now);
                    side.set_alarm(&mut self.alarms, place);
                    if let Some(reply) = reply {
                        self.answer_late(now, tagger, out, place, reply);
                    }
                }
                Effects::NONE
            }
        }
    }

    #[inline(always)]
    pub(crate) fn next_timer(&mut self) -> Timer {
        if self.lined_up != NONE {
            self.settle();
        }
        self.alarms.first()
    }

    /// A connection that wants a turn may need its timer even if it had none.
    #[inline(never)]
    fn settle(&mut self) {
        let place = std::mem::replace(&mut self.lined_up, NONE);
        self.senders.connections[place as usize].set_alarm(&mut self.alarms, place);
    }

    #[inline]
    pub(crate) fn turns(&self) -> u32 {
        self.senders.ready.len() as u32
    }

    #[inline]
    pub(crate) fn poll<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O) -> Turn {
        let Some(place) = self.senders.ready.pop_front() else { return Turn::Unused };
        let connection = &mut self.senders.connections[place as usize];
        let Some(emission) = connection.tcp.poll(now, &self.rules.params) else {
            self.senders.leave_line(&self.rules, place);
            return Turn::Unused;
        };
        out.send(connection.packet(now, &self.rules, tagger, place, emission));
        connection.set_alarm(&mut self.alarms, place);
        self.senders.ready.push_back(place);
        Turn::Sent
    }

    #[inline]
    pub(crate) fn poll_event(&mut self) -> Option<FlowEvent> {
        self.events.pop_front()
    }

    pub(crate) fn observe(&self, see: &mut dyn FnMut(u32, &[(&'static str, f64)])) {
        let congestion = self.rules.params.congestion;
        let estimates = matches!(congestion, Congestion::Dctcp { .. } | Congestion::D2tcp { .. });
        for connection in self.senders.connections.iter().filter(|c| c.flow != NONE && !c.tcp.is_idle()) {
            let values = [(WINDOW, connection.tcp.congestion_window()), (ALPHA, connection.tcp.alpha())];
            see(connection.flow, if estimates { &values } else { &values[..1] });
        }
    }

    pub(crate) fn describe(&self, packet: &Packet) -> Said {
        match Header::read(packet) {
            Some(Header::Data { seq, last, retransmission, .. }) => Said::Data { segment: seq, last, retransmission },
            Some(Header::Ack { cumulative, block, marked, duplicate }) => {
                Said::Ack { segment: cumulative, sack: block, echo: marked, duplicate }
            }
            Some(Header::Syn) => Said::Syn,
            Some(Header::SynAck) => Said::SynAck,
            Some(Header::Probe) => Said::Probe,
            None => Said::Own,
        }
    }
}
