//! Fabrics: their links with rates and delays, and the time that a packet takes in an empty fabric.
//!
//! [`topology`] builds a [`Fabric`](topology::Fabric) from the settings of `[topology]`: hosts, switches, links and
//! routes. [`ideal`] computes the time that a flow takes alone, [`ideal_cct`] that of a coflow, and [`round_trip`] that
//! of one packet and its answer. All engines use them. Schemes may read rates and round trips of any path before they
//! are built. [`port`] is a port with its line, for engines that carry packets of their own, and [`control`] drives
//! controllers for all of them.

pub mod control;
pub mod ideal;
pub mod ideal_cct;
pub mod port;
pub mod round_trip;
pub mod topology;
mod ways;

pub use ways::Ways;
