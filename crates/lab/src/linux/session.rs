//! One run of the lab: namespaces, the fabric's thread and the generator's, from set-up to the last message.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use flowsieve_core::Time;
use flowsieve_core::coflow::Announcements;
use flowsieve_schemes::Scheme;
use flowsieve_sim::control::Periodic;
use flowsieve_sim::topology::Fabric;
use rtrb::{Consumer, RingBuffer};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use flowsieve_sim::in_memory::{Counts, InMemory, PortCounts};

use super::congestion::{Congestion, Registered};
use super::counters;
use super::devices::{Devices, now_ns};
use super::generator::{self, Sent, Signals, Source};
use super::network::{HostSettings, Network, Senders};
use super::stay::{self, Live};
use super::tallies::{LinkTally, Tallies};
use crate::carrier::{Carried, Carrier};
use crate::control::Controllers;
use crate::error::{Doing, LabError};
use crate::hosts::{Apart, Begin, HostCounts, Hosts, Seen};
use crate::io::PacketIo;
use crate::lateness::{Lateness, WINDOW_NS};

/// Packets inside at once.
const PACKETS: usize = 65_536;
/// Messages that the fabric's thread has not heard of yet.
const BEGINS: usize = 8_192;
/// Real-time priority of the fabric's thread, and of the generator's: a frame is more urgent than a write.
const PRIORITIES: (i32, i32) = (50, 40);
/// Directions of connections that are known at once at least, if programs open them.
const DIRECTIONS: usize = 65_536;
/// How long a lab carries what is inside when it ends, if programs go on.
const LAST_TURNS: Duration = Duration::from_millis(300);
/// The time from the beginning of the measured part to the first message's start, so that no start is in the past.
const LEAD: Duration = Duration::from_millis(50);
/// How often the caller hears of progress, and stolen time is asked for.
const PROGRESS: Duration = Duration::from_nanos(WINDOW_NS);

/// What is to be run.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// The fabric, whose hosts add no delay: real ones have their own.
    pub fabric: &'a Fabric,
    /// The scheme.
    pub scheme: &'a Scheme,
    /// Bytes that a packet takes on a line in addition to its length.
    pub overhead: u16,
    /// The run's seed.
    pub seed: u64,
    /// Calls a function with the source of messages, in the generator's thread; `None`: the lab sends nothing itself.
    pub with_source: Option<WithSource<'a>>,
    /// How messages of programs of one's own are told apart, if there are such programs. The lab stays until it is told to end.
    pub own: Option<Apart>,
    /// How many messages are expected, for progress.
    pub expected: f64,
    /// The flows of all coflows, if a coordinator hears of them at once.
    pub announcements: Option<&'a Arc<Announcements>>,
    /// What hosts are set to.
    pub host: &'a HostSettings,
    /// The congestion control of all connections.
    pub congestion: Congestion,
    /// Connections from each host to each other one.
    pub connections: usize,
    /// Whether frames have their priority as DSCP when they reach a host.
    pub dscp: bool,
    /// When the run ends, whatever has finished.
    pub max_time: Option<Time>,
}

/// Calls a function once, with a source of messages.
pub type WithSource<'a> = &'a (dyn Fn(&mut dyn FnMut(&mut dyn Source)) + Sync);

/// What a run has measured.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What was sent.
    pub sent: Sent,
    /// What was carried.
    pub carried: Carried,
    /// How late frames left the fabric.
    pub frames: Lateness,
    /// By window of the measured part, the time that other systems had this machine's processors for, where there was any.
    pub stolen: BTreeMap<u64, Duration>,
    /// What became of packets in the fabric.
    pub packets: Counts,
    /// What hosts have seen of their messages.
    pub hosts: HostCounts,
    /// By link.
    pub links: Vec<LinkTally>,
    /// What controllers have counted, by name, with what was before the first message.
    pub controllers: BTreeMap<&'static str, u64>,
    /// How often their periodic parts have acted.
    pub periodic: Vec<Periodic>,
    /// Whether the threads ran with real-time priority.
    pub real_time: bool,
    /// Length of the measured part.
    pub length: Duration,
    /// CPU time of the fabric's thread in it, which includes the receiving hosts' TCP.
    pub cpu: Duration,
    /// The bytes that may wait before the fabric's thread receives them, if the process may not have all that it asks for.
    pub narrow_buffer: Option<u32>,
    /// The first problem with a frame or a device.
    pub problem: Option<String>,
    /// Messages of programs that tell none.
    pub seen: Vec<Seen>,
    /// Packets that were inside at the end.
    pub inside: u64,
    /// Programs that ran in the hosts at the end, and that were ended.
    pub ended_programs: usize,
}

impl Outcome {
    /// Returns the share of all processors' time that other systems had in the measured part.
    pub fn stolen_share(&self) -> f64 {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let all = self.length.as_secs_f64() * processors as f64;
        self.stolen.values().sum::<Duration>().as_secs_f64() / all.max(1e-9)
    }
}

/// Runs the plan, and calls `hear` with the share of messages that have finished. A break ends the run; with programs of one's
/// own that is a lab's usual end.
///
/// # Errors
/// Fails if the machine does not permit it, if a part fails, or if it was told to stop. Nothing is left in either case.
pub fn run(plan: &Plan<'_>, hear: &mut dyn FnMut(f64) -> ControlFlow<()>) -> Result<Outcome, LabError> {
    let hosts = u16::try_from(plan.fabric.hosts).map_err(|_| LabError::failed("build a lab", "too many hosts"))?;
    let congestion = Registered::new(plan.congestion)?;
    let senders = plan.own.map_or(Senders::Lab, |_| Senders::Programs(&congestion.name));
    let network = Network::build(hosts, plan.host, senders)?;
    let (producer, consumer) = RingBuffer::new(BEGINS);
    let signals = Signals::default();
    let (ready, live) = (Ready::default(), Live::default());
    let panicked = || LabError::failed("run the lab", "one of its threads panicked");
    thread::scope(|scope| {
        let fabric = scope.spawn(|| {
            let carried = carry(plan, &network, consumer, (&signals, &ready, &live));
            ready.set(Some(carried.is_ok()));
            // Without a fabric nothing arrives.
            signals.stop.store(true, Ordering::Release);
            carried
        });
        let generator = plan.with_source.map(|with_source| {
            let (ready, signals, network, congestion) = (&ready, &signals, &network, &congestion);
            scope.spawn(move || {
                if !ready.wait() {
                    return Ok(Sent::default());
                }
                // Where the fabric's thread may not have it, the result says so.
                let _ = crate::calls::real_time(PRIORITIES.1);
                let _ = pin(false);
                let with = (congestion.name.as_str(), plan.connections);
                let (mut producer, mut sent) = (Some(producer), Ok(Sent::default()));
                with_source(&mut |source| {
                    if let Some(producer) = producer.take() {
                        let until = (signals, plan.max_time);
                        sent = generator::send_all((network, hosts), source, with, producer, until, plan.host);
                    }
                });
                sent
            })
        });
        if plan.own.is_none() {
            keep_awake(scope, &signals.stop);
        }
        let has_finished = || generator.as_ref().is_none_or(|generator| generator.is_finished());
        let (mut stopped, mut stayed, mut steal) = (false, Ok(()), Steal::default());
        match plan.own {
            Some(_) if ready.wait() => stayed = stay::stay(plan, &network, (&signals, &live), hear),
            Some(_) => {}
            None => {
                while !has_finished() {
                    thread::sleep(PROGRESS);
                    steal.look(signals.base_ns.load(Ordering::Acquire));
                    let share = signals.finished.load(Ordering::Relaxed) as f64 / plan.expected.max(1.0);
                    if hear(share.min(1.0)).is_break() {
                        stopped = true;
                        signals.stop.store(true, Ordering::Release);
                    }
                }
            }
        }
        signals.stop.store(true, Ordering::Release);
        let sent =
            generator.map_or(Ok(Sent::default()), |generator| generator.join().unwrap_or_else(|_| Err(panicked())));
        let outcome = fabric.join().unwrap_or_else(|_| Err(panicked()))?;
        stayed?;
        let mut sent = sent?;
        if stopped {
            return Err(LabError::Stopped);
        }
        let mut ended_programs = 0;
        if plan.own.is_some() {
            // Namespaces are new, so all is of this lab. One that somebody has removed has no counters any more.
            let counters = scope.spawn(|| counters::counters(&network, hosts)).join();
            sent.counters = counters.unwrap_or_else(|_| Err(panicked())).unwrap_or_default();
            ended_programs = super::programs::end_in(&network.namespaces());
        }
        Ok(Outcome { sent, stolen: steal.by_window, ended_programs, ..outcome })
    })
}

/// Whether the fabric is there, for who waits for it.
#[derive(Default)]
struct Ready {
    state: Mutex<Option<bool>>,
    changed: std::sync::Condvar,
}

impl Ready {
    /// Says it, unless it was said before.
    fn set(&self, is_there: Option<bool>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.or(is_there);
        self.changed.notify_all();
    }

    fn wait(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(state, |state| state.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).unwrap_or(false)
    }
}

/// The fabric's thread: carries frames until it is told to stop and nothing is inside.
fn carry(
    plan: &Plan<'_>,
    network: &Network,
    mut begins: Consumer<Begin>,
    (signals, ready, live): (&Signals, &Ready, &Live),
) -> Result<Outcome, LabError> {
    super::enter(&network.switch())?;
    let devices = Devices::open(&network.devices()).doing(|| "open a socket for frames".to_owned())?;
    let narrow_buffer = devices.narrow_buffer();
    let tallies = Arc::new(Tallies::new(plan.fabric.links.len()));
    let announcements = plan.announcements.cloned().unwrap_or_default();
    let build = || {
        let mut fabric = InMemory::new(plan.fabric, plan.scheme, plan.overhead, plan.seed, PACKETS);
        fabric.observe(tallies.observer());
        let controllers = Controllers::new(plan.fabric, plan.scheme, &announcements, plan.seed);
        controllers.map(|built| (fabric, built)).map_err(|error| LabError::failed("run the controllers", error))
    };
    let (fabric, controllers) = build()?;
    let connections = 2 * plan.connections * (plan.fabric.hosts as usize).pow(2);
    let least = if plan.own.is_some() { DIRECTIONS } else { 1_024 };
    let hosts = Hosts::new(plan.fabric, plan.scheme, plan.seed, connections.max(least));
    let hosts = match plan.own {
        Some(apart) => hosts.with_programs(apart),
        None => hosts,
    };
    let real_time = crate::calls::real_time(PRIORITIES.0).is_ok();
    let _ = pin(true);
    let mut carrier =
        Carrier::new(devices, fabric, hosts, plan.host.mtu).with_controllers(controllers).with_dscp(plan.dscp);
    ready.set(Some(true));
    let mut from = plan.own.map(|_| Mark::of(&mut carrier, &tallies));
    let (mut to, mut last_turns) = (None, None);
    loop {
        if signals.stop.load(Ordering::Acquire) {
            // Programs may send for ever.
            let since = *last_turns.get_or_insert_with(Instant::now);
            if carrier.is_empty() || plan.own.is_some() && since.elapsed() > LAST_TURNS {
                break;
            }
        }
        let is_calm = plan.own.is_some() || carrier.is_empty();
        if signals.base_ns.load(Ordering::Relaxed) == 0 && signals.warm.load(Ordering::Acquire) && is_calm {
            let lead_ns = LEAD.as_nanos() as u64;
            let mut base_ns = now_ns() + lead_ns;
            if plan.own.is_none() {
                // What opened the connections teaches no port, host or controller, and is not counted.
                let (fabric, controllers) = build()?;
                carrier.hosts_mut().restart(plan.fabric, plan.scheme, plan.seed);
                base_ns = carrier.restart(fabric, controllers, lead_ns);
                let mark = Mark::of(&mut carrier, &tallies);
                from = Some(Mark { at: mark.at.map(|at| at + LEAD), ..mark });
            }
            signals.base_ns.store(base_ns, Ordering::Release);
        }
        if to.is_none() && signals.over.load(Ordering::Acquire) {
            to = Some(Mark::of(&mut carrier, &tallies));
            signals.counted.store(true, Ordering::Release);
        }
        carrier.turn(|| begins.pop().ok());
        live.answer(|| stay::view(&mut carrier, &tallies));
    }
    let from = from.unwrap_or_default();
    let to = to.unwrap_or_else(|| Mark::of(&mut carrier, &tallies));
    Ok(Outcome {
        carried: to.carried.since(&from.carried),
        frames: to.frames,
        packets: to.packets.since(&from.packets),
        hosts: to.hosts.since(&from.hosts),
        links: to.links.iter().enumerate().map(|(link, tally)| tally.since(from.links.get(link))).collect(),
        real_time,
        length: from.at.zip(to.at).map_or(Duration::ZERO, |(from, to)| to.saturating_duration_since(from)),
        cpu: to.cpu.saturating_sub(from.cpu),
        periodic: carrier.controllers().map_or(Vec::new(), |controllers| controllers.periodic(to.now).collect()),
        controllers: carrier.controllers().map_or(BTreeMap::new(), |controllers| controllers.counts(to.now)),
        narrow_buffer,
        problem: carrier.problem().map(str::to_owned),
        inside: to.inside,
        seen: carrier.hosts_mut().take_seen(to.now),
        ..Outcome::default()
    })
}

/// All counts at a moment.
#[derive(Default)]
struct Mark {
    at: Option<Instant>,
    /// The fabric's time, and the packets inside.
    now: Time,
    inside: u64,
    cpu: Duration,
    carried: Carried,
    frames: Lateness,
    packets: Counts,
    hosts: HostCounts,
    links: Vec<LinkTally>,
}

impl Mark {
    fn of<I: PacketIo>(carrier: &mut Carrier<I>, tallies: &Tallies) -> Mark {
        let ports: Vec<PortCounts> = carrier.fabric().port_counts();
        Mark {
            at: Some(Instant::now()),
            now: carrier.fabric().now(),
            inside: carrier.fabric().held(),
            cpu: cpu(),
            carried: carrier.carried(),
            frames: carrier.lateness().clone(),
            packets: carrier.fabric().counts(),
            hosts: carrier.hosts().counts(),
            links: ports.into_iter().zip(&tallies.links).map(|(port, counts)| LinkTally::of(port, counts)).collect(),
        }
    }
}

/// The time for which other systems had this machine's processors, as the kernel counts it (proc(5), `stat`): to 10 ms.
#[derive(Default)]
struct Steal {
    last: Duration,
    by_window: BTreeMap<u64, Duration>,
}

impl Steal {
    /// Asks for it, and adds what is new to the present window since `base_ns`; 0: nothing is measured yet.
    fn look(&mut self, base_ns: u64) {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let ticks = text.lines().next().and_then(|all| all.split_whitespace().nth(8)?.parse::<u64>().ok());
        let now = Duration::from_millis(10 * ticks.unwrap_or(0));
        let since_ns = now_ns().checked_sub(base_ns).filter(|_| base_ns > 0);
        if let Some(since_ns) = since_ns.filter(|_| now > self.last) {
            *self.by_window.entry(since_ns / WINDOW_NS).or_default() += now - self.last;
        }
        self.last = now;
    }
}

/// CPU time of the calling thread.
fn cpu() -> Duration {
    let at = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(at.tv_sec.unsigned_abs(), at.tv_nsec as u32)
}

/// Keeps the lab's processors busy with a thread each that gives way to all others, until it is told to stop: a processor that
/// goes idle takes a while to wake up, and a virtual one is the host's until then. A process with a quota of processor time
/// needs that for its frames.
fn keep_awake<'scope>(scope: &'scope thread::Scope<'scope, '_>, stop: &'scope AtomicBool) {
    let (Ok([first, last]), Ok(allowed)) = (own_processors(), sched_getaffinity(None)) else { return };
    if thread::available_parallelism().map_or(1, usize::from) < allowed.count() as usize {
        return;
    }
    for cpu in BTreeSet::from([first, last]) {
        scope.spawn(move || {
            let is_last = pin_to(cpu).and_then(|()| crate::calls::idle());
            while is_last.is_ok() && !stop.load(Ordering::Relaxed) {
                // No hint that it waits: hypervisors take processors from threads that give one.
                (0..10_000u32).for_each(|turn| _ = std::hint::black_box(turn));
            }
        });
    }
}

/// Keeps the calling thread on the last of its processors or on the first: the fabric's and the generator's do not disturb
/// each other if there are two.
fn pin(last: bool) -> std::io::Result<()> {
    pin_to(own_processors()?[usize::from(last)])
}

/// The first and the last of the processors that the calling thread may have.
fn own_processors() -> std::io::Result<[usize; 2]> {
    let allowed = sched_getaffinity(None)?;
    let mut processors = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
    let first = processors.next().ok_or(std::io::ErrorKind::NotFound)?;
    Ok([first, processors.next_back().unwrap_or(first)])
}

fn pin_to(cpu: usize) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}
