//! Patterns of traffic, which say which host sends to which, and the host pairs that they draw.
//!
//! One arrival is one flow, or under incast the answers of several hosts to one request, which start together (the
//! partition-aggregate pattern: Alizadeh et al., "Data Center TCP", SIGCOMM 2010, section 2.1). With drawn pairs each host
//! sends and receives as much as any other on average, so a load is that of every host's link; with listed pairs it is that of
//! the busiest.
//!
//! Left out: the request's own packets, and any time between the answers to it.

use crate::random::{Purpose, Xoshiro256PlusPlus, below, stream, uniform01};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Which host sends to which.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Sender and receiver are drawn uniformly for each flow.
    AllToAll,
    /// Each host sends to one other host and receives from one other: one cycle through all hosts, drawn uniformly.
    Permutation,
    /// Like all-to-all, with a share of the flows within the sender's rack and the others to other racks.
    RackLocal {
        /// The rack of each host.
        racks: Arc<[u32]>,
        /// Share of the flows that stay within the rack, 0 to 1.
        share: f64,
    },
    /// Requests that several hosts answer at once.
    Incast {
        /// Different hosts that answer a request.
        fan_in: u32,
        /// Share of the flows that are answers, above 0 and up to 1; the others are all-to-all.
        share: f64,
    },
    /// Only these host pairs.
    Listed(Arc<[ListedPair]>),
}

/// A host pair of [`Pattern::Listed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedPair {
    /// The sender.
    pub src: u32,
    /// The receiver.
    pub dst: u32,
    /// Its flows, in proportion to the other pairs' weights.
    pub weight: u32,
}

impl Pattern {
    /// The mean number of flows of an arrival.
    pub fn flows_per_arrival(&self) -> f64 {
        match self {
            // A share q of the arrivals are requests, and q·n / (q·n + 1 − q) of the flows answers.
            Pattern::Incast { fan_in, share } => f64::from(*fan_in) / (f64::from(*fan_in) * (1.0 - share) + share),
            _ => 1.0,
        }
    }

    /// For listed pairs, the bytes of the mean flow on the busiest of the hosts' links, in either direction, if the flows of a
    /// pair (sender, receiver) put `bytes` on both of theirs. None for other patterns.
    pub fn busiest(&self, bytes: impl Fn((u32, u32)) -> f64) -> Option<f64> {
        let Pattern::Listed(pairs) = self else { return None };
        let mut links: BTreeMap<(bool, u32), f64> = BTreeMap::new();
        let mut weights = 0.0;
        for ListedPair { src, dst, weight } in pairs.iter() {
            let all = f64::from(*weight) * bytes((*src, *dst));
            *links.entry((false, *src)).or_default() += all;
            *links.entry((true, *dst)).or_default() += all;
            weights += f64::from(*weight);
        }
        Some(links.into_values().fold(0.0, f64::max) / weights.max(1.0))
    }
}

/// A pattern that these hosts cannot have.
#[derive(Debug, Error, Clone, Copy, PartialEq)]
pub enum PatternError {
    /// A fabric in which no host has another to send to.
    #[error("{0} host(s); expected at least 2, because flows go from one host to another")]
    Hosts(u32),
    /// More answers than other hosts.
    #[error("{fan_in} hosts answer a request; expected 1 to {}, because there are {hosts} hosts", .hosts - 1)]
    FanIn {
        /// Answers to a request.
        fan_in: u32,
        /// Hosts of the fabric.
        hosts: u32,
    },
    /// A share outside of 0 to 1.
    #[error("a share of {0}; expected 0 to 1")]
    Share(f64),
    /// A host without another in its rack.
    #[error("host {0} is alone in its rack; expected racks of at least 2 hosts, or a share of 0 within the rack")]
    Alone(u32),
    /// One rack for all.
    #[error("all hosts are in one rack; expected several racks, or a share of 1 within the rack")]
    OneRack,
    /// Racks of more or fewer hosts than there are.
    #[error("racks of {racks} hosts; expected {hosts}")]
    Racks {
        /// Hosts that have a rack.
        racks: usize,
        /// Hosts of the fabric.
        hosts: u32,
    },
    /// A list without a pair.
    #[error("no host pair with flows; expected at least one")]
    NoPairs,
    /// A listed pair that the fabric does not have.
    #[error("flows from host {src} to host {dst}; expected two of the {hosts} hosts")]
    Pair {
        /// The sender.
        src: u32,
        /// The receiver.
        dst: u32,
        /// Hosts of the fabric.
        hosts: u32,
    },
}

/// A pattern over the hosts of a fabric, with the draws that its seed fixes for the whole run.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    hosts: u32,
    rule: Rule,
    draws: Xoshiro256PlusPlus,
}

#[derive(Clone, Debug)]
enum Rule {
    AllToAll,
    /// The receiver of each host's flows.
    Permutation(Vec<u32>),
    RackLocal(Racks, f64),
    Incast {
        fan_in: usize,
        /// Share of the arrivals that are requests.
        requests: f64,
        request_draws: Xoshiro256PlusPlus,
        /// All hosts in any order: shuffled to draw distinct hosts.
        order: Vec<u32>,
    },
    /// Pairs, each with the sum of the weights up to it.
    Listed(Vec<(u32, u32, u64)>),
}

#[derive(Clone, Debug)]
struct Racks {
    /// The hosts, rack by rack.
    hosts: Vec<u32>,
    /// By host: its position in `hosts`.
    position: Vec<u32>,
    /// By host: where its rack begins and ends in `hosts`.
    bounds: Vec<(u32, u32)>,
}

impl Pairs {
    pub(crate) fn new(pattern: &Pattern, hosts: u32, seed: u64) -> Result<Pairs, PatternError> {
        if hosts < 2 {
            return Err(PatternError::Hosts(hosts));
        }
        let share_of =
            |share: f64| if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(PatternError::Share(share)) };
        let rule = match pattern {
            Pattern::AllToAll => Rule::AllToAll,
            Pattern::Permutation => Rule::Permutation(permutation(hosts, seed)),
            Pattern::RackLocal { racks, share } => {
                let share = share_of(*share)?;
                Rule::RackLocal(Racks::new(racks, hosts, share)?, share)
            }
            Pattern::Incast { fan_in, share } => {
                if !(1..hosts).contains(fan_in) {
                    return Err(PatternError::FanIn { fan_in: *fan_in, hosts });
                }
                let share = share_of(*share)?;
                Rule::Incast {
                    fan_in: *fan_in as usize,
                    requests: share / (f64::from(*fan_in) * (1.0 - share) + share),
                    request_draws: stream(seed, Purpose::Requests, 0),
                    order: (0..hosts).collect(),
                }
            }
            Pattern::Listed(pairs) => Rule::Listed(cumulated(pairs, hosts)?),
        };
        Ok(Pairs { hosts, rule, draws: stream(seed, Purpose::Pairs, 0) })
    }

    /// Adds the (sender, receiver) of each flow of the next arrival; returns whether they are the answers to a request.
    pub(crate) fn arrive(&mut self, pairs: &mut Vec<(u32, u32)>) -> bool {
        if let Rule::Incast { fan_in, requests, request_draws, order } = &mut self.rule
            && uniform01(request_draws) < *requests
        {
            let mut draw = |n: usize| below(&mut self.draws, n as u64) as usize;
            let last = order.len() - 1;
            let receiver = draw(last + 1);
            order.swap(receiver, last);
            for position in 0..*fan_in {
                order.swap(position, position + draw(last - position));
                pairs.push((order[position], order[last]));
            }
            return true;
        }
        if let Rule::Listed(listed) = &self.rule {
            let at = below(&mut self.draws, listed.last().map_or(0, |(.., all)| *all));
            let (src, dst, _) = listed[listed.partition_point(|(.., upto)| *upto <= at)];
            pairs.push((src, dst));
            return false;
        }
        let src = below(&mut self.draws, u64::from(self.hosts)) as u32;
        pairs.push((src, self.rule.receiver(self.hosts, src, &mut self.draws)));
        false
    }

    /// The receiver of a flow that `src` sends, by a draw from `draws`.
    pub(crate) fn receiver(&self, src: u32, draws: &mut Xoshiro256PlusPlus) -> u32 {
        self.rule.receiver(self.hosts, src, draws)
    }
}

impl Rule {
    fn receiver(&self, hosts: u32, src: u32, draws: &mut Xoshiro256PlusPlus) -> u32 {
        match self {
            Rule::AllToAll | Rule::Incast { .. } | Rule::Listed(_) => {
                let other = below(draws, u64::from(hosts) - 1) as u32;
                if other < src { other } else { other + 1 }
            }
            Rule::Permutation(receivers) => receivers[src as usize],
            Rule::RackLocal(racks, share) => {
                let local = uniform01(draws) < *share;
                racks.receiver(src, local, draws)
            }
        }
    }
}

/// Listed pairs, each with the sum of the weights up to it; those without flows are left out.
fn cumulated(pairs: &[ListedPair], hosts: u32) -> Result<Vec<(u32, u32, u64)>, PatternError> {
    let mut all = 0;
    let mut cumulated = Vec::with_capacity(pairs.len());
    for ListedPair { src, dst, weight } in pairs.iter().copied().filter(|pair| pair.weight > 0) {
        if src == dst || src >= hosts || dst >= hosts {
            return Err(PatternError::Pair { src, dst, hosts });
        }
        all += u64::from(weight);
        cumulated.push((src, dst, all));
    }
    if cumulated.is_empty() { Err(PatternError::NoPairs) } else { Ok(cumulated) }
}

/// By host, the receiver of its flows under [`Pattern::Permutation`]: the next of one cycle through all, each cycle
/// equally likely (Sattolo, "An algorithm to generate a random cyclic permutation", 1986).
pub fn permutation(hosts: u32, seed: u64) -> Vec<u32> {
    let mut draws = stream(seed, Purpose::Permutation, 0);
    let mut next: Vec<u32> = (0..hosts).collect();
    for last in (1..next.len()).rev() {
        next.swap(last, below(&mut draws, last as u64) as usize);
    }
    next
}

impl Racks {
    fn new(racks: &[u32], hosts: u32, share: f64) -> Result<Racks, PatternError> {
        if racks.len() != hosts as usize {
            return Err(PatternError::Racks { racks: racks.len(), hosts });
        }
        let mut by_rack: Vec<u32> = (0..hosts).collect();
        by_rack.sort_by_key(|host| racks[*host as usize]);
        let mut position = vec![0; racks.len()];
        let mut bounds = vec![(0, 0); racks.len()];
        let mut from = 0u32;
        for rack in by_rack.chunk_by(|a, b| racks[*a as usize] == racks[*b as usize]) {
            let end = from + rack.len() as u32;
            for (host, at) in rack.iter().zip(from..) {
                position[*host as usize] = at;
                bounds[*host as usize] = (from, end);
            }
            if share > 0.0 && rack.len() == 1 {
                return Err(PatternError::Alone(rack[0]));
            }
            if share < 1.0 && rack.len() == racks.len() {
                return Err(PatternError::OneRack);
            }
            from = end;
        }
        Ok(Racks { hosts: by_rack, position, bounds })
    }

    fn receiver(&self, src: u32, local: bool, draws: &mut Xoshiro256PlusPlus) -> u32 {
        let (from, end) = self.bounds[src as usize];
        let mut draw = |n: u32| below(draws, u64::from(n)) as u32;
        let position = if local {
            let other = from + draw(end - from - 1);
            if other < self.position[src as usize] { other } else { other + 1 }
        } else {
            let other = draw(self.hosts.len() as u32 - (end - from));
            if other < from { other } else { other + (end - from) }
        };
        self.hosts[position as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drawn(pattern: &Pattern, hosts: u32, arrivals: usize) -> Vec<Vec<(u32, u32)>> {
        let mut pairs = Pairs::new(pattern, hosts, 5).unwrap();
        let arrival = |_| {
            let mut of_one = Vec::new();
            pairs.arrive(&mut of_one);
            of_one
        };
        (0..arrivals).map(arrival).collect()
    }

    fn refused(pattern: &Pattern, hosts: u32) -> String {
        Pairs::new(pattern, hosts, 1).unwrap_err().to_string()
    }

    fn racks(of: &[u32], share: f64) -> Pattern {
        Pattern::RackLocal { racks: of.into(), share }
    }

    #[test]
    fn permutation__is_one_cycle() {
        let mut next = [None; 9];
        for flows in drawn(&Pattern::Permutation, 9, 500) {
            let [(src, dst)] = flows[..] else { panic!("{flows:?}") };
            assert!(next[src as usize].is_none_or(|known| known == dst));
            next[src as usize] = Some(dst);
        }
        let mut at = 0;
        let visited: Vec<u32> = (0..9)
            .map(|_| {
                at = next[at as usize].unwrap();
                at
            })
            .collect();
        assert_eq!(at, 0);
        assert!((0..9).all(|host| visited.contains(&host)), "{visited:?}");
    }

    #[test]
    fn permutation__depends_on_the_seed() {
        assert_ne!(permutation(20, 1), permutation(20, 2));
        assert_eq!(permutation(2, 7), [1, 0]);
    }

    #[test]
    fn rack_local__keeps_its_share_within_racks() {
        // Racks of 3, 2 and 4 hosts whose numbers are mixed.
        let of = [0, 1, 2, 0, 2, 1, 2, 0, 2];
        let flows = drawn(&racks(&of, 0.7), 9, 90_000).concat();
        let mut counts = [[0u32; 9]; 9];
        flows.iter().for_each(|(src, dst)| counts[*src as usize][*dst as usize] += 1);
        for (src, row) in counts.iter().enumerate() {
            for (dst, count) in row.iter().enumerate() {
                let here = of.iter().filter(|rack| **rack == of[src]).count() as f64;
                // Per 10,000 flows a host; six standard deviations.
                let expected = match of[src] == of[dst] {
                    _ if src == dst => 0.0,
                    true => 7_000.0 / (here - 1.0),
                    false => 3_000.0 / (9.0 - here),
                };
                assert!((f64::from(*count) - expected).abs() <= 6.0 * f64::sqrt(expected), "{src} to {dst}: {count}");
            }
        }
    }

    #[test]
    fn incast__has_different_senders_and_every_receiver_alike() {
        let requests = drawn(&Pattern::Incast { fan_in: 3, share: 1.0 }, 6, 12_000);
        let mut received = [0u32; 6];
        let mut sent = [0u32; 6];
        for request in &requests {
            let receiver = request[0].1;
            let mut senders: Vec<u32> = request.iter().map(|flow| flow.0).collect();
            assert!(request.iter().all(|flow| flow.1 == receiver) && !senders.contains(&receiver));
            received[receiver as usize] += 1;
            senders.iter().for_each(|sender| sent[*sender as usize] += 1);
            senders.sort_unstable();
            senders.dedup();
            assert_eq!(senders.len(), 3);
        }
        // 2,000 and 6,000 each; five standard deviations.
        assert!(received.iter().all(|count| count.abs_diff(2_000) < 205), "{received:?}");
        assert!(sent.iter().all(|count| count.abs_diff(6_000) < 275), "{sent:?}");
    }

    #[test]
    fn incast__has_its_share_of_the_flows() {
        let pattern = Pattern::Incast { fan_in: 8, share: 0.25 };
        let arrivals = drawn(&pattern, 16, 40_000);
        let flows: usize = arrivals.iter().map(Vec::len).sum();
        let answers: usize = arrivals.iter().map(Vec::len).filter(|flows| *flows == 8).sum();
        assert!((answers as f64 / flows as f64 - 0.25).abs() < 0.02, "{answers} of {flows}");
        assert!((flows as f64 / 40_000.0 / pattern.flows_per_arrival() - 1.0).abs() < 0.02, "{flows}");
    }

    fn listed(pairs: &[(u32, u32, u32)]) -> Pattern {
        Pattern::Listed(pairs.iter().map(|&(src, dst, weight)| ListedPair { src, dst, weight }).collect())
    }

    #[test]
    fn listed__has_each_pair_by_its_weight() {
        let flows = drawn(&listed(&[(2, 0, 8), (1, 0, 1), (3, 0, 1), (0, 3, 0)]), 4, 40_000).concat();
        // 32,000 and 4,000; six standard deviations.
        for (pair, expected) in [((2, 0), 32_000), ((1, 0), 4_000), ((3, 0), 4_000), ((0, 3), 0)] {
            let found = flows.iter().filter(|flow| **flow == pair).count();
            assert!(found.abs_diff(expected) <= 480, "{pair:?}: {found}");
        }
        assert!(flows.iter().all(|flow| flow.1 == 0));
    }

    #[test]
    fn busiest__link_of_any_host_in_either_direction() {
        let of = |pairs: &[(u32, u32, u32)]| listed(pairs).busiest(|(src, _)| if src == 2 { 10.0 } else { 1_000.0 });
        // All to host 0: the mean flow. Separately, host 1 sends nine of ten flows.
        assert_eq!(of(&[(2, 0, 8), (1, 0, 1), (3, 0, 1)]), Some(208.0));
        assert_eq!(of(&[(1, 0, 4), (1, 3, 5), (2, 4, 1)]), Some(900.0));
        assert_eq!(Pattern::AllToAll.busiest(|_| 1.0), None);
    }

    #[test]
    fn new__refuses_what_hosts_cannot_do() {
        let hosts = "1 host(s); expected at least 2, because flows go from one host to another";
        assert_eq!(refused(&Pattern::AllToAll, 1), hosts);
        let fan_in = "9 hosts answer a request; expected 1 to 8, because there are 9 hosts";
        assert_eq!(refused(&Pattern::Incast { fan_in: 9, share: 1.0 }, 9), fan_in);
        assert!(refused(&Pattern::Incast { fan_in: 0, share: 1.0 }, 9).contains("0 hosts answer"));
        assert_eq!(refused(&Pattern::Incast { fan_in: 2, share: f64::NAN }, 9), "a share of NaN; expected 0 to 1");
        assert!(refused(&racks(&[0, 0, 1], 0.5), 3).starts_with("host 2 is alone in its rack"));
        assert!(refused(&racks(&[4, 4, 4], 0.5), 3).starts_with("all hosts are in one rack"));
        assert_eq!(refused(&racks(&[0, 0], 0.5), 3), "racks of 2 hosts; expected 3");
        assert_eq!(refused(&listed(&[(0, 1, 0)]), 4), "no host pair with flows; expected at least one");
        let pair = "flows from host 2 to host 4; expected two of the 4 hosts";
        assert_eq!(refused(&listed(&[(0, 1, 1), (2, 4, 1)]), 4), pair);
        assert!(refused(&listed(&[(2, 2, 1)]), 4).starts_with("flows from host 2 to host 2"));
        assert!(Pairs::new(&racks(&[0, 0, 1], 0.0), 3, 1).is_ok());
        assert!(Pairs::new(&racks(&[4, 4, 4], 1.0), 3, 1).is_ok());
    }

    proptest! {
        #[test]
        fn arrive__names_hosts_that_differ(hosts in 2u32..40, which in 0u8..5, share in 0.01..=1.0, seed: u64) {
            let pattern = match which {
                0 => Pattern::AllToAll,
                1 => Pattern::Permutation,
                2 => Pattern::Incast { fan_in: 1 + hosts / 3, share },
                3 => listed(&(0..hosts).map(|host| (host, (host + 1) % hosts, host)).collect::<Vec<_>>()),
                _ => racks(&(0..hosts).map(|host| host / 2 % (hosts / 2)).collect::<Vec<_>>(), if hosts < 4 { 1.0 } else { share }),
            };
            let mut pairs = Pairs::new(&pattern, hosts, seed).unwrap();
            let mut drawn = Vec::new();
            for _ in 0..20 {
                pairs.arrive(&mut drawn);
            }
            prop_assert!(drawn.len() >= 20);
            prop_assert!(drawn.iter().all(|(src, dst)| src != dst && *src < hosts && *dst < hosts));
        }
    }
}
