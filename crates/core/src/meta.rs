//! The part of a packet that a scheduler may see.

use crate::tag::Tag;
use crate::units::Time;

/// The end of a list of packets; no coflow.
pub const NONE: u32 = u32::MAX;

/// What a packet is for; taggers and ports may treat kinds differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Carries payload.
    #[default]
    Data,
    /// Acknowledges.
    Ack,
    /// Opens a connection, or asks whether the path is clear (pFabric's probe).
    Control,
}

/// The ECN field of a packet (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not understand marks: a marker leaves the packet alone.
    #[default]
    NotCapable,
    /// May be marked.
    Capable,
    /// Marked: congestion experienced.
    Marked,
}

/// Eight bytes for the holder of a packet: a line, or a port's scheduler. The next holder finds what the last one left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held(u64);

impl Held {
    /// Notes, by a line, when the packet behind this one arrives at the far end; [`Time::NEVER`]: none is behind it.
    #[inline(always)]
    pub fn in_flight(next_arrival: Time) -> Held {
        Held(next_arrival.0)
    }

    /// Notes, by a port's scheduler, a number that it chooses, such as the packet's place in the order of arrival.
    #[inline(always)]
    pub fn in_port(number: u64) -> Held {
        Held(number)
    }

    /// Returns what the line that holds the packet has noted.
    #[inline(always)]
    pub fn next_arrival(self) -> Time {
        Time(self.0)
    }

    /// Returns what the scheduler that holds the packet has noted.
    #[inline(always)]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A packet as switches and schedulers see it: half a cache line, in the owner's frame table.
///
/// The owner (a simulator's slab, a switch's frame table) holds a slice of these and names packets by index.
///
/// # Flows with one key
/// [`Meta::flow`] is a key: where it is a hash, two flows may have the same. They are then one flow to every part that keeps
/// state by flow. No part loses or makes a packet by it. What does follow:
/// - In pFabric's pool, and under a discipline over flows, the two share a queue. They leave it in the order of arrival, and
///   each goes with the better rank of both.
/// - Fair queueing and AFQ give them one share.
/// - QCluster's sketch counts the sum, which is never below the truth. Disorder avoidance keeps the packets of both in order.
/// - AWAFS's table takes the sum for the size of one flow.
/// - ECMP sends both by one path, if they have one destination, and flowlets end for both together.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    /// What the packet's holder notes.
    pub held: Held,
    /// The key of its flow, the same for all packets of a connection in one direction. In the simulator it is the number of
    /// the message that opened the connection: no other connection has it, and answers have the same key. At a real switch
    /// it is a hash of the 5-tuple.
    pub flow: u32,
    /// The coflow of its message; [`NONE`] if it has none, or the packet carries no payload.
    pub coflow: u32,
    /// Link of the single list that the packet is in.
    pub next: u32,
    /// Length in bytes with headers, without preamble and gap.
    pub len: u16,
    /// The host that it is for.
    pub dst: u16,
    /// What the host's tagger wrote.
    pub tag: Tag,
    /// The queue that the port holding the packet chose.
    pub queue: u8,
    /// What the packet is for.
    pub kind: Kind,
    /// ECN field.
    pub ecn: Ecn,
}

impl Default for Meta {
    /// Returns a data packet without bytes, of no coflow.
    fn default() -> Meta {
        Meta {
            held: Held::default(),
            flow: 0,
            coflow: NONE,
            next: NONE,
            len: 0,
            dst: 0,
            tag: Tag::default(),
            queue: 0,
            kind: Kind::default(),
            ecn: Ecn::default(),
        }
    }
}

impl Meta {
    /// Marks the packet if its transport understands marks; returns whether it did.
    #[inline]
    pub fn mark(&mut self) -> bool {
        let capable = self.ecn != Ecn::NotCapable;
        if capable {
            self.ecn = Ecn::Marked;
        }
        capable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta__is_half_a_cache_line() {
        assert_eq!(size_of::<Meta>(), 32);
    }

    #[test]
    fn mark__spares_packets_without_ecn() {
        let mut plain = Meta::default();
        assert!(!plain.mark());
        assert_eq!(plain.ecn, Ecn::NotCapable);
        let mut capable = Meta { ecn: Ecn::Capable, ..Meta::default() };
        assert!(capable.mark());
        assert_eq!(capable.ecn, Ecn::Marked);
    }
}
