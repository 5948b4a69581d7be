//! Open-loop sending: every packet of a message at once, none acknowledged, none retransmitted. This is the textbook's
//! arrival of a whole message at a queue.

pub mod endpoint;
mod receiver;

pub use endpoint::{OpenLoopEndpoint, OpenLoopRules};
