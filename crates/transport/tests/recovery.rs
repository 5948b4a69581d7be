//! Losses found by duplicate ACKs (RFC 6675), and what timeouts resend.

use crate::common::{ns2, rfc, trace};
use flowsieve_transport::tcp::congestion::dctcp::DctcpRules;
use flowsieve_transport::tcp::params::LossDetection;
use flowsieve_transport::tcp::{CongestionSpec, TcpParams};

#[test]
fn duplicate_acks__the_third_sends_the_hole_again() {
    trace(
        &rfc(),
        "0   push 100
         0   > 0-9
         100 < ack 0 sack 1-1
         100 > 10
         101 < ack 0 sack 1-2
         101 > 11
         102 < ack 0 sack 1-3
         102 > r0
         102 = cwnd 5
         102 = flight 9
         103 < ack 0 sack 1-9
         103 = flight 5
         103 > 12-13
         202 < ack 10
         202 > 14
         202 = cwnd 5
         203 < ack 12
         203 > 15-16
         203 = cwnd 5.4",
        // In recovery until everything that was out when it began, up to 11, is acknowledged.
    );
}

#[test]
fn duplicate_acks__every_hole_with_three_above_it() {
    trace(
        &rfc(),
        "0   push 10
         0   > 0-9
         100 < ack 1
         101 < ack 1 sack 2-2
         102 < ack 1 sack 4-4
         103 < ack 1 sack 6-6
         103 > r1
         104 < ack 1 sack 7-7
         105 < ack 1 sack 8-8
         105 > r3 r5
         106 < ack 1 sack 9-9
         201 < ack 3
         202 < ack 5
         203 < ack 10
         203 done 10",
    );
}

#[test]
fn duplicate_acks__a_lost_retransmission_waits_for_the_timer() {
    trace(
        &rfc(),
        "0     push 100
         0     > 0-9
         100   < ack 0 sack 1-3
         100   > r0
         101   < ack 0 sack 1-9
         101   > 10-13
         200   < ack 0 sack 10-13
         200   > 14-17
         200   = cwnd 5
         10100 timer
         10100 > r0
         10100 = cwnd 1
         10200 < ack 14
         10200 > r14-15",
    );
}

#[test]
fn duplicate_acks__in_a_window_that_a_mark_has_cut() {
    // RFC 3168 §6.1.2: NewReno does not cut twice. DCTCP halves for a loss whatever the mark has cut.
    let script = "0   push 100
                  0   > 0-9
                  100 < ack 1 marked
                  101 < ack 1 sack 2-4
                  101 > r1";
    trace(&rfc(), script).run("102 = cwnd 5");
    let congestion = CongestionSpec::Dctcp(DctcpRules { gain: 1.0 / 16.0, initial_alpha: 0.0 });
    trace(&TcpParams { congestion, ..rfc() }, script).run("102 = cwnd 4.5");
}

#[test]
fn duplicate_acks__an_ack_that_fills_the_hole_alone_is_no_loss() {
    trace(
        &rfc(),
        "0   push 100
         0   > 0-9
         100 < ack 0 sack 1-2
         100 > 10-11
         101 < ack 3
         101 > 12-13
         101 = cwnd 11",
    );
}

#[test]
fn duplicate_acks__the_threshold_is_settable() {
    trace(
        &TcpParams { loss_detection: LossDetection::DupAck(1), ..rfc() },
        "0   push 100
         0   > 0-9
         100 < ack 0 sack 3-3
         100 > r0",
    )
    .run("101 < ack 0 sack 3-9\n 101 > r1-2 10-11");
}

#[test]
fn ns2__fast_recovery_is_of_the_pipe() {
    // With ECMP: from the edge, nothing could be sent beyond half a window after the hole.
    trace(
        &TcpParams { loss_detection: LossDetection::DupAck(3), ..ns2() },
        "0   push 100
         0   > 0-9
         100 < ack 0 sack 1-3
         100 > r0
         100 = cwnd 5
         101 < ack 0 sack 1-9
         101 > 10-13
         200 < ack 10
         200 > 14
         200 = cwnd 5.2",
    );
}

#[test]
fn ns2__a_hole_stalls_a_window_later_and_the_timer_sends_it() {
    trace(
        &ns2(),
        "0    push 100
         0    > 0-9
         100  < ack 1
         100  > 10-11
         101  < ack 1 sack 2-2
         102  < ack 1 sack 2-11
         2100 timer
         2100 > r1
         2100 = cwnd 1
         2200 < ack 12
         2200 > 12-13",
    );
}

#[test]
fn timeout__only_holes_are_sent_again() {
    // clear_on_timeout_ false: 3, 4, 6 and 9 are known to have arrived.
    trace(
        &ns2(),
        "0    push 100
         0    > 0-9
         100  < ack 2
         100  > 10-12
         101  < ack 2 sack 3-4
         101  < ack 2 sack 6-6
         101  < ack 2 sack 9-9
         2100 timer
         2100 > r2
         2200 < ack 5
         2200 > r5
         2300 < ack 7
         2300 > r7-8
         2400 < ack 8
         2400 > r10-11
         2401 < ack 10
         2401 > r12 13-14",
    );
}

#[test]
fn timeout__a_late_arrival_is_not_sent_again() {
    trace(
        &ns2(),
        "0    push 10
         0    > 0-9
         2000 timer
         2000 > r0
         2001 < ack 0 sack 1-8 rtt 2001
         2100 < ack 9
         2100 > r9
         2150 < ack 10 rtt 2100
         2150 done 10
         2200 < ack 10 dup",
    );
}

#[test]
fn timeout__slow_start_goes_on_though_the_data_had_ended() {
    // The window limits the repair even where there is nothing new to send.
    trace(
        &rfc(),
        "0        push 8
         0        > 0-7
         1000000  timer
         1000000  > r0
         1000100  < ack 1
         1000100  > r1-2
         1000200  < ack 3
         1000200  > r3-6
         1000200  = cwnd 4
         1000300  < ack 7
         1000300  > r7",
    );
}

#[test]
fn duplicate_acks__the_end_of_a_recovery_is_of_the_window_that_was_cut() {
    trace(
        &rfc(),
        "0   push 100
         0   > 0-9
         100 < ack 0 sack 1-9
         100 > r0 10-13
         200 < ack 10 marked
         200 > 14
         200 = cwnd 5
         201 < ack 11 marked
         201 = cwnd 2.5",
    );
}
