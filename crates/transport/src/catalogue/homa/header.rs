//! The content of packets: the four of the paper (§3.1), and a sender's question.

use std::num::NonZeroU64;
use std::ops::Range;

use flowsieve_core::{Kind, NONE, Tag};

use super::seen::Words;
use crate::packet::Packet;

/// The content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// A piece of a message.
    Data(DataHeader),
    /// The receiver lets the message send its packets before `before`, with this priority.
    Grant {
        /// One past the last packet that may be sent.
        before: u32,
        /// The priority of scheduled packets from now on.
        level: u8,
    },
    /// The receiver asks for packets, sent before or not.
    Resend {
        /// The first one.
        from: u32,
        /// One past the last one.
        to: u32,
    },
    /// The sender asks what the receiver has: in an RPC, a client's RESEND for the response.
    Ask,
    /// Answers RESEND by "later", and a question by what the receiver has.
    Busy(Have),
}

/// What a host says of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Have {
    /// Not all of it yet.
    Part,
    /// All of it.
    All,
    /// It has given the message up.
    GaveUp,
}

/// The header of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataHeader {
    /// The packet's number in its message.
    pub(super) packet: u32,
    /// Bytes of the message.
    pub(super) size: u64,
    /// Its predicted size.
    pub(super) predicted: Option<NonZeroU64>,
    /// The number of its packets that need no grant.
    pub(super) unscheduled: u32,
    /// Whether it was sent before.
    pub(super) retransmission: bool,
    /// Whether the message is a request of a host that has many out.
    pub(super) marked: bool,
}

const DATA: u8 = 0;
const GRANT: u8 = 1;
const RESEND: u8 = 2;
const ASK: u8 = 3;
const BUSY: u8 = 4;
/// A bit of the code of data: sent before.
const AGAIN: u8 = 8;
/// A bit of the code of data: of a marked request.
const MARKED: u8 = 16;

/// The first word of cutoffs in packets without payload.
const FIRST_OF_CUTOFFS: usize = 2;

impl Header {
    /// Reads a packet; `None`: it is not Homa's.
    pub(super) fn read(packet: &Packet) -> Option<Header> {
        let [a, b, c, d, e, f] = packet.words;
        let long = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        Some(match packet.code & !(AGAIN | MARKED) {
            DATA => Header::Data(DataHeader {
                packet: a,
                size: long(b, c),
                predicted: NonZeroU64::new(long(d, e)),
                unscheduled: f,
                retransmission: packet.code & AGAIN != 0,
                marked: packet.code & MARKED != 0,
            }),
            GRANT => Header::Grant { before: a, level: b as u8 },
            RESEND => Header::Resend { from: a, to: b },
            ASK => Header::Ask,
            BUSY => Header::Busy(match a {
                0 => Have::Part,
                1 => Have::All,
                _ => Have::GaveUp,
            }),
            _ => return None,
        })
    }

    /// Returns the code and the words of a packet.
    fn content(self) -> (u8, [u32; 6]) {
        match self {
            Header::Data(DataHeader { packet, size, predicted, unscheduled, retransmission, marked }) => {
                let predicted = predicted.map_or(0, NonZeroU64::get);
                let [size, predicted] = [size, predicted].map(|long| [long as u32, (long >> 32) as u32]);
                let words = [packet, size[0], size[1], predicted[0], predicted[1], unscheduled];
                let bits =
                    [(retransmission, AGAIN), (marked, MARKED)].map(|(is_set, bit)| if is_set { bit } else { 0 });
                (DATA | bits[0] | bits[1], words)
            }
            Header::Grant { before, level } => (GRANT, [before, level.into(), 0, 0, 0, 0]),
            Header::Resend { from, to } => (RESEND, [from, to, 0, 0, 0, 0]),
            Header::Ask => (ASK, [0; 6]),
            Header::Busy(have) => (BUSY, [have as u32, 0, 0, 0, 0, 0]),
        }
    }

    /// Returns a packet without payload about a message, with the cutoffs of the host that sends it. It has the highest priority.
    pub(super) fn control(self, (peer, message): (u16, u32), len: u16, cutoffs: Words) -> Packet {
        let (code, mut words) = self.content();
        words[FIRST_OF_CUTOFFS..].copy_from_slice(&cutoffs);
        Packet { peer, len, flow: message, message, kind: Kind::Control, code, words, ..Packet::default() }
    }

    /// Returns the cutoffs in a packet without payload.
    pub(super) fn cutoffs(packet: &Packet) -> Words {
        let [_, _, cutoffs @ ..] = packet.words;
        cutoffs
    }

    /// Returns the RESEND for these packets.
    pub(super) fn resend(packets: Range<u32>) -> Header {
        Header::Resend { from: packets.start, to: packets.end }
    }
}

impl DataHeader {
    /// Returns a packet of data.
    pub(super) fn write(self, (peer, message): (u16, u32), coflow: Option<u32>, len: u16, level: u8) -> Packet {
        let (code, words) = Header::Data(self).content();
        let (coflow, tag) = (coflow.unwrap_or(NONE), Tag::with_priority(level));
        Packet { peer, len, flow: message, message, coflow, tag, code, words, ..Packet::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read__what_was_written() {
        let others = [
            Header::Grant { before: 9, level: 5 },
            Header::resend(3..7),
            Header::Ask,
            Header::Busy(Have::Part),
            Header::Busy(Have::All),
            Header::Busy(Have::GaveUp),
        ];
        for header in others {
            let packet = header.control((7, 3), 44, [5, 6, 7, 8]);
            assert_eq!(Header::cutoffs(&packet), [5, 6, 7, 8]);
            assert_eq!((Header::read(&packet), packet.peer, packet.message, packet.len), (Some(header), 7, 3, 44));
            assert_eq!((packet.kind, packet.tag.priority()), (Kind::Control, 0));
        }
        for (bits, predicted) in
            [([false, false], None), ([true, false], NonZeroU64::new(1 << 40)), ([false, true], None)]
        {
            let [retransmission, marked] = bits;
            let header = DataHeader { packet: 2, size: 5 << 32 | 1, predicted, unscheduled: 7, retransmission, marked };
            let packet = header.write((7, 3), Some(4), 1_500, 6);
            assert_eq!(Header::read(&packet), Some(Header::Data(header)));
            assert_eq!((packet.kind, packet.tag.priority(), packet.coflow), (Kind::Data, 6, 4));
        }
        assert_eq!(Header::read(&Packet { code: 5, ..Packet::default() }), None);
    }
}
