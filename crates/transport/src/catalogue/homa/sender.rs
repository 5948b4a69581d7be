//! Outgoing messages (§3.2): of those that may send, the one with the fewest bytes left sends its next packet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;
use std::sync::Arc;

use flowsieve_core::message::Effort;
use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::{Message, Time};

use super::gaps::Gaps;
use super::header::{DataHeader, Have};
use super::levels::Levels;
use super::requests::Begins;
use super::rules::HomaRules;
use super::seen::{Words, cutoffs};
use crate::endpoint::{Observed, Timer};
use crate::packet::Packet;

/// An outgoing message.
#[derive(Clone, Debug)]
struct Outgoing {
    message: Message,
    packets: u32,
    /// The packets that need no grant.
    unscheduled: u32,
    /// Whether it is a request of a host that has many out.
    marked: bool,
    /// The first packet that was never sent.
    next: u32,
    /// One past the last packet that may be sent.
    granted: u32,
    /// The priority of scheduled packets.
    level: u8,
    /// Packets to send again.
    again: Gaps,
    /// Its place among those that may send.
    ready: Option<u64>,
    /// When it last sent, or last heard from its receiver.
    active: Time,
    /// Questions since then without an answer.
    tries: u32,
    effort: Effort,
}

impl Outgoing {
    fn may_send(&self) -> bool {
        !self.again.is_empty() || self.next < self.granted
    }
}

/// What became of a message of which nothing was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silent {
    /// Its receiver is asked, once more if `again`.
    Asked {
        /// The receiver.
        peer: u16,
        /// The message.
        message: u32,
        /// Whether a question was not answered.
        again: bool,
    },
    /// It is given up.
    GivenUp {
        /// The message.
        message: u32,
    },
}

/// A packet to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// The packet, with its priority.
    pub(super) packet: Packet,
    /// What its tagger may know.
    pub(super) facts: FlowFacts,
    /// The message, if this is the first time that all of it has been sent.
    pub(super) whole: Option<Message>,
}

/// The outgoing messages of a host.
#[derive(Debug)]
pub(super) struct Senders {
    rules: Arc<HomaRules>,
    host: u16,
    messages: BTreeMap<u32, Outgoing>,
    /// Messages that may send, by the bytes left.
    ready: BTreeSet<(u64, u32)>,
    /// One for each message: when its silence may have lasted too long. It may have sent since.
    alarms: BinaryHeap<Reverse<(Time, u32)>>,
    /// The levels of receivers, as each last said.
    levels: BTreeMap<u16, (Words, Levels)>,
    /// Packets that were sent again.
    pub(super) resent: u64,
}

impl Senders {
    pub(super) fn new(rules: Arc<HomaRules>, host: u16) -> Senders {
        let (messages, ready, alarms) = (BTreeMap::new(), BTreeSet::new(), BinaryHeap::new());
        Senders { rules, host, messages, ready, alarms, levels: BTreeMap::new(), resent: 0 }
    }

    /// Returns whether a message may send.
    pub(super) fn any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes the cutoffs of a receiver.
    pub(super) fn told(&mut self, receiver: u16, words: Words) {
        if self.levels.get(&receiver).is_some_and(|(before, _)| *before == words) {
            return;
        }
        if let Some(levels) = cutoffs(words).and_then(|cutoffs| self.rules.levels.with_cutoffs(cutoffs)) {
            self.levels.insert(receiver, (words, levels));
        }
    }

    /// Begins a message: its first RTTbytes need no grant, or less of an answer that is limited.
    pub(super) fn begin(&mut self, now: Time, message: &Message, begins: Begins) {
        let packets = self.rules.packets(message.bytes);
        let limit = self.rules.incast.filter(|_| begins.limited).map(|incast| self.rules.packets(incast.bytes));
        let of_round_trip = self.rules.packets(self.rules.rtt_bytes_between(self.host, message.to));
        let unscheduled = packets.min(of_round_trip).min(limit.unwrap_or(u32::MAX));
        let outgoing = Outgoing {
            message: *message,
            packets,
            unscheduled,
            marked: begins.marked,
            next: 0,
            granted: unscheduled,
            level: self.rules.levels.scheduled(0),
            again: Gaps::default(),
            ready: None,
            active: now,
            tries: 0,
            effort: Effort::default(),
        };
        self.messages.insert(message.id, outgoing);
        if self.rules.asks {
            self.set_alarm(now, message.id);
        }
        self.place(message.id);
    }

    /// Gives a message its place among those that may send.
    fn place(&mut self, id: u32) {
        let Some(outgoing) = self.messages.get_mut(&id) else { return };
        let left = outgoing.may_send().then(|| {
            let Message { bytes, predicted, .. } = outgoing.message;
            self.rules.sizes.left(bytes, predicted, self.rules.offset(outgoing.next))
        });
        if left != outgoing.ready {
            outgoing.ready.iter().for_each(|&left| _ = self.ready.remove(&(left, id)));
            left.iter().for_each(|&left| _ = self.ready.insert((left, id)));
            outgoing.ready = left;
        }
    }

    /// Returns the next packet to send.
    pub(super) fn send(&mut self, now: Time) -> Option<Sending> {
        let &(_, id) = self.ready.first()?;
        let rules = &self.rules;
        let outgoing = self.messages.get_mut(&id)?;
        let message = outgoing.message;
        let again = outgoing.again.take_first();
        let retransmission = again.is_some();
        let packet = again.unwrap_or(outgoing.next);
        if retransmission {
            outgoing.effort.retransmissions += 1;
            self.resent += 1;
        } else {
            outgoing.next += 1;
        }
        outgoing.active = now;
        let level = if retransmission || packet < outgoing.unscheduled {
            let levels = self.levels.get(&message.to).map_or(&rules.levels, |(_, levels)| levels);
            levels.unscheduled(rules.sizes.left(message.bytes, message.predicted, rules.offset(packet)))
        } else {
            outgoing.level
        };
        let (size, predicted, unscheduled) = (message.bytes, message.predicted, outgoing.unscheduled);
        let marked = outgoing.marked;
        let header = DataHeader { packet, size, predicted, unscheduled, retransmission, marked };
        let (offset, payload) = (rules.offset(packet), rules.payload(&message, packet));
        let len = payload + rules.header;
        let facts = FlowFacts {
            flow: id,
            now,
            offset,
            payload: payload.into(),
            remaining: message.bytes.saturating_sub(offset),
            retransmission,
            timeouts: outgoing.effort.timeouts,
            ..FlowFacts::of(&message)
        };
        let whole = !retransmission && outgoing.next == outgoing.packets;
        self.place(id);
        if whole && !self.rules.asks {
            self.set_alarm(now, id);
        }
        let packet = header.write((message.to, id), message.coflow, len, level);
        Some(Sending { packet, facts, whole: whole.then_some(message) })
    }

    /// Takes a grant; returns whether it lets the message send more.
    pub(super) fn granted(&mut self, now: Time, id: u32, before: u32, level: u8) -> bool {
        let Some(outgoing) = self.messages.get_mut(&id) else { return false };
        (outgoing.active, outgoing.level) = (now, level);
        let more = before.min(outgoing.packets) > outgoing.granted;
        if more {
            outgoing.granted = before.min(outgoing.packets);
            outgoing.tries = 0;
            self.place(id);
        }
        more
    }

    /// Takes a RESEND; returns whether the message has to wait for others with fewer bytes left. A RESEND for packets that were not
    /// sent replaces a lost grant.
    pub(super) fn asked_again(&mut self, now: Time, id: u32, packets: Range<u32>) -> bool {
        let Some(outgoing) = self.messages.get_mut(&id) else { return false };
        let to = packets.end.min(outgoing.packets);
        outgoing.active = now;
        outgoing.granted = outgoing.granted.max(to);
        outgoing.again.add(packets.start..to.min(outgoing.next));
        self.place(id);
        self.ready.first().is_some_and(|&(_, first)| first != id)
    }

    /// Takes the answer to a question. Returns the message, with its effort, if all of it has arrived.
    pub(super) fn answered(&mut self, now: Time, id: u32, have: Have) -> Option<(Message, Effort)> {
        if have == Have::Part {
            let outgoing = self.messages.get_mut(&id)?;
            (outgoing.active, outgoing.tries) = (now, 0);
            return None;
        }
        let outgoing = self.forget(id)?;
        (have == Have::All).then_some((outgoing.message, outgoing.effort))
    }

    fn forget(&mut self, id: u32) -> Option<Outgoing> {
        let outgoing = self.messages.remove(&id)?;
        outgoing.ready.iter().for_each(|&left| _ = self.ready.remove(&(left, id)));
        Some(outgoing)
    }

    fn set_alarm(&mut self, now: Time, id: u32) {
        self.alarms.push(Reverse((now + self.rules.silence, id)));
    }

    /// Returns the first alarm.
    pub(super) fn alarm(&self) -> Timer {
        self.alarms.peek().map_or(Timer::NEVER, |&Reverse((at, id))| Timer { at, order: Timer::sender(id) })
    }

    /// Handles the first alarm, if it is due.
    pub(super) fn on_alarm(&mut self, now: Time) -> Option<Silent> {
        let &Reverse((at, id)) = self.alarms.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.alarms.pop();
        let (asks, silence, attempts) = (self.rules.asks, self.rules.silence, self.rules.attempts);
        let outgoing = self.messages.get_mut(&id)?;
        if outgoing.active + silence > at {
            self.alarms.push(Reverse((outgoing.active + silence, id)));
            return None;
        }
        if outgoing.may_send() {
            // It waits for others of its own host.
            self.set_alarm(now, id);
            return None;
        }
        if outgoing.tries >= attempts {
            self.forget(id);
            return asks.then_some(Silent::GivenUp { message: id });
        }
        outgoing.tries += 1;
        let again = outgoing.tries > 1;
        outgoing.effort.timeouts += u32::from(asks && again);
        let peer = outgoing.message.to;
        self.set_alarm(now, id);
        asks.then_some(Silent::Asked { peer, message: id, again })
    }

    /// Reports the bytes sent and granted of each message.
    pub(super) fn observe(&self, see: &mut dyn FnMut(u32, Observed<'_>)) {
        for (&id, outgoing) in &self.messages {
            let bytes = |packets| self.rules.offset(packets).min(outgoing.message.bytes) as f64;
            see(id, &[("sent_bytes", bytes(outgoing.next)), ("granted_bytes", bytes(outgoing.granted))]);
        }
    }
}
