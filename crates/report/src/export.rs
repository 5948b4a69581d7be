//! Exports a result for a paper and for other programs: tables in LaTeX, figures in SVG and LaTeX, and tidy tables in CSV with
//! self-describing rows.

pub(crate) mod figures;
mod latex;
mod pgfplots;
mod safe_csv;

use std::io::{self, Write};

use flowsieve_results::{Estimate, Metric, Ratio, ResultDir, ResultError, Statistic, Untold, without_section};

use crate::cases::{Layout, UnknownKey};
use crate::group::Group;

pub use figures::{Figures, asked};
pub use latex::latex;
pub use safe_csv::SafeCsv;

const PS_PER_US: f64 = 1e6;

/// The wanted part of a result.
#[derive(Clone, Debug)]
pub struct Selection {
    groups: Vec<Group>,
    measures: Vec<(Metric, Statistic)>,
}

/// Something that the result does not have.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A measure.
    #[error(
        "`{0}` is not a measure; expected mean, p50, p95, p99 or p99.9, then fct, cct or slowdown, such as \"p99 slowdown\""
    )]
    Measure(String),
    /// Flows or coflows.
    #[error("the result has no flows called `{name}`; expected one of {}", .valid.join(", "))]
    Class {
        /// The name.
        name: String,
        /// The names that there are.
        valid: Vec<String>,
    },
    /// A setting.
    #[error(transparent)]
    Key(#[from] UnknownKey),
    /// The text names no setting with a value.
    #[error("`{0}` names no value of a swept setting; expected KEY=VALUE, such as load=0.8")]
    At(String),
    /// A value of a swept setting.
    #[error("{key} has no value `{value}` in the result; expected one of {}", .valid.join(", "))]
    Value {
        /// The setting.
        key: String,
        /// The value.
        value: String,
        /// The values that it has.
        valid: Vec<String>,
    },
    /// Something that was sampled over time.
    #[error(
        "no series of links, flows, hosts or controllers is called `{name}`; expected one of {}. Windows of \
         connections are only in series.parquet",
        .valid.join(", ")
    )]
    Sampled {
        /// The name.
        name: String,
        /// The names of what was sampled.
        valid: Vec<String>,
    },
    /// The result's files.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// An option that this kind of figure does not use.
    #[error("{figure} takes no `{option}`; expected {expected}")]
    Unread {
        /// Which figure.
        figure: &'static str,
        /// The option.
        option: &'static str,
        /// What to do instead.
        expected: &'static str,
    },
    /// A drawing that failed.
    #[error("the figure cannot be drawn: {0}")]
    Drawing(String),
    /// Nothing to draw.
    #[error("nothing to draw: {0}")]
    Empty(&'static str),
    /// More than fits a figure.
    #[error(
        "{plots} plots are too many for one figure; expected at most {most}: choose with {options}, or take --format csv"
    )]
    TooMany {
        /// How many there would be.
        plots: usize,
        /// How many there may be.
        most: usize,
        /// What makes them fewer.
        options: &'static str,
    },
}

/// Leaves out all points except those at which swept settings have these values, each as KEY=VALUE.
pub fn keep(dir: &ResultDir, layout: &mut Layout, at: &[String]) -> Result<(), ExportError> {
    let experiment = &dir.manifest().experiment;
    let swept = experiment.dimensions();
    for each in at {
        let (key, value) = each.split_once('=').ok_or_else(|| ExportError::At(each.clone()))?;
        let unknown = || UnknownKey {
            name: key.to_owned(),
            swept: swept.iter().map(|(dimension, _)| dimension.name().to_owned()).collect(),
        };
        let (dimension, valid) = swept.iter().find(|(dimension, _)| dimension.is_called(key)).ok_or_else(unknown)?;
        if !layout.keep(experiment, dimension, value) {
            return Err(ExportError::Value { key: key.to_owned(), value: value.to_owned(), valid: valid.clone() });
        }
    }
    Ok(())
}

/// All measures, in the order of tables.
fn measures() -> impl Iterator<Item = (Metric, Statistic)> {
    let of = |metric| Statistic::ALL.into_iter().map(move |statistic| (metric, statistic));
    of(Metric::Fct).chain(of(Metric::Slowdown))
}

fn metric_name(metric: Metric, group: Group) -> &'static str {
    match (metric, group) {
        (Metric::Fct, Group::Class(_)) => "fct",
        (Metric::Fct, Group::Coflows(_)) => "cct",
        (Metric::Slowdown, _) => "slowdown",
    }
}

/// The name by which the user selects a group: the size class, "coflows", or the class of coflows.
fn group_name(dir: &ResultDir, group: Group) -> String {
    match group {
        Group::Class(class) => dir.manifest().experiment.classes.as_slice()[class].name.clone(),
        Group::Coflows(None) => "coflows".into(),
        Group::Coflows(Some(class)) => class.name().into(),
    }
}

impl Selection {
    /// One measure of some flows, or everything that is not named.
    pub fn new(dir: &ResultDir, measure: Option<&str>, class: Option<&str>) -> Result<Selection, ExportError> {
        let measures = match measure {
            Some(name) => vec![measure_called(name)?],
            None => measures().collect(),
        };
        Ok(Selection { groups: groups_called(dir, class, measure)?, measures })
    }
}

/// The time to completion of coflows has the name of that of flows, or its own name.
fn measure_called(name: &str) -> Result<(Metric, Statistic), ExportError> {
    let is_called = |(metric, statistic): &(Metric, Statistic)| {
        let names = if *metric == Metric::Fct { &["fct", "cct"][..] } else { &["slowdown"] };
        names.iter().any(|metric| name.eq_ignore_ascii_case(&format!("{} {metric}", statistic.name())))
    };
    measures().find(is_called).ok_or_else(|| ExportError::Measure(name.to_owned()))
}

/// The flows of this name, or all of them that have the measure: a CCT is of coflows.
fn groups_called(dir: &ResultDir, class: Option<&str>, measure: Option<&str>) -> Result<Vec<Group>, ExportError> {
    let is_of_coflows = measure.is_some_and(|name| name.to_ascii_lowercase().contains(" cct"));
    let mut all = Group::all(dir);
    all.retain(|group| !is_of_coflows || matches!(group, Group::Coflows(_)));
    if all.is_empty() {
        return Err(ExportError::Empty("the result has no coflows"));
    }
    let is_called = |group: &Group| class.is_none_or(|name| group_name(dir, *group).eq_ignore_ascii_case(name));
    let groups: Vec<Group> = all.iter().copied().filter(is_called).collect();
    if groups.is_empty() {
        let valid = all.into_iter().map(|group| group_name(dir, group)).collect();
        return Err(ExportError::Class { name: class.unwrap_or_default().to_owned(), valid });
    }
    Ok(groups)
}

/// A statistic of a point, and over that of the first scheme.
struct Value {
    estimate: Estimate,
    /// Why it is not available, if it is not.
    untold: Option<Untold>,
    ratio: Option<Ratio>,
}

fn value(dir: &ResultDir, point: usize, group: Group, (metric, statistic): (Metric, Statistic)) -> Option<Value> {
    let estimate = group.at(dir, point).estimate(metric, statistic)?;
    let baseline = dir.manifest().experiment.baseline_of(point).filter(|baseline| *baseline != point);
    let ratio = baseline.and_then(|baseline| group.at(dir, point).ratio(group.at(dir, baseline), metric, statistic));
    let untold = group.at(dir, point).untold(metric, statistic);
    Some(Value { estimate, untold, ratio })
}

fn ends(interval: Option<(f64, f64)>, scale: f64) -> [String; 2] {
    interval.map_or([String::new(), String::new()], |(low, high)| [low, high].map(|end| (end / scale).to_string()))
}

/// A row for each point, group and measure. Times are in us.
pub fn csv(dir: &ResultDir, layout: &Layout, selection: &Selection, out: &mut dyn Write) -> io::Result<()> {
    let experiment = &dir.manifest().experiment;
    let mut csv = csv::Writer::from_writer(out);
    let columns = "case,x_name,x,scheme,flows_of,metric,statistic,unit,value,low,high,ratio,ratio_low,ratio_high,flows";
    csv.write_record(columns.split(',')).map_err(of_output)?;
    for case in &layout.cases {
        for (at, point) in case.at.iter().flat_map(|at| at.points.iter().map(move |point| (at, *point))) {
            for &group in &selection.groups {
                for &(metric, statistic) in &selection.measures {
                    let Some(value) = value(dir, point, group, (metric, statistic)) else { continue };
                    let (unit, scale) = if metric == Metric::Fct { ("us", PS_PER_US) } else { ("", 1.0) };
                    let [low, high] = ends(value.estimate.interval, scale);
                    let [ratio_low, ratio_high] = ends(value.ratio.and_then(|ratio| ratio.interval), 1.0);
                    csv.write_record([
                        &layout.case_name(case),
                        layout.x_name(),
                        at.value.as_deref().unwrap_or_default(),
                        &experiment.points[point].scheme,
                        &group_name(dir, group),
                        metric_name(metric, group),
                        statistic.name(),
                        unit,
                        &(value.estimate.value / scale).to_string(),
                        &low,
                        &high,
                        &value.ratio.map_or(String::new(), |ratio| ratio.value.to_string()),
                        &ratio_low,
                        &ratio_high,
                        &group.at(dir, point).flows().to_string(),
                    ])
                    .map_err(of_output)?;
                }
            }
        }
    }
    csv.flush()
}

/// Passes on the output's own error: an output that was closed early is not an error of the command.
fn of_output(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A row for each flow that the result keeps, with the settings that distinguish its point.
pub fn flows_csv(dir: &ResultDir, out: &mut dyn Write) -> io::Result<()> {
    let experiment = &dir.manifest().experiment;
    let axes: Vec<&str> = experiment
        .points
        .first()
        .map_or(Vec::new(), |point| point.axes.iter().map(|axis| without_section(&axis.key)).collect());
    let mut csv = csv::Writer::from_writer(out);
    let columns = "seed,flow,src,dst,traffic_class,bytes,start_ps,fct_ps,ideal_ps,slowdown,retransmissions,timeouts,\
        deadline_ps,coflow";
    csv.write_record(["scheme", "load"].into_iter().chain(axes).chain(columns.split(','))).map_err(of_output)?;
    let mut failed = Ok(());
    let read = dir.for_each_run(|run, flows| {
        let point = &experiment.points[run.point as usize];
        let load = point.load.map_or(String::new(), |load| load.to_string());
        for flow in flows {
            if failed.is_err() {
                return;
            }
            let or_empty = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
            let of_flow = [
                run.seed.to_string(),
                flow.flow.to_string(),
                flow.src.to_string(),
                flow.dst.to_string(),
                flow.class.to_string(),
                flow.bytes.to_string(),
                flow.start_ps.to_string(),
                or_empty(flow.fct_ps),
                flow.ideal_ps.to_string(),
                flow.slowdown().map_or(String::new(), |slowdown| slowdown.to_string()),
                flow.retransmissions.to_string(),
                flow.timeouts.to_string(),
                or_empty(flow.deadline_ps),
                or_empty(flow.coflow.map(u64::from)),
            ];
            let of_point = [point.scheme.clone(), load.clone()].into_iter();
            let axes = point.axes.iter().map(|axis| axis.value.clone());
            failed = csv.write_record(of_point.chain(axes).chain(of_flow)).map_err(of_output);
        }
    });
    read.map_err(io::Error::other)?;
    failed?;
    csv.flush()
}
