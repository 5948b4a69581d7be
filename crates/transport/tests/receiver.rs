//! The receiver: selective acknowledgement, delayed ACKs, exact echo of marks, completion of messages.

use crate::common::arrivals::{EACH, SECOND};
use crate::common::traces;
use flowsieve_core::Time;
use flowsieve_core::message::Held;
use flowsieve_transport::tcp::Receiver;
use flowsieve_transport::tcp::receiver::{AckRule, Arrival};

traces! {
    each__in_order: EACH, "
        0 < 0 1 2! 3  > 1@0 2@1 3!@2 4@3";

    sack__the_run_of_the_latest_arrival_comes_first: EACH, "
        0 < 0 3 5 4 1 2 8 6r  > 1@0 1[3-3]@1 1[5-5]@2 1[3-5]@3 2@4 6@5 6[8-8]@6 7@7";

    sack__marks_are_echoed_out_of_order_too: EACH, "
        0 < 0 2! 3 1!  > 1@0 1[2-2]!@1 1[2-3]@2 4!@3";

    duplicates__are_said_to_be_such_with_the_run_that_they_lie_in: EACH, "
        0 < 0 0r 2 3 2r  > 1@0 1d@1 1[2-2]@2 1[2-3]@3 1[2-3]d@4";

    span__farther_segments_are_dropped: AckRule { span: 4, ..EACH }, "
        0 < 3 4 1 4294967295 0 2 7 8  > 0[3-3]@0 0@1 0[1-1]@2 0@3 2@4 4@5 4[7-7]@6 4@7";

    span__a_wide_one_costs_nothing_until_it_is_used: AckRule { span: u32::MAX, ..EACH }, "
        0 < 100000 70000 0  > 0[100000-100000]@0 0[70000-70000]@1 1@2";

    delayed__every_second_with_the_older_timestamp: SECOND, "
        0 < 0 1 2 3 4  > - 2@0 - 4@2 -";

    delayed__at_once_at_the_end_out_of_order_or_again: SECOND, "
        0 < 0. 1 2 4 5 3 6 6r  > 1@0 - 3@1 3[4-4]@3 3[4-5]@4 6@5 - 7d@7";

    // RFC 8257 §3.2: the held ones with their mark, then the new state begins.
    delayed__a_change_of_mark_is_answered_before: SECOND,
        "0 < 0 1! 2! 3! 4 5  > - 1@0 3!@1 - 4!@3 6@4",
        "0 < 0! 2            > - 1!@0+1[2-2]@1",
        "0 < 0! 0r           > - 1!@0+1d@1";

    delayed__the_timer_answers: SECOND, "
        0   < 0!   > -     = timer 500
        499 timer  > -
        500 timer  > 1!@0  = timer never
        999 timer  > -";

    delayed__a_mark_after_an_empty_hand_is_held: SECOND, "
        0 < 0 1 2! 3!  > - 2@0 - 4!@2";

    // And for what was held.
    probe__says_what_has_arrived: SECOND, "
        0  < 0 1 2! 5  > - 2@0 - 3!@2+3[5-5]@3
        77 probe       > 3@77", "
        0  < 0!        > -
        77 probe       > 1!@77  = timer never";

    complete__each_message_once_with_its_reordering: EACH, "
        // 0 comes after 1.
        0 < 1 0 2.   > 0[1-1]@0 2@1 3@2          = complete 0 late 1  = complete none
        // The next message's end, then a retransmission, which is no reordering of the network's.
        3 < 4. 4.r   > 3[4-4]@3 3[4-4]d@4        = complete none
        5 < 3r 5.    > 5@5 6@6                   = complete 0 late 0  = complete 0 late 0  = complete none";

    quick__the_first_of_a_connection_are_acknowledged_one_by_one: AckRule { quick: 3, ..SECOND },
        "0 < 0 1 2 3 4 5  > 1@0 2@1 3@2 - 5@3 -",
        // Others are answered at once anyway, and do not count.
        "0 < 0 2 1 3 4 5  > 1@0 1[2-2]@1 3@2 4@3 - 6@4";
}

#[test]
fn take_held__bytes_that_waited_for_earlier_ones_over_time() {
    let arrival =
        |seq, last| Arrival { seq, message: 7, last, retransmission: false, marked: false, priority: 0, stamp: 0 };
    let (mut receiver, us) = (Receiver::default(), Time::from_us);
    receiver.on_data(us(0), &arrival(0, false), EACH);
    assert_eq!(receiver.take_held(us(5), 1_000), None);
    receiver.on_data(us(10), &arrival(2, false), EACH);
    receiver.on_data(us(20), &arrival(3, true), EACH);
    receiver.on_data(us(30), &arrival(1, false), EACH);
    // One segment for 10 us and two for 10 us.
    let held = Held { most_bytes: 2_000, byte_ns: 30 * 1_000 * 1_000 };
    assert_eq!(receiver.take_held(us(50), 1_000), Some(held));
    assert_eq!(receiver.take_held(us(60), 1_000), None);
}
