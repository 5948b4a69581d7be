//! Messages of programs that tell none: what a network sees of them.
//!
//! A message is all that one direction of a connection carries, or what lies between two pauses of it ([`Apart`]). Its bytes so
//! far are known, its size is not, and stands as 0, which no message has. The packet with a FIN ends its message: then the size
//! is known, too. Bytes that were sent before begin no message, however long the pause: they are sent again.
//!
//! A message has ended when its last byte is acknowledged. That is the instant at which the ACK leaves the receiver's host, so it
//! is the byte's arrival and the receiver's stack. Datagrams are not acknowledged, and have no such end.
//!
//! The table has a place for as many directions as [`Hosts::new`] was told. A new one takes the place of the one that has been
//! idle longest of a few that are looked at. If that comes back, it counts from nothing.

use flowsieve_core::controller::HostEvent;
use flowsieve_core::message::{Effort, Message};
use flowsieve_core::tagger::{FlowEvent, FlowFacts};
use flowsieve_core::{Kind, Meta, Tag, Time};

use super::{Direction, Hosts, tagger};
use crate::wire::{Datagram, Segment};

/// How messages are told apart that no program tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// Each direction of a connection is one, from its first packet on.
    Connections,
    /// A packet that a direction sends longer than this after the last one begins a message.
    Gap(Time),
}

/// A pause after which a datagram begins a message, where connections are told apart.
const PAUSE_OF_DATAGRAMS: Time = Time::from_us(1_000_000);
/// The numbers of these messages; those of a workload are below.
const FIRST_NUMBER: u32 = 1 << 31;
/// The most messages that are kept for the result.
const MOST_KEPT: usize = 1 << 20;
/// The size of an inferred message before its FIN.
const UNKNOWN: u64 = 0;

/// A message that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The sending host.
    pub from: u16,
    /// The receiving host.
    pub to: u16,
    /// Bytes, without those that were sent again.
    pub bytes: u64,
    /// When its first packet was at its host's port.
    pub start: Time,
    /// From there until its last byte was acknowledged; `None`: it was not.
    pub fct: Option<Time>,
}

/// The messages that are seen, and how they are told apart.
pub(super) struct Programs {
    apart: Apart,
    next: u32,
    /// Where to look next for a message whose connection pauses.
    hand: usize,
    kept: Vec<Seen>,
}

/// An inferred message under way.
pub(super) struct Unsaid {
    number: u32,
    /// Where it begins in its connection.
    offset: u64,
    start: Time,
    /// When its last packet was sent.
    pub(super) sent: Time,
    /// When all that it had sent was acknowledged.
    acknowledged: Option<Time>,
    retransmissions: u32,
}

impl Programs {
    pub(super) fn new(apart: Apart) -> Programs {
        Programs { apart, next: 0, hand: 0, kept: Vec::with_capacity(MOST_KEPT) }
    }

    /// Returns the longest pause within a message of a direction whose receiver answers, or does not.
    fn pause(&self, answers: bool) -> Time {
        match self.apart {
            Apart::Gap(gap) => gap,
            Apart::Connections if answers => Time::NEVER,
            Apart::Connections => PAUSE_OF_DATAGRAMS,
        }
    }
}

impl Unsaid {
    /// Hears that all bytes of its connection so far are acknowledged.
    pub(super) fn acknowledge(&mut self, now: Time) {
        self.acknowledged = Some(now);
    }
}

impl Hosts {
    /// Has messages known that programs do not tell.
    #[must_use]
    pub fn with_programs(mut self, apart: Apart) -> Hosts {
        self.programs = Some(Programs::new(apart));
        self
    }

    /// Ends all messages that no program told, and returns those that were seen.
    pub fn take_seen(&mut self, now: Time) -> Vec<Seen> {
        for slot in 0..self.directions.len() {
            self.finish(slot, now);
        }
        self.programs.as_mut().map_or(Vec::new(), |programs| std::mem::take(&mut programs.kept))
    }

    /// Returns the tag of an inferred message's data, at this place in its connection.
    pub(super) fn tag_unsaid(&mut self, now: Time, slot: usize, segment: &Segment, (at, again): (u64, bool)) -> Tag {
        self.look_for_a_pause(now);
        let offset = self.message_at(slot, now, at, again);
        let size = if segment.fin { offset + u64::from(segment.payload) } else { UNKNOWN };
        let tag = self.tag_at(slot, now, (offset, segment.payload.into()), size, again);
        let direction = &mut self.directions[slot];
        if direction.acknowledged < at + u64::from(segment.payload)
            && let Some(unsaid) = &mut direction.unsaid
        {
            unsaid.acknowledged = None;
        }
        tag
    }

    /// Returns the tag of a FIN without data, which ends an inferred message: switches read it where it follows the data. `None`: there is no such message.
    pub(super) fn tag_fin(&mut self, now: Time, segment: &Segment) -> Option<Tag> {
        let slot = self.find(&segment.connection)?;
        let direction = &self.directions[slot];
        let offset = direction.sent.saturating_sub(direction.unsaid.as_ref()?.offset);
        Some(self.tag_at(slot, now, (offset, 0), offset, direction.closed))
    }

    /// Returns what ports see of a datagram that a host hands to its own port now.
    pub fn datagram(&mut self, now: Time, (host, to): (u16, u16), datagram: &Datagram) -> Meta {
        let len = datagram.len;
        if self.programs.is_none() {
            return self.other(now, host, to, len);
        }
        self.look_for_a_pause(now);
        let Some(slot) = self.slot(now, &datagram.connection, (host, to)) else {
            return Meta { ecn: datagram.ecn, ..self.other(now, host, to, len) };
        };
        self.counts.datagrams += 1;
        let at = self.directions[slot].sent;
        let offset = self.message_at(slot, now, at, false);
        let tag = self.tag_at(slot, now, (offset, datagram.payload.into()), UNKNOWN, false);
        let direction = &mut self.directions[slot];
        direction.sent += u64::from(datagram.payload);
        Meta { flow: direction.key, len, tag, kind: Kind::Data, ecn: datagram.ecn, ..Meta::default() }
    }

    /// Returns the bytes of its message before a packet, which begins one if its connection has paused.
    fn message_at(&mut self, slot: usize, now: Time, at: u64, again: bool) -> u64 {
        let Some(programs) = &mut self.programs else { return 0 };
        let direction = &self.directions[slot];
        let pause = programs.pause(direction.answers());
        let paused = |unsaid: &Unsaid| now.since(unsaid.sent) > pause;
        if !again && direction.unsaid.as_ref().is_none_or(paused) {
            self.finish(slot, now);
            self.start(slot, now, at);
        }
        let Some(unsaid) = &mut self.directions[slot].unsaid else { return 0 };
        unsaid.sent = now;
        unsaid.retransmissions += u32::from(again);
        at.saturating_sub(unsaid.offset)
    }

    /// Begins a message at this place of its connection.
    fn start(&mut self, slot: usize, now: Time, at: u64) {
        let Some(programs) = &mut self.programs else { return };
        let direction = &mut self.directions[slot];
        let number = FIRST_NUMBER + programs.next;
        programs.next = (programs.next + 1) % (FIRST_NUMBER - 1);
        // A connection's own time begins with its SYN. One that answers waits for its request first.
        let opened = direction.opened.filter(|_| programs.apart == Apart::Connections && at == 0);
        let start = opened.unwrap_or(now);
        direction.unsaid =
            Some(Unsaid { number, offset: at, start, sent: now, acknowledged: None, retransmissions: 0 });
        let idle = direction.ended.map_or(Time::NEVER, |ended| now.since(ended));
        let message = Message { id: number, to: direction.to, bytes: UNKNOWN, start, ..Message::default() };
        let (host, event) = (direction.host, FlowEvent::MessageStart { flow: direction.key, message, idle });
        self.counts.began += 1;
        self.hear(host, now, event);
    }

    /// Ends the inferred message of a direction, if it has one.
    pub(super) fn finish(&mut self, slot: usize, now: Time) {
        let direction = &mut self.directions[slot];
        let Some(unsaid) = direction.unsaid.take() else { return };
        let bytes = direction.sent.saturating_sub(unsaid.offset);
        let answers = direction.answers();
        direction.ended = Some(unsaid.acknowledged.unwrap_or(unsaid.sent));
        let message = Message {
            id: unsaid.number,
            to: direction.to,
            bytes: bytes.max(1),
            start: unsaid.start,
            ..Message::default()
        };
        let effort = answers.then(|| Effort { retransmissions: unsaid.retransmissions, ..Effort::default() });
        let (host, event) = (direction.host, FlowEvent::MessageEnd { flow: direction.key, message, effort });
        let seen = Seen {
            from: direction.host,
            to: direction.to,
            bytes,
            start: unsaid.start,
            fct: unsaid.acknowledged.map(|at| at.since(unsaid.start)),
        };
        self.counts.ended += u64::from(seen.fct.is_some());
        self.hear(host, now, event);
        let Some(programs) = &mut self.programs else { return };
        if !answers || bytes == 0 {
            return;
        }
        if programs.kept.len() < MOST_KEPT {
            programs.kept.push(seen);
        } else {
            self.counts.not_kept += 1;
        }
    }

    /// Looks at one direction, and ends its message if it has paused for as long as messages are apart: its end is known before
    /// the next one begins.
    fn look_for_a_pause(&mut self, now: Time) {
        let Some(programs) = &mut self.programs else { return };
        if self.directions.is_empty() {
            return;
        }
        programs.hand = (programs.hand + 1) % self.directions.len();
        let (slot, direction) = (programs.hand, &self.directions[programs.hand]);
        let pause = programs.pause(direction.answers());
        // What is not acknowledged may be sent again.
        let open = direction.answers() && direction.acknowledged < direction.sent;
        if !open && direction.unsaid.as_ref().is_some_and(|unsaid| now.since(unsaid.sent) > pause) {
            self.finish(slot, now);
        }
    }

    fn tag_at(&mut self, slot: usize, now: Time, (offset, payload): (u64, u32), size: u64, again: bool) -> Tag {
        let direction = &self.directions[slot];
        let Some(unsaid) = &direction.unsaid else { return Tag::default() };
        let (number, start, key) = (unsaid.number, unsaid.start, direction.key);
        let facts = || FlowFacts {
            flow: key,
            message: number,
            now,
            start,
            kind: Kind::Data,
            offset,
            payload,
            size,
            retransmission: again,
            ..FlowFacts::default()
        };
        tagger(&mut self.taggers, direction.host, 0).tag(facts)
    }

    /// Tells a host's tagger and controllers what has happened.
    fn hear(&mut self, host: u16, at: Time, event: FlowEvent) {
        tagger(&mut self.taggers, host, 0).on_event(&event, at);
        self.events.push(HostEvent { at, host: host.into(), class: 0, event });
    }
}

impl Direction {
    /// Returns whether its receiver acknowledges bytes: sequence numbers count them.
    fn answers(&self) -> bool {
        self.first.is_some()
    }

    /// Returns when its inferred message has sent last; `None` if it has none.
    pub(super) fn sent_last(&self) -> Option<Time> {
        self.unsaid.as_ref().map(|unsaid| unsaid.sent)
    }
}
