//! A sender and a receiver over a pipe that loses, reorders, duplicates and marks: whatever the parameters, every message
//! arrives once and is finished once, in bounded time.

use std::collections::BTreeMap;

use crate::common::random::{CLEAR, Weather, params, weather};
use crate::common::sender::{reading, window};
use crate::common::{SEGMENT, ns2, rfc};
use flowsieve_core::{Message, Time};
use flowsieve_transport::tcp::congestion::ALPHA;
use flowsieve_transport::tcp::header::{AckHeader, DataHeader, GapReport};
use flowsieve_transport::tcp::params::{LossDetection, WindowRule};
use flowsieve_transport::tcp::receiver::{AckRule, Arrival};
use flowsieve_transport::tcp::sender::{Ack, Emission};
use flowsieve_transport::tcp::{Header, Receiver, TcpParams, TcpSender};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Packet {
    ToReceiver(Header, bool),
    ToSender(Header),
}

struct Pipe {
    params: TcpParams,
    weather: Weather,
    /// By arrival, then by the order of sending: (packet, timestamp).
    wire: BTreeMap<(Time, u64), (Packet, u32)>,
    packets: u64,
    now: Time,
    tcp: TcpSender,
    receiver: Receiver,
    /// One past the highest segment sent, and the payload bytes of every segment that arrived, once each.
    highest: u32,
    completed: Vec<u32>,
    finished: Vec<u32>,
}

fn ack_rule(params: &TcpParams) -> AckRule {
    AckRule { every: params.ack_every, quick: params.quick_acks, delay: params.delayed_ack, span: params.kept() }
}

fn receiver(params: &TcpParams) -> Receiver {
    match params.loss_detection {
        LossDetection::ByPriority(gaps) => Receiver::comparing_priorities(gaps),
        _ => Receiver::default(),
    }
}

impl Pipe {
    fn new(params: &TcpParams, weather: Weather, handshake: bool) -> Pipe {
        Pipe {
            params: params.clone(),
            weather,
            wire: BTreeMap::new(),
            packets: 0,
            now: Time::ZERO,
            tcp: TcpSender::new(handshake, params),
            receiver: receiver(params),
            highest: 0,
            completed: Vec::new(),
            finished: Vec::new(),
        }
    }

    fn stamp(&self) -> u32 {
        (self.now.0 / 1_000) as u32
    }

    fn put(&mut self, packet: Packet, stamp: u32) {
        let Weather { lost, twice, marked, late, .. } = self.weather;
        let weather = &mut self.weather;
        let packet = match packet {
            Packet::ToReceiver(header, _) => Packet::ToReceiver(header, weather.strikes(marked)),
            other => other,
        };
        let arrival = self.now + Time::from_us(50 + weather.draw(late + 1));
        for copy in 0..u64::from(!weather.strikes(lost)) + u64::from(weather.strikes(twice)) {
            self.packets += 1;
            self.wire.insert((arrival + Time::from_us(17 * copy), self.packets), (packet, stamp));
        }
    }

    fn send(&mut self) {
        while let Some(emission) = self.tcp.poll(self.now, &self.params) {
            let header = match emission {
                Emission::Control(header) => header,
                Emission::Segment { seq, retransmission } => {
                    assert_eq!(retransmission, seq < self.highest, "new segments in order, old ones again");
                    assert!(seq <= self.highest);
                    self.highest = self.highest.max(seq + 1);
                    let span = *self.tcp.span(seq).expect("a segment of a message");
                    assert!((span.first..span.end).contains(&seq));
                    Header::Data(DataHeader {
                        seq,
                        message: span.message.id,
                        last: seq + 1 == span.end,
                        retransmission,
                    })
                }
            };
            self.put(Packet::ToReceiver(header, false), self.stamp());
            // Nothing in flight is counted twice or forgotten: an underflow would panic here.
            assert!(self.tcp.in_flight() <= self.params.span(), "{} in flight", self.tcp.in_flight());
        }
    }

    fn arrive(&mut self, packet: Packet, stamp: u32) {
        let rule = ack_rule(&self.params);
        match packet {
            Packet::ToReceiver(Header::Data(DataHeader { seq, message, last, retransmission }), marked) => {
                let priority = self.weather.draw(2) as u8;
                let data = Arrival { seq, message, last, retransmission, marked, priority, stamp };
                let reaction = self.receiver.on_data(self.now, &data, rule);
                while let Some((message, _)) = self.receiver.complete() {
                    assert!(reaction.advanced);
                    self.completed.push(message);
                }
                for (header, stamp) in reaction.replies.into_iter().flatten() {
                    self.put(Packet::ToSender(Header::Ack(header)), stamp);
                }
            }
            Packet::ToReceiver(Header::Probe, _) => {
                let (header, stamp) = self.receiver.on_probe(stamp);
                self.put(Packet::ToSender(Header::Ack(header)), stamp);
            }
            Packet::ToReceiver(_, _) => self.put(Packet::ToSender(Header::SynAck), stamp),
            Packet::ToSender(header) => {
                let round_trip = Time(u64::from(self.stamp().wrapping_sub(stamp)) * 1_000);
                match header {
                    Header::Ack(AckHeader { cumulative, block, marked, duplicate, gap }) => {
                        let ack = Ack { cumulative, block, marked, duplicate, gap, round_trip };
                        self.tcp.on_ack(self.now, &ack, &self.params);
                    }
                    _ => self.tcp.on_syn_ack(self.now, &self.params),
                }
                while let Some(span) = self.tcp.finished() {
                    self.finished.push(span.message.id);
                }
            }
        }
    }

    /// Lets everything happen up to an instant, or until nothing is left to happen.
    fn run_until(&mut self, end: Time) {
        loop {
            self.send();
            let wire = self.wire.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at);
            let receiver = self.receiver.deadline().unwrap_or(Time::NEVER);
            let next = wire.min(receiver).min(self.tcp.deadline());
            if next >= end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            if wire == next {
                let ((_, _), (packet, stamp)) = self.wire.pop_first().unwrap();
                self.arrive(packet, stamp);
            } else if receiver == next {
                let (header, stamp) = self.receiver.on_timer(self.now).expect("a timer with a reason");
                self.put(Packet::ToSender(Header::Ack(header)), stamp);
            } else {
                self.tcp.on_timer(self.now, &self.params);
                assert!(self.tcp.deadline() > self.now, "a timer moves on");
            }
            let window = window(&self.tcp);
            assert!(window >= 1.0 && window <= f64::from(self.params.max_window.max(2)), "window {window}");
            assert!(reading(&self.tcp, ALPHA).is_none_or(|alpha| (0.0..=1.0).contains(&alpha)));
        }
    }

    fn push(&mut self, id: u32, segments: u64) {
        let message = Message { id, bytes: segments * u64::from(SEGMENT) - 7, ..Message::default() };
        self.tcp.push(self.now, message, &self.params);
    }
}

const HOUR: Time = Time(3_600_000_000_000_000);

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lossy_pipe__every_message_arrives_once(
        params in params(),
        weather in weather(350),
        messages in prop::collection::vec((1u64..120, 0u64..20_000), 1..6),
        handshake: bool,
    ) {
        let mut pipe = Pipe::new(&params, weather, handshake);
        for (id, &(segments, gap_us)) in (0..).zip(&messages) {
            pipe.push(id, segments);
            let end = pipe.now + Time::from_us(gap_us);
            pipe.run_until(end);
        }
        pipe.run_until(HOUR);
        let all: Vec<u32> = (0..messages.len() as u32).collect();
        prop_assert_eq!(&pipe.finished, &all);
        pipe.completed.sort_unstable();
        prop_assert_eq!(&pipe.completed, &all);
        prop_assert!(pipe.tcp.is_idle() && pipe.tcp.in_flight() == 0);
        prop_assert_eq!(pipe.tcp.deadline(), Time::NEVER);
    }

    #[test]
    fn clean_pipe__nothing_is_sent_twice(params in params(), segments in 1u64..400) {
        // No spurious timer either: the shortest RTO is 250 us, a round trip with delayed ACKs at most 200.
        let mut pipe = Pipe::new(&params, CLEAR, false);
        pipe.push(0, segments);
        pipe.run_until(HOUR);
        prop_assert_eq!(&pipe.finished, &[0]);
        let acks = pipe.packets - segments;
        prop_assert!(acks <= segments, "{} packets for {segments} segments", pipe.packets);
    }

    #[test]
    fn reordering_pipe__rack_sends_nothing_twice(
        window in prop_oneof![Just(WindowRule::FromCumulative), Just(WindowRule::Pipe)],
        seed: u64,
        segments in 1u64..400,
    ) {
        // Each way up to 12 us late: never by more than a quarter of the least round trip of 100 us over another.
        let params = TcpParams { loss_detection: LossDetection::Rack, window, ..rfc() };
        let mut pipe = Pipe::new(&params, Weather { late: 12, seed, ..CLEAR }, false);
        pipe.push(0, segments);
        pipe.run_until(HOUR);
        prop_assert_eq!(&pipe.finished, &[0]);
        prop_assert_eq!(pipe.packets, 2 * segments);
    }

    #[test]
    fn reordering_pipe__without_detection_nothing_is_sent_twice(
        seed: u64,
        segments in 1u64..400,
    ) {
        let mut pipe = Pipe::new(&ns2(), Weather { late: 900, seed, ..CLEAR }, false);
        pipe.push(0, segments);
        pipe.run_until(HOUR);
        prop_assert_eq!(&pipe.finished, &[0]);
        prop_assert_eq!(pipe.packets, 2 * segments);
    }

    /// ACKs for what was never sent, stale ones and nonsense: no panic, nothing lost of the accounting, and the messages
    /// still arrive.
    #[test]
    fn garbage__never_panics(
        params in params(),
        steps in prop::collection::vec(garbage(), 0..60),
        arrivals in prop::collection::vec((number(), number(), any::<(bool, bool, bool)>()), 0..60),
    ) {
        let mut pipe = Pipe::new(&params, CLEAR, true);
        pipe.push(0, 50);
        for ack in steps {
            let end = pipe.now + Time::from_us(60);
            pipe.run_until(end);
            pipe.tcp.on_ack(pipe.now, &ack, &params);
            pipe.send();
        }
        // A stray ACK may claim what is in flight, and then it counts as arrived: only the sender's end is certain.
        pipe.run_until(HOUR);
        prop_assert!(pipe.tcp.in_flight() <= params.span());

        let mut receiver = receiver(&params);
        for (seq, message, (last, retransmission, marked)) in arrivals {
            let rule = ack_rule(&params);
            let priority = message as u8 % 2;
            let data = Arrival { seq, message, last, retransmission, marked, priority, stamp: message };
            receiver.on_data(Time(u64::from(message)), &data, rule);
            while receiver.complete().is_some() {}
            receiver.on_probe(seq);
        }
    }
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0u32..60, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

fn garbage() -> impl Strategy<Value = Ack> {
    let round_trip = prop_oneof![3 => 0u64..200_000_000, 1 => any::<u64>()];
    let gap = prop_oneof![Just(GapReport::None), Just(GapReport::Update), Just(GapReport::Retransmit)];
    (number(), (number(), number()), any::<(bool, bool)>(), gap, round_trip).prop_map(
        |(cumulative, block, (marked, duplicate), gap, round_trip)| Ack {
            cumulative,
            block,
            marked,
            duplicate,
            gap,
            round_trip: Time(round_trip),
        },
    )
}
