//! The parameters of the built-in TCP. Times are [`Time`], windows count segments.
//!
//! Three sets are in use: today's standards ([`WindowRule::Pipe`], [`RtoRule::Rfc6298`], [`Restart::AtMostInitial`]); the
//! same with what Linux does beyond them ([`RtoRule::Linux`], [`LossDetection::RackTlp`], [`Reduction::Proportional`],
//! `undo`); and the ns-2 lineage of pFabric, PIAS and QCluster ([`WindowRule::FromCumulative`], [`RtoRule::Constant`],
//! [`Restart::Initial`]), as in its `tcp-full.cc`, `tcp.cc` and `spine_empirical.tcl`.

use flowsieve_core::Time;

use crate::constants::{Amount, Awaits, Constants, Named, Wait};
use crate::tcp::congestion::CongestionSpec;

/// The most doublings of a timeout that have an effect: 2^6 times the initial second is beyond the longest timeout, and so is
/// 2^20 times the shortest useful one.
pub const MOST_DOUBLINGS: u32 = 16;

/// The parameters of a TCP-like transport, shared by all connections of a class of flow.
#[derive(Clone, Debug)]
pub struct TcpParams {
    /// Payload of a full segment, in bytes.
    pub segment: u16,
    /// Initial window; 0 counts as 1.
    pub initial_window: u32,
    /// The largest window; the initial window is cut to it.
    pub max_window: u32,
    /// The smallest window that marks leave, at least 1; a timeout leaves a window of 1 whatever this is. Linux has 2
    /// (`dctcp_ssthresh`, `tcp_reno_ssthresh`). With 1 and a delayed ACK, each packet waits for the delay.
    pub min_window: u32,
    /// By how many segments a window grows in a round trip without marks, counted by the segments that are delivered; for
    /// controls that grow additively. `None`: by one, as the rule of the window counts.
    pub growth: Option<f64>,
    /// What the window limits.
    pub window: WindowRule,
    /// How many segments may be in the network, and how fast they leave.
    pub congestion: CongestionSpec,
    /// Whether data packets carry ECT; their host sets it.
    pub ecn: bool,
    /// How losses are found before the timer.
    pub loss_detection: LossDetection,
    /// Retransmission timer.
    pub rto: RtoRule,
    /// How often an estimated timeout may double while nothing is acknowledged. ns-2 stops at 6, which is 64 times
    /// (`rtt_backoff` in `tcp.cc`); RFC 6298 and Linux go on up to a limit of time.
    pub most_doublings: u32,
    /// Of what a loss leaves half.
    pub halves: Halves,
    /// How the window falls when a mark or a loss has cut it.
    pub reduction: Reduction,
    /// Whether the window is a whole number of segments, as Linux counts it (`snd_cwnd`, `snd_cwnd_cnt`). Then a cut of
    /// DCTCP of less than a segment does nothing. For [`WindowRule::Pipe`].
    pub whole_windows: bool,
    /// Whether cuts are taken back that turn out to be spurious: after a timeout by F-RTO (RFC 5682), after any by D-SACKs
    /// (RFC 2883) for all that was sent again.
    pub undo: bool,
    /// The segments from the oldest unacknowledged one on for which the receiver has room; `None`: as many as are sent.
    pub receive_window: Option<u32>,
    /// What happens to the window after an idle time longer than the RTO.
    pub restart: Restart,
    /// The receiver acknowledges every n-th segment; 1: each one.
    pub ack_every: u32,
    /// How long the receiver may hold an ACK back if `ack_every` is above 1.
    pub delayed_ack: Time,
    /// The first data packets of a connection that are acknowledged one by one, if `ack_every` is above 1.
    pub quick_acks: u32,
    /// Whether ACKs can be marked. No sender reacts to such marks.
    pub ecn_acks: bool,
    /// After this many timeouts in a row only probes are sent until one is answered (pFabric); `None`: never.
    pub probe_after: Option<u32>,
}

impl TcpParams {
    /// Returns the most segments between the oldest that is not acknowledged and the newest sent: room for a window of
    /// holes and a window beyond them.
    pub fn span(&self) -> u32 {
        self.max_window.max(1).saturating_mul(2)
    }

    /// Returns how many segments from the oldest missing one on a receiver keeps.
    pub fn kept(&self) -> u32 {
        if self.loss_detection == LossDetection::GoBack { 1 } else { self.span() }
    }

    /// Returns the most segments between the oldest that is not acknowledged and the next new one.
    #[inline]
    pub(crate) fn room(&self) -> u32 {
        self.span().min(self.receive_window.unwrap_or(u32::MAX)).max(1)
    }

    /// Returns whether an ACK that only acknowledges selectively is a delivery like any other, and not a sign of loss.
    #[inline]
    pub(crate) fn expects_reordering(&self) -> bool {
        !matches!(self.loss_detection, LossDetection::DupAck(_) | LossDetection::RackTlp | LossDetection::GoBack)
    }

    /// Returns the initial window in use: at least one segment, at most the largest window.
    pub(crate) fn initial(&self) -> f64 {
        f64::from(self.initial_window.min(self.max_window).max(1))
    }

    /// Returns the smallest window that marks leave, at most the largest window.
    pub(crate) fn least(&self) -> f64 {
        f64::from(self.min_window.min(self.max_window).max(1))
    }

    /// Returns the constants that have to fit the fabric.
    pub(super) fn constants(&self) -> Constants {
        let held = if self.ack_every > 1 { self.delayed_ack } else { Time::ZERO };
        let first_answer_held = if self.quick_acks > 0 { Time::ZERO } else { held };
        let again = "packets are sent again without a loss";
        let wait = |key, time, awaits, effect| Wait { key, time, awaits, held, attempts: None, effect };
        let first = |time| Wait {
            held: first_answer_held,
            ..wait("initial_rto", time, Awaits::Answer, "first windows are sent again without a loss")
        };
        let waits = match self.rto {
            RtoRule::Constant(time) => vec![wait("rto_min", time, Awaits::Answer, again)],
            RtoRule::Rfc6298 { min, initial } => vec![first(initial), wait("rto_min", min, Awaits::Measured, again)],
            RtoRule::Linux { min, initial } => vec![first(initial), wait("rto_min", min, Awaits::Added, again)],
        };
        let window = match self.receive_window.filter(|&room| room < self.max_window) {
            Some(room) => Named { key: "receive_window", amount: Amount::SizeInPackets(room) },
            None => Named { key: "max_window", amount: Amount::Packets(self.max_window) },
        };
        let first_window = Amount::Packets(self.initial_window.min(self.max_window).max(1));
        Constants {
            waits,
            window: Some(window),
            unasked: Some(Named { key: "initial_window", amount: first_window }),
            first_answer_held,
            reacts_to_marks: self.ecn,
        }
    }

    /// Returns the gaps for which the receiver compares priorities, if it does.
    pub(crate) fn gaps(&self) -> Option<Gaps> {
        match self.loss_detection {
            LossDetection::ByPriority(gaps) => Some(gaps),
            LossDetection::Off
            | LossDetection::DupAck(_)
            | LossDetection::Rack
            | LossDetection::RackTlp
            | LossDetection::GoBack => None,
        }
    }

    /// Returns whether anything depends on round-trip times.
    #[inline]
    pub(crate) fn measures_round_trips(&self) -> bool {
        self.rto.estimates() || matches!(self.loss_detection, LossDetection::Rack | LossDetection::RackTlp)
    }
}

/// Of what a loss or a timeout leaves half, under [`WindowRule::Pipe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halves {
    /// Of what is not acknowledged, FlightSize (RFC 5681 §3.1), at most the window.
    Flight,
    /// Of the window, as in Linux (`tcp_reno_ssthresh` in `net/ipv4/tcp_cong.c`): a loss in a short message does not make
    /// later messages begin anew.
    Window,
}

/// How the window falls when a mark or a loss has cut it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// At once. In fast recovery the window stays; after a mark it grows again with the next ACK that has none.
    AtOnce,
    /// In proportion to what arrives, over a round trip (RFC 9937), and it does not grow before the reduction has ended.
    /// After marks, too, as in Linux (`tcp_enter_cwr`, `tcp_cwnd_reduction` in `net/ipv4/tcp_input.c`). For
    /// [`WindowRule::Pipe`] and the built-in controls.
    Proportional,
}

/// What the congestion window limits, and how it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRule {
    /// ns-2's FullTcp: the span from the oldest segment that is not cumulatively acknowledged, so that a hole stalls the
    /// sender a window later. The window grows by a step and reacts to marks with each ACK that moves the cumulative edge,
    /// whether or not the sender has use for it. In a run of marked ACKs, only the first does not let it grow. In fast
    /// recovery the window limits the pipe. At a timeout the threshold is half the window, unless the last cut was for a
    /// mark: then it stays.
    FromCumulative,
    /// The segments believed in flight (RFC 6675's pipe), which lets a new segment out for each that is selectively
    /// acknowledged (RFC 3042). The window grows by the segments delivered (RFC 3465), while it is what limits the sender
    /// (RFC 7661). It does not grow with marked ACKs (RFC 3168), or with duplicate ones (RFC 5681) unless [`LossDetection`]
    /// expects reordering.
    Pipe,
}

/// How losses are found before the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// Not at all, only by the timer: for spraying.
    Off,
    /// By this many segments acknowledged above a hole (RFC 6675).
    DupAck(u32),
    /// By time (RFC 8985 §6), for networks that reorder.
    Rack,
    /// By time, and by probes where nothing is sent that could show a loss (RFC 8985, §6 and §7). Until a connection has
    /// seen reordering, three segments that arrived after one are enough to take that one for lost.
    RackTlp,
    /// By the receiver, which keeps nothing out of order and asks once for the segment that it misses: the sender sends that
    /// and all after it again (go-back-N). What RoCE's first network cards do, for lossless networks that keep the order. A
    /// segment that is lost again is found by the timer.
    GoBack,
    /// By the receiver, which compares the priorities on both sides of a gap (QCLIMB, NSDI 2024, §3.2), for flows that
    /// climb to higher priorities on one path. With equal priorities, the missing segments are lost. A loss where a
    /// priority ends is left to the timer.
    ByPriority(Gaps),
}

/// Which gaps a receiver that compares priorities reports, and what its sender takes for lost. The paper allows both
/// readings: an ACK tells "the OOO packet received" and has a flag (§3.2.2), and the sender retransmits "the first packet
/// that corresponds to the cumulative acknowledgment value" (§3.2.3).
///
/// As wide as the other contents of [`LossDetection`], so that each ACK finds that type's tag as a whole word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Gaps {
    /// The first gap, as §4.2 compares priorities: the one segment at the cumulative edge is lost, so a round trip repairs
    /// one hole.
    First,
    /// The gap below the packet that the ACK is about: everything missing in it is lost.
    Every,
}

/// The retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRule {
    /// One value, without estimation or back-off, as in ns-2's MinTCP of the pFabric lineage.
    Constant(Time),
    /// RFC 6298.
    Rfc6298 {
        /// Lower bound of the estimate.
        min: Time,
        /// The timeout before any estimate.
        initial: Time,
    },
    /// Linux's: SRTT + max(4 RTTVAR, `min`).
    Linux {
        /// Lower bound of what the timeout is above the smoothed round trip (`tcp_rto_min`).
        min: Time,
        /// The timeout before any estimate.
        initial: Time,
    },
}

/// What Linux adds to short timers, since its clock ticks (`TCP_TIMEOUT_MIN_US` in `include/net/tcp.h`).
const TICK: Time = Time(2_000_000_000);

impl RtoRule {
    /// Returns whether it estimates.
    #[inline]
    pub(crate) fn estimates(self) -> bool {
        !matches!(self, RtoRule::Constant(_))
    }

    /// Returns what is added to the timers of RACK and of probes.
    pub(crate) fn tick(self) -> Time {
        if matches!(self, RtoRule::Linux { .. }) { TICK } else { Time::ZERO }
    }

    /// The timeout before any measurement (RFC 6298 §2.1).
    pub const RFC_INITIAL: Time = Time(1_000_000_000_000);
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
