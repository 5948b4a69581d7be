//! The hosts of a partition: messages that begin, whose turn it is at a host's port, timers, what is recorded of each message.
//!
//! A host has an endpoint for each class of flow, which knows of senders and receivers; here is what they share: a port, a
//! timer, a tagger for each class. A message's two records meet only in the result.

use std::collections::VecDeque;

use flowsieve_core::tagger::Tagger;
use flowsieve_core::{PortScheduler, Time};
use flowsieve_schemes::scheme::{Nic, Scheme};
use flowsieve_transport::{Effects, HostEndpoint, HostEvent, Message, Out, Packet, Timer};
use flowsieve_workload::Flow;

use crate::event::Key;
use crate::following::Following;
use crate::network::{Network, SWITCH};
use crate::trace::Begun;

/// The hosts of a partition.
pub(crate) struct Hosts {
    pub(crate) rules: Rules,
    pub(crate) hosts: Vec<Host>,
    /// Messages that will begin, by start; those of closed loops are in `following`.
    coming: VecDeque<Coming>,
    pub(crate) following: Option<Following>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) received: Vec<Received>,
    /// Messages that began, where a trace has to know.
    pub(crate) begun: Option<Vec<Begun>>,
}

/// What the scheme says of hosts.
#[derive(Clone)]
pub(crate) struct Rules {
    /// By class: payload of a full packet, in bytes.
    pub(crate) segments: Vec<u16>,
    /// Bytes at which a backpressured host pauses.
    backlog: Option<u64>,
}

impl Rules {
    pub(crate) fn new(scheme: &Scheme) -> Rules {
        Rules {
            segments: scheme.classes.iter().map(|class| class.transport.segment()).collect(),
            backlog: match scheme.nic {
                // A port that is empty takes a packet.
                Nic::Backpressure { backlog } => Some(backlog.max(1)),
                Nic::Scheme => None,
            },
        }
    }

    /// The class whose rules a flow of class `class` follows.
    pub(crate) fn class(&self, class: u8) -> u8 {
        class.min(self.segments.len() as u8 - 1)
    }
}

/// A message that will begin here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coming {
    pub(crate) flow: Flow,
    /// Its host's index in this partition.
    pub(crate) host: u32,
}

/// The sending side of a finished message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) message: u32,
    pub(crate) acknowledged: Time,
    pub(crate) retransmissions: u32,
    pub(crate) timeouts: u32,
}

/// The receiving side of a finished message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub(crate) message: u32,
    pub(crate) at: Time,
    pub(crate) out_of_order: u32,
}

/// One host.
pub(crate) struct Host {
    nic: u32,
    /// By class of flow.
    pub(crate) sides: Vec<Side>,
    /// Where the host is backpressured and has several classes: whose turn it is, an entry for each turn that an endpoint
    /// wants.
    ring: VecDeque<u8>,
    /// The instant for which the host's timer source is scheduled.
    scheduled: Time,
    /// When the host's port has room again; [`Time::NEVER`]: nobody waits for that.
    room_at: Time,
}

/// What a host does with a class of flow.
pub(crate) struct Side {
    pub(crate) endpoint: HostEndpoint,
    pub(crate) tagger: Tagger,
    /// Its entries in [`Host::ring`].
    turns: u32,
}

impl Host {
    pub(crate) fn new(nic: u32, sides: impl Iterator<Item = (HostEndpoint, Tagger)>) -> Host {
        Host {
            nic,
            sides: sides.map(|(endpoint, tagger)| Side { endpoint, tagger, turns: 0 }).collect(),
            ring: VecDeque::new(),
            scheduled: Time::NEVER,
            room_at: Time::NEVER,
        }
    }

    #[inline(always)]
    fn wake_at<K: Key>(&mut self, network: &mut Network<K>, source: u32, at: Time) {
        if at < self.scheduled {
            self.scheduled = at;
            network.schedule(source, at);
        }
    }

    /// An endpoint may want more turns than it has in the ring.
    fn join_ring(&mut self, class: usize) {
        let side = &mut self.sides[class];
        while side.turns < side.endpoint.turns() {
            side.turns += 1;
            self.ring.push_back(class as u8);
        }
    }

    /// Whose turn it is.
    #[inline(always)]
    fn turn(&self) -> Option<usize> {
        match &self.sides[..] {
            [only] => (only.endpoint.turns() > 0).then_some(0),
            _ => self.ring.front().map(|&class| class.into()),
        }
    }

    /// Takes a turn.
    #[inline(always)]
    fn take_turn<K: Key>(&mut self, network: &mut Network<K>, class: usize) {
        let side = &mut self.sides[class];
        side.endpoint.poll(network.now, &mut side.tagger, &mut Port { network, nic: self.nic });
        if self.sides.len() > 1 {
            self.ring.pop_front();
            self.sides[class].turns -= 1;
            self.join_ring(class);
        }
    }

    /// Lets endpoints send in turn while the port has room.
    #[inline(never)]
    fn pump<K: Key>(&mut self, network: &mut Network<K>, source: u32, limit: u64) {
        network.advance(self.nic, network.now);
        while let Some(class) = self.turn() {
            let line = &network.links[self.nic as usize];
            let backlog = network.ports[self.nic as usize].scheduler.backlog_bytes();
            if backlog >= limit {
                // Half of it has left by then, so that the line never runs dry and the host is not woken for each packet.
                let surplus = backlog - limit / 2;
                let at = line.busy_until + line.byte_time.serialise(u32::try_from(surplus).unwrap_or(u32::MAX));
                if self.room_at == Time::NEVER {
                    self.room_at = at;
                    self.wake_at(network, source, at);
                }
                break;
            }
            self.take_turn(network, class);
        }
        if self.sides.len() > 1 {
            let at = self.sides.iter_mut().map(|side| side.endpoint.next_timer().at).min().unwrap_or(Time::NEVER);
            self.wake_at(network, source, at);
        }
    }

    /// The first timer that is due, and whose; [`None`] whose: the port's.
    fn next_due(&mut self, now: Time) -> Option<Option<usize>> {
        let timers = self.sides.iter_mut().map(|side| side.endpoint.next_timer()).enumerate();
        let (class, timer) = timers.min_by_key(|&(_, timer)| timer).unwrap_or((0, Timer::NEVER));
        if self.room_at <= timer.at.min(now) {
            return Some(None);
        }
        (timer.at <= now).then_some(Some(class))
    }
}

/// A host's port, to its endpoints.
struct Port<'a, K> {
    network: &'a mut Network<K>,
    nic: u32,
}

impl<K: Key> Out for Port<'_, K> {
    #[inline(always)]
    fn send(&mut self, packet: Packet) {
        let packet = self.network.slab.insert(packet.meta, packet.body);
        self.network.enqueue(self.nic, packet);
    }
}

impl Hosts {
    pub(crate) fn new(rules: Rules, hosts: Vec<Host>) -> Hosts {
        Hosts {
            rules,
            hosts,
            coming: VecDeque::new(),
            following: None,
            sent: Vec::new(),
            received: Vec::new(),
            begun: None,
        }
    }

    /// Hands over messages that will begin here; outside of closed loops later than those handed over before.
    pub(crate) fn hand_over<K: Key>(&mut self, network: &mut Network<K>, coming: Coming, source: u32) {
        if let Some(following) = &mut self.following {
            following.add(coming);
            return network.schedule(source, following.next_start());
        }
        if self.coming.is_empty() {
            network.schedule(source, Time(coming.flow.start_ps));
        }
        self.coming.push_back(coming);
    }

    /// Begins every message whose time has come.
    pub(crate) fn begin_messages<K: Key>(&mut self, network: &mut Network<K>, source: u32) {
        while let Some(Coming { flow, host }) = self.next_due(network.now) {
            let class = usize::from(self.rules.class(flow.class));
            let Flow { id, bytes, start_ps, coflow, .. } = flow;
            let message = Message { id, bytes, start: Time(start_ps), deadline: deadline(&flow), coflow };
            let state = &mut self.hosts[host as usize];
            let (side, now) = (&mut state.sides[class], network.now);
            let out = &mut Port { network, nic: state.nic };
            let effects = side.endpoint.begin(now, &mut side.tagger, out, flow.dst as u16, &message);
            // The arrivals' source stands just before the hosts' timers.
            self.carry_out(network, (host, class), source + 1 + host, effects);
        }
        let next = match &self.following {
            Some(following) => following.next_start(),
            None => self.coming.front().map_or(Time::NEVER, |coming| Time(coming.flow.start_ps)),
        };
        network.schedule(source, next);
    }

    fn next_due(&mut self, now: Time) -> Option<Coming> {
        if let Some(following) = &mut self.following {
            return following.next_due(now);
        }
        self.coming.front().filter(|coming| coming.flow.start_ps <= now.0)?;
        self.coming.pop_front()
    }

    /// A packet arrives at a host.
    #[inline(always)]
    pub(crate) fn on_packet<K: Key>(&mut self, network: &mut Network<K>, host: u32, packet: u32, source: u32) {
        network.last_arrival = network.now;
        if network.slab.metas[packet as usize].dst == SWITCH {
            return network.slab.remove(packet); // from a switch's program, which hosts do not hear
        }
        let class = usize::from(network.slab.bodies[packet as usize].class);
        let state = &mut self.hosts[host as usize];
        let (side, now) = (&mut state.sides[class], network.now);
        let out = &mut Port { network, nic: state.nic };
        let effects = side.endpoint.receive(now, &mut side.tagger, out, |port| {
            let (meta, body) = port.network.slab.take(packet);
            Packet { meta, body }
        });
        if effects == Effects::NONE {
            let at = side.endpoint.next_timer().at;
            return state.wake_at(network, source, at);
        }
        self.carry_out(network, (host, class), source, effects);
    }

    /// Does what a call of an endpoint asks for.
    #[inline(never)]
    fn carry_out<K: Key>(
        &mut self,
        network: &mut Network<K>,
        (host, class): (u32, usize),
        source: u32,
        effects: Effects,
    ) {
        if effects.events || effects.sends {
            self.carry_out_more(network, (host, class), source, effects);
        }
        let state = &mut self.hosts[host as usize];
        let at = state.sides[class].endpoint.next_timer().at;
        state.wake_at(network, source, at);
    }

    #[inline(never)]
    fn carry_out_more<K: Key>(
        &mut self,
        network: &mut Network<K>,
        (host, class): (u32, usize),
        source: u32,
        effects: Effects,
    ) {
        if effects.events {
            self.note_events(network, (host, class), source);
        }
        if let (true, Some(limit)) = (effects.sends, self.rules.backlog) {
            let state = &mut self.hosts[host as usize];
            if state.sides.len() > 1 {
                state.join_ring(class);
            }
            state.pump(network, source, limit);
        }
    }

    #[inline(never)]
    fn note_events<K: Key>(&mut self, network: &mut Network<K>, (host, class): (u32, usize), source: u32) {
        let now = network.now;
        let side = &mut self.hosts[host as usize].sides[class];
        while let Some(event) = side.endpoint.poll_event() {
            match event {
                HostEvent::Begun { flow, message } => {
                    if let Some(begun) = &mut self.begun {
                        let segment = self.rules.segments[class];
                        begun.push(Begun { connection: flow, bytes: message.bytes, segment });
                    }
                }
                HostEvent::Ended { message, acknowledged, .. } => {
                    let Some(how) = acknowledged else { continue };
                    self.sent.push(Sent {
                        message: message.id,
                        acknowledged: now,
                        retransmissions: how.retransmissions,
                        timeouts: how.timeouts,
                    });
                    if let Some(following) = &mut self.following
                        && following.after(message.id, now, host, &self.rules)
                    {
                        network.schedule(source - host - 1, following.next_start());
                    }
                }
                HostEvent::Delivered { message, out_of_order } => {
                    self.received.push(Received { message, at: now, out_of_order });
                }
                HostEvent::Timeout { .. } => {}
            }
        }
    }

    /// A host's timer fires.
    pub(crate) fn on_timer<K: Key>(&mut self, network: &mut Network<K>, host: u32, source: u32) {
        self.hosts[host as usize].scheduled = Time::NEVER;
        while let Some(due) = self.hosts[host as usize].next_due(network.now) {
            let state = &mut self.hosts[host as usize];
            match (due, self.rules.backlog) {
                (Some(class), _) => {
                    let (side, now) = (&mut state.sides[class], network.now);
                    let out = &mut Port { network, nic: state.nic };
                    let effects = side.endpoint.on_timer(now, &mut side.tagger, out);
                    self.carry_out(network, (host, class), source, effects);
                }
                (None, Some(limit)) => {
                    state.room_at = Time::NEVER;
                    state.pump(network, source, limit);
                }
                (None, None) => state.room_at = Time::NEVER,
            }
        }
        let state = &mut self.hosts[host as usize];
        let timers = state.sides.iter_mut().map(|side| side.endpoint.next_timer().at);
        state.scheduled = timers.fold(state.room_at, Time::min);
        network.schedule(source, state.scheduled);
    }
}

/// When a flow should have finished.
fn deadline(flow: &Flow) -> Option<Time> {
    flow.deadline_ps.map(|after_start| Time(flow.start_ps.saturating_add(after_start.get())))
}
