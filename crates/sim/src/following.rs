//! Messages of a partition that begin when others have ended. In closed loops, that is when a message of their host has
//! been acknowledged; in queries and collectives, when a message has been delivered at their host.
//!
//! Each message is started by an event at its own sender, so that a partition needs no information from others.

use std::collections::BTreeMap;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_workload::{Answered, ClosedLoop, Collectives, Flow, Queries, Underway};

use crate::hosts::Rules;
use crate::run::refusal;
use crate::upcoming::Upcoming;

/// Defines which messages follow which.
pub(crate) enum Rule {
    /// Closed loops.
    Closed {
        flows: Arc<ClosedLoop>,
        /// No message begins from here on.
        until: Time,
    },
    /// Queries.
    Queries {
        queries: Arc<Queries>,
        /// Answers, counted at the client.
        answered: Answered,
    },
    /// Collectives.
    Collectives {
        collectives: Arc<Collectives>,
        /// What the partition's hosts know of theirs.
        underway: Underway,
    },
}

/// The messages that follow others at a partition's hosts.
pub(crate) struct Following {
    rule: Rule,
    /// Number of hosts in the fabric.
    hosts: u32,
    /// No message begins from here on.
    ends: Time,
    /// Messages that will begin, by their start and number.
    upcoming: BTreeMap<(u64, u32), Upcoming>,
    /// Messages that began, in order.
    pub(crate) begun: Vec<Flow>,
    /// The flow with the least number that cannot be sent, and why.
    pub(crate) refused: Option<(u32, &'static str)>,
}

impl Following {
    /// Follows `rule` until `stop`.
    pub(crate) fn new(rule: Rule, hosts: u32, stop: Time) -> Following {
        let ends = if let Rule::Closed { until, .. } = rule { stop.min(until) } else { stop };
        Following { rule, hosts, ends, upcoming: BTreeMap::new(), begun: Vec::new(), refused: None }
    }

    /// Adds a message that will begin.
    pub(crate) fn add(&mut self, upcoming: Upcoming, rules: &Rules) {
        let until = if let Rule::Closed { until, .. } = self.rule { until } else { Time::NEVER };
        if upcoming.flow.start_ps < until.0 {
            self.upcoming.insert((rules.begin(&upcoming.flow).0, upcoming.flow.id), upcoming);
        }
    }

    /// Notes that a message of `host`, an index in the partition, has been acknowledged; returns whether another will
    /// begin.
    pub(crate) fn acknowledged(&mut self, finished: u32, now: Time, host: u32, rules: &Rules) -> bool {
        let Rule::Closed { flows, .. } = &self.rule else { return false };
        let Some(flow) = flows.after(finished, now.0) else { return false };
        self.add_sound(flow, host, rules)
    }

    /// Notes that a message has been delivered at `host`, an index in the partition; returns whether others will begin.
    pub(crate) fn delivered(&mut self, message: u32, now: Time, host: u32, rules: &Rules) -> bool {
        let next: Vec<Flow> = match &mut self.rule {
            Rule::Queries { queries, answered } => {
                let next = queries.after(message, answered);
                next.map(|id| queries.message(id, now.0)).collect()
            }
            Rule::Collectives { collectives, underway } => {
                let next = collectives.after(message, now.0, underway);
                next.into_iter().map(|(id, start_ps)| collectives.message(id, start_ps)).collect()
            }
            Rule::Closed { .. } => return false,
        };
        let mut any = false;
        for flow in next {
            any |= self.add_sound(flow, host, rules);
        }
        any
    }

    /// Adds a flow unless this fabric cannot carry it.
    fn add_sound(&mut self, flow: Flow, host: u32, rules: &Rules) -> bool {
        if flow.start_ps == Time::NEVER.0 && self.ends < Time::NEVER {
            return false; // it is not waited for
        }
        let segment = rules.transports[usize::from(rules.class(flow.class))].segment;
        if let Some(why) = refusal(&flow, self.hosts, segment) {
            let refused = (flow.id, why);
            self.refused = Some(self.refused.map_or(refused, |other| other.min(refused)));
            return false;
        }
        self.add(Upcoming::new(flow, host), rules);
        true
    }

    /// Returns when the next message begins, and its number; [`Following::NONE`] if there is none.
    pub(crate) fn next(&self) -> (u64, u32) {
        self.upcoming.first_key_value().map_or(Following::NONE, |(&next, _)| next)
    }

    /// Later than every message.
    pub(crate) const NONE: (u64, u32) = (Time::NEVER.0, u32::MAX);

    /// Takes the next message.
    pub(crate) fn take_next(&mut self) -> Option<Upcoming> {
        let (_, upcoming) = self.upcoming.pop_first()?;
        self.begun.push(upcoming.flow);
        Some(upcoming)
    }

    /// Returns whether the last query has all its answers.
    pub(crate) fn heard_all_answers(&self) -> bool {
        matches!(&self.rule, Rule::Queries { queries, answered } if queries.is_over(answered))
    }
}
