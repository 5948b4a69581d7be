//! Controls under a script: what the sender reports to one, and the resulting window.
//!
//! A line is one of the following; after `=` comes the window or, with `alpha` before it, the estimate.
//!
//! | line | meaning |
//! | --- | --- |
//! | `ack 3` | an ACK that moves the edge by three segments; the window limits the sender |
//! | `ack 3 marked` | the same with a mark; `idle`: something else limited the sender; `recovering`: in fast recovery |
//! | `sack 2` | an ACK that acknowledges two segments and leaves the edge |
//! | `loss`, `timeout`, `timeout again`, `lost-syn`, `restart` | the other calls |
//!
//! After each line the sender sends what the window allows.

use std::num::NonZeroU64;

use flowsieve_core::{Message, Time};
use proptest::prelude::*;

use super::cubic::CubicRules;
use super::d2tcp::D2tcpRules;
use super::dctcp::DctcpRules;
use super::new_reno::NewReno;
use super::*;
use crate::tcp::messages::Messages;
use crate::tcp::params::{Halves, LossDetection, Reduction, Restart, RtoRule, WindowRule};

const SEGMENT: u16 = 1_000;

/// Initial window 10, as in today's standards.
fn params(congestion: CongestionSpec) -> TcpParams {
    TcpParams {
        segment: SEGMENT,
        initial_window: 10,
        max_window: 40,
        min_window: 1,
        growth: None,
        window: WindowRule::Pipe,
        congestion,
        ecn: true,
        loss_detection: LossDetection::DupAck(3),
        rto: RtoRule::Constant(Time::from_us(2_000)),
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

fn ns2(congestion: CongestionSpec) -> TcpParams {
    TcpParams { window: WindowRule::FromCumulative, restart: Restart::Initial, ..params(congestion) }
}

fn dctcp(initial_alpha: f64) -> CongestionSpec {
    CongestionSpec::Dctcp(DctcpRules { gain: 0.25, initial_alpha })
}

/// A control, and its sender's state for one long message with a deadline at 1 ms. A round trip is 100 us.
struct Trial {
    control: Congestion,
    params: TcpParams,
    messages: Messages,
    una: u32,
    nxt: u32,
    sacked: u32,
}

impl Trial {
    fn new(params: TcpParams) -> Trial {
        let mut messages = Messages::default();
        let deadline = Some(Time::from_us(1_000));
        messages.push(Message { bytes: 75 * u64::from(SEGMENT), deadline, ..Message::default() }, SEGMENT);
        let mut trial =
            Trial { control: params.congestion.build(&params), params, messages, una: 0, nxt: 0, sacked: 0 };
        trial.send();
        trial
    }

    fn send(&mut self) {
        self.nxt = self.nxt.max(self.una + self.sacked + self.control.window(&self.params));
    }

    fn call(&mut self, call: &str) {
        let words: Vec<&str> = call.split_whitespace().collect();
        let (una, nxt, now) = (self.una, self.nxt, Time::ZERO);
        match words[0] {
            "ack" | "sack" => {
                let delivered: u32 = words[1].parse::<u32>().expect("a count").min(nxt - una - self.sacked);
                let advanced = words[0] == "ack";
                if advanced {
                    self.una += delivered;
                } else {
                    self.sacked += delivered;
                }
                let ack = Acked {
                    now,
                    delivered,
                    advanced,
                    marked: words.contains(&"marked"),
                    limited: !words.contains(&"idle"),
                    recovering: words.contains(&"recovering"),
                    una: self.una,
                    nxt,
                    in_flight: nxt - self.una - self.sacked,
                    sacked: self.sacked,
                    round_trip: Time::from_us(100),
                    messages: &self.messages,
                };
                self.control.on_ack(ack, &self.params);
            }
            "loss" => self.control.on_loss(&Lost { now, una, nxt }, &self.params),
            "timeout" => self.control.on_timeout(&Lost { now, una, nxt }, words.contains(&"again"), &self.params),
            "lost-syn" => self.control.on_lost_handshake(&self.params),
            "restart" => self.control.on_restart(&self.params),
            other => panic!("no such call: {other}"),
        }
        self.send();
    }

    fn reading(&self, name: &str) -> f64 {
        let mut found = None;
        self.control.observe(&mut |values| found = values.iter().find(|value| value.0 == name).copied());
        found.expect("it is shown").1
    }

    fn run(mut self, script: &str) -> Trial {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (call, expected) = line.split_once('=').expect("a call and what comes of it");
            let (call, name) = match call.split_once("alpha") {
                Some((call, _)) => (call, ALPHA),
                None => (call, WINDOW),
            };
            self.call(call);
            let (got, expected) = (self.reading(name), expected.trim().parse::<f64>().expect("a number"));
            assert!((got - expected).abs() < 1e-6, "{got} after: {line}");
        }
        self
    }
}

#[test]
fn new_reno__a_mark_halves_once_a_window() {
    let trial = Trial::new(params(CongestionSpec::NewReno(NewReno))).run(
        "ack 1               = 11
         ack 9               = 20
         ack 1 marked        = 10
         ack 1 marked        = 10
         ack 1               = 10.1
         ack 17 marked       = 10.1
         ack 1 marked        = 5.05
         ack 3 idle          = 5.05
         sack 2              = 5.05",
    );
    assert!(trial.control.is_cut(&trial.params));
    assert!(!Trial::new(params(CongestionSpec::NewReno(NewReno))).control.is_cut(&trial.params));
}

#[test]
fn new_reno__losses_and_timeouts() {
    Trial::new(params(CongestionSpec::NewReno(NewReno))).run(
        "loss                = 5
         ack 4 recovering    = 5
         timeout             = 1
         ack 1               = 2
         ack 1               = 2.7
         timeout again       = 1
         ack 1               = 2
         ack 1               = 2.7
         restart             = 2.7
         lost-syn            = 1",
    );
    // In a window that a mark has cut, a loss does not cut again.
    Trial::new(params(CongestionSpec::NewReno(NewReno))).run("ack 1 marked = 5\n loss = 5");
}

#[test]
fn new_reno__as_in_ns2() {
    // An ACK is one step, however much it acknowledges; the second ACK of a run of marked ones lets the window grow.
    Trial::new(ns2(CongestionSpec::NewReno(NewReno))).run(
        "ack 3               = 11
         sack 1 marked       = 11
         ack 1 idle          = 12
         ack 1 marked        = 6
         ack 1 marked        = 6.166667
         lost-syn            = 6.166667
         timeout             = 1
         restart             = 10",
    );
}

#[test]
fn window__marks_leave_the_least() {
    let least = |min_window, trace: &str| {
        let params = TcpParams { initial_window: 3, min_window, ..params(dctcp(1.0)) };
        Trial::new(params).run(trace);
    };
    // With alpha at 1 a mark leaves a half. Where a timeout has left less than the least, a mark leaves that.
    least(
        1,
        "ack 1 marked        = 1.5
         ack 2 marked        = 1.5
         ack 1 marked        = 1",
    );
    least(
        2,
        "ack 1 marked        = 2
         ack 2 marked        = 2
         ack 2 marked        = 2
         timeout             = 1
         ack 1 marked        = 1
         ack 1 marked        = 1
         ack 1               = 2",
    );
    // The least is never more than the window was.
    least(60, "ack 1 marked = 3");
}

#[test]
fn window__grows_by_as_many_in_a_round_trip_however_it_is_acknowledged() {
    let of = |params| TcpParams { growth: Some(8.0), ..params };
    // Twenty leave 10 after a mark; then the ten segments of a window let it grow by eight.
    let by_one = "ack 10 = 20\n ack 1 marked = 10\n ack 1 = 10.8";
    let by_ten = "ack 10 = 20\n ack 1 marked = 10\n ack 10 = 18";
    for rule in [params, ns2] {
        Trial::new(of(rule(CongestionSpec::NewReno(NewReno)))).run(by_one);
        Trial::new(of(rule(CongestionSpec::NewReno(NewReno)))).run(by_ten);
    }
    Trial::new(of(params(dctcp(1.0)))).run("ack 1 marked = 5\n ack 5 = 13");
}

/// Linux: 4 - ((4 * 256) >> 11) = 4 for an alpha of a quarter, where half a segment would be cut of a window with
/// fractions, and three segments could leave. It grows by a segment with every fourth from then on.
#[test]
fn window__whole_segments_lose_no_part_of_one_to_a_mark() {
    let of = |initial_window, whole_windows, alpha| TcpParams {
        initial_window,
        whole_windows,
        min_window: 2,
        ..params(dctcp(alpha))
    };
    let cut = "ack 1 marked alpha = 0.25\n";
    Trial::new(of(4, true, 0.0)).run(cut).run("ack 1 = 4\n ack 1 = 4\n ack 1 = 4\n ack 1 = 5\n ack 4 = 5\n ack 1 = 6");
    let fractions = Trial::new(of(4, false, 0.0)).run(cut).run("ack 1 = 3.785714");
    assert_eq!(fractions.control.window(&fractions.params), 3);
    // 20 - ((20 * 256) >> 11) = 18, and 18 - ((18 * 448) >> 11) = 15 a window later.
    Trial::new(of(20, true, 0.0))
        .run("ack 1 marked = 18\n ack 17 marked alpha = 0.25\n ack 3 marked alpha = 0.4375\n ack 1 = 15");
    // All of a half, and never below two.
    Trial::new(of(5, true, 1.0)).run("ack 1 marked = 3");
    Trial::new(of(2, true, 1.0)).run("ack 1 marked = 2");
}

/// Where a half is left, it is rounded down (`tcp_reno_ssthresh`), and so is a loss's under DCTCP. A cut drops what had grown
/// of the next segment (`tcp_init_cwnd_reduction`).
#[test]
fn window__whole_segments_of_reno_and_of_losses() {
    let of = |congestion| TcpParams { initial_window: 5, whole_windows: true, min_window: 2, ..params(congestion) };
    Trial::new(of(CongestionSpec::NewReno(NewReno))).run(
        "ack 1 marked        = 2
         ack 1               = 2
         ack 4 marked        = 2
         ack 1 marked        = 2
         ack 1               = 2
         ack 1               = 3",
    );
    Trial::new(of(dctcp(0.0))).run("loss = 2\n ack 1 = 2\n ack 1 = 3\n timeout = 1\n ack 1 = 2");
}

#[test]
fn window__stops_at_the_largest() {
    Trial::new(params(CongestionSpec::NewReno(NewReno))).run("ack 10 = 20\n ack 20 = 40\n ack 40 = 40");
}

#[test]
fn dctcp__cuts_by_half_of_the_marked_fraction() {
    // The first window ends with the first ACK, without marks. One of the next ten segments was marked: 3/4 · 3/4 + 1/4 · 1/10.
    Trial::new(params(dctcp(1.0))).run(
        "ack 1       alpha   = 0.75
         ack 9               = 20
         ack 1 marked        = 14.125",
    );
    Trial::new(params(dctcp(0.0))).run(
        "ack 1 marked alpha  = 0.25
         ack 1 marked        = 8.75
         ack 7               = 9.55
         loss                = 4.5",
    );
}

#[test]
fn d2tcp__cuts_less_before_a_near_deadline() {
    // 74 of 75 segments are left after the first ACK. At 7.5 per round trip of 100 us they take 987 us of 1 ms: d is 0.98667.
    let spec = CongestionSpec::D2tcp(D2tcpRules(DctcpRules { gain: 0.25, initial_alpha: 0.0 }));
    let keep = 1.0 - libm::pow(0.25, 74.0 / 75.0) / 2.0;
    Trial::new(params(spec.clone())).run(&format!("ack 1 marked = {}", 10.0 * keep));
    // Nine more have arrived: d is 65/75. One of the ten was marked.
    let keep = 1.0 - libm::pow(0.025, 65.0 / 75.0) / 2.0;
    Trial::new(params(spec)).run(&format!("sack 9 = 10\n ack 1 marked = {}", 10.0 * keep));
}

#[test]
fn cubic__keeps_seven_tenths_of_marks_and_losses() {
    let cubic = || params(CongestionSpec::Cubic(CubicRules));
    // At one instant the curve stands still: beyond the threshold the window grows as Reno's does, 9/17 a window.
    Trial::new(cubic()).run(
        "ack 10              = 20
         ack 1 marked        = 14
         ack 7               = 14.264706
         loss                = 14.264706",
    );
    Trial::new(cubic()).run("ack 10 = 20\n loss = 14\n timeout = 1\n ack 1 = 2");
}

/// A custom control whose window is the last value that its sender reported.
struct Wild(u32);

impl CongestionControl for Wild {
    fn on_ack(&mut self, ack: &Acked<'_>, _: &TcpParams) {
        self.0 = if ack.marked { 0 } else { u32::MAX };
    }

    fn on_loss(&mut self, _: &Lost, _: &TcpParams) {
        self.0 = 0;
    }

    fn on_timeout(&mut self, _: &Lost, _: bool, _: &TcpParams) {
        self.0 = u32::MAX;
    }

    fn window(&self) -> u32 {
        self.0
    }

    fn pacing_rate(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.0.into())
    }
}

fn any_call() -> impl Strategy<Value = String> {
    let count = prop_oneof![3 => 0u32..3, 1 => 0u32..100];
    let ack = (any::<bool>(), count, any::<[bool; 3]>()).prop_map(|(advances, count, said)| {
        let mut call = format!("{} {count}", if advances { "ack" } else { "sack" });
        for (word, said) in ["marked", "idle", "recovering"].into_iter().zip(said) {
            call += if said { " " } else { "" };
            call += if said { word } else { "" };
        }
        call
    });
    let others = ["loss", "timeout", "timeout again", "lost-syn", "restart"];
    prop_oneof![4 => ack, 1 => prop::sample::select(others.to_vec()).prop_map(str::to_owned)]
}

fn any_control() -> impl Strategy<Value = CongestionSpec> {
    prop_oneof![
        Just(CongestionSpec::NewReno(NewReno)),
        Just(CongestionSpec::Cubic(CubicRules)),
        (0.0..=1.0).prop_map(dctcp),
        (0.0..=1.0)
            .prop_map(|initial_alpha| CongestionSpec::D2tcp(D2tcpRules(DctcpRules { gain: 0.0625, initial_alpha }))),
        Just(CongestionSpec::custom(|_| Wild(u32::MAX)))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn window__stays_between_one_and_the_largest(
        congestion in any_control(),
        ns2 in any::<bool>(),
        restart in prop::sample::select(&[Restart::Off, Restart::Initial, Restart::AtMostInitial][..]),
        initial_window in 0u32..60,
        // A threshold is at least two segments (RFC 5681, equation 4), so a loss may leave two even if the maximum is one.
        max_window in 2u32..60,
        calls in prop::collection::vec(any_call(), 0..80),
    ) {
        let window = if ns2 { WindowRule::FromCumulative } else { WindowRule::Pipe };
        let mut trial = Trial::new(TcpParams { window, restart, initial_window, max_window, ..params(congestion) });
        for call in calls {
            trial.call(&call);
            let window = trial.control.window(&trial.params);
            prop_assert!((1..=max_window).contains(&window), "{window} after {call}");
        }
    }
}

#[test]
fn paced__the_next_segment_leaves_when_the_last_would_have_left_the_line() {
    let params = params(CongestionSpec::custom(|_| Wild(1_000_000_000)));
    let mut control = params.congestion.build(&params);
    let at = Time::from_us;
    let own = control.own().expect("a control of the user's own");
    assert!(!own.holds_back(at(5), true), "nothing has left yet");
    own.on_sent(&Sent { now: at(5), bytes: 1_000, in_flight: 1 }, &params);
    // 8,000 bits at 1 Gbit/s.
    assert!(own.holds_back(at(5), true) && own.held_until == at(13));
    assert!(!own.holds_back(at(5), false) && own.held_until == Time::NEVER, "nothing waits");
    assert!(own.holds_back(at(5), true));
    own.let_go(at(12));
    assert_eq!(own.held_until, at(13));
    own.let_go(at(13));
    assert!(own.held_until == Time::NEVER && !own.holds_back(at(13), true));
    // Late departures are not made up for.
    own.on_sent(&Sent { now: at(20), bytes: 125, in_flight: 1 }, &params);
    assert!(own.holds_back(at(20), true) && own.held_until == at(21));
    // Three bits a second: rounded up to a picosecond.
    own.control = Box::new(Wild(3));
    own.on_sent(&Sent { now: at(30), bytes: 1, in_flight: 1 }, &params);
    assert!(own.holds_back(at(40), true) && own.held_until == at(30) + Time(2_666_666_666_667));
}
