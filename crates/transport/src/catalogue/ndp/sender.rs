//! Outgoing messages (§3.2): the first window at once, then a packet for each PULL, those first that have to be sent again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use flowsieve_core::message::Effort;
use flowsieve_core::{Message, Time};

use super::NdpRules;
use super::header::{Header, Piece};
use crate::catalogue::desk::{Ready, Sending};
use crate::catalogue::pieces;
use crate::endpoint::{Observed, Timer};
use crate::packet::Packet;

/// How often the wait for an answer doubles.
const OF_ANSWERS: u32 = 3;

/// How often that for a PULL does, which may come late: it waits for its turn among those of many senders.
const OF_PULLS: u32 = 6;

/// A packet under way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// When its answer is overdue.
    due: Time,
    /// How often it was.
    overdue: u32,
}

/// An outgoing message.
#[derive(Clone, Debug)]
struct Outgoing {
    message: Message,
    packets: u32,
    /// The first packet that was never sent.
    next: u32,
    /// Packets that may be sent.
    credits: u32,
    /// PULLs, by the number in the newest.
    pulled: u32,
    /// ACKs and NACKs, each of which a PULL follows.
    answers: u32,
    /// Whether the newest answer was an ACK.
    acked_last: bool,
    /// Packets without an answer.
    under_way: BTreeMap<u32, Sent>,
    /// Packets to send again, and how often each was overdue.
    again: BTreeMap<u32, u32>,
    acked: u32,
    /// When something was last heard, or asked.
    heard: Time,
    /// Questions since something was heard.
    asked: u32,
    /// When the last PULL came, and how long after the one before: its turn among other senders.
    turn: (Time, Time),
    /// Its place among the alarms.
    alarm: Time,
    /// Whether it is among those that may send.
    ready: bool,
    effort: Effort,
}

impl Outgoing {
    fn has_more(&self) -> bool {
        !self.again.is_empty() || self.next < self.packets
    }

    fn may_send(&self) -> bool {
        self.credits > 0 && self.has_more()
    }

    /// Returns the packet that it sends next; it must have one.
    fn next_packet(&self) -> u32 {
        self.again.first_key_value().map_or(self.next, |(packet, _)| *packet)
    }

    /// Returns when its silence has lasted too long, if nothing will end it but a PULL: longer than two of its turns.
    fn asks_at(&self, rto: Time) -> Time {
        let waits = self.under_way.is_empty() && self.credits == 0 && self.has_more();
        let wait = rto.max(Time(self.turn.1.0.saturating_mul(2)));
        if waits { self.heard + longer(wait, self.asked.min(OF_PULLS)) } else { Time::NEVER }
    }

    fn heard(&mut self, now: Time) {
        (self.heard, self.asked) = (now, 0);
    }
}

/// Returns a wait that has doubled so often.
fn longer(rto: Time, doublings: u32) -> Time {
    Time(rto.0.saturating_mul(1 << doublings))
}

/// What an alarm has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silent {
    /// Answers of a message are overdue, and its packets are to be sent again.
    Overdue {
        /// The message.
        message: u32,
    },
    /// No PULL has come: this packet asks for one.
    Asks(Packet),
}

/// The outgoing messages of a host.
#[derive(Debug)]
pub(super) struct Senders {
    rules: NdpRules,
    messages: BTreeMap<u32, Outgoing>,
    /// Messages that may send, in the order of their turns.
    ready: VecDeque<u32>,
    /// One for each message, no later than its first packet is overdue.
    alarms: BTreeSet<(Time, u32)>,
}

impl Senders {
    pub(super) fn new(rules: NdpRules) -> Senders {
        Senders { rules, messages: BTreeMap::new(), ready: VecDeque::new(), alarms: BTreeSet::new() }
    }

    /// Begins a message: its first packets need no PULL.
    pub(super) fn begin(&mut self, now: Time, message: &Message) {
        let alarm = now + self.rules.rto;
        let outgoing = Outgoing {
            message: *message,
            packets: pieces::packets(self.rules.segment, message.bytes),
            next: 0,
            credits: self.rules.window,
            pulled: 0,
            answers: 0,
            acked_last: false,
            under_way: BTreeMap::new(),
            again: BTreeMap::new(),
            acked: 0,
            heard: now,
            asked: 0,
            turn: (now, Time::ZERO),
            alarm,
            ready: false,
            effort: Effort::default(),
        };
        // What is left of the window after a short message is no credit.
        let outgoing = Outgoing { credits: outgoing.credits.min(outgoing.packets), ..outgoing };
        self.messages.insert(message.id, outgoing);
        self.alarms.insert((alarm, message.id));
        self.place(message.id);
    }

    /// Gives a message its turn if it may send.
    fn place(&mut self, id: u32) {
        let Some(outgoing) = self.messages.get_mut(&id) else { return };
        if !outgoing.ready && outgoing.may_send() {
            outgoing.ready = true;
            self.ready.push_back(id);
        }
    }

    /// Takes an ACK. Returns whether it is news, and the message with its effort if all of it has arrived.
    pub(super) fn acked(&mut self, now: Time, id: u32, packet: u32) -> (bool, Option<(Message, Effort)>) {
        let Some(outgoing) = self.messages.get_mut(&id) else { return (false, None) };
        outgoing.heard(now);
        outgoing.answers += 1;
        outgoing.acked_last = true;
        let news = outgoing.under_way.remove(&packet).is_some() || outgoing.again.remove(&packet).is_some();
        outgoing.acked += u32::from(news);
        if outgoing.acked < outgoing.packets {
            return (news, None);
        }
        let ended = self.messages.remove(&id);
        ended.iter().for_each(|ended| _ = self.alarms.remove(&(ended.alarm, id)));
        (news, ended.map(|ended| (ended.message, ended.effort)))
    }

    /// Takes a NACK: the packet is sent again after a PULL.
    pub(super) fn nacked(&mut self, now: Time, id: u32, packet: u32) {
        let Some(outgoing) = self.messages.get_mut(&id) else { return };
        outgoing.heard(now);
        outgoing.answers += 1;
        outgoing.acked_last = false;
        if outgoing.under_way.remove(&packet).is_some() {
            outgoing.again.insert(packet, 0);
        }
        // A PULL may have come before it.
        self.place(id);
    }

    /// Takes a PULL; returns whether it is news.
    pub(super) fn pulled(&mut self, now: Time, id: u32, count: u32) -> bool {
        let Some(outgoing) = self.messages.get_mut(&id) else { return false };
        outgoing.heard(now);
        let more = count.saturating_sub(outgoing.pulled);
        if more > 0 {
            outgoing.turn = (now, now.since(outgoing.turn.0));
        }
        outgoing.credits += more;
        outgoing.pulled += more;
        self.place(id);
        more > 0
    }

    /// Takes a packet that a switch has sent back (§3.2.4). It is sent again at once if it could not do harm: no PULL is expected, or most
    /// of what was sent arrives.
    pub(super) fn returned(&mut self, now: Time, id: u32, packet: u32) {
        let Some(outgoing) = self.messages.get_mut(&id) else { return };
        outgoing.heard(now);
        if outgoing.under_way.remove(&packet).is_none() {
            return;
        }
        outgoing.again.insert(packet, 0);
        let no_pulls = outgoing.under_way.is_empty() && outgoing.answers <= outgoing.pulled;
        outgoing.credits += u32::from(outgoing.acked_last || no_pulls);
        self.place(id);
    }

    /// Returns the first alarm.
    pub(super) fn alarm(&self) -> Timer {
        self.alarms.first().map_or(Timer::NEVER, |&(at, id)| Timer { at, order: Timer::sender(id) })
    }

    /// Handles the first alarm, if it is due.
    pub(super) fn on_alarm(&mut self, now: Time) -> Option<Silent> {
        let &(_, id) = self.alarms.first().filter(|(at, _)| *at <= now)?;
        self.alarms.pop_first();
        let NdpRules { rto, header, .. } = self.rules;
        let outgoing = self.messages.get_mut(&id)?;
        let overdue: Vec<(u32, u32)> = outgoing
            .under_way
            .iter()
            .filter(|(_, sent)| sent.due <= now)
            .map(|(packet, sent)| (*packet, sent.overdue + 1))
            .collect();
        for (packet, _) in &overdue {
            outgoing.under_way.remove(packet);
        }
        let mut silent = None;
        if !overdue.is_empty() {
            outgoing.credits += overdue.len() as u32;
            outgoing.again.extend(overdue);
            outgoing.effort.timeouts += 1;
            silent = Some(Silent::Overdue { message: id });
        } else if outgoing.asks_at(rto) <= now {
            (outgoing.heard, outgoing.asked) = (now, outgoing.asked + 1);
            let piece = Piece { packet: outgoing.next_packet(), packets: outgoing.packets, again: true };
            let Message { to, coflow, .. } = outgoing.message;
            silent = Some(Silent::Asks(Header::Ask(piece).write((to, id), coflow, header)));
        }
        // What is sent from now on is not overdue before `rto` has passed.
        let due = outgoing.under_way.values().map(|sent| sent.due);
        outgoing.alarm = due.chain([outgoing.asks_at(rto), now + rto]).min().unwrap_or(Time::NEVER);
        self.alarms.insert((outgoing.alarm, id));
        self.place(id);
        silent
    }

    /// Reports the packets of each message that are under way, and those to be sent again.
    pub(super) fn observe(&self, see: &mut dyn FnMut(u32, Observed<'_>)) {
        for (&id, outgoing) in &self.messages {
            let (under_way, again) = (outgoing.under_way.len() as f64, outgoing.again.len() as f64);
            see(id, &[("under_way_packets", under_way), ("again_packets", again)]);
        }
    }
}

impl Ready for Senders {
    fn any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    fn send(&mut self, now: Time) -> Option<Sending> {
        loop {
            let id = self.ready.pop_front()?;
            // It may have ended since.
            let Some(outgoing) = self.messages.get_mut(&id) else { continue };
            outgoing.ready = false;
            if !outgoing.may_send() {
                continue;
            }
            outgoing.credits -= 1;
            let again = outgoing.again.pop_first();
            let packet = again.map_or(outgoing.next, |(packet, _)| packet);
            match again {
                Some(_) => outgoing.effort.retransmissions += 1,
                None => outgoing.next += 1,
            }
            let overdue = again.map_or(0, |(_, overdue)| overdue);
            outgoing
                .under_way
                .insert(packet, Sent { due: now + longer(self.rules.rto, overdue.min(OF_ANSWERS)), overdue });
            let (message, packets) = (outgoing.message, outgoing.packets);
            let payload = pieces::payload(self.rules.segment, &message, packet);
            let sent_before = (again.is_some(), outgoing.effort.timeouts);
            let facts = pieces::facts(now, self.rules.segment, &message, packet, sent_before);
            self.place(id);
            let header = Header::Data(Piece { packet, packets, again: again.is_some() });
            let packet = header.write((message.to, id), message.coflow, payload + self.rules.header);
            return Some(Sending { packet, facts });
        }
    }
}
