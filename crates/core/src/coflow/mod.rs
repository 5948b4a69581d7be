//! Coflows: the orders in which a coordinator puts those under way, and how an order becomes a few priorities.
//!
//! A coflow is a set of flows that is done when all of them are. What a coordinator knows of the coflows under way is a
//! [`Snapshot`]. An [`OrderRule`] is a pure function from a snapshot to an order, so a new rule needs only a function here.
//! [`Levels`] maps an order to priorities. In a network, the controller [`crate::controllers::coordinator`] does both, and
//! the tagger [`crate::taggers::coflow`] writes the result into packets.
//!
//! Left out: rates (MADD and Sincronia's greedy walk belong to a model without packets), deadlines, admission.

mod announcements;
mod bssi;
mod levels;
mod order;

pub use announcements::{Announced, Announcements};
pub use levels::{LevelRule, Levels, MOST_LEVELS};
pub use order::OrderRule;

use crate::units::Time;

/// The coflows under way, as a coordinator knows them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// How many ports there are: hosts send over the first half of them and receive over the second.
    pub ports: usize,
    /// In the order in which they became known, which breaks the ties of a rule.
    pub coflows: Vec<Coflow>,
}

/// A coflow under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coflow {
    /// Its key: see [`key`].
    pub key: u32,
    /// When it began.
    pub since: Time,
    /// Its flows.
    pub flows: u32,
    /// The longest of them, in bytes.
    pub longest: u64,
    /// Bytes to be sent, of all flows.
    pub bytes: u64,
    /// Bytes that have been sent.
    pub sent: u64,
    /// Above zero. A coflow of twice the weight is worth two.
    pub weight: f64,
    /// Its demands, by port, ascending, each port once.
    pub demands: Vec<Demand>,
}

/// A coflow's demand at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The port.
    pub port: u32,
    /// How long its bytes take on the port's line, in ps.
    pub time: u64,
}

/// Returns the key of a message's coflow. A message without one is a coflow of its own, with a key above all others.
#[inline]
pub fn key(coflow: Option<u32>, message: u32) -> u32 {
    coflow.unwrap_or(!message)
}
