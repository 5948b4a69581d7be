//! The table that a run ends with.

use flowsieve_results::{ClassSummary, Metric, ResultDir, Statistic};

use crate::cases::{AtLoad, Case, cases};
use crate::claims::{ClaimRow, claim_rows};
use crate::configuration::in_words;
use crate::format::{Unit, count, decimals, with_decimals};
use crate::group::Group;
use crate::links::{flow_level_cct_ps, mean_links, run_row};

/// The results as aligned text: for each case and size class a block, in it a line for each load and scheme.
pub fn table(dir: &ResultDir) -> String {
    let experiment = &dir.manifest().experiment;
    let cases = cases(experiment);
    let first = experiment.schemes.first().map_or("", |scheme| scheme.name.as_str());
    let seeds = experiment.points.iter().map(|point| point.parts.len()).max().unwrap_or(0);
    let mut text = format!("{}\n", experiment.title);
    text += &match seeds {
        0 | 1 => format!("One seed, so no intervals. Last column: mean FCT / that of {first}.\n"),
        _ => format!(
            "Means over {seeds} seeds ± half the 95 % interval. Last column: mean FCT / that of {first}, paired by seed.\n"
        ),
    };
    for case in &cases {
        let case_name = if cases.len() > 1 { format!(", {}", case.name()) } else { String::new() };
        for group in Group::all(dir) {
            let unit = group.unit(dir, case);
            text += &format!("\n{} in {} of {}{case_name}\n", group.time(), unit.name, group.name(dir));
            text += &block(dir, case, group, unit, first);
            if group == Group::Coflows(None) {
                text += &at_flow_level(dir, case, unit);
            }
        }
        text += &format!(
            "\nRuns{case_name}; links: wire load offered, ACKs and framing included / measured, in per cent\n"
        );
        text += &runs(dir, case);
    }
    let claims = claim_rows(dir);
    if !claims.is_empty() {
        text += "\nClaims\n";
        let row =
            |row: &ClaimRow| [&row.id, &row.what, &row.claimed, &row.measured, &row.judged].map(String::clone).to_vec();
        text += &aligned(&claims.iter().map(row).collect::<Vec<_>>(), 2);
    }
    for warning in dir.warnings() {
        let points = warning.points.iter().map(|&point| point as usize).collect();
        text += &format!("\nwarning: {} ({})", warning.text, in_words(experiment, &points));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// What the mean CCT would be without congestion control and queues, for schemes that have a meaning there.
fn at_flow_level(dir: &ResultDir, case: &Case, unit: Unit) -> String {
    let of_scheme = |&point: &usize| {
        let cct = unit.of(flow_level_cct_ps(dir, point)? as f64);
        let scheme = &dir.manifest().experiment.points[point].scheme;
        Some(format!("{scheme} {}", with_decimals(cct, decimals(cct))))
    };
    let mut text = String::new();
    for at in &case.loads {
        let means: Vec<String> = at.points.iter().filter_map(of_scheme).collect();
        if !means.is_empty() {
            let load = at.load.map_or(String::new(), |load| format!(" at load {load}"));
            text += &format!("Without congestion control and queues the mean{load} would be: {}\n", means.join(", "));
        }
    }
    text
}

/// How long the runs of a case were, and how loaded their links.
fn runs(dir: &ResultDir, case: &Case) -> String {
    let names = case.points().next().map_or_else(Vec::new, |point| mean_links(dir, point));
    let mut header: Vec<String> = ["load", "scheme", "simulated", "longest ideal", "ticks"].map(String::from).into();
    header.extend(names.iter().map(|link| link.name.clone()));
    let mut rows = vec![header];
    for at in &case.loads {
        for (index, &point) in at.points.iter().enumerate() {
            let run = run_row(dir, point);
            let load = if index == 0 { at.name() } else { String::new() };
            let scheme = dir.manifest().experiment.points[point].scheme.clone();
            let mut row = vec![load, scheme, run.simulated, run.longest_ideal, run.fewest_ticks];
            row.extend(
                mean_links(dir, point)
                    .iter()
                    .map(|link| format!("{:.1}/{:.1}", 100.0 * link.offered_load, 100.0 * link.utilisation)),
            );
            rows.push(row);
        }
    }
    aligned(&rows, 2)
}

fn block(dir: &ResultDir, case: &Case, group: Group, unit: Unit, first: &str) -> String {
    let counted = match group {
        Group::Class(_) => "flows",
        Group::Coflows(_) => "coflows",
    };
    let statistics = Statistic::ALL.map(Statistic::name);
    let versus = format!("/ {first}");
    let header = [&["load", "scheme", counted], &statistics[..], &["slowdown", "its p99", &versus]].concat();
    let header = header.into_iter().map(String::from).collect();
    let mut rows = vec![header];
    for at in &case.loads {
        for (index, &point) in at.points.iter().enumerate() {
            let load = if index == 0 { at.name() } else { String::new() };
            rows.push(row(dir, at, load, point, group, unit));
        }
    }
    aligned(&rows, 2)
}

fn row(dir: &ResultDir, at: &AtLoad, load: String, point: usize, group: Group, unit: Unit) -> Vec<String> {
    let experiment = &dir.manifest().experiment;
    let summary = |point: usize| group.at(dir, point);
    let this = summary(point);
    let fct = |statistic| value(this, Metric::Fct, statistic, |ps| unit.of(ps));
    let slowdown = |statistic| value(this, Metric::Slowdown, statistic, |slowdown| slowdown);
    let flows = match this.unfinished() {
        0 => count(this.flows()),
        unfinished => format!("{} ({} unfinished)", count(this.flows()), count(unfinished)),
    };
    let baseline = experiment.baseline_of(point).filter(|baseline| at.points.contains(baseline));
    let ratio = baseline.and_then(|baseline| this.ratio(summary(baseline), Metric::Fct, Statistic::Mean));
    let ratio = match ratio {
        _ if baseline == Some(point) => String::new(),
        None => "–".into(),
        Some(ratio) => match ratio.interval {
            None => format!("{:.3}", ratio.value),
            Some((low, high)) => format!("{:.3} ({low:.3}–{high:.3})", ratio.value),
        },
    };
    let mut row = vec![load, experiment.points[point].scheme.clone(), flows];
    row.extend(Statistic::ALL.map(fct));
    row.extend([Statistic::Mean, Statistic::P99].map(slowdown));
    row.push(ratio);
    row
}

fn value(class: &ClassSummary, metric: Metric, statistic: Statistic, unit: impl Fn(f64) -> f64) -> String {
    let Some(estimate) = class.estimate(metric, statistic) else { return "–".into() };
    let digits = decimals(unit(estimate.value));
    let value = with_decimals(unit(estimate.value), digits);
    match estimate.half_width {
        // Those of percentiles are in the report: lines have to fit a terminal.
        Some(half) if statistic == Statistic::Mean => format!("{value} ±{}", with_decimals(unit(half), digits)),
        _ => value,
    }
}

/// Rows as columns two blanks apart, the first few to the left and the others to the right.
pub(crate) fn aligned(rows: &[Vec<String>], left: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let length = |cell: &str| cell.chars().count();
    let widest = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| length(cell)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| {
            let blanks = " ".repeat(width - length(cell));
            if at < left { format!("{cell}{blanks}") } else { format!("{blanks}{cell}") }
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}
