//! How the congestion window grows, is cut by marks, and is restarted.

use crate::common::sender::window;
use crate::common::{Setup, ns2, rfc, run, traces};
use flowsieve_core::Time;
use flowsieve_transport::tcp::congestion::d2tcp::D2tcpRules;
use flowsieve_transport::tcp::congestion::dctcp::DctcpRules;
use flowsieve_transport::tcp::congestion::new_reno::NewReno;
use flowsieve_transport::tcp::params::{LossDetection, Restart, RtoRule, WindowRule};
use flowsieve_transport::tcp::{CongestionSpec, TcpParams};

fn dctcp(initial_alpha: f64) -> CongestionSpec {
    CongestionSpec::Dctcp(DctcpRules { gain: 1.0 / 16.0, initial_alpha })
}

/// Eleven segments, and a window of twenty.
const GROWN: &str = "
        0   push 11   > 0-9
        100 < ack 10  > 10
        200 < ack 11          = done 11";

/// Two segments. The first comes late.
const CUT: &str = "
        0    push 2   > 0-1
        2000 timer    > r0
        2100 < ack 2
        2200          = done 2";

/// No losses are found, so that holes stay.
fn blind() -> TcpParams {
    TcpParams { loss_detection: LossDetection::Off, ..rfc() }
}

traces! {
    slow_start__a_segment_for_each_acknowledged: rfc(), "
        0   push 100  > 0-9
        100 < ack 1   > 10-11
        101 < ack 2   > 12-13
        102 < ack 10  > 14-29  = cwnd 20
        200 < ack 30  > 30-69  = cwnd 40";

    // RFC 7661: ten segments use up the initial window, but the data ends there.
    slow_start__only_while_the_window_is_what_limits: rfc(), "
        0   push 10   > 0-9
        100 < ack 10           = cwnd 10
        100 push 12   > 10-19
        200 < ack 12  > 20-21  = cwnd 12
        250 < ack 22           = cwnd 12";

    // One step for each ACK that moves the edge.
    slow_start__in_ns2_in_any_case: ns2(), "
        0   push 10   > 0-9
        100 < ack 1
        100 < ack 2
        100 < ack 10  = cwnd 13";

    // Half of four is the threshold; from there on 1/cwnd for each segment.
    congestion_avoidance__a_segment_for_each_window: TcpParams { initial_window: 4, ..rfc() }, "
        0  push 50         > 0-3
        50 < ack 1 marked         = cwnd 2
        51 < ack 2                = cwnd 2.5
        52 < ack 4         > 4-6  = cwnd 3.3";

    congestion_avoidance__slow_start_ends_at_the_threshold: rfc(), "
        0     push 200        > 0-9
        50    < ack 1 marked           = cwnd 5
        10050 timer           > r1     = cwnd 1
        // FlightSize was 5 (the window, less than what was out): the threshold is 2.5, and the rest of the ACK adds 7.5/2.5.
        10150 < ack 10        > 10-14  = cwnd 5.5";

    max_window__is_never_passed: TcpParams { max_window: 12, ..rfc() }, "
        0   push 60   > 0-9
        100 < ack 10  > 10-21  = cwnd 12
        200 < ack 22  > 22-33  = cwnd 12";

    max_window__is_never_passed_in_ns2: TcpParams { max_window: 12, ..ns2() }, "
        0   push 60  > 0-9
        100 < ack 1  > 10-11
        100 < ack 2  > 12-13
        100 < ack 3  > 14  = cwnd 12";

    max_window__bounds_the_initial_window: TcpParams { initial_window: 70, max_window: 3, ..rfc() }, "
        0 push 9  > 0-2";

    max_window__and_the_initial_window_are_not_zero: TcpParams { initial_window: 0, max_window: 0, ..rfc() }, "
        0   push 9   > 0
        100 < ack 1  > 1
        200 < ack 2  > 2";

    // RFC 3168 §6.1.2: a second mark counts again only with data that was sent after the first.
    mark__halves_once_a_window: rfc(), "
        0   push 100         > 0-9
        100 < ack 1          > 10-11
        101 < ack 2 marked            = cwnd 5.5
        102 < ack 3 marked            = cwnd 5.5
        103 < ack 11 marked  > 12-15  = cwnd 5.5
        104 < ack 12 marked  > 16     = cwnd 5.5
        205 < ack 13 marked           = cwnd 2.75";

    mark__lets_nothing_grow: rfc(), "
        0   push 100         > 0-9
        100 < ack 5 marked            = cwnd 5
        101 < ack 10 marked  > 10-14  = cwnd 5
        200 < ack 11         > 15     = cwnd 5.2";

    // RFC 8257 §3.3: the first window ends with the first ACK; the next with the first segment sent after it.
    // 15/16 · 0.9375 + 1/16 · 6/11: six of the segments 1 to 11 were marked.
    dctcp__alpha_is_the_smoothed_fraction_of_each_window: TcpParams { congestion: dctcp(1.0), ..rfc() }, "
        0   push 100         > 0-9
        100 < ack 1          > 10-11  = alpha 0.9375
        101 < ack 4          > 12-17
        102 < ack 10 marked           = alpha 0.9375  = cwnd 7.4375
        103 < ack 12         > 18     = alpha 0.9129971590909091";

    dctcp__cuts_by_half_of_alpha_once_a_window: TcpParams { congestion: dctcp(1.0), ..rfc() }, "
        0   push 100         > 0-9
        100 < ack 1 marked            = alpha 1  = cwnd 5
        101 < ack 2 marked            = cwnd 5
        102 < ack 10 marked  > 10-14  = cwnd 5
        200 < ack 11 marked           = alpha 1  = cwnd 2.5";

    dctcp__in_ns2_alpha_starts_at_zero_and_marks_end_slow_start: TcpParams { congestion: dctcp(0.0), ..ns2() }, "
        0   push 100        > 0-9
        100 < ack 1 marked        = alpha 0.0625  = cwnd 9.6875
        101 < ack 2 marked  > 10  = cwnd 9.790725806";

    ns2__marks_count_with_acks_that_move_the_edge: ns2(), "
        0   push 100                 > 0-9
        100 < ack 1                  > 10-11
        101 < ack 1 sack 2-2 marked           = cwnd 11
        102 < ack 3                  > 12-14  = cwnd 12";

    // 10 ms is the RTO: not yet, then longer.
    restart__after_an_idle_time_longer_than_the_timeout: rfc(), [GROWN, "
        10100 push 100  > 11-30"], [GROWN, "
        10101 push 100  > 11-20"];

    restart__never_where_it_is_off: TcpParams { restart: Restart::Off, ..rfc() }, [GROWN, "
        99000 push 100  > 11-30"];

    restart__a_window_below_the_initial_one_rises_in_ns2: ns2(), [CUT, "
        9000           = cwnd 2
        9000 push 20   > 2-11"];

    restart__a_window_below_the_initial_one_stays:
        TcpParams { rto: RtoRule::Constant(Time::from_us(2_000)), ..rfc() }, [CUT, "
        9000           = cwnd 2.5
        9000 push 20   > 2-3"];

    // Segment 0 is missing. RFC 3042 and 6675 send a new segment for each that arrives.
    window__is_of_the_pipe: blind(), "
        0   push 100          > 0-9
        100 < ack 0 sack 1-1  > 10-11
        101 < ack 0 sack 1-9  > 12-27";

    // ns-2 stops a window after the hole.
    window__is_from_the_edge_in_ns2: ns2(), "
        0   push 100          > 0-9
        100 < ack 0 sack 1-1
        101 < ack 0 sack 1-9            = cwnd 10
        150 < ack 10          > 10-20";

    // A hole that nothing finds, and everything after it arrives: the sender stops at twice the largest window.
    window__holes_and_what_is_beyond_them_fit_in_the_span: TcpParams { max_window: 10, ..blind() }, "
        0   push 100           > 0-9
        100 < ack 0 sack 1-9   > 10-18
        200 < ack 0 sack 1-18  > 19
        300 < ack 0 sack 1-19
        350 < ack 20           > 20-29";

    // Unless a mark made the last cut: then, as in RFC 3168, once what was out at the timeout is acknowledged.
    ns2__after_a_timeout_a_mark_cuts_at_once: TcpParams { congestion: CongestionSpec::NewReno(NewReno), ..ns2() }, "
        0    push 100        > 0-9
        2000 timer           > r0
        2100 < ack 1         > r1-2
        2200 < ack 2         > r3-4
        2201 < ack 3 marked         = cwnd 1.5", "
        0    push 100        > 0-9
        1    < ack 1 marked
        2001 timer           > r1
        2100 < ack 2         > r2-3
        2101 < ack 3         > r4-5
        2102 < ack 4 marked  > r6   = cwnd 3";
}

#[test]
fn window__of_the_parameters_above() {
    assert_eq!(TcpParams { max_window: 10, ..blind() }.span(), 20);
    assert_eq!(ns2().window, WindowRule::FromCumulative);
}

#[test]
fn d2tcp__cuts_by_how_near_the_deadline_is() {
    // Alpha is a quarter, and 19/64 after the first ACK, which is marked; 19 segments are left, at 7.5 a round trip.
    let params = TcpParams {
        congestion: CongestionSpec::D2tcp(D2tcpRules(DctcpRules { gain: 1.0 / 16.0, initial_alpha: 0.25 })),
        ..rfc()
    };
    let after_mark = |params: TcpParams, push: &str| {
        let mut sender = params.subject();
        run(&mut sender, &*format!("0 push 20 {push} > 0-9\n 100 < ack 1 marked"));
        sender
    };
    let window_due = |push: &str| {
        let mut sender = after_mark(params.clone(), push);
        run(&mut sender, "100 = alpha 0.296875");
        window(&sender.tcp)
    };
    let cut = |d: f64| 10.0 * (1.0 - libm::pow(19.0 / 64.0, d) / 2.0);
    assert!((window_due("due 300") - cut(19.0 / 7.5 * 100.0 / 200.0)).abs() < 1e-9);
    assert_eq!([window_due("due 101"), window_due("due 9000")], [cut(2.0), cut(0.5)]);
    assert_eq!([window_due(""), window_due("due 100")], [cut(1.0); 2], "none, and one that is over");
    let dctcp = TcpParams { congestion: dctcp(0.25), ..rfc() };
    assert_eq!(window(&after_mark(dctcp, "").tcp), cut(1.0));
}
