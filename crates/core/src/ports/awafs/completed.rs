//! The list of completed flows (AWAFS §4.3, the Sensor's memory): each flow's end and size, oldest first.
//!
//! A new entry costs O(1). The list has a bound. If flows end faster than it allows, the oldest entries go. The list then
//! reaches back less far than the updating window; [`CompletedFlows::reach`] tells how far.

use std::collections::VecDeque;

use crate::scheduler::MAX_QUEUES;
use crate::units::Time;

/// Bytes of an entry in a switch (§5.2): a time stamp of 8, a size of 4.
pub const ENTRY_BYTES: u64 = 12;

/// The largest size that is distinguished from larger ones, in bytes. It is far enough below the largest number that
/// thresholds, which are sizes, always have room to rise.
pub const LARGEST: u32 = u32::MAX - MAX_QUEUES as u32;

/// Completed flows.
#[derive(Clone, Debug)]
pub struct CompletedFlows {
    /// (end, size), ends rising.
    entries: VecDeque<(Time, u32)>,
    most: usize,
    /// When the last flow ended that was dropped because the list was full.
    lost: Option<Time>,
}

impl CompletedFlows {
    /// Builds an empty list of at most `most` entries.
    ///
    /// # Panics
    /// If `most` is zero; set-up checks it.
    pub fn new(most: usize) -> CompletedFlows {
        assert!(most > 0, "a list has room for a flow");
        CompletedFlows { entries: VecDeque::with_capacity(most), most, lost: None }
    }

    /// Adds a flow of `size` bytes that ended, no earlier than those before.
    #[inline]
    pub fn push(&mut self, end: Time, size: u32) {
        debug_assert!(self.newest().is_none_or(|newest| newest <= end), "flows end in order");
        if self.entries.len() == self.most {
            self.lost = self.entries.pop_front().map(|(end, _)| end);
        }
        self.entries.push_back((end, size.min(LARGEST)));
    }

    /// Forgets flows that ended before `from`.
    pub fn prune(&mut self, from: Time) {
        while self.entries.front().is_some_and(|&(end, _)| end < from) {
            self.entries.pop_front();
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns when the newest of the flows ended.
    pub fn newest(&self) -> Option<Time> {
        self.entries.back().map(|&(end, _)| end)
    }

    /// Returns the sizes, oldest flow first.
    pub fn sizes(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|&(_, size)| size)
    }

    /// Returns how far back from `now`, within `window`, the list has every flow that ended: the effective window.
    pub fn reach(&self, now: Time, window: Time) -> Time {
        self.lost.map_or(window, |lost| window.min(now.since(lost)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn push__the_oldest_go_and_the_window_shrinks() {
        let us = Time::from_us;
        let mut list = CompletedFlows::new(3);
        assert_eq!(list.reach(us(100), us(250)), us(250));
        for end in 1..=5 {
            list.push(us(10 * end), end as u32);
        }
        assert_eq!(list.sizes().collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!(list.reach(us(50), us(250)), us(30), "the flow that ended at 20 us is lost");
        assert_eq!(list.reach(us(500), us(250)), us(250), "which does not matter any more");
        list.prune(us(40));
        assert_eq!((list.len(), list.newest()), (2, Some(us(50))));
    }

    #[test]
    fn push__large_sizes_are_alike() {
        let mut list = CompletedFlows::new(1);
        list.push(Time::ZERO, u32::MAX);
        assert_eq!(list.sizes().collect::<Vec<_>>(), [LARGEST]);
    }
}
