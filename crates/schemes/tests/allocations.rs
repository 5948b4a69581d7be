//! Nothing is allocated for a packet once a port and a tagger have room: on real packets, memory that grows under load is
//! a pause.

use flowsieve_core::admission::Pool;
use flowsieve_core::meta::Ecn;
use flowsieve_core::scheduler::Line;
use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::{FlowEvent, Kind, Message, Meta, NONE, PortContext, PortScheduler, Rate, Tag, Time, Victims};
use flowsieve_schemes::REGISTRY;
use flowsieve_schemes::scheme::PortSpec;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::common::{ports, scheme, sets};

/// Frames that there are.
const FRAMES: usize = 4_096;
/// Flows with a packet now and then.
const FLOWS: u64 = 1_000;

fn below(random: &mut Xoshiro256PlusPlus, end: u64) -> u64 {
    random.next_u64() % end
}

/// Plays packets of random flows, ranks and coflows at a load that fills the port, and returns the allocations.
fn played(spec: &PortSpec, packets: u64) -> u64 {
    let line = Line { byte_time: Rate::new(10_000_000_000).expect("a rate").byte_time(), overhead: 24 };
    let mut port = spec.build(line, 40, || unreachable!("a built-in port"));
    port.reserve(FRAMES);
    let mut metas = vec![Meta::default(); FRAMES];
    let mut free: Vec<u32> = (0..FRAMES as u32).collect();
    let (mut pool, mut victims, mut marks) = (Pool::new(1 << 20), Victims::default(), 0);
    let [mut random, mut chance] = [1, 2].map(Xoshiro256PlusPlus::seed_from_u64);
    let shares = spec.shares_memory();
    let counted = allocation_counter::measure(|| {
        let (mut now, mut free_at) = (Time::ZERO, Time::ZERO);
        for _ in 0..packets {
            // A fifth more than the line can carry at first, and bursts.
            now += Time(below(&mut chance, 2_000_000));
            while free_at <= now || free.is_empty() {
                let mut context = PortContext {
                    now: free_at,
                    pool: &mut pool,
                    victims: &mut victims,
                    random: &mut random,
                    marks: &mut marks,
                };
                let Some(packet) = port.dequeue(&mut metas, &mut context) else { break };
                let len = metas[packet as usize].len;
                if shares {
                    pool.give(len);
                }
                free.push(packet);
                free_at += line.serialise(len);
            }
            free_at = free_at.max(now);
            now = now.max(free_at);
            let Some(packet) = free.pop() else { return };
            let word = chance.next_u64();
            metas[packet as usize] = Meta {
                flow: below(&mut chance, FLOWS) as u32,
                coflow: if word & 1 == 0 { NONE } else { below(&mut chance, 50) as u32 },
                len: if word & 6 == 0 { 40 } else { 1_500 },
                kind: if word & 24 == 0 { Kind::Ack } else { Kind::Data },
                ecn: Ecn::Capable,
                tag: Tag::new((word >> 8) as u8 % 9, (word >> 16) as u32 % 100_000),
                ..Meta::default()
            };
            let mut context =
                PortContext { now, pool: &mut pool, victims: &mut victims, random: &mut random, marks: &mut marks };
            let verdict = port.enqueue(&mut metas, packet, &mut context);
            for victim in victims.drain(..).chain((!verdict.is_accepted()).then_some(packet)) {
                if shares && victim != packet {
                    pool.give(metas[victim as usize].len);
                }
                free.push(victim);
            }
            if shares && verdict.is_accepted() {
                pool.take(metas[packet as usize].len);
            }
        }
    });
    counted.count_total
}

#[test]
fn every_port__allocates_nothing_for_a_packet() {
    for (name, spec) in ports() {
        assert_eq!(played(&spec, 10_000), 0, "{name}");
    }
}

/// Schemes whose ports solve for thresholds at times: a solver needs memory for each solution, and none for a packet.
const SOLVES: [&str; 1] = ["awafs-auto"];

#[test]
fn schemes__allocate_nothing_in_a_million_packets() {
    let [_, settings] = sets();
    for entry in REGISTRY.iter() {
        let scheme = scheme(entry.name.as_str(), &settings).expect("a scheme");
        let spec = scheme.ports.at(flowsieve_settings::Place::Leaf);
        let most = if SOLVES.contains(&entry.name.as_str()) { 1_000 } else { 0 };
        let allocations = played(spec, 1_000_000);
        assert!(allocations <= most, "{}: {allocations}", entry.name.as_str());
    }
}

/// A thousand messages under way, each with its packets, and a new one for each that ends.
#[test]
fn taggers__allocate_nothing_in_a_million_packets() {
    let mut counted = 0;
    for settings in sets() {
        for entry in REGISTRY.iter() {
            let scheme = scheme(entry.name.as_str(), &settings).expect("a scheme");
            let mut tagger = scheme.classes[0].tagger.build(|| unreachable!("a built-in tagger"));
            tagger.reserve(FLOWS as usize);
            let mut messages: Vec<u32> = (0..FLOWS as u32).collect();
            let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
            let message = |id: u32| Message { id, bytes: 20_000, ..Message::default() };
            let allocations = allocation_counter::measure(|| {
                for number in 0..1_000_000u64 {
                    let now = Time(number * 1_000_000);
                    let flow = below(&mut random, FLOWS) as u32;
                    let id = messages[flow as usize];
                    let offset = below(&mut random, 20) * 1_000;
                    if offset == 0 {
                        tagger.on_event(&FlowEvent::MessageEnd { flow, message: message(id), effort: None }, now);
                        let message = message(id + FLOWS as u32);
                        messages[flow as usize] = message.id;
                        tagger.on_event(&FlowEvent::MessageStart { flow, message, idle: Time::ZERO }, now);
                    }
                    let of = message(messages[flow as usize]);
                    let facts = FlowFacts {
                        flow,
                        now,
                        offset,
                        payload: 1_000,
                        remaining: 20_000 - offset,
                        ..FlowFacts::of(&of)
                    };
                    tagger.tag(|| facts);
                }
            });
            assert_eq!(allocations.count_total, 0, "{}", entry.name.as_str());
            counted += 1;
        }
    }
    assert_eq!(counted, 2 * REGISTRY.len());
}
