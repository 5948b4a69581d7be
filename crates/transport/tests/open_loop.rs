//! Open loop: what leaves, what is reported, what arrives.

use std::sync::Arc;

use crate::common::SEGMENT;
use crate::common::host::{Host, Seen, unanswered};
use flowsieve_core::meta::Ecn;
use flowsieve_core::tagger::FlowFacts;
use flowsieve_core::{Kind, Message};
use flowsieve_transport::open_loop::OpenLoopRules;
use flowsieve_transport::tcp::HEADER_BYTES;
use flowsieve_transport::{Effects, Packet, TransportSpec};

fn open_loop() -> TransportSpec {
    TransportSpec::OpenLoop(Arc::new(OpenLoopRules { segment: SEGMENT, header: HEADER_BYTES }))
}

#[test]
fn open_loop__everything_leaves_as_the_message_begins() {
    for pauses in [false, true] {
        let mut host = Host::new(&open_loop(), pauses);
        host.run(
            "5 begin 7 to 2 of 12  > begins 7 first, 7/0-11., ends 7 unanswered
             5 begin 8 to 2 of 1   > begins 8 first, 8/0., ends 8 unanswered  = turns 0  = timer never",
        );
        host.endpoint.observe(&mut |flow, values| panic!("{flow}: {values:?}"));
    }
    let mut host = Host::new(&open_loop(), false);
    let bytes = 2 * u64::from(SEGMENT) + 1;
    let message = Message { id: 7, to: 2, bytes, coflow: Some(4), ..Message::default() };
    assert_eq!(host.begin(&message), Effects { events: true, turns: false });
    let packets =
        host.take_seen().into_iter().filter_map(|seen| if let Seen::Sent(packet) = seen { Some(packet) } else { None });
    let lengths: Vec<u16> = packets.map(|packet| packet.len).collect();
    assert_eq!(lengths, [1_500, 1_500, 41]);
    let facts = |offset, payload| FlowFacts { flow: 7, offset, payload, remaining: bytes, ..FlowFacts::of(&message) };
    assert_eq!(host.facts, [facts(0, 1_460), facts(1_460, 1_460), facts(2_920, 1)]);
    let packet = host.last(7);
    assert_eq!((packet.peer, packet.message, packet.coflow), (2, 7, 4));
    assert_eq!((packet.kind, packet.ecn, unanswered(&packet)), (Kind::Data, Ecn::NotCapable, true));
}

#[test]
fn open_loop__a_message_arrives_with_the_last_of_its_packets() {
    let mut sender = Host::new(&open_loop(), false);
    let _ = sender.begin(&Message { id: 7, bytes: 4 * u64::from(SEGMENT), ..Message::default() });
    let _ = sender.begin(&Message { id: 8, bytes: 2 * u64::from(SEGMENT), ..Message::default() });
    let packets: Vec<Packet> = sender
        .take_seen()
        .into_iter()
        .filter_map(|seen| if let Seen::Sent(packet) = seen { Some(packet) } else { None })
        .collect();
    let mut host = Host::new(&open_loop(), true);
    // 7/2 and 7/0 come after 7/3. Of message 8 the first packet is lost.
    for (packet, last) in [(1, false), (3, false), (5, false), (2, false), (0, true)] {
        assert_eq!(host.receive(&packets[packet]), Effects { events: last, turns: false });
    }
    host.run(
        "
        0   > arrives 7 late 2  = timer never",
    );
}

#[test]
fn facts__nothing_is_answered() {
    let facts = open_loop().facts();
    assert_eq!((facts.segment, facts.header), (SEGMENT, HEADER_BYTES));
    assert_eq!((facts.answers(), facts.answers_to(5)), (false, 0));
}
