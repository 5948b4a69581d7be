//! The push-in first-out queue (Sivaraman et al., SIGCOMM 2016): sorted by the rank that the host wrote, first come, first
//! served within a rank. Drop-tail: a full queue turns the arriving packet away, regardless of its rank.
//!
//! If it has an additional FIFO, packets from a set rank on wait there. The FIFO is served when the PIFO is empty, and does
//! not distinguish ranks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::admission::Admission;
use crate::intake::PortIntake;
use crate::marker::Marker;
use crate::meta::Meta;
use crate::scheduler::{PortContext, PortRules, PortScheduler, PortSite, Verdict, pass_on};

/// A PIFO's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PifoRules {
    /// The rank from which packets wait in a FIFO; `None`: there is none.
    pub fifo_from: Option<u32>,
}

impl PortRules for PifoRules {
    type Port = Pifo;

    fn build(&self, site: &PortSite) -> Pifo {
        Pifo::new(self.fifo_from, site.admission, site.marker)
    }
}

/// One queue sorted by [rank](crate::Tag::rank).
pub struct Pifo {
    /// (rank, arrival number, packet); its memory grows to the port's limit once.
    sorted: BinaryHeap<Reverse<(u32, u64, u32)>>,
    arrivals: u64,
    /// The rank from which packets wait in the FIFO.
    fifo_from: Option<u32>,
    intake: PortIntake,
}

impl Pifo {
    /// Builds a PIFO, with a FIFO for ranks from `fifo_from` on, a limit and a marker; these see one queue.
    pub fn new(fifo_from: Option<u32>, admission: Admission, marker: Marker) -> Pifo {
        Pifo { fifo_from, sorted: BinaryHeap::new(), arrivals: 0, intake: PortIntake::new(admission, marker) }
    }
}

impl PortScheduler for Pifo {
    pass_on!(self, self.intake => limits, backlog_bytes);

    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let meta = &mut metas[packet as usize];
        // All ranks of the FIFO become its first one: a PIFO serves equal ranks in arrival order.
        let fifo = self.fifo_from.filter(|from| meta.tag.rank() >= *from);
        meta.queue = u8::from(fifo.is_some());
        let verdict = self.intake.take(meta, context);
        if !verdict.is_accepted() {
            return verdict;
        }
        self.sorted.push(Reverse((fifo.unwrap_or(meta.tag.rank()), self.arrivals, packet)));
        self.arrivals += 1;
        verdict
    }

    fn dequeue(&mut self, metas: &mut [Meta], _around: &mut PortContext<'_>) -> Option<u32> {
        let Reverse((_, _, packet)) = self.sorted.pop()?;
        self.intake.leave(&metas[packet as usize]);
        Some(packet)
    }

    fn reserve(&mut self, packets: usize) {
        self.sorted.reserve(packets);
    }

    fn bypass_bytes(&self) -> u64 {
        // A packet that bypasses the port counts for the queue of its priority, not of its rank.
        if self.fifo_from.is_some() { 0 } else { self.intake.bypass_bytes() }
    }

    fn queues(&self) -> usize {
        if self.fifo_from.is_some() { 2 } else { 1 }
    }
}
