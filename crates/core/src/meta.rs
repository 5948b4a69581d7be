//! The little of a packet that a scheduler may see.

use crate::units::Time;

/// No packet: the end of a list.
pub const NONE: u32 = u32::MAX;

/// What a packet is for; taggers and ports may treat each kind apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Carries payload.
    #[default]
    Data,
    /// Acknowledges.
    Ack,
    /// Opens a connection, or asks whether the way is clear (pFabric's probe).
    Control,
}

/// The ECN field of a packet (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not understand marks: a marker leaves it alone.
    #[default]
    NotCapable,
    /// May be marked.
    Capable,
    /// Marked: congestion experienced.
    Marked,
}

/// A packet as switches and schedulers see it: half a cache line, in the owner's frame table.
///
/// The owner (a simulator's slab, a switch's frame table) holds a slice of these and names packets by index.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meta {
    /// In flight: when the packet behind it arrives at the far end. The scheduler of a port may keep its own instant here
    /// while it holds the packet.
    pub time: Time,
    /// The flow: one connection's packets in one direction share it.
    pub flow: u32,
    /// The rank that the host's tagger wrote; smaller is more urgent. pFabric: bytes remaining.
    pub rank: u32,
    /// Link of the one list that the packet is in.
    pub next: u32,
    /// Length in bytes with headers, without preamble and gap.
    pub len: u16,
    /// The host that it is for.
    pub dst: u16,
    /// The priority that the host's tagger wrote (a DSCP); 0 is the highest.
    pub priority: u8,
    /// The queue that the port holding the packet chose.
    pub queue: u8,
    /// What the packet is for.
    pub kind: Kind,
    /// ECN field.
    pub ecn: Ecn,
}

impl Meta {
    /// Marks the packet where its transport understands marks; says whether it did.
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
