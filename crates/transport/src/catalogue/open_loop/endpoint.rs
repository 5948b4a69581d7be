//! A host's endpoint for messages sent open loop.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use flowsieve_core::tagger::{FlowEvent, FlowFacts};
use flowsieve_core::{Kind, Message, NONE, Tagger, Time};

use crate::constants::Constants;
use crate::endpoint::{BaseRoundTrips, Effects, Observed, Out, Timer, TransportFacts, TransportRules, Turn};
use crate::open_loop::receiver::OpenLoopReceiver;
use crate::packet::{Packet, Said};

/// The rules of a class of flow.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenLoopRules {
    /// Payload of a full packet, in bytes.
    pub segment: u16,
    /// Bytes of a packet's headers.
    pub header: u16,
}

impl TransportRules for OpenLoopRules {
    type Endpoint = OpenLoopEndpoint;

    fn facts(&self) -> TransportFacts {
        let OpenLoopRules { segment, header } = *self;
        TransportFacts {
            segment,
            header,
            packets_per_answer: None,
            hears_departures: false,
            reads_trims: false,
            acknowledges: false,
            sets_priorities: false,
        }
    }

    /// Nothing of a message waits for anything, and buffers may lose what they like of it.
    fn constants(&self) -> Constants {
        Constants::NONE
    }

    fn build(self: &Arc<Self>, _pauses: bool, _round_trips: Option<Box<BaseRoundTrips>>) -> OpenLoopEndpoint {
        let (receivers, events) = (BTreeMap::new(), VecDeque::new());
        OpenLoopEndpoint { rules: Arc::clone(self), receivers, events }
    }
}

/// A packet of a message; the first word is the packet's number.
const DATA: u8 = Packet::UNANSWERED;
/// The last packet of its message.
const LAST: u8 = Packet::UNANSWERED | 1;

/// The messages of a host and class. Its methods are those of [`crate::Endpoint`].
pub struct OpenLoopEndpoint {
    rules: Arc<OpenLoopRules>,
    /// By message, until it is complete.
    receivers: BTreeMap<u32, OpenLoopReceiver>,
    events: VecDeque<FlowEvent>,
}

impl OpenLoopEndpoint {
    /// Packets leave as their message begins, so no table comes before them.
    pub(crate) fn on_table(&mut self, _now: Time, _tagger: &Tagger) {}

    fn report(&mut self, now: Time, tagger: &mut Tagger, event: FlowEvent) {
        tagger.on_event(&event, now);
        self.events.push_back(event);
    }

    #[inline(never)]
    pub(crate) fn begin<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        message: &Message,
    ) -> Effects {
        let OpenLoopRules { segment, header } = *self.rules;
        let flow = message.id;
        self.report(now, tagger, FlowEvent::MessageStart { flow, message: *message, idle: Time::NEVER });
        let packets = message.bytes.div_ceil(u64::from(segment)) as u32;
        for seq in 0..packets {
            let offset = u64::from(seq) * u64::from(segment);
            let payload = (message.bytes - offset).min(u64::from(segment)) as u16;
            let tag = tagger.tag(|| FlowFacts {
                flow,
                now,
                kind: Kind::Data,
                offset,
                payload: payload.into(),
                remaining: message.bytes,
                ..FlowFacts::of(message)
            });
            out.send(Packet {
                peer: message.to,
                len: payload + header,
                flow,
                message: message.id,
                coflow: message.coflow.unwrap_or(NONE),
                tag,
                code: if seq + 1 == packets { LAST } else { DATA },
                words: [seq, 0, 0, 0, 0, 0],
                ..Packet::default()
            });
        }
        self.report(now, tagger, FlowEvent::MessageEnd { flow, message: *message, effort: None });
        Effects { events: true, turns: false }
    }

    #[inline(never)]
    pub(crate) fn receive<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        _: &mut O,
        packet: &Packet,
    ) -> Effects {
        let message = packet.message;
        let receiver = self.receivers.entry(message).or_default();
        let Some(out_of_order) = receiver.on_data(packet.words[0], packet.code == LAST) else { return Effects::NONE };
        self.receivers.remove(&message);
        self.report(now, tagger, FlowEvent::Delivered { message, out_of_order });
        Effects { events: true, turns: false }
    }

    pub(crate) fn on_timer<O: Out + ?Sized>(&mut self, _: Time, _: &mut Tagger, _: &mut O) -> Effects {
        Effects::NONE
    }

    #[inline]
    pub(crate) fn next_timer(&mut self) -> Timer {
        Timer::NEVER
    }

    #[inline]
    pub(crate) fn turns(&self) -> u32 {
        0
    }

    #[inline]
    pub(crate) fn poll<O: Out + ?Sized>(&mut self, _: Time, _: &mut Tagger, _: &mut O) -> Turn {
        Turn::Unused
    }

    pub(crate) fn poll_event(&mut self) -> Option<FlowEvent> {
        self.events.pop_front()
    }

    pub(crate) fn observe(&self, _: &mut dyn FnMut(u32, Observed<'_>)) {}

    /// Returns `None`: nothing is ever acknowledged.
    pub(crate) fn acknowledged(&self) -> Option<u64> {
        Some(0)
    }

    pub(crate) fn describe(&self, packet: &Packet) -> Said {
        Said::Data { segment: packet.words[0], last: packet.code == LAST, retransmission: false }
    }
}
