//! Multi-level feedback (PIAS, NSDI 2015 §3): a packet's priority is the number of demotion thresholds that the bytes before
//! it exceed. A retransmission keeps the priority of its offset.

use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets};

/// PIAS's levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demotion {
    /// Bytes, rising.
    pub thresholds: Vec<u64>,
}

/// Returns the number of thresholds that `bytes` exceed: PIAS's level.
pub fn level(thresholds: &[u64], bytes: u64) -> usize {
    thresholds.iter().take_while(|&&threshold| bytes > threshold).count()
}

impl TagPackets for Demotion {
    #[inline(always)]
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        Tag::with_priority(level(&self.thresholds, facts.offset) as u8)
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        level(&self.thresholds, facts.offset) as u64
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
    fn demotion__when_the_bytes_before_exceed_a_threshold() {
        let mut pias = Demotion { thresholds: vec![2_920, 7_300] };
        let priorities: Vec<u8> = (0..7).map(|i| pias.tag(&data(i * 1_460, 10_220, 0)).priority()).collect();
        assert_eq!(priorities, [0, 0, 0, 1, 1, 1, 2]);
    }
}
