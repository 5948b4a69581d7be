//! The statistics of a result: by point, by size class, by seed.
//!
//! Each seed gives one value of each statistic; a point's value is their mean, with an interval over the seeds
//! ([`crate::statistics`]). Unfinished flows are counted and have no FCT. If a class has any, its statistics are those of the
//! finished flows: too good, and marked wherever they are shown.

mod run_flows;

use crate::bounds::Bounds;
use crate::classes::SizeClass;
use crate::controls::{Controls, adjusted};
use crate::statistics::{Estimate, Figures, Ratio, Statistic, Sureness};
use crate::{CoflowClass, CoflowGroup, Experiment, FirstAnswers, Only};

use flowsieve_record::{Breakdown, Disorder, nearest_rank};
use run_flows::Kept;
pub(crate) use run_flows::RunFlows;

/// The number of bins of equal numbers of flows into which the sizes of a point are cut, for slowdown against size.
const BINS: usize = 20;

/// A measure of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Flow completion time, in ps.
    Fct,
    /// FCT over ideal FCT.
    Slowdown,
}

impl Metric {
    /// Both, in the order of tables.
    pub const ALL: [Metric; 2] = [Metric::Fct, Metric::Slowdown];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Fct => "fct",
            Metric::Slowdown => "slowdown",
        }
    }

    /// The bounds of its values.
    pub fn bounds(self) -> Bounds {
        match self {
            Metric::Fct => Bounds::POSITIVE,
            Metric::Slowdown => Bounds::SLOWDOWN,
        }
    }
}

/// One class of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeedStats {
    /// Its seed.
    pub seed: u64,
    /// Flows of the class, finished or not.
    pub flows: u64,
    /// Flows that did not finish.
    pub unfinished: u64,
    /// Size of the largest, or 0.
    pub largest_bytes: u64,
    /// The least slowdown of those that finished. Never below 1, or the ideal FCT is wrong.
    pub least_slowdown: Option<f64>,
    /// FCT in ps of those that finished; `None` if none did.
    pub fct: Option<Figures>,
    /// Slowdown of those that finished.
    pub slowdown: Option<Figures>,
    /// The properties of all flows of the run, whatever the class; not available from sketches.
    pub controls: Option<Controls>,
    /// Mean ideal FCT of those that finished, in ps. Not available from sketches of earlier versions.
    pub ideal_fct_ps: Option<f64>,
    /// Coefficient of variation of the FCT of those that finished. From sketches, it is that of the midpoints of their buckets.
    pub fct_variation: Option<f64>,
    /// Jain's index over orders of magnitude of size: for each decade with finished flows, the mean of their throughputs, size
    /// over FCT (AFQ §5, QCluster §6.1). Not available from sketches.
    pub fairness: Option<f64>,
    /// Losses and reordering of the flows.
    pub disorder: Disorder,
    /// Their time in the steps of QCLIMB.
    pub breakdown: Breakdown,
    /// Those that waited for a first answer.
    pub first_answers: FirstAnswers,
}

impl SeedStats {
    /// A statistic; `None` if no flow finished, or if an earlier version did not measure it.
    pub fn get(&self, metric: Metric, statistic: Statistic) -> Option<f64> {
        let figures = match metric {
            Metric::Fct => self.fct,
            Metric::Slowdown => self.slowdown,
        };
        figures.and_then(|figures| figures.get(statistic))
    }
}

/// One class of one point.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSummary {
    /// The class.
    pub class: SizeClass,
    /// By seed, in the order of the point's runs.
    pub seeds: Vec<SeedStats>,
    /// The average properties of flows, if they are known and apply to these flows: these are all flows of the runs.
    pub average: Option<Controls>,
}

impl ClassSummary {
    /// Flows of all seeds.
    pub fn flows(&self) -> u64 {
        self.seeds.iter().map(|seed| seed.flows).sum()
    }

    /// Unfinished flows of all seeds.
    pub fn unfinished(&self) -> u64 {
        self.seeds.iter().map(|seed| seed.unfinished).sum()
    }

    /// A statistic over the seeds that have flows of the class; `None` if no seed has. A statistic that is [`crate::Untold`]
    /// has no interval.
    pub fn estimate(&self, metric: Metric, statistic: Statistic) -> Option<Estimate> {
        let average = self.average.as_ref().filter(|_| statistic == Statistic::Mean);
        let controlled = |seed: &SeedStats| Some((seed.get(metric, statistic)?, seed.controls?));
        let adjusted = average.and_then(|average| {
            let seeds = self.seeds.iter().map(controlled).collect::<Option<Vec<_>>>()?;
            adjusted(Sureness::USUAL, metric.bounds(), &seeds, average)
        });
        let found = adjusted.or_else(|| self.over_seeds(metric.bounds(), |seed| seed.get(metric, statistic)))?;
        let is_told = self.untold(metric, statistic).is_none();
        Some(Estimate { interval: found.interval.filter(|_| is_told), ..found })
    }

    /// Another value over the seeds that have it; `None` if no seed has.
    pub fn over_seeds(&self, bounds: Bounds, of: impl Fn(&SeedStats) -> Option<f64>) -> Option<Estimate> {
        Estimate::over_seeds(bounds, &self.seeds.iter().filter_map(of).collect::<Vec<_>>())
    }

    /// How many more seeds would resolve the ratio in most cases; `None`: not even `most` seeds in all.
    pub fn more_seeds(
        &self,
        baseline: &ClassSummary,
        metric: Metric,
        statistic: Statistic,
        most: usize,
    ) -> Option<usize> {
        let pairs = self.pairs(baseline, metric, statistic);
        Some(Ratio::seeds_to_tell(&pairs, most)?.saturating_sub(pairs.len()))
    }

    /// Whether the runs of two points have the same flows, judged by their number, their sizes and the last arrival: then the
    /// points can be paired.
    pub fn has_flows_of(&self, other: &ClassSummary) -> bool {
        let told = |seed: &SeedStats| (seed.flows, seed.largest_bytes, seed.controls);
        let shared = |seed: &SeedStats| other.seeds.iter().find(|other| other.seed == seed.seed).map(told);
        self.seeds.iter().all(|seed| shared(seed).is_none_or(|other| other == told(seed)))
    }

    /// This point over a baseline's same class, paired by seed; `None` if they share no seed with flows of the class.
    pub fn ratio(&self, baseline: &ClassSummary, metric: Metric, statistic: Statistic) -> Option<Ratio> {
        Ratio::paired(&self.pairs(baseline, metric, statistic))
    }

    /// The same with another interval.
    pub fn ratio_as_sure(
        &self,
        baseline: &ClassSummary,
        metric: Metric,
        statistic: Statistic,
        sureness: Sureness,
    ) -> Option<Ratio> {
        Ratio::as_sure(sureness, &self.pairs(baseline, metric, statistic))
    }

    /// The values of each seed that both have.
    fn pairs(&self, baseline: &ClassSummary, metric: Metric, statistic: Statistic) -> Vec<(f64, f64)> {
        let pair = |seed: &SeedStats| {
            let other = baseline.seeds.iter().find(|other| other.seed == seed.seed)?;
            Some((seed.get(metric, statistic)?, other.get(metric, statistic)?))
        };
        self.seeds.iter().filter_map(pair).collect()
    }
}

/// The statistics of one point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointSummary {
    /// By size class, in the experiment's order.
    pub classes: Vec<ClassSummary>,
    /// The groups of flows that are asked for and not among these.
    pub asked: Vec<(Only, ClassSummary)>,
    /// The same flows cut at percentiles of their size: at most twenty bins of about equal numbers of flows, fewer if many
    /// flows have one size. The bins are the same for every scheme, since schemes get the same flows.
    pub bins: Vec<ClassSummary>,
    /// The coflows of the runs, if there are any: each counts as a flow, and its CCT as an FCT.
    pub coflows: ClassSummary,
    /// The same by class of coflows, in the order of [`CoflowClass::ALL`].
    pub coflow_classes: [ClassSummary; 4],
    /// The same for the size classes of coflows that are asked for.
    pub asked_coflows: Vec<ClassSummary>,
    /// Whether percentiles are those of the flows themselves and not of sketches.
    pub exact: bool,
}

impl PointSummary {
    /// A class of the report, or a group that is asked for.
    pub fn group(&self, class: &SizeClass, only: &Only) -> Option<&ClassSummary> {
        let shown = self.classes.iter().filter(|_| only.is_all());
        let asked = self.asked.iter().filter(|(its, _)| its == only).map(|(_, group)| group);
        shown.chain(asked).find(|summary| summary.class == *class)
    }

    /// The coflows of a class.
    pub fn coflow_class(&self, class: CoflowClass) -> &ClassSummary {
        &self.coflow_classes[class.index()]
    }

    /// The coflows of a group; for sizes only if it is all of them, or if they are asked for.
    pub fn coflows_of(&self, group: &CoflowGroup) -> Option<&ClassSummary> {
        match group {
            CoflowGroup::Class(class) => Some(self.coflow_class(*class)),
            CoflowGroup::Size(class) => {
                [&self.coflows].into_iter().chain(&self.asked_coflows).find(|summary| summary.class == *class)
            }
        }
    }
}

/// The statistics of a result, point by point in the order of the sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    classes: Vec<SizeClass>,
    asked: Vec<(Only, SizeClass)>,
    asked_coflows: Vec<SizeClass>,
    /// By point.
    averages: Vec<Option<Controls>>,
    /// By point.
    pub points: Vec<PointSummary>,
}

impl Summary {
    /// Without any point yet.
    pub(crate) fn new(experiment: &Experiment) -> Summary {
        let classes = experiment.classes.as_slice().to_vec();
        let (asked, asked_coflows) = (experiment.asked_groups(), experiment.asked_coflows());
        let averages = experiment.points.iter().map(|point| point.average).collect();
        Summary { classes, asked, asked_coflows, averages, points: Vec::new() }
    }

    /// Appends the next point, from its runs; `Err` if sketches among them are not cut where classes begin and end.
    pub(crate) fn add_point(&mut self, runs: Vec<RunFlows>) -> Result<(), String> {
        let whole = || self.asked.iter().filter(|(only, _)| only.is_all()).map(|(_, class)| class);
        let misfit = |run: &RunFlows| self.classes.iter().chain(whole()).find(|class| !run.fits(class)).cloned();
        if let Some(class) = runs.iter().find_map(misfit) {
            return Err(format!("its sketches are not cut where the class {} begins and ends", class.name));
        }
        let average = self.averages.get(self.points.len()).copied().flatten();
        let group = |only: &Only, class: &SizeClass| ClassSummary {
            average: average.filter(|_| only.is_all() && *class == SizeClass::between(0, None)),
            class: class.clone(),
            seeds: runs.iter().filter_map(|run| run.stats(class, only)).collect(),
        };
        let over = |classes: &[SizeClass]| classes.iter().map(|class| group(&Only::default(), class)).collect();
        self.points.push(PointSummary {
            classes: over(&self.classes),
            asked: self.asked.iter().map(|(only, class)| (*only, group(only, class))).collect(),
            bins: over(&bins(&runs)),
            coflows: ClassSummary {
                average: None,
                class: SizeClass::between(0, None),
                seeds: runs.iter().filter_map(|run| Some(run.coflows?.stats(run.seed))).collect(),
            },
            coflow_classes: CoflowClass::ALL.map(|class| coflows_of(&runs, &CoflowGroup::Class(class))),
            asked_coflows: {
                let of = |class: &SizeClass| coflows_of(&runs, &CoflowGroup::Size(class.clone()));
                self.asked_coflows.iter().map(of).collect()
            },
            exact: runs.iter().all(|run| matches!(run.kept, Kept::Rows(..))),
        });
        Ok(())
    }
}

/// The coflows of a group. If it is not a size class, they may have any size.
fn coflows_of(runs: &[RunFlows], group: &CoflowGroup) -> ClassSummary {
    let of = |run: &RunFlows| {
        let found = run.grouped_coflows.iter().find(|grouped| grouped.group == *group)?;
        Some(found.stats.stats(run.seed))
    };
    let class = match group {
        CoflowGroup::Size(class) => class.clone(),
        CoflowGroup::Class(_) => SizeClass::between(0, None),
    };
    ClassSummary { class, seeds: runs.iter().filter_map(of).collect(), average: None }
}

/// Classes that cut the sizes of all runs together at percentiles.
fn bins(runs: &[RunFlows]) -> Vec<SizeClass> {
    let mut sizes: Vec<(u64, u64)> = runs.iter().flat_map(RunFlows::sizes).collect();
    let total: u64 = sizes.iter().map(|(_, flows)| flows).sum();
    let Some(total) = usize::try_from(total).ok().filter(|&total| total > 0) else { return Vec::new() };
    sizes.sort_unstable();
    let (mut bounds, mut upto, mut bin) = (Vec::new(), 0, 1);
    for (bytes, flows) in sizes {
        upto += flows;
        while bin <= BINS && upto > nearest_rank(bin * 1_000 / BINS, total) as u64 {
            bounds.push(bytes);
            bin += 1;
        }
    }
    bounds.dedup();
    let below = std::iter::once(0).chain(bounds.iter().copied());
    below.zip(&bounds).map(|(above, &up_to)| SizeClass::between(above, Some(up_to))).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::SizeClasses;
    use crate::flow_sketch::FlowSketch;
    use flowsieve_record::FlowRow;

    /// A flow whose ideal FCT is a microsecond.
    pub(crate) fn flow(bytes: u64, fct_us: Option<u64>) -> FlowRow {
        FlowRow { dst: 1, bytes, fct_ps: fct_us.map(|us| us * 1_000_000), ideal_ps: 1_000_000, ..FlowRow::default() }
    }

    /// The statistics of a class of these flows, from the flows themselves.
    pub(crate) fn exact(flows: &[FlowRow], class: &SizeClass) -> SeedStats {
        RunFlows::of(1, flows.to_vec(), None).stats(class, &Only::default()).unwrap()
    }

    fn summary_of(runs: Vec<RunFlows>) -> PointSummary {
        let classes = SizeClasses::default().as_slice().to_vec();
        let mut summary =
            Summary { classes, asked: Vec::new(), asked_coflows: Vec::new(), averages: Vec::new(), points: Vec::new() };
        summary.add_point(runs).unwrap();
        summary.points.remove(0)
    }

    /// A summary of several points.
    pub(crate) fn summary_of_points(points: Vec<Vec<(u64, Vec<FlowRow>)>>) -> Summary {
        let mut summary = Summary::new(&Experiment::default());
        for runs in points {
            summary.add_point(runs.into_iter().map(|(seed, flows)| RunFlows::of(seed, flows, None)).collect()).unwrap();
        }
        summary
    }

    pub(crate) fn summary(runs: &[(u64, Vec<FlowRow>)]) -> PointSummary {
        summary_of(runs.iter().map(|(seed, flows)| RunFlows::of(*seed, flows.clone(), None)).collect())
    }

    fn value(class: &ClassSummary, metric: Metric, statistic: Statistic) -> f64 {
        class.estimate(metric, statistic).unwrap().value
    }

    #[test]
    fn add_point__classes_by_size_with_unfinished_flows() {
        let flows = vec![
            flow(20_000_000, Some(900)),
            flow(100_000, Some(2)),
            flow(1, Some(4)),
            flow(100_001, Some(50)),
            flow(10_000_001, None),
        ];
        let point = summary(&[(1, flows)]);
        let counts: Vec<_> = point.classes.iter().map(|class| (class.flows(), class.unfinished())).collect();
        assert_eq!(counts, [(2, 0), (1, 0), (2, 1), (5, 1)]);
        assert_eq!(value(&point.classes[0], Metric::Fct, Statistic::Mean), 3_000_000.0);
        assert_eq!(value(&point.classes[0], Metric::Slowdown, Statistic::P50), 2.0);
        assert_eq!(value(&point.classes[2], Metric::Slowdown, Statistic::P99), 900.0);
        assert_eq!(value(&point.classes[3], Metric::Slowdown, Statistic::Mean), (900.0 + 2.0 + 4.0 + 50.0) / 4.0);
    }

    #[test]
    fn estimate__over_the_seeds_that_have_flows() {
        let point = summary(&[
            (1, vec![flow(1, Some(10)), flow(1_000_000, Some(1))]),
            (2, vec![flow(1, Some(30))]),
            (3, vec![flow(1, None)]),
        ]);
        let mice = point.classes[0].estimate(Metric::Slowdown, Statistic::Mean).unwrap();
        assert_eq!(mice.value, 20.0);
        assert!(mice.interval.is_some());
        let middle = point.classes[1].estimate(Metric::Slowdown, Statistic::Mean).unwrap();
        assert_eq!(middle, Estimate { value: 1.0, interval: None });
        assert_eq!(point.classes[2].estimate(Metric::Fct, Statistic::P50), None);
    }

    #[test]
    fn ratio__pairs_by_seed_and_not_by_place() {
        let slow = summary(&[(1, vec![flow(1, Some(10))]), (2, vec![flow(1, Some(40))])]);
        let fast = summary(&[(2, vec![flow(1, Some(20))]), (1, vec![flow(1, Some(5))]), (9, vec![flow(1, Some(1))])]);
        let ratio = fast.classes[0].ratio(&slow.classes[0], Metric::Fct, Statistic::Mean).unwrap();
        assert!((ratio.value - 0.5).abs() < 1e-12);
        let (low, high) = ratio.interval.unwrap();
        assert!((high - low).abs() < 1e-9);
    }

    #[test]
    fn stats__of_some_of_the_flows() {
        let with = |start_ps, class, deadline_ps| FlowRow {
            src: start_ps as u32,
            start_ps,
            class,
            deadline_ps,
            ..flow(1, Some(start_ps + 1))
        };
        let run =
            RunFlows::of(1, vec![with(0, 0, None), with(1, 1, None), with(2, 0, Some(9)), with(3, 1, Some(9))], None);
        let all = SizeClass::between(0, None);
        let mean = |only| run.stats(&all, &only).unwrap().get(Metric::Fct, Statistic::Mean).map(|fct_ps| fct_ps / 1e6);
        assert_eq!(mean(Only::default()), Some(2.5));
        assert_eq!(mean(Only { workload: Some(1), ..Only::default() }), Some(3.0));
        assert_eq!(mean(Only { deadline: Some(true), ..Only::default() }), Some(3.5));
        assert_eq!(mean(Only { deadline: Some(false), workload: Some(1), ..Only::default() }), Some(2.0));
        assert_eq!(mean(Only { started_ps: Some((1, 3)), ..Only::default() }), Some(2.5));
        assert_eq!(mean(Only { senders: Some((2, 4)), ..Only::default() }), Some(3.5));
        assert_eq!(mean(Only { started_ps: Some((4, 9)), ..Only::default() }), None);
        let sketch = RunFlows::of_sketch(1, FlowSketch::of(&[with(0, 0, None)], &[]), None);
        assert!(sketch.stats(&all, &Only::default()).is_some());
        assert_eq!(sketch.stats(&all, &Only { deadline: Some(true), ..Only::default() }), None);
    }

    #[test]
    fn stats__fairness_over_decades_of_size() {
        // Bytes per µs: 5 and 7 of the first decade, 12 of the second, 0 of the fourth, which did not finish.
        let flows = [flow(5, Some(1)), flow(7, Some(1)), flow(24, Some(2)), flow(5_000, None)];
        let found = exact(&flows, &SizeClass::between(0, None)).fairness.unwrap();
        assert!((found - 18.0 * 18.0 / (2.0 * (36.0 + 144.0))).abs() < 1e-12, "{found}");
        assert_eq!(exact(&flows, &SizeClass::between(0, Some(9))).fairness, Some(1.0));
        assert_eq!(exact(&flows, &SizeClass::between(100, None)).fairness, None);
    }

    #[test]
    fn bins__equal_numbers_and_one_bin_for_a_common_size() {
        let spread = summary(&[(1, (1..=100).map(|bytes| flow(bytes, Some(1))).collect())]);
        assert_eq!(spread.bins.len(), BINS);
        assert!(spread.bins.iter().all(|bin| bin.flows() == 5));
        let common = summary(&[(1, (1..=100).map(|n| flow(if n < 60 { 7 } else { n }, Some(1))).collect())]);
        assert_eq!(common.bins[0].class, SizeClass::between(0, Some(7)));
        assert_eq!(common.bins[0].flows(), 59);
        assert_eq!(common.bins.iter().map(ClassSummary::flows).sum::<u64>(), 100);
        assert!(summary(&[(1, Vec::new())]).bins.is_empty());
    }

    #[test]
    fn bins__of_sketches_hold_all_flows() {
        let flows: Vec<FlowRow> = (1..=10_000).map(|n| flow(n * 100, Some(n))).collect();
        let cuts = [100_000, 10_000_000];
        let point = summary_of(vec![RunFlows::of_sketch(1, FlowSketch::of(&flows, &cuts), None)]);
        assert!(!point.exact && point.bins.len() >= 10, "{} bins", point.bins.len());
        assert_eq!(point.bins.iter().map(ClassSummary::flows).sum::<u64>(), 10_000);
        assert_eq!(point.classes[0].flows(), 1_000);
    }
}
