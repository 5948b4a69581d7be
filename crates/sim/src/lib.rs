//! The packet-level simulator: fabrics, links, switches, hosts, and the event engine that runs them.
//!
//! [`topology`] builds a [`Fabric`](topology::Fabric) from the settings of `[topology]`: hosts, switches, links and
//! routes. [`ideal`] computes the time that a flow takes alone, [`ideal_cct`] that of a coflow, and [`round_trip`] that
//! of one packet and its answer. A [`Scheme`] says which parts act where. Its builder may read the rates and round trips
//! of any path. [`control`] drives controllers. [`fluid`] is another engine, of rates instead of packets.
//!
//! [`run`] takes a [`RunSpec`] (a fabric, a scheme, flows, a seed) and returns the measurements. The same specification
//! gives the same result on any machine and for any partitioning of the fabric.
//!
//! What is modelled, in which order, and what is left out: `docs/reference/model.md` and `docs/reference/limits.md`.

mod build;
pub mod control;
mod controllers;
mod cut;
pub mod event;
mod features;
pub mod fluid;
mod following;
mod hops;
mod hosts;
pub mod ideal;
pub mod ideal_cct;
pub mod in_memory;
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
pub mod round_trip;
mod run;
mod run_spec;
pub mod sample;
pub mod scheme;
mod slab;
mod source;
pub mod topology;
pub mod trace;
mod upcoming;
mod ways;

pub use cut::{Rounds, stages};
pub use measure::{ideals, link_classes, offered_load, row_of};
pub use run::{FRUITLESS_PER_FLOW, FRUITLESS_TIMEOUTS, MOST_SEGMENTS, QUERY_EPOCH, run, run_sampled, run_traced};
pub use run_spec::{
    FctEnd, Flows, Measure, NoStages, Partitioning, Progress, RunSpec, SimError, WORTH_A_MEETING, announcements, go_on,
};
pub use scheme::Scheme;
pub use upcoming::message;
pub use ways::Ways;
