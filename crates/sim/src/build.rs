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

use crate::cut::{Cut, Halves, Stage};
use crate::event::{Key, WinnerTree};
use crate::hops;
use crate::hosts::{Host, Hosts, Rules, Side, sides};
use crate::link::{ClassCount, Endpoint, LinkState, Port};
use crate::network::{Beyond, Crossing, GROUP, LOCAL, Network, SwitchState};
use crate::outages::Outages;
use crate::partition::Partition;
use crate::prefetch_queue::PrefetchQueue;
use crate::programs::{Program, Programs};
use crate::run::Pace;
use crate::run_spec::{RunSpec, SimError};
use crate::scheme::Scheme;
use crate::slab::Slab;
use crate::source::Sources;
use crate::topology::{self, Fabric, Node, Sites};

/// Where each part of the fabric was placed: (partition, index there).
pub(crate) struct Placement {
    pub(crate) hosts: Vec<(u32, u32)>,
    pub(crate) switches: Vec<Halves<(u32, u32)>>,
    /// By link: the record at its sending end.
    pub(crate) from: Vec<(u32, u32)>,
    /// By link: the record at its receiving end.
    pub(crate) to: Vec<(u32, u32)>,
    /// By link: the record at the downward half of the switch at its receiving end, for packets that turn round there;
    /// `None`: there is one receiving record.
    turned: Vec<Option<(u32, u32)>>,
}

impl Placement {
    /// Numbers everything in its partition; returns, too, how many hosts, switches, links at which packets arrive, and
    /// links each one has.
    fn new(fabric: &Fabric, cut: &Cut) -> (Placement, [Vec<u32>; 4]) {
        let mut numbers = Numbers(vec![0; cut.count]);
        let hosts = cut.hosts.iter().map(|&partition| numbers.next(partition)).collect();
        let hosts_in = numbers.0;
        let mut numbers = Numbers(vec![0; cut.count]);
        let halves = |halves: &Halves<u32>| {
            let up = numbers.next(halves.up);
            Halves { up, down: if halves.differ() { numbers.next(halves.down) } else { up } }
        };
        let switches = cut.switches.iter().map(halves).collect();
        let switches_in = numbers.0;
        // Records are in the order of links everywhere. Those at which none arrives come last, outside the event queue.
        let mut numbers = Numbers(vec![0; cut.count]);
        let mut placement = Placement { hosts, switches, from: Vec::new(), to: Vec::new(), turned: Vec::new() };
        for link in &fabric.links {
            let up = cut.is_up(link);
            placement.to.push(numbers.next(cut.of_end(link.to, up)));
            let turned = match link.to {
                Node::Switch(switch) if up => Some(cut.switches[switch as usize]).filter(|halves| halves.differ()),
                _ => None,
            };
            placement.turned.push(turned.map(|halves| numbers.next(halves.down)));
        }
        let arrivals_in = numbers.0.clone();
        for (link, &to) in fabric.links.iter().zip(&placement.to) {
            let from = cut.of_end(link.from, cut.is_up(link));
            placement.from.push(if from == to.0 { to } else { numbers.next(from) });
        }
        (placement, [hosts_in, switches_in, arrivals_in, numbers.0])
    }
}

pub(crate) struct Built<K> {
    pub(crate) partitions: Vec<Partition<K>>,
    pub(crate) placement: Placement,
    /// The partitions in the order of their turns in a round; empty if there is one.
    pub(crate) stages: Vec<Stage>,
    /// By stage: everything before this instant is done.
    pub(crate) reached: Vec<Time>,
    /// By partition: its thread.
    pub(crate) threads: Vec<u32>,
    /// By thread: the packets of its partitions. Empty if there is one partition, which has its own.
    pub(crate) slabs: Vec<Slab>,
    /// Whether threads are worth it.
    pub(crate) pace: Pace,
    /// Events that a run in one partition does not have: messages of several partitions that begin at one instant.
    pub(crate) surplus_events: u64,
    /// Links that fail and come back, until the run takes them over.
    pub(crate) outages: Option<Outages>,
}

impl<K> Built<K> {
    /// Returns the port at the sending end of a link.
    pub(crate) fn port(&self, link: usize) -> &Port {
        let (partition, index) = self.placement.from[link];
        &self.partitions[partition as usize].network.ports[index as usize]
    }

    /// Gives a partition the packets of its thread, or takes them back.
    pub(crate) fn swap_slab(&mut self, partition: u32) {
        if let Some(slab) = self.slabs.get_mut(self.threads[partition as usize] as usize) {
            std::mem::swap(slab, &mut self.partitions[partition as usize].network.slab);
        }
    }
}

impl<K: Key> Built<K> {
    /// Moves out every packet that is due on a link up to `at`. Packets to other partitions arrive there.
    pub(crate) fn advance(&mut self, (partition, link): (u32, u32), at: Time) {
        self.swap_slab(partition);
        let network = &mut self.partitions[partition as usize].network;
        network.advance(link, at);
        let crossings = std::mem::take(&mut network.crossings);
        self.swap_slab(partition);
        // A run in one partition has none.
        for Crossing { to: (to, link), at, packet } in crossings {
            let [from, to_thread] = [partition, to].map(|partition| self.threads[partition as usize] as usize);
            let packet = if from == to_thread {
                packet
            } else {
                let trail = self.slabs[from].take_trail(packet);
                let (meta, body) = self.slabs[from].take_parts(packet);
                let packet = self.slabs[to_thread].insert(meta, body);
                self.slabs[to_thread].give_trail(packet, trail);
                packet
            };
            self.partitions[to as usize].network.cross(&mut self.slabs[to_thread].metas, link, packet, at);
        }
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

/// What is between the hosts of a run.
pub(crate) struct Networks<K> {
    /// By partition.
    pub(crate) networks: Vec<Network<K>>,
    /// By partition.
    pub(crate) programs: Vec<Programs>,
    cut: Cut,
    placement: Placement,
    outages: Option<Outages>,
}

/// Builds what is between the hosts of a run.
pub(crate) fn networks<K: Key>(run_spec: &RunSpec<'_>) -> Result<Networks<K>, SimError> {
    let RunSpec { fabric, scheme, .. } = *run_spec;
    let sites = Sites::new(fabric, run_spec.seed);
    let racks = sites.racks();
    let cut = Cut::new(run_spec, racks);
    let count = cut.count;
    let (placement, [hosts_in, switches_in, arrivals_in, links_in]) = Placement::new(fabric, &cut);

    // Programs may have timers.
    let timed = Place::ALL.iter().any(|&place| scheme.balancers.at(place).is_program());
    let pausing = hops::pauses(&scheme.on_hop);
    let least_delay = fabric.links.iter().map(|link| link.delay).min().unwrap_or(Time::ZERO);
    let hear = hears_departures(scheme);
    let ways_home: Arc<[(u32, u32)]> = ways_home(fabric, racks, &placement).into();
    let mut networks = Vec::with_capacity(count);
    for partition in 0..count {
        let programs = if timed { switches_in[partition] } else { 0 };
        let sources = Sources::new(arrivals_in[partition], hosts_in[partition], hear, programs, pausing);
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
            beyond: Vec::new(),
            tied: Vec::new(),
            turns: Arc::clone(&cut.turns),
            classes: vec![ClassCount::default(); fabric.classes.len()],
            routes: Vec::new(),
            racks: racks.count(),
            ways_home: Arc::clone(&ways_home),
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
            hops: None,
            events_handled: 0,
            events_without_arrival: 0,
            overflows: false,
            last_arrival: Time::ZERO,
            lost_messages: Vec::new(),
            traced: Vec::new(),
            trace_span: Time::ZERO..Time::ZERO,
            told_of: BTreeSet::new(),
            arrivals: Vec::new(),
            program_places: None,
            without_place: 0,
        });
    }
    let mut sending = Vec::new();
    for number in 0..fabric.links.len() as u32 {
        sending.extend(add_link(&mut networks, run_spec, number, &sites, (&cut, &placement)));
    }
    for (partition, link, port, beyond) in sending {
        networks[partition as usize].add_link(link, port, beyond);
    }
    let outages = Outages::new(fabric);
    let mut programs: Vec<_> = (0..count).map(|_| Vec::new()).collect();
    for (number, &halves) in (0..).zip(&placement.switches) {
        let program = program(run_spec, number, &sites, &placement);
        let watches = program.as_ref().map(|program| program.watches).unwrap_or_default();
        let more = outages.as_ref().map_or(&[][..], |outages| outages.more_groups(number));
        let routing = (&**racks, more);
        add_switch(&mut networks[halves.up.0 as usize], run_spec, number, routing, &placement, watches);
        if halves.differ() {
            debug_assert!(program.is_none(), "a switch with a program is not halved");
            add_switch(&mut networks[halves.down.0 as usize], run_spec, number, routing, &placement, watches);
            programs[halves.down.0 as usize].push(None);
        }
        programs[halves.up.0 as usize].push(program);
    }
    let may_return = !programs.iter().flatten().any(Option::is_some);
    hops::add(&mut networks, (&scheme.on_hop, may_return), fabric, &sites, &placement);
    let programs = programs.into_iter().map(Programs::new).collect();
    Ok(Networks { networks, programs, cut, placement, outages })
}

/// Builds the partitions of a run.
pub(crate) fn build<K: Key>(run_spec: &RunSpec<'_>) -> Result<Built<K>, SimError> {
    let RunSpec { fabric, scheme, .. } = *run_spec;
    let Networks { mut networks, programs, cut, placement, outages } = networks(run_spec)?;
    let (sites, count) = (Sites::new(fabric, run_spec.seed), cut.count);
    let hear = hears_departures(scheme);
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
        partitions.push(Partition::new(network, hosts, programs));
    }
    let threads = cut.threads.iter().max().map_or(0, |&last| last as usize + 1);
    let is_cut = partitions.len() > 1;
    for partition in partitions.iter_mut().filter(|_| is_cut) {
        partition.hosts.starts = Some(Vec::new());
    }
    let mut built = Built {
        pace: Pace::new(threads, cut.worth),
        slabs: (0..if is_cut { threads } else { 0 }).map(|_| Slab::with_trails(!scheme.on_hop.is_empty())).collect(),
        reached: vec![Time::ZERO; cut.stages.len()],
        stages: cut.stages,
        threads: cut.threads,
        partitions,
        placement,
        surplus_events: 0,
        outages: None,
    };
    if let Some(outages) = outages {
        outages.prepare(&mut built);
        built.outages = Some(outages);
    }
    Ok(built)
}

fn hears_departures(scheme: &Scheme) -> bool {
    scheme.classes.iter().any(|class| class.transport.facts().hears_departures)
}

/// Adds a link to the partitions of its ends, but for a record at which nothing arrives: returns it with its partition.
fn add_link<K>(
    networks: &mut [Network<K>],
    run_spec: &RunSpec<'_>,
    number: u32,
    sites: &Sites<'_>,
    (cut, placement): (&Cut, &Placement),
) -> Option<(u32, LinkState, Port, Beyond)> {
    let RunSpec { fabric, scheme, .. } = *run_spec;
    let link = &fabric.links[number as usize];
    let spec = scheme.port(fabric.place_of(link.from));
    let up = cut.is_up(link);
    let (endpoint, back) = match link.to {
        Node::Host(host) => (Endpoint::host(placement.hosts[host as usize].1), 0),
        Node::Switch(switch) => {
            (Endpoint::switch(placement.switches[switch as usize].get(up).1), back_port(fabric, link, switch))
        }
    };
    let (from, to) = (placement.from[number as usize], placement.to[number as usize]);
    let port = |scheduler| Port { back, ..Port::new(scheduler, link, number, run_spec.seed) };
    let line = link.line(run_spec.wire_overhead);
    let mut sending = port(spec.build(line, scheme.header(), || sites.port(number)));
    match link.from {
        Node::Host(host) => sending.owner = placement.hosts[host as usize].1,
        Node::Switch(switch) => {
            sending.owner = placement.switches[switch as usize].get(up).1;
            sending.features.shares = spec.shares_memory();
        }
    }
    if from.0 == to.0 {
        networks[from.0 as usize].add_link(LinkState::new(link, &sending, endpoint), sending, Beyond::INSIDE);
        return None;
    }
    // Nothing is queued at a receiving end.
    let mut add_receiving = |to: (u32, u32), endpoint| {
        let receiving = port(Scheduler::default());
        let network = &mut networks[to.0 as usize];
        debug_assert_eq!(network.links.len(), to.1 as usize, "records are numbered as they are added");
        network.add_link(LinkState::new(link, &receiving, endpoint), receiving, Beyond::INSIDE);
    };
    sending.features.crosses = true;
    let mut beyond = Beyond { ahead: to, ..Beyond::INSIDE };
    add_receiving(to, endpoint);
    if let (Some(turned), Node::Switch(switch)) = (placement.turned[number as usize], link.to) {
        beyond = Beyond { turned, switch, ..beyond };
        add_receiving(turned, Endpoint::switch(placement.switches[switch as usize].down.1));
    }
    Some((from.0, LinkState::new(link, &sending, endpoint), sending, beyond))
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
    (racks, more): (&Racks, &[Vec<u32>]),
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
    let groups = || routes.groups.iter().chain(more);
    for group in groups() {
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
    let balancer = spec.build(&BalancerSite { groups: groups().count(), salt, watches });
    network.switches.push(SwitchState { first_group, balancer, random, due: BinaryHeap::new() });
}

/// Returns the switch's number for the port that leads back over a link to it.
fn back_port(fabric: &Fabric, link: &topology::Link, switch: u32) -> u16 {
    let back = |&&port: &&u32| fabric.links[port as usize].to != link.from;
    fabric.ports[switch as usize].iter().take_while(back).count() as u16
}
