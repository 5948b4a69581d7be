//! What the emulated hosts know of their packets: which message a packet belongs to, how far it is, and the tag for switches.
//!
//! A sending program tells each message before it writes the first byte ([`Begin`]): the connection, where in the stream the
//! message begins, and its length. It cannot know sequence numbers, so they are learned from the packet that opens a
//! connection. Then the sequence number of a packet says which message it belongs to, and which of its bytes it carries. A
//! retransmission has the tag of its bytes. ACKs that pass say what is acknowledged, and when a message has ended.
//!
//! Programs of one's own tell nothing: [`Hosts::with_programs`] has their messages told apart by what is seen of them.
//!
//! Not seen in a network: timeouts (they look like other retransmissions), and what receivers have acknowledged selectively.

mod programs;

use std::hash::BuildHasher;

use arrayvec::ArrayVec;
use flowsieve_core::controller::HostEvent;
use flowsieve_core::message::{Effort, Message};
use flowsieve_core::tagger::{FlowEvent, FlowFacts};
use flowsieve_core::{Kind, Meta, NONE, Tag, Tagger, TaggerSpec, Time};
use flowsieve_schemes::Scheme;
use flowsieve_sim::topology::{Fabric, Sites};
use hashbrown::HashTable;

pub use programs::{Apart, Seen};
use programs::{Programs, Unsaid};

use crate::wire::{Connection, FlowKeys, Segment};

/// The most messages under way on a connection: the next may begin when all of the last has arrived, and its ACK is still on
/// its way.
const MESSAGES: usize = 4;

/// The number of messages that open connections, before those of the workload. Controllers do not hear of them.
pub const SET_UP: u32 = u32::MAX;

/// A message as its sender tells it, before it writes the first byte.
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    /// When it begins, in the clock of the devices.
    pub at_ns: u64,
    /// The sending host.
    pub host: u16,
    /// The connection, in the direction of the message.
    pub connection: Connection,
    /// Bytes that the sender has written to the connection before.
    pub offset: u64,
    /// The message. Its start is [`Begin::at_ns`], and its deadline is as much later as here.
    pub message: Message,
}

/// What hosts have seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// Data packets whose bytes, or some of them, had been sent before.
    pub retransmitted: u64,
    /// Data packets of a connection whose beginning was not seen: they have the tag of packets without data.
    pub unknown: u64,
    /// Data packets of a known connection that are of no message that was told: they have that tag, too.
    pub untold: u64,
    /// Connections that found no room, since all others had messages under way.
    pub no_room: u64,
    /// Messages that began.
    pub began: u64,
    /// Messages that were acknowledged completely.
    pub ended: u64,
    /// Datagrams of programs.
    pub datagrams: u64,
    /// Messages of programs that the result does not keep, since there are too many.
    pub not_kept: u64,
}

since!(HostCounts: retransmitted, unknown, untold, no_room, began, ended, datagrams, not_kept);

/// A message under way.
struct Told {
    message: Message,
    /// Where it begins in its connection.
    offset: u64,
    retransmissions: u32,
}

impl Told {
    /// Returns whether a byte of the connection is of this message.
    fn carries(&self, at: u64) -> bool {
        (self.offset..self.offset + self.message.bytes).contains(&at)
    }
}

/// One direction of a connection.
struct Direction {
    connection: Connection,
    key: u32,
    host: u16,
    to: u16,
    /// When it was opened, if its sender opened the connection.
    opened: Option<Time>,
    /// The sequence number of the first byte, once it is known.
    first: Option<u32>,
    /// The bytes sent, as far as the packets that passed say.
    sent: u64,
    acknowledged: u64,
    /// Its sender has closed it.
    closed: bool,
    /// When the last message ended.
    ended: Option<Time>,
    messages: ArrayVec<Told, MESSAGES>,
    /// The message that ended last: packets of it may still be sent again, before its sender has heard of the end.
    last: Option<Told>,
    /// The inferred message, if its program tells none.
    unsaid: Option<Unsaid>,
}

/// The emulated hosts' taggers, and the connections of their programs. After set-up nothing is allocated.
pub struct Hosts {
    /// By host and class of flow.
    taggers: Vec<Vec<Tagger>>,
    /// Whether a tagger may hold messages back.
    may_hold: bool,
    keys: FlowKeys,
    /// Slots of `directions`, by connection.
    table: HashTable<u32>,
    directions: Vec<Direction>,
    most: usize,
    /// Where to look next for a direction without messages, once all slots are taken.
    hand: usize,
    /// What happened to messages since [`Hosts::take_events`].
    events: Vec<HostEvent>,
    counts: HostCounts,
    /// Messages that are not told, if there are programs that tell none.
    programs: Option<Programs>,
}

/// The most events between two looks: those of a turn.
const EVENTS: usize = 1_024;

impl Hosts {
    /// Builds the hosts of a fabric for at most this many directions of connections at once. If there are more, a new one
    /// takes the place of one without messages.
    pub fn new(fabric: &Fabric, scheme: &Scheme, seed: u64, connections: usize) -> Hosts {
        let holds = |tagger: &TaggerSpec| matches!(tagger, TaggerSpec::Coflow(rules) if rules.holds);
        Hosts {
            taggers: taggers(fabric, scheme, seed, connections),
            may_hold: scheme.classes.iter().any(|class| holds(&class.tagger)),
            keys: FlowKeys::default(),
            table: HashTable::with_capacity(connections),
            directions: Vec::with_capacity(connections),
            most: connections,
            hand: 0,
            events: Vec::with_capacity(EVENTS),
            counts: HostCounts::default(),
            programs: None,
        }
    }

    /// Begins anew with new taggers, at a new virtual time 0: connections stay known, and what they have carried is forgotten.
    pub fn restart(&mut self, fabric: &Fabric, scheme: &Scheme, seed: u64) {
        self.taggers = taggers(fabric, scheme, seed, self.most);
        self.events.clear();
        for direction in &mut self.directions {
            direction.messages.clear();
            (direction.last, direction.unsaid) = (None, None);
            (direction.opened, direction.ended) = (None, None);
        }
    }

    /// Returns what they have seen.
    pub fn counts(&self) -> HostCounts {
        self.counts
    }

    /// Hands over what happened to messages, for controllers.
    pub fn take_events(&mut self) -> std::vec::Drain<'_, HostEvent> {
        self.events.drain(..)
    }

    /// Returns a host's tagger for a class of flow.
    pub fn tagger(&mut self, host: u16, class: u8) -> &mut Tagger {
        tagger(&mut self.taggers, host, class)
    }

    /// Returns the number of directions of connections that are known.
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// Hears of a message that begins now.
    pub fn begin(&mut self, now: Time, begin: &Begin) {
        let Some(slot) = self.slot(now, &begin.connection, (begin.host, begin.message.to)) else { return };
        self.finish(slot, now);
        let direction = &mut self.directions[slot];
        if direction.messages.is_full() {
            // Its ACKs did not pass here.
            let told = direction.messages.remove(0);
            let number = told.message.id;
            tell(&mut self.events, number, end(&mut self.taggers, direction, told, now));
        }
        let told = begin.message;
        let deadline = told.deadline.map(|deadline| now + (deadline - told.start));
        let message = Message { start: now, deadline, ..told };
        let idle = direction.ended.map_or(Time::NEVER, |ended| now - ended);
        let event = FlowEvent::MessageStart { flow: direction.key, message, idle };
        direction.messages.push(Told { message, offset: begin.offset, retransmissions: 0 });
        tagger(&mut self.taggers, direction.host, message.class).on_event(&event, now);
        let host = direction.host.into();
        tell(&mut self.events, message.id, HostEvent { at: now, host, class: message.class, event });
        self.counts.began += 1;
    }

    /// Returns whether the host keeps a segment back: its data is of a message whose place is not known yet.
    pub fn holds(&self, segment: &Segment) -> bool {
        if !self.may_hold || segment.kind() != Kind::Data {
            return false;
        }
        let Some(direction) = self.find(&segment.connection).map(|slot| &self.directions[slot]) else { return false };
        let Some(at) = direction.first.map(|first| nearest(direction.sent, first, segment.sequence)) else {
            return false;
        };
        let told = direction.messages.iter().chain(&direction.last).find(|told| told.carries(at));
        let taggers = &self.taggers[usize::from(direction.host)];
        // No controller hears of the messages that open connections, so that these would wait for ever.
        let of_workload = told.filter(|told| told.message.id != SET_UP);
        of_workload.is_some_and(|told| taggers[place(taggers, told.message.class)].holds(&told.message))
    }

    /// Returns what ports see of a segment that a host hands to its own port now, for another one, and learns from it.
    pub fn packet(&mut self, now: Time, (host, to): (u16, u16), segment: &Segment) -> Meta {
        let (mut flow, mut coflow) = (self.keys.of(&segment.connection), NONE);
        let mut kind = segment.kind();
        if let Some(acknowledges) = segment.acknowledges
            && let Some(answered) = self.find(&segment.connection.back())
        {
            self.acknowledge(now, answered, acknowledges);
            if kind != Kind::Data {
                // An answer has the key of the flow that it answers.
                flow = self.directions[answered].key;
            }
        }
        if segment.syn {
            self.open(now, (host, to), segment);
        }
        let tag = match kind {
            Kind::Data => self.tag(now, (host, to), segment, &mut coflow),
            Kind::Control if segment.fin => self.tag_fin(now, segment),
            Kind::Ack | Kind::Control => None,
        };
        if tag.is_some() {
            kind = Kind::Data;
        }
        let tag = tag
            .unwrap_or_else(|| tagger(&mut self.taggers, host, 0).tag_control(|| FlowFacts::control(flow, kind, now)));
        if segment.fin {
            self.close(now, segment);
        }
        Meta { flow, coflow, len: segment.len, tag, kind, ecn: segment.ecn, ..Meta::default() }
    }

    /// Learns from the packet that opens a connection, in one direction.
    fn open(&mut self, now: Time, (host, to): (u16, u16), segment: &Segment) {
        let Some(slot) = self.slot(now, &segment.connection, (host, to)) else { return };
        self.finish(slot, now);
        let direction = &mut self.directions[slot];
        let first = Some(segment.sequence.wrapping_add(1));
        // A SYN that is sent again opens nothing anew.
        let again = direction.first == first && direction.sent == 0;
        let opened = direction.opened.filter(|_| again).or(segment.acknowledges.is_none().then_some(now));
        *direction = Direction { first, opened, ..Direction::new(&segment.connection, direction.key, (host, to)) };
    }

    /// Learns that a sender has closed its direction.
    fn close(&mut self, now: Time, segment: &Segment) {
        let Some(slot) = self.find(&segment.connection) else { return };
        let direction = &mut self.directions[slot];
        direction.closed = true;
        if direction.acknowledged == direction.sent {
            self.finish(slot, now);
        }
    }

    /// Returns what ports see of another packet than a TCP segment: one without data, of this many bytes.
    pub fn other(&mut self, now: Time, host: u16, to: u16, len: u16) -> Meta {
        // All such packets of two hosts are one flow.
        let flow = self.keys.hasher().hash_one((host, to)) as u32;
        let kind = Kind::Control;
        let tag = tagger(&mut self.taggers, host, 0).tag_control(|| FlowFacts::control(flow, kind, now));
        Meta { flow, len, tag, kind, ..Meta::default() }
    }

    /// Returns the tag of a data packet; `None` if its message is unknown.
    fn tag(&mut self, now: Time, ends: (u16, u16), segment: &Segment, coflow: &mut u32) -> Option<Tag> {
        let Some((slot, first)) = self.beginning(now, ends, segment) else {
            self.counts.unknown += 1;
            return None;
        };
        let direction = &mut self.directions[slot];
        let at = nearest(direction.sent, first, segment.sequence);
        let again = at < direction.sent;
        self.counts.retransmitted += u64::from(again);
        let sent = direction.sent.max(at + u64::from(segment.payload));
        let mut of_connection = direction.messages.iter().chain(&direction.last);
        if self.programs.is_some() && !of_connection.any(|told| told.carries(at)) {
            let tag = self.tag_unsaid(now, slot, segment, (at, again));
            self.directions[slot].sent = sent;
            return Some(tag);
        }
        direction.sent = sent;
        let of_connection = direction.messages.iter_mut().chain(&mut direction.last);
        let Some(told) = of_connection.into_iter().find(|told| told.carries(at)) else {
            self.counts.untold += 1;
            return None;
        };
        told.retransmissions += u32::from(again);
        let acknowledged = direction.acknowledged.saturating_sub(told.offset).min(told.message.bytes);
        let (key, offset, message) = (direction.key, at - told.offset, told.message);
        *coflow = message.coflow.unwrap_or(NONE);
        let facts = || FlowFacts {
            flow: key,
            now,
            offset,
            payload: segment.payload.into(),
            remaining: message.bytes - acknowledged,
            retransmission: again,
            ..FlowFacts::of(&message)
        };
        Some(tagger(&mut self.taggers, direction.host, message.class).tag(facts))
    }

    /// Returns the direction of a data packet and the sequence number of its first byte. If nothing was told, a connection whose
    /// beginning was not seen begins here.
    fn beginning(&mut self, now: Time, ends: (u16, u16), segment: &Segment) -> Option<(usize, u32)> {
        let known = self.find(&segment.connection);
        if let Some((slot, first)) = known.and_then(|slot| self.directions[slot].first.map(|first| (slot, first))) {
            return Some((slot, first));
        }
        self.programs.as_ref()?;
        let slot = self.slot(now, &segment.connection, ends)?;
        self.directions[slot].first = Some(segment.sequence);
        Some((slot, segment.sequence))
    }

    /// Takes an acknowledgement of the bytes before a sequence number.
    fn acknowledge(&mut self, now: Time, slot: usize, sequence: u32) {
        let direction = &mut self.directions[slot];
        let Some(first) = direction.first else { return };
        let upto = nearest(direction.acknowledged, first, sequence);
        // A FIN has a number, too.
        let upto = upto - u64::from(direction.closed && upto == direction.sent + 1);
        if upto > direction.sent {
            // Nothing that passed here: a lie, or the end of the connection.
            return;
        }
        if upto > direction.acknowledged {
            direction.acknowledged = upto;
            if upto == direction.sent
                && let Some(unsaid) = &mut direction.unsaid
            {
                unsaid.acknowledge(now);
            }
        }
        let is_over = direction.closed && direction.acknowledged == direction.sent;
        while let Some(told) = direction.messages.first()
            && told.offset + told.message.bytes <= direction.acknowledged
        {
            let told = direction.messages.remove(0);
            let number = told.message.id;
            tell(&mut self.events, number, end(&mut self.taggers, direction, told, now));
            self.counts.ended += 1;
        }
        if is_over {
            self.finish(slot, now);
        }
    }

    fn find(&self, connection: &Connection) -> Option<usize> {
        let hash = self.keys.hash(connection);
        let same = |slot: &u32| self.directions[*slot as usize].connection == *connection;
        self.table.find(hash, same).map(|&slot| slot as usize)
    }

    /// Returns the slot of a direction, and takes one for a new connection.
    fn slot(&mut self, now: Time, connection: &Connection, ends: (u16, u16)) -> Option<usize> {
        if let Some(slot) = self.find(connection) {
            return Some(slot);
        }
        let key = self.keys.of(connection);
        let direction = Direction::new(connection, key, ends);
        let slot = if self.directions.len() < self.most {
            self.directions.push(direction);
            self.directions.len() - 1
        } else {
            let slot = self.replaceable(now)?;
            self.directions[slot] = direction;
            slot
        };
        let hash = |slot: &u32| self.keys.hash(&self.directions[*slot as usize].connection);
        self.table.insert_unique(self.keys.hash(connection), slot as u32, hash);
        Some(slot)
    }

    /// Takes a direction without messages out of the table, and returns its slot. Looks at few: a packet costs no more.
    fn replaceable(&mut self, now: Time) -> Option<usize> {
        /// Slots that one new connection may look at.
        const LOOKED_AT: usize = 8;
        let mut idle: Option<(Option<Time>, usize)> = None;
        for _ in 0..LOOKED_AT.min(self.directions.len()) {
            let slot = self.hand;
            self.hand = (self.hand + 1) % self.directions.len();
            let direction = &self.directions[slot];
            if direction.messages.is_empty() {
                // One without any message comes before all others.
                idle = idle.into_iter().chain([(direction.sent_last(), slot)]).min();
            }
            if idle.is_some_and(|(sent, _)| sent.is_none()) {
                break;
            }
        }
        if let Some((_, slot)) = idle {
            self.finish(slot, now);
            let hash = self.keys.hash(&self.directions[slot].connection);
            if let Ok(entry) = self.table.find_entry(hash, |&other| other as usize == slot) {
                entry.remove();
            }
            return Some(slot);
        }
        self.counts.no_room += 1;
        None
    }
}

impl Direction {
    /// Returns a direction on which nothing was sent.
    fn new(connection: &Connection, key: u32, (host, to): (u16, u16)) -> Direction {
        Direction {
            connection: *connection,
            key,
            host,
            to,
            opened: None,
            first: None,
            sent: 0,
            acknowledged: 0,
            closed: false,
            ended: None,
            messages: ArrayVec::new(),
            last: None,
            unsaid: None,
        }
    }
}

/// Builds the taggers of all hosts, with room for this many directions of connections.
fn taggers(fabric: &Fabric, scheme: &Scheme, seed: u64, connections: usize) -> Vec<Vec<Tagger>> {
    let sites = Sites::new(fabric, seed);
    let mut taggers: Vec<Vec<Tagger>> =
        (0..fabric.hosts).map(|host| scheme.taggers(host, |class| sites.tagger(host, class))).collect();
    taggers.iter_mut().flatten().for_each(|tagger| tagger.reserve(connections));
    taggers
}

/// Returns a host's tagger of a class of flow.
fn tagger(taggers: &mut [Vec<Tagger>], host: u16, class: u8) -> &mut Tagger {
    let of_host = &mut taggers[usize::from(host)];
    let place = place(of_host, class);
    &mut of_host[place]
}

/// Returns where a host's tagger of a class is; a class beyond the last has that of the last.
fn place(of_host: &[Tagger], class: u8) -> usize {
    usize::from(class).min(of_host.len() - 1)
}

/// Keeps an event of a message for controllers.
fn tell(events: &mut Vec<HostEvent>, number: u32, event: HostEvent) {
    if number != SET_UP {
        events.push(event);
    }
}

/// Tells that all of a message is acknowledged.
fn end(taggers: &mut [Vec<Tagger>], direction: &mut Direction, told: Told, now: Time) -> HostEvent {
    direction.ended = Some(now);
    let effort = Effort { retransmissions: told.retransmissions, ..Effort::default() };
    let event = FlowEvent::MessageEnd { flow: direction.key, message: told.message, effort: Some(effort) };
    let class = told.message.class;
    tagger(taggers, direction.host, class).on_event(&event, now);
    direction.last = Some(told);
    HostEvent { at: now, host: direction.host.into(), class, event }
}

/// Returns the place in a stream that a sequence number of 32 bits names, of all such places the one nearest to `near`.
fn nearest(near: u64, first: u32, sequence: u32) -> u64 {
    let ahead = sequence.wrapping_sub(first.wrapping_add(near as u32)) as i32;
    near.saturating_add_signed(ahead.into())
}

impl<S: BuildHasher> FlowKeys<S> {
    /// Returns the whole hash of a connection, for tables.
    fn hash(&self, connection: &Connection) -> u64 {
        self.hasher().hash_one(connection)
    }
}
