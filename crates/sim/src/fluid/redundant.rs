//! Links that can never hold a flow back, because the hosts behind them cannot fill them.
//!
//! A host puts no more on a link than the rate of its own link, times the largest share of a flow that crosses there. If
//! the sum of that over the senders, or over the receivers, is not above the link's rate, then the link is full only
//! when all of these hosts' links are. Max-min rates are the same without it. So are all links of a fabric that is not
//! oversubscribed, if flows spread evenly.

use crate::fluid::network::{Network, Path};
use crate::fluid::units::Units;

/// Returns, by link, whether it can hold a flow back. Links of hosts always count.
pub(crate) fn binding(network: &Network, units: Units) -> Vec<bool> {
    let most_sent = most(network, units, |path| path.from, &network.up);
    let most_received = most(network, units, |path| path.to, &network.down);
    let mut binds: Vec<bool> = (network.rates.iter().zip(most_sent.iter().zip(most_received)))
        .map(|(&rate, (&sent, received))| sent.min(received) > units.capacity(rate))
        .collect();
    network.up.iter().chain(&network.down).for_each(|&link| binds[link as usize] = true);
    binds
}

/// Returns, by link, the most that hosts can put on it together. `host` is that end of a path, and `links` has the link
/// of each host.
fn most(network: &Network, units: Units, host: impl Fn(&Path) -> u32, links: &[u32]) -> Vec<u128> {
    let mut by_host: Vec<&Path> = network.paths.iter().collect();
    by_host.sort_by_key(|path| host(path));
    let (mut sums, mut largest) = (vec![0u128; network.rates.len()], vec![0u64; network.rates.len()]);
    for of_host in by_host.chunk_by(|a, b| host(a) == host(b)) {
        let rate = units.capacity(network.rates[links[host(of_host[0]) as usize] as usize]) >> 32;
        for crossing in of_host.iter().flat_map(|path| &path.links) {
            // The sum keeps the largest weight of the host so far.
            let (link, weight) = (crossing.link as usize, Units::weight(crossing.share));
            sums[link] += rate * u128::from(weight.saturating_sub(largest[link]));
            largest[link] = largest[link].max(weight);
        }
        of_host.iter().flat_map(|path| &path.links).for_each(|crossing| largest[crossing.link as usize] = 0);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fluid::network::Crossing;

    /// Two hosts of 10 Gbit/s send to a third over links 6 and 7.
    #[test]
    fn binding__where_senders_and_receivers_could_send_more() {
        let of = |between: f64, share: f64, receiver: f64| {
            let path = |from: u32| {
                let crossing = |link, share| Crossing { link, share };
                let links = vec![crossing(from, 1.0), crossing(6, share), crossing(7, share), crossing(5, 1.0)];
                Path { from, to: 2, links }
            };
            let rates = vec![1e10, 1e10, 1e10, 1e10, 1e10, receiver, between, between];
            let network =
                Network { rates, up: vec![0, 1, 2], down: vec![3, 4, 5], paths: [0, 1, 0].map(path).to_vec() };
            let binds = binding(&network, Units::of(&network.rates));
            assert!(binds[..6].iter().all(|&binds| binds), "links of hosts");
            binds[6]
        };
        assert!(!of(2e10, 1.0, 4e10) && of(1.99e10, 1.0, 4e10), "both senders at once");
        assert!(!of(1e10, 0.5, 4e10) && of(0.99e10, 0.5, 4e10), "half of each");
        assert!(!of(1e10, 1.0, 1e10) && of(0.99e10, 1.0, 1e10), "what the receiver can take");
    }
}
