//! Draws flows: arrivals, sizes and host pairs of a workload.
//!
//! The hosts' Poisson processes together are one process of the summed rate. Its flows choose their sender uniformly among the
//! hosts and their receiver uniformly among the others. The generator draws this process.
//!
//! Gaps, sizes and pairs come from three random streams. So the n-th flow has the same size and the same hosts at any load, and
//! its start only scales. A workload that changes keeps its streams: the n-th flow draws the same share of the distribution,
//! from the distribution in force when it starts. If the change lies in a gap, the rest of the gap passes at the new rate.

use crate::Flow;
use crate::arrivals::{Arrivals, Gaps};
use crate::distribution::SizeDistribution;
use crate::offer::{MixPairs, Offer};
use crate::pattern::{Pairs, Pattern, PatternError};
use crate::random::{Purpose, Xoshiro256PlusPlus, stream};
use thiserror::Error;

const PS_PER_SECOND: f64 = 1e12;

/// A workload without its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Hosts of the fabric.
    pub hosts: u32,
    /// Who sends to whom.
    pub pattern: Pattern,
    /// When flows arrive.
    pub arrivals: Arrivals,
    /// The sizes and their rate, from the start.
    pub from_start: Offer,
    /// The sizes and their rate from this time on, in picoseconds, if they change.
    pub change: Option<(u64, Offer)>,
}

/// An unlimited sequence of flows, in the order of their starts. It ends only if time (2⁶⁴ ps, 213 days) or flow ids (2³²) run
/// out. Flows of the last arrival start at `u64::MAX` if time does, for all that would start later.
#[derive(Clone, Debug)]
pub struct Generator {
    seed: u64,
    offer: Offer,
    mean_gap_ps: f64,
    /// When the workload changes, to which offer, and the mean gap from then on.
    change: Option<(u64, Offer, f64)>,
    now_ps: u64,
    /// The fraction that rounding to picoseconds has cut off the gaps so far.
    carried_ps: f64,
    next_id: Option<u32>,
    gaps: Gaps,
    pairs: Pairs,
    size_draws: Xoshiro256PlusPlus,
    turn_draws: Xoshiro256PlusPlus,
    /// Pairs of the current arrival whose flows have not been returned yet, the next one last.
    waiting: Vec<(u32, u32)>,
    /// The number of the request that they answer, if they do.
    request: Option<u32>,
    requests: u32,
}

/// A workload that cannot be generated.
#[derive(Debug, Error, Clone, Copy, PartialEq)]
pub enum GeneratorError {
    /// A pattern that the hosts cannot have.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Pairs of rising numbers that are not half of all pairs.
    #[error("pairs of rising numbers have their own sizes; expected the same traffic between all hosts")]
    Rising,
    /// A rate that is not positive, or that puts more than one flow into each picosecond.
    #[error("{0} flows per second; expected a rate above 0 and at most 1e12 over all hosts")]
    Rate(f64),
}

impl Generator {
    /// Flows of `sizes` among `hosts`. Each host starts `rate_per_host` of them per second as a Poisson process, and
    /// sends to all others alike.
    pub fn new(
        sizes: SizeDistribution,
        rate_per_host: f64,
        hosts: u32,
        seed: u64,
    ) -> Result<Generator, GeneratorError> {
        let from_start = Offer { sizes, mix: None, rate_per_host };
        let (pattern, arrivals) = (Pattern::AllToAll, Arrivals::Poisson);
        Generator::of(&Traffic { hosts, pattern, arrivals, from_start, change: None }, seed)
    }

    /// The flows of `traffic`.
    pub fn of(traffic: &Traffic, seed: u64) -> Result<Generator, GeneratorError> {
        let pairs = Pairs::new(&traffic.pattern, traffic.hosts, seed)?;
        let offers = traffic.change.iter().map(|(_, offer)| offer).chain([&traffic.from_start]);
        let mut mixes = offers.filter_map(|offer| offer.mix.as_ref());
        if traffic.pattern != Pattern::AllToAll && mixes.any(|mix| mix.pairs == MixPairs::Rising) {
            return Err(GeneratorError::Rising);
        }
        let mean_gap_ps = |offer: &Offer| {
            let rate = offer.rate_per_host * f64::from(traffic.hosts);
            let accepted = rate > 0.0 && rate <= PS_PER_SECOND;
            let gap = PS_PER_SECOND / rate * traffic.pattern.flows_per_arrival();
            accepted.then_some(gap).ok_or(GeneratorError::Rate(rate))
        };
        let change = match &traffic.change {
            None => None,
            Some((at, offer)) => Some((*at, offer.clone(), mean_gap_ps(offer)?)),
        };
        Ok(Generator {
            seed,
            mean_gap_ps: mean_gap_ps(&traffic.from_start)?,
            offer: traffic.from_start.clone(),
            change,
            now_ps: 0,
            carried_ps: 0.0,
            next_id: Some(0),
            gaps: Gaps::new(&traffic.arrivals, seed),
            pairs,
            size_draws: stream(seed, Purpose::Sizes, 0),
            turn_draws: stream(seed, Purpose::Turns, 0),
            waiting: Vec::new(),
            request: None,
            requests: 0,
        })
    }

    /// Moves on by a gap, rounded to whole picoseconds, up to the end of time.
    fn pass_gap(&mut self) {
        let gaps = self.gaps.next();
        let mut gap_ps = gaps * self.mean_gap_ps + self.carried_ps;
        if let Some((at, offer, mean_gap_ps)) =
            self.change.take_if(|(at, ..)| self.now_ps as f64 + gap_ps >= *at as f64)
        {
            let before_ps = at.saturating_sub(self.now_ps) as f64;
            gap_ps = before_ps + (gap_ps - before_ps) / self.mean_gap_ps * mean_gap_ps;
            (self.offer, self.mean_gap_ps) = (offer, mean_gap_ps);
        }
        let whole_ps = gap_ps.round();
        if self.gaps.carries() {
            self.carried_ps = gap_ps - whole_ps;
        }
        self.now_ps = self.now_ps.saturating_add(whole_ps as u64);
    }
}

impl Iterator for Generator {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let id = self.next_id?;
        if self.waiting.is_empty() {
            if self.now_ps == u64::MAX {
                return None;
            }
            self.pass_gap();
            self.request = self.pairs.arrive(&mut self.waiting).then_some(self.requests);
            self.requests += u32::from(self.request.is_some());
            self.waiting.reverse();
        }
        let pair = self.waiting.pop()?;
        let (src, dst) = self.offer.turn(pair, &mut self.turn_draws);
        self.next_id = id.checked_add(1);
        let (class, bytes) = self.offer.draw(self.seed, (src, dst), &mut self.size_draws);
        Some(Flow { id, start_ps: self.now_ps, src, dst, bytes, class, deadline_ps: None, coflow: self.request })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Trace;
    use crate::builtins::builtin;
    use crate::distribution::Rounding;
    use proptest::prelude::*;
    use std::sync::Arc;

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
        // One flow a host in 11.6 days. One more says that time has ended.
        let starts: Vec<u64> = generator(1e-6, 2, 1).take(1_000).map(|flow| flow.start_ps).collect();
        assert!((5..200).contains(&starts.len()), "{}", starts.len());
        assert!(starts.is_sorted() && starts.iter().position(|&start| start == u64::MAX) == Some(starts.len() - 1));
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

    fn offer(bytes: u64, rate_per_host: f64) -> Offer {
        Offer { sizes: SizeDistribution::fixed(bytes, Rounding::Bytes).unwrap(), mix: None, rate_per_host }
    }

    fn traffic(arrivals: Arrivals, pattern: Pattern, from_start: Offer) -> Traffic {
        Traffic { hosts: 8, pattern, arrivals, from_start, change: None }
    }

    fn starts(traffic: &Traffic, n: usize) -> Vec<u64> {
        Generator::of(traffic, 1).unwrap().take(n).map(|flow| flow.start_ps).collect()
    }

    #[test]
    fn fixed__gaps_never_drift() {
        // 3 flows in 1 ps: gaps of a third, and none may be lost.
        let fixed = traffic(Arrivals::Fixed, Pattern::AllToAll, offer(1, 3e11 / 8.0));
        assert_eq!(starts(&fixed, 7), [3, 7, 10, 13, 17, 20, 23]);
        assert_eq!(starts(&fixed, 300_000)[299_999], 1_000_000);
    }

    #[test]
    fn trace__is_followed_at_its_own_rate_or_another() {
        let trace = Arc::new(Trace::read("t", "1e-6\n3e-6\n4e-6".as_bytes()).unwrap());
        let at = |rate: f64| {
            starts(&traffic(Arrivals::Trace(Arc::clone(&trace)), Pattern::AllToAll, offer(1, rate / 8.0)), 5)
        };
        assert_eq!(at(trace.rate()), [1_000_000, 3_000_000, 4_000_000, 5_000_000, 7_000_000]);
        assert_eq!(at(2.0 * trace.rate()), [500_000, 1_500_000, 2_000_000, 2_500_000, 3_500_000]);
    }

    #[test]
    fn incast__starts_all_answers_of_a_request_together() {
        let requests = traffic(Arrivals::Fixed, Pattern::Incast { fan_in: 4, share: 1.0 }, offer(1, 1e6 / 8.0));
        let flows: Vec<Flow> = Generator::of(&requests, 1).unwrap().take(8).collect();
        let of_request: Vec<Option<u32>> = flows.iter().map(|flow| flow.coflow).collect();
        assert_eq!(of_request, [0, 0, 0, 0, 1, 1, 1, 1].map(Some));
        // A million flows a second are a quarter of a million requests.
        assert_eq!(flows.iter().map(|flow| flow.start_ps / 1_000_000).collect::<Vec<_>>(), [4, 4, 4, 4, 8, 8, 8, 8]);
        assert_eq!(flows.iter().map(|flow| flow.id).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(
            flows[..4].iter().all(|flow| flow.dst == flows[0].dst)
                && flows[4..].iter().all(|flow| flow.dst == flows[4].dst)
        );
    }

    #[test]
    fn change__takes_sizes_and_rate_from_its_time_on() {
        let before = traffic(Arrivals::Fixed, Pattern::AllToAll, offer(10, 1e6 / 8.0));
        let changing = Traffic { change: Some((2_500_000, offer(20, 2e6 / 8.0))), ..before };
        let flows: Vec<(u64, u64)> =
            Generator::of(&changing, 1).unwrap().take(5).map(|flow| (flow.start_ps, flow.bytes)).collect();
        // Half of the third gap is left, and takes half as long.
        assert_eq!(flows, [(1_000_000, 10), (2_000_000, 10), (2_750_000, 20), (3_250_000, 20), (3_750_000, 20)]);
    }

    #[test]
    fn change__at_once_is_no_other_workload() {
        let other = Traffic {
            change: Some((0, offer(20, 5e5))),
            ..traffic(Arrivals::Poisson, Pattern::AllToAll, offer(10, 5e5))
        };
        let same = traffic(Arrivals::Poisson, Pattern::AllToAll, offer(20, 5e5));
        let of = |traffic: &Traffic| Generator::of(traffic, 3).unwrap().take(100).collect::<Vec<_>>();
        assert_eq!(of(&other), of(&same));
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
