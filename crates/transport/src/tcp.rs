//! The sender of TCP NewReno with SACK, DCTCP and pFabric's transport: one state machine, set by [`TcpParams`].
//!
//! It has no clock and sends nothing: the owner calls it with what happened and then takes packets with
//! [`TcpSender::poll`] until there are none.
//!
//! | called when | method |
//! | --- | --- |
//! | a message begins | [`TcpSender::push`] |
//! | an ACK arrives | [`TcpSender::on_ack`], then [`TcpSender::finished`] until `None` |
//! | a SYN-ACK arrives | [`TcpSender::on_syn_ack`] |
//! | [`TcpSender::deadline`] is reached | [`TcpSender::on_timer`] |
//! | after each of them | [`TcpSender::poll`] until `None` |
//!
//! Sources: RFC 5681, 6298, 6675, 8257, 8985; pFabric (SIGCOMM 2013 §4.3) for probes; the ns-2 lineage of PIAS where
//! [`TcpParams`] says so. Left out: proportional rate reduction (RFC 6937), tail loss probes (RFC 8985 §7), undoing of
//! spurious timeouts (RFC 5682), Nagle.

use flowsieve_core::Time;

use crate::congestion::{Delivery, Window};
use crate::header::Header;
use crate::messages::{Message, Messages, Span};
use crate::params::{LossDetection, Restart, TcpParams, WindowRule};
use crate::rack::Rack;
use crate::ring::Ring;
use crate::rto::Rto;

/// Arrived, by SACK.
const SACKED: usize = 0;
/// Believed lost and not sent again since.
const LOST: usize = 1;
/// Sent again since it was believed lost.
const RESENT: usize = 2;

/// A packet that the sender wants sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emission {
    /// A segment; what it carries is in [`TcpSender::span`].
    Segment {
        /// Its number.
        seq: u32,
        /// It was sent before.
        retransmission: bool,
    },
    /// A packet without payload.
    Control(Header),
}

/// What the cumulative and selective parts of an ACK say, with the instant that it echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// As in [`Header::Ack`].
    pub cumulative: u32,
    /// As in [`Header::Ack`].
    pub block: (u32, u32),
    /// As in [`Header::Ack`].
    pub marked: bool,
    /// As in [`Header::Ack`].
    pub duplicate: bool,
    /// How long ago the packet that caused it was sent.
    pub round_trip: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A SYN is to be sent.
    SynDue,
    SynSent,
    Open,
    /// Only probes are sent; `due`: one is to be sent.
    Probing {
        due: bool,
    },
}

/// The sending side of a connection.
#[derive(Clone, Debug)]
pub struct TcpSender {
    messages: Messages,
    phase: Phase,
    /// The oldest segment that is not cumulatively acknowledged.
    una: u32,
    /// The next new segment.
    nxt: u32,
    /// What happened to the segments in una..nxt; see the lanes above.
    board: Ring<3>,
    /// No segment from here on has a bit on the board.
    board_end: u32,
    /// Segments in una..nxt with [`SACKED`].
    sacked: u32,
    /// Segments in una..nxt with [`LOST`].
    lost: u32,
    window: Window,
    /// Losses are repaired until this segment is acknowledged.
    recover: Option<u32>,
    /// The window alone stopped the last poll.
    limited: bool,
    rto: Rto,
    deadline: Time,
    last_sent: Time,
    timeouts_in_a_row: u32,
    rack: Option<Box<Rack>>,
}

impl TcpSender {
    /// A connection; `handshake`: it opens with a SYN.
    pub fn new(handshake: bool, params: &TcpParams) -> TcpSender {
        TcpSender {
            messages: Messages::default(),
            phase: if handshake { Phase::SynDue } else { Phase::Open },
            una: 0,
            nxt: 0,
            board: Ring::default(),
            board_end: 0,
            sacked: 0,
            lost: 0,
            window: Window::new(params),
            recover: None,
            limited: false,
            rto: Rto::default(),
            deadline: Time::NEVER,
            last_sent: Time::ZERO,
            timeouts_in_a_row: 0,
            rack: (params.loss_detection == LossDetection::Rack).then(Box::default),
        }
    }

    /// A message begins.
    pub fn push(&mut self, now: Time, message: Message, params: &TcpParams) {
        let idle = self.una == self.nxt && now.since(self.last_sent) > self.rto.value(params.rto);
        if idle && self.nxt > 0 {
            let initial = f64::from(params.initial_window);
            match params.restart {
                Restart::Off => {}
                Restart::Initial => self.window.cwnd = initial,
                Restart::AtMostInitial => self.window.cwnd = self.window.cwnd.min(initial),
            }
        }
        self.messages.push(message, params.segment);
    }

    /// Whether no message is unfinished.
    pub fn is_idle(&self) -> bool {
        self.messages.is_empty()
    }

    /// When the last packet was sent; [`Time::ZERO`] before the first.
    pub fn last_sent(&self) -> Time {
        self.last_sent
    }

    /// When [`TcpSender::on_timer`] wants to be called; [`Time::NEVER`] while nothing is outstanding.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.rack.as_ref().map_or(self.deadline, |rack| self.deadline.min(rack.deadline()))
    }

    /// The congestion window in segments.
    pub fn congestion_window(&self) -> f64 {
        self.window.cwnd
    }

    /// DCTCP's estimate of the marked fraction.
    pub fn alpha(&self) -> f64 {
        self.window.alpha
    }

    /// The message of a segment that is not finished.
    pub fn span(&mut self, seq: u32) -> Option<&mut Span> {
        self.messages.of(seq)
    }

    /// Bytes of the message that are not acknowledged, selectively or not. Where messages queue on the connection,
    /// segments that are selectively acknowledged count for the one asked about.
    pub fn remaining(&self, span: &Span, params: &TcpParams) -> u64 {
        let acknowledged = self.una.max(span.first) - span.first + self.sacked;
        span.message.bytes.saturating_sub(u64::from(acknowledged) * u64::from(params.segment))
    }

    /// The oldest message whose segments are all acknowledged, once.
    #[inline]
    pub fn finished(&mut self) -> Option<Span> {
        self.messages.finish(self.una)
    }

    /// The peer accepts the connection.
    pub fn on_syn_ack(&mut self) {
        if matches!(self.phase, Phase::SynSent | Phase::SynDue) {
            self.phase = Phase::Open;
            self.deadline = Time::NEVER;
            self.timeouts_in_a_row = 0;
            self.rto.settle();
        }
    }

    /// An ACK arrives.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, params: &TcpParams) {
        if ack.cumulative > self.nxt || ack.block.1 > self.nxt {
            return; // acknowledges what was never sent
        }
        if let Phase::Probing { .. } = self.phase {
            self.phase = Phase::Open;
            self.timeouts_in_a_row = 0;
        }
        if params.measures_round_trips() {
            self.rto.sample(ack.round_trip);
        }
        let advanced = ack.cumulative > self.una;
        let mut delivered = 0;
        if advanced {
            delivered += self.advance(ack.cumulative);
            self.timeouts_in_a_row = 0;
            self.rto.settle();
            self.deadline = if self.una < self.nxt { now + self.rto.value(params.rto) } else { Time::NEVER };
        }
        let block = (ack.block.0.max(self.una), ack.block.1);
        if block.0 < block.1 {
            self.board.ensure(params.span());
            delivered += self.sack(block);
        }
        if self.recover.is_some_and(|until| self.una >= until) {
            self.recover = None;
        }
        self.detect_losses(now, ack, params);
        let delivery = Delivery {
            delivered,
            advanced,
            marked: ack.marked,
            limited: self.limited,
            recovering: self.recover.is_some(),
            una: self.una,
            nxt: self.nxt,
        };
        self.window.on_delivery(delivery, params);
    }

    /// Moves the cumulative edge; says how many segments were not known to have arrived.
    #[inline]
    fn advance(&mut self, to: u32) -> u32 {
        let segments = to - self.una;
        let mut known = 0;
        if self.una < self.board_end {
            let mut lost = 0;
            self.board.for_each_word(self.una, to.min(self.board_end), |word, mask| {
                known += (word[SACKED] & mask).count_ones();
                lost += (word[LOST] & mask).count_ones();
                word.iter_mut().for_each(|lane| *lane &= !mask);
            });
            self.sacked -= known;
            self.lost -= lost;
        }
        self.una = to;
        segments - known
    }

    /// Marks a run as arrived; says how many of it were not known to have.
    fn sack(&mut self, (from, to): (u32, u32)) -> u32 {
        let (mut new, mut lost) = (0, 0);
        self.board_end = self.board_end.max(to);
        self.board.for_each_word(from, to, |word, mask| {
            new += (!word[SACKED] & mask).count_ones();
            lost += (word[LOST] & mask).count_ones();
            word[SACKED] |= mask;
            word[LOST] &= !mask;
        });
        self.sacked += new;
        self.lost -= lost;
        new
    }

    fn detect_losses(&mut self, now: Time, ack: &Ack, params: &TcpParams) {
        let lost_before = self.lost;
        match params.loss_detection {
            LossDetection::Off => return,
            LossDetection::DupAck(threshold) => {
                if self.sacked < threshold {
                    return;
                }
                let below = self.board.nth_highest(SACKED, self.una, self.nxt, threshold).unwrap_or(self.una);
                let mut found = 0;
                self.board.for_each_word(self.una, below, |word, mask| {
                    let missing = mask & !word[SACKED] & !word[LOST] & !word[RESENT];
                    word[LOST] |= missing;
                    found += missing.count_ones();
                });
                self.lost += found;
            }
            LossDetection::Rack => {
                let Some(mut rack) = self.rack.take() else { return };
                rack.on_ack(now, ack, self.rto.round_trips());
                self.mark_late(now, &mut rack, params);
                self.rack = Some(rack);
            }
        }
        if self.lost > lost_before {
            self.begin_recovery(params);
        }
    }

    /// RACK: what was sent so long before the newest delivery that it must be lost.
    fn mark_late(&mut self, now: Time, rack: &mut Rack, params: &TcpParams) {
        self.board.ensure(params.span());
        self.board_end = self.nxt;
        while let Some((seq, again)) = rack.next_late(now, |seq, again| {
            seq < self.una
                || self.board.get(SACKED, seq)
                || self.board.get(LOST, seq)
                || self.board.get(RESENT, seq) != again
        }) {
            self.board.set(LOST, seq);
            if again {
                self.board.clear(RESENT, seq);
            }
            self.lost += 1;
        }
    }

    fn begin_recovery(&mut self, params: &TcpParams) {
        if self.recover.is_none() {
            self.window.on_loss(self.flight(params), self.nxt);
            self.recover = Some(self.nxt);
        }
    }

    /// What RFC 5681 calls FlightSize; ns-2 takes the window for it.
    fn flight(&self, params: &TcpParams) -> f64 {
        match params.window {
            WindowRule::FromCumulative => self.window.cwnd,
            WindowRule::Pipe => f64::from(self.nxt - self.una - self.sacked),
        }
    }

    /// The clock reached [`TcpSender::deadline`].
    pub fn on_timer(&mut self, now: Time, params: &TcpParams) -> Timer {
        if let Some(mut rack) = self.rack.take_if(|rack| rack.deadline() <= now) {
            let before = self.lost;
            self.mark_late(now, &mut rack, params);
            self.rack = Some(rack);
            if self.lost > before {
                self.begin_recovery(params);
            }
        }
        if now < self.deadline {
            return Timer::Idle;
        }
        self.rto.back_off();
        self.deadline = now + self.rto.value(params.rto);
        self.timeouts_in_a_row += 1;
        match self.phase {
            Phase::SynDue | Phase::SynSent => self.phase = Phase::SynDue,
            Phase::Probing { .. } => self.phase = Phase::Probing { due: true },
            Phase::Open => self.on_timeout(params),
        }
        Timer::Timeout
    }

    fn on_timeout(&mut self, params: &TcpParams) {
        let again = self.timeouts_in_a_row > 1 && params.window == WindowRule::Pipe;
        self.window.on_timeout(self.flight(params), self.nxt, again);
        self.recover = None;
        self.board.ensure(params.span());
        self.board_end = self.nxt;
        let mut lost = 0;
        self.board.for_each_word(self.una, self.nxt, |word, mask| {
            word[LOST] |= mask & !word[SACKED];
            word[RESENT] &= !mask;
            lost += (word[LOST] & mask).count_ones();
        });
        self.lost = lost;
        if let Some(span) = self.messages.oldest_mut() {
            span.timeouts += 1;
        }
        if params.probe_after.is_some_and(|most| self.timeouts_in_a_row >= most) {
            self.phase = Phase::Probing { due: true };
        }
    }

    /// The next packet that may be sent now.
    pub fn poll(&mut self, now: Time, params: &TcpParams) -> Option<Emission> {
        match self.phase {
            Phase::Open => {}
            Phase::SynDue => {
                self.phase = Phase::SynSent;
                self.arm(now, params);
                return Some(Emission::Control(Header::Syn));
            }
            Phase::Probing { due: true } => {
                self.phase = Phase::Probing { due: false };
                return Some(Emission::Control(Header::Probe));
            }
            Phase::SynSent | Phase::Probing { due: false } => return None,
        }
        if self.lost > 0 {
            return self.poll_lost(now, params);
        }
        let seq = self.nxt;
        if seq == self.messages.end() {
            self.limited = false;
            return None;
        }
        if !self.allows(seq, params) || seq - self.una >= params.span() {
            self.limited = true;
            return None;
        }
        self.nxt += 1;
        self.arm(now, params);
        if let Some(rack) = &mut self.rack {
            rack.on_sent(now, seq, false);
        }
        Some(Emission::Segment { seq, retransmission: false })
    }

    /// Holes are filled before anything new is sent.
    fn poll_lost(&mut self, now: Time, params: &TcpParams) -> Option<Emission> {
        let seq = self.board.first_set(LOST, self.una, self.nxt)?;
        if !self.allows(seq, params) {
            return None;
        }
        self.board.clear(LOST, seq);
        self.board.set(RESENT, seq);
        self.lost -= 1;
        self.arm(now, params);
        if let Some(rack) = &mut self.rack {
            rack.on_sent(now, seq, true);
        }
        if let Some(span) = self.messages.of(seq) {
            span.retransmissions += 1;
        }
        Some(Emission::Segment { seq, retransmission: true })
    }

    #[inline]
    fn allows(&self, seq: u32, params: &TcpParams) -> bool {
        match params.window {
            WindowRule::FromCumulative => seq - self.una < self.window.segments(),
            WindowRule::Pipe => self.nxt - self.una - self.sacked - self.lost < self.window.segments(),
        }
    }

    #[inline]
    fn arm(&mut self, now: Time, params: &TcpParams) {
        self.last_sent = now;
        if self.deadline == Time::NEVER {
            self.deadline = now + self.rto.value(params.rto);
        }
    }
}

/// What [`TcpSender::on_timer`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// No retransmission timeout: an early call, or RACK's timer.
    Idle,
    /// The retransmission timer fired.
    Timeout,
}
