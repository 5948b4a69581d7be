//! Which path the next packet takes. A path is an entropy that switches hash, so two entropies may lead the same way.

use std::collections::VecDeque;

use flowsieve_core::Time;
use flowsieve_core::hash::mix;

/// How a sender chooses paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChoice {
    /// Each path in turn. The order changes with each round, by a random exclusive-or.
    Oblivious,
    /// The same, but a path with a penalty is passed over, and loses a point of it. Marks are 1 point, trims 4, and timeouts 15, which
    /// is the most.
    Bitmap,
    /// REPS: paths of the last eight answers without marks, the oldest first; else a random one. For 10 ms after a timeout, those eight
    /// over and over.
    Reps,
    /// The path of the oldest answer without a mark that was not used again; if there is none as [`PathChoice::Bitmap`].
    Mixed,
}

/// The paths of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathRules {
    /// How it chooses among them.
    pub choice: PathChoice,
    /// How many there are: a power of two up to 65,536.
    pub count: u32,
}

/// What an answer, or its lack, says of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Clear,
    Marked,
    Trimmed,
    Silent,
}

/// The most points of a penalty.
const MOST: u8 = 15;
/// Paths that REPS remembers.
const RING: usize = 8;
/// For how long REPS uses those alone after a timeout, and the packets after that for which it tries others.
const FROZEN: Time = Time::from_us(10_000);
const TRIES: u32 = 16;

/// Random numbers of a flow, by SplitMix64.
#[derive(Clone, Debug)]
struct Draws(u64);

impl Draws {
    fn below(&mut self, count: u32) -> u16 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (((mix(self.0) >> 32) * u64::from(count)) >> 32) as u16
    }
}

/// A walk over all paths.
#[derive(Clone, Debug)]
struct Walk {
    place: u32,
    mask: u16,
    /// By path.
    penalties: Vec<u8>,
}

/// The ring of REPS.
#[derive(Clone, Debug, Default)]
struct Ring {
    /// The paths of the last answers without marks.
    paths: VecDeque<u16>,
    /// How many of the newest were not used since.
    fresh: usize,
    /// Until when it is frozen; [`Time::ZERO`]: it is not.
    frozen_until: Time,
    /// The place of the next path while it is frozen.
    place: usize,
    /// Packets that try a random path.
    tries: u32,
}

/// The choice of a flow.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    rules: PathRules,
    draws: Draws,
    walk: Walk,
    ring: Ring,
    /// Mixed: paths to use again.
    clear: VecDeque<u16>,
}

impl Paths {
    /// Builds that of a flow with this seed.
    pub(super) fn new(rules: PathRules, seed: u64) -> Paths {
        let mut draws = Draws(seed);
        let mask = draws.below(rules.count);
        let penalties = if rules.choice == PathChoice::Reps { Vec::new() } else { vec![0; rules.count as usize] };
        let walk = Walk { place: 0, mask, penalties };
        Paths { rules, draws, walk, ring: Ring::default(), clear: VecDeque::new() }
    }

    /// Chooses the path of the next packet.
    pub(super) fn choose(&mut self) -> u16 {
        match self.rules.choice {
            PathChoice::Oblivious | PathChoice::Bitmap => self.walk(),
            PathChoice::Mixed => self.clear.pop_front().unwrap_or_else(|| self.walk()),
            PathChoice::Reps => self.recycle(),
        }
    }

    fn walk(&mut self) -> u16 {
        let mut path = self.walk.place as u16 ^ self.walk.mask;
        let mut passed_over = false;
        for _ in 0..self.rules.count {
            // Only the first on the way loses a point.
            match self.walk.penalties.get_mut(usize::from(path)) {
                Some(points) if *points > 0 => *points -= u8::from(!passed_over),
                _ => break,
            }
            passed_over = true;
            self.step();
            path = self.walk.place as u16 ^ self.walk.mask;
        }
        self.step();
        path
    }

    fn step(&mut self) {
        self.walk.place += 1;
        if self.walk.place >= self.rules.count {
            (self.walk.place, self.walk.mask) = (0, self.draws.below(self.rules.count));
        }
    }

    fn recycle(&mut self) -> u16 {
        let ring = &mut self.ring;
        if ring.tries > 0 {
            ring.tries -= 1;
        } else if ring.frozen_until > Time::ZERO {
            if let Some(&path) = ring.paths.get(ring.place) {
                ring.place = (ring.place + 1) % ring.paths.len();
                return path;
            }
        } else if let Some(&path) = ring.paths.get(ring.paths.len() - ring.fresh) {
            ring.fresh -= 1;
            return path;
        }
        self.draws.below(self.rules.count)
    }

    /// Hears of a path.
    pub(super) fn hear(&mut self, now: Time, path: u16, found: Found) {
        match self.rules.choice {
            PathChoice::Oblivious => {}
            PathChoice::Reps => self.ring.hear(now, path, found),
            PathChoice::Bitmap | PathChoice::Mixed => {
                let points = match found {
                    Found::Clear if self.rules.choice == PathChoice::Mixed => return self.clear.push_back(path),
                    Found::Clear => return,
                    Found::Marked => 1,
                    Found::Trimmed => 4,
                    Found::Silent => MOST,
                };
                if let Some(penalty) = self.walk.penalties.get_mut(usize::from(path)) {
                    *penalty = (*penalty + points).min(MOST);
                }
            }
        }
    }
}

impl Ring {
    fn hear(&mut self, now: Time, path: u16, found: Found) {
        if found == Found::Silent && self.frozen_until == Time::ZERO && self.tries == 0 {
            self.frozen_until = now + FROZEN;
        }
        if self.frozen_until > Time::ZERO && now > self.frozen_until {
            *self = Ring { tries: TRIES, ..Ring::default() };
        }
        if found == Found::Clear {
            if self.paths.len() == RING {
                self.paths.pop_front();
            }
            self.paths.push_back(path);
            self.fresh = (self.fresh + 1).min(RING);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(choice: PathChoice, count: u32) -> Paths {
        Paths::new(PathRules { choice, count }, 7)
    }

    fn next(paths: &mut Paths, count: usize) -> Vec<u16> {
        (0..count).map(|_| paths.choose()).collect()
    }

    #[test]
    fn oblivious__each_path_once_a_round_in_an_order_of_its_own() {
        let mut oblivious = paths(PathChoice::Oblivious, 64);
        let rounds: Vec<Vec<u16>> = (0..20).map(|_| next(&mut oblivious, 64)).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..64).collect::<Vec<u16>>());
            // The order is that of an exclusive-or.
            assert!((0..64u16).zip(round).all(|(place, path)| path ^ place == round[0]));
        }
        assert!(rounds.iter().any(|round| round[0] != rounds[0][0]));
        assert_eq!(next(&mut paths(PathChoice::Mixed, 1), 3), [0; 3]);
        assert_eq!(next(&mut paths(PathChoice::Reps, 1), 3), [0; 3]);
    }

    #[test]
    fn bitmap__a_mark_skips_one_use_a_trim_four_a_timeout_fifteen() {
        for (found, skipped) in [(Found::Marked, 1), (Found::Trimmed, 4), (Found::Silent, 15)] {
            let mut bitmap = paths(PathChoice::Bitmap, 4);
            bitmap.hear(Time::ZERO, 2, found);
            // A round without the path has three packets.
            let without = 3 * skipped + 2 + 3 * 4;
            let sent = next(&mut bitmap, without);
            assert!((3..=4).contains(&sent.iter().filter(|path| **path == 2).count()), "{found:?} {sent:?}");
            let first = sent.iter().position(|path| *path == 2).unwrap_or(0);
            assert!((3 * skipped..=3 * skipped + 6).contains(&first), "{found:?} {sent:?}");
        }
        // Where all have penalties one is used nevertheless, and 15 is the most.
        let mut all = paths(PathChoice::Bitmap, 2);
        for path in [0, 0, 1, 1, 1] {
            all.hear(Time::ZERO, path, Found::Silent);
        }
        assert!(all.walk.penalties == [15, 15] && all.choose() < 2 && all.walk.penalties.iter().sum::<u8>() == 29);
    }

    #[test]
    fn mixed__clear_paths_first_and_each_once() {
        let mut mixed = paths(PathChoice::Mixed, 4);
        let walk = mixed.walk.place as u16 ^ mixed.walk.mask;
        for path in [3, 1, 3] {
            mixed.hear(Time::ZERO, path, Found::Clear);
        }
        mixed.hear(Time::ZERO, 0, Found::Marked);
        assert_eq!(next(&mut mixed, 3), [3, 1, 3]);
        assert_eq!((mixed.choose(), walk != 0), (if walk == 0 { 1 } else { walk }, true));
    }

    #[test]
    fn reps__the_oldest_of_eight_and_frozen_for_ten_milliseconds() {
        let mut reps = paths(PathChoice::Reps, 1 << 16);
        (1..=9).for_each(|path| reps.hear(Time::ZERO, path, Found::Clear));
        reps.hear(Time::ZERO, 10, Found::Marked);
        assert_eq!(next(&mut reps, 8), [2, 3, 4, 5, 6, 7, 8, 9]);
        assert!(next(&mut reps, 3).iter().all(|path| *path > 9), "at random");
        reps.hear(Time::from_us(5), 0, Found::Silent);
        assert_eq!(next(&mut reps, 9), [2, 3, 4, 5, 6, 7, 8, 9, 2]);
        // 10 ms later it forgets them, and tries 16 others before it uses what it has learnt.
        reps.hear(Time::from_us(10_006), 11, Found::Clear);
        let tried = next(&mut reps, 17);
        assert_eq!((tried[..16].contains(&11), tried[16]), (false, 11));
    }
}
