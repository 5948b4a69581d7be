//! Frames between devices and the fabric: traces with a clock that only sleeping moves.

use std::sync::Arc;

use crate::common::{ACK, DATA, Tcp, built, pias};
use flowsieve_core::PortScheduler;
use flowsieve_core::message::Message;
use flowsieve_core::readings::{Gauge, Reading};
use flowsieve_lab::carrier::Carrier;
use flowsieve_lab::control::Controllers;
use flowsieve_lab::hosts::{Begin, Hosts, SET_UP};
use flowsieve_lab::io::{PacketIo, Script};
use flowsieve_sim::in_memory::InMemory;

/// A carrier of a fabric with links of 12 Mbit/s and 100 us, and these arrivals.
fn carrier(hosts: i64, arrivals: Vec<(u64, u16, Vec<u8>)>) -> Carrier<Script> {
    const PACKETS: usize = 256;
    let (fabric, scheme) = pias(hosts);
    let memory = InMemory::new(&fabric, &scheme, 0, 1, PACKETS);
    let hosts = Hosts::new(&fabric, &scheme, 1, 16);
    Carrier::new(Script::new(arrivals), memory, hosts, 1_500)
}

/// Runs until all has arrived and nothing is inside.
fn run(carrier: &mut Carrier<Script>) {
    for _ in 0..100_000 {
        if carrier.io().is_over() && carrier.is_empty() {
            assert_accounted(carrier);
            return;
        }
        carrier.turn(|| None);
    }
    panic!("{:?}", carrier.carried());
}

/// Every frame is accounted for.
fn assert_accounted(carrier: &mut Carrier<Script>) {
    let (carried, packets) = (carrier.carried(), carrier.fabric().counts());
    assert_eq!(carried.received, packets.taken + carrier.held() as u64 + carried.too_long + carried.elsewhere);
    assert_eq!(packets.taken, packets.delivered + packets.dropped + carrier.fabric().held());
    assert_eq!(packets.delivered, carried.all_sent() + carried.not_sent);
}

fn us(us: u64) -> u64 {
    us * 1_000
}

/// A packet of 1,500 bytes takes 1 ms and 100 us on each of two lines. A frame behind it follows 1 ms later.
#[test]
fn turn__frames_leave_when_their_lines_have_carried_them() {
    let frame = DATA.frame();
    let mut carrier = carrier(2, vec![(us(10), 0, frame.clone()), (us(20), 0, frame.clone())]);
    run(&mut carrier);
    let sent = &carrier.io().sent;
    let when: Vec<_> = sent.iter().map(|(at, device, _)| (*at, *device)).collect();
    // A release is at the next whole nanosecond, and a line's time for a byte is rounded up.
    assert_eq!(when, [(us(2_210) + 1, 1), (us(3_210) + 1, 1)]);
    assert!(sent.iter().all(|(_, _, bytes)| *bytes == frame));
    assert_eq!(carrier.carried().released, [2, 0, 0, 0, 0]);
}

/// Frames of four senders to one receiver: above 3 KB at its port they are marked, and the checksum holds.
#[test]
fn turn__marks_are_written_into_frames() {
    let arrivals = (0..4).map(|from| (us(10), u16::from(from), Tcp { from, to: 4, ..DATA }.frame())).collect();
    let mut carrier = carrier(5, arrivals);
    run(&mut carrier);
    let marks: Vec<bool> = carrier
        .io()
        .sent
        .iter()
        .map(|(_, _, bytes)| {
            let header = etherparse::Ipv4Header::from_slice(&bytes[14..]).expect("a header").0;
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            header.ecn == etherparse::IpEcn::CongestionExperienced
        })
        .collect();
    // The first goes to the line at once. The fourth finds the second and the third, with 3,000 bytes.
    assert_eq!(marks, [false, false, false, true]);
}

/// PIAS demotes a message after 2,000 bytes: its third packet has the priority 1, which its frame bears as DSCP, and the ECN
/// field stays.
#[test]
fn turn__priorities_are_written_into_frames() {
    let syn = Tcp { syn: true, payload: 0, ..DATA };
    let data = |packet: u32| Tcp { sequence: 1 + 1_460 * packet, ..DATA }.frame();
    let arrivals =
        vec![(us(10), 0, syn.frame()), (us(2_000), 0, data(0)), (us(2_001), 0, data(1)), (us(2_002), 0, data(2))];
    let mut carrier = carrier(2, arrivals).with_dscp(true);
    let message = Message { to: 1, bytes: 4_380, ..Message::default() };
    let connection = DATA.segment().connection;
    let mut begin = Some(Begin { at_ns: us(1_900), host: 0, connection, offset: 0, message });
    while !(carrier.io().is_over() && carrier.is_empty()) {
        carrier.turn(|| begin.take());
    }
    let header = |bytes: &[u8]| etherparse::Ipv4Header::from_slice(&bytes[14..]).expect("a header").0;
    let headers: Vec<_> = carrier.io().sent.iter().map(|(_, _, bytes)| header(bytes)).collect();
    let dscp: Vec<u8> = headers.iter().map(|header| header.dscp.value()).collect();
    assert_eq!(dscp, [0, 0, 0, 1]);
    assert!(headers.iter().all(|header| header.header_checksum == header.calc_header_checksum()));
    assert!(headers.iter().all(|header| header.ecn == etherparse::IpEcn::Ect0));
}

/// Broadcasts, frames of unknown devices, and frames longer than a link takes are counted and go nowhere.
#[test]
fn turn__what_has_no_place_is_refused_and_counted() {
    let mut broadcast = DATA.frame();
    broadcast[..6].fill(0xff);
    let long = Tcp { payload: 1_700, ..DATA }.frame();
    let huge = Tcp { payload: 4_000, ..DATA }.frame();
    let arrivals = vec![
        (us(1), 0, broadcast),
        (us(2), 0, long),
        (us(3), 1, huge),
        (us(4), 0, vec![2; 5]),
        (us(5), 1, ACK.frame()),
    ];
    let mut carrier = carrier(2, arrivals);
    run(&mut carrier);
    let carried = carrier.carried();
    assert_eq!((carried.received, carried.too_long, carried.elsewhere, carried.all_sent()), (5, 2, 2, 1));
    assert!(
        carrier.problem().expect("a problem").contains("host0 sent a frame of 1754 bytes"),
        "{:?}",
        carrier.problem()
    );
}

/// Frames for a device that is gone are lost, all others go on.
#[test]
fn turn__a_device_that_is_gone() {
    let frame = |to| Tcp { to, payload: 0, ..DATA }.frame();
    let mut carrier = carrier(3, vec![(us(1), 0, frame(1)), (us(2), 0, frame(2)), (us(3), 0, frame(1))]);
    carrier.io().gone.push(1);
    run(&mut carrier);
    assert_eq!(carrier.io().sent.len(), 1);
    assert_eq!((carrier.carried().not_sent, carrier.carried().failures), (2, 2));
    assert!(carrier.problem().expect("a problem").starts_with("the fabric cannot send frames"));
}

/// A stamp that is older than one before it counts as the present: time does not go back.
#[test]
fn turn__stamps_that_go_back() {
    let frame = Tcp { payload: 0, ..DATA }.frame();
    let mut carrier = carrier(2, vec![(us(500), 0, frame.clone())]);
    carrier.turn(|| None);
    carrier.turn(|| None);
    carrier.io().add(us(400), 1, ACK.frame());
    run(&mut carrier);
    assert_eq!(carrier.carried().stamps_back_ns, us(100));
    assert_eq!(carrier.io().sent.len(), 2);
}

/// 2,000 frames arrive in 2 ms, and their line needs 53 ms for them: more than there is room for wait outside, and none is
/// lost.
#[test]
fn turn__more_frames_than_room() {
    let arrivals = (0..2_000).map(|n| (us(n), 0, Tcp { payload: 0, ..DATA }.frame())).collect();
    let mut carrier = carrier(2, arrivals);
    run(&mut carrier);
    let counts = carrier.fabric().counts();
    assert_eq!((counts.taken, counts.delivered, counts.dropped), (2_000, 2_000, 0));
}

/// A message of a coflow begins at 4.9 ms. Its coordinator is 500 us away, so that its place is there at 5.9 ms, and its
/// host keeps its packet back until then. The byte that opened the connection went at once, and so does an acknowledgement.
#[test]
fn turn__frames_of_a_coflow_wait_for_its_place() {
    const PACKETS: usize = 256;
    let (fabric, scheme) = built(2, "sincronia", &[("until_placed", "hold"), ("coordinator_delay", "500us")]);
    let memory = InMemory::new(&fabric, &scheme, 0, 1, PACKETS);
    let hosts = Hosts::new(&fabric, &scheme, 1, 16);
    let controllers = Controllers::new(&fabric, &scheme, &Arc::default(), 1).expect("a controller");
    let syn = Tcp { syn: true, payload: 0, ..DATA };
    let first = Tcp { sequence: 1, payload: 1, ..DATA };
    let data = Tcp { sequence: 2, ..DATA };
    let arrivals = vec![
        (us(10), 0, syn.frame()),
        (us(1_000), 0, first.frame()),
        (us(5_000), 0, data.frame()),
        (us(5_010), 1, ACK.frame()),
    ];
    let carrier = Carrier::new(Script::new(arrivals), memory, hosts, 1_500);
    let mut carrier = carrier.with_controllers(controllers);
    let message = Message { id: 7, to: 1, bytes: 1_460, coflow: Some(3), ..Message::default() };
    let connection = DATA.segment().connection;
    let begin = |at, offset, message| Begin { at_ns: us(at), host: 0, connection, offset, message };
    let opens = Message { id: SET_UP, to: 1, bytes: 1, ..Message::default() };
    let mut begins = [begin(900, 0, opens), begin(4_900, 1, message)].into_iter();
    let mut most_held = 0;
    while !(carrier.io().is_over() && carrier.is_empty() && carrier.held() == 0) {
        carrier.turn(|| begins.next());
        most_held = most_held.max(carrier.held());
    }
    assert_accounted(&mut carrier);
    assert_eq!((most_held, carrier.hosts().counts().untold), (1, 0));
    let sent: Vec<(u64, u16)> = carrier.io().sent.iter().map(|(at, device, _)| (*at / 1_000, *device)).collect();
    // A short packet takes 26.7 us and 100 us on each line, the held one 1 ms and 100 us, from 5.9 ms on.
    assert_eq!(sent, [(263, 1), (1_254, 1), (5_263, 0), (8_100, 1)]);
}

/// A byte opens a connection, and under AWAFS both ports on its way list it as a flow that has ended. Behind a restart nothing of it is
/// known but the connection's numbers: time begins anew 5 ms later, and the message of 10 ms of virtual time is the first flow.
#[test]
fn restart__what_opened_a_connection_teaches_nothing() {
    const PACKETS: usize = 256;
    let (fabric, scheme) = built(2, "awafs", &[]);
    let memory = || InMemory::new(&fabric, &scheme, 0, 1, PACKETS);
    let syn = Tcp { syn: true, payload: 0, ..DATA };
    let opens = Tcp { sequence: 1, payload: 1, ..DATA };
    let arrivals = vec![
        (us(10), 0, syn.frame()),
        (us(1_000), 0, opens.frame()),
        (us(2_000), 1, Tcp { acknowledges: 2, ..ACK }.frame()),
    ];
    let mut carrier = Carrier::new(Script::new(arrivals), memory(), Hosts::new(&fabric, &scheme, 1, 16), 1_500);
    let begin = |at_ns, offset, id, bytes| {
        let message = Message { id, to: 1, bytes, ..Message::default() };
        Begin { at_ns, host: 0, connection: DATA.segment().connection, offset, message }
    };
    let run = |carrier: &mut Carrier<Script>, mut begins: Option<Begin>| {
        while !(carrier.io().is_over() && carrier.is_empty()) {
            carrier.turn(|| begins.take());
        }
    };
    let listed = |carrier: &mut Carrier<Script>| {
        let mut flows = 0.0;
        for link in 0..fabric.links.len() as u32 {
            carrier.fabric().scheduler(link).observe(&mut |reading| {
                if let Reading::Gauge(Gauge { name: "flows listed", value, .. }) = reading {
                    flows += value;
                }
            });
        }
        flows
    };
    run(&mut carrier, Some(begin(us(900), 0, SET_UP, 1)));
    assert_eq!((listed(&mut carrier), carrier.fabric().counts().taken), (2.0, 3));
    let lead = us(5_000);
    let before = carrier.io().now_ns();
    carrier.hosts_mut().restart(&fabric, &scheme, 1);
    let base = carrier.restart(memory(), None, lead);
    assert_eq!((base, listed(&mut carrier), carrier.fabric().counts().taken), (before + lead, 0.0, 0));
    let data = Tcp { sequence: 2, acknowledges: 1, ..DATA };
    carrier.io().add(base + us(10_000), 0, data.frame());
    run(&mut carrier, Some(begin(base + us(9_900), 1, 0, 1_460)));
    let &(sent, device, _) = carrier.io().sent.last().expect("a frame");
    assert_eq!((sent, device), (base + us(12_200) + 1, 1));
    assert_eq!((listed(&mut carrier), carrier.hosts().counts().untold), (2.0, 0));
    assert_eq!((carrier.lateness().all.events, carrier.lateness().all.late), (1, 0));
}
