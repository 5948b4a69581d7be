//! A sprayed transport in the manner of Ultra Ethernet: NSCC, its congestion control at the sender (Ultra Ethernet Specification 1.0,
//! §3.6.13), over switches that trim, with paths that the sender chooses packet by packet.
//!
//! The specification was not at hand. Law, constants and answers are those of its authors' simulator, uet-htsim, after the correction
//! towards the specification of 8 August 2025.
//!
//! | module | holds |
//! | --- | --- |
//! | `endpoint` | a host's endpoint: packets, timers and events of its messages |
//! | `sender` | outgoing messages: what is under way, what is sent again, timeouts |
//! | `window` | the law: what a sender may have under way |
//! | `paths` | which path the next packet takes: oblivious, bitmap, REPS, mixed |
//! | `receiver` | incoming messages: which packets are answered |
//! | `header` | the content of packets |
//!
//! What switches do is [`flowsieve_core::hops::trim`].
//!
//! # Paths
//! A sender writes an entropy into each packet, one of [`PathRules::count`]. In a network it is the source port of UDP, so switches
//! hash it with the rest of the five-tuple. Here the flow of a packet ([`Packet::flow`](crate::Packet::flow)) is a hash of its message
//! and its entropy. An answer has the entropy of what it answers.
//!
//! # Choices
//! - A sender counts as under way what it has sent and not heard of. The authors' simulator takes the receiver's count of bytes, which
//!   differs while acknowledgements are lost.
//! - An acknowledgement tells of the 64 packets up to the one that it answers, or from the first missing on.
//! - A sender remembers the path of each packet, so that a timeout is held against that path. The authors' simulator does not.
//! - A timeout has its packet sent again as soon as the window allows. The authors' simulator asks the receiver then, in addition.
//!
//! # Left out
//! RCCC, the receiver's credits, and loss detection without trimming (SLEEK). Messages share no congestion state.

pub mod endpoint;
mod header;
mod paths;
mod receiver;
mod sender;
mod window;

use flowsieve_core::Time;

pub use endpoint::NsccEndpoint;
pub use paths::{PathChoice, PathRules};

/// The rules of a class of flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NsccRules {
    /// Payload of a full packet, in bytes.
    pub segment: u16,
    /// Bytes of a packet's headers; a packet without payload is this long.
    pub header: u16,
    /// Bytes that a packet takes on the wire in addition to its length.
    pub overhead: u16,
    /// The largest base round trip of the network; a sender learns a shorter one.
    pub round_trip: Time,
    /// The delay in queues that senders aim at; above 0.
    pub target: Time,
    /// Bytes of packets for which a receiver holds an answer back.
    pub ack_bytes: u32,
    /// How long a sender waits for the answer to a packet.
    pub rto: Time,
    /// The most full packets that the NIC holds, the one on the line included; at least 1.
    pub nic_packets: u32,
    /// How senders choose paths.
    pub paths: PathRules,
}
