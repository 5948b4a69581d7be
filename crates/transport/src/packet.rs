//! A packet as its two ends see it: what switches see of it ([`Meta`]), and what only its transport understands.

use flowsieve_core::{Meta, NONE};

use crate::header::Header;

/// What only the ends of a packet see, in half a cache line: whoever carries it looks at [`Body::src`] and [`Body::class`].
#[derive(Clone, Copy, Debug)]
pub struct Body {
    pub(crate) header: Header,
    /// Three words of the transport's own beside its header. TCP: the sender's place among the connections of its host, ...
    pub(crate) sender: u32,
    /// ... the receiver's among those of its own, as soon as the sender has learned it, ...
    pub(crate) receiver: u32,
    /// ... and when the data packet was sent, in wrapping nanoseconds; an ACK echoes it.
    pub(crate) stamp: u32,
    /// The host that sent the packet.
    pub src: u16,
    /// Class of flow.
    pub class: u8,
}

/// A packet between an endpoint and its host.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// What switches see.
    pub meta: Meta,
    /// The rest.
    pub body: Body,
}

/// What a header says, for traces and captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A piece of a message.
    Data {
        /// The message.
        message: u32,
        /// The piece, counted on its flow.
        segment: u32,
        /// It is the message's last.
        last: bool,
        /// It was sent before.
        retransmission: bool,
    },
    /// What has arrived.
    Ack {
        /// Every piece below has.
        segment: u32,
        /// And these, if they are any.
        sack: (u32, u32),
        /// With a mark.
        echo: bool,
        /// What caused it had arrived before.
        duplicate: bool,
    },
    /// Opens a connection.
    Syn,
    /// Answers that.
    SynAck,
    /// Asks for an answer.
    Probe,
    /// Something else, by its transport's number for it.
    Own(u8),
}

impl Body {
    /// Words of a transport of the user's own.
    pub fn own(src: u16, class: u8, code: u8, words: [u32; 6]) -> Body {
        let [a, b, c, sender, receiver, stamp] = words;
        Body { header: Header::Own { code, words: [a, b, c] }, sender, receiver, stamp, src, class }
    }

    /// The code and the words of [`Body::own`].
    pub fn as_own(&self) -> Option<(u8, [u32; 6])> {
        let Header::Own { code, words: [a, b, c] } = self.header else { return None };
        Some((code, [a, b, c, self.sender, self.receiver, self.stamp]))
    }

    /// What it says.
    pub fn said(&self) -> Said {
        match self.header {
            Header::Data { seq, message, last, retransmission } => {
                Said::Data { message, segment: seq, last, retransmission }
            }
            Header::Ack { cumulative, block, marked, duplicate } => {
                Said::Ack { segment: cumulative, sack: block, echo: marked, duplicate }
            }
            Header::Syn => Said::Syn,
            Header::SynAck => Said::SynAck,
            Header::Probe => Said::Probe,
            Header::Own { code, .. } => Said::Own(code),
        }
    }

    /// The message that can never finish without this packet, as nobody will send it again.
    pub fn doomed(&self) -> Option<u32> {
        match self.header {
            Header::Data { message, .. } if self.sender == NONE => Some(message),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body__is_half_a_cache_line() {
        assert_eq!(size_of::<Body>(), 32);
    }
}
