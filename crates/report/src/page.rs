//! The page: its content, which `templates/report.html` formats.

use std::collections::BTreeSet;
use std::path::PathBuf;

use askama::Template;
use flowsieve_results::timeline::Timeline;
use flowsieve_results::{Dimension, Experiment, Metric, ResultDir, ResultError, Run, Statistic, without_section};

use crate::cases::{At, Case, Layout, in_words as value_in_words};
use crate::conclusion::{SENTENCES, opening};
use crate::configuration::{Common, Differing, in_words, settings};
use crate::drawing;
use crate::figure::Plot;
use crate::figures::{Glance, against_size, against_x, at_a_glance, drops, ratio_against_x, utilisation};
use crate::format::{count, time};
use crate::group::Group;
use crate::links::{LinkRow, RunRow, link_rows, run_row};
use crate::naming::Naming;
use crate::plots_csv::{self, Row};
use crate::results_table::{ResultTable, result_table};

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    experiment: &'a Experiment,
    /// The scheme that the others are compared with.
    first: &'a str,
    seeds: Vec<u64>,
    facts: Vec<(String, String)>,
    /// The answers of the result: the first one, four below the picture, and the rest.
    answers: [Vec<String>; 3],
    warnings: Vec<(String, String)>,
    /// The size class that is shown first.
    class: usize,
    /// The key on the x axis, and in the first column of tables.
    x: &'a str,
    cases: &'a [Case],
    section: &'a Section,
    /// A flow that was followed: drawn, and where its time went in each run.
    flow: (String, Vec<String>),
    /// What the page shows first.
    at_a_glance: Vec<Glance>,
    results: Vec<ResultTable>,
    by_x: Vec<Shown>,
    by_size: Vec<Shown>,
    of_links: Vec<Shown>,
    /// The adapted quantities.
    over_time: Vec<Shown>,
    points: Vec<PointRows>,
    fabrics: Vec<(String, String)>,
    common: Vec<Common<'a>>,
    differing: Vec<Differing<'a>>,
}

/// A part of the page that a crate above this one writes. It stands below the answers.
#[derive(Default)]
pub struct Section {
    /// The `id` of its element, whose tables may break words anywhere. Empty: there is none.
    pub id: &'static str,
    /// The element; empty if there is nothing to say.
    pub html: String,
    /// The plots in it, whose numbers go into `plots.csv`.
    pub plots: Vec<Plot>,
}

/// A plot, and the choices for which the page shows it.
pub(crate) struct Shown {
    pub(crate) plot: Plot,
    /// The case to which it belongs.
    pub(crate) case: usize,
    /// The value on the x axis to which it belongs, as an index among its case's.
    pub(crate) at: Option<usize>,
    /// The size class to which it belongs.
    pub(crate) class: Option<usize>,
}

impl Shown {
    /// As SVG; `None` if there is nothing to draw.
    fn svg(&self, among: &[Shown]) -> Option<String> {
        let of_the_same = |other: &&Shown| (other.case, other.at, other.class) == (self.case, self.at, self.class);
        let among: Vec<Plot> = among.iter().filter(of_the_same).map(|other| other.plot.clone()).collect();
        svg(&self.plot, &among, 230)
    }
}

/// A plot for the page; `None` if there is nothing to draw.
fn svg(plot: &Plot, among: &[Plot], points: i32) -> Option<String> {
    if plot.is_empty() { None } else { drawing::inline(plot, among, points).ok() }
}

/// Draws a plot, `points` wide, on the scale that it shares with those of its measure `among` others. Returns its title and
/// the SVG; `None` if there is nothing to draw.
pub fn titled(plot: &Plot, among: &[Plot], points: i32) -> Option<(String, String)> {
    Some((plot.title.clone(), svg(plot, among, points)?))
}

impl Glance {
    fn drawn(&self) -> Vec<(String, String)> {
        self.plots.iter().filter_map(|plot| titled(plot, &self.plots, 175)).collect()
    }
}

/// A point's rows in the tables of counts.
struct PointRows {
    case: usize,
    at: usize,
    value: String,
    scheme: String,
    links: Vec<LinkRow>,
    run: RunRow,
}

/// Writes the numbers of the page's plots as CSV, and the page as HTML; returns the page's path.
pub(crate) fn write(
    dir: &ResultDir,
    layout: &Layout,
    over_time: Vec<Shown>,
    section: &Section,
    followed: &[Timeline],
) -> Result<PathBuf, ResultError> {
    let experiment = &dir.manifest().experiment;
    let (common, differing) = settings(experiment, Naming::Labels);
    let cases = &layout.cases;
    let numbered = || cases.iter().enumerate();
    let groups = Group::all(dir);
    let page = Page {
        experiment,
        first: experiment.schemes.first().map_or("the first scheme", |scheme| experiment.label_of(&scheme.name)),
        seeds: seeds(experiment),
        facts: facts(dir),
        answers: answers(dir, layout),
        class: Group::first_asked(dir).class().unwrap_or(0),
        warnings: warnings(dir),
        section,
        flow: flow(followed),
        at_a_glance: at_a_glance(dir, layout),
        results: numbered()
            .flat_map(|(at, case)| groups.iter().map(move |group| result_table(dir, at, case, *group)))
            .collect(),
        by_x: figures_by_x(dir, layout),
        by_size: figures_at(layout, |at| {
            let shown = [
                (Metric::Slowdown, Statistic::P50),
                (Metric::Slowdown, Statistic::P99),
                (Metric::Fct, Statistic::Mean),
                (Metric::Fct, Statistic::P99),
            ];
            shown.map(|measure| against_size(dir, at, measure))
        }),
        over_time,
        of_links: figures_at(layout, |at| [utilisation(dir, at), drops(dir, at)]),
        points: numbered().flat_map(|(at, case)| point_rows(dir, at, case)).collect(),
        fabrics: fabrics(experiment),
        common,
        differing,
        x: layout.x_name(),
        cases,
    };
    let of_section = section.plots.iter();
    let of_section = of_section.map(|plot| Row { case: String::new(), at: String::new(), class: String::new(), plot });
    let plots = page.by_x.iter().chain(&page.by_size).chain(&page.of_links).chain(&page.over_time);
    let plots = plots.map(|shown| Row {
        case: layout.case_name(&cases[shown.case]),
        at: shown.at.map_or(String::new(), |at| cases[shown.case].at[at].name()),
        class: shown.class.map_or(String::new(), |class| experiment.classes.as_slice()[class].name.clone()),
        plot: &shown.plot,
    });
    dir.write_beside("plots.csv", |file| plots_csv::write(file, experiment.screened(), of_section.chain(plots)))?;
    dir.write_beside("report.html", |file| page.write_into(file))
}

fn flow(followed: &[Timeline]) -> (String, Vec<String>) {
    let drawn = if followed.is_empty() { None } else { drawing::flow_inline(followed).ok() };
    (drawn.unwrap_or_default(), followed.iter().map(Timeline::summary).collect())
}

fn answers(dir: &ResultDir, layout: &Layout) -> [Vec<String>; 3] {
    let mut first = opening(dir, layout, Naming::Labels);
    let mut below = first.split_off(first.len().min(1));
    let rest = below.split_off(below.len().min(SENTENCES - 1));
    [first, below, rest]
}

fn seeds(experiment: &Experiment) -> Vec<u64> {
    let seeds: BTreeSet<u64> = experiment.points.iter().flat_map(|point| &point.parts).map(|part| part.seed).collect();
    seeds.into_iter().collect()
}

/// The size of the experiment: the names of counts, and the counts.
fn facts(dir: &ResultDir) -> Vec<(String, String)> {
    let manifest = dir.manifest();
    let sum = |of: fn(&Run) -> u64| manifest.runs.iter().map(of).fold(0, u64::saturating_add);
    let counted = |what: &str, many: u64| (if many == 1 { what.into() } else { format!("{what}s") }, count(many));
    let mut facts = vec![
        counted("scheme", manifest.experiment.schemes.len() as u64),
        counted("seed", seeds(&manifest.experiment).len() as u64),
        counted("run", manifest.runs.len() as u64),
        counted("flow", sum(|run| run.flows)),
        counted("packet-hop", sum(|run| run.measured.packet_hops)),
        ("simulated in all".into(), time(sum(|run| run.measured.simulated_ps))),
    ];
    let swept = manifest.experiment.dimensions().into_iter().filter(|(dimension, _)| *dimension != Dimension::Scheme);
    for (dimension, values) in swept {
        facts.insert(1, (format!("values of {}", without_section(dimension.name())), count(values.len() as u64)));
    }
    facts
}

fn warnings(dir: &ResultDir) -> Vec<(String, String)> {
    let experiment = &dir.manifest().experiment;
    let words = |points: Vec<u32>| {
        in_words(experiment, &points.into_iter().map(|point| point as usize).collect(), Naming::Labels)
    };
    // Backticks are a terminal's quotes.
    dir.warnings().into_iter().map(|warning| (warning.text.replace('`', ""), words(warning.points))).collect()
}

fn figures_by_x(dir: &ResultDir, layout: &Layout) -> Vec<Shown> {
    let mut figures = Vec::new();
    for (number, case) in layout.cases.iter().enumerate() {
        for group in Group::all(dir) {
            for statistic in [Statistic::Mean, Statistic::P99] {
                let of_measure = against_x(dir, layout, case, group, (Metric::Fct, statistic));
                for plot in [of_measure, ratio_against_x(dir, layout, case, group, statistic)] {
                    figures.push(Shown { plot, case: number, at: None, class: group.class() });
                }
            }
        }
    }
    figures
}

fn figures_at<const N: usize>(layout: &Layout, draw: impl Fn(&At) -> [Plot; N]) -> Vec<Shown> {
    let mut figures = Vec::new();
    for (number, case) in layout.cases.iter().enumerate() {
        for (index, at) in case.at.iter().enumerate() {
            for mut plot in draw(at) {
                let value = at.value.as_ref().map(|value| format!(", {}", value_in_words(&layout.x, value)));
                plot.title += &value.unwrap_or_default();
                figures.push(Shown { plot, case: number, at: Some(index), class: None });
            }
        }
    }
    figures
}

fn point_rows(dir: &ResultDir, number: usize, case: &Case) -> Vec<PointRows> {
    let of = |(index, at): (usize, &At)| {
        let row = |&point: &usize| PointRows {
            case: number,
            at: index,
            value: at.name(),
            scheme: {
                let experiment = &dir.manifest().experiment;
                experiment.label_of(&experiment.points[point].scheme).to_owned()
            },
            links: link_rows(dir, point),
            run: run_row(dir, point),
        };
        at.points.iter().map(row).collect::<Vec<_>>()
    };
    case.at.iter().enumerate().flat_map(of).collect()
}

/// Each fabric once, with the points that have it.
fn fabrics(experiment: &Experiment) -> Vec<(String, String)> {
    let mut fabrics: Vec<(&str, BTreeSet<usize>)> = Vec::new();
    for (index, point) in experiment.points.iter().enumerate() {
        match fabrics.iter_mut().find(|(text, _)| *text == point.fabric) {
            Some((_, points)) => _ = points.insert(index),
            None => fabrics.push((&point.fabric, BTreeSet::from([index]))),
        }
    }
    fabrics
        .into_iter()
        .map(|(text, points)| (text.to_string(), in_words(experiment, &points, Naming::Labels)))
        .collect()
}
