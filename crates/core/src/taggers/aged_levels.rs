//! PIAS's levels as a rank, and within a level the age of the message: for ports that sort packets by rank, the first
//! come first of eight levels everywhere. Queues in switches cannot do so; it is the reference for those that serve a
//! level in order of arrival.

use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets};
use crate::taggers::demotion::level;
use crate::units::Time;

/// Ages are distinguished in microseconds, over 134 s.
const AGE_BITS: u32 = 27;
const MICROSECOND: u64 = 1_000_000;

/// PIAS's levels, by age within each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgedLevels {
    /// Bytes, rising; at most 31 of them count.
    pub thresholds: Vec<u64>,
}

/// Returns the level, at most 31, as a priority, and with the start of the message as a rank. Messages that begin 134 s
/// after the first one are of equal age.
#[inline]
pub(super) fn aged(level: u8, start: Time) -> Tag {
    let level = level.min(31);
    let start = (start.0 / MICROSECOND).min((1 << AGE_BITS) - 1) as u32;
    Tag::new(level, u32::from(level) << AGE_BITS | start)
}

impl TagPackets for AgedLevels {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        aged(level(&self.thresholds, facts.offset).min(31) as u8, facts.start)
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        level(&self.thresholds, facts.offset) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag__a_level_before_the_next_and_the_older_before_the_younger() {
        let mut levels = AgedLevels { thresholds: vec![1_000, 2_000] };
        let mut tag = |offset, us| levels.tag(&FlowFacts { offset, start: Time::from_us(us), ..FlowFacts::default() });
        let tags = [tag(0, 3), tag(1_000, 9), tag(1_001, 0), tag(1_001, 1), tag(1_500, 200_000_000), tag(2_001, 0)];
        assert!(tags.is_sorted_by(|a, b| a.rank() < b.rank()), "{tags:?}");
        assert_eq!(tags.map(Tag::priority), [0, 0, 1, 1, 1, 2]);
    }
}
