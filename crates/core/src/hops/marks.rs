//! RED by what a packet leaves behind: as a line begins to send a packet, what still waits in its queue decides about a mark. A mark at
//! arrival ([`crate::marker`]) tells of the queue that the packet found, which is older by the time that it waited.

use crate::hop::{Hears, Hop, HopSpec, OnHop};
use crate::marker::Marker;
use crate::meta::{Ecn, Meta};
use crate::readings::Reading;
use crate::site::Place;
use crate::units::Rate;

/// How ports at a place mark, and those of some rates. Of a [`Marker`] other than RED nothing is marked; averages are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// How a port marks.
    pub marker: Marker,
    /// How ports of these rates do instead.
    pub marker_at: Vec<(Rate, Marker)>,
}

impl Marks {
    /// Returns what switches at these places do.
    pub fn spec(places: Vec<(Place, Marks)>) -> HopSpec {
        let rules = places.clone();
        HopSpec::new(rules, move |site| {
            let own = places.iter().find(|(place, _)| *place == site.place).map(|(_, marks)| marks);
            let of_port = |rate| {
                let other = own?.marker_at.iter().find(|(of, _)| *of == rate).map(|(_, marker)| *marker);
                Some(other.unwrap_or(own?.marker))
            };
            Marking { ports: site.ports.iter().map(|port| of_port(port.rate)).collect(), marked: 0 }
        })
    }
}

/// A switch that marks.
struct Marking {
    ports: Vec<Option<Marker>>,
    marked: u64,
}

impl OnHop for Marking {
    fn hears(&self) -> Hears {
        Hears { departures: true, ..Hears::NOTHING }
    }

    fn on_departure(&mut self, packet: &mut Meta, hop: &mut Hop<'_>) {
        let of_port = self.ports.get(usize::from(hop.egress)).copied().flatten();
        let (Some(Marker::Red { min, max, most, .. }), Ecn::Capable) = (of_port, packet.ecn) else { return };
        let waits = hop.in_queue.map_or(hop.backlog, u64::from);
        if waits <= min {
            return;
        }
        // Above the ramp every packet is marked; on it with a probability of `most` times its part of the ramp.
        let part = u128::from(waits - min) * u128::from(most) / u128::from((max - min).max(1));
        if waits > max || u128::from(hop.random.next_u32()) < part {
            self.marked += u64::from(packet.mark());
        }
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        see(Reading::Count { name: "marks_at_departure", count: self.marked });
    }
}
