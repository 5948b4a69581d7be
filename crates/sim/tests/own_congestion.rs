//! A congestion control of a user's own, from end to end. Times are computed by hand as in `traces.rs`.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

use crate::by_hand::{Trial, fcts, flow, rack};
use flowsieve_schemes::bare::Facts;
use flowsieve_schemes::parts::{self, Own};
use flowsieve_schemes::scheme::{Nic, Scheme};
use flowsieve_schemes::{Context, registry};
use flowsieve_settings::Settings;
use flowsieve_sim::Partitioning;
use flowsieve_transport::tcp::TcpParams;
use flowsieve_transport::tcp::congestion::{Acked, CongestionControl, CongestionSpec, Lost, Sent};

/// What the controls of a run were told.
#[derive(Default)]
struct Heard {
    /// Instants, and what was in flight then.
    sent: Vec<(u64, u32)>,
    marks: u32,
    losses: u32,
    timeouts: u32,
}

/// A constant window, and a constant pace unless `bps` is 0.
#[derive(Clone)]
struct Constant {
    window: u32,
    bps: u64,
    heard: Arc<Mutex<Heard>>,
}

impl CongestionControl for Constant {
    fn on_ack(&mut self, ack: &Acked<'_>, _: &TcpParams) {
        self.heard.lock().unwrap().marks += u32::from(ack.marked);
    }

    fn on_loss(&mut self, _: &Lost, _: &TcpParams) {
        self.heard.lock().unwrap().losses += 1;
    }

    fn on_timeout(&mut self, _: &Lost, _: bool, _: &TcpParams) {
        self.heard.lock().unwrap().timeouts += 1;
    }

    fn on_sent(&mut self, sent: &Sent, _: &TcpParams) {
        self.heard.lock().unwrap().sent.push((sent.now.0, sent.in_flight));
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn pacing_rate(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.bps)
    }
}

fn with(settings: &Settings, control: Constant) -> Scheme {
    let congestion = Some(CongestionSpec::custom(move |_| control.clone()));
    let context = Context { scope: settings.scheme("constant"), workload: &Facts::NONE };
    let within = registry::find("dctcp").expect("a scheme").within(&context).expect("settings that go together");
    parts::build(&within, Own { congestion, ..Own::default() }).expect("settings that go together")
}

#[test]
fn pace__segments_leave_one_by_one() {
    // 11,680 bits at 5 Gbit/s take 2.336 us. A packet that leaves at 0 has arrived at 2.8 us.
    for nic in [Nic::Scheme, Nic::Backpressure { backlog: 15_000 }] {
        let (settings, control) = (rack(2), Constant { window: 90, bps: 5_000_000_000, heard: Arc::default() });
        let trial = Trial::new(&settings, Scheme { nic, ..with(&settings, control.clone()) });
        assert_eq!(fcts(&trial.run_as(&[flow(0, (0, 1), 6)], Partitioning::Whole)), [5 * 2_336_000 + 2_800_000]);
        let heard = control.heard.lock().unwrap();
        assert!(heard.sent.iter().map(|sent| sent.0).eq((0..6).map(|at| at * 2_336_000)), "{:?}", heard.sent);
    }
}

#[test]
fn window__bounds_what_is_in_flight() {
    let (settings, control) = (rack(2), Constant { window: 2, bps: 0, heard: Arc::default() });
    let fct = fcts(&Trial::new(&settings, with(&settings, control.clone())).run(&[flow(0, (0, 1), 5)]));
    // The ACK of the first is back at 2.8 + 0.464 us and lets the third go, whose ACK lets the fifth go.
    assert_eq!(fct, [2 * 3_264_000 + 2_800_000]);
    assert_eq!(control.heard.lock().unwrap().sent.iter().map(|sent| sent.1).max(), Some(2));
}

#[test]
fn calls__tell_of_marks_losses_and_timeouts() {
    // Two windows of 40 packets meet in a buffer of 10. Duplicate ACKs find losses, and the timer those at the end.
    let ecmp = rack(3).with(None, "load_balancing", "ecmp");
    let settings = ecmp.with(None, "buffer", "10pkt").with(None, "ecn_threshold", "3pkt");
    let control = Constant { window: 40, bps: 0, heard: Arc::default() };
    let trial = Trial::new(&settings, with(&settings, control.clone()));
    let result = trial.run_as(&[flow(0, (0, 2), 100), flow(0, (1, 2), 100)], Partitioning::Whole);
    let heard = control.heard.lock().unwrap();
    assert!(heard.marks > 0 && heard.losses > 0 && heard.sent.len() > 200, "{} losses", heard.losses);
    assert_eq!((heard.timeouts.into(), heard.timeouts > 0), (result.timeouts, true));
}
