//! In-band telemetry (INT): each switch writes a [`Stamp`](crate::hop::Stamp) into data, and counts itself.

use crate::hop::{Hears, Hop, HopSpec, OnHop};
use crate::meta::{Kind, Meta};

/// What is written. Swift needs the hops alone, HPCC the stamps.
#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    /// Stamps, too, and not the count of hops alone.
    pub telemetry: bool,
}

impl Stamps {
    /// Returns what switches do.
    pub fn spec(self) -> HopSpec {
        HopSpec::new(self, move |_| self)
    }
}

impl OnHop for Stamps {
    fn hears(&self) -> Hears {
        Hears { departures: true, ..Hears::NOTHING }
    }

    fn on_departure(&mut self, packet: &mut Meta, hop: &mut Hop<'_>) {
        if packet.kind == Kind::Data {
            hop.trail.hops = hop.trail.hops.saturating_add(1);
            if self.telemetry {
                hop.stamp();
            }
        }
    }
}
