//! How many packets the NIC holds.
//!
//! A NIC that holds many packets sends a long message's before a shorter one's that becomes ready later. So a sender hands over
//! a packet only while the NIC holds less than a stated number of them (§3.2: two; in the authors' simulator one). It computes from
//! the rate of the line when that is, as Homa's pacer in Linux does.

use flowsieve_core::Time;
use flowsieve_core::units::Rate;

/// A host's line as its endpoint computes it.
#[derive(Clone, Copy, Debug)]
pub(in crate::catalogue) struct Line {
    rate: Rate,
    overhead: u32,
    /// The time of the packets that may wait in the NIC when it takes another one.
    waiting: Time,
    /// When the line has sent everything that was handed over.
    free_at: Time,
}

impl Line {
    /// Builds a line on which packets of at most `longest` bytes take `overhead` more. The NIC holds at most `packets` full ones.
    pub(in crate::catalogue) fn new(rate: Rate, (longest, overhead): (u16, u16), packets: u32) -> Line {
        let full = rate.serialise(u32::from(longest) + u32::from(overhead));
        let waiting = Time(full.0.saturating_mul(packets.saturating_sub(1).into()));
        Line { rate, overhead: overhead.into(), waiting, free_at: Time::ZERO }
    }

    /// Counts a packet that is handed over.
    pub(in crate::catalogue) fn takes(&mut self, now: Time, len: u16) {
        self.free_at = self.free_at.max(now) + self.rate.serialise(u32::from(len) + self.overhead);
    }

    /// Returns from when on the NIC takes a packet of data.
    pub(in crate::catalogue) fn has_room_at(&self) -> Time {
        Time(self.free_at.0.saturating_sub(self.waiting.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_room__while_it_holds_fewer_packets() {
        let rate = Rate::new(10_000_000_000).unwrap();
        let mut one = Line::new(rate, (1_480, 20), 1);
        let mut two = Line::new(rate, (1_480, 20), 2);
        for line in [&mut one, &mut two] {
            line.takes(Time::from_us(10), 1_480);
        }
        assert_eq!(one.has_room_at(), Time::from_ns(11_200));
        assert_eq!(two.has_room_at(), Time::from_us(10));
        two.takes(Time::from_us(10), 1_480);
        assert_eq!(two.has_room_at(), Time::from_ns(11_200), "when the first one has left");
    }
}
