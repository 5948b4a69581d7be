//! Places a scheme in a fabric: partitions with their ports, wires, switches and hosts.

use std::collections::BinaryHeap;

use flowsieve_core::admission::Pool;
use flowsieve_core::{Time, Victims};
use flowsieve_schemes::scheme::{BalancerSpec, Nic};
use flowsieve_schemes::settings::Place;
use flowsieve_workload::random::{Purpose, stream};
use rand_core::Rng;

use crate::event::{EventQueue, Key};
use crate::hosts::{Host, Hosts, Rules};
use crate::link::{ClassCount, Endpoint, Link, Port};
use crate::partition::{GROUP, Network, Partition, SwitchState};
use crate::run::{Partitioning, Point, SimError};
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
    let mut networks = Vec::with_capacity(count);
    for partition in 0..count {
        let programs = if timed { switches_in[partition] } else { 0 };
        let sources = (links_in[partition] + 1 + hosts_in[partition] + programs) as usize;
        if sources > K::SOURCES {
            return Err(SimError::KeyTooNarrow);
        }
        networks.push(Network {
            now: Time::ZERO,
            events: EventQueue::new(sources),
            slab: Slab::default(),
            links: Vec::new(),
            ports: Vec::new(),
            classes: vec![ClassCount::default(); fabric.classes.len()],
            routes: Vec::new(),
            hosts: fabric.hosts as usize,
            switches: Vec::new(),
            pools: Vec::new(),
            own_pool: Pool::default(),
            victims: Victims::default(),
            crossings: Vec::new(),
            waiting: Vec::new(),
            hops: 0,
            events_handled: 0,
            overflows: false,
            last_arrival: Time::ZERO,
            hopeless: Vec::new(),
        });
    }
    for (number, &(partition, _)) in switches.iter().enumerate() {
        let network = &mut networks[partition as usize];
        add_switch(network, point, number, &places);
    }
    for number in 0..fabric.links.len() {
        add_link(&mut networks, point, number, &switches, &places);
    }
    let mut hosts: Vec<Vec<Host>> = (0..count).map(|_| Vec::new()).collect();
    for (number, &(partition, _)) in places.hosts.iter().enumerate() {
        let nic = places.from[fabric.host_uplink[number] as usize].1;
        let taggers = scheme.classes.iter().map(|class| class.tagger.build()).collect();
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

/// The place whose ports feed a link.
pub(crate) fn place_of(fabric: &Fabric, node: Node) -> Place {
    match node {
        Node::Host(_) => Place::Nic,
        Node::Switch(switch) => fabric.switches[switch as usize].place,
    }
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
    let place = place_of(fabric, link.from);
    let spec = scheme.ports.at(place);
    let paused = matches!((place, scheme.nic), (Place::Nic, Nic::Backpressure { .. }));
    let spec = if paused { spec.without_limits() } else { spec.clone() };
    let endpoint = match link.to {
        Node::Host(host) => Endpoint::Host(places.hosts[host as usize].1),
        Node::Switch(switch) => Endpoint::Switch(switches[switch as usize].1, back_port(fabric, link, switch)),
    };
    let (from, to) = (places.from[number], places.to[number]);
    let overhead = point.framing.overhead;
    let mut port = Port::new(&spec, link, number, point.seed);
    if let Node::Switch(switch) = link.from {
        port.switch = switches[switch as usize].1;
        port.special.shares = spec.shares_memory();
    }
    if from.0 != to.0 {
        port.special.beyond = Some(to);
        let port = Port::new(&spec, link, number, point.seed);
        networks[to.0 as usize].add_link(Link::new(link, &port, endpoint, overhead), port);
    }
    networks[from.0 as usize].add_link(Link::new(link, &port, endpoint, overhead), port);
}

fn add_switch<K>(network: &mut Network<K>, point: &Point<'_>, number: usize, places: &Places) {
    let fabric = point.fabric;
    let routes = &fabric.routes[number];
    let mut random = stream(point.seed, Purpose::Spray, number as u64);
    let salt = random.next_u64();
    let local = |&link: &u32| places.from[link as usize].1;
    network.routes.extend((0..fabric.hosts).map(|host| match routes.towards(host) {
        [only] => local(only),
        _ => GROUP | u32::from(routes.next[host as usize]),
    }));
    network.pools.push(Pool::new(point.scheme.shared_buffer));
    network.switches.push(SwitchState {
        groups: routes.groups.iter().map(|group| group.iter().map(local).collect()).collect(),
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
