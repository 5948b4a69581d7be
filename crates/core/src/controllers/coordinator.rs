//! A coordinator of coflows: it hears which coflows begin and end, orders those under way, and sends hosts their levels
//! (Sincronia, SIGCOMM 2018, §4; Aalo, SIGCOMM 2015, §5).
//!
//! A coflow is announced at its first flow: whole, with the flows that begin later ([`Announcement::Whole`]), or flow by
//! flow as they begin. It is over when all announced flows have ended; a flow that begins afterwards begins it anew. The
//! order is made when a coflow begins or is over, or when more becomes known of one; or at the next instant of a period.
//!
//! A late order does no harm: no host reads the level of a coflow that has ended, and hosts take whole tables, the latest one.
//!
//! The coordinator knows the bytes sent as of the instant at which it decides, as if hosts reported them continuously.
//! Their delay is part of the delay of the result: see [`crate::controller`].

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::coflow::{Announced, Announcements, Coflow, Demand, LevelRule, Levels, OrderRule, Snapshot, key};
use crate::controller::{Audience, Controller, ControllerRules, FabricSite, Gauges, HostEvent, Publish, Table};
use crate::message::FlowEvent;
use crate::readings::Reading;
use crate::units::{Rate, Time};

/// What a coordinator learns of a coflow, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// All of its flows, at its first one.
    Whole,
    /// Each flow as it begins.
    Flow,
}

/// How an order is made, and levels from it.
#[derive(Clone, Debug, PartialEq)]
pub enum Decides {
    /// Orders coflows by demands.
    Order {
        /// The rule.
        rule: OrderRule,
        /// How the order becomes levels.
        levels: LevelRule,
        /// Whether demands are what is left of them, instead of the initial ones.
        remaining: bool,
    },
    /// Aalo's D-CLAS (§4.2): a coflow falls from level to level as it sends, at `first` bytes, then each time at `factor`
    /// times as many. It needs no sizes.
    Attained {
        /// Bytes; at least 1.
        first: u64,
        /// At least 2.
        factor: u64,
    },
}

impl Decides {
    /// Returns whether weights of coflows make a difference.
    pub fn heeds_weights(&self) -> bool {
        matches!(self, Decides::Order { rule, .. } if rule.heeds_weights())
    }
}

/// A coordinator's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordinatorParams {
    /// How it decides.
    pub decides: Decides,
    /// Number of levels: 1 to [`crate::coflow::MOST_LEVELS`].
    pub levels: usize,
    /// What it learns of a coflow.
    pub announcement: Announcement,
    /// It decides at multiples of this while there are coflows; `None`: as soon as it hears of something new.
    pub period: Option<Time>,
    /// Weights of coflows; the default is 1.
    pub weights: Arc<BTreeMap<u32, f64>>,
    /// The classes of flow whose packets follow the coordinator.
    pub classes: Range<u8>,
}

/// The name of its table: the level by coflow.
pub const LEVEL: &str = "coflow level";

/// A coordinator.
pub struct Coordinator {
    params: CoordinatorParams,
    announcements: Arc<Announcements>,
    /// By host.
    lines: Vec<Rate>,
    coflows: BTreeMap<u32, Active>,
    /// By message, for messages that have not ended.
    flows: BTreeMap<u32, ActiveFlow>,
    levels: Levels,
    /// Number of coflows that it has heard of.
    known: u64,
    /// When it decides next.
    next: Time,
    published: Vec<(u32, u64)>,
}

/// A coflow under way.
#[derive(Debug, Default)]
struct Active {
    /// Counts coflows as they become known.
    number: u64,
    since: Time,
    flows: u32,
    unfinished: u32,
    longest: u64,
    bytes: u64,
    sent: u64,
    /// Bytes by port: a host's as sender, then all hosts' as receivers.
    demands: BTreeMap<u32, u64>,
}

#[derive(Clone, Copy, Debug)]
struct ActiveFlow {
    coflow: u32,
    from: u32,
    to: u32,
    bytes: u64,
    sent: u64,
}

impl ControllerRules for CoordinatorParams {
    type Controller = Coordinator;

    const AT_HOSTS: bool = false;

    fn build(&self, fabric: &FabricSite, _: u32) -> Coordinator {
        let rule = match self.decides {
            Decides::Order { levels, .. } => levels,
            Decides::Attained { .. } => LevelRule::Rank,
        };
        Coordinator {
            levels: Levels::new(rule, self.levels),
            params: self.clone(),
            announcements: Arc::clone(&fabric.announcements),
            lines: fabric.hosts.iter().map(|host| host.ports[0].rate).collect(),
            coflows: BTreeMap::new(),
            flows: BTreeMap::new(),
            known: 0,
            next: Time::NEVER,
            published: Vec::new(),
        }
    }
}

impl Coordinator {
    /// Adds a flow of a coflow, which began at `since`.
    fn add(&mut self, flow: Announced, since: Time) {
        let Announced { coflow, message, from, to, bytes } = flow;
        if self.flows.contains_key(&message) {
            return;
        }
        self.flows.insert(message, ActiveFlow { coflow, from, to, bytes, sent: 0 });
        let known = &mut self.known;
        let active = self.coflows.entry(coflow).or_insert_with(|| {
            *known += 1;
            Active { number: *known, since, ..Active::default() }
        });
        active.flows += 1;
        active.unfinished += 1;
        active.longest = active.longest.max(bytes);
        active.bytes = active.bytes.saturating_add(bytes);
        for port in [from, to + self.lines.len() as u32] {
            let demand = active.demands.entry(port).or_default();
            *demand = demand.saturating_add(bytes);
        }
    }

    /// Counts `bytes` more sent bytes of a flow.
    fn serve(&mut self, flow: ActiveFlow, bytes: u64) {
        let Some(active) = self.coflows.get_mut(&flow.coflow) else { return };
        active.sent = active.sent.saturating_add(bytes);
        if matches!(self.params.decides, Decides::Order { remaining: true, .. }) {
            for port in [flow.from, flow.to + self.lines.len() as u32] {
                if let Some(demand) = active.demands.get_mut(&port) {
                    *demand = demand.saturating_sub(bytes);
                }
            }
        }
    }

    /// Schedules a decision, because something is new.
    fn wake(&mut self, now: Time) {
        let at = match self.params.period {
            None => now,
            Some(period) => Time(now.0.div_ceil(period.0).saturating_mul(period.0)),
        };
        self.next = self.next.min(at);
    }

    fn ask_hosts(&mut self, gauges: &mut dyn Gauges) {
        if let Decides::Order { remaining: false, .. } = self.params.decides {
            return;
        }
        let mut sent = Vec::new();
        for host in 0..self.lines.len() as u32 {
            for class in self.params.classes.clone() {
                gauges.sent(host, class, &mut |message, bytes| sent.push((message, bytes)));
            }
        }
        for (message, bytes) in sent {
            let Some(flow) = self.flows.get_mut(&message) else { continue };
            let more = bytes.saturating_sub(flow.sent);
            flow.sent += more;
            let flow = *flow;
            self.serve(flow, more);
        }
    }

    /// Returns the coflows under way.
    pub fn snapshot(&self) -> Snapshot {
        let hosts = self.lines.len();
        let coflow = |(&key, active): (&u32, &Active)| Coflow {
            key,
            since: active.since,
            flows: active.flows,
            longest: active.longest,
            bytes: active.bytes,
            sent: active.sent,
            weight: self.params.weights.get(&key).copied().unwrap_or(1.0),
            demands: active
                .demands
                .iter()
                .map(|(&port, &bytes)| Demand { port, time: time_of(bytes, self.lines[port as usize % hosts]) })
                .collect(),
        };
        let mut active: Vec<_> = self.coflows.iter().collect();
        active.sort_by_key(|(_, active)| active.number);
        Snapshot { ports: 2 * hosts, coflows: active.into_iter().map(coflow).collect() }
    }

    /// Returns the level of each coflow under way, by coflow.
    fn decided(&mut self) -> Vec<(u32, u64)> {
        match self.params.decides {
            Decides::Attained { first, factor } => {
                let level = |sent| attained_level(sent, first, factor, self.params.levels);
                self.coflows.iter().map(|(&coflow, active)| (coflow, level(active.sent))).collect()
            }
            Decides::Order { rule, .. } => {
                let snapshot = self.snapshot();
                let order: Vec<u32> =
                    rule.order(&snapshot).into_iter().map(|index| snapshot.coflows[index].key).collect();
                self.levels.assign(&order).iter().map(|(&coflow, &level)| (coflow, level.into())).collect()
            }
        }
    }
}

impl Controller for Coordinator {
    fn on_event(&mut self, now: Time, event: &HostEvent) {
        match event.event {
            // A message that its host held back begins once it has a place, and is known then.
            FlowEvent::HeldBack { message } | FlowEvent::MessageStart { message, .. } => {
                let coflow = key(message.coflow, message.id);
                let before = self.flows.len();
                if self.params.announcement == Announcement::Whole && !self.coflows.contains_key(&coflow) {
                    let announcements = Arc::clone(&self.announcements);
                    announcements.of(coflow).iter().for_each(|&flow| self.add(flow, message.start));
                }
                let (from, to) = (event.host, message.to.into());
                self.add(Announced { coflow, message: message.id, from, to, bytes: message.bytes }, message.start);
                if self.flows.len() > before {
                    self.wake(now);
                }
            }
            FlowEvent::MessageEnd { message, .. } => {
                let Some(flow) = self.flows.remove(&message.id) else { return };
                self.serve(flow, flow.bytes.saturating_sub(flow.sent));
                let Some(active) = self.coflows.get_mut(&flow.coflow) else { return };
                active.unfinished -= 1;
                if active.unfinished == 0 {
                    self.coflows.remove(&flow.coflow);
                    self.wake(now);
                }
            }
            _ => {}
        }
    }

    fn next(&self) -> Time {
        self.next
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        see(Reading::Count { name: "coflow_lifts", count: self.levels.lifts() });
    }

    fn decide(&mut self, now: Time, gauges: &mut dyn Gauges, publish: Publish<'_>) {
        self.next = match self.params.period {
            Some(period) if !self.coflows.is_empty() => Time((now.0 / period.0 + 1).saturating_mul(period.0)),
            _ => Time::NEVER,
        };
        self.ask_hosts(gauges);
        let values = self.decided();
        if values != self.published {
            self.published.clone_from(&values);
            for class in self.params.classes.clone() {
                publish(Audience::Hosts { class }, Table { name: LEVEL, values: values.clone() });
            }
        }
    }
}

/// Returns how long `bytes` take on a line, in ps.
fn time_of(bytes: u64, line: Rate) -> u64 {
    u64::try_from(u128::from(bytes) * 8_000_000_000_000 / u128::from(line.bps())).unwrap_or(u64::MAX)
}

/// Returns how many of the limits `first`, `first · factor` … a coflow has reached, up to the last level.
pub fn attained_level(sent: u64, first: u64, factor: u64, levels: usize) -> u64 {
    let limits = std::iter::successors(Some(first), |limit| limit.checked_mul(factor));
    limits.take(levels - 1).take_while(|&limit| sent >= limit).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attained_level__falls_at_each_limit_to_the_last_level() {
        let levels = [0, 9, 10, 99, 100, 1_000, u64::MAX].map(|sent| attained_level(sent, 10, 10, 4));
        assert_eq!(levels, [0, 0, 1, 1, 2, 3, 3]);
        assert_eq!(attained_level(u64::MAX, 10, 10, 1), 0);
        // The third limit is beyond any count.
        assert_eq!(attained_level(u64::MAX, 1 << 40, 1 << 20, 10), 2);
    }
}
