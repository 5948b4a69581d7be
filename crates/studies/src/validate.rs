//! Compares the simulator with closed forms of queueing theory, and with runs of other simulators ([`against`]).
//!
//! One link behind an unlimited queue is an M/G/1 queue if messages arrive whole, as a Poisson process. Each case is an
//! ordinary experiment ([`Case::experiment`]), planned and run like any other. Its FCTs are compared with the theory's
//! mean response time. docs/reference/validation.md describes the method, and why packets may make a difference.

pub mod against;
mod batches;
mod case;
pub mod dctcp;
mod integrate;
mod law;
mod packets;
mod picked;
mod run;
mod steady;
mod table;
mod theory;

pub use case::{Case, Extent, Sizes};
pub use picked::Picked;
pub use run::{Event, Outcome, validate};
pub use steady::{SteadyOutcome, steady, table as steady_table};
pub use table::table;
pub use theory::Discipline;
