//! A receiver under a script, arrival by arrival.
//!
//! `0 < 3 5! 4.` is arrivals, one a microsecond from then on. Each is a segment, `@2` with its priority, `m9` of message 9
//! (by default of the one of its hundreds), `!` when marked, `.` when it ends its message, `r` when it was sent again. What
//! each is answered with is `cumulative[block]` with `!` for the echo of a mark and `d` for a duplicate; `-` is nothing,
//! and `+` joins two answers. The timestamp `@` follows, or where priorities are compared `?` for a gap that may be under
//! way and `x` for one that is a loss.
//!
//! `500 timer`: its timer answers, or does not. `9 probe`: a probe comes. `= timer 500`: its timer, or `never`.
//! `= complete 0 late 1`: message 0 has arrived, with one segment out of order; or `none` has.

use flowsieve_core::Time;
use flowsieve_transport::tcp::Receiver;
use flowsieve_transport::tcp::header::{AckHeader, GapReport};
use flowsieve_transport::tcp::params::Gaps;
use flowsieve_transport::tcp::receiver::{AckRule, Arrival, Reply};

use super::{Setup, Subject, instant, number};

pub(crate) const EACH: AckRule = AckRule { every: 1, quick: 0, delay: Time::ZERO, span: 478 };
pub(crate) const SECOND: AckRule = AckRule { every: 2, delay: Time::from_us(500), ..EACH };

pub(crate) struct Receiving {
    tcp: Receiver,
    rule: AckRule,
    compares: bool,
    answers: Vec<String>,
}

/// A receiver that compares no priorities.
impl Setup for AckRule {
    type Subject = Receiving;

    fn subject(self) -> Receiving {
        Receiving { tcp: Receiver::default(), rule: self, compares: false, answers: Vec::new() }
    }
}

/// A receiver that compares priorities.
impl Setup for (Gaps, AckRule) {
    type Subject = Receiving;

    fn subject(self) -> Receiving {
        let tcp = Receiver::comparing_priorities(self.0);
        Receiving { tcp, rule: self.1, compares: true, answers: Vec::new() }
    }
}

impl Subject for Receiving {
    fn happen(&mut self, at: Time, event: &[&str]) {
        match event {
            [] => {}
            ["<", arrivals @ ..] => {
                for (after, word) in (0..).zip(arrivals) {
                    let now = at + Time::from_us(after);
                    let reaction = self.tcp.on_data(now, &arrival(word, (now.0 / 1_000_000) as u32), self.rule);
                    self.answer(reaction.replies.into_iter().flatten());
                }
            }
            ["timer"] => {
                let reply = self.tcp.on_timer(at);
                self.answer(reply);
            }
            ["probe"] => {
                let reply = self.tcp.on_probe((at.0 / 1_000_000) as u32);
                self.answer([reply]);
            }
            other => panic!("no such event: {other:?}"),
        }
    }

    fn sent(&mut self) -> String {
        std::mem::take(&mut self.answers).join(" ")
    }

    fn reading(&mut self, words: &[&str]) -> String {
        match words[0] {
            "timer" => instant(self.tcp.deadline().unwrap_or(Time::NEVER)),
            "complete" => {
                self.tcp.complete().map_or("none".to_owned(), |(message, late)| format!("{message} late {late}"))
            }
            other => panic!("no such reading: {other}"),
        }
    }
}

impl Receiving {
    fn answer(&mut self, replies: impl IntoIterator<Item = Reply>) {
        let words: Vec<String> = replies.into_iter().map(|reply| self.show(reply)).collect();
        self.answers.push(if words.is_empty() { "-".to_owned() } else { words.join("+") });
    }

    fn show(&self, (header, stamp): Reply) -> String {
        let AckHeader { cumulative, block, marked, duplicate, gap } = header;
        let block = if block.0 < block.1 { format!("[{}-{}]", block.0, block.1 - 1) } else { String::new() };
        let flags = [(marked, "!"), (duplicate, "d")].map(|(set, flag)| if set { flag } else { "" }).concat();
        let end = match gap {
            GapReport::Update => "?".to_owned(),
            GapReport::Retransmit => "x".to_owned(),
            GapReport::None | GapReport::Reserved if self.compares => String::new(),
            _ => format!("@{stamp}"),
        };
        format!("{cumulative}{block}{flags}{end}")
    }
}

fn arrival(word: &str, stamp: u32) -> Arrival {
    let (rest, flags) = word.split_at(word.find(['!', '.', 'r']).unwrap_or(word.len()));
    let (rest, message) = rest.split_once('m').map_or((rest, None), |(rest, message)| (rest, Some(number(message))));
    let (seq, priority) = rest.split_once('@').unwrap_or((rest, "0"));
    let seq = number(seq);
    Arrival {
        seq,
        message: message.unwrap_or(seq / 100),
        last: flags.contains('.'),
        retransmission: flags.contains('r'),
        marked: flags.contains('!'),
        priority: number(priority),
        stamp,
    }
}
