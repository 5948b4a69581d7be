//! PIAS's levels by thresholds that change, in which a message keeps what it has reached: a new table never moves it up.
//!
//! The level of a packet is the number of thresholds that the bytes before it exceed, as in
//! [`demotion`](crate::taggers::demotion), and at least that of the message's packets before it. If a table moved a message
//! up, its next packets would overtake those before them. A retransmission has the level of its offset, as in PIAS.
//!
//! The bytes sent of messages under way can be asked for, so that a controller learns of sizes before messages end
//! ([`crate::controllers::survival`]).

use rustc_hash::FxHashMap;

use crate::controller::{Latest, Published};
use crate::message::FlowEvent;
use crate::readings::{Reading, observe_thresholds};
use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets, TaggerRules};
use crate::taggers::aged_levels::aged;
use crate::taggers::demotion::level;
use crate::taggers::level_cap::{CappedLevels, LevelCap};
use crate::taggers::levels::TAG_THRESHOLD;
use crate::units::Time;

/// The initial levels of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLevelParams {
    /// The thresholds before there is a table, in bytes.
    pub thresholds: Vec<u64>,
    /// The number of levels. A table with more thresholds than that has no further ones.
    pub levels: usize,
    /// Whether the rank has the level and the age of the message, for a port that sorts by them
    /// ([`aged_levels`](crate::taggers::aged_levels)). Then there are at most 32 levels.
    pub by_age: bool,
    /// The most that a host sends in each level.
    pub cap: Option<LevelCap>,
}

/// The tagger of a host.
#[derive(Clone, Debug)]
pub struct KeptLevels {
    thresholds: Latest,
    levels: usize,
    by_age: bool,
    cap: Option<CappedLevels>,
    /// By message under way that has sent something.
    sending: FxHashMap<u32, Sending>,
}

/// A message under way.
#[derive(Clone, Copy, Debug, Default)]
struct Sending {
    bytes: u64,
    level: u8,
}

impl TaggerRules for KeptLevelParams {
    type Tagger = KeptLevels;

    fn build(&self) -> KeptLevels {
        let thresholds = Latest::new(self.thresholds.clone());
        let cap = self.cap.map(CappedLevels::new);
        KeptLevels { thresholds, levels: self.levels, by_age: self.by_age, cap, sending: FxHashMap::default() }
    }
}

impl KeptLevels {
    #[inline]
    fn by_offset(&self, offset: u64) -> u8 {
        level(&self.thresholds.values, offset).min(self.levels.saturating_sub(1)) as u8
    }

    #[inline]
    fn tag_of(&self, level: u8, start: Time) -> Tag {
        if self.by_age { aged(level, start) } else { Tag::with_priority(level) }
    }
}

impl TagPackets for KeptLevels {
    #[inline]
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        let by_offset = self.by_offset(facts.offset);
        let last = self.levels.saturating_sub(1) as u8;
        let mut capped = |level| match &mut self.cap {
            Some(cap) => cap.admit(level, facts.payload, facts.now).min(last),
            None => level,
        };
        if facts.retransmission {
            let level = capped(by_offset);
            return self.tag_of(level, facts.start);
        }
        let sending = self.sending.entry(facts.message).or_default();
        sending.bytes = sending.bytes.max(facts.offset.saturating_add(facts.payload.into()));
        sending.level = capped(sending.level.max(by_offset));
        let level = sending.level;
        self.tag_of(level, facts.start)
    }

    /// Returns the level that the packet will have, unless the cap lowers it.
    fn urgency(&self, facts: &FlowFacts) -> u64 {
        let by_offset = self.by_offset(facts.offset);
        match self.sending.get(&facts.message) {
            Some(sending) if !facts.retransmission => by_offset.max(sending.level).into(),
            _ => by_offset.into(),
        }
    }

    fn reserve(&mut self, messages: usize) {
        self.sending.reserve(2 * messages);
    }

    fn on_event(&mut self, event: &FlowEvent, _: Time) {
        match event {
            FlowEvent::MessageEnd { message, .. } => self.sending.remove(&message.id),
            FlowEvent::GivenUp { message } => self.sending.remove(message),
            _ => None,
        };
    }

    fn on_table(&mut self, published: &Published) {
        if published.table.name == TAG_THRESHOLD {
            self.thresholds.take(published);
        }
        if let Some(cap) = &mut self.cap {
            cap.on_table(published);
        }
    }

    fn sent(&self, see: &mut dyn FnMut(u32, u64)) {
        let mut sent: Vec<(u32, u64)> = self.sending.iter().map(|(&id, sending)| (id, sending.bytes)).collect();
        sent.sort_unstable();
        sent.into_iter().for_each(|(message, bytes)| see(message, bytes));
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        observe_thresholds(TAG_THRESHOLD, &self.thresholds.values, see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Table;
    use crate::message::Message;
    use proptest::prelude::*;

    fn tagger(thresholds: &[u64]) -> KeptLevels {
        KeptLevelParams { thresholds: thresholds.to_vec(), levels: 8, by_age: false, cap: None }.build()
    }

    fn table(version: u64, thresholds: &[u64]) -> Published {
        Published { version, table: Table::of_thresholds(TAG_THRESHOLD, thresholds) }
    }

    fn data(message: u32, offset: u64) -> FlowFacts {
        FlowFacts { message, offset, payload: 1_000, ..FlowFacts::default() }
    }

    fn level_of(tagger: &mut KeptLevels, facts: &FlowFacts) -> u8 {
        let asked = tagger.urgency(facts);
        let tag = tagger.tag(facts).priority();
        assert_eq!(asked, u64::from(tag), "a host serves a packet by the level that it will have");
        tag
    }

    #[test]
    fn tag__what_the_cap_demotes_stays_there() {
        let cap = LevelCap { thousandths: 1_000, line_bps: 8_000_000_000, burst: Time::from_us(4) };
        let mut host =
            KeptLevelParams { thresholds: vec![5_000, 9_000], levels: 3, by_age: false, cap: Some(cap) }.build();
        let mut tags = |message, us, offsets: [u64; 3]| {
            offsets.map(|offset| host.tag(&FlowFacts { now: Time::from_us(us), ..data(message, offset) }).priority())
        };
        assert_eq!(tags(1, 0, [0, 1_000, 2_000]), [0, 0, 0], "without shares there is no cap");
        let shares = Table::of_thresholds(crate::controllers::survival::LEVEL_SHARE, &[500_000, 250_000, 250_000]);
        host.on_table(&Published { version: 1, table: shares });
        // A byte takes a nanosecond of the line, so 1,000 take 2 us of the first level and 4 us of the second.
        let mut tags = |message, us, offsets: [u64; 3]| {
            offsets.map(|offset| host.tag(&FlowFacts { now: Time::from_us(us), ..data(message, offset) }).priority())
        };
        assert_eq!(tags(2, 0, [0, 1_000, 2_000]), [0, 0, 1]);
        assert_eq!(tags(2, 9, [3_000, 4_000, 6_000]), [1, 2, 2], "its level is kept when the first has room");
        assert_eq!(tags(3, 9, [0, 1_000, 2_000]), [0, 0, 2]);
    }

    #[test]
    fn on_table__a_message_under_way_keeps_its_level_and_a_new_one_begins_by_the_new_table() {
        let mut host = tagger(&[2_000, 4_000]);
        assert_eq!([0, 2_000, 3_000, 5_000].map(|offset| level_of(&mut host, &data(1, offset))), [0, 0, 1, 2]);
        host.on_table(&table(1, &[7_000, 9_000]));
        assert_eq!([6_000, 8_000, 10_000].map(|offset| level_of(&mut host, &data(1, offset))), [2, 2, 2]);
        assert_eq!([0, 6_000, 8_000, 10_000].map(|offset| level_of(&mut host, &data(2, offset))), [0, 0, 1, 2]);
        host.on_table(&table(2, &[500, 600, 700]));
        assert_eq!([level_of(&mut host, &data(1, 11_000)), level_of(&mut host, &data(2, 11_000))], [3, 3]);
        // Sent again, a packet has the level of its offset.
        let again = FlowFacts { retransmission: true, ..data(1, 550) };
        assert_eq!(level_of(&mut host, &again), 1);
    }

    #[test]
    fn tag__by_age_a_level_before_the_next_and_the_older_message_before_the_younger() {
        let mut host = KeptLevelParams { thresholds: vec![2_000], levels: 8, by_age: true, cap: None }.build();
        let mut tag = |message, offset, us, retransmission| {
            let facts = FlowFacts { start: Time::from_us(us), retransmission, ..data(message, offset) };
            host.tag(&facts)
        };
        let tags = [tag(1, 0, 7, false), tag(2, 0, 9, false), tag(1, 2_001, 7, false), tag(2, 2_001, 9, false)];
        assert!(tags.is_sorted_by(|a, b| a.rank() < b.rank()), "{tags:?}");
        assert_eq!(tags.map(Tag::priority), [0, 0, 1, 1], "queues find the level as before");
        assert_eq!(tag(2, 0, 9, true), tags[1], "sent again, it is where its bytes were");
    }

    #[test]
    fn on_table__thresholds_that_cross_or_coincide_and_too_many() {
        let mut host = tagger(&[]);
        assert_eq!(level_of(&mut host, &data(0, u64::MAX - 10)), 0, "nothing is known");
        host.on_table(&table(1, &[500, 500, 900]));
        assert_eq!([500, 501, 901].map(|offset| level_of(&mut host, &data(1, offset))), [0, 2, 3]);
        // A message passes the first threshold before any other counts.
        host.on_table(&table(2, &[900, 500, 100]));
        assert_eq!([600, 901].map(|offset| level_of(&mut host, &data(2, offset))), [0, 3]);
        host.on_table(&table(3, &[0; 300]));
        assert_eq!(level_of(&mut host, &data(3, 1)), 7, "there are eight levels");
        host.on_table(&Published { version: 9, table: Table::of_thresholds("another", &[1]) });
        host.on_table(&table(2, &[1]));
        assert_eq!(level_of(&mut host, &data(4, 50)), 7, "a controller that is gone leaves its last table");
    }

    #[test]
    fn sent__of_messages_under_way_until_they_end() {
        let mut host = tagger(&[2_000]);
        for (message, offset) in [(9, 0), (3, 0), (9, 1_000), (4, 0)] {
            host.tag(&data(message, offset));
        }
        host.tag(&FlowFacts { retransmission: true, ..data(5, 0) });
        let ended = Message { id: 3, ..Message::default() };
        host.on_event(&FlowEvent::MessageEnd { flow: 0, message: ended, effort: None }, Time::ZERO);
        host.on_event(&FlowEvent::GivenUp { message: 4 }, Time::ZERO);
        let mut sent = Vec::new();
        host.sent(&mut |message, bytes| sent.push((message, bytes)));
        assert_eq!(sent, [(9, 2_000)]);
    }

    proptest! {
        #[test]
        fn tag__no_table_moves_new_data_up(
            steps in prop::collection::vec((prop::collection::vec(0u64..50_000, 0..10), 0u64..5_000), 1..40),
        ) {
            let (mut host, mut offset, mut before) = (tagger(&[10_000]), 0, 0);
            for (version, (thresholds, bytes)) in (1..).zip(steps) {
                host.on_table(&table(version, &thresholds));
                let now = level_of(&mut host, &data(1, offset));
                prop_assert!(now >= before && now < 8, "{now} after {before}");
                (before, offset) = (now, offset + bytes);
            }
        }
    }
}
