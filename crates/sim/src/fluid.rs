//! The flow level: rates instead of packets.
//!
//! A flow is an amount of work that crosses links at a rate. Rates hold until a flow or a coflow begins or ends, and
//! then change. There are no packets, and so no delays, windows, queues or losses. The results show what a fabric could
//! do if its hosts sent at exactly these rates.
//!
//! [`Discipline`] defines the rates: max-min fair, by classes, Sincronia's greedy walk, Varys' MADD, or those of CoflowSim's
//! other schedulers. The crate works on plain data: links with rates, paths over them, flows with their starts. Orders of
//! coflows and their levels are those of [`flowsieve_core::coflow`].
//!
//! Units: rates in bit/s, times in ps, rounded to the nearest when a flow ends. Work is in bits times 10^12, so that a
//! rate times a span is work. Numbers are `f64`, and every sum has a fixed order, so that results are the same on any
//! machine. Max-min rates and equal parts are computed in whole units, exactly.
//!
//! Not modelled: deadlines, admission, ACKs, and the coordinator's delay: it knows all flows that have begun at once.

mod bits;
mod coflow_rates;
mod coflows;
mod engine;
mod filling;
mod greedy;
mod madd;
mod network;
mod redundant;
mod shared;
mod smallest;
mod times;
mod turns;
mod units;

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
    /// Coflows in classes, which follow from an order as a coordinator makes them; max-min inside a class, on what
    /// higher ones leave.
    Strict {
        /// The order of coflows.
        order: Order,
        /// How an order becomes classes.
        rule: LevelRule,
        /// Number of classes: 1 to [`flowsieve_core::coflow::MOST_LEVELS`].
        levels: usize,
    },
    /// Sincronia's rates (SIGCOMM 2018, §4.2): flow by flow in the order of their coflows, each gets what is left at
    /// all its links. Inside a coflow, flows are ordered by sender, receiver and number.
    Greedy(Order),
    /// Varys' rates (SIGCOMM 2014, §5.3): coflow by coflow, each gets just enough for its flows to end together, as
    /// fast as its bottleneck allows with what is left. A coflow with a full link is skipped. The rest goes to the
    /// flows of skipped coflows in equal shares, then to all by their start, flow by flow. Rates are renewed when a coflow comes
    /// or ends, not when a flow does.
    Madd(Order),
    /// The same, but the rest goes by deadlines that CoflowSim draws instead of by starts.
    MaddByDeadline(Order),
    /// Each link is divided equally among its flows, and a flow gets the least of its links' parts. What it cannot use
    /// stays idle: CoflowSim's per-flow fairness, which is below [`Discipline::MaxMin`].
    Equal,
    /// Small flows first, one at each host: CoflowSim's per-flow prioritisation. A receiver puts a new flow before the
    /// first that has more work left than the new one's size, and takes the first whose sender no receiver of a lower
    /// number has taken.
    Smallest,
    /// Coflow by coflow: the flows of each share what its predecessors leave of links equally, and a flow gets the least
    /// of its links' shares. Rates are renewed when a coflow comes or ends.
    Shares(Order),
    /// The rates of [`Discipline::Shares`] in the order of Aalo's D-CLAS (SIGCOMM 2015, §4.2), as CoflowSim has it: queue
    /// by queue, and within a queue as coflows entered it. A coflow enters the first queue, and falls as it sends.
    Attained {
        /// Bytes on the links at which a coflow leaves the first queue; at least 1.
        first: u64,
        /// Each limit is this many times the one before; at least 2.
        factor: u64,
        /// Number of queues; at least 1.
        queues: usize,
    },
}

/// An order of coflows.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The rule of the order.
    pub rule: OrderRule,
    /// Whether the rule uses remaining demands; otherwise the initial ones.
    pub remaining: bool,
    /// Weights of coflows; 1 for others.
    pub weights: Arc<BTreeMap<u32, f64>>,
}

impl Discipline {
    /// Returns the order that it uses, if any.
    fn order(&self) -> Option<&Order> {
        match self {
            Discipline::MaxMin | Discipline::Equal | Discipline::Smallest | Discipline::Attained { .. } => None,
            Discipline::Strict { order, .. }
            | Discipline::Greedy(order)
            | Discipline::Madd(order)
            | Discipline::MaddByDeadline(order)
            | Discipline::Shares(order) => Some(order),
        }
    }
}
