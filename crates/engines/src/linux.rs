//! The engine of real packets: hosts are network namespaces, their senders the kernel's TCP, and everything between them the
//! fabric that the simulator would build (`flowsieve_lab`).
//!
//! It takes the simulator's experiments. A setting that the kernel cannot honour is an error that names it.

pub mod doctor;
mod judge;
mod programs;
mod refusals;
mod result;
mod source;
mod usual;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use flowsieve_core::{Node, Time};
use flowsieve_experiment::engine::{Engine, OnProgress, Progress, Reading, Threads};
use flowsieve_experiment::{Error, Point};
pub use flowsieve_lab::LabError;
use flowsieve_lab::hosts::Apart;
use flowsieve_lab::linux::{self, Congestion, HostSettings, Plan, Source};
pub use flowsieve_lab::linux::{clean, enter, named, new_session, remove_own, requests};
use flowsieve_record::PointResult;
use flowsieve_results::SchemeInfo;
use flowsieve_settings::{Key, Section, Setting, Settings, Table, declare};
use flowsieve_sim::Flows;
use flowsieve_sim::topology::{Link, events};

use doctor::Measured;
use source::Messages;

use crate::setup::Setup;
use crate::simulator::{MAX_TIME, Packets};

/// What carries packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    Simulator,
    Linux,
}

declare! {
    static ENGINE: Setting<Carrier> = Setting::choice(
        Section::Run,
        "engine",
        &[("simulator", Carrier::Simulator), ("linux", Carrier::Linux)],
        "what carries packets: the simulator, or the TCP of this machine's Linux between network namespaces",
    );
    static POOL: Setting<u64> = Setting::count(
        Section::Lab, "connections_per_pair", 1, 4_096,
        "connections that are open from each host to each other one; a flow that finds none idle waits for one",
    )
    .with_default(48);
    static DSCP: Setting<bool> = Setting::flag(
        Section::Lab, "dscp",
        "whether a frame has its packet's priority as DSCP when it reaches a host, for captures; not given: false",
    );
    static PROGRAMS: Setting<Programs> = Setting::choice(
        Section::Lab,
        "programs",
        &[("none", Programs::None), ("own", Programs::Own)],
        "programs beside the workload: none, or those that `flowsieve lab exec` starts, for which the lab stays until \
        `flowsieve lab down`",
    );
}

/// Who sends beside the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Programs {
    None,
    Own,
}

/// How often a run is made whose frames left too late.
const ATTEMPTS: usize = 3;

/// Runs use all of the machine, so there is one at a time. What it carries is measured before the first.
static ONE_AT_A_TIME: Mutex<Option<Measured>> = Mutex::new(None);

/// The lab on this machine.
pub struct Linux {
    /// Reads points: the lab takes what the simulator takes.
    packets: Packets,
}

impl Linux {
    /// Builds the engine with the schemes of the simulator.
    pub fn new(packets: Packets) -> Linux {
        Linux { packets }
    }

    fn run_of(&self, point: &Point, seed: u64) -> Result<Run, Error> {
        let problem = "engine = \"linux\": links of the lab do not fail";
        events::refuse(&point.settings, problem, "no [[event]], or engine = \"simulator\" in [run]")?;
        let common = point.settings.common();
        let has_programs = common.optional(&PROGRAMS)? == Some(Programs::Own);
        let sends = sends(&point.settings)?;
        let setup = if sends { self.packets.set_up(point, seed)? } else { self.packets.set_up_idle(point, seed)? };
        let sender = refusals::sender(point, &setup, sends)?;
        let apart = if has_programs { Some(programs::apart(point, &setup)?) } else { None };
        let connections = if sends { common.read(&POOL)? as usize } else { 0 };
        let dscp = common.optional(&DSCP)? == Some(true);
        let max_time = common.optional(&MAX_TIME)?.map(Time);
        for (name, value) in sender.host.in_words() {
            point.settings.note(&format!("lab.host.{name}"), &value);
        }
        point.settings.note("lab.host.congestion_control", sender.congestion.name());
        let label = format!("{}, seed {seed}", point.label());
        Ok(Run { setup, sender, sends, apart, connections, dscp, max_time, seed, label })
    }
}

/// Removes what labs have left that were killed, and says what it was; what cannot be removed stays.
pub fn clear() -> Vec<String> {
    let removed = clean();
    let names =
        named::forget_killed().into_iter().map(|name| format!("removed the name {name} of a lab that was killed"));
    let spaces = match removed {
        Ok(removed) if removed.is_empty() => None,
        Ok(removed) => Some(format!("removed {} network namespaces of labs that were killed", removed.len())),
        Err(error) => Some(format!("warning: labs that were killed have left network namespaces: {error}")),
    };
    names.chain(spaces).collect()
}

/// Returns whether the lab sends a workload's flows.
fn sends(settings: &Settings) -> Result<bool, Error> {
    Ok(settings.common().optional(&PROGRAMS)? != Some(Programs::Own) || has_workload(settings))
}

/// Returns whether any key of a workload is given.
fn has_workload(settings: &Settings) -> bool {
    let of_workload = |table: &Table| matches!(table, Table::Section(Section::Workload) | Table::Workload(_));
    !settings.workloads().is_empty() || settings.all_given().any(|((table, _), ..)| of_workload(table))
}

/// How hosts send.
struct Sender {
    host: HostSettings,
    congestion: Congestion,
}

struct Run {
    setup: Setup,
    sender: Sender,
    /// Whether the lab sends the workload's flows.
    sends: bool,
    /// How messages of programs are told apart, if there are programs.
    apart: Option<Apart>,
    connections: usize,
    dscp: bool,
    max_time: Option<Time>,
    seed: u64,
    label: String,
}

impl Engine for Linux {
    fn keys(&self) -> Vec<&'static Key> {
        [self.packets.keys(), SETTINGS.to_vec()].concat()
    }

    fn schemes(&self) -> Vec<SchemeInfo> {
        self.packets.schemes()
    }

    fn carries(&self, settings: &Settings) -> Result<bool, Error> {
        Ok(settings.common().optional(&ENGINE)? == Some(Carrier::Linux))
    }

    fn read_scheme(&self, scheme: &str, settings: &Settings) {
        self.packets.read_scheme(scheme, settings);
    }

    fn complete(&self, point: &mut Point) -> Result<Option<String>, Error> {
        let given = usual::give(point, sends(&point.settings)?)?;
        Ok((!given.is_empty()).then(|| format!("on Linux, where nothing is given: {}", given.join(", "))))
    }

    fn read(&self, point: &Point, seed: u64) -> Result<Reading, Error> {
        let run = self.run_of(point, seed)?;
        let reading = if run.sends {
            self.packets.read(point, seed)?
        } else {
            Reading { fabric: run.setup.fabric.draw(), ..Reading::default() }
        };
        let advised = reading.warnings.into_iter();
        let mut warnings: Vec<String> =
            advised.map(|warning| refusals::without_refused_advice(warning, &run.sender)).collect();
        warnings.extend(run.duration_in_words());
        warnings.extend(run.apart.map(programs::in_words));
        warnings.extend(refusals::replaced(&run.setup));
        warnings.extend(refusals::unordered(point, &run.setup));
        refusals::leave_out_the_kernels(&point.settings);
        Ok(Reading { warnings, ..reading })
    }

    fn run(
        &self,
        point: &Point,
        seed: u64,
        _: Threads,
        hear: OnProgress<'_>,
        _: Option<&Path>,
    ) -> Result<PointResult, Error> {
        let run = self.run_of(point, seed)?;
        if run.apart.is_some() && !named::all().iter().any(|lab| lab.process == std::process::id()) {
            let problem = "programs = \"own\": a lab that stays has a name, by which `flowsieve lab exec` finds it";
            return Err(Error::Input(format!("{problem}; expected `flowsieve lab up`")));
        }
        let mut alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        linux::room_for_connections(run.connections as u64, run.setup.fabric.hosts.into())
            .map_err(|error| run.failed(&error))?;
        let machine = match *alone {
            Some(known) => known,
            None => {
                clear().iter().for_each(|removed| eprintln!("{removed}"));
                *alone.insert(Measured::before_a_run()?)
            }
        };
        run.refuse_too_much(&machine)?;
        let mut not_valid: Vec<String> = Vec::new();
        while not_valid.len() < ATTEMPTS {
            let (mut result, problem) = run.carry_out(hear)?;
            if run.apart.is_some() {
                // Its programs have run, and cannot run again by themselves.
                result.warnings.extend(problem);
                return Ok(result);
            }
            let Some(problem) = problem else {
                let attempts = not_valid.len() + 1;
                result.counts.insert("lab attempts".to_owned(), attempts as u64);
                let before = not_valid.iter().zip(1..).map(|(why, of)| format!("attempt {of} was not valid: {why}"));
                result.warnings.extend(before);
                return Ok(result);
            };
            not_valid.push(problem);
        }
        let last = not_valid.pop().unwrap_or_default();
        Err(Error::NotValid { point: run.label, problem: format!("{last}; {ATTEMPTS} attempts were made") })
    }

    fn describe(&self, point: &Point, info: &mut SchemeInfo) -> Result<(), Error> {
        self.packets.describe(point, info)
    }
}

impl Run {
    /// Runs it, and builds the result; says why that is not valid, if it is not.
    fn carry_out(&self, hear: OnProgress<'_>) -> Result<(PointResult, Option<String>), Error> {
        let fabric = self.setup.fabric.without_host_delay();
        let with_source = |use_it: &mut dyn FnMut(&mut dyn Source)| {
            self.setup.with_flows(self.seed, |setup, flows, measure| {
                use_it(&mut Messages::new(flows, measure, setup.predictions.as_ref()));
            });
        };
        let plan = Plan {
            fabric: &fabric,
            scheme: &self.setup.scheme,
            overhead: self.setup.wire_overhead,
            seed: self.seed,
            with_source: self.sends.then_some(&with_source),
            own: self.apart,
            expected: self.setup.workload.expected_flows(),
            announcements: self.setup.announcements.as_ref(),
            host: &self.sender.host,
            congestion: self.sender.congestion,
            connections: self.connections,
            dscp: self.dscp,
            max_time: self.max_time,
        };
        let mut show = |share: f64| -> ControlFlow<()> { hear(Progress { share, packet_hops: 0 }) };
        let outcome = linux::run(&plan, &mut show).map_err(|error| self.failed(&error))?;
        Ok((result::of(self, &outcome), judge::invalid(&outcome)))
    }

    fn failed(&self, error: &LabError) -> Error {
        match error {
            LabError::Stopped => Error::Stopped,
            LabError::NotPermitted { .. } => Error::Input(error.to_string()),
            error => Error::Simulation { point: self.label.clone(), problem: error.to_string() },
        }
    }

    /// Refuses more frames a second than the fabric's thread carries here, and lines so short that each frame would be late.
    fn refuse_too_much(&self, machine: &Measured) -> Result<(), Error> {
        let wrong = |problem: String, expected: String| {
            Err(Error::Input(format!("{}: {problem}; expected {expected}", self.label)))
        };
        let (needed, most) = (self.frames_a_second(), machine.most_frames());
        if needed > most {
            let problem = format!(
                "its hosts send {needed:.0} frames a second, ACKs included, and this machine carries {most:.0}"
            );
            let share = 100.0 * most / needed;
            return wrong(problem, format!("rates or a load of at most {share:.0} % of these, or fewer hosts"));
        }
        let (crossing, least) = (self.least_crossing(), machine.host_delay);
        if crossing < least {
            let problem =
                format!("a frame's first and last line delay it by {crossing}, and this machine needs {least}");
            return wrong(problem, format!("link_delay of at least {}", Time(least.0.div_ceil(2))));
        }
        Ok(())
    }

    /// Returns the least delay of the first and the last line of a packet together.
    fn least_crossing(&self) -> Time {
        let fabric = self.setup.fabric.without_host_delay();
        let least = |end: &dyn Fn(&Link) -> Node| {
            let of_hosts = fabric.links.iter().filter(|link| matches!(end(link), Node::Host(_)));
            of_hosts.map(|link| link.delay).min().unwrap_or(Time::ZERO)
        };
        least(&|link| link.from) + least(&|link| link.to)
    }

    /// Returns how many frames hosts send a second, with an ACK for each packet, as far as flows say before the run: those of
    /// closed loops and queries do not.
    fn frames_a_second(&self) -> f64 {
        /// Bytes of a full packet's data, and of its frame on a line.
        const PACKET: (u64, f64) = (1_460, 1_538.0);
        let fabric = &self.setup.fabric;
        let hosts = fabric.hosts as usize;
        // By host: packets from it, and packets to it.
        let (mut from, mut to) = (vec![0u64; hosts], vec![0u64; hosts]);
        let last_ps = self.setup.with_flows(self.seed, |_, flows, _| {
            let mut last_ps = 0;
            if let Flows::Given(flows) = flows {
                for flow in flows() {
                    from[flow.src as usize] += flow.bytes.div_ceil(PACKET.0);
                    to[flow.dst as usize] += flow.bytes.div_ceil(PACKET.0);
                    last_ps = flow.start_ps;
                }
            }
            last_ps
        });
        // A line carries no more than its rate, whatever is offered.
        let line = |host: usize| fabric.links[fabric.host_uplink[host] as usize].rate.bps() as f64 / (8.0 * PACKET.1);
        let seconds = (last_ps as f64 / 1e12).max(1e-9);
        let carried =
            |packets: &[u64]| -> f64 { (0..hosts).map(|host| (packets[host] as f64 / seconds).min(line(host))).sum() };
        2.0 * carried(&from).min(carried(&to))
    }

    /// Says how long it takes, if that is known.
    fn duration_in_words(&self) -> Option<String> {
        if self.apart.is_some() {
            return None;
        }
        let last_ps = self.setup.with_flows(self.seed, |_, flows, _| match flows {
            Flows::Given(flows) => flows().last().map(|flow| flow.start_ps),
            _ => None,
        })?;
        Some(format!("on Linux: a run takes the real time of its flows, {:.1} s", last_ps as f64 / 1e12))
    }
}
