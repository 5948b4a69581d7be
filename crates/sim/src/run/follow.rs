//! Runs in which flows follow others: closed loops, collectives, and queries with other flows in addition.

use std::ops::ControlFlow;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_workload::{Answered, Collectives, Flow, Queries, Underway};

use super::{Arrivals, Run};
use crate::event::Key;
use crate::following::{Following, Rule};
use crate::hosts::Hosts;
use crate::measure;
use crate::run_spec::{Flows, Progress, SimError};

/// Time between two checks whether all queries, or all flows that others wait for, have ended. The instants do not
/// depend on how the fabric is cut.
pub const QUERY_EPOCH: Time = Time::from_us(1_000);

impl<K: Key> Run<'_, '_, K> {
    /// Runs closed loops until the fabric is empty, as [`Run::all`].
    pub(super) fn all_closed(
        &mut self,
        upcoming: Arrivals<'_>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<Time>, SimError> {
        for flow in upcoming {
            self.feed(flow)?;
        }
        let ended = self.drain(Time::ZERO, progress)?;
        let last_arrival = self.built.partitions.iter().map(|partition| partition.network.last_arrival).max();
        let until = |end: Time| Time(end.0.saturating_sub(1));
        self.note_arrivals_end(ended.map_or(last_arrival.unwrap_or(Time::ZERO), until));
        Ok(ended)
    }

    /// Does the same while flows arrive until all queries, or the flows that the others wait for, have ended.
    pub(super) fn all_until(
        &mut self,
        mut upcoming: Arrivals<'_>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<Time>, SimError> {
        let mut end = Time::ZERO;
        while end < self.stop && !self.have_ended() {
            end += QUERY_EPOCH;
            while let Some(flow) = upcoming.next_if(|flow| flow.start_ps < end.0) {
                self.feed(flow)?;
            }
            self.until(end, progress)?;
            self.refuse_crowd()?;
            if upcoming.peek().is_none() && !self.waits() {
                break; // no answer will come any more, and none of them will finish
            }
        }
        self.arrivals_ended = Some(end);
        self.note_arrivals_end(Time(end.0.saturating_sub(1)));
        self.drain(end, progress)
    }

    /// Returns whether all queries, or the flows that the others wait for, have ended.
    fn have_ended(&mut self) -> bool {
        match self.run_spec.flows {
            Flows::Until { waited_for, .. } => self.have_finished(waited_for),
            _ => self.following().any(Following::heard_all_answers),
        }
    }

    /// Returns whether all of these flows have begun and have finished, or can never finish.
    fn have_finished(&mut self, numbers: &[u32]) -> bool {
        let has_begun = |last: &u32| self.flows.last().is_some_and(|flow| flow.id >= *last);
        if !numbers.last().is_none_or(has_begun) {
            return false;
        }
        self.gather();
        measure::is_finished(&self.run_spec, &self.built, &self.flows, |flow| numbers.binary_search(&flow.id).is_ok())
    }

    /// Tells the partitions which flows follow theirs.
    pub(super) fn close_loops(&mut self, rule: impl Fn() -> Rule) -> Result<(), SimError> {
        let classes = &self.run_spec.scheme.classes;
        if let Some(class) = classes.iter().position(|class| !class.transport.facts().answers()) {
            return Err(SimError::NoAcks { class });
        }
        self.follow(rule);
        Ok(())
    }

    /// Begins the first query's requests.
    pub(super) fn ask(&mut self, queries: &Queries) -> Result<(), SimError> {
        let classes = &self.run_spec.scheme.classes;
        let class = usize::from(Queries::CLASS).min(classes.len() - 1);
        if !classes[class].transport.facts().answers() {
            return Err(SimError::MayLose { class });
        }
        let shared = Arc::new(queries.clone());
        self.follow(|| Rule::Queries { queries: Arc::clone(&shared), answered: Answered::default() });
        self.begin_first(queries.first().map(|id| queries.message(id, 0)))
    }

    /// Begins the first messages of collectives.
    pub(super) fn begin_collectives(&mut self, collectives: &Collectives) -> Result<(), SimError> {
        let first = collectives.first();
        let shared = Arc::new(collectives.clone());
        let class = first.first().map_or(0, |id| usize::from(shared.message(*id, 0).class));
        if !self.run_spec.scheme.classes[class].transport.facts().answers() {
            return Err(SimError::CollectiveMayLose { class });
        }
        self.follow(|| Rule::Collectives { collectives: Arc::clone(&shared), underway: Underway::default() });
        self.begin_first(first.into_iter().map(|id| shared.message(id, 0)))
    }

    /// Begins messages that others follow.
    fn begin_first(&mut self, messages: impl Iterator<Item = Flow>) -> Result<(), SimError> {
        for message in messages {
            self.refuse_unsound(&message)?;
            self.hand_over(message, Hosts::hand_over_first);
        }
        Ok(())
    }

    fn follow(&mut self, rule: impl Fn() -> Rule) {
        for partition in &mut self.built.partitions {
            partition.hosts.following = Some(Following::new(rule(), self.run_spec.fabric.hosts, self.stop));
        }
    }

    pub(super) fn following(&self) -> impl Iterator<Item = &Following> {
        self.built.partitions.iter().filter_map(|partition| partition.hosts.following.as_ref())
    }

    /// Returns whether a flow that follows another will begin.
    pub(super) fn others_follow(&self) -> bool {
        self.following().any(|following| following.next() != Following::NONE)
    }

    /// Collects the flows that have followed others from the partitions.
    pub(super) fn gather(&mut self) {
        let before = self.flows.len();
        for partition in &mut self.built.partitions {
            if let Some(following) = &mut partition.hosts.following {
                self.flows.append(&mut following.begun);
            }
        }
        if self.flows.len() > before {
            self.flows.sort_unstable_by_key(|flow| (flow.start_ps, flow.id));
        }
    }
}
