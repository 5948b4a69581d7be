use super::*;
use crate::message::Message;
use flowsieve_thresholds::SizeLaw;
use proptest::prelude::*;

#[derive(Debug)]
struct EqualSplit;

impl Solver for EqualSplit {
    fn thresholds(&self, sizes: &mut dyn Iterator<Item = (u64, u64)>, _load: f64, queues: usize) -> Option<Vec<u64>> {
        flowsieve_thresholds::equal_split(&SizeLaw::from_counts(sizes).ok()?, queues).ok()
    }
}

fn params(own: &[u64], network: &[u64], least: u64) -> LevelParams {
    let controller = ControllerParams { rule: &EqualSplit, levels: 2, delay: Time::ZERO };
    let us = Time::from_us;
    LevelParams {
        network: network.to_vec(),
        own: Some(OwnQueues { queues: 4, thresholds: own.to_vec() }),
        adaptation: Adaptation { period: us(100), window: us(1_000), least, controller: Some(controller) },
    }
}

fn ended(size: u64) -> FlowEvent {
    FlowEvent::MessageEnd { flow: 1, message: Message { id: 1, bytes: size, ..Message::default() }, effort: None }
}

fn tag(levels: &Levels, offset: u64) -> (u8, u32) {
    let tag = levels.tag(&FlowFacts { kind: Kind::Data, offset, ..FlowFacts::default() });
    (tag.priority(), tag.host_level())
}

/// What hosts know together, over 1 ms at 10 Gbit/s: 1.25 MB at most.
fn seen(sizes: &SizeSketch) -> Seen<'_> {
    Seen { sizes, span: Time::from_us(1_000), rate_bps: 10_000_000_000 }
}

#[test]
fn tag__the_networks_level_and_the_hosts() {
    let levels = Levels::new(&params(&[1_000, 2_000, 90_000], &[1_460], 1));
    assert_eq!(
        [0, 1_000, 1_460, 2_920, 100_000].map(|offset| tag(&levels, offset)),
        [(0, 0), (0, 0), (0, 1), (1, 2), (1, 3)]
    );
    let ack = FlowFacts { kind: Kind::Ack, offset: 100_000, ..FlowFacts::default() };
    assert_eq!(levels.tag(&ack), Tag::default());
}

#[test]
fn tag__with_nothing_known_all_is_first() {
    assert_eq!(tag(&Levels::new(&params(&[], &[], 1)), u64::MAX), (0, 0));
}

#[test]
fn re_estimate__an_equal_split_of_what_is_remembered() {
    let us = Time::from_us;
    let mut levels = Levels::new(&params(&[10, 20, 30], &[], 8));
    for size in 1..=7 {
        levels.on_event(&ended(10 * size), us(size));
    }
    assert!(!levels.re_estimate(us(100)), "seven sizes are too few");
    assert_eq!(levels.own(), Some(&[10, 20, 30][..]));
    levels.on_event(&ended(80), us(101));
    assert!(levels.re_estimate(us(200)));
    assert_eq!(levels.own(), Some(&[20, 40, 60][..]));
    // Half a window later messages are three times as large; what was before is forgotten in two steps.
    for size in 1..=8 {
        levels.on_event(&ended(30 * size), us(600 + size));
    }
    assert!(levels.re_estimate(us(700)));
    assert_eq!(levels.own(), Some(&[30, 60, 120][..]));
    assert!(levels.re_estimate(us(1_000)));
    assert_eq!(levels.own(), Some(&[60, 120, 180][..]));
    // An empty window changes nothing.
    let before = levels.own().unwrap().to_vec();
    assert!(!levels.re_estimate(us(50_000)));
    assert_eq!(levels.own(), Some(&before[..]));
}

#[test]
fn re_estimate__equal_sizes_and_one_flow_alone() {
    let mut levels = Levels::new(&params(&[], &[], 1));
    levels.on_event(&ended(200), Time::ZERO);
    levels.re_estimate(Time::from_us(100));
    assert_eq!(levels.own(), Some(&[200, 201, 202][..]), "thresholds rise");
    for _ in 0..50 {
        levels.on_event(&ended(200), Time::from_us(101));
    }
    levels.re_estimate(Time::from_us(200));
    assert_eq!(levels.own(), Some(&[200, 201, 202][..]));
    assert_eq!([0, 150].map(|offset| tag(&levels, offset)), [(0, 0), (0, 0)], "nobody is demoted");
}

#[test]
fn apply__later_versions_alone() {
    let mut levels = Levels::new(&params(&[], &[5], 1));
    let published = |version, threshold| Published { version, thresholds: vec![threshold] };
    levels.apply(&published(2, 70));
    levels.apply(&published(1, 60));
    assert_eq!(levels.network(), [70]);
}

#[test]
fn controller__waits_for_sizes_and_counts_versions() {
    let Some(of) = params(&[], &[], 1).adaptation.controller else { panic!() };
    let mut controller = Controller::new(of, 4, &[123]);
    let mut sizes = SizeSketch::default();
    assert_eq!((controller.decide(&seen(&sizes)), controller.last().version), (None, 0));
    assert_eq!(controller.last().thresholds, [123]);
    [100, 100, 200, 250].into_iter().for_each(|size| sizes.record(size));
    assert_eq!(controller.decide(&seen(&sizes)), Some(Published { version: 1, thresholds: vec![100] }));
    sizes.clear();
    (0..4).for_each(|_| sizes.record(77));
    assert_eq!(controller.decide(&seen(&sizes)), Some(Published { version: 2, thresholds: vec![77] }));
    sizes.clear();
    assert_eq!((controller.decide(&seen(&sizes)), controller.last().version), (None, 2));
}

#[test]
fn seen__load_of_the_hosts_links() {
    let mut sizes = SizeSketch::default();
    assert_eq!(seen(&sizes).load(), 0.05);
    sizes.record(500_000);
    sizes.record(250_000);
    assert!((seen(&sizes).load() - 0.6).abs() < 1e-12);
    sizes.record(10_000_000);
    assert_eq!(seen(&sizes).load(), 0.95);
    assert_eq!(Seen { span: Time::ZERO, ..seen(&sizes) }.load(), 0.05);
}

proptest! {
    #[test]
    fn hosts__an_equal_split_puts_as_many_messages_into_each_level(
        found in prop::collection::vec(1u64..100_000_000, 50..200)
    ) {
        let mut levels = Levels::new(&params(&[], &[], 1));
        found.iter().for_each(|&size| levels.on_event(&ended(size), Time::ZERO));
        levels.re_estimate(Time::from_us(1));
        let thresholds = levels.own().unwrap();
        for (threshold, quarter) in thresholds.iter().zip(1u32..) {
            // What ends by the threshold, give or take a bucket.
            let by = |limit: f64| found.iter().filter(|&&size| size as f64 <= limit).count() as f64 / found.len() as f64;
            let (low, high) = (*threshold as f64 * (1.0 - 1.0 / 64.0), *threshold as f64 * (1.0 + 1.0 / 64.0));
            let wanted = f64::from(quarter) / 4.0;
            prop_assert!(by(high) >= wanted && by(low - 1.0) <= wanted, "{threshold} for {wanted} of {found:?}");
        }
    }
}
