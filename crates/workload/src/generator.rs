//! Poisson arrivals, all-to-all.
//!
//! The hosts' Poisson processes together are one process of the summed rate whose flows choose their sender uniformly
//! among the hosts and their receiver uniformly among the others; that is what is drawn.
//!
//! Gaps, sizes and pairs come from three random streams, so that the n-th flow has the same size and the same hosts at
//! any load, and its start only scales.

use crate::Flow;
use crate::distribution::SizeDistribution;
use crate::random::{Purpose, Xoshiro256PlusPlus, below, stream, uniform01};
use thiserror::Error;

const PS_PER_SECOND: f64 = 1e12;

/// Flows without end, in the order of their starts. It ends only where time (213 days) or flow ids (2³²) run out.
#[derive(Clone, Debug)]
pub struct Generator {
    sizes: SizeDistribution,
    hosts: u32,
    mean_gap_ps: f64,
    now_ps: u64,
    next_id: Option<u32>,
    arrivals: Xoshiro256PlusPlus,
    size_draws: Xoshiro256PlusPlus,
    pairs: Xoshiro256PlusPlus,
}

/// A workload that cannot be generated.
#[derive(Debug, Error, Clone, Copy, PartialEq)]
pub enum GeneratorError {
    /// A fabric in which no host has another to send to.
    #[error("{0} host(s); expected at least 2, because flows go from one host to another")]
    Hosts(u32),
    /// A rate that is no rate, or that puts more than one flow into each picosecond.
    #[error("{0} flows per second; expected a rate above 0 and at most 1e12 over all hosts")]
    Rate(f64),
}

impl Generator {
    /// Flows of `sizes` among `hosts`, each of which starts `rate_per_host` of them per second.
    pub fn new(
        sizes: SizeDistribution,
        rate_per_host: f64,
        hosts: u32,
        seed: u64,
    ) -> Result<Generator, GeneratorError> {
        if hosts < 2 {
            return Err(GeneratorError::Hosts(hosts));
        }
        let rate = rate_per_host * f64::from(hosts);
        if !(rate > 0.0 && rate <= PS_PER_SECOND) {
            return Err(GeneratorError::Rate(rate));
        }
        Ok(Generator {
            sizes,
            hosts,
            mean_gap_ps: PS_PER_SECOND / rate,
            now_ps: 0,
            next_id: Some(0),
            arrivals: stream(seed, Purpose::Arrivals, 0),
            size_draws: stream(seed, Purpose::Sizes, 0),
            pairs: stream(seed, Purpose::Pairs, 0),
        })
    }

    /// An exponential gap, rounded to whole picoseconds.
    fn gap_ps(&mut self) -> u64 {
        let survival = 1.0 - uniform01(&mut self.arrivals);
        (-libm::log(survival) * self.mean_gap_ps).round() as u64
    }

    fn pair(&mut self) -> (u32, u32) {
        let src = below(&mut self.pairs, u64::from(self.hosts)) as u32;
        let other = below(&mut self.pairs, u64::from(self.hosts) - 1) as u32;
        (src, if other < src { other } else { other + 1 })
    }
}

impl Iterator for Generator {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let id = self.next_id?;
        self.now_ps = self.now_ps.checked_add(self.gap_ps())?;
        self.next_id = id.checked_add(1);
        let (src, dst) = self.pair();
        let bytes = self.sizes.sample(&mut self.size_draws);
        Some(Flow { id, start_ps: self.now_ps, src, dst, bytes, class: 0, deadline_ps: None, coflow: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::builtin;
    use proptest::prelude::*;

    fn generator(rate_per_host: f64, hosts: u32, seed: u64) -> Generator {
        let sizes = builtin("web-search").unwrap().distribution().unwrap();
        Generator::new(sizes, rate_per_host, hosts, seed).unwrap()
    }

    #[test]
    fn generator__stays_the_same_for_ever() {
        // Computed by another program from the definitions of the streams and the source's points.
        let first: Vec<_> = generator(360.0, 144, 1).take(3).map(|f| (f.start_ps, f.src, f.dst, f.bytes)).collect();
        let expected = [(5_769_094, 54, 114, 178_120), (14_783_265, 80, 23, 23_360), (19_605_155, 141, 90, 33_580)];
        assert_eq!(first, expected);
    }

    #[test]
    fn gaps__are_exponential() {
        let n = 100_000;
        let starts: Vec<u64> = generator(100.0, 10, 5).take(n).map(|flow| flow.start_ps).collect();
        let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
        let share_above = |limit: f64| gaps.iter().filter(|&&gap| gap > limit).count() as f64 / gaps.len() as f64;
        // 1,000 flows a second: a mean of 1 ms, and e⁻ˣ of the gaps are longer than x ms. Five standard errors.
        assert!((gaps.iter().sum::<f64>() / gaps.len() as f64 - 1.0).abs() < 0.016);
        for limit in [0.1, 1.0, 3.0] {
            assert!((share_above(limit) - libm::exp(-limit)).abs() < 0.008, "{limit}");
        }
    }

    #[test]
    fn pairs__are_uniform_over_all_ordered_pairs() {
        let mut counts = [[0u32; 5]; 5];
        generator(100.0, 5, 5).take(40_000).for_each(|flow| counts[flow.src as usize][flow.dst as usize] += 1);
        for (src, row) in counts.iter().enumerate() {
            for (dst, count) in row.iter().enumerate() {
                // 2,000 a pair; five standard deviations of a binomial count are 218.
                let expected = if src == dst { 0..=0 } else { 1_782..=2_218 };
                assert!(expected.contains(count), "{src} to {dst}: {count}");
            }
        }
    }

    #[test]
    fn rate__changes_starts_alone() {
        let slow: Vec<Flow> = generator(100.0, 16, 9).take(1_000).collect();
        let fast: Vec<Flow> = generator(200.0, 16, 9).take(1_000).collect();
        for (slow, fast) in slow.iter().zip(&fast) {
            assert_eq!(Flow { start_ps: 0, ..*slow }, Flow { start_ps: 0, ..*fast });
            // Each gap was rounded to a picosecond.
            assert!(slow.start_ps.abs_diff(2 * fast.start_ps) <= 2 * 1_000);
        }
    }

    #[test]
    fn seed__changes_everything() {
        let [first, second] = [1, 2].map(|seed| generator(100.0, 16, seed).take(20).collect::<Vec<_>>());
        assert!(first.iter().zip(&second).all(|(a, b)| a.start_ps != b.start_ps));
        assert!(first.iter().zip(&second).any(|(a, b)| a.bytes != b.bytes));
        assert!(first.iter().zip(&second).any(|(a, b)| (a.src, a.dst) != (b.src, b.dst)));
    }

    #[test]
    fn generator__ends_with_time_and_not_with_a_panic() {
        // One flow a host in 11.6 days.
        let flows: Vec<Flow> = generator(1e-6, 2, 1).collect();
        assert!((5..200).contains(&flows.len()), "{}", flows.len());
        let mut last = Generator { next_id: Some(u32::MAX), ..generator(100.0, 2, 1) };
        assert_eq!(last.next().map(|flow| flow.id), Some(u32::MAX));
        assert_eq!(last.next(), None);
    }

    #[test]
    fn new__refuses_what_cannot_be_generated() {
        let refused = |rate, hosts| {
            let sizes = builtin("web-search").unwrap().distribution().unwrap();
            Generator::new(sizes, rate, hosts, 1).map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(refused(1.0, 1), "1 host(s); expected at least 2, because flows go from one host to another");
        assert!(refused(0.0, 2).starts_with("0 flows per second; expected a rate above 0"));
        assert!(refused(-1.0, 2).contains("above 0"));
        assert!(refused(f64::NAN, 2).contains("above 0"));
        assert!(refused(1e12, 2).contains("at most 1e12"));
    }

    proptest! {
        #[test]
        fn generator__gives_flows_in_order_between_two_hosts(total in 1e-3..1e12, hosts in 2u32.., seed: u64) {
            let rate = total / f64::from(hosts);
            let flows: Vec<Flow> = generator(rate, hosts, seed).take(50).collect();
            prop_assert!(flows.windows(2).all(|pair| pair[0].start_ps <= pair[1].start_ps));
            for (flow, id) in flows.iter().zip(0..) {
                prop_assert_eq!(flow.id, id);
                prop_assert!(flow.src < hosts && flow.dst < hosts && flow.src != flow.dst);
                prop_assert!(flow.bytes >= 1);
            }
        }
    }
}
