//! The packets of vectors: flows that meet at a port, with the tags that the scheme's own hosts write.
//!
//! The load changes every few hundred packets: queues build up until a port of the usual size drops, drain, and stand empty.
//! A few packets have tags that no host of the scheme would write, because a port gets those, too.

use flowsieve_core::message::Bounds;
use flowsieve_core::meta::Ecn;
use flowsieve_core::scheduler::Line;
use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::{FlowEvent, Kind, Message, Meta, NONE, Tag, Tagger, Time};
use flowsieve_sim::topology::Sites;
use flowsieve_transport::TransportFacts;
use flowsieve_workload::random::{Purpose, Xoshiro256PlusPlus, below, stream};
use std::num::NonZeroU64;

use super::record::Case;

/// Flows that send at once.
const FLOWS: usize = 24;
/// Packets of an overload, which fills a port of 240 full packets and then makes it drop.
const OVERLOAD: u32 = 700;
/// Packets of a light load.
const LIGHT: u32 = 300;
/// Packets until the next overload.
const CYCLE: u32 = OVERLOAD + LIGHT + 300;
/// Number of the random stream of the packets, among those of custom parts: no part of a fabric has it.
const STREAM: u64 = u64::MAX;

/// The packets of a case, each with its instant.
pub(super) struct Traffic {
    random: Xoshiro256PlusPlus,
    line: Line,
    /// By class of flow.
    classes: Vec<(Tagger, TransportFacts)>,
    flows: Vec<Flow>,
    now: Time,
    packets: u32,
    messages: u32,
}

struct Flow {
    key: u32,
    message: Message,
    class: usize,
    offset: u64,
    ecn: Ecn,
}

impl Traffic {
    /// Begins the packets of a case.
    pub(super) fn new(case: &Case<'_>) -> Traffic {
        let sites = Sites::new(case.fabric, case.seed);
        // The last host, which does not misuse the scheme unless all do.
        let host = case.fabric.hosts - 1;
        let taggers = case.scheme.taggers(host, |class| sites.tagger(host, class));
        let facts = case.scheme.classes.iter().map(|class| class.transport.facts());
        let mut traffic = Traffic {
            random: stream(case.seed, Purpose::OwnPart, STREAM),
            line: case.fabric.links[case.link as usize].line(case.overhead),
            classes: taggers.into_iter().zip(facts).collect(),
            flows: Vec::new(),
            now: Time::ZERO,
            packets: 0,
            messages: 0,
        };
        for _ in 0..FLOWS {
            let flow = traffic.begin(None);
            traffic.flows.push(flow);
        }
        traffic
    }

    fn below(&mut self, end: u64) -> u64 {
        below(&mut self.random, end)
    }

    /// Begins a message: the first of a flow, or a later one of the flow with this key.
    fn begin(&mut self, key: Option<u32>) -> Flow {
        let id = self.messages;
        self.messages += 1;
        let class = self.below(self.classes.len() as u64) as usize;
        // From 100 bytes to 1.6 MB, as many of each order.
        let scale = 100 << self.below(14);
        let bytes = scale + self.below(scale);
        let deadline = (self.below(2) == 0).then(|| self.now + Time::from_us(50 + self.below(2_000)));
        let coflow = (self.below(3) > 0).then_some(id / 4);
        // Predictions are up to a half off.
        let predicted = NonZeroU64::new(bytes / 2 + self.below(bytes) + 1);
        let lower = bytes - self.below(bytes / 2 + 1);
        let bounds = NonZeroU64::new(bytes + self.below(bytes)).map(|upper| Bounds { lower, upper });
        let message =
            Message { id, to: 0, class: class as u8, bytes, start: self.now, deadline, coflow, predicted, bounds };
        let flow = key.unwrap_or(id);
        let idle = if key.is_some() { Time::ZERO } else { Time::NEVER };
        self.classes[class].0.on_event(&FlowEvent::MessageStart { flow, message, idle }, self.now);
        let ecn = if self.below(8) == 0 { Ecn::NotCapable } else { Ecn::Capable };
        Flow { key: flow, message, class, offset: 0, ecn }
    }

    /// Ends a flow's message and begins the next, in half of the cases of the same flow.
    fn go_on(&mut self, index: usize) {
        let Flow { key: flow, message, class, .. } = self.flows[index];
        self.classes[class].0.on_event(&FlowEvent::MessageEnd { flow, message, effort: None }, self.now);
        let same = self.below(2) == 0;
        self.flows[index] = self.begin(same.then_some(flow));
    }

    /// Moves the clock to the next packet.
    fn wait(&mut self) {
        let full = self.line.serialise(1_500).0;
        // Six times what the line carries, then a half of it, and bursts with pauses, some of which end flowlets.
        let gap = match self.packets % CYCLE {
            within if within < OVERLOAD => self.below(full / 3 + 1),
            within if within < OVERLOAD + LIGHT => self.below(4 * full),
            _ if self.below(40) == 0 => Time::from_us(300 + self.below(1_000)).0,
            _ if self.below(12) == 0 => self.below(30 * full),
            _ => 0,
        };
        self.now += Time(gap);
    }

    fn packet(&mut self) -> Meta {
        let index = self.below(FLOWS as u64) as usize;
        let Flow { key: flow, message, class, offset, ecn } = self.flows[index];
        let TransportFacts { segment, header, .. } = self.classes[class].1;
        let kind = match self.below(12) {
            0 => Kind::Ack,
            1 if offset == 0 => Kind::Control,
            _ => Kind::Data,
        };
        if kind != Kind::Data {
            return Meta { flow, len: header.max(1), kind, ..Meta::default() };
        }
        let payload = (message.bytes - offset).min(segment.into());
        let now = self.now;
        let facts = FlowFacts {
            flow,
            now,
            kind,
            offset,
            payload: payload as u32,
            remaining: message.bytes - offset,
            ..FlowFacts::of(&message)
        };
        let own = self.classes[class].0.tag(|| facts);
        let tag = match self.below(16) {
            0 => Tag::new(self.below(12) as u8, self.below(1 << 32) as u32),
            _ => own,
        };
        self.flows[index].offset += payload;
        if self.flows[index].offset == message.bytes {
            self.go_on(index);
        }
        let coflow = message.coflow.unwrap_or(NONE);
        Meta { flow, coflow, len: payload as u16 + header, tag, kind, ecn, ..Meta::default() }
    }
}

impl Iterator for Traffic {
    type Item = (Time, Meta);

    fn next(&mut self) -> Option<(Time, Meta)> {
        self.wait();
        self.packets += 1;
        let meta = self.packet();
        Some((self.now, meta))
    }
}
