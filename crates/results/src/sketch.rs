//! A histogram of logarithmic buckets, for more values than are kept one by one.
//!
//! The buckets are those of HdrHistogram with two significant digits: of width 1 below 256, and of at most 1/128 of
//! their values above. A percentile is the middle of the bucket that holds the value of its nearest rank, so it is at
//! most [`Sketch::RELATIVE_ERROR`] off. Sketches of parts add up to the sketch of the whole, in any order; nothing in
//! them is a floating-point number, so they are the same everywhere.

use hdrhistogram::Histogram;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::statistics::nearest_rank;

const DIGITS: u8 = 2;

/// Counts of whole numbers by their size.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    buckets: Histogram<u64>,
}

impl Sketch {
    /// The most by which a percentile differs from that of the values themselves, as a share of it.
    pub const RELATIVE_ERROR: f64 = 1.0 / 256.0;

    /// Counts a value.
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts a value so many times.
    pub fn record_many(&mut self, value: u64, count: u64) {
        // It grows to whatever is recorded, so that this cannot fail while a bucket has a place in memory.
        if self.buckets.record_n(value, count).is_err() {
            self.buckets.saturating_record_n(value, count);
        }
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Sketch) {
        for step in other.buckets.iter_recorded() {
            self.record_many(step.value_iterated_to(), step.count_at_value());
        }
    }

    /// Values so far.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// The middle of each bucket that holds any, rising, and how many.
    pub(crate) fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        let middle = |value| self.buckets.median_equivalent(value);
        self.buckets.iter_recorded().map(move |step| (middle(step.value_iterated_to()), step.count_at_value()))
    }

    /// A percentile, in thousandths; `None` without values.
    pub fn percentile(&self, per_mille: usize) -> Option<u64> {
        let count = usize::try_from(self.count()).ok().filter(|&count| count > 0)?;
        let rank = nearest_rank(per_mille, count) as u64;
        let mut upto = 0;
        let mut holds_rank = |count: u64| {
            upto += count;
            upto > rank
        };
        let bucket = self.buckets.iter_recorded().find(|step| holds_rank(step.count_at_value()))?;
        Some(self.buckets.median_equivalent(bucket.value_iterated_to()))
    }
}

impl Default for Sketch {
    fn default() -> Sketch {
        // Two digits are always a valid choice, and the range grows with the values.
        let buckets = Histogram::new(DIGITS).unwrap_or_else(|_| unreachable!("{DIGITS} digits are fewer than 6"));
        Sketch { buckets }
    }
}

/// As data a sketch is a text, `value:count` for each bucket that holds any, with the bucket's least value.
impl Serialize for Sketch {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let bucket = |value, count| format!("{}:{count}", self.buckets.lowest_equivalent(value));
        let steps = self.buckets.iter_recorded();
        let text: Vec<String> = steps.map(|step| bucket(step.value_iterated_to(), step.count_at_value())).collect();
        to.serialize_str(&text.join(" "))
    }
}

impl<'de> Deserialize<'de> for Sketch {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Sketch, D::Error> {
        let text = String::deserialize(from)?;
        let mut sketch = Sketch::default();
        for bucket in text.split_ascii_whitespace() {
            let pair =
                bucket.split_once(':').and_then(|(value, count)| Some((value.parse().ok()?, count.parse().ok()?)));
            let Some((value, count)) = pair else {
                return Err(D::Error::custom(format!("{bucket:?} is no bucket of a sketch, expected value:count")));
            };
            sketch.record_many(value, count);
        }
        Ok(sketch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sketch(values: &[u64]) -> Sketch {
        let mut sketch = Sketch::default();
        values.iter().for_each(|&value| sketch.record(value));
        sketch
    }

    #[test]
    fn percentile__small_values_are_exact() {
        let sketch = sketch(&(1..=200).rev().collect::<Vec<_>>());
        assert_eq!([500, 990, 999, 1_000].map(|p| sketch.percentile(p)), [100, 198, 200, 200].map(Some));
        assert_eq!(Sketch::default().percentile(500), None);
    }

    #[test]
    fn data__comes_back_and_nonsense_is_refused() {
        let sketch = sketch(&[0, 1, 1, 300, 301, 1 << 50]);
        let text = serde_json::to_string(&sketch).unwrap();
        assert!(text.starts_with("\"0:1 1:2 300:2 "), "{text}");
        assert_eq!(serde_json::from_str::<Sketch>(&text).unwrap(), sketch);
        for wrong in ["\"5\"", "\"5:x\"", "\"-1:2\"", "\"1:-2\""] {
            let error = serde_json::from_str::<Sketch>(wrong).unwrap_err().to_string();
            assert!(error.contains("expected value:count"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn percentile__within_the_stated_error(
            values in prop::collection::vec((0u32..60).prop_flat_map(|bits| 0..=(1u64 << bits)), 1..400),
            per_mille in 0usize..=1_000,
        ) {
            let found = sketch(&values).percentile(per_mille).unwrap() as f64;
            let mut sorted = values;
            sorted.sort_unstable();
            let exact = sorted[nearest_rank(per_mille, sorted.len())] as f64;
            prop_assert!((found - exact).abs() <= Sketch::RELATIVE_ERROR * exact, "{found} for {exact}");
        }

        #[test]
        fn merge__parts_in_any_order_make_the_whole(
            values in prop::collection::vec(0..1u64 << 50, 0..200),
            cut in 0usize..200,
        ) {
            let (one, other) = values.split_at(cut.min(values.len()));
            let (mut there, mut back) = (sketch(one), sketch(other));
            there.merge(&sketch(other));
            back.merge(&sketch(one));
            let whole = sketch(&values);
            let data = |sketch: &Sketch| serde_json::to_string(sketch).unwrap();
            prop_assert_eq!(data(&there), data(&whole));
            prop_assert_eq!(data(&back), data(&whole));
            prop_assert_eq!(there.count(), values.len() as u64);
        }
    }
}
