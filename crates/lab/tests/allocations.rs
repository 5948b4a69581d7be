//! Nothing is allocated in the fabric after set-up, switches' programs included: on real packets, memory that grows is a
//! pause.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flowsieve_core::program::Watches;
use flowsieve_core::{BalancerSpec, Kind, Meta, NONE, ProgramPacket, Site, SwitchPorts, SwitchProgram, Time};
use flowsieve_schemes::bare::{self, Facts};
use flowsieve_sim::in_memory::{Event, InMemory};
use flowsieve_sim::topology::Fabric;
use flowsieve_workload::random::{Purpose, below, stream};

/// Half a million packets between random hosts over HULA's paths, and its probes beside them.
#[test]
fn in_memory__allocates_nothing_under_hula() {
    let settings = bare::none_given()
        .with(None, "kind", "leaf-spine")
        .with(None, "leaves", 3)
        .with(None, "spines", 2)
        .with(None, "hosts_per_leaf", 2)
        .with(None, "host_link", "1Gbps")
        .with(None, "load_balancing", "hula")
        .with(None, "probe_interval", "100us");
    let scheme = bare::scheme("dctcp", &settings, &Facts::NONE).expect("it is built");
    let fabric = Fabric::from_settings(&settings).expect("a fabric");
    let mut memory = InMemory::new(&fabric, &scheme, 24, 1, 1 << 13);
    let of_programs = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&of_programs);
    memory.observe(Box::new(move |event, meta| {
        if matches!(event, Event::Sent { .. }) && meta.flow == NONE {
            told.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let mut random = stream(1, Purpose::OwnPart, 5);
    let mut arrived = Vec::with_capacity(1 << 13);
    let counted = allocation_counter::measure(|| {
        let mut now = Time::ZERO;
        for _ in 0..500_000 {
            now += Time(below(&mut random, 3_600_000));
            memory.work_off(now, |packet, _| arrived.push(packet.packet));
            arrived.drain(..).for_each(|packet| memory.release(packet));
            let Some(packet) = memory.claim() else { continue };
            let (from, to) = (below(&mut random, 6) as u32, below(&mut random, 6) as u16);
            let flow = below(&mut random, 100) as u32;
            *memory.meta(packet) = Meta { flow, len: 1_500, dst: to, kind: Kind::Data, ..Meta::default() };
            memory.send(from, packet);
        }
    });
    let counts = memory.counts();
    assert!(counts.delivered > 300_000 && counts.dropped > 100, "{counts:?}");
    assert!(of_programs.load(Ordering::Relaxed) > 100_000 && memory.ticks() > 10_000, "{of_programs:?}");
    assert_eq!(memory.without_place(), 0);
    assert_eq!(counted.count_total, 0);
}

/// A program that sends as much as it can, to all sides, at one instant.
struct Flood(Time, u16);

impl SwitchProgram for Flood {
    fn watches(&self) -> Watches {
        Watches::default()
    }

    fn choose(&mut self, _: &Meta, _: u16, _: u16, _: Time, _: &mut dyn SwitchPorts) -> usize {
        0
    }

    fn on_program_packet(&mut self, _: &ProgramPacket, _: Time, _: &mut dyn SwitchPorts) {}

    fn next_timer(&self) -> Time {
        self.0
    }

    fn on_timer(&mut self, _: Time, ports: &mut dyn SwitchPorts) {
        self.0 = Time::NEVER;
        for number in 0..10_000 {
            ports.send(ProgramPacket { port: number % self.1, len: 64, priority: 0, payload: [0; 6] });
        }
    }
}

/// 64 packets for each of six links have places; what a program sends beyond is counted, and hosts keep theirs.
#[test]
fn in_memory__a_program_that_floods_leaves_hosts_their_places() {
    let settings = bare::none_given().with(None, "kind", "single-switch").with(None, "hosts", 3);
    let mut scheme = bare::scheme("dctcp", &settings, &Facts::NONE).expect("it is built");
    let own = |_, _: &BalancerSpec| {
        let flood = |site: &Site| Flood(Time::from_us(1), site.ports.len() as u16);
        Ok::<_, Infallible>(BalancerSpec::custom(flood))
    };
    scheme.balancers = scheme.balancers.try_map(own).expect("balancers");
    let fabric = Fabric::from_settings(&settings).expect("a fabric");
    let mut memory = InMemory::new(&fabric, &scheme, 24, 1, 4);
    memory.work_off(Time::from_us(1), |_, _| ());
    assert_eq!(memory.without_place(), 10_000 - 6 * 64);
    let claimed: Vec<u32> = std::iter::from_fn(|| memory.claim()).collect();
    assert!(claimed.len() == 4 && claimed.iter().all(|&packet| (packet as usize) < memory.places()), "{claimed:?}");
    assert_eq!(memory.places(), 6 * 64 + 4);
    // When they have arrived or are lost, their places are free again: those of hosts are still taken.
    memory.work_off(Time::from_us(1_000), |arrived, _| panic!("{arrived:?}"));
    assert_eq!((memory.claim(), memory.next()), (None, Time::NEVER));
}
