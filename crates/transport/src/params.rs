//! What a TCP of this house can be set to. Times are [`Time`], windows count segments.

use flowsieve_core::Time;

/// The parameters of a TCP-like transport, shared by all connections of a class of flow.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpParams {
    /// Payload of a full segment, in bytes.
    pub segment: u16,
    /// Initial window.
    pub initial_window: u32,
    /// The window never grows beyond.
    pub max_window: u32,
    /// What the window limits.
    pub window: WindowRule,
    /// Response to marks.
    pub congestion: Congestion,
    /// Whether packets carry ECT.
    pub ecn: bool,
    /// How losses are found before the timer.
    pub loss_detection: LossDetection,
    /// Retransmission timer.
    pub rto: RtoRule,
    /// What happens to the window after an idle time longer than the RTO.
    pub restart: Restart,
    /// The receiver acknowledges every n-th segment; 1: each.
    pub ack_every: u32,
    /// How long the receiver may hold an ACK back where `ack_every` is above 1.
    pub delayed_ack: Time,
    /// After so many timeouts in a row only probes are sent until one is answered (pFabric); `None`: never.
    pub probe_after: Option<u32>,
}

impl TcpParams {
    /// The most segments between the oldest that is not acknowledged and the newest sent: room for a window of holes
    /// and a window beyond them.
    pub fn span(&self) -> u32 {
        2 * self.max_window
    }

    /// Whether anything depends on round-trip times.
    #[inline]
    pub(crate) fn measures_round_trips(&self) -> bool {
        matches!(self.rto, RtoRule::Rfc6298 { .. }) || self.loss_detection == LossDetection::Rack
    }
}

/// What the congestion window limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRule {
    /// The span from the oldest segment that is not cumulatively acknowledged, as ns-2's FullTcp: a hole stalls the
    /// sender a window later. The window grows once an ACK that moves the cumulative edge.
    FromCumulative,
    /// The segments believed in flight (RFC 6675's pipe). The window grows by the segments delivered, while it is what
    /// limits the sender (RFC 3465, RFC 7661).
    Pipe,
}

/// Response to ECN marks; both halve on loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Congestion {
    /// NewReno: a mark counts as a loss (RFC 3168 §6.1.2).
    NewReno,
    /// DCTCP (RFC 8257): cut by half the smoothed marked fraction.
    Dctcp {
        /// Gain g of the estimate.
        gain: f64,
        /// Alpha before anything is known: 1 in RFC 8257 §4.2, 0 in ns-2.
        initial_alpha: f64,
    },
}

/// How losses are found before the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// Not at all: under spraying, with the timer alone.
    Off,
    /// By so many segments acknowledged above a hole (RFC 6675).
    DupAck(u32),
    /// By time (RFC 8985), for networks that reorder.
    Rack,
}

/// The retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRule {
    /// One value, without estimation or back-off, as ns-2's MinTCP of the pFabric lineage.
    Constant(Time),
    /// RFC 6298.
    Rfc6298 {
        /// Lower bound.
        min: Time,
    },
}

/// Slow-start restart (RFC 5681 §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// The window stays.
    Off,
    /// The window becomes the initial window, larger or smaller than it was (ns-2).
    Initial,
    /// The window shrinks to the initial window.
    AtMostInitial,
}
