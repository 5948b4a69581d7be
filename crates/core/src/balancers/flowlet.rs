//! Flowlets: a burst keeps its path; after a gap the next burst draws a new one (LetFlow, NSDI 2017 §3).

use rand_core::Rng;

use super::ecmp::flow_of;
use crate::balancer::{BalancerRules, BalancerSite, ChooseWay};
use crate::hash::{mix, reduce};
use crate::meta::Meta;
use crate::units::Time;

/// LetFlow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flowlet {
    /// Idle time that ends a flowlet.
    pub gap: Time,
}

impl BalancerRules for Flowlet {
    type Balancer = FlowletTable;

    fn build(&self, _: &BalancerSite) -> FlowletTable {
        FlowletTable::new(self.gap)
    }
}

/// The path of no flowlet.
const NO_PATH: (u16, u16) = (u16::MAX, u16::MAX);

/// Flowlet switching: a hashed table of the last packet's instant and path (the group and its way), as a switch's registers
/// hold it. Flows that share an entry share their flowlets.
pub struct FlowletTable {
    entries: Vec<(Time, (u16, u16))>,
    gap: Time,
}

impl FlowletTable {
    const ENTRIES: usize = 1 << 14;

    /// Builds a table whose flowlets end after `gap` without a packet.
    pub fn new(gap: Time) -> FlowletTable {
        FlowletTable { entries: vec![(Time::ZERO, NO_PATH); Self::ENTRIES], gap }
    }

    /// Returns the path of the flowlet that this packet continues; `None` if the packet begins a flowlet.
    #[inline(always)]
    pub(super) fn goes_on(&mut self, meta: &Meta, ways: usize, now: Time) -> Option<usize> {
        let (last, (_, way)) = &mut self.entries[Self::entry(meta)];
        let goes_on = usize::from(*way) < ways && now.since(*last) <= self.gap;
        goes_on.then(|| {
            *last = now;
            usize::from(*way)
        })
    }

    /// Returns the way of the flow's last packet, however long ago; that of another flow if they share an entry.
    pub(super) fn last_way(&self, meta: &Meta) -> Option<usize> {
        let (_, path) = self.entries[Self::entry(meta)];
        (path != NO_PATH).then_some(usize::from(path.1))
    }

    pub(super) fn begin(&mut self, meta: &Meta, path: (u16, u16), now: Time) {
        self.entries[Self::entry(meta)] = (now, path);
    }

    /// Ends the flowlets of a path.
    pub(super) fn end(&mut self, path: (u16, u16)) {
        self.entries.iter_mut().filter(|(_, of)| *of == path).for_each(|entry| entry.1 = NO_PATH);
    }

    #[inline(always)]
    fn entry(meta: &Meta) -> usize {
        reduce(mix(flow_of(meta)), Self::ENTRIES)
    }
}

impl ChooseWay for FlowletTable {
    fn choose(&mut self, meta: &Meta, group: usize, ways: usize, now: Time, random: &mut dyn Rng) -> Option<usize> {
        Some(self.goes_on(meta, ways, now).unwrap_or_else(|| {
            let way = reduce(random.next_u64(), ways);
            self.begin(meta, (group as u16, way as u16), now);
            way
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn packet(flow: u32) -> Meta {
        Meta { flow, dst: 7, ..Meta::default() }
    }

    #[test]
    fn flowlet__stays_within_the_gap_and_draws_anew_after_it() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut flowlets = FlowletTable::new(Time::from_us(50));
        let mut now = Time::ZERO;
        let mut at = |now, random: &mut Xoshiro256PlusPlus| flowlets.choose(&packet(5), 0, 16, now, random);
        let first = at(now, &mut random);
        for _ in 0..20 {
            now += Time::from_us(50);
            assert_eq!(at(now, &mut random), first);
        }
        let mut moved = false;
        for _ in 0..20 {
            now += Time::from_us(51);
            moved |= at(now, &mut random) != first;
        }
        assert!(moved, "20 draws out of 16 ways");
    }
}
