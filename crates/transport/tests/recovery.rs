//! Losses found by duplicate ACKs (RFC 6675), and what timeouts resend.

use crate::common::{ns2, rfc, traces};
use flowsieve_transport::tcp::congestion::dctcp::DctcpRules;
use flowsieve_transport::tcp::params::LossDetection;
use flowsieve_transport::tcp::{CongestionSpec, TcpParams};

fn dctcp() -> TcpParams {
    TcpParams { congestion: CongestionSpec::Dctcp(DctcpRules { gain: 1.0 / 16.0, initial_alpha: 0.0 }), ..rfc() }
}

fn go_back() -> TcpParams {
    TcpParams { loss_detection: LossDetection::GoBack, ..rfc() }
}

const MARKED_AND_LOST: &str = "
        0   push 100          > 0-9
        100 < ack 1 marked
        101 < ack 1 sack 2-4  > r1";

traces! {
    // In recovery until everything that was out when it began, up to 11, is acknowledged.
    duplicate_acks__the_third_sends_the_hole_again: rfc(), "
        0   push 100          > 0-9
        100 < ack 0 sack 1-1  > 10
        101 < ack 0 sack 1-2  > 11
        102 < ack 0 sack 1-3  > r0     = cwnd 5  = flight 9
        103 < ack 0 sack 1-9  > 12-13  = flight 5
        202 < ack 10          > 14     = cwnd 5
        203 < ack 12          > 15-16  = cwnd 5.4";

    duplicate_acks__every_hole_with_three_above_it: rfc(), "
        0   push 10           > 0-9
        100 < ack 1
        101 < ack 1 sack 2-2
        102 < ack 1 sack 4-4
        103 < ack 1 sack 6-6  > r1
        104 < ack 1 sack 7-7
        105 < ack 1 sack 8-8  > r3 r5
        106 < ack 1 sack 9-9
        201 < ack 3
        202 < ack 5
        203 < ack 10          = done 10";

    duplicate_acks__a_lost_retransmission_waits_for_the_timer: rfc(), "
        0     push 100            > 0-9
        100   < ack 0 sack 1-3    > r0
        101   < ack 0 sack 1-9    > 10-13
        200   < ack 0 sack 10-13  > 14-17  = cwnd 5
        10100 timer               > r0     = cwnd 1
        10200 < ack 14            > r14-15";

    // RFC 3168 §6.1.2: NewReno does not cut twice.
    duplicate_acks__in_a_window_that_a_mark_has_cut: rfc(), [MARKED_AND_LOST, "
        102  = cwnd 5"];

    // DCTCP halves for a loss whatever the mark has cut.
    duplicate_acks__under_dctcp_in_a_window_that_a_mark_has_cut: dctcp(), [MARKED_AND_LOST, "
        102  = cwnd 4.5"];

    duplicate_acks__an_ack_that_fills_the_hole_alone_is_no_loss: rfc(), "
        0   push 100          > 0-9
        100 < ack 0 sack 1-2  > 10-11
        101 < ack 3           > 12-13  = cwnd 11";

    duplicate_acks__the_threshold_is_settable: TcpParams { loss_detection: LossDetection::DupAck(1), ..rfc() }, ["
        0   push 100          > 0-9
        100 < ack 0 sack 3-3  > r0", "
        101 < ack 0 sack 3-9  > r1-2 10-11"];

    // The receiver kept nothing after 2 and asks for it with each packet that it drops: the sender goes back once. 3 is lost
    // again, and the receiver asks for 3 once 2 has come.
    go_back__once_for_each_segment_that_is_missing: go_back(), "
        0   push 100   > 0-9
        100 < ack 2    > 10-13  = cwnd 12
        101 < ack 2    > r2-7   = cwnd 6
        102 < ack 2
        200 < ack 3    > r8
        201 < ack 3    > r3-8
        202 < ack 3";

    // A duplicate says nothing: it was sent again although it had arrived.
    go_back__the_timer_finds_what_is_lost_again: go_back(), "
        0     push 3       > 0-2
        100   < ack 1
        101   < ack 1      > r1-2
        10101 timer        > r1    = cwnd 1
        10150 < ack 1 dup
        10200 < ack 2      > r2
        10300 < ack 3      = done 3";

    // With ECMP: from the edge, nothing could be sent beyond half a window after the hole.
    ns2__fast_recovery_is_of_the_pipe: TcpParams { loss_detection: LossDetection::DupAck(3), ..ns2() }, "
        0   push 100          > 0-9
        100 < ack 0 sack 1-3  > r0  = cwnd 5
        101 < ack 0 sack 1-9  > 10-13
        200 < ack 10          > 14  = cwnd 5.2";

    ns2__a_hole_stalls_a_window_later_and_the_timer_sends_it: ns2(), "
        0    push 100  > 0-9
        100  < ack 1   > 10-11
        101  < ack 1 sack 2-2
        102  < ack 1 sack 2-11
        2100 timer     > r1  = cwnd 1
        2200 < ack 12  > 12-13";

    // clear_on_timeout_ false: 3, 4, 6 and 9 are known to have arrived.
    timeout__only_holes_are_sent_again: ns2(), "
        0    push 100  > 0-9
        100  < ack 2   > 10-12
        101  < ack 2 sack 3-4
        101  < ack 2 sack 6-6
        101  < ack 2 sack 9-9
        2100 timer     > r2
        2200 < ack 5   > r5
        2300 < ack 7   > r7-8
        2400 < ack 8   > r10-11
        2401 < ack 10  > r12 13-14";

    timeout__a_late_arrival_is_not_sent_again: ns2(), "
        0    push 10            > 0-9
        2000 timer              > r0
        2001 < ack 0 sack 1-8 rtt 2001
        2100 < ack 9            > r9
        2150 < ack 10 rtt 2100  = done 10
        2200 < ack 10 dup";

    // The window limits the repair even where there is nothing new to send.
    timeout__slow_start_goes_on_though_the_data_had_ended: rfc(), "
        0       push 8   > 0-7
        1000000 timer    > r0
        1000100 < ack 1  > r1-2
        1000200 < ack 3  > r3-6  = cwnd 4
        1000300 < ack 7  > r7";

    duplicate_acks__the_end_of_a_recovery_is_of_the_window_that_was_cut: rfc(), "
        0   push 100          > 0-9
        100 < ack 0 sack 1-9  > r0 10-13
        200 < ack 10 marked   > 14  = cwnd 5
        201 < ack 11 marked         = cwnd 2.5";
}
