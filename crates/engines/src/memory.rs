//! About how much memory a run takes: for whoever places runs on machines.
//!
//! Measured on 2026-11-24 as the most that the whole command had resident with one run: 48, 62 and 105 MB for 1,000, 5,000 and 20,000
//! web-search flows under PIAS on the papers' 144 hosts, 162 and 407 MB for 100,000 and 500,000 flows of 1 KB there, 72 MB
//! for 1,000 flows on 1,024 hosts. A connection costs most, and there are no more of them than pairs of hosts.

use flowsieve_fabric::topology::Fabric;

/// What the program takes without any flow, in bytes, as all of these.
const PROGRAM: f64 = 45e6;
/// A link: its queues, and its share of the routes.
const LINK: f64 = 12e3;
/// The record of a flow, while it runs and when it is written.
const FLOW: f64 = 600.0;
/// A connection: its windows at both ends.
const CONNECTION: f64 = 2_200.0;
/// Estimates are of the mean run. What is asked for on a machine should suffice.
const SAFETY: f64 = 1.25;

/// Of a packet-level run with so many flows and so many bytes of sketches, in bytes.
pub(crate) fn of_run(fabric: &Fabric, flows: f64, sketch_bytes: u64) -> u64 {
    let hosts = f64::from(fabric.hosts);
    let connections = flows.min(hosts * (hosts - 1.0));
    let fabric = LINK * fabric.links.len() as f64 + sketch_bytes as f64;
    (SAFETY * (PROGRAM + fabric + FLOW * flows + CONNECTION * connections)) as u64
}

/// Of a flow-level run with so many flows, in bytes.
pub(crate) fn of_flows(flows: f64) -> u64 {
    (SAFETY * (PROGRAM + FLOW * flows)) as u64
}
