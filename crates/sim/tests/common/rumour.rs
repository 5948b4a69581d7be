//! Controllers that make one number of all that they hear and see, so that what they decide differs as soon as anything
//! differs by a byte or a picosecond; and taggers that follow them.

use flowsieve_core::controller::{Audience, Controller, Gauges, Hears, HostEvent, Publish, Published, Table};
use flowsieve_core::tagger::{FlowFacts, TagPackets};
use flowsieve_core::{ControllerKind, ControllerSpec, FlowEvent, Kind, Node, Tag, TaggerSpec, Time};
use flowsieve_schemes::Scheme;
use flowsieve_sim::topology::Fabric;

/// The controller of a host, or of the fabric.
struct Rumour {
    host: Option<u32>,
    hosts: u32,
    switches: u32,
    heard: u64,
    next: Time,
}

/// A tagger that follows a [`Rumour`].
#[derive(Default)]
struct Swayed(u64);

impl Rumour {
    const UNTIL: Time = Time::from_us(300);

    fn new(host: Option<u32>, fabric: &Fabric, seed: u64) -> Rumour {
        let switches = fabric.switches.len() as u32;
        Rumour { host, hosts: fabric.hosts, switches, heard: seed, next: Time::from_us(3) }
    }

    fn hear(&mut self, word: u64) {
        self.heard = (self.heard ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
    }
}

impl Controller for Rumour {
    fn on_event(&mut self, now: Time, event: &HostEvent) {
        assert!(self.host.is_none_or(|host| host == event.host), "a host's own events");
        [event.at.0, event.host.into(), event.class.into(), now.0].into_iter().for_each(|word| self.hear(word));
        match event.event {
            FlowEvent::HeldBack { message }
            | FlowEvent::MessageStart { message, .. }
            | FlowEvent::MessageEnd { message, .. } => self.hear(message.bytes),
            FlowEvent::Delivered { message, .. } => self.hear(message.into()),
            FlowEvent::Timeout { flow } => self.hear(flow.into()),
            FlowEvent::Reordered { message, held } => self.hear(u64::from(message) ^ held.byte_ns),
            FlowEvent::Steps { message, times } => self.hear(u64::from(message) ^ times.climb.0 ^ times.demotion.0),
            FlowEvent::Unneeded { message } | FlowEvent::GivenUp { message } | FlowEvent::Awaited { message, .. } => {
                self.hear(message.into());
            }
        }
        // It answers to some at once.
        if self.heard.is_multiple_of(3) && now < Rumour::UNTIL {
            self.next = now;
        }
    }

    fn next(&self) -> Time {
        if self.next < Rumour::UNTIL { self.next } else { Time::NEVER }
    }

    fn decide(&mut self, now: Time, gauges: &mut dyn Gauges, publish: Publish<'_>) {
        self.next = now + Time(7_000_001);
        let host = self.host.unwrap_or((self.heard % u64::from(self.hosts)) as u32);
        self.hear(gauges.backlog_bytes(Node::Host(host), 0));
        for switch in 0..self.switches.min(1) {
            self.hear(gauges.backlog_bytes(Node::Switch(switch), 0));
        }
        let to = match self.host {
            Some(host) => Audience::Host { host, class: 0 },
            None => Audience::Hosts { class: 0 },
        };
        publish(to, Table { name: "rumour", values: vec![(0, self.heard)] });
    }
}

impl TagPackets for Swayed {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        if facts.kind != Kind::Data {
            return Tag::default();
        }
        Tag::new((self.0.wrapping_add(facts.offset) % 8) as u8, self.0 as u32)
    }

    fn on_event(&mut self, _: &FlowEvent, _: Time) {}

    fn on_table(&mut self, published: &Published) {
        self.0 = published.table.get(0).unwrap_or_default().wrapping_add(published.version);
    }
}

/// The scheme with such controllers: one, or one at each host.
pub(crate) fn swayed(mut scheme: Scheme, fabric: &Fabric, at_hosts: bool, hears: Hears) -> Scheme {
    let fabric = fabric.clone();
    scheme.classes[0].tagger = TaggerSpec::custom(|_| Swayed::default());
    let kind = if at_hosts {
        ControllerKind::at_hosts(move |site| {
            let Node::Host(host) = site.node else { panic!("a host: {site:?}") };
            Rumour::new(Some(host), &fabric, site.seed)
        })
    } else {
        ControllerKind::central(move |site| {
            assert_eq!((site.hosts.len(), site.switches.len()), (fabric.hosts as usize, fabric.switches.len()));
            Rumour::new(None, &fabric, site.seed)
        })
    };
    let publishes_after = Time::from_us(if at_hosts { 0 } else { 2 });
    let hearing = ControllerSpec { name: "rumours", period: None, hears, publishes_after, kind };
    // And the same next to it, deaf.
    let deaf = ControllerSpec { hears: Hears::Nothing, publishes_after: Time::from_us(1), ..hearing.clone() };
    scheme.controllers = vec![deaf, hearing];
    scheme
}
