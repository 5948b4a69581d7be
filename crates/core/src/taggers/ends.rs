//! What AWAFS's switches need to know: see [`crate::awafs`].

use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets};

/// The last packet of a flow is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Whether packets also say how many bytes were sent before them.
    pub sent: bool,
}

impl TagPackets for Ends {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        let last = facts.offset + u64::from(facts.payload) == facts.size;
        Tag::with_sent(if self.sent { facts.offset } else { 0 }, last)
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
    fn ends__the_last_packet_is_marked_and_others_say_what_was_sent() {
        let packet = |offset, payload| FlowFacts { payload, ..data(offset, 3_000, 3_000) };
        let tags = |sent| {
            let mut tagger = Ends { sent };
            [packet(0, 1_460), packet(1_460, 1_460), packet(2_920, 80)].map(|facts| tagger.tag(&facts))
        };
        let read = |tag: Tag| (tag.sent(), tag.ends_flow());
        assert_eq!(tags(true).map(read), [(0, false), (1_460, false), (2_920, true)]);
        assert_eq!(tags(false).map(read), [(0, false), (0, false), (0, true)]);
    }
}
