//! The plots of a result: which values they show.

use flowsieve_record::{Drops, LinkClass};
use flowsieve_results::{ClassSummary, Metric, Ratio, ResultDir, Statistic};

use crate::cases::{At, Case, Layout, in_words as in_words_of};
use crate::conclusion::is_compared;
use crate::drawing::MOST_PLOTS;
use crate::figure::{Base, Datum, Marks, Places, Plot, Series, Shape, Sizes, XAxis, YAxis};
use crate::format::{rounded, size};
use crate::group::Group;
use crate::links::{has_load, mean_links};
use crate::scale::scale;

/// A statistic against the x axis.
pub(crate) fn against_x(
    dir: &ResultDir,
    layout: &Layout,
    case: &Case,
    group: Group,
    (metric, statistic): (Metric, Statistic),
) -> Plot {
    let unit = group.unit(dir, case);
    let (name, unit_name, each) = match metric {
        Metric::Fct => (group.time(), unit.name, 1.0 / unit.of(1.0)),
        Metric::Slowdown => ("slowdown", "", 1.0),
    };
    let (x, series) = series_by_x(dir, layout, case, |point| {
        let estimate = group.at(dir, point).estimate(metric, statistic)?;
        let ends = estimate.interval.map(|(low, high)| (low / each, high / each));
        Some((estimate.value / each, ends))
    });
    Plot {
        title: format!("{} {name}, {}", in_words(statistic), group.name(dir)),
        // A bar's length says its value only from zero on.
        y: YAxis {
            name: format!("{} {name}", statistic.name()),
            unit: unit_name.into(),
            base: if case.at.len() > 1 { Base::ZeroOrLog } else { Base::Zero },
        },
        ..plot(x, series)
    }
}

/// FCT against the x axis as a ratio to the first scheme, which is 1 itself, paired by seed; nothing with a single scheme.
pub(crate) fn ratio_against_x(
    dir: &ResultDir,
    layout: &Layout,
    case: &Case,
    group: Group,
    statistic: Statistic,
) -> Plot {
    let experiment = &dir.manifest().experiment;
    let ratio = |point: usize| -> Option<Ratio> {
        let baseline = experiment.baseline_of(point)?;
        let ratio = group.at(dir, point).ratio(group.at(dir, baseline), Metric::Fct, statistic)?;
        // A scheme's ratio to itself is not measured, and has no interval.
        Some(Ratio { interval: ratio.interval.filter(|_| baseline != point), ..ratio })
    };
    let (x, mut series) = series_by_x(dir, layout, case, |point| {
        let ratio = ratio(point)?;
        Some((ratio.value, ratio.interval))
    });
    if experiment.schemes.len() < 2 {
        series.clear();
    }
    let first = experiment.schemes.first().map_or("", |scheme| experiment.label_of(&scheme.name));
    Plot {
        title: format!("{} {} / that of {first}, {}", in_words(statistic), group.time(), group.name(dir)),
        y: YAxis { name: format!("ratio to {first}"), unit: String::new(), base: Base::Ratio },
        ..plot(x, series)
    }
}

/// What a page shows first: the mean of each group of flows, small ones first, as a ratio to the first scheme's, or, of one
/// scheme, to that at the first value of the x axis. All have one scale.
pub(crate) struct Glance {
    pub(crate) case: usize,
    pub(crate) at: Option<usize>,
    pub(crate) caption: String,
    pub(crate) plots: Vec<Plot>,
}

/// One for each case and value of the x axis, or for each case if the values are compared.
pub(crate) fn at_a_glance(dir: &ResultDir, layout: &Layout) -> Vec<Glance> {
    let experiment = &dir.manifest().experiment;
    let mut glances = Vec::new();
    for (case, of_case) in layout.cases.iter().enumerate() {
        let mut add = |at: Option<usize>, place: String, points: Vec<usize>, labels: Vec<String>| {
            let Some(first) = labels.first().filter(|_| points.len() > 1) else { return };
            let caption =
                format!("Mean completion time{place} over that of {first}, paired by seed: below 1 is sooner");
            let plots = Group::all(dir).into_iter().map(|group| means_to_first(dir, group, &points, &labels));
            let plots = plots.filter(|plot| !plot.is_empty()).take(MOST_PLOTS).collect();
            glances.push(Glance { case, at, caption, plots });
        };
        if experiment.schemes.len() > 1 {
            for (index, at) in of_case.at.iter().enumerate() {
                let place =
                    at.value.as_ref().map_or(String::new(), |value| format!(" at {}", in_words_of(&layout.x, value)));
                let labels = at.points.iter().map(|&point| scheme_of(dir, point).label).collect();
                add(Some(index), place, at.points.clone(), labels);
            }
        } else if is_compared(dir, &layout.x) {
            let labels = of_case.at.iter().map(|at| in_words_of(&layout.x, &at.name())).collect();
            add(None, String::new(), of_case.points().collect(), labels);
        }
    }
    glances
}

/// A dot for each point, compared with the first.
fn means_to_first(dir: &ResultDir, group: Group, points: &[usize], labels: &[String]) -> Plot {
    let first = group.at(dir, points[0]);
    let dot = |(place, (&point, label)): (usize, (&usize, &String))| {
        let ratio = group.at(dir, point).ratio(first, Metric::Fct, Statistic::Mean)?;
        let datum = Datum { x: place as f64, y: ratio.value, ends: ratio.interval.filter(|_| place > 0), sizes: None };
        Some(Series { scheme: place, name: label.clone(), label: label.clone(), shape: Shape::Dots, data: vec![datum] })
    };
    let x = XAxis { name: String::new(), unit: String::new(), places: Places::Names(labels.to_vec()) };
    Plot {
        title: group.name(dir),
        y: YAxis { name: format!("ratio to {}", labels[0]), unit: String::new(), base: Base::Ratio },
        ..plot(x, points.iter().zip(labels).enumerate().filter_map(dot).collect())
    }
}

fn plot(x: XAxis, series: Vec<Series>) -> Plot {
    let y = YAxis { name: String::new(), unit: String::new(), base: Base::Zero };
    Plot { title: String::new(), x, y, series, marks: Marks::default() }
}

/// The x axis, and one series per scheme of the points that have a value, by rising place on it; or a bar for each scheme if
/// the axis has one value.
fn series_by_x(
    dir: &ResultDir,
    layout: &Layout,
    case: &Case,
    value: impl Fn(usize) -> Option<(f64, Option<(f64, f64)>)>,
) -> (XAxis, Vec<Series>) {
    let is_line = case.at.len() > 1;
    let shape = if is_line { Shape::Line } else { Shape::Bars };
    let values: Vec<&str> = case.at.iter().map(|at| at.value.as_deref().unwrap_or("–")).collect();
    let scale = scale(&values);
    let mut series: Vec<Series> = Vec::new();
    for (at, &place) in case.at.iter().zip(&scale.positions) {
        for &point in &at.points {
            let Some((y, ends)) = value(point) else { continue };
            let Named { scheme, name, label } = scheme_of(dir, point);
            let x = if is_line { place } else { series.len() as f64 };
            let datum = Datum { x, y, ends, sizes: None };
            match series.iter_mut().find(|series| series.scheme == scheme) {
                Some(series) => series.data.push(datum),
                None => series.push(Series { scheme, name, label, shape, data: vec![datum] }),
            }
        }
    }
    series.iter_mut().for_each(|series| series.data.sort_by(|a, b| a.x.total_cmp(&b.x)));
    let names = || values.iter().map(|value| (*value).to_owned());
    let (name, places) = match scale.unit {
        _ if !is_line => (String::new(), Places::Names(series.iter().map(|series| series.label.clone()).collect())),
        None => (layout.x_name().to_owned(), Places::Names(names().collect())),
        Some(_) => {
            let ticks = scale.positions.iter().copied().zip(names()).collect();
            (layout.x_name().to_owned(), Places::Numbers { is_log: scale.is_log, ticks })
        }
    };
    let unit = scale.unit.filter(|_| is_line).unwrap_or_default().to_owned();
    (XAxis { name, unit, places }, series)
}

/// Slowdown, or FCT in ms, against flow size, the sizes cut into bins of equal numbers of flows.
pub(crate) fn against_size(dir: &ResultDir, at: &At, (metric, statistic): (Metric, Statistic)) -> Plot {
    const PS_PER_MS: f64 = 1e9;
    let (name, unit, each) = match metric {
        Metric::Fct => ("FCT", "ms", PS_PER_MS),
        Metric::Slowdown => ("slowdown", "", 1.0),
    };
    let of_point = |&point: &usize| {
        let bins = &dir.summary().points[point].bins;
        let datum = |(x, bin): (f64, &ClassSummary)| {
            let estimate = bin.estimate(metric, statistic)?;
            let ends = estimate.interval.map(|(low, high)| (low / each, high / each));
            let sizes = Some(Sizes { above: bin.class.above_bytes, up_to: bin.class.up_to_bytes });
            Some(Datum { x, y: estimate.value / each, ends, sizes })
        };
        let Named { scheme, name, label } = scheme_of(dir, point);
        let data = middles(bins).into_iter().zip(bins).filter_map(datum).collect();
        Series { scheme, name, label, shape: Shape::Line, data }
    };
    let series: Vec<Series> = at.points.iter().map(of_point).filter(|series| !series.data.is_empty()).collect();
    let first = at.points.first().map_or(&[][..], |&point| &dir.summary().points[point].bins);
    let x = XAxis {
        name: "flow size, and the share of flows up to it".into(),
        unit: "%".into(),
        places: Places::Numbers { is_log: false, ticks: size_ticks(first) },
    };
    Plot {
        title: format!("{} {name} by flow size", in_words(statistic)),
        y: YAxis { name: format!("{} {name}", statistic.name()), unit: unit.into(), base: Base::ZeroOrLog },
        ..plot(x, series)
    }
}

/// Measured utilisation by class of links, with the load that the flows offer on the wire.
pub(crate) fn utilisation(dir: &ResultDir, at: &At) -> Plot {
    let per_cent = |link: &LinkClass| 100.0 * link.utilisation;
    let mut bars = bars(dir, at, per_cent);
    if !at.points.iter().any(|&point| has_load(dir, point)) {
        bars.series.clear();
    } else if let Some(&point) = at.points.first() {
        let Named { scheme, name, label } = scheme_of(dir, point);
        let data = heights(&mean_links(dir, point), &bars.x, |link| 100.0 * link.offered_load);
        let offered = |scheme: &str| format!("offered on the wire ({scheme})");
        let (name, label) = (offered(&name), offered(&label));
        bars.series.push(Series { scheme, name, label, shape: Shape::Reference, data });
    }
    Plot {
        title: "Utilisation by class of links, to the last arrival or the run's end".into(),
        y: YAxis { name: "share of the link rate".into(), unit: "%".into(), base: Base::Zero },
        ..bars
    }
}

/// Drops of all causes by class of links; nothing if nothing was dropped.
pub(crate) fn drops(dir: &ResultDir, at: &At) -> Plot {
    let per_million = |link: &LinkClass| {
        let offered = link.packets.saturating_add(link.drops.total());
        if offered == 0 { 0.0 } else { 1e6 * link.drops.total() as f64 / offered as f64 }
    };
    let dropped = |point: &usize| mean_links(dir, *point).iter().any(|link| link.drops != Drops::default());
    let mut bars = bars(dir, at, per_million);
    if !at.points.iter().any(dropped) {
        bars.series.clear();
    }
    Plot {
        title: "Drops by class of links".into(),
        y: YAxis { name: "drops per million packets".into(), unit: String::new(), base: Base::Zero },
        ..bars
    }
}

/// A bar for each class of links and scheme.
fn bars(dir: &ResultDir, at: &At, height: impl Fn(&LinkClass) -> f64) -> Plot {
    let by_point: Vec<(usize, Vec<LinkClass>)> =
        at.points.iter().map(|&point| (point, mean_links(dir, point))).collect();
    let mut names: Vec<String> = Vec::new();
    for link in by_point.iter().flat_map(|(_, links)| links) {
        if !names.contains(&link.name) {
            names.push(link.name.clone());
        }
    }
    let x = XAxis { name: "class of links".into(), unit: String::new(), places: Places::Names(names) };
    let of_point = |(point, links): &(usize, Vec<LinkClass>)| {
        let Named { scheme, name, label } = scheme_of(dir, *point);
        Series { scheme, name, label, shape: Shape::Bars, data: heights(links, &x, &height) }
    };
    let series = by_point.iter().map(of_point).collect();
    plot(x, series)
}

fn heights(links: &[LinkClass], x: &XAxis, height: impl Fn(&LinkClass) -> f64) -> Vec<Datum> {
    let Places::Names(names) = &x.places else { return Vec::new() };
    let datum = |link: &LinkClass| {
        let x = names.iter().position(|name| *name == link.name)? as f64;
        Some(Datum { x, y: height(link), ends: None, sizes: None })
    };
    links.iter().filter_map(datum).collect()
}

/// A scheme: its index in the order of the sweep, which determines its style, and what it is called.
struct Named {
    scheme: usize,
    name: String,
    label: String,
}

/// A point's scheme.
fn scheme_of(dir: &ResultDir, point: usize) -> Named {
    let experiment = &dir.manifest().experiment;
    let name = &experiment.points[point].scheme;
    let index = experiment.schemes.iter().position(|scheme| scheme.name == *name);
    Named {
        scheme: index.unwrap_or(experiment.schemes.len()),
        name: name.clone(),
        label: experiment.label_of(name).to_owned(),
    }
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

/// Every fourth bin's upper bound, at the share of the flows up to it, and below it that share.
fn size_ticks(bins: &[ClassSummary]) -> Vec<(f64, String)> {
    let total = bins.iter().map(ClassSummary::flows).sum::<u64>().max(1) as f64;
    let mut upto = 0;
    let tick = |bin: &ClassSummary| {
        upto += bin.flows();
        let share = rounded(100.0 * upto as f64 / total);
        (share, format!("{}\n{share:.0} %", size(bin.class.up_to_bytes.unwrap_or(u64::MAX))))
    };
    let ticks: Vec<_> = bins.iter().map(tick).collect();
    let mut shown: Vec<_> = ticks.into_iter().rev().step_by(4).collect();
    shown.reverse();
    shown
}
