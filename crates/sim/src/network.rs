//! Switches, ports, lines and packets of a partition: the path of a packet through them.
//!
//! The code for every packet is in this file; its data takes one cache line per link. Links with
//! [features](crate::features) call the code for what few fabrics have: shared memory, cut-through, losses, other
//! partitions.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;
use std::sync::Arc;

use flowsieve_core::admission::Pool;
use flowsieve_core::hash::mix;
use flowsieve_core::{Balancer, Meta, NONE, PortScheduler, Time, Verdict, Victims};
use flowsieve_record::PacketEvent;
use flowsieve_workload::random::Xoshiro256PlusPlus;

use crate::event::{Key, WinnerTree};
use crate::hops::Hops;
use crate::link::{ClassCount, Endpoint, LinkState, Port};
use crate::prefetch_queue::PrefetchQueue;
use crate::programs::Programs;
use crate::slab::{Body, SWITCH, Slab};
use crate::source::{Source, Sources};
use crate::trace::Record;

/// A switch's forwarding.
pub(crate) struct SwitchState {
    /// Index in [`Network::groups`] of its first group of equal next hops.
    pub(crate) first_group: u32,
    pub(crate) balancer: Balancer,
    pub(crate) random: Xoshiro256PlusPlus,
    /// Ports with a departure due, where departures free shared memory. An entry may be early, by any time: only scarce
    /// memory makes it due.
    pub(crate) due: BinaryHeap<Reverse<(Time, u32)>>,
}

/// Flag in [`Network::routes`]: the other bits are a group's number.
pub(crate) const GROUP: u32 = 1 << 31;

/// Value in [`Network::routes`]: the switch is the rack's own.
pub(crate) const LOCAL: u32 = u32::MAX;

/// A packet on its way to another partition. Partitions of one thread share a slab, so its index is enough.
pub(crate) struct Crossing {
    /// Where it goes: the partition, and the link there.
    pub(crate) to: (u32, u32),
    /// When it arrives at the far end of the link.
    pub(crate) at: Time,
    pub(crate) packet: u32,
}

/// Where packets of a link continue, in another partition: the partition, and the link there.
#[derive(Clone, Copy)]
pub(crate) struct Beyond {
    pub(crate) ahead: (u32, u32),
    /// The same for packets that turn round at the far switch.
    pub(crate) turned: (u32, u32),
    /// The far switch, by its number in the fabric, if packets turn round there; else [`NONE`].
    pub(crate) switch: u32,
}

impl Beyond {
    /// A link inside a partition.
    pub(crate) const INSIDE: Beyond = Beyond { ahead: (NONE, NONE), turned: (NONE, NONE), switch: NONE };
}

/// A packet that a host's line has begun to send.
pub(crate) struct Departure {
    pub(crate) nic: u32,
    pub(crate) meta: Meta,
    pub(crate) body: Body,
}

/// Switches, ports, wires and packets: everything but the hosts.
pub(crate) struct Network<K> {
    pub(crate) now: Time,
    /// Events from here on wait for another call of `run`.
    pub(crate) horizon: K,
    /// Events from here on wait until the [prefetch queue](crate::prefetch_queue) is drained. At most
    /// [`Network::horizon`].
    pub(crate) stop: K,
    pub(crate) sources: Sources,
    /// By the numbers of the sources.
    pub(crate) events: WinnerTree<K>,
    /// The packets, while this partition runs or is looked at. Where there are several, those of one thread share them.
    pub(crate) slab: Slab,
    pub(crate) prefetch_queue: PrefetchQueue,
    /// Links with an end here; a link's index is its number among the sources.
    pub(crate) links: Vec<LinkState>,
    /// By link: the port at its sending end.
    pub(crate) ports: Vec<Port>,
    /// By link: where its packets continue.
    pub(crate) beyond: Vec<Beyond>,
    /// Packets that arrive at one instant, while they are put in order: the place, the link, the packet, the end.
    pub(crate) tied: Vec<(u64, u32, u32, Endpoint)>,
    /// By switch of the whole fabric, then by rack: whether packets that come from below turn round there.
    pub(crate) turns: Arc<[bool]>,
    /// By class of links.
    pub(crate) classes: Vec<ClassCount>,
    /// By switch, then by destination rack: a link, or [`GROUP`] and a group's index in `groups`, or [`LOCAL`].
    pub(crate) routes: Vec<u32>,
    /// Number of entries per switch in `routes`.
    pub(crate) racks: usize,
    /// By host of the whole fabric: its rack, and the link from the rack to it.
    pub(crate) ways_home: Arc<[(u32, u32)]>,
    /// Bytes of preamble and gap added to each packet.
    pub(crate) overhead: u32,
    /// Equal next hops, by switch: where they begin in `ways`, and how many there are.
    pub(crate) groups: Vec<(u32, u32)>,
    /// Links of the groups.
    pub(crate) ways: Vec<u32>,
    pub(crate) switches: Vec<SwitchState>,
    /// By switch: its shared memory.
    pub(crate) pools: Vec<Pool>,
    /// Placeholder for ports that share no memory.
    pub(crate) own_pool: Pool,
    pub(crate) victims: Victims,
    pub(crate) crossings: Vec<Crossing>,
    /// Packets that left hosts' ports and that the hosts have not been told of yet.
    pub(crate) departures: Vec<Departure>,
    /// Ports to other partitions at which packets wait.
    pub(crate) waiting: Vec<u32>,
    /// What switches do at their ports, if anything.
    pub(crate) hops: Option<Box<Hops>>,
    /// Events handled.
    pub(crate) events_handled: u64,
    /// Events at which no packet arrived.
    pub(crate) events_without_arrival: u64,
    /// An event's instant did not fit into the key.
    pub(crate) overflows: bool,
    /// When the last packet reached its destination.
    pub(crate) last_arrival: Time,
    /// Messages that can never finish.
    pub(crate) lost_messages: Vec<u32>,
    /// What happened on traced links within [`Network::trace_span`].
    pub(crate) traced: Vec<Record>,
    /// The span of time in which traced links are recorded.
    pub(crate) trace_span: Range<Time>,
    /// Messages whose arrivals at hosts are reported, and their arrivals since the last collection.
    pub(crate) told_of: BTreeSet<u32>,
    pub(crate) arrivals: Vec<(Meta, Body)>,
    /// How many more packets of switches' programs may be under way; `None`: any number.
    pub(crate) program_places: Option<usize>,
    /// Packets of programs that were not sent for lack of a place.
    pub(crate) without_place: u64,
}

/// Puts a packet that is in no list on a line without features, which is free at `start`. Returns when it arrives if it
/// is the only one in flight.
#[inline(always)]
fn put_on_plain_line(
    link: &mut LinkState,
    class: &mut ClassCount,
    metas: &mut [Meta],
    packet: u32,
    overhead: u32,
    start: Time,
    bypassed: bool,
) -> Option<Time> {
    let meta = &mut metas[packet as usize];
    let on_wire = u32::from(meta.len) + overhead;
    class.count(meta, on_wire, bypassed);
    let at = link.put_on_line(on_wire, start);
    link.push(metas, packet, at).then_some(at)
}

/// Notes that a packet joined a port's queue; returns whether the line is free for it.
#[inline(always)]
fn joined(port: &mut Port, state: &mut LinkState, now: Time) -> bool {
    let waits = state.busy_until > now;
    if waits {
        port.most_backlog = port.most_backlog.max(port.scheduler.backlog_bytes());
    } else {
        // The line may have been free for a long time.
        state.busy_until = now;
    }
    !waits
}

impl<K> Network<K> {
    pub(crate) fn add_link(&mut self, link: LinkState, port: Port, beyond: Beyond) {
        debug_assert_eq!(port.features.crosses, beyond.ahead.0 != NONE);
        if link.shares || link.has_features && !link.only_crosses {
            self.prefetch_queue = PrefetchQueue::none();
        }
        self.links.push(link);
        self.ports.push(port);
        self.beyond.push(beyond);
    }

    /// Makes a link's port count the bytes that it sends.
    pub(crate) fn count_sent(&mut self, link: u32) {
        self.links[link as usize].add_feature();
        self.ports[link as usize].features.counts = true;
    }

    /// Makes the port of a host report its departures.
    pub(crate) fn tell_departures(&mut self, nic: u32) {
        self.prefetch_queue = PrefetchQueue::none();
        self.links[nic as usize].add_feature();
        self.ports[nic as usize].features.tells_departures = true;
    }
}

impl<K: Key> Network<K> {
    /// Prepares for at most `from_elsewhere` packets that were made elsewhere, and `of_programs` packets of switches' programs.
    /// Every link records what happens to them. From here on only a scheme's own part allocates.
    pub(crate) fn make_ready(&mut self, from_elsewhere: usize, of_programs: usize) {
        let places = from_elsewhere + of_programs;
        self.program_places = Some(of_programs);
        self.prefetch_queue = PrefetchQueue::none();
        self.trace_span = Time::ZERO..Time::NEVER;
        self.slab.reserve(places);
        for ((link, port), number) in self.links.iter_mut().zip(&mut self.ports).zip(0..) {
            link.add_feature();
            port.features.traced = Some(number);
            port.scheduler.reserve(places);
        }
        let links = self.links.len();
        self.traced.reserve(8 * links + (1 << 12));
        self.tied.reserve(links);
        self.switches.iter_mut().for_each(|switch| switch.due.reserve(links));
        self.classes.iter_mut().for_each(|class| class.queued_before.reserve());
    }

    /// Returns when the next event is; [`Time::NEVER`]: there is none.
    pub(crate) fn next_event(&self) -> Time {
        let first = self.events.first();
        if first == K::NEVER { Time::NEVER } else { first.time() }
    }

    /// Returns the number of packet-hops.
    pub(crate) fn hops(&self) -> u64 {
        self.events_handled - self.events_without_arrival
    }

    /// Schedules a source's event; [`Time::NEVER`]: removes it.
    #[inline(always)]
    pub(crate) fn schedule(&mut self, source: Source, at: Time) {
        self.schedule_number(self.sources.number(source), at);
    }

    #[inline(never)]
    fn schedule_number(&mut self, number: u32, at: Time) {
        if at < K::END {
            self.events.set(number, K::new(at, number));
        } else {
            self.overflows |= at != Time::NEVER;
            self.events.set(number, K::NEVER);
        }
    }

    /// Moves out every packet that is due on the link.
    #[inline(always)]
    pub(crate) fn advance(&mut self, link: u32, now: Time) {
        if self.links[link as usize].owes(now) {
            self.depart(link, now);
        }
    }

    #[inline(never)]
    fn depart(&mut self, link: u32, now: Time) {
        let state = &self.links[link as usize];
        if state.has_features {
            return self.depart_with_features(link, now);
        }
        if state.shares {
            return self.depart_sharing(link, now);
        }
        self.depart_plain::<false>(link, now);
    }

    /// Does the same for a link whose only feature is memory that its port shares.
    #[inline(never)]
    fn depart_sharing(&mut self, link: u32, now: Time) {
        self.depart_plain::<true>(link, now);
    }

    /// Does the same for a link without other features.
    #[inline(always)]
    fn depart_plain<const SHARES: bool>(&mut self, link: u32, now: Time) {
        let state = &mut self.links[link as usize];
        let (port, metas) = (&mut self.ports[link as usize], self.slab.metas.as_mut_slice());
        let class = &mut self.classes[usize::from(state.class)];
        let pool = if SHARES { &mut self.pools[port.owner as usize] } else { &mut self.own_pool };
        while state.owes(now) {
            let start = state.busy_until;
            let Some(packet) = port.dequeue(metas, start, pool, &mut self.victims) else {
                debug_assert!(false, "a port of {} packets has none to send", state.queued);
                return;
            };
            state.queued -= 1;
            if SHARES {
                pool.give(metas[packet as usize].len);
            }
            if let Some(at) = put_on_plain_line(state, class, metas, packet, self.overhead, start, false) {
                self.events.set(link, K::new(at, link));
            }
        }
    }

    /// Adds a packet in flight that arrives at `at`.
    pub(crate) fn put_in_flight(&mut self, link: u32, packet: u32, at: Time) {
        if self.links[link as usize].push(&mut self.slab.metas, packet, at) {
            self.events.set(link, K::new(at, link));
        }
    }

    /// Adds a packet in flight that comes from another partition. The slab that has it may be elsewhere.
    #[inline(always)]
    pub(crate) fn cross(&mut self, metas: &mut [Meta], link: u32, packet: u32, at: Time) {
        if self.links[link as usize].push(metas, packet, at) {
            self.events.set(link, K::new(at, link));
        }
    }

    /// Handles the arrival at a link's port of a packet that is in no list.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, link: u32, packet: u32) {
        let (state, metas) = (&mut self.links[link as usize], self.slab.metas.as_mut_slice());
        if !state.bypasses(metas[packet as usize].len, self.now) {
            return self.enqueue_behind(link, packet);
        }
        if state.has_features {
            return self.put_on_line_with_features(link, packet, self.now, true);
        }
        let class = &mut self.classes[usize::from(state.class)];
        if let Some(at) = put_on_plain_line(state, class, metas, packet, self.overhead, self.now, true) {
            self.events.set(link, K::new(at, link));
        }
    }

    /// Does the same for a port that is not idle or needs to see every packet.
    #[inline(never)]
    fn enqueue_behind(&mut self, link: u32, packet: u32) {
        if self.links[link as usize].shares {
            return self.enqueue_sharing(link, packet);
        }
        self.enqueue_waiting::<false>(link, packet);
    }

    /// Does the same for a port that shares memory. It is bypassed if it is idle and there is room.
    #[inline(never)]
    fn enqueue_sharing(&mut self, link: u32, packet: u32) {
        let (state, len) = (&mut self.links[link as usize], self.slab.metas[packet as usize].len);
        let port = &mut self.ports[link as usize];
        let idle = state.is_idle(self.now) && !state.has_features && u64::from(len) <= port.scheduler.bypass_bytes();
        if !idle || !port.has_memory(len, &self.pools[port.owner as usize]) {
            return self.enqueue_waiting::<true>(link, packet);
        }
        let (class, metas) = (&mut self.classes[usize::from(state.class)], self.slab.metas.as_mut_slice());
        if let Some(at) = put_on_plain_line(state, class, metas, packet, self.overhead, self.now, true) {
            self.events.set(link, K::new(at, link));
        }
    }

    /// Handles the arrival of a packet that joins a queue, at a port that shares memory or not.
    #[inline(always)]
    fn enqueue_waiting<const SHARES: bool>(&mut self, link: u32, packet: u32) {
        let now = self.now;
        if self.links[link as usize].has_features && !self.may_join(link, packet) {
            return;
        }
        // The arrival must see every departure up to now as done.
        self.advance(link, now);
        if SHARES {
            // Departures from other ports only free memory. They matter if there may be too little without them.
            let (port, len) = (&mut self.ports[link as usize], self.slab.metas[packet as usize].len);
            if !port.has_memory(len, &self.pools[port.owner as usize]) {
                let switch = port.owner;
                self.free_memory(switch, now);
            }
        }

        let (port, state) = (&mut self.ports[link as usize], &mut self.links[link as usize]);
        let metas = self.slab.metas.as_mut_slice();
        let pool = if SHARES { &mut self.pools[port.owner as usize] } else { &mut self.own_pool };
        let priority = metas[packet as usize].tag.priority();
        let verdict = port.enqueue(metas, packet, now, pool, &mut self.victims);
        self.classes[usize::from(state.class)].queued_before.count(priority, verdict.queued_before());
        if !verdict.is_accepted() || !self.victims.is_empty() {
            return self.lose(link, packet, verdict);
        }
        state.queued += 1;
        let has_features = state.has_features;
        if SHARES {
            self.occupy_memory(link, packet);
        }
        if has_features {
            self.queued_with_features(link, packet);
            return self.send_or_wait(link);
        }
        if joined(&mut self.ports[link as usize], &mut self.links[link as usize], now) {
            self.depart(link, now);
        }
    }

    /// Handles a packet that has joined a port's queue.
    #[inline(never)]
    fn send_or_wait(&mut self, link: u32) {
        if joined(&mut self.ports[link as usize], &mut self.links[link as usize], self.now) {
            self.depart(link, self.now);
        }
    }

    /// Handles an arrival at which the port dropped this packet or others.
    #[inline(never)]
    fn lose(&mut self, link: u32, packet: u32, verdict: Verdict) {
        while let Some(victim) = self.victims.pop() {
            let (port, state) = (&mut self.ports[link as usize], &mut self.links[link as usize]);
            state.queued -= 1;
            port.drops.evicted += 1;
            if port.features.shares {
                self.pools[port.owner as usize].give(self.slab.metas[victim as usize].len);
            }
            let queue = self.slab.metas[victim as usize].queue;
            self.trace(link, victim, self.now, PacketEvent::DroppedEvicted, Some(queue));
            self.lost_at_hop(link, victim);
            self.discard(victim);
        }
        if !verdict.is_accepted() {
            return self.turn_away(link, packet);
        }
        let state = &mut self.links[link as usize];
        state.queued += 1;
        let has_features = state.has_features;
        if state.shares {
            self.occupy_memory(link, packet);
        }
        if has_features {
            self.queued_with_features(link, packet);
        }
        self.send_or_wait(link);
    }

    /// Handles a packet that may not join a port.
    pub(crate) fn turn_away(&mut self, link: u32, packet: u32) {
        if self.ports[link as usize].features.hears.turned_away && self.lives_on(link, packet) {
            return;
        }
        self.ports[link as usize].drops.buffer += 1;
        self.trace(link, packet, self.now, PacketEvent::DroppedBuffer, None);
        self.discard(packet);
    }

    /// Returns the place of a link among those at which packets arrive now.
    ///
    /// Real hosts and lines are never in step to the picosecond, so no link is always the first of equals.
    pub(crate) fn order_now(&self, link: u32) -> u64 {
        mix(self.now.0 ^ self.ports[link as usize].salt)
    }

    /// Takes the first packet in flight on a link; returns `None` if it is lost, or if none arrives yet.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, link: u32) -> Option<(u32, Endpoint)> {
        if self.prefetch_queue.awaits(link) {
            self.drain_prefetch_queue();
        }
        let (state, metas) = (&mut self.links[link as usize], self.slab.metas.as_slice());
        if state.has_features {
            self.advance(link, self.now);
            return self.arrive_with_features(link);
        }
        let (packet, to) = (state.pop(metas), state.to);
        // While other packets are in flight, departures from the port can wait. A departure schedules the next arrival.
        let next = state.next_arrival;
        if next == Time::NEVER && state.owes(self.now) {
            self.depart(link, self.now);
        } else {
            self.events.set(link, if next == Time::NEVER { K::NEVER } else { K::new(next, link) });
        }
        self.read_ahead(link);
        Some((packet, to))
    }

    /// Handles a lost packet. If no endpoint sends it again, its message never finishes.
    pub(crate) fn discard(&mut self, packet: u32) {
        self.last_arrival = self.last_arrival.max(self.now);
        self.lost_messages.extend(self.slab.bodies[packet as usize].doomed());
        if self.slab.metas[packet as usize].dst == SWITCH {
            return self.remove_of_program(packet);
        }
        self.slab.take_trail(packet);
        self.slab.remove(packet);
    }

    /// Takes a place for a packet of a switch's program; returns whether there was one.
    pub(crate) fn take_program_place(&mut self) -> bool {
        let Some(places) = &mut self.program_places else { return true };
        let left = places.checked_sub(1);
        self.without_place += u64::from(left.is_none());
        *places = left.unwrap_or(0);
        left.is_some()
    }

    /// Frees the slot and the place of a packet of a switch's program.
    pub(crate) fn remove_of_program(&mut self, packet: u32) {
        self.slab.take_trail(packet);
        self.slab.remove(packet);
        if let Some(places) = &mut self.program_places {
            *places += 1;
        }
    }

    /// Forwards a packet that came to a switch by link `from`.
    #[inline(always)]
    pub(crate) fn forward(&mut self, programs: &mut Programs, switch: u32, from: u32, packet: u32) {
        let meta = &self.slab.metas[packet as usize];
        let Some(&(rack, home)) = self.ways_home.get(usize::from(meta.dst)) else {
            // Its destination is no host: it is from another switch's program.
            return programs.on_program_packet(self, switch, from, packet);
        };
        let next = self.routes[switch as usize * self.racks + rack as usize];
        let link = match next {
            LOCAL => home,
            link if link & GROUP == 0 => link,
            group => match self.balance(switch, group & !GROUP, packet) {
                Some(link) => link,
                None => programs.choose(self, switch, from, packet),
            },
        };
        if self.prefetch_queue.exists() { self.enter_prefetch_queue(link, packet) } else { self.enqueue(link, packet) }
    }

    /// Returns the link by which a packet goes on that a switch has turned round, where no switch has a program.
    pub(crate) fn way_back(&mut self, switch: u32, packet: u32) -> Option<u32> {
        let &(rack, home) = self.ways_home.get(usize::from(self.slab.metas[packet as usize].dst))?;
        match self.routes[switch as usize * self.racks + rack as usize] {
            LOCAL => Some(home),
            link if link & GROUP == 0 => Some(link),
            group => self.balance(switch, group & !GROUP, packet),
        }
    }

    /// Chooses one of a group's equal next hops; `None`: ask the switch's program.
    #[inline(always)]
    fn balance(&mut self, switch: u32, group: u32, packet: u32) -> Option<u32> {
        let (state, meta) = (&mut self.switches[switch as usize], &self.slab.metas[packet as usize]);
        let (first, ways) = self.groups[group as usize];
        let group = (group - state.first_group) as usize;
        let way = state.balancer.choose(meta, group, ways as usize, self.now, &mut state.random);
        way.map(|way| self.ways[first as usize + way])
    }
}
