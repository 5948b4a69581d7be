//! AWAFS at end hosts (§4.3.2, the first strategy): a host demotes its flows by thresholds that follow its own completed
//! messages, and switches read its tags.

use std::collections::BTreeMap;

use crate::awafs::actuator::{Actuator, ActuatorParams};
use crate::message::FlowEvent;
use crate::meta::Kind;
use crate::tag::Tag;
use crate::tagger::FlowFacts;
use crate::units::{Rate, Time};

/// A host's parameters.
#[derive(Clone, Debug)]
pub struct HostParams {
    /// Thresholds.
    pub actuator: ActuatorParams,
    /// From one priority boost to the next, above zero; `None`: there is none.
    pub boost: Option<Time>,
    /// The host's link, for its load of payload where percentiles are chosen.
    pub rate: Rate,
}

/// A message as boosts see it.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    /// Boosts before its last packet.
    boosts: u64,
    /// Bytes sent before the last of them, which do not count.
    forgiven: u64,
    bytes: u64,
}

/// A host's thresholds.
#[derive(Clone, Debug)]
pub struct HostThresholds {
    actuator: Actuator,
    boost: Option<Time>,
    rate: Rate,
    /// By message that has not ended, where there are boosts.
    sent: BTreeMap<u32, Sent>,
}

impl HostThresholds {
    /// Of a host that has sent nothing.
    ///
    /// # Panics
    /// As [`Actuator::new`].
    pub fn new(params: &HostParams) -> HostThresholds {
        let HostParams { actuator, boost, rate } = params;
        HostThresholds { actuator: Actuator::new(actuator), boost: *boost, rate: *rate, sent: BTreeMap::new() }
    }

    /// The tag of a packet: its priority is the queue for the bytes before it.
    pub fn tag(&mut self, facts: &FlowFacts) -> Tag {
        if facts.kind != Kind::Data {
            return Tag::default();
        }
        self.catch_up(facts.now);
        if self.actuator.chooses() {
            self.actuator.note(self.rate.serialise(facts.payload));
        }
        let bytes = facts.offset - self.forgiven(facts).min(facts.offset);
        Tag::with_priority(self.actuator.choose(u32::try_from(bytes).unwrap_or(u32::MAX)) as u8)
    }

    /// Notes what a message sends; bytes of it that were sent before the last boost.
    fn forgiven(&mut self, facts: &FlowFacts) -> u64 {
        let Some(period) = self.boost else { return 0 };
        let boosts = facts.now.0 / period.0;
        let sent = self.sent.entry(facts.message).or_default();
        if boosts > sent.boosts {
            *sent = Sent { boosts, forgiven: sent.bytes, ..*sent };
        }
        sent.bytes = sent.bytes.max(facts.offset + u64::from(facts.payload));
        sent.forgiven
    }

    /// Something happened to a message.
    pub fn on_event(&mut self, event: &FlowEvent, now: Time) {
        if let FlowEvent::MessageEnd { message, .. } = event {
            self.catch_up(now);
            self.actuator.complete(now, u32::try_from(message.bytes).unwrap_or(u32::MAX));
            self.sent.remove(&message.id);
        }
    }

    fn catch_up(&mut self, now: Time) {
        if self.actuator.is_due(now) {
            self.actuator.tick(now);
        }
    }

    /// The thresholds, and the messages that they follow.
    pub fn actuator(&self) -> &Actuator {
        &self.actuator
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    fn host(boost: Option<Time>) -> HostThresholds {
        let (period, window) = (Time::from_us(200), Time::from_us(250));
        let (initial, percentiles) = (vec![1_000, 2_000], vec![500_000, 900_000]);
        let actuator = ActuatorParams { initial, percentiles, model: None, period, window, entries: 9 };
        let rate = Rate::new(10_000_000_000).expect("a rate");
        HostThresholds::new(&HostParams { actuator, boost, rate })
    }

    fn facts(us: u64, offset: u64) -> FlowFacts {
        FlowFacts { now: Time::from_us(us), offset, payload: 500, size: 100_000, ..FlowFacts::default() }
    }

    #[test]
    fn tag__follows_the_hosts_own_messages() {
        let mut host = host(None);
        let end = |id, bytes| {
            let message = Message { id, bytes, ..Message::default() };
            FlowEvent::MessageEnd { flow: 0, message, effort: None }
        };
        assert_eq!([0, 999, 1_000, 2_000].map(|offset| host.tag(&facts(1, offset)).priority()), [0, 0, 1, 2]);
        for (message, size) in [(1, 300), (2, 40), (3, 50_000_000_000)] {
            host.on_event(&end(message, size), Time::from_us(100));
        }
        assert_eq!(host.tag(&facts(199, 300)).priority(), 0, "not before the tick");
        assert_eq!([299, 300, 4_000_000].map(|offset| host.tag(&facts(200, offset)).priority()), [0, 1, 1]);
    }

    #[test]
    fn tag__what_was_sent_before_a_boost_no_longer_counts() {
        let mut host = host(Some(Time::from_us(50)));
        let mut priority = |us, offset| host.tag(&facts(us, offset)).priority();
        assert_eq!([priority(10, 0), priority(20, 1_500), priority(49, 2_000)], [0, 1, 2]);
        assert_eq!([priority(50, 2_500), priority(60, 3_500), priority(61, 1_000)], [0, 1, 0]);
        assert_eq!([priority(99, 4_500), priority(260, 5_000), priority(261, 6_000)], [2, 0, 1]);
        host.on_event(
            &FlowEvent::MessageEnd { flow: 0, message: Message { bytes: 9, ..Message::default() }, effort: None },
            Time::from_us(270),
        );
        assert!(host.sent.is_empty());
    }
}
