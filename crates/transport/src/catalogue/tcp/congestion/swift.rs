//! Swift (Kumar et al., SIGCOMM 2020): a window that keeps the delay of the fabric at a target, which grows with the hops of
//! the path and with the flows that share it. Windows below one are paces.
//!
//! Algorithm 1 of the paper, for the delay of the fabric; hosts here answer after a fixed delay, which belongs to the base
//! target, so the second window, of the endpoint, is left out. Switches must count themselves in data
//! ([`flowsieve_core::hops::stamps`]).

use std::num::NonZeroU64;

use flowsieve_core::Time;
use flowsieve_core::hop::Trail;

use super::control::{Acked, CongestionControl, Lost, WINDOW};
use super::{CongestionSpec, Observed};
use crate::tcp::params::TcpParams;

/// Swift with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwiftRules {
    /// The target of a path without switches.
    pub base_target: Time,
    /// What each switch adds to it.
    pub per_hop: Time,
    /// The most that sharing flows add to it, and the windows between which they do.
    pub range: Time,
    /// See `range`.
    pub range_windows: (f64, f64),
    /// Segments added in a round trip.
    pub additive: f64,
    /// Beta: how strongly the window falls.
    pub beta: f64,
    /// The most that one decrease takes.
    pub most_decrease: f64,
    /// The smallest window, in segments.
    pub least_window: f64,
}

/// Timeouts in a row after which the window is the smallest.
const MOST_TIMEOUTS: u32 = 5;

impl SwiftRules {
    /// Returns the control's specification.
    pub fn spec(self) -> CongestionSpec {
        CongestionSpec::ruled(self, |rules: SwiftRules, params| Swift {
            rules,
            window: params.initial().clamp(rules.least_window, f64::from(params.max_window)),
            segment: params.segment,
            round_trip: rules.base_target,
            decreased: Time::ZERO,
            timeouts: 0,
            hops: 0,
        })
    }

    fn target(&self, hops: u8, window: f64) -> f64 {
        let (least, most) = self.range_windows;
        let root = |window: f64| 1.0 / libm::sqrt(window);
        let alpha = self.range.0 as f64 / (root(least) - root(most));
        let scaled = (alpha * root(window) - alpha * root(most)).clamp(0.0, self.range.0 as f64);
        (self.base_target.0 + self.per_hop.0 * u64::from(hops)) as f64 + scaled
    }
}

/// Swift's control of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Swift {
    rules: SwiftRules,
    window: f64,
    segment: u16,
    round_trip: Time,
    /// When the window last fell.
    decreased: Time,
    timeouts: u32,
    /// Switches on the path.
    hops: u8,
}

impl Swift {
    fn decrease(&mut self, now: Time, keep: f64) {
        if now.since(self.decreased) >= self.round_trip {
            self.window = (self.window * keep).max(self.rules.least_window);
            self.decreased = now;
        }
    }
}

impl CongestionControl for Swift {
    fn on_trail(&mut self, trail: &Trail) {
        self.hops = trail.hops;
    }

    fn on_ack(&mut self, ack: &Acked<'_>, params: &TcpParams) {
        self.timeouts = 0;
        self.round_trip = ack.round_trip;
        let (delay, target) = (ack.round_trip.0 as f64, self.rules.target(self.hops, self.window));
        if delay < target {
            let shared = if self.window >= 1.0 { self.window } else { 1.0 };
            let grown = self.window + self.rules.additive * f64::from(ack.delivered) / shared;
            self.window = grown.min(params.max_window.into());
        } else {
            let keep = (1.0 - self.rules.beta * (delay - target) / delay).max(1.0 - self.rules.most_decrease);
            self.decrease(ack.now, keep);
        }
    }

    fn on_loss(&mut self, loss: &Lost, _: &TcpParams) {
        self.decrease(loss.now, 1.0 - self.rules.most_decrease);
    }

    fn on_timeout(&mut self, loss: &Lost, _: bool, _: &TcpParams) {
        self.timeouts += 1;
        if self.timeouts >= MOST_TIMEOUTS {
            self.window = self.rules.least_window;
        } else {
            self.decrease(loss.now, 1.0 - self.rules.most_decrease);
        }
    }

    fn window(&self) -> u32 {
        self.window as u32
    }

    /// A window below one is a segment in each round trip over the window.
    fn pacing_rate(&self) -> Option<NonZeroU64> {
        let seconds = self.round_trip.as_secs();
        let rate = self.window * f64::from(self.segment) * 8.0 / seconds;
        if self.window < 1.0 { NonZeroU64::new(rate as u64) } else { None }
    }

    fn is_cut(&self, params: &TcpParams) -> bool {
        self.window < params.max_window.into()
    }

    fn observe(&self, see: &mut dyn FnMut(Observed<'_>)) {
        see(&[(WINDOW, self.window)]);
    }
}
