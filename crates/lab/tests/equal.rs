//! The fabric in memory against the simulator: the same packets leave every port at the same instants, and as many are
//! dropped. Open-loop senders send what the flow list says, so both see the same arrivals.

use std::convert::Infallible;

use flowsieve_core::program::{Asked, Counted, Watches};
use flowsieve_core::{BalancerSpec, Meta, ProgramPacket, Site, SwitchPorts, SwitchProgram, Time};
use flowsieve_schemes::{REGISTRY, bare};
use flowsieve_sim::topology::Fabric;
use flowsieve_transport::TransportSpec;
use flowsieve_workload::random::{Purpose, stream};

use crate::fabrics::{FULL, SHAPES, UNIFORM, compare, flows, in_memory, settings, settings_with, simulated};

/// Every scheme of the registry that may have open-loop senders.
#[test]
fn in_memory__is_equal_to_the_simulator_departure_by_departure() {
    let (mut schemes, mut controlled, mut sent, mut dropped, mut of_programs) = (0, 0, 0, 0, 0);
    for entry in REGISTRY.iter() {
        let mut plays = false;
        for (shape, seed) in SHAPES.iter().zip(1..) {
            let mut random = stream(seed, Purpose::OwnPart, 99);
            let settings = settings(shape, entry.name.as_str(), &mut random);
            let Ok(scheme) = bare::scheme(entry.name.as_str(), &settings, &UNIFORM) else { continue };
            // Homa's hosts are always its own.
            if scheme.classes.iter().any(|class| !matches!(class.transport, TransportSpec::OpenLoop(_))) {
                continue;
            }
            let fabric = Fabric::from_settings(&settings).expect("a fabric");
            let flows = flows(fabric.hosts, &mut random);
            let Some(simulated) = simulated(&fabric, &scheme, &flows, seed) else { continue };
            let found = in_memory(&fabric, &scheme, &flows, seed, simulated.end);
            compare(&scheme, shape, &found, &simulated);
            plays = true;
            controlled += usize::from(!scheme.controllers.is_empty());
            sent += found.sent.len();
            dropped += found.dropped;
            of_programs += found.of_programs();
        }
        schemes += usize::from(plays);
    }
    assert!(schemes >= 30 && sent > 100_000 && dropped > 1_000, "{schemes} schemes, {sent} sent, {dropped} dropped");
    assert!(of_programs > 100_000, "{of_programs} packets of programs");
    assert!(controlled >= 5, "{controlled} fabrics with controllers");
}

/// A program that sees every packet, prefers the port with the shortest queue and then the one that has sent least, answers
/// each packet of a neighbour once, and tells everybody around, hosts too, of the bytes that it has seen.
struct Gossip {
    site: Site,
    seen: u32,
    next: Time,
}

impl Gossip {
    fn new(site: &Site) -> Gossip {
        // Timers fire as full packets come to the first switches, and as others are on the way.
        Gossip { site: site.clone(), seen: 0, next: FULL + DELAY }
    }
}

impl SwitchProgram for Gossip {
    fn watches(&self) -> Watches {
        Watches { packets: Asked::Every, sent_bytes: Counted::All }
    }

    fn choose(&mut self, packet: &Meta, from: u16, group: u16, now: Time, ports: &mut dyn SwitchPorts) -> usize {
        let seen = u32::from(packet.len).wrapping_add(u32::from(from)).wrapping_add(now.0 as u32);
        self.seen = self.seen.wrapping_add(seen);
        let ways = &self.site.groups[usize::from(group)];
        let load = |&port: &u16| (ports.backlog_bytes(port), ports.sent_bytes(port));
        let loads: Vec<_> = ways.iter().map(load).collect();
        loads.iter().zip(0..).min().map_or(0, |(_, way)| way)
    }

    fn on_program_packet(&mut self, packet: &ProgramPacket, _: Time, ports: &mut dyn SwitchPorts) {
        let [asks, seen, ..] = packet.payload;
        self.seen = self.seen.wrapping_add(seen);
        if asks > 0 {
            let len = 64 + (self.seen % 1_000) as u16;
            ports.send(ProgramPacket { len, payload: [asks - 1, self.seen, 0, 0, 0, 0], ..*packet });
        }
    }

    fn next_timer(&self) -> Time {
        self.next
    }

    fn on_timer(&mut self, now: Time, ports: &mut dyn SwitchPorts) {
        self.next = now + TICK;
        for port in 0..self.site.ports.len() as u16 {
            let priority = (self.seen % 3) as u8;
            ports.send(ProgramPacket { port, len: 64, priority, payload: [1, self.seen, 0, 0, 0, 0] });
        }
    }
}

/// The time between two timers of [`Gossip`], and between two pairs of flows beside it.
const TICK: Time = Time(3_000_000_000);

/// The delay of its links.
const DELAY: Time = Time::from_us(100);

/// A program of one's own sees the same packets, ports and instants, although its timers and packets meet.
#[test]
fn in_memory__a_program_of_ones_own_sees_what_it_sees_in_the_simulator() {
    let mut of_programs = 0;
    for (shape, seed) in SHAPES.iter().zip(1..).filter(|(shape, _)| !shape.name.contains("HULA")) {
        let mut random = stream(seed, Purpose::OwnPart, 98);
        let settings = settings_with(shape, "pias", (100, 100), &mut random);
        let mut scheme = bare::scheme("pias", &settings, &UNIFORM).expect("a scheme");
        let own = |_, _: &BalancerSpec| Ok::<_, Infallible>(BalancerSpec::custom(Gossip::new));
        scheme.balancers = scheme.balancers.try_map(own).expect("balancers");
        let fabric = Fabric::from_settings(&settings).expect("a fabric");
        let mut flows = flows(fabric.hosts, &mut random);
        (0..).zip(&mut flows).for_each(|(number, flow)| flow.start_ps = number / 2 * TICK.0);
        let simulated = simulated(&fabric, &scheme, &flows, seed).expect("a run");
        let found = in_memory(&fabric, &scheme, &flows, seed, simulated.end);
        compare(&scheme, shape, &found, &simulated);
        of_programs += found.of_programs();
    }
    assert!(of_programs > 10_000, "{of_programs} packets of programs");
}
