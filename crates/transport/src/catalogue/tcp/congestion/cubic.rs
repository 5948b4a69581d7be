//! CUBIC (RFC 9438): in congestion avoidance the window is a cubic function of the time since the last cut, and at least
//! what Reno's would be.
//!
//! A mark or a loss leaves seven tenths of the window. Left out: a slow start that ends before a loss (§4.10). Linux has
//! HyStart (`hystart_update` in `net/ipv4/tcp_cubic.c`). It ends slow start when round trips grow by an eighth, but no less
//! than 4 ms, or when ACKs come in a train as long as half a round trip. RFC 9406 has the 4 ms, too. In a data centre full
//! buffers are shorter than that: the delay would decide nothing, and trains are what emulated ports send. A comparison with
//! Linux switches it off (the module's parameter `hystart`).

use flowsieve_core::Time;

use super::control::{Acked, CongestionRules};
use super::window::{Additive, Response};
use crate::tcp::params::TcpParams;

/// RFC 9438 §4.6: the share of the window that a cut leaves.
const BETA: f64 = 0.7;
/// RFC 9438 §5: segments per second cubed.
const C: f64 = 0.4;
/// RFC 9438 §4.3: Reno's growth per window that equals CUBIC's cut.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// CUBIC, with the constants of RFC 9438.
#[derive(Clone, Copy, Debug)]
pub struct CubicRules;

impl CongestionRules for CubicRules {
    type Control = Additive<Cubic>;

    fn build(&self, params: &TcpParams) -> Additive<Cubic> {
        Additive::new(Cubic::default(), params)
    }
}

/// The state beside the window. Windows are in segments, times in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cubic {
    curve: Curve,
    /// The curve before the cuts that may be undone.
    kept: Curve,
    /// When the last ACK came.
    last_ack: Time,
    /// The sender had nothing to send since.
    was_idle: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// The window at which the curve is flat (`W_max`), and that before the last cut (`cwnd_prior`).
    flat: f64,
    prior: f64,
    /// What Reno's window would be (`W_est`).
    reno: f64,
    /// When congestion avoidance began, and how long from then to the flat point (K); `None`: it has not begun.
    epoch: Option<(Time, f64)>,
}

impl Cubic {
    /// Returns the curve's window at a time of the epoch.
    fn at(&self, seconds: f64, until_flat: f64) -> f64 {
        let from_flat = seconds - until_flat;
        C * from_flat * from_flat * from_flat + self.curve.flat
    }
}

impl Response for Cubic {
    const LOSS_CUTS_AGAIN: bool = false;

    /// Stops the clock while the window does not limit the sender (RFC 9438 §4.2).
    fn estimate(&mut self, ack: &Acked<'_>) {
        let since = ack.now.since(self.last_ack);
        if let Some((began, _)) = &mut self.curve.epoch
            && (!ack.limited || self.was_idle)
        {
            *began = Time(began.0.saturating_add(since.0)).min(ack.now);
        }
        (self.last_ack, self.was_idle) = (ack.now, false);
    }

    fn keep(&self, _: f64, _: &Acked<'_>) -> f64 {
        BETA
    }

    fn keep_at_loss(&self) -> f64 {
        BETA
    }

    /// Fast convergence: a window that is cut before it has reached the flat point leaves room for others (RFC 9438 §4.7).
    fn on_cut(&mut self, cwnd: f64) {
        self.curve.flat = if cwnd < self.curve.flat { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.curve.prior = cwnd;
        self.curve.epoch = None;
    }

    /// The curve after a timeout begins flat (RFC 9438 §4.8).
    fn on_timeout(&mut self) {
        self.curve.flat = 0.0;
    }

    fn on_restart(&mut self) {
        self.was_idle = true;
    }

    fn increase(&mut self, cwnd: f64, segments: f64, ack: &Acked<'_>) -> f64 {
        let curve = &mut self.curve;
        let (began, until_flat) = *curve.epoch.get_or_insert_with(|| {
            curve.flat = curve.flat.max(cwnd);
            curve.reno = cwnd;
            (ack.now, libm::cbrt((curve.flat - cwnd) / C))
        });
        let alpha = if curve.reno < curve.prior { ALPHA } else { 1.0 };
        curve.reno += alpha * segments / cwnd;
        let reno = curve.reno;
        let seconds = ack.now.since(began).0 as f64 / 1e12;
        if self.at(seconds, until_flat) < reno {
            return (reno - cwnd).max(0.0);
        }
        let next = seconds + ack.round_trip.0 as f64 / 1e12;
        let target = self.at(next, until_flat).clamp(cwnd, 1.5 * cwnd);
        (target - cwnd) * segments / cwnd
    }

    fn remember(&mut self) {
        self.kept = self.curve;
    }

    fn undo(&mut self) {
        self.curve = self.kept;
    }

    fn alpha(&self) -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::messages::Messages;

    /// Grows a window by an ACK at an instant in milliseconds, with a round trip of 100 ms.
    fn grow(cubic: &mut Cubic, cwnd: &mut f64, ms: u64, segments: f64, limited: bool) {
        let messages = Messages::default();
        let ack = Acked {
            now: Time::from_us(1_000 * ms),
            delivered: segments as u32,
            advanced: true,
            marked: false,
            limited,
            recovering: false,
            una: 0,
            nxt: 0,
            in_flight: 0,
            sacked: 0,
            round_trip: Time::from_us(100_000),
            messages: &messages,
        };
        cubic.estimate(&ack);
        if limited {
            *cwnd += cubic.increase(*cwnd, segments, &ack);
        }
    }

    #[test]
    fn increase__is_flat_at_the_old_window_and_steep_away_from_it() {
        // 1,000 segments before the cut: K is the cube root of 300 / 0.4, 9.0856 s.
        let (mut cubic, mut cwnd) = (Cubic::default(), 700.0);
        cubic.on_cut(1_000.0);
        let at: Vec<f64> = (0..=181)
            .map(|tenth| {
                let window = cwnd;
                grow(&mut cubic, &mut cwnd, 100 * tenth, window, true);
                cwnd
            })
            .collect();
        let law = |seconds: f64| {
            let from_flat = seconds - libm::cbrt(750.0);
            0.4 * from_flat * from_flat * from_flat + 1_000.0
        };
        // At first Reno is ahead, by its half a segment.
        for (tenth, &cwnd) in at.iter().enumerate().skip(1) {
            // Each ACK of a whole window takes it to where the curve is a round trip later.
            let expected = law((tenth as f64 + 1.0) / 10.0);
            assert!((cwnd - expected).abs() < 1e-6, "{cwnd}, not {expected}, at {tenth}");
        }
        assert!((at[90] - 1_000.0).abs() < 0.001 && at[1] - 700.0 > 18.0 && at[181] > 1_290.0);
    }

    #[test]
    fn increase__is_at_least_renos() {
        // Ten segments and a round trip of 100 ms: the curve gains 0.4 in a second, Reno 9/17 of a segment a window.
        let (mut cubic, mut cwnd) = (Cubic::default(), 7.0);
        cubic.on_cut(10.0);
        grow(&mut cubic, &mut cwnd, 0, 7.0, true);
        let window = cwnd;
        grow(&mut cubic, &mut cwnd, 100, window, true);
        assert!(cwnd >= 7.0 + 2.0 * ALPHA - 1e-9, "{cwnd}");
        // A segment a window once it is what it was before the cut.
        cubic.curve.reno = 10.0;
        cwnd = 10.0;
        grow(&mut cubic, &mut cwnd, 200, 10.0, true);
        assert!((cwnd - 11.0).abs() < 1e-9, "{cwnd}");
    }

    #[test]
    fn on_cut__before_the_flat_point_gives_way() {
        let mut cubic = Cubic::default();
        cubic.on_cut(100.0);
        cubic.on_cut(80.0);
        assert!((cubic.curve.flat - 68.0).abs() < 1e-9);
        cubic.remember();
        cubic.on_cut(90.0);
        cubic.on_timeout();
        assert_eq!((cubic.curve.flat, cubic.curve.prior), (0.0, 90.0));
        cubic.undo();
        assert_eq!((cubic.curve.flat, cubic.curve.prior), (cubic.kept.flat, 80.0));
    }

    #[test]
    fn estimate__the_clock_stops_while_the_window_is_not_full() {
        let (mut cubic, mut cwnd) = (Cubic::default(), 700.0);
        cubic.on_cut(1_000.0);
        grow(&mut cubic, &mut cwnd, 0, 1.0, true);
        for ms in [100, 5_000, 9_000] {
            grow(&mut cubic, &mut cwnd, ms, 1.0, false);
        }
        assert_eq!(cubic.curve.epoch.map(|(began, _)| began), Some(Time::from_us(9_000_000)));
        cubic.on_restart();
        grow(&mut cubic, &mut cwnd, 9_500, 1.0, true);
        assert_eq!(cubic.curve.epoch.map(|(began, _)| began), Some(Time::from_us(9_500_000)));
    }
}
