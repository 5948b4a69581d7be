//! RACK (RFC 8985): losses by time, in networks that reorder.

use crate::common::{rfc, traces};
use flowsieve_transport::tcp::TcpParams;
use flowsieve_transport::tcp::params::LossDetection;

fn rack() -> TcpParams {
    TcpParams { loss_detection: LossDetection::Rack, ..rfc() }
}

traces! {
    // A quarter of the round trip of 100 us: segment 0 is 24 us later than the others of its burst.
    reordering__within_the_window_is_no_loss: rack(), "
        0   push 10           > 0-9
        100 < ack 0 sack 1-3
        105 < ack 0 sack 1-9 rtt 105
        124 < ack 10 rtt 124  = cwnd 10  = done 10";

    reordering__grows_the_window_as_if_in_order: rack(), "
        0   push 100          > 0-9
        100 < ack 0 sack 1-4  > 10-17  = cwnd 14
        101 < ack 5 rtt 101   > 18-19  = cwnd 15";

    // 0 and the others are sent at one instant; the timer is the round trip and a quarter after it.
    loss__when_a_later_segment_arrived_a_window_ago: rack(), "
        0   push 10     > 0-9
        100 < ack 0 sack 1-9
        125 timer rack  > r0  = cwnd 5
        225 < ack 10          = done 10";

    // The rest of the burst is lost; the first delivery of the next one, a round trip later, tells.
    loss__by_an_ack_where_the_window_has_passed: rack(), "
        0   push 100                    > 0-9
        100 < ack 5                     > 10-19  = cwnd 15
        200 < ack 5 sack 10-10          > r5     = cwnd 7.5  = flight 10
        201 < ack 5 sack 10-14 rtt 101  > r6
        202 < ack 5 sack 10-19 rtt 102  > r7-9 20-21";

    loss__one_cut_for_all_of_a_window: rack(), "
        0   push 100                  > 0-9
        100 < ack 1                   > 10-11
        101 < ack 1 sack 3-9 rtt 101  > 12-25
        126 timer rack                > r1  = cwnd 9
        200 < ack 1 sack 3-11
        201 < ack 1 sack 3-25         > r2 26-32
        226 < ack 2                   > 33
        301 < ack 26                  > 34  = cwnd 9.1111111111";

    // Duplicate ACKs leave it to the timeout. RACK finds it: what was sent after it has arrived.
    loss__of_a_retransmission: rack(), "
        0   push 20                     > 0-9
        100 < ack 0 sack 1-8            > 10-19
        125 timer rack                  > r0
        200 < ack 0 sack 10-10
        201 < ack 0 sack 10-19 rtt 101  > r9
        301 < ack 0 sack 1-19           > r0
        401 < ack 20                    = done 20";

    // The last three segments are lost: nothing sent after them arrives (a tail loss probe is not modelled).
    tail__without_a_later_delivery_only_the_timeout_helps: rack(), "
        0     push 10   > 0-9
        100   < ack 7
        10100 timer     > r7
        10200 < ack 8   > r8-9
        10300 < ack 10  = done 10";

    duplicates__widen_the_window_once_a_round_trip: rack(), "
        0     push 100                     > 0-9
        100   < ack 0 sack 1-9             > 10-27
        125   timer rack                   > r0
        126   < ack 10 rtt 126
        200   < ack 10 dup rtt 75
        201   < ack 10 dup rtt 76
        // The least round trip is 75, two quarters of it 37.5; the newest delivery is the duplicate's, whose was 76.
        210   < ack 10 sack 11-27 rtt 110  > 28-35
        213.5 timer rack                   > r10";

    // After it, a delivery of the first burst's says nothing of what has been sent again since.
    timeout__forgets_when_segments_were_sent: rack(), "
        0     push 10                     > 0-9
        100   < ack 1
        10100 timer                       > r1
        10101 < ack 1 sack 9-9 rtt 10101  > r2
        10200 < ack 2 rtt 100             > r3-4
        10300 < ack 4 rtt 100             > r5-7
        10400 < ack 10 rtt 100            = done 10";
}
