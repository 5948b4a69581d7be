use super::*;
use proptest::prelude::*;

const ADAPTIVE: ThresholdRule = ThresholdRule::Adaptive { size: ClusterSize::Proportional, alpha: 1.0, gain: 0.1 };

fn weights(initial: &[u32], rule: ThresholdRule) -> QueueWeights {
    let (period, half_life) = (Time::from_us(100), Time::from_us(1_000));
    QueueWeights::new(&WeightParams { initial: initial.to_vec(), rule, period, half_life })
}

#[test]
fn choose__the_first_queue_whose_threshold_is_not_exceeded() {
    let weights = weights(&[100, 200], ThresholdRule::Geometric);
    assert_eq!([1, 100, 101, 200, 201, u32::MAX].map(|weight| weights.choose(weight)), [0, 0, 1, 1, 2, 2]);
}

/// QCluster §6.2: "all flows will go to the queue with the lowest ... priority at the beginning".
#[test]
fn choose__zeros_leave_the_last_queue_until_the_first_update() {
    let mut weights = weights(&[0, 0, 0], ThresholdRule::Geometric);
    assert_eq!([1, 2, u32::MAX].map(|weight| weights.choose(weight)), [3; 3]);
    [1, 2, 9].into_iter().for_each(|weight| weights.note(3, weight));
    weights.update(1);
    assert_eq!((weights.means(), weights.thresholds()), (&[0.0, 1.0, 2.0, 4.0][..], &[0, 1, 2][..]));
    assert_eq!([1, 2, 3].map(|weight| weights.choose(weight)), [1, 2, 3]);
}

#[test]
fn thresholds__lie_at_the_means_of_the_rule() {
    for (rule, threshold) in
        [(ThresholdRule::Arithmetic, 5_000), (ThresholdRule::Geometric, 3_000), (ThresholdRule::Harmonic, 1_800)]
    {
        let mut weights = weights(&[2_000], rule);
        for (queue, weight) in [(0, 500), (0, 1_500), (1, 9_000)] {
            weights.note(queue, weight);
        }
        weights.update(1);
        assert_eq!((weights.means(), weights.thresholds()), (&[1_000.0, 9_000.0][..], &[threshold][..]));
    }
}

/// §3.4 with sizes of 3 and 1 packets and alpha 1: b = 3/4, so the threshold is a quarter of the way from the upper queue's
/// mean to the lower's.
#[test]
fn adaptive__moves_to_the_mean_of_the_larger_cluster() {
    let rule = ThresholdRule::Adaptive { size: ClusterSize::Same, alpha: 1.0, gain: 0.0 };
    let mut weights = weights(&[2_000], rule);
    (0..3).for_each(|_| weights.note(0, 1_000));
    weights.note(1, 9_000);
    weights.update(1);
    assert_eq!(weights.thresholds(), [3_000]);
}

#[test]
fn alpha__falls_while_the_upper_queue_is_too_large() {
    let mut weights = weights(&[2_000], ADAPTIVE);
    for _ in 0..100 {
        (0..100).for_each(|_| weights.note(0, 1_000));
        weights.note(1, 9_000);
        weights.update(1);
    }
    assert_eq!(weights.alphas(), [1.0 / ALPHA_MOST]);
}

#[test]
fn aging__halves_in_a_half_life_and_forgets() {
    let mut weights = weights(&[2_000], ThresholdRule::Geometric);
    (0..1_024).for_each(|_| weights.note(0, 1_000));
    weights.update(10);
    assert_eq!((weights.packets()[0], weights.sums()[0]), (512, 512_000));
    weights.update(100_000);
    assert_eq!((weights.packets()[0], weights.sums()[0]), (0, 0));
    assert_eq!(weights.means(), [1_000.0, 4_000.0], "an empty queue keeps its mean");
}

#[test]
fn inverse__one_for_the_heaviest() {
    let weights = weights(&[1_000, 4_000], ThresholdRule::Geometric);
    assert_eq!(weights.inverse().collect::<Vec<_>>(), [8, 2, 1]);
}

proptest! {
    /// Thresholds rise and are numbers, and nothing that was noted is lost between updates, for any input.
    #[test]
    fn weights__are_conserved_and_thresholds_rise(
        rule in prop::sample::select(vec![
            ADAPTIVE,
            ThresholdRule::Adaptive { size: ClusterSize::Same, alpha: 4.0, gain: 1.0 },
            ThresholdRule::Geometric,
            ThresholdRule::Harmonic,
            ThresholdRule::Arithmetic,
        ]),
        start in prop::sample::select(vec![vec![1, 2, 3], vec![1 << 29, 1 << 30, 1 << 31], vec![1, 2, u32::MAX]]),
        rounds in prop::collection::vec((prop::collection::vec(1u32.., 0..40), 1..50u64), 1..20),
    ) {
        let mut weights = weights(&start, rule);
        let total = |weights: &QueueWeights| (weights.sums().iter().sum::<u64>(), weights.packets().iter().sum::<u64>());
        for (packets, periods) in rounds {
            let before = total(&weights);
            for &weight in &packets {
                weights.note(weights.choose(weight), weight);
            }
            let noted = packets.iter().map(|&weight| u64::from(weight)).sum::<u64>();
            prop_assert_eq!(total(&weights), (before.0 + noted, before.1 + packets.len() as u64));
            weights.update(periods);
            let rise = weights.thresholds().is_sorted_by(|a, b| a < b || *b == u32::MAX);
            prop_assert!(rise, "{:?}", weights.thresholds());
            prop_assert!(weights.means().iter().all(|mean| mean.is_finite()));
        }
    }
}
