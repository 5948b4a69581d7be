//! A part of the fabric that runs by itself: some switches and hosts, the ports on them, the links into them.
//!
//! Packets from other partitions come by value; everything else (packets, random streams, counters, connections) is the
//! partition's own. However a fabric is cut, the result is the same.
//!
//! The order of events of one instant is part of the model: a port's departures come before what arrives there;
//! arrivals by link; then messages that begin, by number; then timers, by host.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flowsieve_core::admission::Pool;
use flowsieve_core::balancer::{Balancer, ControlPacket};
use flowsieve_core::{Kind, Meta, NONE, PortScheduler, Surroundings, Time, Verdict, Victims};
use flowsieve_transport::Header;
use flowsieve_workload::random::Xoshiro256PlusPlus;
use rand_core::Rng;

use crate::event::{Key, WinnerTree};
use crate::hosts::Hosts;
use crate::port::{ClassCount, FarEnd, Port};
use crate::slab::{Body, Slab};

/// The destination of packets between switches' programs.
const SWITCH: u16 = u16::MAX;

/// The receiving end of a link: packets in flight, in the order of arrival.
pub(crate) struct Wire {
    head: u32,
    tail: u32,
    /// The port that feeds it; [`NONE`] where that is in another partition.
    pub(crate) port: u32,
    pub(crate) to: Endpoint,
    /// A packet is lost when a draw is below; 0: never.
    pub(crate) loss: u32,
    pub(crate) random: Xoshiro256PlusPlus,
    pub(crate) lost: u64,
}

/// Whom a wire hands its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A host of this partition.
    Host(u32),
    /// A switch of this partition, and the number of the port that leads back.
    Switch(u32, u16),
}

impl Wire {
    pub(crate) fn new(port: u32, to: Endpoint, loss: u32, random: Xoshiro256PlusPlus) -> Wire {
        Wire { head: NONE, tail: NONE, port, to, loss, random, lost: 0 }
    }

    /// Appends a packet; says when it arrives if it is the only one.
    #[inline]
    fn push(&mut self, metas: &mut [Meta], packet: u32) -> Option<Time> {
        let meta = &mut metas[packet as usize];
        meta.next = NONE;
        let at = meta.time;
        let alone = self.head == NONE;
        if alone {
            self.head = packet;
        } else {
            metas[self.tail as usize].next = packet;
        }
        self.tail = packet;
        alone.then_some(at)
    }
}

/// A switch's forwarding.
pub(crate) struct SwitchState {
    /// By destination host: a port, or [`GROUP`] and a group's number.
    pub(crate) next: Vec<u32>,
    /// Equal next hops, as ports.
    pub(crate) groups: Vec<Vec<u32>>,
    /// All ports, in the order in which a program numbers them.
    pub(crate) ports: Vec<u32>,
    pub(crate) balancer: Balancer,
    pub(crate) random: Xoshiro256PlusPlus,
    /// Ports with a departure due, where departures free shared memory. An entry may be early.
    pub(crate) due: BinaryHeap<Reverse<(Time, u32)>>,
    /// How often its program's timer fired.
    pub(crate) ticks: u64,
}

/// In [`SwitchState::next`]: the rest is a group's number.
pub(crate) const GROUP: u32 = 1 << 31;

/// A packet on its way to another partition.
pub(crate) struct Crossing {
    pub(crate) partition: u32,
    pub(crate) wire: u32,
    pub(crate) meta: Meta,
    pub(crate) body: Body,
}

/// Switches, ports, wires and packets: everything but the hosts.
pub(crate) struct Network<K> {
    pub(crate) now: Time,
    pub(crate) events: WinnerTree<K>,
    pub(crate) slab: Slab,
    pub(crate) ports: Vec<Port>,
    /// By class of links.
    pub(crate) classes: Vec<ClassCount>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) switches: Vec<SwitchState>,
    /// By switch, and one for hosts.
    pub(crate) pools: Vec<Pool>,
    pub(crate) victims: Victims,
    pub(crate) crossings: Vec<Crossing>,
    /// Ports to other partitions with packets that wait.
    pub(crate) waiting: Vec<u32>,
    /// Packets that crossed a link.
    pub(crate) hops: u64,
    pub(crate) events_handled: u64,
    /// An event was too late for the key.
    pub(crate) overflows: bool,
}

/// A part of the fabric with its hosts.
pub(crate) struct Partition<K> {
    pub(crate) network: Network<K>,
    pub(crate) hosts: Hosts,
    /// The first source of hosts' timers; the arrivals' source is the one before.
    pub(crate) first_timer: u32,
    /// The first source of switches' timers.
    pub(crate) first_program: u32,
    control: Vec<ControlPacket>,
}

#[inline]
fn schedule<K: Key>(events: &mut WinnerTree<K>, overflows: &mut bool, source: u32, at: Time) {
    let key = if at < K::END {
        K::new(at, source)
    } else {
        *overflows |= at != Time::NEVER;
        K::NEVER
    };
    events.set(source, key);
}

impl<K: Key> Network<K> {
    /// Schedules a source's event.
    #[inline]
    pub(crate) fn schedule(&mut self, source: u32, at: Time) {
        schedule(&mut self.events, &mut self.overflows, source, at);
    }

    /// Moves out every packet of the port whose turn has come.
    #[inline(always)]
    pub(crate) fn advance(&mut self, port: u32, now: Time) {
        let state = &self.ports[port as usize];
        if state.queued > 0 && state.busy_until <= now {
            self.depart(port, now);
        }
    }

    #[inline(never)]
    fn depart(&mut self, port: u32, now: Time) {
        let Network { slab, ports, pools, victims, classes, wires, .. } = self;
        let state = &mut ports[port as usize];
        while state.queued > 0 && state.busy_until <= now {
            let mut around = Surroundings {
                now: state.busy_until,
                pool: &mut pools[state.pool as usize],
                victims,
                random: &mut state.random,
                marks: &mut state.count.marks,
            };
            let Some(packet) = state.scheduler.dequeue(&mut slab.metas, &mut around) else {
                debug_assert!(false, "a port of {} packets has none to send", state.queued);
                return;
            };
            state.queued -= 1;
            let meta = &mut slab.metas[packet as usize];
            if state.shares {
                around.pool.give(meta.len);
            }
            meta.time = state.put_on_line(meta.len, state.busy_until);
            let class = &mut classes[usize::from(state.class)];
            class.by_queue.count(meta.queue);
            class.by_priority.count(meta.priority);
            match state.far_end {
                FarEnd::Here(wire) => {
                    if let Some(at) = wires[wire as usize].push(&mut slab.metas, packet) {
                        schedule(&mut self.events, &mut self.overflows, wire, at);
                    }
                }
                FarEnd::Beyond { partition, wire } => {
                    let (meta, body) = (*meta, slab.bodies[packet as usize]);
                    slab.remove(packet);
                    self.crossings.push(Crossing { partition, wire, meta, body });
                }
            }
        }
    }

    /// Every departure up to `now` that an arrival at the port must find done.
    #[inline(never)]
    fn catch_up(&mut self, port: u32, now: Time) {
        let state = &self.ports[port as usize];
        if state.shares {
            self.free_memory(state.pool, now);
        }
        self.depart(port, now);
    }

    /// A packet whose instant of arrival is set joins those in flight.
    #[inline]
    pub(crate) fn put_on_wire(&mut self, wire: u32, packet: u32) {
        if let Some(at) = self.wires[wire as usize].push(&mut self.slab.metas, packet) {
            self.schedule(wire, at);
        }
    }

    /// A packet that is in no list arrives at a port.
    #[inline]
    pub(crate) fn enqueue(&mut self, port: u32, packet: u32) {
        let now = self.now;
        let state = &self.ports[port as usize];
        if state.shares || state.queued > 0 {
            self.catch_up(port, now);
        }
        let Network { slab, ports, pools, victims, classes, wires, .. } = self;
        let state = &mut ports[port as usize];
        let mut around = Surroundings {
            now,
            pool: &mut pools[state.pool as usize],
            victims,
            random: &mut state.random,
            marks: &mut state.count.marks,
        };
        let idle = state.busy_until <= now;
        let verdict = if idle {
            state.scheduler.pass(&mut slab.metas, packet, &mut around)
        } else {
            state.scheduler.enqueue(&mut slab.metas, packet, &mut around)
        };
        while let Some(victim) = around.victims.pop() {
            state.queued -= 1;
            state.count.drops.evicted += 1;
            if state.shares {
                around.pool.give(slab.metas[victim as usize].len);
            }
            slab.remove(victim);
        }
        if verdict == Verdict::Dropped {
            state.count.drops.buffer += 1;
            slab.remove(packet);
            return;
        }
        let meta = &mut slab.metas[packet as usize];
        if !idle {
            state.queued += 1;
            if state.shares {
                around.pool.take(meta.len);
            }
            self.wait(port);
            return;
        }
        meta.time = state.put_on_line(meta.len, now);
        let class = &mut classes[usize::from(state.class)];
        class.by_queue.count(meta.queue);
        class.by_priority.count(meta.priority);
        match state.far_end {
            FarEnd::Here(wire) => {
                if let Some(at) = wires[wire as usize].push(&mut slab.metas, packet) {
                    schedule(&mut self.events, &mut self.overflows, wire, at);
                }
            }
            FarEnd::Beyond { partition, wire } => {
                let (meta, body) = (*meta, slab.bodies[packet as usize]);
                slab.remove(packet);
                self.crossings.push(Crossing { partition, wire, meta, body });
            }
        }
    }

    /// A packet has to wait at a port: what is full is noted, and whoever must look at the port unasked is told.
    #[inline]
    fn wait(&mut self, port: u32) {
        let state = &mut self.ports[port as usize];
        let backlog = state.scheduler.backlog_bytes();
        state.count.most_backlog = state.count.most_backlog.max(backlog);
        if state.due {
            return;
        }
        if state.shares {
            state.due = true;
            self.switches[state.pool as usize].due.push(Reverse((state.busy_until, port)));
        } else if let FarEnd::Beyond { .. } = state.far_end {
            state.due = true;
            self.waiting.push(port);
        }
    }

    /// Departures of the switch's other ports that the shared memory must know of.
    fn free_memory(&mut self, switch: u32, now: Time) {
        while let Some(&Reverse((at, port))) = self.switches[switch as usize].due.peek() {
            if at > now {
                return;
            }
            self.switches[switch as usize].due.pop();
            self.advance(port, now);
            let state = &mut self.ports[port as usize];
            state.due = state.queued > 0;
            if state.due {
                self.switches[switch as usize].due.push(Reverse((state.busy_until, port)));
            }
        }
    }

    /// Moves out what waits at ports to other partitions up to `now`, in the order of the ports.
    pub(crate) fn advance_waiting(&mut self, now: Time) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_unstable();
        waiting.retain(|&port| {
            self.advance(port, now);
            let state = &mut self.ports[port as usize];
            state.due = state.queued > 0;
            state.due
        });
        self.waiting.append(&mut waiting);
    }

    /// The earliest turn of a packet that waits at a port to another partition.
    pub(crate) fn next_crossing(&self) -> Time {
        self.waiting.iter().map(|&port| self.ports[port as usize].busy_until).min().unwrap_or(Time::NEVER)
    }

    /// The head of a wire arrives.
    #[inline]
    fn arrive(&mut self, wire: u32) -> Option<(u32, Endpoint)> {
        let port = self.wires[wire as usize].port;
        if port != NONE {
            self.advance(port, self.now);
        }
        let state = &mut self.wires[wire as usize];
        let packet = state.head;
        state.head = self.slab.metas[packet as usize].next;
        let (to, next) = (state.to, state.head);
        let at = if next == NONE { Time::NEVER } else { self.slab.metas[next as usize].time };
        if state.loss > 0 && state.random.next_u32() < state.loss {
            state.lost += 1;
            self.slab.remove(packet);
            self.schedule(wire, at);
            return None;
        }
        self.schedule(wire, at);
        Some((packet, to))
    }

    /// A switch sends a packet on its way.
    #[inline]
    fn forward(&mut self, switch: u32, packet: u32) {
        let meta = &self.slab.metas[packet as usize];
        let state = &mut self.switches[switch as usize];
        let next = state.next[usize::from(meta.dst)];
        let port = if next & GROUP == 0 {
            next
        } else {
            let group = (next & !GROUP) as usize;
            let ways = &state.groups[group];
            ways[state.balancer.choose(meta, group, ways.len(), self.now, &mut state.random)]
        };
        self.enqueue(port, packet);
    }

    /// Sends what a switch's program wants sent.
    fn send_control(&mut self, switch: u32, packets: &mut Vec<ControlPacket>) {
        for control in packets.drain(..) {
            let meta = Meta {
                len: control.len,
                priority: control.priority,
                dst: SWITCH,
                kind: Kind::Control,
                ..Meta::default()
            };
            let body = Body {
                header: Header::Probe,
                sender: control.word as u32,
                receiver: (control.word >> 32) as u32,
                stamp: 0,
                src: SWITCH,
                class: 0,
            };
            let Some(&port) = self.switches[switch as usize].ports.get(usize::from(control.port)) else { continue };
            let packet = self.slab.insert(meta, body);
            self.enqueue(port, packet);
        }
    }
}

impl<K: Key> Partition<K> {
    pub(crate) fn new(network: Network<K>, hosts: Hosts, first_timer: u32, first_program: u32) -> Partition<K> {
        let mut partition = Partition { network, hosts, first_timer, first_program, control: Vec::new() };
        for switch in 0..partition.network.switches.len() as u32 {
            partition.arm_program(switch);
        }
        partition
    }

    /// Handles events before `horizon`, at most `most` of them; says whether that was all.
    pub(crate) fn run(&mut self, horizon: Time, most: u64) -> bool {
        let horizon = horizon.min(K::END);
        let first_timer = self.first_timer;
        for handled in 0..most {
            let key = self.network.events.first();
            if key == K::NEVER || key.time() >= horizon {
                self.network.events_handled += handled;
                return true;
            }
            debug_assert!(key.time() >= self.network.now, "time goes back");
            self.network.now = key.time();
            let source = key.source();
            if source + 1 < first_timer {
                self.on_arrival(source);
            } else if source + 1 == first_timer {
                self.hosts.begin_messages(&mut self.network, source);
            } else if source < self.first_program {
                self.hosts.on_timer(&mut self.network, source - first_timer, source);
            } else {
                self.on_program_timer(source - self.first_program);
            }
        }
        self.network.events_handled += most;
        false
    }

    #[inline]
    fn on_arrival(&mut self, wire: u32) {
        self.network.hops += 1;
        let Some((packet, to)) = self.network.arrive(wire) else { return };
        match to {
            Endpoint::Switch(switch, back) => {
                if self.network.slab.metas[packet as usize].dst == SWITCH {
                    self.on_control(switch, back, packet);
                } else {
                    self.network.forward(switch, packet);
                }
            }
            Endpoint::Host(host) => self.hosts.on_packet(&mut self.network, host, packet, self.first_timer + host),
        }
    }

    fn on_control(&mut self, switch: u32, back: u16, packet: u32) {
        let body = self.network.slab.bodies[packet as usize];
        self.network.slab.remove(packet);
        let word = u64::from(body.receiver) << 32 | u64::from(body.sender);
        if let Balancer::Program(program) = &mut self.network.switches[switch as usize].balancer {
            program.on_control(back, word, self.network.now, &mut self.control);
        }
        self.network.send_control(switch, &mut self.control);
        self.arm_program(switch);
    }

    fn on_program_timer(&mut self, switch: u32) {
        let state = &mut self.network.switches[switch as usize];
        if let Balancer::Program(program) = &mut state.balancer {
            state.ticks += 1;
            program.on_timer(self.network.now, &mut self.control);
        }
        self.network.send_control(switch, &mut self.control);
        self.arm_program(switch);
    }

    fn arm_program(&mut self, switch: u32) {
        if let Balancer::Program(program) = &self.network.switches[switch as usize].balancer {
            let at = program.next_timer();
            self.network.schedule(self.first_program + switch, at);
        }
    }
}
