//! Figures of a result for a paper: which plots, and in which form.

use std::io::{self, Write};

use flowsieve_results::{Metric, ResultDir, Statistic};
use serde_json::Value;

use super::{ExportError, group_name, groups_called, keep, measure_called, pgfplots};
use crate::cases::{At, Case, Layout, in_words};
use crate::description;
use crate::drawing::{self, MOST_PLOTS};
use crate::figure::{Figure, Plot};
use crate::figures::{against_size, against_x, drops, ratio_against_x, utilisation};
use crate::over_time;
use crate::page::Shown;
use crate::plots_csv::{self, Row};

/// Plots that belong together, each with what it shows.
pub struct Figures {
    title: String,
    /// The options that make them fewer.
    fewer: &'static str,
    plots: Vec<Labelled>,
}

struct Labelled {
    case: String,
    at: String,
    class: String,
    plot: Plot,
}

impl Labelled {
    fn row(&self) -> Row<'_> {
        Row { case: self.case.clone(), at: self.at.clone(), class: self.class.clone(), plot: &self.plot }
    }
}

/// What is drawn from below to above.
enum Measure {
    Of(Metric, Statistic),
    /// FCT over that of the first scheme.
    Ratio(Statistic),
    Utilisation,
    Drops,
}

fn measure(name: &str) -> Result<Measure, ExportError> {
    match name.to_ascii_lowercase().as_str() {
        "utilisation" => return Ok(Measure::Utilisation),
        "drops" => return Ok(Measure::Drops),
        _ => {}
    }
    match name.strip_suffix(" ratio") {
        Some(of) => match measure_called(of)? {
            (Metric::Fct, statistic) => Ok(Measure::Ratio(statistic)),
            _ => Err(ExportError::Measure(name.to_owned())),
        },
        None => measure_called(name).map(|(metric, statistic)| Measure::Of(metric, statistic)),
    }
}

/// What a person asks to see, by the options of `flowsieve export --what figure`: `x` is a swept setting, `size` or `time`, and
/// `at` are values of swept settings, each as KEY=VALUE.
///
/// # Errors
/// A name that the result does not have, an option that this kind of figure does not use, or nothing to draw.
pub fn asked(
    dir: &ResultDir,
    x: Option<&str>,
    y: Option<&str>,
    class: Option<&str>,
    at: &[String],
) -> Result<Figures, ExportError> {
    let experiment = &dir.manifest().experiment;
    let swept = Layout::new(experiment, x);
    let by = match &swept {
        Err(unknown) if ["size", "time"].contains(&&*unknown.name) => unknown.name.clone(),
        _ => String::new(),
    };
    let mut layout = match swept {
        Err(_) if !by.is_empty() => Layout::new(experiment, None)?,
        Err(mut unknown) => {
            unknown.swept.extend(["size", "time"].map(String::from));
            return Err(unknown.into());
        }
        Ok(layout) => layout,
    };
    keep(dir, &mut layout, at)?;
    match (&*by, class) {
        ("time", Some(_)) => {
            let expected = "--y and --at";
            Err(ExportError::Unread { figure: "a figure over time", option: "--class", expected })
        }
        ("time", None) => figures_over_time(dir, &layout, y),
        (by, class) => figures(dir, &layout, by == "size", y, class),
    }
}

/// A plot for each case and class, of mean FCT if no measure is named. By flow size there is one for each case and value of the
/// layout, of p99 slowdown. Utilisation and drops are by class of links instead.
pub(crate) fn figures(
    dir: &ResultDir,
    layout: &Layout,
    by_size: bool,
    y: Option<&str>,
    class: Option<&str>,
) -> Result<Figures, ExportError> {
    let name = y;
    let y = measure(y.unwrap_or(if by_size { "p99 slowdown" } else { "mean fct" }))?;
    let is_of_links = matches!(y, Measure::Utilisation | Measure::Drops);
    let unread = |figure, option, expected| Err(ExportError::Unread { figure, option, expected });
    match (&y, by_size, class) {
        (Measure::Ratio(_) | Measure::Utilisation | Measure::Drops, true, _) => {
            return unread("this measure", "--x size", "FCT or slowdown, such as --y \"p99 slowdown\"");
        }
        (_, true, Some(_)) => return unread("a figure by flow size", "--class", "all flows, which it has"),
        (_, false, Some(_)) if is_of_links => return unread("a figure of links", "--class", "all flows, which it has"),
        _ => {}
    }
    let mut plots = Vec::new();
    for case in &layout.cases {
        if by_size || is_of_links {
            plots.extend(case.at.iter().map(|at| {
                let plot = match y {
                    Measure::Of(metric, statistic) => against_size(dir, at, (metric, statistic)),
                    Measure::Drops => drops(dir, at),
                    Measure::Ratio(_) | Measure::Utilisation => utilisation(dir, at),
                };
                labelled(layout, case, Some(at), String::new(), plot)
            }));
            continue;
        }
        for group in groups_called(dir, class, name)? {
            let plot = match y {
                Measure::Ratio(statistic) => ratio_against_x(dir, layout, case, group, statistic),
                Measure::Of(metric, statistic) => against_x(dir, layout, case, group, (metric, statistic)),
                Measure::Utilisation | Measure::Drops => continue,
            };
            // If all have one value on the x axis, the axis does not show it.
            let at = case.at.first().filter(|_| case.at.len() == 1);
            plots.push(labelled(layout, case, at, group_name(dir, group), plot));
        }
    }
    plots.retain(|labelled| !labelled.plot.is_empty());
    if plots.is_empty() {
        return Err(ExportError::Empty(match y {
            Measure::Ratio(_) => "there is no second scheme, or no flow finished under both",
            Measure::Drops => "no packet was dropped",
            Measure::Of(..) | Measure::Utilisation => "no flow finished",
        }));
    }
    let fewer = if by_size || is_of_links { "--at" } else { "--class and --at" };
    Ok(Figures { title: dir.manifest().experiment.title.clone(), fewer, plots })
}

/// A plot over time for each point and each quantity sampled in its first run, or for one such quantity, by its name with or
/// without the unit.
fn figures_over_time(dir: &ResultDir, layout: &Layout, y: Option<&str>) -> Result<Figures, ExportError> {
    let mut shown = over_time::figures(dir, layout)?;
    if shown.is_empty() {
        return Err(ExportError::Empty(
            "no link, flow, host or controller was sampled; expected `sample_interval` with `sample_links`, `sample_flows` or `sample_utilisation` in [run]",
        ));
    }
    if let Some(name) = y {
        let mut valid: Vec<String> = shown.iter().map(|shown| shown.plot.y.name.clone()).collect();
        valid.sort();
        valid.dedup();
        let is_called = |its: &str| its == name || name.strip_prefix(its).is_some_and(|unit| unit.starts_with(" ("));
        shown.retain(|shown| is_called(&shown.plot.y.name));
        if shown.is_empty() {
            return Err(ExportError::Sampled { name: name.to_owned(), valid });
        }
    }
    let of = |shown: Shown| {
        let case = &layout.cases[shown.case];
        labelled(layout, case, shown.at.map(|at| &case.at[at]), String::new(), shown.plot)
    };
    let plots = shown.into_iter().map(of).collect();
    Ok(Figures { title: dir.manifest().experiment.title.clone(), fewer: "--y and --at", plots })
}

/// With the settings that distinguish a plot in its title.
fn labelled(layout: &Layout, case: &Case, at: Option<&At>, class: String, mut plot: Plot) -> Labelled {
    let case = layout.case_name(case);
    let value = at.and_then(|at| at.value.as_deref());
    let value_in_words = value.map_or_else(String::new, |value| in_words(&layout.x, value));
    for part in [&value_in_words, &case].into_iter().filter(|part| !part.is_empty()) {
        plot.title += &format!(", {part}");
    }
    Labelled { case, at: value.unwrap_or_default().to_owned(), class, plot }
}

impl Figures {
    /// The numbers of all plots.
    pub fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        plots_csv::write(out, None, self.plots.iter().map(Labelled::row))
    }

    /// All plots as data, from which other programs draw them: axes with ticks, and series with their looks and intervals.
    pub fn json(&self) -> Value {
        let all: Vec<Plot> = self.plots.iter().map(|labelled| labelled.plot.clone()).collect();
        let plot = |labelled: &Labelled| {
            let mut described = description::json(&labelled.plot, &all);
            for (name, text) in [("case", &labelled.case), ("at", &labelled.at), ("class", &labelled.class)] {
                described[name] = text.clone().into();
            }
            described
        };
        self.plots.iter().map(plot).collect()
    }

    /// All plots as one drawing that is `columns` columns of a page wide.
    pub fn svg(self, columns: u8) -> Result<String, ExportError> {
        drawing::svg(&self.figure()?, columns).map_err(|error| ExportError::Drawing(error.to_string()))
    }

    /// The same as a PDF of one page.
    pub fn pdf(self, columns: u8) -> Result<Vec<u8>, ExportError> {
        drawing::pdf(&self.figure()?, columns).map_err(|error| ExportError::Drawing(error.to_string()))
    }

    /// All plots as floats of LaTeX that are `columns` columns of a page wide, drawn by pgfplots.
    pub fn latex(self, columns: u8) -> Result<String, ExportError> {
        let across = drawing::across(self.plots.len(), columns);
        Ok(pgfplots::latex(&self.figure()?, columns, across))
    }

    fn figure(self) -> Result<Figure, ExportError> {
        if self.plots.len() > MOST_PLOTS {
            let (plots, options) = (self.plots.len(), self.fewer);
            return Err(ExportError::TooMany { plots, most: MOST_PLOTS, options });
        }
        let plots = self.plots.into_iter().map(|labelled| labelled.plot).collect();
        Ok(Figure { title: self.title, plots })
    }
}
