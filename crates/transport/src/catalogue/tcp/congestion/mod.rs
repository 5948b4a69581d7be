//! Congestion control: how many segments of a connection may be in the network, and how fast they leave.
//!
//! | module | holds |
//! | --- | --- |
//! | [`control`] | the contract between a sender and its congestion control |
//! | `window` | the window that the built-in controls share |
//! | [`new_reno`], [`dctcp`], [`d2tcp`], [`cubic`] | how each of them reacts to marks, and grows |
//! | [`hpcc`], [`swift`], [`dcqcn`] | controls with a pace, by telemetry, delay or marks |
//! | `pacing` | when the segments of a paced control leave |
//!
//! This file is the one list of those that share a window. A new one is a file here and a line in the list. A control with a pace
//! is a [`CongestionControl`] behind a pointer, as those of users are.

pub mod control;
pub mod cubic;
pub mod d2tcp;
pub mod dcqcn;
pub mod dctcp;
pub mod hpcc;
pub mod new_reno;
mod pacing;
pub mod swift;
#[cfg(test)]
mod tests;
mod window;

use std::fmt;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_core::catalogue::catalogue;

pub use control::{ALPHA, Acked, CongestionControl, Lost, Sent, WINDOW};

use crate::endpoint::Observed;
use crate::tcp::notifications::Coalescing;
use crate::tcp::params::TcpParams;
use control::CongestionRules;
use pacing::Paced;
use window::Additive;

catalogue! {
    $ each
    /// How to build the congestion control of a connection. The built-in ones cut the window on loss and differ in their
    /// response to ECN marks.
    pub CongestionSpec =>
    /// Every congestion control as one type, so that a sender calls it without indirection. Only custom ones can be paced.
    pub(crate) Congestion
    Custom(CustomCongestion) => Paced;
    /// NewReno: a mark counts as a loss (RFC 3168 §6.1.2).
    NewReno(new_reno::NewReno) => Additive<new_reno::NewReno>;
    /// DCTCP (RFC 8257): cut by half the smoothed marked fraction.
    Dctcp(dctcp::DctcpRules) => Additive<dctcp::Dctcp>;
    /// D2TCP (Vamanan, Hasan, Vijaykumar, SIGCOMM 2012): DCTCP whose cut depends on the deadline of the message.
    D2tcp(d2tcp::D2tcpRules) => Additive<d2tcp::D2tcp>;
    /// CUBIC (RFC 9438): a window that is a cubic function of time.
    Cubic(cubic::CubicRules) => Additive<cubic::Cubic>;
}

/// Builds the custom congestion control of a connection.
pub type MakeCongestion = dyn Fn(&TcpParams) -> Box<dyn CongestionControl> + Send + Sync;

/// A congestion control behind a pointer.
#[derive(Clone)]
pub struct CustomCongestion {
    make: Arc<MakeCongestion>,
    /// Its rules as text; empty: it is a user's own.
    rules: String,
    /// Which marks receivers echo; `None`: all.
    coalescing: Option<Coalescing>,
}

impl CustomCongestion {
    /// Returns whether it is a user's own, and no setting has built it.
    pub fn is_users(&self) -> bool {
        self.rules.is_empty()
    }
}

impl fmt::Debug for CustomCongestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_users() { "custom" } else { &self.rules })
    }
}

impl CongestionSpec {
    /// Wraps a custom control; `make` builds that of each connection.
    pub fn custom<C: CongestionControl + 'static>(
        make: impl Fn(&TcpParams) -> C + Send + Sync + 'static,
    ) -> CongestionSpec {
        CongestionSpec::Custom(CustomCongestion {
            make: Arc::new(move |params| Box::new(make(params))),
            rules: String::new(),
            coalescing: None,
        })
    }

    /// Wraps a control of this house, with its rules.
    pub(crate) fn ruled<R, C>(rules: R, make: impl Fn(R, &TcpParams) -> C + Send + Sync + 'static) -> CongestionSpec
    where
        R: fmt::Debug + Copy + Send + Sync + 'static,
        C: CongestionControl + 'static,
    {
        let make = Arc::new(move |params: &TcpParams| -> Box<dyn CongestionControl> { Box::new(make(rules, params)) });
        CongestionSpec::Custom(CustomCongestion { make, rules: format!("{rules:?}"), coalescing: None })
    }

    /// Has receivers echo fewer marks to a control that is wrapped.
    fn echoing(self, coalescing: Option<Coalescing>) -> CongestionSpec {
        match self {
            CongestionSpec::Custom(own) => CongestionSpec::Custom(CustomCongestion { coalescing, ..own }),
            other => other,
        }
    }

    /// Returns which marks receivers echo; `None`: all.
    pub fn coalescing(&self) -> Option<Coalescing> {
        if let CongestionSpec::Custom(own) = self { own.coalescing } else { None }
    }

    /// Builds the congestion control of a new connection.
    pub(crate) fn build(&self, params: &TcpParams) -> Congestion {
        each!(make self, rules => rules.build(params), own => Paced::new((own.make)(params)))
    }
}

/// The methods of [`CongestionControl`].
impl Congestion {
    /// As [`CongestionControl::on_ack`]. Each arm has a copy of the ACK, since a shared one would have to be in memory.
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, ack: Acked<'_>, params: &TcpParams) {
        each!(part self, control => {
            let own = ack;
            control.on_ack(&own, params);
        });
    }

    pub(crate) fn on_loss(&mut self, loss: &Lost, params: &TcpParams) {
        each!(part self, control => control.on_loss(loss, params));
    }

    pub(crate) fn on_timeout(&mut self, loss: &Lost, again: bool, params: &TcpParams) {
        each!(part self, control => control.on_timeout(loss, again, params));
    }

    pub(crate) fn remember(&mut self) {
        each!(part self, control => control.remember());
    }

    pub(crate) fn undo(&mut self, params: &TcpParams) {
        each!(part self, control => control.undo(params));
    }

    /// Returns up to which segment the last cut of a built-in control counts; it changes with each cut.
    pub(crate) fn last_cut(&self) -> u32 {
        match self {
            each!(built_in Additive { window, .. }) => window.last_cut(),
            Congestion::Custom(_) => 0,
        }
    }

    pub(crate) fn on_lost_handshake(&mut self, params: &TcpParams) {
        each!(part self, control => control.on_lost_handshake(params));
    }

    pub(crate) fn on_restart(&mut self, params: &TcpParams) {
        each!(part self, control => control.on_restart(params));
    }

    #[inline(always)]
    pub(crate) fn is_cut(&self, params: &TcpParams) -> bool {
        match self {
            each!(built_in Additive { window, .. }) => window.is_cut(params),
            Congestion::Custom(own) => own.is_cut(params),
        }
    }

    pub(crate) fn observe(&self, see: &mut dyn FnMut(Observed<'_>)) {
        each!(part self, control => control.observe(see));
    }

    #[inline(always)]
    pub(crate) fn window(&self, params: &TcpParams) -> u32 {
        match self {
            each!(built_in Additive { window, .. }) => window.segments(),
            Congestion::Custom(own) => own.window(params),
        }
    }
}

/// Pacing, which built-in controls do not do.
impl Congestion {
    /// Returns whether it is a custom control, which hears of segments that leave and may pace them.
    #[inline(always)]
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Congestion::Custom(_))
    }

    /// Returns the custom control.
    pub(crate) fn own(&mut self) -> Option<&mut Paced> {
        if let Congestion::Custom(own) = self { Some(own) } else { None }
    }

    /// Returns the departure for which a segment that the window allows is waiting; [`Time::NEVER`]: none waits.
    #[inline(always)]
    pub(crate) fn held_until(&self) -> Time {
        if let Congestion::Custom(own) = self { own.held_until } else { Time::NEVER }
    }
}
