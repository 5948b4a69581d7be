//! Fabrics: what is linked to what, at which rates and delays, and what an empty fabric does to a packet.
//!
//! [`topology`] builds a [`Fabric`](topology::Fabric) from the settings of `[topology]`: hosts, switches, links and routes. [`ideal`] is the time
//! that a flow takes alone, and [`round_trip`] that of one packet and its answer. Every engine shares them, and schemes may read rates and
//! round trips of any path before they are built.

pub mod ideal;
pub mod round_trip;
pub mod topology;
