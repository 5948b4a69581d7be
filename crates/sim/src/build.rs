//! Places a scheme in a fabric: partitions with their ports, wires, switches and hosts.

use std::collections::BinaryHeap;

use flowsieve_core::admission::Pool;
use flowsieve_core::{Time, Victims};
use flowsieve_schemes::scheme::{BalancerSpec, Nic};
use flowsieve_schemes::settings::Place;
use flowsieve_workload::random::{Purpose, stream};
use rand_core::Rng;

use crate::event::{Key, WinnerTree};
use crate::hosts::{Host, Hosts, Rules};
use crate::joining::Joining;
use crate::link::{ClassCount, Endpoint, Link, Port};
use crate::network::{GROUP, LOCAL, Network, SwitchState};
use crate::partition::Partition;
use crate::point::{Partitioning, Point, SimError};
use crate::slab::Slab;
use crate::topology::{self, Fabric, Node};

/// Where everything went: (partition, index there).
pub(crate) struct Places {
    pub(crate) hosts: Vec<(u32, u32)>,
    /// By link: the record of its sending end.
    pub(crate) from: Vec<(u32, u32)>,
    /// By link: the record of its receiving end.
    pub(crate) to: Vec<(u32, u32)>,
}

pub(crate) struct Built<K> {
    pub(crate) partitions: Vec<Partition<K>>,
    pub(crate) places: Places,
    /// A packet that crosses partitions is in flight at least so long.
    pub(crate) lookahead: Time,
}

impl<K> Built<K> {
    /// The port at the sending end of a link.
    pub(crate) fn port(&self, link: usize) -> &Port {
        let (partition, index) = self.places.from[link];
        &self.partitions[partition as usize].network.ports[index as usize]
    }
}

/// Numbers things in each of `count` partitions.
struct Numbers(Vec<u32>);

impl Numbers {
    fn next(&mut self, partition: u32) -> (u32, u32) {
        let next = &mut self.0[partition as usize];
        *next += 1;
        (partition, *next - 1)
    }
}

/// Builds the partitions of a point.
pub(crate) fn build<K: Key>(point: &Point<'_>) -> Result<Built<K>, SimError> {
    let Point { fabric, scheme, .. } = *point;
    let cut = point.partitioning == Partitioning::Racks && lookahead(fabric) > Time::ZERO;
    let count = if cut { fabric.partitions as usize } else { 1 };
    let of = |partition: u32| if cut { partition } else { 0 };
    let of_node = |node| of(partition_of(fabric, node));

    let mut numbers = Numbers(vec![0; count]);
    let hosts: Vec<_> = fabric.host_partition.iter().map(|&partition| numbers.next(of(partition))).collect();
    let hosts_in = numbers.0;
    let mut numbers = Numbers(vec![0; count]);
    let switches: Vec<_> = fabric.switches.iter().map(|switch| numbers.next(of(switch.partition))).collect();
    let switches_in = numbers.0;
    let mut numbers = Numbers(vec![0; count]);
    let ends = fabric.links.iter().map(|link| {
        let (from, to) = (of_node(link.from), of_node(link.to));
        let sending = numbers.next(from);
        (sending, if from == to { sending } else { numbers.next(to) })
    });
    let (from, to) = ends.collect();
    let links_in = numbers.0;
    let places = Places { hosts, from, to };

    // Only programs of the user's own have timers.
    let timed = Place::ALL.iter().any(|&place| matches!(scheme.balancers.at(place), BalancerSpec::Custom(_)));
    let racks = Racks::new(fabric);
    let least_delay = fabric.links.iter().map(|link| link.delay).min().unwrap_or(Time::ZERO);
    let mut networks = Vec::with_capacity(count);
    for partition in 0..count {
        let programs = if timed { switches_in[partition] } else { 0 };
        let sources = (links_in[partition] + 1 + hosts_in[partition] + programs) as usize;
        if sources > K::SOURCES {
            return Err(SimError::KeyTooNarrow);
        }
        let events = WinnerTree::new(sources);
        let joining = if events.is_large() && !timed {
            Joining::new(links_in[partition] as usize, least_delay)
        } else {
            Joining::none()
        };
        networks.push(Network {
            now: Time::ZERO,
            horizon: K::NEVER,
            stop: K::NEVER,
            events,
            slab: Slab::default(),
            joining,
            links: Vec::new(),
            ports: Vec::new(),
            classes: vec![ClassCount::default(); fabric.classes.len()],
            routes: Vec::new(),
            racks: racks.count,
            ways_home: racks.ways_home(fabric, &places),
            overhead: u32::from(point.framing.overhead),
            groups: Vec::new(),
            ways: Vec::new(),
            switches: Vec::new(),
            pools: Vec::new(),
            own_pool: Pool::default(),
            victims: Victims::default(),
            crossings: Vec::new(),
            waiting: Vec::new(),
            events_handled: 0,
            looks: 0,
            overflows: false,
            last_arrival: Time::ZERO,
            hopeless: Vec::new(),
            traced: Vec::new(),
            trace_span: Time::ZERO..Time::ZERO,
        });
    }
    for (number, &(partition, _)) in switches.iter().enumerate() {
        let network = &mut networks[partition as usize];
        add_switch(network, point, number, &racks, &places);
    }
    for number in 0..fabric.links.len() {
        add_link(&mut networks, point, number, &switches, &places);
    }
    let mut hosts: Vec<Vec<Host>> = (0..count).map(|_| Vec::new()).collect();
    for (number, &(partition, _)) in places.hosts.iter().enumerate() {
        let nic = places.from[fabric.host_uplink[number] as usize].1;
        let taggers = scheme.taggers(number as u32);
        hosts[partition as usize].push(Host::new(number as u16, nic, taggers));
    }
    let rules = Rules::new(scheme, point.framing.header);
    let partitions = networks.into_iter().zip(hosts).enumerate().map(|(partition, (network, hosts))| {
        let first_timer = links_in[partition] + 1;
        let first_program = first_timer + hosts_in[partition];
        Partition::new(network, Hosts::new(rules.clone(), hosts), first_timer, first_program)
    });
    Ok(Built { partitions: partitions.collect(), places, lookahead: lookahead(fabric) })
}

fn partition_of(fabric: &Fabric, node: Node) -> u32 {
    match node {
        Node::Host(host) => fabric.host_partition[host as usize],
        Node::Switch(switch) => fabric.switches[switch as usize].partition,
    }
}

/// The least delay of a link between partitions.
fn lookahead(fabric: &Fabric) -> Time {
    let of = |node| partition_of(fabric, node);
    let crossing = fabric.links.iter().filter(|link| of(link.from) != of(link.to));
    crossing.map(|link| link.delay).min().unwrap_or(Time::NEVER)
}

/// Adds a link to the partitions of its ends.
fn add_link<K>(
    networks: &mut [Network<K>],
    point: &Point<'_>,
    number: usize,
    switches: &[(u32, u32)],
    places: &Places,
) {
    let Point { fabric, scheme, .. } = *point;
    let link = &fabric.links[number];
    let place = fabric.place_of(link.from);
    let spec = scheme.ports.at(place);
    let paused = matches!((place, scheme.nic), (Place::Nic, Nic::Backpressure { .. }));
    let spec = if paused { spec.without_limits() } else { spec.clone() };
    let (endpoint, back) = match link.to {
        Node::Host(host) => (Endpoint::host(places.hosts[host as usize].1), 0),
        Node::Switch(switch) => (Endpoint::switch(switches[switch as usize].1), back_port(fabric, link, switch)),
    };
    let (from, to) = (places.from[number], places.to[number]);
    let mut port = Port { back, ..Port::new(&spec, link, point.framing, number, point.seed) };
    if let Node::Switch(switch) = link.from {
        port.switch = switches[switch as usize].1;
        port.special.shares = spec.shares_memory();
    }
    if from.0 != to.0 {
        port.special.beyond = Some(to);
        let port = Port { back, ..Port::new(&spec, link, point.framing, number, point.seed) };
        networks[to.0 as usize].add_link(Link::new(link, &port, endpoint), port);
    }
    networks[from.0 as usize].add_link(Link::new(link, &port, endpoint), port);
}

/// The hosts of a switch, which all others reach in the same way.
struct Racks {
    count: usize,
    /// By switch: its rack's number, if it has hosts.
    of_switch: Vec<Option<u32>>,
    /// By rack: one of its hosts.
    hosts: Vec<u32>,
}

impl Racks {
    fn new(fabric: &Fabric) -> Racks {
        let mut racks = Racks { count: 0, of_switch: vec![None; fabric.switches.len()], hosts: Vec::new() };
        for (host, &uplink) in (0..).zip(&fabric.host_uplink) {
            if let Node::Switch(switch) = fabric.links[uplink as usize].to
                && racks.of_switch[switch as usize].is_none()
            {
                racks.of_switch[switch as usize] = Some(racks.hosts.len() as u32);
                racks.hosts.push(host);
            }
        }
        racks.count = racks.hosts.len();
        racks
    }

    /// By host: its rack and the link from there to it, as its partition numbers it.
    fn ways_home(&self, fabric: &Fabric, places: &Places) -> Vec<(u32, u32)> {
        let home = |host: u32| {
            let Node::Switch(switch) = fabric.links[fabric.host_uplink[host as usize] as usize].to else {
                return (0, 0);
            };
            let rack = self.of_switch[switch as usize].unwrap_or(0);
            match fabric.routes[switch as usize].towards(host) {
                [link] => (rack, places.from[*link as usize].1),
                _ => (rack, 0),
            }
        };
        (0..fabric.hosts).map(home).collect()
    }
}

fn add_switch<K>(network: &mut Network<K>, point: &Point<'_>, number: usize, racks: &Racks, places: &Places) {
    let fabric = point.fabric;
    let routes = &fabric.routes[number];
    let mut random = stream(point.seed, Purpose::Spray, number as u64);
    let salt = random.next_u64();
    let local = |&link: &u32| places.from[link as usize].1;
    let own = racks.of_switch[number];
    let first_group = network.groups.len() as u32;
    network.routes.extend(racks.hosts.iter().zip(0..).map(|(&host, rack)| match routes.towards(host) {
        _ if own == Some(rack) => LOCAL,
        [only] => local(only),
        _ => GROUP | (first_group + u32::from(routes.next[host as usize])),
    }));
    for group in &routes.groups {
        network.groups.push((network.ways.len() as u32, group.len() as u32));
        network.ways.extend(group.iter().map(local));
    }
    network.pools.push(Pool::new(point.scheme.shared_buffer));
    network.switches.push(SwitchState {
        first_group,
        ports: fabric.ports[number].iter().map(local).collect(),
        balancer: point.scheme.balancers.at(fabric.switches[number].place).build(routes.groups.len(), salt),
        random,
        due: BinaryHeap::new(),
        ticks: 0,
    });
}

/// The number, among a switch's ports, of the port that leads back over a link to it.
fn back_port(fabric: &Fabric, link: &topology::Link, switch: u32) -> u16 {
    let back = |&&port: &&u32| fabric.links[port as usize].to != link.from;
    fabric.ports[switch as usize].iter().take_while(back).count() as u16
}
