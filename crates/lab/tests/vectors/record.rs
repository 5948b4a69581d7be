//! Makes vectors: a port's scheduler alone, called as a port with a line calls it.

use flowsieve_core::admission::Pool;
use flowsieve_core::controller::Published;
use flowsieve_core::meta::Ecn;
use flowsieve_core::readings::{Gauge, Reading};
use flowsieve_core::scheduler::{Line as Wire, MAX_QUEUES};
use flowsieve_core::{Kind, Meta, NONE, PortContext, PortScheduler, Scheduler, Time, Victims};
use flowsieve_schemes::Scheme;
use flowsieve_sim::topology::{Fabric, Sites};
use flowsieve_workload::random::{Purpose, Xoshiro256PlusPlus, stream};
use rand_core::{Rng, TryRng};

use super::line::{Arrive, Begin, FORMAT, Leave, Line, Parameter, Parameters, TableArrives, VERSION, Victim};
use super::traffic::Traffic;

/// A port of a scheme in a fabric, and the packets for it.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    /// The fabric.
    pub(super) fabric: &'a Fabric,
    /// The scheme.
    pub(super) scheme: &'a Scheme,
    /// Bytes that a packet takes on a line in addition to its length.
    pub(super) overhead: u16,
    /// The link behind the port.
    pub(super) link: u32,
    /// The seed of the packets, and of the run that the port is a part of.
    pub(super) seed: u64,
    /// How many packets arrive.
    pub(super) packets: u32,
    /// Tables of a controller that arrive at the port, by time. They come before all else of their instants. Built-in ports
    /// follow none.
    pub(super) tables: &'a [(Time, Published)],
}

/// Returns the vectors of a case. The same case gives the same lines.
pub(super) fn record(case: &Case<'_>) -> Vec<Line> {
    let mut recorder = Recorder::new(case);
    recorder.begin(case);
    let mut tables = case.tables.iter().peekable();
    for (at, meta) in Traffic::new(case).take(case.packets as usize) {
        while let Some((when, table)) = tables.next_if(|(when, _)| *when <= at) {
            recorder.take_table(*when, table);
        }
        recorder.arrive(at, meta);
    }
    for (when, table) in tables {
        recorder.take_table(*when, table);
    }
    recorder.depart(Time::NEVER);
    recorder.lines
}

/// Random numbers, and those that were drawn since they were last asked for.
struct Drawn {
    random: Xoshiro256PlusPlus,
    drawn: Vec<u64>,
}

impl TryRng for Drawn {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let number = self.random.next_u32();
        self.drawn.push(number.into());
        Ok(number)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let number = self.random.next_u64();
        self.drawn.push(number);
        Ok(number)
    }

    fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Self::Error> {
        self.random.fill_bytes(to);
        self.drawn.extend(to.iter().copied().map(u64::from));
        Ok(())
    }
}

/// A port that writes what it decides.
struct Recorder {
    scheduler: Scheduler,
    line: Wire,
    metas: Vec<Meta>,
    /// By packet: its ECN field after it arrived.
    arrived: Vec<Ecn>,
    waiting: u32,
    busy_until: Time,
    memory: Pool,
    shares: bool,
    random: Drawn,
    victims: Victims,
    marks: u64,
    parameters: Vec<Parameter>,
    lines: Vec<Line>,
}

impl Recorder {
    /// Builds the port of a case.
    fn new(case: &Case<'_>) -> Recorder {
        let Case { fabric, scheme, overhead, link, seed, .. } = *case;
        let behind = &fabric.links[link as usize];
        let spec = scheme.port(fabric.place_of(behind.from));
        let sites = Sites::new(fabric, seed);
        let line = behind.line(overhead);
        let shares = spec.shares_memory() && matches!(behind.from, flowsieve_core::Node::Switch(_));
        Recorder {
            scheduler: spec.build(line, scheme.header(), || sites.port(link)),
            line,
            metas: Vec::new(),
            arrived: Vec::new(),
            waiting: 0,
            busy_until: Time::ZERO,
            memory: if shares { Pool::new(scheme.shared_buffer) } else { Pool::default() },
            shares,
            random: Drawn { random: stream(seed, Purpose::Marking, link.into()), drawn: Vec::new() },
            victims: Victims::default(),
            marks: 0,
            parameters: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Writes the first line, and the parameters that the port begins with.
    fn begin(&mut self, case: &Case<'_>) {
        let behind = &case.fabric.links[case.link as usize];
        self.lines.push(Line::Begin(Begin {
            format: FORMAT.to_owned(),
            version: VERSION,
            scheme: case.scheme.name.clone(),
            place: case.fabric.place_of(behind.from).name().to_owned(),
            rate_bps: behind.rate.bps(),
            overhead: case.overhead.into(),
            header: case.scheme.header(),
            memory: self.shares.then_some(case.scheme.shared_buffer),
            queues: self.scheduler.queues().clamp(1, MAX_QUEUES) as u16,
            seed: case.seed,
        }));
        self.tell_parameters(Time::ZERO);
    }

    /// Has a packet arrive, after all that leaves up to its instant.
    fn arrive(&mut self, now: Time, meta: Meta) {
        self.depart(now);
        let packet = self.metas.len() as u32;
        self.metas.push(meta);
        let Recorder { scheduler, metas, random, marks, victims, memory, .. } = self;
        let context = &mut PortContext { now, pool: memory, victims, random, marks };
        let queued = scheduler.enqueue(metas, packet, context).is_accepted();
        self.waiting = self.waiting + u32::from(queued) - self.victims.len() as u32;
        if self.shares {
            self.victims.iter().for_each(|&victim| self.memory.give(self.metas[victim as usize].len));
            if queued {
                self.memory.take(meta.len);
            }
        }
        if queued {
            self.busy_until = self.busy_until.max(now);
        }
        let after = self.metas[packet as usize];
        self.arrived.push(after.ecn);
        let victim = |packet: u32| Victim { packet, queue: self.metas[packet as usize].queue };
        let victims = self.victims.drain(..).map(victim).collect();
        let arrive = Arrive {
            meta,
            at: now.0,
            packet,
            flow: meta.flow,
            len: meta.len,
            priority: meta.tag.priority(),
            rank: meta.tag.rank(),
            kind: kind_of(meta.kind),
            ecn: meta.ecn != Ecn::NotCapable,
            coflow: (meta.coflow != NONE).then_some(meta.coflow),
            queued,
            queue: after.queue,
            marked: after.ecn != meta.ecn,
            victims,
            drawn: std::mem::take(&mut self.random.drawn),
        };
        self.lines.push(Line::Arrive(arrive));
        self.tell_parameters(now);
        self.depart(now);
    }

    /// Hands a controller's table to the port, before all else of its instant.
    fn take_table(&mut self, now: Time, published: &Published) {
        if now > Time::ZERO {
            self.depart(now.since(Time(1)));
        }
        self.scheduler.on_table(published);
        let Published { version, table } = published;
        let (name, values) = (table.name.to_owned(), table.values.clone());
        self.lines.push(Line::Table(TableArrives { at: now.0, name, version: *version, values }));
        self.tell_parameters(now);
    }

    /// Has everything leave that the line takes up to an instant.
    fn depart(&mut self, now: Time) {
        while self.waiting > 0 && self.busy_until <= now {
            let start = self.busy_until;
            let Recorder { scheduler, metas, random, marks, victims, memory, .. } = self;
            let context = &mut PortContext { now: start, pool: memory, victims, random, marks };
            let Some(packet) = scheduler.dequeue(metas, context) else { break };
            let Meta { len, queue, ecn, .. } = metas[packet as usize];
            let marked = ecn != self.arrived[packet as usize];
            self.waiting -= 1;
            if self.shares {
                self.memory.give(len);
            }
            self.busy_until = start + self.line.serialise(len);
            let drawn = std::mem::take(&mut self.random.drawn);
            self.lines.push(Line::Leave(Leave { at: start.0, packet, queue, marked, drawn }));
            self.tell_parameters(start);
        }
    }

    /// Writes the port's parameters, if they are others than those written last.
    fn tell_parameters(&mut self, at: Time) {
        let all = parameters(&self.scheduler);
        let changed = |parameter: &&Parameter| !self.parameters.contains(parameter);
        let values: Vec<Parameter> = all.iter().filter(changed).cloned().collect();
        if values.is_empty() {
            return;
        }
        self.parameters = all;
        self.lines.push(Line::Parameters(Parameters { at: at.0, values }));
    }
}

/// Names what a packet is for.
fn kind_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Data => "data",
        Kind::Ack => "ack",
        Kind::Control => "control",
    }
}

/// Returns what a port has adapted.
pub(super) fn parameters(scheduler: &Scheduler) -> Vec<Parameter> {
    let mut values = Vec::new();
    scheduler.observe(&mut |reading| {
        if let Reading::Gauge(Gauge { name, queue, value }) = reading {
            values.push(Parameter { name: name.to_owned(), queue: queue as u32, value });
        }
    });
    values
}
