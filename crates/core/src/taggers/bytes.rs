//! A rank by bytes of the message.

use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets};

/// Which bytes are the rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// Those that remain, before acknowledgement (pFabric; SRPT in closed loop).
    Remaining,
    /// Those from this packet to the end of the message: SRPT if nothing is acknowledged.
    ToTheEnd,
    /// Those before this packet: LAS.
    Attained,
}

impl TagPackets for Bytes {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        Tag::with_rank(self.urgency(facts))
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        match self {
            Bytes::Remaining => facts.remaining,
            Bytes::ToTheEnd => facts.size - facts.offset,
            Bytes::Attained => facts.offset,
        }
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
    fn ranks__saturate() {
        assert_eq!(Bytes::Remaining.tag(&data(0, 1 << 40, 1 << 40)).rank(), u32::MAX);
        assert_eq!(Bytes::ToTheEnd.tag(&data(1_460, 5_000, 5_000)).rank(), 3_540);
        assert_eq!(Bytes::Attained.tag(&data(1_460, 5_000, 5_000)).rank(), 1_460);
    }
}
