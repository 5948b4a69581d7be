//! The sender of TCP NewReno with SACK, DCTCP, D2TCP and pFabric's transport: one state machine, configured by [`TcpParams`].
//!
//! It has no clock and sends nothing: the owner reports events to it and then takes packets with [`TcpSender::poll`] until
//! there are none.
//!
//! | called when | method |
//! | --- | --- |
//! | a message begins | [`TcpSender::push`] |
//! | an ACK arrives | [`TcpSender::on_ack`], then [`TcpSender::finished`] until `None` |
//! | a SYN-ACK arrives | [`TcpSender::on_syn_ack`] |
//! | [`TcpSender::deadline`] is reached | [`TcpSender::on_timer`] |
//! | after each of them | [`TcpSender::poll`] until `None` |
//!
//! Sources: RFC 5681 and 6675 for windows and recovery, 6298 for the timer, 8985 for RACK, 3168 and 8257 for marks; pFabric
//! (SIGCOMM 2013 §4.3) for probes; the ns-2 lineage of PIAS where [`crate::tcp::params`] says so. What parameters may add
//! is in `repair`: proportional rate reduction (RFC 9937), tail loss probes (RFC 8985 §7), undoing of spurious cuts (RFC
//! 5682, RFC 3708).
//!
//! Left out: early retransmit (RFC 5827), RFC 6675's rescue retransmission and its rule 3 (sending holes again that are not
//! yet lost), Nagle's algorithm (RFC 9293 §3.7.4), the closing of connections.

mod polling;
mod repair;

use flowsieve_core::hop::Trail;
use flowsieve_core::steps::{StepTimes, Steps};
use flowsieve_core::{Message, Time};

use crate::endpoint::Observed;
use crate::tcp::asked::{self, Asked};
use crate::tcp::board::Board;
use crate::tcp::congestion::{Acked, Congestion, Lost, WINDOW};
use crate::tcp::header::{GapReport, Header};
use crate::tcp::messages::{Messages, Span};
use crate::tcp::params::{LossDetection, Reduction, TcpParams};
use crate::tcp::probe::Probe;
use crate::tcp::rack::{Rack, Seen};
use crate::tcp::reduction::Falling;
use crate::tcp::rto::Rto;
use crate::tcp::spurious::Spurious;
use crate::tcp::steps::StepClock;
use crate::tcp::waiting::Waiting;

/// A packet that the sender wants sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emission {
    /// A segment; its content is in [`TcpSender::span`].
    Segment {
        /// Its number.
        seq: u32,
        /// Whether it was sent before.
        retransmission: bool,
    },
    /// A packet without payload.
    Control(Header),
}

/// The cumulative and selective parts of an ACK, with the round trip from the timestamp that it echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// As in [`AckHeader`](crate::tcp::header::AckHeader).
    pub cumulative: u32,
    /// As in [`AckHeader`](crate::tcp::header::AckHeader).
    pub block: (u32, u32),
    /// As in [`AckHeader`](crate::tcp::header::AckHeader).
    pub marked: bool,
    /// As in [`AckHeader`](crate::tcp::header::AckHeader).
    pub duplicate: bool,
    /// As in [`AckHeader`](crate::tcp::header::AckHeader).
    pub gap: GapReport,
    /// The time since the packet that caused it was sent, in whole nanoseconds.
    pub round_trip: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A SYN is to be sent.
    SynDue,
    SynSent,
    Open,
    /// Only probes are sent, and one is due.
    ProbeDue,
    ProbeSent,
}

/// How losses are being repaired; recovery ends when everything below the segment is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    Off,
    /// Fast recovery: the window was cut and stays.
    Fast(u32),
    /// After a timeout: slow start; losses that come to light are sent again without another cut (RFC 6582 §4).
    Timeout(u32),
}

/// The sending side of a connection.
pub struct TcpSender {
    messages: Messages,
    phase: Phase,
    /// The state of the outstanding segments, `board.una` to `nxt`.
    board: Board,
    /// The next new segment.
    nxt: u32,
    congestion: Congestion,
    recovery: Recovery,
    /// The next lost segment is sent regardless of the window: fast recovery has just begun (RFC 6675 §5, step 4.3), or the
    /// receiver asks for it.
    fast_due: bool,
    /// Only the window stopped the last poll.
    limited: bool,
    waiting: Waiting,
    rto: Rto,
    deadline: Time,
    /// When the last segment or SYN was sent; [`Time::NEVER`] before the first.
    last_sent: Time,
    /// Timeouts since the last ACK of any kind.
    silent_timeouts: u32,
    rack: Option<Box<Rack>>,
    asked: Option<Box<Asked>>,
    /// Present while the window falls in proportion to what arrives.
    falling: Option<Box<Falling>>,
    /// Present if cuts can be undone, or reordering has to be seen.
    spurious: Option<Box<Spurious>>,
    /// Present if the tail is probed.
    probe: Option<Box<Probe>>,
    /// Present if the steps of a message are measured.
    steps: Option<Box<StepClock>>,
}

impl TcpSender {
    /// Builds the sender of a connection; `handshake`: it opens with a SYN.
    pub fn new(handshake: bool, params: &TcpParams) -> TcpSender {
        TcpSender {
            messages: Messages::default(),
            phase: if handshake { Phase::SynDue } else { Phase::Open },
            board: Board::default(),
            nxt: 0,
            congestion: params.congestion.build(params),
            recovery: Recovery::Off,
            fast_due: false,
            limited: false,
            waiting: Waiting::new(),
            rto: Rto::default(),
            deadline: Time::NEVER,
            last_sent: Time::NEVER,
            silent_timeouts: 0,
            rack: match params.loss_detection {
                LossDetection::Rack => Some(Box::new(Rack::new(false, params.undo))),
                LossDetection::RackTlp => Some(Box::new(Rack::new(true, params.undo))),
                LossDetection::Off
                | LossDetection::DupAck(_)
                | LossDetection::GoBack
                | LossDetection::ByPriority(_) => None,
            },
            asked: None,
            falling: None,
            spurious: (params.undo || params.loss_detection == LossDetection::RackTlp).then(Box::default),
            probe: (params.loss_detection == LossDetection::RackTlp).then(Box::default),
            steps: None,
        }
    }

    /// Sets the first round trip, for a connection that counts as open before.
    pub(crate) fn know_round_trip(&mut self, round_trip: Time, params: &TcpParams) {
        if params.measures_round_trips() {
            self.rto.sample(round_trip, params.rto, (0, 0));
        }
    }

    /// Begins a message. Panics as [`Messages::push`].
    pub fn push(&mut self, now: Time, message: Message, params: &TcpParams) {
        let idle = self.board.una == self.nxt && self.idle_for(now) > self.rto.value(params.rto);
        if idle && self.nxt > 0 {
            self.congestion.on_restart(params);
        }
        self.messages.push(message, params.segment);
    }

    /// Measures the steps of the message that began last, from now on, up to its last acknowledgement.
    pub fn measure(&mut self, now: Time, steps: Steps, params: &TcpParams) {
        if let Some(span) = self.messages.end().checked_sub(1).and_then(|last| self.messages.of_mut(last)) {
            span.watch = self.steps.get_or_insert_default().begin(now, span, steps, params.segment);
        }
    }

    /// Updates the step of the oldest message. Call it before [`TcpSender::finished`].
    pub fn advance_steps(&mut self, now: Time, params: &TcpParams) {
        if let (Some(steps), Some(oldest)) = (&mut self.steps, self.messages.oldest_mut()) {
            oldest.watch = steps.advance(now, oldest, self.board.una, params.segment);
        }
    }

    /// Returns, once, how long a message that has [finished](TcpSender::finished) was in its steps; `None` if not measured.
    #[inline]
    pub fn measured(&mut self, message: u32) -> Option<StepTimes> {
        self.steps.as_mut()?.end(message)
    }

    /// Returns whether no message is unfinished.
    pub fn is_idle(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the time since the last segment or SYN was sent; [`Time::NEVER`] before the first.
    pub fn idle_for(&self, now: Time) -> Time {
        if self.last_sent == Time::NEVER { Time::NEVER } else { now.since(self.last_sent) }
    }

    /// Returns when [`TcpSender::on_timer`] wants to be called; [`Time::NEVER`] if nothing is outstanding and no segment
    /// waits for the departure that its pace allows.
    #[inline]
    pub fn deadline(&self) -> Time {
        let timer = self.deadline.min(self.congestion.held_until());
        let timer = self.probe.as_ref().map_or(timer, |probe| timer.min(probe.deadline));
        self.rack.as_ref().map_or(timer, |rack| timer.min(rack.deadline()))
    }

    /// Returns whether a segment that the window allows waits for the departure that its pace allows.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.congestion.held_until() != Time::NEVER
    }

    /// Reports the values of its congestion control.
    pub fn observe(&self, see: &mut dyn FnMut(Observed<'_>)) {
        match &self.falling {
            None => self.congestion.observe(see),
            Some(falling) => {
                let window = f64::from(falling.window());
                let falls = |&(name, value): &(&'static str, f64)| (name, if name == WINDOW { window } else { value });
                self.congestion.observe(&mut |values| see(&values.iter().map(falls).collect::<Vec<_>>()));
            }
        }
    }

    /// Returns the segments believed to be in the network: RFC 6675's pipe.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.nxt - self.board.una - self.board.sacked - self.board.lost
    }

    /// Returns the unfinished message of a segment.
    #[inline(always)]
    pub fn span(&self, seq: u32) -> Option<&Span> {
        self.messages.of(seq)
    }

    /// Returns the bytes of the message that are not acknowledged, selectively or not. If messages queue on the connection,
    /// all selectively acknowledged segments count for `span`.
    pub fn remaining(&self, span: &Span, params: &TcpParams) -> u64 {
        let acknowledged = self.board.una.max(span.first) - span.first + self.board.sacked;
        span.message.bytes.saturating_sub(u64::from(acknowledged) * u64::from(params.segment))
    }

    /// Returns whether [`TcpSender::finished`] may have a message, or the oldest one has reached another step.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.messages.is_due(self.board.una)
    }

    /// Returns, once, the oldest message whose segments are all acknowledged.
    #[inline]
    pub fn finished(&mut self) -> Option<Span> {
        self.messages.finish(self.board.una)
    }

    /// Handles the peer's acceptance of the connection.
    pub fn on_syn_ack(&mut self, now: Time, params: &TcpParams) {
        if !matches!(self.phase, Phase::SynSent | Phase::SynDue) {
            return;
        }
        if self.rto.is_backed_off() {
            // Which SYN it answers is unknown, so it measures nothing (Karn's algorithm, RFC 6298 §3).
            self.congestion.on_lost_handshake(params);
        } else if params.measures_round_trips() {
            self.rto.sample(now.since(self.last_sent), params.rto, (self.board.una, self.nxt));
        }
        self.answered(now, None, params);
        self.phase = Phase::Open;
        self.deadline = Time::NEVER;
        self.silent_timeouts = 0;
        self.rto.settle();
    }

    /// Hears what switches wrote into the packet that the next ACK is for.
    pub(crate) fn on_trail(&mut self, trail: &Trail) {
        if let Some(own) = self.congestion.own() {
            own.on_trail(trail);
        }
    }

    /// Handles an ACK. An ACK for segments that were never sent is ignored.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack, params: &TcpParams) {
        if ack.cumulative > self.nxt || ack.block.1 > self.nxt {
            return;
        }
        if self.phase != Phase::Open {
            if matches!(self.phase, Phase::SynDue | Phase::SynSent) {
                return;
            }
            self.phase = Phase::Open;
        }
        self.silent_timeouts = 0;
        self.answered(now, Some(ack.round_trip), params);
        if params.measures_round_trips() {
            self.rto.sample(ack.round_trip, params.rto, (self.board.una.max(ack.cumulative), self.nxt));
        }
        let original = self.spurious.as_ref().and_then(|spurious| spurious.first_original(&self.board, ack));
        let advanced = ack.cumulative > self.board.una;
        let mut delivered = 0;
        if advanced {
            delivered = self.board.advance(ack.cumulative);
            self.rto.settle();
            let outstanding = self.board.una < self.nxt;
            self.deadline = if outstanding { self.rto.deadline(now, params.rto) } else { Time::NEVER };
            self.end_recovery();
        } else if ack.cumulative == self.board.una && self.board.una < self.nxt {
            self.messages.count_duplicate_ack(ack.cumulative);
        }
        delivered += self.board.sack(ack.block);
        let probe_twice = match self.spurious.is_some() {
            true => self.weigh(now, ack, (original, advanced, delivered), params),
            false => false,
        };
        let lost_before = self.board.lost;
        match params.loss_detection {
            LossDetection::Off => {}
            LossDetection::DupAck(threshold) => {
                let found = self.board.lose_below_acknowledged(threshold.max(1));
                if !found.is_empty() {
                    self.messages.count_found_lost(&self.board, found);
                }
                self.begin_recovery(now, params);
            }
            LossDetection::Rack | LossDetection::RackTlp => {
                let seen = Seen {
                    outstanding: (self.board.una, self.nxt),
                    round_trips: self.rto.round_trips(),
                    original,
                    sacked: self.board.sacked,
                    repairing: self.recovery != Recovery::Off,
                    probe_twice,
                };
                if let Some(rack) = &mut self.rack {
                    rack.on_ack(now, ack, &seen);
                }
                self.mark_late(now, params);
            }
            LossDetection::GoBack => {
                if !advanced && !ack.duplicate && ack.cumulative == self.board.una {
                    self.go_back(now, params);
                }
            }
            LossDetection::ByPriority(_) => {
                if ack.gap == GapReport::Retransmit {
                    self.lose_asked(now, ack, params);
                }
            }
        }
        let acked = Acked {
            now,
            delivered,
            advanced,
            marked: ack.marked,
            limited: self.limited,
            recovering: matches!(self.recovery, Recovery::Fast(_)) || self.falling.is_some(),
            una: self.board.una,
            nxt: self.nxt,
            in_flight: self.in_flight(),
            sacked: self.board.sacked,
            round_trip: ack.round_trip,
            messages: &self.messages,
        };
        let falls = params.reduction != Reduction::AtOnce;
        let last_cut = if falls { self.congestion.last_cut() } else { 0 };
        self.congestion.on_ack(acked, params);
        if falls {
            let found_lost = self.board.lost > lost_before;
            self.fall(delivered, advanced && !found_lost, self.congestion.last_cut() != last_cut, params);
        }
        if self.probe.is_some() {
            self.time_probe(now, params);
        }
    }

    /// Marks by RACK the segments that were sent long enough before the newest delivery to be lost.
    fn mark_late(&mut self, now: Time, params: &TcpParams) {
        let Some(rack) = &mut self.rack else { return };
        while let Some(seq) = rack.next_late(now, params.rto.tick(), |seq| self.board.has_arrived(seq)) {
            self.board.lose(seq);
            self.messages.count_found_lost(&self.board, seq..seq + 1);
        }
        self.begin_recovery(now, params);
    }

    /// Takes everything outstanding for lost, once for each segment that the receiver misses.
    #[cold]
    fn go_back(&mut self, now: Time, params: &TcpParams) {
        let found = self.board.lose_from_edge(self.nxt);
        if !found.is_empty() {
            self.messages.count_found_lost(&self.board, found);
            self.begin_recovery(now, params);
        }
    }

    /// Handles the receiver's report, by priorities, of a loss.
    ///
    /// The first lost segment is sent at once, past the window, as QCLIMB's sender does (NSDI 2024, §4.1). The ACK that
    /// asks for it has left the network, while further holes still count as in flight and may fill the window. If several
    /// are lost, one ACK releases one packet; the others no longer count and go as the window allows. The paper halves the
    /// window "when a loss is detected", and does not say how often; here once per window of data, as in fast recovery.
    #[cold]
    fn lose_asked(&mut self, now: Time, ack: &Ack, params: &TcpParams) {
        let Some(gaps) = params.gaps() else { return };
        let found = asked::lose(&mut self.asked, gaps, &mut self.board, ack, self.nxt);
        if !found.is_empty() {
            self.messages.count_found_lost(&self.board, found);
            self.begin_recovery(now, params);
            self.fast_due = true;
        }
    }

    /// Enters fast recovery if losses have come to light outside of any recovery.
    #[inline]
    fn begin_recovery(&mut self, now: Time, params: &TcpParams) {
        if self.board.lost > 0 && self.recovery == Recovery::Off {
            if self.spurious.is_some() {
                self.begin_episode();
            }
            self.congestion.on_loss(&Lost { now, una: self.board.una, nxt: self.nxt }, params);
            if params.reduction == Reduction::Proportional {
                self.begin_fall(false, params);
            }
            self.recovery = Recovery::Fast(self.nxt);
            self.fast_due = true;
        }
    }

    #[inline]
    fn end_recovery(&mut self) {
        if let Recovery::Fast(until) | Recovery::Timeout(until) = self.recovery
            && self.board.una >= until
        {
            self.recovery = Recovery::Off;
            if let Some(rack) = &mut self.rack {
                rack.on_recovered();
            }
        }
    }

    /// Returns the segments that are acknowledged, selectively or not.
    pub(crate) fn acknowledged_segments(&self) -> u64 {
        u64::from(self.board.una) + u64::from(self.board.sacked)
    }

    /// Handles the timer, when the clock has reached [`TcpSender::deadline`].
    pub fn on_timer(&mut self, now: Time, params: &TcpParams) -> Timer {
        if self.rack.as_ref().is_some_and(|rack| rack.deadline() <= now) {
            self.mark_late(now, params);
            if let Some(falling) = &mut self.falling {
                falling.by_timer();
            }
        }
        if let Some(own) = self.congestion.own() {
            own.let_go(now);
        }
        if self.probe.as_ref().is_some_and(|probe| probe.deadline <= now) {
            self.probe_tail(now, params);
            return Timer::Idle;
        }
        if now < self.deadline {
            return Timer::Idle;
        }
        let again = self.rto.is_backed_off();
        let unanswered = if self.rto.waits_unanswered(params.rto) { self.rto.value(params.rto) } else { Time::ZERO };
        self.rto.back_off(params.most_doublings);
        self.deadline = self.rto.deadline(now, params.rto);
        self.silent_timeouts += 1;
        let waited = self.waiting.time_out(now, self.last_sent);
        if let Some(span) = self.messages.oldest_mut() {
            span.effort.timeouts += 1;
            let unanswered_us = u32::try_from(unanswered.0 / 1_000_000).unwrap_or(u32::MAX);
            span.effort.unanswered_us = span.effort.unanswered_us.saturating_add(unanswered_us);
            span.effort.waits.timer += waited;
        }
        match self.phase {
            Phase::SynDue | Phase::SynSent => self.phase = Phase::SynDue,
            Phase::ProbeDue | Phase::ProbeSent => self.phase = Phase::ProbeDue,
            Phase::Open => self.on_timeout(now, again, params),
        }
        Timer::Timeout
    }

    /// Takes everything in flight for lost, and begins slow start with the oldest segment.
    fn on_timeout(&mut self, now: Time, again: bool, params: &TcpParams) {
        if self.spurious.is_some() {
            self.begin_episode_of_timeout(again);
        }
        self.congestion.on_timeout(&Lost { now, una: self.board.una, nxt: self.nxt }, again, params);
        self.recovery = Recovery::Timeout(self.nxt);
        self.falling = None;
        self.board.lose_all(self.nxt);
        if params.loss_detection == LossDetection::GoBack {
            self.board.judge_again();
        }
        if let Some(rack) = &mut self.rack {
            let spared = rack.on_timeout(now, self.board.una);
            // They still fill the window of one, which has to let the oldest go.
            self.fast_due |= !spared.is_empty();
            spared.into_iter().for_each(|seq| self.board.spare(seq));
        }
        if params.probe_after.is_some_and(|most| self.silent_timeouts >= most) {
            self.phase = Phase::ProbeDue;
        }
    }

    /// Notes an answer, which took `round_trip` if that was measured.
    #[inline(always)]
    fn answered(&mut self, now: Time, round_trip: Option<Time>, params: &TcpParams) {
        let is_cut = self.congestion.is_cut(params);
        let waits = self.messages.oldest_mut().map(|span| &mut span.effort.waits);
        self.waiting.let_go(now, round_trip, is_cut, waits);
    }
}

/// The result of [`TcpSender::on_timer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// No retransmission timeout: an early call, RACK's timer, or a departure that the pace allows.
    Idle,
    /// The retransmission timer fired.
    Timeout,
}
