//! Switches' programs, and the sites with which all parts of a user's own are made.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use flowsieve_core::program::{Asked, Counted, Watches};
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{BalancerSpec, Tagger, TaggerSpec};
use flowsieve_core::{
    Kind, Message, Meta, Node, Place, PortKind, ProgramPacket, Site, SwitchPorts, SwitchProgram, Time,
};
use flowsieve_schemes::Context;
use flowsieve_schemes::bare::Facts;
use flowsieve_schemes::scheme::PortSpec;
use flowsieve_settings::{Origin, Raw, Settings, Table};
use flowsieve_sim::Partitioning;
use flowsieve_transport::{Constants, Effects, Endpoint, Out, Packet, TransportSpec};

use super::{LastComeFirstServed, NS, RecordedDeadlines, US, at_every_place, class};
use crate::by_hand::{Trial, fcts, flow, in_order, rack, scheme, settings};

#[path = "../../../flowsieve/examples/own_scheme/emptier_uplink.rs"]
mod emptier_uplink;

/// Two leaves of a host each and two spines, where the link between these two has something else.
fn two_racks(between: [&str; 2], changed: (&str, &str)) -> Settings {
    let mut settings =
        settings("leaf-spine").with(None, "leaves", 2).with(None, "spines", 2).with(None, "hosts_per_leaf", 1);
    for (name, value) in [("between", Raw::from(&between[..])), (changed.0, Raw::from(changed.1))] {
        let key = settings.find(name).expect("a setting");
        settings.give(Table::Link(0), key, &value, Origin::Default).expect("a value");
    }
    settings
}

#[test]
fn emptier_uplink__leaves_the_way_that_is_full_further_on() {
    // Packet n of 60 is at the first leaf at 1.4 + 1.2 n us. Its own ports are faster, so that nothing waits there; but
    // the first spine's port to the second leaf takes 12 us for a packet. Of equal ways packets take the first.
    //
    // At 10 us the leaf asks about the second rack. The question waits for packet 7, which holds the line to the first
    // spine until 10.1 us, and is there at 10.3128 us. Packets 0 to 7 have come, the last at 10.3 us, and all but the
    // first wait. The answer is back at 10.5256 us, before packet 8. At 30, 50 and 70 us some still wait.
    //
    // The last of the eight goes on the slow line at 1.9 + 7 * 12 us, and takes 12 + 0.2 + 1.2 + 0.2 us from there. Packet
    // 59 takes the other way and has arrived long before, at 72.2 + 3 * 0.2 + 2 * 0.3 + 1.2 us.
    let settings = two_racks(["spine0", "leaf1"], ("rate", "1Gbps"));
    let context = Context { scope: settings.scheme("emptier-uplink"), workload: &Facts::NONE };
    let scheme = emptier_uplink::ENTRY.scheme(&context).expect("a scheme");
    let result = Trial::new(&settings, scheme).run(&[flow(0, (0, 1), 60)]);
    assert_eq!(fcts(&result), [99_500 * NS]);
    // The program has no end, but the run has: at the first whole millisecond after the flow's. Each leaf asks about the
    // other's rack at every second of its 99 ticks, the first at 10 us and the second at 20 us, two spines each.
    assert_eq!(result.simulated_ps, 1_000 * US);
    assert_eq!(result.periodic.iter().map(|part| part.ticks).collect::<Vec<_>>(), [99]);
    for name in ["leaf-up", "spine-down"] {
        assert_eq!(class(&result, name).packets, 60 + 60 + 2 * (50 + 49), "data, ACKs and probes by {name}");
    }
    assert_eq!(class(&result, "host-up").packets, 120);
}

/// What a program was shown of a packet of data: when, from which port, to which host and by which group, what waited at
/// that group's port and what that had sent.
type Shown = (Time, u16, u16, u16, u64, u64);

/// A program that notes what it is shown.
struct Meter {
    site: Site,
    shown: Arc<Mutex<Vec<Shown>>>,
    timer: Time,
}

impl SwitchProgram for Meter {
    fn watches(&self) -> Watches {
        Watches { packets: Asked::Every, sent_bytes: Counted::All }
    }

    fn choose(&mut self, packet: &Meta, from: u16, group: u16, now: Time, ports: &mut dyn SwitchPorts) -> usize {
        let &[port] = &self.site.groups[usize::from(group)][..] else { panic!("one way to each host") };
        if packet.kind == Kind::Data {
            let shown = (now, from, packet.dst, port, ports.backlog_bytes(port), ports.sent_bytes(port));
            self.shown.lock().expect("not poisoned").push(shown);
        }
        0
    }

    fn next_timer(&self) -> Time {
        self.timer
    }

    fn on_timer(&mut self, now: Time, ports: &mut dyn SwitchPorts) {
        self.timer = Time::NEVER;
        let shown = (now, 9, 9, 2, ports.backlog_bytes(2), ports.sent_bytes(2));
        self.shown.lock().expect("not poisoned").push(shown);
    }
}

#[test]
fn own_switch_program__sees_every_packet_and_what_its_ports_hold_and_sent() {
    // With 20 bytes of preamble and gap a packet takes 1.216 us. Hosts 0 and 1 send three each, which are at the switch
    // at 1.416 + 1.216 n us, host 0's first. The first goes on its line at once, and one follows each 1.216 us; at these
    // instants lines come free before packets arrive, and timers come last.
    let settings = rack(3);
    let mut scheme = scheme("dctcp", &settings);
    let shown = Arc::default();
    let noted = Arc::clone(&shown);
    let timer = Time(5_064 * NS);
    let meter = move |site: &Site| Meter { site: site.clone(), shown: Arc::clone(&noted), timer };
    scheme.balancers = at_every_place(|_| {
        let meter = meter.clone();
        BalancerSpec::custom(meter)
    });
    let trial = Trial { wire_overhead: 20, ..Trial::new(&settings, scheme) };
    trial.run_as(&in_order(&[flow(0, (0, 2), 3), flow(0, (1, 2), 3)]), Partitioning::Whole);
    let at = |ns: u64| Time(ns * NS);
    let expected: [Shown; 7] = [
        (at(1_416), 0, 2, 2, 0, 0),
        (at(1_416), 1, 2, 2, 0, 1_520),
        (at(2_632), 0, 2, 2, 0, 2 * 1_520),
        (at(2_632), 1, 2, 2, 1_500, 2 * 1_520),
        (at(3_848), 0, 2, 2, 1_500, 3 * 1_520),
        (at(3_848), 1, 2, 2, 2 * 1_500, 3 * 1_520),
        (at(5_064), 9, 9, 2, 2 * 1_500, 4 * 1_520),
    ];
    let mut shown = shown.lock().expect("not poisoned").clone();
    shown.iter_mut().for_each(|of| of.0 = Time(of.0.0 / NS * NS));
    assert_eq!(shown, expected);
}

/// A program that sends three packets of 9,000 bytes by port 1, 2 us before each millisecond.
struct Burst(Time);

impl SwitchProgram for Burst {
    fn choose(&mut self, _: &Meta, _: u16, _: u16, _: Time, _: &mut dyn SwitchPorts) -> usize {
        // Too many: the last.
        99
    }

    fn next_timer(&self) -> Time {
        self.0
    }

    fn on_timer(&mut self, now: Time, ports: &mut dyn SwitchPorts) {
        self.0 = now + Time::from_us(1_000);
        (0..3).for_each(|_| ports.send(ProgramPacket { port: 1, len: 9_000, priority: 0, payload: [0; 6] }));
    }
}

#[test]
fn own_switch_program__what_left_before_the_end_counts_although_nobody_looked() {
    // Ports 1 of two leaves lead by 5 us to a spine, and take 1.8 us for each packet of the burst: these leave at 998, 999.8 and
    // 1,001.6 us, and the run ends at 1,000 us, before any has arrived. The flow's packet and its ACK go by the other spine.
    let settings = two_racks(["leaf0", "spine0"], ("delay", "5us"));
    let mut scheme = scheme("dctcp", &settings);
    scheme.balancers = at_every_place(|place| {
        let first = if place == Place::Leaf { Time::from_us(998) } else { Time::NEVER };
        BalancerSpec::custom(move |_| Burst(first))
    });
    let result = Trial::new(&settings, scheme).run(&[flow(0, (0, 1), 1)]);
    assert_eq!(result.simulated_ps, 1_000 * US);
    assert_eq!(class(&result, "leaf-up").packets, 2 + 2 * 2);
}

/// An endpoint that sends nothing.
struct Silent;

impl Endpoint for Silent {
    fn begin(&mut self, _: Time, _: &mut Tagger, _: &mut dyn Out, _: &Message) -> Effects {
        Effects::NONE
    }

    fn receive(&mut self, _: Time, _: &mut Tagger, _: &mut dyn Out, _: &Packet) -> Effects {
        Effects::NONE
    }

    fn poll_event(&mut self) -> Option<FlowEvent> {
        None
    }
}

/// What factories were told: of what part, at which node, for which of its ports, with which seed.
type Made = Arc<Mutex<Vec<(&'static str, Node, Option<u16>, u64)>>>;

/// Notes a part's site.
fn note(made: &Made, part: &'static str, site: &Site) {
    made.lock().expect("not poisoned").push((part, site.node, site.port, site.seed));
}

#[test]
fn own_parts__are_made_once_each_with_a_site_and_a_seed_of_their_own() {
    let settings = two_racks(["leaf0", "spine0"], ("delay", "5us"));
    let made = |partitioning| {
        let made = Made::default();
        let mut scheme = scheme("fcfs", &settings);
        let [ports, programs, taggers, endpoints] = [(); 4].map(|()| Arc::clone(&made));
        let port = PortKind::custom(move |_, site| {
            note(&ports, "port", site);
            LastComeFirstServed::new(9_000)
        });
        let program = BalancerSpec::custom(move |site| {
            note(&programs, "program", site);
            Burst(Time::NEVER)
        });
        scheme.ports = at_every_place(|_| PortSpec::unlimited(port.clone()));
        scheme.balancers = at_every_place(|_| program.clone());
        scheme.classes[0].tagger = TaggerSpec::custom(move |site| {
            note(&taggers, "tagger", site);
            RecordedDeadlines(Arc::default())
        });
        let facts = scheme.classes[0].transport.facts();
        scheme.classes[0].transport = TransportSpec::custom(facts, Constants::NONE, move |host| {
            note(&endpoints, "endpoint", host.site);
            Silent
        });
        let result = Trial::new(&settings, scheme).run_as(&[flow(0, (0, 1), 1)], partitioning);
        assert_eq!(result.packet_hops, 0);
        let mut made = made.lock().expect("not poisoned").clone();
        made.sort_unstable();
        made
    };
    let whole = made(Partitioning::Whole);
    let parts: Vec<_> = whole.iter().map(|&(part, node, port, _)| (part, node, port)).collect();
    let (host, switch) = (Node::Host, Node::Switch);
    // Leaves have a port to their host and two to spines, spines one to each leaf.
    let expected = [
        ("endpoint", host(0), None),
        ("endpoint", host(1), None),
        ("port", host(0), Some(0)),
        ("port", host(1), Some(0)),
        ("port", switch(0), Some(0)),
        ("port", switch(0), Some(1)),
        ("port", switch(0), Some(2)),
        ("port", switch(1), Some(0)),
        ("port", switch(1), Some(1)),
        ("port", switch(1), Some(2)),
        ("port", switch(2), Some(0)),
        ("port", switch(2), Some(1)),
        ("port", switch(3), Some(0)),
        ("port", switch(3), Some(1)),
        ("program", switch(0), None),
        ("program", switch(1), None),
        ("program", switch(2), None),
        ("program", switch(3), None),
        ("tagger", host(0), None),
        ("tagger", host(1), None),
    ];
    assert_eq!(parts, expected);
    let seeds: BTreeSet<u64> = whole.iter().map(|&(.., seed)| seed).collect();
    assert_eq!(seeds.len(), expected.len());
    assert_eq!(made(Partitioning::Racks), whole);
}
