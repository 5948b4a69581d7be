//! What parameters may add to the repair of losses: a window that falls in proportion to what arrives, probes of the tail,
//! and the undoing of cuts that were spurious.

use flowsieve_core::Time;

use super::{Ack, Recovery, TcpSender};
use crate::tcp::congestion::Lost;
use crate::tcp::params::TcpParams;
use crate::tcp::probe::{Answer, Episode, Verdict};
use crate::tcp::reduction::{Delivery, Falling};
use crate::tcp::spurious::{Evidence, Proof};

impl TcpSender {
    /// Looks at an ACK for proof that a cut was spurious, and for what it tells about a probe. Of the ACK: the lowest
    /// segment that it delivers and that was sent once, whether it moved the edge, and how many segments it delivers.
    /// Returns whether it reports that a probe came twice.
    #[inline(never)]
    pub(super) fn weigh(
        &mut self,
        now: Time,
        ack: &Ack,
        (original, advanced, delivered): (Option<u32>, bool, u32),
        params: &TcpParams,
    ) -> bool {
        let (una, (from, to)) = (self.board.una, ack.block);
        let twice = (ack.duplicate && from == to).then_some(from);
        let episode = self.probe.as_ref().and_then(|probe| probe.episode);
        let probe_twice =
            episode.is_some_and(|Episode { end, again }| again && twice.is_some_and(|seq| seq + 1 == end));
        let evidence = Evidence {
            original,
            advanced,
            delivers: delivered > 0,
            marked: ack.marked,
            twice: ack.duplicate.then(|| if from < to { to } else { from.saturating_add(1) }),
            recovered: self.recovery == Recovery::Off,
            has_new: self.has_new(params),
        };
        let proof = match &mut self.spurious {
            Some(spurious) if params.undo => spurious.on_ack(una, evidence),
            Some(spurious) => {
                spurious.prune(una);
                Proof::Nothing
            }
            None => Proof::Nothing,
        };
        if let Proof::Spurious { restores } = proof {
            self.undo(restores, params);
        }
        let answer = Answer { cumulative: ack.cumulative, advanced, delivers: delivered > 0, twice };
        if let Some(probe) = &mut self.probe
            && probe.on_ack(answer) == Verdict::Repaired
            && self.recovery == Recovery::Off
        {
            // The window falls at once: there is nothing to repair (RFC 8985 §7.4.2, and Linux's tcp_process_tlp_ack).
            self.congestion.on_loss(&Lost { now, una, nxt: self.nxt }, params);
        }
        probe_twice
    }

    /// Takes back the last cut.
    #[cold]
    fn undo(&mut self, restores: bool, params: &TcpParams) {
        if matches!(self.recovery, Recovery::Timeout(_)) {
            self.board.lose_none();
            if let (Some(rack), Some(spurious)) = (&mut self.rack, &self.spurious) {
                rack.undo_timeout(|seq| spurious.was_sent_again(seq));
            }
        }
        self.recovery = Recovery::Off;
        self.falling = None;
        self.fast_due = false;
        if restores {
            self.congestion.undo(params);
        }
    }

    /// Begins an episode of cuts, with a loss.
    #[cold]
    pub(super) fn begin_episode(&mut self) {
        let probed = self.probe.as_ref().and_then(|probe| probe.episode).is_some_and(|episode| episode.again);
        if let Some(spurious) = &mut self.spurious {
            // While the window falls for a mark, a loss does not cut it, so there is nothing to restore.
            match self.falling {
                None => spurious.begin(self.board.una, probed),
                Some(_) => spurious.forget(),
            }
        }
        if let Some(probe) = &mut self.probe {
            probe.stop();
        }
        self.congestion.remember();
    }

    /// Begins an episode with a timeout, or goes on with the one that is under way. `again`: the timer has fired before.
    #[cold]
    pub(super) fn begin_episode_of_timeout(&mut self, again: bool) {
        let fresh = self.recovery == Recovery::Off;
        if fresh {
            // A mark's cut is not undone: the window before the timeout is the one that is restored.
            self.falling = None;
            self.begin_episode();
        }
        if let Some(probe) = &mut self.probe {
            probe.stop();
        }
        if let Some(spurious) = &mut self.spurious {
            spurious.on_timeout(self.nxt, fresh || again);
        }
    }

    /// Begins to let the window fall to what the control has set.
    pub(super) fn begin_fall(&mut self, for_mark: bool, params: &TcpParams) {
        if self.congestion.is_own() {
            return;
        }
        match &mut self.falling {
            Some(falling) => falling.go_on_until(self.nxt),
            None => {
                let flight = self.nxt - self.board.una - self.board.sacked;
                let most = params.max_window.max(1);
                self.falling = Some(Box::new(Falling::new(self.nxt, for_mark, (flight, self.in_flight()), most)));
            }
        }
    }

    /// Handles an ACK for a window that falls, or begins to fall because a mark has cut it.
    #[inline(never)]
    pub(super) fn fall(&mut self, delivered: u32, is_safe: bool, cut: bool, params: &TcpParams) {
        if cut && self.falling.is_none() && self.recovery == Recovery::Off {
            if let Some(spurious) = &mut self.spurious {
                spurious.forget();
            }
            self.begin_fall(true, params);
        }
        let in_flight = self.in_flight();
        let Some(falling) = &mut self.falling else { return };
        if !matches!(self.recovery, Recovery::Fast(_)) && falling.is_over(self.board.una) {
            self.falling = None;
            return;
        }
        falling.on_ack(Delivery { delivered, is_safe, in_flight }, self.congestion.window(params));
    }

    /// Returns whether there is a new segment that the receiver has room for.
    fn has_new(&self, params: &TcpParams) -> bool {
        self.nxt < self.messages.end() && self.nxt - self.board.una < params.room()
    }

    /// Sets the timer of the tail's probe, or stops it: nothing is outstanding, or a loss is being repaired or near (RFC
    /// 8985 §7.2).
    pub(super) fn time_probe(&mut self, now: Time, params: &TcpParams) {
        let outstanding = self.nxt - self.board.una;
        let Some(probe) = &mut self.probe else { return };
        if outstanding == 0 || self.board.sacked > 0 || self.board.lost > 0 || self.recovery != Recovery::Off {
            probe.deadline = Time::NEVER;
            probe.due = false;
        } else {
            probe.arm(now, outstanding, self.rto.round_trips().smoothed, self.deadline, params);
        }
    }

    /// Handles the probe's timer. At most one probe is under way (RFC 8985 §7.3).
    #[cold]
    pub(super) fn probe_tail(&mut self, now: Time, params: &TcpParams) {
        let Some(probe) = &mut self.probe else { return };
        probe.deadline = Time::NEVER;
        probe.due = probe.episode.is_none();
        self.deadline = self.rto.deadline(now, params.rto);
    }

    /// Takes the probe that is due: a segment, and whether it was sent before.
    #[cold]
    pub(super) fn take_probe(&mut self, params: &TcpParams) -> Option<(u32, bool)> {
        let (seq, again) = self.next_probe(params)?;
        if let Some(probe) = &mut self.probe {
            probe.due = false;
            probe.episode = Some(Episode { end: seq + 1, again });
        }
        Some((seq, again))
    }

    /// Returns the same, and leaves it.
    #[inline]
    pub(super) fn next_probe(&self, params: &TcpParams) -> Option<(u32, bool)> {
        self.probe.as_ref().filter(|probe| probe.due)?;
        let new = self.has_new(params);
        (self.nxt > self.board.una).then(|| if new { (self.nxt, false) } else { (self.nxt - 1, true) })
    }
}
