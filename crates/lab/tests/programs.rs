//! Messages of programs that tell none: traces of packets at hosts' own ports. PIAS demotes after 2,000 bytes.

use crate::common::{ACK, DATA, Tcp, pias};
use flowsieve_core::meta::Ecn;
use flowsieve_core::{Kind, Time};
use flowsieve_lab::hosts::{Apart, HostCounts, Hosts, Seen};
use flowsieve_lab::wire::{Connection, Datagram, Protocol, Segment};

fn hosts(apart: Apart, connections: usize) -> Hosts {
    let (fabric, scheme) = pias(2);
    Hosts::new(&fabric, &scheme, 1, connections).with_programs(apart)
}

fn us(us: u64) -> Time {
    Time::from_us(us)
}

const SYN: Tcp = Tcp { syn: true, payload: 0, sequence: 99, ..DATA };

/// Hands a segment to its host's port; returns its kind and priority.
fn sent(hosts: &mut Hosts, at: u64, packet: Tcp) -> (Kind, u8) {
    segment(hosts, at, packet.from, packet.to, &packet.segment())
}

fn segment(hosts: &mut Hosts, at: u64, from: u8, to: u8, segment: &Segment) -> (Kind, u8) {
    let meta = hosts.packet(us(at), (from.into(), to.into()), segment);
    (meta.kind, meta.tag.priority())
}

/// Hands a FIN without data to host 0's port.
fn fin(hosts: &mut Hosts, at: u64, sequence: u32) -> (Kind, u8) {
    let plain = Tcp { sequence, payload: 0, ..DATA }.segment();
    segment(hosts, at, 0, 1, &Segment { fin: true, ..plain })
}

/// A connection's direction is one message, from its SYN to the ACK of its last byte, whatever its pauses.
#[test]
fn connections__one_message_from_the_syn_to_the_last_ack() {
    let mut hosts = hosts(Apart::Connections, 4);
    sent(&mut hosts, 0, SYN);
    let data = |sequence| Tcp { sequence, ..DATA };
    let tags = [(100, 100), (110, 1_560), (120, 3_020)].map(|(at, sequence)| sent(&mut hosts, at, data(sequence)));
    assert_eq!(tags, [(Kind::Data, 0), (Kind::Data, 0), (Kind::Data, 1)]);
    assert_eq!(sent(&mut hosts, 5_000_000, data(4_480)), (Kind::Data, 1), "a pause of 5 s begins no message");
    sent(&mut hosts, 5_000_300, Tcp { acknowledges: 5_940, ..ACK });
    // A FIN without data follows the data: its connection's last tag, and it is data for ports.
    assert_eq!(fin(&mut hosts, 5_000_400, 5_940), (Kind::Data, 1));
    sent(&mut hosts, 5_000_700, Tcp { acknowledges: 5_941, ..ACK });
    let seen = Seen { from: 0, to: 1, bytes: 5_840, start: us(0), fct: Some(us(5_000_300)) };
    assert_eq!(hosts.take_seen(us(6_000_000)), [seen]);
    assert_eq!(hosts.counts(), HostCounts { began: 1, ended: 1, ..HostCounts::default() });
}

/// A packet that is sent again after its connection's message has ended begins none.
#[test]
fn connections__what_is_sent_again_after_the_end_begins_no_message() {
    let mut hosts = hosts(Apart::Connections, 4);
    sent(&mut hosts, 0, SYN);
    sent(&mut hosts, 100, Tcp { sequence: 100, payload: 1_000, ..DATA });
    sent(&mut hosts, 300, Tcp { acknowledges: 1_100, ..ACK });
    fin(&mut hosts, 310, 1_100);
    sent(&mut hosts, 400, Tcp { sequence: 100, payload: 1_000, ..DATA });
    assert_eq!(hosts.take_seen(us(500)).len(), 1);
    assert_eq!(hosts.counts(), HostCounts { began: 1, ended: 1, retransmitted: 1, ..HostCounts::default() });
}

/// The side that answers waits for a request: its time begins with its first byte.
#[test]
fn connections__an_answer_begins_with_its_first_byte() {
    let mut hosts = hosts(Apart::Connections, 4);
    sent(&mut hosts, 0, SYN);
    let back = Tcp { from: 1, to: 0, back: true, ..DATA };
    let syn_ack = Segment { acknowledges: Some(100), ..Tcp { syn: true, payload: 0, sequence: 899, ..back }.segment() };
    segment(&mut hosts, 50, 1, 0, &syn_ack);
    sent(&mut hosts, 700, Tcp { sequence: 900, payload: 10, ..back });
    sent(&mut hosts, 800, Tcp { acknowledges: 910, payload: 0, ..DATA });
    assert_eq!(hosts.take_seen(us(900)), [Seen { from: 1, to: 0, bytes: 10, start: us(700), fct: Some(us(100)) }]);
}

/// A pause longer than the gap begins a message, at the highest priority. A retransmission begins none, however late.
#[test]
fn gap__a_pause_begins_a_message_and_a_retransmission_none() {
    let mut hosts = hosts(Apart::Gap(us(500)), 4);
    sent(&mut hosts, 0, SYN);
    let data = |sequence| Tcp { sequence, ..DATA };
    for (at, sequence, priority) in [(100, 100, 0), (110, 1_560, 0), (120, 3_020, 1)] {
        assert_eq!(sent(&mut hosts, at, data(sequence)).1, priority);
    }
    assert_eq!(sent(&mut hosts, 700, data(3_020)).1, 1, "sent again after 580 us: it has the place of its bytes");
    assert_eq!(sent(&mut hosts, 1_200, data(4_480)).1, 1, "a pause of the gap is none");
    sent(&mut hosts, 1_300, Tcp { acknowledges: 5_940, ..ACK });
    assert_eq!(sent(&mut hosts, 1_701, data(5_940)).1, 0, "one above the gap is");
    let seen = hosts.take_seen(us(2_000));
    let first = Seen { from: 0, to: 1, bytes: 5_840, start: us(100), fct: Some(us(1_200)) };
    // Nobody has acknowledged the second one.
    assert_eq!(seen, [first, Seen { from: 0, to: 1, bytes: 1_460, start: us(1_701), fct: None }]);
    assert_eq!(hosts.counts(), HostCounts { began: 2, ended: 1, retransmitted: 1, ..HostCounts::default() });
}

/// A connection whose beginning was not seen begins where it is seen.
#[test]
fn connections__data_without_a_syn_begins_a_message() {
    let mut hosts = hosts(Apart::Connections, 4);
    assert_eq!(sent(&mut hosts, 0, Tcp { sequence: 9_000, ..DATA }), (Kind::Data, 0));
    assert_eq!(sent(&mut hosts, 1, Tcp { sequence: 10_460, ..DATA }).1, 0);
    assert_eq!(sent(&mut hosts, 2, Tcp { sequence: 11_920, ..DATA }).1, 1);
    assert_eq!(hosts.counts().unknown, 0);
}

/// Datagrams of two ports are one message until they pause, and count from its first.
#[test]
fn datagrams__are_told_apart_by_pauses() {
    let mut hosts = hosts(Apart::Gap(us(500)), 4);
    let Connection { from, to, .. } = DATA.segment().connection;
    let connection = Connection { protocol: Protocol::Udp, from, to };
    let datagram = Datagram { connection, len: 1_428, payload: 1_400, ecn: Ecn::Capable };
    let mut tag = |at| {
        let meta = hosts.datagram(us(at), (0, 1), &datagram);
        assert_eq!((meta.kind, meta.ecn, meta.len), (Kind::Data, Ecn::Capable, 1_428));
        meta.tag.priority()
    };
    assert_eq!([tag(0), tag(100), tag(200), tag(701)], [0, 0, 1, 0]);
    // A connection of TCP between the same ports is another one.
    assert_eq!(sent(&mut hosts, 702, SYN).1, 0);
    assert_eq!(hosts.connections(), 2);
    assert_eq!(hosts.take_seen(us(1_000)), [], "nobody acknowledges datagrams");
    assert_eq!(hosts.counts().datagrams, 4);
}

/// A flood of connections takes no more room than there is: each takes the place of the one that is idle longest.
#[test]
fn slots__a_flood_replaces_the_longest_idle() {
    let mut hosts = hosts(Apart::Connections, 4);
    for port in 0..2_000u16 {
        let mut one = Tcp { sequence: 5, payload: 10, ..DATA }.segment();
        one.connection.from.1 = 10_000 + port;
        segment(&mut hosts, port.into(), 0, 1, &one);
    }
    assert_eq!(hosts.connections(), 4);
    // One of the last four goes on where it is.
    let mut again = Tcp { sequence: 15, payload: 1_000, ..DATA }.segment();
    again.connection.from.1 = 10_000 + 1_998;
    segment(&mut hosts, 3_000, 0, 1, &again);
    let seen = hosts.take_seen(us(4_000));
    assert_eq!((seen.len(), seen.iter().map(|seen| seen.bytes).max()), (2_000, Some(1_010)));
    assert_eq!(hosts.counts().no_room, 0);
}
