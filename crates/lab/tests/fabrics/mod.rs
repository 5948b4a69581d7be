//! Fabrics, flows and senders that the simulator and the fabric in memory have in common, and what leaves their ports.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use flowsieve_core::controller::HostEvent;
use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::{FlowEvent, Kind, Message, Meta, NONE, Tagger, Time};
use flowsieve_lab::control::{Controllers, Followers};
use flowsieve_record::{PacketEvent, PacketKind, PacketRow, TraceSink};
use flowsieve_schemes::Scheme;
use flowsieve_schemes::bare::{self, Facts};
use flowsieve_settings::{Origin, Raw, Settings, Table};
use flowsieve_sim::in_memory::{Arrived, Event, InMemory};
use flowsieve_sim::topology::{Fabric, Sites};
use flowsieve_sim::trace::Tracing;
use flowsieve_sim::{Flows, RunSpec, announcements, go_on, run_traced};
use flowsieve_workload::Flow;
use flowsieve_workload::random::{Xoshiro256PlusPlus, below};

/// Sizes uniform to 1 MB, for thresholds.
pub(crate) const UNIFORM: Facts = Facts::uniform(1_000_000, 0.6);
pub(crate) const OVERHEAD: u16 = 38;
pub(crate) const PAYLOAD: u64 = 1_460;

/// (when, link, flow, length, priority) of each departure, and the packets dropped. Packets of switches' programs are of
/// no flow.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) sent: Vec<(u64, u32, u32, u16, u8)>,
    pub(crate) dropped: u64,
    /// When the run ended, if programs go on: the simulator ends between two packets.
    pub(crate) end: Option<Time>,
}

impl Outcome {
    /// Returns how many packets of programs were sent.
    pub(crate) fn of_programs(&self) -> usize {
        self.sent.iter().filter(|&&(_, _, flow, ..)| flow == NONE).count()
    }
}

impl TraceSink for Outcome {
    fn begin(&mut self) {
        *self = Outcome::default();
    }

    fn packet(&mut self, row: &PacketRow) -> ControlFlow<()> {
        match (row.event, row.what) {
            (PacketEvent::Sent, Some((_, PacketKind::Data { flow, .. }))) => {
                self.sent.push((row.at_ps, row.link, flow, row.length, row.priority));
            }
            (PacketEvent::Sent, None) => self.sent.push((row.at_ps, row.link, NONE, row.length, row.priority)),
            (PacketEvent::DroppedBuffer | PacketEvent::DroppedEvicted | PacketEvent::DroppedLoss, _) => {
                self.dropped += 1;
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// What the fabrics of a test have in common.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) settings: &'static [(&'static str, &'static str)],
    pub(crate) counts: &'static [(&'static str, i64)],
}

pub(crate) const SHAPES: [Shape; 8] = [
    Shape { name: "single switch", settings: &[("kind", "single-switch")], counts: &[("hosts", 5)] },
    Shape {
        name: "leaf-spine",
        settings: &[("kind", "leaf-spine")],
        counts: &[("leaves", 3), ("spines", 2), ("hosts_per_leaf", 2)],
    },
    Shape {
        name: "leaf-spine, a host's line loses packets",
        settings: &[("kind", "leaf-spine"), ("0:between", "host0 leaf0"), ("0:loss", "0.1")],
        counts: &[("leaves", 3), ("spines", 2), ("hosts_per_leaf", 2)],
    },
    Shape {
        name: "fat-tree, packets sprayed",
        settings: &[("kind", "fat-tree"), ("load_balancing", "spray-random")],
        counts: &[("k", 4)],
    },
    Shape {
        name: "leaf-spine, flowlets",
        settings: &[("kind", "leaf-spine"), ("load_balancing", "flowlet")],
        counts: &[("leaves", 2), ("spines", 3), ("hosts_per_leaf", 3)],
    },
    Shape {
        name: "leaf-spine, HULA",
        settings: &[("kind", "leaf-spine"), ("load_balancing", "hula"), ("probe_interval", "2ms")],
        counts: &[("leaves", 3), ("spines", 2), ("hosts_per_leaf", 2)],
    },
    Shape {
        name: "fat-tree, HULA",
        settings: &[("kind", "fat-tree"), ("load_balancing", "hula"), ("probe_interval", "5ms")],
        counts: &[("k", 4)],
    },
    Shape {
        name: "single switch, shared memory, cut-through",
        settings: &[
            ("kind", "single-switch"),
            ("admission", "shared"),
            ("shared_buffer", "90KB"),
            ("forwarding", "cut-through"),
        ],
        counts: &[("hosts", 4)],
    },
];

/// A fabric with links of random rates and delays.
pub(crate) fn settings(shape: &Shape, scheme: &str, random: &mut Xoshiro256PlusPlus) -> Settings {
    let (rate, delay) = (10 + below(random, 200), 1 + below(random, 300));
    settings_with(shape, scheme, (rate, delay), random)
}

/// The time of a full packet on a line of 100 Mbit/s.
pub(crate) const FULL: Time = Time((PAYLOAD + 40 + OVERHEAD as u64) * 80_000);

/// A fabric with links of this rate in Mbit/s and this delay in us.
pub(crate) fn settings_with(
    shape: &Shape,
    scheme: &str,
    (rate, delay): (u64, u64),
    random: &mut Xoshiro256PlusPlus,
) -> Settings {
    let text = |text: String| Raw::from(text.as_str());
    let mut settings = bare::none_given()
        .with(None, "parameters", "rfc")
        .with(None, "host_link", text(format!("{rate}Mbps")))
        .with(None, "link_delay", text(format!("{delay}us")))
        .with(None, "host_delay", "0us")
        .with(None, "nic", "scheme")
        .with(None, "buffer", text(format!("{}B", 20_000 + below(random, 200_000))))
        .with(Some(scheme), "transport", "open-loop");
    for &(name, value) in shape.settings {
        settings = match name.strip_prefix("0:") {
            None => settings.with(None, name, value),
            Some(name) => of_link(settings, name, value),
        };
    }
    for &(name, value) in shape.counts {
        settings = settings.with(None, name, value);
    }
    settings
}

/// Gives a setting of the first `[[topology.link]]`.
fn of_link(mut settings: Settings, name: &str, value: &str) -> Settings {
    let key = settings.find(name).expect("a setting");
    let raw = match value.parse::<f64>() {
        Ok(number) => Raw::from(number),
        Err(_) => value.split(' ').collect(),
    };
    settings.give(Table::Link(0), key, &raw, Origin::Default).expect("a value that fits");
    settings
}

pub(crate) fn flows(hosts: u32, random: &mut Xoshiro256PlusPlus) -> Vec<Flow> {
    let mut at = 0;
    let flow = |id| {
        at += below(random, 8_000_000_000);
        let src = below(random, hosts.into()) as u32;
        let dst = (src + 1 + below(random, u64::from(hosts) - 1) as u32) % hosts;
        let bytes = 1 + below(random, if id % 4 == 0 { 200_000 } else { 8_000 });
        Flow { id, start_ps: at, src, dst, bytes, class: 0, deadline_ps: None, coflow: Some(id / 5) }
    };
    (0..150).map(flow).collect()
}

pub(crate) fn simulated(fabric: &Fabric, scheme: &Scheme, flows: &[Flow], seed: u64) -> Option<Outcome> {
    let given = || -> Box<dyn Iterator<Item = Flow>> { Box::new(flows.iter().copied()) };
    let coflows = announcements(flows.iter().copied());
    let run_spec = RunSpec {
        wire_overhead: OVERHEAD,
        announcements: Some(&coflows),
        seed,
        ..RunSpec::new(fabric, scheme, Flows::Given(&given))
    };
    let links = (0..fabric.links.len() as u32).collect();
    let tracing = Tracing { links, span: Time::ZERO..Time::NEVER, most: u64::MAX };
    let mut outcome = Outcome::default();
    let result = run_traced(&run_spec, None, &tracing, &mut outcome, &mut go_on).ok()?;
    outcome.sent.sort_unstable();
    let programs = flowsieve_core::Place::ALL.iter().any(|&place| scheme.balancers.at(place).is_program());
    outcome.end = programs.then_some(Time(result.simulated_ps));
    Some(outcome)
}

/// Open-loop hosts: each message leaves whole as it begins, unless its tagger holds it back.
struct Senders {
    /// By host, then by class of flow.
    taggers: Vec<Vec<Tagger>>,
    /// Messages that are held back, with their hosts.
    held: Vec<(u32, Message)>,
    /// By message under way: how many of its packets have not arrived.
    missing: BTreeMap<u32, u64>,
    /// Packets to give back.
    arrived: Vec<u32>,
}

impl Senders {
    fn new(fabric: &Fabric, scheme: &Scheme, seed: u64) -> Senders {
        let sites = Sites::new(fabric, seed);
        let taggers = (0..fabric.hosts).map(|host| scheme.taggers(host, |class| sites.tagger(host, class)));
        Senders { taggers: taggers.collect(), held: Vec::new(), missing: BTreeMap::new(), arrived: Vec::new() }
    }

    /// Begins a message that is due, or holds it back.
    fn begin(&mut self, memory: &mut InMemory, host: u32, message: Message, now: Time, events: &mut Vec<HostEvent>) {
        let tagger = &mut self.taggers[host as usize][0];
        let mut tell = |tagger: &mut Tagger, event| {
            tagger.on_event(&event, now);
            events.push(HostEvent { at: now, host, class: 0, event });
        };
        if tagger.holds(&message) {
            tell(tagger, FlowEvent::HeldBack { message });
            return self.held.push((host, message));
        }
        let flow = message.id;
        tell(tagger, FlowEvent::MessageStart { flow, message, idle: Time::NEVER });
        self.missing.insert(message.id, message.bytes.div_ceil(PAYLOAD));
        for offset in (0..message.bytes).step_by(PAYLOAD as usize) {
            let payload = (message.bytes - offset).min(PAYLOAD) as u32;
            // Nothing is acknowledged to an open-loop sender.
            let remaining = message.bytes;
            let tag = tagger.tag(|| FlowFacts { flow, now, offset, payload, remaining, ..FlowFacts::of(&message) });
            let packet = memory.claim().expect("a free packet");
            *memory.meta(packet) = Meta {
                flow,
                coflow: message.coflow.unwrap_or(NONE),
                len: payload as u16 + 40,
                dst: message.to,
                tag,
                kind: Kind::Data,
                ..Meta::default()
            };
            memory.send(host, packet);
        }
        tell(tagger, FlowEvent::MessageEnd { flow, message, effort: None });
    }

    fn give_back(&mut self, memory: &mut InMemory) {
        self.arrived.drain(..).for_each(|packet| memory.release(packet));
    }
}

impl Followers for Senders {
    fn tagger(&mut self, host: u32, class: u8) -> &mut Tagger {
        &mut self.taggers[host as usize][usize::from(class)]
    }

    fn arrived(&mut self, packet: Arrived, meta: &Meta, events: &mut Vec<HostEvent>) {
        self.arrived.push(packet.packet);
        let message = meta.flow;
        let missing = self.missing.get_mut(&message).expect("a message under way");
        *missing -= 1;
        if *missing == 0 {
            let event = FlowEvent::Delivered { message, out_of_order: 0 };
            self.taggers[packet.host as usize][0].on_event(&event, packet.at);
            events.push(HostEvent { at: packet.at, host: packet.host, class: 0, event });
        }
    }

    fn release(&mut self, now: Time, memory: &mut InMemory, events: &mut Vec<HostEvent>) {
        self.give_back(memory);
        let taggers = &self.taggers;
        let mut released: Vec<_> =
            self.held.extract_if(.., |(host, message)| !taggers[*host as usize][0].holds(message)).collect();
        released.sort_by_key(|(_, message)| message.id);
        for (host, message) in released {
            self.begin(memory, host, message, now, events);
        }
    }
}

/// What happens in the fabric in memory, up to the end of the simulator's run if there is one.
pub(crate) fn in_memory(fabric: &Fabric, scheme: &Scheme, flows: &[Flow], seed: u64, end: Option<Time>) -> Outcome {
    let mut memory = InMemory::new(fabric, scheme, OVERHEAD, seed, 1 << 14);
    let outcome = Arc::new(Mutex::new(Outcome::default()));
    let told = Arc::clone(&outcome);
    memory.observe(Box::new(move |event, meta| {
        let mut outcome = told.lock().expect("no panic");
        let (Event::Sent { at, .. } | Event::Dropped { at, .. }) = event;
        if end.is_some_and(|end| at >= end) {
            return;
        }
        match event {
            Event::Sent { link, at, .. } => {
                outcome.sent.push((at.0, link, meta.flow, meta.len, meta.tag.priority()));
            }
            Event::Dropped { .. } => outcome.dropped += 1,
        }
    }));
    let coflows = announcements(flows.iter().copied());
    let mut controllers = Controllers::new(fabric, scheme, &coflows, seed).expect("controllers");
    let mut senders = Senders::new(fabric, scheme, seed);
    let mut events = Vec::new();
    let mut work_off = |memory: &mut InMemory, senders: &mut Senders, until, events: &mut Vec<HostEvent>| {
        match &mut controllers {
            Some(controllers) => {
                events.drain(..).for_each(|event| controllers.hear(event));
                controllers.work_off(memory, senders, until);
            }
            None => memory.work_off(until, |packet, meta| senders.arrived(packet, meta, events)),
        }
        senders.give_back(memory);
    };
    let mut now = Time::ZERO;
    for flow in flows {
        now = Time(flow.start_ps);
        work_off(&mut memory, &mut senders, now, &mut events);
        let (to, bytes, coflow) = (flow.dst as u16, flow.bytes, flow.coflow);
        let message = Message { id: flow.id, to, bytes, start: now, coflow, ..Message::default() };
        senders.begin(&mut memory, flow.src, message, now, &mut events);
    }
    while memory.held() > 0 || !senders.held.is_empty() {
        now += Time::from_us(10_000);
        work_off(&mut memory, &mut senders, now, &mut events);
    }
    work_off(&mut memory, &mut senders, end.unwrap_or(now).max(now), &mut events);
    assert_eq!(memory.held(), 0, "all packets are accounted for");
    let counts = memory.counts();
    assert_eq!(counts.taken, counts.delivered + counts.dropped);
    assert_eq!(memory.without_place(), 0, "each packet of a program has a place");
    drop(memory);
    let mut outcome = Arc::into_inner(outcome).expect("the fabric is gone").into_inner().expect("no panic");
    outcome.sent.sort_unstable();
    outcome.end = end;
    outcome
}

/// Fails if the two outcomes of a scheme in a shape differ, and names the first departure that does.
pub(crate) fn compare(scheme: &Scheme, shape: &Shape, found: &Outcome, simulated: &Outcome) {
    if let Some(first) = found.sent.iter().zip(&simulated.sent).position(|(a, b)| a != b) {
        panic!(
            "{}, {}: departure {first} is {:?}, the simulator's {:?}",
            scheme.name, shape.name, found.sent[first], simulated.sent[first]
        );
    }
    assert_eq!(found, simulated, "{}, {}", scheme.name, shape.name);
}
