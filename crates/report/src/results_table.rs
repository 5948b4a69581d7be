//! The cells of the page's table of results.

use flowsieve_results::doctor::is_uncertain;
use flowsieve_results::{Bounds, ClassSummary, Metric, Ratio, ResultDir, SeedStats, Statistic};

use crate::cases::{At, Case};
use crate::format::{UNTOLD, Unit, count, decimals, spread, time, with_decimals};
use crate::group::Group;
use crate::links::flow_level_cct_ps;

/// The results of one case and size class.
pub(crate) struct ResultTable {
    pub(crate) case: usize,
    /// The size class; none for coflows.
    pub(crate) class: Option<usize>,
    /// The flows of these results.
    pub(crate) title: String,
    /// What is counted, and the name of its completion time.
    pub(crate) counted: &'static str,
    pub(crate) time: &'static str,
    /// Unit of its completion time.
    pub(crate) unit: &'static str,
    pub(crate) at: Vec<RowsAt>,
}

/// The schemes at one value on the x axis.
pub(crate) struct RowsAt {
    pub(crate) value: String,
    pub(crate) rows: Vec<Row>,
}

/// One scheme.
pub(crate) struct Row {
    pub(crate) scheme: String,
    pub(crate) flows: String,
    /// How many did not finish; empty if all did.
    pub(crate) unfinished: String,
    /// Whether the others are compared with it.
    pub(crate) is_baseline: bool,
    /// For all coflows: their mean CCT without congestion control and queues; empty if it is not known.
    pub(crate) flow_level: String,
    /// Completion time, then slowdown, each by statistic.
    pub(crate) cells: Vec<Cell>,
    /// The evenness of its flows: the coefficient of variation of their completion time, and Jain's index over orders of
    /// magnitude of size.
    pub(crate) evenness: [Cell; 2],
}

/// One statistic.
#[derive(Default)]
pub(crate) struct Cell {
    /// The value, or a dash.
    pub(crate) value: String,
    /// The interval: "±0.2", or its ends; empty with one seed.
    pub(crate) spread: String,
    /// Whether few flows lie beyond the percentile.
    pub(crate) uncertain: bool,
    /// Compared with the baseline; empty for the baseline itself.
    pub(crate) ratio: String,
    /// The ratio's interval; empty with one seed.
    pub(crate) interval: String,
    /// "better", "worse" or "open": whether the interval excludes 1, and on which side.
    pub(crate) verdict: &'static str,
}

/// The table of a case and group.
pub(crate) fn result_table(dir: &ResultDir, number: usize, case: &Case, group: Group) -> ResultTable {
    let unit = group.unit(dir, case);
    let rows = |at: &At| RowsAt {
        value: at.name(),
        rows: at.points.iter().map(|&point| row(dir, point, group, unit)).collect(),
    };
    let counted = match group {
        Group::Class(_) => "Flows",
        Group::Coflows(_) => "Coflows",
    };
    ResultTable {
        case: number,
        class: group.class(),
        title: group.name(dir),
        counted,
        time: group.time(),
        unit: unit.name,
        at: case.at.iter().map(rows).collect(),
    }
}

fn row(dir: &ResultDir, point: usize, group: Group, unit: Unit) -> Row {
    let experiment = &dir.manifest().experiment;
    let summary = |point: usize| group.at(dir, point);
    let baseline = experiment.baseline_of(point);
    let is_baseline = baseline == Some(point);
    let this = summary(point);
    let other = baseline.filter(|_| !is_baseline).map(summary);
    let cell = |metric, statistic| {
        let scale = |value: f64| if metric == Metric::Fct { unit.of(value) } else { value };
        let ratio = other.and_then(|other| this.ratio(other, metric, statistic));
        let cell = cell(this, metric, statistic, scale, ratio);
        // A scheme that leaves its slowest flows unfinished looks better than it is.
        let fair = this.unfinished() == 0 && other.is_none_or(|other| other.unfinished() == 0);
        if fair { cell } else { Cell { verdict: "open", ..cell } }
    };
    Row {
        scheme: experiment.label_of(&experiment.points[point].scheme).to_owned(),
        flows: count(this.flows()),
        unfinished: Some(this.unfinished()).filter(|&flows| flows > 0).map_or(String::new(), count),
        is_baseline,
        flow_level: match (group, flow_level_cct_ps(dir, point)) {
            (Group::Coflows(None), Some(cct_ps)) => time(cct_ps),
            _ => String::new(),
        },
        cells: Metric::ALL
            .into_iter()
            .flat_map(|metric| Statistic::ALL.map(|statistic| cell(metric, statistic)))
            .collect(),
        evenness: [
            even(this, Bounds::POSITIVE, |seed| seed.fct_variation),
            even(this, Bounds::SHARE, |seed| seed.fairness),
        ],
    }
}

fn even(class: &ClassSummary, bounds: Bounds, of: fn(&SeedStats) -> Option<f64>) -> Cell {
    let Some(estimate) = class.over_seeds(bounds, of) else { return Cell { value: "–".into(), ..Cell::default() } };
    let digits = decimals(estimate.value);
    let text = |value: f64| with_decimals(value, digits);
    let spread = spread(estimate.value, estimate.interval, text);
    Cell { value: text(estimate.value), spread, ..Cell::default() }
}

fn cell(
    class: &ClassSummary,
    metric: Metric,
    statistic: Statistic,
    scale: impl Fn(f64) -> f64,
    ratio: Option<Ratio>,
) -> Cell {
    let Some(estimate) = class.estimate(metric, statistic) else {
        return Cell { value: "–".into(), verdict: "open", ..Cell::default() };
    };
    if let Some(why) = class.untold(metric, statistic) {
        return Cell {
            value: UNTOLD.into(),
            spread: format!("({})", why.in_words()),
            verdict: "open",
            ..Cell::default()
        };
    }
    let digits = decimals(scale(estimate.value));
    let text = |value: f64| with_decimals(scale(value), digits);
    let interval = ratio.and_then(|ratio| ratio.interval);
    Cell {
        value: text(estimate.value),
        spread: spread(estimate.value, estimate.interval, text),
        uncertain: is_uncertain(class, statistic),
        ratio: ratio.map_or(String::new(), |ratio| format!("{:.2}", ratio.value)),
        interval: interval.map_or(String::new(), |(low, high)| format!("{low:.2}–{high:.2}")),
        verdict: match ratio {
            Some(ratio) if ratio.is_resolved() && ratio.value < 1.0 => "better",
            Some(ratio) if ratio.is_resolved() => "worse",
            _ => "open",
        },
    }
}
