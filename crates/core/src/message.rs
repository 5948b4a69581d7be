//! Messages as hosts know them, and what happens to them.
//!
//! A flow is what switches can distinguish: the packets of a connection in one direction. A message is what an application
//! hands over at once. A flow carries one message or several, one after the other.

use std::num::NonZeroU64;

use crate::steps::StepTimes;
use crate::units::Time;

/// A message as the workload gives it to its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The message's number in the run.
    pub id: u32,
    /// The host that it is for.
    pub to: u16,
    /// Class of flow.
    pub class: u8,
    /// Payload in bytes; at least 1.
    pub bytes: u64,
    /// When it was handed over.
    pub start: Time,
    /// When it should have finished.
    pub deadline: Option<Time>,
    /// Its coflow.
    pub coflow: Option<u32>,
    /// Its predicted size in bytes.
    pub predicted: Option<NonZeroU64>,
    /// Predicted bounds of its size.
    pub bounds: Option<Bounds>,
}

/// Predicted bounds of a message's size, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The fewest bytes that it can have.
    pub lower: u64,
    /// The most bytes that it can have.
    pub upper: NonZeroU64,
}

/// The transport's effort until all of a message was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Packets sent again.
    pub retransmissions: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Packets that were taken for lost before the timer.
    pub found_lost: u32,
    /// Duplicate ACKs: those that left the outstanding data unchanged (RFC 5681).
    pub duplicate_acks: u32,
    /// Time spent in timeouts, in microseconds, while nothing had been answered on its connection: for a lost SYN, or for a
    /// lost first window under an estimated timer.
    pub unanswered_us: u32,
    /// Where its time went.
    pub waits: Waits,
}

/// What a sender waited for during a message. All zero if its transport does not measure it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Total time until a retransmission timer fired, each from when the window began to hold the sender back, or else from the
    /// last packet.
    pub timer: Time,
    /// Time during which the message had more to send, and only a handshake or the window held it back, which no mark and
    /// no loss had cut.
    pub window: Time,
    /// The sum of the measured round trips, in whole nanoseconds each.
    pub round_trips: Time,
    /// Number of measured round trips.
    pub samples: u32,
}

/// What a receiver held because something before it was missing, between the ends of two consecutive messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The most at once, in bytes of payload; a last packet that is short counts as a full one.
    pub most_bytes: u64,
    /// Over time, in bytes times nanoseconds.
    pub byte_ns: u64,
}

/// What an endpoint reports of its messages. Taggers, controllers and measurement hear the same events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEvent {
    /// A message waits at its host, because its tagger holds it ([`crate::tagger::TagPackets::holds`]). The host reports this,
    /// and no endpoint.
    HeldBack {
        /// The message.
        message: Message,
    },
    /// A message begins on the flow.
    MessageStart {
        /// The flow.
        flow: u32,
        /// The message.
        message: Message,
        /// How long the flow was idle before; [`Time::NEVER`] for its first message.
        idle: Time,
    },
    /// All of a message is acknowledged; or sent, if the receiver does not answer.
    MessageEnd {
        /// The flow.
        flow: u32,
        /// The message.
        message: Message,
        /// The effort; `None` if the receiver does not answer.
        effort: Option<Effort>,
    },
    /// At the sender, just before the end of a message whose [steps](crate::steps) are measured.
    Steps {
        /// The message's number.
        message: u32,
        /// The time spent in each.
        times: StepTimes,
    },
    /// At the receiver, just before a message is delivered whose packets waited there for earlier ones.
    Reordered {
        /// The message's number.
        message: u32,
        /// How many bytes, and for how long.
        held: Held,
    },
    /// At the receiver: a data packet arrived that had arrived before.
    Unneeded {
        /// The message's number.
        message: u32,
    },
    /// At the receiver, just before it delivers a message. It had to ask for some of its packets again.
    Awaited {
        /// The message's number.
        message: u32,
        /// How often it asked.
        asked: u32,
        /// How long it had heard nothing before it asked, in all.
        time: Time,
    },
    /// All of a message has arrived: the last event of its receiver.
    Delivered {
        /// The message's number.
        message: u32,
        /// First transmissions that arrived after a later one.
        out_of_order: u32,
    },
    /// A host gives a message up that has not arrived: nothing more is sent of it.
    GivenUp {
        /// The message's number.
        message: u32,
    },
    /// The retransmission timer fired.
    Timeout {
        /// The flow.
        flow: u32,
    },
}
