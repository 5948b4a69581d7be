//! The event queue in the hold model (Jones, CACM 1986): the earliest of a fixed number of events is taken and comes
//! again at a later, exponentially distributed instant, which is what a link or a host does in a run.
//!
//!     cargo bench -p flowsieve-sim --bench events
//!
//! prints the time of one hold. The baseline is the standard library's heap, once with a removal and an insertion, once
//! with its first entry changed in place.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use flowsieve_core::Time;
use flowsieve_sim::event::{Key, WinnerTree};
use flowsieve_workload::random::{Purpose, stream, uniform01};

/// Links, hosts and one for arrivals: the reference fabric of 144 hosts has 505, a fat-tree of k = 8 has 897 and one of
/// k = 16 has 7,169; the tree rounds up to these.
const SOURCES: [u32; 3] = [512, 1_024, 8_192];

/// Exponential gaps with a mean of a full packet's time at 10 Gbit/s, again and again.
struct Gaps {
    gaps: Vec<u64>,
    at: usize,
}

impl Gaps {
    const COUNT: usize = 1 << 14;

    fn new() -> Gaps {
        let mut random = stream(1, Purpose::Arrivals, 0);
        let gap = |_| (-1_200_000.0 * libm::log(1.0 - uniform01(&mut random))) as u64;
        Gaps { gaps: (0..Gaps::COUNT).map(gap).collect(), at: 0 }
    }

    #[inline]
    fn next(&mut self) -> Time {
        self.at = (self.at + 1) % Gaps::COUNT;
        Time(self.gaps[self.at])
    }

    /// The first event of each source.
    fn keys<K: Key>(&mut self, sources: u32) -> impl Iterator<Item = K> {
        (0..sources).map(|source| K::new(self.next(), source))
    }

    #[inline]
    fn later<K: Key>(&mut self, key: K) -> K {
        K::new(key.time() + self.next(), key.source())
    }
}

fn hold_model<K: Key>(criterion: &mut Criterion, width: &str) {
    let mut group = criterion.benchmark_group(format!("events/{width}"));
    for sources in SOURCES {
        let mut gaps = Gaps::new();
        let mut tree = WinnerTree::new(sources as usize);
        gaps.keys(sources).for_each(|key: K| tree.set(key.source(), key));
        group.bench_function(BenchmarkId::new("winner tree", sources), |bencher| {
            bencher.iter(|| {
                let key = tree.first();
                tree.set(key.source(), gaps.later(key));
                black_box(key)
            });
        });
        let mut heap: BinaryHeap<Reverse<K>> = gaps.keys(sources).map(Reverse).collect();
        group.bench_function(BenchmarkId::new("heap, pop and push", sources), |bencher| {
            bencher.iter(|| {
                let Reverse(key) = heap.pop().expect("as many events as sources");
                heap.push(Reverse(gaps.later(key)));
                black_box(key)
            });
        });
        let mut heap: BinaryHeap<Reverse<K>> = gaps.keys(sources).map(Reverse).collect();
        group.bench_function(BenchmarkId::new("heap, in place", sources), |bencher| {
            bencher.iter(|| {
                let mut first = heap.peek_mut().expect("as many events as sources");
                let key = first.0;
                *first = Reverse(gaps.later(key));
                black_box(key)
            });
        });
    }
    group.finish();
}

fn holds(criterion: &mut Criterion) {
    hold_model::<u64>(criterion, "64-bit keys");
    hold_model::<u128>(criterion, "128-bit keys");
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300));
    targets = holds
}
criterion_main!(benches);
