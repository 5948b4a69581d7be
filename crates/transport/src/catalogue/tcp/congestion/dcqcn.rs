//! DCQCN (Zhu et al., SIGCOMM 2015): a rate that congestion notifications (CNPs) cut, and that a timer and a counter of bytes
//! raise again.
//!
//! An ACK that echoes a mark is a CNP, unless one came less than [`DcqcnRules::notify_every`] ago. So CNPs coalesce by connection, as
//! by queue pair; cards that coalesce them by address or by port echo fewer marks
//! ([`Coalescing`]). There is no window: what limits a sender is its rate, and the lossless fabric below it.

use std::num::NonZeroU64;

use flowsieve_core::Time;

use super::control::{Acked, CongestionControl, Lost, Sent};
use super::{CongestionSpec, Observed};
use crate::tcp::notifications::Coalescing;
use crate::tcp::params::TcpParams;

/// DCQCN with its parameters. Rates are in bit/s on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnRules {
    /// The rate of hosts, at which flows begin.
    pub line: f64,
    /// The share of payload in what a full packet takes on the wire.
    pub payload_share: f64,
    /// g: the weight of the newest period in alpha.
    pub gain: f64,
    /// K: alpha falls after so long without a CNP.
    pub alpha_every: Time,
    /// The least time between two CNPs.
    pub notify_every: Time,
    /// Which marks receivers echo; `None`: all.
    pub coalescing: Option<Coalescing>,
    /// T: the timer of increases.
    pub raise_every: Time,
    /// B: bytes after which the rate rises; 0: the timer alone raises it.
    pub raise_bytes: u64,
    /// F: increases towards the rate before the cut, before any that adds.
    pub recoveries: u32,
    /// R_AI.
    pub additive: f64,
    /// R_HAI.
    pub hyper: f64,
    /// The least rate.
    pub least: f64,
}

impl DcqcnRules {
    /// Returns the control's specification.
    pub fn spec(self) -> CongestionSpec {
        CongestionSpec::ruled(self, |rules: DcqcnRules, _| Dcqcn::new(rules)).echoing(self.coalescing)
    }
}

/// The reaction point of a connection.
#[derive(Clone, Copy, Debug)]
struct Dcqcn {
    rules: DcqcnRules,
    /// RC and RT.
    current: f64,
    target: f64,
    alpha: f64,
    /// When a CNP counts again.
    notified: Time,
    /// When alpha falls, and when the timer raises; never before the first CNP.
    alpha_at: Time,
    raise_at: Time,
    /// Increases by the timer and by the counter since the last cut, and bytes since its last.
    by_timer: u32,
    by_bytes: u32,
    bytes: u64,
}

impl Dcqcn {
    fn new(rules: DcqcnRules) -> Dcqcn {
        Dcqcn {
            rules,
            current: rules.line,
            target: rules.line,
            alpha: 1.0,
            notified: Time::ZERO,
            alpha_at: Time::NEVER,
            raise_at: Time::NEVER,
            by_timer: 0,
            by_bytes: 0,
            bytes: 0,
        }
    }

    fn cut(&mut self, now: Time) {
        let DcqcnRules { gain, least, alpha_every, raise_every, notify_every, .. } = self.rules;
        self.target = self.current;
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(least);
        self.alpha = (1.0 - gain) * self.alpha + gain;
        (self.by_timer, self.by_bytes, self.bytes) = (0, 0, 0);
        (self.alpha_at, self.raise_at, self.notified) = (now + alpha_every, now + raise_every, now + notify_every);
    }

    /// Raises the rate after the timer or the counter: half way back to the target, which also rises after the first ones.
    fn raise(&mut self) {
        let DcqcnRules { line, recoveries, additive, hyper, raise_bytes, .. } = self.rules;
        let (least, most) = (self.by_timer.min(self.by_bytes), self.by_timer.max(self.by_bytes));
        self.target += match raise_bytes {
            _ if most <= recoveries => 0.0,
            // In the authors' later simulator, which has no counter, the second addition is the larger one.
            0 => {
                if most == recoveries + 1 {
                    additive
                } else {
                    hyper
                }
            }
            _ if least > recoveries => f64::from(least - recoveries) * hyper,
            _ => additive,
        };
        self.target = self.target.min(line);
        self.current = f64::midpoint(self.current, self.target);
    }
}

impl CongestionControl for Dcqcn {
    fn on_time(&mut self, now: Time) -> Time {
        while self.alpha_at.min(self.raise_at) <= now {
            if self.alpha_at <= self.raise_at {
                self.alpha *= 1.0 - self.rules.gain;
                self.alpha_at += self.rules.alpha_every;
            } else {
                self.raise_at += self.rules.raise_every;
                self.by_timer += 1;
                self.raise();
            }
            // At the line's rate nothing is left to change but alpha, which a long idle time takes to nothing.
            if self.current >= self.rules.line * 0.999_999 && self.alpha < 1e-9 {
                (self.alpha_at, self.raise_at) = (Time::NEVER, Time::NEVER);
            }
        }
        self.raise_at
    }

    fn on_ack(&mut self, ack: &Acked<'_>, _: &TcpParams) {
        if ack.marked && ack.now >= self.notified {
            self.on_time(ack.now);
            self.cut(ack.now);
        }
    }

    /// Nothing: losses are repaired, and cut no rate.
    fn on_loss(&mut self, _: &Lost, _: &TcpParams) {}

    fn on_timeout(&mut self, _: &Lost, _: bool, _: &TcpParams) {}

    fn on_sent(&mut self, sent: &Sent, _: &TcpParams) {
        if self.rules.raise_bytes == 0 || self.raise_at == Time::NEVER {
            return;
        }
        self.bytes += u64::from(sent.bytes);
        if self.bytes >= self.rules.raise_bytes {
            self.bytes -= self.rules.raise_bytes;
            self.by_bytes += 1;
            self.raise();
        }
    }

    fn window(&self) -> u32 {
        u32::MAX
    }

    fn pacing_rate(&self) -> Option<NonZeroU64> {
        NonZeroU64::new((self.current * self.rules.payload_share) as u64)
    }

    fn is_cut(&self, _: &TcpParams) -> bool {
        self.current < self.rules.line
    }

    fn observe(&self, see: &mut dyn FnMut(Observed<'_>)) {
        see(&[("rate (bit/s)", self.current), ("dcqcn alpha", self.alpha)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(raise_bytes: u64, recoveries: u32) -> DcqcnRules {
        DcqcnRules {
            line: 40e9,
            payload_share: 1.0,
            gain: 1.0 / 256.0,
            alpha_every: Time::from_us(55),
            notify_every: Time::from_us(50),
            coalescing: None,
            raise_every: Time::from_us(55),
            raise_bytes,
            recoveries,
            additive: 40e6,
            hyper: 100e6,
            least: 40e6,
        }
    }

    /// The first CNP halves the rate. Five timers later, after 275 us, a thirty-second of the gap is left; then it adds.
    #[test]
    fn rate__after_a_cut_by_hand() {
        let mut control = Dcqcn::new(rules(10_000_000, 5));
        assert_eq!(control.on_time(Time::from_us(1_000)), Time::NEVER);
        control.cut(Time::ZERO);
        assert_eq!((control.current, control.target, control.alpha), (20e9, 40e9, 1.0));
        assert_eq!(control.on_time(Time::from_us(274)), Time::from_us(275));
        assert_eq!(control.current, 40e9 - 20e9 / 16.0);
        control.on_time(Time::from_us(275));
        assert_eq!(control.current, 40e9 - 20e9 / 32.0);
        // From 20 Gbit/s on as target it adds.
        control.cut(Time::from_us(275));
        control.cut(Time::from_us(276));
        let target = control.target;
        control.on_time(Time::from_us(276 + 6 * 55));
        assert_eq!(control.target, target + 40e6);
        // By bytes and by time more than five: hyper increase.
        control.by_bytes = 7;
        control.on_time(Time::from_us(276 + 7 * 55));
        assert_eq!(control.target, target + 40e6 + 2.0 * 100e6);
    }

    /// Without CNPs alpha falls by e in 256 periods: 14 ms.
    #[test]
    fn alpha__falls_by_e_in_256_periods() {
        let mut control = Dcqcn::new(rules(0, 1));
        control.cut(Time::ZERO);
        control.on_time(Time::from_us(255 * 55));
        assert!((control.alpha * std::f64::consts::E - 1.0).abs() < 0.01, "{}", control.alpha);
        assert!(control.current > 39e9);
    }

    /// Without a counter of bytes, and F = 1: one recovery, one addition, then the larger ones.
    #[test]
    fn rate__without_a_counter_of_bytes() {
        let mut control = Dcqcn::new(rules(0, 1));
        control.cut(Time::ZERO);
        control.cut(Time::ZERO);
        let targets: Vec<f64> = (1..=4)
            .map(|at| {
                control.on_time(Time::from_us(55 * at));
                control.target - 20e9
            })
            .collect();
        assert_eq!(targets, [0.0, 40e6, 140e6, 240e6]);
    }
}
