//! pFabric's pool (SIGCOMM 2013 §4.2): a small buffer per port, sorted by the rank that hosts write.
//!
//! A full pool evicts the packet of the worst rank, the newest among equals, which may be the arriving one. The next packet
//! to leave is the *earliest* of the flow that holds the best rank, so that a flow is not reordered (§4.2, "starvation
//! prevention"). The limit is in bytes, as in the authors' ns-2 queue. No ECN.
//!
//! A flow's oldest packet is mostly its worst, so an exact worst rank would need a search at every departure. Instead, from
//! the first eviction until it is empty, the pool keeps an upper bound per flow, and tightens it only when another eviction
//! asks. Evictions are rare, and most pools run empty without one.

use crate::admission::{Admission, MOST_BYTES};
use crate::flow_queues::{FlowQueues, IndexedHeap};
use crate::meta::{Held, Meta};
use crate::scheduler::{PortContext, PortRules, PortScheduler, PortSite, Verdict};

/// A pool has no settings except the port's limit. It marks nothing, even if the port has a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolRules;

impl PortRules for PoolRules {
    type Port = PfabricPool;

    /// Panics with shared memory: a pool's evictions make room only in its own port.
    fn build(&self, site: &PortSite) -> PfabricPool {
        PfabricPool::new(match site.admission {
            Admission::Unlimited => u64::MAX,
            Admission::PerPort { limit } | Admission::PerQueue { limit } => limit,
            Admission::Shared { .. } => panic!("a pool that evicts shares no memory"),
        })
    }
}

/// pFabric's priority queue and its eviction.
pub struct PfabricPool {
    /// In the order of their best packet.
    flows: FlowQueues,
    /// After an eviction the same slots, else empty. The least key is the complement of the greatest upper bound of a
    /// packet's precedence.
    worst: IndexedHeap,
    bytes: u64,
    limit: u64,
    /// Numbers arrivals since the pool was empty; [`Meta::held`] has a packet's number.
    arrivals: u64,
}

/// Returns a packet's precedence in the pool: rank, then arrival. Smaller leaves first, greater is evicted first.
#[inline]
fn precedence(meta: &Meta) -> u64 {
    u64::from(meta.tag.rank()) << 32 | meta.held.number() & 0xffff_ffff
}

impl PfabricPool {
    /// Builds a pool of `limit` bytes, or of 4 GiB if that is less.
    pub fn new(limit: u64) -> PfabricPool {
        let limit = limit.min(MOST_BYTES);
        PfabricPool { flows: FlowQueues::default(), worst: IndexedHeap::default(), bytes: 0, limit, arrivals: 0 }
    }

    /// Returns whether worst ranks are kept in order.
    fn evicts(&self) -> bool {
        self.worst.first().is_some()
    }

    /// Finds the packet of the worst rank; returns its flow's slot and its precedence.
    fn find_worst(&mut self, metas: &[Meta]) -> Option<(u32, u64)> {
        if !self.evicts() {
            // No precedence is worse than 0's complement; the exact one is computed on demand.
            self.flows.order.slots().for_each(|slot| self.worst.insert(slot, 0));
        }
        loop {
            let slot = self.worst.first()?;
            let bound = !self.worst.key(slot);
            let exact = self.flows.packets(slot).iter(metas).map(|p| precedence(&metas[p as usize])).max()?;
            if exact == bound {
                return Some((slot, exact));
            }
            self.worst.set(slot, !exact);
        }
    }

    /// Updates a flow after a departure or an eviction.
    fn settle(&mut self, metas: &[Meta], slot: u32, gone: u64) {
        let fifo = *self.flows.packets(slot);
        if fifo.is_empty() {
            self.flows.close(slot);
            if self.evicts() {
                self.worst.remove(slot);
            }
        } else if gone == self.flows.order.key(slot) {
            let mut best = u64::MAX;
            for packet in fifo.iter(metas) {
                best = best.min(precedence(&metas[packet as usize]));
                // No rank is better than that of the departed packet, and the oldest packet of that rank comes first.
                if best >> 32 == gone >> 32 {
                    break;
                }
            }
            self.flows.order.set(slot, best);
        }
        if self.bytes == 0 {
            self.arrivals = 0;
        }
    }

    /// Prefetches the table of flow look-ups.
    #[inline(always)]
    pub(crate) fn fetch_queues(&self) {
        self.flows.fetch();
    }

    /// Prefetches the packet that leaves next.
    #[inline(always)]
    pub(crate) fn fetch_front(&self, metas: &[Meta]) {
        self.flows.fetch_front(metas);
    }

    fn evict(&mut self, metas: &mut [Meta], slot: u32, worst: u64) -> Option<u32> {
        let rank = (worst >> 32) as u32;
        let packet = self.flows.packets(slot).take_newest_of_rank(metas, rank)?;
        self.bytes -= u64::from(metas[packet as usize].len);
        self.settle(metas, slot, worst);
        Some(packet)
    }
}

impl PortScheduler for PfabricPool {
    #[inline]
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let meta = &mut metas[packet as usize];
        meta.queue = 0;
        meta.held = Held::in_port(self.arrivals);
        let (flow, len, at) = (meta.flow, u64::from(meta.len), precedence(meta));
        let queued_before = self.bytes;
        while self.bytes + len > self.limit {
            match self.find_worst(metas) {
                Some((slot, worst)) if worst > at && !context.victims.is_full() => {
                    let Some(victim) = self.evict(metas, slot, worst) else {
                        return Verdict::Dropped { queued_before };
                    };
                    context.victims.push(victim);
                }
                _ => return Verdict::Dropped { queued_before },
            }
        }
        self.arrivals += 1;
        self.bytes += len;
        let slot = match self.flows.find(flow) {
            Some(slot) => {
                if at < self.flows.order.key(slot) {
                    self.flows.order.set(slot, at);
                }
                if self.evicts() && !at < self.worst.key(slot) {
                    self.worst.set(slot, !at);
                }
                slot
            }
            None => {
                let slot = self.flows.open(flow, at);
                if self.evicts() {
                    self.worst.insert(slot, !at);
                }
                slot
            }
        };
        self.flows.packets(slot).push(metas, packet);
        Verdict::Accepted { queued_before }
    }

    #[inline]
    fn dequeue(&mut self, metas: &mut [Meta], _around: &mut PortContext<'_>) -> Option<u32> {
        let slot = self.flows.order.first()?;
        let packet = self.flows.packets(slot).pop(metas)?;
        self.bytes -= u64::from(metas[packet as usize].len);
        self.settle(metas, slot, precedence(&metas[packet as usize]));
        Some(packet)
    }

    fn reserve(&mut self, packets: usize) {
        self.flows.reserve(packets);
        self.worst.reserve(packets);
    }

    fn bypass_bytes(&self) -> u64 {
        self.limit
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }

    fn queues(&self) -> usize {
        1
    }
}
