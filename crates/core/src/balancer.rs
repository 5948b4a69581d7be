//! Balancers: which of several equally short ways a packet takes at a switch.

use rand_core::Rng;

use crate::hash::{mix, reduce};
use crate::meta::Meta;
use crate::units::Time;

/// Every balancer as one type, so that a switch calls it without indirection.
pub enum Balancer {
    /// Hash of the flow: a connection keeps its way (ECMP).
    Ecmp {
        /// Differs by switch, so that choices along a path are independent.
        salt: u64,
    },
    /// Packet by packet, round robin in each group of next hops, as ns-2's multipath classifier.
    SprayRoundRobin {
        /// By group: the next way.
        next: Vec<u16>,
    },
    /// Packet by packet, at random.
    SprayRandom,
    /// A burst keeps its way; after a gap the next burst draws anew (LetFlow, NSDI 2017 §3).
    Flowlet(FlowletTable),
    /// The switch's [program](crate::program) chooses: for every packet, or for the first of a flowlet.
    Program(Option<FlowletTable>),
}

impl Balancer {
    /// One of `ways` ≥ 2 equal uplinks, numbered from 0, of next-hop group `group`; `None`: the program is to be asked.
    #[inline(always)]
    pub fn choose(&mut self, meta: &Meta, group: usize, ways: usize, now: Time, random: &mut dyn Rng) -> Option<usize> {
        Some(match self {
            Balancer::Ecmp { salt } => ecmp_way(meta, *salt, ways),
            Balancer::SprayRoundRobin { next } => {
                let way = usize::from(next[group]);
                next[group] = if way + 1 == ways { 0 } else { way as u16 + 1 };
                way
            }
            Balancer::SprayRandom => reduce(random.next_u64(), ways),
            Balancer::Flowlet(table) => table.choose(meta, ways, now, random),
            Balancer::Program(None) => return None,
            Balancer::Program(Some(table)) => return table.goes_on(meta, ways, now),
        })
    }

    /// The program has chosen this way for a packet.
    pub fn chosen(&mut self, meta: &Meta, way: usize, now: Time) {
        if let Balancer::Program(Some(table)) = self {
            table.begin(meta, way as u16, now);
        }
    }
}

/// The way of a flow by a hash.
#[inline(always)]
pub(crate) fn ecmp_way(meta: &Meta, salt: u64, ways: usize) -> usize {
    reduce(mix(flow_of(meta) ^ salt), ways)
}

/// Flowlet switching: a hashed table of the last packet's instant and way, as a switch's registers hold it. Flows that
/// share an entry share their flowlets.
pub struct FlowletTable {
    entries: Vec<(Time, u16)>,
    gap: Time,
}

impl FlowletTable {
    const ENTRIES: usize = 1 << 14;

    /// A table whose flowlets end after `gap` without a packet.
    pub fn new(gap: Time) -> FlowletTable {
        FlowletTable { entries: vec![(Time::ZERO, u16::MAX); Self::ENTRIES], gap }
    }

    fn choose(&mut self, meta: &Meta, ways: usize, now: Time, random: &mut dyn Rng) -> usize {
        self.goes_on(meta, ways, now).unwrap_or_else(|| {
            let way = reduce(random.next_u64(), ways);
            self.begin(meta, way as u16, now);
            way
        })
    }

    /// The way of a flowlet that goes on with this packet; `None`: the packet begins one.
    #[inline(always)]
    fn goes_on(&mut self, meta: &Meta, ways: usize, now: Time) -> Option<usize> {
        let (last, way) = &mut self.entries[Self::entry(meta)];
        let goes_on = usize::from(*way) < ways && now.since(*last) <= self.gap;
        goes_on.then(|| {
            *last = now;
            usize::from(*way)
        })
    }

    fn begin(&mut self, meta: &Meta, way: u16, now: Time) {
        self.entries[Self::entry(meta)] = (now, way);
    }

    #[inline(always)]
    fn entry(meta: &Meta) -> usize {
        reduce(mix(flow_of(meta)), Self::ENTRIES)
    }
}

/// What a 5-tuple would tell apart: the connection, and its direction.
fn flow_of(meta: &Meta) -> u64 {
    u64::from(meta.flow) << 16 | u64::from(meta.dst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn packet(flow: u32) -> Meta {
        Meta { flow, dst: 7, ..Meta::default() }
    }

    #[test]
    fn ecmp__keeps_a_flow_and_spreads_flows() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut ecmp = Balancer::Ecmp { salt: 99 };
        let mut count = [0; 4];
        for flow in 0..4_000 {
            let way = ecmp.choose(&packet(flow), 0, 4, Time::ZERO, &mut random);
            assert_eq!(way, ecmp.choose(&packet(flow), 0, 4, Time::from_us(9), &mut random));
            count[way.unwrap()] += 1;
        }
        // 1000 ± 5.5 standard deviations.
        assert!(count.iter().all(|c| (850..1150).contains(c)), "{count:?}");
    }

    #[test]
    fn ecmp__salt_makes_switches_choose_independently() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut a, mut b) = (Balancer::Ecmp { salt: 1 }, Balancer::Ecmp { salt: 2 });
        let same = (0..4_000)
            .filter(|&f| {
                let p = packet(f);
                a.choose(&p, 0, 4, Time::ZERO, &mut random) == b.choose(&p, 0, 4, Time::ZERO, &mut random)
            })
            .count();
        assert!((850..1150).contains(&same), "{same}");
    }

    #[test]
    fn spray__round_robin_a_group() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut spray = Balancer::SprayRoundRobin { next: vec![0; 2] };
        let mut ways = |group| spray.choose(&packet(1), group, 3, Time::ZERO, &mut random);
        assert_eq!([ways(0), ways(0), ways(1), ways(0), ways(0)], [0, 1, 0, 2, 0].map(Some));
    }

    #[test]
    fn flowlet__stays_within_the_gap_and_draws_anew_after_it() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut flowlets = Balancer::Flowlet(FlowletTable::new(Time::from_us(50)));
        let mut now = Time::ZERO;
        let mut at = |now, random: &mut Xoshiro256PlusPlus| flowlets.choose(&packet(5), 0, 16, now, random);
        let first = at(now, &mut random);
        for _ in 0..20 {
            now += Time::from_us(50);
            assert_eq!(at(now, &mut random), first);
        }
        let mut moved = false;
        for _ in 0..20 {
            now += Time::from_us(51);
            moved |= at(now, &mut random) != first;
        }
        assert!(moved, "20 draws out of 16 ways");
    }
}
