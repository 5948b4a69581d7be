//! The retransmission timer, the handshake and pFabric's probes.

use crate::common::{Trace, ns2, rfc, trace};
use flowsieve_core::Time;
use flowsieve_transport::tcp::TcpParams;
use flowsieve_transport::tcp::params::{RtoRule, WindowRule};

#[test]
fn rto__constant_neither_measures_nor_backs_off() {
    trace(
        &ns2(),
        "0     push 1
         0     > 0
         2000  timer
         2000  > r0
         4000  timer
         4000  > r0
         6000  timer
         6000  > r0
         6100  < ack 1 rtt 100
         6100  done 1
         6200  push 1
         6200  > 1
         8200  timer
         8200  > r1",
    );
}

#[test]
fn rto__rfc_6298_estimates_and_backs_off() {
    let params =
        TcpParams { rto: RtoRule::Rfc6298 { min: Time::from_us(200), initial: RtoRule::RFC_INITIAL }, ..rfc() };
    // 1 s before a measurement; then R + 4 · R/2; twice as long with each expiry, until new data is acknowledged.
    trace(
        &params,
        "0        push 3
         0        > 0-2
         1000000  timer
         1000000  > r0
         1000100  < ack 1 rtt 100
         1000100  > r1-2
         1000400  timer
         1000400  > r1
         1001000  timer
         1001000  > r1
         1002200  timer
         1002200  > r1
         1002300  < ack 3 rtt 100
         1002300  done 3
         1002300  push 1
         1002300  > 3
         1002550  timer
         1002550  > r3",
        // The second measurement: 4 · (3/4 · 50) = 150.
    );
}

#[test]
fn rto__new_acknowledgements_restart_it_and_the_last_stops_it() {
    let mut trace = trace(
        &ns2(),
        "0    push 10
         0    > 0-9
         1900 < ack 1
         1950 < ack 1 sack 5-5
         3899 < ack 2
         5899 timer
         5899 > r2
         5950 < ack 10
         5950 done 10",
    );
    assert_eq!(trace.tcp.deadline(), Time::NEVER);
    trace.run("99999 push 1\n 99999 > 10");
}

#[test]
fn rto__the_threshold_is_halved_once_for_the_same_segment() {
    // RFC 5681 §3.1 holds it at the second expiry; ns-2 halves the window of one again.
    let rto = RtoRule::Constant(Time::from_us(2_000));
    let script = "0    push 100
                  0    > 0-9
                  2000 timer
                  2000 > r0
                  4000 timer
                  4000 > r0
                  4100 < ack 10";
    let mut pipe = trace_until_last(&TcpParams { rto, ..rfc() }, script);
    pipe.run("4100 > 10-15\n 4100 = cwnd 6.2");
    let mut ns2 = trace_until_last(&ns2(), script);
    ns2.run("4100 > 10-11\n 4100 = cwnd 2");
    ns2.run("4200 < ack 11\n 4200 > 12\n 4200 = cwnd 2.5");
}

/// A script whose last line may send.
fn trace_until_last(params: &TcpParams, script: &str) -> Trace {
    let mut trace = Trace::new(false, params);
    trace.run_all(script);
    trace
}

#[test]
fn rto__in_ns2_a_cut_for_a_mark_leaves_the_threshold() {
    trace(
        &ns2(),
        "0    push 100
         0    > 0-9
         100  < ack 1 marked
         100  = cwnd 9.6875
         2100 timer
         2100 > r1
         2200 < ack 2
         2200 > r2-3
         2201 < ack 3
         2201 > r4-5
         2202 < ack 10
         2202 > 10-13
         2202 = cwnd 4",
    );
}

#[test]
fn handshake__data_waits_for_the_syn_ack() {
    let mut trace = Trace::new(true, &rfc());
    trace.run(
        "0   push 3
         0   > syn
         50  push 1
         100 < syn-ack
         100 > 0-3
         150 < syn-ack
         200 < ack 4
         200 done 3
         200 done 1",
    );
}

#[test]
fn handshake__the_syn_ack_is_a_measurement() {
    // And a stray ACK before it is not.
    let mut trace = Trace::new(
        true,
        &TcpParams { rto: RtoRule::Rfc6298 { min: Time::from_us(200), initial: RtoRule::RFC_INITIAL }, ..rfc() },
    );
    trace.run(
        "0    push 1
         0    > syn
         50   < ack 0 rtt 9000
         100  < syn-ack
         100  > 0
         400  timer
         400  > r0",
    );
}

#[test]
fn handshake__the_answer_to_a_repeated_syn_measures_nothing() {
    let mut trace = Trace::new(
        true,
        &TcpParams { rto: RtoRule::Rfc6298 { min: Time::from_us(200), initial: RtoRule::RFC_INITIAL }, ..rfc() },
    );
    trace.run(
        "0        push 1
         0        > syn
         1000000  timer
         1000000  > syn
         1000100  < syn-ack
         1000100  > 0
         2000100  timer
         2000100  > r0",
    );
}

#[test]
fn handshake__a_lost_syn_is_sent_again() {
    let rto = RtoRule::Constant(Time::from_us(2_000));
    let script = "0     push 30
                  0     > syn
                  100   < ack 0
                  2000  timer
                  2000  > syn
                  4000  timer
                  4000  > syn
                  4100  < syn-ack";
    // RFC 5681 §3.1: the first window is one segment then; ns-2 does not know of it.
    let mut pipe = Trace::new(true, &TcpParams { rto, ..rfc() });
    pipe.run_all(script);
    pipe.run("4100 > 0\n 4200 < ack 1\n 4200 > 1-2");
    let mut ns2 = Trace::new(true, &ns2());
    ns2.run_all(script);
    ns2.run("4100 > 0-9");
    assert_eq!(ns2.tcp.span(0).map(|span| span.effort.timeouts), Some(2));
}

#[test]
fn handshake__waits_for_the_initial_timeout() {
    let rto = RtoRule::Rfc6298 { min: Time::from_us(10_000), initial: Time::from_us(3_000) };
    let mut trace = Trace::new(true, &TcpParams { rto, ..rfc() });
    trace.run(
        "0      push 1
         0      > syn
         3000   timer
         3000   > syn
         9000   timer
         9000   > syn
         9100   < syn-ack
         9100   > 0",
    );
    let effort = trace.tcp.span(0).unwrap().effort;
    assert_eq!((effort.timeouts, effort.unanswered_us), (2, 9_000));
}

#[test]
fn timeouts__after_a_first_answer_are_no_wait_for_it() {
    let rto = RtoRule::Rfc6298 { min: Time::from_us(200), initial: Time::from_us(3_000) };
    let mut trace = Trace::new(true, &TcpParams { rto, ..rfc() });
    trace.run(
        "0    push 1
         0    > syn
         100  < syn-ack
         100  > 0
         400  timer
         400  > r0",
    );
    let effort = trace.tcp.span(0).unwrap().effort;
    assert_eq!((effort.timeouts, effort.unanswered_us), (1, 0));
}

#[test]
fn handshake__backs_off_after_rfc_6298() {
    let mut trace = Trace::new(true, &rfc());
    trace.run(
        "0        push 1
         0        > syn
         1000000  timer
         1000000  > syn
         3000000  timer
         3000000  > syn
         7000000  timer
         7000000  > syn",
    );
}

fn pfabric() -> TcpParams {
    TcpParams { probe_after: Some(5), rto: RtoRule::Constant(Time::from_us(250)), ..ns2() }
}

#[test]
fn probes__after_five_timeouts_until_one_is_answered() {
    trace(
        &pfabric(),
        "0    push 20
         0    > 0-9
         250  timer
         250  > r0
         500  timer
         500  > r0
         750  timer
         750  > r0
         1000 timer
         1000 > r0
         1250 timer
         1250 > probe
         1500 timer
         1500 > probe
         1600 < ack 0
         1600 > r0
         1850 timer
         1850 > r0
         1950 < ack 1
         1950 > r1-2",
    );
}

#[test]
fn probes__any_ack_says_that_the_way_is_clear() {
    // A late SACK after the fourth timeout: the count starts again (ns-2: recv, prob_count_ = 0).
    trace(
        &pfabric(),
        "0    push 20
         0    > 0-9
         250  timer
         250  > r0
         500  timer
         500  > r0
         750  timer
         750  > r0
         1000 timer
         1000 > r0
         1010 < ack 0 sack 5-5
         1250 timer
         1250 > r0
         1500 timer
         1500 > r0",
    );
}

#[test]
fn probes__with_the_pipe_rule_too() {
    trace(
        &TcpParams { window: WindowRule::Pipe, ..pfabric() },
        "0    push 20
         0    > 0-9
         250  timer
         250  > r0
         500  timer
         500  > r0
         750  timer
         750  > r0
         1000 timer
         1000 > r0
         1250 timer
         1250 > probe
         1350 < ack 10
         1350 > 10-15",
    );
}
