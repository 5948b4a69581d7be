//! A fabric in virtual time: the ports of a scheme, their lines, and the switches between them.
//!
//! Events of one instant have the simulator's order: departures, then arrivals at switches in the order that is drawn for the instant,
//! then the timers of switches' [programs]. What hosts send at the instant comes last; in the simulator it comes before the
//! timers, but no program sees a host's port. An event costs a logarithm of the links at which something is due. After
//! set-up nothing is allocated, unless a custom program does.

mod programs;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flowsieve_core::admission::Pool;
use flowsieve_core::balancer::BalancerSite;
use flowsieve_core::fifo::Fifo;
use flowsieve_core::hash::mix;
use flowsieve_core::meta::Held;
use flowsieve_core::{Balancer, Meta, Node, PortScheduler, Time, Victims};
use flowsieve_schemes::Scheme;
use flowsieve_sim::port::{Departure, Port};
use flowsieve_sim::topology::{Fabric, Link, Sites, SwitchRoutes};
use flowsieve_workload::random::{Purpose, Xoshiro256PlusPlus, stream};
use rand_core::Rng;

pub use programs::ProgramCounts;
use programs::{Programs, sees_every_packet};

/// What happened to a packet at the port of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It arrived at the port, before the port decides.
    Arrived {
        /// The link behind the port.
        link: u32,
        /// When.
        at: Time,
        /// The packet's number in the fabric.
        packet: u32,
    },
    /// The line began to send it.
    Sent {
        /// The link.
        link: u32,
        /// When.
        at: Time,
        /// The packet's number.
        packet: u32,
    },
    /// It is gone.
    Dropped {
        /// The link.
        link: u32,
        /// When.
        at: Time,
        /// The packet's number, which is free now.
        packet: u32,
        /// Why.
        cause: Cause,
    },
}

/// Why a packet is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The port turned it away.
    Buffer,
    /// It made room for another.
    Evicted,
    /// The line lost it.
    Loss,
    /// No path leads to its destination.
    NoPath,
}

/// What happened at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Packets that the line has sent.
    pub sent: u64,
    /// Packets that the port turned away.
    pub turned_away: u64,
    /// Packets that made room for others.
    pub evicted: u64,
    /// Packets that the line lost.
    pub lost: u64,
    /// Packets that it marked.
    pub marked: u64,
    /// The most bytes that waited behind a packet on the line.
    pub most_backlog: u64,
}

/// What became of all packets of hosts: those that were taken are delivered, dropped, or still inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that hosts handed over.
    pub taken: u64,
    /// Packets that arrived at their hosts.
    pub delivered: u64,
    /// Packets that ports or lines dropped.
    pub dropped: u64,
}

// The most backlog is that of the whole time.
since!(PortCounts: sent, turned_away, evicted, lost, marked);
since!(Counts: taken, delivered, dropped);

/// A packet that has arrived at its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The packet, which the owner gives back with [`InMemory::release`].
    pub packet: u32,
    /// The host.
    pub host: u32,
    /// When.
    pub at: Time,
}

/// A port with its line, and the packets in flight behind it.
struct Hop {
    port: Port,
    to: Node,
    /// The switch that the port is at.
    switch: Option<u32>,
    /// In the order of arrival; each holds its own instant of arrival.
    flight: Fifo,
    /// A departure of it is in [`InMemory::events`].
    departs: bool,
    /// Bytes put on the line, with preambles and gaps.
    sent_bytes: u64,
    /// Its place among arrivals of one instant is drawn from this.
    salt: u64,
    counts: PortCounts,
}

/// A switch's forwarding.
struct Forwarding {
    routes: SwitchRoutes,
    balancer: Balancer,
    random: Xoshiro256PlusPlus,
    /// Its program is called for every packet, even with a single path.
    sees_every_packet: bool,
}

/// The kinds of events, in the order of those of one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Departure,
    Arrival,
}

/// Hears of every event, with the packet's [`Meta`].
pub type Observer = Box<dyn FnMut(Event, &Meta) + Send>;

/// A fabric without I/O.
pub struct InMemory {
    /// By packet. Owners change nothing of a packet between [`InMemory::send`] and its arrival.
    metas: Vec<Meta>,
    free: Vec<u32>,
    now: Time,
    hops: Vec<Hop>,
    /// By host: the link into the fabric.
    uplinks: Vec<u32>,
    switches: Vec<Forwarding>,
    /// The memories of switches, and last an empty one for hosts.
    memories: Vec<Pool>,
    programs: Programs,
    /// Bytes that a packet takes on a line in addition to its length.
    overhead: u16,
    victims: Victims,
    /// Departures, and arrivals at switches: of each link the next one. Arrivals of one instant are in the simulator's order.
    events: BinaryHeap<Reverse<(Time, Due, u64, u32)>>,
    /// Arrivals at hosts: of each link the next one.
    releases: BinaryHeap<Reverse<(Time, u32)>>,
    /// The least delay of a line from a host.
    first_delay: Time,
    /// The least delay of a line to a host.
    last_delay: Time,
    counts: Counts,
    observer: Option<Observer>,
}

impl InMemory {
    /// Builds a fabric for at most `frames` packets at once; a packet takes `overhead` bytes on lines in addition to its
    /// length, and `seed` is the run's, as in the simulator.
    pub fn new(fabric: &Fabric, scheme: &Scheme, overhead: u16, seed: u64, frames: usize) -> InMemory {
        let sites = Sites::new(fabric, seed);
        let spec = |switch| scheme.balancers.at(fabric.place_of(Node::Switch(switch)));
        let programs = Programs::new(fabric, spec, &sites, frames);
        let places = frames + programs.places();
        let hop = |(link, number): (&Link, u32)| {
            let spec = scheme.port(fabric.place_of(link.from));
            let mut scheduler = spec.build(link.line(overhead), scheme.header(), || sites.port(number));
            scheduler.reserve(places);
            let switch = if let Node::Switch(switch) = link.from { Some(switch) } else { None };
            let shares = spec.shares_memory() && switch.is_some();
            let port = Port::new(scheduler, (link, number), overhead, shares, seed);
            let (flight, counts) = (Fifo::default(), PortCounts::default());
            let salt = stream(seed, Purpose::Ties, number.into()).next_u64();
            Hop { port, to: link.to, switch, flight, departs: false, sent_bytes: 0, salt, counts }
        };
        let forwarding = |(routes, number): (&SwitchRoutes, u32)| {
            let mut random = stream(seed, Purpose::Spray, number.into());
            let salt = random.next_u64();
            let watches = programs.watches(number);
            let balancer = spec(number).build(&BalancerSite { groups: routes.groups.len(), salt, watches });
            Forwarding { routes: routes.clone(), balancer, random, sees_every_packet: sees_every_packet(watches) }
        };
        let links = fabric.links.len();
        let least = |end: &dyn Fn(&Link) -> Node| {
            let of_hosts = fabric.links.iter().filter(|link| matches!(end(link), Node::Host(_)));
            of_hosts.map(|link| link.delay).min().unwrap_or(Time::ZERO)
        };
        let mut memories = vec![Pool::new(scheme.shared_buffer); fabric.switches.len()];
        memories.push(Pool::default());
        InMemory {
            metas: vec![Meta::default(); places],
            free: (0..frames as u32).rev().collect(),
            now: Time::ZERO,
            hops: fabric.links.iter().zip(0..).map(hop).collect(),
            uplinks: fabric.host_uplink.clone(),
            switches: fabric.routes.iter().zip(0..).map(forwarding).collect(),
            memories,
            programs,
            overhead,
            victims: Victims::default(),
            events: BinaryHeap::with_capacity(2 * links),
            releases: BinaryHeap::with_capacity(links),
            first_delay: least(&|link| link.from),
            last_delay: least(&|link| link.to),
            counts: Counts::default(),
            observer: None,
        }
    }

    /// Has every event told to `observer`.
    pub fn observe(&mut self, observer: Observer) {
        self.observer = Some(observer);
    }

    /// Takes a free packet; `None`: all are inside. The owner fills [`InMemory::meta`] and calls [`InMemory::send`], or
    /// [`InMemory::release`].
    pub fn claim(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Returns a packet that is the owner's: claimed or arrived.
    pub fn meta(&mut self, packet: u32) -> &mut Meta {
        &mut self.metas[packet as usize]
    }

    /// Gives back a packet that is the owner's.
    pub fn release(&mut self, packet: u32) {
        debug_assert!(self.free.len() < self.metas.len(), "packet {packet} is given back twice");
        self.free.push(packet);
    }

    /// Has a packet arrive at the own port of a host, now. Everything up to now has been worked off.
    pub fn send(&mut self, host: u32, packet: u32) {
        self.send_by(self.uplinks[host as usize], packet);
    }

    /// Has a packet arrive at the port of any link, now, as if it came from outside the fabric. The far end of the link
    /// handles it as any other.
    pub fn send_by(&mut self, link: u32, packet: u32) {
        self.counts.taken += 1;
        self.enqueue(link, packet);
    }

    /// Returns the instant up to which all has been worked off.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns when the next packet arrives at its host, of those that are on the last line; those in queues arrive
    /// later, by at least the line's delay. `None`: there is none.
    pub fn next_arrival(&self) -> Option<Time> {
        self.releases.peek().map(|Reverse((at, _))| *at)
    }

    /// Returns when something happens next, apart from arrivals at hosts.
    pub fn next_event(&self) -> Option<Time> {
        self.next_packet().into_iter().chain(self.programs.first_timer()).min()
    }

    /// Returns when a packet departs or comes to a switch next.
    fn next_packet(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((at, ..))| *at)
    }

    /// Returns an instant before which no packet arrives at its host, whatever enters: the next arrival, or the next event
    /// inside, after which a packet still has a last line before it. [`Time::NEVER`]: nothing is inside.
    pub fn next_release(&self) -> Time {
        let after_event = self.next_event().map_or(Time::NEVER, |at| at + self.last_delay);
        self.next_arrival().unwrap_or(Time::NEVER).min(after_event)
    }

    /// Returns a time that any packet takes at least from its host's port to its arrival: the delays of the first and the last
    /// line.
    pub fn least_crossing(&self) -> Time {
        self.first_delay + self.last_delay
    }

    /// Returns the number of hosts.
    pub fn hosts(&self) -> u32 {
        self.uplinks.len() as u32
    }

    /// Returns the number of hosts' packets inside.
    pub fn held(&self) -> u64 {
        self.counts.taken - self.counts.delivered - self.counts.dropped
    }

    /// Returns what became of all packets.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns what happened at each port, by link.
    pub fn port_counts(&self) -> impl Iterator<Item = PortCounts> {
        self.hops.iter().map(|hop| PortCounts {
            marked: hop.port.marks(),
            most_backlog: hop.port.most_backlog_bytes(),
            ..hop.counts
        })
    }

    /// Returns the port of a link, which may be observed and take a controller's table.
    pub fn port(&mut self, link: u32) -> &mut Port {
        &mut self.hops[link as usize].port
    }

    /// Works off all that happens up to an instant, which becomes now. Instants never go back: an earlier one changes
    /// nothing. `arrived` hears of each packet that has come to its host, in the order of time.
    ///
    /// Programs of switches may set timers for ever, so with them an instant is needed that is not [`Time::NEVER`].
    pub fn work_off(&mut self, until: Time, mut arrived: impl FnMut(Arrived, &Meta)) {
        loop {
            let event = self.next_packet().unwrap_or(Time::NEVER);
            let release = self.next_arrival().unwrap_or(Time::NEVER);
            let first = event.min(release);
            if self.programs.first_timer().is_some_and(|at| at <= until && at < first) {
                self.on_first_timer();
            } else if first > until || first == Time::NEVER {
                break;
            } else if event <= release {
                self.handle_next();
            } else {
                self.deliver_next(&mut arrived);
            }
        }
        self.now = self.now.max(until);
    }

    /// Handles the next departure, or the next arrival at a switch.
    fn handle_next(&mut self) {
        let Some(Reverse((at, due, _, link))) = self.events.pop() else { return };
        self.now = at;
        match due {
            Due::Departure => {
                self.hops[link as usize].departs = false;
                self.depart(link);
            }
            Due::Arrival => {
                let Some(packet) = self.land(link) else { return };
                let Node::Switch(switch) = self.hops[link as usize].to else { return };
                if self.programs.owns(packet) {
                    return self.on_program_packet(switch, link, packet);
                }
                match self.next_hop(switch, link, packet) {
                    Some(next) => self.enqueue(next, packet),
                    None => self.drop(link, packet, Cause::NoPath),
                }
            }
        }
    }

    /// Hands the next packet that has come to its host to the owner.
    fn deliver_next(&mut self, arrived: &mut impl FnMut(Arrived, &Meta)) {
        let Some(Reverse((at, link))) = self.releases.pop() else { return };
        self.now = self.now.max(at);
        let Some(packet) = self.land(link) else { return };
        if self.programs.owns(packet) {
            return self.programs.received(packet); // hosts do not hear switches' programs
        }
        if let Node::Host(host) = self.hops[link as usize].to {
            self.counts.delivered += 1;
            arrived(Arrived { packet, host, at }, &self.metas[packet as usize]);
        }
    }

    /// Takes the first packet in flight on a link, and schedules the one behind it; `None`: the line has lost it.
    fn land(&mut self, link: u32) -> Option<u32> {
        let hop = &mut self.hops[link as usize];
        let packet = hop.flight.pop(&self.metas)?;
        if let Some(next) = hop.flight.front() {
            let at = self.metas[next as usize].held.next_arrival();
            schedule_arrival(&mut self.events, &mut self.releases, (hop.to, hop.salt), at, link);
        }
        if hop.port.loses() {
            hop.counts.lost += 1;
            self.drop(link, packet, Cause::Loss);
            return None;
        }
        Some(packet)
    }

    /// Returns the link that a packet takes at a switch to which it came by link `from`; `None`: no path leads to its host.
    fn next_hop(&mut self, switch: u32, from: u32, packet: u32) -> Option<u32> {
        let Forwarding { routes, balancer, random, sees_every_packet } = &mut self.switches[switch as usize];
        let meta = &self.metas[packet as usize];
        let group = *routes.next.get(usize::from(meta.dst))?;
        let ways = routes.groups.get(usize::from(group))?;
        match ways.as_slice() {
            [only] if !*sees_every_packet => Some(*only),
            ways => match balancer.choose(meta, group.into(), ways.len(), self.now, random) {
                Some(way) => ways.get(way).copied(),
                None => self.choose_by_program(switch, from, packet),
            },
        }
    }

    /// Has a packet arrive at a port, now.
    fn enqueue(&mut self, link: u32, packet: u32) {
        let now = self.now;
        self.tell(Event::Arrived { link, at: now, packet });
        let hop = &mut self.hops[link as usize];
        let memory = memory_of(&mut self.memories, hop.switch);
        let verdict = hop.port.enqueue(now, &mut self.metas, packet, memory, &mut self.victims);
        hop.counts.turned_away += u64::from(!verdict.is_accepted());
        hop.counts.evicted += self.victims.len() as u64;
        while let Some(victim) = self.victims.pop() {
            self.drop(link, victim, Cause::Evicted);
        }
        if !verdict.is_accepted() {
            self.drop(link, packet, Cause::Buffer);
        }
        self.depart(link);
    }

    /// Puts on the line what is due, and schedules the next departure.
    fn depart(&mut self, link: u32) {
        let hop = &mut self.hops[link as usize];
        let memory = memory_of(&mut self.memories, hop.switch);
        while let Some(Departure { packet, start, arrival, .. }) = hop.port.depart(self.now, &mut self.metas, memory) {
            hop.counts.sent += 1;
            hop.sent_bytes += u64::from(self.metas[packet as usize].len) + u64::from(self.overhead);
            if let Some(observer) = &mut self.observer {
                observer(Event::Sent { link, at: start, packet }, &self.metas[packet as usize]);
            }
            if hop.flight.is_empty() {
                schedule_arrival(&mut self.events, &mut self.releases, (hop.to, hop.salt), arrival, link);
            }
            hop.flight.push(&mut self.metas, packet);
            self.metas[packet as usize].held = Held::in_flight(arrival);
        }
        if let Some(at) = hop.port.departs_at()
            && !hop.departs
        {
            hop.departs = true;
            self.events.push(Reverse((at, Due::Departure, 0, link)));
        }
    }

    fn tell(&mut self, event: Event) {
        let (Event::Arrived { packet, .. } | Event::Sent { packet, .. } | Event::Dropped { packet, .. }) = event;
        if let Some(observer) = &mut self.observer {
            observer(event, &self.metas[packet as usize]);
        }
    }
}

/// Returns the memory of a switch, or of a host.
fn memory_of(memories: &mut [Pool], switch: Option<u32>) -> &mut Pool {
    let last = memories.len() - 1;
    &mut memories[switch.map_or(last, |switch| switch as usize)]
}

/// Schedules the next arrival of a link.
fn schedule_arrival(
    events: &mut BinaryHeap<Reverse<(Time, Due, u64, u32)>>,
    releases: &mut BinaryHeap<Reverse<(Time, u32)>>,
    (to, salt): (Node, u64),
    at: Time,
    link: u32,
) {
    match to {
        Node::Host(_) => releases.push(Reverse((at, link))),
        Node::Switch(_) => events.push(Reverse((at, Due::Arrival, mix(at.0 ^ salt), link))),
    }
}
