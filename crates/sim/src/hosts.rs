//! The hosts of a partition: messages that begin, turns at a host's port, timers, and the records of each message.
//!
//! A host has an endpoint for each class of flow, which handles senders and receivers. This file has what endpoints
//! share: a port and a timer. The sender's and the receiver's record of a message meet only in the result.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use flowsieve_core::controller::{HostEvent, Published};
use flowsieve_core::hop::Trail;
use flowsieve_core::message::Held;
use flowsieve_core::steps::StepTimes;
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{Kind, Message, PortScheduler, Tagger, Time};
use flowsieve_transport::endpoint::BaseRoundTrips;
use flowsieve_transport::{Effects, Handled, HostEndpoint, Out, Packet, Timer, TransportFacts, Turn};
use flowsieve_workload::{Flow, Predict};

use crate::event::Key;
use crate::following::Following;
use crate::network::{Departure, Network};
use crate::partition::Ends;
use crate::records::{Awaited, Chunks, Received, Sent};
use crate::round_trip::Exchange;
use crate::run_spec::RunSpec;
use crate::scheme::{Nic, Scheme};
use crate::slab::{SWITCH, pack, unpack};
use crate::source::Source;
use crate::topology::{Fabric, Sites};
use crate::trace::Begun;
use crate::upcoming::{HeldBack, Upcoming, UpcomingMessages, message};

/// The hosts of a partition.
pub(crate) struct Hosts {
    pub(crate) rules: Rules,
    hosts: Vec<Host>,
    /// By host, then by class of flow.
    pub(crate) sides: Vec<Side>,
    /// Given messages that will begin, and those that a tagger holds back.
    upcoming: UpcomingMessages,
    /// Messages that follow others, if there are any.
    pub(crate) following: Option<Following>,
    pub(crate) sent: Chunks<Sent>,
    pub(crate) received: Chunks<Received>,
    /// By message: what its receiver held for reordering, if anything; then messages with a packet that arrived twice,
    /// once per packet.
    pub(crate) reordered: Vec<(u32, Held)>,
    pub(crate) unneeded: Vec<u32>,
    /// By message: how often its receiver asked for packets again, and how long it had waited, if it did.
    pub(crate) awaited: Vec<(u32, Awaited)>,
    /// Messages that an end here has given up. They may have arrived all the same.
    pub(crate) given_up: Vec<u32>,
    /// Messages that began.
    pub(crate) begun_messages: u64,
    /// Timeouts of senders.
    pub(crate) timeouts: u64,
    /// By message: the time in each step of QCLIMB, if its tagger has steps.
    pub(crate) steps: Vec<(u32, StepTimes)>,
    /// Messages that began, if a trace needs them.
    pub(crate) begun: Option<Vec<Begun>>,
    /// The instants at which messages began since the last collection, if hosts elsewhere may have the same.
    pub(crate) starts: Option<Vec<Time>>,
    /// Events here that no controller has heard yet, if a controller hears of any.
    pub(crate) news: Option<Vec<HostEvent>>,
}

/// What holds for all hosts.
#[derive(Clone)]
pub(crate) struct Rules {
    /// By class of flow.
    pub(crate) transports: Vec<TransportFacts>,
    /// NIC backlog in bytes at which a host gives no turn; the largest value if hosts never pause.
    backlog: u64,
    /// Predicts the sizes of messages, if predictions are used.
    predictions: Option<Arc<dyn Predict>>,
    /// By class of flow: the delay of a prediction.
    inference: Vec<Time>,
}

impl Rules {
    pub(crate) fn new(run_spec: &RunSpec<'_>) -> Rules {
        let scheme = run_spec.scheme;
        Rules {
            predictions: run_spec.predictions.cloned(),
            inference: scheme.classes.iter().map(|class| class.inference).collect(),
            transports: scheme.classes.iter().map(|class| class.transport.facts()).collect(),
            backlog: match scheme.nic {
                // An empty port always takes a packet.
                Nic::Backpressure { backlog } => backlog.max(1),
                Nic::Scheme => u64::MAX,
            },
        }
    }

    /// Returns when a flow begins to send.
    pub(crate) fn begin(&self, flow: &Flow) -> Time {
        let inference = self.inference[usize::from(self.class(flow.class))];
        Time(flow.start_ps.saturating_add(inference.0))
    }

    /// Returns the class whose rules a flow of class `class` follows.
    pub(crate) fn class(&self, class: u8) -> u8 {
        class.min(self.transports.len() as u8 - 1)
    }
}

/// What the classes of a host share.
pub(crate) struct Host {
    /// Its number in the fabric.
    number: u16,
    /// Its index in the partition.
    index: u32,
    nic: u32,
    /// The instant for which the host's timer is scheduled.
    scheduled: Time,
    /// When the host's port has room again; [`Time::NEVER`]: no endpoint waits for room.
    room_at: Time,
    /// The order of turns, by class.
    ring: VecDeque<u8>,
}

/// A host's side of a class of flow.
#[repr(C)]
pub(crate) struct Side {
    /// The endpoint announced that it sends nothing before this instant; [`Time::NEVER`]: no announcement.
    not_before: Time,
    /// Its entries in [`Host::ring`].
    in_ring: u32,
    pub(crate) tagger: Tagger,
    pub(crate) endpoint: HostEndpoint,
}

impl Side {
    /// Takes a controller's table.
    pub(crate) fn on_table(&mut self, now: Time, published: &Published) {
        self.tagger.on_table(published);
        self.endpoint.on_table(now, &self.tagger);
    }
}

impl Host {
    pub(crate) fn new(number: u16, index: u32, nic: u32) -> Host {
        Host { number, index, nic, scheduled: Time::NEVER, room_at: Time::NEVER, ring: VecDeque::new() }
    }

    #[inline(always)]
    fn wake_at<K: Key>(&mut self, network: &mut Network<K>, at: Time) {
        if at < self.scheduled {
            self.scheduled = at;
            network.schedule(Source::Host(self.index), at);
        }
    }

    #[inline(always)]
    fn port<'a, K>(&self, network: &'a mut Network<K>, class: usize) -> Port<'a, K> {
        Port { network, nic: self.nic, host: self.number, class: class as u8 }
    }
}

/// Builds the sides of a host, in the scheme's order.
///
/// `fabric` is given if endpoints want base round trips.
pub(crate) fn sides(
    scheme: &Scheme,
    host: u32,
    sites: &Sites<'_>,
    (fabric, wire_overhead): (Option<&Arc<Fabric>>, u16),
) -> impl Iterator<Item = Side> {
    let pauses = matches!(scheme.nic, Nic::Backpressure { .. });
    let taggers = scheme.taggers(host, |class| sites.tagger(host, class));
    scheme.classes.iter().zip(0..).zip(taggers).map(move |((class, number), tagger)| {
        let wanting = fabric.filter(|_| class.transport.wants_round_trips());
        let round_trips = wanting.map(|fabric| -> Box<BaseRoundTrips> {
            let (fabric, facts) = (Arc::clone(fabric), class.transport.facts());
            let exchange = Exchange::new(facts.segment, facts.header, wire_overhead);
            Box::new(move |to| fabric.round_trip(host, to.into(), exchange).time)
        });
        let endpoint = class.transport.build(number, pauses, round_trips, || sites.endpoint(host, number));
        Side { endpoint, tagger, in_ring: 0, not_before: Time::NEVER }
    })
}

/// A host's port, as the endpoint of a class sees it.
struct Port<'a, K> {
    network: &'a mut Network<K>,
    nic: u32,
    host: u16,
    class: u8,
}

impl<K: Key> Out for Port<'_, K> {
    #[inline(always)]
    fn send(&mut self, packet: Packet) {
        let (meta, body) = pack(&packet, self.host, self.class);
        let packet = self.network.slab.insert(meta, body);
        self.network.enqueue(self.nic, packet);
    }
}

/// The same while the host handles a packet with a trail.
struct TrailPort<'a, K> {
    port: Port<'a, K>,
    trail: Trail,
}

impl<K: Key> Out for TrailPort<'_, K> {
    fn send(&mut self, packet: Packet) {
        let Port { network, host, class, nic } = &mut self.port;
        let (meta, body) = pack(&packet, *host, *class);
        let answers = packet.kind != Kind::Data;
        let packet = network.slab.insert(meta, body);
        if answers {
            network.slab.give_trail(packet, Some(self.trail.clone()));
        }
        network.enqueue(*nic, packet);
    }

    fn trail(&self) -> Option<&Trail> {
        Some(&self.trail)
    }
}

impl<K: Key> Ends<K> for Hosts {
    #[inline(always)]
    fn on_packet(&mut self, network: &mut Network<K>, host: u32, packet: u32) {
        network.last_arrival = network.now;
        if network.hops.is_some() {
            return self.on_packet_with_trail(network, host, packet);
        }
        if network.slab.metas[packet as usize].dst == SWITCH {
            return network.remove_of_program(packet); // from a switch's program, which hosts do not hear
        }
        let class = usize::from(network.slab.bodies[packet as usize].class);
        let (state, at) = (&mut self.hosts[host as usize], host as usize * self.rules.transports.len() + class);
        let (side, now) = (&mut self.sides[at], network.now);
        let out = &mut state.port(network, class);
        match side.endpoint.receive(now, &mut side.tagger, out, |port| port.network.slab.take(packet)) {
            Handled::Nothing { timer } => state.wake_at(network, timer),
            Handled::Asks(effects) => self.carry_out(network, (host, class), effects),
        }
    }

    fn on_timer(&mut self, network: &mut Network<K>, source: Source) {
        match source {
            Source::Messages => self.begin_messages(network),
            Source::Departure(host) => self.on_departures(network, host),
            Source::Host(host) => self.on_host_timer(network, host),
            Source::Pauses => {
                while let Some(host) = network.on_pause() {
                    // What endpoints set in their turns, such as paces, are timers of the host.
                    self.carry_out(network, (host, 0), Effects { turns: true, ..Effects::NONE });
                }
            }
            Source::Program(_) => debug_assert!(false, "switches have theirs"),
        }
    }
}

impl Hosts {
    pub(crate) fn new(rules: Rules, hosts: Vec<Host>, sides: Vec<Side>) -> Hosts {
        Hosts {
            rules,
            hosts,
            sides,
            upcoming: UpcomingMessages::default(),
            following: None,
            sent: Chunks::default(),
            received: Chunks::default(),
            reordered: Vec::new(),
            unneeded: Vec::new(),
            awaited: Vec::new(),
            given_up: Vec::new(),
            begun_messages: 0,
            timeouts: 0,
            steps: Vec::new(),
            begun: None,
            starts: None,
            news: None,
        }
    }

    fn classes(&self) -> usize {
        self.rules.transports.len()
    }

    /// Returns the indices of a host's sides in `sides`.
    pub(crate) fn sides_of(&self, host: u32) -> Range<usize> {
        let classes = self.classes();
        host as usize * classes..(host as usize + 1) * classes
    }

    /// Hands over a given message that will begin here, later than those handed over before.
    pub(crate) fn hand_over<K: Key>(&mut self, network: &mut Network<K>, upcoming: Upcoming) {
        if self.upcoming.add(upcoming, &self.rules) {
            network.schedule(Source::Messages, self.next_start());
        }
    }

    /// Hands over a message that others will follow.
    pub(crate) fn hand_over_first<K: Key>(&mut self, network: &mut Network<K>, upcoming: Upcoming) {
        if let Some(following) = &mut self.following {
            following.add(upcoming, &self.rules);
            network.schedule(Source::Messages, self.next_start());
        }
    }

    /// Holds a message back that is due, and reports it.
    fn hold_back(&mut self, now: Time, side: usize, upcoming: Upcoming, message: Message) {
        let event = FlowEvent::HeldBack { message };
        self.sides[side].tagger.on_event(&event, now);
        if let Some(news) = &mut self.news {
            let host = self.hosts[upcoming.host as usize].number.into();
            news.push(HostEvent { at: now, host, class: message.class, event });
        }
        self.upcoming.held.push(HeldBack { upcoming, message, side });
    }

    /// Returns whether any message is held back.
    pub(crate) fn holds_any(&self) -> bool {
        !self.upcoming.held.is_empty()
    }

    /// Lets those messages begin at `at` that their taggers hold no longer, since tables have arrived.
    pub(crate) fn release<K: Key>(&mut self, network: &mut Network<K>, at: Time) {
        let sides = &self.sides;
        if self.upcoming.release(at, &self.rules, |held| sides[held.side].tagger.holds(&held.message)) {
            network.schedule(Source::Messages, self.next_start());
        }
    }

    /// Returns when the next message begins.
    fn next_start(&self) -> Time {
        let given = self.upcoming.first(&self.rules).map_or(Time::NEVER, |(at, _)| at);
        self.following.as_ref().map_or(given, |following| given.min(Time(following.next().0)))
    }

    /// Begins every message that is due.
    fn begin_messages<K: Key>(&mut self, network: &mut Network<K>) {
        if let Some(starts) = &mut self.starts {
            starts.push(network.now);
        }
        while let Some(upcoming) = self.next_due(network.now) {
            let Upcoming { flow, host, .. } = upcoming;
            let class = self.rules.class(flow.class);
            let prediction = self.rules.predictions.as_ref().map(|predictions| predictions.predict(&flow));
            let message = message(&flow, class, prediction.unwrap_or_default());
            let at = self.sides_of(host).start + usize::from(class);
            let (side, now) = (&mut self.sides[at], network.now);
            if side.tagger.holds(&message) {
                self.hold_back(now, at, upcoming, message);
                continue;
            }
            self.begun_messages += 1;
            let mut out = self.hosts[host as usize].port(network, class.into());
            let effects = side.endpoint.begin(now, &mut side.tagger, &mut out, &message);
            self.carry_out(network, (host, class.into()), effects);
        }
        network.schedule(Source::Messages, self.next_start());
    }

    /// Takes the next message that is due; at equal instants the one with the least number.
    fn next_due(&mut self, now: Time) -> Option<Upcoming> {
        let given = self.upcoming.first(&self.rules).map(|(at, id)| (at.0, id));
        if let Some(following) = &mut self.following
            && following.next() < given.unwrap_or(Following::NONE)
        {
            return if following.next().0 <= now.0 { following.take_next() } else { None };
        }
        given.filter(|(begin, _)| *begin <= now.0)?;
        self.upcoming.take_first()
    }

    /// Handles a packet that arrives where switches write into packets.
    #[inline(never)]
    fn on_packet_with_trail<K: Key>(&mut self, network: &mut Network<K>, host: u32, packet: u32) {
        let trail = network.slab.take_trail(packet).unwrap_or_default();
        if network.slab.metas[packet as usize].dst == SWITCH {
            return network.remove_of_program(packet);
        }
        let class = usize::from(network.slab.bodies[packet as usize].class);
        if trail.trimmed.is_some() && !self.rules.transports[class].reads_trims {
            return network.discard(packet);
        }
        let (state, at) = (&mut self.hosts[host as usize], host as usize * self.rules.transports.len() + class);
        let (side, now) = (&mut self.sides[at], network.now);
        let out = &mut TrailPort { port: state.port(network, class), trail };
        match side.endpoint.receive(now, &mut side.tagger, out, |out| out.port.network.slab.take(packet)) {
            Handled::Nothing { timer } => state.wake_at(network, timer),
            Handled::Asks(effects) => self.carry_out(network, (host, class), effects),
        }
    }

    /// Tells endpoints what has left a host's port at this instant.
    fn on_departures<K: Key>(&mut self, network: &mut Network<K>, host: u32) {
        let (nic, now) = (self.hosts[host as usize].nic, network.now);
        network.advance(nic, now);
        while let Some(Departure { meta, body, .. }) = network.take_departure(nic) {
            let class = usize::from(body.class);
            if self.rules.transports[class].hears_departures {
                let packet = Packet { peer: meta.dst, ..unpack(&meta, &body) };
                let at = self.sides_of(host).start + class;
                let (side, out) = (&mut self.sides[at], &mut self.hosts[host as usize].port(network, class));
                let effects = side.endpoint.on_departure(now, &mut side.tagger, out, &packet);
                self.carry_out(network, (host, class), effects);
            }
        }
        network.await_departure(nic);
    }

    /// Carries out what an endpoint asked for in a call.
    #[inline(never)]
    fn carry_out<K: Key>(&mut self, network: &mut Network<K>, (host, class): (u32, usize), effects: Effects) {
        let at = self.sides_of(host).start + class;
        if effects.events {
            self.note_events(network, host, at);
        }
        if effects.turns {
            self.pump(network, host);
        }
        let timer = self.sides[at].endpoint.next_timer();
        self.hosts[host as usize].wake_at(network, timer.at);
    }

    #[inline(never)]
    fn note_events<K: Key>(&mut self, network: &mut Network<K>, host: u32, side: usize) {
        let (now, class) = (network.now, (side - self.sides_of(host).start) as u8);
        while let Some(event) = self.sides[side].endpoint.poll_event() {
            if let Some(news) = &mut self.news {
                news.push(HostEvent { at: now, host: self.hosts[host as usize].number.into(), class, event });
            }
            match event {
                FlowEvent::MessageStart { flow, message, .. } => {
                    if let Some(begun) = &mut self.begun {
                        let segment = self.rules.transports[usize::from(message.class)].segment;
                        begun.push(Begun { connection: flow, bytes: message.bytes, segment });
                    }
                }
                FlowEvent::MessageEnd { message, effort: Some(effort), .. } => {
                    self.sent.push(Sent { message: message.id, acknowledged: now, effort });
                    let following = self.following.as_mut();
                    if following.is_some_and(|it| it.acknowledged(message.id, now, host, &self.rules)) {
                        network.schedule(Source::Messages, self.next_start());
                    }
                }
                FlowEvent::Delivered { message, out_of_order } => {
                    self.received.push(Received { message, at: now, out_of_order });
                    let following = self.following.as_mut();
                    if following.is_some_and(|it| it.delivered(message, now, host, &self.rules)) {
                        network.schedule(Source::Messages, self.next_start());
                    }
                }
                FlowEvent::Reordered { message, held } => self.reordered.push((message, held)),
                FlowEvent::Unneeded { message } => self.unneeded.push(message),
                FlowEvent::Awaited { message, asked, time } => self.awaited.push((message, Awaited { asked, time })),
                FlowEvent::Steps { message, times } => self.steps.push((message, times)),
                FlowEvent::GivenUp { message } => self.given_up.push(message),
                FlowEvent::Timeout { .. } => self.timeouts += 1,
                FlowEvent::HeldBack { .. } | FlowEvent::MessageEnd { effort: None, .. } => {}
            }
        }
    }

    /// Lets endpoints send in turn while the port has room.
    #[inline(never)]
    fn pump<K: Key>(&mut self, network: &mut Network<K>, host: u32) {
        let (sides, limit) = (self.sides_of(host), self.rules.backlog);
        let (state, sides) = (&mut self.hosts[host as usize], &mut self.sides[sides]);
        network.advance(state.nic, network.now);
        sides.iter_mut().zip(0..).for_each(|(side, class)| state.join_ring(side, class));
        while let Some(class) = state.turn(sides) {
            let line = &network.links[state.nic as usize];
            let backlog = network.ports[state.nic as usize].scheduler.backlog_bytes();
            if backlog >= limit {
                if line.busy_until == Time::NEVER {
                    break; // paused: the host goes on when the pause ends
                }
                // Half of the backlog has left by then: the line never runs dry, and the host is not woken for each
                // packet.
                let surplus = backlog - limit / 2;
                let at = line.busy_until + line.byte_time.serialise(u32::try_from(surplus).unwrap_or(u32::MAX));
                if state.room_at == Time::NEVER {
                    state.room_at = at;
                    state.wake_at(network, at);
                }
                break;
            }
            state.give_turn(network, &mut sides[class], class);
        }
        if sides.len() > 1 {
            let timers = sides.iter_mut().map(|side| side.endpoint.next_timer().at);
            state.wake_at(network, timers.min().unwrap_or(Time::NEVER));
        }
    }

    /// Handles the host's timer.
    fn on_host_timer<K: Key>(&mut self, network: &mut Network<K>, host: u32) {
        // All that is done here leaves the timer alone, which is set once at the end.
        self.hosts[host as usize].scheduled = Time::ZERO;
        let (of_host, now) = (self.sides_of(host), network.now);
        loop {
            let (state, sides) = (&mut self.hosts[host as usize], &mut self.sides[of_host.clone()]);
            let (mut timer, mut class, mut port_at) = (Timer::NEVER, 0, state.room_at);
            for (number, side) in sides.iter_mut().enumerate() {
                let of_side = side.endpoint.next_timer();
                if of_side < timer {
                    (timer, class) = (of_side, number);
                }
                port_at = port_at.min(side.not_before);
            }
            if port_at <= timer.at.min(now) {
                if state.room_at <= now {
                    state.room_at = Time::NEVER;
                }
                sides.iter_mut().filter(|side| side.not_before <= now).for_each(|side| side.not_before = Time::NEVER);
                self.pump(network, host);
            } else if timer.at <= now {
                let side = &mut sides[class];
                let effects = side.endpoint.on_timer(now, &mut side.tagger, &mut state.port(network, class));
                self.carry_out(network, (host, class), effects);
            } else {
                state.scheduled = timer.at.min(port_at);
                return network.schedule(Source::Host(host), state.scheduled);
            }
        }
    }
}

/// Turns: the ring has an entry for each turn that an endpoint wants, so that connections take turns, not classes.
impl Host {
    /// Adds the turns that an endpoint wants and does not have in the ring yet.
    fn join_ring(&mut self, side: &mut Side, class: u8) {
        while side.not_before == Time::NEVER && side.in_ring < side.endpoint.turns() {
            side.in_ring += 1;
            self.ring.push_back(class);
        }
    }

    /// Returns the side that has the next turn. Endpoints that send nothing before a later instant are passed over.
    #[inline(always)]
    fn turn(&mut self, sides: &mut [Side]) -> Option<usize> {
        loop {
            let class = usize::from(*self.ring.front()?);
            let side = &mut sides[class];
            if side.not_before == Time::NEVER {
                return Some(class);
            }
            self.ring.pop_front();
            side.in_ring -= 1;
        }
    }

    /// Gives the first in the ring its turn.
    #[inline(always)]
    fn give_turn<K: Key>(&mut self, network: &mut Network<K>, side: &mut Side, class: usize) {
        let (wanted, now) = (side.endpoint.turns(), network.now);
        match side.endpoint.poll(now, &mut side.tagger, &mut self.port(network, class)) {
            Turn::Sent => {}
            Turn::Unused => assert!(side.endpoint.turns() < wanted, "who does not use a turn wants it no more"),
            Turn::NotBefore(at) => {
                assert!(at > now, "who sends nothing before this instant may send at it");
                side.not_before = at;
                self.wake_at(network, at);
            }
        }
        self.ring.pop_front();
        side.in_ring -= 1;
        self.join_ring(side, class as u8);
    }
}
