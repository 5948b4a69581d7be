//! Workloads: which flow starts when, with how many bytes, from which host to which.
//!
//! A workload is a [`SizeDistribution`] (built in, a user's CSV, or a formula), a load that becomes an arrival rate
//! ([`arrival_rate`]), a [`Pattern`] of host pairs, and a [`Generator`] that draws flows at their [`Arrivals`]. Or it is a
//! recorded [`flow_list`], or a [`ClosedLoop`], in which a flow waits for another to finish. [`Queries`] to many hosts at once
//! may run at the same time. A workload depends only on its own settings and the seed, never on a scheme, so schemes can be
//! compared flow by flow.
//!
//! ```
//! use flowsieve_workload::{Framing, Generator, LoadCounts, arrival_rate_per_host, builtin};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sizes = builtin("web-search").ok_or("no such workload")?.distribution()?;
//! let framing = Framing {
//!     payload_bytes: 1460.try_into()?,
//!     header_bytes: 40,
//!     overhead_bytes: 0,
//!     ack_bytes: 40,
//!     data_packets_per_ack: 1,
//!     ungranted_packets: 0,
//! };
//! let rate = arrival_rate_per_host(0.6, LoadCounts::Ns2, 10_000_000_000, &framing, &sizes)?;
//! let flows: Vec<_> = Generator::new(sizes, rate, 144, 1)?.take(2_000).collect();
//! assert!(flows.iter().all(|flow| flow.bytes % 1460 == 0));
//! # Ok(())
//! # }
//! ```
//!
//! Time is in integer picoseconds since the start of the run, sizes are bytes of payload, rates are bit/s.
//!
//! Left out: the simulation of the flows. Which of them are measured, and when a run ends, is decided by the simulator.

mod arrivals;
mod builtins;
mod class_share;
mod closed_loop;
pub mod coflow_trace;
mod collective;
pub mod convert;
mod deadlines;
mod distribution;
mod error;
pub mod exports;
mod fan_out;
pub mod flow_list;
pub mod flux;
mod generator;
mod host_names;
mod law;
mod lines;
mod list_load;
mod load;
mod merged;
mod offer;
mod pattern;
mod points;
mod prediction;
pub mod random;
mod rows;
pub mod samples;
mod seconds;
mod standin;

pub use arrivals::{Arrivals, Trace};
pub use builtins::{Builtin, SOURCE_MEAN, builtin, builtin_names, builtin_with_mean, builtins};
pub use class_share::ClassShare;
pub use closed_loop::{ClosedLoop, Think};
pub use collective::{Begins, CollectiveError, Collectives, Exchange, Underway};
pub use deadlines::{DeadlineRule, Deadlines};
pub use distribution::{Reading, Rounding, SizeDistribution};
pub use error::{InputError, Problem};
pub use fan_out::{Answered, Queries, QueriesError};
pub use generator::{Generator, GeneratorError, Traffic};
pub use host_names::{HostNames, host_number};
pub use law::LawError;
pub use list_load::{MAX_SPAN_PS, Pace, PaceError};
pub use load::{Framing, LoadCounts, LoadError, WireCost, arrival_rate, arrival_rate_per_host, counted_bytes};
pub use merged::Merged;
pub use offer::{Mix, MixPairs, Offer};
pub use pattern::{ListedPair, Pattern, PatternError, permutation};
pub use prediction::{BoundsLaw, DrawnBounds, Exact, Predict, Prediction, SizeBounds, Unknown};
pub use standin::{Calibration, StandIn, stand_in, stand_ins};

use std::num::NonZeroU64;

/// The largest flow that is accepted: 1 PB, a day and more at 80 Gbit/s. Every whole number of bytes up to here is
/// exact in an `f64`.
pub const MAX_BYTES: u64 = 1_000_000_000_000_000;

/// The largest number of a coflow. Numbers above are for messages without one, and for packets of no coflow. A
/// coordinator takes each such message for a coflow of its own.
pub const MAX_COFLOW: u32 = 4_000_000_000;

/// One flow (a message from one host to another) before the network has touched it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Place of the flow in the order of starts, from 0; in a closed loop or a query its number there.
    pub id: u32,
    /// When the sender has the whole message, in picoseconds.
    pub start_ps: u64,
    /// Sending host.
    pub src: u32,
    /// Receiving host. It is the sender only if a coflow trace's flows within a host are kept, which no packet-level run
    /// accepts.
    pub dst: u32,
    /// Payload, at least 1 byte.
    pub bytes: u64,
    /// Class of traffic, by which parts of a scheme may differ; 0 if a workload has one class.
    pub class: u8,
    /// The time after its start within which it should have finished, in picoseconds; none for a flow without a deadline.
    pub deadline_ps: Option<NonZeroU64>,
    /// Its coflow, which has finished when all of its flows have.
    pub coflow: Option<u32>,
}
