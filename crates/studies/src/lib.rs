//! Studies that use the engines for more than running an experiment.
//!
//! [`mod@tune`] finds in the simulator what would help a fabric's traffic, [`thresholds`] computes it by a model, [`against`]
//! replays runs of other simulators, [`explain`] and [`catalogue`] describe what is available, and [`export`] writes the flows of
//! a point.

pub mod against;
pub mod agreement;
pub mod canary;
pub mod catalogue;
pub mod configuration;
pub mod configure;
pub mod control;
pub mod explain;
pub mod export;
mod fabric_file;
mod parallel;
pub mod thresholds;
pub mod tune;
