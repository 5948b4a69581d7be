//! The interactive plots: what they show.

use flowsieve_results::{ClassSummary, Drops, LinkClass, Metric, Ratio, ResultDir, Statistic};
use serde_json::Value;

use crate::cases::{At, Case, Layout};
use crate::format::{rounded, size};
use crate::group::Group;
use crate::links::mean_links;
use crate::plot::{
    Datum, Series, axis, axis_from_zero, bar, category, dots, draw, fitting_axis, lines, named_axis, reference,
};
use crate::scale::scale;

/// A plot and where the page shows it.
pub(crate) struct Figure {
    /// What it shows, as its heading.
    pub(crate) title: String,
    /// The plot for plotly.js; `None` where there is nothing to draw.
    pub(crate) plot: Option<Value>,
    /// The case that it belongs to.
    pub(crate) case: usize,
    /// The value on the x axis that it belongs to, as an index among its case's.
    pub(crate) at: Option<usize>,
    /// The size class that it belongs to.
    pub(crate) class: Option<usize>,
}

/// A plot's title, and the plot if there is anything to draw.
pub(crate) type Titled = (String, Option<Value>);

/// FCT against what is on the x axis.
pub(crate) fn fct_against_x(
    dir: &ResultDir,
    layout: &Layout,
    case: &Case,
    group: Group,
    statistic: Statistic,
) -> Titled {
    let unit = group.unit(dir, case);
    let series = series_by_x(dir, case, |point, x| {
        let estimate = group.at(dir, point).estimate(Metric::Fct, statistic)?;
        let ends = estimate.interval.map(|(low, high)| (unit.of(low), unit.of(high)));
        Some(Datum { x, y: unit.of(estimate.value), ends })
    });
    let y_axis = fitting_axis(&format!("{} ({})", group.time(), unit.name), &series);
    let title = format!("{} {}, {}", in_words(statistic), group.time(), group.name(dir));
    (title, draw_by_x(layout, case, &series, y_axis))
}

/// FCT against the same as a ratio to the first scheme, which is 1 itself, paired by seed; nothing with a single scheme.
pub(crate) fn ratio_against_x(
    dir: &ResultDir,
    layout: &Layout,
    case: &Case,
    group: Group,
    statistic: Statistic,
) -> Titled {
    let experiment = &dir.manifest().experiment;
    let ratio = |point: usize| -> Option<Ratio> {
        let baseline = experiment.baseline_of(point)?;
        let ratio = group.at(dir, point).ratio(group.at(dir, baseline), Metric::Fct, statistic)?;
        // A scheme's ratio to itself is not measured, and has no interval.
        Some(Ratio { interval: ratio.interval.filter(|_| baseline != point), ..ratio })
    };
    let mut series = series_by_x(dir, case, |point, x| {
        let ratio = ratio(point)?;
        Some(Datum { x, y: ratio.value, ends: ratio.interval })
    });
    if experiment.schemes.len() < 2 {
        series.clear();
    }
    let first = experiment.schemes.first().map_or("", |scheme| &scheme.name);
    let y_axis = axis(&format!("ratio to {first}"));
    let title = format!("{} {} / that of {first}, {}", in_words(statistic), group.time(), group.name(dir));
    (title, draw_by_x(layout, case, &series, y_axis))
}

/// One series a scheme, of the points that have a datum, by rising place on the x axis.
fn series_by_x(dir: &ResultDir, case: &Case, datum: impl Fn(usize, f64) -> Option<Datum>) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for (at, x) in case.at.iter().zip(scale(&values(case)).positions) {
        for &point in &at.points {
            let Some(datum) = datum(point, x) else { continue };
            let (scheme, name) = scheme_of(dir, point);
            match series.iter_mut().find(|series| series.scheme == scheme) {
                Some(series) => series.data.push(datum),
                None => series.push(Series { scheme, name, data: vec![datum] }),
            }
        }
    }
    series.iter_mut().for_each(|series| series.data.sort_by(|a, b| a.x.total_cmp(&b.x)));
    series
}

/// The values on a case's x axis.
fn values(case: &Case) -> Vec<&str> {
    case.at.iter().map(|at| at.value.as_deref().unwrap_or("–")).collect()
}

/// Lines over the x axis, or a dot for each scheme where it has one value.
fn draw_by_x(layout: &Layout, case: &Case, series: &[Series], y_axis: Value) -> Option<Value> {
    if case.at.len() < 2 {
        return draw(dots(series), category(), y_axis);
    }
    let scale = scale(&values(case));
    let names: Vec<String> = case.at.iter().map(At::name).collect();
    let mut x_axis = named_axis(layout.x_name(), &scale.positions, &names);
    if scale.is_log {
        x_axis["type"] = "log".into();
    }
    draw(lines(series), x_axis, y_axis)
}

/// Slowdown, or FCT in ms, against flow size, the sizes cut into bins of equal numbers of flows.
pub(crate) fn against_size(dir: &ResultDir, at: &At, metric: Metric, statistic: Statistic) -> Titled {
    const PS_PER_MS: f64 = 1e9;
    let (name, y_title, unit) = match metric {
        Metric::Fct => ("FCT", "FCT (ms)", PS_PER_MS),
        Metric::Slowdown => ("slowdown", "slowdown", 1.0),
    };
    let of_point = |&point: &usize| {
        let bins = &dir.summary().points[point].bins;
        let datum = |(x, bin): (f64, &ClassSummary)| {
            let estimate = bin.estimate(metric, statistic)?;
            let ends = estimate.interval.map(|(low, high)| (low / unit, high / unit));
            Some(Datum { x, y: estimate.value / unit, ends })
        };
        let (scheme, name) = scheme_of(dir, point);
        Series { scheme, name, data: middles(bins).into_iter().zip(bins).filter_map(datum).collect() }
    };
    let series: Vec<Series> = at.points.iter().map(of_point).filter(|series| !series.data.is_empty()).collect();
    let first = at.points.first().map_or(&[][..], |&point| &dir.summary().points[point].bins);
    let (shares, names) = size_ticks(first);
    let mut x_axis = named_axis("flow size, spaced by percentile of flows", &shares, &names);
    x_axis["tickangle"] = 0.into();
    let y_axis = fitting_axis(y_title, &series);
    (format!("{} {name} by flow size", in_words(statistic)), draw(lines(&series), x_axis, y_axis))
}

/// Measured utilisation by class of links, with the wire load that the flows offer.
pub(crate) fn utilisation(dir: &ResultDir, at: &At) -> Titled {
    let per_cent = |link: &LinkClass| rounded(100.0 * link.utilisation);
    let mut traces = bars(dir, at, per_cent);
    if let Some(&point) = at.points.first() {
        let links = mean_links(dir, point);
        let offered: Vec<f64> = links.iter().map(|link| rounded(100.0 * link.offered_load)).collect();
        let name = format!("offered on the wire ({})", scheme_of(dir, point).1);
        traces.push(reference(&name, &names_of(&links), &offered));
    }
    let y_axis = axis_from_zero("share of the link rate (%)");
    ("Utilisation by class of links".into(), draw(traces, category(), y_axis))
}

/// Drops of all causes by class of links; nothing where nothing was dropped.
pub(crate) fn drops(dir: &ResultDir, at: &At) -> Titled {
    let per_million = |link: &LinkClass| {
        let offered = link.packets.saturating_add(link.drops.total());
        if offered == 0 { 0.0 } else { rounded(1e6 * link.drops.total() as f64 / offered as f64) }
    };
    let dropped = |point: &usize| mean_links(dir, *point).iter().any(|link| link.drops != Drops::default());
    let traces = if at.points.iter().any(dropped) { bars(dir, at, per_million) } else { Vec::new() };
    let y_axis = axis_from_zero("drops per million packets");
    ("Drops by class of links".into(), draw(traces, category(), y_axis))
}

fn bars(dir: &ResultDir, at: &At, height: impl Fn(&LinkClass) -> f64) -> Vec<Value> {
    let of_point = |&point: &usize| {
        let links = mean_links(dir, point);
        let heights: Vec<f64> = links.iter().map(&height).collect();
        let (scheme, name) = scheme_of(dir, point);
        bar(scheme, &name, &names_of(&links), &heights)
    };
    at.points.iter().map(of_point).collect()
}

fn names_of(links: &[LinkClass]) -> Vec<String> {
    links.iter().map(|link| link.name.clone()).collect()
}

/// The index of a point's scheme in the order of the sweep, which gives it its looks, and its name.
fn scheme_of(dir: &ResultDir, point: usize) -> (usize, String) {
    let experiment = &dir.manifest().experiment;
    let name = &experiment.points[point].scheme;
    let index = experiment.schemes.iter().position(|scheme| scheme.name == *name);
    (index.unwrap_or(experiment.schemes.len()), name.clone())
}

fn in_words(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::Mean => "Mean",
        Statistic::P50 => "Median",
        percentile => percentile.name(),
    }
}

/// Where the middle of each bin lies among all flows, in per cent.
fn middles(bins: &[ClassSummary]) -> Vec<f64> {
    let total = bins.iter().map(ClassSummary::flows).sum::<u64>().max(1) as f64;
    let mut below = 0;
    let middle = |bin: &ClassSummary| {
        let middle = below as f64 + bin.flows() as f64 / 2.0;
        below += bin.flows();
        100.0 * middle / total
    };
    bins.iter().map(middle).collect()
}

/// Every fourth bin's upper bound, at the share of the flows up to it.
fn size_ticks(bins: &[ClassSummary]) -> (Vec<f64>, Vec<String>) {
    let total = bins.iter().map(ClassSummary::flows).sum::<u64>().max(1) as f64;
    let mut upto = 0;
    let tick = |bin: &ClassSummary| {
        upto += bin.flows();
        (rounded(100.0 * upto as f64 / total), size(bin.class.up_to_bytes.unwrap_or(u64::MAX)))
    };
    let ticks: Vec<_> = bins.iter().map(tick).collect();
    ticks.into_iter().rev().step_by(4).unzip()
}
