//! What QCluster's switches need to know (QCluster, Table 3).

use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets};
use crate::units::Time;

/// A host's tagger for QCluster's switches (Table 3). It writes group 0 for flows with the special property and 1 for the
/// others, if there is such a property, and the number that the packet's weight is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterTagger {
    /// Which flows are special.
    pub special: FlowProperty,
    /// The number written into packets of special flows.
    pub special_rank: Rank,
    /// The number written into other packets.
    pub rank: Rank,
}

/// A property whose flows get their own queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowProperty {
    /// No property: all packets are of group 0.
    None,
    /// No flow of this class has it.
    Never,
    /// Every flow of this class has it: TSN flows.
    Always,
    /// A deadline that has not passed.
    Deadline,
    /// Less has been acknowledged since the message began than the minimum rate requires.
    BelowRate {
        /// Bit/s.
        bps: u64,
    },
}

/// What a host writes as a packet's number, for QCluster's switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The message's number, which distinguishes messages.
    Message,
    /// The coflow's number; if it has none, the message's, above all coflows.
    Coflow,
    /// Bytes that are left.
    Remaining(Left),
    /// Bytes of the message.
    Size,
    /// Time to the deadline for each remaining packet of [`Rank::PACKET`], in ns: the urgency of a flow in the authors' code.
    TimePerPacket(Left),
    /// The deadline, in ns after the start of the run.
    Deadline,
}

/// Which bytes of its message remain at a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Its own and those after it: within one window "late-arriving packets have higher priority" (QCluster §6.3.1), and
    /// the authors' code uses the end of the message minus the packet's sequence number. A retransmission uses its offset.
    ToTheEnd,
    /// Those that are not acknowledged, selectively or not: the same for all packets that are sent at once.
    Unacknowledged,
}

impl Left {
    fn of(self, facts: &FlowFacts) -> u64 {
        match self {
            Left::ToTheEnd => facts.size - facts.offset,
            Left::Unacknowledged => facts.remaining,
        }
    }
}

impl Rank {
    /// Bytes of a packet in [`Rank::TimePerPacket`].
    pub const PACKET: u64 = 1_460;

    /// Returns whether it only tells messages or coflows apart.
    fn is_a_name(self) -> bool {
        matches!(self, Rank::Message | Rank::Coflow)
    }

    fn of(self, facts: &FlowFacts) -> u64 {
        let ns = |time: Time| time.0 / 1_000;
        match self {
            Rank::Message => facts.message.into(),
            Rank::Coflow => facts.coflow.map_or(u64::from(!facts.message), u64::from),
            Rank::Remaining(left) => left.of(facts),
            Rank::Size => facts.size,
            Rank::Deadline => facts.deadline.map_or(u64::MAX, ns),
            Rank::TimePerPacket(left) => match facts.deadline {
                Some(deadline) if deadline > facts.now => {
                    ns(deadline - facts.now) / left.of(facts).div_ceil(Rank::PACKET).max(1)
                }
                _ => u64::MAX,
            },
        }
    }
}

impl TagPackets for ClusterTagger {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        let (special, rank) = self.placed(facts);
        Tag::with_group(u8::from(!special), rank.of(facts))
    }

    /// Returns special flows first, and then smaller numbers. Numbers that only tell messages or coflows apart are equal.
    fn urgency(&self, facts: &FlowFacts) -> u64 {
        let (special, rank) = self.placed(facts);
        let number = if rank.is_a_name() { 0 } else { rank.of(facts) };
        u64::from(!special) << 63 | number >> 1
    }
}

impl ClusterTagger {
    pub(super) fn ranks_at_hosts(&self) -> bool {
        let parted = !matches!(self.special, FlowProperty::None | FlowProperty::Never | FlowProperty::Always);
        parted || !self.rank.is_a_name()
    }

    /// Returns whether a packet's flow is special, and which number it gets.
    fn placed(&self, facts: &FlowFacts) -> (bool, Rank) {
        let special = match self.special {
            FlowProperty::None | FlowProperty::Always => true,
            FlowProperty::Never => false,
            FlowProperty::Deadline => facts.deadline.is_some_and(|deadline| facts.now < deadline),
            FlowProperty::BelowRate { bps } => {
                let acknowledged = u128::from(facts.size - facts.remaining) * 8_000_000_000_000;
                let elapsed = facts.now.0.saturating_sub(facts.start.0);
                acknowledged <= u128::from(bps) * u128::from(elapsed)
            }
        };
        (special, if special && self.special != FlowProperty::None { self.special_rank } else { self.rank })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::Kind;

    fn data(offset: u64, size: u64, remaining: u64) -> FlowFacts {
        FlowFacts { kind: Kind::Data, offset, size, remaining, ..FlowFacts::default() }
    }

    #[test]
    fn cluster__special_flows_are_first_while_they_have_the_property() {
        let of = |special, facts: FlowFacts| {
            let (special_rank, rank) = (Rank::TimePerPacket(Left::ToTheEnd), Rank::Remaining(Left::ToTheEnd));
            let tagger = ClusterTagger { special, special_rank, rank };
            let tag = { tagger }.tag(&facts);
            (tag.group(), tag.number())
        };
        let us = Time::from_us;
        let ten_packets = FlowFacts { now: us(100), ..data(0, 14_600, 14_600) };
        assert_eq!(of(FlowProperty::None, ten_packets), (0, 14_600));
        assert_eq!(of(FlowProperty::Deadline, ten_packets), (1, 14_600));
        assert_eq!(of(FlowProperty::Deadline, FlowFacts { deadline: Some(us(300)), ..ten_packets }), (0, 20_000));
        assert_eq!(of(FlowProperty::Deadline, FlowFacts { deadline: Some(us(100)), ..ten_packets }), (1, 14_600));
        // 1,460 of 14,600 bytes in 100 us: 116.8 Mbit/s.
        let slow = FlowFacts { start: Time::ZERO, remaining: 13_140, ..ten_packets };
        assert_eq!(of(FlowProperty::BelowRate { bps: 116_800_000 }, slow).0, 0);
        assert_eq!(of(FlowProperty::BelowRate { bps: 116_700_000 }, slow).0, 1);
    }

    #[test]
    fn cluster__late_packets_of_a_window_have_less_left() {
        // Three packets that are sent at once when the first of five is acknowledged, and that first one again.
        let window = [1_460, 2_920, 4_380, 0].map(|offset| FlowFacts {
            now: Time::from_us(10),
            deadline: Some(Time::from_us(30)),
            ..data(offset, 7_300, 5_840)
        });
        let numbers = |special, left| {
            let (special_rank, rank) = (Rank::TimePerPacket(left), Rank::Remaining(left));
            let mut tagger = ClusterTagger { special, special_rank, rank };
            window.map(|facts| tagger.tag(&facts).number())
        };
        assert_eq!(numbers(FlowProperty::None, Left::ToTheEnd), [5_840, 4_380, 2_920, 7_300]);
        assert_eq!(numbers(FlowProperty::None, Left::Unacknowledged), [5_840; 4]);
        assert_eq!(numbers(FlowProperty::Deadline, Left::ToTheEnd), [5_000, 6_666, 10_000, 4_000]);
        assert_eq!(numbers(FlowProperty::Deadline, Left::Unacknowledged), [5_000; 4]);
    }

    #[test]
    fn cluster__flows_without_a_coflow_are_their_own() {
        let tagger = ClusterTagger { special: FlowProperty::None, special_rank: Rank::Message, rank: Rank::Coflow };
        let number = |message, coflow| { tagger }.tag(&FlowFacts { message, coflow, ..data(0, 1, 1) }).number();
        assert_eq!([number(7, Some(3)), number(8, Some(3)), number(9, None)], [3, 3, u32::MAX - 9]);
    }
}
