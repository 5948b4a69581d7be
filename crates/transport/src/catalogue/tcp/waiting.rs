//! What a sender waits for while it has more to send: the window or a handshake, or the retransmission timer.
//!
//! The two never overlap: time during which the window held the sender back until a timer fired counts for the timer, from
//! the last answer on. If an answer comes first, a window that a mark or a loss has cut counts for neither, because the
//! network held the sender back.

use flowsieve_core::Time;
use flowsieve_core::message::Waits;

/// Since when a sender has been waiting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// Since when the window or a handshake has held it back; [`Time::NEVER`]: it is not held back.
    held_from: Time,
    /// When the timer fired last; zero: never.
    timed_out: Time,
}

impl Waiting {
    /// Builds the state of a sender that waits for nothing.
    pub(super) fn new() -> Waiting {
        Waiting { held_from: Time::NEVER, timed_out: Time::ZERO }
    }

    /// Notes that there is more to send, and it may not be sent.
    #[inline(always)]
    pub(super) fn hold_back(&mut self, now: Time) {
        self.held_from = self.held_from.min(now);
    }

    /// Notes an answer, which took `round_trip` if that was measured: the sender may no longer be held back. `is_cut`: the
    /// window that held it back had been cut by a mark or a loss.
    #[inline(always)]
    pub(super) fn let_go(&mut self, now: Time, round_trip: Option<Time>, is_cut: bool, waits: Option<&mut Waits>) {
        let held = if is_cut { Time::ZERO } else { now.since(self.held_from) };
        self.held_from = Time::NEVER;
        let Some(waits) = waits else { return };
        waits.window += held;
        if let Some(round_trip) = round_trip {
            waits.round_trips = Time(waits.round_trips.0.saturating_add(round_trip.0));
            waits.samples += 1;
        }
    }

    /// Notes that the timer fired; returns how long the sender has waited for it.
    pub(super) fn time_out(&mut self, now: Time, last_sent: Time) -> Time {
        let from = if self.held_from == Time::NEVER { last_sent.max(self.timed_out) } else { self.held_from };
        (self.timed_out, self.held_from) = (now, Time::NEVER);
        now.since(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits__for_the_window_and_for_the_timer_do_not_overlap() {
        let at = Time::from_us;
        let (mut waiting, mut waits) = (Waiting::new(), Waits::default());
        waiting.hold_back(at(10));
        waiting.hold_back(at(12));
        waiting.let_go(at(30), Some(at(25)), false, Some(&mut waits));
        assert_eq!((waits.window, waits.round_trips, waits.samples), (at(20), at(25), 1));
        // Nothing holds the sender back: an answer ends no wait.
        waiting.let_go(at(40), None, false, Some(&mut waits));
        assert_eq!((waits.window, waits.samples), (at(20), 1));
        // Time in a window cut by marks and losses does not count for the window.
        waiting.hold_back(at(32));
        waiting.let_go(at(39), None, true, Some(&mut waits));
        assert_eq!(waits.window, at(20));
        // The last packet left at 35, and the window is full from 40 on: from then, only the timer is waited for.
        waiting.hold_back(at(40));
        assert_eq!(waiting.time_out(at(140), at(35)), at(100));
        // Nothing was sent since: the wait for the next timer begins at the last one, not at the last packet.
        assert_eq!(waiting.time_out(at(340), at(35)), at(200));
        assert_eq!(waiting.time_out(at(940), at(350)), at(590));
    }
}
