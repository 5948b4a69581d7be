//! A packet as its two ends see it.

use flowsieve_core::meta::Ecn;
use flowsieve_core::{Kind, NONE, Tag};

/// A packet between an endpoint and its host.
///
/// A host carries it to the other end unchanged, except that ports on the path may mark it, or lose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The host at the other end: the destination when it is sent, the source when it arrives.
    pub peer: u16,
    /// Bytes with headers, without preamble and gap.
    pub len: u16,
    /// The flow; packets of both directions have it. Switches take it for the five-tuple: by it ECMP finds a path. A sender that
    /// chooses paths gives it a part of its own ([`crate::nscc`]), as a host does by the source port of UDP.
    pub flow: u32,
    /// The message that it is about. A host that loses the packet may need it.
    pub message: u32,
    /// The coflow of that message, or [`NONE`].
    pub coflow: u32,
    /// What it is for.
    pub kind: Kind,
    /// Its ECN field.
    pub ecn: Ecn,
    /// What the tagger wrote.
    pub tag: Tag,
    /// Message type, defined by the transport (0 to 127), optionally with the [`Packet::UNANSWERED`] bit.
    pub code: u8,
    /// Payload, defined by the transport.
    pub words: [u32; 6],
}

impl Default for Packet {
    fn default() -> Packet {
        Packet {
            peer: 0,
            len: 0,
            flow: 0,
            message: NONE,
            coflow: NONE,
            kind: Kind::Data,
            ecn: Ecn::NotCapable,
            tag: Tag::default(),
            code: 0,
            words: [0; 6],
        }
    }
}

impl Packet {
    /// Bit of the code: the packet is not answered and not sent again. Its message never finishes without it.
    pub const UNANSWERED: u8 = 1 << 7;
}

/// The content of a packet, in the terms of traces and captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A piece of a message.
    Data {
        /// The piece, counted on its flow from 0.
        segment: u32,
        /// Whether it is the last of its message.
        last: bool,
        /// Whether it was sent before.
        retransmission: bool,
    },
    /// What has arrived.
    Ack {
        /// Every piece below this number has arrived.
        segment: u32,
        /// Pieces above that have arrived, from the first to one past the last; empty if there are none.
        sack: (u32, u32),
        /// Whether the acknowledged packets were marked.
        echo: bool,
        /// Whether the packet that caused it had arrived before.
        duplicate: bool,
    },
    /// Opens a connection.
    Syn,
    /// Answers a SYN.
    SynAck,
    /// Asks for an answer, and carries nothing.
    Probe,
    /// Something for which traces have no term.
    Own,
}
