//! The content of packets.

use flowsieve_core::hash::mix;
use flowsieve_core::meta::Ecn;
use flowsieve_core::{Kind, NONE, Tag};

use crate::packet::Packet;

/// The priority of data. All else has the higher one.
const OF_DATA: u8 = 1;

/// The content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// A piece of a message.
    Data {
        /// Its number in the message.
        packet: u32,
        /// The packets of the message.
        packets: u32,
        /// Whether it was sent before.
        again: bool,
        /// Whether its sender wants an answer at once.
        asks: bool,
    },
    /// Packets have arrived.
    Ack {
        /// All before this one.
        next: u32,
        /// A bit for each of 64 packets, and the first of these.
        more: (u32, u64),
        /// The one that caused this.
        packet: u32,
        /// Whether that one was sent before.
        again: bool,
        /// Whether it came with a mark.
        marked: bool,
    },
    /// This packet's payload was cut off.
    Nack {
        /// The packet.
        packet: u32,
        /// Whether the switch before the receiver did it: no other path would have been better.
        last_hop: bool,
        /// Whether it came with a mark.
        marked: bool,
    },
}

const DATA: u8 = 0;
const ACK: u8 = 1;
const NACK: u8 = 2;

impl Header {
    /// Reads a packet and its entropy; `None`: it is not NSCC's.
    pub(super) fn read(packet: &Packet) -> Option<(Header, u16)> {
        let [number, second, first, low, high, last] = packet.words;
        let bit = |place: u32| last >> place & 1 != 0;
        let header = match packet.code {
            DATA => Header::Data { packet: number, packets: second, again: bit(16), asks: bit(17) },
            ACK => {
                let more = (first, u64::from(high) << 32 | u64::from(low));
                Header::Ack { next: second, more, packet: number, again: bit(16), marked: bit(17) }
            }
            NACK => Header::Nack { packet: number, last_hop: bit(16), marked: bit(17) },
            _ => return None,
        };
        Some((header, last as u16))
    }

    /// Returns a packet of `len` bytes about a message.
    pub(super) fn write(self, (peer, message): (u16, u32), entropy: u16, coflow: Option<u32>, len: u16) -> Packet {
        let last = |low: bool, high: bool| u32::from(entropy) | u32::from(low) << 16 | u32::from(high) << 17;
        let (code, kind, ecn, priority) = match self {
            Header::Data { .. } => (DATA, Kind::Data, Ecn::Capable, OF_DATA),
            Header::Ack { .. } => (ACK, Kind::Ack, Ecn::NotCapable, 0),
            Header::Nack { .. } => (NACK, Kind::Control, Ecn::NotCapable, 0),
        };
        let words = match self {
            Header::Data { packet, packets, again, asks } => [packet, packets, 0, 0, 0, last(again, asks)],
            Header::Ack { next, more: (first, bits), packet, again, marked } => {
                [packet, next, first, bits as u32, (bits >> 32) as u32, last(again, marked)]
            }
            Header::Nack { packet, last_hop, marked } => [packet, 0, 0, 0, 0, last(last_hop, marked)],
        };
        let flow = (mix(u64::from(message) << 16 | u64::from(entropy)) >> 32) as u32;
        let (coflow, tag) = (coflow.unwrap_or(NONE), Tag::with_priority(priority));
        Packet { peer, len, flow, message, coflow, kind, ecn, tag, code, words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read__what_was_written() {
        let data = Header::Data { packet: 3, packets: 9, again: true, asks: false };
        let more = (5, 1 << 63 | 5);
        let headers = [
            data,
            Header::Ack { next: 4, more, packet: 68, again: false, marked: true },
            Header::Nack { packet: 4, last_hop: true, marked: false },
        ];
        for header in headers {
            let packet = header.write((7, 5), 0xffee, Some(2), 40);
            assert_eq!((packet.message, packet.coflow, packet.peer), (5, 2, 7));
            assert_eq!(packet.tag.priority() == 1, header == data);
            assert_eq!(packet.ecn == Ecn::Capable, header == data);
            assert_eq!(Header::read(&packet), Some((header, 0xffee)));
        }
        assert_eq!(Header::read(&Packet { code: 3, ..Packet::default() }), None);
    }

    #[test]
    fn flow__differs_by_message_and_entropy() {
        let of = |message, entropy| {
            Header::Nack { packet: 0, last_hop: false, marked: false }.write((7, message), entropy, None, 40).flow
        };
        let mut flows: Vec<u32> =
            (0..100).flat_map(|message| (0..64).map(move |entropy| of(message, entropy))).collect();
        flows.sort_unstable();
        flows.dedup();
        assert_eq!(flows.len(), 6_400);
        assert_eq!(of(3, 4), of(3, 4));
    }
}
