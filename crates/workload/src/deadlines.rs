//! The flows that have deadlines, and their deadlines.
//!
//! Deadlines come last: starts, hosts and sizes are drawn as without them, and a flow's deadline is a function of the
//! seed, its number and its size. So the same flows have the same deadlines under every scheme, and their sizes and starts
//! do not change when deadlines are added.

use std::num::NonZeroU64;

use crate::Flow;
use crate::random::{Purpose, stream, uniform01};

/// Deadlines of flows up to a size; larger ones have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Bytes of the largest flow that has one.
    pub up_to: u64,
    /// The time from a flow's start to its deadline.
    pub rule: DeadlineRule,
}

/// The time after its start within which a flow should have finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineRule {
    /// Always these picoseconds.
    Fixed(u64),
    /// Exponential, with this mean in picoseconds.
    Exponential(u64),
    /// 80 us times 2 to the power of packets / 16, with packets of 1,460 bytes: the rule of QCluster's simulations
    /// (`ns2/srpt_las_ddl` of qcluster/QCluster). Their paper says exponential (§6.3.3), with no mean.
    Qcluster,
}

impl Deadlines {
    /// The flow with its deadline, if it has one: from 1 ps to 213 days after its start.
    pub fn put_on(&self, flow: Flow, seed: u64) -> Flow {
        if flow.bytes > self.up_to {
            return Flow { deadline_ps: None, ..flow };
        }
        let after_ps = match self.rule {
            DeadlineRule::Fixed(ps) => ps,
            DeadlineRule::Exponential(mean_ps) => {
                let survival = 1.0 - uniform01(&mut stream(seed, Purpose::Deadlines, flow.id.into()));
                (-libm::log(survival) * mean_ps as f64).round() as u64
            }
            DeadlineRule::Qcluster => (80e6 * libm::exp2(flow.bytes.div_ceil(1_460) as f64 / 16.0)).round() as u64,
        };
        Flow { deadline_ps: NonZeroU64::new(after_ps.max(1)), ..flow }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deadline(rule: DeadlineRule, id: u32, bytes: u64, seed: u64) -> Option<u64> {
        let flow = Flow { id, start_ps: 5, src: 0, dst: 1, bytes, class: 0, deadline_ps: None, coflow: None };
        Deadlines { up_to: 100_000, rule }.put_on(flow, seed).deadline_ps.map(NonZeroU64::get)
    }

    #[test]
    fn put_on__flows_up_to_the_size_alone() {
        let fixed = |bytes| deadline(DeadlineRule::Fixed(7_000), 3, bytes, 1);
        assert_eq!([fixed(1), fixed(100_000), fixed(100_001)], [Some(7_000), Some(7_000), None]);
    }

    #[test]
    fn qcluster__doubles_every_sixteen_packets() {
        let of_packets = |packets: u64| deadline(DeadlineRule::Qcluster, 0, 1_460 * packets, 1).unwrap();
        assert_eq!([16, 32, 64].map(of_packets), [160_000_000, 320_000_000, 1_280_000_000]);
        assert_eq!(deadline(DeadlineRule::Qcluster, 0, 1_460 * 16 - 1, 1), Some(160_000_000));
        assert_eq!(of_packets(8), 113_137_085);
        assert_eq!(deadline(DeadlineRule::Qcluster, 0, u64::MAX, 1), None);
    }

    #[test]
    fn exponential__has_its_mean_and_its_median() {
        let n = 40_000;
        let all: Vec<u64> =
            (0..n).map(|id| deadline(DeadlineRule::Exponential(1_000_000_000), id, 9, 4).unwrap()).collect();
        // Five standard errors of the mean, and of the share below the median.
        assert!((all.iter().sum::<u64>() / u64::from(n)).abs_diff(1_000_000_000) < 25_000_000);
        let early = all.iter().filter(|&&ps| ps < 693_147_181).count() as f64 / f64::from(n);
        assert!((early - 0.5).abs() < 0.0125, "{early}");
        assert_eq!(deadline(DeadlineRule::Exponential(1), 0, 9, 4).map(|ps| ps >= 1), Some(true));
    }

    #[test]
    fn exponential__depends_on_seed_and_number_alone() {
        let of = |id, bytes, seed| deadline(DeadlineRule::Exponential(1_000_000), id, bytes, seed);
        assert_eq!(of(7, 10, 1), of(7, 99_000, 1));
        assert!(of(7, 10, 1) != of(8, 10, 1) && of(7, 10, 1) != of(7, 10, 2));
    }
}
