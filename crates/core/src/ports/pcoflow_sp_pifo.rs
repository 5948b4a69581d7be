//! pCoflow's ranks (Hernandez Benet et al., ICIN 2021, Equation 1) in SP-PIFO's queues: what a switch without a push-in
//! queue could make of them, taken word by word.
//!
//! The rank is a place in one queue: one behind the end of the packet's band, or of the lowest band that holds a packet of
//! its coflow. Bounds move up with each packet that joins and down with each that leaves (§III-E, "Update"). SP-PIFO
//! compares these places with bounds of its own, which follow the ranks that arrive. But a place says nothing about packets
//! of another time. So packets of a coflow may overtake each other; receivers count it.
//!
//! [`crate::pcoflow`] implements the rule's intent, and needs no more queues.

use crate::meta::{Held, Meta};
use crate::pcoflow::{Keeps, Owners};
use crate::scheduler::{PortContext, PortRules, PortScheduler, PortSite, Verdict, pass_on};
use crate::sp_pifo::SpPifo;

/// The settings of pCoflow's ranks over SP-PIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcoflowSpPifoRules {
    /// Bands, and queues; from 1 to 64.
    pub bands: usize,
}

impl PortRules for PcoflowSpPifoRules {
    type Port = PcoflowSpPifo;

    fn build(&self, site: &PortSite) -> PcoflowSpPifo {
        PcoflowSpPifo {
            queue: SpPifo::new(self.bands, site.admission, site.marker),
            lengths: vec![0; self.bands],
            owners: Owners::exact(self.bands),
        }
    }
}

/// A port with pCoflow's registers before SP-PIFO's queues.
pub struct PcoflowSpPifo {
    queue: SpPifo,
    /// Packets by band.
    lengths: Vec<u32>,
    owners: Owners,
}

impl PcoflowSpPifo {
    /// Returns the band that a packet would join now.
    fn band(&self, meta: &Meta) -> u8 {
        let tagged = meta.tag.priority().min(self.lengths.len() as u8 - 1);
        let lowest = Keeps::Coflows.owner(meta).and_then(|owner| self.owners.lowest(owner, self.owners.find(owner)));
        lowest.map_or(tagged, |lowest| lowest.max(tagged))
    }

    /// Returns the rank that a packet would get now: behind the end of its band.
    pub fn rank(&self, meta: &Meta) -> u32 {
        self.lengths[..=usize::from(self.band(meta))].iter().sum::<u32>() + 1
    }
}

impl PortScheduler for PcoflowSpPifo {
    pass_on!(self, self.queue => limits, backlog_bytes, waiting_in, queues);

    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let meta = &metas[packet as usize];
        let (owner, band, rank) = (Keeps::Coflows.owner(meta), self.band(meta), self.rank(meta));
        let verdict = self.queue.push(rank, metas, packet, context);
        if verdict.is_accepted() {
            self.lengths[usize::from(band)] += 1;
            metas[packet as usize].held = Held::in_port(band.into());
            if let Some(owner) = owner {
                self.owners.add(owner, self.owners.find(owner), band);
            }
        }
        verdict
    }

    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        let packet = self.queue.dequeue(metas, context)?;
        let band = metas[packet as usize].held.number() as u8;
        self.lengths[usize::from(band)] -= 1;
        if let Some(owner) = Keeps::Coflows.owner(&metas[packet as usize]) {
            self.owners.remove(owner, band);
        }
        Some(packet)
    }

    fn reserve(&mut self, packets: usize) {
        self.owners.reserve(packets);
    }
}
