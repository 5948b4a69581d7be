//! A custom congestion control, with the departures that its pacing rate allows.

use std::ops::{Deref, DerefMut};

use flowsieve_core::Time;

use super::control::{CongestionControl, Sent};
use crate::tcp::params::TcpParams;

/// A custom control. Built-in ones have no pacing rate, so this state is stored here.
pub(crate) struct Paced {
    pub(super) control: Box<dyn CongestionControl>,
    /// When the next segment may leave.
    next: Time,
    /// The departure for which a segment that the window allows is waiting; [`Time::NEVER`]: none waits.
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
        Paced { control, next: Time::ZERO, held_until: Time::NEVER }
    }

    /// Returns the window that the sender uses, clamped to its limits.
    #[inline(never)]
    pub(crate) fn window(&self, params: &TcpParams) -> u32 {
        self.control.window().clamp(1, params.max_window.max(1))
    }

    /// Returns whether a segment has to wait; `any`: there is one that the window allows.
    pub(crate) fn holds_back(&mut self, now: Time, any: bool) -> bool {
        let waits = any && now < self.next;
        self.held_until = if waits { self.next } else { Time::NEVER };
        waits
    }

    /// Releases the waiting segment if its departure has been reached.
    pub(crate) fn let_go(&mut self, now: Time) {
        if self.held_until <= now {
            self.held_until = Time::NEVER;
        }
    }

    pub(crate) fn on_sent(&mut self, sent: &Sent, params: &TcpParams) {
        self.control.on_sent(sent, params);
        self.next = match self.control.pacing_rate() {
            None => Time::ZERO,
            Some(rate) => sent.now + Time((u64::from(sent.bytes) * 8_000_000_000_000).div_ceil(rate.get())),
        };
    }
}
