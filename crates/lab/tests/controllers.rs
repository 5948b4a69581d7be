//! Controllers beside the fabric in memory: under each kind of them the packets leave every port as in the simulator.

use std::collections::VecDeque;
use std::sync::Arc;

use flowsieve_core::controller::{Audience, Controller, Gauges, Hears, HostEvent, Publish, Table};
use flowsieve_core::controllers::{ControllerKind, ControllerSpec};
use flowsieve_core::readings::Reading;
use flowsieve_core::{FlowEvent, Node, Place, PortKind, Site, TaggerSpec, Time};
use flowsieve_lab::control::{ControlError, Controllers};
use flowsieve_schemes::scheme::PortSpec;
use flowsieve_schemes::{Scheme, bare};
use flowsieve_settings::Raw;
use flowsieve_sim::topology::Fabric;
use flowsieve_transport::TransportSpec;
use flowsieve_workload::random::{Purpose, stream};

use crate::fabrics::{FULL, SHAPES, UNIFORM, compare, flows, in_memory, settings, settings_with, simulated};
use crate::limited::Limited;

/// The time between two pairs of flows.
const TICK: Time = Time(3_000_000_000);

/// Builds a scheme with these settings in each shape, has `change` change it, and compares it with the simulator without
/// and with its controllers: they must make a difference.
fn plays(name: &str, given: &[(&str, Raw)], change: impl Fn(&Fabric, &mut Scheme)) {
    let mut differs = 0;
    for (shape, seed) in SHAPES.iter().zip(1..) {
        let mut random = stream(seed, Purpose::OwnPart, 97);
        let mut settings = settings_with(shape, name, (100, 100), &mut random).with(Some(name), "transport", "tcp");
        for (key, value) in given {
            settings = settings.with(Some(name), key, value.clone());
        }
        let mut scheme = bare::scheme(name, &settings, &UNIFORM).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        // AWAFS refuses open-loop senders, from whose ends a host learns nothing of the network. Here they are heard.
        let rules = flowsieve_transport::open_loop::OpenLoopRules { segment: 1_460, header: 40 };
        for class in &mut scheme.classes {
            class.transport = TransportSpec::OpenLoop(Arc::new(rules.clone()));
        }
        let fabric = Fabric::from_settings(&settings).expect("a fabric");
        change(&fabric, &mut scheme);
        assert!(!scheme.controllers.is_empty(), "{name} has no controller");
        let mut flows = flows(fabric.hosts, &mut random);
        // Two begin at a time, so that events of one instant meet.
        (0..).zip(&mut flows).for_each(|(number, flow)| flow.start_ps = number / 2 * TICK.0);
        let of_simulator = simulated(&fabric, &scheme, &flows, seed).expect("a run");
        let found = in_memory(&fabric, &scheme, &flows, seed, of_simulator.end);
        compare(&scheme, shape, &found, &of_simulator);
        let without = Scheme { controllers: Vec::new(), ..scheme };
        if without.classes.iter().all(|class| !matches!(class.tagger, TaggerSpec::Coflow(_))) {
            differs += usize::from(in_memory(&fabric, &without, &flows, seed, of_simulator.end).sent != found.sent);
        } else {
            // Without an order coflows would wait for ever.
            differs += 1;
        }
    }
    assert!(differs > 0, "{name}: the controllers change nothing");
}

#[test]
fn controllers__nos2s_central_one() {
    let given = [("controller", Raw::from("equal-split")), ("controller_period", Raw::from("20ms"))];
    let given = [&given[..], &[("controller_delay", Raw::from("3ms")), ("observe_least", Raw::from(10))]].concat();
    plays("nos2", &given, |_, _| {});
}

/// Hosts' own ports sort by the levels that follow its tables.
#[test]
fn controllers__sieves_central_one_and_alone() {
    for rule in ["survival", "survival, alone"] {
        let given = [("controller", Raw::from(rule)), ("controller_period", Raw::from("20ms"))];
        let sorted = [("observe_least", Raw::from(10)), ("nic_order", Raw::from("tag, then age"))];
        plays("sieve", &[given, sorted].concat(), |_, scheme| {
            assert!(matches!(scheme.ports.at(Place::Nic).kind, PortKind::Pifo(_)));
        });
    }
}

#[test]
fn controllers__awafs_at_hosts() {
    let given = [("place_of_thresholds", Raw::from("host")), ("update_period", Raw::from("10ms"))];
    let given = [&given[..], &[("update_window", Raw::from("100ms"))]].concat();
    plays("awafs", &given, |_, _| {});
}

#[test]
fn controllers__coordinators_of_coflows() {
    for name in ["sincronia", "sebf", "aalo", "pcoflow-drop"] {
        plays(name, &[("coordinator_delay", Raw::from("700us"))], |_, _| {});
    }
}

/// Hears every event a little later, looks at all ports and hosts, and sets the limits of leaves.
struct Watchful {
    hosts: u32,
    /// By switch: how many ports it has.
    ports: Vec<u16>,
    seen: u64,
    next: Time,
}

impl Controller for Watchful {
    fn on_event(&mut self, now: Time, event: &HostEvent) {
        self.seen = self.seen.wrapping_mul(31).wrapping_add(event.at.0 ^ u64::from(event.host));
        if let FlowEvent::MessageStart { .. } | FlowEvent::Delivered { .. } = event.event {
            self.next = self.next.min(now + Time(self.seen % 3 * 1_000_000));
        }
    }

    fn next(&self) -> Time {
        self.next
    }

    fn decide(&mut self, _: Time, gauges: &mut dyn Gauges, publish: Publish<'_>) {
        self.next = Time::NEVER;
        let mut seen = self.seen;
        let mut note = |value: u64| seen = seen.wrapping_mul(31).wrapping_add(value);
        for (switch, &ports) in (0..).zip(&self.ports) {
            for port in 0..ports {
                note(gauges.backlog_bytes(Node::Switch(switch), port));
                gauges.port(Node::Switch(switch), port, &mut |reading| {
                    if let Reading::Count { count, .. } = reading {
                        note(count);
                    }
                });
            }
        }
        for host in 0..self.hosts {
            note(gauges.backlog_bytes(Node::Host(host), 0));
            gauges.tagger(host, 0, &mut |_| note(1));
            gauges.sent(host, 0, &mut |message, bytes| note(u64::from(message) ^ bytes));
        }
        self.seen = seen;
        publish(Audience::Ports(Place::Leaf), Table::of_thresholds("limit", &[5 + seen % 40]));
        publish(Audience::Hosts { class: 7 }, Table::of_thresholds("limit", &[seen % 40]));
    }
}

/// The controller of one's own that hears what happens as it happens, and decides then or soon after.
fn watchful(fabric: &Fabric, hears: Hears) -> ControllerSpec {
    let (hosts, ports) = (fabric.hosts, fabric.ports.iter().map(|ports| ports.len() as u16).collect::<Vec<_>>());
    let kind = ControllerKind::central(move |_| Watchful { hosts, ports: ports.clone(), seen: 7, next: Time::NEVER });
    ControllerSpec { name: "watchful", period: None, hears, publishes_after: FULL, kind }
}

#[test]
fn controllers__one_of_ones_own_that_sets_ports() {
    plays("dctcp", &[], |fabric, scheme| {
        let own = |_: &_, _: &Site| Limited { queue: VecDeque::new(), limit: 30 };
        let port = PortSpec::unlimited(PortKind::custom(own));
        let ports = scheme.ports.try_map(|_, _| Ok::<_, std::convert::Infallible>(port.clone()));
        scheme.ports = ports.unwrap_or_else(|never| match never {});
        // It hears as a host's port sends its second packet.
        scheme.controllers.push(watchful(fabric, Hears::AsItHappens(FULL)));
    });
}

#[test]
fn controllers__none_hears_at_once() {
    let mut random = stream(1, Purpose::OwnPart, 97);
    let settings = settings(&SHAPES[0], "dctcp", &mut random);
    let fabric = Fabric::from_settings(&settings).expect("a fabric");
    let mut scheme = bare::scheme("dctcp", &settings, &UNIFORM).expect("it is built");
    let built = |scheme: &Scheme| Controllers::new(&fabric, scheme, &Arc::default(), 1).map(|it| it.is_some());
    assert_eq!(built(&scheme), Ok(false), "a scheme without controllers");
    scheme.controllers.push(watchful(&fabric, Hears::AsItHappens(Time::ZERO)));
    assert_eq!(built(&scheme), Err(ControlError::HearsAtOnce { controller: "watchful" }));
}
