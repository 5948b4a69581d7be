//! A fabric for packets that are not the simulator's own: its ports, lines and switches without endpoints, in virtual time.
//!
//! The owner says what the time is and when a packet is at a host's port, and is told when it arrives at its destination. So the
//! fabric has no clock and no I/O, and its owner is a program that carries real packets, or a test. What hosts send at an instant
//! comes after all else that happens in it. After set-up nothing is allocated, unless a scheme's own part does.

use flowsieve_core::meta::Meta;
use flowsieve_core::{Scheduler, Time};
use flowsieve_record::PacketEvent;
use flowsieve_workload::Flow;

use crate::build::{Networks, networks};
use crate::network::Network;
use crate::partition::{Ends, Partition};
use crate::run_spec::{Flows, RunSpec};
use crate::scheme::Scheme;
use crate::slab::{Body, SWITCH};
use crate::source::Source;
use crate::topology::{Fabric, Link, Node};

/// Places for packets of switches' programs, by link, if there are any. Hosts and programs do not take each other's.
const PLACES: usize = 64;

/// How many events are handled before the owner is told of them. Each has few departures.
const AT_ONCE: u64 = 256;

/// What happened to a packet at the port of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The line began to send it. It is told when the port is next looked at, at the latest when the packet before it arrives.
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

impl PortCounts {
    /// Returns what was counted since an earlier moment; the most backlog is that of the whole time.
    #[must_use]
    pub fn since(self, earlier: &PortCounts) -> PortCounts {
        PortCounts {
            sent: self.sent - earlier.sent,
            turned_away: self.turned_away - earlier.turned_away,
            evicted: self.evicted - earlier.evicted,
            lost: self.lost - earlier.lost,
            marked: self.marked - earlier.marked,
            most_backlog: self.most_backlog,
        }
    }
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

impl Counts {
    /// Returns what was counted since an earlier moment.
    #[must_use]
    pub fn since(self, earlier: &Counts) -> Counts {
        Counts {
            taken: self.taken - earlier.taken,
            delivered: self.delivered - earlier.delivered,
            dropped: self.dropped - earlier.dropped,
        }
    }
}

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

/// Hears of every event, with the packet's [`Meta`] as it was then.
pub type Observer = Box<dyn FnMut(Event, &Meta) + Send>;

/// What has arrived at hosts, until the owner is told.
struct Arrivals(Vec<Arrived>);

impl Ends<u128> for Arrivals {
    #[inline]
    fn on_packet(&mut self, network: &mut Network<u128>, host: u32, packet: u32) {
        if network.slab.metas[packet as usize].dst == SWITCH {
            return network.remove_of_program(packet); // from a switch's program, which hosts do not hear
        }
        self.0.push(Arrived { packet, host, at: network.now });
    }

    fn on_timer(&mut self, network: &mut Network<u128>, source: Source) {
        debug_assert_eq!(source, Source::Pauses, "there are no endpoints");
        while network.on_pause().is_some() {}
    }
}

/// A fabric without I/O.
pub struct InMemory {
    partition: Partition<u128, Arrivals>,
    /// By host: the link into the fabric.
    uplinks: Vec<u32>,
    /// The links to hosts.
    last_links: Vec<u32>,
    /// The least delays of a line from a host, and of one to a host.
    least_delays: [Time; 2],
    /// Packets that hosts may have at once, and those that are claimed or inside.
    frames: usize,
    claimed: usize,
    counts: Counts,
    /// By link: the packets that it has sent.
    sent: Vec<u64>,
    observer: Option<Observer>,
}

impl InMemory {
    /// Builds a fabric for at most `frames` packets at once; a packet takes `overhead` bytes on lines in addition to its
    /// length, and `seed` is the run's, as in the simulator.
    pub fn new(fabric: &Fabric, scheme: &Scheme, overhead: u16, seed: u64, frames: usize) -> InMemory {
        let none = || -> Box<dyn Iterator<Item = Flow>> { Box::new(std::iter::empty()) };
        let run_spec = RunSpec { wire_overhead: overhead, seed, ..RunSpec::new(fabric, scheme, Flows::Given(&none)) };
        let Networks { mut networks, mut programs, .. } = networks::<u128>(&run_spec).expect("the widest keys");
        let (mut network, programs) = (networks.remove(0), programs.remove(0));
        let links = fabric.links.len();
        network.make_ready(frames, if programs.are_there() { PLACES * links } else { 0 });
        let least = |end: &dyn Fn(&Link) -> Node| {
            let of_hosts = fabric.links.iter().filter(|link| matches!(end(link), Node::Host(_)));
            of_hosts.map(|link| link.delay).min().unwrap_or(Time::ZERO)
        };
        let is_last = |link: &u32| matches!(fabric.links[*link as usize].to, Node::Host(_));
        InMemory {
            partition: Partition::new(network, Arrivals(Vec::with_capacity(frames)), programs),
            uplinks: fabric.host_uplink.clone(),
            last_links: (0..links as u32).filter(is_last).collect(),
            least_delays: [least(&|link| link.from), least(&|link| link.to)],
            frames,
            claimed: 0,
            counts: Counts::default(),
            sent: vec![0; links],
            observer: None,
        }
    }

    /// Has every event told to `observer`.
    pub fn observe(&mut self, observer: Observer) {
        self.observer = Some(observer);
    }

    /// Returns a number that is above that of every packet.
    pub fn places(&self) -> usize {
        self.partition.network.slab.metas.len()
    }

    /// Takes a free packet; `None`: all are inside. The owner fills [`InMemory::meta`] and calls [`InMemory::send`], or
    /// [`InMemory::release`].
    pub fn claim(&mut self) -> Option<u32> {
        (self.claimed < self.frames).then(|| {
            self.claimed += 1;
            self.partition.network.slab.insert(Meta::default(), Body::default())
        })
    }

    /// Returns a packet that is the owner's: claimed or arrived. Owners change nothing of a packet that is inside.
    pub fn meta(&mut self, packet: u32) -> &mut Meta {
        &mut self.partition.network.slab.metas[packet as usize]
    }

    /// Gives back a packet that is the owner's.
    pub fn release(&mut self, packet: u32) {
        debug_assert!(self.claimed > 0, "packet {packet} is given back twice");
        self.claimed -= 1;
        self.partition.network.slab.take_trail(packet);
        self.partition.network.slab.remove(packet);
    }

    /// Has a packet arrive at the own port of a host, now. Everything up to now has been worked off.
    pub fn send(&mut self, host: u32, packet: u32) {
        self.send_by(self.uplinks[host as usize], packet);
    }

    /// Has a packet arrive at the port of any link, now, as if it came from outside the fabric. The far end of the link
    /// handles it as any other.
    pub fn send_by(&mut self, link: u32, packet: u32) {
        self.counts.taken += 1;
        self.partition.network.enqueue(link, packet);
        self.tell();
    }

    /// Returns the instant up to which all has been worked off.
    pub fn now(&self) -> Time {
        self.partition.network.now
    }

    /// Returns when something happens next, arrivals at hosts among it; [`Time::NEVER`]: nothing is inside, and no program has a
    /// timer.
    pub fn next(&self) -> Time {
        self.partition.network.next_event()
    }

    /// Returns an instant before which no packet arrives at its host, whatever enters: the next arrival of those on the last
    /// lines, or the next event inside, after which a packet still has a last line before it. [`Time::NEVER`]: nothing is inside.
    pub fn next_release(&self) -> Time {
        let network = &self.partition.network;
        let arrivals = self.last_links.iter().map(|&link| network.links[link as usize].next_arrival);
        let after_event = network.next_event().0.saturating_add(self.least_delays[1].0);
        arrivals.min().unwrap_or(Time::NEVER).min(Time(after_event))
    }

    /// Returns a time that any packet takes at least from its host's port to its arrival: the delays of the first and the last
    /// line.
    pub fn least_crossing(&self) -> Time {
        self.least_delays[0] + self.least_delays[1]
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

    /// Returns how many packets of switches' programs were not sent, because 64 for each link were under way.
    pub fn without_place(&self) -> u64 {
        self.partition.network.without_place
    }

    /// Returns how often timers of switches' programs fired.
    pub fn ticks(&self) -> u64 {
        self.partition.programs.ticks().sum()
    }

    /// Returns what happened at each port up to now, by link.
    pub fn port_counts(&mut self) -> Vec<PortCounts> {
        (0..self.sent.len() as u32).for_each(|link| _ = self.scheduler(link));
        let of = |(port, &sent): (&crate::link::Port, &u64)| PortCounts {
            sent,
            turned_away: port.drops.buffer,
            evicted: port.drops.evicted,
            lost: port.drops.loss,
            marked: port.marks,
            most_backlog: port.most_backlog,
        };
        self.partition.network.ports.iter().zip(&self.sent).map(of).collect()
    }

    /// Returns the port of a link as it is now; it may be observed and take a controller's table.
    pub fn scheduler(&mut self, link: u32) -> &mut Scheduler {
        let network = &mut self.partition.network;
        network.advance(link, network.now);
        self.tell();
        &mut self.partition.network.ports[link as usize].scheduler
    }

    /// Works off all that happens up to an instant, which becomes now. Instants never go back: an earlier one changes
    /// nothing. `arrived` hears of each packet that has come to its host, in the order of time.
    ///
    /// Programs of switches may set timers for ever, so with them an instant is needed that is not [`Time::NEVER`].
    pub fn work_off(&mut self, until: Time, mut arrived: impl FnMut(Arrived, &Meta)) {
        let horizon = Time(until.0.saturating_add(1));
        let mut done = false;
        while !done {
            done = self.partition.run(horizon, AT_ONCE);
            self.tell();
            self.counts.delivered += self.partition.hosts.0.len() as u64;
            let metas = &self.partition.network.slab.metas;
            self.partition.hosts.0.drain(..).for_each(|one| arrived(one, &metas[one.packet as usize]));
        }
        if until < Time::NEVER {
            let network = &mut self.partition.network;
            network.now = network.now.max(until);
        }
    }

    /// Counts and tells what has happened.
    fn tell(&mut self) {
        for record in self.partition.network.traced.drain(..) {
            let (link, at, packet) = (record.link, record.at, record.packet);
            let cause = match record.event {
                PacketEvent::Sent => {
                    self.sent[link as usize] += 1;
                    None
                }
                PacketEvent::DroppedBuffer => Some(Cause::Buffer),
                PacketEvent::DroppedEvicted => Some(Cause::Evicted),
                PacketEvent::DroppedLoss | PacketEvent::DroppedDown => Some(Cause::Loss),
            };
            if cause.is_some() && record.meta.dst != SWITCH {
                self.counts.dropped += 1;
                self.claimed -= 1;
            }
            if let Some(observer) = &mut self.observer {
                let event = match cause {
                    None => Event::Sent { link, at, packet },
                    Some(cause) => Event::Dropped { link, at, packet, cause },
                };
                let queue = record.queue.unwrap_or(record.meta.queue);
                observer(event, &Meta { queue, ..record.meta });
            }
        }
    }
}
