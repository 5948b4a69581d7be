//! The controller of AWAFS at end hosts: the thresholds of a host follow its own completed messages. Its tagger is
//! [`crate::taggers::awafs`].

use crate::awafs::actuator::{Actuator, ActuatorParams};
use crate::controller::{Audience, Controller, ControllerRules, FabricSite, Gauges, HostEvent, Publish, Table};
use crate::message::FlowEvent;
use crate::readings::Reading;
use crate::taggers::awafs::{PAYLOAD_TIME, THRESHOLD};
use crate::units::Time;

/// The settings of the controllers at hosts.
#[derive(Clone, Debug)]
pub struct HostActuators {
    /// The class of flow.
    pub class: u8,
    /// Percentiles, and when they are taken.
    pub params: ActuatorParams,
}

/// The controller at a host: an [`Actuator`] for its own messages.
pub struct HostActuator {
    host: u32,
    class: u8,
    actuator: Actuator,
    /// The part of [`PAYLOAD_TIME`] that the actuator knows.
    noted: u64,
}

impl ControllerRules for HostActuators {
    type Controller = HostActuator;

    const AT_HOSTS: bool = true;

    /// # Panics
    /// As [`Actuator::new`].
    fn build(&self, _: &FabricSite, host: u32) -> HostActuator {
        HostActuator { host, class: self.class, actuator: Actuator::new(&self.params), noted: 0 }
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
    use crate::controller::Published;
    use crate::message::Message;
    use crate::site::Node;
    use crate::solver::Solver;
    use crate::tagger::{FlowFacts, TagPackets, TaggerRules};
    use crate::taggers::awafs::{HostParams, HostThresholds};
    use crate::units::Rate;

    fn tagger() -> HostThresholds {
        let rate = Rate::new(10_000_000_000).expect("a rate");
        HostParams { initial: vec![1_000, 2_000], boost: None, rate }.build()
    }

    /// Builds the controller of host 7 and class 1.
    fn controller(model: Option<&'static dyn Solver>) -> HostActuator {
        let (period, window) = (Time::from_us(200), Time::from_us(250));
        let (initial, percentiles) = (vec![1_000, 2_000], vec![500_000, 900_000]);
        let params = ActuatorParams { initial, percentiles, of_sizes: false, model, period, window, entries: 9 };
        HostActuators { class: 1, params }.build(&FabricSite::default(), 7)
    }

    fn ended(id: u32, bytes: u64, class: u8) -> HostEvent {
        let message = Message { id, bytes, ..Message::default() };
        let event = FlowEvent::MessageEnd { flow: 0, message, effort: None };
        HostEvent { at: Time::from_us(100), host: 7, class, event }
    }

    fn facts(us: u64, offset: u64) -> FlowFacts {
        FlowFacts { now: Time::from_us(us), offset, payload: 500, size: 100_000, ..FlowFacts::default() }
    }

    /// The tagger of one host.
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
        let (mut tagger, mut controller) = (tagger(), controller(None));
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
        let (mut tagger, mut controller) = (tagger(), controller(Some(&LoadInPercent)));
        (1..=9)
            .for_each(|message| controller.on_event(Time::from_us(200), &ended(message, 10 * u64::from(message), 1)));
        // 250 packets of 400 ns in 200 us: a load of a half, above five of the nine sizes.
        (0..250).for_each(|_| _ = tagger.tag(&facts(1, 0)));
        let mut published = Vec::new();
        controller.decide(Time::from_us(200), &mut TaggerOf(&tagger), &mut |_, table| published = table.values);
        assert_eq!(published, [(0, 50), (1, 90)]);
    }
}
