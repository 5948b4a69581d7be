//! Parts of a user's own, from end to end: a port scheduler, a tagger, switches' programs; and parts that differ by class
//! of flow and by place. Times are computed by hand as in `traces.rs`.

#[path = "own_parts/coflow_port.rs"]
mod coflow_port;
#[path = "own_parts/coordinator.rs"]
mod coordinator;
#[path = "own_parts/programs.rs"]
mod programs;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use crate::by_hand::{Trial, fcts, fcts_in_ns, flow, in_order, marks_and_drops, rack, scheme, settings};
use flowsieve_core::admission::Admission;
use flowsieve_core::bank::{BankRules, FifoBank};
use flowsieve_core::discipline::Discipline;
use flowsieve_core::flow_queues::Order;
use flowsieve_core::marker::{MarkScope, Marker};
use flowsieve_core::message::Effort;
use flowsieve_core::pifo::PifoRules;
use flowsieve_core::scheduler::PortSite;
use flowsieve_core::tagger::{FlowEvent, FlowFacts, TagPackets};
use flowsieve_core::taggers::plain::Plain;
use flowsieve_core::{Kind, Message, Meta, PortContext, PortKind, PortScheduler, Site, Tag, TaggerSpec, Time, Verdict};
use flowsieve_record::{LinkClass, PointResult};
use flowsieve_schemes::Scheme;
use flowsieve_schemes::scheme::{ByPlace, Class, PortSpec};
use flowsieve_settings::Place;
use flowsieve_sim::Partitioning;
use flowsieve_transport::TransportSpec;
use flowsieve_transport::open_loop::OpenLoopRules;
use flowsieve_workload::Flow;

const NS: u64 = 1_000;
const US: u64 = 1_000_000;

/// What `make` gives each place.
fn at_every_place<T: Clone>(make: impl Fn(Place) -> T) -> ByPlace<T> {
    ByPlace::try_from_fn(|place| Ok::<_, Infallible>(make(place))).unwrap_or_else(|never| match never {})
}

/// The scheme with the ports that `make` gives each place.
fn with_ports(scheme: Scheme, make: impl Fn(Place) -> PortSpec) -> Scheme {
    Scheme { ports: at_every_place(make), ..scheme }
}

fn class<'a>(result: &'a PointResult, name: &str) -> &'a LinkClass {
    let names = || result.links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>();
    result.links.iter().find(|link| link.name == name).unwrap_or_else(|| panic!("{name} is not in {:?}", names()))
}

// A port: the newest packet first.

struct LastComeFirstServed {
    stack: Vec<u32>,
    bytes: u64,
    limit: u64,
}

impl LastComeFirstServed {
    fn new(limit: u64) -> LastComeFirstServed {
        LastComeFirstServed { stack: Vec::new(), bytes: 0, limit }
    }

    fn spec(limit: u64) -> PortSpec {
        let own = |port: &PortSite, _: &Site| {
            let Admission::PerPort { limit } = port.admission else { panic!("{:?}", port.admission) };
            LastComeFirstServed::new(limit)
        };
        PortSpec { admission: Admission::PerPort { limit }, ..PortSpec::unlimited(PortKind::custom(own)) }
    }
}

impl PortScheduler for LastComeFirstServed {
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, _: &mut PortContext<'_>) -> Verdict {
        let meta = &mut metas[packet as usize];
        meta.queue = 0;
        if self.bytes + u64::from(meta.len) > self.limit {
            return Verdict::Dropped { queued_before: self.bytes };
        }
        let queued_before = self.bytes;
        self.bytes += u64::from(meta.len);
        self.stack.push(packet);
        Verdict::Accepted { queued_before }
    }

    fn dequeue(&mut self, metas: &mut [Meta], _: &mut PortContext<'_>) -> Option<u32> {
        let packet = self.stack.pop()?;
        self.bytes -= u64::from(metas[packet as usize].len);
        Some(packet)
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }

    fn queues(&self) -> usize {
        1
    }
}

#[test]
fn own_port__the_newest_packet_first_within_a_limit() {
    // Five packets are at the switch at 1.4 us, in the order of their hosts. The first passes, the next three wait, the
    // last is dropped and comes again after 2 ms. The newest that waits, host 3's, is sent first.
    let settings = rack(6);
    let scheme = with_ports(scheme("dctcp", &settings), |_| LastComeFirstServed::spec(4_500));
    let flows: Vec<_> = (0..5).map(|host| flow(0, (host, 5), 1)).collect();
    let result = Trial::new(&settings, scheme).run(&in_order(&flows));
    assert_eq!(fcts_in_ns(&result), [2_800 * NS, 6_400 * NS, 5_200 * NS, 4_000 * NS, 2_002_800 * NS]);
    assert_eq!(marks_and_drops(&result), (0, 1));
    assert_eq!(class(&result, "host-down").max_backlog_bytes, 4_500);
}

// A tagger: multi-level feedback with the ageing of PIAS's kernel module (HKUST-SING/PIAS-Software): a flow that
// timed out three times in a row may be starving, and begins again at the highest priority.

/// What a tagger was told, with the instant.
type Told = Arc<Mutex<Vec<(FlowEvent, Time)>>>;

#[derive(Default)]
struct Aged {
    timeouts_in_a_row: u32,
    /// Bytes of the message that no longer count.
    forgiven: u64,
}

struct Ageing {
    threshold: u64,
    flows: BTreeMap<u32, Aged>,
    told: Told,
}

impl Ageing {
    const TIMEOUTS: u32 = 3;

    fn spec(threshold: u64, told: &Told) -> TaggerSpec {
        let told = Arc::clone(told);
        let make = move || Ageing { threshold, flows: BTreeMap::new(), told: Arc::clone(&told) };
        TaggerSpec::custom(move |_| make())
    }
}

impl TagPackets for Ageing {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        if facts.kind != Kind::Data {
            return Tag::default();
        }
        let flow = self.flows.entry(facts.flow).or_default();
        if flow.timeouts_in_a_row >= Ageing::TIMEOUTS {
            flow.forgiven = facts.offset;
        }
        if flow.timeouts_in_a_row >= Ageing::TIMEOUTS || !facts.retransmission {
            flow.timeouts_in_a_row = 0;
        }
        let counted = facts.offset.saturating_sub(flow.forgiven);
        Tag::with_priority(u8::from(counted > self.threshold))
    }

    fn on_event(&mut self, event: &FlowEvent, now: Time) {
        self.told.lock().expect("not poisoned").push((*event, now));
        match event {
            FlowEvent::MessageStart { flow, .. } => _ = self.flows.insert(*flow, Aged::default()),
            FlowEvent::Timeout { flow } => self.flows.entry(*flow).or_default().timeouts_in_a_row += 1,
            FlowEvent::MessageEnd { flow, .. } => _ = self.flows.remove(flow),
            FlowEvent::Steps { .. }
            | FlowEvent::Reordered { .. }
            | FlowEvent::Unneeded { .. }
            | FlowEvent::Awaited { .. }
            | FlowEvent::HeldBack { .. }
            | FlowEvent::GivenUp { .. }
            | FlowEvent::Delivered { .. } => {}
        }
    }
}

/// A port that serves the highest priority alone.
struct Starving(FifoBank);

impl Starving {
    fn spec() -> PortSpec {
        let bank = |port: &PortSite| FifoBank::new(1, port.admission, port.marker, Discipline::StrictPriority);
        PortSpec::unlimited(PortKind::custom(move |port, _| Starving(bank(port))))
    }
}

impl PortScheduler for Starving {
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        match metas[packet as usize].tag.priority() {
            0 => self.0.enqueue(metas, packet, context),
            _ => Verdict::Dropped { queued_before: self.0.backlog_bytes() },
        }
    }

    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        self.0.dequeue(metas, context)
    }

    fn backlog_bytes(&self) -> u64 {
        self.0.backlog_bytes()
    }

    fn queues(&self) -> usize {
        self.0.queues()
    }
}

#[test]
fn own_tagger__ages_a_starving_flow_and_hears_of_everything() {
    // Three packets of priorities 0, 0 and 1. The second is acknowledged at 4.0 + 0.464 us, and the switch turns the
    // third away. It comes again 2, 4 and 6 ms later; the third time it has priority 0, passes, and is acknowledged
    // 3.264 us after that.
    let settings = rack(3);
    let told = Told::default();
    let mut scheme = with_ports(scheme("dctcp", &settings), |place| match place {
        Place::Nic => PortSpec::unlimited(PortKind::Flows(Order::RoundRobin)),
        _ => Starving::spec(),
    });
    scheme.classes[0].tagger = Ageing::spec(1_460, &told);
    // The same pair again at 7 ms, with two packets: on the same connection, idle since 6,004.464 us.
    let flows = [flow(0, (0, 1), 3), flow(7_000 * US, (0, 1), 2)];
    let result = Trial::new(&settings, scheme).until_ack().run_as(&flows, Partitioning::Whole);

    assert_eq!(fcts(&result), [6_007_728 * NS, 4_464 * NS]);
    assert_eq!((result.timeouts, result.retransmissions, marks_and_drops(&result)), (3, 3, (0, 3)));
    // From hosts: 2 + 1 + 2 data packets and 5 ACKs at priority 0; the third packet three times at priority 1.
    assert_eq!(class(&result, "host-up").packets_by_priority, [10, 3]);
    assert_eq!(class(&result, "host-down").packets_by_priority, [10]);
    let at = |ns: u64| Time(ns * NS);
    let message = |id: u32, packets: u64, start: u64| Message {
        id,
        to: 1,
        bytes: 1_460 * packets,
        start: at(start),
        ..Message::default()
    };
    let (first, second) = (message(0, 3, 0), message(1, 2, 7_000_000));
    let effort = |times| Some(Effort { retransmissions: times, timeouts: times, ..Effort::default() });
    let expected = [
        (FlowEvent::MessageStart { flow: 0, message: first, idle: Time::NEVER }, at(0)),
        (FlowEvent::Timeout { flow: 0 }, at(2_004_464)),
        (FlowEvent::Timeout { flow: 0 }, at(4_004_464)),
        (FlowEvent::Timeout { flow: 0 }, at(6_004_464)),
        // Host 1's tagger hears of this one; it is told into the same list.
        (FlowEvent::Delivered { message: 0, out_of_order: 0 }, at(6_007_264)),
        (FlowEvent::MessageEnd { flow: 0, message: first, effort: effort(3) }, at(6_007_728)),
        (FlowEvent::MessageStart { flow: 0, message: second, idle: at(7_000_000 - 6_004_464) }, at(7_000_000)),
        (FlowEvent::Delivered { message: 1, out_of_order: 0 }, at(7_004_000)),
        (FlowEvent::MessageEnd { flow: 0, message: second, effort: effort(0) }, at(7_004_464)),
    ];
    // The third packet left at once, and nothing but the timer went on from then until it was sent for the last time.
    let mut timers = Vec::new();
    let mut told = told.lock().expect("not poisoned").clone();
    for (event, _) in &mut told {
        if let FlowEvent::MessageEnd { effort: Some(effort), .. } = event {
            timers.push(std::mem::take(&mut effort.waits).timer);
        }
    }
    assert_eq!(timers, [at(6_004_464), at(0)]);
    assert_eq!(told, expected);
}

// A tagger that notes what it is told of deadlines: (offset, deadline) of each data packet.

type Deadlines = Arc<Mutex<Vec<(u64, Option<Time>)>>>;

struct RecordedDeadlines(Deadlines);

impl TagPackets for RecordedDeadlines {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        if facts.kind == Kind::Data {
            self.0.lock().expect("not poisoned").push((facts.offset, facts.deadline));
        } else {
            assert_eq!(facts.deadline, None);
        }
        Tag::default()
    }

    fn on_event(&mut self, _: &FlowEvent, _: Time) {}
}

#[test]
fn own_tagger__is_told_when_a_flow_should_have_finished() {
    // Three flows of the same two hosts: 50 us after a start at 1 us, none, and 80 us after a start at 20 us. In TCP they
    // take one connection after the other.
    let settings = rack(3);
    for name in ["dctcp", "fcfs"] {
        let noted = Deadlines::default();
        let mut scheme = scheme(name, &settings);
        let notes = Arc::clone(&noted);
        scheme.classes[0].tagger = TaggerSpec::custom(move |_| RecordedDeadlines(Arc::clone(&notes)));
        let due = |flow: Flow, us: u64| Flow { deadline_ps: (us * US).try_into().ok(), ..flow };
        let flows = [
            due(flow(US, (0, 1), 2), 50),
            flow(10 * US, (0, 1), 1),
            due(flow(20 * US, (0, 1), 1), 80),
            due(flow(30 * US, (0, 1), 1), u64::MAX / US),
        ];
        Trial::new(&settings, scheme).run_as(&flows, Partitioning::Whole);
        let at = |us: u64| Some(Time::from_us(us));
        let expected = [(0, at(51)), (1_460, at(51)), (0, None), (0, at(100)), (0, Some(Time::NEVER))];
        assert_eq!(*noted.lock().expect("not poisoned"), expected, "{name}");
    }
}

// Parts by class of flow, and by place.

#[test]
fn classes__each_with_its_transport_and_tagger() {
    // Class 0 is acknowledged, and its packets have priorities 0 1 1 1 1; class 1 is not, and has priority 0. Both come
    // from hosts of their own; packet n of each is at the switch at 0.2 + 1.2 n us, class 0's first. The port sends,
    // from 1.4 us on: A1 B1 B2 B3, and from 6.2 us A2 A3 A4 A5 to 11.0 us. The last ACK takes 0.464 us.
    let settings = rack(3).with(None, "queues", 2);
    let mut scheme = scheme("pias", &settings.clone().with(None, "thresholds", &["0B"][..]));
    let open_loop = TransportSpec::OpenLoop(Arc::new(OpenLoopRules { segment: 1_460, header: 40 }));
    scheme.classes.push(Class { transport: open_loop, tagger: TaggerSpec::Plain(Plain), inference: Time::ZERO });
    let flows = [
        flow(0, (0, 2), 5),
        Flow { class: 1, ..flow(0, (1, 2), 3) },
        // A class that the scheme does not have takes the last.
        Flow { class: 7, ..flow(50 * US, (1, 2), 2) },
    ];
    let result = Trial::new(&settings, scheme).until_ack().run(&flows);
    assert_eq!(fcts(&result), [11_664 * NS, 6_400 * NS, 4_000 * NS]);
    assert_eq!(result.flows.iter().map(|row| row.class).collect::<Vec<_>>(), [0, 1, 7]);
    // Alone, an open-loop flow of 3 packets needs 3.6 + 0.2 + 1.2 + 0.2 us, one of 5 with its ACK 7.6 + 0.464 us.
    assert_eq!(result.flows.iter().map(|row| row.ideal_ps).collect::<Vec<_>>(), [8_064 * NS, 5_200 * NS, 4_000 * NS]);
    // 10 packets of data, 4 of them with priority 1, and 5 ACKs.
    assert_eq!(class(&result, "host-up").packets_by_priority, [11, 4]);
}

#[test]
fn places__each_with_its_port() {
    // NICs let flows take turns; leaves mark every packet that may be marked and have 3 queues; spines hold no more
    // than one packet. All links have 10 Gbit/s.
    let port = |place| match place {
        Place::Nic => PortSpec::unlimited(PortKind::Flows(Order::RoundRobin)),
        Place::Leaf => PortSpec {
            marker: Marker::Threshold { above: 0, scope: MarkScope::Port, counts_arriving: true },
            ..PortSpec::unlimited(PortKind::Bank(BankRules { queues: 3, discipline: Discipline::StrictPriority }))
        },
        Place::Spine | Place::Core => PortSpec {
            admission: Admission::PerPort { limit: 1_500 },
            ..PortSpec::unlimited(PortKind::Pifo(PifoRules { fifo_from: None }))
        },
    };
    let settings = settings("leaf-spine")
        .with(None, "leaves", 4)
        .with(None, "spines", 1)
        .with(None, "hosts_per_leaf", 1)
        .with(None, "fabric_link", "10Gbps");
    let trial = Trial::new(&settings, with_ports(scheme("dctcp", &settings), port));

    // Hosts 0 to 2 send one packet each to host 3: at the spine the first passes, the second waits, the third is
    // dropped and comes again 2 ms after the start. Alone a packet takes 4 · (1.2 + 0.2) us.
    let result = trial.run(&[flow(0, (0, 3), 1), flow(0, (1, 3), 1), flow(0, (2, 3), 1)]);
    assert_eq!(fcts(&result), [5_600 * NS, 6_800 * NS, 2_005_600 * NS]);
    let seen = |name| {
        let link = class(&result, name);
        (link.marks, link.drops.buffer, link.packets_by_queue.len())
    };
    // Leaves mark three packets and one again on the way up, and three on the way down; no ACK may be marked.
    assert_eq!(seen("host-up"), (0, 0, 1));
    assert_eq!(seen("leaf-up"), (4, 0, 3));
    assert_eq!(seen("spine-down"), (0, 1, 1));
    assert_eq!(seen("host-down"), (3, 0, 3));

    // Host 0 has three packets for host 1 and one for host 2. The first is on the wire at once; then the flows take
    // turns: the one for host 2 is the third to leave, at 3.6 us, and the last for host 1 leaves at 4.8 us.
    let result = trial.run(&[flow(0, (0, 1), 3), flow(0, (0, 2), 1)]);
    assert_eq!(fcts(&result), [4_800 * NS + 4_400 * NS, 3_600 * NS + 4_400 * NS]);
}
