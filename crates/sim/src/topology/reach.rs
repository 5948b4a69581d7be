//! The distances between hosts, by kind of path: paths with equally many links. For each kind, this keeps the two hosts
//! with the longest round trip and the path that it takes. So what depends on round trips need not look at every pair.

use std::collections::{BTreeMap, BTreeSet};

use super::{Fabric, Link, Node};

/// Bytes there and back by which paths are compared: a full Ethernet packet and its ACK. [`crate::round_trip`] then
/// computes the time of a run's own packets on the path found.
const BYTES: [u32; 2] = [1_500, 40];

/// A kind of path, with the two hosts that are farthest apart on one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Number of links between the two hosts.
    pub links: u32,
    /// One of the two hosts.
    pub from: u32,
    /// The other host.
    pub to: u32,
}

/// Returns how much a link adds to a round trip, in ps.
fn cost(link: &Link) -> u64 {
    let on_line: u64 = BYTES.iter().map(|&bytes| link.rate.serialise(bytes).0).sum();
    2 * link.delay.0 + on_line
}

/// The hosts of a switch that are farthest from it: (cost, host).
type Farthest = [Option<(u64, u32)>; 2];

/// Collects kinds of path while routes are found.
pub(super) struct Reaches<'a> {
    links: &'a [Link],
    /// By link.
    cost: Vec<u64>,
    /// By switch.
    hosts: BTreeMap<u32, Farthest>,
    /// By number of links: the longest round trip, and its two hosts.
    longest: BTreeMap<u32, (u64, u32, u32)>,
}

impl<'a> Reaches<'a> {
    pub(super) fn of(links: &'a [Link], host_uplink: &[u32]) -> Reaches<'a> {
        let cost: Vec<u64> = links.iter().map(cost).collect();
        let mut reaches = Reaches { links, hosts: BTreeMap::new(), longest: BTreeMap::new(), cost };
        for (&uplink, host) in host_uplink.iter().zip(0u32..) {
            let cost = reaches.cost[uplink as usize];
            match links[uplink as usize].to {
                Node::Switch(switch) => {
                    let [first, second] = reaches.hosts.entry(switch).or_default();
                    if first.is_none_or(|(most, _)| cost > most) {
                        *second = first.replace((cost, host));
                    } else if second.is_none_or(|(most, _)| cost > most) {
                        *second = Some((cost, host));
                    }
                }
                Node::Host(peer) => reaches.keep(1, cost, host, peer),
            }
        }
        reaches
    }

    fn keep(&mut self, links: u32, cost: u64, from: u32, to: u32) {
        let longest = self.longest.entry(links).or_insert((cost, from, to));
        if cost > longest.0 {
            *longest = (cost, from, to);
        }
    }

    /// Adds the paths to the hosts of a switch. `order` has the switches by distance, the switch itself first; `next`
    /// has the links of each that lead nearer to it.
    pub(super) fn add(&mut self, destination: usize, order: &[u32], next: &[Vec<u32>]) {
        let Some(&[Some((last, to)), beside]) = self.hosts.get(&(destination as u32)) else { return };
        if let Some((other, from)) = beside {
            self.keep(2, last + other, from, to);
        }
        // By switch: the longest of its equal paths, and the number of links.
        let mut ways = vec![(0u64, 0u32); next.len()];
        for &switch in order.iter().skip(1) {
            let over = |&link: &u32| match self.links[link as usize].to {
                Node::Switch(near) => {
                    let (cost, links) = ways[near as usize];
                    (cost + self.cost[link as usize], links + 1)
                }
                Node::Host(_) => (0, 0),
            };
            let way = next[switch as usize].iter().map(over).max().unwrap_or_default();
            ways[switch as usize] = way;
            if let Some(&[Some((first, from)), _]) = self.hosts.get(&switch) {
                self.keep(way.1 + 2, first + way.0 + last, from, to);
            }
        }
    }

    pub(super) fn finish(self) -> Vec<Reach> {
        self.longest.into_iter().map(|(links, (_, from, to))| Reach { links, from, to }).collect()
    }
}

impl Fabric {
    /// Returns the links from one host to another over the longest of the equal paths, as one flow may take it.
    pub fn longest_way(&self, from: u32, to: u32) -> Vec<u32> {
        let first = self.host_uplink[from as usize];
        let towards = |switch: u32| self.routes[switch as usize].towards(to);
        let end = |link: u32| self.links[link as usize].to;
        // Each link leads one step nearer, so that a switch comes after all that are farther away.
        let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
        if let Node::Switch(switch) = end(first) {
            order.push(switch);
        }
        let mut done = 0;
        while let Some(&switch) = order.get(done) {
            done += 1;
            for &link in towards(switch) {
                if let Node::Switch(next) = end(link)
                    && seen.insert(next)
                {
                    order.push(next);
                }
            }
        }
        // By switch: the cost of its longest path, and the first link of that path.
        let mut longest: BTreeMap<u32, (u64, u32)> = BTreeMap::new();
        for &switch in order.iter().rev() {
            let over = |&link: &u32| {
                let beyond = match end(link) {
                    Node::Switch(next) => longest.get(&next).map_or(0, |(cost, _)| *cost),
                    Node::Host(_) => 0,
                };
                (cost(&self.links[link as usize]) + beyond, std::cmp::Reverse(link))
            };
            if let Some((cost, std::cmp::Reverse(link))) = towards(switch).iter().map(over).max() {
                longest.insert(switch, (cost, link));
            }
        }
        let (mut way, mut at) = (vec![first], end(first));
        while let Node::Switch(switch) = at {
            let Some(&(_, link)) = longest.get(&switch) else { break };
            way.push(link);
            at = end(link);
        }
        way
    }
}
