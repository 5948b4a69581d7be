//! Spraying: each packet takes its own path.

use rand_core::Rng;

use crate::balancer::{BalancerRules, BalancerSite, ChooseWay};
use crate::hash::reduce;
use crate::meta::{Meta, NONE};
use crate::units::Time;

/// Round robin: each flow's packets take the next hops of a group in turn. Flows begin in turn, too, so that flows of one
/// packet fill the group evenly.
///
/// ns-2's multipath classifier has one turn for all flows. Flows that send in step would not be sprayed by it: of as many
/// flows as there are next hops, each would always take the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SprayRoundRobin;

impl BalancerRules for SprayRoundRobin {
    type Balancer = RoundRobin;

    fn build(&self, site: &BalancerSite) -> RoundRobin {
        RoundRobin { next: vec![0; site.groups], flows: vec![(NONE, 0, 0); RoundRobin::FLOWS] }
    }
}

/// The balancer of a switch that sprays round robin.
pub struct RoundRobin {
    /// By group: the first path of the next flow.
    next: Vec<u16>,
    /// By the last digits of the flow: the flow and the destination of its last packet, and its path.
    flows: Vec<(u32, u16, u16)>,
}

impl RoundRobin {
    /// Flows under way in a switch have mostly different last digits. Two that share them begin anew with each change.
    const FLOWS: usize = 1 << 9;
}

impl ChooseWay for RoundRobin {
    #[inline(always)]
    fn choose(&mut self, meta: &Meta, group: usize, ways: usize, _: Time, _: &mut dyn Rng) -> Option<usize> {
        let after = |way: u16| if usize::from(way) + 1 >= ways { 0 } else { way + 1 };
        let (flow, to, last) = &mut self.flows[meta.flow as usize % Self::FLOWS];
        if (*flow, *to) == (meta.flow, meta.dst) {
            *last = after(*last);
        } else {
            (*flow, *to, *last) = (meta.flow, meta.dst, self.next[group]);
            self.next[group] = after(self.next[group]);
        }
        Some(usize::from(*last))
    }
}

/// Packet by packet, at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SprayRandom;

impl BalancerRules for SprayRandom {
    type Balancer = SprayRandom;

    fn build(&self, _: &BalancerSite) -> SprayRandom {
        SprayRandom
    }
}

impl ChooseWay for SprayRandom {
    #[inline(always)]
    fn choose(&mut self, _: &Meta, _: usize, ways: usize, _: Time, random: &mut dyn Rng) -> Option<usize> {
        Some(reduce(random.next_u64(), ways))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Watches;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn packet(flow: u32) -> Meta {
        Meta { flow, dst: 7, ..Meta::default() }
    }

    #[test]
    fn spray__each_flow_takes_ways_in_turn() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut spray = SprayRoundRobin.build(&BalancerSite { groups: 2, salt: 0, watches: Watches::default() });
        let mut way = |flow, group| spray.choose(&packet(flow), group, 3, Time::ZERO, &mut random);
        // Flows begin in turn, and in each group by itself.
        assert_eq!([way(1, 0), way(2, 0), way(3, 1), way(4, 0), way(5, 0)], [0, 1, 0, 2, 0].map(Some));
        // Then each goes on from where it began, in whatever order their packets come.
        assert_eq!([way(1, 0), way(1, 0), way(2, 0), way(1, 0), way(2, 0)], [1, 2, 2, 0, 0].map(Some));
        // Two flows that share the last digits begin anew: their packets take the ways in turn.
        let other = 1 + RoundRobin::FLOWS as u32;
        assert_eq!([way(other, 0), way(1, 0), way(other, 0)], [1, 2, 0].map(Some));
    }

    #[test]
    fn spray__fewer_ways_than_before() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut spray = SprayRoundRobin.build(&BalancerSite { groups: 1, salt: 0, watches: Watches::default() });
        let mut way = |ways| spray.choose(&packet(1), 0, ways, Time::ZERO, &mut random);
        assert_eq!([way(4), way(4), way(4), way(2), way(2)], [0, 1, 2, 0, 1].map(Some));
    }
}
