//! Studies that use the engines for more than running an experiment.
//!
//! [`thresholds`] computes a deployable table, [`validate`] compares the simulator with theory, [`explain`] and
//! [`catalogue`] describe what is available, and [`export`] writes the flows of a point.

pub mod agreement;
pub mod catalogue;
pub mod explain;
pub mod export;
pub mod thresholds;
pub mod validate;
