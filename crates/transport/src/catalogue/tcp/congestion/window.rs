//! The congestion window that NewReno, DCTCP, D2TCP and CUBIC share: slow start and congestion avoidance (RFC 5681 §3.1), one cut
//! per window for a mark (RFC 3168 §6.1.2), the response to losses (RFC 6675 §5, RFC 5681 §3.1). The controls differ in how
//! much of the window a mark leaves, and CUBIC in how it grows ([`Response`]).
//!
//! Windows count segments and have fractions, or none as in Linux ([`TcpParams::whole_windows`]). Left out: the limit of appropriate byte counting to two segments an ACK in
//! slow start (RFC 3465 §2.2), which matters only if ACKs are lost; a timer at a window of one that is still marked (RFC
//! 3168 §6.1.2). A cut is at once; the sender may let the window fall slowly ([`crate::tcp::reduction`]).

use super::control::{ALPHA, Acked, CongestionControl, Lost, WINDOW};
use crate::endpoint::Observed;
use crate::tcp::params::{Halves, Restart, TcpParams, WindowRule};

/// A control's response to marks.
pub(crate) trait Response: Send {
    /// Whether a loss cuts a window again that a mark has cut. NewReno does not (RFC 3168 §6.1.2); DCTCP does, as a mark's
    /// cut may be small (RFC 8257 §3.4; Linux and ns-2 alike).
    const LOSS_CUTS_AGAIN: bool;

    /// Whether what a mark takes of a window of whole segments is rounded down (`dctcp_ssthresh` in `net/ipv4/tcp_dctcp.c`),
    /// and not what it leaves (`tcp_reno_ssthresh`, `cubictcp_recalc_ssthresh`).
    const TAKES_WHOLE_SEGMENTS: bool = false;

    /// Updates the estimate with an ACK, in fast recovery too.
    fn estimate(&mut self, ack: &Acked<'_>);

    /// Returns the share of the window `cwnd` that a mark leaves.
    fn keep(&self, cwnd: f64, ack: &Acked<'_>) -> f64;

    /// Returns the share of what a loss halves elsewhere that it leaves.
    fn keep_at_loss(&self) -> f64 {
        0.5
    }

    /// Returns by how much a window beyond the threshold grows for these segments: by one for a window of them.
    #[inline]
    fn increase(&mut self, cwnd: f64, segments: f64, _: &Acked<'_>) -> f64 {
        segments / cwnd
    }

    /// Handles a cut of the window `cwnd`, for a mark, a loss or a timeout.
    fn on_cut(&mut self, _cwnd: f64) {}

    /// Handles a timeout, after [`Response::on_cut`].
    fn on_timeout(&mut self) {}

    /// Handles the beginning of a message after an idle time.
    fn on_restart(&mut self) {}

    /// Keeps what [`Response::undo`] restores.
    fn remember(&mut self) {}

    /// Restores what was kept.
    fn undo(&mut self) {}

    /// Returns the smoothed fraction of marked segments, if it is estimated.
    fn alpha(&self) -> Option<f64>;
}

/// The window itself, which is the same for every response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Congestion window in segments, at least 1.
    cwnd: f64,
    ssthresh: f64,
    /// With whole windows: growth since the last segment or cut, below a segment (`snd_cwnd_cnt` over the window).
    credit: f64,
    /// A mark cuts again when a segment from here on is acknowledged: once per window.
    cut_until: u32,
    /// The last cut was for a mark.
    cut_for_mark: bool,
    /// The previous ACK was marked.
    in_run: bool,
    /// Window and threshold before the cuts that may be undone.
    kept: (f64, f64),
}

impl Window {
    /// Returns the number of segments that it allows.
    #[inline(always)]
    pub(super) fn segments(&self) -> u32 {
        self.cwnd as u32
    }

    /// Returns the segment up to which the last cut counts.
    pub(super) fn last_cut(&self) -> u32 {
        self.cut_until
    }

    /// As [`CongestionControl::is_cut`].
    #[inline(always)]
    pub(super) fn is_cut(&self, params: &TcpParams) -> bool {
        let most = f64::from(params.max_window);
        self.ssthresh < most && self.cwnd < most
    }

    /// Grows by one for each of `steps` segments up to the threshold, and beyond as `increase` says, of the window and the
    /// segments that are left.
    #[inline]
    fn grow(&mut self, steps: f64, whole: bool, increase: impl FnOnce(f64, f64) -> f64) {
        let slow = (self.ssthresh - self.cwnd).max(0.0).min(steps);
        self.cwnd += slow;
        if steps > slow {
            let more = increase(self.cwnd, steps - slow);
            self.cwnd += if whole { self.whole_part(more) } else { more };
        }
    }

    /// Returns by how many whole segments the window grows, and keeps the rest (`tcp_cong_avoid_ai` in
    /// `net/ipv4/tcp_cong.c`).
    fn whole_part(&mut self, more: f64) -> f64 {
        /// Shares of a window add up to a segment but for this, at most.
        const ROUNDING: f64 = 1e-9;
        self.credit += more;
        let whole = libm::floor(self.credit + ROUNDING);
        self.credit = (self.credit - whole).max(0.0);
        whole
    }

    /// Forgets growth below a segment: every cut does (`tcp_init_cwnd_reduction`, `tcp_enter_loss`).
    fn forget_credit(&mut self) {
        self.credit = 0.0;
    }

    /// Returns RFC 5681's FlightSize, what is not cumulatively acknowledged, but no more than the window: with holes, it
    /// spans more than was ever in the network at once. ns-2 and Linux use the window instead.
    fn flight(&self, loss: &Lost, params: &TcpParams) -> f64 {
        match (params.window, params.halves) {
            (WindowRule::FromCumulative, _) | (_, Halves::Window) => self.cwnd,
            (WindowRule::Pipe, Halves::Flight) => f64::from(loss.nxt - loss.una).min(self.cwnd),
        }
    }
}

/// Returns what a cut leaves of a window. `whole`: in whole segments, of which it takes less, or leaves less.
#[inline]
fn left(cwnd: f64, keep: f64, whole: bool, takes_less: bool) -> f64 {
    match (whole, takes_less) {
        (false, _) => cwnd * keep,
        (true, true) => cwnd - libm::floor(cwnd * (1.0 - keep)),
        (true, false) => libm::floor(cwnd * keep),
    }
}

/// A window that grows, additively but for CUBIC, and is cut to a share. The window is the first field, so that a sender finds it in one
/// place for every response.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Additive<R> {
    pub(super) window: Window,
    response: R,
}

impl<R: Response> Additive<R> {
    pub(super) fn new(response: R, params: &TcpParams) -> Additive<R> {
        let window = Window {
            cwnd: params.initial(),
            ssthresh: f64::from(params.max_window).max(2.0),
            credit: 0.0,
            cut_until: 0,
            cut_for_mark: false,
            in_run: false,
            kept: (0.0, 0.0),
        };
        Additive { window, response }
    }
}

impl<R: Response> CongestionControl for Additive<R> {
    // Left to itself, the compiler puts it into the sender for three controls, and not for four.
    #[inline(always)]
    fn on_ack(&mut self, ack: &Acked<'_>, params: &TcpParams) {
        let Additive { window, response } = self;
        response.estimate(ack);
        let ns2 = params.window == WindowRule::FromCumulative;
        if ack.recovering || (ns2 && !ack.advanced) {
            return;
        }
        let in_run = std::mem::replace(&mut window.in_run, ack.marked);
        if ack.marked && ack.una > window.cut_until {
            // After a timeout the window is below its least, and stays there.
            let least = params.least().min(window.cwnd);
            let keep = response.keep(window.cwnd, ack);
            response.on_cut(window.cwnd);
            window.cwnd = left(window.cwnd, keep, params.whole_windows, R::TAKES_WHOLE_SEGMENTS).max(least);
            window.forget_credit();
            window.ssthresh = window.cwnd.max(2.0);
            window.cut_until = ack.nxt;
            window.cut_for_mark = true;
        }
        if !ack.marked || (ns2 && in_run) {
            let steps = match params.window {
                WindowRule::FromCumulative if params.growth.is_none() => 1.0,
                WindowRule::FromCumulative => f64::from(ack.delivered),
                WindowRule::Pipe if ack.limited && (ack.advanced || params.expects_reordering()) => {
                    f64::from(ack.delivered)
                }
                WindowRule::Pipe => return,
            };
            let growth = params.growth.unwrap_or(1.0);
            window.grow(steps, params.whole_windows, |cwnd, segments| response.increase(cwnd, growth * segments, ack));
            window.cwnd = window.cwnd.min(f64::from(params.max_window.max(1)));
        }
    }

    fn on_loss(&mut self, loss: &Lost, params: &TcpParams) {
        let Additive { window, response } = self;
        if !R::LOSS_CUTS_AGAIN && loss.una < window.cut_until && window.cut_for_mark {
            return;
        }
        response.on_cut(window.cwnd);
        let keep = response.keep_at_loss();
        window.ssthresh = left(window.flight(loss, params), keep, params.whole_windows, false).max(2.0);
        window.cwnd = window.ssthresh;
        window.forget_credit();
        window.cut_until = loss.nxt;
        window.cut_for_mark = false;
    }

    /// Handles a timeout. A second timeout of one segment leaves the threshold (RFC 5681 §3.1).
    fn on_timeout(&mut self, loss: &Lost, again: bool, params: &TcpParams) {
        let Additive { window, response } = self;
        let keep = response.keep_at_loss();
        let halved = left(window.flight(loss, params), keep, params.whole_windows, false).max(2.0);
        window.forget_credit();
        if !again {
            response.on_cut(window.cwnd);
        }
        response.on_timeout();
        window.cut_until = loss.nxt;
        match params.window {
            WindowRule::Pipe if again => {}
            WindowRule::Pipe => window.ssthresh = halved,
            WindowRule::FromCumulative if window.cut_for_mark => {}
            WindowRule::FromCumulative => {
                window.ssthresh = halved;
                window.cut_until = loss.una;
            }
        }
        window.cwnd = 1.0;
    }

    fn remember(&mut self) {
        self.window.kept = (self.window.cwnd, self.window.ssthresh);
        self.response.remember();
    }

    /// Restores the window and the threshold, as Linux does (`tcp_undo_cwnd_reduction`, `tcp_reno_undo_cwnd`).
    fn undo(&mut self, params: &TcpParams) {
        let window = &mut self.window;
        let (cwnd, ssthresh) = window.kept;
        window.cwnd = window.cwnd.max(cwnd).min(f64::from(params.max_window.max(1)));
        window.ssthresh = window.ssthresh.max(ssthresh);
        self.response.undo();
    }

    /// Sets the first window to one segment (RFC 5681 §3.1). ns-2 does not do this.
    fn on_lost_handshake(&mut self, params: &TcpParams) {
        if params.window == WindowRule::Pipe {
            self.window.cwnd = 1.0;
        }
    }

    fn on_restart(&mut self, params: &TcpParams) {
        let initial = params.initial();
        self.response.on_restart();
        match params.restart {
            Restart::Off => {}
            Restart::Initial => self.window.cwnd = initial,
            Restart::AtMostInitial => self.window.cwnd = self.window.cwnd.min(initial),
        }
    }

    fn window(&self) -> u32 {
        self.window.segments()
    }

    fn is_cut(&self, params: &TcpParams) -> bool {
        self.window.is_cut(params)
    }

    fn observe(&self, see: &mut dyn FnMut(Observed<'_>)) {
        match self.response.alpha() {
            Some(alpha) => see(&[(WINDOW, self.window.cwnd), (ALPHA, alpha)]),
            None => see(&[(WINDOW, self.window.cwnd)]),
        }
    }
}
