//! A clustering port as a whole: order within flows, conservation, groups, convergence.

use std::collections::BTreeMap;

use flowsieve_core::admission::{Admission, Pool};
use flowsieve_core::marker::Marker;
use flowsieve_core::qcluster::sketch::{Keep, SketchParams};
use flowsieve_core::qcluster::weights::{ClusterSize, ThresholdRule, WeightParams};
use flowsieve_core::qcluster::{
    Avoidance, ClusterGroup, ClusterParams, ClusterPort, MessageKey, Service, Unit, Weight,
};
use flowsieve_core::{Kind, Meta, PortContext, PortScheduler, Tag, Time, Victims};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

const ADAPTIVE: ThresholdRule = ThresholdRule::Adaptive { size: ClusterSize::Proportional, alpha: 1.0, gain: 0.1 };

fn group(initial: &[u32], weight: Weight, keep: Keep, service: Service) -> ClusterGroup {
    let (period, half_life) = (Time::from_us(100), Time::from_us(1_000));
    let weights = WeightParams { initial: initial.to_vec(), rule: ADAPTIVE, period, half_life };
    ClusterGroup { weight, weights, keep, service }
}

fn params(groups: Vec<ClusterGroup>, avoidance: Avoidance, gap: Time) -> ClusterParams {
    let sketch = SketchParams { arrays: 2, buckets: 400, message_gap: gap, flowlet_gap: gap, conservative: false };
    ClusterParams { groups, sketch, key: MessageKey::Flow, unit: Unit::Bytes, avoidance }
}

/// A port with its packets. Arrivals are numbered.
struct Bench {
    port: ClusterPort,
    metas: Vec<Meta>,
    pool: Pool,
    victims: Victims,
    random: Xoshiro256PlusPlus,
    marks: u64,
}

impl Bench {
    fn new(params: &ClusterParams) -> Bench {
        Bench {
            port: ClusterPort::new(params, Admission::Unlimited, Marker::Off),
            metas: Vec::new(),
            pool: Pool::new(0),
            victims: Victims::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(1),
            marks: 0,
        }
    }

    /// A packet arrives; says its queue.
    fn arrive(&mut self, now: Time, meta: Meta) -> u8 {
        let packet = self.metas.len() as u32;
        self.metas.push(meta);
        let Bench { port, metas, pool, victims, random, marks } = self;
        let verdict = port.enqueue(metas, packet, &mut PortContext { now, pool, victims, random, marks });
        assert!(verdict.is_accepted());
        metas[packet as usize].queue
    }

    /// A packet leaves; says its number.
    fn leave(&mut self, now: Time) -> Option<u32> {
        let Bench { port, metas, pool, victims, random, marks } = self;
        port.dequeue(metas, &mut PortContext { now, pool, victims, random, marks })
    }
}

fn data(flow: u32, number: u64) -> Meta {
    in_group(0, flow, number)
}

fn in_group(group: u8, flow: u32, number: u64) -> Meta {
    Meta { flow, tag: Tag::with_group(group, number), len: 1_500, ..Meta::default() }
}

#[test]
fn las__a_flow_sinks_as_it_sends_and_acks_go_first() {
    let group = group(&[3_000, 6_000], Weight::Sent, Keep::NoRise, Service::StrictPriority);
    let mut bench = Bench::new(&params(vec![group], Avoidance::Timed, Time::from_us(50)));
    let queues: Vec<u8> = (0..6).map(|_| bench.arrive(Time::ZERO, data(1, 0))).collect();
    assert_eq!(queues, [0, 0, 1, 1, 2, 2]);
    assert_eq!(bench.arrive(Time::ZERO, Meta { kind: Kind::Ack, ..data(1, 0) }), 0);
    assert_eq!(bench.arrive(Time::from_us(51), data(1, 0)), 0, "a new message");
}

#[test]
fn groups__special_flows_leave_first_whatever_their_weight() {
    let special = group(&[1_000], Weight::Number, Keep::NoRise, Service::StrictPriority);
    let others = group(&[1_000], Weight::Number, Keep::NoRise, Service::StrictPriority);
    let mut bench = Bench::new(&params(vec![special, others], Avoidance::Off, Time::from_us(50)));
    let arrive = |(flow, weight, group)| bench.arrive(Time::ZERO, in_group(group, flow, weight));
    assert_eq!([(1, 10, 1), (2, 9_000, 1), (3, 9_000, 0), (4, 10, 0), (5, 10, 7)].map(arrive), [2, 3, 1, 0, 2]);
    let order: Vec<u32> = std::iter::from_fn(|| bench.leave(Time::ZERO)).collect();
    assert_eq!(order, [3, 2, 0, 4, 1]);
}

/// Mean weights of 1, 2 and 4 thousand: queues send 4, 2 and 1 packets a turn.
#[test]
fn inverse_weights__service_follows_the_queue_weights() {
    let fair = group(&[1_000, 2_000], Weight::Number, Keep::Queue, Service::InverseWeights);
    let mut bench = Bench::new(&params(vec![fair], Avoidance::Off, Time::from_us(50)));
    for flow in 0..30 {
        bench.arrive(Time::ZERO, data(flow, [1_000, 2_000, 4_000][flow as usize % 3]));
    }
    let queues: Vec<u8> =
        (0..14).map(|_| bench.leave(Time::ZERO).map(|p| bench.metas[p as usize].queue).unwrap()).collect();
    assert_eq!(queues, [0, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 1, 1, 2]);
}

/// The same traffic from four starts (§6.2): all in the lowest queue, the middle, the highest, or half and half.
#[test]
fn thresholds__converge_from_any_start() {
    let starts: [[u32; 3]; 4] = [[1, 2, 3], [1, 2, u32::MAX], [1 << 29, 1 << 30, 1 << 31], [1, 1 << 30, 1 << 31]];
    let ends = starts.map(|start| {
        let group = group(&start, Weight::Number, Keep::NoRise, Service::StrictPriority);
        let mut bench = Bench::new(&params(vec![group], Avoidance::Off, Time::from_us(50)));
        for packet in 0..40_000u32 {
            // Sizes fall like 1/u: many small, few large.
            let size = 1_500 * (1_000 / (1 + packet.wrapping_mul(2_654_435_761) % 1_000));
            bench.arrive(Time(u64::from(packet) * 1_000_000), data(packet, size.max(1).into()));
            bench.leave(Time(u64::from(packet) * 1_000_000));
        }
        bench.port.weights().next().unwrap().thresholds().to_vec()
    });
    for end in &ends[1..] {
        for (&a, &b) in end.iter().zip(&ends[0]) {
            let ratio = f64::from(a) / f64::from(b);
            assert!((0.8..1.25).contains(&ratio), "{ends:?}");
        }
    }
}

/// Arrivals and departures of a few flows with any weights: (flow, weight, microseconds before, departures before).
fn traffic() -> impl Strategy<Value = Vec<(u32, u32, u64, usize)>> {
    prop::collection::vec((0..6u32, 1..20_000u32, 0..30u64, 0..3usize), 1..200)
}

fn any_group() -> impl Strategy<Value = ClusterGroup> {
    (prop::sample::select(vec![Weight::Sent, Weight::Number]), prop::sample::select(vec![Keep::NoRise, Keep::Queue]))
        .prop_map(|(weight, keep)| {
            let service = if keep == Keep::Queue { Service::InverseWeights } else { Service::StrictPriority };
            group(&[3_000, 6_000, 12_000], weight, keep, service)
        })
}

/// Plays traffic; gives each flow's packets in the order in which they left.
fn play(bench: &mut Bench, steps: &[(u32, u32, u64, usize)], gap: Option<Time>) -> BTreeMap<u32, Vec<u32>> {
    let mut left: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let (mut now, mut arrived) = (Time::ZERO, Vec::new());
    let mut leave = |bench: &mut Bench, now, arrived: &[Time]| {
        let packet = bench.leave(now)?;
        left.entry(bench.metas[packet as usize].flow).or_default().push(packet);
        Some(now - arrived[packet as usize])
    };
    for &(flow, weight, us, departures) in steps {
        now += Time::from_us(us);
        for _ in 0..departures {
            leave(bench, now, &arrived);
        }
        // No packet waits longer than the gap: the port is emptied in time.
        if gap.is_some_and(|gap| arrived.first().is_some_and(|&first| now - first > gap)) {
            while leave(bench, now, &arrived).is_some() {}
        }
        bench.arrive(now, data(flow, weight.into()));
        arrived.push(now);
    }
    while leave(bench, now, &arrived).is_some() {}
    left
}

proptest! {
    /// Every packet leaves once, whatever the variant.
    #[test]
    fn port__conserves_packets(group in any_group(), avoidance in 0..4usize, steps in traffic()) {
        let avoidance = [Avoidance::Off, Avoidance::Timed, Avoidance::Audited, Avoidance::Oracle][avoidance];
        let mut bench = Bench::new(&params(vec![group], avoidance, Time::from_us(40)));
        let mut left: Vec<u32> = play(&mut bench, &steps, None).into_values().flatten().collect();
        left.sort_unstable();
        prop_assert_eq!(left, (0..steps.len() as u32).collect::<Vec<_>>());
        prop_assert_eq!((bench.port.backlog_bytes(), bench.leave(Time::NEVER)), (0, None));
    }

    /// The oracle lets no flow overtake itself, for any arrivals.
    #[test]
    fn oracle__no_flow_overtakes_itself(group in any_group(), steps in traffic()) {
        let mut bench = Bench::new(&params(vec![group], Avoidance::Oracle, Time::from_us(40)));
        for (flow, left) in play(&mut bench, &steps, None) {
            prop_assert!(left.is_sorted(), "flow {} left as {:?}", flow, left);
        }
    }

    /// Nor does the timed variant of a group under strict priority while no packet waits longer than the gap, although
    /// flows share buckets.
    #[test]
    fn timed__no_flow_overtakes_itself_within_the_gap(weight in 0..2usize, buckets in 1..9usize, steps in traffic()) {
        let weight = [Weight::Sent, Weight::Number][weight];
        let group = group(&[3_000, 6_000, 12_000], weight, Keep::NoRise, Service::StrictPriority);
        let gap = Time::from_us(10_000);
        let mut params = params(vec![group], Avoidance::Audited, gap);
        params.sketch.buckets = buckets;
        let mut bench = Bench::new(&params);
        for (flow, left) in play(&mut bench, &steps, Some(gap)) {
            prop_assert!(left.is_sorted(), "flow {} left as {:?}", flow, left);
        }
        prop_assert_eq!(bench.port.overtakes(), 0);
    }
}

/// What the timed variant cannot see: a packet that waits longer than the gap is overtaken, and that is counted.
#[test]
fn audit__counts_what_the_gap_misses() {
    let group = group(&[3_000], Weight::Number, Keep::NoRise, Service::StrictPriority);
    let mut bench = Bench::new(&params(vec![group], Avoidance::Audited, Time::from_us(40)));
    assert_eq!(bench.arrive(Time::ZERO, data(1, 9_000)), 1);
    assert_eq!(bench.arrive(Time::from_us(41), data(1, 10)), 0);
    assert_eq!(bench.port.overtakes(), 1);
    assert_eq!([bench.leave(Time::from_us(41)), bench.leave(Time::from_us(41))], [Some(1), Some(0)]);
}
