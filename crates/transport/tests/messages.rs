//! Messages on a connection: several in line, their facts, their ends.

use crate::common::{SEGMENT, Setup, ns2, rfc, run, traces};
use flowsieve_core::{Message, Time};
use flowsieve_transport::tcp::TcpSender;

traces! {
    persistent__messages_follow_one_another_in_one_window: ns2(), "
        0   push 3    > 0-2
        10  push 20   > 3-9
        20  push 1
        100 < ack 3   > 10-13  = done 3
        200 < ack 14  > 14-23
        300 < ack 24           = done 20  = done 1";

    persistent__one_ack_may_finish_several: ns2(), "
        0   push 1            > 0
        0   push 2            > 1-2
        0   push 3            > 3-5
        100 < ack 0 sack 1-5
        150 < ack 6           = done 1  = done 2  = done 3  = done none  = idle true";

    // Half of a sixteenth is cut, and two ACKs add the inverse of the window each.
    persistent__a_window_and_alpha_outlive_a_message: ns2(), "
        0   push 10         > 0-9
        100 < ack 1 marked
        101 < ack 5
        102 < ack 10        = done 10
        500 push 50         > 10-18  = alpha 0.0625  = cwnd 9.892863336";
}

#[test]
fn facts__timeouts_and_retransmissions_are_of_the_message() {
    let mut sender = ns2().subject();
    run(
        &mut sender,
        "0    push 2           > 0-1
         0    push 2           > 2-3
         100  < ack 1
         2100 timer            > r1
         2200 < ack 2 rtt 100  > r2-3  = effort 3 timeouts 0 again 2",
    );
    let first = sender.tcp.finished().unwrap();
    assert_eq!((first.effort.timeouts, first.effort.retransmissions), (1, 1));
    assert_eq!(sender.tcp.span(3).unwrap().message.id, 1);
}

#[test]
fn remaining__counts_what_is_acknowledged_selectively() {
    let mut sender = ns2().subject();
    run(&mut sender, "0 push 10 > 0-9\n 100 < ack 2\n 101 < ack 2 sack 5-7");
    let span = *sender.tcp.span(2).unwrap();
    assert_eq!(sender.tcp.remaining(&span, &ns2()), 5 * u64::from(SEGMENT));
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
