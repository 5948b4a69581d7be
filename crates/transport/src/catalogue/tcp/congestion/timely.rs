//! TIMELY (Mittal et al., SIGCOMM 2015): a rate that follows the gradient of the round trip.
//!
//! As HPCC's authors simulate it (`rdma-hw.cc`): the rate changes once a round trip, where the paper changes it after each
//! segment of 16 to 64 KB, and a flow begins at line rate.

use std::num::NonZeroU64;

use flowsieve_core::Time;

use super::control::{Acked, CongestionControl, Lost};
use super::{CongestionSpec, Observed};
use crate::tcp::params::TcpParams;

/// TIMELY with its parameters. Rates are in bit/s on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelyRules {
    /// The rate of hosts, at which flows begin.
    pub line: f64,
    /// The share of payload in what a full packet takes on the wire.
    pub payload_share: f64,
    /// The weight of the newest difference between round trips.
    pub weight: f64,
    /// Beta: how strongly the rate falls.
    pub beta: f64,
    /// Below the first the rate rises, above the second it falls, whatever the gradient says.
    pub between: (Time, Time),
    /// The round trip by which the gradient is measured.
    pub base_round_trip: Time,
    /// Delta: what is added.
    pub additive: f64,
    /// What is added after so many round trips without a positive gradient.
    pub hyper: (u32, f64),
    /// The least rate.
    pub least: f64,
}

impl TimelyRules {
    /// Returns the control's specification.
    pub fn spec(self) -> CongestionSpec {
        CongestionSpec::ruled(self, |rules: TimelyRules, _| Timely::new(rules))
    }
}

/// TIMELY's control of a connection.
#[derive(Clone, Copy, Debug)]
struct Timely {
    rules: TimelyRules,
    rate: f64,
    /// The smoothed difference between two round trips, in ps.
    difference: f64,
    /// The round trip before.
    before: Option<f64>,
    /// Round trips without a positive gradient.
    falling: u32,
    /// The rate changes when a segment from here on is acknowledged.
    update_at: u32,
}

impl Timely {
    fn new(rules: TimelyRules) -> Timely {
        Timely { rules, rate: rules.line, difference: 0.0, before: None, falling: 0, update_at: 0 }
    }

    fn measure(&mut self, round_trip: f64) {
        let TimelyRules { weight, beta, between: (low, high), base_round_trip, additive, hyper, .. } = self.rules;
        let Some(before) = self.before.replace(round_trip) else { return };
        self.difference += weight * (round_trip - before - self.difference);
        let gradient = self.difference / base_round_trip.0.max(1) as f64;
        let rising = gradient > 0.0 && round_trip >= low.0 as f64 || round_trip > high.0 as f64;
        self.falling = if rising { 0 } else { self.falling + 1 };
        self.rate = if round_trip > high.0 as f64 {
            self.rate * (1.0 - beta * (1.0 - high.0 as f64 / round_trip))
        } else if rising {
            self.rate * (1.0 - beta * gradient)
        } else if round_trip < low.0 as f64 || self.falling <= hyper.0 {
            self.rate + additive
        } else {
            self.rate + hyper.1
        };
        self.rate = self.rate.clamp(self.rules.least, self.rules.line);
    }
}

impl CongestionControl for Timely {
    fn on_ack(&mut self, ack: &Acked<'_>, _: &TcpParams) {
        if ack.una > self.update_at {
            self.update_at = ack.nxt;
            self.measure(ack.round_trip.0 as f64);
        }
    }

    /// Nothing: losses are repaired, and cut no rate.
    fn on_loss(&mut self, _: &Lost, _: &TcpParams) {}

    fn on_timeout(&mut self, _: &Lost, _: bool, _: &TcpParams) {}

    fn window(&self) -> u32 {
        u32::MAX
    }

    fn pacing_rate(&self) -> Option<NonZeroU64> {
        NonZeroU64::new((self.rate * self.rules.payload_share) as u64)
    }

    fn is_cut(&self, _: &TcpParams) -> bool {
        self.rate < self.rules.line
    }

    fn observe(&self, see: &mut dyn FnMut(Observed<'_>)) {
        see(&[("rate (bit/s)", self.rate)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(rate: f64) -> Timely {
        let us = Time::from_us;
        let rules = TimelyRules {
            line: 10e9,
            payload_share: 1.0,
            weight: 0.875,
            beta: 0.8,
            between: (us(50), us(500)),
            base_round_trip: us(20),
            additive: 10e6,
            hyper: (5, 50e6),
            least: 10e6,
        };
        Timely { rate, ..Timely::new(rules) }
    }

    const US: f64 = 1e6;

    /// A round trip of 1 ms, twice the limit: 1 - 0.8 * 0.5 = 0.6. One of 40 us adds 10 Mbit/s.
    #[test]
    fn rate__beyond_the_limits_by_hand() {
        let mut control = control(5e9);
        control.measure(1_000.0 * US);
        control.measure(1_000.0 * US);
        assert!((control.rate - 3e9).abs() < 1.0, "{}", control.rate);
        control.measure(40.0 * US);
        assert!((control.rate - 3.01e9).abs() < 1.0, "{}", control.rate);
    }

    /// From 100 to 108 us in a round trip: a gradient of 0.875 * 8 / 20 = 0.35, and the rate falls by 0.28. While it does not
    /// rise, 10 Mbit/s are added five times, and then 50.
    #[test]
    fn rate__by_the_gradient_by_hand() {
        let mut control = control(1e9);
        control.measure(100.0 * US);
        control.measure(108.0 * US);
        assert!((control.rate - 0.72e9).abs() < 1.0, "{}", control.rate);
        for _ in 0..6 {
            control.measure(100.0 * US);
        }
        assert!((control.rate - 0.82e9).abs() < 1.0, "{}", control.rate);
    }
}
