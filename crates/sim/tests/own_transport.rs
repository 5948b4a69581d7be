//! A transport of a user's own, from end to end: the receiver says who sends, the shortest message first. Times are computed
//! by hand as in `traces.rs`.

mod by_hand;

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;

use by_hand::{Trial, fcts, flow, marks_and_drops, rack, scheme};
use flowsieve_core::message::Effort;
use flowsieve_core::tagger::{FlowEvent, FlowFacts, Tagger};
use flowsieve_core::{Kind, Message, Time};
use flowsieve_schemes::Scheme;
use flowsieve_schemes::scheme::Nic;
use flowsieve_transport::{
    CustomTransport, Effects, Endpoint, Out, Packet, Timer, TransportFacts, TransportSpec, Turn,
};

const SEGMENT: u64 = 1_460;
const HEADER: u16 = 40;

// What packets say, and their first word.
/// A message of so many segments wants to be sent.
const REQUEST: u8 = 0;
/// This segment of it may be sent.
const CREDIT: u8 = 1;
/// This segment.
const DATA: u8 = 2;
/// All of it has arrived.
const DONE: u8 = 3;

/// A message that arrives, by its number: who sends it, how many segments it has, how many have their credit, how many are
/// there.
struct Coming {
    peer: u16,
    segments: u32,
    credited: u32,
    arrived: u32,
}

/// A host's messages, sent and received. One credit is under way at a time.
#[derive(Default)]
struct Credits {
    sending: BTreeMap<u32, Message>,
    /// (message, segment) that have their credit.
    credited: VecDeque<(u32, u32)>,
    coming: BTreeMap<u32, Coming>,
    awaits_data: bool,
    events: VecDeque<FlowEvent>,
}

impl Credits {
    fn spec() -> TransportSpec {
        let facts =
            TransportFacts { segment: SEGMENT as u16, header: HEADER, packets_per_answer: Some(NonZeroU32::MIN) };
        TransportSpec::Custom(CustomTransport { facts, make: Arc::new(|_| Box::new(Credits::default())) })
    }

    fn say(out: &mut dyn Out, peer: u16, message: u32, code: u8, word: u32) {
        let words = [word, 0, 0, 0, 0, 0];
        let kind = Kind::Control;
        out.send(Packet { peer, len: HEADER, flow: message, message, kind, code, words, ..Packet::default() });
    }

    /// The next credit goes to the message with the fewest segments left.
    fn grant(&mut self, out: &mut dyn Out) {
        let left = |coming: &Coming| coming.segments - coming.credited;
        let waiting = self.coming.iter_mut().filter(|(_, coming)| left(coming) > 0);
        if !self.awaits_data
            && let Some((&message, coming)) = waiting.min_by_key(|(_, coming)| left(coming))
        {
            Credits::say(out, coming.peer, message, CREDIT, coming.credited);
            coming.credited += 1;
            self.awaits_data = true;
        }
    }

    fn report(&mut self, now: Time, tagger: &mut Tagger, event: FlowEvent) -> Effects {
        tagger.on_event(&event, now);
        self.events.push_back(event);
        Effects { events: true, turns: false }
    }
}

impl Endpoint for Credits {
    fn begin(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out, message: &Message) -> Effects {
        self.sending.insert(message.id, *message);
        Credits::say(out, message.to, message.id, REQUEST, message.bytes.div_ceil(SEGMENT) as u32);
        self.report(now, tagger, FlowEvent::MessageStart { flow: message.id, message: *message, idle: Time::NEVER })
    }

    fn receive(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out, packet: &Packet) -> Effects {
        let Packet { peer, message, words: [word, ..], .. } = *packet;
        let mut effects = Effects::NONE;
        match packet.code {
            REQUEST => _ = self.coming.insert(message, Coming { peer, segments: word, credited: 0, arrived: 0 }),
            CREDIT => {
                self.credited.push_back((message, word));
                return Effects { events: false, turns: true };
            }
            DATA => {
                let Some(coming) = self.coming.get_mut(&message) else { return effects };
                coming.arrived += 1;
                let whole = coming.arrived == coming.segments;
                self.awaits_data = false;
                if whole {
                    self.coming.remove(&message);
                    Credits::say(out, peer, message, DONE, 0);
                    effects = self.report(now, tagger, FlowEvent::Delivered { message, out_of_order: 0 });
                }
            }
            _ => {
                let Some(message) = self.sending.remove(&message) else { return effects };
                let effort = Some(Effort::default());
                return self.report(now, tagger, FlowEvent::MessageEnd { flow: message.id, message, effort });
            }
        }
        self.grant(out);
        effects
    }

    fn on_timer(&mut self, _: Time, _: &mut Tagger, _: &mut dyn Out) -> Effects {
        Effects::NONE
    }

    fn next_timer(&mut self) -> Timer {
        Timer::NEVER
    }

    fn turns(&self) -> u32 {
        u32::from(!self.credited.is_empty())
    }

    fn poll(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out) -> Turn {
        let Some((id, segment)) = self.credited.pop_front() else { return Turn::Unused };
        let message = &self.sending[&id];
        let offset = u64::from(segment) * SEGMENT;
        let payload = (message.bytes - offset).min(SEGMENT) as u16;
        let facts =
            FlowFacts { flow: id, now, offset, payload: payload.into(), kind: Kind::Data, ..FlowFacts::of(message) };
        out.send(Packet {
            peer: message.to,
            len: payload + HEADER,
            flow: id,
            message: id,
            tag: tagger.tag(|| facts),
            code: DATA,
            words: [segment, 0, 0, 0, 0, 0],
            ..Packet::default()
        });
        Turn::Sent
    }

    fn poll_event(&mut self) -> Option<FlowEvent> {
        self.events.pop_front()
    }
}

fn with_credits(scheme: Scheme) -> Scheme {
    let mut scheme = scheme;
    scheme.classes[0].transport = Credits::spec();
    scheme
}

#[test]
fn own_transport__the_receiver_lets_the_shortest_message_go_first() {
    // Requests of hosts 0 (A, three segments) and 1 (B, one) are at the switch at 0.232 us and at host 2 at 0.464 and 0.496.
    // Host 2 knows A alone, and credits A1: at host 0 at 0.928, its data is back at 0.928 + 2.8 = 3.728 us. B has the fewer
    // segments left: its credit is at host 1 at 4.192, its data there at 6.992. Host 2 says so to host 1, at 7.456, and 0.032
    // later credits A2: at 7.488 and 10.288. A3 follows, at 10.752 and 13.552; that all has arrived is known at 14.016.
    let settings = rack(3);
    let flows = [flow(0, (0, 2), 3), flow(0, (1, 2), 1)];
    for nic in [Nic::Scheme, Nic::Backpressure { backlog: 15_000 }] {
        let credits = |scheme| Scheme { nic, ..with_credits(scheme) };
        let arrived = Trial::new(&settings, credits(scheme("dctcp", &settings))).run(&flows);
        assert_eq!(fcts(&arrived), [13_552_000, 6_992_000], "{nic:?}");
        assert_eq!(marks_and_drops(&arrived), (0, 0));
        let known = Trial::new(&settings, credits(scheme("dctcp", &settings))).until_ack().run(&flows);
        assert_eq!(fcts(&known), [14_016_000, 7_456_000], "{nic:?}");
    }
    // DCTCP sends all at once: A1 is at the switch at 1.4 us, B1 too and behind it, then A2 and A3. All leave it without a gap.
    let dctcp = Trial::new(&settings, scheme("dctcp", &settings)).run(&flows);
    assert_eq!(fcts(&dctcp), [6_400_000, 4_000_000], "A1 2.8, B 4.0, A2 5.2, A3 6.4 us");
}
