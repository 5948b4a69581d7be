//! QCLIMB's priorities (Li et al., NSDI 2024 §3.1, Appendix C): a flow climbs through the queues towards the lower bound of
//! its size. For a slack beyond it, the flow has the highest priority; then it is demoted by the bytes sent.
//!
//! With B the bytes before a packet, L and U the bounds and S the slack, Algorithm 1 gives the packet
//!
//! | while | the priority |
//! | --- | --- |
//! | B < L | level(L − B): the flow climbs |
//! | B < L + S | the highest |
//! | B < U | level(B): the flow is demoted as in PIAS |
//! | else | the lowest |
//!
//! where level(v) is the number of thresholds that v exceeds, PIAS's comparison: so L = 0, U = ∞, S = 0 is PIAS. The paper
//! describes level(v) differently (§3.1, step 1) for v equal to a threshold. B is the packet's offset in its message, so
//! that a retransmission does not age the flow. §3.1 and Algorithm 1 differ: a flow keeps its priority, or takes the
//! highest, for the slack; it falls to level(L), or to level(B). Algorithm 1 holds here. If U ≤ L + S, a flow falls from
//! the highest queue to the lowest.

use std::num::NonZeroU64;

use crate::message::{Bounds, Message};
use crate::readings::{Reading, Share};
use crate::steps::{Step, Steps};
use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets, TaggerRules};
use crate::taggers::demotion::level;

/// What a packet's priority depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// B: bytes of the message before it.
    pub offset: u64,
    /// Bytes of its payload.
    pub payload: u32,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// The size of its message, in bytes.
    pub size: u64,
    /// The predicted size.
    pub predicted: Option<NonZeroU64>,
    /// L and U.
    pub bounds: Option<Bounds>,
}

impl Packet {
    #[inline(always)]
    fn of(facts: &FlowFacts) -> Packet {
        let FlowFacts { offset, payload, retransmission, size, predicted, bounds, .. } = *facts;
        Packet { offset, payload, retransmission, size, predicted, bounds }
    }
}

/// How a flow climbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClimbParams {
    /// Bytes, rising; there is one more queue than thresholds.
    pub thresholds: Vec<u64>,
    /// S, in bytes.
    pub slack: u64,
    /// What is known of a flow's size.
    pub knows: SizeKnowledge,
    /// What happens to a flow without predictions.
    pub unseen: Unseen,
    /// Whether retransmissions have the highest priority (§3.2.3), instead of that of their offset.
    pub retransmissions_first: bool,
}

/// What is known of a flow's size as it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeKnowledge {
    /// Predicted bounds: QCLIMB.
    Bounds,
    /// The size: QCLIMB-PS (§5.1), whose bounds are equal to it.
    Size,
    /// A predicted size: QCLIMB-PP (§5.2.1), whose bounds are equal to that, so that a flow beyond it has the lowest priority.
    PredictedSize,
    /// A predicted size, compared with the thresholds once: QCLIMB-FP (§5.2.1).
    PredictedSizeOnce,
}

/// What happens to a flow without predictions (§5.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// The flow is demoted by the bytes that it sent, as in PIAS.
    Pias,
    /// The whole flow has the lowest priority.
    Lowest,
}

/// The tagger of a host. It counts how often it differs from PIAS.
#[derive(Clone, Debug)]
pub struct Climb {
    params: ClimbParams,
    tagged: Tally,
    /// Those of them to which PIAS with the same thresholds gives another priority.
    unlike_pias: Tally,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    packets: u64,
    bytes: u64,
}

impl Tally {
    fn add(&mut self, payload: u32) {
        self.packets += 1;
        self.bytes += u64::from(payload);
    }
}

impl ClimbParams {
    /// Returns the priority of a data packet.
    pub fn priority(&self, packet: &Packet) -> u8 {
        if packet.retransmission && self.retransmissions_first {
            return 0;
        }
        if self.knows == SizeKnowledge::PredictedSizeOnce {
            let size = packet.predicted.map(|size| level(&self.thresholds, size.get()) as u8);
            return size.unwrap_or_else(|| self.unseen(packet.offset));
        }
        let bounds = self.bounds(packet.size, packet.predicted, packet.bounds);
        bounds.map_or_else(|| self.unseen(packet.offset), |bounds| self.climb(packet.offset, bounds))
    }

    /// Returns where the steps of a message end; `None` if it has none, because it keeps the priority of its predicted size.
    pub fn steps(&self, message: &Message) -> Option<Steps> {
        if self.knows == SizeKnowledge::PredictedSizeOnce {
            return None;
        }
        let bounds = self.bounds(message.bytes, message.predicted, message.bounds);
        Some(bounds.map_or(Steps::DEMOTION, |bounds| self.steps_to(bounds)))
    }

    /// Returns L and U, if they are known.
    #[inline(always)]
    fn bounds(&self, size: u64, predicted: Option<NonZeroU64>, bounds: Option<Bounds>) -> Option<Bounds> {
        let exactly = |size: NonZeroU64| Bounds { lower: size.get(), upper: size };
        match self.knows {
            SizeKnowledge::Bounds => bounds,
            SizeKnowledge::Size => NonZeroU64::new(size).map(exactly),
            SizeKnowledge::PredictedSize => predicted.map(exactly),
            SizeKnowledge::PredictedSizeOnce => None,
        }
    }

    #[inline(always)]
    fn steps_to(&self, Bounds { lower, upper }: Bounds) -> Steps {
        Steps { lower, slack_end: lower.saturating_add(self.slack), upper: upper.get() }
    }

    /// Returns the priority of Algorithm 1.
    fn climb(&self, sent: u64, bounds: Bounds) -> u8 {
        match self.steps_to(bounds).step(sent) {
            Step::Climb => level(&self.thresholds, bounds.lower - sent) as u8,
            Step::Slack | Step::Inference => 0,
            Step::Demotion => level(&self.thresholds, sent) as u8,
            Step::Beyond => self.thresholds.len() as u8,
        }
    }

    fn unseen(&self, sent: u64) -> u8 {
        match self.unseen {
            Unseen::Pias => level(&self.thresholds, sent) as u8,
            Unseen::Lowest => self.thresholds.len() as u8,
        }
    }
}

/// Returns whether `bytes` exceeds exactly `level` thresholds.
fn is_level(thresholds: &[u64], level: usize, bytes: u64) -> bool {
    let exceeds = |nth: usize| thresholds.get(nth).is_some_and(|threshold| bytes > *threshold);
    !exceeds(level) && (level == 0 || exceeds(level - 1))
}

impl Climb {
    #[inline(never)]
    fn tag_packet(&mut self, packet: &Packet) -> Tag {
        let priority = self.params.priority(packet);
        self.tagged.add(packet.payload);
        if !is_level(&self.params.thresholds, priority.into(), packet.offset) {
            self.unlike_pias.add(packet.payload);
        }
        Tag::with_priority(priority)
    }
}

impl TaggerRules for ClimbParams {
    type Tagger = Climb;

    fn build(&self) -> Climb {
        Climb { params: self.clone(), tagged: Tally::default(), unlike_pias: Tally::default() }
    }
}

impl TagPackets for Climb {
    #[inline(always)]
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        self.tag_packet(&Packet::of(facts))
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        self.params.priority(&Packet::of(facts)).into()
    }

    fn steps(&self, message: &Message) -> Option<Steps> {
        self.params.steps(message)
    }

    /// Reports how often it differed from PIAS.
    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        for (name, count) in [
            ("data_packets_tagged", self.tagged.packets),
            ("payload_tagged", self.tagged.bytes),
            ("data_packets_tagged_unlike_pias", self.unlike_pias.packets),
            ("payload_tagged_unlike_pias", self.unlike_pias.bytes),
        ] {
            see(Reading::Count { name, count });
        }
        see(Reading::Share(Share {
            name: "data_packets_tagged_unlike_pias",
            part: self.unlike_pias.packets,
            whole: self.tagged.packets,
            at_least: 0.01,
            warning: |share| {
                let percent = (share * 1e4).round() / 1e2;
                format!(
                    "hosts gave only {percent} % of the data packets a different priority than PIAS with the same \
                     thresholds, so the scheme acts like PIAS: the bounds are too loose, or the thresholds exceed nearly all flows"
                )
            },
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taggers::demotion::Demotion;
    use proptest::prelude::*;

    /// Three queues: up to 2 units, up to 5, and above.
    fn params(slack: u64, knows: SizeKnowledge) -> ClimbParams {
        let (unseen, retransmissions_first) = (Unseen::Pias, true);
        ClimbParams { thresholds: vec![2, 5], slack, knows, unseen, retransmissions_first }
    }

    fn bounds(lower: u64, upper: u64) -> Option<Bounds> {
        Some(Bounds { lower, upper: NonZeroU64::new(upper).unwrap() })
    }

    fn data(offset: u64, bounds: Option<Bounds>) -> Packet {
        Packet { offset, payload: 1, bounds, ..Packet::default() }
    }

    /// Returns the priorities of the units of a flow.
    fn walk(params: &ClimbParams, bounds: Option<Bounds>, units: u64) -> Vec<u8> {
        (0..units).map(|sent| params.priority(&data(sent, bounds))).collect()
    }

    #[test]
    fn climb__up_to_the_lower_bound_then_down_from_where_it_is() {
        let qclimb = params(0, SizeKnowledge::Bounds);
        // 7 units to the lower bound: above 5, then up to 5, then up to 2. At 7 sent it is above 5 again; at 10 it ends.
        assert_eq!(walk(&qclimb, bounds(7, 10), 12), [2, 2, 1, 1, 1, 0, 0, 2, 2, 2, 2, 2]);
        // After a bound of 3, the 3 bytes sent are up to 5.
        assert_eq!(walk(&qclimb, bounds(3, 5), 7), [1, 0, 0, 1, 1, 2, 2]);
    }

    /// On its way to the lower bound L a flow that has sent B bytes is at level(L − B), so it visits the levels of L,
    /// …, 1 bytes. Under PIAS, with the same thresholds, it visits those of 0, …, L − 1. Beyond L, without slack and up
    /// to U, both are at level(B). So each level takes as many bytes as under PIAS, up to one (here a unit): only their
    /// order differs. Whatever small flows gain under the same thresholds, it is not that the highest queue carries
    /// less.
    #[test]
    fn climb__visits_each_level_for_as_long_as_pias_does() {
        let (qclimb, mut pias) = (params(0, SizeKnowledge::Bounds), Demotion { thresholds: vec![2, 5] });
        for size in 1..40 {
            for lower in 1..=size {
                let climbed = walk(&qclimb, bounds(lower, size), size);
                for level in 0..3u8 {
                    let of_pias = (0..size).filter(|&sent| {
                        pias.tag(&FlowFacts { offset: sent, payload: 1, size, ..FlowFacts::default() }).priority()
                            == level
                    });
                    let of_climb = climbed.iter().filter(|&&priority| priority == level).count();
                    assert!(of_pias.count().abs_diff(of_climb) <= 1, "level {level}, lower bound {lower}, size {size}");
                }
            }
        }
    }

    #[test]
    fn climb__a_slack_at_the_highest_priority() {
        let qclimb = params(2, SizeKnowledge::Bounds);
        assert_eq!(walk(&qclimb, bounds(3, 7), 9), [1, 0, 0, 0, 0, 1, 2, 2, 2]);
        // The slack goes beyond the upper bound: the flow falls from the highest priority to the lowest.
        assert_eq!(walk(&qclimb, bounds(3, 4), 7), [1, 0, 0, 0, 0, 2, 2]);
        assert_eq!(walk(&qclimb, bounds(3, 3), 7), [1, 0, 0, 0, 0, 2, 2]);
    }

    #[test]
    fn climb__without_bounds_and_slack_is_pias() {
        let (qclimb, mut pias) = (params(0, SizeKnowledge::Bounds), Demotion { thresholds: vec![2, 5] });
        for sent in [0, 1, 2, 3, 5, 6, u64::MAX - 1] {
            let of_pias = pias.tag(&FlowFacts { offset: sent, ..FlowFacts::default() }).priority();
            assert_eq!(qclimb.priority(&data(sent, bounds(0, u64::MAX))), of_pias, "{sent}");
            assert_eq!(qclimb.priority(&data(sent, None)), of_pias, "{sent}");
        }
    }

    #[test]
    fn climb__of_what_nothing_is_known() {
        let lowest = ClimbParams { unseen: Unseen::Lowest, ..params(0, SizeKnowledge::Bounds) };
        assert_eq!(walk(&lowest, None, 4), [2, 2, 2, 2]);
        assert_eq!(walk(&params(0, SizeKnowledge::PredictedSize), None, 4), [0, 0, 0, 1]);
        assert_eq!(walk(&params(0, SizeKnowledge::PredictedSizeOnce), None, 4), [0, 0, 0, 1]);
    }

    #[test]
    fn variants__climb_by_a_size() {
        let sized = |knows| {
            let params = params(0, knows);
            let facts = |offset| Packet { size: 6, predicted: NonZeroU64::new(3), ..data(offset, bounds(1, 2)) };
            (0..6).map(|sent| params.priority(&facts(sent))).collect::<Vec<_>>()
        };
        assert_eq!(sized(SizeKnowledge::Size), [2, 1, 1, 1, 0, 0]);
        assert_eq!(sized(SizeKnowledge::PredictedSize), [1, 0, 0, 2, 2, 2]);
        assert_eq!(sized(SizeKnowledge::PredictedSizeOnce), [1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn climb__retransmissions_first_or_by_their_offset() {
        let again = Packet { retransmission: true, ..data(4, bounds(0, 9)) };
        let by_offset = ClimbParams { retransmissions_first: false, ..params(0, SizeKnowledge::Bounds) };
        assert_eq!([params(0, SizeKnowledge::Bounds).priority(&again), by_offset.priority(&again)], [0, 1]);
    }

    #[test]
    fn steps__end_at_what_is_known() {
        let message = Message { bytes: 6, predicted: NonZeroU64::new(3), bounds: bounds(1, 9), ..Message::default() };
        let ends = |knows| params(2, knows).steps(&message).map(|it| (it.lower, it.slack_end, it.upper));
        assert_eq!(ends(SizeKnowledge::Bounds), Some((1, 3, 9)));
        assert_eq!(ends(SizeKnowledge::Size), Some((6, 8, 6)));
        assert_eq!(ends(SizeKnowledge::PredictedSize), Some((3, 5, 3)));
        assert_eq!(ends(SizeKnowledge::PredictedSizeOnce), None);
        let unseen = Message { bytes: 6, ..Message::default() };
        assert_eq!(params(2, SizeKnowledge::Bounds).steps(&unseen), Some(Steps::DEMOTION));
    }

    #[test]
    fn tag__counts_what_pias_would_not_have_done() {
        let mut climb = params(0, SizeKnowledge::Bounds).build();
        // QCLIMB: 1, 0, 0, 1, 1; PIAS: 0, 0, 0, 1, 1.
        for sent in 0..5 {
            climb.tag_packet(&Packet { payload: 1_000 - sent as u32, ..data(sent, bounds(3, 9)) });
        }
        let mut seen = Vec::new();
        climb.observe(&mut |reading| {
            if let Reading::Count { count, .. } = reading {
                seen.push(count);
            }
        });
        assert_eq!(seen, [5, 4_990, 1, 1_000]);
    }

    proptest! {
        #[test]
        fn priority__is_in_range_and_turns_once(
            mut thresholds in prop::collection::vec(any::<u64>(), 0..8),
            slack: u64, lower: u64, upper in 1u64.., mut sent in prop::collection::vec(any::<u64>(), 2..60),
        ) {
            thresholds.sort_unstable();
            thresholds.dedup();
            let queues = thresholds.len() as u8 + 1;
            let params = ClimbParams { thresholds, ..params(slack, SizeKnowledge::Bounds) };
            // Bounds that cross are legal here: no priority is invalid.
            let bounds = bounds(lower, upper);
            sent.extend([0, lower.saturating_sub(1), lower, upper - 1, upper, lower.saturating_add(slack)]);
            sent.sort_unstable();
            let priorities: Vec<u8> = sent.iter().map(|&sent| params.priority(&data(sent, bounds))).collect();
            prop_assert!(priorities.iter().all(|priority| *priority < queues));
            for (&sent, levels) in sent.iter().zip(std::iter::repeat(0..usize::from(queues))) {
                let found: Vec<usize> = levels.filter(|&of| is_level(&params.thresholds, of, sent)).collect();
                prop_assert_eq!(found, [level(&params.thresholds, sent)]);
            }
            // First the flow never falls; from the lower bound on it never rises.
            let climbing = sent.partition_point(|&sent| sent < lower);
            prop_assert!(priorities[..climbing].is_sorted_by(|a, b| a >= b), "{priorities:?}");
            prop_assert!(priorities[climbing..].is_sorted(), "{priorities:?}");
        }
    }
}
