//! Shortest remaining first by a predicted size: pFabric as Flux (Dukic et al., NSDI 2019) and QCLIMB (NSDI 2024, Appendix A) run
//! it with imprecise knowledge.
//!
//! A packet's rank is the prediction minus the bytes that are acknowledged. QCLIMB does not say what applies to a flow that
//! outlives its prediction; [`Outlived::Double`] is the rule of Flux's simulator (`pfabricpredictionflow.cpp` of
//! vojislavdjukic/flux).

use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets};

/// What happens to a flow that is larger than predicted, from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlived {
    /// Its prediction p becomes 2 (p + 1), until that exceeds the bytes sent.
    Double,
    /// It comes first: nothing of its prediction remains.
    Top,
    /// It comes last.
    Bottom,
}

impl TagPackets for Outlived {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        Tag::with_rank(self.urgency(facts))
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        rank(facts, *self)
    }
}

/// Returns a data packet's rank, in bytes. A flow without a prediction has outlived it from the start.
fn rank(facts: &FlowFacts, outlived: Outlived) -> u64 {
    let acknowledged = facts.size - facts.remaining;
    // A retransmission may be below what was acknowledged selectively.
    let sent = facts.offset.max(acknowledged);
    let mut prediction = facts.predicted.map_or(0, |predicted| predicted.get());
    if prediction <= sent {
        match outlived {
            Outlived::Double => {
                while prediction <= sent {
                    prediction = prediction.saturating_add(1).saturating_mul(2);
                }
            }
            Outlived::Top => return 0,
            Outlived::Bottom => return u64::MAX,
        }
    }
    prediction - acknowledged
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    /// Returns the facts of a packet at `offset` in a message of 9,000 bytes with `acknowledged` bytes acknowledged.
    fn facts(predicted: u64, offset: u64, acknowledged: u64) -> FlowFacts {
        let predicted = NonZeroU64::new(predicted);
        FlowFacts { size: 9_000, remaining: 9_000 - acknowledged, offset, predicted, ..FlowFacts::default() }
    }

    #[test]
    fn rank__what_is_left_of_the_prediction() {
        for outlived in [Outlived::Double, Outlived::Top, Outlived::Bottom] {
            assert_eq!(rank(&facts(5_000, 0, 0), outlived), 5_000);
            assert_eq!(rank(&facts(5_000, 4_999, 1_460), outlived), 3_540);
        }
    }

    #[test]
    fn rank__of_a_flow_that_outlives_its_prediction() {
        let beyond = facts(1_000, 5_000, 2_000);
        // 2,002, 4,006, 8,014.
        assert_eq!(rank(&beyond, Outlived::Double), 6_014);
        assert_eq!([rank(&beyond, Outlived::Top), rank(&beyond, Outlived::Bottom)], [0, u64::MAX]);
        assert_eq!(rank(&facts(5_000, 5_000, 5_000), Outlived::Double), 5_002);
    }

    #[test]
    fn rank__of_an_unpredicted_flow_doubles_from_nothing() {
        // 2, 6, 14.
        assert_eq!([0, 2, 6].map(|sent| rank(&facts(0, sent, 0), Outlived::Double)), [2, 6, 14]);
    }

    #[test]
    fn rank__of_a_packet_below_what_is_acknowledged() {
        assert_eq!(rank(&facts(3_000, 0, 4_000), Outlived::Top), 0);
        assert_eq!(rank(&facts(3_000, 0, 4_000), Outlived::Double), 6_002 - 4_000);
    }
}
