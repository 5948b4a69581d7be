//! What packets say between the two ends of a connection.
//!
//! Sequence numbers count segments of the connection: a segment is never cut anew, so a retransmission carries what the
//! first transmission carried. Left out: windows advertised by the receiver, the further blocks of a SACK, options' bytes,
//! the closing of connections.

use flowsieve_core::Time;

use crate::packet::Packet;

/// What a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Opens a connection.
    Syn,
    /// Answers a SYN.
    SynAck,
    /// One segment of a message.
    Data {
        /// Its number on the connection.
        seq: u32,
        /// The message that it belongs to.
        message: u32,
        /// It is the last of its message.
        last: bool,
        /// It was sent before.
        retransmission: bool,
    },
    /// An acknowledgement.
    Ack {
        /// Every segment below this number has arrived.
        cumulative: u32,
        /// And these: the run that the packet which caused the ACK lies in, as SACK's first block (RFC 2018 §4; with
        /// `duplicate` the second, RFC 2883 §4). Empty where the packet is below `cumulative`.
        block: (u32, u32),
        /// The acknowledged packets were marked (RFC 8257 §3.2).
        marked: bool,
        /// The packet that caused it had arrived before: a D-SACK block (RFC 2883).
        duplicate: bool,
    },
    /// pFabric's probe: asks for an ACK and carries nothing (SIGCOMM 2013 §4.3).
    Probe,
}

/// Wrapping nanoseconds, as timestamps carry them.
#[inline]
pub(super) fn stamp(now: Time) -> u32 {
    (now.0 / 1_000) as u32
}

/// What a packet's code says: its lowest bits the kind of header, ...
mod code {
    pub(super) const DATA: u8 = 0;
    pub(super) const ACK: u8 = 1;
    pub(super) const SYN: u8 = 2;
    pub(super) const SYN_ACK: u8 = 3;
    pub(super) const PROBE: u8 = 4;
    /// ... and the others what is true of it.
    pub(super) const KINDS: u8 = 7;
    pub(super) const LAST_OR_MARKED: u8 = 8;
    pub(super) const AGAIN: u8 = 16;
}

/// A packet's words beside its header: the sender's place among the connections of its host, the receiver's among those of
/// its own where that is known, and when the data packet was sent, which an ACK echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    pub(super) sender: u32,
    pub(super) receiver: u32,
    pub(super) stamp: u32,
}

impl Header {
    /// The packet that says this, between these places of sender and receiver.
    #[inline(always)]
    pub(super) fn write(self, [sender, receiver]: [u32; 2], stamp: u32, packet: Packet) -> Packet {
        let flag = |set, bit| if set { bit } else { 0 };
        let words = |[a, b, c]: [u32; 3]| [a, b, c, sender, receiver, stamp];
        match self {
            Header::Data { seq, message, last, retransmission } => {
                let code = code::DATA | flag(last, code::LAST_OR_MARKED) | flag(retransmission, code::AGAIN);
                Packet { message, code, words: words([seq, 0, 0]), ..packet }
            }
            Header::Ack { cumulative, block: (from, to), marked, duplicate } => {
                let code = code::ACK | flag(marked, code::LAST_OR_MARKED) | flag(duplicate, code::AGAIN);
                Packet { code, words: words([cumulative, from, to]), ..packet }
            }
            Header::Syn => Packet { code: code::SYN, words: words([0; 3]), ..packet },
            Header::SynAck => Packet { code: code::SYN_ACK, words: words([0; 3]), ..packet },
            Header::Probe => Packet { code: code::PROBE, words: words([0; 3]), ..packet },
        }
    }

    /// What a packet says; `None`: nothing that a TCP says.
    #[inline(always)]
    pub(super) fn read(packet: &Packet) -> Option<Header> {
        let [a, b, c, ..] = packet.words;
        let (flag, again) = (packet.code & code::LAST_OR_MARKED != 0, packet.code & code::AGAIN != 0);
        Some(match packet.code & code::KINDS {
            code::DATA => Header::Data { seq: a, message: packet.message, last: flag, retransmission: again },
            code::ACK => Header::Ack { cumulative: a, block: (b, c), marked: flag, duplicate: again },
            code::SYN => Header::Syn,
            code::SYN_ACK => Header::SynAck,
            code::PROBE => Header::Probe,
            _ => return None,
        })
    }
}

impl Beside {
    #[inline(always)]
    pub(super) fn read(packet: &Packet) -> Beside {
        let [.., sender, receiver, stamp] = packet.words;
        Beside { sender, receiver, stamp }
    }
}

/// Bytes of IPv4 and TCP headers without options; every packet has them, and an ACK is nothing else.
pub const HEADER_BYTES: u16 = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read__what_was_written() {
        for flags in [(false, false), (false, true), (true, false), (true, true)] {
            let headers = [
                Header::Data { seq: 7, message: 9, last: flags.0, retransmission: flags.1 },
                Header::Ack { cumulative: 5, block: (8, 12), marked: flags.0, duplicate: flags.1 },
                Header::Syn,
                Header::SynAck,
                Header::Probe,
            ];
            for header in headers {
                let packet = header.write([3, 4], 77, Packet::default());
                assert_eq!(Header::read(&packet), Some(header));
                assert_eq!(Beside::read(&packet), Beside { sender: 3, receiver: 4, stamp: 77 });
            }
        }
        assert_eq!(Header::read(&Packet { code: 5, ..Packet::default() }), None);
    }
}
