//! Thresholds from what messages have sent, for the tagger of [`crate::taggers::kept_levels`].
//!
//! Each host has a sketch of how many messages survive beyond a size ([`SurvivalSketch`]). Once per period a host counts
//! what its messages have sent since, and those that ended. A controller of the whole fabric merges the sketches, or each
//! host follows its own. Sizes under way count, too, so a change towards longer messages shows before the first of them
//! has ended.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::controller::{Audience, Controller, ControllerRules, FabricSite, Gauges, HostEvent, Publish, Table};
use crate::controllers::thresholds::CONTROLLER_THRESHOLD;
use crate::message::FlowEvent;
use crate::readings::{Reading, observe_thresholds};
use crate::solver::Solver;
use crate::survival::SurvivalSketch;
use crate::taggers::levels::TAG_THRESHOLD;
use crate::units::Time;

/// How thresholds follow what was sent.
#[derive(Clone, Debug)]
pub struct SurvivalParams {
    /// The class of flow.
    pub class: u8,
    /// Time between two tables, and from the start to the first.
    pub period: Time,
    /// The fewest messages that have ended for a table; with fewer, thresholds stay.
    pub least: u64,
    /// The model.
    pub rule: Arc<dyn Solver>,
    /// The load for which the model computes thresholds.
    pub load: f64,
    /// Levels that packets are tagged with.
    pub levels: usize,
    /// The initial thresholds of hosts, in bytes.
    pub start: Vec<u64>,
    /// Whether hosts also need to know what share of all bytes messages send in each level ([`LEVEL_SHARE`]).
    pub shares: bool,
}

/// The share of all bytes that messages send in each level, in millionths.
pub const LEVEL_SHARE: &str = "level's share (millionths)";

/// One controller, which merges what all hosts have.
#[derive(Clone, Debug)]
pub struct Merged(pub SurvivalParams);

/// One at each host, for that host alone.
#[derive(Clone, Debug)]
pub struct Alone(pub SurvivalParams);

/// What a host has counted.
struct Counted {
    sketch: SurvivalSketch,
    /// By message under way: the bytes that are in the sketch.
    sent: FxHashMap<u32, u64>,
}

/// The controller of thresholds.
pub struct SurvivalThresholds {
    params: SurvivalParams,
    to: Audience,
    /// The number of the first host.
    first: u32,
    hosts: Vec<Counted>,
    next: Time,
    /// The thresholds published last, or the initial ones of hosts.
    last: Vec<u64>,
    /// The shares published last.
    shares: Vec<u64>,
}

impl SurvivalThresholds {
    fn new(params: &SurvivalParams, to: Audience, first: u32, hosts: usize) -> SurvivalThresholds {
        let counted = || Counted { sketch: SurvivalSketch::default(), sent: FxHashMap::default() };
        SurvivalThresholds {
            params: params.clone(),
            to,
            first,
            hosts: (0..hosts).map(|_| counted()).collect(),
            next: params.period,
            last: params.start.clone(),
            shares: Vec::new(),
        }
    }

    /// Returns what the hosts have counted and the thresholds for it, if that is enough.
    fn thresholds(&self) -> Option<(SurvivalSketch, Vec<u64>)> {
        let mut all = SurvivalSketch::default();
        self.hosts.iter().for_each(|host| all.merge(&host.sketch));
        if all.ended() < self.params.least.max(1) {
            return None;
        }
        let thresholds = self.params.rule.thresholds(&mut all.sizes(), self.params.load, self.params.levels)?;
        Some((all, thresholds))
    }
}

impl ControllerRules for Merged {
    type Controller = SurvivalThresholds;

    const AT_HOSTS: bool = false;

    fn build(&self, fabric: &FabricSite, _: u32) -> SurvivalThresholds {
        let to = Audience::Hosts { class: self.0.class };
        SurvivalThresholds::new(&self.0, to, 0, fabric.hosts.len())
    }
}

impl ControllerRules for Alone {
    type Controller = SurvivalThresholds;

    const AT_HOSTS: bool = true;

    fn build(&self, _: &FabricSite, host: u32) -> SurvivalThresholds {
        let to = Audience::Host { host, class: self.0.class };
        SurvivalThresholds::new(&self.0, to, host, 1)
    }
}

impl Controller for SurvivalThresholds {
    fn on_event(&mut self, _: Time, event: &HostEvent) {
        let host = event.host.checked_sub(self.first).and_then(|host| self.hosts.get_mut(host as usize));
        let Some(host) = host.filter(|_| event.class == self.params.class) else { return };
        match event.event {
            FlowEvent::MessageEnd { message, .. } => {
                let sent = host.sent.remove(&message.id).unwrap_or(0);
                host.sketch.end(sent, message.bytes);
            }
            FlowEvent::GivenUp { message } => {
                host.sent.remove(&message);
            }
            _ => {}
        }
    }

    fn next(&self) -> Time {
        self.next
    }

    fn decide(&mut self, now: Time, gauges: &mut dyn Gauges, publish: Publish<'_>) {
        self.next = Time(now.0.saturating_add(self.params.period.0));
        for (number, Counted { sketch, sent }) in (self.first..).zip(&mut self.hosts) {
            gauges.sent(number, self.params.class, &mut |message, bytes| {
                let before = sent.entry(message).or_default();
                sketch.advance(*before, bytes);
                *before = bytes.max(*before);
            });
        }
        let Some((sketch, thresholds)) = self.thresholds() else { return };
        if self.params.shares {
            let shares = sketch.shares(&thresholds);
            if shares != self.shares {
                publish(self.to, Table::of_thresholds(LEVEL_SHARE, &shares));
                self.shares = shares;
            }
        }
        if thresholds != self.last {
            publish(self.to, Table::of_thresholds(TAG_THRESHOLD, &thresholds));
            self.last = thresholds;
        }
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        observe_thresholds(CONTROLLER_THRESHOLD, &self.last, see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::site::Node;

    /// The first size that any message has, and the sum of all counts as shares of the whole.
    #[derive(Debug)]
    struct Sizes;

    impl Solver for Sizes {
        fn thresholds(
            &self,
            sizes: &mut dyn Iterator<Item = (u64, u64)>,
            load: f64,
            queues: usize,
        ) -> Option<Vec<u64>> {
            assert_eq!((load, queues), (0.8, 8));
            Some(sizes.map(|(size, _)| size).collect())
        }
    }

    /// What taggers report: by host, the bytes sent of messages under way.
    struct Sent(Vec<Vec<(u32, u64)>>);

    impl Gauges for Sent {
        fn port(&mut self, _: Node, _: u16, _: &mut dyn FnMut(Reading)) {}

        fn backlog_bytes(&mut self, _: Node, _: u16) -> u64 {
            0
        }

        fn sent(&mut self, host: u32, class: u8, see: &mut dyn FnMut(u32, u64)) {
            assert_eq!(class, 2);
            self.0[host as usize].iter().for_each(|&(message, bytes)| see(message, bytes));
        }

        fn tagger(&mut self, _: u32, _: u8, _: &mut dyn FnMut(Reading)) {}
    }

    fn params(least: u64) -> SurvivalParams {
        let period = Time::from_us(100);
        SurvivalParams {
            class: 2,
            period,
            least,
            rule: Arc::new(Sizes),
            load: 0.8,
            levels: 8,
            start: vec![],
            shares: false,
        }
    }

    /// Builds the controller of three hosts, or that of host 1.
    fn merged(least: u64) -> SurvivalThresholds {
        SurvivalThresholds::new(&params(least), Audience::Hosts { class: 2 }, 0, 3)
    }

    fn ended(host: u32, id: u32, bytes: u64) -> HostEvent {
        let message = Message { id, bytes, ..Message::default() };
        let event = FlowEvent::MessageEnd { flow: id, message, effort: None };
        HostEvent { at: Time::ZERO, host, class: 2, event }
    }

    fn decide(controller: &mut SurvivalThresholds, us: u64, sent: &[Vec<(u32, u64)>]) -> Option<(Audience, Vec<u64>)> {
        assert_eq!(controller.next(), Time::from_us(us));
        let mut published = Vec::new();
        controller.decide(Time::from_us(us), &mut Sent(sent.to_vec()), &mut |to, table| {
            assert_eq!(table.name, TAG_THRESHOLD);
            published.push((to, table.values.into_iter().map(|(_, value)| value).collect()));
        });
        assert!(published.len() <= 1);
        published.pop()
    }

    #[test]
    fn decide__all_hosts_together_and_messages_that_are_not_over() {
        let mut controller = merged(2);
        let nobody = vec![vec![]; 3];
        controller.on_event(Time::ZERO, &ended(0, 1, 100));
        assert_eq!(decide(&mut controller, 100, &nobody), None, "one message is too few");
        controller.on_event(Time::ZERO, &ended(2, 2, 1_000));
        let (to, sizes) = decide(&mut controller, 200, &nobody).expect("a table");
        assert_eq!((to, sizes), (Audience::Hosts { class: 2 }, vec![103, 1_023]));
        assert_eq!(decide(&mut controller, 300, &nobody), None, "nothing for a while: the table stays");
        // A message of host 1 has sent a megabyte, and is not over: the largest is at least as large.
        let under_way = vec![vec![], vec![(7, 1_000_000)], vec![]];
        assert_eq!(decide(&mut controller, 400, &under_way).expect("a table").1, [103, 1_023, 1_048_575]);
        assert_eq!(decide(&mut controller, 500, &under_way), None, "it is counted once");
        controller.on_event(Time::ZERO, &ended(1, 7, 2_000_000));
        assert_eq!(decide(&mut controller, 600, &nobody).expect("a table").1, [103, 1_023, 2_097_151]);
        let ended: u64 = controller.hosts.iter().map(|host| host.sketch.ended()).sum();
        assert!(ended == 3 && controller.hosts.iter().all(|host| host.sent.is_empty()));
    }

    #[test]
    fn decide__shares_of_levels_where_hosts_need_them() {
        let params = SurvivalParams { shares: true, ..params(1) };
        let mut controller = SurvivalThresholds::new(&params, Audience::Hosts { class: 2 }, 0, 3);
        let mut tables = |us, id| {
            controller.on_event(Time::ZERO, &ended(0, id, 120));
            let mut tables = Vec::new();
            controller.decide(Time::from_us(us), &mut Sent(vec![vec![]; 3]), &mut |_, table| tables.push(table));
            tables
        };
        let of = Table::of_thresholds;
        assert_eq!(tables(100, 1), [of(LEVEL_SHARE, &[1_000_000, 0]), of(TAG_THRESHOLD, &[127])]);
        assert_eq!(tables(200, 2), [], "nothing is new");
    }

    #[test]
    fn decide__a_host_alone_and_another_class() {
        let mut alone = Alone(params(1)).build(&FabricSite::default(), 1);
        let nobody = vec![vec![]; 2];
        for (host, class) in [(0, 2), (2, 2), (1, 0), (u32::MAX, 2)] {
            alone.on_event(Time::ZERO, &HostEvent { class, ..ended(host, 1, 100) });
        }
        assert_eq!(decide(&mut alone, 100, &nobody), None);
        alone.on_event(Time::ZERO, &ended(1, 3, 100));
        let to = Audience::Host { host: 1, class: 2 };
        assert_eq!(decide(&mut alone, 200, &nobody), Some((to, vec![103])));
    }
}
