//! NewReno: a mark counts as a loss (RFC 3168 §6.1.2).

use super::control::{Acked, CongestionRules};
use super::window::{Additive, Response};
use crate::tcp::params::TcpParams;

/// Halves the window, once a window of data.
#[derive(Clone, Copy, Debug)]
pub struct NewReno;

impl CongestionRules for NewReno {
    type Control = Additive<NewReno>;

    fn build(&self, params: &TcpParams) -> Additive<NewReno> {
        Additive::new(NewReno, params)
    }
}

impl Response for NewReno {
    const LOSS_CUTS_AGAIN: bool = false;

    fn estimate(&mut self, _: &Acked<'_>) {}

    fn keep(&self, _: f64, _: &Acked<'_>) -> f64 {
        0.5
    }

    fn alpha(&self) -> Option<f64> {
        None
    }
}
