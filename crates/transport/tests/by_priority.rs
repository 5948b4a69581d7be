//! Losses found by the priorities around a gap (QCLIMB, NSDI 2024, §3.2): what the receiver says of its first gap, what the
//! sender makes of it, and both over one path. Times are computed by hand. The last tests are of any gap, too.

use crate::common::arrivals::{EACH, SECOND};
use crate::common::host::{Host, Seen, tcp};
use crate::common::path::Path;
use crate::common::random::{CLEAR, Weather};
use crate::common::{SEGMENT, ns2, rfc, traces};
use flowsieve_core::{Kind, Message, NONE, Tag, Time};
use flowsieve_transport::tcp::params::{Gaps, LossDetection, RtoRule};
use flowsieve_transport::tcp::receiver::AckRule;
use flowsieve_transport::tcp::{Connections, Handshake, TcpParams};
use flowsieve_transport::{Packet, Said};
use proptest::prelude::*;

fn by_priority(params: TcpParams) -> TcpParams {
    TcpParams { loss_detection: LossDetection::ByPriority(Gaps::First), ..params }
}

/// One microsecond a packet at either port, ten for an ACK, an RTO of 2 ms.
fn path(initial_window: u32) -> Path {
    Path::new(&by_priority(TcpParams { initial_window, ..ns2() }), [1, 1])
}

traces! {
    receiver__equal_priorities_around_a_gap_are_a_loss: (Gaps::First, EACH),
        "0 < 0@2 2@2 3@1  > 1 1[2-2]x 1[2-3]x";

    receiver__other_priorities_are_none: (Gaps::First, EACH),
        "0 < 0@2 2@1 3@1  > 1 1[2-2]? 1[2-3]?",
        "0 < 0@1 2@2      > 1 1[2-2]?";

    receiver__before_the_first_segment_nothing_is_known: (Gaps::First, EACH),
        "0 < 1@2 2@2 0@2  > 0[1-1]? 0[1-2]? 3";

    receiver__a_climb_arrives_from_its_top: (Gaps::First, EACH),
        "0 < 3@1 2@2 0@3 1@3 4@0  > 0[3-3]? 0[2-3]? 1? 4 5";

    receiver__each_hole_is_asked_for_when_the_one_before_is_filled: (Gaps::First, EACH),
        "0 < 0@2 4@2 1@0r 2@0r 3@0r  > 1 1[4-4]x 2x 3x 5";

    receiver__the_first_of_two_gaps_speaks: (Gaps::First, EACH),
        "0 < 0@2 2@2 4@2 1@0r 3@0r  > 1 1[2-2]x 1[4-4]x 3x 5",
        "0 < 0@2 2@2 4@1 1@0r 3@2   > 1 1[2-2]x 1[4-4]x 3? 5",
        // 3 is lost, 1 was under way.
        "0 < 0@3 2@2 4@2 1@3        > 1 1[2-2]? 1[4-4]? 3x";

    // Sent again too early, 1 arrives at the highest priority, as 3 does; 2 is under way at priority 1.
    receiver__a_retransmission_leaves_the_side_as_it_was: (Gaps::First, EACH),
        "0 < 0@2 1@0r 3@0 2@1 1@2  > 1 2 2[3-3]? 4 4d",
        // 2 and 3 of priority 1 or 2: which of them climbed first is not known.
        "0 < 0@2 4@1 1@0r 2@0r     > 1 1[4-4]? 2? 3?";

    // Its neighbour of the same priority was sent for the first time, and tells.
    receiver__a_retransmission_beyond_the_edge_equals_nothing: (Gaps::First, EACH),
        "0 < 0@0 2@0r 4@0 3@0       > 1 1[2-2]? 1[4-4]? 1[2-4]x",
        "0 < 0@1 3@1 2@0r           > 1 1[3-3]x 1[2-3]x",
        "0 < 0@1 2@1 3@0r 5@1 1@0r  > 1 1[2-2]x 1[2-3]x 1[5-5]x 4x";

    receiver__between_messages_nothing_is_known: (Gaps::First, EACH),
        "0 < 0@1. 2@1m1 1@1m1 4@1m1  > 1 1[2-2]? 3 3[4-4]x",
        // The end of the first is missing.
        "0 < 0@1 2@1m1               > 1 1[2-2]?";

    receiver__duplicates_speak_of_the_gap_too: (Gaps::First, EACH),
        "0 < 0@2 2@2 2@0r 0@0r 1@2 1@0r  > 1 1[2-2]x 1[2-2]dx 1dx 3 3d";

    receiver__in_order_acks_are_delayed_as_ever: (Gaps::First, SECOND),
        "0 < 0@1 1@1 2@1 4@1 3@0r 5@1  > - 2 - 3[4-4]x 5 -";

    receiver__farther_segments_leave_no_trace: (Gaps::First, AckRule { span: 3, ..EACH }),
        "0 < 0@1 4@1 3@2 4@1 1@1  > 1 1 1[3-3]? 1? 2?";

    // Nothing is sent again, and the window grows as if segments had arrived in order.
    sender__an_update_is_a_delivery_like_any_other: by_priority(rfc()), "
        0   push 100                 > 0-9
        100 < ack 0 sack 4-9 update  > 10-21  = cwnd 16
        101 < ack 10                 > 22-29  = cwnd 20  = flight 20";

    sender__a_loss_is_sent_again_once_and_halves_the_window_once: by_priority(rfc()), "
        0   push 10                      > 0-9
        100 < ack 1
        101 < ack 1 sack 2-2 retransmit  > r1  = cwnd 4.5  = found 1
        102 < ack 1 sack 2-3 retransmit
        103 < ack 1 sack 5-9 retransmit        = flight 2
        201 < ack 4 retransmit           > r4  = cwnd 4.5  = found 2
        301 < ack 10                           = done 10";

    // Segments 2 to 10 are lost, too, and fill the halved window.
    sender__the_receiver_asks_past_the_window: by_priority(TcpParams { initial_window: 12, ..rfc() }), "
        0   push 12                        > 0-11
        100 < ack 1
        101 < ack 1 sack 11-11 retransmit  > r1  = cwnd 5.5  = flight 10
        201 < ack 2 retransmit             > r2  = cwnd 5.5";

    sender__a_lost_retransmission_waits_for_the_timer: by_priority(rfc()), "
        0     push 10                      > 0-9
        100   < ack 1 sack 2-8 retransmit  > r1
        150   < ack 1 sack 2-9 retransmit
        10100 timer                        > r1  = found 1
        10200 < ack 10                           = done 10";

    sender__after_a_timeout_only_what_is_new_is_asked_for: by_priority(rfc()), "
        0     push 16                         > 0-9
        100   < ack 1 sack 5-9 update         > 10-15
        10100 timer                           > r1
        10200 < ack 2 retransmit              > r2-3
        10300 < ack 4                         > r4 r10-12
        10400 < ack 13 retransmit             > r13-15  = found 0
        10500 < ack 16                                  = done 16
        10500 push 4                          > 16-19
        10600 < ack 17 sack 18-18 retransmit  > r17     = found 1
        10700 < ack 20                                  = done 4";

    sender__flags_that_make_no_sense_do_nothing: by_priority(rfc()), "
        0   < ack 0 retransmit
        0   push 10                      > 0-9
        50  < ack 3 sack 20-21 retransmit
        60  < ack 11 retransmit
        100 < ack 5
        101 < ack 4 sack 7-7 retransmit
        102 < ack 5 sack 5-6 retransmit  = found 0
        103 < ack 10 retransmit          = cwnd 10  = flight 0  = done 10";

    // Segment n + 1 arrives at n + 3, and its ACK at n + 13; each hole takes a round trip of 12.
    losses_in_a_row__one_is_repaired_without_the_timer_where_one_segment_follows: path(3), "
        0       push 2 2x 2
        1000000              = finished 26  = timeouts none  = found 1  = sent 1 2 1";

    losses_in_a_row__two_are_repaired_without_the_timer_where_one_segment_follows: path(4), "
        0       push 2 2x 2x 2
        1000000                 = finished 39  = timeouts none  = found 2  = sent 1 2 2 1";

    // The ACK of 0 made the window 13.
    losses_in_a_row__ten_are_repaired_likewise_and_halve_the_window_once: path(12), "
        0       push 2 2x 2x 2x 2x 2x 2x 2x 2x 2x 2x 2
        140                     = cwnd 6.5  = found 0
        1000000                 = finished 143  = timeouts none  = found 10  = sent 1 2 2 2 2 2 2 2 2 2 2 1";

    // 0, 4, 2, 3 arrive at 2 to 5; the ACK of 0 at 12 sets the timer.
    loss__where_a_priority_ends_is_left_to_the_timer: path(10), "
        0       push 2 2x 1 1 0
        1000000                  = timeouts 2012/1  = finished 2024  = sent 1 2 1 1 1  = found 0";

    // 0, 3 and 5 arrive at 2, 3 and 5, 1 and 2 at 6 and 7. Then the ACK asks for 4, at 17.
    loss__is_found_when_the_edge_comes_to_it: path(10), "
        0       push 3 3 3 2 2x 2
        1000000                    = timeouts none  = finished 29  = sent 1 1 1 1 2 1  = found 1";

    // 2 arrives at 4 and asks for 1, which arrives at 16 and asks for 3.
    loss__of_two_gaps_one_after_the_other: path(10), "
        0       push 2 2x 2 2x 2 2
        1000000                     = timeouts none  = finished 38  = sent 1 2 1 2 1 1  = found 2";

    // 2 arrives at 4; what is sent again at 14 is lost, and again at 2,014.
    loss__of_a_retransmission_is_left_to_the_timer: path(10), "
        0       push 2 2xx 2 2
        1000000                 = timeouts 2014/1  = finished 2026  = sent 1 3 1 1  = found 1";

    // The last of the climb arrives first but one. The ninth leaves at 12. Three ACKs move the edge, and the window.
    overtaking__is_no_loss: path(8), "
        0       push 3 3 2 2 1 1 0 0 4
        1000000                         = sent 1 1 1 1 1 1 1 1 1  = timeouts none  = finished 24  = cwnd 11";

    // 0 of the first and 2 of the second have one priority, and 1 is under way at a lower one.
    messages__one_overtakes_another_without_loss: path(8), "
        0       push 1
        0       push 2 1
        1000000           = sent 1 1 1  = timeouts none  = finished 12 14";

    messages__a_loss_between_them_is_left_to_the_timer: path(8), "
        0       push 0 0 0x
        0       push 0 0 0
        1000000              = timeouts 2013/2  = found 0", "
        0       push 0 0 0
        0       push 0x 0 0
        1000000              = timeouts 2014/3  = found 0";
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
