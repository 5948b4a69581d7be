//! Sincronia's order: bottleneck, select, scale, iterate (Agarwal et al., SIGCOMM 2018, §3.1), a primal-dual 2-approximation
//! of the ordering problem.
//!
//! The last place is given first. The bottleneck is the port with the most demand by coflows that have no place yet. Of
//! these coflows, the one with the least weight for its demand at the port goes last. Then the weight of each other coflow
//! falls by that ratio times its own demand there. A coflow without demand there is no candidate.
//!
//! All flows between two ports count. The public simulator keeps only the last one, so its order differs on traces with several.

use super::Snapshot;

/// Returns the indices of the snapshot's coflows, the first to be served first. Ties go to the first port and the first
/// coflow. Coflows without demand come first.
pub(super) fn order(snapshot: &Snapshot) -> Vec<usize> {
    let coflows = &snapshot.coflows;
    let mut total = vec![0u128; snapshot.ports];
    let mut at_port: Vec<Vec<(usize, f64)>> = vec![Vec::new(); snapshot.ports];
    for (index, coflow) in coflows.iter().enumerate() {
        for demand in coflow.demands.iter().filter(|demand| demand.time > 0) {
            total[demand.port as usize] += u128::from(demand.time);
            at_port[demand.port as usize].push((index, demand.time as f64));
        }
    }
    let mut weights: Vec<f64> = coflows.iter().map(|coflow| coflow.weight).collect();
    let mut from_last = Vec::with_capacity(coflows.len());
    let mut placed = vec![false; coflows.len()];
    // The first of the greatest: `max_by_key` would take the last.
    while let Some(bottleneck) = (0..total.len()).rev().max_by_key(|&port| total[port]).filter(|&port| total[port] > 0)
    {
        let there = &mut at_port[bottleneck];
        there.retain(|&(index, _)| !placed[index]);
        let ratio = |&(index, demand): &(usize, f64)| weights[index] / demand;
        // The port has demand, so at least one coflow asks for it.
        let Some(&last) = there.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b))) else { break };
        let least = ratio(&last);
        for &(index, demand) in there.iter() {
            weights[index] = (weights[index] - least * demand).max(0.0);
        }
        placed[last.0] = true;
        from_last.push(last.0);
        for demand in &coflows[last.0].demands {
            total[demand.port as usize] -= u128::from(demand.time);
        }
    }
    let idle = (0..coflows.len()).filter(|&index| !placed[index]);
    idle.chain(from_last.iter().rev().copied()).collect()
}
