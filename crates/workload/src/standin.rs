//! Workloads that stand in for traces that were not available: jobs that repeat stages between hosts, with everything that a
//! host sees of a flow when it begins.
//!
//! The traces are those of Flux (Dukić et al., NSDI 2019), on which QCLIMB (Li et al., NSDI 2024) trains its forests. The
//! published facts determine the sizes; nothing published determines what can be learned from one flow about the next. So a
//! stand-in has three [`Calibration`]s, and differences between their results are not known of the traces.
//!
//! A job belongs to a recurring kind. It runs through its stages, and in each of these a host sends a few flows in a
//! row to one port. A stage's flows lie in one part of the distribution of sizes, a kind's flows near one place of that
//! part, and a small share of flows anywhere else. Each stage has equally many flows and the places of the kinds are
//! evenly spread, so that sizes keep their distribution whatever the structure.

mod jobs;
mod table;

use crate::flow_list::{Features, FlowList};
use crate::{Flow, MAX_BYTES};
use jobs::{FEATURES, Jobs, Shape};
use table::STAND_INS;

/// A workload that stands in for a trace.
#[derive(Clone, Copy, Debug)]
pub struct StandIn {
    /// The name that settings use.
    pub name: &'static str,
    /// The trace that it stands in for, in a few words.
    pub summary: &'static str,
    /// The publication, and the origin of its figures.
    pub provenance: &'static str,
    /// Hosts between which it was "recorded".
    pub hosts: u32,
    /// Flows of the whole trace.
    pub flows: u32,
    /// A size in bytes for shares of the flows that are no larger, ascending; between them its logarithm is linear.
    sizes: &'static [(f64, f64)],
    shape: Shape,
}

/// How much a flow's past says about its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calibration {
    /// Flows of a stage differ by a third of the calibrated differences, and a third as many are surprises.
    Tight,
    /// Bounds and errors of forests are near those that QCLIMB reports, as far as possible.
    Calibrated,
    /// Three times the differences and the surprises.
    Loose,
}

impl Calibration {
    /// All of them.
    pub const ALL: [Calibration; 3] = [Calibration::Calibrated, Calibration::Tight, Calibration::Loose];

    /// The name that settings use.
    pub fn name(self) -> &'static str {
        match self {
            Calibration::Tight => "tight",
            Calibration::Calibrated => "calibrated",
            Calibration::Loose => "loose",
        }
    }

    fn scale(self) -> f64 {
        match self {
            Calibration::Tight => 1.0 / 3.0,
            Calibration::Calibrated => 1.0,
            Calibration::Loose => 3.0,
        }
    }
}

/// All stand-ins, in the order in which they are listed.
pub fn stand_ins() -> &'static [StandIn] {
    STAND_INS
}

/// The stand-in of this name.
pub fn stand_in(name: &str) -> Option<&'static StandIn> {
    STAND_INS.iter().find(|stand_in| stand_in.name == name)
}

impl StandIn {
    /// The whole trace: flows by start, with the features that a forest reads. The same for the same arguments.
    pub fn generate(&self, calibration: Calibration, seed: u64) -> FlowList {
        let groups = self.hosts / jobs::HOSTS;
        let mut flows = Vec::with_capacity(self.flows as usize);
        for group in 0..groups {
            let wanted = self.flows / groups + u32::from(group < self.flows % groups);
            let mut jobs = Jobs::new(self, calibration.scale(), seed, group);
            flows.extend((0..wanted).map(|_| jobs.next_flow()));
        }
        // Groups have hosts of their own, so two flows that start together have different senders.
        flows.sort_by_key(|recorded| (recorded.start_ps, recorded.src));
        let features = flows.iter().flat_map(|recorded| recorded.features).collect();
        let flows = flows.iter().zip(0..).map(|(recorded, id)| Flow {
            id,
            start_ps: recorded.start_ps,
            src: recorded.src,
            dst: recorded.dst,
            bytes: recorded.bytes,
            class: 0,
            deadline_ps: None,
            coflow: None,
        });
        FlowList {
            flows: flows.collect(),
            features: Features::new(FEATURES.map(str::to_owned).to_vec(), features),
            ..FlowList::default()
        }
    }

    /// The size in bytes that a share `p` of the flows do not exceed.
    fn size(&self, p: f64) -> u64 {
        let above = self.sizes.partition_point(|&(share, _)| share < p).clamp(1, self.sizes.len() - 1);
        let ((from, low), (to, high)) = (self.sizes[above - 1], self.sizes[above]);
        let along = ((p - from) / (to - from)).clamp(0.0, 1.0);
        let bytes = libm::exp(libm::log(low) + along * (libm::log(high) - libm::log(low)));
        (libm::round(bytes) as u64).clamp(1, MAX_BYTES)
    }
}

#[cfg(test)]
mod tests;
