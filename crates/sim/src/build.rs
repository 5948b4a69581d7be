//! Places a scheme in a fabric: partitions with their ports, wires, switches and hosts.

use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use flowsieve_core::admission::Pool;
use flowsieve_core::balancer::BalancerSite;
use flowsieve_core::program::{Asked, Watches};
use flowsieve_core::site::Racks;
use flowsieve_core::{Scheduler, Time, Victims};
use flowsieve_settings::Place;
use flowsieve_workload::random::{Purpose, stream};
use rand_core::Rng;

use crate::event::{Key, WinnerTree};
use crate::hosts::{Host, Hosts, Rules, Side, sides};
use crate::link::{ClassCount, Endpoint, LinkState, Port};
use crate::network::{GROUP, LOCAL, Network, SwitchState};
use crate::partition::Partition;
use crate::prefetch_queue::PrefetchQueue;
use crate::programs::{Program, Programs};
use crate::run_spec::{Partitioning, RunSpec, SimError};
use crate::slab::Slab;
use crate::source::Sources;
use flowsieve_fabric::topology::{self, Fabric, Node, Sites};

/// Where each part of the fabric was placed: (partition, index there).
pub(crate) struct Placement {
    pub(crate) hosts: Vec<(u32, u32)>,
    pub(crate) switches: Vec<(u32, u32)>,
    /// By link: the record at its sending end.
    pub(crate) from: Vec<(u32, u32)>,
    /// By link: the record at its receiving end.
    pub(crate) to: Vec<(u32, u32)>,
}

pub(crate) struct Built<K> {
    pub(crate) partitions: Vec<Partition<K>>,
    pub(crate) placement: Placement,
    /// The least time that a packet between partitions is in flight.
    pub(crate) lookahead: Time,
}

impl<K> Built<K> {
    /// Returns the port at the sending end of a link.
    pub(crate) fn port(&self, link: usize) -> &Port {
        let (partition, index) = self.placement.from[link];
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

/// Builds the partitions of a run.
pub(crate) fn build<K: Key>(run_spec: &RunSpec<'_>) -> Result<Built<K>, SimError> {
    let RunSpec { fabric, scheme, .. } = *run_spec;
    let cut = run_spec.partitioning == Partitioning::Racks && lookahead(fabric) > Time::ZERO;
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
    let placement = Placement { hosts, switches, from, to };

    // Programs may have timers.
    let timed = Place::ALL.iter().any(|&place| scheme.balancers.at(place).is_program());
    let sites = Sites::new(fabric, run_spec.seed);
    let racks = sites.racks();
    let least_delay = fabric.links.iter().map(|link| link.delay).min().unwrap_or(Time::ZERO);
    let hear = scheme.classes.iter().any(|class| class.transport.facts().hears_departures);
    let mut networks = Vec::with_capacity(count);
    for partition in 0..count {
        let programs = if timed { switches_in[partition] } else { 0 };
        let sources = Sources::new(links_in[partition], hosts_in[partition], hear, programs);
        if sources.count() > K::SOURCES {
            return Err(SimError::KeyTooNarrow);
        }
        let events = WinnerTree::new(sources.count());
        let prefetch_queue = if events.is_large() && !timed {
            PrefetchQueue::new(links_in[partition] as usize, least_delay)
        } else {
            PrefetchQueue::none()
        };
        networks.push(Network {
            now: Time::ZERO,
            horizon: K::NEVER,
            stop: K::NEVER,
            sources,
            events,
            slab: Slab::default(),
            prefetch_queue,
            links: Vec::new(),
            ports: Vec::new(),
            classes: vec![ClassCount::default(); fabric.classes.len()],
            routes: Vec::new(),
            racks: racks.count(),
            ways_home: ways_home(fabric, racks, &placement),
            overhead: u32::from(run_spec.wire_overhead),
            groups: Vec::new(),
            ways: Vec::new(),
            switches: Vec::new(),
            pools: Vec::new(),
            own_pool: Pool::default(),
            victims: Victims::default(),
            crossings: Vec::new(),
            departures: Vec::new(),
            waiting: Vec::new(),
            events_handled: 0,
            events_without_arrival: 0,
            overflows: false,
            last_arrival: Time::ZERO,
            lost_messages: Vec::new(),
            traced: Vec::new(),
            trace_span: Time::ZERO..Time::ZERO,
            told_of: BTreeSet::new(),
            arrivals: Vec::new(),
        });
    }
    for number in 0..fabric.links.len() as u32 {
        add_link(&mut networks, run_spec, number, &sites, &placement);
    }
    let mut programs: Vec<_> = (0..count).map(|_| Vec::new()).collect();
    for (number, &(partition, _)) in (0..).zip(&placement.switches) {
        let program = program(run_spec, number, &sites, &placement);
        let watches = program.as_ref().map(|program| program.watches).unwrap_or_default();
        add_switch(&mut networks[partition as usize], run_spec, number, racks, &placement, watches);
        programs[partition as usize].push(program);
    }
    let tells = scheme.classes.iter().any(|class| class.transport.wants_round_trips());
    let told = tells.then(|| Arc::new(fabric.clone()));
    let mut hosts: Vec<(Vec<Host>, Vec<Side>)> = (0..count).map(|_| Default::default()).collect();
    for (number, &(partition, index)) in (0..).zip(&placement.hosts) {
        let (hosts, of_hosts) = &mut hosts[partition as usize];
        let nic = placement.from[fabric.host_uplink[usize::from(number)] as usize].1;
        hosts.push(Host::new(number, index, nic));
        if hear {
            networks[partition as usize].tell_departures(nic);
        }
        of_hosts.extend(sides(scheme, number.into(), &sites, (told.as_ref(), run_spec.wire_overhead)));
    }
    let rules = Rules::new(run_spec);
    let mut partitions = Vec::with_capacity(count);
    for ((network, programs), (hosts, sides)) in networks.into_iter().zip(programs).zip(hosts) {
        let hosts = Hosts::new(rules.clone(), hosts, sides);
        partitions.push(Partition::new(network, hosts, Programs::new(programs)));
    }
    Ok(Built { partitions, placement, lookahead: lookahead(fabric) })
}

fn partition_of(fabric: &Fabric, node: Node) -> u32 {
    match node {
        Node::Host(host) => fabric.host_partition[host as usize],
        Node::Switch(switch) => fabric.switches[switch as usize].partition,
    }
}

/// Returns the least delay of a link between partitions.
fn lookahead(fabric: &Fabric) -> Time {
    let of = |node| partition_of(fabric, node);
    let crossing = fabric.links.iter().filter(|link| of(link.from) != of(link.to));
    crossing.map(|link| link.delay).min().unwrap_or(Time::NEVER)
}

/// Adds a link to the partitions of its ends.
fn add_link<K>(
    networks: &mut [Network<K>],
    run_spec: &RunSpec<'_>,
    number: u32,
    sites: &Sites<'_>,
    placement: &Placement,
) {
    let RunSpec { fabric, scheme, .. } = *run_spec;
    let link = &fabric.links[number as usize];
    let spec = scheme.port(fabric.place_of(link.from));
    let (endpoint, back) = match link.to {
        Node::Host(host) => (Endpoint::host(placement.hosts[host as usize].1), 0),
        Node::Switch(switch) => {
            (Endpoint::switch(placement.switches[switch as usize].1), back_port(fabric, link, switch))
        }
    };
    let (from, to) = (placement.from[number as usize], placement.to[number as usize]);
    let port = |scheduler| Port { back, ..Port::new(scheduler, link, number, run_spec.seed) };
    let line = link.line(run_spec.wire_overhead);
    let mut sending = port(spec.build(line, scheme.header(), || sites.port(number)));
    match link.from {
        Node::Host(host) => sending.owner = placement.hosts[host as usize].1,
        Node::Switch(switch) => {
            sending.owner = placement.switches[switch as usize].1;
            sending.features.shares = spec.shares_memory();
        }
    }
    if from.0 != to.0 {
        sending.features.beyond = Some(to);
        // Nothing is queued at the receiving end.
        let receiving = port(Scheduler::default());
        networks[to.0 as usize].add_link(LinkState::new(link, &receiving, endpoint), receiving);
    }
    networks[from.0 as usize].add_link(LinkState::new(link, &sending, endpoint), sending);
}

/// Lists, by host, its rack and the link from there to it, by the link's number in its partition.
fn ways_home(fabric: &Fabric, racks: &Racks, placement: &Placement) -> Vec<(u32, u32)> {
    let home = |host: u32| {
        let home = match fabric.links[fabric.host_uplink[host as usize] as usize].to {
            Node::Switch(switch) => fabric.routes[switch as usize].towards(host).first(),
            Node::Host(_) => None,
        };
        (racks.of(host), home.map_or(0, |&link| placement.from[link as usize].1))
    };
    (0..fabric.hosts).map(home).collect()
}

/// Builds the program of a switch, if it has one.
fn program(run_spec: &RunSpec<'_>, switch: u32, sites: &Sites<'_>, placement: &Placement) -> Option<Program> {
    let RunSpec { fabric, scheme, .. } = *run_spec;
    let own = scheme.balancers.at(fabric.place_of(Node::Switch(switch))).program(|| sites.program(switch))?;
    let links = fabric.ports[switch as usize].iter().map(|&link| placement.from[link as usize].1);
    Some(Program::new(own, sites.program(switch), links.collect()))
}

/// Adds a switch and marks the links whose bytes its program counts.
fn add_switch<K>(
    network: &mut Network<K>,
    run_spec: &RunSpec<'_>,
    number: u32,
    racks: &Racks,
    placement: &Placement,
    watches: Watches,
) {
    let fabric = run_spec.fabric;
    let routes = &fabric.routes[number as usize];
    let mut random = stream(run_spec.seed, Purpose::Spray, number.into());
    let salt = random.next_u64();
    let local = |&link: &u32| placement.from[link as usize].1;
    let first_group = network.groups.len() as u32;
    let is_home = |host| fabric.links[fabric.host_uplink[host as usize] as usize].to == Node::Switch(number);
    let route = |rack| {
        let host = racks.hosts(rack)[0];
        match routes.towards(host) {
            _ if watches.packets == Asked::Every => GROUP | first_group,
            _ if is_home(host) => LOCAL,
            [only] => local(only),
            _ => GROUP | (first_group + u32::from(routes.next[host as usize])),
        }
    };
    network.routes.extend((0..racks.count() as u32).map(route));
    for group in &routes.groups {
        network.groups.push((network.ways.len() as u32, group.len() as u32));
        network.ways.extend(group.iter().map(local));
    }
    for link in &fabric.ports[number as usize] {
        if watches.sent_bytes.counts(fabric.links[*link as usize].to) {
            network.count_sent(local(link));
        }
    }
    network.pools.push(Pool::new(run_spec.scheme.shared_buffer));
    let spec = run_spec.scheme.balancers.at(fabric.switches[number as usize].place);
    let balancer = spec.build(&BalancerSite { groups: routes.groups.len(), salt, watches });
    network.switches.push(SwitchState { first_group, balancer, random, due: BinaryHeap::new() });
}

/// Returns the switch's number for the port that leads back over a link to it.
fn back_port(fabric: &Fabric, link: &topology::Link, switch: u32) -> u16 {
    let back = |&&port: &&u32| fabric.links[port as usize].to != link.from;
    fabric.ports[switch as usize].iter().take_while(back).count() as u16
}
