//! PIAS's demotion with messages on one connection distinguished only by time, as in a host that sees packets and no
//! messages (PIAS-Real of QCluster §6.3.1).
//!
//! Every data packet is judged. A packet begins a message if its transport emits it longer than a gap after the
//! connection's last one. It counts from nothing, and what follows counts from its first byte. So a message that pauses,
//! for a round trip or a timeout, begins anew, and messages without a pause between them are one. A retransmission is a
//! packet like any other; if its bytes are before the first that counts, it has nothing before it. SYNs, ACKs and probes
//! carry no data, so they do not end a pause.
//!
//! QCluster's authors do the same (`tcp-full.cc` of `qcluster/QCluster`) with two differences. There, a pause equal to the
//! gap is long enough. And the packet that begins a message counts as sent before itself and before all that follows, so
//! counts are a packet's payload higher. Here a packet's own bytes do not count, as elsewhere in PIAS. PIAS's own module
//! instead judges the pauses between calls of the application (`jprobe.c` of `HKUST-SING/PIAS-Software`).

use rustc_hash::FxHashMap;

use crate::message::FlowEvent;
use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets, TaggerRules};
use crate::taggers::demotion::level;
use crate::units::Time;

/// PIAS's demotion by the bytes that a connection sent since its last pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemotionByGap {
    /// Bytes, rising.
    pub thresholds: Vec<u64>,
    /// A pause is longer than this.
    pub gap: Time,
}

impl TaggerRules for DemotionByGap {
    type Tagger = GapTagger;

    fn build(&self) -> GapTagger {
        GapTagger { thresholds: self.thresholds.clone(), sent: MessageGap::new(self.gap) }
    }
}

/// The tagger of a host.
#[derive(Clone, Debug)]
pub struct GapTagger {
    thresholds: Vec<u64>,
    /// The bytes that count as sent before a packet.
    sent: MessageGap,
}

impl TagPackets for GapTagger {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        Tag::with_priority(level(&self.thresholds, self.sent.on_packet(facts)) as u8)
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        level(&self.thresholds, self.sent.before(facts)) as u64
    }

    fn reserve(&mut self, messages: usize) {
        self.sent.reserve(messages);
    }

    fn on_event(&mut self, event: &FlowEvent, now: Time) {
        self.sent.on_event(event, now);
    }
}

/// Bytes that connections have sent since their last pause.
#[derive(Clone, Debug)]
struct MessageGap {
    gap: Time,
    /// By flow.
    streams: FxHashMap<u32, Stream>,
    /// By message that has not ended: the bytes of its stream before it.
    starts: FxHashMap<u32, u64>,
    /// The number of streams at which those that are no longer needed are removed.
    most: usize,
    /// The least that this number may be.
    least: usize,
}

/// A connection, as one stream of bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Bytes of all its messages.
    bytes: u64,
    /// Messages that have not ended.
    open: u32,
    /// When its last packet of data was emitted.
    emitted: Option<Time>,
    /// Bytes of the stream before the packet that ended the last pause.
    begun: u64,
}

impl MessageGap {
    /// Builds the state; messages are separated if a connection emitted no data for longer than `gap`.
    fn new(gap: Time) -> MessageGap {
        MessageGap { gap, streams: FxHashMap::default(), starts: FxHashMap::default(), most: 64, least: 64 }
    }

    /// Makes room for this many messages under way, and as many connections.
    fn reserve(&mut self, messages: usize) {
        self.least = self.least.max(2 * messages);
        self.most = self.most.max(self.least);
        self.streams.reserve(self.most);
        self.starts.reserve(2 * messages);
    }

    /// Returns where a packet lies in its connection's stream.
    fn place(&self, facts: &FlowFacts) -> u64 {
        self.starts.get(&facts.message).copied().unwrap_or(0) + facts.offset
    }

    /// Returns whether a packet ends a pause of its connection.
    fn ends_pause(&self, stream: &Stream, facts: &FlowFacts) -> bool {
        stream.emitted.is_none_or(|emitted| facts.now.since(emitted) > self.gap)
    }

    /// Returns the bytes that would count as sent before a packet.
    fn before(&self, facts: &FlowFacts) -> u64 {
        match self.streams.get(&facts.flow) {
            Some(stream) if !self.ends_pause(stream, facts) => self.place(facts).saturating_sub(stream.begun),
            _ => 0,
        }
    }

    /// Notes an emitted data packet; returns the bytes that count as sent before it.
    fn on_packet(&mut self, facts: &FlowFacts) -> u64 {
        let (at, mut stream) = (self.place(facts), self.streams.get(&facts.flow).copied().unwrap_or_default());
        if self.ends_pause(&stream, facts) {
            stream.begun = at;
        }
        stream.emitted = Some(facts.now);
        self.streams.insert(facts.flow, stream);
        at.saturating_sub(stream.begun)
    }

    /// Notes where a message begins or ends in its stream.
    fn on_event(&mut self, event: &FlowEvent, now: Time) {
        match *event {
            FlowEvent::MessageStart { flow, message, .. } => {
                self.forget_the_idle(now);
                let stream = self.streams.entry(flow).or_default();
                self.starts.insert(message.id, stream.bytes);
                stream.bytes += message.bytes;
                stream.open += 1;
            }
            FlowEvent::MessageEnd { flow, message, .. } => {
                self.starts.remove(&message.id);
                if let Some(stream) = self.streams.get_mut(&flow) {
                    stream.open = stream.open.saturating_sub(1);
                }
            }
            FlowEvent::Steps { .. }
            | FlowEvent::Reordered { .. }
            | FlowEvent::Unneeded { .. }
            | FlowEvent::Awaited { .. }
            | FlowEvent::Delivered { .. }
            | FlowEvent::HeldBack { .. }
            | FlowEvent::GivenUp { .. }
            | FlowEvent::Timeout { .. } => {}
        }
    }

    /// Forgets idle streams: one without messages that emitted nothing for longer than the gap begins anew in any case.
    fn forget_the_idle(&mut self, now: Time) {
        if self.streams.len() >= self.most {
            let gap = self.gap;
            let paused = |emitted: Time| now.since(emitted) > gap;
            self.streams.retain(|_, stream| stream.open > 0 || !stream.emitted.is_none_or(paused));
            self.most = self.least.max(2 * self.streams.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::packet_flow::{MessageEnd, PacketFlow, Segment};
    use proptest::collection::vec;
    use proptest::prelude::*;

    const FLOW: u32 = 7;

    fn begin(gap: &mut MessageGap, id: u32, bytes: u64, at_us: u64) {
        let message = Message { id, bytes, ..Message::default() };
        let start = FlowEvent::MessageStart { flow: FLOW, message, idle: Time::NEVER };
        gap.on_event(&start, Time::from_us(at_us));
    }

    fn end(gap: &mut MessageGap, id: u32, at_us: u64) {
        let message = Message { id, ..Message::default() };
        let end = FlowEvent::MessageEnd { flow: FLOW, message, effort: None };
        gap.on_event(&end, Time::from_us(at_us));
    }

    /// Returns what counts before the packet of a message at this offset, emitted at this instant.
    fn before(gap: &mut MessageGap, message: u32, offset: u64, at_us: u64) -> u64 {
        gap.on_packet(&FlowFacts { flow: FLOW, message, offset, now: Time::from_us(at_us), ..FlowFacts::default() })
    }

    #[test]
    fn on_packet__a_pause_within_a_message_begins_another() {
        let mut gap = MessageGap::new(Time::from_us(25));
        begin(&mut gap, 0, 9_000, 0);
        assert_eq!([before(&mut gap, 0, 0, 0), before(&mut gap, 0, 1_000, 0)], [0, 1_000]);
        assert_eq!(before(&mut gap, 0, 2_000, 25), 2_000, "a pause of the gap is none");
        assert_eq!([before(&mut gap, 0, 3_000, 51), before(&mut gap, 0, 4_000, 52)], [0, 1_000]);
    }

    #[test]
    fn on_packet__without_a_pause_messages_are_one() {
        let mut gap = MessageGap::new(Time::from_us(25));
        begin(&mut gap, 0, 700, 0);
        assert_eq!(before(&mut gap, 0, 0, 0), 0);
        end(&mut gap, 0, 9);
        begin(&mut gap, 1, 300, 20);
        assert_eq!(before(&mut gap, 1, 0, 20), 700);
        end(&mut gap, 1, 29);
        begin(&mut gap, 2, 300, 46);
        assert_eq!(before(&mut gap, 2, 0, 46), 0);
    }

    #[test]
    fn on_packet__a_retransmission_is_judged_and_counts_from_its_offset() {
        let mut gap = MessageGap::new(Time::from_us(25));
        begin(&mut gap, 0, 9_000, 0);
        for (offset, at_us) in [(0, 0), (1_000, 1), (2_000, 2)] {
            before(&mut gap, 0, offset, at_us);
        }
        // After a timeout, the retransmission begins a message, and what follows it continues from there.
        assert_eq!([before(&mut gap, 0, 1_000, 90), before(&mut gap, 0, 3_000, 91)], [0, 2_000]);
        assert_eq!(before(&mut gap, 0, 0, 92), 0, "nothing of it was sent before the pause's end");
    }

    #[test]
    fn on_packet__pauses_end_with_packets_and_not_with_messages() {
        let mut gap = MessageGap::new(Time::from_us(25));
        begin(&mut gap, 0, 1_000, 0);
        begin(&mut gap, 1, 1_000, 0);
        assert_eq!(before(&mut gap, 0, 0, 0), 0);
        end(&mut gap, 0, 30);
        assert_eq!(before(&mut gap, 1, 0, 30), 0, "it began with the other, and its packet comes 30 us after");
    }

    #[test]
    fn streams__are_forgotten_once_they_would_begin_anew() {
        let mut gap = MessageGap::new(Time::from_us(25));
        for n in 0..10_000 {
            let (now, message) = (Time::from_us(u64::from(n)), Message { id: n, bytes: 9, ..Message::default() });
            gap.on_event(&FlowEvent::MessageStart { flow: n, message, idle: Time::NEVER }, now);
            gap.on_packet(&FlowFacts { flow: n, message: n, now, ..FlowFacts::default() });
            gap.on_event(&FlowEvent::MessageEnd { flow: n, message, effort: None }, now);
            assert!(gap.streams.contains_key(&n.saturating_sub(25)));
        }
        assert!(gap.streams.len() <= 64 && gap.starts.is_empty(), "{}", gap.streams.len());
    }
    proptest! {
        /// Where all is acknowledged before a pause ends and nothing is sent again after one.
        #[test]
        fn on_packet__as_the_rule_of_hosts(packets in vec((1..3_000u32, 0..60u64, 0..5u8), 1..100)) {
            let end = MessageEnd::Idle(Time::from_us(25));
            let (mut gap, mut flow) = (MessageGap::new(Time::from_us(25)), None);
            begin(&mut gap, 0, u32::MAX.into(), 0);
            let (mut high, mut now) = (0u32, 0);
            for (len, pause, again) in packets {
                let is_again = again == 0 && high > 0;
                now += if is_again { pause.min(25) } else { pause };
                let seq = if is_again { high.saturating_sub(len) } else { high };
                let len = if is_again { high - seq } else { len };
                let segment = Segment { now: Time::from_us(now), seq, len, una: high, received: 0 };
                let flow = flow.get_or_insert_with(|| PacketFlow::new(&segment, 0));
                let placed = flow.on_segment(end, &segment);
                prop_assert_eq!(before(&mut gap, 0, seq.into(), now), placed.before);
                high = high.max(seq + len);
            }
        }
    }
}
