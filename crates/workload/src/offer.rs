//! Sizes at a rate: one distribution for all host pairs, or two.

use crate::distribution::SizeDistribution;
use crate::pattern::Pattern;
use crate::random::{Purpose, Xoshiro256PlusPlus, stream, uniform01};
use std::sync::Arc;

/// Sizes at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The distribution of sizes.
    pub sizes: SizeDistribution,
    /// Another distribution, for some of the host pairs.
    pub mix: Option<Mix>,
    /// Flows that each host starts per second on average.
    pub rate_per_host: f64,
}

/// A second workload for some of the host pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// The distribution of their sizes; their flows have class 1.
    pub sizes: SizeDistribution,
    /// The pairs that have it.
    pub pairs: MixPairs,
    /// The share of the flows that they send, 0 to 1, in expectation.
    pub share: f64,
}

/// The ordered host pairs that have the second of two workloads.
#[derive(Clone, Debug, PartialEq)]
pub enum MixPairs {
    /// A share of the pairs equal to that of the flows, drawn once for the whole run.
    Drawn,
    /// Pairs whose sender has a lower number than the receiver, among hosts that all send to all others (AWAFS §5.6). They send
    /// their share of the flows, whatever it is, so that each pair can have the same load in bytes.
    Rising,
    /// All pairs of these senders.
    From(Arc<[u32]>),
}

impl Mix {
    /// Whether the flows from `src` to `dst` are of the second workload.
    pub(crate) fn has(&self, seed: u64, src: u32, dst: u32) -> bool {
        let pair = u64::from(src) << 32 | u64::from(dst);
        match self.pairs {
            MixPairs::Drawn => uniform01(&mut stream(seed, Purpose::Mix, pair)) < self.share,
            _ => self.chance(src, dst) > 0.5,
        }
    }

    /// The probability over all seeds that the flows from `src` to `dst` are of the second workload.
    fn chance(&self, src: u32, dst: u32) -> f64 {
        match &self.pairs {
            MixPairs::Drawn => self.share,
            MixPairs::Rising => f64::from(u8::from(src < dst)),
            MixPairs::From(senders) => f64::from(u8::from(senders.contains(&src))),
        }
    }
}

impl MixPairs {
    /// The share of the flows of `pattern` that pairs of these `senders` have.
    pub fn share_from(senders: &[u32], pattern: &Pattern, hosts: u32) -> f64 {
        match pattern {
            Pattern::Listed(pairs) => {
                let weight = |wanted: &dyn Fn(u32) -> bool| -> f64 {
                    pairs.iter().filter(|pair| wanted(pair.src)).map(|pair| f64::from(pair.weight)).sum()
                };
                weight(&|src| senders.contains(&src)) / weight(&|_| true).max(1.0)
            }
            _ => (0..hosts).filter(|host| senders.contains(host)).count() as f64 / f64::from(hosts.max(1)),
        }
    }
}

impl Offer {
    /// The mean of a `measure` of sizes over all flows.
    pub fn mean_of(&self, measure: impl Fn(&SizeDistribution) -> f64) -> f64 {
        match &self.mix {
            None => measure(&self.sizes),
            Some(mix) => (1.0 - mix.share) * measure(&self.sizes) + mix.share * measure(&mix.sizes),
        }
    }

    /// The mean over the flows from `src` to `dst`, and over all seeds, of a measure with one value for each workload.
    pub fn mean_of_pair(&self, (src, dst): (u32, u32), [first, second]: [f64; 2]) -> f64 {
        let chance = self.mix.as_ref().map_or(0.0, |mix| mix.chance(src, dst));
        (1.0 - chance) * first + chance * second
    }

    /// The smallest size, in bytes, that a share `p` of the flows do not exceed.
    pub fn quantile(&self, p: f64) -> u64 {
        let Some(mix) = &self.mix else { return self.sizes.quantile(p) };
        let (first, second) = (self.sizes.quantile(p), mix.sizes.quantile(p));
        let (mut low, mut high) = (first.min(second), first.max(second));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.mean_of(|sizes| sizes.cdf(middle)) < p { low = middle + 1 } else { high = middle }
        }
        high
    }

    /// A pair, reversed if necessary so that pairs of rising numbers have their share of the flows.
    pub(crate) fn turn(&self, (src, dst): (u32, u32), draws: &mut Xoshiro256PlusPlus) -> (u32, u32) {
        match &self.mix {
            Some(Mix { pairs: MixPairs::Rising, share, .. }) if (uniform01(draws) < *share) != (src < dst) => {
                (dst, src)
            }
            _ => (src, dst),
        }
    }

    /// The class and the size of a flow between two hosts.
    pub(crate) fn draw(&self, seed: u64, (src, dst): (u32, u32), draws: &mut Xoshiro256PlusPlus) -> (u8, u64) {
        match &self.mix {
            Some(mix) if mix.has(seed, src, dst) => (1, mix.sizes.sample(draws)),
            _ => (0, self.sizes.sample(draws)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::distribution::Rounding;
    use crate::pattern::ListedPair;
    use crate::{Flow, Generator, GeneratorError, Traffic};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn fixed(bytes: u64) -> SizeDistribution {
        SizeDistribution::fixed(bytes, Rounding::Bytes).unwrap()
    }

    /// Flows of 10 bytes, and of 77 for some pairs.
    fn mixed(hosts: u32, pattern: Pattern, pairs: MixPairs, share: f64) -> Traffic {
        let mix = Some(Mix { sizes: fixed(77), pairs, share });
        let from_start = Offer { sizes: fixed(10), mix, rate_per_host: 1e5 };
        Traffic { hosts, pattern, arrivals: Arrivals::Poisson, from_start, change: None }
    }

    fn flows(traffic: &Traffic, n: usize) -> Vec<Flow> {
        Generator::of(traffic, 1).unwrap().take(n).collect()
    }

    #[test]
    fn mix__gives_each_pair_one_of_two_workloads() {
        let mixed = mixed(40, Pattern::AllToAll, MixPairs::Drawn, 0.25);
        let mut of_pair = BTreeMap::new();
        for flow in flows(&mixed, 40_000) {
            assert_eq!(flow.bytes, if flow.class == 1 { 77 } else { 10 });
            assert_eq!(*of_pair.entry((flow.src, flow.dst)).or_insert(flow.class), flow.class);
        }
        // 1,560 pairs; five standard deviations are 86.
        let second = of_pair.values().filter(|class| **class == 1).count();
        assert_eq!(of_pair.len(), 1_560);
        assert!(second.abs_diff(390) < 86, "{second}");
        assert_eq!(mixed.from_start.mean_of(SizeDistribution::mean_bytes), 0.75 * 10.0 + 0.25 * 77.0);
    }

    #[test]
    fn rising__pairs_have_their_share_of_the_flows_and_are_alike() {
        let hosts = 5;
        let mut counts = BTreeMap::new();
        for flow in flows(&mixed(hosts, Pattern::AllToAll, MixPairs::Rising, 0.2), 40_000) {
            assert_eq!((flow.class, flow.bytes), if flow.src < flow.dst { (1, 77) } else { (0, 10) });
            *counts.entry((flow.src, flow.dst)).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 20);
        for ((src, dst), count) in counts {
            // A fifth of the flows over ten pairs, and the others over ten; five standard deviations.
            let (expected, most) = if src < dst { (800, 141) } else { (3_200, 272) };
            assert!(count.abs_diff(expected) <= most, "{src} to {dst}: {count}");
        }
    }

    #[test]
    fn from__hosts_send_the_second_workload() {
        let pairs = [(2, 0, 8), (1, 0, 1), (3, 0, 1)].map(|(src, dst, weight)| ListedPair { src, dst, weight });
        let listed = Pattern::Listed(pairs.to_vec().into());
        let senders: Arc<[u32]> = [1, 3].into();
        let share = MixPairs::share_from(&senders, &listed, 4);
        assert_eq!((share, MixPairs::share_from(&senders, &Pattern::AllToAll, 8)), (0.2, 0.25));
        let traffic = mixed(4, listed, MixPairs::From(senders), share);
        assert!(flows(&traffic, 500).iter().all(|flow| flow.bytes == if flow.src == 2 { 10 } else { 77 }));
        let offer = &traffic.from_start;
        assert_eq!([(2, 0), (3, 0)].map(|pair| offer.mean_of_pair(pair, [5.0, 6.0])), [5.0, 6.0]);
    }

    #[test]
    fn rising__is_for_hosts_that_all_send_to_all() {
        let refused = Generator::of(&mixed(5, Pattern::Permutation, MixPairs::Rising, 0.2), 1).map(drop);
        assert_eq!(refused, Err(GeneratorError::Rising));
    }

    #[test]
    fn quantile__of_a_mix_is_that_of_both_together() {
        let uniform = |low, high| SizeDistribution::uniform(low, high, Rounding::Bytes).unwrap();
        let mix = Some(Mix { sizes: uniform(51, 150), pairs: MixPairs::Drawn, share: 0.5 });
        let mixed = Offer { sizes: uniform(1, 100), mix, rate_per_host: 1.0 };
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|p| mixed.quantile(p)), [1, 50, 75, 100, 150]);
    }

    proptest! {
        #[test]
        fn offer__mean_of_flows_is_that_of_its_pairs(
            weights in prop::collection::vec(1u32..20, 2..12), senders in prop::collection::vec(0u32..12, 1..6)
        ) {
            // Each host sends to the next one.
            let hosts = weights.len() as u32;
            let pair = |(src, weight)| ListedPair { src, dst: (src + 1) % hosts, weight };
            let pairs: Arc<[ListedPair]> = (0..).zip(weights).map(pair).collect();
            let pattern = Pattern::Listed(Arc::clone(&pairs));
            let share = MixPairs::share_from(&senders, &pattern, hosts);
            let offer = mixed(hosts, pattern, MixPairs::From(senders.into()), share).from_start;
            let weight = |pair: &ListedPair| f64::from(pair.weight);
            let bytes: f64 = pairs.iter().map(|pair| weight(pair) * offer.mean_of_pair((pair.src, pair.dst), [10.0, 77.0])).sum();
            let mean = bytes / pairs.iter().map(weight).sum::<f64>();
            prop_assert!((mean - offer.mean_of(SizeDistribution::mean_bytes)).abs() < 1e-9 * mean);
        }
    }
}
