//! RACK's loss detection (RFC 8985 §6.2): a segment is lost when another one was delivered that was sent later by more than
//! a reordering window.
//!
//! The window is a multiple of a quarter of the least round trip, at most the smoothed one. The multiple starts at one,
//! grows by one in each round trip that shows a spurious retransmission, and returns to one after 16 recoveries without.
//!
//! The timestamp that an ACK echoes tells when the delivered packet was sent, so retransmissions are never ambiguous (step
//! 2 of §6.2). Left out: a minimum over recent round trips only (§6.2, step 1; Linux keeps one of five minutes).
//!
//! [`LossDetection::Rack`](crate::tcp::params::LossDetection) is for networks that reorder: the window is never zero, and a
//! timeout takes all segments for lost. [`LossDetection::RackTlp`](crate::tcp::params::LossDetection) is the whole RFC. It
//! has no window in a repair, or once three segments have arrived above a hole, until the connection has seen reordering
//! (step 4); a timeout spares what was sent a round trip ago or less (§6.3); and it has probes
//! ([`crate::tcp::probe`], §7).

use std::collections::VecDeque;

use flowsieve_core::Time;

use crate::tcp::rto::{self, RoundTrips};
use crate::tcp::sender::Ack;

/// RFC 8985 §6.2, step 4: recoveries without a spurious retransmission until the window is narrow again.
const PERSISTENCE: u32 = 16;
/// RFC 8985 §6.2, step 4 (DupThresh): segments that arrived above a hole, which show a loss before any reordering is seen.
const ARE_A_LOSS: u32 = 3;
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
    /// Of the whole RFC alone; `None` for networks that reorder.
    whole: Option<Whole>,
    /// What a timeout gave up and may turn out to be in flight; kept if timeouts can be undone.
    given_up: Option<Vec<(Time, u32)>>,
}

/// What the whole RFC needs in addition.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    /// A segment that was sent once has arrived after one that was sent later.
    reordering_seen: bool,
    /// One past the highest segment that has arrived (`RACK.fack`).
    highest: u32,
}

/// The state of the sender at an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// What the ACK left outstanding.
    pub(crate) outstanding: (u32, u32),
    pub(crate) round_trips: RoundTrips,
    /// The lowest segment that the ACK delivers and that was sent once.
    pub(crate) original: Option<u32>,
    /// Segments that are selectively acknowledged.
    pub(crate) sacked: u32,
    /// A loss or a timeout is being repaired.
    pub(crate) repairing: bool,
    /// The ACK's duplicate is that of a probe.
    pub(crate) probe_twice: bool,
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
            whole: None,
            given_up: None,
        }
    }
}

impl Rack {
    /// Builds the state of a connection. `whole`: with all of the RFC; `undo`: timeouts can be undone.
    pub(crate) fn new(whole: bool, undo: bool) -> Rack {
        Rack { whole: whole.then(Whole::default), given_up: undo.then(Vec::new), ..Rack::default() }
    }

    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, seq: u32) {
        self.sent.push_back((whole_ns(now), seq));
    }

    /// Notes that a segment is sent again that was not found lost.
    pub(crate) fn on_probe(&mut self, now: Time, seq: u32) {
        self.sent.retain(|&(_, other)| other != seq);
        self.on_sent(now, seq);
    }

    /// Handles an ACK.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Time, ack: &Ack, seen: &Seen) {
        let Seen { outstanding: (una, nxt), round_trips, .. } = *seen;
        let newest = (whole_ns(now).since(ack.round_trip), ack.cumulative.max(ack.block.1).saturating_sub(1));
        if newest >= self.newest {
            self.newest = newest;
            self.round_trip = ack.round_trip.min(rto::MAX);
        }
        if ack.duplicate && !seen.probe_twice && una >= self.widened_until {
            self.widened_until = nxt;
            self.quarters += 1;
            self.persistence = PERSISTENCE;
        }
        self.reordering = Time(self.quarters.saturating_mul(round_trips.least.0 / 4)).min(round_trips.smoothed);
        if let Some(whole) = &mut self.whole {
            whole.reordering_seen |= seen.original.is_some_and(|seq| seq < whole.highest.saturating_sub(1));
            whole.highest = whole.highest.max(ack.cumulative).max(ack.block.1);
            if !whole.reordering_seen && (seen.repairing || seen.sacked >= ARE_A_LOSS) {
                self.reordering = Time::ZERO;
            }
        }
    }

    /// Handles the end of a recovery.
    pub(crate) fn on_recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.quarters = 1;
        }
    }

    /// Gives up what is in flight for lost. Returns the segments other than the oldest, `una`, that are spared, since they
    /// were sent a short while ago (RFC 8985 §6.3).
    pub(crate) fn on_timeout(&mut self, now: Time, una: u32) -> Vec<u32> {
        self.deadline = Time::NEVER;
        let lasts = self.round_trip + self.reordering;
        let is_spared = |&(sent, seq): &(Time, u32)| self.whole.is_some() && seq != una && sent + lasts > now;
        let (spared, lost): (Vec<_>, Vec<_>) = self.sent.drain(..).partition(is_spared);
        if let Some(given_up) = &mut self.given_up {
            *given_up = lost;
        }
        self.sent.extend(&spared);
        spared.into_iter().map(|(_, seq)| seq).collect()
    }

    /// Takes back the last timeout, apart from the segments that were sent `again`.
    pub(crate) fn undo_timeout(&mut self, again: impl Fn(u32) -> bool) {
        let Some(given_up) = &mut self.given_up else { return };
        let mut all: Vec<_> = given_up.drain(..).filter(|&(_, seq)| !again(seq)).collect();
        all.extend(self.sent.drain(..));
        all.sort_unstable();
        self.sent.extend(all);
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }

    /// Returns the next lost segment, in the order of sending. Arms the timer for the first that may yet turn out lost.
    /// `tick` is added to the timer.
    #[inline]
    pub(crate) fn next_late(&mut self, now: Time, tick: Time, has_arrived: impl Fn(u32) -> bool) -> Option<u32> {
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
                self.deadline = Time(lost_at.0.saturating_add(tick.0));
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
            let outstanding = (una, una + 10);
            let seen =
                Seen { outstanding, round_trips, original: None, sacked: 0, repairing: false, probe_twice: false };
            rack.on_ack(Time::from_us(500), &ack(duplicate), &seen);
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

    #[test]
    fn on_ack__three_above_a_hole_need_no_window_before_reordering_is_seen() {
        let round_trips = RoundTrips { smoothed: Time::from_us(100), least: Time::from_us(80) };
        let window = |rack: &mut Rack, block: (u32, u32), original, sacked, repairing| {
            let ack = Ack {
                cumulative: 0,
                block,
                marked: false,
                duplicate: false,
                gap: GapReport::None,
                round_trip: Time::ZERO,
            };
            let seen = Seen { outstanding: (0, 20), round_trips, original, sacked, repairing, probe_twice: false };
            rack.on_ack(Time::from_us(500), &ack, &seen);
            rack.reordering
        };
        let (quarter, none) = (Time::from_us(20), Time::ZERO);
        let mut rack = Rack::new(true, false);
        assert_eq!(window(&mut rack, (4, 5), Some(4), 1, false), quarter);
        assert_eq!(window(&mut rack, (4, 7), Some(5), 3, false), none);
        assert_eq!(window(&mut rack, (4, 8), Some(7), 2, true), none, "in a repair");
        // Segment 2 arrives after 7, and was sent once.
        assert_eq!(window(&mut rack, (2, 3), Some(2), 4, true), quarter);
        assert_eq!(window(&mut rack, (4, 9), Some(8), 5, true), quarter, "from then on");
    }

    #[test]
    fn on_timeout__spares_what_was_sent_a_short_while_ago() {
        let sent = |rack: &mut Rack| {
            for (us, seq) in [(0, 0), (0, 1), (90, 2), (95, 3)] {
                rack.on_sent(Time::from_us(us), seq);
            }
            rack.round_trip = Time::from_us(50);
        };
        let mut plain = Rack::new(false, true);
        sent(&mut plain);
        assert_eq!(plain.on_timeout(Time::from_us(141), 0), [0; 0]);
        plain.on_probe(Time::from_us(141), 0);
        plain.undo_timeout(|seq| seq == 0);
        let us = |rack: &Rack| rack.sent.iter().map(|&(at, seq)| (at.0 / 1_000_000, seq)).collect::<Vec<_>>();
        assert_eq!(us(&plain), [(0, 1), (90, 2), (95, 3), (141, 0)]);
        let mut whole = Rack::new(true, false);
        sent(&mut whole);
        assert_eq!(whole.on_timeout(Time::from_us(141), 0), [3]);
        whole.undo_timeout(|_| false);
        assert_eq!(us(&whole), [(95, 3)]);
    }
}
