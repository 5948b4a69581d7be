//! What a sender emits: whether a segment may leave, and which one.

use flowsieve_core::Time;

use super::{Emission, Phase, Recovery, TcpSender};
use crate::tcp::congestion::Sent;
use crate::tcp::header::Header;
use crate::tcp::params::{TcpParams, WindowRule};

impl TcpSender {
    /// Returns the next packet that may be sent now.
    #[inline(always)]
    pub fn poll(&mut self, now: Time, params: &TcpParams) -> Option<Emission> {
        if self.phase != Phase::Open {
            return self.poll_control(now, params);
        }
        if self.congestion.is_own() {
            return self.poll_own(now, params);
        }
        self.poll_open(now, params)
    }

    /// Returns the segment that [`TcpSender::poll`] would emit next if the window allowed it, and whether that was sent
    /// before; `None` if it is no segment, or there is none.
    pub(crate) fn next_segment(&self, params: &TcpParams) -> Option<(u32, bool)> {
        if self.phase != Phase::Open {
            return None;
        }
        if let Some(probe) = self.next_probe(params) {
            return Some(probe);
        }
        let lost = if self.repairs() { self.board.first_lost() } else { None };
        lost.map(|seq| (seq, true)).or_else(|| (self.nxt < self.messages.end()).then_some((self.nxt, false)))
    }

    /// Returns whether lost segments go before new ones.
    #[inline]
    fn repairs(&self) -> bool {
        self.board.lost > 0 && self.spurious.as_ref().is_none_or(|spurious| !spurious.holds_lost())
    }

    #[inline(always)]
    fn poll_open(&mut self, now: Time, params: &TcpParams) -> Option<Emission> {
        if self.repairs() {
            return self.poll_lost(now, params);
        }
        if self.next_probe(params).is_some() {
            return self.poll_probe(now, params);
        }
        let seq = self.nxt;
        if seq == self.messages.end() {
            self.limited = false;
            return None;
        }
        if !self.allows(seq, params) || seq - self.board.una >= params.room() {
            // A window that the receiver's is smaller than does not grow (RFC 7661).
            self.limited = params.receive_window.is_none_or(|room| seq - self.board.una < room);
            self.waiting.hold_back(now);
            return None;
        }
        self.nxt += 1;
        self.sent(now, seq, params);
        if self.probe.is_some() {
            self.time_probe(now, params);
        }
        Some(Emission::Segment { seq, retransmission: false })
    }

    /// Sends the tail's probe, whatever the window says.
    #[inline(never)]
    fn poll_probe(&mut self, now: Time, params: &TcpParams) -> Option<Emission> {
        let (seq, retransmission) = self.take_probe(params)?;
        if !retransmission {
            self.nxt += 1;
            self.sent(now, seq, params);
            return Some(Emission::Segment { seq, retransmission });
        }
        self.sent_again(seq);
        self.last_sent = now;
        if let Some(rack) = &mut self.rack {
            rack.on_probe(now, seq);
        }
        Some(Emission::Segment { seq, retransmission })
    }

    /// Notes that a segment is sent again.
    fn sent_again(&mut self, seq: u32) {
        if let Some(span) = self.messages.of_mut(seq) {
            span.effort.retransmissions += 1;
        }
        if let Some(spurious) = &mut self.spurious {
            spurious.on_sent_again(seq);
        }
    }

    /// Does the same with a custom congestion control, which may pace segments and hears of those that leave.
    #[inline(never)]
    fn poll_own(&mut self, now: Time, params: &TcpParams) -> Option<Emission> {
        self.congestion.own()?.on_time(now);
        let may_send = self.may_send(params);
        if self.congestion.own()?.holds_back(now, may_send) {
            // In this case the window does not limit the sender.
            self.limited = false;
            return None;
        }
        let emission = self.poll_open(now, params);
        let in_flight = self.in_flight();
        if let (Some(Emission::Segment { seq, .. }), Some(own)) = (emission, self.congestion.own())
            && let Some(span) = self.messages.of(seq)
        {
            own.on_sent(&Sent { now, bytes: span.payload(seq, params.segment), in_flight }, params);
        }
        emission
    }

    /// Returns whether an open connection has a segment that its window allows.
    fn may_send(&self, params: &TcpParams) -> bool {
        if self.next_probe(params).is_some() {
            return true;
        }
        let lost = if self.repairs() { self.board.first_lost() } else { None };
        match lost {
            Some(seq) => self.fast_due || self.allows(seq, params),
            None => {
                let seq = self.nxt;
                seq < self.messages.end() && self.allows(seq, params) && seq - self.board.una < params.room()
            }
        }
    }

    #[inline(never)]
    fn poll_control(&mut self, now: Time, params: &TcpParams) -> Option<Emission> {
        match self.phase {
            Phase::SynDue => {
                self.phase = Phase::SynSent;
                self.arm(now, false, params);
                self.waiting.hold_back(now);
                Some(Emission::Control(Header::Syn))
            }
            Phase::ProbeDue => {
                self.phase = Phase::ProbeSent;
                Some(Emission::Control(Header::Probe))
            }
            Phase::SynSent | Phase::ProbeSent | Phase::Open => None,
        }
    }

    /// Fills holes before anything new is sent (RFC 6675 §4, NextSeg).
    #[inline(never)]
    fn poll_lost(&mut self, now: Time, params: &TcpParams) -> Option<Emission> {
        let seq = self.board.first_lost()?;
        if !std::mem::take(&mut self.fast_due) && !self.allows(seq, params) {
            self.limited = true;
            self.waiting.hold_back(now);
            return None;
        }
        self.board.resend(seq);
        self.sent_again(seq);
        self.sent(now, seq, params);
        Some(Emission::Segment { seq, retransmission: true })
    }

    #[inline(always)]
    fn allows(&self, seq: u32, params: &TcpParams) -> bool {
        let window = match &self.falling {
            Some(falling) => falling.window(),
            None => self.congestion.window(params),
        };
        match params.window {
            WindowRule::FromCumulative if !matches!(self.recovery, Recovery::Fast(_)) => seq - self.board.una < window,
            _ => self.in_flight() < window,
        }
    }

    #[inline(always)]
    fn sent(&mut self, now: Time, seq: u32, params: &TcpParams) {
        self.arm(now, seq == self.board.una, params);
        if let Some(rack) = &mut self.rack {
            rack.on_sent(now, seq);
        }
        if let Some(falling) = &mut self.falling {
            falling.on_sent();
        }
    }

    /// Starts the retransmission timer (RFC 6298 §5.1). Restarts it if the oldest segment is sent again (RFC 6675 §6 leaves
    /// that open; ns-2 does it).
    #[inline]
    fn arm(&mut self, now: Time, oldest: bool, params: &TcpParams) {
        self.last_sent = now;
        if oldest || self.deadline == Time::NEVER {
            self.deadline = self.rto.deadline(now, params.rto);
        }
    }
}
