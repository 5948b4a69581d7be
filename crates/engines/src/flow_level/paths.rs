//! The paths of flows at flow level: one by the hash that switches use at packet level, or all equally short ones.

use std::collections::BTreeMap;

use flowsieve_core::Node;
use flowsieve_core::balancer::ChooseWay;
use flowsieve_core::balancers::ecmp::HashOfFlow;
use flowsieve_core::meta::Meta;
use flowsieve_core::units::Time;
use flowsieve_sim::fluid::{Crossing, Network, Path};
use flowsieve_sim::topology::Fabric;
use flowsieve_workload::Flow;
use flowsieve_workload::random::{Purpose, Xoshiro256PlusPlus, stream};
use rand_core::Rng;

/// The paths that flows have taken so far.
pub(super) struct Paths<'a> {
    fabric: &'a Fabric,
    spreads: bool,
    /// By switch.
    hashes: Vec<HashOfFlow>,
    /// The streams that hashes are made from. They are not drawn from any further.
    random: Xoshiro256PlusPlus,
    /// By the links of the path; if flows spread, by sender and receiver.
    known: BTreeMap<Vec<u32>, u32>,
    paths: Vec<Path>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(fabric: &'a Fabric, spreads: bool, seed: u64) -> Paths<'a> {
        // As in the simulator's switches: a flow that opens a connection takes the same path there.
        let hash = |switch| HashOfFlow { salt: stream(seed, Purpose::Spray, switch).next_u64() };
        Paths {
            fabric,
            spreads,
            hashes: (0..fabric.switches.len() as u64).map(hash).collect(),
            random: stream(seed, Purpose::Spray, 0),
            known: BTreeMap::new(),
            paths: Vec::new(),
        }
    }

    /// Returns the number of a flow's path.
    pub(super) fn of(&mut self, flow: &Flow) -> u32 {
        let name = if self.spreads { vec![flow.src, flow.dst] } else { self.links(flow) };
        if let Some(&path) = self.known.get(&name) {
            return path;
        }
        let shares = if self.spreads {
            self.fabric.shares_on_ways(flow.src, flow.dst)
        } else {
            name.iter().map(|&link| (link, 1.0)).collect()
        };
        let links = shares.into_iter().map(|(link, share)| Crossing { link, share }).collect();
        let number = self.paths.len() as u32;
        self.paths.push(Path { from: flow.src, to: flow.dst, links });
        self.known.insert(name, number);
        number
    }

    /// Returns the links on a flow's path, in order.
    fn links(&mut self, flow: &Flow) -> Vec<u32> {
        let mut links = vec![self.fabric.host_uplink[flow.src as usize]];
        let meta = Meta { flow: flow.id, dst: flow.dst as u16, ..Meta::default() };
        while let Some(&last) = links.last()
            && let Node::Switch(switch) = self.fabric.links[last as usize].to
        {
            let ways = self.fabric.routes[switch as usize].towards(flow.dst);
            let way = match ways.len() {
                0 | 1 => 0,
                several => {
                    self.hashes[switch as usize].choose(&meta, 0, several, Time::ZERO, &mut self.random).unwrap_or(0)
                }
            };
            let Some(&way) = ways.get(way) else { break };
            links.push(way);
        }
        links
    }

    /// Returns the fabric's links with these paths.
    pub(super) fn into_network(self) -> Network {
        let mut down = vec![0; self.fabric.hosts as usize];
        for (number, link) in self.fabric.links.iter().enumerate() {
            if let Node::Host(host) = link.to {
                down[host as usize] = number as u32;
            }
        }
        Network {
            rates: self.fabric.links.iter().map(|link| link.rate.bps() as f64).collect(),
            up: self.fabric.host_uplink.clone(),
            down,
            paths: self.paths,
        }
    }
}
