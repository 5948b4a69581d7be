//! The bytes that each flow has sent, if hosts do not write them (AWAFS §4.2.1: a switch that has no field for it keeps a
//! timer for each flow).
//!
//! The table has a bound. If it is full, a new flow replaces the flow that was seen least recently, which is taken to have
//! ended. Instants never go back, so a flow that is seen becomes the last of a list by age: a packet costs O(1).

use crate::meta::NONE;
use crate::ports::flow_index::FlowIndex;
use crate::units::Time;

/// The table's record of a flow.
struct Counted {
    bytes: u32,
    ended: bool,
    /// When its last packet came.
    seen: Time,
    /// The slot of the flow that was seen before it, or [`NONE`].
    older: u32,
    /// The slot of the flow that was seen after it, or [`NONE`].
    newer: u32,
}

/// Bytes by flow.
pub(crate) struct FlowTable {
    flows: FlowIndex<Counted>,
    /// The slot of the flow that was seen least recently, or [`NONE`].
    oldest: u32,
    /// The slot of the flow that was seen last, or [`NONE`].
    newest: u32,
    most: usize,
}

impl FlowTable {
    /// Builds an empty table for at most `most` flows.
    pub(crate) fn new(most: usize) -> FlowTable {
        assert!(most > 0, "a table has room for a flow");
        FlowTable { flows: FlowIndex::default(), oldest: NONE, newest: NONE, most }
    }

    /// Makes room for all flows that it may hold.
    pub(crate) fn reserve(&mut self) {
        self.flows.reserve(self.most);
    }

    /// Returns the bytes that a flow has sent.
    #[inline]
    pub(crate) fn sent(&self, flow: u32) -> u32 {
        self.flows.find(flow).map_or(0, |slot| self.flows.kept(slot).bytes)
    }

    /// Counts `bytes` sent by a flow. Returns the size of the flow that this ends to make room, if any.
    pub(crate) fn count(&mut self, flow: u32, bytes: u32, now: Time) -> Option<u32> {
        if let Some(slot) = self.flows.find(flow) {
            let counted = self.flows.kept_mut(slot);
            counted.bytes = counted.bytes.saturating_add(bytes);
            counted.seen = now;
            if slot != self.newest {
                self.unlink(slot);
                self.link(slot);
            }
            return None;
        }
        let ended = if self.flows.flows() == self.most { self.forget(self.oldest) } else { None };
        let slot = self.flows.open(flow, Counted { bytes, ended: false, seen: now, older: NONE, newer: NONE });
        self.link(slot);
        ended
    }

    /// Notes that the flow's last packet has come. Returns its size, unless it was returned before. The flow stays known,
    /// so that a retransmission is not taken for another flow.
    pub(crate) fn end(&mut self, flow: u32) -> Option<u32> {
        let slot = self.flows.find(flow)?;
        let counted = self.flows.kept_mut(slot);
        (!std::mem::replace(&mut counted.ended, true)).then_some(counted.bytes)
    }

    /// Forgets the flow that was seen least recently, if that was before `before`. Returns when it was seen, and its size
    /// unless it was returned before.
    pub(crate) fn take_idle(&mut self, before: Time) -> Option<(Time, u32)> {
        if self.oldest == NONE {
            return None;
        }
        let seen = self.flows.kept(self.oldest).seen;
        if seen >= before {
            return None;
        }
        self.forget(self.oldest).map(|bytes| (seen, bytes))
    }

    fn forget(&mut self, slot: u32) -> Option<u32> {
        self.unlink(slot);
        self.flows.close(slot);
        let &Counted { bytes, ended, .. } = self.flows.kept(slot);
        (!ended).then_some(bytes)
    }

    /// Takes a flow out of the list.
    fn unlink(&mut self, slot: u32) {
        let &Counted { older, newer, .. } = self.flows.kept(slot);
        *self.newer_of(older) = newer;
        *self.older_of(newer) = older;
    }

    /// Appends a flow, which is not in the list, as the one seen last.
    fn link(&mut self, slot: u32) {
        let last = self.newest;
        let counted = self.flows.kept_mut(slot);
        (counted.older, counted.newer) = (last, NONE);
        *self.newer_of(last) = slot;
        self.newest = slot;
    }

    /// Returns the place that says which flow comes after this one, or after none: the list's begin.
    fn newer_of(&mut self, slot: u32) -> &mut u32 {
        if slot == NONE { &mut self.oldest } else { &mut self.flows.kept_mut(slot).newer }
    }

    /// Returns the place that says which flow comes before this one, or before none: the list's end.
    fn older_of(&mut self, slot: u32) -> &mut u32 {
        if slot == NONE { &mut self.newest } else { &mut self.flows.kept_mut(slot).older }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        /// A table is a list of flows, the one seen last behind all others.
        #[test]
        fn flow_table__agrees_with_a_list(
            most in 1usize..6,
            steps in prop::collection::vec((0u32..8, 0u32..4, 0u64..3), 0..300),
        ) {
            let mut table = FlowTable::new(most);
            // (flow, bytes, ended, seen), oldest first.
            let mut model: Vec<(u32, u32, bool, u64)> = Vec::new();
            let mut now = 0;
            for (flow, what, later) in steps {
                now += later;
                let place = model.iter().position(|&(of, ..)| of == flow);
                match (what, place) {
                    (0, _) => {
                        let ended = place.map(|at| &mut model[at]).filter(|counted| !counted.2);
                        let size = ended.map(|counted| { counted.2 = true; counted.1 });
                        prop_assert_eq!(table.end(flow), size);
                    }
                    (1, _) => {
                        let before = now.saturating_sub(4);
                        let idle = model.first().is_some_and(|&(.., seen)| seen < before).then(|| model.remove(0));
                        let size = idle.and_then(|(_, bytes, ended, seen)| (!ended).then_some((Time(seen), bytes)));
                        prop_assert_eq!(table.take_idle(Time(before)), size);
                    }
                    (_, Some(at)) => {
                        let (_, bytes, ended, _) = model.remove(at);
                        model.push((flow, bytes + 10, ended, now));
                        prop_assert_eq!(table.count(flow, 10, Time(now)), None);
                    }
                    (_, None) => {
                        let gone = (model.len() == most).then(|| model.remove(0));
                        model.push((flow, 10, false, now));
                        let size = gone.and_then(|(_, bytes, ended, _)| (!ended).then_some(bytes));
                        prop_assert_eq!(table.count(flow, 10, Time(now)), size);
                    }
                }
                for flow in 0..8 {
                    let sent = model.iter().find(|&&(of, ..)| of == flow).map_or(0, |&(_, bytes, ..)| bytes);
                    prop_assert_eq!(table.sent(flow), sent);
                }
            }
        }
    }
}
