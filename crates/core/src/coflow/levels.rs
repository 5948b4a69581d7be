//! From an order of coflows to a few priorities.

use std::collections::BTreeMap;

/// How the places of an order become levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelRule {
    /// The first coflow has the first level, the second the second, and so on; all from the last level on share it
    /// (Sincronia's code; pCoflow, ICIN 2021, §IV "Update"). Each departure lifts the coflows behind it.
    Rank,
    /// Coflows keep their levels while these follow the order, so that few are lifted: only lifting makes packets overtake. Ours.
    ///
    /// Levels rise along the order, and only the last one may be shared. A coflow without a level, or whose level no longer
    /// fits between its neighbours', takes one between them. If there is none, all levels are spread anew. The same happens
    /// if the last level would hold more coflows than those that do not fit above it, plus `slack`. Without that limit most
    /// coflows would end up there.
    Sparse {
        /// How many coflows more than necessary may share the last level.
        slack: usize,
    },
}

/// The levels of coflows, as they change with the order.
#[derive(Clone, Debug)]
pub struct Levels {
    rule: LevelRule,
    /// Number of levels.
    levels: usize,
    /// By coflow.
    current: BTreeMap<u32, u8>,
    /// How often a coflow rose to a higher level.
    lifts: u64,
}

/// The most levels: a priority is written in eight bits, and ports have this many queues.
pub const MOST_LEVELS: usize = 64;

impl Levels {
    /// # Panics
    /// If there are no levels, or more than [`MOST_LEVELS`]; set-up checks it.
    pub fn new(rule: LevelRule, levels: usize) -> Levels {
        assert!((1..=MOST_LEVELS).contains(&levels), "1 to 64 levels");
        Levels { rule, levels, current: BTreeMap::new(), lifts: 0 }
    }

    /// Returns the level of each coflow of an order, which has each once. Coflows that are not in it are forgotten.
    pub fn assign(&mut self, order: &[u32]) -> &BTreeMap<u32, u8> {
        let levels = match self.rule {
            LevelRule::Rank => (0..order.len()).map(|place| place.min(self.levels - 1)).collect(),
            LevelRule::Sparse { slack } => self.sparse(order, slack),
        };
        let next: BTreeMap<u32, u8> = order.iter().copied().zip(levels.into_iter().map(|level| level as u8)).collect();
        let lifted = |(coflow, level): &(&u32, &u8)| self.current.get(coflow).is_some_and(|before| before > level);
        self.lifts += next.iter().filter(lifted).count() as u64;
        self.current = next;
        &self.current
    }

    /// Returns how often a coflow rose to a higher level.
    pub fn lifts(&self) -> u64 {
        self.lifts
    }

    fn sparse(&self, order: &[u32], slack: usize) -> Vec<usize> {
        let last = self.levels - 1;
        let mut levels = self.kept(order);
        if levels.iter().all(Option::is_none) {
            return spread(order.len(), self.levels);
        }
        let mut above = None;
        for place in 0..order.len() {
            if levels[place].is_none() {
                let below = levels[place..].iter().flatten().next().copied();
                let Some(level) = between(above, below, last) else { return spread(order.len(), self.levels) };
                levels[place] = Some(level);
            }
            above = levels[place];
        }
        let levels: Vec<usize> = levels.into_iter().flatten().collect();
        let sharing = levels.iter().filter(|&&level| level == last).count();
        let limit = order.len().saturating_sub(last).max(1) + slack;
        if sharing > limit { spread(order.len(), self.levels) } else { levels }
    }

    /// Returns the levels that can stay: as many as possible that rise along the order.
    fn kept(&self, order: &[u32]) -> Vec<Option<usize>> {
        let last = self.levels - 1;
        let had: Vec<Option<usize>> =
            order.iter().map(|coflow| self.current.get(coflow).map(|&level| level.into())).collect();
        // By level: the places of the longest run of levels that ends with it.
        let mut runs: Vec<Vec<usize>> = vec![Vec::new(); self.levels];
        for (place, level) in had.iter().enumerate() {
            let Some(level) = *level else { continue };
            let until = if level == last { self.levels } else { level };
            let mut run = runs[..until].iter().max_by_key(|run| run.len()).cloned().unwrap_or_default();
            run.push(place);
            if run.len() > runs[level].len() {
                runs[level] = run;
            }
        }
        let longest = runs.into_iter().max_by_key(Vec::len).unwrap_or_default();
        let mut kept = vec![None; order.len()];
        longest.into_iter().for_each(|place| kept[place] = had[place]);
        kept
    }
}

/// Returns the middle level below that of the coflow before and above that of the next coflow that has one. The last level
/// may be shared with either.
fn between(above: Option<usize>, below: Option<usize>, last: usize) -> Option<usize> {
    let from = above.map_or(0, |level| (level + 1).min(last));
    let to = match below {
        Some(level) if level < last => level.checked_sub(1)?,
        _ => last,
    };
    (from <= to).then(|| from + (to - from) / 2)
}

/// Returns levels for an order of `coflows` coflows, as far apart as possible.
fn spread(coflows: usize, levels: usize) -> Vec<usize> {
    let last = levels - 1;
    let even = |place: usize| (2 * place + 1) * levels / (2 * coflows);
    let level = |place: usize| if coflows < levels { even(place) } else { place.min(last) };
    (0..coflows).map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_place(levels: &mut Levels, order: &[u32]) -> Vec<u8> {
        let assigned = levels.assign(order);
        order.iter().map(|coflow| assigned[coflow]).collect()
    }

    #[test]
    fn rank__every_departure_lifts_all_behind_it() {
        let mut levels = Levels::new(LevelRule::Rank, 4);
        assert_eq!(by_place(&mut levels, &[10, 11, 12, 13, 14]), [0, 1, 2, 3, 3]);
        assert_eq!(by_place(&mut levels, &[11, 12, 13, 14]), [0, 1, 2, 3]);
        assert_eq!(levels.lifts(), 3, "14 stays in the last level");
        assert_eq!(by_place(&mut levels, &[20, 11, 12, 13, 14]), [0, 1, 2, 3, 3]);
        assert_eq!(levels.lifts(), 3, "down is no lift");
    }

    #[test]
    fn sparse__a_departure_lifts_nobody() {
        let mut levels = Levels::new(LevelRule::Sparse { slack: 1 }, 8);
        assert_eq!(by_place(&mut levels, &[5]), [4]);
        assert_eq!(by_place(&mut levels, &[6, 5]), [1, 4], "between nothing and 5");
        assert_eq!(by_place(&mut levels, &[6, 7, 5]), [1, 2, 4]);
        assert_eq!(by_place(&mut levels, &[7, 5]), [2, 4]);
        assert_eq!(by_place(&mut levels, &[7, 5, 8]), [2, 4, 6]);
        assert_eq!(levels.lifts(), 0);
    }

    #[test]
    fn sparse__spreads_anew_where_there_is_no_level_between() {
        let mut levels = Levels::new(LevelRule::Sparse { slack: 0 }, 4);
        assert_eq!(by_place(&mut levels, &[1, 2]), [1, 3]);
        assert_eq!(by_place(&mut levels, &[1, 3, 2]), [1, 2, 3]);
        // Nothing lies between 1 and 2: three of four have levels of their own.
        assert_eq!(by_place(&mut levels, &[1, 4, 3, 2]), [0, 1, 2, 3]);
        assert_eq!(levels.lifts(), 1);
    }

    #[test]
    fn sparse__the_last_level_is_shared_by_those_that_have_to() {
        let mut levels = Levels::new(LevelRule::Sparse { slack: 1 }, 4);
        let six: Vec<u32> = (0..6).collect();
        assert_eq!(by_place(&mut levels, &six), [0, 1, 2, 3, 3, 3]);
        // Three of five in the last level are one more than necessary, and that is the slack. A new first one finds a level.
        assert_eq!(by_place(&mut levels, &[1, 2, 3, 4, 5]), [1, 2, 3, 3, 3]);
        assert_eq!(by_place(&mut levels, &[9, 1, 2, 3, 4, 5]), [0, 1, 2, 3, 3, 3]);
        assert_eq!(by_place(&mut levels, &[1, 2, 3, 4, 5]), [1, 2, 3, 3, 3]);
        assert_eq!(levels.lifts(), 0);
        // Three of four are too many.
        assert_eq!(by_place(&mut levels, &[2, 3, 4, 5]), [0, 1, 2, 3]);
        assert_eq!(levels.lifts(), 3);
    }

    #[test]
    fn sparse__who_changes_places_gives_way() {
        let mut levels = Levels::new(LevelRule::Sparse { slack: 1 }, 8);
        assert_eq!(by_place(&mut levels, &[1, 2, 3]), [1, 4, 6]);
        assert_eq!(by_place(&mut levels, &[2, 3, 1]), [4, 6, 7], "1 alone moves");
        assert_eq!(levels.lifts(), 0);
    }

    proptest! {
        /// Holds for all arrivals, departures and changes of place.
        #[test]
        fn sparse__follows_the_order_and_shares_no_more_than_its_rule(
            orders in prop::collection::vec(prop::collection::vec(0u32..40, 0..30), 1..20),
            count in 1usize..=10, slack in 0usize..4
        ) {
            let mut levels = Levels::new(LevelRule::Sparse { slack }, count);
            for order in orders {
                let mut seen = std::collections::BTreeSet::new();
                let order: Vec<u32> = order.into_iter().filter(|&coflow| seen.insert(coflow)).collect();
                let found = by_place(&mut levels, &order);
                let last = count as u8 - 1;
                prop_assert!(found.iter().all(|&level| level <= last));
                prop_assert!(found.is_sorted_by(|a, b| a < b || (*a == last && *b == last)), "{found:?}");
                let sharing = found.iter().filter(|&&level| level == last).count();
                prop_assert!(sharing <= order.len().saturating_sub(count - 1).max(1) + slack, "{found:?}");
            }
        }

        #[test]
        fn sparse__an_order_that_stays_changes_nothing(order in prop::collection::btree_set(0u32..40, 0..30), count in 1usize..=10) {
            let order: Vec<u32> = order.into_iter().rev().collect();
            let mut levels = Levels::new(LevelRule::Sparse { slack: 1 }, count);
            let first = by_place(&mut levels, &order);
            prop_assert_eq!(by_place(&mut levels, &order), first);
        }
    }
}
