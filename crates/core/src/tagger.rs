//! What a tagger is: it decides what the sending host writes into a packet for the switches. The built-in ones are in
//! [`crate::taggers`].
//!
//! The transport hands over the facts of every packet as it emits it; a tagger turns them into a [`Tag`]. There is one
//! tagger a host and class of flow.

use std::num::NonZeroU64;

use crate::controller::Published;
pub use crate::message::FlowEvent;
use crate::message::{Bounds, Message};
use crate::meta::Kind;
use crate::readings::Reading;
use crate::steps::Steps;
use crate::tag::Tag;
use crate::units::Time;

/// What the transport knows of a packet as it emits it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowFacts {
    /// The flow, as in [`crate::Meta::flow`].
    pub flow: u32,
    /// The message's number in the run.
    pub message: u32,
    /// The coflow of the message.
    pub coflow: Option<u32>,
    /// The instant.
    pub now: Time,
    /// When the message was handed to its sender.
    pub start: Time,
    /// What the packet is for.
    pub kind: Kind,
    /// Bytes of the message before this packet's payload.
    pub offset: u64,
    /// Bytes of this packet's payload.
    pub payload: u32,
    /// Bytes of the message.
    pub size: u64,
    /// Bytes of the message that are not acknowledged yet, selectively or not.
    pub remaining: u64,
    /// Whether the payload was sent before.
    pub retransmission: bool,
    /// Timeouts of the message so far.
    pub timeouts: u32,
    /// When the message should have finished.
    pub deadline: Option<Time>,
    /// The size of the message in bytes, as somebody predicted it.
    pub predicted: Option<NonZeroU64>,
    /// Bounds of that size, as somebody predicted them.
    pub bounds: Option<Bounds>,
}

impl FlowFacts {
    /// What a packet of a message has from the message itself.
    #[inline(always)]
    pub fn of(message: &Message) -> FlowFacts {
        FlowFacts {
            message: message.id,
            coflow: message.coflow,
            start: message.start,
            size: message.bytes,
            deadline: message.deadline,
            predicted: message.predicted,
            bounds: message.bounds,
            ..FlowFacts::default()
        }
    }

    /// Those of a packet without payload.
    pub fn control(flow: u32, kind: Kind, now: Time) -> FlowFacts {
        FlowFacts { flow, kind, now, ..FlowFacts::default() }
    }
}

/// A tagger.
pub trait TagPackets: Send {
    /// The tag of a packet that is about to be emitted. Built-in taggers see packets with payload alone.
    fn tag(&mut self, facts: &FlowFacts) -> Tag;

    /// Where the steps of a message end, if its sender is to measure the time of each.
    #[inline]
    fn steps(&self, _message: &Message) -> Option<Steps> {
        None
    }

    /// Something happened to a flow.
    #[inline]
    fn on_event(&mut self, _event: &FlowEvent, _now: Time) {}

    /// A controller's table arrives. A tagger that does not follow it passes it over.
    fn on_table(&mut self, _published: &Published) {}

    /// Gives the bytes sent of each message under way, if a controller asks for them.
    fn sent(&self, _see: &mut dyn FnMut(u32, u64)) {}

    /// Says what it has adapted; seldom asked.
    fn observe(&self, _see: &mut dyn FnMut(Reading)) {}
}

/// What a tagger is set to, of which every host makes its own.
pub trait TaggerRules {
    /// The tagger.
    type Tagger: TagPackets;

    /// The tagger of a host that has sent nothing.
    fn build(&self) -> Self::Tagger;
}
