//! What a host writes that splits its messages: any other tagger, which sees each piece as a message of its own.
//!
//! Pieces are sent one after another on the message's connection. So the host gains by its order and its tags alone. Over
//! several connections at once it would also have several windows, as under any scheme.

use std::num::NonZeroU64;

use rustc_hash::FxHashMap;

use crate::controller::Published;
use crate::message::{Bounds, FlowEvent, Message};
use crate::meta::{Kind, NONE};
use crate::readings::Reading;
use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets};
use crate::taggers::Tagger;
use crate::units::Time;

/// The tagger of such a host.
pub struct Pieces {
    of: Tagger,
    piece: NonZeroU64,
    /// By message under way.
    under_way: FxHashMap<u32, UnderWay>,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    flow: u32,
    message: Message,
    /// The number of the piece that it is in.
    number: u64,
    /// When that piece began: when the last packet of the one before was sent.
    begun: Time,
    /// When its last new packet was sent.
    sent: Time,
}

impl Pieces {
    /// Builds the tagger from that of a host which splits nothing.
    pub fn new(of: Tagger, piece: NonZeroU64) -> Pieces {
        Pieces { of, piece, under_way: FxHashMap::default() }
    }

    /// Returns the facts of a packet as one of its piece. A packet is of the piece of its first byte.
    fn facts(&self, facts: &FlowFacts) -> FlowFacts {
        let piece = self.piece.get();
        let offset = facts.offset % piece;
        let size = piece.min(facts.size.saturating_sub(facts.offset - offset));
        let bounds = |bounds: Bounds| Bounds { lower: bounds.lower.min(piece), upper: bounds.upper.min(self.piece) };
        FlowFacts {
            offset,
            size,
            remaining: facts.remaining.min(size),
            start: self.began(facts),
            predicted: facts.predicted.map(|size| size.min(self.piece)),
            bounds: facts.bounds.map(bounds),
            ..*facts
        }
    }

    fn piece_of(&self, message: &Message, number: u64) -> Message {
        let bytes = self.piece.get().min(message.bytes.saturating_sub(number * self.piece.get())).max(1);
        Message { bytes, ..*message }
    }

    /// Returns whether a packet is the first of a piece.
    fn begins(&self, facts: &FlowFacts) -> bool {
        let later = |under_way: &UnderWay| facts.offset / self.piece > under_way.number;
        !facts.retransmission && self.under_way.get(&facts.message).is_some_and(later)
    }

    /// Ends the piece that a message is in, and begins the one of this packet.
    fn go_on(&mut self, facts: &FlowFacts) {
        let number = facts.offset / self.piece;
        let Some(under_way) = self.under_way.get_mut(&facts.message) else { return };
        let UnderWay { flow, message, number: before, sent, .. } = *under_way;
        *under_way = UnderWay { number, begun: sent, ..*under_way };
        let ended = FlowEvent::MessageEnd { flow, message: self.piece_of(&message, before), effort: None };
        self.of.on_event(&ended, facts.now);
        let begun = FlowEvent::MessageStart { flow, message: self.piece_of(&message, number), idle: Time::ZERO };
        self.of.on_event(&begun, facts.now);
    }
}

impl TagPackets for Pieces {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        if facts.kind != Kind::Data {
            return self.of.tag_control(|| *facts);
        }
        if self.begins(facts) {
            self.go_on(facts);
        }
        let of_piece = self.facts(facts);
        if let Some(under_way) = self.under_way.get_mut(&facts.message).filter(|_| !facts.retransmission) {
            under_way.sent = facts.now;
        }
        self.of.tag(|| of_piece)
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        let mut of_piece = self.facts(facts);
        if self.begins(facts) {
            // The tagger does not know the piece yet.
            of_piece.message = NONE;
        }
        self.of.urgency(&of_piece)
    }

    fn began(&self, facts: &FlowFacts) -> Time {
        let Some(under_way) = self.under_way.get(&facts.message) else { return facts.start };
        if self.begins(facts) { under_way.sent } else { under_way.begun }
    }

    fn holds(&self, message: &Message) -> bool {
        self.of.holds(message)
    }

    fn reserve(&mut self, messages: usize) {
        self.under_way.reserve(2 * messages);
        self.of.reserve(messages);
    }

    fn on_event(&mut self, event: &FlowEvent, now: Time) {
        let event = match *event {
            FlowEvent::MessageStart { flow, message, idle } => {
                self.under_way.insert(
                    message.id,
                    UnderWay { flow, message, number: 0, begun: message.start, sent: message.start },
                );
                FlowEvent::MessageStart { flow, message: self.piece_of(&message, 0), idle }
            }
            FlowEvent::MessageEnd { flow, message, effort } => {
                let number = self.under_way.remove(&message.id).map_or(0, |under_way| under_way.number);
                FlowEvent::MessageEnd { flow, message: self.piece_of(&message, number), effort }
            }
            FlowEvent::GivenUp { message } => {
                self.under_way.remove(&message);
                *event
            }
            other => other,
        };
        self.of.on_event(&event, now);
    }

    fn on_table(&mut self, published: &Published) {
        self.of.on_table(published);
    }

    fn sent(&self, see: &mut dyn FnMut(u32, u64)) {
        self.of.sent(see);
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        self.of.observe(see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tagger::TaggerRules;
    use crate::taggers::ends::Ends;
    use crate::taggers::kept_levels::KeptLevelParams;

    const KB: NonZeroU64 = NonZeroU64::new(1_000).unwrap();

    fn data(offset: u64) -> FlowFacts {
        FlowFacts {
            kind: Kind::Data,
            message: 1,
            offset,
            payload: 100,
            size: 2_500,
            remaining: 2_500,
            ..FlowFacts::default()
        }
    }

    fn host() -> Pieces {
        let kept = KeptLevelParams { thresholds: vec![150, 450], levels: 3, by_age: false, cap: None }.build();
        let mut host = Pieces::new(Tagger::KeptLevels(kept.into()), KB);
        let message = Message { id: 1, bytes: 2_500, ..Message::default() };
        host.on_event(&FlowEvent::MessageStart { flow: 4, message, idle: Time::NEVER }, Time::ZERO);
        host
    }

    fn sent(host: &Pieces) -> Vec<(u32, u64)> {
        let mut sent = Vec::new();
        host.sent(&mut |message, bytes| sent.push((message, bytes)));
        sent
    }

    #[test]
    fn tag__each_piece_begins_anew() {
        let mut host = host();
        let offsets = [0, 100, 200, 500, 900, 1_000, 1_200, 1_500, 2_000, 2_100, 2_400];
        let levels = offsets.map(|offset| {
            // It waits for as long as its offset says, and asks in between.
            let facts = FlowFacts { now: Time(offset), ..data(offset) };
            let (urgency, began) = (host.urgency(&facts), host.began(&facts));
            let tag = host.tag(&facts).priority();
            assert_eq!((urgency, began), (tag.into(), Time([0, 900, 1_500][offset as usize / 1_000])), "at {offset}");
            tag
        });
        assert_eq!(levels, [0, 0, 1, 2, 2, 0, 1, 2, 0, 0, 1]);
        assert_eq!(sent(&host), [(1, 500)], "of the piece under way");
        let again = FlowFacts { retransmission: true, ..data(1_500) };
        assert_eq!((host.tag(&again).priority(), host.tag(&data(2_450)).priority()), (2, 1));
        assert_eq!(host.tag(&FlowFacts { kind: Kind::Ack, ..data(900) }), Tag::default());
        let message = Message { id: 1, bytes: 2_500, ..Message::default() };
        host.on_event(&FlowEvent::MessageEnd { flow: 4, message, effort: None }, Time::ZERO);
        assert!(sent(&host).is_empty() && host.under_way.is_empty());
    }

    #[test]
    fn tag__the_last_packet_of_each_piece_ends_a_message() {
        let mut host = Pieces::new(Tagger::Ends(Ends { sent: true }), KB);
        let ends = [0, 900, 1_000, 1_900, 2_400].map(|offset| {
            let tag = host.tag(&data(offset));
            (tag.sent(), tag.ends_flow())
        });
        assert_eq!(ends, [(0, false), (900, true), (0, false), (900, true), (400, true)]);
    }
}
