//! A transport that hears when its packets leave the host's port. Times are computed by hand as in `traces.rs`.

use std::collections::{BTreeMap, VecDeque};

use crate::by_hand::{Trial, fcts, flow, rack, scheme};
use flowsieve_core::readings::Reading;
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::{Message, Tagger, Time};
use flowsieve_record::PointResult;
use flowsieve_schemes::bare::Facts;
use flowsieve_schemes::parts::{Own, packet_facts};
use flowsieve_schemes::scheme::{Class, Scheme};
use flowsieve_schemes::{Context, parts, registry};
use flowsieve_settings::Settings;
use flowsieve_transport::{Constants, Effects, Endpoint, Out, Packet, TransportFacts, TransportSpec};
use flowsieve_workload::Flow;

/// Sends a message at once, or each packet when the one before it has left; adds up how long packets waited in the host.
struct Delays {
    segment: u64,
    /// Whether a packet is sent when the one before it has left.
    one_by_one: bool,
    /// The message, and the bytes that are left to send.
    sending: Option<(Message, u64)>,
    /// By message, the bytes that are left to receive.
    missing: BTreeMap<u32, u64>,
    /// When packets went to the port that have not left yet.
    waiting: VecDeque<Time>,
    waited_ps: u64,
    departures: u64,
    events: VecDeque<FlowEvent>,
}

impl Delays {
    /// Sends the next packet of the message; returns whether there was one.
    fn send(&mut self, now: Time, out: &mut dyn Out) -> bool {
        let Some((message, left @ 1..)) = &mut self.sending else { return false };
        let payload = self.segment.min(*left);
        *left -= payload;
        let (id, words) = (message.id, [message.bytes as u32, payload as u32, 0, 0, 0, 0]);
        let len = payload as u16 + 40;
        out.send(Packet { peer: message.to, len, flow: id, message: id, words, ..Packet::default() });
        self.waiting.push_back(now);
        true
    }
}

impl Endpoint for Delays {
    fn begin(&mut self, now: Time, _: &mut Tagger, out: &mut dyn Out, message: &Message) -> Effects {
        self.sending = Some((*message, message.bytes));
        while self.send(now, out) && !self.one_by_one {}
        let (flow, message) = (message.id, *message);
        self.events.push_back(FlowEvent::MessageStart { flow, message, idle: Time::NEVER });
        self.events.push_back(FlowEvent::MessageEnd { flow, message, effort: None });
        Effects { events: true, turns: false }
    }

    fn on_departure(&mut self, now: Time, _: &mut Tagger, out: &mut dyn Out, packet: &Packet) -> Effects {
        assert!(self.sending.is_some_and(|(message, _)| packet.message == message.id && packet.peer == message.to));
        self.departures += 1;
        self.waited_ps += self.waiting.pop_front().map_or(0, |since| (now - since).0);
        self.send(now, out);
        Effects::NONE
    }

    fn receive(&mut self, _: Time, _: &mut Tagger, _: &mut dyn Out, packet: &Packet) -> Effects {
        let [bytes, payload, ..] = packet.words.map(u64::from);
        let missing = self.missing.entry(packet.message).or_insert(bytes);
        *missing -= payload;
        let whole = *missing == 0;
        self.events.extend(whole.then_some(FlowEvent::Delivered { message: packet.message, out_of_order: 0 }));
        Effects { events: whole, turns: false }
    }

    fn poll_event(&mut self) -> Option<FlowEvent> {
        self.events.pop_front()
    }

    fn readings(&self, see: &mut dyn FnMut(Reading)) {
        see(Reading::Count { name: "departures", count: self.departures });
        see(Reading::Count { name: "waited_ps", count: self.waited_ps });
    }
}

/// A scheme with this transport, whose endpoints hear departures or not.
fn delays(settings: &Settings, one_by_one: bool, hears_departures: bool) -> Scheme {
    let context = Context { scope: settings.scheme("delays"), workload: &Facts::NONE };
    let facts = TransportFacts { hears_departures, ..packet_facts(&context.scope, None).expect("facts") };
    let transport = TransportSpec::custom(facts, Constants::NONE, move |_| Delays {
        segment: facts.segment.into(),
        one_by_one,
        sending: None,
        missing: BTreeMap::new(),
        waiting: VecDeque::new(),
        waited_ps: 0,
        departures: 0,
        events: VecDeque::new(),
    });
    let within = registry::find("dctcp").expect("a scheme").within(&context).expect("settings that go together");
    parts::build(&within, Own { transport: Some(transport), ..Own::default() }).expect("a scheme")
}

fn counts(result: &PointResult) -> [u64; 2] {
    ["departures", "waited_ps"].map(|name| result.counts.get(name).copied().unwrap_or(0))
}

#[test]
fn on_departure__of_each_packet_when_the_line_takes_it() {
    // Four packets go to the port at once. The line takes 1.2 us for each: they leave at 0, 1.2, 2.4 and 3.6 us. The last is at the
    // switch at 3.6 + 1.2 + 0.2 us, and at host 1 another 1.4 us later.
    let settings = rack(2);
    let result = Trial::new(&settings, delays(&settings, false, true)).run(&[flow(0, (0, 1), 4)]);
    assert_eq!(counts(&result), [4, 1_200_000 + 2_400_000 + 3_600_000]);
    assert_eq!(fcts(&result), [6_400_000]);
}

#[test]
fn on_departure__may_send_the_next_packet_and_nothing_waits_twice() {
    // The second packet is sent when the first has left, at 0, and waits for the line until 1.2 us. Then the third is sent. So
    // each but the first waits for 1.2 us, and the line never idles.
    let settings = rack(2);
    let result = Trial::new(&settings, delays(&settings, true, true)).run(&[flow(0, (0, 1), 4)]);
    assert_eq!(counts(&result), [4, 3 * 1_200_000]);
    assert_eq!(fcts(&result), [6_400_000]);
}

#[test]
fn on_departure__changes_nothing_unless_it_is_asked_for() {
    // Ports are the busiest where two hosts send to one that sends itself.
    let settings = rack(3);
    let flows = [flow(0, (0, 1), 9), flow(0, (2, 1), 4), flow(1_000_000, (1, 2), 3)];
    let run = |hears| Trial::new(&settings, delays(&settings, false, hears)).run(&flows);
    let (hears, deaf) = (run(true), run(false));
    assert_eq!((counts(&hears)[0], counts(&deaf)[0]), (16, 0));
    let rest = |result: PointResult| PointResult { events: 0, counts: Default::default(), ..result };
    assert_eq!(rest(hears), rest(deaf));
}

#[test]
fn on_departure__only_of_packets_of_the_class() {
    // Both messages of host 0 begin at once. DCTCP's two packets are at the port first, as its message has the lesser number:
    // those of the other class leave at 2.4 and 3.6 us.
    let settings = rack(2);
    let own = delays(&settings, false, true);
    let dctcp = scheme("dctcp", &settings);
    let [Class { transport, .. }] = &own.classes[..] else { panic!("one class") };
    let first = dctcp.classes[0].clone();
    let second = Class { transport: transport.clone(), ..first.clone() };
    let both = Scheme { classes: vec![first, second], ..dctcp };
    let of = |class| Flow { class, ..flow(0, (0, 1), 2) };
    let result = Trial::new(&settings, both).run(&[of(0), of(1)]);
    assert_eq!(counts(&result), [2, 2_400_000 + 3_600_000]);
}
