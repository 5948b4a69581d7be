//! Messages on a connection: several in line, their facts, their ends.

use crate::common;
use crate::common::{SEGMENT, Trace, ns2, rfc, trace};
use flowsieve_core::{Message, Time};
use flowsieve_transport::tcp::TcpSender;
use flowsieve_transport::tcp::congestion::ALPHA;

#[test]
fn persistent__messages_follow_one_another_in_one_window() {
    trace(
        &ns2(),
        "0   push 3
         0   > 0-2
         10  push 20
         10  > 3-9
         20  push 1
         100 < ack 3
         100 > 10-13
         100 done 3
         200 < ack 14
         200 > 14-23
         300 < ack 24
         300 done 20
         300 done 1",
    );
}

#[test]
fn persistent__one_ack_may_finish_several() {
    let mut trace = trace(
        &ns2(),
        "0   push 1
         0   > 0
         0   push 2
         0   > 1-2
         0   push 3
         0   > 3-5
         100 < ack 0 sack 1-5
         150 < ack 6
         150 done 1
         150 done 2
         150 done 3",
    );
    assert_eq!(trace.tcp.finished(), None);
    assert!(trace.tcp.is_idle());
}

#[test]
fn persistent__a_window_and_alpha_outlive_a_message() {
    let trace = trace(
        &ns2(),
        "0   push 10
         0   > 0-9
         100 < ack 1 marked
         101 < ack 5
         102 < ack 10
         102 done 10
         500 push 50
         500 > 10-18",
    );
    assert_eq!(common::reading(&trace.tcp, ALPHA), Some(0.0625));
    let window = common::window(&trace.tcp);
    assert!(window > 9.7 && window < 10.0, "{window}");
}

#[test]
fn facts__timeouts_and_retransmissions_are_of_the_message() {
    let mut trace = Trace::new(false, &ns2());
    trace.run(
        "0    push 2
         0    > 0-1
         0    push 2
         0    > 2-3
         100  < ack 1
         2100 timer
         2100 > r1
         2200 < ack 2 rtt 100
         2200 > r2-3",
    );
    let first = trace.tcp.finished().unwrap();
    assert_eq!((first.effort.timeouts, first.effort.retransmissions), (1, 1));
    let second = trace.tcp.span(3).unwrap();
    assert_eq!((second.message.id, second.effort.timeouts, second.effort.retransmissions), (1, 0, 2));
}

#[test]
fn remaining__counts_what_is_acknowledged_selectively() {
    let mut trace = Trace::new(false, &ns2());
    trace.run("0 push 10\n 0 > 0-9\n 100 < ack 2\n 101 < ack 2 sack 5-7");
    let span = *trace.tcp.span(2).unwrap();
    assert_eq!(trace.tcp.remaining(&span, &ns2()), 5 * u64::from(SEGMENT));
    assert_eq!((span.offset(3, SEGMENT), span.payload(9, SEGMENT)), (3 * u64::from(SEGMENT), SEGMENT));
}

#[test]
fn payload__of_the_last_segment_is_the_rest() {
    let mut tcp = TcpSender::new(false, &rfc());
    for bytes in [0, 1, 1_460, 1_461] {
        tcp.push(Time::ZERO, Message { id: bytes, bytes: u64::from(bytes), ..Message::default() }, &rfc());
    }
    let mut payloads = Vec::new();
    while let Some(flowsieve_transport::tcp::sender::Emission::Segment { seq, .. }) = tcp.poll(Time::ZERO, &rfc()) {
        payloads.push(tcp.span(seq).unwrap().payload(seq, SEGMENT));
    }
    assert_eq!(payloads, [0, 1, 1_460, 1_460, 1]);
}

#[test]
#[should_panic(expected = "fewer than 2^32 segments")]
fn push__more_segments_than_numbers() {
    let mut tcp = TcpSender::new(false, &rfc());
    tcp.push(Time::ZERO, Message { id: 0, bytes: 1_460 << 31, ..Message::default() }, &rfc());
    tcp.push(Time::ZERO, Message { id: 1, bytes: 1_460 << 31, ..Message::default() }, &rfc());
}
