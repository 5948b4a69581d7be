//! Credits: a receiver says whose packet may come next, that of the message with the fewest left. Nothing is sent twice, as
//! ports hold whatever comes; and that is not much, as receivers have asked for it.

use flowsieve_core::message::Effort;
use flowsieve_core::readings::Reading;
use flowsieve_core::tagger::{FlowEvent, FlowFacts};
use flowsieve_core::{Kind, Message, NONE, Tagger, Time};
use flowsieve_schemes::parts::{self, Own};
use flowsieve_schemes::scheme::Scheme;
use flowsieve_schemes::{Context, Entry};
use flowsieve_settings::SettingsError;
use flowsieve_transport::{
    Amount, Constants, Effects, Endpoint, Named, Out, Packet, TransportFacts, TransportSpec, Turn,
};
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;

/// The registry's line.
pub(crate) const ENTRY: Entry = Entry {
    name: "credits",
    file: r#"
base = "dctcp"
label = "Credits"
summary = "receivers give credits, the shortest message first; FIFO queues"
paper = "docs/extend/transport.md"
knows = "size"

marking = "none"
admission = "none"
"#,
    own: Some(|context: &Context<'_>| with_credits(context, 100)),
};

/// `most`: packets that a receiver lets others have under way to it. 100 of 1,500 bytes take 120 us at 10 Gbit/s.
pub(crate) fn with_credits(context: &Context<'_>, most: u32) -> Result<Scheme, SettingsError> {
    let facts = parts::packet_facts(&context.scope, Some(NonZeroU32::MIN))?;
    // A plan says so if a path carries more in a round trip.
    let window = Some(Named { key: "most", amount: Amount::Packets(most) });
    let constants = Constants { window, ..Constants::NONE };
    let transport = TransportSpec::custom(facts, constants, move |_| Credits::new(facts, most));
    parts::build(context, Own { transport: Some(transport), ..Own::default() })
}

// What packets say.
/// A request to send a message; the first word is its number of packets.
const REQUEST: u8 = 0;
/// The next packet of it may be sent.
const CREDIT: u8 = 1;
/// Here it is.
const DATA: u8 = 2;
/// All of it has arrived.
const DONE: u8 = 3;

/// A message that is sent: how many bytes of it were, and how many further packets may be.
struct Outgoing {
    message: Message,
    sent: u64,
    credits: u32,
}

/// A message that is received: from whom, how many packets have no credit yet, and how many have not arrived yet.
struct Incoming {
    peer: u16,
    uncredited: u32,
    missing: u32,
}

/// A host's messages, by their numbers.
struct Credits {
    facts: TransportFacts,
    most: u32,
    outgoing: BTreeMap<u32, Outgoing>,
    incoming: BTreeMap<u32, Incoming>,
    /// Packets that have a credit and have not arrived yet.
    under_way: u32,
    /// Credits that it has given, in all.
    given: u64,
    events: VecDeque<FlowEvent>,
}

impl Credits {
    fn new(facts: TransportFacts, most: u32) -> Credits {
        let (outgoing, incoming, events) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        Credits { facts, most, outgoing, incoming, under_way: 0, given: 0, events }
    }

    fn say(&self, out: &mut dyn Out, peer: u16, message: u32, code: u8, word: u32) {
        let words = [word, 0, 0, 0, 0, 0];
        let (len, kind) = (self.facts.header, Kind::Control);
        out.send(Packet { peer, len, flow: message, message, kind, code, words, ..Packet::default() });
    }

    fn give_credits(&mut self, out: &mut dyn Out) {
        while self.under_way < self.most {
            let waiting = self.incoming.iter_mut().filter(|(_, incoming)| incoming.uncredited > 0);
            let Some((&message, incoming)) = waiting.min_by_key(|(_, incoming)| incoming.uncredited) else { return };
            incoming.uncredited -= 1;
            self.under_way += 1;
            self.given += 1;
            let peer = incoming.peer;
            self.say(out, peer, message, CREDIT, 0);
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
        self.outgoing.insert(message.id, Outgoing { message: *message, sent: 0, credits: 0 });
        let packets = message.bytes.div_ceil(self.facts.segment.into()) as u32;
        self.say(out, message.to, message.id, REQUEST, packets);
        self.report(now, tagger, FlowEvent::MessageStart { flow: message.id, message: *message, idle: Time::NEVER })
    }

    fn receive(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out, packet: &Packet) -> Effects {
        let Packet { peer, message, words: [word, ..], .. } = *packet;
        let mut effects = Effects::NONE;
        match packet.code {
            REQUEST => _ = self.incoming.insert(message, Incoming { peer, uncredited: word, missing: word }),
            CREDIT => {
                let Some(outgoing) = self.outgoing.get_mut(&message) else { return effects };
                outgoing.credits += 1;
                return Effects { events: false, turns: true };
            }
            DATA => {
                let Some(incoming) = self.incoming.get_mut(&message) else { return effects };
                incoming.missing -= 1;
                self.under_way -= 1;
                if incoming.missing == 0 {
                    self.incoming.remove(&message);
                    self.say(out, peer, message, DONE, 0);
                    effects = self.report(now, tagger, FlowEvent::Delivered { message, out_of_order: 0 });
                }
            }
            _ => {
                let Some(Outgoing { message, .. }) = self.outgoing.remove(&message) else { return effects };
                let effort = Some(Effort::default());
                return self.report(now, tagger, FlowEvent::MessageEnd { flow: message.id, message, effort });
            }
        }
        self.give_credits(out);
        effects
    }

    fn turns(&self) -> u32 {
        u32::from(self.outgoing.values().any(|outgoing| outgoing.credits > 0))
    }

    fn poll(&mut self, now: Time, tagger: &mut Tagger, out: &mut dyn Out) -> Turn {
        let left = |outgoing: &Outgoing| outgoing.message.bytes - outgoing.sent;
        let next =
            self.outgoing.values_mut().filter(|outgoing| outgoing.credits > 0).min_by_key(|outgoing| left(outgoing));
        let Some(outgoing) = next else { return Turn::Unused };
        let (message, offset, remaining) = (outgoing.message, outgoing.sent, left(outgoing));
        let payload = remaining.min(self.facts.segment.into()) as u16;
        outgoing.sent += u64::from(payload);
        outgoing.credits -= 1;
        let (flow, coflow) = (message.id, message.coflow.unwrap_or(NONE));
        let of_message = FlowFacts::of(&message);
        let facts = FlowFacts { flow, now, offset, payload: payload.into(), remaining, ..of_message };
        let (tag, len) = (tagger.tag(|| facts), payload + self.facts.header);
        out.send(Packet { peer: message.to, len, flow, message: flow, coflow, tag, code: DATA, ..Packet::default() });
        Turn::Sent
    }

    fn poll_event(&mut self) -> Option<FlowEvent> {
        self.events.pop_front()
    }

    fn readings(&self, see: &mut dyn FnMut(Reading)) {
        see(Reading::Count { name: "credits", count: self.given });
    }
}
