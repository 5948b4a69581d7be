//! A host's connections of one class of flow: which connection a message takes, handshakes, turns, timers.

use std::collections::VecDeque;
use std::sync::Arc;

use flowsieve_core::meta::Ecn;
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{Message, NONE, Tag, Tagger, Time};

use crate::endpoint::{BaseRoundTrips, Effects, Observed, Out, Timer, Turn};
use crate::packet::{Packet, Said};
use crate::tcp::alarms::{Alarm, Alarms};
use crate::tcp::header::{AckHeader, Beside, DataHeader, Header, stamp};
use crate::tcp::notifications::Notifications;
use crate::tcp::receiver::{AckRule, Arrival, Reply};
use crate::tcp::receivers::Receivers;
use crate::tcp::rules::{Connections, TcpRules};
use crate::tcp::sender::{self, Ack};
use crate::tcp::senders::Senders;

/// The connections of a host and class. Its methods are those of [`crate::Endpoint`].
///
/// The fields that every packet touches are adjacent: those from the last of `receivers` to the first of `senders`.
#[repr(C)]
pub struct TcpEndpoint {
    receivers: Receivers,
    rules: Arc<TcpRules>,
    acks: AckRule,
    /// Connections take turns, one packet each; otherwise each sends at once what it may.
    in_turn: bool,
    /// The connection that last lined up for a turn, until its alarm is set; or [`NONE`].
    lined_up: u32,
    alarms: Alarms,
    senders: Senders,
    events: VecDeque<FlowEvent>,
    /// Present if connections are warm.
    round_trips: Option<Box<BaseRoundTrips>>,
    /// Present if not all marks are echoed.
    notifications: Option<Box<Notifications>>,
}

impl TcpEndpoint {
    /// Builds the endpoint of a host. Data waits for its turn if the host pauses. Warm connections need `round_trips`.
    pub(super) fn new(rules: Arc<TcpRules>, pauses: bool, round_trips: Option<Box<BaseRoundTrips>>) -> TcpEndpoint {
        let senders = Senders::new(rules.order);
        let notifications = rules.params.congestion.coalescing().map(|rule| Box::new(Notifications::new(rule)));
        TcpEndpoint {
            acks: rules.acks(),
            receivers: Receivers::new(rules.params.gaps()),
            rules,
            in_turn: pauses,
            senders,
            alarms: Alarms::new(),
            notifications,
            events: VecDeque::new(),
            lined_up: NONE,
            round_trips,
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
        let slot = self.senders.take(&self.rules, self.round_trips.as_deref(), message.to, message.id);
        let connection = &mut self.senders.connections[slot as usize];
        let (flow, idle) = (connection.flow, connection.tcp.idle_for(now));
        connection.tcp.push(now, *message, &self.rules.params);
        if let Some(steps) = tagger.steps(message) {
            connection.tcp.measure(now, steps, &self.rules.params);
        }
        self.report(now, tagger, FlowEvent::MessageStart { flow, message: *message, idle });
        Effects { events: true, turns: self.send(now, tagger, out, slot) }
    }

    #[inline(always)]
    pub(crate) fn receive<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        packet: &Packet,
    ) -> Effects {
        let beside = Beside::read(packet);
        if let Some(header) = AckHeader::read(packet) {
            self.on_ack(now, tagger, out, packet.flow, beside, header)
        } else if let Some(header) = DataHeader::read(packet) {
            let slot = self.receivers.slot_for(now, (packet.flow, packet.peer), beside);
            let marked = packet.ecn == Ecn::Marked
                // Hosts whose packets have no trails are compiled without this: it takes 13 instructions of each packet-hop.
                && (out.trail().is_none()
                    || self.notifications.as_mut().is_none_or(|coalesced| coalesced.passes(now, packet.peer)));
            self.on_data(now, tagger, out, slot, header, (marked, packet.tag, beside.stamp))
        } else {
            self.on_other(now, tagger, out, packet.code, (packet.flow, packet.peer), beside)
        }
    }

    #[inline(always)]
    fn on_ack<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        flow: u32,
        beside: Beside,
        header: AckHeader,
    ) -> Effects {
        let slot = beside.sender;
        let Some(connection) = self.senders.get_mut(slot, flow) else { return Effects::NONE };
        connection.receiver = beside.receiver;
        let AckHeader { cumulative, block, marked, duplicate, gap } = header;
        let round_trip = Time(u64::from(stamp(now).wrapping_sub(beside.stamp)) * 1_000);
        let ack = Ack { cumulative, block, marked, duplicate, gap, round_trip };
        if let Some(trail) = out.trail() {
            connection.tcp.on_trail(trail);
        }
        connection.tcp.on_ack(now, &ack, &self.rules.params);
        let mut events = false;
        if connection.tcp.is_due() {
            let closed = self.finish_messages(now, tagger, slot);
            // A step alone is no event.
            events = !self.events.is_empty();
            if closed {
                return Effects { events, turns: false };
            }
        }
        Effects { events, turns: self.send(now, tagger, out, slot) }
    }

    /// Handles a SYN, a SYN-ACK or a probe; other packets are ignored.
    #[inline(never)]
    fn on_other<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        code: u8,
        (flow, peer): (u32, u16),
        beside: Beside,
    ) -> Effects {
        match Header::without_words(code) {
            Some(Header::SynAck) => {
                let Some(connection) = self.senders.get_mut(beside.sender, flow) else { return Effects::NONE };
                connection.receiver = beside.receiver;
                connection.tcp.on_syn_ack(now, &self.rules.params);
                Effects { events: false, turns: self.send(now, tagger, out, beside.sender) }
            }
            Some(Header::Syn) => {
                let slot = self.receivers.slot_for(now, (flow, peer), beside);
                let side = self.receivers.at(slot);
                out.send(side.syn_ack(now, tagger, slot, self.rules.header, beside.stamp));
                Effects::NONE
            }
            Some(Header::Probe) => {
                let slot = self.receivers.slot_for(now, (flow, peer), beside);
                let reply = self.receivers.at(slot).receiver.on_probe(beside.stamp);
                self.acknowledge(now, tagger, out, slot, reply);
                Effects::NONE
            }
            _ => Effects::NONE,
        }
    }

    /// Reports finished messages; returns whether the connection is closed with the last of them.
    #[inline(never)]
    fn finish_messages(&mut self, now: Time, tagger: &mut Tagger, slot: u32) -> bool {
        loop {
            let connection = &mut self.senders.connections[slot as usize];
            connection.tcp.advance_steps(now, &self.rules.params);
            let Some(span) = connection.tcp.finished() else { break };
            let ended =
                FlowEvent::MessageEnd { flow: connection.flow, message: span.message, effort: Some(span.effort) };
            if let Some(times) = connection.tcp.measured(span.message.id) {
                self.report(now, tagger, FlowEvent::Steps { message: span.message.id, times });
            }
            self.report(now, tagger, ended);
        }
        self.senders.connections[slot as usize].tcp.is_idle() && self.senders.idle(&self.rules, slot)
    }

    /// Lets a connection send, or line up for a turn; returns whether it lined up.
    #[inline(always)]
    fn send<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O, slot: u32) -> bool {
        if self.in_turn {
            self.line_up(now, tagger, slot);
            return true;
        }
        let connection = &mut self.senders.connections[slot as usize];
        while let Some(emission) = connection.tcp.poll(now, &self.rules.params) {
            out.send(connection.packet(now, &self.rules, tagger, slot, emission));
        }
        connection.set_alarm(&mut self.alarms, slot);
        false
    }

    #[inline(never)]
    fn line_up(&mut self, now: Time, tagger: &Tagger, slot: u32) {
        if self.lined_up != NONE {
            self.settle();
        }
        self.senders.line_up(now, &self.rules, tagger, slot);
        self.lined_up = slot;
    }

    #[inline(always)]
    fn on_data<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        slot: u32,
        header: DataHeader,
        (marked, tag, stamp): (bool, Tag, u32),
    ) -> Effects {
        let side = self.receivers.at(slot);
        let DataHeader { seq, message, last, retransmission } = header;
        let data = Arrival { seq, message, last, retransmission, marked, priority: tag.priority(), stamp };
        let reaction = side.receiver.on_data(now, &data, self.acks);
        side.set_alarm(&mut self.alarms, slot);
        let [held_back, reply] = reaction.replies;
        let events = if reaction.advanced {
            side.receiver.has_ends() && self.deliver(now, tagger, slot)
        } else {
            side.disordered = now;
            let unneeded = reply.is_some_and(|(ack, _)| ack.duplicate);
            if unneeded {
                self.report(now, tagger, FlowEvent::Unneeded { message: data.message });
            }
            unneeded
        };
        if let Some(held_back) = held_back {
            self.acknowledge_late(now, tagger, out, slot, held_back);
        }
        if let Some(reply) = reply {
            self.acknowledge(now, tagger, out, slot, reply);
        }
        Effects { events, turns: false }
    }

    /// Reports complete messages; returns whether there are any.
    #[inline(never)]
    fn deliver(&mut self, now: Time, tagger: &mut Tagger, slot: u32) -> bool {
        let mut any = false;
        while let Some((message, out_of_order)) = self.receivers.at(slot).receiver.complete() {
            any = true;
            if let Some(held) = self.receivers.at(slot).receiver.take_held(now, self.rules.params.segment) {
                self.report(now, tagger, FlowEvent::Reordered { message, held });
            }
            self.report(now, tagger, FlowEvent::Delivered { message, out_of_order });
            if self.rules.connections == Connections::PerFlow {
                self.receivers.completed(now, slot);
            }
        }
        any
    }

    #[inline(always)]
    fn acknowledge<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O, slot: u32, reply: Reply) {
        let ecn = if self.rules.params.ecn_acks { Ecn::Capable } else { Ecn::NotCapable };
        out.send(self.receivers.at(slot).ack(now, tagger, slot, (self.rules.header, ecn), reply));
    }

    /// Sends an ACK that was held back.
    #[inline(never)]
    fn acknowledge_late<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        slot: u32,
        reply: Reply,
    ) {
        self.acknowledge(now, tagger, out, slot, reply);
    }

    #[inline(never)]
    pub(crate) fn on_timer<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O) -> Effects {
        let Some((at, alarm)) = self.alarms.pop(now) else { return Effects::NONE };
        match alarm {
            Alarm::Sender { flow, slot } => {
                let Some(connection) = self.senders.get_mut(slot, flow).filter(|c| c.alarm == at) else {
                    return Effects::NONE;
                };
                connection.alarm = Time::NEVER;
                if connection.tcp.deadline() > now {
                    connection.set_alarm(&mut self.alarms, slot);
                    return Effects::NONE;
                }
                let events = connection.tcp.on_timer(now, &self.rules.params) == sender::Timer::Timeout;
                if events {
                    self.report(now, tagger, FlowEvent::Timeout { flow });
                }
                Effects { events, turns: self.send(now, tagger, out, slot) }
            }
            Alarm::Receiver { slot, .. } => {
                let side = self.receivers.at(slot);
                if side.alarm == at {
                    side.alarm = Time::NEVER;
                    let reply = side.receiver.on_timer(now);
                    side.set_alarm(&mut self.alarms, slot);
                    if let Some(reply) = reply {
                        self.acknowledge_late(now, tagger, out, slot, reply);
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

    /// Sets the alarm of the connection that lined up: it may need its timer even if it had none.
    #[inline(never)]
    fn settle(&mut self) {
        let slot = std::mem::replace(&mut self.lined_up, NONE);
        self.senders.connections[slot as usize].set_alarm(&mut self.alarms, slot);
    }

    #[inline]
    pub(crate) fn turns(&self) -> u32 {
        self.senders.ready.len() as u32
    }

    #[inline]
    pub(crate) fn poll<O: Out + ?Sized>(&mut self, now: Time, tagger: &mut Tagger, out: &mut O) -> Turn {
        let Some(slot) = self.senders.ready.next() else { return Turn::Unused };
        let connection = &mut self.senders.connections[slot as usize];
        let Some(emission) = connection.tcp.poll(now, &self.rules.params) else {
            // The connection comes back by its timer. `Turn::NotBefore` would hold back all connections of the host.
            if connection.tcp.is_held() {
                connection.set_alarm(&mut self.alarms, slot);
            }
            self.senders.leave_line(&self.rules, slot);
            return Turn::Unused;
        };
        out.send(connection.packet(now, &self.rules, tagger, slot, emission));
        connection.set_alarm(&mut self.alarms, slot);
        self.senders.put_back(now, &self.rules, tagger, slot);
        Turn::Sent
    }

    /// Ranks the connections in line anew: their tagger has taken a table.
    pub(crate) fn on_table(&mut self, now: Time, tagger: &Tagger) {
        self.senders.rank_again(now, &self.rules, tagger);
    }

    #[inline]
    pub(crate) fn poll_event(&mut self) -> Option<FlowEvent> {
        self.events.pop_front()
    }

    pub(crate) fn observe(&self, see: &mut dyn FnMut(u32, Observed<'_>)) {
        for connection in self.senders.connections.iter().filter(|c| c.flow != NONE && !c.tcp.is_idle()) {
            connection.tcp.observe(&mut |values| see(connection.flow, values));
        }
    }

    pub(crate) fn acknowledged(&self) -> Option<u64> {
        Some(self.senders.connections.iter().map(|connection| connection.tcp.acknowledged_segments()).sum())
    }

    pub(crate) fn describe(&self, packet: &Packet) -> Said {
        match Header::read(packet) {
            Some(Header::Data(DataHeader { seq, last, retransmission, .. })) => {
                Said::Data { segment: seq, last, retransmission }
            }
            Some(Header::Ack(AckHeader { cumulative, block, marked, duplicate, .. })) => {
                let sack = if block.0 < block.1 { block } else { (0, 0) };
                Said::Ack { segment: cumulative, sack, echo: marked, duplicate }
            }
            Some(Header::Syn) => Said::Syn,
            Some(Header::SynAck) => Said::SynAck,
            Some(Header::Probe) => Said::Probe,
            None => Said::Own,
        }
    }
}
