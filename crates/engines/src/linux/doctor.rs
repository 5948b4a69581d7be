//! What labs on this machine can carry: what it permits, how many frames a second, and the delay of its hosts.

use std::ops::ControlFlow;

use flowsieve_core::Time;
use flowsieve_core::message::Message;
use flowsieve_experiment::Error;
use flowsieve_lab::linux::doctor::{Permission, permissions, usual_hosts};
use flowsieve_lab::linux::{self, Congestion, Order, Outcome, Plan, Source};
use flowsieve_schemes::bare::{self, Facts};
use flowsieve_settings::{Raw, SettingsError};
use flowsieve_sim::topology::Fabric;

/// The rate of the two hosts that are measured, and the one-way delay of each of their links.
const RATE_MBPS: u64 = 100;
const DELAY_US: u64 = 250;
/// Bytes of a message, and the share of the rate that messages take.
const BYTES: u64 = 300_000;
const LOAD: f64 = 0.9;
/// How long the two hosts are measured for a person, and before a run.
const SECONDS: f64 = 2.0;
const BEFORE_A_RUN: f64 = 0.5;
/// Bytes of a full frame on a line, and its packet's bytes of payload.
const FRAME: f64 = 1_538.0;
const PAYLOAD: f64 = 1_460.0;
/// The share of a processor that the fabric's thread may need.
const MOST_BUSY: f64 = 0.8;

/// What was found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// What it is, in words.
    pub machine: Vec<String>,
    /// What was removed of labs that were killed, in words.
    pub removed: Vec<String>,
    /// What the machine permits.
    pub permissions: Vec<Permission>,
    /// What was measured; `None`: no lab runs here.
    pub measured: Option<Measured>,
}

/// What two hosts carried.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Frames, ACKs included, for each second that the fabric's thread needs.
    pub frames_per_cpu_second: f64,
    /// The share of frames that left more than 1 ms late.
    pub late: f64,
    /// The share of its processors' time that other systems on the same hardware had.
    pub stolen: f64,
    /// The time that a host adds at each of its ends of a link.
    pub host_delay: Time,
}

impl Measured {
    /// Measures it briefly, before a run.
    pub(super) fn before_a_run() -> Result<Measured, Error> {
        measure(BEFORE_A_RUN)
    }

    /// Returns how many frames a second the fabric's thread may have to carry.
    pub(super) fn most_frames(&self) -> f64 {
        MOST_BUSY * self.frames_per_cpu_second
    }

    /// Returns the largest rate of each of this many hosts, in Mbit/s, at a load of 0.6 with an ACK for each packet.
    pub fn most_mbps(&self, hosts: u32) -> f64 {
        let frames = self.most_frames() / f64::from(hosts);
        frames / 2.0 * FRAME * 8.0 / 0.6 / 1e6
    }
}

/// Tries what labs need, and measures two hosts for two seconds.
///
/// # Errors
/// Fails if the lab of two hosts does.
pub fn examine() -> Result<Findings, Error> {
    let (removed, machine) = (super::clear(), machine());
    let permissions = permissions();
    let able = permissions.iter().all(|permission| permission.problem.is_none() || !permission.needed);
    let measured = if able { Some(measure(SECONDS)?) } else { None };
    Ok(Findings { machine, removed, permissions, measured })
}

/// Says what of the machine matters to a lab.
fn machine() -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let files = linux::most_descriptors();
    vec![
        format!("kernel: Linux {}", read("/proc/sys/kernel/osrelease")),
        format!("clock source: {}", read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        format!("open files: at most {files}; a lab takes two for each connection from a host to another one"),
    ]
}

fn measure(seconds: f64) -> Result<Measured, Error> {
    let problem = |error: SettingsError| Error::Input(error.to_string());
    let settings = bare::none_given()
        .with(None, "parameters", "linux")
        .with(None, "kind", "single-switch")
        .with(None, "hosts", 2)
        .with(None, "host_link", Raw::from(format!("{RATE_MBPS}Mbps").as_str()))
        .with(None, "link_delay", Raw::from(format!("{DELAY_US}us").as_str()))
        .with(None, "host_delay", "0us")
        .with(None, "nic", "scheme")
        .with(None, "buffer", "1MB")
        .with(Some("dctcp"), "transport", "tcp");
    let fabric = Fabric::from_settings(&settings).map_err(problem)?;
    // FIFO ports with the kernel's own TCP. Nothing is asked of the workload.
    let scheme = bare::scheme("dctcp", &settings, &Facts::NONE).map_err(problem)?;
    let with_source = |use_it: &mut dyn FnMut(&mut dyn Source)| use_it(&mut Both(orders(seconds).into_iter()));
    let host = usual_hosts();
    let plan = Plan {
        fabric: &fabric,
        scheme: &scheme,
        overhead: (FRAME - PAYLOAD) as u16 - 40,
        seed: 1,
        with_source: Some(&with_source),
        own: None,
        expected: orders(seconds).len() as f64,
        announcements: None,
        host: &host,
        congestion: Congestion::Reno,
        connections: 8,
        dscp: false,
        max_time: Some(Time::from_us(10_000_000)),
    };
    let outcome =
        linux::run(&plan, &mut |_| ControlFlow::Continue(())).map_err(|error| Error::Input(error.to_string()))?;
    Ok(Measured {
        frames_per_cpu_second: outcome.carried.received as f64 / outcome.cpu.as_secs_f64().max(1e-9),
        late: outcome.carried.late_share(),
        stolen: outcome.stolen_share(),
        host_delay: host_delay(&outcome),
    })
}

/// The messages of both hosts.
struct Both(std::vec::IntoIter<Order>);

impl Source for Both {
    fn next(&mut self) -> Option<Order> {
        self.0.next()
    }
}

/// Messages in both directions, evenly spread.
fn orders(seconds: f64) -> Vec<Order> {
    let wire = BYTES as f64 * FRAME / PAYLOAD * 8.0;
    let every = wire / (LOAD * RATE_MBPS as f64 * 1e6);
    let of = |number: u32| {
        let (from, to) = if number.is_multiple_of(2) { (0, 1) } else { (1, 0) };
        let start = Time((f64::from(number / 2) * every * 1e12) as u64);
        Order { from, message: Message { id: number, to, bytes: BYTES, start, ..Message::default() } }
    };
    (0..2 * (seconds / every) as u32).map(of).collect()
}

/// Returns what hosts add to the time of a byte on idle connections: its median less the fabric's part, at both ends.
fn host_delay(outcome: &Outcome) -> Time {
    let mut ns = outcome.sent.one_way_ns.clone();
    ns.sort_unstable();
    let median = ns.get(ns.len() / 2).map_or(0, |&ns| ns * 1_000);
    // Two links; a packet of one byte has the length of a short frame on each.
    let short = Time((41 + 38) * 8_000_000 / RATE_MBPS);
    Time(median.saturating_sub(2 * (Time::from_us(DELAY_US) + short).0) / 2)
}
