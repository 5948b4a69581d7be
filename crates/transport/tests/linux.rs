//! The sender of Linux: its timer, probes of the tail (RFC 8985 §7), proportional rate reduction (RFC 9937), F-RTO (RFC
//! 5682) and D-SACK. Times are computed by hand.

use crate::common::{linux, rfc, trace};
use flowsieve_transport::tcp::CongestionSpec;
use flowsieve_transport::tcp::TcpParams;
use flowsieve_transport::tcp::congestion::dctcp::DctcpRules;
use flowsieve_transport::tcp::params::{LossDetection, Reduction, RtoRule};

/// Cuts at once, and nothing is undone.
fn rack_tlp() -> TcpParams {
    TcpParams { loss_detection: LossDetection::RackTlp, ..rfc() }
}

#[test]
fn timer__the_least_is_above_the_round_trip() {
    // SRTT 9 ms and 4 RTTVAR 18 ms; a packet alone is probed after the timeout, which is less than 2 SRTT + 10 ms.
    let mut trace = trace(
        &linux(),
        "0     push 1
         0     > 0
         9000  < ack 1 rtt 9000
         9000  done 1
         9100  push 1
         9100  > 1
         36100 timer probe
         36100 > r1
         63100 timer
         63100 > r1",
    );
    // Twice the timeout, from then on.
    trace.run("117100 timer\n 117100 > r1\n 225100 timer\n 225100 > r1");
}

#[test]
fn timer__under_rfc_6298_the_round_trip_is_within_the_least() {
    let rto = |rto| TcpParams { rto, loss_detection: LossDetection::DupAck(3), ..linux() };
    let (min, initial) = (flowsieve_core::Time::from_us(10_000), RtoRule::RFC_INITIAL);
    let script = "0   push 5
                  0   > 0-4
                  100 < ack 1";
    trace(&rto(RtoRule::Linux { min, initial }), script).run("10200 timer\n 10200 > r1");
    trace(&rto(RtoRule::Rfc6298 { min, initial }), script).run("10100 timer\n 10100 > r1");
}

#[test]
fn probe__shows_what_the_tail_has_lost() {
    // The last three are lost. 2 SRTT and a tick of 2 ms after the ACK the last is sent again. Its ACK shows the others.
    trace(
        &linux(),
        "0    push 10
         0    > 0-9
         100  < ack 7
         2300 timer probe
         2300 > r9
         2400 < ack 7 sack 9-9
         2400 > r7
         2400 = cwnd 1
         2500 < ack 8
         2500 > r8
         2600 < ack 10
         2600 done 10
         2600 = cwnd 5",
    );
}

#[test]
fn probe__is_new_data_if_there_is_some() {
    // Past the window of ten, which is lost as a whole.
    trace(
        &linux(),
        "0    push 1
         0    > 0
         100  < ack 1
         100  done 1
         200  push 20
         200  > 1-10
         2400 timer probe
         2400 > 11
         2500 < ack 1 sack 11-11
         2500 > r1
         2600 < ack 2
         2600 > r2-3
         2700 < ack 3
         2700 > r4-5",
    );
}

#[test]
fn probe__one_at_a_time_then_the_timeout() {
    // Under RFC 6298 there is no tick: 2 SRTT after the last was sent. The timer starts anew with the probe.
    trace(
        &rack_tlp(),
        "0     push 1
         0     > 0
         100   < ack 1
         100   done 1
         200   push 3
         200   > 1-3
         400   timer probe
         400   > r3
         10400 timer
         10400 > r1",
    );
}

#[test]
fn probe__waits_for_an_ack_that_may_be_delayed() {
    // One segment of two that an ACK answers is outstanding, and its ACK may take 500 us more.
    let params = TcpParams { ack_every: 2, delayed_ack: flowsieve_core::Time::from_us(500), ..rack_tlp() };
    trace(
        &params,
        "0   push 10
         0   > 0-9
         100 < ack 9
         800 timer probe
         800 > r9",
    );
}

#[test]
fn probe__that_repairs_the_only_loss_cuts_the_window() {
    // RFC 8985 §7.4: no D-SACK comes, and an ACK beyond the probe shows that the first transmission was lost.
    let script = "0     push 10
                  0     > 0-9
                  100   < ack 9
                  10200 timer probe
                  10200 > r9
                  10300 < ack 10
                  10300 done 10
                  10300 = cwnd 10";
    trace(&linux(), script).run("11000 push 2\n 11000 > 10-11\n 11100 < ack 12\n 11100 done 2\n 11100 = cwnd 5");
    // Both have arrived.
    trace(&linux(), script).run(
        "10301 < ack 10 twice 9
         11000 push 2
         11000 > 10-11
         11100 < ack 12
         11100 done 2
         11100 = cwnd 10",
    );
}

#[test]
fn rack_tlp__three_above_a_hole_need_no_reordering_window() {
    trace(
        &rack_tlp(),
        "0   push 10
         0   > 0-9
         100 < ack 0 sack 1-1
         101 < ack 0 sack 1-2 rtt 101
         102 < ack 0 sack 1-3 rtt 102
         102 > r0
         102 = cwnd 5",
    );
    // Two leave it to the timer, a quarter of the least round trip later.
    trace(
        &rack_tlp(),
        "0   push 3
         0   > 0-2
         100 < ack 0 sack 1-2
         125 timer rack
         125 > r0",
    );
}

#[test]
fn rack_tlp__a_timeout_spares_what_was_sent_a_short_while_ago() {
    // RFC 8985 §6.3: of the first ten all but 1 may still arrive, a reordering window of 25 us after the round trip.
    let rto = RtoRule::Constant(flowsieve_core::Time::from_us(110));
    let script = "0   push 30
                  0   > 0-9
                  100 < ack 0 sack 1-1
                  100 > 10
                  110 timer
                  110 > r0";
    trace(&TcpParams { rto, ..rack_tlp() }, script).run("110 = flight 10");
    let rack = TcpParams { rto, loss_detection: LossDetection::Rack, ..rfc() };
    trace(&rack, &script.replace("> 10", "> 10-11")).run("110 = flight 1");
}

#[test]
fn reduction__a_loss_lets_one_go_for_two_that_arrive() {
    trace(
        &linux(),
        "0   push 100
         0   > 0-9
         100 < ack 0 sack 1-1
         100 > 10
         101 < ack 0 sack 1-2 rtt 101
         101 > 11
         102 < ack 0 sack 1-3 rtt 102
         102 > r0
         102 = cwnd 9
         103 < ack 0 sack 1-4 rtt 103
         104 < ack 0 sack 1-5 rtt 104
         104 > 12
         105 < ack 0 sack 1-6 rtt 105
         106 < ack 0 sack 1-7 rtt 106
         106 > 13
         107 < ack 0 sack 1-8 rtt 107
         108 < ack 0 sack 1-9 rtt 108
         108 = flight 5
         200 < ack 0 sack 1-10
         200 > 14
         201 < ack 0 sack 1-11
         201 > 15
         202 < ack 12
         202 > 16
         202 = cwnd 5",
    );
}

#[test]
fn reduction__a_mark_does_the_same_and_nothing_grows_meanwhile() {
    let script = "0   push 100
                  0   > 0-9
                  100 < ack 1 marked
                  100 > 10
                  101 < ack 2 rtt 101
                  102 < ack 3 rtt 102
                  102 > 11
                  103 < ack 4 rtt 103
                  104 < ack 5 rtt 104
                  104 > 12
                  105 < ack 6 marked rtt 105
                  106 < ack 7 rtt 106
                  106 > 13
                  107 < ack 8 rtt 107
                  108 < ack 9 rtt 108
                  109 < ack 10 rtt 109
                  109 > 14
                  200 < ack 11
                  200 > 15
                  200 = cwnd 5";
    trace(&linux(), script).run("201 < ack 12\n 201 > 16\n 201 = cwnd 5");
    // DCTCP's cut by half of alpha, here of 1, is the same.
    let congestion = CongestionSpec::Dctcp(DctcpRules { gain: 0.0625, initial_alpha: 1.0 });
    trace(&TcpParams { congestion, ..linux() }, script);
    // At once: the window is five, and grows by a segment before the last of its window is acknowledged.
    trace(
        &TcpParams { reduction: Reduction::AtOnce, ..linux() },
        "0   push 100
         0   > 0-9
         100 < ack 1 marked
         105 < ack 6 rtt 105
         105 > 10-11
         105 = cwnd 6",
    );
}

/// Segment 0 teaches a round trip of 100 us. Of the next ten and a probe nothing is heard before the timeout.
const LATE: &str = "0     push 1
                    0     > 0
                    100   < ack 1
                    100   done 1
                    200   push 40
                    200   > 1-10
                    2400  timer probe
                    2400  > 11
                    12500 timer
                    12500 > r1
                    12500 = cwnd 1";

#[test]
fn f_rto__a_late_ack_for_what_was_sent_once_undoes_the_timeout() {
    // RFC 5682 §3.1: the ACK of segment 1 may be that of either transmission, and lets new data go. That of segment 2 cannot.
    trace(&linux(), LATE).run(
        "12600 < ack 2 rtt 12400
         12600 > 12-13
         12601 < ack 3 rtt 12401
         12601 = cwnd 11
         12601 = flight 11
         12602 < ack 12 rtt 10202
         12602 > 14-31",
    );
    // An ACK for several is enough.
    let mut at_once = trace(&linux(), LATE);
    at_once.run("12600 < ack 5 rtt 12400\n 12600 > 12-18\n 12600 = cwnd 14");
    // Without undo it is a loss: the window of one grows, and what it allows is sent again.
    trace(&TcpParams { undo: false, ..linux() }, LATE).run("12600 < ack 5 rtt 12400\n 12600 > r5-9\n 12600 = cwnd 5");
}

#[test]
fn f_rto__what_arrives_of_the_new_data_alone_confirms_the_loss() {
    trace(&linux(), LATE).run(
        "12600 < ack 2
         12600 > 12-13
         12700 < ack 2 sack 12-12
         12700 > r2
         12701 < ack 2 sack 12-13 rtt 101
         12701 > r3
         12800 < ack 3
         12800 > r4-5",
    );
}

#[test]
fn f_rto__without_new_data_repairs_as_ever() {
    trace(
        &linux(),
        "0     push 1
         0     > 0
         100   < ack 1
         100   done 1
         200   push 10
         200   > 1-10
         2400  timer probe
         2400  > r10
         12500 timer
         12500 > r1
         12600 < ack 2
         12600 > r2-3",
    );
}

/// Segment 0 is overtaken by more than the reordering window, so it is sent again, and both arrive.
const OVERTAKEN: &str = "0   push 100
                         0   > 0-9
                         100 < ack 0 sack 1-1
                         100 > 10
                         101 < ack 0 sack 1-2 rtt 101
                         101 > 11
                         102 < ack 0 sack 1-3 rtt 102
                         102 > r0
                         103 < ack 4 rtt 103";

#[test]
fn d_sack__for_all_that_was_sent_again_undoes_the_cut() {
    trace(&linux(), OVERTAKEN).run(
        "104 < ack 10 rtt 104
         104 > 12-14
         200 < ack 11
         200 > 15
         201 < ack 12
         201 > 16
         201 = cwnd 5
         202 < ack 12 twice 0
         202 > 17-21
         202 = cwnd 10",
    );
}

#[test]
fn d_sack__restores_nothing_where_marks_prove_congestion() {
    trace(&linux(), OVERTAKEN).run(
        "104 < ack 10 marked rtt 104
         104 > 12-14
         200 < ack 11
         200 > 15
         201 < ack 12
         201 > 16
         202 < ack 12 twice 0
         202 = cwnd 5",
    );
}

#[test]
fn d_sack__of_an_older_episode_says_nothing() {
    // The next loss begins at segment 12. The D-SACK for 0 is older.
    trace(&linux(), OVERTAKEN).run(
        "104 < ack 12 rtt 104
         104 > 12-16
         204 < ack 12 sack 13-15
         204 > r12
         204 = cwnd 2
         205 < ack 12 twice 0 rtt 103
         205 = cwnd 2",
    );
}

#[test]
fn receive_window__limits_what_is_sent_and_the_window_does_not_grow() {
    let params = TcpParams { receive_window: Some(4), ..linux() };
    trace(
        &params,
        "0   push 100
         0   > 0-3
         100 < ack 2
         100 > 4-5
         101 < ack 2 sack 3-4
         102 < ack 6
         102 > 6-9
         102 = cwnd 10",
    );
}
