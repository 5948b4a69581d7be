//! A packet's way through a port: one packet arrives and one leaves, so that the backlog stays.
//!
//!     cargo bench -p flowsieve-core --bench port
//!
//! prints the time of one arrival with one departure. Backlog 0 is the idle port; a port of the pFabric kind that is
//! full sees two arrivals and one eviction or drop for each departure. Packets of 16 flows and 8 priorities take turns
//! in an order that no branch predictor learns.

mod common;

use std::hint::black_box;
use std::time::Duration;

use common::{PACKET_BYTES, Port};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use flowsieve_core::admission::Admission;
use flowsieve_core::bank::FifoBank;
use flowsieve_core::discipline::Discipline;
use flowsieve_core::marker::{MarkScope, Marker};
use flowsieve_core::meta::Ecn;
use flowsieve_core::pfabric::PfabricPool;
use flowsieve_core::pifo::Pifo;
use flowsieve_core::{Meta, Scheduler, Tag};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const QUEUES: usize = 8;
const FLOWS: usize = 16;
/// Packets that wait; of 1,500 bytes, so that the last is half of a switch port's usual buffer.
const BACKLOGS: [u32; 4] = [0, 1, 16, 120];

/// More packets than a branch predictor remembers: random flows and priorities; a flow's rank falls, packet by packet,
/// as the bytes that remain of it, and starts anew at some size.
fn arrivals() -> Vec<Meta> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut below = |n: u64| ((random.next_u64() >> 32) * n) >> 32;
    let mut remaining = [0; FLOWS];
    let packet = |_| {
        let flow = below(FLOWS as u64) as usize;
        if remaining[flow] == 0 {
            remaining[flow] = 1_460 * (1 + below(100) as u32);
        }
        let rank = remaining[flow];
        remaining[flow] -= 1_460;
        let priority = below(QUEUES as u64) as u8;
        let tag = Tag::new(priority, rank);
        Meta { flow: flow as u32, tag, len: PACKET_BYTES, ecn: Ecn::Capable, ..Meta::default() }
    };
    (0..1 << 14).map(packet).collect()
}

/// Queues of priorities with marks of the whole port's length, as PIAS has them.
fn bank(discipline: Discipline) -> Scheduler {
    let marker =
        Marker::Threshold { above: 65 * u64::from(PACKET_BYTES), scope: MarkScope::Port, counts_arriving: true };
    Scheduler::Bank(FifoBank::new(QUEUES, Admission::PerPort { limit: 360_000 }, marker, discipline))
}

type Make = fn() -> Scheduler;

const SCHEDULERS: [(&str, Make); 5] = [
    ("strict priority", || bank(Discipline::StrictPriority)),
    ("WRR", || bank(Discipline::WeightedRoundRobin { weights: vec![1; QUEUES] })),
    ("DRR", || bank(Discipline::DeficitRoundRobin { quanta: vec![u32::from(PACKET_BYTES); QUEUES] })),
    ("PIFO", || Scheduler::Pifo(Pifo::new(None, Admission::PerPort { limit: 360_000 }, Marker::Off))),
    ("pFabric", || Scheduler::Pfabric(PfabricPool::new(360_000))),
];

fn steady(criterion: &mut Criterion) {
    for (name, make) in SCHEDULERS {
        let mut group = criterion.benchmark_group(format!("port/{name}"));
        for backlog in BACKLOGS {
            common::steady(&mut group, BenchmarkId::from_parameter(backlog), Port::new(make(), arrivals(), backlog));
        }
        group.finish();
    }
}

fn full(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("port/pFabric, full");
    for backlog in [24, 140] {
        let mut port = Port::new(Scheduler::Pfabric(PfabricPool::new(u64::from(backlog) * 1_500)), arrivals(), backlog);
        group.bench_function(BenchmarkId::from_parameter(backlog), |bencher| {
            bencher.iter(|| {
                port.arrive();
                let packet = port.depart();
                port.arrive();
                black_box(packet)
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300));
    targets = steady, full
}
criterion_main!(benches);
