//! Losses found by the priorities around any gap (`gaps = "every"`): QCLIMB's §3.2 read so that an ACK's flag speaks of the
//! gap below its block. As `by_priority.rs` has the first gap; times are computed by hand.

use crate::common;
use crate::common::arrivals::{EACH, acks_of};
use crate::common::path::Path;
use crate::common::{ns2, rfc, trace};
use flowsieve_core::Time;
use flowsieve_transport::tcp::TcpParams;
use flowsieve_transport::tcp::params::{Gaps, LossDetection};
use flowsieve_transport::tcp::receiver::AckRule;

fn by_priority(gaps: Gaps, params: TcpParams) -> TcpParams {
    TcpParams { loss_detection: LossDetection::ByPriority(gaps), ..params }
}

fn acks(arrivals: &str) -> Vec<String> {
    acks_of(Gaps::Every, EACH, arrivals)
}

#[test]
fn receiver__speaks_of_the_gap_below_what_arrived() {
    assert_eq!(acks("0@2 2@2 4@1 5@1"), ["1", "1[2-2]!", "1[4-4]?", "1[4-5]?"]);
    assert_eq!(acks("0@2 2@1 4@1 6@2"), ["1", "1[2-2]?", "1[4-4]!", "1[6-6]?"]);
}

#[test]
fn receiver__a_run_that_grows_downwards_may_decide_its_gap() {
    // 5 climbed past 4, of the priority that is missing before it.
    assert_eq!(acks("0@2 5@1 4@2 3@2"), ["1", "1[5-5]?", "1[4-5]!", "1[3-5]!"]);
    // The upper of two runs that join has nothing of its own to say.
    assert_eq!(acks("0@2 2@1 4@1 3@1"), ["1", "1[2-2]?", "1[4-4]!", "1[2-4]?"]);
}

#[test]
fn receiver__without_a_block_it_speaks_of_the_first_gap() {
    assert_eq!(acks("0@3 2@2 4@2 1@3 3@0r"), ["1", "1[2-2]?", "1[4-4]!", "3!", "5"]);
    assert_eq!(acks("0@2 2@2 4@1 1@0r 3@2"), ["1", "1[2-2]!", "1[4-4]?", "3?", "5"]);
    assert_eq!(acks("0@2 2@1 4@1 0@2 2@1 4@1"), ["1", "1[2-2]?", "1[4-4]!", "1d?", "1[2-2]d?", "1[4-4]d!"]);
    let rule = AckRule { span: 4, ..EACH };
    assert_eq!(acks_of(Gaps::Every, rule, "0@2 2@1 4@1 9@1"), ["1", "1[2-2]?", "1[4-4]!", "1?"], "9 is too far");
}

#[test]
fn receiver__below_a_retransmission_the_one_before_counts() {
    // 2 alone equals nothing, and 0 was sent for the first time.
    assert_eq!(acks("0@1 2@0r 4@1"), ["1", "1[2-2]?", "1[4-4]!"]);
    assert_eq!(acks("0@0 2@2 4@0r 6@0 8@2"), ["1", "1[2-2]?", "1[4-4]?", "1[6-6]?", "1[8-8]?"]);
}

#[test]
fn receiver__between_messages_nothing_is_known() {
    assert_eq!(acks("0@1. 2@1m1 4@1m1 7@1m2"), ["1", "1[2-2]?", "1[4-4]!", "1[7-7]?"]);
}

#[test]
fn sender__all_of_a_gap_is_sent_again_the_first_past_the_window() {
    trace(
        &by_priority(Gaps::Every, rfc()),
        "0   push 10
         0   > 0-9
         100 < ack 1
         101 < ack 1 sack 4-4 retransmit
         101 > r1
         101 = cwnd 4.5
         101 = found 3
         101 = flight 6
         102 < ack 1 sack 4-5 retransmit
         103 < ack 1 sack 8-8 retransmit
         103 > r2-3
         103 = cwnd 4.5
         103 = found 5
         103 = flight 4
         104 < ack 1 sack 8-9 retransmit
         104 > r6
         201 < ack 2 retransmit
         201 > r7
         201 = found 5
         202 < ack 3 retransmit
         203 < ack 6 retransmit
         204 < ack 7 retransmit
         205 < ack 10
         205 done 10",
    );
}

#[test]
fn sender__a_lower_gap_may_be_decided_later() {
    trace(
        &by_priority(Gaps::Every, rfc()),
        "0   push 10
         0   > 0-9
         100 < ack 1
         101 < ack 1 sack 6-6 update
         102 < ack 1 sack 8-8 retransmit
         102 > r7
         102 = found 1
         103 < ack 1 sack 4-4 retransmit
         103 > r1
         103 = found 4
         104 < ack 1 sack 4-6 retransmit
         104 > r2
         104 = found 4
         104 = cwnd 4.5",
    );
}

#[test]
fn sender__what_is_lost_again_waits_for_the_timer() {
    trace(
        &by_priority(Gaps::Every, rfc()),
        "0     push 10
         0     > 0-9
         100   < ack 1 sack 3-8 retransmit
         100   > r1-2
         150   < ack 1 sack 3-9 retransmit
         10100 timer
         10100 > r1
         10200 < ack 2 retransmit
         10200 > r2
         10200 = found 2
         10300 < ack 10
         10300 done 10",
    );
}

#[test]
fn sender__the_edge_alone_where_nothing_above_is_known() {
    trace(
        &by_priority(Gaps::Every, rfc()),
        "0   push 10
         0   > 0-9
         100 < ack 3 retransmit
         100 > r3
         100 = found 1
         110 < ack 3 sack 6-6 retransmit
         110 > r4
         110 = found 3",
    );
}

#[test]
fn sender__a_loss_in_the_next_window_halves_it_again() {
    trace(
        &by_priority(Gaps::Every, rfc()),
        "0   push 40
         0   > 0-9
         100 < ack 1 sack 2-9 retransmit
         100 > r1 10-12
         100 = cwnd 4.5
         150 < ack 10
         150 > 13
         160 < ack 10 sack 12-12 retransmit
         160 > r10
         160 = cwnd 2",
    );
}

#[test]
fn sender__flags_that_make_no_sense_do_nothing() {
    trace(
        &by_priority(Gaps::Every, rfc()),
        "0   < ack 0 retransmit
         0   push 10
         0   > 0-9
         50  < ack 3 sack 20-21 retransmit
         60  < ack 11 retransmit
         100 < ack 5
         101 < ack 4 retransmit
         102 < ack 5 sack 5-6 retransmit
         103 < ack 5 sack 2-3 retransmit
         104 < ack 5 sack 9-7 retransmit
         104 = found 0
         105 < ack 10 retransmit
         105 = cwnd 10
         105 = flight 0
         105 done 10",
    );
}

/// One microsecond a packet at either port, ten for an ACK, an RTO of 2 ms.
fn path(gaps: Gaps) -> Path {
    Path::new(&by_priority(gaps, TcpParams { initial_window: 30, ..ns2() }), [1, 1])
}

const SECOND_LATER: Time = Time::from_us(1_000_000);

#[test]
fn bursts__are_repaired_a_round_trip_after_they_are_found() {
    // 5 arrives at 7 and asks for 2 to 4, which are sent at 17 and arrive from 19 on; 10 at 12 for 7 to 9, which arrive from 24
    // to 26. By the first gap alone each hole takes a round trip of 12: 2 arrives at 19, 9 at 79.
    for (gaps, finished) in [(Gaps::Every, 36), (Gaps::First, 89)] {
        let mut path = path(gaps);
        path.lose = [2, 3, 4, 7, 8, 9].map(|seq| (seq, 0)).into();
        path.push(0, &[2; 12]);
        path.run_until(SECOND_LATER);
        assert_eq!((path.finished, path.timeouts), (vec![finished], vec![]), "{gaps:?}");
        assert_eq!((path.found_lost, path.sent), (6, vec![1, 1, 2, 2, 2, 1, 1, 2, 2, 2, 1, 1]));
    }
}

#[test]
fn bursts__halve_the_window_once() {
    let mut path = path(Gaps::Every);
    path.lose = [2, 3, 4, 7, 8, 9].map(|seq| (seq, 0)).into();
    path.push(0, &[2; 12]);
    // The ACKs of 0 and 1 made it 32.
    path.run_until(Time::from_us(30));
    assert_eq!(common::window(&path.tcp), 16.0);
}

#[test]
fn loss__where_a_priority_ends_is_left_to_the_timer() {
    // 0 arrives at 2, 4 at 3, 6 at 5 and asks for 5, 1 and 2 at 7 and 8. The ACK of 2 at 18 sets the timer, which finds 3.
    let mut path = path(Gaps::Every);
    path.lose = [(3, 0), (5, 0)].into();
    path.push(0, &[2, 2, 2, 2, 1, 1, 1, 1]);
    path.run_until(SECOND_LATER);
    assert_eq!((path.timeouts, path.finished), (vec![(2_018, 3)], vec![2_030]));
    assert_eq!((path.sent, path.found_lost), (vec![1, 1, 1, 2, 1, 2, 1, 1], 1));
}

#[test]
fn loss__of_a_retransmission_is_left_to_the_timer() {
    // 2 asks for 1, which is sent at 14 and lost again; 4 for 3, which is repaired.
    let mut path = path(Gaps::Every);
    path.lose = [(1, 0), (1, 1), (3, 0)].into();
    path.push(0, &[2; 6]);
    path.run_until(SECOND_LATER);
    assert_eq!((path.timeouts, path.finished), (vec![(2_014, 1)], vec![2_026]));
    assert_eq!((path.sent, path.found_lost), (vec![1, 3, 1, 2, 1, 1], 2));
}

#[test]
fn lost_ack__the_next_segment_asks_again() {
    // 3 arrives at 5, 4 at 6: its ACK is there at 16.
    let mut path = path(Gaps::Every);
    path.lose = [(1, 0), (2, 0)].into();
    path.lose_acks = [1].into();
    path.push(0, &[2; 8]);
    path.run_until(SECOND_LATER);
    assert_eq!((path.timeouts, path.finished, path.found_lost), (vec![], vec![29], 2));
    assert_eq!(path.sent, [1, 2, 2, 1, 1, 1, 1, 1]);
}

#[test]
fn lost_ack__the_edge_asks_when_it_comes_to_the_gap() {
    // 2 asks for 1, which arrives at 16. That 5 arrived is not known, and its ACK asked for 4.
    let mut path = path(Gaps::Every);
    path.lose = [(1, 0), (4, 0)].into();
    path.lose_acks = [3].into();
    path.push(0, &[2; 6]);
    path.run_until(SECOND_LATER);
    assert_eq!((path.timeouts, path.finished, path.found_lost), (vec![], vec![38], 2));
    assert_eq!(path.sent, [1, 2, 1, 1, 2, 1]);
}

#[test]
fn lost_ack__of_a_whole_run_makes_the_gap_wider() {
    // 3 and 4 arrived. 7 asks for 5 and 6 at 19, and the sender knows of nothing below but 0.
    let mut path = path(Gaps::Every);
    path.lose = [1, 2, 5, 6].map(|seq| (seq, 0)).into();
    path.lose_acks = [1, 2].into();
    path.push(0, &[2; 9]);
    path.run_until(SECOND_LATER);
    assert_eq!((path.timeouts, path.finished, path.found_lost), (vec![], vec![36], 6));
    assert_eq!(path.sent, [1, 2, 2, 2, 2, 2, 2, 1, 1]);
}
