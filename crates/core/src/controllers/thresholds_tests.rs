use super::*;
use crate::message::Message;
use crate::readings::Gauge;
use crate::site::Node;
use crate::thresholds::SizeLaw;
use proptest::prelude::*;

#[derive(Debug)]
struct EqualSplit;

impl Solver for EqualSplit {
    fn thresholds(&self, sizes: &mut dyn Iterator<Item = (u64, u64)>, _load: f64, queues: usize) -> Option<Vec<u64>> {
        crate::thresholds::equal_split(&SizeLaw::from_counts(sizes).ok()?, queues).ok()
    }
}

/// Gauges that show nothing.
struct Nowhere;

impl Gauges for Nowhere {
    fn port(&mut self, _: Node, _: u16, _: &mut dyn FnMut(Reading)) {}

    fn backlog_bytes(&mut self, _: Node, _: u16) -> u64 {
        0
    }

    fn sent(&mut self, _: u32, _: u8, _: &mut dyn FnMut(u32, u64)) {}

    fn tagger(&mut self, _: u32, _: u8, _: &mut dyn FnMut(Reading)) {}
}

fn us(us: u64) -> Time {
    Time::from_us(us)
}

/// Every 100 us, from the messages of class 2 that ended in the last millisecond.
fn adaptation(least: u64) -> Adaptation {
    Adaptation { class: 2, period: us(100), window: us(1_000), least }
}

/// Builds the controller of four queues of host 5.
fn own(least: u64) -> OwnThresholds {
    OwnParams { queues: 4, of: adaptation(least) }.build(&FabricSite::default(), 5)
}

fn ended(size: u64, at: Time) -> HostEvent {
    let message = Message { id: 1, bytes: size, ..Message::default() };
    HostEvent { at, host: 5, class: 2, event: FlowEvent::MessageEnd { flow: 1, message, effort: None } }
}

fn hear(controller: &mut dyn Controller, size: u64, at: Time) {
    controller.on_event(at, &ended(size, at));
}

/// Returns what the controller publishes: one table or none.
fn decide(controller: &mut dyn Controller, now: Time) -> Option<(Audience, Table)> {
    let mut published = Vec::new();
    controller.decide(now, &mut Nowhere, &mut |to, table| published.push((to, table)));
    assert!(published.len() <= 1 && controller.next() > now);
    published.pop()
}

fn thresholds(controller: &mut dyn Controller, now: Time) -> Option<Vec<u64>> {
    let (_, table) = decide(controller, now)?;
    Some(table.values.into_iter().map(|(_, value)| value).collect())
}

/// Returns what hosts know together, over 1 ms at 10 Gbit/s: 1.25 MB at most.
fn seen(sizes: &SizeSketch) -> Seen<'_> {
    Seen { sizes, span: us(1_000), rate_bps: 10_000_000_000 }
}

#[test]
fn decide__a_host_splits_what_is_remembered() {
    let mut own = own(8);
    assert_eq!(own.next(), us(100));
    for size in 1..=7 {
        hear(&mut own, 10 * size, us(size));
    }
    assert_eq!(decide(&mut own, us(100)), None, "seven sizes are too few");
    let other_class = HostEvent { class: 1, ..ended(9, us(100)) };
    own.on_event(us(100), &other_class);
    hear(&mut own, 80, us(101));
    let table = Table { name: HOST_THRESHOLD, values: vec![(0, 20), (1, 40), (2, 60)] };
    assert_eq!(decide(&mut own, us(200)), Some((Audience::Host { host: 5, class: 2 }, table)));
    // Half a window later messages are three times as large; the earlier ones are forgotten in two steps.
    for size in 1..=8 {
        hear(&mut own, 30 * size, us(600 + size));
    }
    assert_eq!(thresholds(&mut own, us(700)), Some(vec![30, 60, 120]));
    assert_eq!(thresholds(&mut own, us(1_000)), Some(vec![60, 120, 180]));
    assert_eq!(decide(&mut own, us(50_000)), None, "the window is empty");
}

#[test]
fn decide__equal_sizes_and_one_flow_alone() {
    let mut own = own(1);
    hear(&mut own, 200, Time::ZERO);
    assert_eq!(thresholds(&mut own, us(100)), Some(vec![200, 201, 202]), "thresholds rise");
    for _ in 0..50 {
        hear(&mut own, 200, us(101));
    }
    assert_eq!(thresholds(&mut own, us(200)), Some(vec![200, 201, 202]));
}

#[test]
fn decide__the_network_waits_for_sizes() {
    let params = NetworkParams { rule: &EqualSplit, levels: 2, start: vec![123], of: adaptation(4) };
    let mut network = params.build(&FabricSite::default(), 0);
    let shown = |network: &NetworkThresholds| {
        let mut shown = Vec::new();
        network.observe(&mut |reading| {
            if let Reading::Gauge(Gauge { value, .. }) = reading {
                shown.push(value);
            }
        });
        shown
    };
    assert_eq!((decide(&mut network, us(100)), shown(&network)), (None, vec![123.0]));
    [100, 100, 200, 250].into_iter().for_each(|size| hear(&mut network, size, us(150)));
    let table = Table { name: TAG_THRESHOLD, values: vec![(0, 100)] };
    assert_eq!(decide(&mut network, us(200)), Some((Audience::Hosts { class: 2 }, table)));
    assert_eq!((decide(&mut network, us(5_000)), shown(&network)), (None, vec![100.0]), "the last ones hold");
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
        let mut own = own(1);
        found.iter().for_each(|&size| hear(&mut own, size, Time::ZERO));
        let thresholds = thresholds(&mut own, us(1)).unwrap();
        for (threshold, quarter) in thresholds.iter().zip(1u32..) {
            // The share of sizes up to the threshold, give or take a bucket.
            let by = |limit: f64| found.iter().filter(|&&size| size as f64 <= limit).count() as f64 / found.len() as f64;
            let (low, high) = (*threshold as f64 * (1.0 - 1.0 / 64.0), *threshold as f64 * (1.0 + 1.0 / 64.0));
            let wanted = f64::from(quarter) / 4.0;
            prop_assert!(by(high) >= wanted && by(low - 1.0) <= wanted, "{threshold} for {wanted} of {found:?}");
        }
    }
}
