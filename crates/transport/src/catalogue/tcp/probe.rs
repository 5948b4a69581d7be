//! Tail loss probes (RFC 8985 §7): a segment that is sent when nothing has been heard for about two round trips, so that
//! its ACK shows what was lost.
//!
//! The probe is the next new segment if there is one and the receiver has room, and otherwise the last one again; the
//! window is no limit. RACK then finds the losses. If the probe itself repaired the only loss, no ACK shows it, and the
//! window is cut by the end of the episode (§7.4).
//!
//! Linux adds a tick to the timer, and `rto_min` if one segment is outstanding (`tcp_schedule_loss_probe` in
//! `net/ipv4/tcp_output.c`). With the other timers, that addition is the time for which this receiver may hold an ACK back;
//! the RFC's 200 ms stand for receivers of which a sender knows nothing. After a probe the retransmission timer starts anew
//! (§7.3); Linux counts it from the oldest segment's transmission.

use flowsieve_core::Time;

use crate::tcp::params::{RtoRule, TcpParams};

/// A connection's probes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// When one is due (PTO); [`Time::NEVER`]: the timer is off.
    pub(crate) deadline: Time,
    /// One is to be sent.
    pub(crate) due: bool,
    /// One is under way.
    pub(crate) episode: Option<Episode>,
}

/// A probe under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Episode {
    /// One past the last segment that had been sent, with the probe (`TLP.end_seq`).
    pub(crate) end: u32,
    /// The probe was a segment that had been sent before.
    pub(crate) again: bool,
}

/// What an ACK tells about the probe under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing, or no loss.
    Nothing,
    /// The probe repaired a loss.
    Repaired,
}

/// What of an ACK matters for a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) cumulative: u32,
    pub(crate) advanced: bool,
    /// It delivers something, selectively or not.
    pub(crate) delivers: bool,
    /// The segment that it reports to have come twice, if that is below `cumulative`.
    pub(crate) twice: Option<u32>,
}

impl Default for Probe {
    fn default() -> Probe {
        Probe { deadline: Time::NEVER, due: false, episode: None }
    }
}

impl Probe {
    /// Starts the timer (§7.2). `outstanding`: segments that are not cumulatively acknowledged. `smoothed`: the smoothed
    /// round trip, zero if none is known. `rto`: when the retransmission timer fires, which is no earlier.
    pub(crate) fn arm(&mut self, now: Time, outstanding: u32, smoothed: Time, rto: Time, params: &TcpParams) {
        let wait = if smoothed == Time::ZERO {
            RtoRule::RFC_INITIAL
        } else {
            let alone = match params.rto {
                RtoRule::Linux { min, .. } => min,
                _ if params.ack_every > 1 => params.delayed_ack,
                _ => Time::ZERO,
            };
            // As long as the receiver may wait for further segments.
            let more = if outstanding < params.ack_every.max(2) { alone } else { params.rto.tick() };
            Time((2 * smoothed.0).saturating_add(more.0))
        };
        self.deadline = Time(now.0.saturating_add(wait.0)).min(rto);
    }

    /// Stops everything: a loss or a timeout is being repaired.
    pub(crate) fn stop(&mut self) {
        *self = Probe::default();
    }

    /// Handles an ACK (§7.4.2).
    pub(crate) fn on_ack(&mut self, answer: Answer) -> Verdict {
        let Answer { cumulative, advanced, delivers, twice } = answer;
        let Some(Episode { end, again }) = self.episode.filter(|episode| cumulative >= episode.end) else {
            return Verdict::Nothing;
        };
        let repaired = again && twice.is_none_or(|seq| seq + 1 != end) && cumulative > end;
        let both_arrived = twice.is_some_and(|seq| seq + 1 == end) || !(advanced || delivers);
        if !again || both_arrived || repaired {
            self.episode = None;
        }
        if repaired { Verdict::Repaired } else { Verdict::Nothing }
    }
}
