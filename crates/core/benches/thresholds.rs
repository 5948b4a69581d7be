//! Demotion thresholds: reading a law of sizes, and each way to choose them.
//!
//!     cargo bench -p flowsieve-core --bench thresholds
//!
//! Sizes are bounded Pareto, shape 1.1, 1 KB to 1 GB: as a quantile function, and as 10,000 observed flows, which are what a
//! controller has. Load 0.8, eight queues.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use flowsieve_core::thresholds::{SizeLaw, background, equal_split, tandem, two_level, two_level_numeric};

const LOAD: f64 = 0.8;
const QUEUES: usize = 8;

fn quantile(p: f64) -> Option<u64> {
    let (shape, low, ratio) = (1.1, 1e3, 1e6);
    let survivors = 1.0 - p * (1.0 - libm::pow(ratio, -shape));
    Some((low * libm::pow(survivors, -1.0 / shape)).ceil() as u64)
}

fn observed() -> impl Iterator<Item = (u64, u64)> {
    (0..10_000).filter_map(|flow| Some((quantile((f64::from(flow) + 0.5) / 1e4)?, 1)))
}

fn thresholds(criterion: &mut Criterion) {
    let Ok(law) = SizeLaw::from_counts(observed()) else { return };
    let law = &law;
    measure(criterion, "law of a quantile function", || SizeLaw::from_quantiles(&quantile));
    measure(criterion, "law of 10,000 flows", || SizeLaw::from_counts(observed()));
    measure(criterion, "equal split", || equal_split(black_box(law), QUEUES));
    measure(criterion, "tandem", || tandem(black_box(law), LOAD, QUEUES));
    measure(criterion, "background", || background(black_box(law), LOAD, QUEUES));
    measure(criterion, "two-level, closed form", || two_level(black_box(law), LOAD));
    measure(criterion, "two-level, numeric", || two_level_numeric(black_box(law), LOAD));
}

fn measure<T>(criterion: &mut Criterion, name: &str, mut of: impl FnMut() -> T) {
    criterion.bench_function(name, |bencher| bencher.iter(&mut of));
}

criterion_group!(benches, thresholds);
criterion_main!(benches);
