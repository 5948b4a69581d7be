//! Messages as hosts know them, and what happens to them.
//!
//! A flow is what switches can tell apart: the packets of a connection in one direction. A message is what an application
//! hands over at once; a flow carries one message or several, one after the other.

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
    /// Its size in bytes, as somebody predicted it.
    pub predicted: Option<NonZeroU64>,
    /// Bounds of its size, as somebody predicted them.
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

/// What it took until all of a message was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Packets sent again.
    pub retransmissions: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Packets that were taken for lost before the timer.
    pub found_lost: u32,
    /// Duplicate ACKs: what is outstanding has not changed by them (RFC 5681).
    pub duplicate_acks: u32,
    /// How long it waited, in timeouts, while nothing had been answered on its connection: for a lost SYN or a lost first
    /// window under an estimated timer, in microseconds.
    pub unanswered_us: u32,
    /// Where its time went.
    pub waits: Waits,
}

/// What a sender waited for, of a message's time. All zero if its transport does not measure it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// From the last packet until a retransmission timer fired, in all.
    pub timer: Time,
    /// The message had more to send, and only a handshake or the window held it back, which no mark and no loss had cut.
    pub window: Time,
    /// The sum of the round trips that were measured, in whole nanoseconds each.
    pub round_trips: Time,
    /// How many were measured.
    pub samples: u32,
}

/// What a receiver held because something before it was missing, from the end of one message to that of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The most at once, in bytes of payload; a last packet that is short counts as a full one.
    pub most_bytes: u64,
    /// Over time, in bytes times nanoseconds.
    pub byte_ns: u64,
}

/// What an endpoint reports of its messages. Taggers, controllers and measurement hear the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEvent {
    /// A message begins on the flow.
    MessageStart {
        /// The flow.
        flow: u32,
        /// The message.
        message: Message,
        /// How long the flow was idle before; [`Time::NEVER`] for its first message.
        idle: Time,
    },
    /// All of a message is acknowledged; of one that nobody answers, it is sent.
    MessageEnd {
        /// The flow.
        flow: u32,
        /// The message.
        message: Message,
        /// What it took; `None` where nobody answers.
        effort: Option<Effort>,
    },
    /// At the sender, just before a message ends whose [steps](crate::steps) are measured.
    Steps {
        /// The message's number.
        message: u32,
        /// How long it was in each.
        times: StepTimes,
    },
    /// At the receiver, just before a message is delivered: packets waited there for earlier ones.
    Reordered {
        /// The message's number.
        message: u32,
        /// How many bytes, and for how long.
        held: Held,
    },
    /// At the receiver: a packet of data arrived that had arrived before.
    Unneeded {
        /// The message's number.
        message: u32,
    },
    /// All of a message has arrived: the last event of its receiver.
    Delivered {
        /// The message's number.
        message: u32,
        /// First transmissions that arrived after a later one.
        out_of_order: u32,
    },
    /// The retransmission timer fired.
    Timeout {
        /// The flow.
        flow: u32,
    },
}
