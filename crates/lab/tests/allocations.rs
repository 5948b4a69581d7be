//! Nothing is allocated in the fabric after set-up, switches' programs included: on real packets, memory that grows is a
//! pause.

use flowsieve_core::{Kind, Meta, Time};
use flowsieve_schemes::bare::{self, Facts};
use flowsieve_sim::in_memory::InMemory;
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
    assert!(memory.ticks() > 10_000, "{}", memory.ticks());
    assert_eq!(counted.count_total, 0);
}
