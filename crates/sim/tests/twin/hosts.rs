//! The twin's hosts: they drive the endpoints naively. Every call is followed by all that the contract allows: each endpoint
//! is asked for events and for turns, and its timer is called although it is not due.
//!
//! What endpoints do is theirs; which of them is called when is computed here anew.

use std::collections::VecDeque;

use flowsieve_core::controller::Published;
use flowsieve_core::hop::Trail;
use flowsieve_core::message::{Bounds, Effort, Held};
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{Kind, Message, Meta, PortScheduler, Tagger, Time};
use flowsieve_schemes::scheme::Nic;
use flowsieve_sim::round_trip::Exchange;
use flowsieve_sim::topology::Sites;
use flowsieve_sim::{FctEnd, RunSpec};
use flowsieve_transport::endpoint::BaseRoundTrips;
use flowsieve_transport::{Effects, HostEndpoint, Out, Packet, Said, Timer, Turn};
use flowsieve_workload::{Flow, SizeBounds};

use crate::twin::engine::{Body, Event, Twin};

/// Whom a timer wakes; the order is that of timers of one host at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    Nic,
    Endpoint { order: u64, class: u8 },
}

pub(crate) struct Host {
    /// By class.
    pub(crate) taggers: Vec<Tagger>,
    endpoints: Vec<HostEndpoint>,
    /// The alarm of each that is set.
    armed: Vec<Timer>,
    /// The classes of those that wait for their turn at the port.
    ring: VecDeque<usize>,
    /// The port's alarm is set.
    waits: bool,
}

impl Host {
    pub(crate) fn new(run_spec: &RunSpec<'_>, host: u32, sites: &Sites<'_>) -> Host {
        let scheme = run_spec.scheme;
        let pauses = scheme.nic != Nic::Scheme;
        let endpoints = (0..).zip(&scheme.classes).map(|(number, class)| {
            let facts = class.transport.facts();
            let exchange = Exchange::new(facts.segment, facts.header, run_spec.wire_overhead);
            let fabric = run_spec.fabric.clone();
            // Warm connections know the base round trips.
            let round_trips = class.transport.wants_round_trips().then(|| {
                Box::new(move |to: u16| fabric.round_trip(host, to.into(), exchange).time) as Box<BaseRoundTrips>
            });
            class.transport.build(number, pauses, round_trips, || sites.endpoint(host, number))
        });
        let armed = vec![Timer::NEVER; scheme.classes.len()];
        let taggers = scheme.taggers(host, |class| sites.tagger(host, class));
        Host { taggers, endpoints: endpoints.collect(), armed, ring: VecDeque::new(), waits: false }
    }

    pub(crate) fn on_table(&mut self, now: Time, class: u8, published: &Published) {
        let class = usize::from(class);
        self.taggers[class].on_table(published);
        self.endpoints[class].on_table(now, &self.taggers[class]);
    }
}

/// What is known of a message at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) acknowledged: Option<u64>,
    pub(crate) arrived: Option<u64>,
    pub(crate) effort: Effort,
    pub(crate) out_of_order: u32,
    pub(crate) unneeded: u32,
    /// How often its receiver asked for packets again.
    pub(crate) asked: u32,
    pub(crate) held: Held,
    /// Nanoseconds in each step.
    pub(crate) steps: Option<[u64; 5]>,
}

/// What an endpoint sends in a call.
#[derive(Default)]
struct Sent(Vec<Packet>, Option<Trail>);

impl Out for Sent {
    fn send(&mut self, packet: Packet) {
        self.0.push(packet);
    }

    fn trail(&self) -> Option<&Trail> {
        self.1.as_ref()
    }
}

impl Twin<'_> {
    fn class_of(&self, flow: &Flow) -> usize {
        usize::from(flow.class).min(self.run_spec.scheme.classes.len() - 1)
    }

    /// Calls an endpoint; what it sends is at the port before anything else happens.
    fn call<R>(
        &mut self,
        host: usize,
        class: usize,
        call: impl FnOnce(&mut HostEndpoint, &mut Tagger, &mut Sent) -> R,
    ) -> R {
        self.call_with(host, class, None, call)
    }

    /// While an endpoint handles a packet with a trail: answers go on with it.
    fn call_with<R>(
        &mut self,
        host: usize,
        class: usize,
        trail: Option<Trail>,
        call: impl FnOnce(&mut HostEndpoint, &mut Tagger, &mut Sent) -> R,
    ) -> R {
        let mut sent = Sent(Vec::new(), trail);
        let state = &mut self.hosts[host];
        let result = call(&mut state.endpoints[class], &mut state.taggers[class], &mut sent);
        let Sent(packets, trail) = sent;
        for packet in packets {
            let of_answer = trail.clone().filter(|_| packet.kind != Kind::Data);
            self.emit(host, class, packet, of_answer.unwrap_or_default());
        }
        result
    }

    fn emit(&mut self, src: usize, class: usize, packet: Packet, trail: Trail) {
        let meta = Meta {
            flow: packet.flow,
            coflow: packet.coflow,
            tag: packet.tag,
            len: packet.len,
            dst: packet.peer,
            kind: packet.kind,
            ecn: packet.ecn,
            ..Meta::default()
        };
        let packet = self.new_packet(meta, Body::OfHost { src, class, packet });
        self.beyond.trails[packet as usize] = trail;
        self.enqueue(self.run_spec.fabric.host_uplink[src] as usize, packet);
    }

    pub(crate) fn on_start(&mut self, message: usize) {
        let flow = self.messages[message];
        let (now, class) = (self.now, self.class_of(&flow));
        let prediction = self.run_spec.predictions.map(|predictions| predictions.predict(&flow)).unwrap_or_default();
        let message = Message {
            id: flow.id,
            to: flow.dst as u16,
            class: class as u8,
            bytes: flow.bytes,
            start: Time(flow.start_ps),
            deadline: flow.deadline_ps.map(|after| Time(flow.start_ps + after.get())),
            coflow: flow.coflow,
            predicted: prediction.size,
            bounds: prediction.bounds.map(|SizeBounds { lower, upper }| Bounds { lower, upper }),
        };
        let src = flow.src as usize;
        if self.hosts[src].taggers[class].holds(&message) {
            let event = FlowEvent::HeldBack { message };
            self.hosts[src].taggers[class].on_event(&event, now);
            self.tell(src, class, event);
            return self.held.push((src, class, message));
        }
        let effects = self.call(src, class, |endpoint, tagger, out| endpoint.begin(now, tagger, out, &message));
        self.settle(src, effects.turns);
    }

    pub(crate) fn on_packet(&mut self, host: usize, packet: u32) {
        let Body::OfHost { src, class, packet: sent } = self.bodies[packet as usize] else {
            return; // from a switch's program
        };
        let (now, Meta { ecn, len, kind, tag, .. }) = (self.now, self.meta(packet));
        let arrived = Packet { peer: src as u16, ecn, len, kind, tag, ..sent };
        if let Said::Ack { segment, .. } = self.hosts[host].endpoints[class].describe(&arrived) {
            self.seen.acknowledge(now.0, arrived.flow, segment);
        }
        let trail = std::mem::take(&mut self.beyond.trails[packet as usize]);
        if trail.trimmed.is_some() && !self.run_spec.scheme.classes[class].transport.facts().reads_trims {
            return; // as good as lost
        }
        let trail = self.beyond.are_any().then_some(trail);
        let receive = |endpoint: &mut HostEndpoint, tagger: &mut Tagger, out: &mut Sent| {
            endpoint.receive(now, tagger, out, |_| arrived)
        };
        let handled = self.call_with(host, class, trail, receive);
        self.settle(host, handled.effects().turns);
    }

    pub(crate) fn on_timer(&mut self, host: usize, alarm: Alarm) {
        let now = self.now;
        let turns = match alarm {
            Alarm::Nic => {
                self.hosts[host].waits = false;
                true
            }
            Alarm::Endpoint { order, class } => {
                let class = usize::from(class);
                let Host { endpoints, armed, .. } = &mut self.hosts[host];
                let first = endpoints[class].next_timer();
                if armed[class] == (Timer { at: now, order }) {
                    armed[class] = Timer::NEVER;
                }
                let due = first.at <= now && first.order == order;
                due && self.call(host, class, |endpoint, tagger, out| endpoint.on_timer(now, tagger, out)).turns
            }
        };
        self.settle(host, turns);
    }

    /// What an endpoint asks for, and also everything that the contract allows after a call.
    pub(crate) fn settle(&mut self, host: usize, turns: bool) {
        let classes = self.hosts[host].endpoints.len();
        (0..classes).for_each(|class| self.note_events(host, class));
        // At a port that never pauses no endpoint waits.
        if turns || self.run_spec.scheme.nic == Nic::Scheme {
            self.give_turns(host);
        }
        for class in 0..classes {
            self.call_too_early(host, class);
            let Host { endpoints, armed, .. } = &mut self.hosts[host];
            let timer = endpoints[class].next_timer();
            if std::mem::replace(&mut armed[class], timer) != timer {
                let alarm = Alarm::Endpoint { order: timer.order, class: class as u8 };
                self.at(timer.at, Event::Timer { host, alarm });
            }
        }
    }

    /// Which does nothing.
    fn call_too_early(&mut self, host: usize, class: usize) {
        let now = self.now;
        let state = &mut self.hosts[host];
        let timer = state.endpoints[class].next_timer();
        if timer.at > now {
            let mut sent = Sent::default();
            let effects = state.endpoints[class].on_timer(now, &mut state.taggers[class], &mut sent);
            assert!(effects == Effects::NONE && sent.0.is_empty() && state.endpoints[class].next_timer() == timer);
        }
    }

    fn note_events(&mut self, host: usize, class: usize) {
        let now = self.now.0;
        while let Some(event) = self.hosts[host].endpoints[class].poll_event() {
            self.tell(host, class, event);
            match event {
                FlowEvent::MessageStart { flow, message, .. } => {
                    let transport = &self.run_spec.scheme.classes[class].transport;
                    self.seen.begin(now, flow, &message, transport.facts().segment);
                }
                FlowEvent::MessageEnd { message, effort: Some(effort), .. } => {
                    let record = &mut self.records[message.id as usize];
                    record.acknowledged = Some(now);
                    record.effort = effort;
                    record.steps = self.seen.steps(now, self.run_spec.scheme, host, &message);
                    self.follow(message.id);
                    self.finish(message.id, FctEnd::Ack);
                }
                FlowEvent::Delivered { message, out_of_order } => {
                    let record = &mut self.records[message as usize];
                    (record.arrived, record.out_of_order) = (Some(now), out_of_order);
                    self.answer(message);
                    self.finish(message, FctEnd::Arrival);
                }
                FlowEvent::Reordered { message, held } => self.records[message as usize].held = held,
                FlowEvent::Unneeded { message } => self.records[message as usize].unneeded += 1,
                FlowEvent::Awaited { message, asked, .. } => self.records[message as usize].asked = asked,
                _ => {}
            }
        }
    }

    /// Those that want to send take turns, a packet each, while the port's backlog is below the limit.
    fn give_turns(&mut self, host: usize) {
        let (now, uplink) = (self.now, self.run_spec.fabric.host_uplink[host] as usize);
        let limit = match self.run_spec.scheme.nic {
            Nic::Backpressure { backlog } => backlog.max(1),
            Nic::Scheme => u64::MAX,
        };
        loop {
            let state = &mut self.hosts[host];
            for (class, endpoint) in state.endpoints.iter().enumerate() {
                let waiting = state.ring.iter().filter(|&&other| other == class).count();
                (waiting..endpoint.turns() as usize).for_each(|_| state.ring.push_back(class));
            }
            let Some(&class) = state.ring.front() else { return };
            let port = &self.ports[uplink];
            let backlog = port.scheduler.backlog_bytes();
            if backlog >= limit && !port.busy {
                // All that waits there is paused.
                return;
            }
            if backlog >= limit {
                let surplus = (backlog - limit / 2) as u32;
                let at = port.busy_until + self.run_spec.fabric.links[uplink].rate.serialise(surplus);
                if !std::mem::replace(&mut state.waits, true) {
                    self.at(at, Event::Timer { host, alarm: Alarm::Nic });
                }
                return;
            }
            state.ring.pop_front();
            let turn = self.call(host, class, |endpoint, tagger, out| endpoint.poll(now, tagger, out));
            assert!(!matches!(turn, Turn::NotBefore(_)), "no built-in transport waits");
        }
    }
}
