//! Taggers: a tagger decides what the sending host writes into a packet for the switches. The built-in ones are in
//! [`crate::taggers`].
//!
//! The transport hands over the facts of every packet as it emits it; a tagger turns them into a [`Tag`]. There is one
//! tagger per host and class of flow.

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
    /// When the packet is emitted.
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
    /// The predicted size of the message in bytes.
    pub predicted: Option<NonZeroU64>,
    /// Predicted bounds of that size.
    pub bounds: Option<Bounds>,
}

impl FlowFacts {
    /// Returns the facts that all packets of a message share.
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

    /// Returns the facts of a packet without payload.
    pub fn control(flow: u32, kind: Kind, now: Time) -> FlowFacts {
        FlowFacts { flow, kind, now, ..FlowFacts::default() }
    }
}

/// A tagger.
pub trait TagPackets: Send {
    /// Returns the tag of a packet that is about to be emitted. Built-in taggers see only packets with payload.
    fn tag(&mut self, facts: &FlowFacts) -> Tag;

    /// Returns how urgent a packet is among those of its own host, 0 the most. A host that serves connections by tag asks
    /// before it emits the packet, perhaps several times. A tagger whose tags do not rank packets at the host returns 0.
    #[inline]
    fn urgency(&self, _facts: &FlowFacts) -> u64 {
        0
    }

    /// Returns when that began which a packet belongs to. Hosts that order packets of one urgency by age ask it with
    /// [`TagPackets::urgency`].
    #[inline]
    fn began(&self, facts: &FlowFacts) -> Time {
        facts.start
    }

    /// Returns where the steps of a message end, if its sender is to measure the time of each.
    #[inline]
    fn steps(&self, _message: &Message) -> Option<Steps> {
        None
    }

    /// Returns whether a message may not begin yet. Its host asks when the message is due, and again after each table.
    #[inline]
    fn holds(&self, _message: &Message) -> bool {
        false
    }

    /// Makes room for this many messages under way at once, so that packets allocate nothing. For hosts with real packets;
    /// without it, memory grows as it is needed.
    fn reserve(&mut self, _messages: usize) {}

    /// Hears of an event of a flow.
    #[inline]
    fn on_event(&mut self, _event: &FlowEvent, _now: Time) {}

    /// Takes a controller's table. A tagger that does not follow it ignores it.
    fn on_table(&mut self, _published: &Published) {}

    /// Reports the bytes sent of each message under way, if a controller asks for them.
    fn sent(&self, _see: &mut dyn FnMut(u32, u64)) {}

    /// Reports what it has adapted; seldom called.
    fn observe(&self, _see: &mut dyn FnMut(Reading)) {}
}

/// A tagger's settings, from which every host builds its own tagger.
pub trait TaggerRules {
    /// The tagger.
    type Tagger: TagPackets;

    /// Builds the tagger of a host that has sent nothing.
    fn build(&self) -> Self::Tagger;
}

/// A tagger that can be cloned is its own rules: each host has a copy, as new as the original.
impl<T: TagPackets + Clone> TaggerRules for T {
    type Tagger = T;

    fn build(&self) -> T {
        self.clone()
    }
}
