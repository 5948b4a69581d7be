//! The mean number of links of each class that a packet crosses, by traffic pattern.

use flowsieve_sim::topology::{Fabric, Stage};
use flowsieve_workload::{ListedPair, Pattern, permutation};

/// The most host pairs of a permutation or a collective that are inspected: all of most fabrics.
const PAIRS: usize = 4_096;

/// Returns the mean number of links of each class, in the order of the fabric's classes, that a byte of the pattern
/// crosses. The mean flow of a pair has `bytes`.
pub(super) fn crossings(pattern: &Pattern, fabric: &Fabric, seed: u64, bytes: impl Fn((u32, u32)) -> f64) -> Vec<f64> {
    let everywhere = || fabric.class_shares().iter().map(|share| share.crossing);
    match pattern {
        // Answers come from any host and go to any host.
        Pattern::AllToAll | Pattern::Incast { .. } => everywhere().collect(),
        Pattern::Permutation => {
            let receivers = permutation(fabric.hosts, seed);
            let step = receivers.len().div_ceil(PAIRS);
            let pairs = receivers.iter().zip(0..).step_by(step);
            mean_way(fabric, pairs.map(|(dst, src)| ((src, *dst), 1.0)))
        }
        Pattern::Listed(pairs) => {
            let weight = |pair: &ListedPair| f64::from(pair.weight) * bytes((pair.src, pair.dst));
            mean_way(fabric, pairs.iter().map(|pair| ((pair.src, pair.dst), weight(pair))))
        }
        Pattern::RackLocal { racks, share } => {
            let mut here = vec![0.0; fabric.classes.len()];
            let Some((src, dst)) = neighbours(racks) else { return everywhere().collect() };
            add(&mut here, &fabric.path_links(src, dst), 1.0);
            // The mean over all pairs follows from that within a rack and that between racks, weighted by their
            // numbers.
            let within = pairs_within(racks);
            let mixed = |(all, here): (f64, &f64)| {
                let between = if within < 1.0 { (all - within * here) / (1.0 - within) } else { 0.0 };
                share * here + (1.0 - share) * between
            };
            everywhere().zip(&here).map(mixed).collect()
        }
    }
}

/// The most pairs of hosts for which the load of each link is computed: the ordered pairs of 512 hosts.
const PAIRS_OF_LINKS: u64 = 1 << 18;

/// Returns the mean number of times that a byte of the pattern crosses each link, if switches spread traffic evenly; `None`
/// for a fabric with too many hosts.
pub(super) fn of_links(
    pattern: &Pattern,
    fabric: &Fabric,
    seed: u64,
    bytes: impl Fn((u32, u32)) -> f64,
) -> Option<Vec<f64>> {
    let hosts = fabric.hosts;
    let everywhere =
        || (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))).filter(|(src, dst)| src != dst);
    let is_small = u64::from(hosts) * u64::from(hosts) <= PAIRS_OF_LINKS;
    let mut crossed = vec![0.0; fabric.links.len()];
    let mut add = |pairs: &mut dyn Iterator<Item = ((u32, u32), f64)>| {
        let mut weights = 0.0;
        for ((src, dst), weight) in pairs {
            fabric.shares_on_ways(src, dst).iter().for_each(|(link, share)| crossed[*link as usize] += weight * share);
            weights += weight;
        }
        crossed.iter_mut().for_each(|crossed| *crossed /= weights);
    };
    match pattern {
        Pattern::Permutation => add(&mut permutation(hosts, seed).iter().zip(0..).map(|(dst, src)| ((src, *dst), 1.0))),
        Pattern::Listed(pairs) => {
            let weight = |pair: &ListedPair| f64::from(pair.weight) * bytes((pair.src, pair.dst));
            add(&mut pairs.iter().map(|pair| ((pair.src, pair.dst), weight(pair))));
        }
        _ if !is_small => return None,
        Pattern::AllToAll | Pattern::Incast { .. } => add(&mut everywhere().map(|pair| (pair, 1.0))),
        Pattern::RackLocal { racks, share } => {
            let within = pairs_within(racks);
            let weight = |(src, dst): (u32, u32)| match racks[src as usize] == racks[dst as usize] {
                true => share / within,
                false => (1.0 - share) / (1.0 - within),
            };
            add(&mut everywhere().map(|pair| (pair, weight(pair))));
        }
    }
    Some(crossed)
}

/// Returns the mean number of links of each class that a byte crosses, if all of these pairs carry the same number of bytes.
pub(super) fn of_pairs(fabric: &Fabric, pairs: &[(u32, u32)]) -> Vec<f64> {
    let step = pairs.len().div_ceil(PAIRS).max(1);
    mean_way(fabric, pairs.iter().step_by(step).map(|pair| (*pair, 1.0)))
}

/// Returns the weighted mean of the crossings of `classes` classes of links; zeros if all weights are zero.
pub(super) fn weighted(classes: usize, each: impl Iterator<Item = (Vec<f64>, f64)>) -> Vec<f64> {
    let (mut sums, mut weights) = (vec![0.0; classes], 0.0);
    for (crossings, weight) in each {
        sums.iter_mut().zip(crossings).for_each(|(sum, crossing)| *sum += weight * crossing);
        weights += weight;
    }
    sums.iter().map(|sum| if weights > 0.0 { sum / weights } else { 0.0 }).collect()
}

/// Returns the weighted mean over pairs.
fn mean_way(fabric: &Fabric, pairs: impl Iterator<Item = ((u32, u32), f64)>) -> Vec<f64> {
    let mut crossings = vec![0.0; fabric.classes.len()];
    let mut weights = 0.0;
    for ((src, dst), weight) in pairs {
        add(&mut crossings, &fabric.path_links(src, dst), weight);
        weights += weight;
    }
    crossings.iter().map(|sum| sum / weights).collect()
}

fn add(crossings: &mut [f64], way: &[Stage], weight: f64) {
    way.iter().for_each(|stage| crossings[usize::from(stage.class)] += weight);
}

/// Finds two hosts of one rack.
fn neighbours(racks: &[u32]) -> Option<(u32, u32)> {
    let mut sorted: Vec<(u32, u32)> = racks.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| (pair[0].1, pair[1].1))
}

/// Returns the share of all ordered pairs of hosts that are in one rack.
fn pairs_within(racks: &[u32]) -> f64 {
    let mut sorted = racks.to_vec();
    sorted.sort_unstable();
    let pairs = |hosts: usize| hosts as f64 * (hosts as f64 - 1.0);
    sorted.chunk_by(|a, b| a == b).map(|rack| pairs(rack.len())).sum::<f64>() / pairs(racks.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::none_given;
    use crate::workload::Hosts;

    fn fabric() -> Fabric {
        let settings = none_given().with(None, "leaves", 3).with(None, "spines", 2).with(None, "hosts_per_leaf", 4);
        Fabric::from_settings(&settings).unwrap()
    }

    /// Links that a packet crosses within a rack and between racks: into the fabric, up, down, to the host.
    const HERE: [f64; 4] = [1.0, 0.0, 0.0, 1.0];
    const ELSEWHERE: [f64; 4] = [1.0, 1.0, 1.0, 1.0];

    /// Orders them by the position of the class on the path.
    fn on_the_way(fabric: &Fabric, crossings: &[f64]) -> Vec<f64> {
        fabric.path_links(0, 11).iter().map(|stage| crossings[usize::from(stage.class)]).collect()
    }

    #[test]
    fn rack_local__crosses_the_spines_by_its_share_alone() {
        let fabric = fabric();
        let racks = Hosts::of(&fabric).racks;
        for (share, expected) in [(1.0, HERE), (0.0, ELSEWHERE), (0.75, [1.0, 0.25, 0.25, 1.0])] {
            let found = crossings(&Pattern::RackLocal { racks: racks.clone(), share }, &fabric, 1, |_| 1.0);
            let found = on_the_way(&fabric, &found);
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{share}: {found:?}");
        }
    }

    #[test]
    fn permutation__crosses_what_its_pairs_do() {
        let fabric = fabric();
        let receivers = permutation(12, 5);
        let leaving = receivers.iter().zip(0u32..).filter(|(dst, src)| *dst / 4 != src / 4).count() as f64 / 12.0;
        let found = on_the_way(&fabric, &crossings(&Pattern::Permutation, &fabric, 5, |_| 1.0));
        assert!(
            leaving > 0.0 && found.iter().zip([1.0, leaving, leaving, 1.0]).all(|(a, b)| (a - b).abs() < 1e-9),
            "{found:?}"
        );
    }

    #[test]
    fn listed__crosses_what_its_bytes_do() {
        let fabric = fabric();
        let pairs = [(0, 1, 3), (4, 11, 1)].map(|(src, dst, weight)| ListedPair { src, dst, weight });
        // Three flows stay within a rack, and the fourth is as large as nine of these.
        let bytes = |(src, _): (u32, u32)| if src == 4 { 9.0 } else { 1.0 };
        let found = on_the_way(&fabric, &crossings(&Pattern::Listed(pairs.to_vec().into()), &fabric, 1, bytes));
        assert_eq!(found, [1.0, 0.75, 0.75, 1.0]);
    }
}
