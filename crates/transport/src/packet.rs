//! A packet as its two ends see it.

use flowsieve_core::meta::Ecn;
use flowsieve_core::{Kind, NONE, Tag};

/// A packet between an endpoint and its host.
///
/// A host carries it to the other end as it is, but for what ports on the way do to it: they may mark it, or lose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The host at the other end: that it is for, where it is sent; that it is from, where it arrives.
    pub peer: u16,
    /// Bytes with headers, without preamble and gap.
    pub len: u16,
    /// The flow; packets of both directions have it.
    pub flow: u32,
    /// The message that it is about. Whoever loses it may ask.
    pub message: u32,
    /// The coflow of that message, or [`NONE`].
    pub coflow: u32,
    /// What it is for.
    pub kind: Kind,
    /// Its ECN field.
    pub ecn: Ecn,
    /// What the tagger wrote.
    pub tag: Tag,
    /// What it says, as a number of its transport's own, below 128; or that with [`Packet::UNANSWERED`].
    pub code: u8,
    /// What else it says: words of its transport's own.
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
    /// In its code: nobody answers it, and nobody sends it again. Its message never finishes without it.
    pub const UNANSWERED: u8 = 1 << 7;

    /// Whether its code says so.
    pub fn is_unanswered(&self) -> bool {
        self.code & Packet::UNANSWERED != 0
    }
}

/// What a packet says, in the words of traces and captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A piece of a message.
    Data {
        /// The piece, counted on its flow from 0.
        segment: u32,
        /// It is the last of its message.
        last: bool,
        /// It was sent before.
        retransmission: bool,
    },
    /// What has arrived.
    Ack {
        /// Every piece below this number has arrived.
        segment: u32,
        /// Pieces above that have arrived, from the first to one past the last; empty if there are none.
        sack: (u32, u32),
        /// The acknowledged packets were marked.
        echo: bool,
        /// What caused it had arrived before.
        duplicate: bool,
    },
    /// Opens a connection.
    Syn,
    /// Answers that.
    SynAck,
    /// Asks for an answer, and carries nothing.
    Probe,
    /// Something that traces have no word for.
    Own,
}
