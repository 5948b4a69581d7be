//! Which flows, or coflows, have packets in a port, and in which of its queues. The counts are exact.
//!
//! Packet disorder avoidance needs this for flows, and a switch cannot know it (QCluster §3.5). The oracle variant uses it,
//! and the timed variant is compared with it. pCoflow's registers hold it for coflows (§III-E).

use crate::flow_queues::FlowQueues;

/// Packets queued, by key and queue.
pub(crate) struct Presence {
    /// Only to find a key's slot; the queues stay empty.
    keys: FlowQueues,
    /// Slot after slot, by queue.
    counts: Vec<u32>,
    /// By slot, bit i: queue i holds a packet.
    occupied: Vec<u64>,
    queues: usize,
}

impl Presence {
    /// Builds the counts for 1 to 64 queues.
    pub(crate) fn new(queues: usize) -> Presence {
        Presence { keys: FlowQueues::default(), counts: Vec::new(), occupied: Vec::new(), queues }
    }

    /// Makes room for this many keys.
    pub(crate) fn reserve(&mut self, keys: usize) {
        self.keys.reserve(keys);
        self.occupied.reserve(keys.saturating_sub(self.occupied.len()));
        self.counts.reserve((keys * self.queues).saturating_sub(self.counts.len()));
    }

    /// Returns the slot of a key with packets; valid until a packet is added or removed.
    #[inline]
    pub(crate) fn find(&self, key: u32) -> Option<u32> {
        self.keys.find(key)
    }

    /// Returns the last queue, in service order, that holds a packet of the key in this slot.
    #[inline]
    pub(crate) fn lowest_at(&self, slot: u32) -> Option<u8> {
        self.occupied[slot as usize].checked_ilog2().map(|lowest| lowest as u8)
    }

    /// Returns the last queue that holds a packet of `key`.
    #[inline]
    pub(crate) fn lowest(&self, key: u32) -> Option<u8> {
        self.lowest_at(self.find(key)?)
    }

    #[inline]
    pub(crate) fn add(&mut self, key: u32, queue: u8) {
        self.add_at(self.find(key), key, queue);
    }

    /// Adds a packet of a key with this slot, or with none yet.
    #[inline]
    pub(crate) fn add_at(&mut self, slot: Option<u32>, key: u32, queue: u8) {
        let slot = slot.unwrap_or_else(|| self.keys.open(key, 0)) as usize;
        if slot >= self.occupied.len() {
            self.occupied.resize(slot + 1, 0);
            self.counts.resize((slot + 1) * self.queues, 0);
        }
        self.occupied[slot] |= 1 << queue;
        self.counts[slot * self.queues + usize::from(queue)] += 1;
    }

    #[inline]
    pub(crate) fn remove(&mut self, key: u32, queue: u8) {
        let Some(slot) = self.keys.find(key) else { return };
        let count = &mut self.counts[slot as usize * self.queues + usize::from(queue)];
        *count -= 1;
        if *count == 0 {
            self.occupied[slot as usize] &= !(1 << queue);
            if self.occupied[slot as usize] == 0 {
                self.keys.close(slot);
            }
        }
    }
}
