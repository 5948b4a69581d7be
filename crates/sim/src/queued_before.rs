//! Bytes queued ahead of arriving packets, in the queues that they enter. The counts use the buckets of
//! [`QuantileSketch`] and are cheap enough for every packet that waits.
//!
//! Packets that bypass an idle port find 0 bytes and are not counted here: [`ClassCount::bypassed`] has them.

use flowsieve_core::buckets::bucket;
use flowsieve_record::QuantileSketch;

use crate::link::{ClassCount, Tally};

/// Slots for the counts of a priority: more than the buckets up to the greatest value.
const SLOTS: usize = 1 << 12;

/// Counts by priority and by bytes queued ahead of a packet. More than 4 GiB count as 4 GiB.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueuedBefore {
    /// By priority, up to the highest number so far, then by bucket.
    counts: Vec<u64>,
}

impl QueuedBefore {
    /// Allocates for every priority.
    pub(crate) fn reserve(&mut self) {
        self.counts.reserve_exact(SLOTS << u8::BITS);
    }

    /// Counts a packet of a priority that arrives behind `bytes` bytes.
    #[inline(always)]
    pub(crate) fn count(&mut self, priority: u8, bytes: u64) {
        let slot = usize::from(priority) * SLOTS + bucket(bytes.min(u32::MAX.into()));
        match self.counts.get_mut(slot) {
            Some(count) => *count += 1,
            None => self.count_first(priority, slot),
        }
    }

    #[cold]
    #[inline(never)]
    fn count_first(&mut self, priority: u8, slot: usize) {
        self.counts.resize((usize::from(priority) + 1) * SLOTS, 0);
        self.counts[slot] += 1;
    }

    /// Returns the bytes queued ahead of all packets of these classes of links, by priority, up to the last priority
    /// that had packets.
    pub(crate) fn sum<'a>(classes: impl Iterator<Item = &'a ClassCount> + Clone) -> Vec<QuantileSketch> {
        let mut sketches: Vec<QuantileSketch> = Vec::new();
        let mut record = |priority: usize, bucket, count| {
            if count > 0 {
                sketches.resize_with(sketches.len().max(priority + 1), QuantileSketch::default);
                sketches[priority].record_bucket(bucket, count);
            }
        };
        let bypassed = Tally::sum(classes.clone().map(|class| &class.bypassed));
        bypassed.into_iter().enumerate().for_each(|(priority, count)| record(priority, bucket(0), count));
        for class in classes {
            for (slot, &count) in class.queued_before.counts.iter().enumerate() {
                record(slot / SLOTS, slot % SLOTS, count);
            }
        }
        sketches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sketch_of(values: &[u64]) -> QuantileSketch {
        let mut sketch = QuantileSketch::default();
        values.iter().for_each(|&value| sketch.record(value));
        sketch
    }

    #[test]
    fn count__more_than_fits_counts_as_the_most() {
        let mut class = ClassCount::default();
        class.queued_before.count(255, 1 << 40);
        assert_eq!(QueuedBefore::sum([&class].into_iter())[255], sketch_of(&[u64::from(u32::MAX)]));
    }

    proptest! {
        #[test]
        fn sum__is_the_sketch_of_the_values(
            values in prop::collection::vec((0u8..4, (0u32..32).prop_flat_map(|bits| 0..=(1u32 << bits))), 0..200),
            bypassed in prop::collection::vec(0u8..4, 0..20),
            cut in 0usize..200,
        ) {
            let mut classes = [ClassCount::default(), ClassCount::default()];
            let mut expected = vec![Vec::new(); 4];
            for (number, &(priority, bytes)) in values.iter().enumerate() {
                classes[usize::from(number > cut)].queued_before.count(priority, bytes.into());
                expected[usize::from(priority)].push(u64::from(bytes));
            }
            for &priority in &bypassed {
                classes[1].bypassed.count(priority);
                expected[usize::from(priority)].push(0);
            }
            let mut found = QueuedBefore::sum(classes.iter());
            found.resize_with(4, QuantileSketch::default);
            for (found, values) in found.iter().zip(&expected) {
                prop_assert_eq!(found, &sketch_of(values));
            }
        }
    }
}
