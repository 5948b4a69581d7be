//! The fabric in memory against the simulator: the same packets leave every port at the same instants, and as many are
//! dropped. Open-loop senders send what the flow list says, so both see the same arrivals.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::{Kind, Meta, Time};
use flowsieve_fabric::topology::{FABRIC_SETTINGS, Fabric, Sites};
use flowsieve_lab::{Event, InMemory};
use flowsieve_record::{PacketEvent, PacketKind, PacketRow, TraceSink};
use flowsieve_schemes::{Context, REGISTRY, Scheme, WorkloadFacts};
use flowsieve_settings::{Raw, Settings};
use flowsieve_sim::trace::Tracing;
use flowsieve_sim::{FctEnd, Flows, Measure, Partitioning, RunSpec, go_on, run_traced};
use flowsieve_workload::Flow;
use flowsieve_workload::random::{Purpose, Xoshiro256PlusPlus, below, stream};

const OVERHEAD: u16 = 38;
const PAYLOAD: u64 = 1_460;

/// Sizes uniform to 1 MB, for thresholds.
struct Uniform;

impl WorkloadFacts for Uniform {
    fn distribution(&self) -> Option<&str> {
        None
    }

    fn load(&self) -> Option<f64> {
        Some(0.6)
    }

    fn quantile_bytes(&self, p: f64) -> Option<u64> {
        Some((p * 1e6).round() as u64)
    }
}

/// (when, link, flow, length, priority) of each departure, and the packets dropped.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    sent: Vec<(u64, u32, u32, u16, u8)>,
    dropped: u64,
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
            (PacketEvent::DroppedBuffer | PacketEvent::DroppedEvicted | PacketEvent::DroppedLoss, _) => {
                self.dropped += 1;
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// What the fabrics of a test have in common.
struct Shape {
    name: &'static str,
    settings: &'static [(&'static str, &'static str)],
    counts: &'static [(&'static str, i64)],
}

const SHAPES: [Shape; 5] = [
    Shape { name: "single switch", settings: &[("kind", "single-switch")], counts: &[("hosts", 5)] },
    Shape {
        name: "leaf-spine",
        settings: &[("kind", "leaf-spine")],
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

fn settings(shape: &Shape, scheme: &str, random: &mut Xoshiro256PlusPlus) -> Settings {
    let text = |text: String| Raw::from(text.as_str());
    let mut settings = Settings::of([flowsieve_schemes::SETTINGS, FABRIC_SETTINGS].concat().concat())
        .with(None, "parameters", "rfc")
        .with(None, "host_link", text(format!("{}Mbps", 10 + below(random, 200))))
        .with(None, "link_delay", text(format!("{}us", 1 + below(random, 300))))
        .with(None, "host_delay", "0us")
        .with(None, "nic", "scheme")
        .with(None, "buffer", text(format!("{}B", 20_000 + below(random, 200_000))))
        .with(Some(scheme), "transport", "open-loop");
    for &(name, value) in shape.settings {
        settings = settings.with(None, name, value);
    }
    for &(name, value) in shape.counts {
        settings = settings.with(None, name, value);
    }
    settings
}

fn flows(hosts: u32, random: &mut Xoshiro256PlusPlus) -> Vec<Flow> {
    let mut at = 0;
    let flow = |id| {
        at += below(random, 8_000_000_000);
        let src = below(random, hosts.into()) as u32;
        let dst = (src + 1 + below(random, u64::from(hosts) - 1) as u32) % hosts;
        let bytes = 1 + below(random, if id % 4 == 0 { 200_000 } else { 8_000 });
        Flow { id, start_ps: at, src, dst, bytes, class: 0, deadline_ps: None, coflow: None }
    };
    (0..150).map(flow).collect()
}

fn simulated(fabric: &Fabric, scheme: &Scheme, flows: &[Flow], seed: u64) -> Option<Outcome> {
    let given = || -> Box<dyn Iterator<Item = Flow>> { Box::new(flows.iter().copied()) };
    let run_spec = RunSpec {
        fabric,
        scheme,
        wire_overhead: OVERHEAD,
        flows: Flows::Given(&given),
        predictions: None,
        announcements: None,
        measure: Measure::All,
        fct_end: FctEnd::Arrival,
        seed,
        max_time: None,
        partitioning: Partitioning::Whole,
        most_packet_hops: None,
        fruitless_timeouts: None,
    };
    let links = (0..fabric.links.len() as u32).collect();
    let tracing = Tracing { links, span: Time::ZERO..Time::NEVER, most: u64::MAX };
    let mut outcome = Outcome::default();
    run_traced(&run_spec, None, &tracing, &mut outcome, &mut go_on).ok()?;
    outcome.sent.sort_unstable();
    Some(outcome)
}

fn in_memory(fabric: &Fabric, scheme: &Scheme, flows: &[Flow], seed: u64) -> Outcome {
    let mut memory = InMemory::new(fabric, scheme, OVERHEAD, seed, 1 << 14).expect("no programs");
    let outcome = Arc::new(Mutex::new(Outcome::default()));
    let told = Arc::clone(&outcome);
    memory.observe(Box::new(move |event, meta| {
        let mut outcome = told.lock().expect("no panic");
        match event {
            Event::Arrived { .. } => {}
            Event::Sent { link, at } => {
                outcome.sent.push((at.0, link, meta.flow, meta.len, meta.tag.priority()));
            }
            Event::Dropped { .. } => outcome.dropped += 1,
        }
    }));
    let sites = Sites::new(fabric, seed);
    let mut taggers: Vec<_> =
        (0..fabric.hosts).map(|host| scheme.taggers(host, |class| sites.tagger(host, class))).collect();
    let mut arrived = Vec::new();
    for flow in flows {
        let now = Time(flow.start_ps);
        memory.work_off(now, |packet, _| arrived.push(packet.packet));
        arrived.drain(..).for_each(|packet| memory.release(packet));
        for offset in (0..flow.bytes).step_by(PAYLOAD as usize) {
            let payload = (flow.bytes - offset).min(PAYLOAD) as u32;
            let facts = FlowFacts {
                flow: flow.id,
                message: flow.id,
                now,
                start: now,
                offset,
                payload,
                size: flow.bytes,
                // Nothing is acknowledged to an open-loop sender.
                remaining: flow.bytes,
                ..FlowFacts::default()
            };
            let tag = taggers[flow.src as usize][0].tag(|| facts);
            let packet = memory.claim().expect("a free packet");
            *memory.meta(packet) = Meta {
                flow: flow.id,
                len: payload as u16 + 40,
                dst: flow.dst as u16,
                tag,
                kind: Kind::Data,
                ..Meta::default()
            };
            memory.send(flow.src, packet);
        }
    }
    memory.work_off(Time(u64::MAX / 2), |packet, _| arrived.push(packet.packet));
    assert_eq!(memory.held(), 0, "all packets are accounted for");
    let counts = memory.counts();
    assert_eq!(counts.taken, counts.delivered + counts.dropped);
    drop(memory);
    let mut outcome = Arc::into_inner(outcome).expect("the fabric is gone").into_inner().expect("no panic");
    outcome.sent.sort_unstable();
    outcome
}

/// Every scheme of the registry that may have open-loop senders, has no controllers and no programs.
#[test]
fn in_memory__is_equal_to_the_simulator_departure_by_departure() {
    let (mut schemes, mut sent, mut dropped) = (0, 0, 0);
    for entry in REGISTRY {
        let mut plays = false;
        for (shape, seed) in SHAPES.iter().zip(1..) {
            let mut random = stream(seed, Purpose::OwnPart, 99);
            let settings = settings(shape, entry.name, &mut random);
            let context = Context { scope: settings.scheme(entry.name), workload: &Uniform };
            let Ok(scheme) = (entry.build)(&context) else { continue };
            if !scheme.controllers.is_empty() {
                continue;
            }
            let fabric = Fabric::from_settings(&settings).expect("a fabric");
            let flows = flows(fabric.hosts, &mut random);
            let Some(simulated) = simulated(&fabric, &scheme, &flows, seed) else { continue };
            let found = in_memory(&fabric, &scheme, &flows, seed);
            let first = found.sent.iter().zip(&simulated.sent).position(|(a, b)| a != b);
            if let Some(first) = first {
                panic!(
                    "{}, {}: departure {first} is {:?}, the simulator's {:?}",
                    entry.name, shape.name, found.sent[first], simulated.sent[first]
                );
            }
            assert_eq!(found, simulated, "{}, {}", entry.name, shape.name);
            plays = true;
            sent += found.sent.len();
            dropped += found.dropped;
        }
        schemes += usize::from(plays);
    }
    assert!(schemes >= 30 && sent > 100_000 && dropped > 1_000, "{schemes} schemes, {sent} sent, {dropped} dropped");
}
