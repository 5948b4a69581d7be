//! Congestion control: how many segments of a connection may be in the network, and how fast they leave.
//!
//! | module | holds |
//! | --- | --- |
//! | [`control`] | the contract between a sender and its congestion control |
//! | `window` | the window that the built-in controls share |
//! | `new_reno`, `dctcp`, `d2tcp` | how each of them reacts to marks |
//! | `pacing` | when the segments of a paced control leave |
//!
//! A new one is a file here and its lines in [`CongestionSpec`] and `Congestion`.

pub mod control;
mod d2tcp;
mod dctcp;
mod new_reno;
mod pacing;
#[cfg(test)]
mod tests;
mod window;

use std::fmt;
use std::sync::Arc;

use flowsieve_core::Time;

pub use control::{ALPHA, Acked, CongestionControl, Lost, Sent, WINDOW};

use crate::endpoint::Observed;
use crate::tcp::params::TcpParams;
use d2tcp::D2tcp;
use dctcp::Dctcp;
use new_reno::NewReno;
use pacing::Paced;
use window::Additive;

/// How to build the congestion control of a connection. The built-in ones halve the window on loss and differ in their
/// response to ECN marks.
#[derive(Clone, Debug)]
pub enum CongestionSpec {
    /// NewReno: a mark counts as a loss (RFC 3168 §6.1.2).
    NewReno,
    /// DCTCP (RFC 8257): cut by half the smoothed marked fraction.
    Dctcp {
        /// Gain g of the estimate.
        gain: f64,
        /// Alpha before any estimate: 1 in RFC 8257 §4.2, 0 in ns-2.
        initial_alpha: f64,
    },
    /// D2TCP (Vamanan, Hasan, Vijaykumar, SIGCOMM 2012): DCTCP whose cut depends on the deadline of the message.
    D2tcp {
        /// The gain of alpha, as DCTCP's.
        gain: f64,
        /// Alpha before any estimate, as DCTCP's.
        initial_alpha: f64,
    },
    /// A custom control.
    Custom(CustomCongestion),
}

type Make = dyn Fn(&TcpParams) -> Box<dyn CongestionControl> + Send + Sync;

/// Builds custom congestion controls.
#[derive(Clone)]
pub struct CustomCongestion(Arc<Make>);

impl fmt::Debug for CustomCongestion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("custom")
    }
}

impl CongestionSpec {
    /// Wraps a custom control; `make` builds that of each connection.
    pub fn custom<C: CongestionControl + 'static>(
        make: impl Fn(&TcpParams) -> C + Send + Sync + 'static,
    ) -> CongestionSpec {
        CongestionSpec::Custom(CustomCongestion(Arc::new(move |params| Box::new(make(params)))))
    }

    /// Builds the congestion control of a new connection.
    pub(crate) fn build(&self, params: &TcpParams) -> Congestion {
        match self {
            CongestionSpec::NewReno => Congestion::NewReno(Additive::new(NewReno, params)),
            &CongestionSpec::Dctcp { gain, initial_alpha } => {
                Congestion::Dctcp(Additive::new(Dctcp::new(gain, initial_alpha), params))
            }
            &CongestionSpec::D2tcp { gain, initial_alpha } => {
                Congestion::D2tcp(Additive::new(D2tcp(Dctcp::new(gain, initial_alpha)), params))
            }
            CongestionSpec::Custom(CustomCongestion(make)) => Congestion::Custom(Paced::new(make(params))),
        }
    }
}

/// Every congestion control as one type, so that a sender calls it without indirection.
pub(crate) enum Congestion {
    NewReno(Additive<NewReno>),
    Dctcp(Additive<Dctcp>),
    D2tcp(Additive<D2tcp>),
    /// A custom control, the only kind that can be paced.
    Custom(Paced),
}

macro_rules! each {
    ($congestion:expr, $each:ident => $call:expr) => {
        match $congestion {
            Congestion::NewReno($each) => $call,
            Congestion::Dctcp($each) => $call,
            Congestion::D2tcp($each) => $call,
            Congestion::Custom(Paced { control: $each, .. }) => $call,
        }
    };
}

/// The controls with a window that grows additively. Every packet reads the window, without distinguishing the controls.
macro_rules! additive {
    ($window:ident) => {
        Congestion::NewReno(Additive { window: $window, .. })
            | Congestion::Dctcp(Additive { window: $window, .. })
            | Congestion::D2tcp(Additive { window: $window, .. })
    };
}

/// The methods of [`CongestionControl`].
impl Congestion {
    /// As [`CongestionControl::on_ack`]. Each arm takes the ACK separately, since a shared one would have to be in memory.
    #[inline(always)]
    pub(crate) fn on_ack<'a>(&mut self, ack: impl Fn() -> Acked<'a>, params: &TcpParams) {
        each!(self, control => control.on_ack(&ack(), params));
    }

    pub(crate) fn on_loss(&mut self, loss: &Lost, params: &TcpParams) {
        each!(self, control => control.on_loss(loss, params));
    }

    pub(crate) fn on_timeout(&mut self, loss: &Lost, again: bool, params: &TcpParams) {
        each!(self, control => control.on_timeout(loss, again, params));
    }

    pub(crate) fn on_lost_handshake(&mut self, params: &TcpParams) {
        each!(self, control => control.on_lost_handshake(params));
    }

    pub(crate) fn on_restart(&mut self, params: &TcpParams) {
        each!(self, control => control.on_restart(params));
    }

    #[inline(always)]
    pub(crate) fn is_cut(&self, params: &TcpParams) -> bool {
        match self {
            additive!(window) => window.is_cut(params),
            Congestion::Custom(own) => own.control.is_cut(params),
        }
    }

    pub(crate) fn observe(&self, see: &mut dyn FnMut(Observed<'_>)) {
        each!(self, control => control.observe(see));
    }

    #[inline(always)]
    pub(crate) fn window(&self, params: &TcpParams) -> u32 {
        match self {
            additive!(window) => window.segments(),
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
