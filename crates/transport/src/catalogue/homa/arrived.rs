//! Which packets of a message have arrived.

use std::collections::BTreeSet;
use std::ops::Range;

/// The packets of a message that have arrived.
#[derive(Clone, Debug, Default)]
pub(in crate::catalogue) struct Arrived {
    /// All before this one have.
    next: u32,
    /// Those above.
    beyond: BTreeSet<u32>,
    count: u32,
    out_of_order: u32,
    /// One past the highest.
    highest: u32,
}

impl Arrived {
    /// Notes a packet; returns whether it had not arrived before.
    pub(in crate::catalogue) fn insert(&mut self, packet: u32) -> bool {
        if packet < self.next || !self.beyond.insert(packet) {
            return false;
        }
        while self.beyond.first() == Some(&self.next) {
            self.beyond.pop_first();
            self.next += 1;
        }
        self.count += 1;
        self.out_of_order += u32::from(packet < self.highest);
        self.highest = self.highest.max(packet.saturating_add(1));
        true
    }

    /// Returns whether a packet has arrived.
    pub(in crate::catalogue) fn contains(&self, packet: u32) -> bool {
        packet < self.next || self.beyond.contains(&packet)
    }

    /// Returns the number of packets that have arrived.
    pub(in crate::catalogue) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the number of packets that arrived after a later one.
    pub(in crate::catalogue) fn out_of_order(&self) -> u32 {
        self.out_of_order
    }

    /// Returns the first packet that has not arrived.
    pub(in crate::catalogue) fn next(&self) -> u32 {
        self.next
    }

    /// Returns whether every packet before the highest has arrived.
    pub(in crate::catalogue) fn has_no_gap(&self) -> bool {
        self.beyond.is_empty()
    }

    /// Returns a bit for each of the 64 packets from `first` on that has arrived, the lowest for the first. All of them are above those
    /// that have arrived without a gap.
    pub(in crate::catalogue) fn bits(&self, first: u32) -> u64 {
        self.beyond.range(first..=first.saturating_add(63)).fold(0, |bits, packet| bits | 1 << (packet - first))
    }

    /// Returns the gaps before `end`: packets that are missing, up to one that has arrived.
    pub(in crate::catalogue) fn missing(&self, end: u32) -> Vec<Range<u32>> {
        let (mut gaps, mut from) = (Vec::new(), self.next);
        for packet in self.beyond.iter().copied().chain([end]).take_while(|&packet| packet <= end) {
            if from < packet {
                gaps.push(from..packet);
            }
            from = packet + 1;
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing__every_gap() {
        let gaps = |of: &Arrived, before| -> Vec<(u32, u32)> {
            of.missing(before).into_iter().map(|gap| (gap.start, gap.end)).collect()
        };
        let mut arrived = Arrived::default();
        assert_eq!(gaps(&arrived, 7), [(0, 7)]);
        assert!([0, 1, 4].into_iter().all(|packet| arrived.insert(packet)));
        assert_eq!(gaps(&arrived, 7), [(2, 4), (5, 7)]);
        assert_eq!((gaps(&arrived, 4), gaps(&arrived, 5)), (vec![(2, 4)], vec![(2, 4)]));
        assert!(!arrived.insert(1) && !arrived.insert(4));
        assert!(arrived.insert(3) && arrived.insert(2));
        assert_eq!((gaps(&arrived, 7), arrived.count(), arrived.out_of_order()), (vec![(5, 7)], 5, 2));
        assert!(arrived.missing(5).is_empty());
    }
}
