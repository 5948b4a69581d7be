//! A receiver that compares priorities, arrival by arrival.
//!
//! An arrival is written `3@1`, segment 3 of priority 1; `3@1.` ends its message, `3@0r` was sent again, `3@1m9` is message
//! 9's. An answer is `cumulative[block]`, with `d` for a duplicate, `?` where its gap may be under way and `!` where it is a
//! loss.

use flowsieve_core::Time;
use flowsieve_transport::tcp::Receiver;
use flowsieve_transport::tcp::header::{AckHeader, GapReport};
use flowsieve_transport::tcp::params::Gaps;
use flowsieve_transport::tcp::receiver::{AckRule, Arrival};

pub(crate) const EACH: AckRule = AckRule { every: 1, quick: 0, delay: Time::ZERO, span: 478 };
pub(crate) const SECOND: AckRule = AckRule { every: 2, delay: Time::from_us(500), ..EACH };

fn arrival(word: &str) -> Arrival {
    let (seq, rest) = word.split_once('@').expect("a segment and its priority");
    let (rest, message) = rest.split_once('m').map_or((rest, 0), |(rest, message)| (rest, message.parse().unwrap()));
    Arrival {
        seq: seq.parse().unwrap(),
        message,
        last: rest.ends_with('.'),
        retransmission: rest.ends_with('r'),
        marked: false,
        priority: rest[..1].parse().unwrap(),
        stamp: 0,
    }
}

/// What each arrival is answered with.
pub(crate) fn acks_of(gaps: Gaps, rule: AckRule, arrivals: &str) -> Vec<String> {
    let mut receiver = Receiver::comparing_priorities(gaps);
    let answer = |word| {
        let reaction = receiver.on_data(Time::ZERO, &arrival(word), rule);
        let [None, reply] = reaction.replies else { panic!("nothing is marked") };
        reply.map_or(String::new(), |(AckHeader { cumulative, block, duplicate, gap, .. }, _)| {
            let block = if block.0 < block.1 { format!("[{}-{}]", block.0, block.1 - 1) } else { String::new() };
            let gap = match gap {
                GapReport::None | GapReport::Reserved => "",
                GapReport::Update => "?",
                GapReport::Retransmit => "!",
            };
            format!("{cumulative}{block}{}{gap}", if duplicate { "d" } else { "" })
        })
    };
    arrivals.split_whitespace().map(answer).collect()
}
