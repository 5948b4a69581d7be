//! Closed-loop arrivals: each host keeps a number of flows under way, and starts another when one has finished.
//!
//! A loop is a place for one flow at a time. Flow `id` belongs to loop `id mod loops`, so the flows of a loop are numbered
//! before anything runs. Every property of a flow except its start is a function of its number and the seed. So under every
//! scheme the flow with a given number has the same hosts, the same size and the same time to think before it, although schemes
//! start it at different times.
//!
//! The engine begins with [`ClosedLoop::first`] and calls [`ClosedLoop::after`] whenever a flow finishes.
//!
//! Requests that several hosts answer are [`crate::Queries`].

use crate::Flow;
use crate::deadlines::Deadlines;
use crate::offer::Offer;
use crate::pattern::{Pairs, Pattern, PatternError};
use crate::random::{Purpose, stream, uniform01};

/// The time between the end of a loop's flow and the start of its next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// Always these picoseconds.
    Fixed(u64),
    /// Exponential, with this mean in picoseconds.
    Exponential(u64),
}

/// Flows that wait for others to finish.
#[derive(Clone, Debug)]
pub struct ClosedLoop {
    offer: Offer,
    pairs: Pairs,
    think: Think,
    hosts: u32,
    loops: u32,
    flows: u32,
    deadlines: Option<Deadlines>,
    seed: u64,
}

impl ClosedLoop {
    /// `outstanding` loops at each of `hosts`, which start `flows` flows in all. The offer's rate has no meaning here,
    /// and under [`Pattern::Incast`] and [`Pattern::Listed`] every flow is all-to-all.
    pub fn new(
        (hosts, outstanding): (u32, u32),
        pattern: &Pattern,
        offer: Offer,
        think: Think,
        flows: u32,
        seed: u64,
    ) -> Result<ClosedLoop, PatternError> {
        let pairs = Pairs::new(pattern, hosts, seed)?;
        let loops = hosts.saturating_mul(outstanding.max(1));
        Ok(ClosedLoop { offer, pairs, think, hosts, loops, flows, deadlines: None, seed })
    }

    /// The same flows with deadlines.
    #[must_use]
    pub fn with_deadlines(self, deadlines: Option<Deadlines>) -> ClosedLoop {
        ClosedLoop { deadlines, ..self }
    }

    /// The first flow of each loop, in the order of their starts; each loop thinks before it.
    pub fn first(&self) -> Vec<Flow> {
        let mut flows: Vec<Flow> = (0..self.loops.min(self.flows)).map(|id| self.flow(id, 0)).collect();
        flows.sort_by_key(|flow| flow.start_ps);
        flows
    }

    /// The flow that follows when flow `finished` has finished at `at_ps`; none when its loop has no further one. It has
    /// the same sender. One that starts at `u64::MAX` would start after the end of time (2^64 ps, 213 days).
    pub fn after(&self, finished: u32, at_ps: u64) -> Option<Flow> {
        let id = finished.checked_add(self.loops).filter(|id| *id < self.flows)?;
        Some(self.flow(id, at_ps))
    }

    /// A flow whose loop thinks from `from_ps` on; at `u64::MAX` it never starts.
    fn flow(&self, id: u32, from_ps: u64) -> Flow {
        // Entity 0 is for the whole workload.
        let entity = u64::from(id) + 1;
        let draws = |purpose| stream(self.seed, purpose, entity);
        let think_ps = match self.think {
            Think::Fixed(ps) => ps,
            Think::Exponential(mean_ps) => {
                let survival = 1.0 - uniform01(&mut draws(Purpose::Arrivals));
                (-libm::log(survival) * mean_ps as f64).round() as u64
            }
        };
        let src = id % self.hosts;
        let dst = self.pairs.receiver(src, &mut draws(Purpose::Pairs));
        let (class, bytes) = self.offer.draw(self.seed, (src, dst), &mut draws(Purpose::Sizes));
        let start_ps = from_ps.saturating_add(think_ps);
        let flow = Flow { id, start_ps, src, dst, bytes, class, deadline_ps: None, coflow: None };
        self.deadlines.map_or(flow, |deadlines| deadlines.put_on(flow, self.seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::builtin;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn closed(outstanding: u32, think: Think, flows: u32, seed: u64) -> ClosedLoop {
        let sizes = builtin("web-search").unwrap().distribution().unwrap();
        let offer = Offer { sizes, mix: None, rate_per_host: 0.0 };
        ClosedLoop::new((4, outstanding), &Pattern::AllToAll, offer, think, flows, seed).unwrap()
    }

    /// All flows by number when each takes `time_ps(id)`.
    fn run(closed: &ClosedLoop, time_ps: impl Fn(u32) -> u64) -> BTreeMap<u32, Flow> {
        let mut waiting = closed.first();
        let mut all = BTreeMap::new();
        while let Some(flow) = waiting.pop() {
            all.insert(flow.id, flow);
            waiting.extend(closed.after(flow.id, flow.start_ps + time_ps(flow.id)));
        }
        all
    }

    #[test]
    fn after__is_the_same_hosts_next_flow() {
        let closed = closed(2, Think::Fixed(10), 20, 1);
        let first = closed.first();
        assert_eq!(
            first.iter().map(|flow| (flow.id, flow.src, flow.start_ps)).collect::<Vec<_>>(),
            [(0, 0, 10), (1, 1, 10), (2, 2, 10), (3, 3, 10), (4, 0, 10), (5, 1, 10), (6, 2, 10), (7, 3, 10)]
        );
        let next = closed.after(5, 1_000).unwrap();
        assert_eq!((next.id, next.src, next.start_ps), (13, 1, 1_010));
        assert_eq!(closed.after(13, 2_000), None);
    }

    #[test]
    fn first__are_in_order_and_no_more_than_there_are() {
        let starts: Vec<u64> =
            closed(9, Think::Exponential(1_000_000), 30, 4).first().iter().map(|f| f.start_ps).collect();
        assert!(starts.len() == 30 && starts.is_sorted());
        // A mean of a million, within four standard errors.
        assert!((starts.iter().sum::<u64>() / 30).abs_diff(1_000_000) < 730_000, "{starts:?}");
    }

    #[test]
    fn with_deadlines__nothing_else_changes() {
        let bare = closed(2, Think::Exponential(500), 40, 3);
        let rule = crate::DeadlineRule::Exponential(1_000_000);
        let due = bare.clone().with_deadlines(Some(Deadlines { up_to: 1_000_000, rule }));
        let (bare, due) = (run(&bare, |_| 9), run(&due, |_| 9));
        let with = due.values().filter(|flow| flow.deadline_ps.is_some()).count();
        assert_eq!(with, bare.values().filter(|flow| flow.bytes <= 1_000_000).count());
        assert!(with > 10 && with < 40);
        for (bare, due) in bare.values().zip(due.values()) {
            assert_eq!(*bare, Flow { deadline_ps: None, ..*due });
        }
    }

    #[test]
    fn after__ends_with_time_and_not_with_a_panic() {
        let closed = closed(1, Think::Fixed(10), u32::MAX, 4);
        assert_eq!(closed.after(3, u64::MAX - 4).map(|flow| flow.start_ps), Some(u64::MAX));
        assert_eq!(closed.after(u32::MAX - 2, 0), None);
    }

    proptest! {
        #[test]
        fn flows__are_the_same_but_for_their_starts_however_long_they_take(
            seed: u64, slow in 1u64..1_000_000, outstanding in 1u32..5, flows in 1u32..60
        ) {
            let closed = closed(outstanding, Think::Exponential(500), flows, seed);
            let (quick, slow) = (run(&closed, |id| u64::from(id) % 7), run(&closed, |id| slow + u64::from(id)));
            prop_assert_eq!(quick.len(), flows as usize);
            let untimed = |all: &BTreeMap<u32, Flow>| all.values().map(|f| Flow { start_ps: 0, ..*f }).collect::<Vec<_>>();
            prop_assert_eq!(untimed(&quick), untimed(&slow));
        }
    }
}
