//! Packet traces: a script of what happens, and of what must follow.
//!
//! A line is an instant in microseconds, what happens then, after `>` what must be sent, and after each `=` what must be
//! seen:
//!
//! ```text
//! 100 < ack 1           > 10-11
//! 101 < ack 2 marked             = cwnd 5.5  = flight 9
//! ```
//!
//! Without `>` nothing may be sent, and no timer may be missed. A line may have a `>` or `=` alone. What may stand where
//! depends on what the script is run on: a [`sender`], a [`host`]'s endpoint, a [receiver](`arrivals`), both at the ends of
//! a [`path`].

pub(crate) mod arrivals;
pub(crate) mod host;
pub(crate) mod path;
pub(crate) mod random;
pub(crate) mod sender;

use flowsieve_core::Time;
use flowsieve_transport::tcp::congestion::dctcp::DctcpRules;
use flowsieve_transport::tcp::congestion::new_reno::NewReno;
use flowsieve_transport::tcp::params::{Halves, LossDetection, Reduction, Restart, RtoRule, WindowRule};
use flowsieve_transport::tcp::{CongestionSpec, TcpParams};

pub(crate) const SEGMENT: u16 = 1_460;

/// Tests that are traces: `name: what the script is run on, "script";`. Of several scripts each begins anew;
/// `[BEGINNING, "rest"]` is one.
macro_rules! traces {
    ($($name:ident: $setup:expr, $($script:expr),+;)*) => {
        $(#[test]
        fn $name() {
            $($crate::common::run(&mut $crate::common::Setup::subject($setup), $script);)+
        })*
    };
}
pub(crate) use traces;

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

/// What a script is run on.
pub(crate) trait Subject {
    /// Lets time pass, and this happen then if it is anything.
    fn happen(&mut self, at: Time, event: &[&str]);

    /// What was sent, and told, since it was asked for last.
    fn sent(&mut self) -> String;

    /// What is to be seen of what the words of an expectation begin with, and how they should go on.
    fn reading(&mut self, words: &[&str]) -> String;
}

/// What stands for a subject in a table of traces.
pub(crate) trait Setup {
    type Subject: Subject;

    fn subject(self) -> Self::Subject;
}

impl<S: Subject> Setup for S {
    type Subject = S;

    fn subject(self) -> S {
        self
    }
}

pub(crate) trait Script {
    fn text(&self) -> String;
}

impl Script for &str {
    fn text(&self) -> String {
        (*self).to_owned()
    }
}

impl<const PARTS: usize> Script for [&str; PARTS] {
    fn text(&self) -> String {
        self.join("\n")
    }
}

/// Runs a script. Its lines are printed up to the one that fails.
pub(crate) fn run(subject: &mut impl Subject, script: impl Script) {
    let text = script.text();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        println!("{line}");
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_mark = |word: &&str| matches!(*word, ">" | "=");
        let end = words.iter().position(is_mark).unwrap_or(words.len());
        subject.happen(us(words[0]), &words[1..end]);
        let mut expected = String::new();
        let mut rest = &words[end..];
        while let Some((&mark, after)) = rest.split_first() {
            let end = after.iter().position(is_mark).unwrap_or(after.len());
            match mark {
                ">" => expected = after[..end].join(" "),
                _ => {
                    let (got, wanted) = (subject.reading(&after[..end]), after[1..end].join(" "));
                    assert!(are_alike(&got, &wanted), "{} {got}, at: {line}", after[0]);
                }
            }
            rest = &after[end..];
        }
        assert_eq!(subject.sent(), expected, "sent at: {line}");
    }
}

/// Numbers to six decimals.
fn are_alike(got: &str, wanted: &str) -> bool {
    let numbers = got.parse::<f64>().ok().zip(wanted.parse::<f64>().ok());
    got == wanted || numbers.is_some_and(|(got, wanted)| (got - wanted).abs() < 1e-6)
}

pub(crate) fn number<T: std::str::FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("not a number: {word}"))
}

/// Microseconds with up to six decimals.
pub(crate) fn us(word: &str) -> Time {
    let (whole, part) = word.split_once('.').unwrap_or((word, ""));
    Time(number::<u64>(whole) * 1_000_000 + number::<u64>(&format!("{part:0<6}")))
}

/// First and last of `5-7`, as a range without its end.
pub(crate) fn range(word: &str) -> (u32, u32) {
    let (first, last) = word.split_once('-').expect("a first and a last segment");
    (number(first), number::<u32>(last) + 1)
}

/// Several, or `none`.
pub(crate) fn list<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let words: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}

/// Instants as scripts have them.
pub(crate) fn instant(at: Time) -> String {
    if at == Time::NEVER { "never".to_owned() } else { (at.0 as f64 / 1e6).to_string() }
}
