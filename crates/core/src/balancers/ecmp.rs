//! ECMP: a connection keeps its path, chosen by a hash of the flow.

use rand_core::Rng;

use crate::balancer::{BalancerRules, BalancerSite, ChooseWay};
use crate::hash::{mix, reduce};
use crate::meta::Meta;
use crate::units::Time;

/// ECMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecmp;

impl BalancerRules for Ecmp {
    type Balancer = HashOfFlow;

    fn build(&self, site: &BalancerSite) -> HashOfFlow {
        HashOfFlow { salt: site.salt }
    }

    fn splits_flows(&self) -> bool {
        false
    }
}

/// The balancer of a switch.
pub struct HashOfFlow {
    /// Differs by switch, so that choices along a path are independent.
    pub salt: u64,
}

impl ChooseWay for HashOfFlow {
    #[inline(always)]
    fn choose(&mut self, meta: &Meta, _: usize, ways: usize, _: Time, _: &mut dyn Rng) -> Option<usize> {
        Some(ecmp_way(meta, self.salt, ways))
    }
}

/// Returns the path of a flow, by a hash.
#[inline(always)]
pub(crate) fn ecmp_way(meta: &Meta, salt: u64, ways: usize) -> usize {
    reduce(mix(flow_of(meta) ^ salt), ways)
}

/// Returns what a 5-tuple would distinguish: the connection and its direction.
pub(super) fn flow_of(meta: &Meta) -> u64 {
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
        let mut ecmp = HashOfFlow { salt: 99 };
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
        let (mut a, mut b) = (HashOfFlow { salt: 1 }, HashOfFlow { salt: 2 });
        let same = (0..4_000)
            .filter(|&f| {
                let p = packet(f);
                a.choose(&p, 0, 4, Time::ZERO, &mut random) == b.choose(&p, 0, 4, Time::ZERO, &mut random)
            })
            .count();
        assert!((850..1150).contains(&same), "{same}");
    }
}
