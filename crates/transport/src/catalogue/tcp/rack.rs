//! RACK's loss detection (RFC 8985 §6.2): a segment is lost when another one was delivered that was sent later by more than
//! a reordering window.
//!
//! The window is a multiple of a quarter of the least round trip, at most the smoothed one. The multiple starts at one,
//! grows by one in each round trip that shows a spurious retransmission, and returns to one after 16 recoveries without.
//!
//! The timestamp that an ACK echoes tells when the delivered packet was sent, so retransmissions are never ambiguous (step
//! 2 of §6.2). Left out: the window of zero before any reordering is seen (step 4), as this is for networks that reorder;
//! the sparing of young segments at a timeout (§6.3); tail loss probes (§7); a minimum over recent round trips only (§6.2,
//! step 1).

use std::collections::VecDeque;

use flowsieve_core::Time;

use crate::tcp::rto::{self, RoundTrips};
use crate::tcp::sender::Ack;

/// RFC 8985 §6.2, step 4: recoveries without a spurious retransmission until the window is narrow again.
const PERSISTENCE: u32 = 16;
/// Segments for which an idle connection keeps room.
const KEPT: usize = 64;

/// RACK's state of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// (when it was sent, segment) of everything in flight, in the order of sending. Segments that have arrived since are
    /// skipped at the front. Instants are whole nanoseconds, as timestamps are.
    sent: VecDeque<(Time, u32)>,
    /// When the newest delivered packet was sent, and its segment. Packets of one instant are in segment order.
    newest: (Time, u32),
    /// The round trip of that packet.
    round_trip: Time,
    reordering: Time,
    quarters: u64,
    persistence: u32,
    /// Spurious retransmissions do not widen the window again before this segment is acknowledged.
    widened_until: u32,
    deadline: Time,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent: VecDeque::new(),
            newest: (Time::ZERO, 0),
            round_trip: Time::ZERO,
            reordering: Time::ZERO,
            quarters: 1,
            persistence: 0,
            widened_until: 0,
            deadline: Time::NEVER,
        }
    }
}

impl Rack {
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, seq: u32) {
        self.sent.push_back((whole_ns(now), seq));
    }

    /// Handles an ACK that left the segments `una..nxt` outstanding.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Time, ack: &Ack, (una, nxt): (u32, u32), round_trips: RoundTrips) {
        let newest = (whole_ns(now).since(ack.round_trip), ack.cumulative.max(ack.block.1).saturating_sub(1));
        if newest >= self.newest {
            self.newest = newest;
            self.round_trip = ack.round_trip.min(rto::MAX);
        }
        if ack.duplicate && una >= self.widened_until {
            self.widened_until = nxt;
            self.quarters += 1;
            self.persistence = PERSISTENCE;
        }
        self.reordering = Time(self.quarters.saturating_mul(round_trips.least.0 / 4)).min(round_trips.smoothed);
    }

    /// Handles the end of a recovery.
    pub(crate) fn on_recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.quarters = 1;
        }
    }

    /// Gives up everything in flight for lost.
    pub(crate) fn on_timeout(&mut self) {
        self.sent.clear();
        self.deadline = Time::NEVER;
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }

    /// Returns the next lost segment, in the order of sending. Arms the timer for the first that may yet turn out lost.
    #[inline]
    pub(crate) fn next_late(&mut self, now: Time, has_arrived: impl Fn(u32) -> bool) -> Option<u32> {
        self.deadline = Time::NEVER;
        while let Some(&(sent, seq)) = self.sent.front() {
            if has_arrived(seq) {
                self.sent.pop_front();
                continue;
            }
            if (sent, seq) >= self.newest {
                return None; // nothing sent after it was delivered
            }
            let lost_at = sent + self.round_trip + self.reordering;
            if now < lost_at {
                self.deadline = lost_at;
                return None;
            }
            self.sent.pop_front();
            return Some(seq);
        }
        self.sent.shrink_to(KEPT);
        None
    }
}

#[inline]
fn whole_ns(at: Time) -> Time {
    Time(at.0 - at.0 % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::header::GapReport;

    #[test]
    fn on_recovered__narrows_after_sixteen() {
        let round_trips = RoundTrips { smoothed: Time::from_us(100), least: Time::from_us(80) };
        let ack = |duplicate| Ack {
            cumulative: 1,
            block: (0, 0),
            marked: false,
            duplicate,
            gap: GapReport::None,
            round_trip: Time::from_us(90),
        };
        let mut rack = Rack::default();
        let mut window_after = |duplicate, una| {
            rack.on_ack(Time::from_us(500), &ack(duplicate), (una, una + 10), round_trips);
            rack.on_recovered();
            rack.reordering
        };
        assert_eq!(window_after(false, 1), Time::from_us(20));
        assert_eq!(window_after(true, 20), Time::from_us(40));
        assert_eq!(window_after(true, 29), Time::from_us(40), "the same round trip");
        assert_eq!(window_after(true, 30), Time::from_us(60));
        (0..15).for_each(|_| assert_eq!(window_after(false, 40), Time::from_us(60)));
        assert_eq!(window_after(false, 40), Time::from_us(20));
        (0..9).for_each(|round| _ = window_after(true, 100 + 10 * round));
        assert_eq!(window_after(false, 200), Time::from_us(100), "at most the smoothed round trip");
    }
}
