//! The flow level: rates instead of packets.
//!
//! A flow is an amount of work that crosses links at a rate. Rates hold until a flow or a coflow begins or ends, and then
//! are others. There are no packets, so no delays, windows, queues or losses: what a fabric could do if its hosts sent at
//! just these rates.
//!
//! [`Discipline`] says which rates: max-min fair, by classes, Sincronia's greedy walk, or Varys' MADD. It works on plain
//! data: links with rates, paths over them, flows with their starts. Orders of coflows and their levels are those of
//! [`flowsieve_core::coflow`].
//!
//! Units: rates in bit/s, times in ps, rounded to the nearest when a flow ends. Work is in bits times 10^12, so that a rate
//! times a span is work. Numbers are `f64`, and every sum has one order, so that results are the same on any machine.
//!
//! Left out: deadlines, admission, ACKs, and what a coordinator does not know yet: it knows the flows that have begun, at once.

mod bits;
mod coflows;
mod engine;
mod filling;
mod greedy;
mod madd;
mod network;
mod shared;

pub use engine::{Flow, Outcome, Progress, Spec, run};
pub use network::{Crossing, Network, Path};

use std::collections::BTreeMap;
use std::sync::Arc;

use flowsieve_core::coflow::{LevelRule, OrderRule};

/// How flows share links.
#[derive(Clone, Debug, PartialEq)]
pub enum Discipline {
    /// Max-min fair: no rate can be raised without lowering one that is not above it.
    MaxMin,
    /// Coflows in classes, made of an order as a coordinator does it; max-min inside a class, on what higher ones leave.
    Strict {
        /// Who is before whom.
        order: Order,
        /// How an order becomes classes.
        rule: LevelRule,
        /// How many: 1 to [`flowsieve_core::coflow::MOST_LEVELS`].
        levels: usize,
    },
    /// Sincronia's rates (SIGCOMM 2018, §4.2): flow by flow in the order of their coflows, each gets what is left at all its
    /// links. Inside a coflow by sender, receiver and number.
    Greedy(Order),
    /// Varys' rates (SIGCOMM 2014, §5.3): coflow by coflow, each just as much as lets its flows end together when what is left
    /// of its bottleneck allows; a coflow that finds one of its links full is skipped. What then is left goes to the skipped
    /// coflows in their order, and after that to all by their start, flow by flow. Renewed when a coflow comes or ends, not when
    /// a flow does.
    Madd(Order),
}

/// Who is before whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// By what.
    pub rule: OrderRule,
    /// By what is left of demands; or else by what there was at first.
    pub remaining: bool,
    /// Weights of coflows; of others 1.
    pub weights: Arc<BTreeMap<u32, f64>>,
}

impl Discipline {
    /// The order that it needs, if it needs any.
    fn order(&self) -> Option<&Order> {
        match self {
            Discipline::MaxMin => None,
            Discipline::Strict { order, .. } | Discipline::Greedy(order) | Discipline::Madd(order) => Some(order),
        }
    }
}
