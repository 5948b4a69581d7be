//! Super-packets: a host hands its port a piece of a message at once, and all packets of the piece have one tag.
//!
//! Pieces are cut at multiples of a size from the message's first byte, and the last one is shorter. A packet is of the
//! piece of its first byte, also if it is sent again. Real pieces follow the window and the program's writes as well.

use std::num::NonZeroU64;

use crate::controller::Published;
use crate::readings::Reading;
use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets, TaggerRules};
use crate::taggers::{Tagger, TaggerSpec};

/// A built-in tagger that reads no more of a message than the bytes before a packet and its start, told of pieces.
#[derive(Clone, Debug)]
pub struct Batches {
    /// The tagger of each packet by itself.
    pub of: Box<TaggerSpec>,
    /// Bytes of a piece.
    pub bytes: NonZeroU64,
    /// Whether the bytes before a piece's middle decide, and not those before its first byte.
    pub by_middle: bool,
}

impl TaggerRules for Batches {
    type Tagger = Batched;

    fn build(&self) -> Batched {
        let of = self.of.build(|| unreachable!("it is built in"));
        Batched { of, bytes: self.bytes, by_middle: self.by_middle }
    }
}

/// The tagger of a host.
pub struct Batched {
    of: Tagger,
    bytes: NonZeroU64,
    by_middle: bool,
}

impl Batched {
    /// Returns the facts by which the piece of a packet is tagged.
    fn of_piece(&self, facts: &FlowFacts) -> FlowFacts {
        let first = facts.offset - facts.offset % self.bytes;
        let half = if self.by_middle { facts.size.saturating_sub(first).min(self.bytes.get()) / 2 } else { 0 };
        FlowFacts { offset: first + half, ..*facts }
    }
}

impl TagPackets for Batched {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        let of_piece = self.of_piece(facts);
        self.of.tag(|| of_piece)
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        self.of.urgency(&self.of_piece(facts))
    }

    fn on_table(&mut self, published: &Published) {
        self.of.on_table(published);
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        self.of.observe(see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taggers::aged_levels::AgedLevels;
    use crate::taggers::demotion::{Demotion, level};
    use crate::taggers::levels::LevelParams;
    use crate::units::Time;
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    fn batched(of: TaggerSpec, bytes: u64, by_middle: bool) -> Batched {
        Batches { of: Box::new(of), bytes: NonZeroU64::new(bytes).unwrap(), by_middle }.build()
    }

    fn data(offset: u64, size: u64) -> FlowFacts {
        FlowFacts { offset, size, ..FlowFacts::default() }
    }

    #[test]
    fn tag__of_a_piece_is_that_of_its_first_byte_or_of_its_middle() {
        let tags = |by_middle| {
            let mut pias = batched(TaggerSpec::Demotion(Demotion { thresholds: vec![1_999, 5_000] }), 4_000, by_middle);
            [0, 3_999, 4_000, 6_000, 8_000].map(|offset| pias.tag(&data(offset, 9_000)).priority())
        };
        assert_eq!([tags(false), tags(true)], [[0, 0, 1, 1, 2], [1, 1, 2, 2, 2]]);
        let mut short = batched(TaggerSpec::Demotion(Demotion { thresholds: vec![499] }), 4_000, true);
        assert_eq!(
            [998, 1_000].map(|size| short.tag(&data(0, size)).priority()),
            [0, 1],
            "its middle is at half of it"
        );
    }

    #[test]
    fn tag__by_levels_that_begin_at_a_threshold_and_by_age() {
        let levels = TaggerSpec::Levels(LevelParams { network: vec![2_000], own: Some(vec![4_000]) });
        let mut levels = batched(levels, 4_000, true);
        let tags = [3_999, 4_000].map(|offset| levels.tag(&data(offset, 8_000)));
        assert_eq!(tags.map(|tag| (tag.priority(), tag.host_level())), [(1, 0), (1, 1)]);
        let mut aged = batched(TaggerSpec::AgedLevels(AgedLevels { thresholds: vec![1_000] }), 4_000, false);
        let facts = FlowFacts { start: Time::from_us(7), ..data(3_000, 9_000) };
        assert_eq!((aged.tag(&facts).rank(), aged.urgency(&facts)), (7, 0));
        assert_eq!(aged.urgency(&data(4_000, 9_000)), 1);
    }

    proptest! {
        /// Packet by packet, each level carries the bytes of the pieces whose deciding byte is in it.
        #[test]
        fn tag__shares_of_bytes_are_those_of_whole_pieces(
            payload in 1..3_000u64,
            packets in 1..50u64,
            sizes in proptest::collection::vec(1..400_000u64, 1..20),
            thresholds in btree_set(1..300_000u64, 1..7),
            by_middle: bool,
        ) {
            let (piece, thresholds) = (payload * packets, Vec::from_iter(thresholds));
            let pias = TaggerSpec::Demotion(Demotion { thresholds: thresholds.clone() });
            let mut tagger = batched(pias, piece, by_middle);
            let (mut seen, mut wanted) = ([0u64; 8], [0u64; 8]);
            for size in sizes {
                for offset in (0..size).step_by(payload as usize) {
                    seen[usize::from(tagger.tag(&data(offset, size)).priority())] += payload.min(size - offset);
                }
                for first in (0..size).step_by(piece as usize) {
                    let bytes = piece.min(size - first);
                    wanted[level(&thresholds, first + if by_middle { bytes / 2 } else { 0 })] += bytes;
                }
            }
            prop_assert_eq!(seen, wanted);
        }
    }
}
