//! Two schemes, or two values of another swept key, over the same flows, paired by seed and by flow.
//!
//! The same seed gives both the same flows, so the logarithm of the ratio of their figures is taken seed by seed and the
//! interval is over these ([`Ratio`]). If the flows themselves were kept, each flow and coflow is paired, too. In a seed that
//! gives the geometric mean of the ratios of FCT or CCT over those that finished under both, and how many took less and more.
//! A mean is made by the few that take longest, so it needs many seeds; in this one each weighs the same.

use flowsieve_record::{CoflowRow, FlowRow};
use serde::{Serialize, Serializer};

use crate::classes::SizeClass;
use crate::statistics::{Ratio, Statistic};
use crate::summary::{ClassSummary, Metric};
use crate::{CoflowClass, CoflowClassBounds, CoflowGroup, Dimension, ResultDir, ResultError};

/// Flow by flow, or coflow by coflow, over all seeds: how the typical one fares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ByFlow {
    /// Flows that finished under both.
    pub pairs: u64,
    /// Share of them that took less time.
    pub faster: f64,
    /// Share of them that took more.
    pub slower: f64,
    /// Geometric mean of the ratios of FCT, or of CCT for coflows. In each seed it is over its flows, and its interval is over
    /// seeds.
    pub ratio: Ratio,
    /// Standard error of the logarithm of that ratio over the flows of the seeds, about the same as a share of it. It exists with
    /// one seed, too, but takes the flows of a run as independent, which those that share a queue are not. `None` if a seed has a
    /// single pair.
    pub error: Option<f64>,
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
    /// `None` if not all flows were kept.
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
    let mut by_flow = Paired::new(&pairs, classes, experiment.coflow_classes);
    if dir.keeps_all_flows() {
        dir.for_each_run(|run, flows| by_flow.take(run.point as usize, run.seed, &flows))?;
    }
    let mut comparisons = Vec::new();
    for (at, &(point, baseline)) in pairs.iter().enumerate() {
        let points = [point, baseline].map(|point| &dir.summary().points[point]);
        let of_class = |number: usize| {
            let [this, other] = points.map(|point| &point.classes[number]);
            ClassComparison { by_flow: by_flow.of(at, &Group::Flows(&classes[number])), ..of_groups(this, other) }
        };
        let same_flows = points[0].classes.iter().zip(&points[1].classes).all(|(this, other)| this.has_flows_of(other));
        let [this, other] = points.map(|point| &point.coflows);
        let compared = || ClassComparison { by_flow: by_flow.of(at, &Group::Coflows), ..of_groups(this, other) };
        let coflows = (this.flows() > 0).then(compared);
        let of_coflows = |class: CoflowClass| {
            let [this, other] = points.map(|point| point.coflow_class(class));
            let by_flow = || by_flow.of(at, &Group::OfClass(class));
            (this.flows() > 0).then(|| (class, ClassComparison { by_flow: by_flow(), ..of_groups(this, other) }))
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

/// A group of flows or coflows that are paired one by one.
#[derive(PartialEq)]
enum Group<'a> {
    Flows(&'a SizeClass),
    Coflows,
    OfClass(CoflowClass),
}

/// Pairs flows and coflows as the runs arrive, each point's runs after the other's.
struct Paired<'a> {
    pairs: &'a [(usize, usize)],
    groups: Vec<Group<'a>>,
    bounds: CoflowClassBounds,
    /// Runs whose partner has not come yet.
    waiting: Vec<Waiting>,
    /// By pair and group, a value for each seed.
    found: Vec<Vec<Vec<Tally>>>,
}

struct Waiting {
    point: usize,
    seed: u64,
    these: Briefs,
}

/// The compared parts of a run's flows and coflows, by number.
struct Briefs {
    flows: Vec<Brief>,
    coflows: Vec<CoflowRow>,
}

/// The compared part of a flow.
#[derive(Clone, Copy)]
struct Brief {
    flow: u32,
    bytes: u64,
    fct_ps: u64,
}

impl Briefs {
    fn of(rows: &[FlowRow]) -> Briefs {
        let brief = |row: &FlowRow| Some(Brief { flow: row.flow, bytes: row.bytes, fct_ps: row.fct_ps? });
        let mut flows: Vec<Brief> = rows.iter().filter_map(brief).collect();
        flows.sort_by_key(|flow| flow.flow);
        Briefs { flows, coflows: CoflowRow::of(rows) }
    }

    /// Number and completion time of each that finished in a group.
    fn times(&self, group: &Group<'_>, bounds: &CoflowClassBounds) -> Vec<(u32, u64)> {
        let of_coflows = |holds: &dyn Fn(&CoflowRow) -> bool| {
            self.coflows.iter().filter(|row| holds(row)).filter_map(|row| Some((row.coflow, row.cct_ps?))).collect()
        };
        match group {
            Group::Flows(class) => {
                self.flows.iter().filter(|flow| class.holds(flow.bytes)).map(|flow| (flow.flow, flow.fct_ps)).collect()
            }
            Group::Coflows => of_coflows(&|_| true),
            Group::OfClass(class) => of_coflows(&|row| CoflowGroup::Class(*class).holds(row, bounds)),
        }
    }
}

/// The pairs of one seed.
#[derive(Clone, Copy, Default)]
struct Tally {
    pairs: u64,
    faster: u64,
    slower: u64,
    /// Sums of the logarithms of the ratios, and of their squares.
    logs: f64,
    squares: f64,
}

impl Tally {
    /// Of those that both have, each by rising number.
    fn of(ours: &[(u32, u64)], theirs: &[(u32, u64)]) -> Tally {
        let mut tally = Tally::default();
        let mut theirs = theirs.iter().peekable();
        for &(number, time) in ours {
            while theirs.next_if(|other| other.0 < number).is_some() {}
            let Some(&(_, other)) = theirs.next_if(|other| other.0 == number) else { continue };
            let log = libm::log(time as f64 / other as f64);
            tally.pairs += 1;
            tally.faster += u64::from(time < other);
            tally.slower += u64::from(time > other);
            tally.logs += log;
            tally.squares += log * log;
        }
        tally
    }

    fn mean(&self) -> f64 {
        self.logs / self.pairs as f64
    }

    /// The variance of the mean, if the pairs are independent; `None` with fewer than two.
    fn variance_of_mean(&self) -> Option<f64> {
        let count = self.pairs as f64;
        // Rounding may leave less than nothing of a variance.
        (self.pairs > 1).then(|| ((self.squares - self.logs * self.mean()) / (count - 1.0)).max(0.0) / count)
    }
}

impl<'a> Paired<'a> {
    fn new(pairs: &'a [(usize, usize)], classes: &'a [SizeClass], bounds: CoflowClassBounds) -> Paired<'a> {
        let groups: Vec<Group<'a>> = (classes.iter().map(Group::Flows))
            .chain([Group::Coflows])
            .chain(CoflowClass::ALL.map(Group::OfClass))
            .collect();
        let found = vec![vec![Vec::new(); groups.len()]; pairs.len()];
        Paired { pairs, groups, bounds, waiting: Vec::new(), found }
    }

    fn take(&mut self, point: usize, seed: u64, flows: &[FlowRow]) {
        // A point has one part in these pairs: a scheme compared with itself has nothing to pair.
        let Some(at) = self.pairs.iter().position(|&(a, b)| a != b && (a == point || b == point)) else { return };
        let (scheme, baseline) = self.pairs[at];
        let these = Briefs::of(flows);
        let partner = if point == scheme { baseline } else { scheme };
        let Some(other) = self.waiting.iter().position(|other| other.point == partner && other.seed == seed) else {
            self.waiting.push(Waiting { point, seed, these });
            return;
        };
        let others = self.waiting.swap_remove(other).these;
        let (ours, theirs) = if point == scheme { (&these, &others) } else { (&others, &these) };
        for (group, found) in self.groups.iter().zip(&mut self.found[at]) {
            let [ours, theirs] = [ours, theirs].map(|of| of.times(group, &self.bounds));
            found.push(Tally::of(&ours, &theirs));
        }
    }

    fn of(&self, pair: usize, group: &Group<'_>) -> Option<ByFlow> {
        let group = self.groups.iter().position(|its| its == group)?;
        let seeds: Vec<&Tally> = self.found[pair][group].iter().filter(|tally| tally.pairs > 0).collect();
        let ratio = Ratio::paired(&seeds.iter().map(|tally| (libm::exp(tally.mean()), 1.0)).collect::<Vec<_>>())?;
        let sum = |of: fn(&Tally) -> u64| seeds.iter().map(|tally| of(tally)).sum::<u64>();
        let pairs = sum(|tally| tally.pairs);
        let share = |count: u64| count as f64 / pairs as f64;
        let (faster, slower) = (share(sum(|tally| tally.faster)), share(sum(|tally| tally.slower)));
        let variances: Option<Vec<f64>> = seeds.iter().map(|tally| tally.variance_of_mean()).collect();
        let error = variances.map(|all| all.iter().sum::<f64>().sqrt() / seeds.len() as f64);
        Some(ByFlow { pairs, faster, slower, ratio, error })
    }
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
        let mut flows = Paired::new(&pairs, &classes, CoflowClassBounds::default());
        // The baseline; flow 2 does not finish. A point outside of the pairs is skipped.
        flows.take(0, 7, &[row(0, 50, Some(10)), row(1, 50, Some(10)), row(2, 50, None), row(3, 500, Some(40))]);
        flows.take(2, 7, &[row(0, 50, Some(1))]);
        flows.take(1, 7, &[row(0, 50, Some(5)), row(1, 50, Some(20)), row(2, 50, Some(1)), row(3, 500, Some(10))]);
        let small = flows.of(0, &Group::Flows(&classes[0])).unwrap();
        assert_eq!((small.pairs, small.faster, small.slower), (2, 0.5, 0.5));
        assert!((small.ratio.value - 1.0).abs() < 1e-12);
        let all = flows.of(0, &Group::Flows(&classes[1])).unwrap();
        // The cube root of 1/2 · 2 · 1/4.
        assert!((all.ratio.value - 0.629_960_5).abs() < 1e-6 && all.ratio.interval.is_none());
        assert_eq!(all.pairs, 3);
        // Logarithms −1, 1 and −2 of 2: their deviation is √(14/6) · ln 2 = 1.0588, over √3.
        let error = all.error.unwrap();
        assert!((error - 0.611_3).abs() < 1e-4, "{error}");
    }

    #[test]
    fn by_flow__coflows_and_their_classes() {
        let bounds = CoflowClassBounds { long_bytes: 100, wide_flows: 9 };
        let pairs = [(0, 1)];
        let mut paired = Paired::new(&pairs, &[], bounds);
        // Coflow 5 is short and lasts as long as the slower of its two flows; coflow 6 is long.
        let run = |times: [u64; 3]| {
            let of = |number: u32, bytes, coflow| FlowRow {
                coflow: Some(coflow),
                ..row(number, bytes, Some(times[number as usize]))
            };
            [of(0, 50, 5), of(1, 50, 5), of(2, 100, 6)]
        };
        paired.take(0, 1, &run([10, 40, 30]));
        paired.take(1, 1, &run([80, 20, 30]));
        let all = paired.of(0, &Group::Coflows).unwrap();
        assert_eq!((all.pairs, all.faster, all.slower), (2, 0.5, 0.0));
        assert!((all.ratio.value - 0.5f64.sqrt()).abs() < 1e-12);
        let [short, _, _, wide] = CoflowClass::ALL.map(|class| paired.of(0, &Group::OfClass(class)));
        let short = short.unwrap();
        assert!((short.ratio.value - 0.5).abs() < 1e-12 && short.error.is_none() && wide.is_none());
    }

    #[test]
    fn by_flow__the_interval_is_over_seeds() {
        let classes = [SizeClass::between(0, None)];
        let pairs = [(0, 1)];
        let mut flows = Paired::new(&pairs, &classes, CoflowClassBounds::default());
        for (seed, fct) in [(1, 10), (2, 1_000)] {
            flows.take(0, seed, &[row(0, 1, Some(fct))]);
            flows.take(1, seed, &[row(0, 1, Some(2 * fct))]);
        }
        let found = flows.of(0, &Group::Flows(&classes[0])).unwrap();
        assert!((found.ratio.value - 0.5).abs() < 1e-12 && found.ratio.is_resolved());
        let none = Paired::new(&pairs, &classes, CoflowClassBounds::default());
        assert_eq!(none.of(0, &Group::Flows(&classes[0])), None);
    }
}
