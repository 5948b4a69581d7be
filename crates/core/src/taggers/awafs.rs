//! AWAFS at end hosts (§4.3.2, the first strategy): a host demotes its flows by thresholds that follow its own completed
//! messages, and switches read its tags. The thresholds come from the host's controller, [`crate::controllers::awafs`].

use rustc_hash::FxHashMap;

use crate::controller::{Latest, Published};
use crate::message::FlowEvent;
use crate::readings::Reading;
use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets, TaggerRules};
use crate::units::{Rate, Time};

/// The thresholds by which a host's tagger demotes.
pub(crate) const THRESHOLD: &str = "threshold (bytes)";
/// The time that the host's link takes for all payload that was tagged, in ps.
pub(crate) const PAYLOAD_TIME: &str = "payload_time_ps";

/// A host's parameters.
#[derive(Clone, Debug)]
pub struct HostParams {
    /// The initial thresholds, in bytes, rising.
    pub initial: Vec<u64>,
    /// Time between two priority boosts, above zero; `None`: no boosts.
    pub boost: Option<Time>,
    /// The host's link, to compute its payload load if percentiles are chosen.
    pub rate: Rate,
}

/// What boosts need to know of a message.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    /// Boosts before its last packet.
    boosts: u64,
    /// Bytes sent before the last boost, which do not count.
    forgiven: u64,
    bytes: u64,
}

/// The tagger of a host.
#[derive(Clone, Debug)]
pub struct HostThresholds {
    /// Bytes, rising.
    thresholds: Latest,
    boost: Option<Time>,
    rate: Rate,
    payload_time: Time,
    /// By message that has not ended, if there are boosts.
    sent: FxHashMap<u32, Sent>,
}

impl HostThresholds {
    /// Returns what a message has sent, with what is forgiven as of now; `None` without boosts.
    fn sent_by(&self, facts: &FlowFacts) -> Option<Sent> {
        let boosts = facts.now.0 / self.boost?.0;
        let sent = self.sent.get(&facts.message).copied().unwrap_or_default();
        Some(if boosts > sent.boosts { Sent { boosts, forgiven: sent.bytes, ..sent } } else { sent })
    }

    /// Returns the queue for the bytes before a packet that were sent since the last boost.
    fn queue(&self, facts: &FlowFacts, sent: Option<Sent>) -> u8 {
        let bytes = facts.offset - sent.map_or(0, |sent| sent.forgiven).min(facts.offset);
        self.thresholds.values.iter().take_while(|&&threshold| bytes >= threshold).count() as u8
    }
}

impl TaggerRules for HostParams {
    type Tagger = HostThresholds;

    fn build(&self) -> HostThresholds {
        let (thresholds, boost, rate) = (Latest::new(self.initial.clone()), self.boost, self.rate);
        HostThresholds { thresholds, boost, rate, payload_time: Time::ZERO, sent: FxHashMap::default() }
    }
}

impl TagPackets for HostThresholds {
    /// Returns the queue for the bytes before the packet, as a priority.
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        self.payload_time += self.rate.serialise(facts.payload);
        let sent = self.sent_by(facts);
        if let Some(sent) = sent {
            let bytes = sent.bytes.max(facts.offset + u64::from(facts.payload));
            self.sent.insert(facts.message, Sent { bytes, ..sent });
        }
        Tag::with_priority(self.queue(facts, sent))
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        self.queue(facts, self.sent_by(facts)).into()
    }

    fn reserve(&mut self, messages: usize) {
        if self.boost.is_some() {
            self.sent.reserve(2 * messages);
        }
    }

    fn on_event(&mut self, event: &FlowEvent, _: Time) {
        if let FlowEvent::MessageEnd { message, .. } = event {
            self.sent.remove(&message.id);
        }
    }

    fn on_table(&mut self, published: &Published) {
        if published.table.name == THRESHOLD {
            self.thresholds.take(published);
        }
    }

    /// Reports what its controller needs to know of the load.
    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        see(Reading::Count { name: PAYLOAD_TIME, count: self.payload_time.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    #[test]
    fn tag__what_was_sent_before_a_boost_no_longer_counts() {
        let rate = Rate::new(10_000_000_000).expect("a rate");
        let params = HostParams { initial: vec![1_000, 2_000], boost: Some(Time::from_us(50)), rate };
        let mut host = params.build();
        let facts = |us, offset| FlowFacts { now: Time::from_us(us), offset, payload: 500, ..FlowFacts::default() };
        let mut priority = |us, offset| host.tag(&facts(us, offset)).priority();
        assert_eq!([priority(10, 0), priority(20, 1_500), priority(49, 2_000)], [0, 1, 2]);
        assert_eq!([priority(50, 2_500), priority(60, 3_500), priority(61, 1_000)], [0, 1, 0]);
        assert_eq!([priority(99, 4_500), priority(260, 5_000), priority(261, 6_000)], [2, 0, 1]);
        let message = Message { bytes: 9, ..Message::default() };
        host.on_event(&FlowEvent::MessageEnd { flow: 0, message, effort: None }, Time::from_us(262));
        assert!(host.sent.is_empty());
    }
}
