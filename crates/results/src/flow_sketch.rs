//! Summaries of the flows of a run that are too many to keep one by one: sketches of FCT and slowdown by size.
//!
//! Sizes are cut into quarters of each doubling, and wherever the caller says. So every class whose bounds are cuts is an exact
//! set of flows: counts, means and least slowdowns are exact, and percentiles are within [`QuantileSketch::RELATIVE_ERROR`].

use flowsieve_record::{Breakdown, Disorder, FlowRow, QuantileSketch};
use serde::{Deserialize, Serialize};

use crate::FirstAnswers;
use crate::classes::SizeClass;
use crate::statistics::{Figures, Statistic, geometric_mean, variation};
use crate::summary::SeedStats;

/// Slowdowns are counted in this part of 1, which adds an error of at most half of it.
const SLOWDOWN_UNIT: f64 = 1e-4;

/// Flows of more than `above_bytes` and at most `up_to_bytes`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Bucket {
    above_bytes: u64,
    up_to_bytes: u64,
    flows: u64,
    unfinished: u64,
    largest_bytes: u64,
    /// Over the finished flows, like the next five.
    fct_sum_ps: f64,
    slowdown_sum: f64,
    /// Sketches of earlier versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exact: Option<ExactSums>,
    least_slowdown: Option<f64>,
    fct_ps: QuantileSketch,
    /// In units of [`SLOWDOWN_UNIT`].
    slowdown: QuantileSketch,
    #[serde(default)]
    disorder: Disorder,
    #[serde(default, skip_serializing_if = "Breakdown::is_none")]
    breakdown: Breakdown,
    #[serde(default, skip_serializing_if = "FirstAnswers::is_none")]
    first_answers: FirstAnswers,
}

/// Sums over flows that finished, from which means are exact though percentiles are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ExactSums {
    ideal_ps: f64,
    log_fct_ps: f64,
    log_slowdown: f64,
}

impl ExactSums {
    fn add(&mut self, other: &ExactSums) {
        self.ideal_ps += other.ideal_ps;
        self.log_fct_ps += other.log_fct_ps;
        self.log_slowdown += other.log_slowdown;
    }

    fn is_wrong(&self) -> bool {
        ![self.ideal_ps, self.log_fct_ps, self.log_slowdown].iter().all(|sum| sum.is_finite())
    }
}

/// The flows of one run, by size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FlowSketch {
    /// By rising size, none empty.
    buckets: Vec<Bucket>,
}

impl FlowSketch {
    /// From these flows, in their order, with sizes cut at `cuts` too.
    pub fn of(flows: &[FlowRow], cuts: &[u64]) -> FlowSketch {
        let bounds = bounds(cuts);
        let mut by_bound: Vec<Option<Bucket>> = vec![None; bounds.len()];
        for row in flows {
            let at = bounds.partition_point(|&bound| bound < row.bytes).min(bounds.len() - 1);
            let above_bytes = if at == 0 { 0 } else { bounds[at - 1] };
            by_bound[at].get_or_insert_with(|| Bucket::new(above_bytes, bounds[at])).add(row);
        }
        FlowSketch { buckets: by_bound.into_iter().flatten().collect() }
    }

    /// Number of flows.
    pub fn flows(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.flows).sum()
    }

    /// Sizes, and the number of flows that are at most that large and larger than the one before.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.buckets.iter().map(|bucket| (bucket.up_to_bytes, bucket.flows))
    }

    /// Whether every bucket lies either inside or outside of the class.
    pub(crate) fn fits(&self, class: &SizeClass) -> bool {
        let crosses = |bucket: &Bucket, bound: u64| bucket.above_bytes < bound && bound < bucket.largest_bytes;
        let bounds = || [class.above_bytes].into_iter().chain(class.up_to_bytes);
        self.buckets.iter().all(|bucket| bounds().all(|bound| !crosses(bucket, bound)))
    }

    /// The statistics of a class that [fits](FlowSketch::fits).
    pub(crate) fn stats(&self, seed: u64, class: &SizeClass) -> SeedStats {
        let mut whole = Bucket::new(class.above_bytes, class.up_to_bytes.unwrap_or(u64::MAX));
        let inside = |bucket: &&Bucket| class.holds(bucket.largest_bytes);
        self.buckets.iter().filter(inside).for_each(|bucket| whole.merge(bucket));
        let count = whole.flows - whole.unfinished;
        let finished = count as f64;
        let figures = |sum: f64, logs: Option<f64>, sketch: &QuantileSketch, unit: f64| {
            let of = |statistic: Statistic| match statistic.per_mille() {
                None => sum / finished,
                Some(per_mille) => sketch.percentile(per_mille).map_or(f64::NAN, |value| value as f64 * unit),
            };
            (count > 0).then(|| Figures::each(of, logs.map(|logs| geometric_mean(logs, count))))
        };
        let exact = |of: fn(&ExactSums) -> f64| whole.exact.as_ref().filter(|_| count > 0).map(of);
        SeedStats {
            seed,
            flows: whole.flows,
            unfinished: whole.unfinished,
            largest_bytes: whole.largest_bytes,
            least_slowdown: whole.least_slowdown,
            controls: None,
            ideal_fct_ps: exact(|sums| sums.ideal_ps).map(|sum| sum / finished),
            fct_variation: variation(|| whole.fct_ps.values().map(|(value, count)| (value as f64, count))),
            fairness: None,
            fct: figures(whole.fct_sum_ps, exact(|sums| sums.log_fct_ps), &whole.fct_ps, 1.0),
            slowdown: figures(whole.slowdown_sum, exact(|sums| sums.log_slowdown), &whole.slowdown, SLOWDOWN_UNIT),
            disorder: whole.disorder,
            breakdown: whole.breakdown,
            // The sum over all flows is already kept.
            first_answers: FirstAnswers { all_fct_ps: whole.fct_sum_ps, ..whole.first_answers },
        }
    }

    /// Why this cannot be valid, if it cannot.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let wrong = |bucket: &Bucket| {
            let finished = bucket.flows.checked_sub(bucket.unfinished);
            let counted = Some(bucket.fct_ps.count()) == finished && Some(bucket.slowdown.count()) == finished;
            let sums = bucket.fct_sum_ps.is_finite() && bucket.slowdown_sum.is_finite();
            let sums = sums && !bucket.exact.is_some_and(|exact| exact.is_wrong());
            !counted || !sums || bucket.breakdown.is_wrong()
        };
        self.buckets.iter().any(wrong).then_some("a sketch does not hold the flows that it says")
    }
}

impl Bucket {
    fn new(above_bytes: u64, up_to_bytes: u64) -> Bucket {
        Bucket { above_bytes, up_to_bytes, exact: Some(ExactSums::default()), ..Bucket::default() }
    }

    fn add(&mut self, row: &FlowRow) {
        self.flows += 1;
        self.largest_bytes = self.largest_bytes.max(row.bytes);
        self.disorder.add(&Disorder::of(row));
        self.breakdown.add(&Breakdown::of(row));
        self.first_answers.add(&FirstAnswers { all_fct_ps: 0.0, ..FirstAnswers::of(row) });
        let (Some(fct_ps), Some(slowdown)) = (row.fct_ps, row.slowdown()) else {
            self.unfinished += 1;
            return;
        };
        self.fct_sum_ps += fct_ps as f64;
        self.slowdown_sum += slowdown;
        if let Some(exact) = &mut self.exact {
            let log_fct_ps = libm::log(fct_ps as f64);
            exact.add(&ExactSums { ideal_ps: row.ideal_ps as f64, log_fct_ps, log_slowdown: libm::log(slowdown) });
        }
        self.least_slowdown = least(self.least_slowdown, Some(slowdown));
        self.fct_ps.record(fct_ps);
        self.slowdown.record((slowdown / SLOWDOWN_UNIT).round() as u64);
    }

    fn merge(&mut self, other: &Bucket) {
        self.flows += other.flows;
        self.unfinished += other.unfinished;
        self.largest_bytes = self.largest_bytes.max(other.largest_bytes);
        self.disorder.add(&other.disorder);
        self.breakdown.add(&other.breakdown);
        self.first_answers.add(&other.first_answers);
        self.fct_sum_ps += other.fct_sum_ps;
        self.slowdown_sum += other.slowdown_sum;
        // Unknown of a part, unknown of all.
        self.exact = self.exact.zip(other.exact).map(|(mut sum, other)| {
            sum.add(&other);
            sum
        });
        self.least_slowdown = least(self.least_slowdown, other.least_slowdown);
        self.fct_ps.merge(&other.fct_ps);
        self.slowdown.merge(&other.slowdown);
    }
}

/// The lesser of two optional values.
pub(crate) fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}

/// Upper bounds of all buckets, rising, the last as large as a size can be.
fn bounds(cuts: &[u64]) -> Vec<u64> {
    let quarters = |power: u32| (4..8u64).map(move |quarter| (quarter << power) / 4);
    let mut bounds: Vec<u64> = (0..63).flat_map(quarters).chain(cuts.iter().copied()).chain([u64::MAX]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    bounds.retain(|&bound| bound > 0);
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::flow;

    fn flows() -> Vec<FlowRow> {
        // 1 B to 10 MB, in disorder; each twentieth does not finish.
        (0..5_000u64).map(|n| flow(1 + n * 7_919 % 5_000 * 2_000, (n % 20 != 0).then_some(1 + n * n % 997))).collect()
    }

    #[test]
    fn bounds__four_in_each_doubling_and_the_cuts() {
        let bounds = bounds(&[100_000, 9]);
        assert_eq!(bounds[..11], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]);
        assert!(bounds.contains(&100_000) && bounds.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(bounds.last(), Some(&u64::MAX));
    }

    #[test]
    fn stats__of_a_class_are_those_of_its_flows() {
        let flows = flows();
        let sketch = FlowSketch::of(&flows, &[100_000, 3_000_000]);
        assert_eq!(sketch.flows(), 5_000);
        for class in [(0, Some(100_000)), (100_000, Some(3_000_000)), (3_000_000, None), (0, None)] {
            let class = SizeClass::between(class.0, class.1);
            assert!(sketch.fits(&class));
            let found = sketch.stats(1, &class);
            let exact = crate::summary::tests::exact(&flows, &class);
            assert_eq!((found.flows, found.unfinished), (exact.flows, exact.unfinished), "{}", class.name);
            assert_eq!(found.largest_bytes, exact.largest_bytes);
            assert_eq!(found.least_slowdown, exact.least_slowdown);
            for statistic in Statistic::EVERY {
                let near = |found: Figures, exact: Figures| {
                    let (found, exact) = (found.get(statistic).unwrap(), exact.get(statistic).unwrap());
                    let error =
                        if statistic.per_mille().is_none() { 1e-12 } else { QuantileSketch::RELATIVE_ERROR + 1e-4 };
                    assert!((found - exact).abs() <= error * exact, "{}: {found} for {exact}", statistic.name());
                };
                near(found.fct.unwrap(), exact.fct.unwrap());
                near(found.slowdown.unwrap(), exact.slowdown.unwrap());
            }
            // What no scheme can reach is told from this, also with sketches alone.
            assert!((found.ideal_fct_ps.unwrap() / exact.ideal_fct_ps.unwrap() - 1.0).abs() < 1e-12);
            let (found, exact) = (found.fct_variation.unwrap(), exact.fct_variation.unwrap());
            assert!(
                (found - exact).abs() < 2.0 * QuantileSketch::RELATIVE_ERROR * (1.0 + exact),
                "{found} for {exact}"
            );
        }
    }

    #[test]
    fn fits__not_what_cuts_a_bucket() {
        let sketch = FlowSketch::of(&flows(), &[]);
        assert!(sketch.fits(&SizeClass::between(0, Some(1 << 20))));
        assert!(!sketch.fits(&SizeClass::between(0, Some((1 << 20) + 5_000))));
        assert!(sketch.fits(&SizeClass::between(50_000_000, None)));
    }

    #[test]
    fn data__comes_back() {
        let sketch = FlowSketch::of(&flows(), &[]);
        let text = serde_json::to_string(&sketch).unwrap();
        assert_eq!(serde_json::from_str::<FlowSketch>(&text).unwrap(), sketch);
        assert_eq!(sketch.fault(), None);
        // Those of earlier versions lack sums, and say nothing about them.
        let earlier: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut earlier = earlier.as_array().unwrap().clone();
        earlier.iter_mut().for_each(|bucket| drop(bucket.as_object_mut().unwrap().remove("exact")));
        let earlier: FlowSketch = serde_json::from_value(earlier.into()).unwrap();
        let stats = earlier.stats(1, &SizeClass::between(0, None));
        assert_eq!((stats.ideal_fct_ps, stats.fct.unwrap().get(Statistic::Typical)), (None, None));
        assert_eq!(earlier.fault(), None);
        let fewer = text.replacen("\"unfinished\":", "\"unfinished\":1", 1);
        assert!(serde_json::from_str::<FlowSketch>(&fewer).unwrap().fault().is_some());
    }
}
