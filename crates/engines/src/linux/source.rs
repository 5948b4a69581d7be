//! The simulator's flows as messages of the lab: flows of a list or of a process, closed loops, queries, and collectives.

use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_lab::linux::{Order, Source};
use flowsieve_sim::{Flows, Measure};
use flowsieve_workload::{Answered, ClosedLoop, Collectives, Flow, Predict, Prediction, Queries, Underway};

/// What follows the end of a message.
enum Rule<'a> {
    Nothing,
    Closed {
        flows: &'a ClosedLoop,
        until: Time,
    },
    Queries {
        queries: &'a Queries,
        answered: Answered,
    },
    Collectives {
        collectives: &'a Collectives,
        underway: Underway,
        left: u32,
    },
    /// The run ends with the last of these.
    Until {
        waited_for: &'a [u32],
        left: usize,
    },
}

/// The messages of a run.
pub(super) struct Messages<'a> {
    /// Flows that start whatever others do.
    open: Box<dyn Iterator<Item = Flow> + 'a>,
    rule: Rule<'a>,
    measure: Measure,
    /// Flows of the measuring window that have not ended, and whether its last flow has been seen.
    window: (u64, bool),
    predictions: Option<&'a Arc<dyn Predict>>,
}

impl<'a> Messages<'a> {
    pub(super) fn new(flows: Flows<'a>, measure: Measure, predictions: Option<&'a Arc<dyn Predict>>) -> Messages<'a> {
        let (open, rule): (Box<dyn Iterator<Item = Flow> + 'a>, Rule<'a>) = match flows {
            Flows::Given(flows) => (flows(), Rule::Nothing),
            Flows::Closed { flows, until } => (
                Box::new(flows.first().into_iter().filter(move |flow| flow.start_ps < until.0)),
                Rule::Closed { flows, until },
            ),
            Flows::Queries { queries, beside } => {
                let first = queries.first().map(|id| queries.message(id, 0));
                (Box::new(first.chain(beside())), Rule::Queries { queries, answered: Answered::default() })
            }
            Flows::Collectives(collectives) => {
                let first = collectives.first().into_iter().map(|id| collectives.message(id, 0));
                let left = collectives.messages();
                (Box::new(first), Rule::Collectives { collectives, underway: Underway::default(), left })
            }
            Flows::Until { flows, waited_for } => (flows(), Rule::Until { waited_for, left: waited_for.len() }),
        };
        Messages { open, rule, measure, window: (0, false), predictions }
    }

    /// Returns a flow as its sender knows it.
    fn order(&self, flow: &Flow) -> Order {
        let prediction = self.predictions.map_or(Prediction::default(), |all| all.predict(flow));
        Order { from: flow.src as u16, message: flowsieve_sim::message(flow, flow.class, prediction) }
    }
}

impl Source for Messages<'_> {
    fn next(&mut self) -> Option<Order> {
        let flow = self.open.next()?;
        if let Measure::Window { to, .. } = self.measure {
            let counts = counts(self.measure, Time(flow.start_ps));
            self.window = (self.window.0 + u64::from(counts), self.window.1 || flow.start_ps >= to.0);
        }
        Some(self.order(&flow))
    }

    fn after(&mut self, finished: u32, now: Time) -> Vec<Order> {
        let next: Vec<Flow> = match &mut self.rule {
            Rule::Nothing => Vec::new(),
            Rule::Closed { flows, until } => {
                flows.after(finished, now.0).into_iter().filter(|flow| flow.start_ps < until.0).collect()
            }
            Rule::Queries { queries, answered } if finished < queries.messages() => {
                queries.after(finished, answered).map(|id| queries.message(id, now.0)).collect()
            }
            Rule::Queries { .. } => Vec::new(),
            Rule::Collectives { collectives, underway, left } => {
                *left = left.saturating_sub(1);
                let begin = collectives.after(finished, now.0, underway);
                begin.into_iter().map(|(id, start_ps)| collectives.message(id, start_ps)).collect()
            }
            Rule::Until { waited_for, left } => {
                *left -= usize::from(waited_for.binary_search(&finished).is_ok());
                Vec::new()
            }
        };
        next.iter().map(|flow| self.order(flow)).collect()
    }

    fn ended(&mut self, order: &Order) {
        self.window.0 -=
            u64::from(matches!(self.measure, Measure::Window { .. }) && counts(self.measure, order.message.start));
    }

    fn is_over(&self) -> bool {
        let of_window = matches!(self.measure, Measure::Window { .. }) && self.window == (0, true);
        of_window
            || match &self.rule {
                Rule::Queries { queries, answered } => queries.is_over(answered),
                Rule::Until { left, .. } => *left == 0,
                Rule::Collectives { left, .. } => *left == 0,
                Rule::Nothing | Rule::Closed { .. } => false,
            }
    }
}

/// Returns whether a flow with this start counts.
pub(super) fn counts(measure: Measure, start: Time) -> bool {
    match measure {
        Measure::All => true,
        Measure::Window { from, to } => (from..to).contains(&start),
    }
}
