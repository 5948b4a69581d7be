//! What single schemes are, built from their files.

mod es8;
mod nos2;
mod sieve;
mod super_packets;

use flowsieve_core::controllers::thresholds::NetworkParams;
use flowsieve_core::{ControllerKind, ControllerSpec};
use flowsieve_sim::scheme::Scheme;

/// Returns the controller of the network's thresholds, if the scheme has one.
pub(crate) fn network(scheme: &Scheme) -> Option<(&ControllerSpec, &NetworkParams)> {
    scheme.controllers.iter().find_map(|spec| match &spec.kind {
        ControllerKind::NetworkThresholds(params) => Some((spec, params)),
        _ => None,
    })
}
