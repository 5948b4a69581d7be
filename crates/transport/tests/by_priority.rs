//! Losses found by the priorities around a gap (QCLIMB, NSDI 2024, §3.2): what the receiver says of its first gap, what the
//! sender makes of it, and both over one path. Times are computed by hand. The last tests are of any gap, too.

use crate::common;
use crate::common::arrivals::{EACH, SECOND, acks_of};
use crate::common::host::{Host, Seen, tcp};
use crate::common::path::Path;
use crate::common::random::{CLEAR, Weather};
use crate::common::{SEGMENT, ns2, rfc, trace};
use flowsieve_core::{Kind, Message, NONE, Tag, Time};
use flowsieve_transport::tcp::params::{Gaps, LossDetection, RtoRule};
use flowsieve_transport::tcp::receiver::AckRule;
use flowsieve_transport::tcp::{Connections, Handshake, TcpParams};
use flowsieve_transport::{Packet, Said};
use proptest::prelude::*;

fn by_priority(params: TcpParams) -> TcpParams {
    TcpParams { loss_detection: LossDetection::ByPriority(Gaps::First), ..params }
}

/// What each arrival is answered with.
fn acks(rule: AckRule, arrivals: &str) -> Vec<String> {
    acks_of(Gaps::First, rule, arrivals)
}

#[test]
fn receiver__equal_priorities_around_a_gap_are_a_loss() {
    assert_eq!(acks(EACH, "0@2 2@2 3@1"), ["1", "1[2-2]!", "1[2-3]!"]);
}

#[test]
fn receiver__other_priorities_are_none() {
    assert_eq!(acks(EACH, "0@2 2@1 3@1"), ["1", "1[2-2]?", "1[2-3]?"]);
    assert_eq!(acks(EACH, "0@1 2@2"), ["1", "1[2-2]?"]);
}

#[test]
fn receiver__before_the_first_segment_nothing_is_known() {
    assert_eq!(acks(EACH, "1@2 2@2 0@2"), ["0[1-1]?", "0[1-2]?", "3"]);
}

#[test]
fn receiver__a_climb_arrives_from_its_top() {
    assert_eq!(acks(EACH, "3@1 2@2 0@3 1@3 4@0"), ["0[3-3]?", "0[2-3]?", "1?", "4", "5"]);
}

#[test]
fn receiver__each_hole_is_asked_for_when_the_one_before_is_filled() {
    assert_eq!(acks(EACH, "0@2 4@2 1@0r 2@0r 3@0r"), ["1", "1[4-4]!", "2!", "3!", "5"]);
}

#[test]
fn receiver__the_first_of_two_gaps_speaks() {
    assert_eq!(acks(EACH, "0@2 2@2 4@2 1@0r 3@0r"), ["1", "1[2-2]!", "1[4-4]!", "3!", "5"]);
    assert_eq!(acks(EACH, "0@2 2@2 4@1 1@0r 3@2"), ["1", "1[2-2]!", "1[4-4]!", "3?", "5"]);
    assert_eq!(acks(EACH, "0@3 2@2 4@2 1@3"), ["1", "1[2-2]?", "1[4-4]?", "3!"], "3 is lost, 1 was under way");
}

#[test]
fn receiver__a_retransmission_leaves_the_side_as_it_was() {
    // Sent again too early, 1 arrives at the highest priority, as 3 does; 2 is under way at priority 1.
    assert_eq!(acks(EACH, "0@2 1@0r 3@0 2@1 1@2"), ["1", "2", "2[3-3]?", "4", "4d"]);
    // 2 and 3 of priority 1 or 2: which of them climbed first is not known.
    assert_eq!(acks(EACH, "0@2 4@1 1@0r 2@0r"), ["1", "1[4-4]?", "2?", "3?"]);
}

#[test]
fn receiver__a_retransmission_beyond_the_edge_equals_nothing() {
    // Its neighbour of the same priority was sent for the first time, and tells.
    assert_eq!(acks(EACH, "0@0 2@0r 4@0 3@0"), ["1", "1[2-2]?", "1[4-4]?", "1[2-4]!"]);
    assert_eq!(acks(EACH, "0@1 3@1 2@0r"), ["1", "1[3-3]!", "1[2-3]!"]);
    assert_eq!(acks(EACH, "0@1 2@1 3@0r 5@1 1@0r"), ["1", "1[2-2]!", "1[2-3]!", "1[5-5]!", "4!"]);
}

#[test]
fn receiver__between_messages_nothing_is_known() {
    assert_eq!(acks(EACH, "0@1. 2@1m1 1@1m1 4@1m1"), ["1", "1[2-2]?", "3", "3[4-4]!"]);
    assert_eq!(acks(EACH, "0@1 2@1m1"), ["1", "1[2-2]?"], "the end of the first is missing");
}

#[test]
fn receiver__duplicates_speak_of_the_gap_too() {
    assert_eq!(acks(EACH, "0@2 2@2 2@0r 0@0r 1@2 1@0r"), ["1", "1[2-2]!", "1[2-2]d!", "1d!", "3", "3d"]);
}

#[test]
fn receiver__in_order_acks_are_delayed_as_ever() {
    assert_eq!(acks(SECOND, "0@1 1@1 2@1 4@1 3@0r 5@1"), ["", "2", "", "3[4-4]!", "5", ""]);
}

#[test]
fn receiver__farther_segments_leave_no_trace() {
    let rule = AckRule { span: 3, ..EACH };
    assert_eq!(acks(rule, "0@1 4@1 3@2 4@1 1@1"), ["1", "1", "1[3-3]?", "1?", "2?"]);
}

#[test]
fn sender__an_update_is_a_delivery_like_any_other() {
    // Nothing is sent again, and the window grows as if segments had arrived in order.
    trace(
        &by_priority(rfc()),
        "0   push 100
         0   > 0-9
         100 < ack 0 sack 4-9 update
         100 > 10-21
         100 = cwnd 16
         101 < ack 10
         101 > 22-29
         101 = cwnd 20
         101 = flight 20",
    );
}

#[test]
fn sender__a_loss_is_sent_again_once_and_halves_the_window_once() {
    trace(
        &by_priority(rfc()),
        "0   push 10
         0   > 0-9
         100 < ack 1
         101 < ack 1 sack 2-2 retransmit
         101 > r1
         101 = cwnd 4.5
         101 = found 1
         102 < ack 1 sack 2-3 retransmit
         103 < ack 1 sack 5-9 retransmit
         103 = flight 2
         201 < ack 4 retransmit
         201 > r4
         201 = cwnd 4.5
         201 = found 2
         301 < ack 10
         301 done 10",
    );
}

#[test]
fn sender__the_receiver_asks_past_the_window() {
    // Segments 2 to 10 are lost, too, and fill the halved window.
    let params = by_priority(TcpParams { initial_window: 12, ..rfc() });
    trace(
        &params,
        "0   push 12
         0   > 0-11
         100 < ack 1
         101 < ack 1 sack 11-11 retransmit
         101 > r1
         101 = cwnd 5.5
         101 = flight 10
         201 < ack 2 retransmit
         201 > r2
         201 = cwnd 5.5",
    );
}

#[test]
fn sender__a_lost_retransmission_waits_for_the_timer() {
    trace(
        &by_priority(rfc()),
        "0     push 10
         0     > 0-9
         100   < ack 1 sack 2-8 retransmit
         100   > r1
         150   < ack 1 sack 2-9 retransmit
         10100 timer
         10100 > r1
         10100 = found 1
         10200 < ack 10
         10200 done 10",
    );
}

#[test]
fn sender__after_a_timeout_only_what_is_new_is_asked_for() {
    trace(
        &by_priority(rfc()),
        "0     push 16
         0     > 0-9
         100   < ack 1 sack 5-9 update
         100   > 10-15
         10100 timer
         10100 > r1
         10200 < ack 2 retransmit
         10200 > r2-3
         10300 < ack 4
         10300 > r4 r10-12
         10400 < ack 13 retransmit
         10400 > r13-15
         10400 = found 0
         10500 < ack 16
         10500 done 16
         10500 push 4
         10500 > 16-19
         10600 < ack 17 sack 18-18 retransmit
         10600 > r17
         10600 = found 1
         10700 < ack 20
         10700 done 4",
    );
}

#[test]
fn sender__flags_that_make_no_sense_do_nothing() {
    trace(
        &by_priority(rfc()),
        "0   < ack 0 retransmit
         0   push 10
         0   > 0-9
         50  < ack 3 sack 20-21 retransmit
         60  < ack 11 retransmit
         100 < ack 5
         101 < ack 4 sack 7-7 retransmit
         102 < ack 5 sack 5-6 retransmit
         102 = found 0
         103 < ack 10 retransmit
         103 = cwnd 10
         103 = flight 0
         103 done 10",
    );
}

fn host() -> Host {
    Host::new(&tcp(by_priority(rfc()), Connections::PerFlow, Handshake::Never), false)
}

/// What a host sent, with the flag of its ACKs: bits 32 and 64 of the code.
fn sent(host: &mut Host) -> Vec<(Said, u8)> {
    let seen = host.take_seen().into_iter();
    let packets = seen.filter_map(|seen| if let Seen::Sent(packet) = seen { Some(packet) } else { None });
    packets.map(|packet| (host.endpoint.describe(&packet), packet.code & 96)).collect()
}

#[test]
fn endpoint__compares_the_priorities_that_packets_came_with() {
    let mut host = host();
    let mut flag = |seq, priority| {
        let words = [seq, 0, 0, 0, NONE, 0];
        let packet =
            Packet { peer: 1, flow: 7, message: 7, tag: Tag::with_priority(priority), words, ..Packet::default() };
        let _ = host.receive(&packet);
        sent(&mut host)[0].1
    };
    assert_eq!([flag(0, 2), flag(3, 1), flag(1, 1), flag(5, 1)], [0, 32, 64, 64]);
}

#[test]
fn endpoint__sends_what_an_ack_asks_for() {
    let mut host = host();
    let _ = host.begin(&Message { id: 7, to: 1, bytes: 10 * u64::from(SEGMENT), ..Message::default() });
    assert_eq!(sent(&mut host).len(), 10);
    let sender = host.last(7).words[3];
    let mut answer = |flag: u8, edge| {
        let words = [edge, 5, 6, sender, 0, 0];
        let _ = host.receive(&Packet { peer: 1, flow: 7, kind: Kind::Ack, code: 1 | flag, words, ..Packet::default() });
        sent(&mut host)
    };
    assert_eq!([0, 32, 96].map(|flag| answer(flag, 1)), [vec![], vec![], vec![]]);
    let again = Said::Data { segment: 1, last: false, retransmission: true };
    assert_eq!(answer(64, 1), [(again, 0)]);
}

/// One microsecond a packet at either port, ten for an ACK, an RTO of 2 ms.
fn path(initial_window: u32) -> Path {
    Path::new(&by_priority(TcpParams { initial_window, ..ns2() }), [1, 1])
}

const SECOND_LATER: Time = Time::from_us(1_000_000);

#[test]
fn losses_in_a_row__are_repaired_without_the_timer_where_one_segment_follows() {
    // Segment n + 1 arrives at n + 3, and its ACK at n + 13; each hole takes a round trip of 12.
    for n in [1, 2, 10] {
        let mut path = path(n + 2);
        path.lose = (1..=n).map(|seq| (seq, 0)).collect();
        path.push(0, &vec![2; n as usize + 2]);
        path.run_until(SECOND_LATER);
        assert_eq!((path.finished, path.timeouts), (vec![u64::from(n + 13 + 12 * n)], vec![]));
        assert_eq!(path.found_lost, n);
        assert_eq!(path.sent.iter().sum::<u32>(), 2 * n + 2);
    }
}

#[test]
fn losses_in_a_row__halve_the_window_once() {
    let mut path = path(12);
    path.lose = (1..=10).map(|seq| (seq, 0)).collect();
    path.push(0, &[2; 12]);
    // The ACK of 0 made it 13.
    path.run_until(Time::from_us(140));
    assert_eq!((common::window(&path.tcp), path.found_lost), (6.5, 0));
}

#[test]
fn loss__where_a_priority_ends_is_left_to_the_timer() {
    // 0, 4, 2, 3 arrive at 2 to 5; the ACK of 0 at 12 sets the timer.
    let mut path = path(10);
    path.lose = [(1, 0)].into();
    path.push(0, &[2, 2, 1, 1, 0]);
    path.run_until(SECOND_LATER);
    assert_eq!((path.timeouts, path.finished), (vec![(2_012, 1)], vec![2_024]));
    assert_eq!((path.sent, path.found_lost), (vec![1, 2, 1, 1, 1], 0));
}

#[test]
fn loss__is_found_when_the_edge_comes_to_it() {
    // 0, 3 and 5 arrive at 2, 3 and 5, 1 and 2 at 6 and 7. Then the ACK asks for 4, at 17.
    let mut path = path(10);
    path.lose = [(4, 0)].into();
    path.push(0, &[3, 3, 3, 2, 2, 2]);
    path.run_until(SECOND_LATER);
    assert_eq!((path.timeouts, path.finished), (vec![], vec![29]));
    assert_eq!((path.sent, path.found_lost), (vec![1, 1, 1, 1, 2, 1], 1));
}

#[test]
fn loss__of_two_gaps_one_after_the_other() {
    // 2 arrives at 4 and asks for 1, which arrives at 16 and asks for 3.
    let mut path = path(10);
    path.lose = [(1, 0), (3, 0)].into();
    path.push(0, &[2; 6]);
    path.run_until(SECOND_LATER);
    assert_eq!((path.timeouts, path.finished), (vec![], vec![38]));
    assert_eq!((path.sent, path.found_lost), (vec![1, 2, 1, 2, 1, 1], 2));
}

#[test]
fn loss__of_a_retransmission_is_left_to_the_timer() {
    // 2 arrives at 4; what is sent again at 14 is lost, and again at 2,014.
    let mut path = path(10);
    path.lose = [(1, 0), (1, 1)].into();
    path.push(0, &[2; 4]);
    path.run_until(SECOND_LATER);
    assert_eq!((path.timeouts, path.finished), (vec![(2_014, 1)], vec![2_026]));
    assert_eq!((path.sent, path.found_lost), (vec![1, 3, 1, 1], 1));
}

#[test]
fn overtaking__is_no_loss() {
    // The last of the climb arrives first but one; all have arrived at 10, and the window has grown with each ACK.
    let mut path = path(8);
    path.push(0, &[3, 3, 2, 2, 1, 1, 0, 0, 4]);
    path.run_until(SECOND_LATER);
    assert_eq!((path.sent, path.timeouts, path.finished.len()), (vec![1; 9], vec![], 1));
    assert!(common::window(&path.tcp) > 8.0);
}

#[test]
fn messages__one_overtakes_another_without_loss() {
    // 0 of the first and 2 of the second have one priority, and 1 is under way at a lower one.
    let mut path = path(8);
    path.push(0, &[1]);
    path.push(1, &[2, 1]);
    path.run_until(SECOND_LATER);
    assert_eq!((path.sent, path.timeouts, path.finished), (vec![1; 3], vec![], vec![12, 14]));
}

#[test]
fn messages__a_loss_between_them_is_left_to_the_timer() {
    for (lost, acked) in [(2, 13), (3, 14)] {
        let mut path = path(8);
        path.lose = [(lost, 0)].into();
        path.push(0, &[0; 3]);
        path.push(1, &[0; 3]);
        path.run_until(SECOND_LATER);
        assert_eq!((path.timeouts, path.found_lost), (vec![(2_000 + acked, lost)], 0));
    }
}

/// Priorities of a message: they climb and then fall.
fn climb_and_fall() -> impl Strategy<Value = Vec<u8>> {
    let part = || (1u8..8).prop_flat_map(|lowest| prop::collection::vec(0..=lowest, 0..60));
    (part(), part()).prop_map(|(mut up, mut down)| {
        up.sort_unstable_by(|a, b| b.cmp(a));
        down.sort_unstable();
        up.extend(down);
        if up.is_empty() { vec![0] } else { up }
    })
}

fn messages() -> impl Strategy<Value = Vec<(Vec<u8>, u64)>> {
    prop::collection::vec((climb_and_fall(), 0u64..400), 1..4)
}

/// Either set of rules and reading of the paper, a timer of this many microseconds.
fn params(rto: impl Strategy<Value = u64>) -> impl Strategy<Value = TcpParams> {
    let base = prop_oneof![Just(rfc()), Just(ns2())];
    let gaps = prop_oneof![Just(Gaps::First), Just(Gaps::Every)];
    (base, gaps, rto, 1u32..40, 1u32..3).prop_map(|(base, gaps, rto, initial_window, ack_every)| TcpParams {
        initial_window,
        loss_detection: LossDetection::ByPriority(gaps),
        rto: RtoRule::Constant(Time::from_us(rto)),
        ack_every,
        delayed_ack: Time::from_us(100),
        ..base
    })
}

fn run(params: &TcpParams, takes: [u64; 2], weather: Weather, patient: bool, messages: &[(Vec<u8>, u64)]) -> Path {
    let mut path = Path::new(params, takes);
    (path.weather, path.patient) = (weather, patient);
    run_on(path, messages)
}

fn run_on(mut path: Path, messages: &[(Vec<u8>, u64)]) -> Path {
    for (id, (priorities, gap)) in (0..).zip(messages) {
        path.push(id, priorities);
        path.run_until(path.now + Time::from_us(*gap));
    }
    path.run_until(Time::from_us(3_600_000_000));
    path
}

fn takes() -> impl Strategy<Value = [u64; 2]> {
    [1u64..8, 1u64..8]
}

const PATIENT: u64 = 100_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_500, failure_persistence: None, ..ProptestConfig::default() })]

    /// The path checks that what the receiver calls lost was lost, also where the timer fires too early, and that what is
    /// sent again before a timeout was lost.
    #[test]
    fn lossy_path__everything_arrives_and_no_loss_is_invented(
        params in params(60u64..3_000), takes in takes(), messages in messages(),
        (lost, twice, seed) in (0u64..300, 0u64..300, any::<u64>()),
    ) {
        let path = run(&params, takes, Weather { lost, twice, seed, ..CLEAR }, false, &messages);
        prop_assert_eq!(path.finished.len(), messages.len());
        prop_assert_eq!(path.delivered.len(), messages.len());
        prop_assert!(path.tcp.is_idle() && path.tcp.in_flight() == 0);
    }

    /// Even where ACKs are lost, by which a sender may send again what was not lost.
    #[test]
    fn lossy_path__everything_arrives_where_acks_are_lost(
        params in params(60u64..3_000), takes in takes(), messages in messages(),
        (lost, twice, acks_lost, seed) in (0u64..300, 0u64..300, 1u64..500, any::<u64>()),
    ) {
        let mut path = Path::new(&params, takes);
        (path.weather, path.acks_lost) = (Weather { lost, twice, seed, ..CLEAR }, acks_lost);
        let path = run_on(path, &messages);
        prop_assert_eq!(path.finished.len(), messages.len());
        prop_assert!(path.tcp.is_idle() && path.tcp.in_flight() == 0);
    }

    /// The path checks that the timer repairs no loss around which segments of its priority have arrived.
    #[test]
    fn lossy_path__a_loss_within_a_priority_is_found_before_the_timer(
        params in params(Just(PATIENT)), takes in takes(), messages in messages(),
        (lost, seed) in (0u64..200, any::<u64>()),
    ) {
        let path = run(&params, takes, Weather { lost, seed, ..CLEAR }, true, &messages);
        prop_assert_eq!(path.finished.len(), messages.len());
        if path.timeouts.is_empty() {
            // Each is found once, however often the receiver says it.
            prop_assert_eq!(path.found_lost as usize, path.asked.len());
        }
    }

    #[test]
    fn clear_path__nothing_is_sent_twice_however_much_is_overtaken(
        params in params(Just(PATIENT)), takes in takes(), messages in messages(),
    ) {
        let path = run(&params, takes, CLEAR, true, &messages);
        prop_assert!(path.sent.iter().all(|&times| times == 1) && path.timeouts.is_empty());
        prop_assert_eq!(path.found_lost, 0);
    }
}
