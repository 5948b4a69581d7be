//! What holds for all hosts.

use std::fmt;
use std::sync::Arc;

use flowsieve_core::Time;
use flowsieve_core::message::Message;

use super::levels::{Cut, Levels};
use super::requests::IncastRules;
use super::sizes::Sizes;

/// RTTbytes from one host to another.
#[derive(Clone)]
pub struct ByPair(pub Arc<dyn Fn(u16, u16) -> u64 + Send + Sync>);

impl fmt::Debug for ByPair {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("by pair")
    }
}

/// The rules of a class of flow.
#[derive(Clone, Debug)]
pub struct HomaRules {
    /// Payload of a full packet, in bytes.
    pub segment: u16,
    /// Bytes of a packet's headers; a packet without payload is this long.
    pub header: u16,
    /// Bytes that a packet takes on the wire in addition to its length.
    pub overhead: u16,
    /// RTTbytes: payload that is sent without a grant, and that a receiver keeps granted and not received. The largest, if
    /// they are by pair.
    pub rtt_bytes: u64,
    /// RTTbytes of each pair of hosts; `None`: the same for all.
    pub by_pair: Option<ByPair>,
    /// The number of messages to which a receiver grants at once.
    pub overcommitment: usize,
    /// The priorities; at first, if receivers compute cutoffs from what they see.
    pub levels: Levels,
    /// Number of messages after which a receiver computes its cutoffs anew; `None`: it never does.
    pub seen: Option<u32>,
    /// The most full packets that the NIC holds, the one on the line included; at least 1.
    pub nic_packets: u32,
    /// How long one end waits for the other before it sends RESEND, or asks.
    pub silence: Time,
    /// How often it does so in vain before it gives the message up.
    pub attempts: u32,
    /// Whether a sender asks about a message of which it has heard nothing.
    pub asks: bool,
    /// Whether a receiver answers a whole message at once by a packet without payload, as the shortest response of an RPC would.
    pub replies: bool,
    /// What hosts do about incast; `None`: nothing.
    pub incast: Option<IncastRules>,
    /// By which sizes messages are ranked.
    pub sizes: Sizes,
}

impl HomaRules {
    /// Returns RTTbytes from one host to another.
    pub(super) fn rtt_bytes_between(&self, from: u16, to: u16) -> u64 {
        self.by_pair.as_ref().map_or(self.rtt_bytes, |ByPair(of)| of(from, to))
    }

    /// Returns how messages are cut, in bytes on the wire.
    pub(super) fn cut(&self) -> Cut {
        let beside = u32::from(self.header) + u32::from(self.overhead);
        Cut { segment: self.segment, beside, rtt_packets: self.packets(self.rtt_bytes) }
    }

    /// Returns the full packets that these bytes take, rounded up; at least 1. The readers of flows refuse sizes beyond 32 bits.
    pub(super) fn packets(&self, bytes: u64) -> u32 {
        u32::try_from(bytes.div_ceil(self.segment.into())).unwrap_or(u32::MAX).max(1)
    }

    /// Returns the payload of a message before this packet.
    pub(super) fn offset(&self, packet: u32) -> u64 {
        u64::from(packet) * u64::from(self.segment)
    }

    /// Returns the payload of a packet.
    pub(super) fn payload(&self, message: &Message, packet: u32) -> u16 {
        let left = message.bytes.saturating_sub(self.offset(packet));
        u16::try_from(left).map_or(self.segment, |left| left.min(self.segment))
    }
}
