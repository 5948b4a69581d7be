//! A sender under a script.
//!
//! | event | meaning |
//! | --- | --- |
//! | `push 20 due 300` | a message of 20 full segments begins, with a deadline at 300 (none by default) |
//! | `< ack 3 sack 5-7 marked dup rtt 90` | an ACK arrives, for a packet sent 90 us ago (100 by default) |
//! | `< ack 3 sack 5-7 retransmit` | its receiver found segment 3 lost; `update`: or did not |
//! | `< ack 3 twice 1` | the same, and segment 1 had arrived before |
//! | `< syn-ack` | the peer accepts the connection |
//! | `timer` | the sender's next timer is for this instant, and fires: a timeout, or `rack`, `probe` or `pace` |
//!
//! | expectation | meaning |
//! | --- | --- |
//! | `> 0-9 r3 syn probe` | exactly this is sent (`r`: a retransmission) |
//! | `= cwnd 12.5` | the congestion window; or `alpha`, `flight`, `found` (of the oldest message) |
//! | `= done 7` | a message of 7 segments is finished, the oldest that was not yet asked for; or `none` |
//! | `= timer 2000` | the next timer; or `never`; `= idle true`: there is nothing to do |
//! | `= effort 3 timeouts 1 again 2 unanswered 9000` | of segment 3's message; some of them |

use flowsieve_core::{Message, Time};
use flowsieve_transport::tcp::congestion::{ALPHA, WINDOW};
use flowsieve_transport::tcp::header::GapReport;
use flowsieve_transport::tcp::sender::{Ack, Emission, Timer};
use flowsieve_transport::tcp::{Header, TcpParams, TcpSender};

use super::{SEGMENT, Setup, Subject, instant, number, range, us};

pub(crate) struct Sender {
    pub(crate) tcp: TcpSender,
    params: TcpParams,
    sent: Vec<Emission>,
    messages: u32,
}

/// A sender on a connection without handshake.
impl Setup for TcpParams {
    type Subject = Sender;

    fn subject(self) -> Sender {
        Sender::new(false, self)
    }
}

/// A sender that opens its connection.
pub(crate) fn opens(params: TcpParams) -> Sender {
    Sender::new(true, params)
}

impl Sender {
    fn new(handshake: bool, params: TcpParams) -> Sender {
        Sender { tcp: TcpSender::new(handshake, &params), params, sent: Vec::new(), messages: 0 }
    }
}

impl Subject for Sender {
    fn happen(&mut self, at: Time, event: &[&str]) {
        let due = self.tcp.deadline();
        assert!(due >= at, "a timer at {due} is missed");
        match event {
            [] => return,
            ["push", segments, due @ ..] => {
                let bytes = u64::from(SEGMENT) * number::<u64>(segments);
                let deadline = match due {
                    [] => None,
                    ["due", at] => Some(us(at)),
                    other => panic!("no deadline: {other:?}"),
                };
                let message = Message { id: self.messages, bytes, deadline, ..Message::default() };
                self.tcp.push(at, message, &self.params);
                self.messages += 1;
            }
            ["<", "syn-ack"] => self.tcp.on_syn_ack(at, &self.params),
            ["<", fields @ ..] => self.tcp.on_ack(at, &ack(fields), &self.params),
            ["timer", kind @ ..] => {
                assert_eq!(due, at, "the next timer");
                let rto = self.tcp.on_timer(at, &self.params) == Timer::Timeout;
                assert_eq!(rto, !matches!(kind, ["rack" | "probe" | "pace"]), "a timeout");
            }
            other => panic!("no such event: {other:?}"),
        }
        while let Some(emission) = self.tcp.poll(at, &self.params) {
            self.sent.push(emission);
        }
        assert!(self.tcp.deadline() >= at, "a timer moves on");
    }

    fn sent(&mut self) -> String {
        show(&std::mem::take(&mut self.sent))
    }

    fn reading(&mut self, words: &[&str]) -> String {
        match words[0] {
            "cwnd" => window(&self.tcp).to_string(),
            "alpha" => reading(&self.tcp, ALPHA).expect("an estimate").to_string(),
            "flight" => self.tcp.in_flight().to_string(),
            "found" => self.tcp.span(0).expect("the first message is unfinished").effort.found_lost.to_string(),
            "done" => self.tcp.finished().map_or("none".to_owned(), |span| (span.end - span.first).to_string()),
            "timer" => instant(self.tcp.deadline()),
            "idle" => self.tcp.is_idle().to_string(),
            "effort" => {
                let effort = self.tcp.span(number(words[1])).expect("an unfinished message").effort;
                let value = |name: &str| match name {
                    "timeouts" => effort.timeouts,
                    "again" => effort.retransmissions,
                    "unanswered" => effort.unanswered_us,
                    other => panic!("no such effort: {other}"),
                };
                let shown = words[2..].chunks(2).map(|pair| format!(" {} {}", pair[0], value(pair[0])));
                words[1].to_owned() + &shown.collect::<String>()
            }
            other => panic!("no such reading: {other}"),
        }
    }
}

/// What a sender shows under a name.
pub(crate) fn reading(tcp: &TcpSender, name: &str) -> Option<f64> {
    let mut found = None;
    tcp.observe(&mut |values| found = values.iter().find(|value| value.0 == name).map(|value| value.1));
    found
}

/// The congestion window.
pub(crate) fn window(tcp: &TcpSender) -> f64 {
    reading(tcp, WINDOW).expect("every sender has a window")
}

fn ack(words: &[&str]) -> Ack {
    let mut ack = Ack {
        cumulative: 0,
        block: (0, 0),
        marked: false,
        duplicate: false,
        gap: GapReport::None,
        round_trip: Time::from_us(100),
    };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "ack" => ack.cumulative = number(words.next().unwrap()),
            "sack" => ack.block = range(words.next().unwrap()),
            "marked" => ack.marked = true,
            "dup" => ack.duplicate = true,
            "twice" => {
                let seq = number(words.next().unwrap());
                (ack.duplicate, ack.block) = (true, (seq, seq));
            }
            "update" => ack.gap = GapReport::Update,
            "retransmit" => ack.gap = GapReport::Retransmit,
            "rtt" => ack.round_trip = us(words.next().unwrap()),
            other => panic!("no such field: {other}"),
        }
    }
    ack
}

/// Runs of segments joined.
fn show(sent: &[Emission]) -> String {
    let mut runs: Vec<(u32, u32, &str)> = Vec::new();
    let mut words = Vec::new();
    for emission in sent {
        match *emission {
            Emission::Segment { seq, retransmission } => {
                let prefix = if retransmission { "r" } else { "" };
                match runs.last_mut() {
                    Some((_, end, before)) if *end == seq && *before == prefix => *end += 1,
                    _ => runs.push((seq, seq + 1, prefix)),
                }
            }
            Emission::Control(Header::Syn) => words.push("syn".to_owned()),
            Emission::Control(Header::Probe) => words.push("probe".to_owned()),
            Emission::Control(other) => words.push(format!("{other:?}")),
        }
    }
    words.extend(runs.into_iter().map(|(from, end, prefix)| match end - from {
        1 => format!("{prefix}{from}"),
        _ => format!("{prefix}{from}-{}", end - 1),
    }));
    words.join(" ")
}
