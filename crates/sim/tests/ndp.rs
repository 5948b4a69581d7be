//! NDP, packet by packet, with times computed by hand as in `traces.rs`: hosts of 10 Gbit/s on one switch, links of 200 ns. A full
//! packet takes 1.2 us on a line, a header, an ACK, a NACK or a PULL 32 ns. Data that leaves its host at t is at the other at
//! t + 2.8 us if nothing is before it, and at the switch at t + 1.4 us.

use std::ops::ControlFlow;

use crate::by_hand::{Trial, fcts, fcts_in_ns, flow, in_order, marks_and_drops, rack, scheme, with_run_spec};
use flowsieve_core::hop::{Fate, Hop, HopSpec, OnHop};
use flowsieve_core::{Meta, Time};
use flowsieve_record::{PacketEvent, PacketRow, PointResult, TraceSink};
use flowsieve_schemes::Scheme;
use flowsieve_settings::Settings;
use flowsieve_sim::topology::events::Event;
use flowsieve_sim::trace::Tracing;
use flowsieve_sim::{Partitioning, run_traced};
use flowsieve_workload::Flow;
use proptest::prelude::*;

const NS: u64 = 1_000;

/// Queues of this many full packets, and a window.
fn settings(hosts: i64, queue: i64, window: i64) -> Settings {
    let queue = format!("{queue}pkt");
    rack(hosts).with(None, "buffer", queue.as_str()).with(None, "ndp_window", window).with(None, "nic", "backpressure")
}

fn trial(settings: &Settings) -> Trial {
    Trial::new(settings, scheme("ndp", settings))
}

fn count(result: &PointResult, name: &str) -> u64 {
    result.counts.get(name).copied().unwrap_or(0)
}

/// Keeps when packets leave, of which flow they are, and their bytes.
#[derive(Default)]
struct Sent(Vec<(u64, u32, u16)>);

impl TraceSink for Sent {
    fn begin(&mut self) {
        self.0.clear();
    }

    fn packet(&mut self, row: &PacketRow) -> ControlFlow<()> {
        if let (PacketEvent::Sent, Some((of, _))) = (row.event, row.what) {
            self.0.push((row.at_ps / NS, of.connection, row.length));
        }
        ControlFlow::Continue(())
    }
}

/// What a link sends: nanoseconds, flow, bytes.
fn sent(trial: &Trial, flows: &[Flow], link: &str) -> Vec<(u64, u32, u16)> {
    with_run_spec(trial, flows, |run_spec| {
        let links = (0..run_spec.fabric.links.len() as u32).filter(|&n| run_spec.fabric.link_name(n) == link).collect();
        let tracing = Tracing { links, span: Time::ZERO..Time::NEVER, most: u64::MAX };
        let mut sent = Sent::default();
        run_traced(run_spec, None, &tracing, &mut sent, &mut flowsieve_sim::go_on).expect("a run");
        sent.0
    })
}

/// What the switch sends to a host.
fn to_host(trial: &Trial, flows: &[Flow], host: u32) -> Vec<(u64, u32, u16)> {
    sent(trial, flows, &format!("switch0 to host{host}"))
}

/// The first two packets leave at 0 and 1.2 us and arrive at 2.8 and 4.0 us. The answer to each is an ACK and, behind it, a PULL,
/// which is at the sender 32 + 32 + 200 + 32 + 200 ns later. The packets that it lets come are there 2.8 us after that.
#[test]
fn one_message__a_window_and_then_a_packet_a_pull() {
    let settings = settings(2, 8, 2);
    let flows = [flow(0, (0, 1), 4)];
    let result = trial(&settings).run(&flows);
    assert_eq!(fcts(&result), [(4_000 + 496 + 2_800) * NS]);
    // The last packet causes none, and the one before it a second too many.
    assert_eq!((count(&result, "ndp_pulls"), count(&result, "ndp_nacks"), result.retransmissions), (3, 0, 0));
    // Its ACK is there 464 ns later.
    let until_ack = trial(&settings).until_ack().run(&flows);
    assert_eq!(fcts(&until_ack), [(4_000 + 496 + 2_800 + 464) * NS]);
    // A window that holds it: four packets one after the other.
    assert_eq!(fcts(&trial(&settings.with(None, "ndp_window", 4)).run(&flows)), [(2_800 + 3 * 1_200) * NS]);
}

/// From 1.4 us on two packets come every 1.2 us, and one leaves: the queue of eight is full 9.6 us later. What is cut is asked for again,
/// before the queue is empty: so the line to host 2 is never without a packet, and headers are all that it sends beside the data.
#[test]
fn two_to_one__nothing_is_lost_and_the_line_is_full() {
    let settings = settings(3, 8, 40);
    let flows = in_order(&[flow(0, (0, 2), 40), flow(0, (1, 2), 40)]);
    let result = trial(&settings).run(&flows);
    let (cut, waited) = (count(&result, "trim_packets"), count(&result, "trim_waiting"));
    assert!(cut > 20 && (cut * 3 / 10..cut * 7 / 10).contains(&waited), "{waited} of {cut}");
    assert_eq!((result.retransmissions, count(&result, "ndp_nacks")), (cut, cut));
    assert_eq!((marks_and_drops(&result), result.timeouts), ((0, 0), 0));
    // The last of 80 begins on the last line at 1.4 + 79 * 1.2 us, and 32 ns later for each header before it.
    let last = fcts_in_ns(&result).into_iter().max().unwrap();
    let full = (1_400 + 80 * 1_200 + 200) * NS;
    assert!((full..=full + cut * 32 * NS + NS).contains(&last), "{last} after {full}, {cut} cut");
    // Every packet arrives once with its payload.
    let with_payload = to_host(&trial(&settings), &flows, 2).into_iter().filter(|(.., bytes)| *bytes > 40).count();
    assert_eq!(with_payload, 80);
}

/// Cuts the newest packet that waits, always.
struct Newest;

impl OnHop for Newest {
    fn on_turned_away(&mut self, packet: &Meta, _: &mut Hop<'_>) -> Fate {
        if packet.len > 40 { Fate::TrimNewest { len: 40, priority: 0 } } else { Fate::Gone }
    }
}

/// A queue of one packet. From 1.4 us on one packet of both hosts comes every 1.2 us, that of host 0 first. The first leaves at once, and
/// that of host 1 waits. It leaves at 2.6 us, when two more come: the first waits, and either is cut for the second, or the second is.
/// The header leaves at 3.8 us, and while it does two more come, which cost two more headers.
#[test]
fn victim__is_the_newest_that_waits_or_the_one_that_comes() {
    let settings = settings(3, 1, 4).with(None, "trim_victim", "arriving");
    let flows = in_order(&[flow(0, (0, 2), 4), flow(0, (1, 2), 4)]);
    let begins = |trial: &Trial| to_host(trial, &flows, 2).into_iter().take(6).collect::<Vec<_>>();
    let newest = Scheme { on_hop: vec![HopSpec::new("newest", |_| Newest)], ..scheme("ndp", &settings) };
    let (full, cut) = (1_500, 40);
    // Of each two that came before 3.8 us, that of host 1 is left; then its third packet.
    assert_eq!(
        begins(&Trial::new(&settings, newest)),
        [(1_400, 0, full), (2_600, 1, full), (3_800, 0, cut), (3_832, 1, cut), (3_864, 0, cut), (3_896, 1, full)]
    );
    // Host 0's second packet is left.
    assert_eq!(
        begins(&trial(&settings)),
        [(1_400, 0, full), (2_600, 1, full), (3_800, 1, cut), (3_832, 0, cut), (3_864, 1, cut), (3_896, 0, full)]
    );
}

/// Headers of 700 bytes take 560 ns, and a queue holds one full packet or two of them. Of five packets that come at 1.4 us, the first
/// leaves, the second waits, and two are cut and wait. The last is cut and finds no room: its header is back at host 5 at 2.16 us. No
/// PULL is expected there, so it is sent again at once.
#[test]
fn header__without_room_goes_back_to_its_sender() {
    let settings = settings(6, 1, 1).with(None, "header", "700B").with(None, "trim_victim", "arriving");
    let flows: Vec<Flow> = (0..5).map(|src| Flow { bytes: 800, ..flow(src.into(), (src, 5), 1) }).collect();
    assert_eq!(to_host(&trial(&settings), &flows, 4)[0], (1_400, 4, 700));
    let again = sent(&trial(&settings), &flows, "host4 to switch0");
    assert_eq!(again[..2], [(0, 4, 1_500), (1_400 + 560 + 200, 4, 1_500)]);
    let result = trial(&settings).run(&flows);
    assert_eq!((count(&result, "trim_returned"), count(&result, "ndp_returned"), result.timeouts), (1, 1, 0));
    assert_eq!(marks_and_drops(&result), (0, 0));
    // Without it the header is lost, and its packet is sent again after the timeout.
    let lost = trial(&settings.with(None, "trim_return", false)).run(&flows);
    assert_eq!((lost.timeouts, marks_and_drops(&lost).1), (1, 1));
    assert!(fcts(&lost)[4] > 1_000_000 * NS && fcts(&result).into_iter().max() < Some(20_000 * NS));
}

/// Forty senders at once to queues of one packet, which hold 37 headers: many come back, none is lost, and no timer is needed.
#[test]
fn headers__that_come_back_are_sent_again() {
    let settings = settings(41, 1, 10);
    let flows: Vec<Flow> = (0..40).map(|src| flow(u64::from(src), (src, 40), 10)).collect();
    let result = trial(&settings).run(&flows);
    assert!(count(&result, "trim_returned") > 40, "{:?}", result.counts);
    assert_eq!(count(&result, "trim_returned"), count(&result, "ndp_returned"));
    assert_eq!((marks_and_drops(&result), result.timeouts), ((0, 0), 0));
}

/// Host 0 has two messages to host 2, host 1 one that is as long as both: a sender has a PULL of two, whatever its messages. The host that
/// sends to two receivers gets one of two PULLs of host 2.
#[test]
fn pulls__are_shared_by_senders() {
    let settings = settings(4, 8, 10);
    let flows = [flow(0, (0, 2), 400), flow(1, (0, 2), 400), flow(2, (1, 2), 800)];
    let ends = fcts(&trial(&settings).run(&flows));
    // All of it takes 1,920 us.
    assert!(ends.iter().all(|end| (1_860_000 * NS..1_990_000 * NS).contains(end)), "{ends:?}");
}

/// A line that is down from the beginning to 500 us loses all three packets at its port. The NIC takes two at once, and the third when
/// the first has left: each is sent again 1 ms after that.
#[test]
fn timeout__is_the_last_resort() {
    let settings = settings(2, 8, 3);
    let mut trial = trial(&settings);
    let links: Vec<u32> = (0..4).filter(|&link| trial.fabric.link_name(link) == "switch0 to host1").collect();
    let event = |us, down| Event { at: Time::from_us(us), links: links.clone(), down };
    trial.fabric.events = vec![event(0, true), event(500, false)];
    trial.fabric.reconvergence = Some(Time::from_us(1_000_000));
    let result = trial.run_as(&[flow(0, (0, 1), 3)], Partitioning::Whole);
    assert_eq!(fcts(&result), [(1_000_000 + 2_400 + 2_800) * NS]);
    assert_eq!((result.retransmissions, count(&result, "ndp_timeouts"), count(&result, "ndp_questions")), (3, 2, 0));
}

/// Packets of 9,000 bytes and N senders: no sooner than their bytes take, and at most 5 % later.
fn incast(senders: u32, packets: u64, window: i64) -> (f64, PointResult) {
    let settings = settings(i64::from(senders) + 1, 8, window).with(None, "mtu", "9000B").with(None, "header", "64B");
    let of = |src| Flow { bytes: 8_936 * packets, ..flow(0, (src, senders), 1) };
    let flows: Vec<Flow> = (0..senders).map(of).collect();
    let result = trial(&settings).run_as(&flows, Partitioning::Whole);
    let ideal = u64::from(senders) * packets * 9_000 * 800;
    let last = fcts(&result).into_iter().max().unwrap_or(0);
    (last as f64 / ideal as f64, result)
}

proptest! {
    #![proptest_config(crate::common::config(30))]

    #[test]
    fn incast__ends_within_five_per_cent(senders in 2u32..60, packets in 2u64..60, window in 10i64..40) {
        prop_assume!(u64::from(senders) * packets > 100);
        let (ratio, result) = incast(senders, packets, window);
        prop_assert!((1.0..1.05).contains(&ratio), "{} {:?}", ratio, result.counts);
        prop_assert_eq!((marks_and_drops(&result), result.timeouts), ((0, 0), 0));
    }

    /// Lines that lose any packet, of whatever kind: every message arrives, and every sender learns of it.
    #[test]
    fn messages__end_whatever_is_lost(
        loss in prop_oneof![Just(0.0), 0.0..0.05, 0.0..0.3],
        sizes in prop::collection::vec((0u32..5, 0u32..4, 1u64..60), 1..12),
        (queue, window) in (1i64..9, 1i64..40),
        returns: bool,
    ) {
        let settings = settings(5, queue, window).with(None, "trim_return", returns);
        let mut trial = trial(&settings).until_ack();
        trial.fabric.links.iter_mut().for_each(|link| link.loss = loss);
        let of = |&(src, to, packets): &(u32, u32, u64)| flow(0, (src, (src + 1 + to) % 5), packets);
        let flows: Vec<Flow> = sizes.iter().map(of).collect();
        let result = trial.run_as(&flows, Partitioning::Whole);
        let ended = result.flows.iter().filter(|row| row.fct_ps.is_some()).count();
        prop_assert_eq!(ended, flows.len(), "{:?}", result.counts);
        if loss == 0.0 && returns {
            prop_assert_eq!((result.timeouts, count(&result, "ndp_questions")), (0, 0));
        }
    }
}
