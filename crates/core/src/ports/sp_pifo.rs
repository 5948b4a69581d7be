//! SP-PIFO (Alcoz, Dietmüller, Vanbever, NSDI 2020): approximates a push-in first-out queue by FIFO queues under strict
//! priority, with a bound for each queue that follows the ranks that arrive.
//!
//! A packet joins the lowest-priority queue whose bound is not above its rank, and that bound becomes its rank (push-up). A
//! packet whose rank is below all bounds joins the highest-priority queue. Then every bound falls by how far the rank was
//! below the first bound, the cost of this inversion (push-down). As in the authors' simulator, bounds begin at 0 and
//! change only with a packet that was taken: a full queue drops it, and no other is tried. Bounds never decrease towards
//! lower priorities.
//!
//! ACKs have rank 0 with every built-in tagger, and move the bounds like any other packet.

use crate::admission::Admission;
use crate::bank::FifoBank;
use crate::discipline::Discipline;
use crate::marker::Marker;
use crate::meta::Meta;
use crate::scheduler::{PortContext, PortRules, PortScheduler, PortSite, Verdict, pass_on};

/// SP-PIFO's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpPifoRules {
    /// Number of queues, from 1 to 64.
    pub queues: usize,
}

impl PortRules for SpPifoRules {
    type Port = SpPifo;

    fn build(&self, site: &PortSite) -> SpPifo {
        SpPifo::new(self.queues, site.admission, site.marker)
    }
}

/// A bank of FIFO queues with SP-PIFO's bounds.
pub struct SpPifo {
    bank: FifoBank,
    /// By queue: the least rank that it takes.
    bounds: Vec<u32>,
}

impl SpPifo {
    /// Builds `queues` queues with a limit and a marker. Panics as [`FifoBank::new`].
    pub fn new(queues: usize, admission: Admission, marker: Marker) -> SpPifo {
        SpPifo { bank: FifoBank::new(queues, admission, marker, Discipline::StrictPriority), bounds: vec![0; queues] }
    }

    /// Returns the bounds, the highest priority's first.
    pub fn bounds(&self) -> &[u32] {
        &self.bounds
    }

    fn queue_for(&self, rank: u32) -> usize {
        self.bounds.iter().rposition(|&bound| bound <= rank).unwrap_or(0)
    }
}

impl SpPifo {
    /// Enqueues a packet of this rank.
    pub(crate) fn push(
        &mut self,
        rank: u32,
        metas: &mut [Meta],
        packet: u32,
        context: &mut PortContext<'_>,
    ) -> Verdict {
        let queue = self.queue_for(rank);
        let verdict = self.bank.enqueue_in(queue, metas, packet, context);
        if verdict.is_accepted() {
            let cost = self.bounds[queue].saturating_sub(rank);
            if cost == 0 {
                self.bounds[queue] = rank;
            } else {
                self.bounds.iter_mut().for_each(|bound| *bound -= cost);
            }
        }
        verdict
    }
}

impl PortScheduler for SpPifo {
    pass_on!(self, self.bank => dequeue, limits, backlog_bytes, waiting_in, queues);

    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let rank = metas[packet as usize].tag.rank();
        self.push(rank, metas, packet, context)
    }
}
