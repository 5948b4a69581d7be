//! An AWAFS port as a whole: what it senses of packets, where it queues them, what boosts do.

use std::collections::BTreeMap;

use crate::common::{Bench, data, line};
use flowsieve_core::admission::Admission;
use flowsieve_core::awafs::actuator::ActuatorParams;
use flowsieve_core::awafs::{Actuator, AwafsParams, AwafsPort, FlowEnds};
use flowsieve_core::marker::Marker;
use flowsieve_core::scheduler::PortSite;
use flowsieve_core::{Kind, Meta, PortScheduler, Scheduler, Tag, Time};
use proptest::prelude::*;

const HEADER: u16 = 40;

fn us(us: u64) -> Time {
    Time::from_us(us)
}

/// Three queues, ticks of 200 us over windows of 250 us.
fn params(ends: FlowEnds, boost: Option<Time>) -> AwafsParams {
    let actuator = ActuatorParams {
        initial: vec![3_000, 6_000],
        percentiles: vec![500_000, 900_000],
        of_sizes: false,
        model: None,
        period: us(200),
        window: us(250),
        entries: 4,
    };
    AwafsParams { actuator, ends, boost }
}

fn port(params: &AwafsParams, admission: Admission) -> Bench {
    let site = PortSite { line: line(), header: HEADER, admission, marker: Marker::Off };
    Bench::new(Scheduler::Awafs(Box::new(AwafsPort::new(params, &site))))
}

fn marked() -> Bench {
    port(&params(FlowEnds::Marked, None), Admission::Unlimited)
}

fn actuator(bench: &Bench) -> &Actuator {
    match &bench.port {
        Scheduler::Awafs(port) => port.actuator(),
        _ => panic!("another port"),
    }
}

fn listed(bench: &Bench) -> Vec<u32> {
    actuator(bench).list().sizes().collect()
}

impl Bench {
    /// A packet with this many bytes of payload, of a flow that has sent that many; says its queue.
    fn packet(&mut self, flow: u32, sent: u32, payload: u16, last: bool) -> u8 {
        let tag = Tag::with_sent(sent.into(), last);
        assert!(self.send(Meta { tag, ..data(flow, 0, 0, payload + HEADER) }));
        self.metas.last().expect("a packet").queue
    }

    fn at(&mut self, us: u64) -> &mut Bench {
        self.now = Time::from_us(us);
        self
    }
}

#[test]
fn marked__bytes_and_ends_are_what_hosts_write() {
    let mut bench = marked();
    let queues = [0, 2_999, 3_000, 5_999, 6_000].map(|sent| bench.packet(1, sent, 1_460, false));
    assert_eq!(queues, [0, 0, 1, 1, 2]);
    assert!(listed(&bench).is_empty());
    assert_eq!(bench.packet(1, 7_300, 700, true), 2);
    assert_eq!(listed(&bench), [8_000]);
    bench.send(Meta { kind: Kind::Ack, ..data(1, 0, 9_000, HEADER) });
    assert_eq!((bench.metas.last().unwrap().queue, listed(&bench).len()), (0, 1), "ACKs go first and count nowhere");
}

#[test]
fn marked__thresholds_follow_at_the_tick() {
    let mut bench = marked();
    for (flow, size) in [(1, 100), (2, 900), (3, 500), (4, 700)] {
        bench.at(150).packet(flow, 0, size, true);
    }
    assert_eq!(bench.at(199).packet(9, 2_000, 100, false), 0);
    assert_eq!(bench.at(200).packet(9, 2_000, 100, false), 2);
    assert_eq!(actuator(&bench).thresholds(), [500, 900]);
    // Beyond the bound the oldest goes.
    bench.packet(5, 0, 300, true);
    assert_eq!(listed(&bench), [900, 500, 700, 300]);
    bench.at(450).packet(9, 0, 100, false);
    assert_eq!((actuator(&bench).thresholds(), actuator(&bench).ticks()), (&[500, 900][..], 2));
}

/// The sensor sits behind admission: a flow whose end mark is turned away is missing until that is sent again.
#[test]
fn marked__a_lost_end_mark_is_missing_until_it_is_sent_again() {
    let mut bench = port(&params(FlowEnds::Marked, None), Admission::PerPort { limit: 3_000 });
    bench.packet(1, 0, 1_460, false);
    bench.packet(1, 1_460, 1_460, false);
    let last = Meta { tag: Tag::with_sent(2_920, true), ..data(1, 0, 0, 1_000 + HEADER) };
    assert!(!bench.send(last));
    assert!(listed(&bench).is_empty());
    bench.recv();
    assert!(bench.send(last));
    assert_eq!(listed(&bench), [3_920]);
}

#[test]
fn fin__the_switch_counts_and_what_hosts_claim_is_nothing() {
    let mut bench = port(&params(FlowEnds::Fin { flows: 9 }, None), Admission::Unlimited);
    let queues: Vec<u8> = (0..5).map(|_| bench.packet(1, 0, 1_460, false)).collect();
    assert_eq!(queues, [0, 0, 0, 1, 1], "3,000 bytes are reached with the third");
    bench.packet(1, 0, 700, true);
    assert_eq!(listed(&bench), [8_000]);
    assert_eq!(bench.packet(1, 0, 700, true), 2, "sent again it is no new flow");
    assert_eq!(listed(&bench), [8_000]);
}

#[test]
fn fin__the_flow_that_was_seen_least_recently_makes_room() {
    let mut bench = port(&params(FlowEnds::Fin { flows: 2 }, None), Admission::Unlimited);
    for (at, flow) in [(1, 1), (2, 2), (3, 1), (4, 3)] {
        bench.at(at).packet(flow, 0, 1_000 + flow as u16, false);
    }
    assert_eq!(listed(&bench), [1_002]);
    assert_eq!(bench.packet(2, 0, 10, false), 0, "it begins anew");
    assert_eq!(listed(&bench), [1_002, 2_002]);
}

#[test]
fn idle__flows_end_when_nothing_came_for_long() {
    let idle = FlowEnds::Idle { after: us(100), flows: 9 };
    let mut bench = port(&params(idle, None), Admission::Unlimited);
    bench.at(10).packet(1, 0, 500, true);
    bench.at(90).packet(2, 0, 900, false);
    bench.at(110).packet(1, 0, 500, false);
    assert!(listed(&bench).is_empty(), "a mark means nothing, and 100 us are not longer than 100 us");
    // Flow 2 ended before the tick at 200 us, flow 1 after it.
    bench.at(350).packet(3, 0, 9, false);
    assert_eq!((actuator(&bench).thresholds(), listed(&bench)), (&[900, 901][..], vec![900, 1_000]));
    assert_eq!(bench.at(600).packet(1, 0, 1_000, false), 0, "what was sent before does not count");
}

#[test]
fn boost__all_that_waits_goes_first_in_its_order() {
    let mut bench = port(&params(FlowEnds::Marked, Some(us(50))), Admission::Unlimited);
    for (flow, sent) in [(1, 9_000), (2, 4_000), (3, 0), (1, 9_100)] {
        bench.packet(flow, sent, 1_000, false);
    }
    bench.at(49).packet(4, 0, 1_000, false);
    assert_eq!(bench.at(51).packet(5, 0, 1_000, false), 0);
    bench.packet(2, 5_000, 1_000, false);
    assert_eq!(
        bench.drain(),
        [2, 4, 1, 0, 3, 5, 6],
        "the new flow waits behind what was there, the old one's packet too"
    );
    assert_eq!(bench.port.backlog_bytes(), 0);
}

/// Packets of flows that send in order: (flow, payload, microseconds before, departures before, whether it is the last).
type Step = (u32, u16, u64, usize, bool);

fn traffic() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0..5u32, 1..1_460u16, 0..90u64, 0..4usize, prop::bool::weighted(0.2)), 1..300)
}

fn any_ends() -> impl Strategy<Value = FlowEnds> {
    prop_oneof![
        Just(FlowEnds::Marked),
        (1..6usize).prop_map(|flows| FlowEnds::Fin { flows }),
        (1..6usize, 1..400u64).prop_map(|(flows, after)| FlowEnds::Idle { after: us(after), flows }),
    ]
}

/// Plays traffic, `see` with each packet's number and the ticks before it; gives the packets in the order in which they
/// left.
fn play(bench: &mut Bench, steps: &[Step], mut see: impl FnMut(&Bench, usize)) -> Vec<u32> {
    let mut sent: BTreeMap<u32, u32> = BTreeMap::new();
    let mut left = Vec::new();
    for (number, &(flow, payload, pause, departures, last)) in steps.iter().enumerate() {
        bench.now += us(pause);
        left.extend((0..departures).filter_map(|_| bench.recv()));
        let bytes = sent.entry(flow).or_default();
        bench.packet(flow, *bytes, payload, last);
        *bytes = if last { 0 } else { *bytes + u32::from(payload) };
        see(bench, number);
    }
    left.extend(bench.drain());
    left
}

proptest! {
    /// Every packet leaves once; thresholds rise; the list keeps its bound.
    #[test]
    fn port__conserves_packets(ends in any_ends(), boost in prop::option::of(1..500u64), steps in traffic()) {
        let mut bench = port(&params(ends, boost.map(us)), Admission::Unlimited);
        let mut left = play(&mut bench, &steps, |bench, _| {
            assert!(actuator(bench).thresholds().is_sorted_by(|a, b| a < b));
            assert!(listed(bench).len() <= 4);
        });
        left.sort_unstable();
        prop_assert_eq!(left, (0..steps.len() as u32).collect::<Vec<_>>());
        prop_assert_eq!((bench.port.backlog_bytes(), bench.recv()), (0, None));
    }

    /// A flow rises to a queue of higher priority only where a tick has raised a threshold since, or where it begins anew.
    #[test]
    fn port__no_flow_rises_between_ticks(steps in traffic()) {
        let mut bench = marked();
        // By flow: its queue, and the ticks then.
        let mut last: BTreeMap<u32, (u8, u64)> = BTreeMap::new();
        play(&mut bench, &steps, |bench, number| {
            let Meta { flow, queue, tag, .. } = bench.metas[number];
            let ticks = actuator(bench).ticks();
            if let Some((before, then)) = last.insert(flow, (queue, ticks)) {
                assert!(queue >= before || ticks > then || tag.sent() == 0, "flow {flow} rose from {before} to {queue}");
            }
        });
    }

    /// A boost changes nothing in the order of what is there; what comes later stays behind.
    #[test]
    fn boost__keeps_the_order_of_what_waits(steps in traffic(), period in 1..500u64) {
        let at = steps.len() / 2;
        let waiting = |boost: Option<Time>| {
            let mut bench = port(&params(FlowEnds::Marked, boost), Admission::Unlimited);
            let mut left = Vec::new();
            for (flow, payload, ..) in &steps[..at] {
                bench.packet(*flow, bench.metas.len() as u32 * 37 % 9_000, *payload, false);
            }
            bench.now = us(period);
            for (flow, payload, ..) in &steps[at..] {
                bench.packet(*flow, 0, *payload, false);
            }
            left.extend(bench.drain());
            left
        };
        let earlier = |left: Vec<u32>| left.into_iter().filter(|&packet| (packet as usize) < at).collect::<Vec<_>>();
        let boosted = waiting(Some(us(period)));
        prop_assert!(boosted.iter().take(at).all(|&packet| (packet as usize) < at), "all that waited goes first");
        prop_assert_eq!(earlier(boosted), earlier(waiting(None)));
    }

    /// Nothing waits longer than a period and a drain of what the port then holds, at 1 us a packet.
    #[test]
    fn boost__bounds_every_wait(flows in prop::collection::vec(0..20u32, 1..400), period in 5..60u64) {
        const ROOM: usize = 30;
        let mut bench = port(&params(FlowEnds::Marked, Some(us(period))), Admission::Unlimited);
        let (mut queued, mut arrived, mut longest) = (0, Vec::new(), Time::ZERO);
        let mut leave = |bench: &mut Bench, arrived: &[Time], queued: &mut usize| {
            if let Some(packet) = bench.recv() {
                *queued -= 1;
                longest = longest.max(bench.now - arrived[packet as usize]);
            }
        };
        for (step, flow) in flows.iter().enumerate() {
            bench.now = us(step as u64);
            leave(&mut bench, &arrived, &mut queued);
            // Two of the top queue arrive for each of the last that would starve.
            for sent in [9_000, 0, 0] {
                if queued < ROOM {
                    bench.packet(*flow, sent, 1_000, false);
                    arrived.push(bench.now);
                    queued += 1;
                }
            }
        }
        while queued > 0 {
            bench.now += us(1);
            leave(&mut bench, &arrived, &mut queued);
        }
        prop_assert!(longest <= us(period + ROOM as u64), "{longest}");
    }
}
