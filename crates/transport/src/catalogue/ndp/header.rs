//! The content of packets (§3.2).

use flowsieve_core::{Kind, NONE, Tag};

use crate::packet::Packet;

/// The priority of data. All else has the higher one.
const OF_DATA: u8 = 1;

/// The content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// A piece of a message.
    Data(Piece),
    /// A sender waits for a PULL, and would send this piece next.
    Ask(Piece),
    /// This packet has arrived.
    Ack {
        /// The packet.
        packet: u32,
    },
    /// This packet's payload was cut off.
    Nack {
        /// The packet.
        packet: u32,
    },
    /// Lets packets come.
    Pull {
        /// How many PULLs the message has had, this one included.
        count: u32,
    },
}

/// A piece of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its number in the message.
    pub(super) packet: u32,
    /// The packets of the message.
    pub(super) packets: u32,
    /// Whether it was sent before.
    pub(super) again: bool,
}

const DATA: u8 = 0;
const ASK: u8 = 1;
const ACK: u8 = 2;
const NACK: u8 = 3;
const PULL: u8 = 4;

impl Header {
    /// Reads a packet; `None`: it is not NDP's.
    pub(super) fn read(packet: &Packet) -> Option<Header> {
        let [word, packets, again, ..] = packet.words;
        let piece = Piece { packet: word, packets, again: again != 0 };
        Some(match packet.code {
            DATA => Header::Data(piece),
            ASK => Header::Ask(piece),
            ACK => Header::Ack { packet: word },
            NACK => Header::Nack { packet: word },
            PULL => Header::Pull { count: word },
            _ => return None,
        })
    }

    /// Returns a packet of `len` bytes about a message.
    pub(super) fn write(self, (peer, message): (u16, u32), coflow: Option<u32>, len: u16) -> Packet {
        let of = |Piece { packet, packets, again }: Piece| [packet, packets, again.into(), 0, 0, 0];
        let (code, words) = match self {
            Header::Data(piece) => (DATA, of(piece)),
            Header::Ask(piece) => (ASK, of(piece)),
            Header::Ack { packet } => (ACK, [packet, 0, 0, 0, 0, 0]),
            Header::Nack { packet } => (NACK, [packet, 0, 0, 0, 0, 0]),
            Header::Pull { count } => (PULL, [count, 0, 0, 0, 0, 0]),
        };
        let (kind, priority) = match code {
            DATA => (Kind::Data, OF_DATA),
            ACK => (Kind::Ack, 0),
            _ => (Kind::Control, 0),
        };
        let (coflow, tag) = (coflow.unwrap_or(NONE), Tag::with_priority(priority));
        Packet { peer, len, flow: message, message, coflow, kind, tag, code, words, ..Packet::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read__what_was_written() {
        let piece = Piece { packet: 3, packets: 9, again: true };
        let data = Header::Data(piece).write((7, 5), Some(2), 1_500);
        assert_eq!((data.kind, data.tag.priority(), data.coflow), (Kind::Data, 1, 2));
        assert_eq!(Header::read(&data), Some(Header::Data(piece)));
        let others =
            [Header::Ask(piece), Header::Ack { packet: 4 }, Header::Nack { packet: 4 }, Header::Pull { count: 8 }];
        for header in others {
            let packet = header.write((7, 5), None, 40);
            assert_eq!((packet.kind != Kind::Data, packet.tag.priority(), packet.message), (true, 0, 5));
            assert_eq!(Header::read(&packet), Some(header));
        }
        assert_eq!(Header::read(&Packet { code: 5, ..Packet::default() }), None);
    }
}
