//! Studies that use the engines for more than running an experiment.
//!
//! [`thresholds`] computes a deployable table, [`mod@tune`] finds in the simulator what would help a fabric's traffic, [`against`]
//! replays runs of other simulators, [`explain`] and [`catalogue`] describe what is available, and [`export`] writes the flows of
//! a point.

pub mod against;
pub mod agreement;
pub mod catalogue;
pub mod explain;
pub mod export;
mod parallel;
pub mod thresholds;
pub mod tune;
