//! The receiver: selective acknowledgement, delayed ACKs, exact echo of marks, completion of messages.
//!
//! An arrival is written `3`, `3!` when marked, `3.` when it ends its message, `3r` when sent again; the answers are the
//! ACKs that it causes, as `cumulative[block]!echo`.

use flowsieve_core::Time;
use flowsieve_core::message::Held;
use flowsieve_transport::tcp::Receiver;
use flowsieve_transport::tcp::header::{AckHeader, GapReport};
use flowsieve_transport::tcp::receiver::{AckRule, Arrival, Reply};

const EACH: AckRule = AckRule { every: 1, quick: 0, delay: Time::ZERO, span: 478 };
const SECOND: AckRule = AckRule { every: 2, quick: 0, delay: Time::from_us(500), span: 478 };

fn show((header, stamp): Reply) -> String {
    let AckHeader { cumulative, block, marked, duplicate, gap } = header;
    assert_eq!(gap, GapReport::None, "priorities are not compared");
    let block = if block.0 < block.1 { format!("[{}-{}]", block.0, block.1 - 1) } else { String::new() };
    let mark = if marked { "!" } else { "" };
    let again = if duplicate { "d" } else { "" };
    format!("{cumulative}{block}{mark}{again}@{stamp}")
}

/// Feeds arrivals, one a microsecond; returns what each causes.
fn feed(receiver: &mut Receiver, rule: AckRule, arrivals: &str) -> Vec<String> {
    let step = |(at, word): (usize, &str)| {
        let seq = word.trim_end_matches(['!', '.', 'r']).parse().unwrap();
        let data = Arrival {
            seq,
            message: seq / 100,
            last: word.contains('.'),
            retransmission: word.contains('r'),
            marked: word.contains('!'),
            priority: 0,
            stamp: at as u32,
        };
        let reaction = receiver.on_data(Time::from_us(at as u64), &data, rule);
        let replies: Vec<String> = reaction.replies.into_iter().flatten().map(show).collect();
        replies.join(" ")
    };
    arrivals.split_whitespace().enumerate().map(step).collect()
}

fn acks(rule: AckRule, arrivals: &str) -> Vec<String> {
    feed(&mut Receiver::default(), rule, arrivals)
}

#[test]
fn each__in_order() {
    assert_eq!(acks(EACH, "0 1 2! 3"), ["1@0", "2@1", "3!@2", "4@3"]);
}

#[test]
fn sack__the_run_of_the_latest_arrival_comes_first() {
    assert_eq!(
        acks(EACH, "0 3 5 4 1 2 8 6r"),
        ["1@0", "1[3-3]@1", "1[5-5]@2", "1[3-5]@3", "2@4", "6@5", "6[8-8]@6", "7@7"]
    );
}

#[test]
fn sack__marks_are_echoed_out_of_order_too() {
    assert_eq!(acks(EACH, "0 2! 3 1!"), ["1@0", "1[2-2]!@1", "1[2-3]@2", "4!@3"]);
}

#[test]
fn duplicates__are_said_to_be_such_with_the_run_that_they_lie_in() {
    assert_eq!(acks(EACH, "0 0r 2 3 2r"), ["1@0", "1d@1", "1[2-2]@2", "1[2-3]@3", "1[2-3]d@4"]);
}

#[test]
fn span__farther_segments_are_dropped() {
    let rule = AckRule { span: 4, ..EACH };
    assert_eq!(
        acks(rule, "3 4 1 4294967295 0 2 7 8"),
        ["0[3-3]@0", "0@1", "0[1-1]@2", "0@3", "2@4", "4@5", "4[7-7]@6", "4@7"]
    );
}

#[test]
fn span__a_wide_one_costs_nothing_until_it_is_used() {
    let rule = AckRule { span: u32::MAX, ..EACH };
    assert_eq!(acks(rule, "100000 70000 0"), ["0[100000-100000]@0", "0[70000-70000]@1", "1@2"]);
}

#[test]
fn delayed__every_second_with_the_older_timestamp() {
    assert_eq!(acks(SECOND, "0 1 2 3 4"), ["", "2@0", "", "4@2", ""]);
}

#[test]
fn delayed__at_once_at_the_end_out_of_order_or_again() {
    assert_eq!(acks(SECOND, "0. 1 2 4 5 3 6 6r"), ["1@0", "", "3@1", "3[4-4]@3", "3[4-5]@4", "6@5", "", "7d@7"]);
}

#[test]
fn delayed__a_change_of_mark_is_answered_before() {
    // RFC 8257 §3.2: the held ones with their mark, then the new state begins.
    assert_eq!(acks(SECOND, "0 1! 2! 3! 4 5"), ["", "1@0", "3!@1", "", "4!@3", "6@4"]);
    assert_eq!(acks(SECOND, "0! 2"), ["", "1!@0 1[2-2]@1"]);
    assert_eq!(acks(SECOND, "0! 0r"), ["", "1!@0 1d@1"]);
}

#[test]
fn delayed__the_timer_answers() {
    let mut receiver = Receiver::default();
    assert_eq!(feed(&mut receiver, SECOND, "0!"), [""]);
    assert_eq!(receiver.deadline(), Some(Time::from_us(500)));
    assert_eq!(receiver.on_timer(Time::from_us(499)), None);
    assert_eq!(receiver.on_timer(Time::from_us(500)).map(show).as_deref(), Some("1!@0"));
    assert_eq!((receiver.deadline(), receiver.on_timer(Time::from_us(999))), (None, None));
}

#[test]
fn delayed__a_mark_after_an_empty_hand_is_held() {
    assert_eq!(acks(SECOND, "0 1 2! 3!"), ["", "2@0", "", "4!@2"]);
}

#[test]
fn probe__says_what_has_arrived() {
    let mut receiver = Receiver::default();
    feed(&mut receiver, SECOND, "0 1 2! 5");
    assert_eq!(show(receiver.on_probe(77)), "3@77");
    let mut receiver = Receiver::default();
    feed(&mut receiver, SECOND, "0!");
    assert_eq!(show(receiver.on_probe(77)), "1!@77", "and for what was held");
    assert_eq!(receiver.deadline(), None);
}

#[test]
fn complete__each_message_once_with_its_reordering() {
    let mut receiver = Receiver::default();
    feed(&mut receiver, EACH, "1 0 2.");
    assert_eq!(receiver.complete(), Some((0, 1)), "0 came after 1");
    assert_eq!(receiver.complete(), None);
    // The next message's end, then a retransmission, which is no reordering of the network's.
    feed(&mut receiver, EACH, "4. 4.r");
    assert_eq!(receiver.complete(), None);
    feed(&mut receiver, EACH, "3r 5.");
    assert_eq!(receiver.complete(), Some((0, 0)));
    assert_eq!(receiver.complete(), Some((0, 0)));
    assert_eq!(receiver.complete(), None);
}

#[test]
fn take_held__bytes_that_waited_for_earlier_ones_over_time() {
    let rule = AckRule { every: 1, quick: 0, delay: Time::ZERO, span: 100 };
    let arrival =
        |seq, last| Arrival { seq, message: 7, last, retransmission: false, marked: false, priority: 0, stamp: 0 };
    let (mut receiver, us) = (Receiver::default(), Time::from_us);
    receiver.on_data(us(0), &arrival(0, false), rule);
    assert_eq!(receiver.take_held(us(5), 1_000), None);
    receiver.on_data(us(10), &arrival(2, false), rule);
    receiver.on_data(us(20), &arrival(3, true), rule);
    receiver.on_data(us(30), &arrival(1, false), rule);
    // One segment for 10 us and two for 10 us.
    let held = Held { most_bytes: 2_000, byte_ns: 30 * 1_000 * 1_000 };
    assert_eq!(receiver.take_held(us(50), 1_000), Some(held));
    assert_eq!(receiver.take_held(us(60), 1_000), None);
}

#[test]
fn quick__the_first_of_a_connection_are_acknowledged_one_by_one() {
    let rule = AckRule { quick: 3, ..SECOND };
    assert_eq!(acks(rule, "0 1 2 3 4 5"), ["1@0", "2@1", "3@2", "", "5@3", ""]);
    // Others are answered at once anyway, and do not count.
    assert_eq!(acks(rule, "0 2 1 3 4 5"), ["1@0", "1[2-2]@1", "3@2", "4@3", "", "6@4"]);
}
