//! What arriving packets find in the queues that they enter: counts in the buckets of [`Sketch`], cheap enough for every
//! packet that waits.
//!
//! Packets that pass an idle port find nothing. They are not counted here one by one: [`ClassCount::passed`] has them.

use flowsieve_results::Sketch;

use crate::link::{ClassCount, Tally};

/// Below twice so many, buckets have a width of 1; above, so many share each power of two.
const STEPS: u32 = 128;
/// Places for the counts of a priority: more than there are buckets up to the greatest value.
const PLACES: usize = 1 << 12;

/// Counts by priority and by bytes found; 4 GiB count for more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Priority after priority, up to the greatest so far.
    counts: Vec<u64>,
}

/// The bucket of a value.
#[inline(always)]
fn bucket(bytes: u32) -> usize {
    let doublings = (bytes | (2 * STEPS - 1)).ilog2() - STEPS.ilog2();
    (doublings * STEPS + (bytes >> doublings)) as usize
}

/// The least value of a bucket.
fn least(bucket: usize) -> u64 {
    let doublings = (bucket as u64 / u64::from(STEPS)).saturating_sub(1);
    (bucket as u64 - doublings * u64::from(STEPS)) << doublings
}

impl Found {
    /// A packet of a priority found so many bytes.
    #[inline(always)]
    pub(crate) fn count(&mut self, priority: u8, bytes: u64) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let place = usize::from(priority) * PLACES + bucket(bytes);
        match self.counts.get_mut(place) {
            Some(count) => *count += 1,
            None => self.count_first(priority, place),
        }
    }

    #[cold]
    #[inline(never)]
    fn count_first(&mut self, priority: u8, place: usize) {
        self.counts.resize((usize::from(priority) + 1) * PLACES, 0);
        self.counts[place] += 1;
    }

    /// By priority, what all packets of a class of links found; up to the last priority of which there were any.
    pub(crate) fn sum<'a>(classes: impl Iterator<Item = &'a ClassCount> + Clone) -> Vec<Sketch> {
        let mut sketches: Vec<Sketch> = Vec::new();
        let mut record = |priority: usize, value, count| {
            if count > 0 {
                sketches.resize_with(sketches.len().max(priority + 1), Sketch::default);
                sketches[priority].record_many(value, count);
            }
        };
        let passed = Tally::sum(classes.clone().map(|class| &class.passed));
        passed.into_iter().enumerate().for_each(|(priority, count)| record(priority, 0, count));
        for class in classes {
            for (place, &count) in class.found.counts.iter().enumerate() {
                record(place / PLACES, least(place % PLACES), count);
            }
        }
        sketches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sketch_of(values: &[u64]) -> Sketch {
        let mut sketch = Sketch::default();
        values.iter().for_each(|&value| sketch.record(value));
        sketch
    }

    #[test]
    fn bucket__every_value_has_a_place_and_the_order_holds() {
        assert!(bucket(u32::MAX) < PLACES);
        for value in (0..100_000).chain([1 << 20, u32::MAX - 1]) {
            assert!(bucket(value) <= bucket(value + 1), "{value}");
            assert!(least(bucket(value)) <= u64::from(value), "{value}");
            assert_eq!(bucket(least(bucket(value)) as u32), bucket(value), "{value}");
        }
    }

    #[test]
    fn count__more_than_fits_counts_as_the_most() {
        let mut class = ClassCount::default();
        class.found.count(255, 1 << 40);
        assert_eq!(Found::sum([&class].into_iter())[255], sketch_of(&[u64::from(u32::MAX)]));
    }

    proptest! {
        #[test]
        fn sum__is_the_sketch_of_the_values(
            values in prop::collection::vec((0u8..4, (0u32..32).prop_flat_map(|bits| 0..=(1u32 << bits))), 0..200),
            passed in prop::collection::vec(0u8..4, 0..20),
            cut in 0usize..200,
        ) {
            let mut classes = [ClassCount::default(), ClassCount::default()];
            let mut expected = vec![Vec::new(); 4];
            for (number, &(priority, bytes)) in values.iter().enumerate() {
                classes[usize::from(number > cut)].found.count(priority, bytes.into());
                expected[usize::from(priority)].push(u64::from(bytes));
            }
            for &priority in &passed {
                classes[1].passed.count(priority);
                expected[usize::from(priority)].push(0);
            }
            let mut found = Found::sum(classes.iter());
            found.resize_with(4, Sketch::default);
            for (found, values) in found.iter().zip(&expected) {
                prop_assert_eq!(found, &sketch_of(values));
            }
        }
    }
}
