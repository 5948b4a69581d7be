//! The sender of Linux: its timer, probes of the tail (RFC 8985 §7), proportional rate reduction (RFC 9937), F-RTO (RFC
//! 5682) and D-SACK. Times are computed by hand.

use crate::common::{linux, rfc, traces};
use flowsieve_core::Time;
use flowsieve_transport::tcp::CongestionSpec;
use flowsieve_transport::tcp::TcpParams;
use flowsieve_transport::tcp::congestion::dctcp::DctcpRules;
use flowsieve_transport::tcp::params::{LossDetection, Reduction, RtoRule};

/// Cuts at once, and nothing is undone.
fn rack_tlp() -> TcpParams {
    TcpParams { loss_detection: LossDetection::RackTlp, ..rfc() }
}

const MIN: Time = Time::from_us(10_000);

fn dup_acks(rto: RtoRule) -> TcpParams {
    TcpParams { rto, loss_detection: LossDetection::DupAck(3), ..linux() }
}

/// The last of ten is lost, and a probe repairs it.
const REPAIRED: &str = "
        0     push 10      > 0-9
        100   < ack 9
        10200 timer probe  > r9
        10300 < ack 10     = done 10  = cwnd 10";

/// Of ten all but segment 1 may still arrive when the timer fires.
fn short_timer(base: TcpParams) -> TcpParams {
    TcpParams { rto: RtoRule::Constant(Time::from_us(110)), ..base }
}

/// Marks, at 100 and within the window after it.
const MARKED: &str = "
        0   push 100                > 0-9
        100 < ack 1 marked          > 10
        101 < ack 2 rtt 101
        102 < ack 3 rtt 102         > 11
        103 < ack 4 rtt 103
        104 < ack 5 rtt 104         > 12
        105 < ack 6 marked rtt 105
        106 < ack 7 rtt 106         > 13
        107 < ack 8 rtt 107
        108 < ack 9 rtt 108
        109 < ack 10 rtt 109        > 14
        200 < ack 11                > 15  = cwnd 5";

/// Segment 0 teaches a round trip of 100 us. Of the next ten and a probe nothing is heard before the timeout.
const LATE: &str = "
        0     push 1       > 0
        100   < ack 1            = done 1
        200   push 40      > 1-10
        2400  timer probe  > 11
        12500 timer        > r1  = cwnd 1";

/// Segment 0 is overtaken by more than the reordering window, so it is sent again, and both arrive.
const OVERTAKEN: &str = "
        0   push 100                  > 0-9
        100 < ack 0 sack 1-1          > 10
        101 < ack 0 sack 1-2 rtt 101  > 11
        102 < ack 0 sack 1-3 rtt 102  > r0
        103 < ack 4 rtt 103";

traces! {
    // SRTT 9 ms and 4 RTTVAR 18 ms; a packet alone is probed after the timeout, which is less than 2 SRTT + 10 ms.
    timer__the_least_is_above_the_round_trip: linux(), "
        0      push 1            > 0
        9000   < ack 1 rtt 9000  = done 1
        9100   push 1            > 1
        36100  timer probe       > r1
        63100  timer             > r1
        // Twice the timeout, from then on.
        117100 timer             > r1
        225100 timer             > r1";

    timer__the_round_trip_is_beside_the_least: dup_acks(RtoRule::Linux { min: MIN, initial: RtoRule::RFC_INITIAL }), "
        0     push 5   > 0-4
        100   < ack 1
        10200 timer    > r1";

    timer__under_rfc_6298_the_round_trip_is_within_the_least:
        dup_acks(RtoRule::Rfc6298 { min: MIN, initial: RtoRule::RFC_INITIAL }), "
        0     push 5   > 0-4
        100   < ack 1
        10100 timer    > r1";

    // The last three are lost. 2 SRTT and a tick of 2 ms after the ACK the last is sent again. Its ACK shows the others.
    probe__shows_what_the_tail_has_lost: linux(), "
        0    push 10           > 0-9
        100  < ack 7
        2300 timer probe       > r9
        2400 < ack 7 sack 9-9  > r7  = cwnd 1
        2500 < ack 8           > r8
        2600 < ack 10                = done 10  = cwnd 5";

    // Past the window of ten, which is lost as a whole.
    probe__is_new_data_if_there_is_some: linux(), "
        0    push 1              > 0
        100  < ack 1             = done 1
        200  push 20             > 1-10
        2400 timer probe         > 11
        2500 < ack 1 sack 11-11  > r1
        2600 < ack 2             > r2-3
        2700 < ack 3             > r4-5";

    // Under RFC 6298 there is no tick: 2 SRTT after the last was sent. The timer starts anew with the probe.
    probe__one_at_a_time_then_the_timeout: rack_tlp(), "
        0     push 1       > 0
        100   < ack 1      = done 1
        200   push 3       > 1-3
        400   timer probe  > r3
        10400 timer        > r1";

    // One segment of two that an ACK answers is outstanding, and its ACK may take 500 us more.
    probe__waits_for_an_ack_that_may_be_delayed: TcpParams { ack_every: 2, delayed_ack: Time::from_us(500), ..rack_tlp() }, "
        0   push 10      > 0-9
        100 < ack 9
        800 timer probe  > r9";

    // RFC 8985 §7.4: no D-SACK comes, and an ACK beyond the probe shows that the first transmission was lost.
    probe__that_repairs_the_only_loss_cuts_the_window: linux(), [REPAIRED, "
        11000 push 2     > 10-11
        11100 < ack 12   = done 2  = cwnd 5"], [REPAIRED, "
        // Both have arrived.
        10301 < ack 10 twice 9
        11000 push 2     > 10-11
        11100 < ack 12   = done 2  = cwnd 10"];

    rack_tlp__three_above_a_hole_need_no_reordering_window: rack_tlp(), "
        0   push 10                   > 0-9
        100 < ack 0 sack 1-1
        101 < ack 0 sack 1-2 rtt 101
        102 < ack 0 sack 1-3 rtt 102  > r0  = cwnd 5", "
        // Two leave it to the timer, a quarter of the least round trip later.
        0   push 3      > 0-2
        100 < ack 0 sack 1-2
        125 timer rack  > r0";

    // RFC 8985 §6.3: of the first ten all but 1 may still arrive, a reordering window of 25 us after the round trip.
    rack_tlp__a_timeout_spares_what_was_sent_a_short_while_ago: short_timer(rack_tlp()), "
        0   push 30           > 0-9
        100 < ack 0 sack 1-1  > 10
        110 timer             > r0  = flight 10";

    rack__a_timeout_spares_nothing: short_timer(TcpParams { loss_detection: LossDetection::Rack, ..rfc() }), "
        0   push 30           > 0-9
        100 < ack 0 sack 1-1  > 10-11
        110 timer             > r0  = flight 1";

    reduction__a_loss_lets_one_go_for_two_that_arrive: linux(), "
        0   push 100                  > 0-9
        100 < ack 0 sack 1-1          > 10
        101 < ack 0 sack 1-2 rtt 101  > 11
        102 < ack 0 sack 1-3 rtt 102  > r0  = cwnd 9
        103 < ack 0 sack 1-4 rtt 103
        104 < ack 0 sack 1-5 rtt 104  > 12
        105 < ack 0 sack 1-6 rtt 105
        106 < ack 0 sack 1-7 rtt 106  > 13
        107 < ack 0 sack 1-8 rtt 107
        108 < ack 0 sack 1-9 rtt 108        = flight 5
        200 < ack 0 sack 1-10         > 14
        201 < ack 0 sack 1-11         > 15
        202 < ack 12                  > 16  = cwnd 5";

    reduction__a_mark_does_the_same_and_nothing_grows_meanwhile: linux(), [MARKED, "
        201 < ack 12  > 16  = cwnd 5"];

    // DCTCP's cut by half of alpha, here of 1.
    reduction__dctcps_is_the_same:
        TcpParams {
            congestion: CongestionSpec::Dctcp(DctcpRules { gain: 0.0625, initial_alpha: 1.0 }),
            ..linux()
        }, MARKED;

    // The window is five, and grows by a segment before the last of its window is acknowledged.
    reduction__at_once: TcpParams { reduction: Reduction::AtOnce, ..linux() }, "
        0   push 100         > 0-9
        100 < ack 1 marked
        105 < ack 6 rtt 105  > 10-11  = cwnd 6";

    // RFC 5682 §3.1: the ACK of segment 1 may be that of either transmission, and lets new data go. That of 2 cannot.
    f_rto__a_late_ack_for_what_was_sent_once_undoes_the_timeout: linux(), [LATE, "
        12600 < ack 2 rtt 12400   > 12-13
        12601 < ack 3 rtt 12401            = cwnd 11  = flight 11
        12602 < ack 12 rtt 10202  > 14-31"], [LATE, "
        // An ACK for several is enough.
        12600 < ack 5 rtt 12400   > 12-18  = cwnd 14"];

    // It is a loss: the window of one grows, and what it allows is sent again.
    f_rto__not_without_undo: TcpParams { undo: false, ..linux() }, [LATE, "
        12600 < ack 5 rtt 12400  > r5-9  = cwnd 5"];

    f_rto__what_arrives_of_the_new_data_alone_confirms_the_loss: linux(), [LATE, "
        12600 < ack 2                     > 12-13
        12700 < ack 2 sack 12-12          > r2
        12701 < ack 2 sack 12-13 rtt 101  > r3
        12800 < ack 3                     > r4-5"];

    f_rto__without_new_data_repairs_as_ever: linux(), "
        0     push 1       > 0
        100   < ack 1      = done 1
        200   push 10      > 1-10
        2400  timer probe  > r10
        12500 timer        > r1
        12600 < ack 2      > r2-3";

    d_sack__for_all_that_was_sent_again_undoes_the_cut: linux(), [OVERTAKEN, "
        104 < ack 10 rtt 104  > 12-14
        200 < ack 11          > 15
        201 < ack 12          > 16     = cwnd 5
        202 < ack 12 twice 0  > 17-21  = cwnd 10"];

    d_sack__restores_nothing_where_marks_prove_congestion: linux(), [OVERTAKEN, "
        104 < ack 10 marked rtt 104  > 12-14
        200 < ack 11                 > 15
        201 < ack 12                 > 16
        202 < ack 12 twice 0         = cwnd 5"];

    // The next loss begins at segment 12. The D-SACK for 0 is older.
    d_sack__of_an_older_episode_says_nothing: linux(), [OVERTAKEN, "
        104 < ack 12 rtt 104          > 12-16
        204 < ack 12 sack 13-15       > r12  = cwnd 2
        205 < ack 12 twice 0 rtt 103         = cwnd 2"];

    receive_window__limits_what_is_sent_and_the_window_does_not_grow: TcpParams { receive_window: Some(4), ..linux() }, "
        0   push 100  > 0-3
        100 < ack 2   > 4-5
        101 < ack 2 sack 3-4
        102 < ack 6   > 6-9  = cwnd 10";
}
