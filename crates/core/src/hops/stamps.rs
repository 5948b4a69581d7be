//! In-band telemetry (INT): each switch writes a [`Stamp`](crate::hop::Stamp) into data, and counts itself.

use crate::hop::{Hears, Hop, HopSpec, OnHop};
use crate::meta::{Kind, Meta};
use crate::site::Node;

/// What is written. Swift needs the hops alone, HPCC the stamps.
#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    /// Stamps, too, and not the count of hops alone.
    pub telemetry: bool,
}

impl Stamps {
    /// Returns what switches do.
    pub fn spec(self) -> HopSpec {
        HopSpec::new(self, move |site| Stamping {
            rules: self,
            switch: match site.node {
                Node::Switch(switch) | Node::Host(switch) => switch,
            },
        })
    }
}

/// A switch that writes.
struct Stamping {
    rules: Stamps,
    switch: u32,
}

impl OnHop for Stamping {
    fn hears(&self) -> Hears {
        Hears { departures: true, ..Hears::NOTHING }
    }

    fn on_departure(&mut self, packet: &mut Meta, hop: &mut Hop<'_>) {
        if packet.kind == Kind::Data {
            hop.trail.hops = hop.trail.hops.saturating_add(1);
            // Two ways differ in one switch or port at least; which of them is first matters not.
            let port = (self.switch << 6).wrapping_add(u32::from(hop.egress)).wrapping_mul(0x9e37_79b1);
            hop.trail.way ^= (port >> 16) as u16;
            if self.rules.telemetry {
                hop.stamp();
            }
        }
    }
}
