//! Losses found by the priorities around any gap (`gaps = "every"`): QCLIMB's §3.2 read so that an ACK's flag speaks of the
//! gap below its block. As `by_priority.rs` has the first gap; times are computed by hand.

use crate::common::arrivals::EACH;
use crate::common::path::Path;
use crate::common::{ns2, rfc, traces};
use flowsieve_transport::tcp::TcpParams;
use flowsieve_transport::tcp::params::{Gaps, LossDetection};
use flowsieve_transport::tcp::receiver::AckRule;

/// As `rfc`, with losses found by the priorities around every gap.
fn every_gap() -> TcpParams {
    TcpParams { loss_detection: LossDetection::ByPriority(Gaps::Every), ..rfc() }
}

/// One microsecond a packet at either port, ten for an ACK, an RTO of 2 ms.
fn path(gaps: Gaps) -> Path {
    let loss_detection = LossDetection::ByPriority(gaps);
    Path::new(&TcpParams { initial_window: 30, loss_detection, ..ns2() }, [1, 1])
}

traces! {
    receiver__speaks_of_the_gap_below_what_arrived: (Gaps::Every, EACH),
        "0 < 0@2 2@2 4@1 5@1  > 1 1[2-2]x 1[4-4]? 1[4-5]?",
        "0 < 0@2 2@1 4@1 6@2  > 1 1[2-2]? 1[4-4]x 1[6-6]?";

    // 5 climbed past 4, of the priority that is missing before it.
    receiver__a_run_that_grows_downwards_may_decide_its_gap: (Gaps::Every, EACH),
        "0 < 0@2 5@1 4@2 3@2  > 1 1[5-5]? 1[4-5]x 1[3-5]x",
        // The upper of two runs that join has nothing of its own to say.
        "0 < 0@2 2@1 4@1 3@1  > 1 1[2-2]? 1[4-4]x 1[2-4]?";

    receiver__without_a_block_it_speaks_of_the_first_gap: (Gaps::Every, EACH),
        "0 < 0@3 2@2 4@2 1@3 3@0r     > 1 1[2-2]? 1[4-4]x 3x 5",
        "0 < 0@2 2@2 4@1 1@0r 3@2     > 1 1[2-2]x 1[4-4]? 3? 5",
        "0 < 0@2 2@1 4@1 0@2 2@1 4@1  > 1 1[2-2]? 1[4-4]x 1d? 1[2-2]d? 1[4-4]dx";

    // Not of what is too far, such as 9.
    receiver__without_a_block_it_speaks_of_the_first_gap_alone: (Gaps::Every, AckRule { span: 4, ..EACH }),
        "0 < 0@2 2@1 4@1 9@1  > 1 1[2-2]? 1[4-4]x 1?";

    // 2 alone equals nothing, and 0 was sent for the first time.
    receiver__below_a_retransmission_the_one_before_counts: (Gaps::Every, EACH),
        "0 < 0@1 2@0r 4@1          > 1 1[2-2]? 1[4-4]x",
        "0 < 0@0 2@2 4@0r 6@0 8@2  > 1 1[2-2]? 1[4-4]? 1[6-6]? 1[8-8]?";

    receiver__between_messages_nothing_is_known: (Gaps::Every, EACH),
        "0 < 0@1. 2@1m1 4@1m1 7@1m2  > 1 1[2-2]? 1[4-4]x 1[7-7]?";

    sender__all_of_a_gap_is_sent_again_the_first_past_the_window: every_gap(), "
        0   push 10                      > 0-9
        100 < ack 1
        101 < ack 1 sack 4-4 retransmit  > r1    = cwnd 4.5  = found 3  = flight 6
        102 < ack 1 sack 4-5 retransmit
        103 < ack 1 sack 8-8 retransmit  > r2-3  = cwnd 4.5  = found 5  = flight 4
        104 < ack 1 sack 8-9 retransmit  > r6
        201 < ack 2 retransmit           > r7    = found 5
        202 < ack 3 retransmit
        203 < ack 6 retransmit
        204 < ack 7 retransmit
        205 < ack 10                             = done 10";

    sender__a_lower_gap_may_be_decided_later: every_gap(), "
        0   push 10                      > 0-9
        100 < ack 1
        101 < ack 1 sack 6-6 update
        102 < ack 1 sack 8-8 retransmit  > r7  = found 1
        103 < ack 1 sack 4-4 retransmit  > r1  = found 4
        104 < ack 1 sack 4-6 retransmit  > r2  = found 4  = cwnd 4.5";

    sender__what_is_lost_again_waits_for_the_timer: every_gap(), "
        0     push 10                      > 0-9
        100   < ack 1 sack 3-8 retransmit  > r1-2
        150   < ack 1 sack 3-9 retransmit
        10100 timer                        > r1
        10200 < ack 2 retransmit           > r2  = found 2
        10300 < ack 10                           = done 10";

    sender__the_edge_alone_where_nothing_above_is_known: every_gap(), "
        0   push 10                      > 0-9
        100 < ack 3 retransmit           > r3  = found 1
        110 < ack 3 sack 6-6 retransmit  > r4  = found 3";

    sender__a_loss_in_the_next_window_halves_it_again: every_gap(), "
        0   push 40                         > 0-9
        100 < ack 1 sack 2-9 retransmit     > r1 10-12  = cwnd 4.5
        150 < ack 10                        > 13
        160 < ack 10 sack 12-12 retransmit  > r10       = cwnd 2";

    sender__flags_that_make_no_sense_do_nothing: every_gap(), "
        0   < ack 0 retransmit
        0   push 10                      > 0-9
        50  < ack 3 sack 20-21 retransmit
        60  < ack 11 retransmit
        100 < ack 5
        101 < ack 4 retransmit
        102 < ack 5 sack 5-6 retransmit
        103 < ack 5 sack 2-3 retransmit
        104 < ack 5 sack 9-7 retransmit  = found 0
        105 < ack 10 retransmit          = cwnd 10  = flight 0  = done 10";

    // 5 arrives at 7 and asks for 2 to 4, which are sent at 17 and arrive from 19 on; 10 at 12 for 7 to 9, which arrive from
    // 24 to 26. The window is halved once: the ACKs of 0 and 1 made it 32.
    bursts__are_repaired_a_round_trip_after_they_are_found: path(Gaps::Every), "
        0       push 2 2 2x 2x 2x 2 2 2x 2x 2x 2 2
        30                                          = cwnd 16
        1000000    = finished 36  = timeouts none  = found 6  = sent 1 1 2 2 2 1 1 2 2 2 1 1";

    // Each hole takes a round trip of 12: 2 arrives at 19, 9 at 79.
    bursts__are_repaired_hole_by_hole_by_the_first_gap_alone: path(Gaps::First), "
        0       push 2 2 2x 2x 2x 2 2 2x 2x 2x 2 2
        1000000    = finished 89  = timeouts none  = found 6  = sent 1 1 2 2 2 1 1 2 2 2 1 1";

    // 0 arrives at 2, 4 at 3, 6 at 5 and asks for 5, 1 and 2 at 7 and 8. The ACK of 2 at 18 sets the timer, which finds 3.
    loss__where_a_priority_ends_is_left_to_the_timer: path(Gaps::Every), "
        0       push 2 2 2 2x 1 1x 1 1
        1000000    = timeouts 2018/3  = finished 2030  = sent 1 1 1 2 1 2 1 1  = found 1";

    // 2 asks for 1, which is sent at 14 and lost again; 4 for 3, which is repaired.
    loss__of_a_retransmission_is_left_to_the_timer: path(Gaps::Every), "
        0       push 2 2xx 2 2x 2 2
        1000000    = timeouts 2014/1  = finished 2026  = sent 1 3 1 2 1 1  = found 2";

    // 3 arrives at 5, 4 at 6: its ACK is there at 16.
    lost_ack__the_next_segment_asks_again: path(Gaps::Every), "
        0       lose 1
        0       push 2 2x 2x 2 2 2 2 2
        1000000    = timeouts none  = finished 29  = found 2  = sent 1 2 2 1 1 1 1 1";

    // 2 asks for 1, which arrives at 16. That 5 arrived is not known, and its ACK asked for 4.
    lost_ack__the_edge_asks_when_it_comes_to_the_gap: path(Gaps::Every), "
        0       lose 3
        0       push 2 2x 2 2 2x 2
        1000000    = timeouts none  = finished 38  = found 2  = sent 1 2 1 1 2 1";

    // 3 and 4 arrived. 7 asks for 5 and 6 at 19, and the sender knows of nothing below but 0.
    lost_ack__of_a_whole_run_makes_the_gap_wider: path(Gaps::Every), "
        0       lose 1 2
        0       push 2 2x 2x 2 2 2x 2x 2 2
        1000000    = timeouts none  = finished 36  = found 6  = sent 1 2 2 2 2 2 2 1 1";
}
