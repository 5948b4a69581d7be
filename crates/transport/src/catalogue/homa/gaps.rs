//! Which packets of a message are to be sent again.

use std::collections::BTreeMap;
use std::ops::Range;

/// Runs of packets: the first of each, and one past its last. Between two of them there is a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gaps(BTreeMap<u32, u32>);

impl Gaps {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds packets; those that are there already count once.
    pub(super) fn add(&mut self, packets: Range<u32>) {
        let Range { mut start, mut end } = packets;
        if start >= end {
            return;
        }
        if let Some((&before, &until)) = self.0.range(..start).next_back()
            && until >= start
        {
            (start, end) = (before, end.max(until));
        }
        while let Some((&next, &until)) = self.0.range(start..=end).next() {
            self.0.remove(&next);
            end = end.max(until);
        }
        self.0.insert(start, end);
    }

    /// Takes the first packet out.
    pub(super) fn take_first(&mut self) -> Option<u32> {
        let (packet, end) = self.0.pop_first()?;
        if packet + 1 < end {
            self.0.insert(packet + 1, end);
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add__what_touches_becomes_one() {
        let mut gaps = Gaps::default();
        for packets in [8..9, 3..5, 20..20, 12..14] {
            gaps.add(packets);
        }
        assert_eq!(gaps.0, BTreeMap::from([(3, 5), (8, 9), (12, 14)]));
        gaps.add(4..6);
        assert_eq!(gaps.0, BTreeMap::from([(3, 6), (8, 9), (12, 14)]));
        gaps.add(6..13);
        assert_eq!(gaps.0, BTreeMap::from([(3, 14)]));
        gaps.add(5..7);
        assert_eq!(gaps.0, BTreeMap::from([(3, 14)]));
    }

    #[test]
    fn take_first__in_order() {
        let mut gaps = Gaps::default();
        gaps.add(7..8);
        gaps.add(2..4);
        let taken: Vec<u32> = std::iter::from_fn(|| gaps.take_first()).collect();
        assert_eq!((taken, gaps.is_empty()), (vec![2, 3, 7], true));
    }
}
