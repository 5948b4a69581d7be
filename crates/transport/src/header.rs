//! What packets say between the two ends of a connection.
//!
//! Sequence numbers count segments of the connection: a segment is never cut anew, so a retransmission carries what the
//! first transmission carried. Left out: windows advertised by the receiver, the further blocks of a SACK, options' bytes,
//! the closing of connections.

/// The transport's part of a packet.
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
    /// A packet of a transport of the user's own, or between switches' programs.
    Own {
        /// What it says.
        code: u8,
        /// With what.
        words: [u32; 3],
    },
}

/// Bytes of IPv4 and TCP headers without options; every packet has them, and an ACK is nothing else.
pub const HEADER_BYTES: u16 = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header__fits_with_the_addresses_in_half_a_cache_line() {
        assert_eq!(size_of::<Header>(), 16);
    }
}
