//! What coflows cost: an order of many, and a packet's way through pCoflow's queue compared with a bank of FIFO queues.
//!
//!     cargo bench -p flowsieve-core --bench coflow
//!
//! The order is Sincronia's, of 500 coflows at 150 ports that are as wide as those of the Facebook trace. At the ports 2,000
//! packets of 1,000 coflows wait, and one arrives and one leaves; priorities and coflows come in an order that no branch
//! predictor learns.

mod common;

use std::hint::black_box;
use std::time::Duration;

use common::{PACKET_BYTES, Port, steady};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use flowsieve_core::admission::Admission;
use flowsieve_core::bank::FifoBank;
use flowsieve_core::coflow::{Coflow, Demand, OrderRule, Snapshot};
use flowsieve_core::discipline::Discipline;
use flowsieve_core::marker::{MarkScope, Marker};
use flowsieve_core::meta::Ecn;
use flowsieve_core::pcoflow::{Keeps, Marks, PcoflowPort, PcoflowRules};
use flowsieve_core::scheduler::{Line, PortSite};
use flowsieve_core::{Meta, Rate, Scheduler, Tag};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const PORTS: u64 = 150;
const COFLOWS: usize = 500;
/// How many mappers, and how many reducers, coflows of the Facebook trace have: the fewest, at its deciles, and the most.
const MAPPERS: [u64; 11] = [1, 1, 1, 1, 2, 3, 7, 13, 27, 64, 147];
const REDUCERS: [u64; 11] = [1, 1, 1, 1, 1, 1, 1, 9, 35, 73, 145];

const BANDS: usize = 8;
const WAITING: u32 = 2_000;
const OWNERS: u64 = 1_000;

struct Draws(Xoshiro256PlusPlus);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        ((self.0.next_u64() >> 32) * n) >> 32
    }

    /// This many of the ports, ascending.
    fn ports(&mut self, count: u64, offset: u32) -> Vec<u32> {
        let mut all: Vec<u32> = (0..PORTS as u32).collect();
        for at in 0..count {
            let other = at + self.below(PORTS - at);
            all.swap(at as usize, other as usize);
        }
        let mut drawn: Vec<u32> = all[..count as usize].iter().map(|port| port + offset).collect();
        drawn.sort_unstable();
        drawn
    }
}

/// Coflows of the trace's widths.
fn snapshot() -> Snapshot {
    let mut draws = Draws(Xoshiro256PlusPlus::seed_from_u64(1));
    let width = |of: &[u64; 11], draws: &mut Draws| {
        let decile = draws.below(10) as usize;
        of[decile] + draws.below(of[decile + 1] - of[decile] + 1)
    };
    let coflow = |key| {
        let senders = width(&MAPPERS, &mut draws);
        let receivers = width(&REDUCERS, &mut draws);
        let mut ports = draws.ports(senders, 0);
        ports.extend(draws.ports(receivers, PORTS as u32));
        let demands = ports.into_iter().map(|port| Demand { port, time: 1 + draws.below(1 << 30) }).collect();
        Coflow { key, weight: 1.0, demands, ..Coflow::default() }
    };
    Snapshot { ports: 2 * PORTS as usize, coflows: (0..COFLOWS as u32).map(coflow).collect() }
}

fn order(criterion: &mut Criterion) {
    let snapshot = snapshot();
    criterion.bench_function("order/BSSI, 500 coflows, 150 ports", |bencher| {
        bencher.iter(|| OrderRule::Bssi.order(black_box(&snapshot)));
    });
}

fn site() -> PortSite {
    let above = 200 * u64::from(PACKET_BYTES);
    let marker = Marker::Threshold { above, scope: MarkScope::Queue, counts_arriving: true };
    let line = Line { byte_time: Rate::new(10_000_000_000).expect("a rate").byte_time(), overhead: 0 };
    PortSite { line, header: 40, admission: Admission::PerPort { limit: 4_000 * u64::from(PACKET_BYTES) }, marker }
}

fn bank() -> Scheduler {
    let PortSite { admission, marker, .. } = site();
    Scheduler::Bank(FifoBank::new(BANDS, admission, marker, Discipline::StrictPriority))
}

fn queue(slots: Option<usize>) -> Scheduler {
    let rules = PcoflowRules { bands: BANDS, keeps: Keeps::Coflows, slots, marks: Marks::Tagged, moves: false };
    Scheduler::Pcoflow(Box::new(PcoflowPort::new(&rules, &site())))
}

/// Packets of any coflow and priority.
fn arrivals() -> Vec<Meta> {
    let mut draws = Draws(Xoshiro256PlusPlus::seed_from_u64(3));
    let packet = |_| {
        let (coflow, priority) = (draws.below(OWNERS) as u32, draws.below(BANDS as u64) as u8);
        let tag = Tag::new(priority, 0);
        Meta { flow: coflow, coflow, tag, len: PACKET_BYTES, ecn: Ecn::Capable, ..Meta::default() }
    };
    (0..1 << 14).map(packet).collect()
}

fn ports(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("port with 2,000 packets of 1,000 coflows");
    let kinds = [("bank", bank()), ("pCoflow, exact", queue(None)), ("pCoflow, 4,096 slots", queue(Some(4_096)))];
    for (name, scheduler) in kinds {
        steady(&mut group, BenchmarkId::from_parameter(name), Port::new(scheduler, arrivals(), WAITING));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500));
    targets = order, ports
}
criterion_main!(benches);
