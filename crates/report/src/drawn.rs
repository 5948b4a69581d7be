//! A figure of a paper as a drawing: what its claims are about, by scheme and load, with what they say.
//!
//! One panel shows one quantity of one case of the sweep. A claimed change is drawn as a hollow mark at what it makes of the
//! measured baseline, a claimed value as a dashed line. No point is read off the paper's own figure.

use std::collections::BTreeMap;

use flowsieve_results::claims::{Claim, Measured, Quantity};
use flowsieve_results::{Axis, Estimate, Expected, Experiment, SeriesAt, Unit as Of};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::claims::of_what;
use crate::format::{Unit, number, printable};
use crate::plot::COLOURS;

/// More panels than anyone looks at.
const MOST_PANELS: usize = 9;
const ACROSS: usize = 3;
const PANEL: (u32, u32) = (340, 250);
const LEGEND_LINE: i32 = 20;
/// About the width of a letter.
const LETTER: i32 = 7;
const FONT: (&str, i32) = ("sans-serif", 12);

/// The size at which a title is no wider than its panel, down to what can still be read.
fn fitting(title: &str) -> i32 {
    const LEAST: i32 = 8;
    let letters = i32::try_from(title.chars().count()).unwrap_or(i32::MAX).max(1);
    (FONT.1 * (PANEL.0 as i32 / LETTER) / letters).clamp(LEAST, FONT.1)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The figure as SVG; `None` where no claim is about anything that was measured.
pub(crate) fn svg(experiment: &Experiment, measured: &Measured) -> Option<String> {
    let panels: Vec<Panel> = panels(experiment).into_iter().filter_map(|panel| panel.measured(measured)).collect();
    if panels.is_empty() {
        return None;
    }
    let mut text = String::new();
    draw(&mut text, experiment, &panels).ok()?;
    Some(text)
}

/// A quantity at the points of a case, with the claims about it.
struct Panel<'a> {
    experiment: &'a Experiment,
    quantity: Quantity,
    axes: Vec<Axis>,
    claims: Vec<&'a Claim>,
    /// By scheme's number, in the order of the sweep: load and value.
    lines: BTreeMap<usize, Vec<(Option<f64>, Estimate)>>,
    loads: Vec<f64>,
}

fn panels(experiment: &Experiment) -> Vec<Panel<'_>> {
    let mut panels: Vec<Panel> = Vec::new();
    for claim in &experiment.claims {
        let quantity = claim.quantities().swap_remove(0);
        for point in claim.all_points(experiment) {
            let axes = &experiment.points[point].axes;
            match panels.iter_mut().find(|panel| panel.quantity == quantity && panel.axes == *axes) {
                Some(panel) if panel.claims.iter().any(|other| other.id == claim.id) => {}
                Some(panel) => panel.claims.push(claim),
                None => panels.push(Panel {
                    experiment,
                    quantity: quantity.clone(),
                    axes: axes.clone(),
                    claims: vec![claim],
                    lines: BTreeMap::new(),
                    loads: Vec::new(),
                }),
            }
        }
    }
    panels
}

impl<'a> Panel<'a> {
    /// With the values of its points; `None` without any.
    fn measured(mut self, measured: &Measured) -> Option<Panel<'a>> {
        for (index, point) in self.experiment.points.iter().enumerate().filter(|(_, point)| point.axes == self.axes) {
            let Some(value) = measured.estimate(index, &self.quantity) else { continue };
            let scheme = self.experiment.schemes.iter().position(|scheme| scheme.name == point.scheme)?;
            self.lines.entry(scheme).or_default().push((point.load, value));
            self.loads.extend(point.load);
        }
        self.loads.sort_by(f64::total_cmp);
        self.loads.dedup();
        (!self.lines.is_empty()).then_some(self)
    }

    fn title(&self) -> String {
        let axes: String = self.axes.iter().map(|axis| format!(", {} = {}", axis.key, axis.value)).collect();
        printable(&format!("{}{axes}", of_what(self.claims[0]))).into_owned()
    }

    fn value(&self, scheme: &str, load: Option<f64>) -> Option<f64> {
        let scheme = self.experiment.schemes.iter().position(|other| other.name == scheme)?;
        let line = self.lines.get(&scheme)?;
        Some(line.iter().find(|(other, _)| *other == load)?.1.value)
    }

    /// Where claims about changes are: scheme, load, and from where to where.
    fn claimed(&self) -> Vec<(usize, Option<f64>, f64, f64)> {
        let mut marks = Vec::new();
        for claim in self.claims.iter().filter(|claim| claim.baseline_class.is_none()) {
            let (low, high) = match claim.expected {
                Expected::Change(change) | Expected::UpTo(change) => (change, change),
                Expected::Between(low, high) => (low, high),
                _ => continue,
            };
            let Some(baseline) = claim.baselines.first() else { continue };
            let scheme = self.experiment.schemes.iter().position(|scheme| scheme.name == claim.scheme);
            let Some((scheme, line)) = scheme.and_then(|scheme| Some((scheme, self.lines.get(&scheme)?))) else {
                continue;
            };
            let is_meant =
                |load: Option<f64>| claim.loads.is_empty() || load.is_some_and(|at| claim.loads.contains(&at));
            let bases = line.iter().filter(|(load, _)| is_meant(*load));
            let bases = bases.filter_map(|&(load, _)| Some((load, self.value(baseline, load)?)));
            marks.extend(bases.map(|(load, base)| (scheme, load, base * (1.0 + low), base * (1.0 + high))));
        }
        marks
    }

    /// Claimed values of schemes.
    fn stated(&self) -> Vec<(usize, f64)> {
        let of = |claim: &&Claim| {
            let values = match claim.expected {
                Expected::Value(value) => vec![value],
                Expected::Within(low, high) => vec![low, high],
                _ => return None,
            };
            let scheme = self.experiment.schemes.iter().position(|scheme| scheme.name == claim.scheme)?;
            Some(values.into_iter().map(move |value| (scheme, value)))
        };
        self.claims.iter().filter_map(of).flatten().collect()
    }

    /// Where a point is drawn from left to right: by its load, or by its scheme where there is but one load.
    fn x(&self, scheme: usize, load: Option<f64>) -> f64 {
        match load.filter(|_| self.loads.len() > 1) {
            Some(load) => load,
            None => self.lines.keys().position(|other| *other == scheme).unwrap_or(0) as f64,
        }
    }
}

fn colour(scheme: usize) -> RGBColor {
    let part = |at: usize| u8::from_str_radix(&COLOURS[scheme % COLOURS.len()][at..at + 2], 16).unwrap_or(0);
    RGBColor(part(1), part(3), part(5))
}

fn draw(text: &mut String, experiment: &Experiment, panels: &[Panel]) -> Drawn {
    let shown = &panels[..panels.len().min(MOST_PANELS)];
    let across = shown.len().min(ACROSS);
    let down = shown.len().div_ceil(across);
    let width = PANEL.0 * across as u32;
    let schemes: Vec<usize> = (0..experiment.schemes.len())
        .filter(|scheme| shown.iter().any(|panel| panel.lines.contains_key(scheme)))
        .collect();
    let places = legend_places(experiment, &schemes, width as i32);
    let legend = places.last().map_or(0, |(_, y)| y + LEGEND_LINE) as u32;
    let root = SVGBackend::with_string(text, (width, legend + PANEL.1 * down as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let (head, body) = root.split_vertically(legend);
    for (&scheme, &(x, y)) in schemes.iter().zip(&places) {
        let middle = y + LEGEND_LINE / 2;
        head.draw(&Circle::new((x + 6, middle), 4, colour(scheme).filled()))?;
        let name = printable(&experiment.schemes[scheme].name).into_owned();
        head.draw(&Text::new(name, (x + 14, middle - 6), FONT))?;
    }
    for (panel, area) in shown.iter().zip(body.split_evenly((down, across))) {
        draw_panel(&area, panel)?;
    }
    root.present()?;
    Ok(())
}

/// One beside the other, line by line.
fn legend_places(experiment: &Experiment, schemes: &[usize], width: i32) -> Vec<(i32, i32)> {
    let (mut x, mut y) = (8, 4);
    let place = |&scheme: &usize| {
        let needed = 24 + LETTER * experiment.schemes[scheme].name.len() as i32;
        if x + needed > width && x > 8 {
            (x, y) = (8, y + LEGEND_LINE);
        }
        let at = (x, y);
        x += needed;
        at
    };
    schemes.iter().map(place).collect()
}

/// What values are divided by, and how the axis calls that.
fn unit_of(panel: &Panel, values: &[f64]) -> (f64, String) {
    match panel.quantity.series.as_ref().map_or(panel.quantity.figure.unit(), SeriesAt::unit) {
        Of::Time => {
            let unit = Unit::for_times(values.iter().copied().filter(|value| *value > 0.0));
            (1.0 / unit.of(1.0), unit.name.into())
        }
        Of::Size => (1e3, "KB".into()),
        Of::Rate => (1e9, "Gbit/s".into()),
        Of::Share => (0.01, "%".into()),
        Of::Number => (1.0, String::new()),
    }
}

fn draw_panel(area: &Area<'_>, panel: &Panel) -> Drawn {
    /// More than this between the smallest and the largest value is drawn on a logarithmic scale.
    const SPAN: f64 = 20.0;
    let (claimed, stated) = (panel.claimed(), panel.stated());
    let measured = || panel.lines.values().flatten().map(|(_, value)| value);
    let ends = |value: &Estimate| value.interval.unwrap_or((value.value, value.value));
    let said = claimed.iter().flat_map(|&(_, _, low, high)| [low, high]).chain(stated.iter().map(|(_, value)| *value));
    let values: Vec<f64> = measured().map(|value| value.value).chain(said).filter(|value| value.is_finite()).collect();
    let (scale, unit) = unit_of(panel, &values);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = measured().map(|value| ends(value).1).chain(values.iter().copied()).fold(least, f64::max);
    let is_log = least > 0.0 && most > SPAN * least;
    let y_of = |value: f64| {
        let value = value / scale;
        if is_log { libm::log10(value.max(least / scale / 2.0)) } else { value }
    };
    let (bottom, top) = match is_log {
        true => (y_of(least) - 0.1, y_of(most) + 0.1),
        false => (y_of(least.min(0.0)), y_of(most.max(least + scale * 1e-9)) * 1.05),
    };
    let (left, right) = match panel.loads.as_slice() {
        [first, .., last] => (first - 0.05, last + 0.05),
        _ => (-0.5, panel.lines.len() as f64 - 0.5),
    };
    let title = panel.title();
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .caption(&title, (FONT.0, fitting(&title)))
        .x_label_area_size(30)
        .y_label_area_size(56)
        .build_cartesian_2d(left..right, bottom..top.max(bottom + 1e-9))?;
    let by_load = panel.loads.len() > 1;
    let label = |y: &f64| number(if is_log { libm::pow(10.0, *y) } else { *y });
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).x_labels(if by_load { 5 } else { 0 }).y_labels(6).y_label_formatter(&label);
    if !unit.is_empty() {
        mesh.y_desc(unit);
    }
    if by_load {
        mesh.x_desc("load");
    }
    mesh.draw()?;
    draw_values(&mut chart, panel, &y_of, by_load)?;
    for (scheme, load, low, high) in claimed {
        let (x, low, high) = (panel.x(scheme, load), y_of(low), y_of(high));
        chart.draw_series([low, high].map(|y| Circle::new((x, y), 6, colour(scheme).stroke_width(1))))?;
        chart.draw_series([PathElement::new([(x, low), (x, high)], colour(scheme).mix(0.5))])?;
    }
    for (scheme, value) in stated {
        let line = [(left, y_of(value)), (right, y_of(value))];
        chart.draw_series(DashedLineSeries::new(line, 5, 4, colour(scheme).into()))?;
    }
    Ok(())
}

/// What was measured, with its intervals.
fn draw_values(chart: &mut Chart<'_, '_>, panel: &Panel, y_of: &dyn Fn(f64) -> f64, by_load: bool) -> Drawn {
    for (&scheme, line) in &panel.lines {
        let at = |&(load, ref value): &(Option<f64>, Estimate)| (panel.x(scheme, load), y_of(value.value));
        if by_load {
            chart.draw_series([PathElement::new(
                line.iter().map(at).collect::<Vec<_>>(),
                colour(scheme).stroke_width(2),
            )])?;
        }
        chart.draw_series(line.iter().map(|point| Circle::new(at(point), 3, colour(scheme).filled())))?;
        let interval = |point: &(Option<f64>, Estimate)| {
            let (low, high) = point.1.interval?;
            let x = panel.x(scheme, point.0);
            Some(PathElement::new([(x, y_of(low)), (x, y_of(high))], colour(scheme)))
        };
        chart.draw_series(line.iter().filter_map(interval))?;
    }
    Ok(())
}
