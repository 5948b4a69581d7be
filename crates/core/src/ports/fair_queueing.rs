//! Fair queueing by bit-by-bit round robin (BR; Demers, Keshav, Shenker, SIGCOMM 1989 §2): the next packet to leave is the
//! one that would finish first if flows were served a bit each in turn.
//!
//! That *fluid* system serves each of its N active flows at 1/N of the line. Its virtual time is the number of its rounds
//! and so rises by 1/N. A packet finishes at virtual time F = max(F of the flow's packet before, virtual time at its
//! arrival) + its length, and a flow is active until virtual time reaches its last F. Both are in picoseconds of the line,
//! framing included, so that the fluid system is busy exactly when the line is.
//!
//! Virtual time is whole picoseconds. The remainder of a division, less than a picosecond of virtual time, is carried to
//! the next, so that errors do not add up: credit never exceeds the work done, and lags it by at most N picoseconds. Both
//! times begin anew when the fluid system runs empty. An arrival costs a logarithm of the active flows and of the packets
//! queued.
//!
//! A full port turns the arriving packet away. The paper instead drops the last packet of the flow that holds the most.
//! That, and its promptness for flows that use less than their share (δ), are left out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::admission::Admission;
use crate::flow_queues::FlowQueues;
use crate::intake::PortIntake;
use crate::marker::Marker;
use crate::meta::Meta;
use crate::scheduler::{Line, PortContext, PortRules, PortScheduler, PortSite, Verdict, pass_on};
use crate::units::Time;

/// Bit-by-bit round robin has no settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitByBit;

impl PortRules for BitByBit {
    type Port = FairQueueing;

    fn build(&self, site: &PortSite) -> FairQueueing {
        FairQueueing::new(site.line, site.admission, site.marker)
    }
}

/// The packets of all flows, by the virtual time at which they would finish; first come, first served for equal times.
pub struct FairQueueing {
    line: Line,
    /// (finish, arrival number, packet).
    sorted: BinaryHeap<Reverse<(u64, u64, u32)>>,
    arrivals: u64,
    fluid: Fluid,
    intake: PortIntake,
}

/// The bit-by-bit system.
#[derive(Default)]
struct Fluid {
    /// The active flows in the order of their last finish; their packets are not here.
    active: FlowQueues,
    /// Virtual time, in picoseconds.
    virtual_time: u64,
    /// The instant of the current virtual time.
    seen: Time,
    /// Time before `seen` that virtual time does not include yet, in picoseconds; less than the number of active flows.
    carried: u64,
}

impl Fluid {
    /// Serves the active flows until `now`.
    fn advance(&mut self, now: Time) {
        let mut time = self.carried + now.since(self.seen).0;
        self.seen = now;
        while let Some(slot) = self.active.order.first() {
            let (flows, ahead) = (self.active.flows() as u64, self.active.order.key(slot) - self.virtual_time);
            if time / flows < ahead {
                self.virtual_time += time / flows;
                self.carried = time % flows;
                return;
            }
            time -= ahead * flows;
            self.virtual_time += ahead;
            self.active.close(slot);
        }
        (self.virtual_time, self.carried) = (0, 0);
    }

    /// Adds `work` picoseconds of a flow; returns the virtual time at which they are done.
    fn add(&mut self, flow: u32, work: u64) -> u64 {
        match self.active.find(flow) {
            Some(slot) => {
                let finish = self.active.order.key(slot) + work;
                self.active.order.set(slot, finish);
                finish
            }
            None => {
                let finish = self.virtual_time + work;
                self.active.open(flow, finish);
                finish
            }
        }
    }
}

impl FairQueueing {
    /// Builds an empty port with a limit and a marker; both see one queue.
    pub fn new(line: Line, admission: Admission, marker: Marker) -> FairQueueing {
        FairQueueing {
            line,
            sorted: BinaryHeap::new(),
            arrivals: 0,
            fluid: Fluid::default(),
            intake: PortIntake::new(admission, marker),
        }
    }
}

impl PortScheduler for FairQueueing {
    pass_on!(self, self.intake => limits, backlog_bytes);

    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let meta = &mut metas[packet as usize];
        meta.queue = 0;
        let verdict = self.intake.take(meta, context);
        if !verdict.is_accepted() {
            return verdict;
        }
        self.fluid.advance(context.now);
        let finish = self.fluid.add(meta.flow, self.line.serialise(meta.len).0);
        self.sorted.push(Reverse((finish, self.arrivals, packet)));
        self.arrivals += 1;
        verdict
    }

    fn dequeue(&mut self, metas: &mut [Meta], _around: &mut PortContext<'_>) -> Option<u32> {
        let Reverse((_, _, packet)) = self.sorted.pop()?;
        self.intake.leave(&metas[packet as usize]);
        Some(packet)
    }

    /// In the fluid system flows are active that have left the port. Both hold the same work, so that there are about twice
    /// as many of them at most.
    fn reserve(&mut self, packets: usize) {
        self.sorted.reserve(packets);
        self.fluid.active.reserve(2 * packets);
    }

    fn queues(&self) -> usize {
        1
    }
}
