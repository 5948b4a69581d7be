//! Controllers of one's own: one that gives each coflow a priority when it begins, and one that looks at a port.

use std::sync::{Arc, Mutex};

use flowsieve_core::bank::FifoBank;
use flowsieve_core::controller::{Audience, Controller, Gauges, Hears, HostEvent, Publish, Published, Table};
use flowsieve_core::discipline::Discipline;
use flowsieve_core::flow_queues::Order;
use flowsieve_core::{
    ControllerKind, ControllerSpec, Meta, Node, Place, PortContext, PortKind, PortScheduler, Time, Verdict,
};
use flowsieve_schemes::bare::Facts;
use flowsieve_schemes::scheme::PortSpec;
use flowsieve_schemes::{Context, Scheme};
use flowsieve_settings::Settings;
use flowsieve_sim::sample::Sampling;
use flowsieve_sim::{Flows, Partitioning, SimError};
use flowsieve_workload::Flow;

use super::{NS, US, with_ports};
use crate::by_hand::{Trial, fcts_in_ns, flow, in_order, marks_and_drops, rack, scheme};
use coflow_turns::ENTRY;

#[path = "../../../flowsieve/examples/own_scheme/coflow_turns.rs"]
mod coflow_turns;

/// It hears of everything 10 us later, and is heard 5 us later.
fn coordinated(settings: &Settings) -> Scheme {
    let context = Context { scope: settings.scheme(ENTRY.name), workload: &Facts::NONE };
    ENTRY.scheme(&context).expect("a scheme")
}

#[test]
fn own_controller__a_coflow_has_a_priority_when_its_beginning_is_known() {
    // Coflow 8 begins at 0 and coflow 9 at 1 us, each with a long message to a host of its own. The coordinator hears of
    // that at 10 and 11 us, and hosts know at 15 and 16 us that the coflows have priorities 0 and 1.
    let settings = rack(7);
    let of = |flow: Flow, coflow| Flow { coflow: Some(coflow), ..flow };
    let short = |start| {
        // Three packets each, of coflow 9 from host 2 and of coflow 8 from host 3; packet n of both is at the switch at
        // 0.2 + 1.2 n us, that of host 2 first.
        let flows = [
            of(flow(0, (0, 4), 100), 8),
            of(flow(US, (1, 5), 100), 9),
            of(flow(start, (2, 6), 3), 9),
            of(flow(start, (3, 6), 3), 8),
        ];
        let result = Trial::new(&settings, coordinated(&settings)).run(&in_order(&flows));
        let [_, _, ninth, eighth] = fcts_in_ns(&result)[..] else { panic!("four flows") };
        let published =
            result.periodic.iter().find(|part| part.name == "coflow coordinator").expect("a coordinator").ticks;
        (ninth, eighth, published)
    };
    // It publishes when it hears of the beginnings of both coflows and of both short messages, which are 1 ps apart, and of the
    // short ones' ends. When it would hear that the long ones have ended, the fabric is empty.
    // At 14 us hosts know nothing: the port sends 9 8 9 8 9 8, from 1.4 to 8.6 us after the start.
    assert_eq!(short(14 * US), (7_600 * NS, 8_800 * NS, 6));
    // At 16 us both are known: the first packet of coflow 9 finds the line free. Then the port sends 8 8 8 9 9.
    assert_eq!(short(16 * US), (8_800 * NS, 6_400 * NS, 6));
    // At 15 us coflow 8 has its priority, and coflow 9 has none: the same order.
    assert_eq!(short(15 * US), (8_800 * NS, 6_400 * NS, 6));
}

#[test]
fn own_controller__needs_a_delay_to_hear_of_things_as_they_happen() {
    let settings = rack(3);
    let mut scheme = coordinated(&settings);
    scheme.controllers[0].hears = Hears::AsItHappens(Time::ZERO);
    let trial = Trial::new(&settings, scheme);
    let flows = || -> Box<dyn Iterator<Item = Flow>> { Box::new(std::iter::once(flow(0, (0, 1), 1))) };
    let refused =
        flowsieve_sim::run(&trial.run_spec(Flows::Given(&flows), Partitioning::Whole), &mut flowsieve_sim::go_on);
    assert_eq!(refused, Err(SimError::HearsAtOnce { controller: "coflow coordinator" }));
}

// A controller that looks at a port at instants of its own, and says what it saw to that very port.

/// (instant, backlog of the watched port).
type Backlogs = Arc<Mutex<Vec<(Time, u64)>>>;

struct Looking {
    next: Time,
    seen: Backlogs,
}

impl Controller for Looking {
    fn on_event(&mut self, _: Time, _: &HostEvent) {
        unreachable!("it hears nothing")
    }

    fn next(&self) -> Time {
        self.next
    }

    fn decide(&mut self, now: Time, gauges: &mut dyn Gauges, publish: Publish<'_>) {
        self.next = now + Time::from_us(1);
        let backlog = gauges.backlog_bytes(Node::Switch(0), 2);
        self.seen.lock().expect("not poisoned").push((now, backlog));
        publish(Audience::Ports(Place::Leaf), Table { name: "backlog", values: vec![(0, backlog)] });
    }
}

/// A FIFO queue that holds nothing more once it has been told of a backlog.
struct Closing {
    within: FifoBank,
    closed: bool,
}

impl PortScheduler for Closing {
    fn enqueue(&mut self, metas: &mut [Meta], packet: u32, context: &mut PortContext<'_>) -> Verdict {
        if self.closed {
            return Verdict::Dropped { queued_before: self.within.backlog_bytes() };
        }
        self.within.enqueue(metas, packet, context)
    }

    fn dequeue(&mut self, metas: &mut [Meta], context: &mut PortContext<'_>) -> Option<u32> {
        self.within.dequeue(metas, context)
    }

    fn backlog_bytes(&self) -> u64 {
        self.within.backlog_bytes()
    }

    fn on_table(&mut self, published: &Published) {
        self.closed = published.table.get(0) > Some(0);
    }

    fn queues(&self) -> usize {
        1
    }
}

#[test]
fn own_controller__sees_what_a_port_holds_before_an_instant_and_is_heard_after_its_delay() {
    // Two hosts send five packets each to host 2: packet n of both is at the switch at 0.2 + 1.2 n us, and the port sends
    // one every 1.2 us from 1.4 us on. So one more waits from 1.4, 2.6, 3.8 us on. The controller looks every microsecond:
    // at 1 us nothing waits, at 2 us one packet. That is at the port at 3 us, which turns away what comes from 3.8 us on,
    // two packets at 3.8, 5.0 and 6.2 us. The last that waits leaves at 5 us, after the controller has looked.
    let settings = rack(3);
    let seen = Backlogs::default();
    let notes = Arc::clone(&seen);
    let mut scheme = with_ports(scheme("fcfs", &settings), |place| match place {
        Place::Leaf => PortSpec::unlimited(PortKind::custom(|port, _| {
            let within = FifoBank::new(1, port.admission, port.marker, Discipline::StrictPriority);
            Closing { within, closed: false }
        })),
        _ => PortSpec::unlimited(PortKind::Flows(Order::RoundRobin)),
    });
    scheme.controllers.push(ControllerSpec {
        name: "looking",
        period: Some(Time::from_us(1)),
        hears: Hears::Nothing,
        publishes_after: Time::from_us(1),
        kind: ControllerKind::central(move |_| Looking { next: Time::from_us(1), seen: Arc::clone(&notes) }),
    });
    let trial = Trial::new(&settings, scheme);
    let flows = || -> Box<dyn Iterator<Item = Flow>> {
        let (first, second) = (flow(0, (0, 2), 5), flow(0, (1, 2), 5));
        Box::new([first, Flow { id: 1, ..second }].into_iter())
    };
    let run_spec = trial.run_spec(Flows::Given(&flows), Partitioning::Whole);
    let result = flowsieve_sim::run(&run_spec, &mut flowsieve_sim::go_on).expect("a run");
    let seen = seen.lock().expect("not poisoned").clone();
    let expected =
        [(1, 0), (2, 1_500), (3, 3_000), (4, 1_500), (5, 1_500), (6, 0)].map(|(us, bytes)| (Time::from_us(us), bytes));
    assert_eq!(seen[..6], expected);
    assert_eq!(marks_and_drops(&result), (0, 6));
    // A port that is sampled hears it, too.
    let links = (0..trial.fabric.links.len() as u32).collect();
    let sampling = Sampling { interval: Time::from_us(3), links, ..Sampling::default() };
    let sampled = flowsieve_sim::run_sampled(&run_spec, &sampling, &mut flowsieve_sim::go_on).expect("a run");
    assert_eq!(marks_and_drops(&sampled), (0, 6));
}
