//! What a search for other ports asks of today's: whether they mark for hosts that react, and how much a queue may hold.

use super::{Packets, defeats};
use crate::setup::Setup;
use flowsieve_core::marker::{MarkScope, Marker};
use flowsieve_experiment::{Error, Point};
use flowsieve_schemes::scheme::Class;
use flowsieve_settings::Place;
use flowsieve_transport::TransportSpec;
use flowsieve_transport::tcp::CongestionSpec;
use std::collections::BTreeMap;

/// What a search for other ports asks of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFacts {
    /// Whether all hosts send by DCTCP, and switches mark.
    pub is_dctcp: bool,
    /// By rate of the links that switches send to, in bit/s, rising: the most that a queue there may hold; `None`: no limit.
    pub room_bytes: Vec<(u64, Option<u64>)>,
}

/// Returns what a search asks of a point with built-in schemes.
///
/// # Errors
/// Fails if the point cannot be set up.
pub fn port_facts(point: &Point) -> Result<PortFacts, Error> {
    let run = Packets::new(&[], &[])?.run_of(point, 1)?;
    let Setup { fabric, scheme, .. } = &run.setup;
    let is_dctcp = |class: &Class| match &class.transport {
        TransportSpec::Tcp(rules) => rules.params.ecn && matches!(rules.params.congestion, CongestionSpec::Dctcp(_)),
        _ => false,
    };
    let (mut room, mut marks) = (BTreeMap::new(), true);
    for place in Place::ALL.into_iter().filter(|place| *place != Place::Nic) {
        let spec = scheme.ports.at(place);
        for rate in fabric.rates_at(place) {
            marks &= spec.marker_of(rate.byte_time()) != Marker::Off;
            let holds = defeats::ports::holds(spec, MarkScope::Queue, scheme.shared_buffer);
            let least = room.entry(rate.bps()).or_insert(holds);
            *least = [*least, holds].into_iter().flatten().min();
        }
    }
    let is_dctcp = marks && scheme.classes.iter().all(is_dctcp);
    Ok(PortFacts { is_dctcp, room_bytes: room.into_iter().collect() })
}
