//! Estimates the memory of a run, so that runs can be placed on machines.
//!
//! Measured on 2026-11-24 as the peak resident memory of the whole command with one run. 1,000, 5,000 and 20,000
//! web-search flows under PIAS on the papers' 144 hosts took 48, 62 and 105 MB. 100,000 and 500,000 flows of 1 KB there
//! took 162 and 407 MB, and 1,000 flows on 1,024 hosts took 72 MB. Connections take the most memory, and there are at
//! most as many as pairs of hosts.

use flowsieve_sim::topology::Fabric;

/// The program without any flow; this and the following are in bytes.
const PROGRAM: f64 = 45e6;
/// A link: its queues, and its share of the routes.
const LINK: f64 = 12e3;
/// The record of a flow, while it runs and when it is written.
const FLOW: f64 = 600.0;
/// A connection: its windows at both ends.
const CONNECTION: f64 = 2_200.0;
/// The estimates are for a mean run. The memory reserved on a machine should suffice.
const SAFETY: f64 = 1.25;

/// Estimates a packet-level run with this many flows and bytes of sketches, in bytes.
pub(crate) fn of_run(fabric: &Fabric, flows: f64, sketch_bytes: u64) -> u64 {
    let hosts = f64::from(fabric.hosts);
    let connections = flows.min(hosts * (hosts - 1.0));
    let fabric = LINK * fabric.links.len() as f64 + sketch_bytes as f64;
    (SAFETY * (PROGRAM + fabric + FLOW * flows + CONNECTION * connections)) as u64
}

/// Estimates a flow-level run with this many flows, in bytes.
pub(crate) fn of_flows(flows: f64) -> u64 {
    (SAFETY * (PROGRAM + FLOW * flows)) as u64
}
