//! The naive twin of the simulator: links, ports and switches. Hosts are in [`crate::twin::hosts`].
//!
//! Written from `docs/reference/model.md` and not from the simulator: a heap of events, an event for every departure, packets
//! that are never reused, no partitions, nothing lazy. It shares with the simulator what has tests of its own: port
//! schedulers, balancers, taggers, endpoints, fabrics, random streams. Left out: measuring windows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use flowsieve_core::admission::Pool;
use flowsieve_core::balancer::BalancerSite;
use flowsieve_core::hash::mix;
use flowsieve_core::hop::Trail;
use flowsieve_core::scheduler::Line;
use flowsieve_core::{Balancer, Message, Meta, PortContext, PortScheduler, Scheduler, SwitchProgram, Time, Victims};
use flowsieve_record::{Drops, QuantileSketch};
use flowsieve_schemes::scheme::Nic;
use flowsieve_settings::Place;
use flowsieve_sim::topology::{Node, Sites};
use flowsieve_sim::{FctEnd, Flows, QUERY_EPOCH, RunSpec};
use flowsieve_transport::Packet;
use flowsieve_workload::random::{Purpose, Xoshiro256PlusPlus, stream};
use flowsieve_workload::{ClosedLoop, Flow, Queries};
use rand_core::Rng;

use crate::twin::controllers::{Kind, kinds};
use crate::twin::hops::Hops;
use crate::twin::hosts::{Alarm, Host, Record};
use crate::twin::programs::programs;
use crate::twin::steps::Seen;

/// What happens. The order of the variants, and of their fields, is the order at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A table arrives of one kind of controllers.
    Table {
        kind: usize,
        nth: usize,
    },
    /// Controllers of one kind may hear and decide.
    Controllers {
        kind: usize,
    },
    LineFree {
        link: usize,
    },
    Arrival {
        /// Drawn for the instant and the link.
        place: u64,
        link: usize,
        nth: u64,
        packet: u32,
    },
    Start {
        message: usize,
    },
    Timer {
        host: usize,
        alarm: Alarm,
    },
    Program {
        switch: usize,
    },
    /// From now on a link's sender holds these queues.
    Pause {
        nth: u64,
        link: usize,
        held: u64,
    },
}

/// Where programs go on, the end of the run is looked for at the last start, and as often from there.
const PROGRAM_EPOCH: Time = Time::from_us(1_000);

/// What switches do not see of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// A host's, as it was sent.
    OfHost { src: usize, class: usize, packet: Packet },
    /// Between two switches' programs: what it says.
    OfSwitch { payload: [u32; 6] },
}

pub(crate) struct Port {
    pub(crate) scheduler: Scheduler,
    pub(crate) busy: bool,
    /// With what is on the line, and with preambles and gaps.
    pub(crate) sent_bytes: u64,
    pub(crate) busy_until: Time,
    pub(crate) random: Xoshiro256PlusPlus,
    loss: Xoshiro256PlusPlus,
    shares: bool,
    /// Queues that send nothing.
    pub(crate) held: u64,
}

/// What is counted of a class of links.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Count {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) drops: Drops,
    pub(crate) marks: u64,
    pub(crate) by_queue: BTreeMap<usize, u64>,
    pub(crate) by_priority: BTreeMap<usize, u64>,
    /// By priority.
    pub(crate) queued_before: BTreeMap<usize, QuantileSketch>,
    pub(crate) most_backlog: u64,
    /// Bytes on the wire, with preamble and gap, before the last flow begins.
    pub(crate) while_flows_arrive: u64,
}

/// The network and its hosts.
pub(crate) struct Twin<'a> {
    pub(crate) run_spec: RunSpec<'a>,
    pub(crate) now: Time,
    queue: BinaryHeap<Reverse<(Time, Event)>>,
    /// How many of them are no controller's doings: a controller may ask every few microseconds for as long as a run goes on.
    others: usize,
    pub(crate) metas: Vec<Meta>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) ports: Vec<Port>,
    /// By switch.
    pools: Vec<Pool>,
    pub(crate) switches: Vec<(Balancer, Xoshiro256PlusPlus)>,
    pub(crate) programs: Vec<Option<Box<dyn SwitchProgram>>>,
    /// What switches do beyond queueing.
    pub(crate) beyond: Hops,
    pub(crate) hosts: Vec<Host>,
    pub(crate) controllers: Vec<Kind>,
    /// By kind of controllers: how many tables are on their way or have arrived.
    pub(crate) tables_sent: Vec<usize>,
    /// By number, as the records.
    pub(crate) messages: Vec<Flow>,
    /// Which follow which, and when no more begin.
    closed: Option<(&'a ClosedLoop, Time)>,
    queries: Option<&'a Queries>,
    /// The flows that others go on for, and that have not finished.
    waited_for: BTreeSet<u32>,
    /// When the last of them, or the last query, ended.
    waiting_ended: Option<Time>,
    /// Those that are due, and that their taggers hold back: the host, the class and the message.
    pub(crate) held: Vec<(usize, usize, Message)>,
    /// Those that began.
    pub(crate) begun: BTreeSet<usize>,
    pub(crate) records: Vec<Record>,
    pub(crate) seen: Seen,
    pub(crate) counts: Vec<Count>,
    pub(crate) hops: u64,
    arrivals: u64,
    flows_arrive: bool,
    /// When the last packet came to the end of a link, or was dropped.
    last_arrival: Time,
    /// Nothing was left to happen.
    pub(crate) drained: bool,
}

/// Makes a run to its end.
pub(crate) fn run<'a>(run_spec: &RunSpec<'a>) -> Twin<'a> {
    let fabric = run_spec.fabric;
    let (first, closed, queries): (Vec<Flow>, _, _) = match run_spec.flows {
        Flows::Given(flows) | Flows::Until { flows, .. } => (flows().collect(), None, None),
        Flows::Closed { flows, until } => (flows.first(), Some((flows, until)), None),
        Flows::Queries { queries, beside } => {
            let requests = queries.first().map(|id| queries.message(id, 0));
            (requests.chain(beside()).collect(), None, Some(queries))
        }
        Flows::Collectives(_) => panic!("the twin has no collectives"),
    };
    let sites = Sites::new(fabric, run_spec.seed);
    let port = |number: usize| {
        let from = fabric.links[number].from;
        let place = match from {
            Node::Host(_) => Place::Nic,
            Node::Switch(switch) => fabric.switches[switch as usize].place,
        };
        let spec = run_spec.scheme.ports.at(place);
        let free = place == Place::Nic && matches!(run_spec.scheme.nic, Nic::Backpressure { .. });
        let line = Line { byte_time: fabric.links[number].rate.byte_time(), overhead: run_spec.wire_overhead.into() };
        Port {
            scheduler: if free { spec.without_limits() } else { spec.clone() }.build(
                line,
                run_spec.scheme.header(),
                || sites.port(number as u32),
            ),
            busy: false,
            sent_bytes: 0,
            busy_until: Time::ZERO,
            random: stream(run_spec.seed, Purpose::Marking, number as u64),
            loss: stream(run_spec.seed, Purpose::Loss, number as u64),
            shares: place != Place::Nic && spec.shares_memory(),
            held: 0,
        }
    };
    let programs = programs(run_spec, &sites);
    let switch = |number: usize| {
        let mut random = stream(run_spec.seed, Purpose::Spray, number as u64);
        let salt = random.next_u64();
        let groups = fabric.routes[number].groups.len();
        let watches = programs[number].as_ref().map(|program| program.watches()).unwrap_or_default();
        let balancers = run_spec.scheme.balancers.at(fabric.switches[number].place);
        (balancers.build(&BalancerSite { groups, salt, watches }), random)
    };
    let mut twin = Twin {
        run_spec: *run_spec,
        now: Time::ZERO,
        queue: BinaryHeap::new(),
        others: 0,
        metas: Vec::new(),
        bodies: Vec::new(),
        ports: (0..fabric.links.len()).map(port).collect(),
        pools: vec![Pool::new(run_spec.scheme.shared_buffer); fabric.switches.len()],
        switches: (0..fabric.switches.len()).map(switch).collect(),
        programs,
        beyond: Hops::new(run_spec, &sites),
        hosts: (0..fabric.hosts).map(|host| Host::new(run_spec, host, &sites)).collect(),
        controllers: kinds(run_spec, &sites),
        tables_sent: vec![0; run_spec.scheme.controllers.len()],
        held: Vec::new(),
        records: Vec::new(),
        seen: Seen::default(),
        counts: vec![Count::default(); fabric.classes.len()],
        messages: Vec::new(),
        closed,
        queries,
        waited_for: match run_spec.flows {
            Flows::Until { waited_for, .. } => waited_for.iter().copied().collect(),
            _ => BTreeSet::new(),
        },
        waiting_ended: None,
        begun: BTreeSet::new(),
        hops: 0,
        arrivals: 0,
        flows_arrive: true,
        last_arrival: Time::ZERO,
        drained: false,
    };
    twin.arm_controllers();
    first.into_iter().for_each(|flow| twin.add(flow));
    (0..fabric.switches.len()).for_each(|switch| twin.arm_program(switch));
    twin.run();
    twin
}

impl<'a> Twin<'a> {
    pub(crate) fn at(&mut self, time: Time, event: Event) {
        if time != Time::NEVER {
            self.others += usize::from(!is_of_controllers(&event));
            self.queue.push(Reverse((time, event)));
        }
    }

    /// A message that will begin.
    fn add(&mut self, flow: Flow) {
        let message = flow.id as usize;
        if self.closed.is_some_and(|(_, until)| flow.start_ps >= until.0) {
            return;
        }
        while self.messages.len() <= message {
            self.messages.push(Flow { id: self.messages.len() as u32, ..flow });
            self.records.push(Record::default());
        }
        self.messages[message] = flow;
        let class = self.run_spec.scheme.classes.len().min(usize::from(flow.class) + 1) - 1;
        let begin = Time(flow.start_ps) + self.run_spec.scheme.classes[class].inference;
        self.at(begin, Event::Start { message });
    }

    /// A message has been acknowledged: another of its loop may begin.
    pub(crate) fn follow(&mut self, finished: u32) {
        let next = self.closed.and_then(|(flows, _)| flows.after(finished, self.now.0));
        next.into_iter().for_each(|flow| self.add(flow));
    }

    /// A message has been delivered: its answer may begin where it was, or the next query.
    pub(crate) fn answer(&mut self, delivered: u32) {
        let Some(queries) = self.queries.filter(|queries| delivered < queries.messages()) else { return };
        let servers = queries.servers().len() as u32;
        let query = delivered / (2 * servers);
        let halves = |half: u32| (2 * query + half) * servers..(2 * query + half + 1) * servers;
        let next = if halves(0).contains(&delivered) {
            delivered + servers..delivered + servers + 1
        } else if halves(1).any(|answer| !self.has_arrived(answer)) {
            return;
        } else if query + 1 == queries.queries() {
            self.waiting_ended = Some(self.now);
            return;
        } else {
            halves(2)
        };
        next.for_each(|id| self.add(queries.message(id, self.now.0)));
    }

    /// A message has finished, as results have it: others may go on for it.
    pub(crate) fn finish(&mut self, message: u32, as_results_have_it: FctEnd) {
        let counts = self.run_spec.fct_end == as_results_have_it && self.waited_for.remove(&message);
        if counts && self.waited_for.is_empty() {
            self.waiting_ended = Some(self.now);
        }
    }

    fn has_arrived(&self, message: u32) -> bool {
        self.records.get(message as usize).is_some_and(|record| record.arrived.is_some())
    }

    /// Whether a message would begin when what it goes on for has ended.
    pub(crate) fn is_too_late(&self, message: usize) -> bool {
        let start = self.messages[message].start_ps;
        self.waiting_ended.is_some_and(|ended| ended.0 < start - start % QUERY_EPOCH.0)
    }

    fn run(&mut self) {
        // Where flows follow one another they arrive until the end.
        let last_start = match self.closed {
            None if self.queries.is_none() && self.waited_for.is_empty() => {
                self.messages.last().map_or(0, |flow| flow.start_ps)
            }
            _ => u64::MAX,
        };
        let mut look = Time(last_start);
        while let Some(Reverse((time, event))) = self.queue.pop() {
            self.others -= usize::from(!is_of_controllers(&event));
            if self.run_spec.max_time.is_some_and(|stop| time >= stop) {
                return;
            }
            while time >= look && self.programs_go_on() {
                if self.all_have_ended() {
                    return;
                }
                look += PROGRAM_EPOCH;
            }
            // What leaves at that very instant counts; thresholds adapt before it and departures follow.
            let before_arrivals =
                matches!(event, Event::LineFree { .. } | Event::Controllers { .. } | Event::Table { .. });
            if time.0 > last_start || time.0 == last_start && !before_arrivals {
                self.end_arrivals(Time(last_start));
            }
            if let Some(epoch) = self.waiting_ended.map(|ended| ended.0 / QUERY_EPOCH.0)
                && epoch < time.0 / QUERY_EPOCH.0
            {
                self.end_arrivals(Time((epoch + 1) * QUERY_EPOCH.0 - 1));
            }
            self.now = time;
            match event {
                Event::LineFree { link } => {
                    self.ports[link].busy = false;
                    self.send_next(link);
                }
                Event::Arrival { link, packet, .. } => self.on_arrival(link, packet),
                Event::Start { message } if self.is_too_late(message) => {}
                Event::Start { message } => {
                    self.begun.insert(message);
                    self.on_start(message);
                }
                Event::Timer { host, alarm } => self.on_timer(host, alarm),
                Event::Program { switch } => self.on_program(switch),
                Event::Pause { link, held, .. } => self.on_pause(link, held),
                Event::Controllers { kind } => self.on_controllers(kind),
                Event::Table { kind, nth } => self.on_table(kind, nth),
            }
        }
        if self.closed.is_some() {
            // What is cut through has arrived before the line is free.
            self.end_arrivals(self.last_arrival);
        }
        self.drained = true;
    }

    /// Whether a switch's program has its timer set, which may have no end.
    fn programs_go_on(&self) -> bool {
        self.programs.iter().flatten().any(|program| program.next_timer() != Time::NEVER)
    }

    /// Whether all messages have ended, which are all acknowledged where that is their end.
    fn all_have_ended(&self) -> bool {
        let ack = self.run_spec.fct_end == FctEnd::Ack;
        self.records.iter().all(|record| if ack { record.acknowledged } else { record.arrived }.is_some())
    }

    /// Whether anything will happen but controllers' doings.
    pub(crate) fn something_else_is_left(&self) -> bool {
        self.others > 0 || !self.held.is_empty()
    }

    pub(crate) fn new_packet(&mut self, meta: Meta, body: Body) -> u32 {
        self.metas.push(meta);
        self.bodies.push(body);
        self.beyond.trails.push(Trail::default());
        self.metas.len() as u32 - 1
    }

    pub(crate) fn meta(&self, packet: u32) -> Meta {
        self.metas[packet as usize]
    }

    pub(crate) fn set_meta(&mut self, packet: u32, meta: Meta) {
        self.metas[packet as usize] = meta;
    }

    /// A packet arrives at a port.
    pub(crate) fn enqueue(&mut self, link: usize, packet: u32) {
        let mut admitted = true;
        self.at_hop(link, packet, |part, meta, hop| admitted &= part.admits(meta, hop));
        if !admitted {
            return self.turn_away(link, packet);
        }
        let meta = self.metas[packet as usize];
        let mut victims = Victims::default();
        let verdict = self
            .with_scheduler(link, &mut victims, |scheduler, metas, context| scheduler.enqueue(metas, packet, context));
        self.counts_of(link)
            .queued_before
            .entry(usize::from(meta.tag.priority()))
            .or_default()
            .record(verdict.queued_before());
        while let Some(victim) = victims.pop() {
            self.counts_of(link).drops.evicted += 1;
            self.last_arrival = self.now;
            self.leave_memory(link, victim);
            self.at_hop(link, victim, |part, meta, hop| part.on_lost(meta, hop));
        }
        if !verdict.is_accepted() {
            return self.turn_away(link, packet);
        }
        if let (true, Node::Switch(switch)) = (self.ports[link].shares, self.run_spec.fabric.links[link].from) {
            self.pools[switch as usize].take(self.metas[packet as usize].len);
        }
        self.at_hop(link, packet, |part, meta, hop| part.on_queued(meta, hop));
        if !self.ports[link].busy {
            return self.send_next(link);
        }
        let backlog = self.ports[link].scheduler.backlog_bytes();
        let count = self.counts_of(link);
        count.most_backlog = count.most_backlog.max(backlog);
    }

    fn turn_away(&mut self, link: usize, packet: u32) {
        if self.lives_on(link, packet) {
            return;
        }
        self.counts_of(link).drops.buffer += 1;
        self.last_arrival = self.now;
    }

    fn with_scheduler<R>(
        &mut self,
        link: usize,
        victims: &mut Victims,
        call: impl FnOnce(&mut Scheduler, &mut [Meta], &mut PortContext<'_>) -> R,
    ) -> R {
        let Port { scheduler, random, .. } = &mut self.ports[link];
        let mut of_host = Pool::new(1 << 40);
        let pool = match self.run_spec.fabric.links[link].from {
            Node::Switch(switch) => &mut self.pools[switch as usize],
            Node::Host(_) => &mut of_host,
        };
        let marks = &mut self.counts[usize::from(self.run_spec.fabric.links[link].class)].marks;
        call(scheduler, &mut self.metas, &mut PortContext { now: self.now, pool, victims, random, marks })
    }

    fn counts_of(&mut self, link: usize) -> &mut Count {
        &mut self.counts[usize::from(self.run_spec.fabric.links[link].class)]
    }

    pub(crate) fn leave_memory(&mut self, link: usize, packet: u32) {
        if let (true, Node::Switch(switch)) = (self.ports[link].shares, self.run_spec.fabric.links[link].from) {
            self.pools[switch as usize].give(self.metas[packet as usize].len);
        }
    }

    /// From here on bytes are not of the time in which flows arrive, and neither is the rest of what is on the lines.
    fn end_arrivals(&mut self, at: Time) {
        if std::mem::take(&mut self.flows_arrive) {
            for link in 0..self.ports.len() {
                let rest = self.ports[link].busy_until.since(at);
                let bits = u128::from(rest.0) * u128::from(self.run_spec.fabric.links[link].rate.bps());
                self.counts_of(link).while_flows_arrive -= bits.div_ceil(8_000_000_000_000) as u64;
            }
        }
    }

    /// The line is free: the scheduler's next packet goes on it.
    pub(crate) fn send_next(&mut self, link: usize) {
        let held = self.ports[link].held;
        let next = self.with_scheduler(link, &mut Victims::default(), |scheduler, metas, context| {
            scheduler.dequeue_unheld(metas, context, held)
        });
        let Some(packet) = next else {
            let backlog = self.ports[link].scheduler.backlog_bytes();
            let count = self.counts_of(link);
            count.most_backlog = count.most_backlog.max(backlog);
            return;
        };
        self.leave_memory(link, packet);
        self.at_hop(link, packet, |part, meta, hop| part.on_departure(meta, hop));
        let about = self.run_spec.fabric.links[link];
        let meta = self.metas[packet as usize];
        let on_wire = u32::from(meta.len) + u32::from(self.run_spec.wire_overhead);
        let seen = if about.cut_through { on_wire.min(64) } else { on_wire };
        let end = self.now + about.rate.serialise(on_wire);
        self.ports[link].busy = true;
        self.ports[link].sent_bytes += u64::from(on_wire);
        self.ports[link].busy_until = end;
        self.at(end, Event::LineFree { link });
        self.arrivals += 1;
        let at = self.now + about.rate.serialise(seen) + about.delay;
        let place = mix(at.0 ^ stream(self.run_spec.seed, Purpose::Ties, link as u64).next_u64());
        self.at(at, Event::Arrival { place, link, nth: self.arrivals, packet });
        let flows_arrive = self.flows_arrive;
        let count = self.counts_of(link);
        count.packets += 1;
        count.bytes += u64::from(meta.len);
        count.while_flows_arrive += if flows_arrive { u64::from(on_wire) } else { 0 };
        *count.by_queue.entry(usize::from(meta.queue)).or_default() += 1;
        *count.by_priority.entry(usize::from(meta.tag.priority())).or_default() += 1;
    }

    fn on_arrival(&mut self, link: usize, packet: u32) {
        self.hops += 1;
        self.last_arrival = self.now;
        let about = self.run_spec.fabric.links[link];
        let loss = (about.loss * f64::from(u32::MAX)).round() as u32;
        if loss > 0 && self.ports[link].loss.next_u32() < loss {
            self.counts_of(link).drops.loss += 1;
            return;
        }
        match about.to {
            Node::Host(host) => self.on_packet(host as usize, packet),
            Node::Switch(switch) if self.beyond.are_any() => {
                self.note_ingress(switch, link, packet);
                self.go_on(switch, about.from, packet);
            }
            Node::Switch(switch) => self.go_on(switch, about.from, packet),
        }
    }

    fn go_on(&mut self, switch: u32, from: Node, packet: u32) {
        match self.bodies[packet as usize] {
            Body::OfSwitch { payload } => {
                self.on_program_packet(switch as usize, from, &self.meta(packet), payload);
            }
            Body::OfHost { .. } => self.forward(switch as usize, from, packet),
        }
    }

    pub(crate) fn forward(&mut self, switch: usize, from: Node, packet: u32) {
        let meta = self.metas[packet as usize];
        let routes = &self.run_spec.fabric.routes[switch];
        let ways = routes.towards(u32::from(meta.dst));
        let way = self.ask_program(switch, from, &meta, ways.len()).unwrap_or_else(|| match ways.len() {
            1 => 0,
            several => {
                let group = usize::from(routes.next[usize::from(meta.dst)]);
                let (balancer, random) = &mut self.switches[switch];
                balancer.choose(&meta, group, several, self.now, random).expect("a built-in balancer")
            }
        });
        self.enqueue(ways[way] as usize, packet);
    }
}

fn is_of_controllers(event: &Event) -> bool {
    matches!(event, Event::Controllers { .. } | Event::Table { .. })
}
