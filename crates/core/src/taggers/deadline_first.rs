//! Earliest deadline first, as pFabric's variant for deadlines ranks packets (SIGCOMM 2013), with the rule of QCluster's
//! simulations for flows that are late.
//!
//! Flows with and without a deadline share a rank of 32 bits. A deadline is in microseconds from the start of the run and
//! takes the lower half (35 minutes; later ones are equal). The remaining bytes of other flows take the upper half (2.1 GB;
//! more is equal). A flow that can no longer meet its deadline, even with its host's whole link, has the last rank of all,
//! which no other flow has.

use crate::tag::Tag;
use crate::tagger::{FlowFacts, TagPackets};
use crate::units::Rate;

/// The first rank of flows without a deadline.
const OTHERS: u32 = 1 << 31;

/// The last rank: flows that are late.
const LATE: u32 = u32::MAX;

/// Ranks by the deadline, or else by the bytes that remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineFirst {
    /// The rate of the host's link.
    pub rate: Rate,
}

impl TagPackets for DeadlineFirst {
    fn tag(&mut self, facts: &FlowFacts) -> Tag {
        Tag::with_rank(self.urgency(facts))
    }

    fn urgency(&self, facts: &FlowFacts) -> u64 {
        rank(facts, self.rate).into()
    }
}

/// Returns a data packet's rank at a host whose link has this rate.
fn rank(facts: &FlowFacts, rate: Rate) -> u32 {
    let others = |bytes: u64| OTHERS + u32::try_from(bytes).unwrap_or(LATE).min(LATE - 1 - OTHERS);
    let Some(deadline) = facts.deadline else { return others(facts.remaining) };
    // Both sides in bits times 10^12.
    let needed = u128::from(facts.remaining) * 8_000_000_000_000;
    let possible = u128::from(deadline.since(facts.now).0) * u128::from(rate.bps());
    if needed > possible {
        return LATE;
    }
    u32::try_from(deadline.0 / 1_000_000).unwrap_or(LATE).min(OTHERS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    fn facts(now_us: u64, deadline_us: Option<u64>, remaining: u64) -> FlowFacts {
        FlowFacts {
            now: Time::from_us(now_us),
            deadline: deadline_us.map(Time::from_us),
            remaining,
            ..FlowFacts::default()
        }
    }

    #[test]
    fn rank__deadlines_first_then_what_remains_then_the_late() {
        let rate = Rate::new(10_000_000_000).unwrap();
        let of = |now, deadline, remaining| rank(&facts(now, deadline, remaining), rate);
        assert_eq!([of(0, Some(700), 1_000), of(0, Some(900), 9)], [700, 900]);
        // 125,000 bytes take 100 us at 10 Gbit/s.
        assert_eq!([of(800, Some(900), 125_000), of(800, Some(900), 125_001)], [900, u32::MAX]);
        assert_eq!([of(900, Some(900), 1), of(901, Some(900), 1)], [u32::MAX; 2]);
        assert_eq!([of(0, None, 1), of(0, None, 5_000)], [OTHERS + 1, OTHERS + 5_000]);
        assert!(of(0, Some(u64::MAX / 2_000_000), 1) < of(0, None, 0));
        assert_eq!([of(0, Some(3_000_000_000), 1), of(0, None, 1 << 40)], [OTHERS - 1, u32::MAX - 1]);
    }
}
