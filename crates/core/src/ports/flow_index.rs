//! What a port keeps for each flow, found by the flow's key.

use prefetch_index::prefetch_index;

use crate::meta::NONE;

/// What is kept for a flow.
struct Slot<T> {
    /// The flow; for a free slot, the next free one.
    flow: u32,
    kept: T,
}

/// Slots by flow. A flow keeps its slot until it is closed.
pub(crate) struct FlowIndex<T> {
    slots: Vec<Slot<T>>,
    /// The first free slot, or [`NONE`].
    free: u32,
    /// Open addressing with linear probing, at most half full; its length is a power of two.
    table: Vec<u32>,
    flows: usize,
}

impl<T> Default for FlowIndex<T> {
    fn default() -> FlowIndex<T> {
        FlowIndex { slots: Vec::new(), free: NONE, table: Vec::new(), flows: 0 }
    }
}

impl<T> FlowIndex<T> {
    /// Returns the number of flows that have a slot.
    pub(crate) fn flows(&self) -> usize {
        self.flows
    }

    #[inline]
    fn home(&self, flow: u32) -> usize {
        // Fibonacci hashing: the upper bits of the product are the well-mixed ones.
        let mixed = u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        mixed as usize & (self.table.len() - 1)
    }

    /// Returns the index of a flow in the table, or the vacancy where it would go.
    #[inline]
    fn probe(&self, flow: u32) -> usize {
        let mut index = self.home(flow);
        while self.table[index] != NONE && self.slots[self.table[index] as usize].flow != flow {
            index = (index + 1) & (self.table.len() - 1);
        }
        index
    }

    /// Returns the slot of a flow that has one.
    #[inline]
    pub(crate) fn find(&self, flow: u32) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        let slot = self.table[self.probe(flow)];
        (slot != NONE).then_some(slot)
    }

    /// Gives a slot to a flow that has none.
    pub(crate) fn open(&mut self, flow: u32, kept: T) -> u32 {
        if self.table.len() <= 2 * self.flows {
            self.grow((2 * self.table.len()).max(16));
        }
        let opened = Slot { flow, kept };
        let slot = match self.slots.get_mut(self.free as usize) {
            Some(free) => std::mem::replace(&mut self.free, std::mem::replace(free, opened).flow),
            None => {
                self.slots.push(opened);
                self.slots.len() as u32 - 1
            }
        };
        let index = self.probe(flow);
        self.table[index] = slot;
        self.flows += 1;
        slot
    }

    /// Makes room for this many flows, so that nothing is allocated while they come and go.
    pub(crate) fn reserve(&mut self, flows: usize) {
        self.slots.reserve(flows.saturating_sub(self.slots.len()));
        let table = (2 * flows).next_power_of_two().max(16);
        if table > self.table.len() {
            self.grow(table);
        }
    }

    fn grow(&mut self, to: usize) {
        let live: Vec<u32> = self.table.iter().copied().filter(|&slot| slot != NONE).collect();
        self.table = vec![NONE; to];
        for slot in live {
            let index = self.probe(self.slots[slot as usize].flow);
            self.table[index] = slot;
        }
    }

    /// Takes the slot from its flow.
    pub(crate) fn close(&mut self, slot: u32) {
        let mask = self.table.len() - 1;
        let mut gap = self.probe(self.slots[slot as usize].flow);
        let mut index = gap;
        // Closes the gap, so that no later entry of the cluster is cut off from its home.
        loop {
            index = (index + 1) & mask;
            let entry = self.table[index];
            if entry == NONE {
                break;
            }
            let home = self.home(self.slots[entry as usize].flow);
            if (index.wrapping_sub(home) & mask) >= (index.wrapping_sub(gap) & mask) {
                self.table[gap] = entry;
                gap = index;
            }
        }
        self.table[gap] = NONE;
        self.slots[slot as usize].flow = std::mem::replace(&mut self.free, slot);
        self.flows -= 1;
    }

    /// Returns what a slot keeps.
    #[inline]
    pub(crate) fn kept(&self, slot: u32) -> &T {
        &self.slots[slot as usize].kept
    }

    /// Does the same, to change it.
    #[inline]
    pub(crate) fn kept_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize].kept
    }

    /// Does the same for a slot that may not be there.
    #[inline]
    pub(crate) fn try_kept(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize).map(|slot| &slot.kept)
    }

    /// Prefetches the beginning of the table and of the slots.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        prefetch_index(&self.table, 0);
        prefetch_index(&self.slots, 0);
    }
}
