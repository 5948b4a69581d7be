//! Coflow traces in the two public formats, and the flows and traces made from them.
//!
//! Both begin with a line `ports coflows`. Further lines are coflows:
//!
//! | format | a line |
//! | --- | --- |
//! | coflow-benchmark (the Facebook trace of Varys and Aalo) | `id arrival_ms M port_1 … port_M R port_1:MB_1 … port_R:MB_R`: each reducer's bytes come in equal parts from all mappers |
//! | Sincronia's | `id arrival_ms flows sources sinks (source sink MB)…`: a pair of ports may stand several times, and these are several flows |
//!
//! The first coflow shows the format of a file: it has a `:` in the first format. An MB is 2^20 bytes. Equal parts are whole
//! bytes, and the first mappers send the remainder. Coflows are sorted by their arrival.
//!
//! [`place`](CoflowTrace::place) puts ports onto hosts; [`generate`](Generation::generate) makes another trace from one.

mod generation;
mod reading;
#[cfg(test)]
mod tests;
mod weights;

pub use generation::{Generation, PodLocal, Shapes};
pub use reading::{Like, read};
pub use weights::weights;

use thiserror::Error;

use crate::random::{Purpose, below, stream};
use crate::{Flow, MAX_BYTES};

/// The coflows of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoflowTrace {
    /// Ports are numbered from 0; each sends and receives.
    pub ports: u32,
    /// In the order of their arrival.
    pub coflows: Vec<TracedCoflow>,
}

/// A coflow of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedCoflow {
    /// Its number in the file.
    pub id: u32,
    /// In ps since the beginning.
    pub arrival_ps: u64,
    /// At least one.
    pub flows: Vec<TracedFlow>,
}

/// A flow between two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedFlow {
    /// The sending port.
    pub src: u32,
    /// The receiving port; it may be the same.
    pub dst: u32,
    /// Payload, at least 1 byte.
    pub bytes: u64,
}

/// The host of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// Its own number: there must be as many hosts as ports.
    Same,
    /// Its number modulo the hosts.
    Modulo,
    /// Drawn for the whole run: a permutation of the hosts, repeated if there are more ports.
    Random {
        /// The run's seed.
        seed: u64,
    },
}

/// The treatment of flows from a host to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnRack {
    /// They are left out: no network carries them.
    Drop,
    /// They are flows like others, over the host's link out and its link in, as in CoflowSim: there a port is a rack.
    Keep,
}

/// Flows of a trace, between hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placed {
    /// By start; those of a coflow in the trace's order.
    pub flows: Vec<Flow>,
    /// Flows from a host to itself, which are left out.
    pub own_host: u64,
    /// Bytes of these.
    pub own_host_bytes: u64,
}

/// Why a trace cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// Nothing to draw from.
    #[error("every coflow has more ports or flows")]
    NoneFits,
    /// More than [`crate::flow_list::MAX_FLOWS`].
    #[error("the coflows have more than {} flows", crate::flow_list::MAX_FLOWS)]
    TooManyFlows,
    /// More than is accepted of a flow, or can be counted.
    #[error("a flow has more than 10^15 bytes, or all have more than 2^64")]
    TooManyBytes,
}

impl CoflowTrace {
    /// The flows of all coflows between `hosts` hosts, at least two. If their number differs from that of the ports, `placing`
    /// has to say where ports are.
    pub fn place(&self, hosts: u32, placing: Placing, own_rack: OwnRack) -> Placed {
        let of_port = self.hosts_of_ports(hosts, placing);
        let mut placed = Placed::default();
        for coflow in &self.coflows {
            for flow in &coflow.flows {
                let [src, dst] = [flow.src, flow.dst].map(|port| of_port[port as usize]);
                if src == dst && own_rack == OwnRack::Drop {
                    placed.own_host += 1;
                    placed.own_host_bytes += flow.bytes;
                    continue;
                }
                placed.flows.push(Flow {
                    id: placed.flows.len() as u32,
                    start_ps: coflow.arrival_ps,
                    src,
                    dst,
                    bytes: flow.bytes,
                    class: 0,
                    deadline_ps: None,
                    coflow: Some(coflow.id),
                });
            }
        }
        placed
    }

    fn hosts_of_ports(&self, hosts: u32, placing: Placing) -> Vec<u32> {
        match placing {
            Placing::Same => (0..self.ports).collect(),
            Placing::Modulo => (0..self.ports).map(|port| port % hosts).collect(),
            Placing::Random { seed } => {
                let mut order: Vec<u32> = (0..hosts).collect();
                let mut draws = stream(seed, Purpose::CoflowHosts, 0);
                for left in (1..order.len()).rev() {
                    order.swap(left, below(&mut draws, left as u64 + 1) as usize);
                }
                order.into_iter().cycle().take(self.ports as usize).collect()
            }
        }
    }

    /// Multiplies all sizes, rounded, and never below a byte.
    ///
    /// # Errors
    /// [`TraceError::TooManyBytes`].
    pub fn scale_sizes(&mut self, factor: f64) -> Result<(), TraceError> {
        let mut all = 0u64;
        for flow in self.coflows.iter_mut().flat_map(|coflow| &mut coflow.flows) {
            flow.bytes = ((flow.bytes as f64 * factor).round() as u64).max(1);
            let accepted = Some(flow.bytes).filter(|&bytes| bytes <= MAX_BYTES);
            all = accepted.and_then(|bytes| all.checked_add(bytes)).ok_or(TraceError::TooManyBytes)?;
        }
        Ok(())
    }

    /// Multiplies all gaps between arrivals, so that the last comes `span_ps` after the first, which comes at 0.
    pub fn scale_span(&mut self, span_ps: u64) {
        let (Some(first), Some(last)) = (self.coflows.first(), self.coflows.last()) else { return };
        let (from, span) = (first.arrival_ps, last.arrival_ps - first.arrival_ps);
        for coflow in &mut self.coflows {
            let since = u128::from(coflow.arrival_ps - from) * u128::from(span_ps);
            coflow.arrival_ps = since.checked_div(span.into()).unwrap_or(0) as u64;
        }
    }

    /// From the first arrival to the last, in ps.
    pub fn span_ps(&self) -> u64 {
        let ends = self.coflows.first().zip(self.coflows.last());
        ends.map_or(0, |(first, last)| last.arrival_ps - first.arrival_ps)
    }
}
