//! Solvers: they give adapting parts thresholds for the sizes that these saw. Models compute in floating point and are
//! slow, so they are not in this crate: the code that builds a part passes one in.

use std::fmt::Debug;

/// Computes demotion thresholds.
pub trait Solver: Debug + Send + Sync {
    /// Returns thresholds in bytes, rising, each above zero; `None` if there are none for these arguments.
    ///
    /// - `sizes`: sizes of messages in bytes, each with the number of messages that had it;
    /// - `load`: the load of the links that these messages took, above 0 and below 1;
    /// - `queues`: how many queues the thresholds separate, from 1 to 64. A model of two queues gives one threshold for any
    ///   number.
    fn thresholds(&self, sizes: &mut dyn Iterator<Item = (u64, u64)>, load: f64, queues: usize) -> Option<Vec<u64>>;
}
