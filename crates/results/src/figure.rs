//! What can be asked of a result: figures by name.

use flowsieve_record::{FlowCount, FlowRow, PointResult, Series, Step};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::bounds::Bounds;
use crate::statistics::Statistic;
use crate::summary::Metric;

/// A figure of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// A statistic of a group of flows.
    Flows(Statistic, Metric),
    /// The coefficient of variation of the FCT of a group of flows.
    Variation,
    /// Mean bytes that the receiver of a group's flow holds because earlier ones are missing, over the time of all of them.
    Held,
    /// How many of a group's flows had a retransmission timeout: AWAFS's thesis calls them TCP timeouts (§5.1.2).
    TimedOut,
    /// The share of a group's time that its flows spent in a step of QCLIMB.
    Share(Step),
    /// Jain's index over the orders of magnitude of the sizes of a group of flows.
    Fairness,
    /// The mean FCT that a group of flows would have, each of them alone in the network.
    IdealFct,
    /// A statistic of coflows, whose completion time is the CCT.
    Coflows(Statistic, Metric),
    /// A count over whole runs, or a share of counts.
    Count(Count),
    /// A value of a series: [`SeriesAt`] says which.
    Series,
}

/// A quantity that is counted in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// A measure of flows.
    OfFlows(FlowCount),
    /// Losses as they were noticed: packets taken for lost before a timeout, and timeouts.
    LossEvents,
    /// Packets lost, whatever the cause.
    Drops,
    /// Packets that got an ECN mark.
    Marks,
    /// How many queues of a port were used: the most, over classes of links, whose packets went through them.
    QueuesUsed,
    /// How often a scheme computed its thresholds anew: at each host or port, on average over those that did.
    ThresholdUpdates,
    /// Flows that missed their deadline.
    MissedDeadlines,
    /// The share of the flows with deadlines that met them: application throughput (D3, QCluster §6.1).
    DeadlinesMet,
    /// The same with each flow counted by its payload, as in the scripts of QCluster's authors: the share of the bytes of flows
    /// with deadlines that belongs to flows which met them.
    DeadlineBytesMet,
}

impl Count {
    /// Those of whole runs, in addition to the measures of flows.
    const OF_RUNS: [Count; 7] = [
        Count::Drops,
        Count::Marks,
        Count::QueuesUsed,
        Count::ThresholdUpdates,
        Count::MissedDeadlines,
        Count::DeadlinesMet,
        Count::DeadlineBytesMet,
    ];

    /// All, in the order in which they are listed: loss events after the packets among them.
    fn all() -> impl Iterator<Item = Count> {
        let of_flows = FlowCount::ALL.iter().flat_map(|&count| {
            let losses = (count == FlowCount::found_lost).then_some(Count::LossEvents);
            [Count::OfFlows(count)].into_iter().chain(losses)
        });
        of_flows.chain(Count::OF_RUNS)
    }

    /// Its name in files: of a measure that of its column, in words.
    fn name(self) -> String {
        match self {
            Count::OfFlows(count) => return count.name().replace('_', " "),
            Count::LossEvents => "loss events",
            Count::Drops => "drops",
            Count::Marks => "marks",
            Count::QueuesUsed => "queues used",
            Count::ThresholdUpdates => "threshold updates",
            Count::MissedDeadlines => "missed deadlines",
            Count::DeadlinesMet => "deadlines met",
            Count::DeadlineBytesMet => "deadline bytes met",
        }
        .to_owned()
    }

    /// `None` for a share of nothing.
    pub(crate) fn of(self, run: &PointResult) -> Option<f64> {
        let count = match self {
            Count::OfFlows(count) => count.of(run),
            Count::LossEvents => run.found_lost + run.timeouts,
            Count::Drops => run.links.iter().map(|link| link.drops.total()).sum(),
            Count::Marks => run.links.iter().map(|link| link.marks).sum(),
            Count::QueuesUsed => run.links.iter().map(|link| used(&link.packets_by_queue)).max().unwrap_or(0) as u64,
            Count::ThresholdUpdates => {
                let of_thresholds = run.periodic.iter().filter(|part| part.name.starts_with(THRESHOLDS));
                of_thresholds.map(|part| part.ticks).max().unwrap_or(0)
            }
            Count::MissedDeadlines => run.deadlines.missed,
            Count::DeadlinesMet => return share_left(run.deadlines.flows, run.deadlines.missed),
            Count::DeadlineBytesMet => return share_left(run.deadlines.bytes, run.deadlines.missed_bytes),
        };
        Some(count as f64)
    }
}

/// The first word of the names of those periodic parts that compute thresholds, of ports and of controllers.
const THRESHOLDS: &str = "thresholds";

/// How many of a port's queues, or of the priorities of packets, have packets.
pub(crate) fn used(packets: &[u64]) -> usize {
    packets.iter().filter(|&&packets| packets > 0).count()
}

/// The share of `all` that is not among the `missed`; `None` if `all` is zero.
fn share_left(all: u64, missed: u64) -> Option<f64> {
    (all > 0).then(|| all.saturating_sub(missed) as f64 / all as f64)
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// ps.
    Time,
    /// Bytes.
    Size,
    /// bit/s.
    Rate,
    /// A part of 1.
    Share,
    /// A plain number.
    Number,
}

impl Figure {
    /// Every figure, in the order in which they are listed.
    pub fn all() -> impl Iterator<Item = Figure> {
        let of = |metric| Statistic::EVERY.map(|statistic| Figure::Flows(statistic, metric));
        let of_coflows = |metric| Statistic::EVERY.map(|statistic| Figure::Coflows(statistic, metric));
        let groups = Metric::ALL.into_iter().flat_map(of).chain([Figure::Variation, Figure::Held, Figure::TimedOut]);
        let groups = groups.chain(Step::ALL.map(Figure::Share)).chain([Figure::Fairness, Figure::IdealFct]);
        let groups = groups.chain(Metric::ALL.into_iter().flat_map(of_coflows));
        groups.chain(Count::all().map(Figure::Count)).chain([Figure::Series])
    }

    /// Its name in files: `mean fct`, `p99 slowdown`, `timeouts` …
    pub fn name(self) -> String {
        match self {
            Figure::Flows(statistic, metric) => format!("{} {}", statistic.name(), metric.name()),
            Figure::Coflows(statistic, Metric::Fct) => format!("{} cct", statistic.name()),
            Figure::Coflows(statistic, Metric::Slowdown) => format!("{} coflow slowdown", statistic.name()),
            Figure::Variation => "cv fct".into(),
            Figure::Held => "held bytes".into(),
            Figure::TimedOut => "flows with timeouts".into(),
            Figure::Share(step) => format!("{} share", step.name()),
            Figure::Fairness => "fairness".into(),
            Figure::IdealFct => "mean ideal fct".into(),
            Figure::Count(count) => count.name(),
            Figure::Series => "series".into(),
        }
    }

    /// Whether it is of a group of flows, and not of whole runs.
    pub fn is_of_flows(self) -> bool {
        !matches!(self, Figure::Coflows(..) | Figure::Count(_) | Figure::Series)
    }

    /// Whether it is a count that may be zero in a run.
    pub fn is_count(self) -> bool {
        let is_share = |count| matches!(count, Count::DeadlinesMet | Count::DeadlineBytesMet);
        matches!(self, Figure::TimedOut) || matches!(self, Figure::Count(count) if !is_share(count))
    }

    /// The count above which a mechanism acted, if this counts something that a mechanism does: one queue is in use without
    /// any. `None` for everything else.
    pub fn idle(self) -> Option<f64> {
        match self {
            Figure::Count(Count::QueuesUsed) => Some(1.0),
            Figure::Count(_) if self.is_count() => Some(0.0),
            _ => None,
        }
    }

    /// Whether it may be of a size class.
    pub fn has_classes(self) -> bool {
        self.is_of_flows() || self.is_of_coflows()
    }

    /// Whether it is of coflows.
    pub fn is_of_coflows(self) -> bool {
        matches!(self, Figure::Coflows(..))
    }

    /// Its unit; for a series see [`SeriesAt::unit`].
    pub fn unit(self) -> Unit {
        match self {
            Figure::Flows(_, Metric::Fct) | Figure::Coflows(_, Metric::Fct) | Figure::IdealFct => Unit::Time,
            Figure::Held => Unit::Size,
            Figure::Share(_) | Figure::Count(Count::DeadlinesMet | Count::DeadlineBytesMet) => Unit::Share,
            _ => Unit::Number,
        }
    }

    /// The bounds of its values. For a series only positivity is known, as for everything that is measured.
    pub(crate) fn bounds(self) -> Bounds {
        match self {
            Figure::Flows(_, metric) | Figure::Coflows(_, metric) => metric.bounds(),
            Figure::Fairness => Bounds::SHARE,
            figure if figure.unit() == Unit::Share => Bounds::SHARE,
            _ => Bounds::POSITIVE,
        }
    }
}

/// As data a figure is its name.
impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Figure, D::Error> {
        let name = String::deserialize(from)?;
        Figure::all()
            .find(|figure| figure.name() == name)
            .ok_or_else(|| D::Error::custom(format!("no figure {name:?}")))
    }
}

/// A restriction of flows by something other than their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Only {
    /// Flows of this class of the workload: 1 are those of the second distribution of a mix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<u8>,
    /// Flows with a deadline, or without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<bool>,
    /// Flows that arrived from one time on and before another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ps: Option<(u64, u64)>,
    /// Flows that hosts from one number on and before another send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub senders: Option<(u32, u32)>,
}

impl Only {
    /// Whether that is every flow.
    pub fn is_all(&self) -> bool {
        *self == Only::default()
    }

    pub(crate) fn holds(&self, flow: &FlowRow) -> bool {
        self.workload.is_none_or(|class| class == flow.class)
            && self.deadline.is_none_or(|deadline| deadline == flow.deadline_ps.is_some())
            && self.started_ps.is_none_or(|(from, to)| from <= flow.start_ps && flow.start_ps < to)
            && self.senders.is_none_or(|(from, to)| from <= flow.src && flow.src < to)
    }
}

/// A value of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesAt {
    /// Its name with its unit, as in `series.parquet`: "flows under way".
    pub name: String,
    /// The place or part; empty for the whole fabric.
    pub of: String,
    /// The step that holds this time; `None` for the last step.
    pub at_ps: Option<u64>,
    /// The mean over the steps from that one to the one before this time, instead of one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ps: Option<u64>,
}

impl SeriesAt {
    /// The unit at the end of its name.
    pub fn unit(&self) -> Unit {
        let units = [("(bytes)", Unit::Size), ("(bit/s)", Unit::Rate)];
        units.iter().find(|(ending, _)| self.name.ends_with(ending)).map_or(Unit::Number, |(_, unit)| *unit)
    }

    /// Its value among the series of a run; `None` if the series does not cover all of that time.
    pub(crate) fn value(&self, series: &[Series]) -> Option<f64> {
        let found = series.iter().find(|series| series.name == self.name && series.of == self.of)?;
        let Some(at_ps) = self.at_ps else { return found.values.last().copied() };
        let step_ps = found.step_ps.max(1);
        let step = |at_ps: u64| usize::try_from((at_ps / step_ps).checked_sub(found.first_step)?).ok();
        let last_ps = self.until_ps.map_or(at_ps, |until_ps| until_ps.saturating_sub(1));
        let values = found.values.get(step(at_ps)?..=step(last_ps)?)?;
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowsieve_record::{Deadlines, LinkClass, PeriodicPart};

    #[test]
    fn name__each_figure_has_its_own_and_comes_back() {
        let names: Vec<String> = Figure::all().map(Figure::name).collect();
        assert!(names.contains(&"p99.9 slowdown".to_string()) && names.contains(&"out of order".to_string()));
        for figure in Figure::all() {
            let text = serde_json::to_string(&figure).unwrap();
            assert_eq!(serde_json::from_str::<Figure>(&text).unwrap(), figure);
        }
        let typical = ["typical fct", "typical slowdown", "typical cct", "typical coflow slowdown"];
        assert!(typical.iter().all(|name| names.iter().any(|known| known == name)));
        assert_eq!(names.len(), 49);
        assert!(serde_json::from_str::<Figure>("\"speed\"").is_err());
    }

    #[test]
    fn of__deadlines_met_are_a_share_of_the_flows_that_have_one() {
        // A fifth of a flow's weight by flows is a tenth of it by bytes.
        let of = |flows, missed, bytes, missed_bytes| Deadlines { flows, missed, bytes, missed_bytes };
        let run = PointResult { deadlines: of(5, 1, 20_000, 2_000), ..PointResult::default() };
        assert_eq!((Count::DeadlinesMet.of(&run), Count::DeadlineBytesMet.of(&run)), (Some(0.8), Some(0.9)));
        let with = |flows, missed| PointResult { deadlines: of(flows, missed, 0, 0), ..PointResult::default() };
        assert_eq!(Count::DeadlineBytesMet.of(&with(8, 2)), None);
        assert_eq!(Count::DeadlinesMet.of(&with(8, 2)), Some(0.75));
        assert_eq!(Count::DeadlinesMet.of(&with(8, 8)), Some(0.0));
        assert_eq!(Count::DeadlinesMet.of(&with(0, 0)), None);
        assert_eq!(Count::MissedDeadlines.of(&with(0, 0)), Some(0.0));
    }

    #[test]
    fn of__queues_used_and_threshold_updates() {
        let link =
            |packets_by_queue: &[u64]| LinkClass { packets_by_queue: packets_by_queue.into(), ..LinkClass::default() };
        let part = |name: &str, ticks| PeriodicPart { name: name.into(), period_ps: 1, ticks };
        let run = PointResult {
            links: vec![link(&[90]), link(&[7, 0, 2, 0])],
            periodic: vec![part("coflow coordinator", 9), part("thresholds of ports", 4)],
            ..PointResult::default()
        };
        assert_eq!((Count::QueuesUsed.of(&run), Count::ThresholdUpdates.of(&run)), (Some(2.0), Some(4.0)));
        // What did not act has no entry.
        let still = PointResult { links: vec![link(&[7, 0])], ..PointResult::default() };
        assert_eq!((Count::QueuesUsed.of(&still), Count::ThresholdUpdates.of(&still)), (Some(1.0), Some(0.0)));
        let idle = |name: &str| Figure::all().find(|figure| figure.name() == name).unwrap().idle();
        assert_eq!([idle("queues used"), idle("threshold updates"), idle("marks")], [Some(1.0), Some(0.0), Some(0.0)]);
        assert_eq!([idle("deadlines met"), idle("mean fct"), idle("series")], [None; 3]);
    }

    #[test]
    fn value__the_last_or_that_of_a_step() {
        let series = |of: &str, first_step, values: &[f64]| Series {
            name: "depth (bytes)".into(),
            of: of.into(),
            first_step,
            step_ps: 10,
            values: values.into(),
        };
        let all = [series("", 0, &[1.0, 2.0]), series("leaf0", 3, &[7.0, 8.0, 9.0])];
        let at = |of: &str, at_ps| SeriesAt { name: "depth (bytes)".into(), of: of.into(), at_ps, until_ps: None };
        assert_eq!(at("", None).value(&all), Some(2.0));
        assert_eq!(at("leaf0", None).value(&all), Some(9.0));
        let times = [0, 29, 30, 39, 40, 59, 60].map(|time| at("leaf0", Some(time)).value(&all));
        assert_eq!(times, [None, None, Some(7.0), Some(7.0), Some(8.0), Some(9.0), None]);
        assert_eq!(at("leaf1", None).value(&all), None);
        // Steps of leaf0 begin at 30, 40 and 50. A mean is over every step that the stretch overlaps, and not over one that it
        // only reaches.
        let mean = |from, until| SeriesAt { until_ps: Some(until), ..at("leaf0", Some(from)) }.value(&all);
        assert_eq!([mean(30, 50), mean(30, 60), mean(39, 41)], [Some(7.5), Some(8.0), Some(7.5)]);
        assert_eq!([mean(40, 50), mean(45, 46)], [Some(8.0), Some(8.0)]);
        assert_eq!([mean(29, 50), mean(30, 61), mean(0, 10)], [None; 3]);
        assert_eq!(at("", None).unit(), Unit::Size);
        assert_eq!(SeriesAt { name: "flows under way".into(), ..at("", None) }.unit(), Unit::Number);
    }
}
