//! The packet-level simulator: fabrics, links, switches, hosts, and the event engine that runs them.
//!
//! [`run`] takes a [`RunSpec`] (a fabric, a scheme, flows, a seed) and returns the measurements. The same specification
//! gives the same result on any machine and for any partitioning of the fabric.
//!
//! What is modelled, in which order, and what is left out: `docs/reference/model.md` and `docs/reference/limits.md`.

mod build;
mod controllers;
mod cut;
#[cfg(test)]
mod equal_ports;
pub mod event;
mod features;
mod following;
mod hosts;
mod link;
mod measure;
mod network;
mod observations;
mod outages;
mod partition;
mod prefetch_queue;
mod programs;
mod queued_before;
mod read_ahead;
mod records;
mod run;
mod run_spec;
pub mod sample;
mod slab;
mod source;
pub mod trace;
mod upcoming;

pub use cut::{Rounds, stages};
pub use measure::{ideals, link_classes, offered_load, row_of};
pub use run::{FRUITLESS_PER_FLOW, FRUITLESS_TIMEOUTS, MOST_SEGMENTS, QUERY_EPOCH, run, run_sampled, run_traced};
pub use run_spec::{
    FctEnd, Flows, Measure, NoStages, Partitioning, Progress, RunSpec, SimError, WORTH_A_MEETING, announcements, go_on,
};
pub use upcoming::message;
