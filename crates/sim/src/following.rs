//! Closed loops in a partition: messages that begin when others of the same host have finished.

use std::collections::BTreeMap;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_workload::{ClosedLoop, Flow};

use crate::hosts::{Coming, Rules};
use crate::run::refusal;

/// What follows the messages of a partition's hosts.
pub(crate) struct Following {
    flows: Arc<ClosedLoop>,
    /// Hosts of the fabric.
    hosts: u32,
    /// None starts from here on.
    until: Time,
    /// Messages that will begin, by start and number.
    coming: BTreeMap<(u64, u32), Coming>,
    /// Those that began, in this order.
    pub(crate) begun: Vec<Flow>,
    /// The least flow that cannot be sent, and why.
    pub(crate) refused: Option<(u32, &'static str)>,
}

impl Following {
    pub(crate) fn new(flows: Arc<ClosedLoop>, hosts: u32, until: Time) -> Following {
        Following { flows, hosts, until, coming: BTreeMap::new(), begun: Vec::new(), refused: None }
    }

    pub(crate) fn add(&mut self, coming: Coming) {
        if coming.flow.start_ps < self.until.0 {
            self.coming.insert((coming.flow.start_ps, coming.flow.id), coming);
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
        self.add(Coming { flow, host });
        true
    }

    /// When the next message begins; [`Time::NEVER`] if none does.
    pub(crate) fn next_start(&self) -> Time {
        self.coming.first_key_value().map_or(Time::NEVER, |(&(start, _), _)| Time(start))
    }

    /// Takes the next message whose time has come.
    pub(crate) fn next_due(&mut self, now: Time) -> Option<Coming> {
        let first = self.coming.first_entry().filter(|entry| entry.key().0 <= now.0)?;
        let coming = first.remove();
        self.begun.push(coming.flow);
        Some(coming)
    }
}
