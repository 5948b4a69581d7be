//! All shortest paths between hosts, and what follows from them: the base round trip, the load of each class of links,
//! and the stages of a path.
//!
//! Paths are shortest in hops, found by breadth-first search from the switch of every destination. All hosts of a
//! switch share the result. Each link has both directions with one delay, so return paths are the forward paths
//! reversed.

use flowsieve_core::Site;
use flowsieve_core::units::{Rate, Time};
use std::collections::{BTreeMap, BTreeSet};

use super::reach::{Reach, Reaches};
use super::{Fabric, Link, Node};

/// The next hops of one switch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SwitchRoutes {
    /// Index into [`SwitchRoutes::groups`] by destination host; [`Site::NOWHERE`] if there is no path.
    pub next: Vec<u16>,
    /// Groups of links, ascending, with equally short paths.
    pub groups: Vec<Vec<u32>>,
}

impl SwitchRoutes {
    /// Returns the links towards a host, all equally short; none if there is no path.
    pub fn towards(&self, host: u32) -> &[u32] {
        self.groups.get(usize::from(self.next[host as usize])).map_or(&[], Vec::as_slice)
    }
}

/// The links that a packet between two hosts can take as its n-th hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// The rate of the fastest link.
    pub rate: Rate,
    /// The delay of the fastest link.
    pub delay: Time,
    /// Number of links.
    pub links: u32,
    /// The class of the first link: index into [`Fabric::classes`].
    pub class: u16,
    /// Whether the far end of any link may forward a packet before it has all of it.
    pub cut_through: bool,
}

/// The size and load of a class of links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassShare {
    /// Number of links.
    pub links: u32,
    /// The sum of their rates, in bit/s.
    pub rate_total_bps: u64,
    /// The mean number of its links that a packet between two random hosts crosses. Hosts are drawn uniformly, and each
    /// switch spreads traffic evenly over equally short paths, whatever their rates.
    pub crossing: f64,
}

/// Two hosts that cannot reach each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// The results of [`find`].
pub(super) struct Found {
    pub(super) routes: Vec<SwitchRoutes>,
    pub(super) base_rtt: Time,
    pub(super) shares: Vec<ClassShare>,
    pub(super) reaches: Vec<Reach>,
}

/// The hosts of one switch.
#[derive(Debug, Clone, Default)]
pub(super) struct Rack {
    pub(super) hosts: Vec<u32>,
    /// The two largest delays of its hosts' links, falling.
    slowest: [u64; 2],
}

/// All shortest paths from every switch to one of them.
pub(super) struct Ways {
    /// Switches that have a path, by distance.
    order: Vec<u32>,
    /// The next links of each switch; empty without a path and at the destination.
    pub(super) next: Vec<Vec<u32>>,
}

/// Finds all routes and the values that follow from them.
pub(super) fn find(links: &[Link], ports: &[Vec<u32>], host_uplink: &[u32], classes: usize) -> Result<Found, Cut> {
    let hosts = host_uplink.len();
    let racks = racks(links, ports.len(), host_uplink)?;
    let neighbours = neighbours(links, ports, |_| true);
    let mut routes = vec![SwitchRoutes { next: vec![Site::NOWHERE; hosts], groups: Vec::new() }; ports.len()];
    let mut known: Vec<BTreeMap<Vec<u32>, u16>> = vec![BTreeMap::new(); ports.len()];
    let mut crossings = vec![0.0; classes];
    let mut reaches = Reaches::of(links, host_uplink);
    // In a fabric without switches, the only path leads from one host to the other.
    let mut farthest = if ports.is_empty() { links.iter().map(|link| link.delay.0).max().unwrap_or(0) } else { 0 };
    for (destination, rack) in racks.iter().enumerate().filter(|(_, rack)| !rack.hosts.is_empty()) {
        let ways = Ways::to(destination as u32, &neighbours);
        if let Some(other) = racks
            .iter()
            .enumerate()
            .find(|(switch, rack)| *switch != destination && !rack.hosts.is_empty() && ways.next[*switch].is_empty())
        {
            return Err(Cut { from: rack.hosts[0], to: other.1.hosts[0] });
        }
        for port in &ports[destination] {
            if let Node::Host(host) = links[*port as usize].to {
                let routes = &mut routes[destination];
                routes.next[host as usize] = routes.groups.len() as u16;
                routes.groups.push(vec![*port]);
            }
        }
        farthest = farthest.max(ways.farthest(destination, links, &racks));
        ways.add_crossings(destination, links, &racks, &mut crossings);
        reaches.add(destination, &ways.order, &ways.next);
        for (switch, next) in ways.next.into_iter().enumerate().filter(|(_, next)| !next.is_empty()) {
            let groups = &mut routes[switch].groups;
            let group = *known[switch].entry(next).or_insert_with_key(|next| {
                groups.push(next.clone());
                (groups.len() - 1) as u16
            });
            for host in &rack.hosts {
                routes[switch].next[*host as usize] = group;
            }
        }
    }
    let shares = shares(links, &crossings, hosts as f64);
    Ok(Found { routes, base_rtt: Time(2 * farthest), shares, reaches: reaches.finish() })
}

/// Returns each switch's links to switches that are up, with their far ends.
pub(super) fn neighbours(links: &[Link], ports: &[Vec<u32>], is_up: impl Fn(u32) -> bool) -> Vec<Vec<(u32, u32)>> {
    let far_end = |link: &u32| switch_of(links[*link as usize].to).map(|switch| (*link, switch as u32));
    ports.iter().map(|out| out.iter().filter(|link| is_up(**link)).filter_map(far_end).collect()).collect()
}

/// Returns the hosts of each switch.
pub(super) fn racks(links: &[Link], switches: usize, host_uplink: &[u32]) -> Result<Vec<Rack>, Cut> {
    let mut racks = vec![Rack::default(); switches];
    for (uplink, host) in host_uplink.iter().map(|uplink| links[*uplink as usize]).zip(0u32..) {
        match uplink.to {
            Node::Switch(switch) => {
                let rack = &mut racks[switch as usize];
                rack.hosts.push(host);
                let [first, second] = rack.slowest;
                rack.slowest = [first.max(uplink.delay.0), second.max(first.min(uplink.delay.0))];
            }
            // Two hosts on one link reach each other and no third host.
            Node::Host(peer) => {
                if let Some(third) = (0..host_uplink.len() as u32).find(|third| *third != host && *third != peer) {
                    return Err(Cut { from: host, to: third });
                }
            }
        }
    }
    Ok(racks)
}

impl Ways {
    /// Finds the paths by breadth-first search from the destination; `neighbours` has each switch's links to switches,
    /// with their far ends.
    pub(super) fn to(destination: u32, neighbours: &[Vec<(u32, u32)>]) -> Ways {
        let mut hops = vec![u32::MAX; neighbours.len()];
        let mut order = vec![destination];
        hops[destination as usize] = 0;
        let mut done = 0;
        while let Some(near) = order.get(done).map(|switch| *switch as usize) {
            done += 1;
            for (_, far) in &neighbours[near] {
                if hops[*far as usize] == u32::MAX {
                    hops[*far as usize] = hops[near] + 1;
                    order.push(*far);
                }
            }
        }
        let mut next = vec![Vec::new(); neighbours.len()];
        for switch in order.iter().skip(1).map(|switch| *switch as usize) {
            let nearer = |(_, near): &&(u32, u32)| hops[*near as usize] + 1 == hops[switch];
            next[switch] = neighbours[switch].iter().filter(nearer).map(|(link, _)| *link).collect();
        }
        Ways { order, next }
    }

    /// Returns the one-way delay of the farthest pair of hosts with one at the destination, over the fastest of their
    /// paths.
    fn farthest(&self, destination: usize, links: &[Link], racks: &[Rack]) -> u64 {
        let end = &racks[destination];
        let mut delay = vec![0; self.next.len()];
        let mut farthest = if end.hosts.len() > 1 { end.slowest.iter().sum() } else { 0 };
        for switch in self.order.iter().skip(1).map(|switch| *switch as usize) {
            let over = |link: &u32| {
                let link = &links[*link as usize];
                link.delay.0 + switch_of(link.to).map_or(0, |near| delay[near])
            };
            delay[switch] = self.next[switch].iter().map(over).min().unwrap_or(0);
            if !racks[switch].hosts.is_empty() {
                farthest = farthest.max(racks[switch].slowest[0] + delay[switch] + end.slowest[0]);
            }
        }
        farthest
    }

    /// Adds the links of each class that one packet from every host to each host of the destination crosses.
    fn add_crossings(&self, destination: usize, links: &[Link], racks: &[Rack], crossings: &mut [f64]) {
        let here = racks[destination].hosts.len() as f64;
        let mut passing: Vec<f64> = racks.iter().map(|rack| rack.hosts.len() as f64 * here).collect();
        for switch in self.order.iter().skip(1).rev().map(|switch| *switch as usize) {
            let each = passing[switch] / self.next[switch].len() as f64;
            for link in self.next[switch].iter().map(|link| &links[*link as usize]) {
                crossings[usize::from(link.class)] += each;
                if let Some(near) = switch_of(link.to) {
                    passing[near] += each;
                }
            }
        }
    }
}

fn switch_of(node: Node) -> Option<usize> {
    match node {
        Node::Switch(switch) => Some(switch as usize),
        Node::Host(_) => None,
    }
}

/// Sums up the classes; every packet crosses one link out of a host and one into a host.
fn shares(links: &[Link], crossings: &[f64], hosts: f64) -> Vec<ClassShare> {
    let pairs = hosts * (hosts - 1.0);
    let share = |crossed: &f64| ClassShare { links: 0, rate_total_bps: 0, crossing: crossed / pairs };
    let mut shares: Vec<ClassShare> = crossings.iter().map(share).collect();
    for link in links {
        let share = &mut shares[usize::from(link.class)];
        share.links += 1;
        share.rate_total_bps += link.rate.bps();
        if matches!(link.from, Node::Host(_)) || matches!(link.to, Node::Host(_)) {
            share.crossing = 1.0;
        }
    }
    shares
}

impl Fabric {
    /// Returns every link on the paths from one host to another, with the mean share of a packet that crosses it when
    /// each switch spreads traffic evenly over equally short paths.
    pub fn shares_on_ways(&self, src: u32, dst: u32) -> Vec<(u32, f64)> {
        let mut shares = Vec::new();
        let mut stage = BTreeMap::from([(self.host_uplink[src as usize], 1.0)]);
        while !stage.is_empty() {
            let mut next = BTreeMap::new();
            for (&link, &share) in &stage {
                if let Some(switch) = switch_of(self.links[link as usize].to) {
                    let ways = self.routes[switch].towards(dst);
                    ways.iter().for_each(|way| *next.entry(*way).or_default() += share / ways.len() as f64);
                }
            }
            shares.extend(stage);
            stage = next;
        }
        shares
    }

    /// Returns the stages of links from one host to another. Each has the best rate and delay of its links, which gives
    /// a lower bound of any packet's time. Distinct links of a stage can carry packets at once.
    pub fn path_links(&self, src: u32, dst: u32) -> Vec<Stage> {
        self.stages(BTreeSet::from([self.host_uplink[src as usize]]), dst)
    }

    /// Returns the same stages from a switch on.
    pub(crate) fn links_behind(&self, switch: u32, dst: u32) -> Vec<Stage> {
        self.stages(self.routes[switch as usize].towards(dst).iter().copied().collect(), dst)
    }

    fn stages(&self, mut stage: BTreeSet<u32>, dst: u32) -> Vec<Stage> {
        let mut stages = Vec::new();
        while !stage.is_empty() {
            let links = || stage.iter().map(|link| &self.links[*link as usize]);
            let best = |best: Stage, link: &Link| Stage {
                rate: if link.rate.bps() > best.rate.bps() { link.rate } else { best.rate },
                delay: best.delay.min(link.delay),
                links: best.links + 1,
                class: best.class,
                cut_through: best.cut_through || link.cut_through,
            };
            let first = links().next().map(|link| Stage {
                rate: link.rate,
                delay: link.delay,
                links: 0,
                class: link.class,
                cut_through: false,
            });
            stages.extend(first.map(|first| links().fold(first, best)));
            let reached: BTreeSet<usize> = links().filter_map(|link| switch_of(link.to)).collect();
            stage = reached.iter().flat_map(|switch| self.routes[*switch].towards(dst)).copied().collect();
        }
        stages
    }
}
