//! How the congestion window grows, is cut by marks, and is restarted.

use crate::common;
use crate::common::{Trace, ns2, rfc, trace};
use flowsieve_core::Time;
use flowsieve_transport::tcp::congestion::d2tcp::D2tcpRules;
use flowsieve_transport::tcp::congestion::dctcp::DctcpRules;
use flowsieve_transport::tcp::congestion::new_reno::NewReno;
use flowsieve_transport::tcp::params::{Restart, RtoRule, WindowRule};
use flowsieve_transport::tcp::{CongestionSpec, TcpParams};

fn dctcp(initial_alpha: f64) -> CongestionSpec {
    CongestionSpec::Dctcp(DctcpRules { gain: 1.0 / 16.0, initial_alpha })
}

#[test]
fn slow_start__a_segment_for_each_acknowledged() {
    trace(
        &rfc(),
        "0   push 100
         0   > 0-9
         100 < ack 1
         100 > 10-11
         101 < ack 2
         101 > 12-13
         102 < ack 10
         102 > 14-29
         102 = cwnd 20
         200 < ack 30
         200 > 30-69
         200 = cwnd 40",
    );
}

#[test]
fn slow_start__only_while_the_window_is_what_limits() {
    // RFC 7661: ten segments use up the initial window, but the data ends there.
    trace(
        &rfc(),
        "0    push 10
         0    > 0-9
         100  < ack 10
         100  = cwnd 10
         100  push 12
         100  > 10-19
         200  < ack 12
         200  > 20-21
         200  = cwnd 12
         250  < ack 22
         250  = cwnd 12",
    );
    // ns-2 lets it grow in any case, one step for each ACK that moves the edge.
    trace(
        &ns2(),
        "0    push 10
         0    > 0-9
         100  < ack 1
         100  < ack 2
         100  < ack 10
         100  = cwnd 13",
    );
}

#[test]
fn congestion_avoidance__a_segment_for_each_window() {
    let params = TcpParams { initial_window: 4, ..rfc() };
    // Half of four is the threshold; from there on 1/cwnd for each segment.
    trace(
        &params,
        "0     push 50
         0     > 0-3
         50    < ack 1 marked
         50    = cwnd 2
         51    < ack 2
         51    = cwnd 2.5
         52    < ack 4
         52    > 4-6
         52    = cwnd 3.3",
    );
}

#[test]
fn congestion_avoidance__slow_start_ends_at_the_threshold() {
    let mut trace = trace(
        &rfc(),
        "0    push 200
         0    > 0-9
         50   < ack 1 marked
         50   = cwnd 5",
    );
    trace.run(
        "10050 timer
         10050 > r1
         10050 = cwnd 1",
    );
    // FlightSize was 5 (the window, less than what was out): the threshold is 2.5, and the rest of the ACK adds 7.5/2.5.
    trace.run(
        "10150 < ack 10
         10150 > 10-14
         10150 = cwnd 5.5",
    );
}

#[test]
fn max_window__is_never_passed() {
    let params = TcpParams { max_window: 12, ..rfc() };
    trace(
        &params,
        "0   push 60
         0   > 0-9
         100 < ack 10
         100 > 10-21
         100 = cwnd 12
         200 < ack 22
         200 > 22-33
         200 = cwnd 12",
    );
    let params = TcpParams { max_window: 12, ..ns2() };
    trace(
        &params,
        "0   push 60
         0   > 0-9
         100 < ack 1
         100 > 10-11
         100 < ack 2
         100 > 12-13
         100 < ack 3
         100 > 14
         100 = cwnd 12",
    );
}

#[test]
fn max_window__bounds_the_initial_window_and_neither_may_be_zero() {
    let params = TcpParams { initial_window: 70, max_window: 3, ..rfc() };
    trace(&params, "0 push 9\n 0 > 0-2");
    let params = TcpParams { initial_window: 0, max_window: 0, ..rfc() };
    trace(&params, "0 push 9\n 0 > 0\n 100 < ack 1\n 100 > 1\n 200 < ack 2\n 200 > 2");
}

#[test]
fn mark__halves_once_a_window() {
    // RFC 3168 §6.1.2: a second mark counts again only with data that was sent after the first.
    trace(
        &rfc(),
        "0   push 100
         0   > 0-9
         100 < ack 1
         100 > 10-11
         101 < ack 2 marked
         101 = cwnd 5.5
         102 < ack 3 marked
         102 = cwnd 5.5
         103 < ack 11 marked
         103 > 12-15
         103 = cwnd 5.5
         104 < ack 12 marked
         104 > 16
         104 = cwnd 5.5
         205 < ack 13 marked
         205 = cwnd 2.75",
    );
}

#[test]
fn mark__lets_nothing_grow() {
    trace(
        &rfc(),
        "0   push 100
         0   > 0-9
         100 < ack 5 marked
         100 = cwnd 5
         101 < ack 10 marked
         101 > 10-14
         101 = cwnd 5
         200 < ack 11
         200 > 15
         200 = cwnd 5.2",
    );
}

#[test]
fn dctcp__alpha_is_the_smoothed_fraction_of_each_window() {
    // RFC 8257 §3.3: the first window ends with the first ACK; the next with the first segment sent after it.
    let params = TcpParams { congestion: dctcp(1.0), ..rfc() };
    trace(
        &params,
        "0   push 100
         0   > 0-9
         100 < ack 1
         100 > 10-11
         100 = alpha 0.9375
         101 < ack 4
         101 > 12-17
         102 < ack 10 marked
         102 = alpha 0.9375
         102 = cwnd 7.4375
         103 < ack 12
         103 > 18
         103 = alpha 0.9129971590909091",
        // 15/16 · 0.9375 + 1/16 · 6/11: six of the segments 1 to 11 were marked.
    );
}

#[test]
fn dctcp__cuts_by_half_of_alpha_once_a_window() {
    let params = TcpParams { congestion: dctcp(1.0), ..rfc() };
    trace(
        &params,
        "0   push 100
         0   > 0-9
         100 < ack 1 marked
         100 = alpha 1
         100 = cwnd 5
         101 < ack 2 marked
         101 = cwnd 5
         102 < ack 10 marked
         102 > 10-14
         102 = cwnd 5
         200 < ack 11 marked
         200 = alpha 1
         200 = cwnd 2.5",
    );
}

#[test]
fn dctcp__in_ns2_alpha_starts_at_zero_and_marks_end_slow_start() {
    trace(
        &TcpParams { congestion: dctcp(0.0), ..ns2() },
        "0   push 100
         0   > 0-9
         100 < ack 1 marked
         100 = alpha 0.0625
         100 = cwnd 9.6875
         101 < ack 2 marked
         101 > 10
         101 = cwnd 9.790725806",
    );
}

#[test]
fn ns2__marks_count_with_acks_that_move_the_edge() {
    trace(
        &ns2(),
        "0   push 100
         0   > 0-9
         100 < ack 1
         100 > 10-11
         101 < ack 1 sack 2-2 marked
         101 = cwnd 11
         102 < ack 3
         102 > 12-14
         102 = cwnd 12",
    );
}

#[test]
fn restart__after_an_idle_time_longer_than_the_timeout() {
    let grown = "0   push 11
                 0   > 0-9
                 100 < ack 10
                 100 > 10
                 200 < ack 11
                 200 done 11";
    // 10 ms is the RTO: not yet, then longer.
    for (idle, window) in [(10_100, 20), (10_101, 10)] {
        let mut trace = trace(&rfc(), grown);
        trace.run(&format!("{idle} push 100\n {idle} > 11-{}", 10 + window));
    }
    let mut trace = trace(&TcpParams { restart: Restart::Off, ..rfc() }, grown);
    trace.run("99000 push 100\n 99000 > 11-30");
}

#[test]
fn restart__a_window_below_the_initial_one_rises_in_ns2_only() {
    let cut = "0      push 2
               0      > 0-1
               2000   timer
               2000   > r0
               2100   < ack 2
               2200   done 2";
    let rule = RtoRule::Constant(Time::from_us(2_000));
    let mut ns2 = trace(&ns2(), cut);
    ns2.run("9000 = cwnd 2\n 9000 push 20\n 9000 > 2-11");
    let mut pipe = trace(&TcpParams { rto: rule, ..rfc() }, cut);
    pipe.run("9000 = cwnd 2.5\n 9000 push 20\n 9000 > 2-3");
}

#[test]
fn window__is_of_the_pipe_or_from_the_edge() {
    // Segment 0 is missing. RFC 3042 and 6675 send a new segment for each that arrives.
    let params = TcpParams { loss_detection: common::ns2().loss_detection, ..rfc() };
    trace(
        &params,
        "0   push 100
         0   > 0-9
         100 < ack 0 sack 1-1
         100 > 10-11
         101 < ack 0 sack 1-9
         101 > 12-27",
    );
    // ns-2 stops a window after the hole.
    assert_eq!(common::ns2().window, WindowRule::FromCumulative);
    trace(
        &ns2(),
        "0   push 100
         0   > 0-9
         100 < ack 0 sack 1-1
         101 < ack 0 sack 1-9
         101 = cwnd 10
         150 < ack 10
         150 > 10-20",
    );
}

#[test]
fn window__holes_and_what_is_beyond_them_fit_in_the_span() {
    // A hole that nothing finds, and everything after it arrives: the sender stops at twice the largest window.
    let params = TcpParams { max_window: 10, loss_detection: common::ns2().loss_detection, ..rfc() };
    assert_eq!(params.span(), 20);
    trace(
        &params,
        "0   push 100
         0   > 0-9
         100 < ack 0 sack 1-9
         100 > 10-18
         200 < ack 0 sack 1-18
         200 > 19
         300 < ack 0 sack 1-19
         350 < ack 20
         350 > 20-29",
    );
}

#[test]
fn ns2__after_a_timeout_a_mark_cuts_at_once() {
    // Unless a mark made the last cut: then, as in RFC 3168, once what was out at the timeout is acknowledged.
    let script = "2000 timer
                  2000 > r0
                  2100 < ack 1
                  2100 > r1-2
                  2200 < ack 2
                  2200 > r3-4
                  2201 < ack 3 marked";
    let mut cold = Trace::new(false, &TcpParams { congestion: CongestionSpec::NewReno(NewReno), ..ns2() });
    cold.run("0 push 100\n 0 > 0-9");
    cold.run(script);
    cold.run("2201 = cwnd 1.5");
    trace(
        &TcpParams { congestion: CongestionSpec::NewReno(NewReno), ..ns2() },
        "0    push 100
         0    > 0-9
         1    < ack 1 marked
         2001 timer
         2001 > r1
         2100 < ack 2
         2100 > r2-3
         2101 < ack 3
         2101 > r4-5
         2102 < ack 4 marked
         2102 > r6
         2102 = cwnd 3",
    );
}

#[test]
fn d2tcp__cuts_by_how_near_the_deadline_is() {
    // Alpha is a quarter, and 19/64 after the first ACK, which is marked; 19 segments are left, at 7.5 a round trip.
    let params = TcpParams {
        congestion: CongestionSpec::D2tcp(D2tcpRules(DctcpRules { gain: 1.0 / 16.0, initial_alpha: 0.25 })),
        ..rfc()
    };
    let window = |push: &str| {
        let script = format!(
            "0   push 20 {push}
             0   > 0-9
             100 < ack 1 marked
             100 = alpha 0.296875"
        );
        common::window(&trace(&params, &script).tcp)
    };
    let cut = |d: f64| 10.0 * (1.0 - libm::pow(19.0 / 64.0, d) / 2.0);
    assert!((window("due 300") - cut(19.0 / 7.5 * 100.0 / 200.0)).abs() < 1e-9);
    assert_eq!([window("due 101"), window("due 9000")], [cut(2.0), cut(0.5)]);
    assert_eq!([window(""), window("due 100")], [cut(1.0); 2], "none, and one that is over");
    let dctcp = TcpParams { congestion: dctcp(0.25), ..rfc() };
    let mut same = Trace::new(false, &dctcp);
    same.run("0 push 20\n0 > 0-9\n100 < ack 1 marked");
    assert_eq!(common::window(&same.tcp), cut(1.0));
}
