//! What the sending host writes into a packet for switches. Only this module knows the encoding.
//!
//! A packet has room for eight bits, a DSCP, and for 32 more, a custom header of the scheme. Taggers write the bits by
//! their meaning, and ports read them the same way:
//!
//! | written by | eight bits | 32 bits | read by |
//! | --- | --- | --- | --- |
//! | [`Tag::with_priority`] | a priority | | FIFO queues |
//! | [`Tag::with_rank`] | | a rank | PIFO, SP-PIFO, pFabric's pool, flows in order of rank |
//! | [`Tag::with_levels`] | the network's level | the host's level | FIFO queues; a host's own queues |
//! | [`Tag::with_sent`] | the mark of the flow's end | bytes sent before the packet | AWAFS |
//! | [`Tag::with_group`] | a group of queues | a weight, or a number | QCluster |
//!
//! A tag does not record which meaning was written: a port that reads another one misinterprets the bits. Switches count
//! packets by the eight bits as a priority, regardless of their meaning.

use std::fmt;

/// The eight and the 32 bits. The default, which packets without payload have, is the most urgent value of every meaning.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Tag {
    priority: u8,
    /// A number in the machine's byte order. As bytes it has no alignment, so that a packet's record has room for it.
    rank: [u8; 4],
}

impl Tag {
    /// Writes both numbers, for a scheme that gives them its own meaning.
    #[inline(always)]
    pub fn new(priority: u8, rank: u32) -> Tag {
        Tag { priority, rank: rank.to_ne_bytes() }
    }

    /// Writes a priority, 0 the highest.
    #[inline(always)]
    pub fn with_priority(priority: u8) -> Tag {
        Tag::new(priority, 0)
    }

    /// Writes a rank: smaller is more urgent, and those from 2^32 - 1 on are equal.
    pub fn with_rank(rank: u64) -> Tag {
        Tag::new(0, saturate(rank))
    }

    /// Writes the level in the network's queues and the level in the host's own, 0 the highest.
    pub fn with_levels(network: u8, host: u32) -> Tag {
        Tag::new(network, host)
    }

    /// Writes the bytes that the flow has sent before the packet, and whether the packet is its last.
    pub fn with_sent(bytes: u64, last: bool) -> Tag {
        Tag::new(u8::from(last), saturate(bytes))
    }

    /// Writes the group of queues that the packet is for, and its number within the group: its weight, or the number of the
    /// message or coflow whose bytes are counted.
    pub fn with_group(group: u8, number: u64) -> Tag {
        Tag::new(group, saturate(number))
    }

    /// Returns the priority, 0 the highest.
    #[inline(always)]
    pub fn priority(self) -> u8 {
        self.priority
    }

    /// Returns the rank: smaller is more urgent.
    #[inline(always)]
    pub fn rank(self) -> u32 {
        u32::from_ne_bytes(self.rank)
    }

    /// Returns the level in the host's own queues, 0 the highest.
    pub fn host_level(self) -> u32 {
        self.rank()
    }

    /// Returns the bytes that the flow has sent before the packet; 2^32 - 1 stands for more.
    pub fn sent(self) -> u32 {
        self.rank()
    }

    /// Returns whether the packet is its flow's last.
    pub fn ends_flow(self) -> bool {
        self.priority == 1
    }

    /// Returns the group of queues that the packet is for.
    pub fn group(self) -> u8 {
        self.priority
    }

    /// Returns the packet's number within its group.
    pub fn number(self) -> u32 {
        self.rank()
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "priority {}, rank {}", self.priority(), self.rank())
    }
}

fn saturate(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag__each_meaning_comes_back() {
        assert_eq!(Tag::with_priority(7).priority(), 7);
        assert_eq!(Tag::with_rank(1_000_000).rank(), 1_000_000);
        let levels = Tag::with_levels(1, 6);
        assert_eq!((levels.priority(), levels.host_level()), (1, 6));
        let sent = [false, true].map(|last| Tag::with_sent(2_920, last));
        assert_eq!(sent.map(|tag| (tag.sent(), tag.ends_flow())), [(2_920, false), (2_920, true)]);
        let grouped = Tag::with_group(1, 14_600);
        assert_eq!((grouped.group(), grouped.number()), (1, 14_600));
    }

    #[test]
    fn tag__large_numbers_are_alike() {
        let beyond = 1 << 40;
        assert_eq!(Tag::with_rank(beyond).rank(), u32::MAX);
        assert_eq!(Tag::with_sent(beyond, false).sent(), u32::MAX);
        assert_eq!(Tag::with_group(0, beyond).number(), u32::MAX);
    }

    #[test]
    fn tag__takes_five_bytes_anywhere() {
        assert_eq!((size_of::<Tag>(), align_of::<Tag>()), (5, 1));
    }
}
