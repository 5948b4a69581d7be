//! The timers of a host's connections.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flowsieve_core::Time;

use crate::endpoint::Timer;

/// What a timer calls. At one instant flows are compared first, so that the order does not depend on slots in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// A sender.
    Sender { flow: u32, slot: u32 },
    /// A receiver, for its delayed ACK.
    Receiver { flow: u32, slot: u32 },
}

impl Alarm {
    fn order(self) -> u64 {
        match self {
            Alarm::Sender { flow, .. } => Timer::sender(flow),
            Alarm::Receiver { flow, .. } => Timer::receiver(flow),
        }
    }
}

/// Alarms by instant. None is ever removed: a side that is woken too early sets another.
#[repr(C)]
pub(super) struct Alarms {
    first: Time,
    heap: BinaryHeap<Reverse<(Time, Alarm)>>,
}

impl Alarms {
    pub(super) fn new() -> Alarms {
        Alarms { first: Time::NEVER, heap: BinaryHeap::new() }
    }

    /// Returns the first of them.
    #[inline(always)]
    pub(super) fn first(&self) -> Timer {
        let order = self.heap.peek().map_or(u64::MAX, |Reverse((_, alarm))| alarm.order());
        Timer { at: self.first, order }
    }

    #[inline(never)]
    pub(super) fn push(&mut self, at: Time, alarm: Alarm) {
        self.first = self.first.min(at);
        self.heap.push(Reverse((at, alarm)));
    }

    /// Takes the first alarm, if it is due.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, Alarm)> {
        let &Reverse(first) = self.heap.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.heap.pop();
        self.first = self.heap.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        Some(first)
    }
}
