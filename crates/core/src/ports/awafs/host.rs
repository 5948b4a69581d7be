//! AWAFS at end hosts (§4.3.2, the first strategy): a host demotes its flows by thresholds that follow its own completed
//! messages, and switches read its tags.

use std::collections::BTreeMap;

use crate::awafs::actuator::{Actuator, ActuatorParams};
use crate::controller::{Audience, Controller, Gauges, HostEvent, Latest, Publish, Published, Table};
use crate::message::FlowEvent;
use crate::meta::Kind;
use crate::readings::Reading;
use crate::tag::Tag;
use crate::tagger::FlowFacts;
use crate::units::{Rate, Time};

/// Thresholds of a host, by which its tagger demotes.
const THRESHOLD: &str = "threshold (bytes)";
/// How long the host's link takes for all payload that was tagged, in ps.
const PAYLOAD_TIME: &str = "payload_time_ps";

/// A host's parameters.
#[derive(Clone, Debug)]
pub struct HostParams {
    /// The thresholds at the start, in bytes, rising.
    pub initial: Vec<u64>,
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

/// The tagger of a host.
#[derive(Clone, Debug)]
pub struct HostThresholds {
    /// Bytes, rising.
    thresholds: Latest,
    boost: Option<Time>,
    rate: Rate,
    payload_time: Time,
    /// By message that has not ended, where there are boosts.
    sent: BTreeMap<u32, Sent>,
}

impl HostThresholds {
    /// Of a host that has sent nothing.
    pub fn new(params: &HostParams) -> HostThresholds {
        let HostParams { initial, boost, rate } = params.clone();
        HostThresholds {
            thresholds: Latest::new(initial),
            boost,
            rate,
            payload_time: Time::ZERO,
            sent: BTreeMap::new(),
        }
    }

    /// The tag of a packet: its priority is the queue for the bytes before it.
    pub fn tag(&mut self, facts: &FlowFacts) -> Tag {
        if facts.kind != Kind::Data {
            return Tag::default();
        }
        self.payload_time += self.rate.serialise(facts.payload);
        let bytes = facts.offset - self.forgiven(facts).min(facts.offset);
        Tag::with_priority(self.thresholds.values.iter().take_while(|&&threshold| bytes >= threshold).count() as u8)
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
    pub fn on_event(&mut self, event: &FlowEvent) {
        if let FlowEvent::MessageEnd { message, .. } = event {
            self.sent.remove(&message.id);
        }
    }

    /// Takes the thresholds of the host's controller.
    pub fn on_table(&mut self, published: &Published) {
        if published.table.name == THRESHOLD {
            self.thresholds.take(published);
        }
    }

    /// Says what its controller needs to know of the load.
    pub fn observe(&self, see: &mut dyn FnMut(Reading)) {
        see(Reading::Count { name: PAYLOAD_TIME, count: self.payload_time.0 });
    }
}

/// The controller at a host: an [`Actuator`] of its own messages.
pub struct HostActuator {
    host: u32,
    class: u8,
    actuator: Actuator,
    /// Of [`PAYLOAD_TIME`], what the actuator knows.
    noted: u64,
}

impl HostActuator {
    /// Of a host and class of flow.
    ///
    /// # Panics
    /// As [`Actuator::new`].
    pub fn new(host: u32, class: u8, params: &ActuatorParams) -> HostActuator {
        HostActuator { host, class, actuator: Actuator::new(params), noted: 0 }
    }
}

impl Controller for HostActuator {
    fn on_event(&mut self, _: Time, event: &HostEvent) {
        if let FlowEvent::MessageEnd { message, .. } = event.event
            && event.class == self.class
        {
            self.actuator.complete(event.at, u32::try_from(message.bytes).unwrap_or(u32::MAX));
        }
    }

    fn next(&self) -> Time {
        self.actuator.next_tick()
    }

    fn decide(&mut self, now: Time, gauges: &mut dyn Gauges, publish: Publish<'_>) {
        if self.actuator.chooses() {
            gauges.tagger(self.host, self.class, &mut |reading| {
                if let Reading::Count { name: PAYLOAD_TIME, count } = reading {
                    self.actuator.note(Time(count - self.noted));
                    self.noted = count;
                }
            });
        }
        let before = self.actuator.thresholds().to_vec();
        self.actuator.tick(now);
        if self.actuator.thresholds() != before {
            let thresholds: Vec<u64> = self.actuator.thresholds().iter().copied().map(u64::from).collect();
            let to = Audience::Host { host: self.host, class: self.class };
            publish(to, Table::of_thresholds(THRESHOLD, &thresholds));
        }
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        self.actuator.observe(see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awafs::completed::LARGEST;
    use crate::message::Message;
    use crate::site::Node;
    use crate::solver::Solver;

    fn tagger(boost: Option<Time>) -> HostThresholds {
        let rate = Rate::new(10_000_000_000).expect("a rate");
        HostThresholds::new(&HostParams { initial: vec![1_000, 2_000], boost, rate })
    }

    /// That of host 7 and class 1.
    fn controller(model: Option<&'static dyn Solver>) -> HostActuator {
        let (period, window) = (Time::from_us(200), Time::from_us(250));
        let (initial, percentiles) = (vec![1_000, 2_000], vec![500_000, 900_000]);
        HostActuator::new(
            7,
            1,
            &ActuatorParams { initial, percentiles, of_sizes: false, model, period, window, entries: 9 },
        )
    }

    fn ended(id: u32, bytes: u64, class: u8) -> HostEvent {
        let message = Message { id, bytes, ..Message::default() };
        let event = FlowEvent::MessageEnd { flow: 0, message, effort: None };
        HostEvent { at: Time::from_us(100), host: 7, class, event }
    }

    fn facts(us: u64, offset: u64) -> FlowFacts {
        FlowFacts { now: Time::from_us(us), offset, payload: 500, size: 100_000, ..FlowFacts::default() }
    }

    /// A host's tagger alone.
    struct TaggerOf<'a>(&'a HostThresholds);

    impl Gauges for TaggerOf<'_> {
        fn port(&mut self, _: Node, _: u16, _: &mut dyn FnMut(Reading)) {}

        fn backlog_bytes(&mut self, _: Node, _: u16) -> u64 {
            0
        }

        fn sent(&mut self, _: u32, _: u8, _: &mut dyn FnMut(u32, u64)) {}

        fn tagger(&mut self, _: u32, _: u8, see: &mut dyn FnMut(Reading)) {
            self.0.observe(see);
        }
    }

    #[test]
    fn decide__the_tagger_follows_the_hosts_own_messages() {
        let (mut tagger, mut controller) = (tagger(None), controller(None));
        assert_eq!([0, 999, 1_000, 2_000].map(|offset| tagger.tag(&facts(1, offset)).priority()), [0, 0, 1, 2]);
        for (message, size, class) in [(1, 300, 1), (2, 40, 1), (3, 50_000_000_000, 1), (4, 1, 0)] {
            controller.on_event(Time::from_us(200), &ended(message, size, class));
        }
        assert_eq!(controller.next(), Time::from_us(200));
        let mut published = Vec::new();
        controller.decide(Time::from_us(200), &mut TaggerOf(&tagger), &mut |to, table| published.push((to, table)));
        let [(to, table)] = &published[..] else { panic!("{published:?}") };
        assert_eq!(
            (*to, &table.values[..]),
            (Audience::Host { host: 7, class: 1 }, &[(0, 300), (1, u64::from(LARGEST))][..])
        );
        tagger.on_table(&Published { version: 1, table: table.clone() });
        assert_eq!([299, 300, 4_000_000].map(|offset| tagger.tag(&facts(200, offset)).priority()), [0, 1, 1]);
        assert_eq!(controller.next(), Time::from_us(400));
        controller.decide(Time::from_us(400), &mut TaggerOf(&tagger), &mut |_, _| panic!("nothing has changed"));
    }

    #[test]
    fn decide__the_load_is_that_of_the_payload() {
        #[derive(Debug)]
        struct LoadInPercent;
        impl Solver for LoadInPercent {
            fn thresholds(&self, _: &mut dyn Iterator<Item = (u64, u64)>, load: f64, _: usize) -> Option<Vec<u64>> {
                Some(vec![(100.0 * load).round() as u64, 1_000])
            }
        }
        let (mut tagger, mut controller) = (tagger(None), controller(Some(&LoadInPercent)));
        (1..=9)
            .for_each(|message| controller.on_event(Time::from_us(200), &ended(message, 10 * u64::from(message), 1)));
        // 250 packets of 400 ns in 200 us: a load of a half, above five of the nine sizes.
        (0..250).for_each(|_| _ = tagger.tag(&facts(1, 0)));
        let mut published = Vec::new();
        controller.decide(Time::from_us(200), &mut TaggerOf(&tagger), &mut |_, table| published = table.values);
        assert_eq!(published, [(0, 50), (1, 90)]);
    }

    #[test]
    fn tag__what_was_sent_before_a_boost_no_longer_counts() {
        let mut host = tagger(Some(Time::from_us(50)));
        let mut priority = |us, offset| host.tag(&facts(us, offset)).priority();
        assert_eq!([priority(10, 0), priority(20, 1_500), priority(49, 2_000)], [0, 1, 2]);
        assert_eq!([priority(50, 2_500), priority(60, 3_500), priority(61, 1_000)], [0, 1, 0]);
        assert_eq!([priority(99, 4_500), priority(260, 5_000), priority(261, 6_000)], [2, 0, 1]);
        host.on_event(&FlowEvent::MessageEnd {
            flow: 0,
            message: Message { bytes: 9, ..Message::default() },
            effort: None,
        });
        assert!(host.sent.is_empty());
    }
}
