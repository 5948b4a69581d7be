//! Outgoing messages: as many bytes under way as the window allows, what has to be sent again first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use flowsieve_core::hash::mix;
use flowsieve_core::message::Effort;
use flowsieve_core::{Message, Time};

use super::NsccRules;
use super::header::Header;
use super::paths::{Found, Paths};
use super::window::{Acked, Law, Window};
use crate::catalogue::desk::{Ready, Sending};
use crate::catalogue::pieces;
use crate::endpoint::{Observed, Timer};

/// A packet under way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    /// How often it was sent before.
    before: u32,
    path: u16,
}

/// An outgoing message.
#[derive(Clone, Debug)]
struct Outgoing {
    message: Message,
    packets: u32,
    /// The first packet that was never sent.
    next: u32,
    window: Window,
    paths: Paths,
    /// Packets without an answer, and the same by when they were sent.
    under_way: BTreeMap<u32, Sent>,
    by_time: BTreeSet<(Time, u32)>,
    /// Their bytes.
    under_way_bytes: u64,
    /// Packets to send again, and how often each was sent.
    again: BTreeMap<u32, u32>,
    acked: u32,
    /// Its place among the alarms.
    alarm: Time,
    /// Whether it is among those that may send.
    ready: bool,
    effort: Effort,
}

impl Outgoing {
    fn bytes(&self, rules: &NsccRules, packet: u32) -> u64 {
        u64::from(pieces::payload(rules.segment, &self.message, packet)) + u64::from(rules.header)
    }

    /// Returns the packet that it sends next; `None`: there is none.
    fn next_packet(&self) -> Option<u32> {
        let again = self.again.first_key_value().map(|(packet, _)| *packet);
        again.or((self.next < self.packets).then_some(self.next))
    }

    fn may_send(&self, rules: &NsccRules) -> bool {
        let fits = |packet| (self.under_way_bytes + self.bytes(rules, packet)) as f64 <= self.window.bytes();
        self.next_packet().is_some_and(fits)
    }

    /// Takes a packet from those that are under way.
    fn take(&mut self, rules: &NsccRules, packet: u32) -> Option<Sent> {
        let sent = self.under_way.remove(&packet)?;
        self.by_time.remove(&(sent.at, packet));
        self.under_way_bytes -= self.bytes(rules, packet);
        Some(sent)
    }

    /// Returns a packet before this one that is not known to have arrived.
    fn first_before(&self, next: u32) -> Option<u32> {
        let first = [self.under_way.keys().next(), self.again.keys().next()].into_iter().flatten().min();
        first.copied().filter(|first| *first < next)
    }

    /// Notes that a packet has arrived; returns its bytes if that is news.
    fn has_arrived(&mut self, rules: &NsccRules, packet: u32) -> u64 {
        let news = self.take(rules, packet).is_some() || self.again.remove(&packet).is_some();
        self.acked += u32::from(news);
        if news { self.bytes(rules, packet) } else { 0 }
    }
}

/// The outgoing messages of a host.
#[derive(Debug)]
pub(super) struct Senders {
    rules: NsccRules,
    law: Law,
    seed: u64,
    messages: BTreeMap<u32, Outgoing>,
    /// Messages that may send, in the order of their turns.
    ready: VecDeque<u32>,
    /// One for each message with packets under way, no later than the first is overdue.
    alarms: BTreeSet<(Time, u32)>,
}

impl Senders {
    pub(super) fn new(rules: NsccRules, law: Law, seed: u64) -> Senders {
        Senders { rules, law, seed, messages: BTreeMap::new(), ready: VecDeque::new(), alarms: BTreeSet::new() }
    }

    /// Begins a message.
    pub(super) fn begin(&mut self, now: Time, message: &Message) {
        let outgoing = Outgoing {
            message: *message,
            packets: pieces::packets(self.rules.segment, message.bytes),
            next: 0,
            window: Window::new(now, self.law),
            paths: Paths::new(self.rules.paths, mix(self.seed ^ u64::from(message.id))),
            under_way: BTreeMap::new(),
            by_time: BTreeSet::new(),
            under_way_bytes: 0,
            again: BTreeMap::new(),
            acked: 0,
            alarm: Time::NEVER,
            ready: false,
            effort: Effort::default(),
        };
        self.messages.insert(message.id, outgoing);
        self.place(message.id);
    }

    /// Gives a message its turn if it may send.
    fn place(&mut self, id: u32) {
        let Some(outgoing) = self.messages.get_mut(&id) else { return };
        if !outgoing.ready && outgoing.may_send(&self.rules) {
            outgoing.ready = true;
            self.ready.push_back(id);
        }
    }

    /// Takes an acknowledgement, which came with an entropy. Returns whether it is news, and the message with its effort if all of it has
    /// arrived.
    pub(super) fn acked(&mut self, now: Time, id: u32, header: Header, path: u16) -> (bool, Option<(Message, Effort)>) {
        let Header::Ack { next, more: (first, bits), packet, again, marked } = header else { return (false, None) };
        let (rules, Some(outgoing)) = (&self.rules, self.messages.get_mut(&id)) else { return (false, None) };
        // Of a packet that was sent twice it is known which one arrived, of one that was sent more often not.
        let sent = outgoing.under_way.get(&packet).filter(|sent| sent.before == u32::from(again));
        let delay = match sent.map(|sent| sent.at) {
            Some(at) => {
                let delay = outgoing.window.measure(now.since(at));
                outgoing.window.observe(delay, marked);
                delay
            }
            None => outgoing.window.average(),
        };
        let mut bytes = 0;
        while let Some(packet) = outgoing.first_before(next) {
            bytes += outgoing.has_arrived(rules, packet);
        }
        for place in (0..64u32).filter(|place| bits >> place & 1 != 0) {
            bytes += outgoing.has_arrived(rules, first.saturating_add(place));
        }
        outgoing.paths.hear(now, path, if marked { Found::Marked } else { Found::Clear });
        let under_way = outgoing.under_way_bytes as f64;
        outgoing.window.on_ack(now, Acked { bytes: bytes as f64, delay, marked, under_way });
        if outgoing.acked < outgoing.packets {
            self.place(id);
            return (bytes > 0, None);
        }
        let ended = self.messages.remove(&id);
        ended.iter().for_each(|ended| _ = self.alarms.remove(&(ended.alarm, id)));
        (bytes > 0, ended.map(|ended| (ended.message, ended.effort)))
    }

    /// Takes the news that a packet was cut: it is sent again.
    pub(super) fn nacked(&mut self, now: Time, id: u32, header: Header, path: u16) {
        let Header::Nack { packet, last_hop, marked } = header else { return };
        let (rules, Some(outgoing)) = (&self.rules, self.messages.get_mut(&id)) else { return };
        let Some(sent) = outgoing.under_way.get(&packet).copied() else { return };
        outgoing.window.measure(now.since(sent.at));
        let (bytes, under_way) = (outgoing.bytes(rules, packet), outgoing.under_way_bytes);
        outgoing.window.on_cut(now, bytes as f64, under_way as f64);
        outgoing.take(rules, packet);
        outgoing.again.insert(packet, sent.before + 1);
        let found = match (last_hop, marked) {
            (false, _) => Found::Trimmed,
            (true, true) => Found::Marked,
            (true, false) => Found::Clear,
        };
        outgoing.paths.hear(now, path, found);
        self.place(id);
    }

    /// Returns the first alarm.
    pub(super) fn alarm(&self) -> Timer {
        self.alarms.first().map_or(Timer::NEVER, |&(at, id)| Timer { at, order: Timer::sender(id) })
    }

    /// Handles the first alarm, if it is due. Returns its message if answers to its packets are overdue; they are sent again.
    pub(super) fn on_alarm(&mut self, now: Time) -> Option<u32> {
        let &(_, id) = self.alarms.first().filter(|(at, _)| *at <= now)?;
        self.alarms.pop_first();
        let (rules, outgoing) = (&self.rules, self.messages.get_mut(&id)?);
        let mut overdue = false;
        while let Some(&(_, packet)) = outgoing.by_time.first().filter(|(at, _)| *at + rules.rto <= now) {
            let Some(sent) = outgoing.take(rules, packet) else { break };
            outgoing.again.insert(packet, sent.before + 1);
            outgoing.window.on_timeout(outgoing.bytes(rules, packet) as f64);
            outgoing.paths.hear(now, sent.path, Found::Silent);
            overdue = true;
        }
        outgoing.effort.timeouts += u32::from(overdue);
        outgoing.alarm = outgoing.by_time.first().map_or(Time::NEVER, |(at, _)| *at + rules.rto);
        if outgoing.alarm != Time::NEVER {
            self.alarms.insert((outgoing.alarm, id));
        }
        self.place(id);
        overdue.then_some(id)
    }

    /// Reports the window of each message and its average delay, and its packets under way and to be sent again.
    pub(super) fn observe(&self, see: &mut dyn FnMut(u32, Observed<'_>)) {
        for (&id, outgoing) in &self.messages {
            let values = [
                ("window_bytes", outgoing.window.bytes()),
                ("average_delay_us", outgoing.window.average().0 as f64 / 1e6),
                ("under_way_packets", outgoing.under_way.len() as f64),
                ("again_packets", outgoing.again.len() as f64),
            ];
            see(id, &values);
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
            // It may have ended, or its window may have become smaller.
            let (rules, Some(outgoing)) = (&self.rules, self.messages.get_mut(&id)) else { continue };
            outgoing.ready = false;
            if !outgoing.may_send(rules) {
                continue;
            }
            let again = outgoing.again.pop_first();
            let (packet, before) = again.unwrap_or((outgoing.next, 0));
            match again {
                Some(_) => outgoing.effort.retransmissions += 1,
                None => outgoing.next += 1,
            }
            let path = outgoing.paths.choose();
            outgoing.under_way.insert(packet, Sent { at: now, before, path });
            outgoing.by_time.insert((now, packet));
            outgoing.under_way_bytes += outgoing.bytes(rules, packet);
            if outgoing.alarm == Time::NEVER {
                outgoing.alarm = now + rules.rto;
                self.alarms.insert((outgoing.alarm, id));
            }
            // Nothing follows it soon, so its answer must not be held back.
            let asks = again.is_some() || !outgoing.may_send(rules);
            let header = Header::Data { packet, packets: outgoing.packets, again: again.is_some(), asks };
            let (message, timeouts) = (outgoing.message, outgoing.effort.timeouts);
            let facts = pieces::facts(now, rules.segment, &message, packet, (again.is_some(), timeouts));
            let len = facts.payload as u16 + rules.header;
            let packet = header.write((message.to, id), path, message.coflow, len);
            self.place(id);
            return Some(Sending { packet, facts });
        }
    }
}
