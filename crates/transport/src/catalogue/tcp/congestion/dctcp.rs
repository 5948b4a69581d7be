//! DCTCP (RFC 8257): a mark cuts the window by half the smoothed fraction of marked segments.

use super::control::{Acked, CongestionRules};
use super::window::{Additive, Response};
use crate::tcp::params::TcpParams;

/// DCTCP with its parameters.
#[derive(Clone, Copy, Debug)]
pub struct DctcpRules {
    /// Gain g of the estimate.
    pub gain: f64,
    /// Alpha before any estimate: 1 in RFC 8257 §4.2, 0 in ns-2.
    pub initial_alpha: f64,
}

impl CongestionRules for DctcpRules {
    type Control = Additive<Dctcp>;

    fn build(&self, params: &TcpParams) -> Additive<Dctcp> {
        Additive::new(Dctcp::new(self), params)
    }
}

/// The estimate of the marked fraction (RFC 8257 §3.3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dctcp {
    /// Smoothed fraction of marked segments.
    pub(super) alpha: f64,
    /// The weight of the newest window in the estimate.
    gain: f64,
    /// Segments delivered in the current observation window, and those of them that were marked.
    delivered: u32,
    marked: u32,
    /// The observation window ends when a segment from here on is acknowledged.
    observe_until: u32,
}

impl Dctcp {
    pub(super) fn new(&DctcpRules { gain, initial_alpha }: &DctcpRules) -> Dctcp {
        Dctcp { alpha: initial_alpha, gain, delivered: 0, marked: 0, observe_until: 0 }
    }
}

impl Response for Dctcp {
    const LOSS_CUTS_AGAIN: bool = true;
    const TAKES_WHOLE_SEGMENTS: bool = true;

    /// Runs RFC 8257 §3.3, steps 1 to 8.
    #[inline]
    fn estimate(&mut self, ack: &Acked<'_>) {
        self.delivered += ack.delivered;
        self.marked += if ack.marked { ack.delivered } else { 0 };
        if ack.una > self.observe_until && self.delivered > 0 {
            let fraction = f64::from(self.marked) / f64::from(self.delivered);
            self.alpha += self.gain * (fraction - self.alpha);
            self.delivered = 0;
            self.marked = 0;
            self.observe_until = ack.nxt;
        }
    }

    #[inline]
    fn keep(&self, _: f64, _: &Acked<'_>) -> f64 {
        1.0 - self.alpha / 2.0
    }

    fn alpha(&self) -> Option<f64> {
        Some(self.alpha)
    }
}
