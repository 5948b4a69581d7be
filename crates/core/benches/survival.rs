//! The sketch of what messages survive, and a table of thresholds for 32 hosts from their sketches.
//!
//!     cargo bench -p flowsieve-core --bench survival
//!
//! Sizes are bounded Pareto, shape 1.1, 1 KB to 1 GB, 600 messages a host. An update is what a host counts of a message
//! once a period: what it has sent since, or that it has ended.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use flowsieve_core::survival::SurvivalSketch;
use flowsieve_core::thresholds::{SizeLaw, background_slowdown_at_sizes};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const HOSTS: usize = 32;
const UPDATES: usize = 1 << 14;

fn sizes() -> impl FnMut() -> u64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    move || {
        let p = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        (1e3 * libm::pow(1.0 - p * (1.0 - libm::pow(1e6, -1.1)), -1.0 / 1.1)) as u64
    }
}

fn table(hosts: &[SurvivalSketch]) -> Option<Vec<u64>> {
    let mut all = SurvivalSketch::default();
    hosts.iter().for_each(|host| all.merge(host));
    background_slowdown_at_sizes(&SizeLaw::from_counts(all.sizes()).ok()?, 0.8, 8, 100_000).ok()
}

fn survival(criterion: &mut Criterion) {
    let mut size = sizes();
    let updates: Vec<(u64, u64)> = (0..UPDATES).map(|_| (size(), size())).map(|(a, b)| (a.min(b), a.max(b))).collect();
    let mut sketch = SurvivalSketch::default();
    let mut next = 0;
    criterion.bench_function("survival/advance", |bencher| {
        bencher.iter(|| {
            next = (next + 1) % UPDATES;
            let (from, to) = black_box(updates[next]);
            sketch.advance(from, to);
        });
    });
    criterion.bench_function("survival/end", |bencher| {
        bencher.iter(|| {
            next = (next + 1) % UPDATES;
            let (from, to) = black_box(updates[next]);
            sketch.end(from, to);
        });
    });
    black_box(&sketch);
    let mut hosts = vec![SurvivalSketch::default(); HOSTS];
    for host in &mut hosts {
        (0..600).for_each(|_| host.end(0, size()));
        (0..10).for_each(|_| host.advance(0, size()));
    }
    criterion.bench_function("survival/table for 32 hosts", |bencher| bencher.iter(|| table(black_box(&hosts))));
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = survival
}
criterion_main!(benches);
