//! The retransmission timer, the handshake and pFabric's probes.

use crate::common::sender::opens;
use crate::common::{ns2, rfc, traces};
use flowsieve_core::Time;
use flowsieve_transport::tcp::TcpParams;
use flowsieve_transport::tcp::params::{RtoRule, WindowRule};

fn pfabric() -> TcpParams {
    TcpParams { probe_after: Some(5), rto: RtoRule::Constant(Time::from_us(250)), ..ns2() }
}

/// RFC 6298's with at least 200 us, which is less than any timeout here.
fn estimates(initial: Time) -> TcpParams {
    TcpParams { rto: RtoRule::Rfc6298 { min: Time::from_us(200), initial }, ..rfc() }
}

fn constant() -> TcpParams {
    TcpParams { rto: RtoRule::Constant(Time::from_us(2_000)), ..rfc() }
}

const THREE_MS: Time = Time::from_us(3_000);

const TWICE: &str = "
        0    push 100  > 0-9
        2000 timer     > r0
        4000 timer     > r0";

const SYN_LOST_TWICE: &str = "
        0    push 30    > syn
        100  < ack 0
        2000 timer      > syn
        4000 timer      > syn";

traces! {
    rto__constant_neither_measures_nor_backs_off: ns2(), "
        0    push 1           > 0
        2000 timer            > r0
        4000 timer            > r0
        6000 timer            > r0
        6100 < ack 1 rtt 100  = done 1
        6200 push 1           > 1
        8200 timer            > r1";

    // 1 s before a measurement; then R + 4 · R/2; twice as long with each expiry, until new data is acknowledged.
    // The second measurement: 4 · (3/4 · 50) = 150.
    rto__rfc_6298_estimates_and_backs_off: estimates(RtoRule::RFC_INITIAL), "
        0       push 3           > 0-2
        1000000 timer            > r0
        1000100 < ack 1 rtt 100  > r1-2
        1000400 timer            > r1
        1001000 timer            > r1
        1002200 timer            > r1
        1002300 < ack 3 rtt 100  = done 3
        1002300 push 1           > 3
        1002550 timer            > r3";

    rto__new_acknowledgements_restart_it_and_the_last_stops_it: ns2(), "
        0     push 10          > 0-9
        1900  < ack 1
        1950  < ack 1 sack 5-5
        3899  < ack 2
        5899  timer            > r2
        5950  < ack 10         = done 10  = timer never
        99999 push 1           > 10";

    // RFC 5681 §3.1 holds it at the second expiry.
    rto__the_threshold_is_halved_once_for_the_same_segment: constant(), [TWICE, "
        4100 < ack 10  > 10-15  = cwnd 6.2"];

    // It halves the window of one again.
    rto__in_ns2_the_threshold_is_halved_twice: ns2(), [TWICE, "
        4100 < ack 10  > 10-11  = cwnd 2
        4200 < ack 11  > 12     = cwnd 2.5"];

    rto__in_ns2_a_cut_for_a_mark_leaves_the_threshold: ns2(), "
        0    push 100        > 0-9
        100  < ack 1 marked           = cwnd 9.6875
        2100 timer           > r1
        2200 < ack 2         > r2-3
        2201 < ack 3         > r4-5
        2202 < ack 10        > 10-13  = cwnd 4";

    handshake__data_waits_for_the_syn_ack: opens(rfc()), "
        0   push 3     > syn
        50  push 1
        100 < syn-ack  > 0-3
        150 < syn-ack
        200 < ack 4    = done 3  = done 1";

    // And a stray ACK before it is not.
    handshake__the_syn_ack_is_a_measurement: opens(estimates(RtoRule::RFC_INITIAL)), "
        0   push 1            > syn
        50  < ack 0 rtt 9000
        100 < syn-ack         > 0
        400 timer             > r0";

    handshake__the_answer_to_a_repeated_syn_measures_nothing: opens(estimates(RtoRule::RFC_INITIAL)), "
        0       push 1     > syn
        1000000 timer      > syn
        1000100 < syn-ack  > 0
        2000100 timer      > r0";

    // RFC 5681 §3.1: the first window is one segment then.
    handshake__a_lost_syn_is_sent_again: opens(constant()), [SYN_LOST_TWICE, "
        4100 < syn-ack  > 0
        4200 < ack 1    > 1-2"];

    // ns-2 does not know of it.
    handshake__in_ns2_a_lost_syn_leaves_the_window: opens(ns2()), [SYN_LOST_TWICE, "
        4100 < syn-ack  > 0-9  = effort 0 timeouts 2"];

    handshake__waits_for_the_initial_timeout:
        opens(TcpParams { rto: RtoRule::Rfc6298 { min: Time::from_us(10_000), initial: THREE_MS }, ..rfc() }), "
        0    push 1     > syn
        3000 timer      > syn
        9000 timer      > syn
        9100 < syn-ack  > 0    = effort 0 timeouts 2 unanswered 9000";

    timeouts__after_a_first_answer_are_no_wait_for_it: opens(estimates(THREE_MS)), "
        0   push 1     > syn
        100 < syn-ack  > 0
        400 timer      > r0  = effort 0 timeouts 1 unanswered 0";

    handshake__backs_off_after_rfc_6298: opens(rfc()), "
        0       push 1  > syn
        1000000 timer   > syn
        3000000 timer   > syn
        7000000 timer   > syn";

    probes__after_five_timeouts_until_one_is_answered: pfabric(), "
        0    push 20  > 0-9
        250  timer    > r0
        500  timer    > r0
        750  timer    > r0
        1000 timer    > r0
        1250 timer    > probe
        1500 timer    > probe
        1600 < ack 0  > r0
        1850 timer    > r0
        1950 < ack 1  > r1-2";

    // A late SACK after the fourth timeout: the count starts again (ns-2: recv, prob_count_ = 0).
    probes__any_ack_says_that_the_way_is_clear: pfabric(), "
        0    push 20  > 0-9
        250  timer    > r0
        500  timer    > r0
        750  timer    > r0
        1000 timer    > r0
        1010 < ack 0 sack 5-5
        1250 timer    > r0
        1500 timer    > r0";

    probes__with_the_pipe_rule_too: TcpParams { window: WindowRule::Pipe, ..pfabric() }, "
        0    push 20   > 0-9
        250  timer     > r0
        500  timer     > r0
        750  timer     > r0
        1000 timer     > r0
        1250 timer     > probe
        1350 < ack 10  > 10-15";
}
