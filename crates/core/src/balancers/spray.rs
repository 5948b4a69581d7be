//! Spraying: each packet takes its own path.

use rand_core::Rng;

use crate::balancer::{BalancerRules, BalancerSite, ChooseWay};
use crate::hash::reduce;
use crate::meta::Meta;
use crate::units::Time;

/// Round robin, packet by packet, in each group of next hops, as in ns-2's multipath classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SprayRoundRobin;

impl BalancerRules for SprayRoundRobin {
    type Balancer = RoundRobin;

    fn build(&self, site: &BalancerSite) -> RoundRobin {
        RoundRobin { next: vec![0; site.groups] }
    }
}

/// The balancer of a switch that sprays round robin.
pub struct RoundRobin {
    /// By group: the next path.
    next: Vec<u16>,
}

impl ChooseWay for RoundRobin {
    #[inline(always)]
    fn choose(&mut self, _: &Meta, group: usize, ways: usize, _: Time, _: &mut dyn Rng) -> Option<usize> {
        let way = usize::from(self.next[group]);
        self.next[group] = if way + 1 == ways { 0 } else { way as u16 + 1 };
        Some(way)
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
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn packet(flow: u32) -> Meta {
        Meta { flow, dst: 7, ..Meta::default() }
    }

    #[test]
    fn spray__round_robin_a_group() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut spray = RoundRobin { next: vec![0; 2] };
        let mut ways = |group| spray.choose(&packet(1), group, 3, Time::ZERO, &mut random);
        assert_eq!([ways(0), ways(0), ways(1), ways(0), ways(0)], [0, 1, 0, 2, 0].map(Some));
    }
}
