//! A histogram of logarithmic buckets, for values that are too many to keep one by one.
//!
//! The buckets are those of [`flowsieve_core::buckets`]. A percentile is the middle of the bucket that holds the value of its
//! nearest rank, so it is at most [`QuantileSketch::RELATIVE_ERROR`] off. Sketches of parts add up to the sketch of the
//! whole, in any order; nothing in them is a floating-point number, so they are the same everywhere.
//!
//! Code that counts packets uses [`bucket`] in an array of its own, which [`QuantileSketch::record_bucket`] takes.

use flowsieve_core::buckets::{bucket, least, middle};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The index of a percentile, in thousandths, among `count` sorted values; `count` is at least one.
pub fn nearest_rank(per_mille: usize, count: usize) -> usize {
    (per_mille * count).div_ceil(1_000).clamp(1, count) - 1
}

/// Counts of whole numbers by their size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuantileSketch {
    /// By bucket, up to the highest that holds any.
    counts: Vec<u64>,
}

impl QuantileSketch {
    /// The most by which a percentile differs from that of the values themselves, as a share of it.
    pub const RELATIVE_ERROR: f64 = 1.0 / 256.0;

    /// Counts a value.
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts a value `count` times.
    pub fn record_many(&mut self, value: u64, count: u64) {
        self.record_bucket(bucket(value), count);
    }

    /// Counts a value of a [`bucket`] `count` times.
    pub fn record_bucket(&mut self, bucket: usize, count: u64) {
        if count > 0 {
            self.counts.resize(self.counts.len().max(bucket + 1), 0);
            self.counts[bucket] = self.counts[bucket].saturating_add(count);
        }
    }

    /// Adds the counts of another sketch.
    pub fn merge(&mut self, other: &QuantileSketch) {
        other.recorded().for_each(|(bucket, count)| self.record_bucket(bucket, count));
    }

    /// Number of values so far.
    pub fn count(&self) -> u64 {
        self.counts.iter().copied().fold(0, u64::saturating_add)
    }

    /// The buckets that hold any value, rising, and their counts.
    fn recorded(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    /// The middle of each bucket that holds any value, rising, and its count.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        self.recorded().map(|(bucket, count)| (middle(bucket), count))
    }

    /// A percentile, in thousandths; `None` without values.
    pub fn percentile(&self, per_mille: usize) -> Option<u64> {
        let count = usize::try_from(self.count()).ok().filter(|&count| count > 0)?;
        let rank = nearest_rank(per_mille, count) as u64;
        let mut upto: u64 = 0;
        let mut holds_rank = |count: u64| {
            upto = upto.saturating_add(count);
            upto > rank
        };
        self.values().find(|&(_, count)| holds_rank(count)).map(|(middle, _)| middle)
    }
}

/// As data a sketch is a text, `value:count` for each bucket that holds any value, with the bucket's least value.
impl Serialize for QuantileSketch {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let text: Vec<String> = self.recorded().map(|(bucket, count)| format!("{}:{count}", least(bucket))).collect();
        to.serialize_str(&text.join(" "))
    }
}

impl<'de> Deserialize<'de> for QuantileSketch {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<QuantileSketch, D::Error> {
        let text = String::deserialize(from)?;
        let mut sketch = QuantileSketch::default();
        for bucket in text.split_ascii_whitespace() {
            let pair =
                bucket.split_once(':').and_then(|(value, count)| Some((value.parse().ok()?, count.parse().ok()?)));
            let Some((value, count)) = pair else {
                return Err(D::Error::custom(format!("{bucket:?} is not a bucket of a sketch, expected value:count")));
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

    fn sketch(values: &[u64]) -> QuantileSketch {
        let mut sketch = QuantileSketch::default();
        values.iter().for_each(|&value| sketch.record(value));
        sketch
    }

    #[test]
    fn nearest_rank__textbook_list() {
        let values = [15, 20, 35, 40, 50];
        let at = |p: usize| values[nearest_rank(10 * p, values.len())];
        assert_eq!([5, 30, 40, 50, 100].map(at), [15, 20, 20, 35, 50]);
    }

    #[test]
    fn percentile__small_values_are_exact() {
        let sketch = sketch(&(1..=200).rev().collect::<Vec<_>>());
        assert_eq!([500, 990, 999, 1_000].map(|p| sketch.percentile(p)), [100, 198, 200, 200].map(Some));
        assert_eq!(QuantileSketch::default().percentile(500), None);
    }

    #[test]
    fn data__comes_back_and_nonsense_is_refused() {
        let sketch = sketch(&[0, 1, 1, 300, 301, 1 << 50]);
        let text = serde_json::to_string(&sketch).unwrap();
        assert!(text.starts_with("\"0:1 1:2 300:2 "), "{text}");
        assert_eq!(serde_json::from_str::<QuantileSketch>(&text).unwrap(), sketch);
        for wrong in ["\"5\"", "\"5:x\"", "\"-1:2\"", "\"1:-2\""] {
            let error = serde_json::from_str::<QuantileSketch>(wrong).unwrap_err().to_string();
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
            prop_assert!((found - exact).abs() <= QuantileSketch::RELATIVE_ERROR * exact, "{found} for {exact}");
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
            let data = |sketch: &QuantileSketch| serde_json::to_string(sketch).unwrap();
            prop_assert_eq!(data(&there), data(&whole));
            prop_assert_eq!(data(&back), data(&whole));
            prop_assert_eq!(there.count(), values.len() as u64);
        }
    }
}
