//! RACK's loss detection (RFC 8985 §6): a segment is lost when one that was sent later by more than a reordering window
//! has been delivered. The reordering window starts at a quarter of the least round trip and widens by a quarter with
//! each sign of a spurious retransmission, up to the smoothed round trip.

use std::collections::VecDeque;

use flowsieve_core::Time;

use crate::tcp::Ack;

/// RACK's state of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    /// (sent, segment, whether it was a retransmission), in the order of sending; entries whose segment has arrived or
    /// was sent again are skipped when they come to the front. Instants are whole nanoseconds, as timestamps are.
    sent: VecDeque<(Time, u32, bool)>,
    /// When the newest delivered packet was sent, and its segment: packets of one instant were sent in this order.
    newest: (Time, u32),
    round_trip: Time,
    reordering: Time,
    widened: u32,
    deadline: Option<Time>,
}

impl Rack {
    pub(crate) fn on_sent(&mut self, now: Time, seq: u32, again: bool) {
        self.sent.push_back((whole_ns(now), seq, again));
    }

    pub(crate) fn on_ack(&mut self, now: Time, ack: &Ack, (smoothed, least): (Time, Time)) {
        let newest = (whole_ns(now).since(ack.round_trip), ack.cumulative.max(ack.block.1).saturating_sub(1));
        if newest >= self.newest {
            self.newest = newest;
            self.round_trip = ack.round_trip;
        }
        self.widened += u32::from(ack.duplicate);
        self.reordering = Time(least.0 / 4 * u64::from(self.widened + 1)).min(smoothed);
    }

    pub(crate) fn deadline(&self) -> Time {
        self.deadline.unwrap_or(Time::NEVER)
    }

    /// The next lost segment, oldest first; `settled` says that an entry is of no interest any more. Arms the timer for
    /// the first that may yet turn out lost.
    pub(crate) fn next_late(&mut self, now: Time, settled: impl Fn(u32, bool) -> bool) -> Option<(u32, bool)> {
        self.deadline = None;
        while let Some(&(sent, seq, again)) = self.sent.front() {
            if settled(seq, again) {
                self.sent.pop_front();
                continue;
            }
            if (sent, seq) >= self.newest {
                return None; // nothing sent after it was delivered
            }
            let lost_at = sent + self.round_trip + self.reordering;
            if now < lost_at {
                self.deadline = Some(lost_at);
                return None;
            }
            self.sent.pop_front();
            return Some((seq, again));
        }
        None
    }
}

fn whole_ns(at: Time) -> Time {
    Time(at.0 - at.0 % 1_000)
}
