//! The congestion window that NewReno, DCTCP and D2TCP share: slow start and congestion avoidance (RFC 5681 §3.1), one cut
//! per window for a mark (RFC 3168 §6.1.2), the response to losses (RFC 6675 §5, RFC 5681 §3.1). The controls differ in how
//! much of the window a mark leaves ([`Response`]).
//!
//! Windows count segments and have fractions. Left out: the limit of appropriate byte counting to two segments an ACK in
//! slow start (RFC 3465 §2.2), which matters only if ACKs are lost; proportional rate reduction (RFC 6937); a timer at a
//! window of one that is still marked (RFC 3168 §6.1.2).

use super::control::{ALPHA, Acked, CongestionControl, Lost, WINDOW};
use crate::endpoint::Observed;
use crate::tcp::params::{Restart, TcpParams, WindowRule};

/// A control's response to marks.
pub(crate) trait Response: Send {
    /// Whether a loss cuts a window again that a mark has cut. NewReno does not (RFC 3168 §6.1.2); DCTCP does, as a mark's
    /// cut may be small (RFC 8257 §3.4; Linux and ns-2 alike).
    const LOSS_CUTS_AGAIN: bool;

    /// Updates the estimate with an ACK, in fast recovery too.
    fn estimate(&mut self, ack: &Acked<'_>);

    /// Returns the share of the window `cwnd` that a mark leaves.
    fn keep(&self, cwnd: f64, ack: &Acked<'_>) -> f64;

    /// Returns the smoothed fraction of marked segments, if it is estimated.
    fn alpha(&self) -> Option<f64>;
}

/// The window itself, which is the same for every response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Congestion window in segments, at least 1.
    cwnd: f64,
    ssthresh: f64,
    /// A mark cuts again when a segment from here on is acknowledged: once per window.
    cut_until: u32,
    /// The last cut was for a mark.
    cut_for_mark: bool,
    /// The previous ACK was marked.
    in_run: bool,
}

impl Window {
    /// Returns the number of segments that it allows.
    #[inline(always)]
    pub(super) fn segments(&self) -> u32 {
        self.cwnd as u32
    }

    /// As [`CongestionControl::is_cut`].
    #[inline(always)]
    pub(super) fn is_cut(&self, params: &TcpParams) -> bool {
        let most = f64::from(params.max_window);
        self.ssthresh < most && self.cwnd < most
    }

    /// Grows by one for each of `steps` segments up to the threshold, and by one for each window of them beyond.
    #[inline]
    fn grow(&mut self, steps: f64) {
        let slow = (self.ssthresh - self.cwnd).max(0.0).min(steps);
        self.cwnd += slow;
        self.cwnd += (steps - slow) / self.cwnd;
    }

    /// Returns RFC 5681's FlightSize, what is not cumulatively acknowledged, but no more than the window: with holes, it
    /// spans more than was ever in the network at once. ns-2 uses the window instead.
    fn flight(&self, loss: &Lost, params: &TcpParams) -> f64 {
        match params.window {
            WindowRule::FromCumulative => self.cwnd,
            WindowRule::Pipe => f64::from(loss.nxt - loss.una).min(self.cwnd),
        }
    }
}

/// A window that grows additively and is cut to a share. The window is the first field, so that a sender finds it in one
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
            cut_until: 0,
            cut_for_mark: false,
            in_run: false,
        };
        Additive { window, response }
    }
}

impl<R: Response> CongestionControl for Additive<R> {
    #[inline]
    fn on_ack(&mut self, ack: &Acked<'_>, params: &TcpParams) {
        self.response.estimate(ack);
        let window = &mut self.window;
        let ns2 = params.window == WindowRule::FromCumulative;
        if ack.recovering || (ns2 && !ack.advanced) {
            return;
        }
        let in_run = std::mem::replace(&mut window.in_run, ack.marked);
        if ack.marked && ack.una > window.cut_until {
            // After a timeout the window is below its least, and stays there.
            let least = params.least().min(window.cwnd);
            window.cwnd = (window.cwnd * self.response.keep(window.cwnd, ack)).max(least);
            window.ssthresh = window.cwnd.max(2.0);
            window.cut_until = ack.nxt;
            window.cut_for_mark = true;
        }
        if !ack.marked || (ns2 && in_run) {
            window.grow(match params.window {
                WindowRule::FromCumulative => 1.0,
                WindowRule::Pipe if ack.limited && (ack.advanced || params.expects_reordering()) => {
                    f64::from(ack.delivered)
                }
                WindowRule::Pipe => return,
            });
            window.cwnd = window.cwnd.min(f64::from(params.max_window.max(1)));
        }
    }

    fn on_loss(&mut self, loss: &Lost, params: &TcpParams) {
        let window = &mut self.window;
        if !R::LOSS_CUTS_AGAIN && loss.una < window.cut_until && window.cut_for_mark {
            return;
        }
        window.ssthresh = (window.flight(loss, params) / 2.0).max(2.0);
        window.cwnd = window.ssthresh;
        window.cut_until = loss.nxt;
        window.cut_for_mark = false;
    }

    /// Handles a timeout. A second timeout of one segment leaves the threshold (RFC 5681 §3.1).
    fn on_timeout(&mut self, loss: &Lost, again: bool, params: &TcpParams) {
        let window = &mut self.window;
        let halved = (window.flight(loss, params) / 2.0).max(2.0);
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

    /// Sets the first window to one segment (RFC 5681 §3.1). ns-2 does not do this.
    fn on_lost_handshake(&mut self, params: &TcpParams) {
        if params.window == WindowRule::Pipe {
            self.window.cwnd = 1.0;
        }
    }

    fn on_restart(&mut self, params: &TcpParams) {
        let initial = params.initial();
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
