//! A port that follows tables: no built-in one does.

use std::collections::VecDeque;

use flowsieve_core::controller::Published;
use flowsieve_core::readings::Reading;
use flowsieve_core::{Meta, PortContext, PortScheduler, Verdict};

/// One queue, whose limit in packets a table sets.
pub(crate) struct Limited {
    pub(crate) queue: VecDeque<u32>,
    pub(crate) limit: u64,
}

impl PortScheduler for Limited {
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, _: &mut PortContext<'_>) -> Verdict {
        metas[packet as usize].queue = 0;
        let queued_before = self.queue.len() as u64;
        if queued_before >= self.limit {
            return Verdict::Dropped { queued_before };
        }
        self.queue.push_back(packet);
        Verdict::Accepted { queued_before }
    }

    fn dequeue(&mut self, _: &mut [Meta], _: &mut PortContext<'_>) -> Option<u32> {
        self.queue.pop_front()
    }

    fn backlog_bytes(&self) -> u64 {
        self.queue.len() as u64
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        see(Reading::Count { name: "limit", count: self.limit });
    }

    fn on_table(&mut self, published: &Published) {
        self.limit = published.table.get(0).unwrap_or(self.limit);
    }

    fn queues(&self) -> usize {
        1
    }
}
