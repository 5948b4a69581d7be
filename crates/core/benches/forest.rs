//! Bounds of a flow's size from a forest of 100 trees of depth 10, and the predicted size.
//!
//!     cargo bench -p flowsieve-core --bench forest
//!
//! The forest is grown at random and has as many nodes as one that was trained on 3,200 flows. 2,000 flows take turns, so
//! no branch predictor and no first-level cache learns their ways. *Cold*: between two flows 4 MB of other data are
//! touched, and the time is that of the bounds alone.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use flowsieve_core::forest::Forest;

#[path = "../tests/common/forest_file.rs"]
mod forest_file;

use forest_file::{Grower, file};

const FLOWS: usize = 2_000;
const TREES: usize = 100;
const DEPTH: u8 = 10;
const RANGE: u64 = 1 << 20;
const FEATURES: [(&str, &str); 12] = [
    ("start_us", "us"),
    ("gap_us", "us"),
    ("last_size_1", "bytes"),
    ("last_size_2", "bytes"),
    ("last_size_3", "bytes"),
    ("last_size_4", "bytes"),
    ("last_size_5", "bytes"),
    ("src", ""),
    ("dst", ""),
    ("src_port", ""),
    ("dst_port", ""),
    ("protocol", ""),
];
/// What a host does between two flows, in 64-bit words.
const OTHER_DATA: usize = 4_000_000 / 8;

type Features = [u64; FEATURES.len()];

fn forest_and_flows() -> (Forest, Vec<Features>) {
    let mut grower = Grower::new(1);
    let training_flows = 206;
    let trees: Vec<_> =
        (0..TREES).map(|_| grower.tree(training_flows, DEPTH, &mut [(0, RANGE); FEATURES.len()])).collect();
    let forest = Forest::parse(&file(&FEATURES, training_flows.into(), &trees)).expect("a forest");
    let flows = (0..FLOWS).map(|_| std::array::from_fn(|_| grower.below(RANGE))).collect();
    (forest, flows)
}

fn bench(criterion: &mut Criterion) {
    let (forest, flows) = forest_and_flows();
    println!("{} trees, {} nodes", forest.trees(), forest.nodes());
    let mut each = flows.iter().cycle();
    let mut next = || each.next().expect("flows take turns");
    criterion.bench_function("forest/bounds, warm", |bencher| {
        bencher.iter(|| forest.bounds(black_box(next())));
    });
    criterion.bench_function("forest/predicted, warm", |bencher| {
        bencher.iter(|| forest.predicted(black_box(next())));
    });
    let mut other = vec![0u64; OTHER_DATA];
    criterion.bench_function("forest/bounds, cold", |bencher| {
        bencher.iter_custom(|times| {
            let mut spent = Duration::ZERO;
            for _ in 0..times {
                other.iter_mut().for_each(|word| *word += 1);
                black_box(&mut other);
                let features = next();
                let begin = Instant::now();
                black_box(forest.bounds(black_box(features)));
                spent += begin.elapsed();
            }
            spent
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2));
    targets = bench
}
criterion_main!(benches);
