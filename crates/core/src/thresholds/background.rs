//! The M/G/1 foreground-background queue with FIFO levels: the scheduler itself, at one link with Poisson arrivals.
//!
//! A flow of size x ends in level l if a_(l−1) < x ≤ a_l. It waits for the work of levels 1 to l that it finds on
//! arrival, and is then interrupted by arrivals in levels 1 to l − 1: T(x) = (W(a_l) + x) / (1 − ρ(a_(l−1))), with ρ(a)
//! = λ E\[min(X, a)\] and W(a) = λ E\[min(X, a)²\] / (2 (1 − ρ(a))) (Kleinrock, Queueing Systems, volume 2, 1976,
//! §4.7). Bytes of a level are served in the order in which they reach it. All bytes of a flow are there at once: the
//! model does not spread them over time as a host link or a transport does.
//!
//! With another weight for each size, the mean is that of the slowdown, T(x) over the time that a flow takes alone.
//!
//! The mean is a sum over levels, and the term of a level depends only on its two ends. So a dynamic programme over
//! (levels, end of the last) finds the exact optimum on a grid. The same is then done on finer grids around the
//! resulting thresholds, down to bytes. So the result is never worse than the optimum on the first grid. That grid has
//! every byte for sizes below [`ALL`]. Above, it has every size that is a step of the law (a selection if there are
//! many), and 768 offsets at equal shares of the flows, of their bytes and of the logarithm of the size.

use crate::thresholds::law::SizeLaw;
use crate::thresholds::{ThresholdError, checked_load, checked_queues, rising};

/// Up to this size every byte is a candidate.
const ALL: u64 = 1 << 9;

/// Number of offsets of each kind in the first grid.
const GRID: u32 = 1 << 8;

/// Number of candidates on all finer grids together.
const FINER: usize = 1 << 9;

/// Returns the thresholds in bytes with the least mean time in the model at this load, by the grids described in the
/// module. Levels that would not help stay empty: their thresholds are above all sizes. If all flows have one size,
/// none is demoted.
pub fn background(law: &SizeLaw, load: f64, queues: usize) -> Result<Vec<u64>, ThresholdError> {
    checked_load(load)?;
    checked_queues(queues)?;
    let queue = Queue::new(law, load, None);
    let mut candidates = first_grid(law);
    let mut chosen = queue.best(&candidates, queues);
    // Each round divides the width of a cell by half of its number of candidates.
    let parts = (FINER / queues).clamp(8, 32) as u64;
    loop {
        let finer: Vec<u64> = chosen.iter().flat_map(|chosen| around(&candidates, *chosen, parts)).collect();
        let finer = sorted(finer);
        if finer == sorted(chosen.clone()) {
            break;
        }
        let next = queue.best(&finer, queues);
        let finest = finer.iter().all(|offset| candidates.binary_search(offset).is_ok());
        candidates = finer;
        chosen = next;
        if finest {
            break;
        }
    }
    Ok(all_levels(&chosen, law, queues))
}

/// Returns the thresholds in bytes with the least mean slowdown in the model, of those at sizes that flows have exactly:
/// for a law of few sizes, such as a sketch has, and a controller that computes them often. At most 511 sizes are tried.
///
/// A flow's slowdown is its time over that of its own bytes and `idle` others: those that the link could send while a
/// network that is otherwise idle brings a flow without bytes to its end. If `idle` is far above all sizes, the mean time
/// is least, too.
pub fn background_slowdown_at_sizes(
    law: &SizeLaw,
    load: f64,
    queues: usize,
    idle: u64,
) -> Result<Vec<u64>, ThresholdError> {
    checked_load(load)?;
    checked_queues(queues)?;
    let queue = Queue::new(law, load, Some(idle));
    let candidates: Vec<u64> = law.steps(GRID as usize).collect();
    Ok(all_levels(&queue.best(&candidates, queues), law, queues))
}

/// Returns thresholds for all levels: those that would not help are above all sizes.
fn all_levels(chosen: &[u64], law: &SizeLaw, queues: usize) -> Vec<u64> {
    let above = chosen.last().map_or(1, |last| last + 1).max(law.max());
    let unused = (0..).map(|i| above + i).take(queues - 1 - chosen.len());
    rising(chosen.iter().copied().chain(unused))
}

/// Returns the mean completion time in the model at a load within (0, 1), in units of a mean flow's time on an idle
/// link.
pub fn background_time(law: &SizeLaw, load: f64, thresholds: &[u64]) -> f64 {
    Queue::new(law, load, None).mean(thresholds) / law.mean()
}

/// Flows at a link that serves one byte per unit of time.
struct Queue<'a> {
    law: &'a SizeLaw,
    /// λ, in flows per unit of time.
    rate: f64,
    /// A flow's weight in the mean, 1 if there is none here: by offset, the sums over the flows up to it of weights and of
    /// weighted bytes.
    weighed: Option<Box<dyn Fn(u64) -> [f64; 2] + 'a>>,
}

/// The end of a level.
struct End {
    /// Weight of the flows that are not larger, but for a constant.
    up_to: f64,
    /// Weighted bytes of these flows, E\[X; X ≤ a\].
    ended: f64,
    /// 1 − ρ(a).
    free: f64,
    /// W(a).
    wait: f64,
}

impl End {
    /// Returns what the level from here to there adds to the mean time.
    fn to(&self, there: &End) -> f64 {
        ((there.up_to - self.up_to) * there.wait + (there.ended - self.ended)) / self.free
    }
}

impl Queue<'_> {
    /// Builds the queue at a load; with `idle`, the mean is that of the slowdown.
    fn new(law: &SizeLaw, load: f64, idle: Option<u64>) -> Queue<'_> {
        let weighed = idle.map(|idle| -> Box<dyn Fn(u64) -> [f64; 2]> { Box::new(law.weighed(idle.max(1) as f64)) });
        Queue { law, rate: load / law.mean(), weighed }
    }

    fn end(&self, offset: u64) -> End {
        let free = 1.0 - self.rate * self.law.mean_up_to(offset);
        // The share beyond keeps its digits if it is small, and differences are all that counts.
        let [up_to, ended] = match &self.weighed {
            Some(weighed) => weighed(offset),
            None => [-self.law.share_beyond(offset), self.law.mean_of_up_to(offset)],
        };
        End { up_to, ended, free, wait: self.rate * self.law.second_moment_up_to(offset) / (2.0 * free) }
    }

    /// Returns the mean time or slowdown with these thresholds.
    fn mean(&self, thresholds: &[u64]) -> f64 {
        let ends = thresholds.iter().copied().chain([u64::MAX]);
        let ends: Vec<End> = [0].into_iter().chain(ends).map(|offset| self.end(offset)).collect();
        ends.windows(2).map(|pair| pair[0].to(&pair[1])).sum()
    }

    /// Chooses at most `queues` − 1 of the candidates, rising, with the least mean time.
    fn best(&self, candidates: &[u64], queues: usize) -> Vec<u64> {
        let offsets = [0].into_iter().chain(candidates.iter().copied()).chain([u64::MAX]);
        let ends: Vec<End> = offsets.map(|offset| self.end(offset)).collect();
        let last = ends.len() - 1;
        // By end: the least time of all levels up to it, and for each level where the last one begins. It begins at the
        // end itself if one level fewer is better.
        let mut least: Vec<f64> = ends.iter().map(|end| ends[0].to(end)).collect();
        let mut begins: Vec<Vec<usize>> = Vec::with_capacity(queues);
        for _ in 1..queues {
            let mut with_one_more = least.clone();
            let mut begin: Vec<usize> = (0..=last).collect();
            for to in 1..=last {
                for from in 1..to {
                    let time = least[from] + ends[from].to(&ends[to]);
                    if time < with_one_more[to] {
                        (with_one_more[to], begin[to]) = (time, from);
                    }
                }
            }
            least = with_one_more;
            begins.push(begin);
        }
        let mut chosen = Vec::with_capacity(queues);
        let mut end = last;
        for begin in begins.iter().rev() {
            if begin[end] != end {
                end = begin[end];
                chosen.push(candidates[end - 1]);
            }
        }
        chosen.reverse();
        chosen
    }
}

fn first_grid(law: &SizeLaw) -> Vec<u64> {
    if law.max() <= ALL {
        return (1..law.max()).collect();
    }
    let parts = (1..=GRID).map(|i| f64::from(i) / f64::from(GRID));
    let logarithm = libm::log(law.max() as f64);
    let offsets = parts.flat_map(|part| [law.quantile(part), law.offset_of(part), libm::exp(part * logarithm) as u64]);
    sorted(offsets.chain(law.steps(GRID as usize)).collect())
}

/// Returns `chosen`, which is one of the candidates, and offsets from the candidate before it to the one after it.
fn around(candidates: &[u64], chosen: u64, parts: u64) -> impl Iterator<Item = u64> {
    let index = candidates.partition_point(|offset| *offset < chosen);
    let below = index.checked_sub(1).map_or(0, |below| candidates[below]);
    let above = candidates.get(index + 1).copied().unwrap_or(chosen);
    let step = move |part: u64| below + (u128::from(above - below) * u128::from(part) / u128::from(parts)) as u64;
    (0..=parts).map(step).chain([chosen])
}

fn sorted(mut offsets: Vec<u64>) -> Vec<u64> {
    offsets.retain(|offset| *offset > 0);
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::testing::{any_law, exponential_phases};
    use proptest::prelude::*;

    #[test]
    fn background_time__by_hand() {
        // Half of the flows have 2 bytes, half 6, at load 1/2: λ = 1/8. Threshold 2: ρ = 1/4, W(2) = 4/8 / (2 · 3/4) =
        // 1/3, W = 20/8 / (2 · 1/2) = 5/2. Small flows take 1/3 + 2, large ones (5/2 + 6) / (3/4).
        let law = SizeLaw::from_counts([(2, 1), (6, 1)]).unwrap();
        let time = (0.5 * (1.0 / 3.0 + 2.0) + 0.5 * 8.5 / 0.75) / 4.0;
        assert!((background_time(&law, 0.5, &[2]) - time).abs() < 1e-12);
        // One level is FCFS: 5/2 + 4.
        assert!((background_time(&law, 0.5, &[]) - 6.5 / 4.0).abs() < 1e-12);
        assert!((background_time(&law, 0.5, &[6, 7]) - 6.5 / 4.0).abs() < 1e-12);
    }

    #[test]
    fn background_slowdown__by_hand() {
        // The same flows in a network that takes 2 units for nothing: alone they take 4 and 8.
        let law = SizeLaw::from_counts([(2, 1), (6, 1)]).unwrap();
        let slowdown = 0.5 * (1.0 / 3.0 + 2.0) / 4.0 + 0.5 * 8.5 / 0.75 / 8.0;
        assert!((Queue::new(&law, 0.5, Some(2)).mean(&[2]) - slowdown).abs() < 1e-12);
    }

    #[test]
    fn background_slowdown__of_sizes_between_is_that_of_many_sizes() {
        let uniform = SizeLaw::from_quantiles(&|p| Some((p * 1e6) as u64)).unwrap();
        let counts = SizeLaw::from_counts((1..=10_000).map(|i| (100 * i - 50, 1))).unwrap();
        for thresholds in [vec![], vec![3_333], vec![100_000, 777_777]] {
            let [one, other] = [&uniform, &counts].map(|law| Queue::new(law, 0.8, Some(50_000)).mean(&thresholds));
            assert!((one / other - 1.0).abs() < 1e-3, "{thresholds:?}: {one} {other}");
        }
    }

    #[test]
    fn background_time__exponential_sizes_take_as_long_in_any_levels() {
        // For memoryless sizes, no discipline without knowledge of sizes is better or worse than M/M/1.
        let law = exponential_phases(&[(1.0, 1e7)]);
        for thresholds in [vec![], vec![5_000_000], vec![1_000_000, 2_000_000, 30_000_000]] {
            let time = background_time(&law, 0.7, &thresholds);
            assert!((time * 0.3 - 1.0).abs() < 1e-3, "{thresholds:?} {time}");
        }
    }

    #[test]
    fn background__nobody_is_demoted_where_it_does_not_help() {
        let law = SizeLaw::from_counts([(10_000, 5)]).unwrap();
        assert_eq!(background(&law, 0.8, 4), Ok(vec![10_000, 10_001, 10_002]));
        let one_byte = SizeLaw::from_counts([(1, 5)]).unwrap();
        assert_eq!(background(&one_byte, 0.8, 3), Ok(vec![1, 2]));
    }

    #[test]
    fn background__more_queues_are_never_worse() {
        let law = exponential_phases(&[(0.9, 1e4), (0.1, 1e6)]);
        let mut before = f64::INFINITY;
        for queues in 1..=16 {
            let time = background_time(&law, 0.8, &background(&law, 0.8, queues).unwrap());
            assert!(time <= before * (1.0 + 1e-9), "{queues}: {time} {before}");
            before = time;
        }
    }

    proptest! {
        #[test]
        fn background__is_the_best_of_all_bytes(
            counts in prop::collection::vec((1u64..60, 1u64..100), 1..12),
            load in 0.05..0.95
        ) {
            let law = SizeLaw::from_counts(counts).unwrap();
            let time = |thresholds: &[u64]| background_time(&law, load, thresholds);
            let all = 1..=law.max();
            let two = all.clone().map(|a| time(&[a])).fold(f64::INFINITY, f64::min);
            let three = all.clone().flat_map(|a| (a + 1..=law.max() + 1).map(move |b| [a, b])).map(|pair| time(&pair));
            let three = three.fold(f64::INFINITY, f64::min);
            for (queues, best) in [(2, two), (3, three)] {
                let found = time(&background(&law, load, queues).unwrap());
                prop_assert!((found / best - 1.0).abs() < 1e-9, "{found} {best}");
            }
        }

        #[test]
        fn background_slowdown_at_sizes__is_the_best_of_the_sizes(
            counts in prop::collection::vec((1u64..3_000, 1u64..100), 1..9),
            load in 0.05..0.95,
            idle in 1u64..10_000
        ) {
            let sizes: Vec<u64> = counts.iter().map(|(size, _)| *size).collect();
            let law = SizeLaw::from_counts(counts).unwrap();
            let mean = |thresholds: &[u64]| Queue::new(&law, load, Some(idle)).mean(thresholds);
            let pairs = sizes.iter().flat_map(|&a| sizes.iter().map(move |&b| [a, b]));
            let best = pairs.filter(|pair| pair[0] <= pair[1]).map(|pair| mean(&pair)).fold(f64::INFINITY, f64::min);
            let found = background_slowdown_at_sizes(&law, load, 3, idle).unwrap();
            prop_assert!(found.is_sorted_by(|a, b| a < b) && found.len() == 2, "{found:?}");
            prop_assert!((mean(&found) / best - 1.0).abs() < 1e-9, "{found:?} {best}");
            // If the network takes far longer than any flow's bytes, all flows weigh the same.
            let alike = background_slowdown_at_sizes(&law, load, 3, 1 << 50).unwrap();
            let anywhere = background_time(&law, load, &background(&law, load, 3).unwrap());
            prop_assert!(anywhere <= background_time(&law, load, &alike) * (1.0 + 1e-9));
            prop_assert!(background_time(&law, load, &alike) <= background_time(&law, load, &found) * (1.0 + 1e-9));
        }

        #[test]
        fn background__no_other_thresholds_are_better(
            law in any_law(),
            load in 0.05..0.95,
            mut other in prop::collection::vec(0.0..=1.0, 0..8)
        ) {
            other.sort_by(f64::total_cmp);
            let other = rising(other.iter().map(|share| law.offset_of(*share)));
            let found = background_time(&law, load, &background(&law, load, other.len() + 1).unwrap());
            // A slightly better minimum may lie between candidates of the first grid: better by less than this.
            prop_assert!(found <= background_time(&law, load, &other) * 1.0005, "{found}");
        }
    }
}
