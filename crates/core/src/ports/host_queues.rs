//! A host's own priority queues, separate from those of the switches (NOS2, GLOBECOM 2019, §IV, Fig. 3).
//!
//! A packet carries both levels ([`crate::Tag::with_levels`]). A host's port sorts by the host's level. Switches sort by
//! the network's, and may have as many queues as there are tags. Both are written as the packet leaves the transport, so a
//! packet that waits here keeps its tag.
//!
//! Left out: what a host's stack does between socket and port.

use crate::admission::Admission;
use crate::bank::FifoBank;
use crate::discipline::Discipline;
use crate::marker::Marker;
use crate::meta::Meta;
use crate::scheduler::{PortContext, PortRules, PortScheduler, PortSite, Verdict, pass_on};

/// The settings of a host's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostQueueRules {
    /// Number of queues, from 1 to 64.
    pub queues: usize,
}

impl PortRules for HostQueueRules {
    type Port = HostQueues;

    fn build(&self, site: &PortSite) -> HostQueues {
        HostQueues::new(self.queues, site.admission, site.marker)
    }
}

/// FIFO queues under strict priority, by the host's level; levels beyond the last queue map to it.
pub struct HostQueues {
    bank: FifoBank,
}

impl HostQueues {
    /// Builds `queues` queues with a limit and a marker. Panics as [`FifoBank::new`].
    pub fn new(queues: usize, admission: Admission, marker: Marker) -> HostQueues {
        HostQueues { bank: FifoBank::new(queues, admission, marker, Discipline::StrictPriority) }
    }

    fn level(&self, meta: &Meta) -> usize {
        (meta.tag.host_level() as usize).min(self.bank.queues() - 1)
    }
}

impl PortScheduler for HostQueues {
    pass_on!(self, self.bank => dequeue, limits, backlog_bytes, waiting_in, queues);

    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let level = self.level(&metas[packet as usize]);
        self.bank.enqueue_in(level, metas, packet, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Pool;
    use crate::scheduler::Victims;
    use crate::tag::Tag;
    use crate::units::Time;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn queues__by_the_hosts_level_whatever_the_tag() {
        let of = |host, network| Meta { tag: Tag::with_levels(network, host), len: 1_500, ..Meta::default() };
        // Levels 2, 0, 1 and one beyond the last; the tags differ from them.
        let mut metas = [of(2, 0), of(0, 1), of(1, 0), of(9, 0)];
        let mut port = HostQueues::new(3, Admission::Unlimited, Marker::Off);
        let (mut pool, mut victims, mut marks) = (Pool::default(), Victims::default(), 0);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut context = PortContext {
            now: Time::ZERO,
            pool: &mut pool,
            victims: &mut victims,
            random: &mut random,
            marks: &mut marks,
        };
        let found = [0, 1, 2, 3].map(|packet| port.enqueue(&mut metas, packet, &mut context));
        assert_eq!(found, [0, 0, 0, 1_500].map(|queued_before| Verdict::Accepted { queued_before }));
        assert_eq!((port.backlog_bytes(), port.bypass_bytes()), (6_000, 0));
        let order: Vec<u32> = std::iter::from_fn(|| port.dequeue(&mut metas, &mut context)).collect();
        assert_eq!(order, [1, 2, 0, 3]);
        assert_eq!(order.iter().map(|&packet| metas[packet as usize].queue).collect::<Vec<_>>(), [0, 1, 2, 2]);
        assert_eq!(order.iter().map(|&packet| metas[packet as usize].tag.priority()).collect::<Vec<_>>(), [1, 0, 0, 0]);
    }
}
