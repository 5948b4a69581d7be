//! Random streams: one for each (seed, purpose, entity).
//!
//! Every purpose and every entity (a host, a port, a flow) draws from a stream of its own. So a change in one part of a run
//! leaves all other draws as they were: the same flows meet another scheme, the same sizes another load.
//! The generator is xoshiro256++ (Blackman and Vigna, 2021); the seed of a stream is hashed by SplitMix64 (Steele, Lea
//! and Flood, OOPSLA 2014). Both are integer arithmetic, the same on every machine.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
pub use rand_xoshiro::Xoshiro256PlusPlus;

/// The purpose of a random stream. The numbers are part of every result: they never change, new ones are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Gaps between the starts of flows.
    Arrivals = 1,
    /// Sizes of flows.
    Sizes = 2,
    /// Sender and receiver of flows.
    Pairs = 3,
    /// Choice of the uplink for a packet.
    Spray = 4,
    /// Packets that a faulty link loses.
    Loss = 5,
    /// ECN marks given with a probability.
    Marking = 6,
    /// The receiver of each host that sends to only one host.
    Permutation = 7,
    /// Which host pairs send the second of two mixed workloads; the entity is the pair.
    Mix = 8,
    /// Which arrivals are requests to many hosts.
    Requests = 9,
    /// Deadlines; the entity is the flow.
    Deadlines = 10,
    /// Which of a host pair's two directions a flow takes, where one has more flows than the other.
    Turns = 11,
    /// Draws of the user's own parts; the entity is the part.
    OwnPart = 12,
    /// Bounds of sizes that are drawn around them; the entity is the flow.
    Bounds = 13,
    /// Which flows are of the second class; the entity is the flow.
    Classes = 14,
    // 15 shuffles sizes among flows, to judge bounds: python/flowsieve_forest/report.py.
    /// Sizes of the answers to queries; the entity is the answer's number.
    Answers = 16,
    /// Draws of a recorded job; the entity is the job.
    Jobs = 20,
    /// The order in which kinds of jobs recur; the entity is the turn.
    JobOrder = 21,
    /// The places of kinds of jobs; the entity is the stage.
    JobKinds = 22,
    /// The hosts of a coflow trace's ports.
    CoflowHosts = 23,
    /// Gaps between the flows of generated coflows.
    CoflowArrivals = 24,
    /// The structure and the place of a generated coflow; the entity is the coflow.
    CoflowShapes = 25,
    /// The order in which generated coflows take the structure of given ones.
    CoflowOrder = 26,
    /// The seeds of several workloads of one run.
    Workloads = 30,
    /// The order of packets that arrive at one instant; the entity is the link.
    Ties = 31,
}

/// The stream of `entity` for `purpose` under the run's `seed`.
pub fn stream(seed: u64, purpose: Purpose, entity: u64) -> Xoshiro256PlusPlus {
    let mixed = [purpose as u64, entity].into_iter().fold(mix(seed), |state, part| mix(state ^ part));
    Xoshiro256PlusPlus::seed_from_u64(mixed)
}

/// The seed of one of several workloads of a run, by its name: the draws of the others do not change when one is added.
pub fn seed_of_workload(seed: u64, name: &str) -> u64 {
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let words = name.as_bytes().chunks(8).map(word);
    let parts = [Purpose::Workloads as u64, name.len() as u64].into_iter().chain(words);
    parts.fold(mix(seed), |state, part| mix(state ^ part))
}

/// A number in [0, 1), uniform over the multiples of 2⁻⁵³.
pub fn uniform01(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A whole number in 0..`n`, each exactly as likely (Lemire, "Fast random integer generation in an interval", 2019); 0 if `n`
/// is 0.
pub fn below(rng: &mut impl Rng, n: u64) -> u64 {
    loop {
        let wide = u128::from(rng.next_u64()) * u128::from(n);
        let low = wide as u64;
        // The first 2⁶⁴ mod n values of the low half would favour some results. The division is rarely needed.
        if low >= n || low >= n.wrapping_neg() % n {
            return (wide >> 64) as u64;
        }
    }
}

fn mix(state: u64) -> u64 {
    SplitMix64::seed_from_u64(state).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stream__stays_the_same_for_ever() {
        // Computed by another program from the definitions of SplitMix64 and xoshiro256++.
        let mut rng = stream(1, Purpose::Arrivals, 0);
        assert_eq!([rng.next_u64(), rng.next_u64()], [4_768_342_884_129_243_497, 6_886_254_094_158_327_724]);
    }

    #[test]
    fn seed_of_workload__differs_by_seed_and_name() {
        let names = ["a", "b", "ab", "background", "background2", "incast", "a_name_of_more_than_eight_letters"];
        let mut seeds: Vec<u64> =
            names.iter().flat_map(|name| [1, 2].map(|seed| seed_of_workload(seed, name))).collect();
        // Computed by another program from the definition of SplitMix64.
        let (short, long) = (seed_of_workload(1, "incast"), seed_of_workload(2, names[6]));
        assert_eq!([short, long], [1_278_226_216_809_488_609, 4_772_563_504_577_115_761]);
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 2 * names.len());
    }

    #[test]
    fn stream__differs_by_seed_purpose_and_entity() {
        let first = |seed, purpose, entity| stream(seed, purpose, entity).next_u64();
        let mut draws: Vec<u64> = (0..100).map(|seed| first(seed, Purpose::Sizes, 0)).collect();
        draws.extend((1..100).map(|entity| first(0, Purpose::Sizes, entity)));
        draws.extend([first(0, Purpose::Pairs, 0), first(0, Purpose::Pairs, 1), first(1, Purpose::Pairs, 0)]);
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), 202);
    }

    #[test]
    fn uniform01__has_the_mean_and_variance_of_the_uniform() {
        let mut rng = stream(7, Purpose::Sizes, 0);
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| uniform01(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.004, "mean {mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.001, "variance {variance}");
    }

    #[test]
    fn below__gives_each_number_equally_often() {
        let mut rng = stream(7, Purpose::Pairs, 0);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[below(&mut rng, 7) as usize] += 1);
        // Five standard deviations of a binomial count are 463.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 463), "{counts:?}");
    }

    #[test]
    fn below__rejects_what_would_favour_small_numbers() {
        // With n = 3 · 2⁶², a multiplication without rejection gives every third number twice as often.
        let n = 3 << 62;
        let mut rng = stream(3, Purpose::Pairs, 0);
        let every_third = (0..30_000).filter(|_| below(&mut rng, n) % 3 == 0).count();
        assert!(every_third.abs_diff(10_000) < 409, "{every_third}");
    }

    proptest! {
        #[test]
        fn below__stays_below(seed: u64, n in 1u64..) {
            prop_assert!(below(&mut stream(seed, Purpose::Pairs, 0), n) < n);
        }

        #[test]
        fn uniform01__stays_in_its_interval(seed: u64) {
            let x = uniform01(&mut stream(seed, Purpose::Sizes, 0));
            prop_assert!((0.0..1.0).contains(&x));
        }
    }
}
