use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn params(arrays: usize, buckets: usize) -> SketchParams {
    let gap = Time::from_us(100);
    SketchParams { arrays, buckets, message_gap: gap, flowlet_gap: gap, conservative: false }
}

/// Fig. 2: a query of f2 finds the oldest time T2 and the least counter 6; inserting a packet of f2 at T6 stamps its
/// buckets with T6 and adds 1 to each.
#[test]
fn sketch__the_papers_example() {
    let t = Time::from_us;
    let mut sketch = SchedulingSketch::new(params(3, 6));
    let f2 = 2;
    let slots: Vec<usize> = (0..3).map(|array| slot(f2, array, 6)).collect();
    for (&at, (time, count)) in slots.iter().zip([(t(2), 9), (t(5), 6), (t(3), 7)]) {
        sketch.buckets[at] = Bucket { time, count, queue: 0 };
    }
    let visit = sketch.count(f2, 1, t(6));
    assert_eq!((visit.weight - 1, visit.age), (6, t(6) - t(2)));
    let after = |&at: &usize| (sketch.buckets[at].time, sketch.buckets[at].count);
    assert_eq!(slots.iter().map(after).collect::<Vec<_>>(), [(t(6), 10), (t(6), 7), (t(6), 8)]);
}

#[test]
fn sketch__a_message_begins_after_the_gap_and_not_at_it() {
    let mut sketch = SchedulingSketch::new(params(2, 400));
    let weights = [0, 50, 150, 251, 300].map(|us| sketch.count(7, 1_500, Time::from_us(us)).weight);
    assert_eq!(weights, [1_500, 3_000, 4_500, 1_500, 3_000]);
}

#[test]
fn sketch__a_clock_that_goes_back_makes_nothing_new() {
    let mut sketch = SchedulingSketch::new(params(2, 400));
    let weights = [900, 100, 950].map(|us| sketch.count(7, 1_500, Time::from_us(us)).weight);
    assert_eq!(weights, [1_500, 3_000, 1_500]);
}

#[test]
fn keep_order__within_a_flowlet_down_alone_or_not_at_all() {
    let queues = |keep, steps: [(u64, u8); 5]| {
        let mut sketch = SchedulingSketch::new(params(2, 400));
        steps.map(|(us, wanted)| {
            let visit = sketch.count(7, 1_500, Time::from_us(us));
            sketch.keep_order(&visit, wanted, keep)
        })
    };
    let steps = [(0, 3), (10, 1), (20, 5), (30, 4), (131, 1)];
    assert_eq!(queues(Keep::NoRise, steps), [3, 3, 5, 5, 1]);
    assert_eq!(queues(Keep::Queue, steps), [3, 3, 3, 3, 1]);
}

/// With a message gap shorter than the flowlet gap, the new message counts anew, and stays behind the old one's packets.
#[test]
fn keep_order__a_new_message_within_the_flowlet_gap() {
    let flowlet_gap = Time::from_us(500);
    let mut sketch = SchedulingSketch::new(SketchParams { flowlet_gap, ..params(2, 400) });
    let visit = sketch.count(7, 90_000, Time::ZERO);
    assert_eq!(sketch.keep_order(&visit, 6, Keep::NoRise), 6);
    let visit = sketch.count(7, 1_500, Time::from_us(200));
    assert_eq!((visit.weight, sketch.keep_order(&visit, 0, Keep::NoRise)), (1_500, 6));
}

#[test]
fn bytes__83_kb() {
    assert_eq!(SketchParams::buckets_in(83_213, 1), 6_401);
    assert_eq!(params(1, 6_401).bytes(), 83_213);
    assert_eq!(SketchParams::buckets_in(83_213, 2), 3_200);
    assert_eq!(RegisterSketch::new(params(2, 3_200), Time::from_us(1)).bytes(), 102_400);
}

/// Theorem 2 with e = exp(1) / l and delta = exp(-d): the estimate exceeds the truth by more than e times the sum of all
/// flows for less than a share delta of the flows.
#[test]
fn sketch__error_bound() {
    let (arrays, buckets, flows) = (2, 272, 4_000u64);
    let mut sketch = SchedulingSketch::new(params(arrays, buckets));
    // Sizes fall as 1/rank, so some flows are heavy; all packets are within one message gap.
    let size = |flow: u64| (100_000 / (flow + 1)) as u32 + 40;
    let everything: u64 = (0..flows).map(|flow| u64::from(size(flow))).sum();
    for flow in 0..flows {
        sketch.count(flow, size(flow), Time::ZERO);
    }
    let bound = libm::exp(1.0) / buckets as f64 * everything as f64;
    let errors = (0..flows).map(|flow| sketch.count(flow, 0, Time::ZERO).weight - size(flow));
    let beyond = errors.filter(|&error| f64::from(error) > bound).count();
    assert!((beyond as f64) < libm::exp(-(arrays as f64)) * flows as f64, "{beyond} of {flows} beyond {bound}");
}

/// Theorem 3: a flow that comes back after the gap is detected unless each of its buckets was touched meanwhile: with
/// probability 1 - (1 - (1 - 1/l)^n)^d if n other flows are active.
#[test]
fn sketch__message_detection() {
    let (arrays, buckets, active, trials) = (2, 400, 300u64, 5_000u64);
    let told = (0..trials).filter(|&trial| {
        let mut sketch = SchedulingSketch::new(params(arrays, buckets));
        let key = |flow: u64| trial << 32 | flow;
        sketch.count(key(0), 1_500, Time::ZERO);
        for flow in 1..=active {
            sketch.count(key(flow), 1_500, Time::from_us(60));
        }
        sketch.count(key(0), 1_500, Time::from_us(120)).weight == 1_500
    });
    let one = 1.0 - libm::pow(1.0 - 1.0 / buckets as f64, active as f64);
    let expected = 1.0 - libm::pow(one, arrays as f64);
    let share = told.count() as f64 / trials as f64;
    // Four standard deviations of a binomial share.
    let tolerance = 4.0 * libm::sqrt(expected * (1.0 - expected) / trials as f64);
    assert!((share - expected).abs() < tolerance, "{share} told apart, expected {expected}");
}

/// Returns packets of several flows: (flow, bytes, microseconds since the previous packet).
fn packets() -> impl Strategy<Value = Vec<(u64, u32, u64)>> {
    prop::collection::vec((0..30u64, 1..2_000u32, 0..60u64), 1..300)
}

proptest! {
    /// Theorem 1, with and without conservative update, for any arrivals.
    #[test]
    fn sketch__never_underestimates(arrays in 1..4usize, buckets in 1..20usize, conservative: bool, packets in packets()) {
        let mut sketch = SchedulingSketch::new(SketchParams { conservative, ..params(arrays, buckets) });
        let mut truth: BTreeMap<u64, (Time, u32)> = BTreeMap::new();
        let mut now = Time::ZERO;
        for (flow, bytes, us) in packets {
            now += Time::from_us(us);
            let of = truth.entry(flow).or_insert((now, 0));
            *of = (now, if now - of.0 > Time::from_us(100) { bytes } else { of.1 + bytes });
            prop_assert!(sketch.count(flow, bytes, now).weight >= of.1);
        }
    }

    /// Two register pairs give the answers of one sketch.
    #[test]
    fn registers__agree_with_the_sketch(
        arrays in 1..4usize,
        buckets in 1..20usize,
        gaps in (1..100u64, 1..100u64),
        keep in prop::sample::select(vec![Keep::NoRise, Keep::Queue]),
        packets in packets(),
    ) {
        let (message_gap, flowlet_gap) = (Time::from_us(gaps.0), Time::from_us(gaps.1));
        let params = SketchParams { message_gap, flowlet_gap, ..params(arrays, buckets) };
        let (mut sketch, mut registers) = (SchedulingSketch::new(params), RegisterSketch::new(params, Time::from_us(1)));
        let choose = |weight: u32| (weight / 1_000).min(7) as u8;
        let mut now = Time::ZERO;
        for (flow, bytes, us) in packets {
            now += Time::from_us(us);
            let visit = sketch.count(flow, bytes, now);
            let queue = sketch.keep_order(&visit, choose(visit.weight), keep);
            prop_assert_eq!(registers.pass(flow, bytes, now, keep, choose), (visit.weight, queue));
        }
    }
}
