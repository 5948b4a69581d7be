//! What people ask of the engines besides running an experiment.
//!
//! [`thresholds`] computes a deployable table, [`validate`] holds the simulator against theory, [`explain`] and [`catalogue`] say what
//! there is, and [`export`] writes the flows of a point.

pub mod catalogue;
pub mod explain;
pub mod export;
pub mod thresholds;
pub mod validate;
