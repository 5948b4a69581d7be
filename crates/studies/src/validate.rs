//! The simulator against closed forms of queueing theory.
//!
//! One link with an endless queue before it is an M/G/1 queue when messages arrive whole, as a Poisson process. Every
//! case is an ordinary experiment ([`Case::experiment`]), planned and run like any other; its FCTs are compared with
//! the mean response time of the theory. How, and why packets may make a difference, is in docs/validation.md.

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
