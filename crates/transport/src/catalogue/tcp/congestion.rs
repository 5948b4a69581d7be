//! The congestion window: slow start and congestion avoidance (RFC 5681 §3.1), the response to marks (RFC 3168 §6.1.2),
//! DCTCP's estimate and cut (RFC 8257 §3.3), D2TCP's cut (SIGCOMM 2012), the response to losses (RFC 6675 §5,
//! RFC 5681 §3.1).
//!
//! Windows count segments and have fractions. Left out: the limit of appropriate byte counting to two segments an ACK in
//! slow start (RFC 3465 §2.2), which only matters where ACKs are lost; proportional rate reduction (RFC 6937); a timer at a
//! window of one that is still marked (RFC 3168 §6.1.2).

use flowsieve_core::Time;

use crate::tcp::params::{Congestion, TcpParams, WindowRule};

/// Window and estimate of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Congestion window in segments, at least 1.
    pub(crate) cwnd: f64,
    ssthresh: f64,
    /// Smoothed fraction of marked segments.
    pub(crate) alpha: f64,
    /// Segments delivered, and those of them that were marked, in the current observation window.
    delivered: u32,
    marked: u32,
    /// The observation window ends when a segment from here on is acknowledged.
    observe_until: u32,
    /// A mark cuts again when a segment from here on is acknowledged: once a window.
    cut_until: u32,
    /// The last cut was for a mark.
    cut_for_mark: bool,
    /// The ACK before was marked.
    in_run: bool,
}

/// What one ACK brought.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Segments newly known to have arrived.
    pub(crate) delivered: u32,
    /// Whether the cumulative edge moved.
    pub(crate) advanced: bool,
    pub(crate) marked: bool,
    /// The window, and nothing else, held the sender back.
    pub(crate) limited: bool,
    /// In fast recovery: neither growth nor another cut.
    pub(crate) recovering: bool,
    pub(crate) una: u32,
    pub(crate) nxt: u32,
}

impl Window {
    pub(crate) fn new(params: &TcpParams) -> Window {
        let alpha = match params.congestion {
            Congestion::Dctcp { initial_alpha, .. } | Congestion::D2tcp { initial_alpha, .. } => initial_alpha,
            Congestion::NewReno => 0.0,
        };
        Window {
            cwnd: params.initial(),
            ssthresh: f64::from(params.max_window).max(2.0),
            alpha,
            delivered: 0,
            marked: 0,
            observe_until: 0,
            cut_until: 0,
            cut_for_mark: false,
            in_run: false,
        }
    }

    /// Segments that the window allows.
    #[inline]
    pub(crate) fn segments(&self) -> u32 {
        self.cwnd as u32
    }

    /// Whether a mark or a loss has made it what it is: it was cut, and has not come to its limit since.
    #[inline]
    pub(crate) fn is_cut(&self, params: &TcpParams) -> bool {
        let most = f64::from(params.max_window);
        self.ssthresh < most && self.cwnd < most
    }

    /// An ACK arrived. `imminence`: D2TCP's exponent for a window, asked for where it matters.
    #[inline]
    pub(crate) fn on_delivery(&mut self, ack: Delivery, params: &TcpParams, imminence: impl FnOnce(f64) -> f64) {
        if let Congestion::Dctcp { gain, .. } | Congestion::D2tcp { gain, .. } = params.congestion {
            self.observe(&ack, gain);
        }
        let ns2 = params.window == WindowRule::FromCumulative;
        if ack.recovering || (ns2 && !ack.advanced) {
            return;
        }
        let in_run = std::mem::replace(&mut self.in_run, ack.marked);
        if ack.marked && ack.una > self.cut_until {
            let keep = match params.congestion {
                Congestion::Dctcp { .. } => 1.0 - self.alpha / 2.0,
                Congestion::D2tcp { .. } => 1.0 - libm::pow(self.alpha, imminence(self.cwnd)) / 2.0,
                Congestion::NewReno => 0.5,
            };
            self.cwnd = (self.cwnd * keep).max(1.0);
            self.ssthresh = self.cwnd.max(2.0);
            self.cut_until = ack.nxt;
            self.cut_for_mark = true;
        }
        if !ack.marked || (ns2 && in_run) {
            self.grow(match params.window {
                WindowRule::FromCumulative => 1.0,
                WindowRule::Pipe if ack.limited && (ack.advanced || params.expects_reordering()) => {
                    f64::from(ack.delivered)
                }
                WindowRule::Pipe => return,
            });
            self.cwnd = self.cwnd.min(f64::from(params.max_window.max(1)));
        }
    }

    /// RFC 8257 §3.3, steps 1 to 8.
    #[inline]
    fn observe(&mut self, ack: &Delivery, gain: f64) {
        self.delivered += ack.delivered;
        self.marked += if ack.marked { ack.delivered } else { 0 };
        if ack.una > self.observe_until && self.delivered > 0 {
            let fraction = f64::from(self.marked) / f64::from(self.delivered);
            self.alpha += gain * (fraction - self.alpha);
            self.delivered = 0;
            self.marked = 0;
            self.observe_until = ack.nxt;
        }
    }

    /// By one for each of `steps` segments up to the threshold, and by one for each window of them beyond.
    #[inline]
    fn grow(&mut self, steps: f64) {
        let slow = (self.ssthresh - self.cwnd).max(0.0).min(steps);
        self.cwnd += slow;
        self.cwnd += (steps - slow) / self.cwnd;
    }

    /// Duplicate ACKs or RACK found losses with `flight` segments out; the repair ends at `nxt`.
    ///
    /// In a window that a mark has cut, NewReno does not cut again (RFC 3168 §6.1.2); DCTCP does, as a mark's cut may be
    /// small (RFC 8257 §3.4; Linux and ns-2 alike).
    pub(crate) fn on_loss(&mut self, flight: f64, (una, nxt): (u32, u32), params: &TcpParams) {
        if una < self.cut_until && self.cut_for_mark && params.congestion == Congestion::NewReno {
            return;
        }
        self.ssthresh = (flight / 2.0).max(2.0);
        self.cwnd = self.ssthresh;
        self.cut_until = nxt;
        self.cut_for_mark = false;
    }

    /// The retransmission timer fired; `again`: not the first time for the oldest segment (RFC 5681 §3.1).
    pub(crate) fn on_timeout(&mut self, flight: f64, (una, nxt): (u32, u32), again: bool, params: &TcpParams) {
        let halved = (flight / 2.0).max(2.0);
        self.cut_until = nxt;
        match params.window {
            WindowRule::Pipe if again => {}
            WindowRule::Pipe => self.ssthresh = halved,
            WindowRule::FromCumulative if self.cut_for_mark => {}
            WindowRule::FromCumulative => {
                self.ssthresh = halved;
                self.cut_until = una;
            }
        }
        self.cwnd = 1.0;
    }

    /// The SYN was lost: the first window is one segment (RFC 5681 §3.1). ns-2 does not know of this.
    pub(crate) fn on_lost_handshake(&mut self, params: &TcpParams) {
        if params.window == WindowRule::Pipe {
            self.cwnd = 1.0;
        }
    }
}

/// D2TCP's exponent d for a message with so much left to deliver: the time that this takes at three quarters of the
/// window a round trip, which a sawtooth has on average, over the time that is left until the deadline; 0.5 to 2. It is
/// 1, DCTCP's, without a deadline, and after one that has passed, of which the paper says nothing.
pub(crate) fn imminence(segments_left: f64, cwnd: f64, round_trip: Time, deadline: Option<Time>, now: Time) -> f64 {
    match deadline.map(|deadline| deadline.since(now)) {
        None | Some(Time::ZERO) => 1.0,
        Some(left) => (segments_left / (0.75 * cwnd) * round_trip.0 as f64 / left.0 as f64).clamp(0.5, 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imminence__time_needed_over_time_left() {
        let (now, round_trip) = (Time::from_us(1_000), Time::from_us(100));
        // 30 segments at 15 a round trip take 200 us.
        let of = |deadline| imminence(30.0, 20.0, round_trip, deadline, now);
        assert_eq!(of(Some(Time::from_us(1_200))), 1.0);
        assert_eq!(of(Some(Time::from_us(1_160))), 1.25);
        assert_eq!(of(Some(Time::from_us(1_250))), 0.8);
        assert_eq!([1_001, 9_000].map(|us| of(Some(Time::from_us(us)))), [2.0, 0.5]);
        assert_eq!([Some(Time::from_us(1_000)), Some(Time::ZERO), None].map(of), [1.0; 3]);
    }
}
