//! Which message a packet belongs to, and its tag: traces of packets at a host's own port.

use crate::common::{ACK, DATA, Tcp, connection, pias};
use flowsieve_core::message::Message;
use flowsieve_core::{Kind, Tag, Time};
use flowsieve_lab::hosts::{Begin, HostCounts, Hosts, SET_UP};

fn hosts(connections: usize) -> Hosts {
    let (fabric, scheme) = pias(2);
    Hosts::new(&fabric, &scheme, 1, connections)
}

fn us(us: u64) -> Time {
    Time::from_us(us)
}

fn begin(offset: u64, bytes: u64) -> Begin {
    let message = Message { bytes, to: 1, ..Message::default() };
    Begin { at_ns: 0, host: 0, connection: connection(), offset, message }
}

/// The priority that a packet of host 0 gets, which PIAS demotes after 2,000 bytes of its message.
fn priority(hosts: &mut Hosts, at: Time, packet: Tcp) -> u8 {
    hosts.packet(at, (packet.from.into(), packet.to.into()), &packet.segment()).tag.priority()
}

/// A message of four packets: two begin within its first 2,000 bytes. A retransmission has the tag of its bytes.
#[test]
fn packet__has_the_tag_of_its_place_in_the_message() {
    let mut hosts = hosts(4);
    assert_eq!(priority(&mut hosts, us(0), Tcp { syn: true, payload: 0, sequence: 99, ..DATA }), 0);
    hosts.begin(us(10), &begin(0, 5_000));
    let mut tag = |sequence, payload| priority(&mut hosts, us(20), Tcp { sequence, payload, ..DATA });
    assert_eq!([tag(100, 1_460), tag(1_560, 1_460), tag(3_020, 1_460), tag(4_480, 620)], [0, 0, 1, 1]);
    assert_eq!([tag(1_560, 1_460), tag(3_020, 1_460)], [0, 1], "sent again");
    assert_eq!(hosts.counts(), HostCounts { retransmitted: 2, began: 1, ..HostCounts::default() });
}

/// A packet that is sent again after its message was acknowledged has the tag of its bytes: its sender has not heard of it.
#[test]
fn packet__sent_again_after_its_message_ended() {
    let mut hosts = hosts(4);
    priority(&mut hosts, us(0), Tcp { syn: true, payload: 0, sequence: 99, ..DATA });
    hosts.begin(us(10), &begin(0, 4_380));
    for sequence in [100, 1_560, 3_020] {
        priority(&mut hosts, us(20), Tcp { sequence, ..DATA });
    }
    hosts.packet(us(30), (1, 0), &Tcp { acknowledges: 4_480, ..ACK }.segment());
    assert_eq!(priority(&mut hosts, us(40), Tcp { sequence: 3_020, ..DATA }), 1);
    assert_eq!(hosts.counts(), HostCounts { began: 1, ended: 1, retransmitted: 1, ..HostCounts::default() });
}

/// The second message of a connection begins at the top again, and its bytes are counted from its own beginning.
#[test]
fn begin__a_second_message_on_the_same_connection() {
    let mut hosts = hosts(4);
    priority(&mut hosts, us(0), Tcp { syn: true, payload: 0, sequence: 99, ..DATA });
    hosts.begin(us(10), &begin(0, 3_000));
    for sequence in [100, 1_560] {
        priority(&mut hosts, us(20), Tcp { sequence, ..DATA });
    }
    assert_eq!(priority(&mut hosts, us(20), Tcp { sequence: 3_020, payload: 80, ..DATA }), 1);
    // All of it is acknowledged.
    hosts.packet(us(30), (1, 0), &Tcp { acknowledges: 3_100, ..ACK }.segment());
    assert_eq!(hosts.counts().ended, 1);
    hosts.begin(us(40), &begin(3_000, 2_500));
    assert_eq!(priority(&mut hosts, us(50), Tcp { sequence: 3_100, ..DATA }), 0);
    assert_eq!(priority(&mut hosts, us(50), Tcp { sequence: 4_560, payload: 1_040, ..DATA }), 0);
    assert_eq!(hosts.counts(), HostCounts { began: 2, ended: 1, ..HostCounts::default() });
}

/// Sequence numbers pass 2^32 in the middle of a message.
#[test]
fn packet__sequence_numbers_that_begin_again() {
    let mut hosts = hosts(4);
    let first = u32::MAX - 1_999;
    priority(&mut hosts, us(0), Tcp { syn: true, payload: 0, sequence: first - 1, ..DATA });
    hosts.begin(us(10), &begin(0, 4_000));
    let mut tag =
        |at: u32| priority(&mut hosts, us(20), Tcp { sequence: first.wrapping_add(at), payload: 1_000, ..DATA });
    // A packet with 2,000 bytes before it is still of the first level.
    assert_eq!([tag(0), tag(1_000), tag(2_000), tag(3_000)], [0, 0, 0, 1]);
    hosts.packet(us(30), (1, 0), &Tcp { acknowledges: first.wrapping_add(4_000), ..ACK }.segment());
    assert_eq!(hosts.counts(), HostCounts { began: 1, ended: 1, ..HostCounts::default() });
}

/// An answer has the key of the flow that it answers, and the highest priority.
#[test]
fn packet__an_answer_has_the_key_of_its_flow() {
    let mut hosts = hosts(4);
    priority(&mut hosts, us(0), Tcp { syn: true, payload: 0, sequence: 99, ..DATA });
    hosts.begin(us(10), &begin(0, 1_000));
    let data = hosts.packet(us(20), (0, 1), &Tcp { sequence: 100, payload: 1_000, ..DATA }.segment());
    let ack = hosts.packet(us(30), (1, 0), &Tcp { acknowledges: 1_100, ..ACK }.segment());
    assert_eq!(ack.flow, data.flow);
    assert_eq!((ack.kind, ack.tag), (Kind::Ack, Tag::default()));
    assert_eq!((data.kind, data.len, ack.len), (Kind::Data, 1_040, 40));
}

/// Data of a connection whose beginning was not seen, and data of no message, have the tag of packets without data.
#[test]
fn packet__data_of_no_known_message_is_counted() {
    let mut hosts = hosts(4);
    assert_eq!(priority(&mut hosts, us(0), Tcp { sequence: 9_000, ..DATA }), 0);
    assert_eq!(hosts.counts(), HostCounts { unknown: 1, ..HostCounts::default() });
    priority(&mut hosts, us(0), Tcp { syn: true, payload: 0, sequence: 99, ..DATA });
    hosts.begin(us(10), &begin(0, 1_000));
    assert_eq!(priority(&mut hosts, us(20), Tcp { sequence: 100 + 50_000, ..DATA }), 0);
    assert_eq!(hosts.counts(), HostCounts { unknown: 1, untold: 1, began: 1, ..HostCounts::default() });
}

/// An ACK of bytes that no packet has carried ends nothing.
#[test]
fn packet__an_acknowledgement_of_nothing_sent_ends_nothing() {
    let mut hosts = hosts(4);
    priority(&mut hosts, us(0), Tcp { syn: true, payload: 0, sequence: 99, ..DATA });
    hosts.begin(us(10), &begin(0, 1_000));
    hosts.packet(us(30), (1, 0), &Tcp { acknowledges: 1_100, ..ACK }.segment());
    assert_eq!(hosts.counts().ended, 0);
}

/// A flood of connections takes no more room than there is, and one with a message under way stays.
#[test]
fn packet__a_flood_of_connections_replaces_idle_ones_alone() {
    let mut hosts = hosts(4);
    priority(&mut hosts, us(0), Tcp { syn: true, payload: 0, sequence: 99, ..DATA });
    hosts.begin(us(10), &begin(0, 5_000));
    for port in 0..2_000u16 {
        let mut segment = Tcp { syn: true, payload: 0, ..DATA }.segment();
        segment.connection.from.1 = 10_000 + port;
        hosts.packet(us(20), (0, 1), &segment);
    }
    assert_eq!(hosts.connections(), 4);
    assert_eq!(priority(&mut hosts, us(30), Tcp { sequence: 3_020, ..DATA }), 1);
    assert_eq!(hosts.counts(), HostCounts { began: 1, ..HostCounts::default() });
}

/// All have messages under way: a further one has no room, and that is counted.
#[test]
fn begin__without_room_is_counted() {
    let mut hosts = hosts(2);
    for port in 0..3 {
        let mut begin = begin(0, 1_000);
        begin.connection.from.1 = port;
        hosts.begin(us(10), &begin);
    }
    assert_eq!(hosts.counts(), HostCounts { began: 2, no_room: 1, ..HostCounts::default() });
}

/// Controllers hear of the beginning and the end of each message, and of no message that only opened a connection.
#[test]
fn take_events__messages_of_the_workload_alone() {
    let mut hosts = hosts(4);
    priority(&mut hosts, us(0), Tcp { syn: true, payload: 0, sequence: 99, ..DATA });
    let mut opening = begin(0, 1);
    opening.message.id = SET_UP;
    hosts.begin(us(10), &opening);
    priority(&mut hosts, us(20), Tcp { sequence: 100, payload: 1, ..DATA });
    hosts.packet(us(30), (1, 0), &Tcp { acknowledges: 101, ..ACK }.segment());
    assert_eq!(hosts.take_events().count(), 0);
    hosts.begin(us(40), &begin(1, 1_000));
    priority(&mut hosts, us(50), Tcp { sequence: 101, payload: 1_000, ..DATA });
    hosts.packet(us(60), (1, 0), &Tcp { acknowledges: 1_101, ..ACK }.segment());
    let events: Vec<_> = hosts.take_events().map(|event| (event.at, event.host)).collect();
    assert_eq!(events, [(us(40), 0), (us(60), 0)]);
    assert_eq!(hosts.counts(), HostCounts { began: 2, ended: 2, ..HostCounts::default() });
}
