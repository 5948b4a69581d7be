//! A cap on what a host sends in each level, against applications that split their messages: each piece begins in the best
//! level, and what tags cannot tell that it is a piece.
//!
//! A level's share is that part of all bytes which messages send in it, by the controller's sketch. A host may send a
//! multiple of the share in the level, of what its line carries. The shares are of bytes, so a host that splits raises them
//! by no more than its part of the traffic. What exceeds the cap goes to the next level, and the last level has none.

use crate::controller::Published;
use crate::controllers::survival::LEVEL_SHARE;
use crate::units::Time;

/// The rules of a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelCap {
    /// A level's rate over its share of the line's, in thousandths.
    pub thousandths: u64,
    /// The line of the fastest host, in bit/s.
    pub line_bps: u64,
    /// A host may send at once what the cap permits in this time.
    pub burst: Time,
}

/// The cap of a host. Without shares there is none.
#[derive(Clone, Debug)]
pub struct CappedLevels {
    rules: LevelCap,
    /// The version of the shares.
    version: u64,
    /// By level but the last: the time between two bytes, and when what was sent is paid for.
    levels: Vec<(Time, Time)>,
}

impl CappedLevels {
    /// Builds the cap of a host that has sent nothing.
    pub fn new(rules: LevelCap) -> CappedLevels {
        CappedLevels { rules, version: 0, levels: Vec::new() }
    }

    /// Returns the level of a packet that would have `level`, and counts it. A level that has been idle for long enough has
    /// room for a packet, however long that takes of it.
    pub fn admit(&mut self, level: u8, payload: u32, now: Time) -> u8 {
        let latest = now + self.rules.burst;
        for (number, (byte, paid)) in (level..).zip(self.levels.iter_mut().skip(level.into())) {
            let after = Time(byte.0.saturating_mul(payload.into()).saturating_add(now.max(*paid).0));
            if after <= latest || (*paid <= now && byte.0 < u64::MAX) {
                *paid = after;
                return number;
            }
        }
        level.max(self.levels.len() as u8)
    }

    /// Takes the shares of levels, in millionths.
    pub fn on_table(&mut self, published: &Published) {
        if published.table.name != LEVEL_SHARE || published.version <= self.version {
            return;
        }
        self.version = published.version;
        let shares = &published.table.values;
        self.levels.resize(shares.len().saturating_sub(1), (Time::ZERO, Time::ZERO));
        for ((byte, _), (_, share)) in self.levels.iter_mut().zip(shares) {
            let rate = u128::from(self.rules.line_bps) * u128::from(self.rules.thousandths) * u128::from(*share);
            let ps = (8_000_000_000_000u128 * 1_000_000_000).checked_div(rate);
            *byte = Time(ps.and_then(|ps| ps.try_into().ok()).unwrap_or(u64::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Table;

    /// A byte takes 800 ps on the line. Levels have shares of 10, 40 and 50 %, and may have twice that.
    fn capped() -> CappedLevels {
        let mut host =
            CappedLevels::new(LevelCap { thousandths: 2_000, line_bps: 10_000_000_000, burst: Time::from_us(20) });
        host.on_table(&Published {
            version: 1,
            table: Table::of_thresholds(LEVEL_SHARE, &[100_000, 400_000, 500_000]),
        });
        host
    }

    #[test]
    fn admit__the_share_in_the_mean_and_what_exceeds_it_goes_down() {
        let mut host = capped();
        // 1,000 bytes take 4 us of the first level and 1 us of the second: five and twenty packets at once.
        let at_once: Vec<u8> = (0..27).map(|_| host.admit(0, 1_000, Time::ZERO)).collect();
        assert_eq!(at_once, [vec![0; 5], vec![1; 20], vec![2; 2]].concat());
        assert_eq!([3, 4, 4].map(|us| host.admit(0, 1_000, Time::from_us(us))), [1, 0, 1]);
        assert_eq!(host.admit(2, 1_000, Time::from_us(4)), 2, "the last level has no cap");
        // After a pause it is as at the beginning, and no more.
        let later: Vec<u8> = (0..6).map(|_| host.admit(0, 1_000, Time::from_us(900))).collect();
        assert_eq!(later, [0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn admit__without_shares_all_and_without_a_share_none() {
        let mut host = CappedLevels::new(LevelCap { thousandths: 1, line_bps: 10_000_000_000, burst: Time::ZERO });
        assert_eq!([0, 7].map(|level| host.admit(level, u32::MAX, Time(5))), [0, 7]);
        host.on_table(&Published { version: 1, table: Table::of_thresholds(LEVEL_SHARE, &[0, 1_000_000]) });
        assert_eq!([0, 1, 2].map(|level| host.admit(level, 1, Time(5))), [1, 1, 2]);
        // A thousandth of half the line: a byte takes 1.6 us, and the next waits for that.
        host.on_table(&Published { version: 2, table: Table::of_thresholds(LEVEL_SHARE, &[500_000, 500_000]) });
        host.on_table(&Published { version: 1, table: Table::of_thresholds(LEVEL_SHARE, &[0, 1_000_000]) });
        let at = |us| Time::from_us(us);
        assert_eq!([10, 1_609, 1_610].map(|us| host.admit(0, 1_000, at(us))), [0, 1, 0]);
    }
}
