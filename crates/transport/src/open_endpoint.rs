//! A host's messages that are sent open loop: every packet at once, whatever the backlog, and no answer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use flowsieve_core::tagger::{FlowEvent, FlowFacts, Tagger};
use flowsieve_core::{Kind, Meta, NONE, Time};

use crate::endpoint::{Effects, HostEvent, Out, Timer};
use crate::header::Header;
use crate::messages::Message;
use crate::open_loop::OpenLoopReceiver;
use crate::packet::{Body, Packet};
use crate::receiver::Arrival;
use crate::tcp_endpoint::stamp;

/// What holds at every host.
#[derive(Clone, Debug)]
pub struct OpenLoopRules {
    /// Payload of a full packet, in bytes.
    pub segment: u16,
    /// Bytes of headers.
    pub header: u16,
    /// Class of flow.
    pub class: u8,
}

/// The messages of a host and class.
pub struct OpenLoopEndpoint {
    rules: Arc<OpenLoopRules>,
    host: u16,
    /// By message.
    receivers: BTreeMap<u32, OpenLoopReceiver>,
    events: VecDeque<HostEvent>,
}

impl OpenLoopEndpoint {
    /// A host's.
    pub fn new(rules: Arc<OpenLoopRules>, host: u16) -> OpenLoopEndpoint {
        OpenLoopEndpoint { rules, host, receivers: BTreeMap::new(), events: VecDeque::new() }
    }

    /// As [`crate::Endpoint::begin`].
    #[inline(never)]
    pub(crate) fn begin<O: Out + ?Sized>(
        &mut self,
        now: Time,
        tagger: &mut Tagger,
        out: &mut O,
        dst: u16,
        message: &Message,
    ) -> Effects {
        let OpenLoopRules { segment, header, class } = *self.rules;
        let Message { id, bytes, .. } = *message;
        let begins = FlowEvent::MessageStart { flow: id, message: id, size: bytes, idle: Time::NEVER };
        tagger.on_event(&begins, now);
        self.events.push_back(HostEvent::Begun { flow: id, message: *message });
        let packets = bytes.div_ceil(u64::from(segment)) as u32;
        for seq in 0..packets {
            let offset = u64::from(seq) * u64::from(segment);
            let payload = (bytes - offset).min(u64::from(segment)) as u16;
            let tag = tagger.tag(|| FlowFacts {
                flow: id,
                message: id,
                coflow: message.coflow,
                start: message.start,
                now,
                kind: Kind::Data,
                offset,
                payload: payload.into(),
                size: bytes,
                remaining: bytes,
                retransmission: false,
                timeouts: 0,
                deadline: message.deadline,
            });
            let meta = Meta {
                flow: id,
                rank: tag.rank,
                priority: tag.priority,
                len: payload + header,
                dst,
                ..Meta::default()
            };
            let header = Header::Data { seq, message: id, last: seq + 1 == packets, retransmission: false };
            let body = Body { header, sender: NONE, receiver: NONE, stamp: stamp(now), src: self.host, class };
            out.send(Packet { meta, body });
        }
        tagger.on_event(&FlowEvent::MessageEnd { flow: id, message: id, size: bytes }, now);
        self.events.push_back(HostEvent::Ended { flow: id, message: *message, acknowledged: None });
        Effects { events: true, sends: false }
    }

    /// As [`crate::Endpoint::receive`].
    #[inline(never)]
    pub(crate) fn receive<O: Out + ?Sized>(&mut self, _: Time, _: &mut Tagger, _: &mut O, packet: &Packet) -> Effects {
        let body = &packet.body;
        let Header::Data { seq, message, last, retransmission } = body.header else { return Effects::NONE };
        let data = Arrival { seq, message, last, retransmission, marked: false, stamp: body.stamp };
        let Some(out_of_order) = self.receivers.entry(message).or_default().on_data(&data) else { return Effects::NONE };
        self.receivers.remove(&message);
        self.events.push_back(HostEvent::Delivered { message, out_of_order });
        Effects { events: true, ..Effects::NONE }
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
    pub(crate) fn poll<O: Out + ?Sized>(&mut self, _: Time, _: &mut Tagger, _: &mut O) {}

    pub(crate) fn poll_event(&mut self) -> Option<HostEvent> {
        self.events.pop_front()
    }

    pub(crate) fn observe(&self, _: &mut dyn FnMut(u32, &[(&'static str, f64)])) {}
}
