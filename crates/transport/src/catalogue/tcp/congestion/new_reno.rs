//! NewReno: a mark counts as a loss (RFC 3168 §6.1.2).

use super::control::Acked;
use super::window::Response;

/// Halves the window, once a window of data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewReno;

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
