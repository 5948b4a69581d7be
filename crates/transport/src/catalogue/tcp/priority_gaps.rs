//! Which gap among the arrivals is a loss: priority-based loss detection (QCLIMB, NSDI 2024, §3.2.1 and §4.2), for
//! [`LossDetection::ByPriority`](crate::tcp::params::LossDetection).
//!
//! For a gap, the receiver compares the priority of a segment before it with that of one beyond it. If they are equal, and
//! both segments belong to one message, the missing segments are lost. Otherwise they may be under way, and the timer
//! decides.
//!
//! Why that is sound. Within one message priorities climb and then fall: they never fall and then rise again. So everything
//! sent between two segments of equal priority had that priority or a higher one, and was sent before the second of them.
//! On one path, where ports serve strictly by priority and each priority in order, it cannot be behind the second: it
//! arrived or is lost. The two need not be the gap's neighbours: any segment before it and any one beyond it will do.
//!
//! Why within one message. A connection may carry one message after another, and each begins with its own priority. A gap
//! between the last segment of one and the first of the next says nothing, nor does one before a connection's first
//! segment.
//!
//! A retransmission's priority follows a separate rule, not its place in the message, and it may overtake the first
//! transmission after a timeout that came too early. So it gives no priority: the paper's "last segment in order" is the
//! last one that was sent for the first time, as if a retransmission had the priority that both sides of its gap had.
//! Retransmissions that stand alone beyond the edge equal nothing.
//!
//! Which gap: the first, or with [`Gaps::Every`] the one below the run that has just grown, which is the ACK's block. Below
//! a higher gap, too, the last segment that is not a retransmission counts. Only that gap can have become decided: of two
//! equal segments, the lower one was sent first and arrived first, so the upper one's run is the one that grows. Where
//! sides change otherwise, by retransmissions, the gap has been requested already, or the edge reaches it and requests it.
//! The receiver repeats the report with each further segment of the run, so that a lost ACK does no harm. The sender
//! remembers what was requested.

use std::collections::VecDeque;

use crate::tcp::header::GapReport;
use crate::tcp::params::Gaps;
use crate::tcp::receiver::Arrival;

/// A segment that was sent for the first time, as one side of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Side {
    message: u32,
    priority: u8,
}

/// Segments that arrived beyond the cumulative edge, contiguous.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: u32,
    end: u32,
    /// The first and the last of them that are not retransmissions; `None`: all are.
    first: Option<Side>,
    last: Option<Side>,
}

/// A receiver's memory of priorities.
#[derive(Clone, Debug)]
pub(super) struct PriorityGaps {
    of: Gaps,
    /// The last segment in order that is not a retransmission.
    in_order: Option<Side>,
    /// Runs beyond the edge, in order, with a gap before each; as many as the receiver's span has room for.
    runs: VecDeque<Run>,
}

impl Side {
    fn of(data: &Arrival) -> Option<Side> {
        (!data.retransmission).then_some(Side { message: data.message, priority: data.priority })
    }
}

impl PriorityGaps {
    pub(super) fn new(of: Gaps) -> PriorityGaps {
        PriorityGaps { of, in_order: None, runs: VecDeque::new() }
    }

    /// Notes the next segment in order.
    #[inline]
    pub(super) fn on_next(&mut self, data: &Arrival) {
        self.in_order = Side::of(data).or(self.in_order);
    }

    /// Moves the cumulative edge to `next`, after [`PriorityGaps::on_next`]. Reports on the first gap.
    pub(super) fn on_edge(&mut self, next: u32) -> GapReport {
        if let Some(run) = self.runs.front().filter(|run| run.start < next) {
            self.in_order = run.last.or(self.in_order);
            self.runs.pop_front();
        }
        self.report(0)
    }

    /// Notes a segment beyond the edge that arrives for the first time. Reports on the first gap.
    pub(super) fn on_beyond(&mut self, data: &Arrival) -> GapReport {
        let side = Side::of(data);
        let at = self.runs.partition_point(|run| run.end < data.seq);
        let after = at + usize::from(self.runs.get(at).is_some_and(|run| run.end == data.seq));
        let follows = self.runs.get(after).is_some_and(|run| run.start == data.seq + 1);
        match (after > at, follows) {
            (true, true) => {
                let next = self.runs[after];
                self.runs.remove(after);
                let run = &mut self.runs[at];
                run.end = next.end;
                run.first = run.first.or(side).or(next.first);
                run.last = next.last.or(side).or(run.last);
            }
            (true, false) => {
                let run = &mut self.runs[at];
                run.end = data.seq + 1;
                run.first = run.first.or(side);
                run.last = side.or(run.last);
            }
            (false, true) => {
                let run = &mut self.runs[at];
                run.start = data.seq;
                run.first = side.or(run.first);
                run.last = run.last.or(side);
            }
            (false, false) => {
                self.runs.insert(at, Run { start: data.seq, end: data.seq + 1, first: side, last: side });
            }
        }
        self.report(0)
    }

    /// Returns the report for an ACK whose block starts at `start`, beyond the edge.
    pub(super) fn with_block(&self, start: u32) -> GapReport {
        self.report(match self.of {
            Gaps::First => 0,
            Gaps::Every => self.runs.partition_point(|run| run.start < start),
        })
    }

    /// Returns what the sides of the gap below a run say about it.
    fn report(&self, at: usize) -> GapReport {
        let Some(run) = self.runs.get(at) else { return GapReport::None };
        let before = || self.runs.range(..at).rev().find_map(|run| run.last).or(self.in_order);
        if run.first.is_some() && run.first == before() { GapReport::Retransmit } else { GapReport::Update }
    }
}
