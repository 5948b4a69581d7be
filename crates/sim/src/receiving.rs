//! The receiving side of hosts: data, probes and SYNs come in, ACKs go out.

use flowsieve_core::meta::Ecn;
use flowsieve_core::{Kind, Meta, NONE, Time};
use flowsieve_transport::receiver::{Arrival, Reply};
use flowsieve_transport::{Header, OpenLoopReceiver, Receiver};

use crate::event::Key;
use crate::hosts::{Alarm, Hosts, Received};
use crate::network::{Network, SWITCH};
use crate::sending::control_facts;
use crate::slab::Body;

/// The receiving side of a connection, and how its ACKs find the sender.
pub(crate) struct ReceiverState {
    pub(crate) side: Side,
    pub(crate) flow: u32,
    pub(crate) host: u32,
    pub(crate) sender: u32,
    pub(crate) src: u16,
    pub(crate) class: u8,
    /// The instant of its entry among the host's timers; [`Time::NEVER`]: it has none.
    pub(crate) alarm: Time,
}

pub(crate) enum Side {
    Acknowledging(Receiver),
    Counting(OpenLoopReceiver),
}

impl Hosts {
    /// A packet arrives at a host.
    #[inline]
    pub(crate) fn on_packet<K: Key>(&mut self, network: &mut Network<K>, host: u32, packet: u32, source: u32) {
        network.last_arrival = network.now;
        match network.slab.bodies[packet as usize].header {
            Header::Ack { .. } | Header::SynAck => self.on_reply(network, packet, source),
            _ => self.on_request(network, host, packet, source),
        }
    }

    fn on_request<K: Key>(&mut self, network: &mut Network<K>, host: u32, packet: u32, source: u32) {
        let meta = network.slab.metas[packet as usize];
        let body = network.slab.bodies[packet as usize];
        network.slab.remove(packet);
        if meta.dst == SWITCH {
            return; // from a switch's program, which hosts do not hear
        }
        let place = self.receiver(host, &meta, &body);
        let state = &mut self.receivers[place as usize];
        let receiver = match (&mut state.side, body.header) {
            (Side::Counting(receiver), Header::Data { seq, message, last, retransmission }) => {
                let data = Arrival { seq, message, last, retransmission, marked: false, stamp: body.stamp };
                if let Some(out_of_order) = receiver.on_data(&data) {
                    self.received.push(Received { message, at: network.now, out_of_order });
                }
                return;
            }
            (Side::Counting(_), _) => return,
            (Side::Acknowledging(receiver), _) => receiver,
        };
        let (replies, kind) = match body.header {
            Header::Data { seq, message, last, retransmission } => {
                let marked = meta.ecn == Ecn::Marked;
                let data = Arrival { seq, message, last, retransmission, marked, stamp: body.stamp };
                let rule = self.rules.classes[usize::from(body.class)].acks;
                let reaction = receiver.on_data(network.now, &data, rule);
                if reaction.advanced {
                    while let Some((message, out_of_order)) = receiver.complete() {
                        self.received.push(Received { message, at: network.now, out_of_order });
                    }
                }
                self.set_receiver_alarm(network, place, source);
                (reaction.replies, Kind::Ack)
            }
            Header::Probe => ([None, Some(receiver.on_probe(body.stamp))], Kind::Ack),
            _ => ([None, Some((Header::SynAck, body.stamp))], Kind::Control),
        };
        let [held_back, reply] = replies;
        if let Some(held_back) = held_back {
            self.reply_late(network, place, held_back);
        }
        if let Some(reply) = reply {
            self.reply(network, place, reply, kind);
        }
    }

    /// The place of the receiving side that a packet is for, made if it is the first.
    #[inline]
    fn receiver(&mut self, host: u32, meta: &Meta, body: &Body) -> u32 {
        match self.receiver_places.get(body.receiver as usize) {
            Some(&place) if place != NONE => place,
            _ => self.new_receiver(host, meta, body),
        }
    }

    #[inline(never)]
    fn new_receiver(&mut self, host: u32, meta: &Meta, body: &Body) -> u32 {
        let index = body.receiver as usize;
        if index >= self.receiver_places.len() {
            self.receiver_places.resize(index + 1, NONE);
        }
        let place = self.receivers.len() as u32;
        self.receiver_places[index] = place;
        // A sender that opened no connection wants no answer.
        let side = if body.sender == NONE {
            Side::Counting(OpenLoopReceiver::default())
        } else {
            Side::Acknowledging(Receiver::default())
        };
        self.receivers.push(ReceiverState {
            side,
            flow: meta.flow,
            host,
            sender: body.sender,
            src: body.src,
            class: body.class,
            alarm: Time::NEVER,
        });
        place
    }

    /// Sends an ACK that was held back.
    #[inline(never)]
    fn reply_late<K: Key>(&mut self, network: &mut Network<K>, place: u32, reply: Reply) {
        self.reply(network, place, reply, Kind::Ack);
    }

    /// Sends an answer to the sender.
    #[inline(always)]
    fn reply<K: Key>(&mut self, network: &mut Network<K>, place: u32, (header, stamp): Reply, kind: Kind) {
        let state = &self.receivers[place as usize];
        let host = &mut self.hosts[state.host as usize];
        let tag = host.taggers[usize::from(state.class)].tag(|| control_facts(state.flow, kind, network.now));
        let meta = Meta { flow: state.flow, tag, len: self.rules.header, dst: state.src, kind, ..Meta::default() };
        let body = Body { header, sender: state.sender, receiver: NONE, stamp, src: host.number, class: state.class };
        let packet = network.slab.insert(meta, body);
        network.enqueue(host.nic, packet);
    }

    /// A delayed ACK may be due.
    pub(crate) fn on_receiver_alarm<K: Key>(&mut self, network: &mut Network<K>, place: u32, source: u32) {
        let Side::Acknowledging(receiver) = &mut self.receivers[place as usize].side else { return };
        if let Some(reply) = receiver.on_timer(network.now) {
            self.reply_late(network, place, reply);
        }
        self.set_receiver_alarm(network, place, source);
    }

    #[inline(always)]
    fn set_receiver_alarm<K: Key>(&mut self, network: &mut Network<K>, place: u32, source: u32) {
        let state = &mut self.receivers[place as usize];
        let Side::Acknowledging(receiver) = &state.side else { return };
        if let Some(at) = receiver.deadline().filter(|&at| at < state.alarm) {
            state.alarm = at;
            let alarm = Alarm::Receiver { flow: state.flow, place };
            self.hosts[state.host as usize].set_alarm(network, source, at, alarm);
        }
    }
}
