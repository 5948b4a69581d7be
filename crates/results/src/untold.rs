//! Percentiles that the available flows and seeds cannot determine.

use crate::statistics::Statistic;
use crate::summary::{ClassSummary, Metric, SeedStats};

/// Why flows and seeds cannot determine a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untold {
    /// Some seed has too few flows for the percentile to differ from the largest.
    Flows {
        /// The number of flows that it needs.
        needed: u64,
    },
    /// The seeds differ so much that their interval leaves the order of magnitude open.
    Seeds {
        /// The number of seeds.
        seeds: usize,
    },
}

impl Untold {
    /// In few words: "needs 100 flows", "3 seeds differ".
    pub fn in_words(self) -> String {
        match self {
            Untold::Flows { needed } => format!("needs {needed} flows"),
            Untold::Seeds { seeds } => format!("{seeds} seeds differ"),
        }
    }
}

impl ClassSummary {
    /// Why these flows and seeds cannot determine a percentile, if they cannot: its value is then due to chance.
    pub fn untold(&self, metric: Metric, statistic: Statistic) -> Option<Untold> {
        let needed = statistic.fewest()?;
        let finished = |seed: &SeedStats| Some(seed.flows - seed.unfinished).filter(|&finished| finished > 0);
        if self.seeds.iter().filter_map(finished).any(|finished| finished < needed) {
            return Some(Untold::Flows { needed });
        }
        let estimate = self.over_seeds(metric.bounds(), |seed| seed.get(metric, statistic))?;
        let apart = estimate.interval.is_some_and(|ends| metric.bounds().tell_nothing(ends));
        apart.then(|| Untold::Seeds { seeds: self.seeds.iter().filter_map(finished).count() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SizeClass;
    use crate::summary::tests::{exact, flow};
    use flowsieve_record::FlowRow;

    fn class_of(runs: &[(u64, Vec<FlowRow>)]) -> ClassSummary {
        let class = SizeClass::between(0, None);
        let seeds = runs.iter().map(|(seed, flows)| SeedStats { seed: *seed, ..exact(flows, &class) }).collect();
        ClassSummary { class, seeds, average: None }
    }

    #[test]
    fn untold__a_percentile_of_too_few_flows_or_of_seeds_that_differ() {
        let flows = |count: u64, slowest_us: u64| -> Vec<FlowRow> {
            (0..count).map(|n| flow(1, Some(if n < 3 { slowest_us } else { 2 }))).collect()
        };
        let of = |runs: &[(u64, Vec<FlowRow>)]| class_of(runs);
        let told = |class: &ClassSummary| {
            [Statistic::Mean, Statistic::P50, Statistic::P99, Statistic::P999]
                .map(|statistic| class.untold(Metric::Slowdown, statistic))
        };
        let (few, many) = (Untold::Flows { needed: 100 }, Untold::Flows { needed: 1_000 });
        assert_eq!(told(&of(&[(1, flows(99, 9)), (2, flows(100, 9))])), [None, None, Some(few), Some(many)]);
        assert_eq!(
            told(&of(&[(1, flows(200, 9)), (2, flows(200, 9)), (3, flows(200, 10))])),
            [None, None, None, Some(many)]
        );
        // One seed in which a timeout makes the percentile: its interval reaches over orders of magnitude.
        let differ = of(&[(1, flows(200, 3)), (2, flows(200, 3)), (3, flows(200, 200))]);
        assert_eq!(told(&differ)[2], Some(Untold::Seeds { seeds: 3 }));
        assert_eq!(differ.estimate(Metric::Slowdown, Statistic::P99).unwrap().interval, None);
        assert!(differ.estimate(Metric::Slowdown, Statistic::P50).unwrap().interval.is_some());
        assert_eq!(few.in_words(), "needs 100 flows");
        // A single seed has no interval in any case.
        assert_eq!(told(&of(&[(1, flows(200, 9))]))[2], None);
    }
}
