//! The congestion window: slow start and congestion avoidance (RFC 5681), DCTCP's estimate and cut (RFC 8257 §3.3).

use crate::params::{Congestion, TcpParams, WindowRule};

/// Window and estimate of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Congestion window in segments.
    pub(crate) cwnd: f64,
    ssthresh: f64,
    /// Smoothed fraction of marked segments.
    pub(crate) alpha: f64,
    delivered: u32,
    marked: u32,
    /// Where the current observation window ends.
    observe_until: u32,
    /// A second mark does not cut again before this segment is acknowledged.
    cut_until: u32,
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
    /// Losses are being repaired: no growth.
    pub(crate) recovering: bool,
    pub(crate) una: u32,
    pub(crate) nxt: u32,
}

impl Window {
    pub(crate) fn new(params: &TcpParams) -> Window {
        let alpha = match params.congestion {
            Congestion::Dctcp { initial_alpha, .. } => initial_alpha,
            Congestion::NewReno => 0.0,
        };
        Window {
            cwnd: f64::from(params.initial_window),
            ssthresh: f64::from(params.max_window),
            alpha,
            delivered: 0,
            marked: 0,
            observe_until: 0,
            cut_until: 0,
        }
    }

    /// Segments that the window allows.
    #[inline]
    pub(crate) fn segments(&self) -> u32 {
        self.cwnd as u32
    }

    /// An ACK arrived.
    #[inline]
    pub(crate) fn on_delivery(&mut self, ack: Delivery, params: &TcpParams) {
        if let Congestion::Dctcp { gain, .. } = params.congestion {
            self.delivered += ack.delivered;
            self.marked += if ack.marked { ack.delivered } else { 0 };
            if ack.una >= self.observe_until && self.delivered > 0 {
                let fraction = f64::from(self.marked) / f64::from(self.delivered);
                self.alpha += gain * (fraction - self.alpha);
                self.delivered = 0;
                self.marked = 0;
                self.observe_until = ack.nxt;
            }
        }
        if ack.marked {
            if ack.una >= self.cut_until && !ack.recovering {
                let keep = match params.congestion {
                    Congestion::Dctcp { .. } => 1.0 - self.alpha / 2.0,
                    Congestion::NewReno => 0.5,
                };
                self.cwnd = (self.cwnd * keep).max(1.0);
                self.ssthresh = self.cwnd.max(2.0);
                self.cut_until = ack.nxt;
            }
        } else if !ack.recovering {
            self.grow(ack, params);
        }
    }

    #[inline]
    fn grow(&mut self, ack: Delivery, params: &TcpParams) {
        let steps = match params.window {
            WindowRule::FromCumulative => f64::from(u8::from(ack.advanced)),
            WindowRule::Pipe if ack.limited => f64::from(ack.delivered),
            WindowRule::Pipe => 0.0,
        };
        if steps == 0.0 {
            return;
        }
        let step = if self.cwnd < self.ssthresh { steps } else { steps / self.cwnd };
        self.cwnd = (self.cwnd + step).min(f64::from(params.max_window));
    }

    /// A loss was detected with `flight` segments out; the repair ends at `nxt`.
    pub(crate) fn on_loss(&mut self, flight: f64, nxt: u32) {
        self.ssthresh = (flight / 2.0).max(2.0);
        self.cwnd = self.ssthresh;
        self.cut_until = nxt;
    }

    /// The retransmission timer fired; `again`: for the same data.
    pub(crate) fn on_timeout(&mut self, flight: f64, nxt: u32, again: bool) {
        if !again {
            self.ssthresh = (flight / 2.0).max(2.0);
        }
        self.cwnd = 1.0;
        self.cut_until = nxt;
    }
}
