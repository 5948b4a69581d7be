//! The sizes of the messages that a host has finished: a mergeable quantile sketch, and a window of recent sizes.
//!
//! A sketch counts sizes in [`crate::buckets`]. Sketches of hosts add up to the sketch of all, in any order. They are whole
//! numbers, so they are the same on every machine. A sketch has room for sizes up to [`SizeSketch::LARGEST`] from the start, 17 KB, and
//! recording allocates nothing.

use crate::buckets::{bucket, middle};
use crate::units::Time;

/// Counts of message sizes.
#[derive(Clone, Debug)]
pub struct SizeSketch {
    buckets: Box<[u32]>,
    count: u64,
    bytes: u64,
}

impl SizeSketch {
    /// Larger messages count as if they had this many bytes.
    pub const LARGEST: u64 = 1 << 40;

    /// Counts a message of `bytes` bytes.
    pub fn record(&mut self, bytes: u64) {
        let of = &mut self.buckets[bucket(bytes.min(Self::LARGEST))];
        *of = of.saturating_add(1);
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Adds the counts of another sketch.
    pub fn merge(&mut self, other: &SizeSketch) {
        if other.count() == 0 {
            return;
        }
        for (of, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *of = of.saturating_add(*more);
        }
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if self.count() > 0 {
            self.buckets.fill(0);
            (self.count, self.bytes) = (0, 0);
        }
    }

    /// Returns the number of messages so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns their bytes, exactly.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the middle of each bucket that is not empty, rising, and its count.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(bucket, &count)| (middle(bucket), u64::from(count)))
    }

    /// Returns the equal split (NOS2, §III): the i-th of `queues` − 1 thresholds is the least size that a share i /
    /// `queues` of the messages does not exceed, and at least a byte above the previous one.
    pub fn equal_split(&self, queues: usize) -> Vec<u64> {
        let mut counts = self.counts();
        let (mut size, mut upto, mut least) = (0, 0, 1);
        let threshold = |i: u64| {
            while upto * (queues as u64) < i * self.count() {
                let Some((larger, count)) = counts.next() else { break };
                (size, upto) = (larger, upto + count);
            }
            let threshold = size.max(least);
            least = threshold + 1;
            threshold
        };
        (1..queues as u64).map(threshold).collect()
    }
}

impl Default for SizeSketch {
    fn default() -> SizeSketch {
        SizeSketch { buckets: vec![0; bucket(Self::LARGEST) + 1].into(), count: 0, bytes: 0 }
    }
}

/// The sizes of a window: two sketches, each of half a window. The older one is forgotten when the younger is full. So
/// memory reaches back between half a window and a whole one.
#[derive(Clone, Debug)]
pub struct RecentSizes {
    half: Time,
    /// The half window that `now` fills, counted from the start of the run.
    epoch: u64,
    now: SizeSketch,
    before: SizeSketch,
}

impl RecentSizes {
    /// Builds a memory of sizes for at most `window`.
    pub fn new(window: Time) -> RecentSizes {
        let half = Time((window.0 / 2).max(1));
        RecentSizes { half, epoch: 0, now: SizeSketch::default(), before: SizeSketch::default() }
    }

    /// Counts a message that has finished.
    pub fn record(&mut self, bytes: u64, now: Time) {
        self.forget_until(now);
        self.now.record(bytes);
    }

    /// Returns the number of sizes that are remembered.
    pub fn count(&mut self, now: Time) -> u64 {
        self.forget_until(now);
        self.before.count() + self.now.count()
    }

    /// Adds the remembered sizes to a sketch.
    pub fn gather(&mut self, now: Time, into: &mut SizeSketch) {
        self.forget_until(now);
        into.merge(&self.before);
        into.merge(&self.now);
    }

    /// Returns how far back memory reaches at `now`: to the start of the run at most.
    pub fn span(window: Time, now: Time) -> Time {
        let half = (window.0 / 2).max(1);
        now.since(Time((now.0 / half).saturating_sub(1) * half))
    }

    fn forget_until(&mut self, now: Time) {
        let epoch = now.0 / self.half.0;
        if epoch == self.epoch {
            return;
        }
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.clear();
        if epoch > self.epoch + 1 {
            self.before.clear();
        }
        self.epoch = epoch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::SizeLaw;
    use proptest::prelude::*;

    fn sketch(sizes: &[u64]) -> SizeSketch {
        let mut sketch = SizeSketch::default();
        sizes.iter().for_each(|&size| sketch.record(size));
        sketch
    }

    #[test]
    fn memory__goes_back_by_half_a_window_to_a_whole_one() {
        let us = Time::from_us;
        let mut recent = RecentSizes::new(us(100));
        for at in 0..20 {
            recent.record(100 + at, us(10 * at));
        }
        let remembered = |recent: &mut RecentSizes, at| {
            let mut all = SizeSketch::default();
            recent.gather(us(at), &mut all);
            let sizes: Vec<u64> = all.counts().map(|(size, _)| size).collect();
            (sizes.first().copied().zip(sizes.last().copied()), RecentSizes::span(us(100), us(at)))
        };
        assert_eq!(remembered(&mut recent.clone(), 190), (Some((110, 119)), us(90)));
        assert_eq!(remembered(&mut recent.clone(), 199), (Some((110, 119)), us(99)));
        assert_eq!(remembered(&mut recent.clone(), 200), (Some((115, 119)), us(50)));
        assert_eq!(remembered(&mut recent.clone(), 250), (None, us(50)));
        assert_eq!(remembered(&mut recent, 1_000), (None, us(50)));
        assert_eq!(RecentSizes::span(us(100), us(30)), us(30));
    }

    #[test]
    fn sizes__beyond_the_largest_count_as_it() {
        let all = sketch(&[1, u64::MAX, SizeSketch::LARGEST]);
        assert_eq!((all.count(), all.bytes()), (3, u64::MAX));
        let (largest, count) = all.counts().last().unwrap();
        assert!(largest.abs_diff(SizeSketch::LARGEST) <= SizeSketch::LARGEST / 128 && count == 2, "{largest}");
    }

    proptest! {
        #[test]
        fn merge__parts_in_any_order_make_the_whole(
            sizes in prop::collection::vec(1..SizeSketch::LARGEST, 0..200),
            cut in 0usize..200,
        ) {
            let (one, other) = sizes.split_at(cut.min(sizes.len()));
            let (mut there, mut back) = (sketch(one), sketch(other));
            there.merge(&sketch(other));
            back.merge(&sketch(one));
            let whole = sketch(&sizes);
            prop_assert!(there.counts().eq(whole.counts()) && back.counts().eq(whole.counts()));
            prop_assert_eq!((there.count(), there.bytes()), (sizes.len() as u64, sizes.iter().sum::<u64>()));
        }

        #[test]
        fn equal_split__is_that_of_the_law(
            sizes in prop::collection::vec((0u32..40).prop_flat_map(|bits| 0..=1u64 << bits), 1..200),
            queues in 1usize..=64,
        ) {
            let all = sketch(&sizes);
            let law = SizeLaw::from_counts(all.counts()).unwrap();
            prop_assert_eq!(all.equal_split(queues), crate::thresholds::equal_split(&law, queues).unwrap());
        }

        #[test]
        fn counts__hold_each_size_within_its_bucket(sizes in prop::collection::vec(1..SizeSketch::LARGEST, 1..50)) {
            let mut sorted = sizes.clone();
            sorted.sort_unstable();
            let all = sketch(&sizes);
            let mut counted = all.counts().flat_map(|(size, count)| std::iter::repeat_n(size, count as usize));
            for size in sorted {
                let found = counted.next().unwrap();
                prop_assert!(found.abs_diff(size) as f64 <= size as f64 / 128.0, "{found} for {size}");
            }
            prop_assert!(counted.next().is_none());
        }
    }
}
