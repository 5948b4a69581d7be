//! Closed loops in a partition: messages that begin when others of the same host have finished.

use std::collections::BTreeMap;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_workload::{ClosedLoop, Flow};

use crate::hosts::{Rules, Upcoming};
use crate::run::refusal;

/// The messages of closed loops that will begin at a partition's hosts.
pub(crate) struct ClosedLoopStarts {
    flows: Arc<ClosedLoop>,
    /// Hosts of the fabric.
    hosts: u32,
    /// None starts from here on.
    until: Time,
    /// Messages that will begin, by when they do and number.
    upcoming: BTreeMap<(u64, u32), Upcoming>,
    /// Messages that began, in the order in which they did.
    pub(crate) begun: Vec<Flow>,
    /// The least flow that cannot be sent, and why.
    pub(crate) refused: Option<(u32, &'static str)>,
}

impl ClosedLoopStarts {
    pub(crate) fn new(flows: Arc<ClosedLoop>, hosts: u32, until: Time) -> ClosedLoopStarts {
        ClosedLoopStarts { flows, hosts, until, upcoming: BTreeMap::new(), begun: Vec::new(), refused: None }
    }

    pub(crate) fn add(&mut self, upcoming: Upcoming, rules: &Rules) {
        if upcoming.flow.start_ps < self.until.0 {
            self.upcoming.insert((rules.begin(&upcoming.flow).0, upcoming.flow.id), upcoming);
        }
    }

    /// A message of `host`, an index in the partition, has finished; says whether another will begin.
    pub(crate) fn after(&mut self, finished: u32, now: Time, host: u32, rules: &Rules) -> bool {
        let Some(flow) = self.flows.after(finished, now.0) else { return false };
        let segment = rules.transports[usize::from(rules.class(flow.class))].segment;
        if let Some(why) = refusal(&flow, self.hosts, segment) {
            let refused = (flow.id, why);
            self.refused = Some(self.refused.map_or(refused, |other| other.min(refused)));
            return false;
        }
        self.add(Upcoming { flow, host }, rules);
        true
    }

    /// When the next message begins; [`Time::NEVER`] if none does.
    pub(crate) fn next_start(&self) -> Time {
        self.upcoming.first_key_value().map_or(Time::NEVER, |(&(begin, _), _)| Time(begin))
    }

    /// Takes the next message whose time has come.
    pub(crate) fn next_due(&mut self, now: Time) -> Option<Upcoming> {
        let first = self.upcoming.first_entry().filter(|entry| entry.key().0 <= now.0)?;
        let upcoming = first.remove();
        self.begun.push(upcoming.flow);
        Some(upcoming)
    }
}
