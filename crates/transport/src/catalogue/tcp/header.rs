//! The content of packets between the two ends of a connection.
//!
//! Sequence numbers count segments of the connection. Segments are never split anew, so a retransmission carries the same
//! payload as the first transmission. Left out: windows advertised by the receiver, the further blocks of a SACK, options'
//! bytes, the closing of connections.

use flowsieve_core::Time;

use crate::packet::Packet;

/// The content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Opens a connection.
    Syn,
    /// Answers a SYN.
    SynAck,
    /// One segment of a message.
    Data(DataHeader),
    /// An acknowledgement.
    Ack(AckHeader),
    /// pFabric's probe: asks for an ACK and carries nothing (SIGCOMM 2013 §4.3).
    Probe,
}

/// A segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// Its number on the connection.
    pub seq: u32,
    /// The message that it belongs to.
    pub message: u32,
    /// Whether it is the last of its message.
    pub last: bool,
    /// Whether it was sent before.
    pub retransmission: bool,
}

/// The content of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckHeader {
    /// Every segment below this number has arrived.
    pub cumulative: u32,
    /// The run of segments around the packet that caused the ACK has arrived, too: SACK's first block (RFC 2018 §4; with
    /// `duplicate` the second, RFC 2883 §4). Empty if the packet is below `cumulative`; both ends are then its number if it
    /// had arrived before.
    pub block: (u32, u32),
    /// Whether the acknowledged packets were marked (RFC 8257 §3.2).
    pub marked: bool,
    /// Whether the packet that caused it had arrived before: a D-SACK block (RFC 2883).
    pub duplicate: bool,
    /// What the receiver found out about a gap.
    pub gap: GapReport,
}

/// What a receiver that compares priorities reports about a gap: the flag of QCLIMB's customised ACK (NSDI 2024, §3.2.2 and
/// §3.2.3). It is the first gap, or with [`Gaps::Every`](crate::tcp::params::Gaps) the one directly below the ACK's block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum GapReport {
    /// No report: there is no gap, or priorities are not compared.
    #[default]
    None,
    /// The missing segments may be under way: the sender marks its scoreboard and does nothing else.
    Update,
    /// The missing segments are lost: the one at the cumulative edge, or with [`Gaps::Every`](crate::tcp::params::Gaps) all
    /// of the gap.
    Retransmit,
    /// Unused: no receiver writes it.
    Reserved,
}

impl GapReport {
    /// The position of its lowest bit in a packet's code; it has two bits.
    const SHIFT: u8 = 5;

    /// Reads the report. The variants are in order, so this is a shift and a mask.
    #[inline(always)]
    fn read(code: u8) -> GapReport {
        match code >> GapReport::SHIFT & 3 {
            0 => GapReport::None,
            1 => GapReport::Update,
            2 => GapReport::Retransmit,
            _ => GapReport::Reserved,
        }
    }

    #[inline(always)]
    fn bits(self) -> u8 {
        (self as u8) << GapReport::SHIFT
    }
}

/// Returns wrapping nanoseconds, as timestamps carry them.
#[inline]
pub(super) fn stamp(now: Time) -> u32 {
    (now.0 / 1_000) as u32
}

/// The lowest bits of a packet's code: the kind of its header.
const KINDS: u8 = 7;
const DATA: u8 = 0;
const ACK: u8 = 1;
const SYN: u8 = 2;
const SYN_ACK: u8 = 3;
const PROBE: u8 = 4;
/// Further bits of the code. In a segment: the last of its message. In an ACK: segments were marked.
const LAST_OR_MARKED: u8 = 8;
/// In a segment: sent before. In an ACK: for a duplicate.
const AGAIN: u8 = 16;

/// A packet's words after its header: the sender's slot among the connections of its host, the receiver's slot at its own
/// host if that is known, and when the data packet was sent, which an ACK echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    pub(super) sender: u32,
    pub(super) receiver: u32,
    pub(super) stamp: u32,
}

impl Beside {
    #[inline(always)]
    pub(super) fn read(packet: &Packet) -> Beside {
        let [.., sender, receiver, stamp] = packet.words;
        Beside { sender, receiver, stamp }
    }

    #[inline(always)]
    fn after(self, [a, b, c]: [u32; 3]) -> [u32; 6] {
        [a, b, c, self.sender, self.receiver, self.stamp]
    }
}

#[inline(always)]
fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

impl DataHeader {
    /// Writes the header into a packet.
    #[inline(always)]
    pub(super) fn write(self, beside: Beside, packet: Packet) -> Packet {
        let code = DATA | flag(self.last, LAST_OR_MARKED) | flag(self.retransmission, AGAIN);
        Packet { message: self.message, code, words: beside.after([self.seq, 0, 0]), ..packet }
    }

    /// Returns the header of a packet that is a segment.
    #[inline(always)]
    pub(super) fn read(packet: &Packet) -> Option<DataHeader> {
        let (last, retransmission) = (packet.code & LAST_OR_MARKED != 0, packet.code & AGAIN != 0);
        let header = DataHeader { seq: packet.words[0], message: packet.message, last, retransmission };
        (packet.code & KINDS == DATA).then_some(header)
    }
}

impl AckHeader {
    /// Writes the header into a packet.
    #[inline(always)]
    pub(super) fn write(self, beside: Beside, packet: Packet) -> Packet {
        let code = ACK | flag(self.marked, LAST_OR_MARKED) | flag(self.duplicate, AGAIN) | self.gap.bits();
        Packet { code, words: beside.after([self.cumulative, self.block.0, self.block.1]), ..packet }
    }

    /// Returns the header of a packet that is an ACK.
    #[inline(always)]
    pub(super) fn read(packet: &Packet) -> Option<AckHeader> {
        let [cumulative, from, to, ..] = packet.words;
        let (marked, duplicate) = (packet.code & LAST_OR_MARKED != 0, packet.code & AGAIN != 0);
        let gap = GapReport::read(packet.code);
        (packet.code & KINDS == ACK).then_some(AckHeader { cumulative, block: (from, to), marked, duplicate, gap })
    }
}

impl Header {
    /// Writes the header into a packet.
    pub(super) fn write(self, beside: Beside, packet: Packet) -> Packet {
        let code = match self {
            Header::Data(header) => return header.write(beside, packet),
            Header::Ack(header) => return header.write(beside, packet),
            Header::Syn => SYN,
            Header::SynAck => SYN_ACK,
            Header::Probe => PROBE,
        };
        Packet { code, words: beside.after([0; 3]), ..packet }
    }

    /// Returns a packet's header; `None`: the packet is not TCP's.
    pub(super) fn read(packet: &Packet) -> Option<Header> {
        match packet.code & KINDS {
            DATA => DataHeader::read(packet).map(Header::Data),
            ACK => AckHeader::read(packet).map(Header::Ack),
            code => Header::without_words(code),
        }
    }

    /// Returns the header of a code that needs no words.
    pub(super) fn without_words(code: u8) -> Option<Header> {
        match code & KINDS {
            SYN => Some(Header::Syn),
            SYN_ACK => Some(Header::SynAck),
            PROBE => Some(Header::Probe),
            _ => None,
        }
    }
}

/// Bytes of IPv4 and TCP headers without options; every packet has them, and an ACK has nothing else.
pub const HEADER_BYTES: u16 = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GAPS: [GapReport; 4] = [GapReport::None, GapReport::Update, GapReport::Retransmit, GapReport::Reserved];

    #[test]
    fn read__what_was_written() {
        for flags in [(false, false), (false, true), (true, false), (true, true)] {
            let (marked, duplicate) = flags;
            let ack = |gap| Header::Ack(AckHeader { cumulative: 5, block: (8, 12), marked, duplicate, gap });
            let data = DataHeader { seq: 7, message: 9, last: flags.0, retransmission: flags.1 };
            let others = [Header::Data(data), Header::Syn, Header::SynAck, Header::Probe];
            for header in GAPS.map(ack).into_iter().chain(others) {
                let beside = Beside { sender: 3, receiver: 4, stamp: 77 };
                let packet = header.write(beside, Packet::default());
                assert_eq!((Header::read(&packet), Beside::read(&packet)), (Some(header), beside));
            }
        }
        assert_eq!(Header::read(&Packet { code: 5, ..Packet::default() }), None);
    }

    #[test]
    fn header__is_small() {
        assert_eq!(size_of::<Header>(), 16);
    }

    proptest! {
        /// Any packet has a header or none.
        #[test]
        fn read__any_packet(code: u8, words: [u32; 6], message: u32) {
            let packet = Packet { code, words, message, ..Packet::default() };
            let read = Header::read(&packet);
            prop_assert_eq!(read.is_some(), code & KINDS <= PROBE);
            if let Some(Header::Ack(AckHeader { gap, .. })) = read {
                prop_assert_eq!(gap.bits(), code & 0b110_0000);
            }
            if let Some(header) = read {
                let again = header.write(Beside::read(&packet), Packet::default());
                prop_assert_eq!(Header::read(&again), Some(header));
            }
        }
    }
}
