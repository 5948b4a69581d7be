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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::Trail;
    use crate::marker::{MarkScope, WHOLE};
    use crate::scheduler::Line;
    use crate::units::Time;
    use arrayvec::ArrayVec;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    /// Returns how many of 4,000 packets are marked. Each leaves `behind` bytes; the ramp goes from 10,000 to 30,000 bytes.
    fn marked(waits: u32, most: u32, ecn: Ecn) -> usize {
        let (min, max, scope) = (10_000, 30_000, MarkScope::Queue);
        let ramp = Marker::Red { min, max, most, weight: WHOLE, scope, counts_arriving: false };
        let mut marking = Marking { ports: vec![None, Some(ramp)], marked: 0 };
        let (mut trail, mut signals) = (Trail::default(), ArrayVec::new());
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let line = Line { byte_time: Rate::new(10_000_000_000).unwrap().byte_time(), overhead: 0 };
        let mut one = |egress| {
            let (backlog, in_queue) = (90_000, Some(waits));
            let (now, sent_bytes) = (Time::ZERO, 0);
            let (trail, signals, random) = (&mut trail, &mut signals, &mut random);
            let mut hop = Hop { now, egress, line, backlog, in_queue, sent_bytes, trail, signals, random };
            let mut packet = Meta { ecn, ..Meta::default() };
            marking.on_departure(&mut packet, &mut hop);
            packet.ecn == Ecn::Marked
        };
        assert!(!one(0) && !one(7), "a port of another place, and none");
        (0..4_000).filter(|_| one(1)).count()
    }

    #[test]
    fn on_departure__marks_by_what_its_queue_still_holds() {
        let always = u32::MAX;
        assert_eq!([0, 10_000, 30_001].map(|waits| marked(waits, always, Ecn::Capable)), [0, 0, 4_000]);
        assert_eq!(marked(30_001, always, Ecn::NotCapable), 0);
        // Half and a tenth, within five standard deviations.
        assert!((1_840..2_160).contains(&marked(20_000, always, Ecn::Capable)));
        assert!((305..495).contains(&marked(20_000, always / 5, Ecn::Capable)));
    }
}
