//! A custom congestion control, with the departures that its pacing rate allows.

use std::ops::{Deref, DerefMut};

use flowsieve_core::Time;

use super::control::{Acked, CongestionControl, Sent};
use crate::tcp::params::TcpParams;

/// A custom control. Built-in ones have no pacing rate, so this state is stored here.
pub(crate) struct Paced {
    pub(super) control: Box<dyn CongestionControl>,
    /// When the latest segment left, and its bytes.
    last: (Time, u16),
    /// When the pace next changes by itself.
    changes: Time,
    /// The departure for which a segment that the window allows is waiting, or an earlier change of the pace;
    /// [`Time::NEVER`]: none waits.
    pub(crate) held_until: Time,
}

impl Deref for Paced {
    type Target = dyn CongestionControl;

    fn deref(&self) -> &Self::Target {
        &*self.control
    }
}

impl DerefMut for Paced {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.control
    }
}

impl Paced {
    pub(crate) fn new(control: Box<dyn CongestionControl>) -> Paced {
        Paced { control, last: (Time::ZERO, 0), changes: Time::NEVER, held_until: Time::NEVER }
    }

    /// Returns the window that the sender uses, clamped to its limits.
    #[inline(never)]
    pub(crate) fn window(&self, params: &TcpParams) -> u32 {
        self.control.window().clamp(1, params.max_window.max(1))
    }

    /// Returns when the next segment may leave.
    fn next(&self) -> Time {
        let (at, bytes) = self.last;
        match self.control.pacing_rate() {
            None => Time::ZERO,
            Some(rate) => at + Time((u64::from(bytes) * 8_000_000_000_000).div_ceil(rate.get())),
        }
    }

    /// Returns whether a segment has to wait; `any`: there is one that the window allows.
    pub(crate) fn holds_back(&mut self, now: Time, any: bool) -> bool {
        let next = self.next();
        let waits = any && now < next;
        self.held_until = if waits { next.min(self.changes) } else { Time::NEVER };
        waits
    }

    /// Lets the control catch up with the clock.
    pub(crate) fn on_time(&mut self, now: Time) {
        self.changes = self.control.on_time(now);
    }

    /// Releases the waiting segment if its departure has been reached.
    pub(crate) fn let_go(&mut self, now: Time) {
        if self.held_until <= now {
            self.held_until = Time::NEVER;
        }
    }

    /// Handles an ACK, which may change the pace for which a segment waits.
    pub(crate) fn on_ack(&mut self, ack: &Acked<'_>, params: &TcpParams) {
        self.control.on_ack(ack, params);
        if self.held_until != Time::NEVER {
            self.held_until = self.next().min(self.changes).max(ack.now);
        }
    }

    pub(crate) fn on_sent(&mut self, sent: &Sent, params: &TcpParams) {
        self.control.on_sent(sent, params);
        self.last = (sent.now, sent.bytes);
    }
}
