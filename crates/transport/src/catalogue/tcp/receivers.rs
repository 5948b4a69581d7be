//! The receiving sides of a host's connections, and how packets find them.
//!
//! A packet of a sender that has had no answer yet is looked up by its flow; later packets name the slot from an ACK. A
//! connection's end is not signalled, so a receiver cannot know of it. A side that carries only one message is forgotten
//! once the message has been complete for [`TIME_WAIT`] with nothing late. The others stay, as many as were ever open at
//! once.

use std::collections::VecDeque;

use flowsieve_core::meta::Ecn;
use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::{Kind, NONE, Tagger, Time};
use hashbrown::HashTable;

use crate::packet::Packet;
use crate::tcp::alarms::{Alarm, Alarms};
use crate::tcp::header::{Beside, Header};
use crate::tcp::params::Gaps;
use crate::tcp::receiver::{Receiver, Reply};
use crate::tcp::rto;

/// How long a sender may be silent and not know that everything has arrived: twice the longest retransmission timeout, so
/// that it has asked at least once. Like RFC 9293's 2 MSL, it begins anew with each late packet.
const TIME_WAIT: Time = Time(2 * rto::MAX.0);

/// The receiving sides of a host and class. The fields that every packet touches are last.
#[repr(C)]
pub(super) struct Receivers {
    by_flow: HashTable<u32>,
    /// When flows that will be forgotten were complete, or when something late arrived for them; roughly in the order of
    /// time. A faulty sender's flow may be complete more than once.
    complete: VecDeque<(Time, u32)>,
    forgotten: Vec<u32>,
    gaps: Option<Gaps>,
    /// By the slot that ACKs tell the sender.
    sides: Vec<ReceivingSide>,
}

/// The receiving side of a connection, and how its ACKs find the sender.
pub(super) struct ReceivingSide {
    pub(super) receiver: Receiver,
    /// [`NONE`] if it is forgotten.
    flow: u32,
    /// The slot of the sending side at its host.
    sender: u32,
    peer: u16,
    /// The instant of its entry among the alarms; [`Time::NEVER`] if it has none.
    pub(super) alarm: Time,
    /// When the last packet came that was not the next one.
    pub(super) disordered: Time,
}

/// Fibonacci hashing: the table uses the upper and the lower bits for different purposes.
fn hash(flow: u32) -> u64 {
    let product = u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}

impl Receivers {
    /// Builds an empty set. `gaps`: the gaps for which priorities are compared.
    pub(super) fn new(gaps: Option<Gaps>) -> Receivers {
        Receivers {
            sides: Vec::new(),
            by_flow: HashTable::new(),
            complete: VecDeque::new(),
            forgotten: Vec::new(),
            gaps,
        }
    }

    #[inline(always)]
    pub(super) fn at(&mut self, slot: u32) -> &mut ReceivingSide {
        &mut self.sides[slot as usize]
    }

    /// Returns the slot of the side for a packet of a flow from a host. The first packet creates the side.
    #[inline(always)]
    pub(super) fn slot_for(&mut self, now: Time, (flow, peer): (u32, u16), beside: Beside) -> u32 {
        match self.sides.get(beside.receiver as usize) {
            Some(side) if side.flow == flow => beside.receiver,
            _ => self.find(now, flow, peer, beside.sender),
        }
    }

    #[inline(never)]
    fn find(&mut self, now: Time, flow: u32, peer: u16, sender: u32) -> u32 {
        let sides = &self.sides;
        if let Some(&slot) = self.by_flow.find(hash(flow), |&slot| sides[slot as usize].flow == flow) {
            return slot;
        }
        self.forget(now);
        let receiver = self.gaps.map_or_else(Receiver::default, Receiver::comparing_priorities);
        let (alarm, disordered) = (Time::NEVER, Time::ZERO);
        let side = ReceivingSide { receiver, flow, sender, peer, alarm, disordered };
        let slot = match self.forgotten.pop() {
            Some(slot) => {
                self.sides[slot as usize] = side;
                slot
            }
            None => {
                self.sides.push(side);
                self.sides.len() as u32 - 1
            }
        };
        let sides = &self.sides;
        self.by_flow.insert_unique(hash(flow), slot, |&slot| hash(sides[slot as usize].flow));
        slot
    }

    /// Notes that the only message of a side is complete.
    pub(super) fn completed(&mut self, now: Time, slot: u32) {
        self.complete.push_back((now, self.sides[slot as usize].flow));
    }

    /// Forgets sides that have been complete for long enough, unless something came late.
    fn forget(&mut self, now: Time) {
        while let Some(&(at, flow)) = self.complete.front().filter(|(at, _)| *at + TIME_WAIT <= now) {
            self.complete.pop_front();
            let sides = &mut self.sides;
            let Ok(entry) = self.by_flow.find_entry(hash(flow), |&slot| sides[slot as usize].flow == flow) else {
                continue;
            };
            let side = &mut sides[*entry.get() as usize];
            if side.disordered > at {
                self.complete.push_back((side.disordered, flow));
                continue;
            }
            side.flow = NONE;
            side.receiver = Receiver::default();
            self.forgotten.push(entry.remove().0);
        }
    }
}

impl ReceivingSide {
    /// Adds an entry among the alarms if the receiver's timer is earlier than the present entry.
    #[inline(always)]
    pub(super) fn set_alarm(&mut self, alarms: &mut Alarms, slot: u32) {
        if let Some(at) = self.receiver.deadline().filter(|&at| at < self.alarm) {
            self.alarm = at;
            alarms.push(at, Alarm::Receiver { flow: self.flow, slot });
        }
    }

    /// Returns an answer without content.
    #[inline(always)]
    fn answer(&self, now: Time, tagger: &mut Tagger, len: u16, kind: Kind) -> Packet {
        let tag = tagger.tag_control(|| FlowFacts::control(self.flow, kind, now));
        Packet { peer: self.peer, len, flow: self.flow, kind, tag, ..Packet::default() }
    }

    /// Returns an ACK as a packet; `len`: bytes of headers; `ecn`: whether it can be marked.
    #[inline(always)]
    pub(super) fn ack(
        &self,
        now: Time,
        tagger: &mut Tagger,
        slot: u32,
        (len, ecn): (u16, Ecn),
        (header, stamp): Reply,
    ) -> Packet {
        let beside = Beside { sender: self.sender, receiver: slot, stamp };
        header.write(beside, Packet { ecn, ..self.answer(now, tagger, len, Kind::Ack) })
    }

    /// Returns a SYN-ACK as a packet; `stamp`: the timestamp that it echoes.
    pub(super) fn syn_ack(&self, now: Time, tagger: &mut Tagger, slot: u32, len: u16, stamp: u32) -> Packet {
        let beside = Beside { sender: self.sender, receiver: slot, stamp };
        Header::SynAck.write(beside, self.answer(now, tagger, len, Kind::Control))
    }
}
