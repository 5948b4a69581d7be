//! What a host does with a packet of data: its tag by QCLIMB's tagger, and by PIAS's and Sieve's for
//! comparison, as transports call them.
//!
//!     cargo bench -p flowsieve-core --bench tag
//!
//! Eight queues, and seven thresholds from 10 KB to 10 MB. Packets take turns in an order that no branch predictor
//! learns. A quarter of them stands in each of QCLIMB's four steps: the flow climbs to its lower bound, has the slack
//! beyond it, is demoted, is beyond its upper bound. *Retransmissions* have the highest priority whatever their step.

use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use flowsieve_core::message::Bounds;
use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::taggers::climb::{ClimbParams, SizeKnowledge, Unseen};
use flowsieve_core::taggers::demotion::Demotion;
use flowsieve_core::taggers::kept_levels::KeptLevelParams;
use flowsieve_core::{Tagger, TaggerSpec};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const PACKETS: usize = 1 << 14;
const THRESHOLDS: [u64; 7] = [10_000, 31_600, 100_000, 316_000, 1_000_000, 3_160_000, 10_000_000];
const SLACK: u64 = 100_000;
const STEPS: u64 = 4;

/// Packets whose flows have lower bounds from 2^13 to 2^24 bytes, as many of each power.
fn packets() -> Vec<FlowFacts> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut from = |range: std::ops::Range<u64>| range.start + random.next_u64() % (range.end - range.start);
    let packet = |_| {
        let power = from(13..24);
        let lower = from(1 << power..2 << power);
        let demoted = lower + SLACK;
        let upper = 4 * demoted;
        let offset = match from(0..STEPS) {
            0 => from(0..lower),
            1 => from(lower..demoted),
            2 => from(demoted..upper),
            _ => from(upper..2 * upper),
        };
        let bounds = Some(Bounds { lower, upper: NonZeroU64::new(upper).expect("it is above the slack") });
        FlowFacts { offset, payload: 1_460, size: 2 * upper, bounds, ..FlowFacts::default() }
    };
    (0..PACKETS).map(packet).collect()
}

fn climb() -> Tagger {
    let params = ClimbParams {
        thresholds: THRESHOLDS.to_vec(),
        slack: SLACK,
        knows: SizeKnowledge::Bounds,
        unseen: Unseen::Pias,
        retransmissions_first: true,
    };
    TaggerSpec::Climb(params).build(|| unreachable!("it is built in"))
}

/// Tags packet after packet.
fn measure(criterion: &mut Criterion, name: &str, mut tagger: Tagger, packets: &[FlowFacts]) {
    let mut next = 0;
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| {
            next = (next + 1) % PACKETS;
            let facts = black_box(&packets[next]);
            black_box(tagger.tag(|| *facts))
        });
    });
}

fn tag(criterion: &mut Criterion) {
    let packets = packets();
    let again: Vec<_> = packets.iter().map(|facts| FlowFacts { retransmission: true, ..*facts }).collect();
    measure(criterion, "tag/qclimb", climb(), &packets);
    measure(criterion, "tag/qclimb, retransmissions", climb(), &again);
    let kept = KeptLevelParams { thresholds: THRESHOLDS.to_vec(), levels: 8, by_age: false, cap: None };
    let kept = TaggerSpec::KeptLevels(kept).build(|| unreachable!("it is built in"));
    measure(criterion, "tag/sieve", kept, &packets);
    measure(criterion, "tag/pias", Tagger::Demotion(Demotion { thresholds: THRESHOLDS.to_vec() }), &packets);
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = tag
}
criterion_main!(benches);
