//! Which flows have packets in a port, exactly: what packet disorder avoidance would like to know and a switch cannot
//! (QCluster §3.5). The oracle variant decides by it; the timed one is held against it.

use crate::flow_queues::FlowQueues;
use crate::qcluster::sketch::Keep;

/// Packets queued, by flow and queue.
pub(crate) struct Presence {
    /// Only to find a flow's slot; its queues stay empty.
    flows: FlowQueues,
    /// Slot after slot, by queue.
    counts: Vec<u32>,
    queues: usize,
}

impl Presence {
    pub(crate) fn new(queues: usize) -> Presence {
        Presence { flows: FlowQueues::default(), counts: Vec::new(), queues }
    }

    fn counts(&self, flow: u32) -> Option<&[u32]> {
        let at = self.flows.find(flow)? as usize * self.queues;
        Some(&self.counts[at..at + self.queues])
    }

    /// The queue for a packet that would best go to `wanted`, so that it overtakes none of its flow.
    pub(crate) fn keep_order(&self, flow: u32, wanted: u8, keep: Keep) -> u8 {
        let lowest = self.counts(flow).and_then(|counts| counts.iter().rposition(|&count| count > 0));
        match (lowest, keep) {
            (None, _) => wanted,
            (Some(lowest), Keep::NoRise) => wanted.max(lowest as u8),
            (Some(lowest), Keep::Queue) => lowest as u8,
        }
    }

    pub(crate) fn add(&mut self, flow: u32, queue: u8) {
        let slot = self.flows.find(flow).unwrap_or_else(|| self.flows.open(flow, 0)) as usize;
        let size = self.counts.len().max((slot + 1) * self.queues);
        self.counts.resize(size, 0);
        self.counts[slot * self.queues + usize::from(queue)] += 1;
    }

    pub(crate) fn remove(&mut self, flow: u32, queue: u8) {
        let Some(slot) = self.flows.find(flow) else { return };
        let at = slot as usize * self.queues;
        self.counts[at + usize::from(queue)] -= 1;
        if self.counts[at..at + self.queues].iter().all(|&count| count == 0) {
            self.flows.close(slot);
        }
    }
}
