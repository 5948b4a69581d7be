//! Packet traces: a script of what happens to a sender or a receiver, and of what it must send.
//!
//! A line is an instant in microseconds and one of
//!
//! | line | meaning |
//! | --- | --- |
//! | `0 push 20 due 300` | a message of 20 full segments begins, with a deadline at 300 (none by default) |
//! | `100 < ack 3 sack 5-7 marked dup rtt 90` | an ACK arrives, for a packet sent 90 us ago (100 by default) |
//! | `100 < ack 3 sack 5-7 retransmit` | its receiver found segment 3 lost; `update`: or did not |
//! | `100 < syn-ack` | the peer accepts the connection |
//! | `100 < ack 3 twice 1` | the same, and segment 1 had arrived before |
//! | `300 timer` | the sender's next timer is for this instant, and fires: a timeout, or `rack`, `probe` or `pace` |
//! | `100 > 0-9 r3 syn probe` | since the line before, exactly this was sent (`r`: a retransmission) |
//! | `100 = cwnd 12.5` | the congestion window; or `alpha`, `flight`, `found` (of the oldest message) |
//! | `100 done 7` | a message of 7 segments is finished |
//!
//! Nothing may be sent that no line expects, and no timer may be missed.

pub(crate) mod arrivals;
pub(crate) mod host;
pub(crate) mod path;
pub(crate) mod random;

use flowsieve_core::{Message, Time};
use flowsieve_transport::tcp::congestion::dctcp::DctcpRules;
use flowsieve_transport::tcp::congestion::new_reno::NewReno;
use flowsieve_transport::tcp::congestion::{ALPHA, WINDOW};
use flowsieve_transport::tcp::header::GapReport;
use flowsieve_transport::tcp::params::{Halves, LossDetection, Reduction, Restart, RtoRule, WindowRule};
use flowsieve_transport::tcp::sender::{Ack, Emission, Timer};
use flowsieve_transport::tcp::{CongestionSpec, Header, TcpParams, TcpSender};

pub(crate) const SEGMENT: u16 = 1_460;

/// Today's standards: NewReno, initial window 10, RFC 6298 with 10 ms, three duplicate ACKs.
pub(crate) fn rfc() -> TcpParams {
    TcpParams {
        segment: SEGMENT,
        initial_window: 10,
        max_window: 4_096,
        min_window: 1,
        growth: None,
        window: WindowRule::Pipe,
        congestion: CongestionSpec::NewReno(NewReno),
        ecn: true,
        loss_detection: LossDetection::DupAck(3),
        rto: RtoRule::Rfc6298 { min: Time::from_us(10_000), initial: RtoRule::RFC_INITIAL },
        most_doublings: 16,
        halves: Halves::Flight,
        reduction: Reduction::AtOnce,
        whole_windows: false,
        undo: false,
        receive_window: None,
        restart: Restart::AtMostInitial,
        ack_every: 1,
        delayed_ack: Time::ZERO,
        quick_acks: 0,
        ecn_acks: false,
        probe_after: None,
    }
}

/// Linux: its timer, RACK with probes, proportional rate reduction, cuts that are undone, and windows of whole segments.
pub(crate) fn linux() -> TcpParams {
    TcpParams {
        rto: RtoRule::Linux { min: Time::from_us(10_000), initial: RtoRule::RFC_INITIAL },
        loss_detection: LossDetection::RackTlp,
        halves: Halves::Window,
        reduction: Reduction::Proportional,
        whole_windows: true,
        undo: true,
        ..rfc()
    }
}

/// The ns-2 lineage under spraying: DCTCP, constant RTO of 2 ms, no duplicate ACKs.
pub(crate) fn ns2() -> TcpParams {
    TcpParams {
        max_window: 239,
        window: WindowRule::FromCumulative,
        congestion: CongestionSpec::Dctcp(DctcpRules { gain: 1.0 / 16.0, initial_alpha: 0.0 }),
        loss_detection: LossDetection::Off,
        rto: RtoRule::Constant(Time::from_us(2_000)),
        restart: Restart::Initial,
        ..rfc()
    }
}

/// Runs a script on a connection without handshake.
pub(crate) fn trace(params: &TcpParams, script: &str) -> Trace {
    let mut trace = Trace::new(false, params);
    trace.run(script);
    trace
}

/// A sender under a script.
pub(crate) struct Trace {
    pub(crate) tcp: TcpSender,
    params: TcpParams,
    now: Time,
    sent: Vec<Emission>,
    messages: u32,
}

impl Trace {
    pub(crate) fn new(handshake: bool, params: &TcpParams) -> Trace {
        let tcp = TcpSender::new(handshake, params);
        Trace { tcp, params: params.clone(), now: Time::ZERO, sent: Vec::new(), messages: 0 }
    }

    pub(crate) fn run(&mut self, script: &str) {
        self.run_all(script);
        assert_eq!(show(&self.sent), "", "sent after the last line");
    }

    /// Runs a script after whose last line something may be sent, for the next script to expect.
    pub(crate) fn run_all(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.step(line);
        }
    }

    fn step(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.now = Time((number(words[0]) * 1e6) as u64);
        if words[1] != ">" && words[1] != "=" {
            assert_eq!(show(&self.sent), "", "sent before: {line}");
        }
        let due = self.tcp.deadline();
        assert!(due >= self.now, "a timer at {due} is missed before: {line}");
        match words[1] {
            "push" => {
                let bytes = u64::from(SEGMENT) * words[2].parse::<u64>().unwrap();
                let deadline = words.get(4).map(|us| Time::from_us(us.parse().unwrap()));
                let message = Message { id: self.messages, bytes, deadline, ..Message::default() };
                self.tcp.push(self.now, message, &self.params);
                self.messages += 1;
            }
            "<" if words[2] == "syn-ack" => self.tcp.on_syn_ack(self.now, &self.params),
            "<" => self.tcp.on_ack(self.now, &ack(&words[2..]), &self.params),
            "timer" => {
                assert_eq!(due, self.now, "the next timer, at: {line}");
                let rto = self.tcp.on_timer(self.now, &self.params) == Timer::Timeout;
                assert_eq!(rto, !matches!(words.get(2), Some(&"rack" | &"probe" | &"pace")), "{line}");
            }
            ">" => {
                assert_eq!(show(&std::mem::take(&mut self.sent)), words[2..].join(" "), "sent at: {line}");
                return;
            }
            "=" => {
                let got = match words[2] {
                    "cwnd" => window(&self.tcp),
                    "alpha" => reading(&self.tcp, ALPHA).expect("an estimate"),
                    "flight" => f64::from(self.tcp.in_flight()),
                    "found" => f64::from(self.tcp.span(0).expect("the first message is unfinished").effort.found_lost),
                    other => panic!("no such quantity: {other}"),
                };
                assert!((got - number(words[3])).abs() < 1e-6, "{got} at: {line}");
                return;
            }
            "done" => {
                let done = self.tcp.finished().map(|span| (span.end - span.first).to_string());
                assert_eq!(done.as_deref(), Some(words[2]), "{line}");
                return;
            }
            other => panic!("no such line: {other}"),
        }
        while let Some(emission) = self.tcp.poll(self.now, &self.params) {
            self.sent.push(emission);
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

fn number(word: &str) -> f64 {
    word.parse().unwrap_or_else(|_| panic!("not a number: {word}"))
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
            "ack" => ack.cumulative = words.next().unwrap().parse().unwrap(),
            "sack" => {
                let (from, last) = words.next().unwrap().split_once('-').unwrap();
                ack.block = (from.parse().unwrap(), last.parse::<u32>().unwrap() + 1);
            }
            "marked" => ack.marked = true,
            "dup" => ack.duplicate = true,
            "twice" => {
                let seq = words.next().unwrap().parse().unwrap();
                (ack.duplicate, ack.block) = (true, (seq, seq));
            }
            "update" => ack.gap = GapReport::Update,
            "retransmit" => ack.gap = GapReport::Retransmit,
            "rtt" => ack.round_trip = Time((number(words.next().unwrap()) * 1e6) as u64),
            other => panic!("no such field: {other}"),
        }
    }
    ack
}

/// As the lines of a script have it: runs of segments joined.
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
