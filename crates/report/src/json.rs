//! The table of a result as data.

use flowsieve_results::screening::rankings;
use flowsieve_results::{Bounds, ClassSummary, CoflowClass, Metric, PointSummary, ResultDir, Statistic};
use serde_json::{Map, Value, json};

use crate::cases::Layout;
use crate::conclusion::opening;
use crate::doctor::doctor_json;
use crate::naming::Naming;
use crate::text_table::UNBROKEN;

const PS_PER_US: f64 = 1e6;

/// The answers of the result in sentences; statistics by point and size class, with counts and findings.
pub fn table_json(dir: &ResultDir, layout: &Layout) -> Value {
    let experiment = &dir.manifest().experiment;
    let points: Vec<Value> = (0..experiment.points.len()).map(|point| point_json(dir, point)).collect();
    let conclusions = opening(dir, layout, Naming::Names);
    let mut table = json!({
        "title": experiment.title,
        "folder": dir.path(),
        "conclusions": conclusions.iter().map(|said| said.replace(UNBROKEN, " ")).collect::<Vec<_>>(),
        "points": points,
        "findings": doctor_json(dir)["findings"],
    });
    if let (Some(every), Some(table)) = (experiment.screened(), table.as_object_mut()) {
        table.insert("screened".to_owned(), json!(every.parse::<u64>().ok()));
        table.insert("rankings".to_owned(), json!(rankings(experiment, dir.summary())));
    }
    table
}

fn point_json(dir: &ResultDir, point: usize) -> Value {
    let experiment = &dir.manifest().experiment;
    let info = &experiment.points[point];
    let summary = &dir.summary().points[point];
    let baseline = experiment.baseline_of(point).filter(|baseline| *baseline != point);
    let class = |(at, class): (usize, &ClassSummary)| {
        let other = baseline.map(|baseline| &dir.summary().points[baseline].classes[at]);
        let ratio = other.and_then(|other| class.ratio(other, Metric::Fct, Statistic::Mean));
        json!({
            "class": class.class,
            "flows": class.flows(),
            "unfinished": class.unfinished(),
            "fct_us": statistics(class, Metric::Fct, PS_PER_US),
            "slowdown": statistics(class, Metric::Slowdown, 1.0),
            "fct_variation": class.over_seeds(Bounds::POSITIVE, |seed| seed.fct_variation),
            "fairness": class.over_seeds(Bounds::SHARE, |seed| seed.fairness),
            "fct_mean_ratio_to_first": ratio,
        })
    };
    let of_coflows = |class: Option<CoflowClass>, of: &dyn Fn(&PointSummary) -> &ClassSummary| {
        let coflows = of(summary);
        let other = baseline.map(|baseline| of(&dir.summary().points[baseline]));
        json!({
            "class": class,
            "coflows": coflows.flows(),
            "unfinished": coflows.unfinished(),
            "cct_us": statistics(coflows, Metric::Fct, PS_PER_US),
            "slowdown": statistics(coflows, Metric::Slowdown, 1.0),
            "cct_mean_ratio_to_first": other.and_then(|other| coflows.ratio(other, Metric::Fct, Statistic::Mean)),
        })
    };
    let bin = |bin: &ClassSummary| {
        json!({
            "above_bytes": bin.class.above_bytes,
            "up_to_bytes": bin.class.up_to_bytes,
            "flows": bin.flows(),
            "fct_us": statistics(bin, Metric::Fct, PS_PER_US),
            "slowdown": statistics(bin, Metric::Slowdown, 1.0),
        })
    };
    let axes: Map<String, Value> =
        info.axes.iter().map(|axis| (axis.key.clone(), Value::from(axis.value.clone()))).collect();
    let runs: Vec<Value> =
        dir.manifest().runs_of(point).map(|run| json!({ "seed": run.seed, "measured": run.measured })).collect();
    json!({
        "scheme": info.scheme,
        "load": info.load,
        "axes": axes,
        "exact_percentiles": summary.exact,
        "classes": summary.classes.iter().enumerate().map(class).collect::<Vec<_>>(),
        "coflows": (summary.coflows.flows() > 0).then(|| of_coflows(None, &|point| &point.coflows)),
        "coflow_classes": CoflowClass::ALL
            .into_iter()
            .filter(|class| summary.coflow_class(*class).flows() > 0)
            .map(|class| of_coflows(Some(class), &move |point| point.coflow_class(class)))
            .collect::<Vec<_>>(),
        "size_bins": summary.bins.iter().map(bin).collect::<Vec<_>>(),
        "runs": runs,
    })
}

fn statistics(class: &ClassSummary, metric: Metric, unit: f64) -> Value {
    let of = |statistic: Statistic| {
        let estimate = class.estimate(metric, statistic)?;
        let interval = estimate.interval.map(|(low, high)| [low / unit, high / unit]);
        Some((
            statistic.name().to_owned(),
            match class.untold(metric, statistic) {
                None => json!({ "value": estimate.value / unit, "interval": interval }),
                Some(why) => json!({ "value": estimate.value / unit, "interval": interval, "untold": why.in_words() }),
            },
        ))
    };
    Value::Object(Statistic::EVERY.into_iter().filter_map(of).collect())
}
