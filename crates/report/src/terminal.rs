//! The table at the end of a run: first the answers, then what looks wrong, then the numbers.

use flowsieve_results::doctor::{given_up, is_uncertain};
use flowsieve_results::{ClassSummary, Metric, ResultDir, Statistic};

use crate::cases::{At, Case, Layout, in_words as value_in_words};
use crate::conclusion::{SENTENCES, opening};
use crate::configuration::in_words;
use crate::format::{UNTOLD, Unit, count, decimals, spread, with_decimals};
use crate::group::Group;
use crate::links::{flow_level_cct_ps, has_load, mean_links, run_row, shares_over};
use crate::naming::Naming;
use crate::text_table::{Cell, Column, TextTable, Tone, paragraph};

/// Marks a percentile with few flows beyond it.
const FEW_MARK: &str = "*";

/// The results as text, in colour or without: a block for each case and size class, with a line for each value on the x axis
/// and scheme.
pub fn table(dir: &ResultDir, layout: &Layout, colour: bool) -> String {
    let experiment = &dir.manifest().experiment;
    let first = experiment.schemes.first().map_or("", |scheme| scheme.name.as_str());
    let mut text = format!("{}\n", Tone::Heading.paint(&paragraph(&experiment.title, ""), colour));
    let sentences = opening(dir, layout, Naming::Names);
    if !sentences.is_empty() {
        text.push('\n');
    }
    for sentence in sentences.iter().take(SENTENCES) {
        text += &format!("{}\n", paragraph(sentence, "  "));
    }
    if sentences.len() > SENTENCES {
        text += &format!("… {} more sentences in the report\n", sentences.len() - SENTENCES);
    }
    for warning in dir.warnings() {
        let points = warning.points.iter().map(|&point| point as usize).collect();
        let warning =
            paragraph(&format!("warning: {} ({})", warning.text, in_words(experiment, &points, Naming::Names)), "  ");
        text += &format!("\n{}\n", Tone::Worse.paint(&warning, colour));
    }
    let seeds = experiment.points.iter().map(|point| point.parts.len()).max().unwrap_or(0);
    let how = match seeds {
        0 | 1 => format!("One seed, so no intervals. / {first}: mean FCT over that of {first}."),
        _ => format!(
            "Means over {seeds} seeds with 95 % intervals. / {first}: mean FCT over that of {first}, paired by seed."
        ),
    };
    let how = if experiment.schemes.len() > 1 { how } else { how.split(" / ").next().unwrap_or_default().to_owned() };
    let few = format!(
        "{how} {FEW_MARK}: fewer than ten flows of a seed lie beyond. {UNTOLD}: too few flows for this percentile, or seeds that \
         differ too much to tell it."
    );
    text += &format!("\n{}\n", paragraph(if any_is_uncertain(dir, layout) { &few } else { &how }, ""));
    for case in &layout.cases {
        let of_case = Some(layout.case_name(case)).filter(|name| !name.is_empty());
        let of_case = of_case.map_or(String::new(), |name| format!(", {name}"));
        for group in Group::all(dir) {
            if case.points().all(|point| group.at(dir, point).flows() == 0) {
                continue;
            }
            let unit = group.unit(dir, case);
            let heading =
                format!("{} in {} of {}{of_case}{}", group.time(), unit.name, group.name(dir), place(layout, case));
            text += &format!(
                "\n{}\n{}",
                Tone::Heading.paint(&heading, colour),
                block(dir, layout, case, group, unit).text(colour)
            );
            if group == Group::Coflows(None) {
                text += &at_flow_level(dir, layout, case, unit);
            }
        }
        let heading = format!("Runs{of_case}; links: load offered on the wire / measured, in per cent");
        text += &format!("\n{}\n{}", Tone::Heading.paint(&heading, colour), runs(dir, layout, case).text(colour));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The only value on the x axis, if tables would repeat it in each line.
fn place(layout: &Layout, case: &Case) -> String {
    match case.at.as_slice() {
        [At { value: Some(value), .. }] => format!(", {}", value_in_words(&layout.x, value)),
        _ => String::new(),
    }
}

fn any_is_uncertain(dir: &ResultDir, layout: &Layout) -> bool {
    let points = || layout.cases.iter().flat_map(Case::points);
    let of = |group: Group| points().any(|point| is_uncertain(group.at(dir, point), Statistic::P99));
    Group::all(dir).into_iter().any(of)
}

/// The mean CCT without congestion control and queues, for schemes that have a meaning there.
fn at_flow_level(dir: &ResultDir, layout: &Layout, case: &Case, unit: Unit) -> String {
    let of_scheme = |&point: &usize| {
        let cct = unit.of(flow_level_cct_ps(dir, point)? as f64);
        let scheme = &dir.manifest().experiment.points[point].scheme;
        Some(format!("{scheme} {}", with_decimals(cct, decimals(cct))))
    };
    let mut text = String::new();
    for at in &case.at {
        let means: Vec<String> = at.points.iter().filter_map(of_scheme).collect();
        if !means.is_empty() {
            let place =
                at.value.as_ref().map_or(String::new(), |value| format!(" at {}", value_in_words(&layout.x, value)));
            let means = means.join(", ");
            let said = format!("Without congestion control and queues the mean{place} would be: {means}");
            text += &format!("{}\n", paragraph(&said, "  "));
        }
    }
    text
}

/// The first columns of a table: the x axis, unless it has one value, and the scheme.
fn first_columns(layout: &Layout, case: &Case) -> Vec<Column> {
    let x = (case.at.len() > 1).then(|| Column::words(layout.x_name()));
    x.into_iter().chain([Column::words("scheme")]).collect()
}

/// Their cells, with the value on the x axis only in the first line.
fn first_cells(dir: &ResultDir, case: &Case, at: &At, index: usize) -> Vec<Cell> {
    let value = (case.at.len() > 1).then(|| if index == 0 { at.name() } else { String::new() });
    let scheme = dir.manifest().experiment.points[at.points[index]].scheme.clone();
    value.into_iter().chain([scheme]).map(Cell::from).collect()
}

/// The lengths of the runs of a case, and the loads of their links.
fn runs(dir: &ResultDir, layout: &Layout, case: &Case) -> TextTable {
    let names = case.points().next().map_or_else(Vec::new, |point| mean_links(dir, point));
    let mut columns = first_columns(layout, case);
    columns.extend(names.iter().map(|link| Column::numbers(&link.name, 0)));
    columns.push(Column::numbers("loads over", 0));
    columns.extend([("simulated", 3), ("longest ideal", 2), ("ticks", 1)].map(|(name, at)| Column::numbers(name, at)));
    let mut rows = Vec::new();
    for at in &case.at {
        for (index, &point) in at.points.iter().enumerate() {
            let run = run_row(dir, point);
            let mut row = first_cells(dir, case, at, index);
            let has_load = has_load(dir, point);
            row.extend(mean_links(dir, point).iter().map(|link| match has_load {
                true => Cell::from(format!("{:.1}/{:.1}", 100.0 * link.offered_load, 100.0 * link.utilisation)),
                false => "–".into(),
            }));
            row.push(Cell::from(shares_over(dir, point)));
            row.extend([run.simulated, run.longest_ideal, run.fewest_ticks].map(Cell::from));
            rows.push(row);
        }
    }
    TextTable { columns, rows }
}

fn block(dir: &ResultDir, layout: &Layout, case: &Case, group: Group, unit: Unit) -> TextTable {
    let experiment = &dir.manifest().experiment;
    let mut columns = first_columns(layout, case);
    // With one scheme there is nothing to compare it with.
    let first = experiment.schemes.first().filter(|_| experiment.schemes.len() > 1);
    columns.extend(first.map(|first| Column::numbers(&format!("/ {}", first.name), 0)));
    let counted = match group {
        Group::Class(_) => "flows",
        Group::Coflows(_) => "coflows",
    };
    let others = [
        ("mean", 0),
        ("p50", 6),
        ("p95", 2),
        ("p99", 0),
        ("p99.9", 3),
        ("slowdown", 7),
        ("p99 slowdown", 4),
        (counted, 5),
    ];
    columns.extend(others.map(|(name, importance)| Column::numbers(name, importance)));
    let mut rows = Vec::new();
    for at in &case.at {
        for (index, &point) in at.points.iter().enumerate() {
            let mut row = first_cells(dir, case, at, index);
            row.extend(first.map(|_| ratio(dir, at, point, group)));
            row.extend(values(group.at(dir, point), unit));
            rows.push(row);
        }
    }
    TextTable { columns, rows }
}

/// The mean compared with that of the first scheme.
fn ratio(dir: &ResultDir, at: &At, point: usize, group: Group) -> Cell {
    let this = group.at(dir, point);
    let unfinished = this.unfinished();
    if unfinished > 0 {
        let all = dir.summary().points[point].classes.last().map_or(0, |all| all.unfinished());
        let how = if given_up(dir.manifest().runs_of(point)) == all { "given up" } else { "unfinished" };
        return Cell { text: format!("{} {how}", count(unfinished)), tone: Tone::Worse };
    }
    let baseline = dir.manifest().experiment.baseline_of(point).filter(|baseline| at.points.contains(baseline));
    let ratio = baseline.and_then(|baseline| {
        let other = group.at(dir, baseline);
        let is_fair = other.unfinished() == 0;
        Some((this.ratio(other, Metric::Fct, Statistic::Mean)?, is_fair))
    });
    let faint = |text: &str| Cell { text: text.into(), tone: Tone::Faint };
    match ratio {
        _ if baseline == Some(point) => faint("1"),
        None => faint("–"),
        Some((ratio, is_fair)) => {
            let ends = ratio.interval.map_or(String::new(), |(low, high)| format!(" ({low:.3}–{high:.3})"));
            let tone = match ratio.is_resolved() && is_fair {
                false => Tone::Faint,
                true if ratio.value < 1.0 => Tone::Better,
                true => Tone::Worse,
            };
            Cell { text: format!("{:.3}{ends}", ratio.value), tone }
        }
    }
}

fn values(class: &ClassSummary, unit: Unit) -> Vec<Cell> {
    let fct = |statistic| value(class, Metric::Fct, statistic, |ps| unit.of(ps));
    let slowdown = |statistic| value(class, Metric::Slowdown, statistic, |slowdown| slowdown);
    let mut cells: Vec<Cell> = Statistic::ALL.map(fct).into();
    cells.extend([Statistic::Mean, Statistic::P99].map(slowdown));
    cells.push(count(class.flows()).into());
    cells
}

fn value(class: &ClassSummary, metric: Metric, statistic: Statistic, unit: impl Fn(f64) -> f64) -> Cell {
    let Some(estimate) = class.estimate(metric, statistic) else {
        return Cell { text: "–".into(), tone: Tone::Faint };
    };
    if class.untold(metric, statistic).is_some() {
        return Cell { text: UNTOLD.into(), tone: Tone::Faint };
    }
    let digits = decimals(unit(estimate.value));
    let text = |value: f64| with_decimals(unit(value), digits);
    let value = text(estimate.value);
    match statistic {
        // Those of percentiles are in the report: lines have to fit a terminal.
        Statistic::Mean => format!("{value} {}", spread(estimate.value, estimate.interval, text)).trim_end().into(),
        _ if is_uncertain(class, statistic) => Cell { text: format!("{value}{FEW_MARK}"), tone: Tone::Faint },
        _ => value.into(),
    }
}
