//! Two schemes, or two values of another swept key, over the same flows, paired by seed and by flow.
//!
//! The same seed gives both the same flows, so the logarithm of the ratio of their figures is taken seed by seed and the
//! interval is over these ([`Ratio`]). If the flows themselves were kept, each flow is paired, too. In a seed that gives the
//! geometric mean of the ratios of FCT over the flows that finished under both, and how many took less and more.

use flowsieve_record::FlowRow;
use serde::{Serialize, Serializer};

use crate::classes::SizeClass;
use crate::statistics::{Ratio, Statistic};
use crate::summary::{ClassSummary, Metric};
use crate::{CoflowClass, Dimension, ResultDir, ResultError};

/// Flow by flow, over all seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ByFlow {
    /// Flows that finished under both.
    pub pairs: u64,
    /// Share of them that took less time.
    pub faster: f64,
    /// Share of them that took more.
    pub slower: f64,
    /// Geometric mean of the ratios of FCT.
    pub ratio: Ratio,
}

/// One size class of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassComparison {
    /// The class.
    pub class: SizeClass,
    /// Flows of all seeds, finished or not.
    pub flows: u64,
    /// Unfinished flows under the scheme.
    pub unfinished: u64,
    /// Unfinished flows under the baseline. With any, no ratio is judged.
    pub baseline_unfinished: u64,
    /// Ratios of FCT, by [`Statistic::ALL`]; as data by name.
    #[serde(serialize_with = "by_name")]
    pub fct: Vec<Option<Ratio>>,
    /// Ratios of slowdown, likewise.
    #[serde(serialize_with = "by_name")]
    pub slowdown: Vec<Option<Ratio>>,
    /// `None` if the flows were not kept.
    pub by_flow: Option<ByFlow>,
}

fn by_name<S: Serializer>(ratios: &[Option<Ratio>], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(Statistic::ALL.iter().map(|statistic| statistic.name()).zip(ratios))
}

impl ClassComparison {
    /// Whether all flows finished under both, so that the ratios can be judged.
    pub fn is_fair(&self) -> bool {
        self.unfinished == 0 && self.baseline_unfinished == 0
    }
}

/// Two points that differ only in the compared key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The first one's point.
    pub point: usize,
    /// The point that it is compared with.
    pub baseline: usize,
    /// Whether both have the same flows. If not, nothing is paired.
    #[serde(skip)]
    pub same_flows: bool,
    /// By size class, in the experiment's order.
    pub classes: Vec<ClassComparison>,
    /// For coflows, whose CCT is paired by seed like FCT; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coflows: Option<ClassComparison>,
    /// The same by class of coflows, for the classes that occur.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coflow_classes: Vec<(CoflowClass, ClassComparison)>,
}

/// Compares the points that have one value with those that have another and differ in nothing else, in the order of the sweep.
/// No points: one of the two is not in the result.
pub fn compare(
    dir: &ResultDir,
    varied: &Dimension,
    value: &str,
    baseline: &str,
) -> Result<Vec<Comparison>, ResultError> {
    let experiment = &dir.manifest().experiment;
    let classes = experiment.classes.as_slice();
    let pairs = experiment.pairs(varied, value, baseline);
    let mut by_flow = PairedFlows::new(&pairs, classes);
    if dir.keeps_all_flows() {
        dir.for_each_run(|run, flows| by_flow.take(run.point as usize, run.seed, &flows))?;
    }
    let mut comparisons = Vec::new();
    for (at, &(point, baseline)) in pairs.iter().enumerate() {
        let points = [point, baseline].map(|point| &dir.summary().points[point]);
        let of_class = |number: usize| {
            let [this, other] = points.map(|point| &point.classes[number]);
            ClassComparison { by_flow: by_flow.result(at, number), ..of_groups(this, other) }
        };
        let same_flows = points[0].classes.iter().zip(&points[1].classes).all(|(this, other)| this.has_flows_of(other));
        let [this, other] = points.map(|point| &point.coflows);
        let coflows = (this.flows() > 0).then(|| of_groups(this, other));
        let of_coflows = |class: CoflowClass| {
            let [this, other] = points.map(|point| point.coflow_class(class));
            (this.flows() > 0).then(|| (class, of_groups(this, other)))
        };
        let coflow_classes = CoflowClass::ALL.into_iter().filter_map(of_coflows).collect();
        let classes = (0..classes.len()).map(of_class).collect();
        comparisons.push(Comparison { point, baseline, same_flows, classes, coflows, coflow_classes });
    }
    Ok(comparisons)
}

fn of_groups(this: &ClassSummary, other: &ClassSummary) -> ClassComparison {
    let ratios = |metric| Statistic::ALL.into_iter().map(|statistic| this.ratio(other, metric, statistic)).collect();
    ClassComparison {
        class: this.class.clone(),
        flows: this.flows(),
        unfinished: this.unfinished(),
        baseline_unfinished: other.unfinished(),
        fct: ratios(Metric::Fct),
        slowdown: ratios(Metric::Slowdown),
        by_flow: None,
    }
}

/// Pairs flows as the runs arrive, each point's runs after the other's.
struct PairedFlows<'a> {
    pairs: &'a [(usize, usize)],
    classes: &'a [SizeClass],
    /// Runs whose partner has not come yet.
    waiting: Vec<(usize, u64, Vec<Brief>)>,
    /// By pair and class, a value for each seed.
    found: Vec<Vec<Vec<Tally>>>,
}

/// The compared part of a flow.
#[derive(Clone, Copy)]
struct Brief {
    flow: u32,
    bytes: u64,
    fct_ps: u64,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    pairs: u64,
    faster: u64,
    slower: u64,
    logs: f64,
}

impl<'a> PairedFlows<'a> {
    fn new(pairs: &'a [(usize, usize)], classes: &'a [SizeClass]) -> PairedFlows<'a> {
        let found = vec![vec![Vec::new(); classes.len()]; pairs.len()];
        PairedFlows { pairs, classes, waiting: Vec::new(), found }
    }

    fn take(&mut self, point: usize, seed: u64, flows: &[FlowRow]) {
        // A point has one part in these pairs: a scheme compared with itself has nothing to pair.
        let Some(at) = self.pairs.iter().position(|&(a, b)| a != b && (a == point || b == point)) else { return };
        let (scheme, baseline) = self.pairs[at];
        let brief = |row: &FlowRow| Some(Brief { flow: row.flow, bytes: row.bytes, fct_ps: row.fct_ps? });
        let mut these: Vec<Brief> = flows.iter().filter_map(brief).collect();
        these.sort_by_key(|flow| flow.flow);
        let partner = if point == scheme { baseline } else { scheme };
        let Some(other) = self.waiting.iter().position(|(other, of, _)| *other == partner && *of == seed) else {
            self.waiting.push((point, seed, these));
            return;
        };
        let (.., others) = self.waiting.swap_remove(other);
        let (ours, theirs) = if point == scheme { (&these, &others) } else { (&others, &these) };
        for (class, found) in self.classes.iter().zip(&mut self.found[at]) {
            found.push(tally(ours, theirs, class));
        }
    }

    fn result(&self, pair: usize, class: usize) -> Option<ByFlow> {
        let seeds: Vec<&Tally> = self.found[pair][class].iter().filter(|tally| tally.pairs > 0).collect();
        let mean = |tally: &&Tally| (libm::exp(tally.logs / tally.pairs as f64), 1.0);
        let ratio = Ratio::paired(&seeds.iter().map(mean).collect::<Vec<_>>())?;
        let sum = |of: fn(&Tally) -> u64| seeds.iter().map(|tally| of(tally)).sum::<u64>();
        let pairs = sum(|tally| tally.pairs);
        let share = |count: u64| count as f64 / pairs as f64;
        let (faster, slower) = (share(sum(|tally| tally.faster)), share(sum(|tally| tally.slower)));
        Some(ByFlow { pairs, faster, slower, ratio })
    }
}

/// Both by rising number.
fn tally(ours: &[Brief], theirs: &[Brief], class: &SizeClass) -> Tally {
    let mut tally = Tally::default();
    let mut theirs = theirs.iter().peekable();
    for flow in ours.iter().filter(|flow| class.holds(flow.bytes)) {
        while theirs.next_if(|other| other.flow < flow.flow).is_some() {}
        let Some(other) = theirs.next_if(|other| other.flow == flow.flow) else { continue };
        tally.pairs += 1;
        tally.faster += u64::from(flow.fct_ps < other.fct_ps);
        tally.slower += u64::from(flow.fct_ps > other.fct_ps);
        tally.logs += libm::log(flow.fct_ps as f64 / other.fct_ps as f64);
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::flow;

    fn row(number: u32, bytes: u64, fct_us: Option<u64>) -> FlowRow {
        FlowRow { flow: number, ..flow(bytes, fct_us) }
    }

    #[test]
    fn by_flow__four_flows_by_hand() {
        let classes = [SizeClass::between(0, Some(100)), SizeClass::between(0, None)];
        let pairs = [(1, 0)];
        let mut flows = PairedFlows::new(&pairs, &classes);
        // The baseline; flow 2 does not finish. A point outside of the pairs is skipped.
        flows.take(0, 7, &[row(0, 50, Some(10)), row(1, 50, Some(10)), row(2, 50, None), row(3, 500, Some(40))]);
        flows.take(2, 7, &[row(0, 50, Some(1))]);
        flows.take(1, 7, &[row(0, 50, Some(5)), row(1, 50, Some(20)), row(2, 50, Some(1)), row(3, 500, Some(10))]);
        let small = flows.result(0, 0).unwrap();
        assert_eq!((small.pairs, small.faster, small.slower), (2, 0.5, 0.5));
        assert!((small.ratio.value - 1.0).abs() < 1e-12);
        let all = flows.result(0, 1).unwrap();
        // The cube root of 1/2 · 2 · 1/4.
        assert!((all.ratio.value - 0.629_960_5).abs() < 1e-6 && all.ratio.interval.is_none());
        assert_eq!(all.pairs, 3);
    }

    #[test]
    fn by_flow__the_interval_is_over_seeds() {
        let classes = [SizeClass::between(0, None)];
        let pairs = [(0, 1)];
        let mut flows = PairedFlows::new(&pairs, &classes);
        for (seed, fct) in [(1, 10), (2, 1_000)] {
            flows.take(0, seed, &[row(0, 1, Some(fct))]);
            flows.take(1, seed, &[row(0, 1, Some(2 * fct))]);
        }
        let found = flows.result(0, 0).unwrap();
        assert!((found.ratio.value - 0.5).abs() < 1e-12 && found.ratio.is_resolved());
        assert_eq!(PairedFlows::new(&pairs, &classes).result(0, 0), None);
    }
}
