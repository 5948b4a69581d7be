//! The bytes that each flow has sent, if hosts do not write them (AWAFS §4.2.1: a switch that has no field for it keeps a
//! timer for each flow).
//!
//! The table has a bound. If it is full, a new flow replaces the flow that was seen least recently, which is taken to have
//! ended. A packet costs O(log n) in the flows held.

use crate::flow_queues::FlowQueues;
use crate::units::Time;

/// The table's record of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    bytes: u32,
    ended: bool,
}

/// Bytes by flow.
pub(crate) struct FlowTable {
    /// By the instant at which each was last seen; their queues stay empty.
    flows: FlowQueues,
    /// By slot.
    counted: Vec<Counted>,
    most: usize,
}

impl FlowTable {
    /// Builds an empty table for at most `most` flows.
    pub(crate) fn new(most: usize) -> FlowTable {
        assert!(most > 0, "a table has room for a flow");
        FlowTable { flows: FlowQueues::default(), counted: Vec::new(), most }
    }

    /// Makes room for all flows that it may hold.
    pub(crate) fn reserve(&mut self) {
        self.flows.reserve(self.most);
        self.counted.reserve(self.most.saturating_sub(self.counted.len()));
    }

    /// Returns the bytes that a flow has sent.
    #[inline]
    pub(crate) fn sent(&self, flow: u32) -> u32 {
        self.flows.find(flow).map_or(0, |slot| self.counted[slot as usize].bytes)
    }

    /// Counts `bytes` sent by a flow. Returns the size of the flow that this ends to make room, if any.
    pub(crate) fn count(&mut self, flow: u32, bytes: u32, now: Time) -> Option<u32> {
        if let Some(slot) = self.flows.find(flow) {
            let counted = &mut self.counted[slot as usize];
            counted.bytes = counted.bytes.saturating_add(bytes);
            self.flows.order.set(slot, now.0);
            return None;
        }
        let oldest = if self.flows.flows() == self.most { self.flows.order.first() } else { None };
        let ended = oldest.and_then(|slot| self.forget(slot));
        let slot = self.flows.open(flow, now.0) as usize;
        let size = self.counted.len().max(slot + 1);
        self.counted.resize(size, Counted::default());
        self.counted[slot] = Counted { bytes, ended: false };
        ended
    }

    /// Notes that the flow's last packet has come. Returns its size, unless it was returned before. The flow stays known,
    /// so that a retransmission is not taken for another flow.
    pub(crate) fn end(&mut self, flow: u32) -> Option<u32> {
        let slot = self.flows.find(flow)?;
        let counted = &mut self.counted[slot as usize];
        (!std::mem::replace(&mut counted.ended, true)).then_some(counted.bytes)
    }

    /// Forgets the flow that was seen least recently, if that was before `before`. Returns when it was seen, and its size.
    pub(crate) fn take_idle(&mut self, before: Time) -> Option<(Time, u32)> {
        let slot = self.flows.order.first()?;
        let seen = Time(self.flows.order.key(slot));
        if seen >= before {
            return None;
        }
        self.forget(slot).map(|bytes| (seen, bytes))
    }

    fn forget(&mut self, slot: u32) -> Option<u32> {
        self.flows.close(slot);
        let Counted { bytes, ended } = self.counted[slot as usize];
        (!ended).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count__the_least_recently_seen_makes_room() {
        let us = Time::from_us;
        let mut table = FlowTable::new(2);
        assert_eq!(table.count(7, 100, us(1)), None);
        assert_eq!(table.count(8, 200, us(2)), None);
        assert_eq!(table.count(7, 11, us(3)), None);
        assert_eq!(table.count(9, 300, us(4)), Some(200), "flow 8");
        assert_eq!([7, 8, 9].map(|flow| table.sent(flow)), [111, 0, 300]);
    }

    #[test]
    fn end__is_said_once_and_what_comes_again_is_no_flow() {
        let mut table = FlowTable::new(1);
        table.count(7, 100, Time(1));
        assert_eq!((table.end(7), table.end(7), table.end(8)), (Some(100), None, None));
        table.count(7, 100, Time(2));
        assert_eq!((table.end(7), table.sent(7)), (None, 200));
        assert_eq!(table.count(8, 1, Time(3)), None, "flow 7 has ended before");
    }

    #[test]
    fn take_idle__in_the_order_in_which_they_fell_idle() {
        let mut table = FlowTable::new(9);
        for flow in 0..3 {
            table.count(flow, 10 + flow, Time(u64::from(flow)));
        }
        table.count(0, 5, Time(9));
        assert_eq!(table.take_idle(Time(2)), Some((Time(1), 11)));
        assert_eq!(table.take_idle(Time(2)), None, "flow 2 was seen at 2");
        assert_eq!((table.take_idle(Time(10)), table.take_idle(Time(10))), (Some((Time(2), 12)), Some((Time(9), 15))));
    }
}
