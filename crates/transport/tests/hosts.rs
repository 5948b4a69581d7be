//! Hosts that share nothing but packets, over a network that loses, reorders, duplicates and marks, driven naively: turns
//! are given unasked, timers are called too early, and strangers send what they like. Whatever the rules, every
//! message arrives once and ends once, in bounded time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::common::SEGMENT;
use crate::common::host::{Host, Seen, ordered};
use crate::common::random::{Weather, params, weather};
use flowsieve_core::meta::Ecn;
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{Kind, Message, NONE, Time};
use flowsieve_transport::open_loop::OpenLoopRules;
use flowsieve_transport::tcp::params::RtoRule;
use flowsieve_transport::tcp::{Connections, HEADER_BYTES, Handshake, NicOrder, TcpParams};
use flowsieve_transport::{Packet, TransportSpec};
use proptest::prelude::*;

const HOSTS: usize = 3;
/// Flows and messages from here on are strangers'.
const STRANGE: u32 = 1_000;
const HOUR: Time = Time(3_600_000_000_000_000);
/// Far more than any of these networks takes to come to rest.
const MANY_STEPS: u32 = 1_000_000;

/// A network of hosts, each 50 us from the others.
struct Network {
    connections: Connections,
    hosts: [Host; HOSTS],
    weather: Weather,
    /// How many of a thousand steps are a stranger's.
    strange: u64,
    /// By arrival, then by the order of sending: the host that it is for and the packet.
    wire: BTreeMap<(Time, u64), (usize, Packet)>,
    packets: u64,
    now: Time,
    /// Flows with messages under way, oldest first.
    busy: BTreeMap<u32, VecDeque<u32>>,
    arrived: BTreeSet<u32>,
    ended: BTreeSet<u32>,
}

impl Network {
    fn new(
        params: &TcpParams,
        (connections, handshake): (Connections, Handshake),
        (pauses, order): (bool, NicOrder),
        weather: Weather,
    ) -> Network {
        let spec = ordered(params.clone(), (connections, handshake), order);
        Network {
            connections,
            hosts: [(); HOSTS].map(|()| Host::new(&spec, pauses)),
            weather,
            strange: 0,
            wire: BTreeMap::new(),
            packets: 0,
            now: Time::ZERO,
            busy: BTreeMap::new(),
            arrived: BTreeSet::new(),
            ended: BTreeSet::new(),
        }
    }

    fn put(&mut self, from: usize, packet: Packet) {
        let Weather { lost, twice, marked, late, .. } = self.weather;
        let weather = &mut self.weather;
        let mark = packet.ecn == Ecn::Capable && weather.strikes(marked);
        let arriving = Packet { peer: from as u16, ecn: if mark { Ecn::Marked } else { packet.ecn }, ..packet };
        let arrival = self.now + Time::from_us(50 + weather.draw(late + 1));
        for copy in 0..u64::from(!weather.strikes(lost)) + u64::from(weather.strikes(twice)) {
            self.packets += 1;
            self.wire.insert((arrival + Time::from_us(17 * copy), self.packets), (packet.peer.into(), arriving));
        }
    }

    /// Packets of a host go out, and what it said is held against what may be said.
    fn hear(&mut self, host: usize) {
        for seen in self.hosts[host].take_seen() {
            match seen {
                Seen::Sent(packet) if packet.flow < STRANGE => self.put(host, packet),
                Seen::Told(FlowEvent::MessageStart { flow, message, .. }) => {
                    let busy = self.busy.entry(flow).or_default();
                    assert!(self.connections == Connections::Persistent || busy.is_empty(), "{} queues", message.id);
                    assert!(self.connections != Connections::PerFlow || flow == message.id);
                    busy.push_back(message.id);
                }
                Seen::Told(FlowEvent::Delivered { message, .. }) if message < STRANGE => {
                    assert!(self.arrived.insert(message), "{message} arrives again");
                }
                Seen::Told(FlowEvent::MessageEnd { flow, message, .. }) => {
                    assert_eq!(
                        self.busy.get_mut(&flow).unwrap().pop_front(),
                        Some(message.id),
                        "the oldest ends first"
                    );
                    assert!(self.arrived.contains(&message.id) && self.ended.insert(message.id));
                }
                _ => {}
            }
        }
    }

    /// Gives turns whether they are wanted or not.
    fn poll(&mut self) {
        for host in 0..HOSTS {
            for _ in 0..self.weather.draw(4) {
                let _ = self.hosts[host].poll();
                self.hear(host);
            }
        }
    }

    fn begin(&mut self, from: usize, message: &Message) {
        let _ = self.hosts[from].begin(message);
        self.hear(from);
        self.poll();
    }

    /// Lets everything happen up to an instant, one thing after the other, or until nothing is left to happen.
    fn run_until(&mut self, end: Time) {
        for _ in 0..MANY_STEPS {
            let wire = self.wire.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at);
            let timers = self.hosts.each_mut().map(|host| host.endpoint.next_timer().at);
            let waiting = self.hosts.iter().any(|host| host.endpoint.turns() > 0);
            let room = if waiting { self.now + Time::from_us(1) } else { Time::NEVER };
            let next = timers.into_iter().fold(wire.min(room), Time::min);
            self.now = self.now.max(next.min(end));
            self.hosts.iter_mut().for_each(|host| host.now = self.now);
            if next >= end {
                return;
            }
            if wire == next {
                let (_, (to, packet)) = self.wire.pop_first().unwrap();
                let _ = self.hosts[to].receive(&packet);
                self.hear(to);
            } else if let Some(host) = timers.iter().position(|&at| at == next) {
                let _ = self.hosts[host].on_timer();
                self.hear(host);
            }
            if self.weather.strikes(self.strange) {
                self.disturb();
            }
            self.poll();
        }
        panic!("comes to no rest");
    }

    /// A packet of no flow of these hosts, which names any places.
    fn disturb(&mut self) {
        let weather = &mut self.weather;
        let mut word = || [weather.draw(8) as u32, weather.draw(1 << 32) as u32, NONE][weather.draw(3) as usize];
        let words = [(); 6].map(|()| word());
        let strange = [STRANGE + word() % 4, NONE][usize::from(word() < 4)];
        let code = word() as u8;
        let packet = Packet { flow: strange, message: strange, code, words, ..Packet::default() };
        let host = weather.draw(HOSTS as u64) as usize;
        let _ = self.hosts[host].receive(&packet);
        self.hear(host);
    }
}

fn sharing() -> impl Strategy<Value = (Connections, Handshake)> {
    let connections = [Connections::PerFlow, Connections::Persistent, Connections::Pool];
    let handshake = [Handshake::Never, Handshake::Cold, Handshake::Always];
    (prop::sample::select(connections.to_vec()), prop::sample::select(handshake.to_vec()))
}

/// Segments, the two hosts, and how long after the one before, in us: long enough at times for receivers to forget.
fn messages() -> impl Strategy<Value = Vec<(u64, usize, usize, u64)>> {
    let gap = prop_oneof![9 => 0u64..2_000, 1 => Just(61_000_000)];
    prop::collection::vec((1u64..40, 0..HOSTS, 1..HOSTS, gap), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn network__every_message_arrives_once_and_ends_once(
        params in params(),
        sharing in sharing(),
        (pauses, order) in (any::<bool>(), order()),
        weather in weather(200),
        strange in prop_oneof![Just(0u64), 0u64..300],
        messages in messages(),
    ) {
        let mut network = Network::new(&params, sharing, (pauses, order), weather);
        network.strange = strange;
        for (id, &(segments, from, further, gap)) in (0..).zip(&messages) {
            // A timer that backs off may be silent for as long as receivers remember.
            let gap = if matches!(params.rto, RtoRule::Constant(_)) { gap } else { gap.min(2_000) };
            let end = network.now + Time::from_us(gap);
            network.run_until(end);
            let to = ((from + further) % HOSTS) as u16;
            let message = Message { id, to, bytes: segments * u64::from(SEGMENT) - 7, start: network.now, ..Message::default() };
            network.begin(from, &message);
        }
        network.run_until(HOUR);
        let all: BTreeSet<u32> = (0..messages.len() as u32).collect();
        prop_assert_eq!(&network.arrived, &all);
        prop_assert_eq!(&network.ended, &all);
        prop_assert!(network.wire.is_empty());
        for host in &mut network.hosts {
            prop_assert_eq!((host.endpoint.turns(), host.endpoint.next_timer().at), (0, Time::NEVER));
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Begin(u64),
    Arrives(Packet),
    Turn,
    Wait(u64),
}

fn order() -> impl Strategy<Value = NicOrder> {
    prop::sample::select(vec![NicOrder::Turns, NicOrder::Tag, NicOrder::TagThenAge])
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0u32..12, 1 => any::<u32>(), 1 => Just(NONE)]
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop::sample::select(vec![Kind::Data, Kind::Ack, Kind::Control]);
    let ecn = prop::sample::select(vec![Ecn::NotCapable, Ecn::Capable, Ecn::Marked]);
    let code = prop_oneof![3 => 0u8..32, 1 => any::<u8>()];
    let words = prop::array::uniform6(number());
    let packet = (any::<(u16, u16)>(), number(), number(), kind, ecn, code, words).prop_map(
        |((peer, len), flow, message, kind, ecn, code, words)| Packet {
            peer,
            len,
            flow,
            message,
            kind,
            ecn,
            code,
            words,
            ..Packet::default()
        },
    );
    prop_oneof![
        1 => (0u64..60).prop_map(Step::Begin),
        6 => packet.prop_map(Step::Arrives),
        2 => Just(Step::Turn),
        1 => prop_oneof![0u64..3_000, Just(61_000_000)].prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// An ACK may claim what never arrived, so that nothing is certain but that the endpoint keeps to its contract.
    #[test]
    fn garbage__never_panics(
        params in params(),
        (connections, handshake) in sharing(),
        (open_loop, pauses) in any::<(bool, bool)>(),
        order in order(),
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let open = OpenLoopRules { segment: SEGMENT, header: HEADER_BYTES };
        let spec = if open_loop { TransportSpec::OpenLoop(Arc::new(open)) } else { ordered(params, (connections, handshake), order) };
        let mut host = Host::new(&spec, pauses);
        let mut ids = 0..;
        for step in &steps {
            match step {
                Step::Begin(segments) => {
                    let _ = host.begin(&Message { id: ids.next().unwrap(), bytes: segments * 1_400 + 1, ..Message::default() });
                }
                Step::Arrives(packet) => _ = host.receive(packet),
                Step::Turn => _ = host.poll(),
                Step::Wait(us) => {
                    let end = host.now + Time::from_us(*us);
                    for _ in 0..100 {
                        if host.endpoint.next_timer().at < end {
                            host.now = host.now.max(host.endpoint.next_timer().at);
                            let _ = host.on_timer();
                        }
                    }
                    host.now = end;
                }
            }
            let _ = host.take_seen();
        }
    }
}
