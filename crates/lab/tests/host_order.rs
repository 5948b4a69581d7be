//! The order of a host's own port under Sieve: a trace of packets from the host's sockets to its line.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use crate::common::{DATA, Tcp, built};
use flowsieve_core::Time;
use flowsieve_core::message::Message;
use flowsieve_lab::hosts::{Begin, Hosts};
use flowsieve_lab::wire::{Connection, Protocol};
use flowsieve_sim::in_memory::{Event, InMemory};

/// Hosts' own ports sort by level and age.
const SORTED: (&str, &str) = ("nic_order", "tag, then age");

/// Host 0, with a connection to each of three others. Its line takes 1 ms for a full packet.
struct Host {
    hosts: Hosts,
    fabric: InMemory,
    /// The link of its line.
    uplink: u32,
    /// The destination of each packet that its line has begun to send, and its priority.
    line: Arc<Mutex<Vec<(u16, u8)>>>,
}

impl Host {
    /// Under Sieve with two levels, the second beyond 2,000 bytes, and with these further settings.
    fn new(given: &[(&str, &str)]) -> Host {
        let levels = [("queues", "2"), ("thresholds", "2KB"), ("controller", "none"), ("ack_every", "1")];
        let (fabric, scheme) = built(4, "sieve", &[&levels[..], given].concat());
        let line = Arc::new(Mutex::new(Vec::new()));
        let (told, uplink) = (Arc::clone(&line), fabric.host_uplink[0]);
        let mut hosts = Hosts::new(&fabric, &scheme, 1, 8);
        let mut fabric = InMemory::new(&fabric, &scheme, 38, 1, 256);
        fabric.observe(Box::new(move |event, meta| match event {
            Event::Sent { link, .. } if link == uplink => {
                told.lock().expect("no panic").push((meta.dst, meta.tag.priority()));
            }
            Event::Dropped { .. } => panic!("{event:?}"),
            Event::Sent { .. } => {}
        }));
        for to in 1..4 {
            hosts.packet(Time::ZERO, (0, to.into()), &Tcp { to, syn: true, payload: 0, ..DATA }.segment());
        }
        Host { hosts, fabric, uplink, line }
    }

    /// Begins a message to a host.
    fn begin(&mut self, us: u64, to: u16, bytes: u64) {
        let end = |host: u16, port| (IpAddr::from([198, 18, 0, host as u8 + 1]), port);
        let connection = Connection { protocol: Protocol::Tcp, from: end(0, 1_000), to: end(to, 5_000) };
        let message = Message { id: to.into(), to, bytes, ..Message::default() };
        let begin = Begin { at_ns: us * 1_000, host: 0, connection, offset: 0, message };
        self.fabric.work_off(Time::from_us(us), |_, _| ());
        self.hosts.begin(self.fabric.now(), &begin);
    }

    /// Hands packets of the message to a host over, from the one with this number on.
    fn send(&mut self, us: u64, to: u8, numbers: std::ops::Range<u32>) {
        self.fabric.work_off(Time::from_us(us), |_, _| ());
        for number in numbers {
            let segment = Tcp { to, sequence: 1 + number * 1_460, ..DATA }.segment();
            let meta = self.hosts.packet(self.fabric.now(), (0, to.into()), &segment);
            let packet = self.fabric.claim().expect("a free packet");
            *self.fabric.meta(packet) = flowsieve_core::Meta { dst: to.into(), ..meta };
            self.fabric.send(0, packet);
        }
    }

    /// Returns what its line has sent after all, and how many packets its port has marked.
    fn line(mut self) -> (Vec<(u16, u8)>, u64) {
        self.fabric.work_off(Time::from_us(10_000_000), |_, _| ());
        let marked = self.fabric.port_counts()[self.uplink as usize].marked;
        let line = self.line.lock().expect("no panic").clone();
        (line, marked)
    }
}

/// The message to host 2 began before the one to host 1, whose packets are there first.
fn trace(host: &mut Host) {
    host.begin(0, 3, 2_920);
    host.begin(10, 2, 7_300);
    host.begin(20, 1, 4_380);
    host.send(30, 3, 0..1); // on the line
    host.send(40, 1, 0..3);
    host.send(50, 2, 0..3);
    host.send(60, 3, 1..2);
}

#[test]
fn host_port__sends_the_best_level_and_in_it_the_oldest_message() {
    let mut host = Host::new(&[SORTED]);
    trace(&mut host);
    assert_eq!(host.line().0, [(3, 0), (3, 0), (2, 0), (2, 0), (1, 0), (1, 0), (2, 1), (1, 1)]);
}

#[test]
fn host_port__without_it_is_the_switchs_first_come_first_in_a_level() {
    for given in [&[][..], &[("nic_order", "turns")]] {
        let mut host = Host::new(given);
        trace(&mut host);
        assert_eq!(host.line().0, [(3, 0), (1, 0), (1, 0), (2, 0), (2, 0), (3, 0), (1, 1), (2, 1)]);
    }
}

/// The switch's port of 30 KB holds twenty packets and marks from 3 KB.
#[test]
fn host_port__is_deep_and_marks_nothing() {
    let mut host = Host::new(&[SORTED]);
    host.begin(0, 1, 60 * 1_460);
    host.send(10, 1, 0..60);
    let (line, marked) = host.line();
    assert_eq!((line.len(), marked), (60, 0));
}
