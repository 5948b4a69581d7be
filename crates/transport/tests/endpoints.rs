//! The contract between a host and its endpoints: events, answers, turns, timers, and what there is to see. Times are
//! computed by hand.

use std::num::NonZeroU64;

use crate::common::host::{Host, Seen, tcp, unanswered};
use crate::common::{SEGMENT, rfc, traces};
use flowsieve_core::message::Bounds;
use flowsieve_core::meta::Ecn;
use flowsieve_core::tagger::{FlowEvent, FlowFacts};
use flowsieve_core::{Kind, Message, NONE, Tagger, Time};
use flowsieve_transport::tcp::congestion::dctcp::DctcpRules;
use flowsieve_transport::tcp::congestion::{ALPHA, WINDOW};
use flowsieve_transport::tcp::params::RtoRule;
use flowsieve_transport::tcp::{CongestionSpec, Connections, HEADER_BYTES, Handshake, TcpParams};
use flowsieve_transport::{Effects, Out, Packet, Said, Timer};

/// Initial window 10, a constant RTO of 2 ms.
fn params() -> TcpParams {
    TcpParams { rto: RtoRule::Constant(Time::from_us(2_000)), ..rfc() }
}

/// Every second segment is acknowledged, and the last of them after 500 us.
fn delayed() -> TcpParams {
    TcpParams { ack_every: 2, delayed_ack: Time::from_us(500), ..params() }
}

/// A timer of at least 200 us, which is less than any timeout here.
fn estimates() -> TcpParams {
    TcpParams { rto: RtoRule::Rfc6298 { min: Time::from_us(200), initial: RtoRule::RFC_INITIAL }, ..params() }
}

fn shared(connections: Connections, params: TcpParams, pauses: bool) -> Host {
    Host::new(&tcp(params, connections, Handshake::Never), pauses)
}

fn per_flow(params: TcpParams, pauses: bool) -> Host {
    shared(Connections::PerFlow, params, pauses)
}

/// Hosts are as many times 100 us away as their number says.
fn warm(params: TcpParams) -> Host {
    let spec = tcp(params, Connections::Warm, Handshake::Never);
    Host::told(&spec, false, Some(Box::new(|peer| Time::from_us(100 * u64::from(peer)))))
}

traces! {
    // A message begins before its first packet is tagged and ends before the next one's; a timeout comes before what is
    // sent for it, a delivery before its ACK.
    events__reach_the_tagger_in_their_place_among_its_packets: shared(Connections::Persistent, params(), false), "
        0    begin 7 to 1 of 10  > begins 7 first, 7/0-9.
        10   begin 8 to 1 of 2   > begins 8 on 7 after 10
        100  < 7 ack 10          > ends 7, 7/10-11m8.
        150  < 5/0.              > arrives 5, 5 ack 1
        2100 timer               > timeout 7, 7/10m8r
        2200 < 7 ack 11          > 7/11m8r.
        2300 < 7 ack 12          > ends 8 on 7 again 2 timeouts 1
        9000                     = timer never";

    events__deliveries_are_told_with_their_reordering: per_flow(params(), false), "
        0 < 7/1   > 7 ack 0 sack 1-1
        1 < 7/2.  > 7 ack 0 sack 1-2
        2 < 7/0   > held 7 2920 4380000, arrives 7 late 1, 7 ack 3
        3 < 7/0   > again 7, 7 ack 3 dup";
}

#[test]
fn tags__know_their_packet_and_its_message() {
    let mut host = per_flow(params(), false);
    let message = Message {
        id: 7,
        to: 3,
        class: 0,
        bytes: u64::from(SEGMENT) + 40,
        start: Time::from_us(5),
        deadline: Some(Time::from_us(900)),
        coflow: Some(12),
        predicted: NonZeroU64::new(1_400),
        bounds: Some(Bounds { lower: 1_000, upper: NonZeroU64::MAX }),
    };
    host.now = Time::from_us(5);
    assert_eq!(host.begin(&message), Effects { events: true, turns: false });
    let idle = Time::NEVER;
    let seen = host.take_seen();
    assert!(
        matches!(seen[0], Seen::Told(FlowEvent::MessageStart { flow: 7, message: m, idle: i }) if (m, i) == (message, idle))
    );
    // The first is acknowledged at 105 us; the second is sent again after the RTO from then.
    host.run(
        "
        105  < 7 ack 1
        2105 timer  > timeout 7, 7/1r.",
    );
    let first = FlowFacts {
        flow: 7,
        now: Time::from_us(5),
        kind: Kind::Data,
        offset: 0,
        payload: 1_460,
        remaining: 1_500,
        retransmission: false,
        timeouts: 0,
        ..FlowFacts::of(&message)
    };
    let second = FlowFacts { offset: 1_460, payload: 40, ..first };
    let again = FlowFacts { now: Time::from_us(2_105), remaining: 40, retransmission: true, timeouts: 1, ..second };
    assert_eq!(host.facts, [first, second, again]);
    let packet = host.last(7);
    assert_eq!((packet.peer, packet.len, packet.message, packet.coflow), (3, 40 + HEADER_BYTES, 7, 12));
    assert_eq!((packet.kind, packet.ecn, unanswered(&packet)), (Kind::Data, Ecn::Capable, false));
}

#[test]
fn tags__of_answers_have_no_message() {
    let mut host = per_flow(params(), false);
    host.run(
        "
        9 < 7/0. marked from 4  > arrives 7, 7 ack 1 marked
        9 < 8 syn               > 8 syn-ack",
    );
    assert_eq!(host.facts[0], FlowFacts::control(7, Kind::Ack, Time::from_us(9)));
    assert_eq!(host.facts[1], FlowFacts::control(8, Kind::Control, Time::from_us(9)));
    let packet = host.last(7);
    assert_eq!((packet.peer, packet.len, packet.message, packet.coflow), (4, HEADER_BYTES, NONE, NONE));
    assert_eq!((packet.kind, packet.ecn, unanswered(&packet)), (Kind::Ack, Ecn::NotCapable, false));
}

#[test]
fn answers__can_be_marked_where_acks_can() {
    let ecn_of_acks = |ecn_acks| {
        let mut host = per_flow(TcpParams { ecn_acks, ..params() }, false);
        host.run(
            "
        10 < 7 syn  > 7 syn-ack
        20 < 7/0    > 7 ack 1",
        );
        host.last(7).ecn
    };
    assert_eq!([false, true].map(ecn_of_acks), [Ecn::NotCapable, Ecn::Capable]);
}

traces! {
    answers__leave_within_the_call_though_the_host_pauses: per_flow(delayed(), true), "
        0   begin 9 to 1 of 1  > begins 9 first
        10  < 7 syn            > 7 syn-ack
        20  < 7/0                         = timer 520 receiver 7
        30  < 7/1              > 7 ack 2
        40  < 7/2
        50  < 7 probe          > 7 ack 3
        60  < 7/3
        560 timer              > 7 ack 4  = turns 1";

    turns__data_waits_for_them: per_flow(params(), true), "
        0    begin 7 to 1 of 11  > begins 7 first  = turns 1  = timer never
        50   turn                > 7/0             = timer 2050 sender 7
        60   < 7 ack 1                             = timer 2050 sender 7
        70   turn                > 7/1
        2070 timer               > timeout 7       = turns 1
        2080 turn                > 7/1r
        2080 turn unused                           = turns 0
        2090 < 7 ack 2                             = turns 1
        2090 turn                > 7/2
        2090 turn                > 7/3
        2090 turn unused";

    turns__are_among_connections_a_packet_each: per_flow(params(), true), "
        0 begin 9 to 1 of 2  > begins 9 first
        0 begin 7 to 2 of 3  > begins 7 first
        0 begin 8 to 1 of 1  > begins 8 first  = turns 3
        0 turn               > 9/0
        0 turn               > 7/0
        0 turn               > 8/0.
        1 turn               > 9/1.
        1 turn               > 7/1
        1 turn unused                          = turns 2
        1 turn unused                          = turns 1
        1 turn               > 7/2.
        1 turn unused                          = turns 0";

    turns__are_in_the_order_in_which_connections_became_ready:
        shared(Connections::Pool, TcpParams { initial_window: 1, ..params() }, true), "
        0   begin 7 to 1 of 9  > begins 7 first
        0   begin 8 to 2 of 9  > begins 8 first
        0   turn               > 7/0
        0   turn               > 8/0
        0   turn unused
        0   turn unused
        100 < 8 ack 1
        101 < 7 ack 1
        102 < 8 ack 1 dup      = turns 2
        103 turn               > 8/1
        103 turn               > 7/1
        103 turn               > 8/2
        103 turn               > 7/2
        103 turn unused        = turns 1
        104 begin 9 to 1 of 1  > begins 9 first
        104 turn unused
        104 turn               > 9/0.";

    // 7 keeps its place until its turn comes; then 9 has it.
    turns__a_connection_that_stands_in_line_is_not_closed: per_flow(params(), true), "
        0   begin 7 to 1 of 1   > begins 7 first
        0   turn                > 7/0.
        100 < 7 ack 1           > ends 7  = turns 1
        110 begin 8 to 1 of 1   > begins 8 first
        120 < 7 ack 1 dup                 = turns 2
        130 turn unused
        130 turn                > 8/0.
        140 < 7 ack 1 dup at 0            = turns 1
        150 begin 9 to 1 of 1   > begins 9 first
        150 turn unused
        150 turn                > 9/0.
        150 turn unused         = places 7 0 none  = places 8 1 none  = places 9 0 none";

    turns__of_a_connection_that_stays_idle_end: shared(Connections::Pool, params(), true), "
        0   begin 7 to 1 of 1  > begins 7 first
        0   turn               > 7/0.
        100 < 7 ack 1          > ends 7
        110 begin 8 to 1 of 1  > begins 8 on 7 after 110  = turns 1
        110 turn               > 7/1m8.
        110 turn unused                                   = turns 0";

    // Flow 9 has place 0. The receivers of flows 3 and 2 hold ACKs back until 2,000, as the senders' timers run.
    timers__of_one_instant_senders_by_flow_then_receivers_by_flow: per_flow(delayed(), false), "
        0    begin 9 to 1 of 1  > begins 9 first, 9/0.
        0    begin 7 to 1 of 1  > begins 7 first, 7/0.
        0    begin 8 to 1 of 1  > begins 8 first, 8/0.
        1500 < 3/0
        1500 < 2/0
        2000                                        = timer 2000 sender 7
        2000 timer              > timeout 7, 7/0r.  = timer 2000 sender 8
        2000 timer              > timeout 8, 8/0r.
        2000 timer              > timeout 9, 9/0r.  = timer 2000 receiver 2
        2000 timer              > 2 ack 1           = timer 2000 receiver 3
        2000 timer              > 3 ack 1           = timer 4000 sender 7";

    // Before a round trip is measured the timer is for 1 s; one of 100 us makes it 300 us from then.
    timers__of_a_connection_that_waits_for_its_turn: per_flow(estimates(), true), "
        0   begin 7 to 1 of 2  > begins 7 first
        0   turn               > 7/0
        0   turn               > 7/1.       = timer 1000000 sender 7
        10  begin 8 to 1 of 1  > begins 8 first
        100 < 7 ack 1                       = timer 400 sender 7
        400 timer              > timeout 7  = timer 1000 sender 7";

    // To host 1 there are 100 us, so that the timer is for 100 + 4 · 50; to host 2 twice as long.
    timers__of_a_warm_connection_begin_with_the_base_round_trip: warm(estimates()), "
        0   begin 7 to 1 of 1  > begins 7 first, 7/0.  = timer 300 sender 7
        0   begin 8 to 2 of 1  > begins 8 first, 8/0.
        300 timer              > timeout 7, 7/0r.      = timer 600 sender 8";

    // It has nothing to learn.
    timers__of_a_warm_connection_may_be_constant: warm(params()), "
        0 begin 7 to 1 of 1  > begins 7 first, 7/0.  = timer 2000 sender 7";
}

#[test]
fn timer__senders_go_before_receivers() {
    assert!(Timer::sender(u32::MAX) < Timer::receiver(0));
}

#[test]
fn timers__too_early_and_too_often_do_nothing() {
    let mut host = per_flow(params(), true);
    host.run(
        "
        0 begin 7 to 1 of 1  > begins 7 first
        0 turn               > 7/0.
        0 turn unused",
    );
    host.now = Time(1_999_999_999);
    assert_eq!(host.on_timer(), Effects::NONE);
    host.now = Time::from_us(2_000);
    assert_eq!(host.on_timer(), Effects { events: true, turns: true });
    assert_eq!(host.on_timer(), Effects::NONE);
    host.run(
        "
        2000              > timeout 7
        2000 turn         > 7/0r.
        2000 turn unused  = turns 0",
    );
}

/// Takes packets to nowhere.
struct Nowhere;

impl Out for Nowhere {
    fn send(&mut self, _: Packet) {}
}

#[test]
fn timers__several_packets_may_arrive_before_the_host_asks_for_them() {
    // One of 100 us makes the timers 300 us from then, for two connections that have had no turn since.
    let mut host = per_flow(estimates(), true);
    host.run("0 begin 7 to 1 of 2 > begins 7 first\n 0 begin 8 to 1 of 2 > begins 8 first");
    (0..4).for_each(|_| _ = host.poll());
    let acks = [7, 8].map(|flow| Packet {
        flow,
        kind: Kind::Ack,
        code: 1,
        words: [1, 0, 0, host.places(flow)[0], NONE, 0],
        ..Packet::default()
    });
    let (endpoint, now) = (&mut host.endpoint, Time::from_us(100));
    for ack in acks {
        let effects = endpoint.receive(now, &mut Tagger::default(), &mut Nowhere, |_| ack).effects();
        assert_eq!(effects, Effects { events: false, turns: true });
    }
    assert_eq!(endpoint.next_timer(), Timer { at: Time::from_us(400), order: Timer::sender(7) });
}

#[test]
fn receive__what_no_tcp_says_is_ignored() {
    let mut host = per_flow(params(), false);
    let packet = Packet { flow: 7, code: 5, ..Packet::default() };
    assert_eq!((host.receive(&packet), host.endpoint.describe(&packet)), (Effects::NONE, Said::Own));
    host.run("0 = timer never");
}

#[test]
fn describe__every_packet() {
    let endpoint = Host::new(&tcp(params(), Connections::Pool, Handshake::Never), false).endpoint;
    let said = |code, words: [u32; 3]| {
        let [a, b, c] = words;
        endpoint.describe(&Packet { code, words: [a, b, c, 0, 0, 0], ..Packet::default() })
    };
    assert_eq!(said(0, [9, 0, 0]), Said::Data { segment: 9, last: false, retransmission: false });
    assert_eq!(said(8 + 16, [9, 0, 0]), Said::Data { segment: 9, last: true, retransmission: true });
    assert_eq!(said(1 + 8, [4, 6, 8]), Said::Ack { segment: 4, sack: (6, 8), echo: true, duplicate: false });
    assert_eq!(said(1 + 16, [4, 6, 8]), Said::Ack { segment: 4, sack: (6, 8), echo: false, duplicate: true });
    assert_eq!([2, 3, 4, 7].map(|code| said(code, [0; 3])), [Said::Syn, Said::SynAck, Said::Probe, Said::Own]);
}

/// What there is to see of each flow.
fn observed(host: &Host) -> Vec<(u32, Vec<(&'static str, f64)>)> {
    let mut seen = Vec::new();
    host.endpoint.observe(&mut |flow, values| seen.push((flow, values.to_vec())));
    seen
}

#[test]
fn observe__connections_with_a_message_under_way() {
    let mut host = Host::new(&tcp(params(), Connections::Pool, Handshake::Never), false);
    host.run(
        "
        0   begin 7 to 1 of 1   > begins 7 first, 7/0.
        0   begin 8 to 1 of 30  > begins 8 first, 8/0-9
        100 < 7 ack 1           > ends 7
        100 < 8 ack 4           > 8/10-17",
    );
    assert_eq!(observed(&host), [(8, vec![(WINDOW, 14.0)])], "10 and the 4 that were delivered");

    let congestion = CongestionSpec::Dctcp(DctcpRules { gain: 0.25, initial_alpha: 1.0 });
    let mut host = per_flow(TcpParams { congestion, ..params() }, false);
    host.run(
        "
        0   begin 7 to 1 of 30  > begins 7 first, 7/0-9
        100 < 7 ack 5           > 7/10-19",
    );
    // None of the first segments was marked: alpha is 1 - 0.25.
    assert_eq!(observed(&host), [(7, vec![(WINDOW, 15.0), (ALPHA, 0.75)])]);
    host.run(
        "
        200 < 7 ack 20  > 7/20-29.
        300 < 7 ack 30  > ends 7",
    );
    assert_eq!(observed(&host), []);
}

#[test]
fn facts__answers_to_packets() {
    let facts = tcp(delayed(), Connections::Pool, Handshake::Never).facts();
    assert_eq!((facts.segment, facts.header, facts.answers()), (SEGMENT, HEADER_BYTES, true));
    assert_eq!([0, 1, 2, 5].map(|packets| facts.answers_to(packets)), [0, 1, 1, 3]);
}
