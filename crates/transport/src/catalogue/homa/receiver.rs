//! Incoming messages: whose packets may come next (§3.3, §3.5), and which have to come again (§3.7).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

use flowsieve_core::Time;

use super::arrived::Arrived;
use super::header::{DataHeader, Have};
use super::levels::Levels;
use super::ranking::Ranking;
use super::rules::HomaRules;
use super::seen::{Seen, Words};
use crate::endpoint::Timer;

/// An incoming message.
#[derive(Clone, Debug)]
struct Incoming {
    message: u32,
    /// Its number among all that came: of equals the one that came first is granted first.
    nth: u32,
    peer: u16,
    size: u64,
    predicted: Option<NonZeroU64>,
    packets: u32,
    arrived: Arrived,
    /// RTTbytes of its sender.
    rtt_bytes: u64,
    /// One past the last packet that may be sent; those without a need for grants count.
    granted: u32,
    /// Its rank among those that need grants.
    rank: Option<u64>,
    /// When something of it last came, or when something became due while nothing was.
    heard: Time,
    /// RESENDs since then.
    tries: u32,
    /// RESENDs in all.
    asked: u32,
}

impl Incoming {
    /// Returns the packets that are granted and have not arrived.
    fn under_way(&self) -> u32 {
        self.granted - self.arrived.count()
    }
}

/// A grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) peer: u16,
    pub(super) message: u32,
    /// One past the last packet that may be sent.
    pub(super) before: u32,
    pub(super) level: u8,
}

/// What a packet of data was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// A part of a message.
    Part,
    /// The last missing part.
    Whole {
        /// Packets that arrived after a later one.
        out_of_order: u32,
        /// How often packets were asked for, each time after a silence.
        asked: u32,
    },
    /// It had arrived before.
    Unneeded,
    /// It is of a message that was given up, or it is not of the message that it names.
    Ignored,
}

/// What became of a message of which nothing came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Silent {
    /// Its sender is asked for these packets.
    Resend {
        /// The sender.
        peer: u16,
        /// The message.
        message: u32,
        /// The packets that are missing, gap by gap.
        gaps: Vec<Range<u32>>,
    },
    /// It is given up.
    GivenUp {
        /// The message.
        message: u32,
    },
}

/// The incoming messages of a host.
#[derive(Debug)]
pub(super) struct Receivers {
    rules: Arc<HomaRules>,
    host: u16,
    slots: Vec<Incoming>,
    free: Vec<u32>,
    by_message: BTreeMap<u32, u32>,
    ranking: Ranking,
    levels: Levels,
    seen: Option<Seen>,
    /// One for each message: when its silence may have lasted too long. Something may have come since.
    alarms: BinaryHeap<Reverse<(Time, u32)>>,
    /// Messages that are over, for as long as something of them may come.
    over: BTreeMap<u32, Have>,
    over_since: VecDeque<(Time, u32)>,
    /// Slots of messages that may get a grant; kept for its memory.
    first: Vec<u32>,
    /// How many messages came.
    came: u32,
}

impl Receivers {
    pub(super) fn new(rules: Arc<HomaRules>, host: u16) -> Receivers {
        let unscheduled = rules.levels.cutoffs().len() as u8 + 1;
        Receivers {
            levels: rules.levels.clone(),
            seen: rules.seen.map(|every| Seen::new(rules.cut(), every, unscheduled)),
            rules,
            host,
            slots: Vec::new(),
            free: Vec::new(),
            by_message: BTreeMap::new(),
            ranking: Ranking::default(),
            alarms: BinaryHeap::new(),
            over: BTreeMap::new(),
            over_since: VecDeque::new(),
            first: Vec::new(),
            came: 0,
        }
    }

    /// Returns the cutoffs for its senders.
    pub(super) fn cutoffs(&self) -> Words {
        self.seen.as_ref().map_or(Words::default(), |seen| seen.words)
    }

    /// Takes a packet of data.
    pub(super) fn on_data(&mut self, now: Time, (peer, message): (u16, u32), data: &DataHeader) -> Data {
        let slot = match self.by_message.get(&message) {
            Some(&slot) => slot,
            None => match self.over.get(&message) {
                Some(Have::All) => return Data::Unneeded,
                Some(_) => return Data::Ignored,
                None => self.add(now, (peer, message), data),
            },
        };
        let incoming = &mut self.slots[slot as usize];
        // What was granted before this message was given up here may come later; it is the message's, too.
        if data.packet >= incoming.packets || incoming.peer != peer {
            return Data::Ignored;
        }
        if !incoming.arrived.insert(data.packet) {
            return Data::Unneeded;
        }
        incoming.granted = incoming.granted.max(data.packet + 1);
        (incoming.heard, incoming.tries) = (now, 0);
        if incoming.arrived.count() < incoming.packets {
            return Data::Part;
        }
        let (out_of_order, asked) = (incoming.arrived.out_of_order(), incoming.asked);
        self.end(now, message, Have::All);
        Data::Whole { out_of_order, asked }
    }

    fn add(&mut self, now: Time, (peer, message): (u16, u32), data: &DataHeader) -> u32 {
        let computed = self.seen.as_mut().and_then(|seen| seen.message(data.size));
        if let Some(levels) = computed.and_then(|cutoffs| self.levels.with_cutoffs(cutoffs)) {
            self.levels = levels;
        }
        let packets = self.rules.packets(data.size);
        self.came = self.came.wrapping_add(1);
        let incoming = Incoming {
            message,
            nth: self.came,
            peer,
            size: data.size,
            predicted: data.predicted,
            packets,
            arrived: Arrived::default(),
            rtt_bytes: self.rules.rtt_bytes_between(peer, self.host),
            granted: data.unscheduled.min(packets),
            rank: None,
            heard: now,
            tries: 0,
            asked: 0,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = incoming;
                slot
            }
            None => {
                self.slots.push(incoming);
                self.slots.len() as u32 - 1
            }
        };
        self.by_message.insert(message, slot);
        self.alarms.push(Reverse((now + self.rules.silence, message)));
        self.rank(slot);
        slot
    }

    /// Returns the bytes of a message that are not granted yet, for its rank.
    fn ungranted(&self, incoming: &Incoming) -> u64 {
        self.rules.sizes.left(incoming.size, incoming.predicted, self.rules.offset(incoming.granted))
    }

    /// Gives a message its place among those that need grants.
    fn rank(&mut self, slot: u32) {
        let incoming = &self.slots[slot as usize];
        let rank = (incoming.granted < incoming.packets).then(|| self.ungranted(incoming));
        let (peer, nth, before) = (incoming.peer, incoming.nth, incoming.rank);
        if rank != before {
            before.iter().for_each(|&rank| self.ranking.remove(peer, (rank, nth, slot)));
            rank.iter().for_each(|&rank| self.ranking.insert(peer, (rank, nth, slot)));
            self.slots[slot as usize].rank = rank;
        }
    }

    /// Ends a message.
    fn end(&mut self, now: Time, message: u32, have: Have) {
        let Some(slot) = self.by_message.remove(&message) else { return };
        let incoming = &mut self.slots[slot as usize];
        if let Some(rank) = incoming.rank.take() {
            self.ranking.remove(incoming.peer, (rank, incoming.nth, slot));
        }
        incoming.arrived = Arrived::default();
        self.free.push(slot);
        self.over.insert(message, have);
        self.over_since.push_back((now, message));
        // A sender that has heard nothing gives up within this time, and a packet is not under way for longer.
        let memory = Time(self.rules.silence.0.saturating_mul(u64::from(self.rules.attempts) + 2));
        while let Some(&(since, old)) = self.over_since.front()
            && now.since(since) > memory
        {
            self.over_since.pop_front();
            self.over.remove(&old);
        }
    }

    /// Gives the grants that are due: each of the first messages has RTTbytes granted that have not arrived.
    pub(super) fn give_grants(&mut self, now: Time, mut give: impl FnMut(Grant)) {
        loop {
            self.first.clear();
            self.first.extend(self.ranking.first(self.rules.overcommitment));
            let mut any_is_granted = false;
            for place in 0..self.first.len() {
                let (slot, longer) = (self.first[place], self.first.len() - 1 - place);
                let lowest = self.levels.scheduled(longer);
                let rtt_bytes = self.slots[slot as usize].rtt_bytes;
                let window = self.rules.packets(rtt_bytes);
                let mut gave = false;
                loop {
                    let incoming = &self.slots[slot as usize];
                    if incoming.granted >= incoming.packets || incoming.under_way() >= window {
                        break;
                    }
                    // The last RTTbytes go like those of a short message.
                    let left = self.ungranted(incoming);
                    let tail = self.levels.unscheduled(left);
                    let level = if left <= rtt_bytes { lowest.min(tail) } else { lowest };
                    let incoming = &mut self.slots[slot as usize];
                    if incoming.under_way() == 0 {
                        incoming.heard = now;
                    }
                    incoming.granted += 1;
                    gave = true;
                    let Incoming { peer, message, granted: before, .. } = *incoming;
                    give(Grant { peer, message, before, level });
                }
                if gave {
                    self.rank(slot);
                    any_is_granted |= self.slots[slot as usize].rank.is_none();
                }
            }
            // The place of a message that needs no grants any more is free.
            if !any_is_granted {
                return;
            }
        }
    }

    /// Takes a sender's BUSY.
    pub(super) fn busy(&mut self, now: Time, message: u32) {
        if let Some(&slot) = self.by_message.get(&message) {
            let incoming = &mut self.slots[slot as usize];
            (incoming.heard, incoming.tries) = (now, 0);
        }
    }

    /// Returns what this host has of a message; `None`: it knows nothing of it.
    pub(super) fn has(&self, message: u32) -> Option<Have> {
        let under_way = self.by_message.contains_key(&message).then_some(Have::Part);
        under_way.or_else(|| self.over.get(&message).copied())
    }

    /// Returns the first alarm.
    pub(super) fn alarm(&self) -> Timer {
        self.alarms.peek().map_or(Timer::NEVER, |&Reverse((at, id))| Timer { at, order: Timer::receiver(id) })
    }

    /// Handles the first alarm, if it is due.
    pub(super) fn on_alarm(&mut self, now: Time) -> Option<Silent> {
        let &Reverse((at, message)) = self.alarms.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.alarms.pop();
        let silence = self.rules.silence;
        let incoming = &mut self.slots[*self.by_message.get(&message)? as usize];
        let due = incoming.heard + silence;
        if due > at || incoming.under_way() == 0 {
            // Nothing is expected of a message that waits for grants.
            self.alarms.push(Reverse((if due > at { due } else { now + silence }, message)));
            return None;
        }
        if incoming.tries >= self.rules.attempts {
            self.end(now, message, Have::GaveUp);
            return Some(Silent::GivenUp { message });
        }
        incoming.tries += 1;
        incoming.asked += 1;
        self.alarms.push(Reverse((now + silence, message)));
        Some(Silent::Resend { peer: incoming.peer, message, gaps: incoming.arrived.missing(incoming.granted) })
    }
}
