//! HPCC (Li et al., SIGCOMM 2019): a window from the telemetry of each switch on the way, so that the bytes in flight on the
//! fullest link stay at a share eta of what it holds in a base round trip.
//!
//! Algorithm 1 of the paper. Windows and paces count payload; links count what is on the wire, and the division by their
//! utilisation absorbs the difference. Switches must write stamps into data ([`flowsieve_core::hops::stamps`]). A flow that takes
//! another way begins to measure anew.
//!
//! The authors' simulator keeps a rate where the paper keeps a window; with a window in proportion to it, as in their runs, the
//! law is the same but for a least rate ([`HpccRules::least_bytes`]). That utilisation begins at 1 is from there, too. Stamps
//! here are exact, where their header has 24 bits of nanoseconds and 20 of bytes, which wrap.

use std::num::NonZeroU64;

use arrayvec::ArrayVec;
use flowsieve_core::Time;
use flowsieve_core::hop::{MOST_STAMPS, Stamp, Trail};

use super::control::{Acked, CongestionControl, Lost, WINDOW};
use super::{CongestionSpec, Observed};
use crate::tcp::params::TcpParams;

/// HPCC with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HpccRules {
    /// T: the base round trip of the network.
    pub base_round_trip: Time,
    /// The rate of hosts, in bit/s.
    pub host_bps: u64,
    /// Eta: the utilisation to keep to.
    pub target: f64,
    /// Increases by addition before the first by multiplication.
    pub max_stage: u32,
    /// W_AI: bytes added to the window in a round trip.
    pub additive_bytes: f64,
    /// The least window. A byte leaves the window to the paper's law.
    pub least_bytes: f64,
}

impl HpccRules {
    /// Returns the control's specification.
    pub fn spec(self) -> CongestionSpec {
        CongestionSpec::ruled(self, Hpcc::new)
    }

    /// Returns what the host's line sends in a base round trip, in bytes: the first and the largest window.
    pub fn most_window(&self) -> f64 {
        self.host_bps as f64 / 8.0 * self.base_round_trip.as_secs()
    }
}

/// HPCC's control of a connection.
#[derive(Clone, Debug)]
pub struct Hpcc {
    rules: HpccRules,
    segment: f64,
    most: f64,
    /// W and W_c, in bytes.
    window: f64,
    reference: f64,
    stage: u32,
    /// The reference window changes when a segment from here on is acknowledged. `None`: no stamps have come yet.
    update_at: Option<u32>,
    /// U: smoothed inflight bytes over what the link holds.
    utilisation: f64,
    /// The same with the newest stamps, until their ACK is handled.
    measured: Option<f64>,
    /// The latest stamps, and the way that they tell of.
    last: ArrayVec<Stamp, MOST_STAMPS>,
    way: u16,
}

impl Hpcc {
    fn new(rules: HpccRules, params: &TcpParams) -> Hpcc {
        let most = rules.most_window();
        Hpcc {
            rules,
            segment: f64::from(params.segment),
            most,
            window: most,
            reference: most,
            stage: 0,
            update_at: None,
            utilisation: 1.0,
            measured: None,
            last: ArrayVec::new(),
            way: 0,
        }
    }

    /// `MeasureInflight`. `None`: the stamps are of another path, or older.
    fn measure(&self, trail: &Trail) -> Option<f64> {
        if self.last.is_empty() || trail.way != self.way || trail.stamps.len() != self.last.len() {
            return None;
        }
        let base = self.rules.base_round_trip.0 as f64;
        let (mut most, mut tau) = (0.0, 0.0);
        for (new, old) in trail.stamps.iter().zip(&self.last) {
            let span = new.at.0.checked_sub(old.at.0).filter(|&span| span > 0)? as f64;
            // Picoseconds that a byte takes.
            let byte = new.byte_time.serialise(1 << 16).0 as f64 / f64::from(1 << 16);
            let sent = new.sent_bytes.checked_sub(old.sent_bytes)? as f64 * byte / span;
            let queued = new.backlog.min(old.backlog) as f64 * byte / base;
            if sent + queued > most {
                (most, tau) = (sent + queued, span.min(base));
            }
        }
        Some(self.utilisation + (most - self.utilisation) * tau / base)
    }

    /// `ComputeWind`.
    fn compute(&mut self, update: bool) {
        let HpccRules { target, max_stage, additive_bytes, least_bytes, .. } = self.rules;
        let full = self.utilisation >= target || self.stage >= max_stage;
        let grown = if full { self.reference / (self.utilisation / target) } else { self.reference };
        self.window = (grown + additive_bytes).clamp(least_bytes.min(self.most), self.most);
        if update {
            self.stage = if full { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }
}

impl CongestionControl for Hpcc {
    fn on_trail(&mut self, trail: &Trail) {
        self.measured = self.measure(trail);
        let newer = trail.stamps.first().is_some_and(|new| self.last.first().is_none_or(|last| last.at < new.at));
        if newer {
            self.last.clone_from(&trail.stamps);
            self.way = trail.way;
        }
    }

    fn on_ack(&mut self, ack: &Acked<'_>, _: &TcpParams) {
        let Some(update_at) = self.update_at else {
            // The first stamps only begin the measurement.
            self.update_at = (!self.last.is_empty()).then_some(ack.nxt);
            return;
        };
        let Some(utilisation) = self.measured.take() else { return };
        let update = ack.una > update_at;
        self.utilisation = utilisation;
        self.compute(update);
        if update {
            self.update_at = Some(ack.nxt);
        }
    }

    /// Nothing: the paper leaves losses to go-back-N, and windows to telemetry.
    fn on_loss(&mut self, _: &Lost, _: &TcpParams) {}

    fn on_timeout(&mut self, _: &Lost, _: bool, _: &TcpParams) {}

    /// A segment may leave while fewer bytes than the window are in flight.
    fn window(&self) -> u32 {
        libm::ceil(self.window / self.segment) as u32
    }

    fn pacing_rate(&self) -> Option<NonZeroU64> {
        NonZeroU64::new((self.window * 8.0 / self.rules.base_round_trip.as_secs()) as u64)
    }

    fn is_cut(&self, _: &TcpParams) -> bool {
        self.window < self.most
    }

    fn observe(&self, see: &mut dyn FnMut(Observed<'_>)) {
        see(&[(WINDOW, self.window / self.segment), ("hpcc utilisation", self.utilisation)]);
    }
}
