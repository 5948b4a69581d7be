//! How parts that adapt get thresholds from the sizes that they saw. Models compute in floating point and take their time, so
//! they are not in this crate: whoever makes a part hands one over.

use std::fmt::Debug;

/// Computes demotion thresholds.
pub trait Solver: Debug + Send + Sync {
    /// Thresholds in bytes, rising, each above zero; `None` where there are none for these.
    ///
    /// - `sizes`: sizes of messages in bytes, each with the number of messages that had it;
    /// - `load`: that of the links which these messages took, above 0 and below 1;
    /// - `queues`: how many the thresholds separate, from 1 to 64. A model of two queues gives one threshold for any number.
    fn thresholds(&self, sizes: &mut dyn Iterator<Item = (u64, u64)>, load: f64, queues: usize) -> Option<Vec<u64>>;
}
