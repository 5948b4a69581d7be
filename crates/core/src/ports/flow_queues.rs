//! A FIFO queue for each flow, and the order in which flows send.
//!
//! [`FlowQueues`] finds a flow's queue by its key, and the first flow of an order in logarithmic time in the flows queued
//! here. pFabric's pool, the fluid system of fair queueing and the textbook disciplines are built on it. [`FlowScheduler`]
//! is the textbook: PS, SRPT and LAS at packet granularity, as in the theory of M/G/1 queues; PS with a limit is Nagle's. A
//! flow is forgotten when its queue runs empty. So SRPT and LAS take the bytes remaining or attained from the rank of the
//! flow's oldest packet.

use prefetch_index::prefetch_index;

use crate::admission::Admission;
use crate::fifo::Fifo;
use crate::intake::PortIntake;
use crate::marker::Marker;
use crate::meta::Meta;
use crate::ports::flow_index::FlowIndex;
use crate::scheduler::{PortContext, PortRules, PortScheduler, PortSite, Verdict, pass_on};

/// A binary min-heap of slots. Each has a key, which can change.
#[derive(Default)]
pub(crate) struct IndexedHeap {
    /// One array for the fields of slots and of heap positions, so that a small heap is a cache line or two.
    entries: Vec<HeapEntry>,
    size: usize,
}

#[derive(Clone, Copy, Default)]
struct HeapEntry {
    /// The key of the slot of this number.
    key: u64,
    /// The position of the slot of this number.
    index: u32,
    /// The slot at the position of this number.
    slot: u32,
}

impl IndexedHeap {
    /// Returns the slot of the least key.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        (self.size > 0).then(|| self.entries[0].slot)
    }

    #[inline]
    pub(crate) fn key(&self, slot: u32) -> u64 {
        self.entries[slot as usize].key
    }

    /// Returns the slots that it holds, in no defined order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        self.entries[..self.size].iter().map(|entry| entry.slot)
    }

    /// Makes room for slots up to this number.
    pub(crate) fn reserve(&mut self, slots: usize) {
        self.entries.reserve(slots.saturating_sub(self.entries.len()));
    }

    pub(crate) fn insert(&mut self, slot: u32, key: u64) {
        let entries = self.entries.len().max(slot as usize + 1);
        self.entries.resize(entries, HeapEntry::default());
        self.entries[slot as usize].key = key;
        self.size += 1;
        self.up(self.size - 1, slot);
    }

    #[inline]
    pub(crate) fn set(&mut self, slot: u32, key: u64) {
        let entry = &mut self.entries[slot as usize];
        let (before, index) = (std::mem::replace(&mut entry.key, key), entry.index as usize);
        if key < before {
            self.up(index, slot);
        } else if key > before {
            self.down(index, slot);
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        self.size -= 1;
        let index = self.entries[slot as usize].index as usize;
        let moved = self.entries[self.size].slot;
        if index < self.size {
            self.up(index, moved);
            self.down(self.entries[moved as usize].index as usize, moved);
        }
    }

    fn put(&mut self, index: usize, slot: u32) {
        self.entries[index].slot = slot;
        self.entries[slot as usize].index = index as u32;
    }

    /// Puts a slot into this position or above.
    fn up(&mut self, mut index: usize, slot: u32) {
        let key = self.key(slot);
        while index > 0 {
            let parent = (index - 1) / 2;
            let above = self.entries[parent].slot;
            if self.key(above) <= key {
                break;
            }
            self.put(index, above);
            index = parent;
        }
        self.put(index, slot);
    }

    /// Puts a slot into this position or below.
    fn down(&mut self, mut index: usize, slot: u32) {
        let key = self.key(slot);
        loop {
            let mut child = 2 * index + 1;
            if child >= self.size {
                break;
            }
            let right = child + 1;
            if right < self.size && self.key(self.entries[right].slot) < self.key(self.entries[child].slot) {
                child = right;
            }
            let below = self.entries[child].slot;
            if self.key(below) >= key {
                break;
            }
            self.put(index, below);
            index = child;
        }
        self.put(index, slot);
    }
}

/// FIFO queues by flow, in the order of a key that their owner sets.
#[derive(Default)]
pub struct FlowQueues {
    queues: FlowIndex<Fifo>,
    pub(crate) order: IndexedHeap,
}

impl FlowQueues {
    /// Returns the number of flows that have a packet queued.
    pub fn flows(&self) -> usize {
        self.queues.flows()
    }

    /// Returns the slot of a flow that has packets queued.
    #[inline]
    pub(crate) fn find(&self, flow: u32) -> Option<u32> {
        self.queues.find(flow)
    }

    /// Opens a queue for a flow that has none, with its key in the order. Returns its slot.
    pub(crate) fn open(&mut self, flow: u32, key: u64) -> u32 {
        let slot = self.queues.open(flow, Fifo::default());
        self.order.insert(slot, key);
        slot
    }

    /// Makes room for this many flows, so that nothing is allocated while they come and go.
    pub(crate) fn reserve(&mut self, flows: usize) {
        self.queues.reserve(flows);
        self.order.reserve(flows);
    }

    /// Forgets a flow whose queue is empty.
    pub(crate) fn close(&mut self, slot: u32) {
        self.order.remove(slot);
        self.queues.close(slot);
    }

    #[inline]
    pub(crate) fn packets(&mut self, slot: u32) -> &mut Fifo {
        self.queues.kept_mut(slot)
    }

    /// Prefetches the table entry of a flow look-up, and the first flows.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        self.queues.fetch();
        prefetch_index(&self.order.entries, 0);
    }

    /// Prefetches the oldest packet of the first flow.
    #[inline(always)]
    pub(crate) fn fetch_front(&self, metas: &[Meta]) {
        if let Some(packets) = self.order.first().and_then(|slot| self.queues.try_kept(slot)) {
            packets.fetch_front(metas);
        }
    }
}

/// Which flow sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Every flow in turn, one packet each: processor sharing with a quantum of one packet.
    RoundRobin,
    /// The flow whose oldest packet has the least rank; among equals, the one that was served longest ago. With bytes
    /// remaining as the rank: SRPT. With bytes already sent: LAS.
    LeastRank,
}

impl PortRules for Order {
    type Port = FlowScheduler;

    fn build(&self, site: &PortSite) -> FlowScheduler {
        FlowScheduler::new(*self, site.admission, site.marker)
    }
}

/// A queue for each flow, served in an [`Order`]. Limit and marker see one queue: a full port turns the arriving packet
/// away, even if another flow holds more.
pub struct FlowScheduler {
    flows: FlowQueues,
    order: Order,
    intake: PortIntake,
    turn: u64,
}

impl FlowScheduler {
    /// Builds an empty scheduler.
    pub fn new(order: Order, admission: Admission, marker: Marker) -> FlowScheduler {
        FlowScheduler { flows: FlowQueues::default(), order, intake: PortIntake::new(admission, marker), turn: 0 }
    }

    fn key(&mut self, rank: u32) -> u64 {
        self.turn += 1;
        match self.order {
            Order::RoundRobin => self.turn,
            Order::LeastRank => u64::from(rank) << 32 | self.turn & 0xffff_ffff,
        }
    }
}

impl PortScheduler for FlowScheduler {
    pass_on!(self, self.intake => limits, backlog_bytes, bypass_bytes);

    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        let meta = &mut metas[packet as usize];
        let (flow, rank) = (meta.flow, meta.tag.rank());
        meta.queue = 0;
        let verdict = self.intake.take(meta, context);
        if !verdict.is_accepted() {
            return verdict;
        }
        let slot = match self.flows.find(flow) {
            Some(slot) => slot,
            None => {
                let key = self.key(rank);
                self.flows.open(flow, key)
            }
        };
        self.flows.packets(slot).push(metas, packet);
        verdict
    }

    fn dequeue(&mut self, metas: &mut [Meta], _around: &mut PortContext<'_>) -> Option<u32> {
        let slot = self.flows.order.first()?;
        let packet = self.flows.packets(slot).pop(metas)?;
        self.intake.leave(&metas[packet as usize]);
        match self.flows.packets(slot).front() {
            Some(next) => {
                let key = self.key(metas[next as usize].tag.rank());
                self.flows.order.set(slot, key);
            }
            None => self.flows.close(slot),
        }
        if self.intake.backlog_bytes() == 0 {
            self.turn = 0;
        }
        Some(packet)
    }

    fn reserve(&mut self, packets: usize) {
        self.flows.reserve(packets);
    }

    fn queues(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn flow_queues__agree_with_a_map(steps in prop::collection::vec((0u32..40, 0u64..20, any::<bool>()), 0..400)) {
            let mut queues = FlowQueues::default();
            let mut model: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
            for (flow, key, close) in steps {
                match (model.get(&flow).copied(), close) {
                    (None, _) => { model.insert(flow, (queues.open(flow, key), key)); }
                    (Some((slot, _)), true) => { queues.close(slot); model.remove(&flow); }
                    (Some((slot, _)), false) => { queues.order.set(slot, key); model.insert(flow, (slot, key)); }
                }
                for flow in 0..40 {
                    prop_assert_eq!(queues.find(flow), model.get(&flow).map(|&(slot, _)| slot));
                }
                prop_assert_eq!(queues.flows(), model.len());
                let first = queues.order.first().map(|slot| queues.order.key(slot));
                prop_assert_eq!(first, model.values().map(|&(_, key)| key).min());
            }
        }
    }
}
