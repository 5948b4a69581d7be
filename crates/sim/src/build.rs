//! Places a scheme in a fabric: partitions with their ports, wires, switches and hosts.

use std::collections::BinaryHeap;

use flowsieve_core::admission::Pool;
use flowsieve_core::{NONE, Time, Victims};
use flowsieve_schemes::Scheme;
use flowsieve_schemes::scheme::{BalancerSpec, Nic};
use flowsieve_schemes::settings::Place;
use flowsieve_workload::random::{Purpose, stream};
use rand_core::Rng;

use crate::event::{Key, WinnerTree};
use crate::hosts::{Host, Hosts, Rules};
use crate::partition::{Endpoint, GROUP, Network, Partition, SwitchState, Wire};
use crate::port::{ClassCount, FarEnd, Port, PortCount};
use crate::run::{Partitioning, Point, SimError};
use crate::slab::Slab;
use crate::topology::{Fabric, Node};

/// Bytes of a packet after which a cut-through switch forwards it: Ethernet, IPv4 and TCP headers.
pub(crate) const CUT_THROUGH_BYTES: u32 = 64;

/// Where everything went: (partition, index there).
pub(crate) struct Places {
    pub(crate) hosts: Vec<(u32, u32)>,
    /// By link: its sending end.
    pub(crate) ports: Vec<(u32, u32)>,
    /// By link: its receiving end.
    pub(crate) wires: Vec<(u32, u32)>,
}

pub(crate) struct Built<K> {
    pub(crate) partitions: Vec<Partition<K>>,
    pub(crate) places: Places,
    /// A packet that crosses partitions is in flight at least so long.
    pub(crate) lookahead: Time,
}

/// Numbers the items of each partition.
fn number(partitions: impl Iterator<Item = u32>, count: usize) -> Vec<(u32, u32)> {
    let mut next = vec![0; count];
    partitions
        .map(|partition| {
            let index = &mut next[partition as usize];
            *index += 1;
            (partition, *index - 1)
        })
        .collect()
}

/// Builds the partitions of a point.
pub(crate) fn build<K: Key>(point: &Point<'_>) -> Result<Built<K>, SimError> {
    let Point { fabric, scheme, .. } = *point;
    let cut = point.partitioning == Partitioning::Racks && lookahead(fabric) > Time::ZERO;
    let count = if cut { fabric.partitions as usize } else { 1 };
    let of = |partition: u32| if cut { partition } else { 0 };
    let of_node = |node: Node| match node {
        Node::Host(host) => of(fabric.host_partition[host as usize]),
        Node::Switch(switch) => of(fabric.switches[switch as usize].partition),
    };
    let hosts = number(fabric.host_partition.iter().map(|&p| of(p)), count);
    let switches = number(fabric.switches.iter().map(|s| of(s.partition)), count);
    let places = Places {
        ports: number(fabric.links.iter().map(|link| of_node(link.from)), count),
        wires: number(fabric.links.iter().map(|link| of_node(link.to)), count),
        hosts,
    };
    let per_partition = |items: &[(u32, u32)], partition| items.iter().filter(|item| item.0 == partition).count();
    let timed = Place::ALL.iter().any(|&place| matches!(scheme.balancers.at(place), BalancerSpec::Custom(_)));
    let rules = Rules::new(scheme, point.framing.header);
    let mut partitions = Vec::with_capacity(count);
    for partition in 0..count as u32 {
        let wires = per_partition(&places.wires, partition);
        let programs = if timed { per_partition(&switches, partition) } else { 0 };
        let sources = wires + 1 + per_partition(&places.hosts, partition) + programs;
        if sources > K::SOURCES {
            return Err(SimError::KeyTooNarrow);
        }
        let first_timer = wires as u32 + 1;
        let first_program = first_timer + per_partition(&places.hosts, partition) as u32;
        let network = Network {
            now: Time::ZERO,
            events: WinnerTree::new(sources),
            slab: Slab::default(),
            ports: Vec::new(),
            classes: vec![ClassCount::default(); fabric.classes.len()],
            wires: Vec::new(),
            switches: Vec::new(),
            pools: Vec::new(),
            victims: Victims::default(),
            crossings: Vec::new(),
            waiting: Vec::new(),
            hops: 0,
            events_handled: 0,
            overflows: false,
        };
        partitions.push((network, Vec::new(), first_timer, first_program));
    }
    for (number, switch) in fabric.switches.iter().enumerate() {
        let (partition, _) = switches[number];
        let network = &mut partitions[partition as usize].0;
        let balancer = scheme.balancers.at(switch.place);
        network.switches.push(switch_state(point, number, balancer, &places));
        network.pools.push(Pool::new(scheme.shared_buffer));
    }
    for (number, link) in fabric.links.iter().enumerate() {
        let (from, to) = (places.ports[number], places.wires[number]);
        let here = from.0 == to.0;
        let state = port(point, number, &switches, here, to, &partitions[from.0 as usize].0.pools);
        partitions[from.0 as usize].0.ports.push(state);
        let endpoint = match link.to {
            Node::Host(host) => Endpoint::Host(places.hosts[host as usize].1),
            Node::Switch(switch) => Endpoint::Switch(switches[switch as usize].1, back_port(fabric, number)),
        };
        let loss = (link.loss * f64::from(u32::MAX)).round() as u32;
        let random = stream(point.seed, Purpose::Loss, number as u64);
        partitions[to.0 as usize].0.wires.push(Wire::new(if here { from.1 } else { NONE }, endpoint, loss, random));
    }
    for host in 0..fabric.hosts {
        let (partition, _) = places.hosts[host as usize];
        let nic = places.ports[fabric.host_uplink[host as usize] as usize].1;
        let taggers = scheme.classes.iter().map(|class| class.tagger.build()).collect();
        partitions[partition as usize].1.push(Host::new(host as u16, nic, taggers));
    }
    let partitions = partitions
        .into_iter()
        .map(|(mut network, hosts, first_timer, first_program)| {
            network.pools.push(Pool::default());
            Partition::new(network, Hosts::new(rules.clone(), hosts), first_timer, first_program)
        })
        .collect();
    Ok(Built { partitions, places, lookahead: lookahead(fabric) })
}

/// The least delay of a link between partitions.
fn lookahead(fabric: &Fabric) -> Time {
    let of = |node: Node| match node {
        Node::Host(host) => fabric.host_partition[host as usize],
        Node::Switch(switch) => fabric.switches[switch as usize].partition,
    };
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

fn port(
    point: &Point<'_>,
    number: usize,
    switches: &[(u32, u32)],
    here: bool,
    (partition, wire): (u32, u32),
    pools: &[Pool],
) -> Port {
    let Point { fabric, scheme, .. } = *point;
    let link = &fabric.links[number];
    let spec = scheme.ports.at(place_of(fabric, link.from));
    let free = matches!((link.from, scheme.nic), (Node::Host(_), Nic::Backpressure { .. }));
    let scheduler = if free { spec.without_limits().build() } else { spec.build() };
    let (pool, shares) = match link.from {
        Node::Host(_) => (pools.len() as u32, false),
        Node::Switch(switch) => (switches[switch as usize].1, shares_memory(scheme, fabric, switch)),
    };
    Port {
        busy_until: Time::ZERO,
        queued: 0,
        rate: link.rate,
        delay: link.delay,
        overhead: point.framing.overhead,
        forwards_after: if link.cut_through { CUT_THROUGH_BYTES } else { u32::MAX },
        far_end: if here { FarEnd::Here(wire) } else { FarEnd::Beyond { partition, wire } },
        pool,
        shares,
        due: false,
        class: link.class,
        random: stream(point.seed, Purpose::Marking, number as u64),
        count: PortCount::default(),
        scheduler,
    }
}

fn shares_memory(scheme: &Scheme, fabric: &Fabric, switch: u32) -> bool {
    scheme.ports.at(fabric.switches[switch as usize].place).shares_memory()
}

fn switch_state(point: &Point<'_>, number: usize, balancer: &BalancerSpec, places: &Places) -> SwitchState {
    let fabric = point.fabric;
    let routes = &fabric.routes[number];
    let mut random = stream(point.seed, Purpose::Spray, number as u64);
    let salt = random.next_u64();
    let local = |link: u32| places.ports[link as usize].1;
    let next = (0..fabric.hosts).map(|host| match routes.towards(host) {
        [only] => local(*only),
        _ => GROUP | u32::from(routes.next[host as usize]),
    });
    let is_own = |link: &&crate::topology::Link| link.from == Node::Switch(number as u32);
    SwitchState {
        next: next.collect(),
        groups: routes.groups.iter().map(|group| group.iter().map(|&link| local(link)).collect()).collect(),
        ports: (0..fabric.links.len() as u32)
            .filter(|&link| is_own(&&fabric.links[link as usize]))
            .map(local)
            .collect(),
        balancer: balancer.build(routes.groups.len(), salt),
        random,
        due: BinaryHeap::new(),
        ticks: 0,
    }
}

/// The number, among its switch's ports, of the port that leads back over a link.
fn back_port(fabric: &Fabric, number: usize) -> u16 {
    let link = &fabric.links[number];
    let own = fabric.links.iter().filter(|other| other.from == link.to);
    own.take_while(|other| other.to != link.from).count() as u16
}
