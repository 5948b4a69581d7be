//! The sender's scoreboard: the state of every outstanding segment (RFC 6675 §3-4).
//!
//! A segment is in flight, selectively acknowledged, or lost; a lost one that is sent again is in flight again. Selectively
//! acknowledged segments stay so over a timeout: this receiver never takes them back (RFC 2018 §8 lets it).

use std::ops::Range;

use crate::tcp::ring::Ring;

const SACKED: usize = 0;
const LOST: usize = 1;

/// The scoreboard of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board {
    ring: Ring<2>,
    /// The oldest segment that is not cumulatively acknowledged.
    pub(crate) una: u32,
    /// No segment from here on has a bit.
    end: u32,
    /// Segments that are selectively acknowledged.
    pub(crate) sacked: u32,
    /// Segments that are lost and not sent again.
    pub(crate) lost: u32,
    /// ACKs do not judge segments below this one again: RFC 6675 §5.1 leaves a lost retransmission to the timer.
    judged: u32,
}

impl Board {
    /// Moves the cumulative edge; returns how many segments were not known to have arrived.
    #[inline]
    pub(crate) fn advance(&mut self, to: u32) -> u32 {
        let segments = to - self.una;
        let mut known = 0;
        if self.una < self.end {
            let mut lost = 0;
            self.ring.for_each_word(self.una, to.min(self.end), |word, mask| {
                known += (word[SACKED] & mask).count_ones();
                lost += (word[LOST] & mask).count_ones();
                word.iter_mut().for_each(|lane| *lane &= !mask);
            });
            self.sacked -= known;
            self.lost -= lost;
        }
        self.una = to;
        segments - known
    }

    /// Marks a run as arrived; returns how many of its segments were not known to have.
    #[inline]
    pub(crate) fn sack(&mut self, (from, to): (u32, u32)) -> u32 {
        let from = from.max(self.una);
        if from >= to {
            return 0;
        }
        self.reach(to);
        let (mut new, mut lost) = (0, 0);
        self.ring.for_each_word(from, to, |word, mask| {
            new += (!word[SACKED] & mask).count_ones();
            lost += (word[LOST] & mask).count_ones();
            word[SACKED] |= mask;
            word[LOST] &= !mask;
        });
        self.sacked += new;
        self.lost -= lost;
        new
    }

    #[inline]
    fn reach(&mut self, end: u32) {
        self.ring.ensure(self.una, end);
        self.end = self.end.max(end);
    }

    /// Returns whether a segment is known to have arrived.
    #[inline]
    pub(crate) fn has_arrived(&self, seq: u32) -> bool {
        seq < self.una || seq < self.end && self.ring.get(SACKED, seq)
    }

    /// Marks a segment in flight as lost.
    pub(crate) fn lose(&mut self, seq: u32) {
        self.reach(seq + 1);
        debug_assert!(!self.has_arrived(seq) && !self.ring.get(LOST, seq));
        self.ring.set(LOST, seq);
        self.lost += 1;
    }

    /// Marks everything in flight as lost.
    pub(crate) fn lose_all(&mut self, nxt: u32) {
        self.reach(nxt);
        self.judged = nxt;
        self.lost = nxt - self.una - self.sacked;
        self.ring.for_each_word(self.una, nxt, |word, mask| word[LOST] |= mask & !word[SACKED]);
    }

    /// Marks everything in flight as lost unless the oldest segment has been judged; returns the range in which it did.
    pub(crate) fn lose_from_edge(&mut self, nxt: u32) -> Range<u32> {
        if self.una < self.judged || self.una == nxt {
            return 0..0;
        }
        self.lose_all(nxt);
        self.judged = self.una + 1;
        self.una..nxt
    }

    /// Lets ACKs judge the outstanding segments again.
    pub(crate) fn judge_again(&mut self) {
        self.judged = self.una;
    }

    /// Counts every lost segment as in flight again: the timeout was spurious. ACKs may judge them anew.
    pub(crate) fn lose_none(&mut self) {
        self.ring.for_each_word(self.una, self.end, |word, mask| word[LOST] &= !mask);
        self.lost = 0;
        self.judged = self.una;
    }

    /// Counts a segment as in flight again if it is lost.
    pub(crate) fn spare(&mut self, seq: u32) {
        if self.is_lost(seq) {
            self.resend(seq);
        }
    }

    /// Marks the oldest segment, which is outstanding, as lost unless it has been judged or has arrived; returns whether it did.
    pub(crate) fn lose_first(&mut self) -> bool {
        let found = self.una >= self.judged && !self.has_arrived(self.una);
        if found {
            self.judged = self.una + 1;
            self.lose(self.una);
        }
        found
    }

    /// Returns the segments missing directly below one that has arrived, without those that an ACK or timeout has judged
    /// together.
    pub(crate) fn missing_below(&self, arrived: u32) -> Range<u32> {
        let end = arrived.min(self.end);
        let below = if self.una < end { self.ring.nth_highest(SACKED, self.una, end, 1) } else { None };
        below.map_or(self.una, |seq| seq + 1).max(self.judged)..arrived
    }

    /// Returns the same from the oldest segment on, which is outstanding; only that one if none above it is known to have
    /// arrived.
    pub(crate) fn missing_at_edge(&self) -> Range<u32> {
        let above = self.ring.first_set(SACKED, self.una, self.end).unwrap_or(self.una + 1);
        self.una.max(self.judged)..above
    }

    /// Returns whether a segment is taken for lost and not sent again.
    pub(crate) fn is_lost(&self, seq: u32) -> bool {
        (self.una..self.end).contains(&seq) && self.ring.get(LOST, seq)
    }

    /// Marks as lost every segment with `threshold` acknowledged ones above it (RFC 6675 §4, IsLost). Returns a range that
    /// covers the newly lost ones: the lost segments in it.
    #[inline]
    pub(crate) fn lose_below_acknowledged(&mut self, threshold: u32) -> Range<u32> {
        if self.sacked < threshold {
            return 0..0;
        }
        let Some(below) = self.ring.nth_highest(SACKED, self.una, self.end, threshold) else { return 0..0 };
        let from = self.judged.max(self.una);
        if below <= from {
            return 0..0;
        }
        let mut found = 0;
        self.ring.for_each_word(from, below, |word, mask| {
            let missing = mask & !word[SACKED];
            word[LOST] |= missing;
            found += missing.count_ones();
        });
        self.lost += found;
        self.judged = below;
        if found > 0 { from..below } else { 0..0 }
    }

    /// Returns the oldest lost segment.
    #[inline]
    pub(crate) fn first_lost(&self) -> Option<u32> {
        self.ring.first_set(LOST, self.una, self.end)
    }

    /// Marks a lost segment as sent again.
    #[inline]
    pub(crate) fn resend(&mut self, seq: u32) {
        self.ring.clear(LOST, seq);
        self.lost -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing__next_to_what_has_arrived() {
        let mut board = Board::default();
        assert_eq!([board.missing_at_edge(), board.missing_below(3)], [0..1, 0..3], "nothing is known to have arrived");
        board.sack((5, 7));
        board.sack((9, 10));
        assert_eq!([board.missing_at_edge(), board.missing_below(5), board.missing_below(9)], [0..5, 0..5, 7..9]);
        assert!(board.missing_below(6).is_empty() && board.missing_below(0).is_empty());
        board.advance(2);
        assert_eq!([board.missing_at_edge(), board.missing_below(5)], [2..5, 2..5]);
        board.advance(5);
        assert!(board.missing_at_edge().is_empty(), "an ACK that contradicts itself");
        board.lose_all(12);
        board.sack((14, 15));
        assert_eq!([board.missing_below(9).is_empty(), board.missing_below(14) == (12..14)], [true, true]);
    }

    #[test]
    fn lose_below_acknowledged__judges_a_segment_once() {
        let mut board = Board::default();
        board.sack((1, 3));
        assert_eq!(board.lose_below_acknowledged(3), 0..0);
        assert_eq!(board.lost, 0, "two above the hole");
        board.sack((4, 5));
        assert_eq!(board.lose_below_acknowledged(3), 0..1);
        assert_eq!((board.lost, board.first_lost()), (1, Some(0)), "three above 0, one above 3");
        board.resend(0);
        board.sack((5, 9));
        assert_eq!(board.lose_below_acknowledged(3), 1..6);
        assert_eq!((board.lost, board.first_lost()), (1, Some(3)), "0 is in flight again");
        assert_eq!([1, 2, 3, 9].map(|seq| board.is_lost(seq)), [false, false, true, false]);
    }

    #[test]
    fn lose_first__once_an_edge() {
        let mut board = Board::default();
        board.sack((1, 3));
        assert_eq!([board.lose_first(), board.lose_first(), board.is_lost(0)], [true, false, true]);
        board.resend(0);
        assert!(!board.lose_first(), "the timer has to find it");
        board.advance(3);
        board.sack((3, 4));
        assert!(!board.lose_first(), "an ACK that contradicts itself");
        board.advance(4);
        board.lose_all(6);
        assert!(!board.lose_first(), "the timer has found it");
    }

    #[test]
    fn lose_all__spares_what_has_arrived() {
        let mut board = Board::default();
        board.sack((2, 4));
        board.lose(0);
        board.lose_all(6);
        assert_eq!((board.sacked, board.lost), (2, 4));
        assert_eq!(board.advance(5), 3, "0, 1 and 4 are new");
        assert_eq!((board.sacked, board.lost, board.first_lost()), (0, 1, Some(5)));
    }
}
