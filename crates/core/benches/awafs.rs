//! What an AWAFS port does once in a period: an update of seven thresholds from a list of 250 completed flows.
//!
//!     cargo bench -p flowsieve-core --bench awafs
//!
//! Sizes come in no order, and all are within the window.

use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use flowsieve_core::Time;
use flowsieve_core::awafs::{Actuator, ActuatorParams};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const FLOWS: usize = 250;

fn update(criterion: &mut Criterion) {
    let ms = |ms: u64| Time::from_us(1_000 * ms);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut actuator = Actuator::new(&ActuatorParams {
        initial: (1..8).map(|i| 7_000 * i).collect(),
        percentiles: (1..8).map(|i| 100_000 * i).collect(),
        of_sizes: false,
        model: None,
        period: ms(200),
        window: ms(250),
        entries: FLOWS,
    });
    (0..FLOWS).for_each(|_| actuator.complete(ms(150), random.next_u32() >> 8));
    criterion.bench_function("update of 250 flows", |bencher| {
        let update = |mut port: Actuator| {
            port.tick(ms(200));
            port
        };
        bencher.iter_batched(|| actuator.clone(), update, BatchSize::SmallInput);
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = update
}
criterion_main!(benches);
