//! One plot of a drawing: its axes, and the data between them.

use plotters::chart::{ChartBuilder, ChartContext, LabelAreaPosition};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::{Cartesian2d, Circle, PathElement, RGBColor, Ranged, Rectangle, Text, WHITE};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, ShapeStyle};

use super::{
    Area, CLAIMED_RADIUS, Drawn, GAP, INK, LINE, RULE, STATED, TEXT, dashes, fitting, ink_of, lines_of, mark, points,
    stroke, style, width_of,
};
use crate::axes::Scaled;
use crate::figure::{Claimed, Datum, Places, Plot, Series, Shape};
use crate::font::Font;
use crate::format::number;
use crate::looks::marked_of;
use crate::sheet::{Pen, Sheet};

const TICK_TEXT: i32 = points(7);
/// The smallest readable text.
const LEAST_TEXT: i32 = points(6);
/// As high as a line's capitals.
const CAPITALS: i32 = points(6);
/// From a line of a tick's words to the next.
const LINE_OF_TICKS: i32 = points(8);
const TICK: i32 = points(5) / 2;
/// Between the axis and the words at its ticks.
const TO_TICK_TEXT: i32 = 2 * TICK;
const GRID: RGBColor = RGBColor(0xe2, 0xe2, 0xe2);
const LIGHT_GRID: RGBColor = RGBColor(0xf2, 0xf2, 0xf2);

type Chart<'a> = ChartContext<'a, Pen<'a>, Cartesian2d<Axis, Axis>>;

/// A tick: where along its axis, and its words.
type Tick = (f64, String);

/// A plot with the places of everything around it.
pub(super) struct Panel<'a> {
    plot: &'a Plot,
    width: i32,
    title: Vec<String>,
    /// Left of the vertical axis, and right of the plot.
    left: i32,
    right: i32,
    x: Axis,
    y: Axis,
    tick_size: i32,
    /// Size of the names of the axes.
    name_size: i32,
}

/// An axis as it lies on paper, in logarithms if it is logarithmic.
#[derive(Clone)]
struct Axis {
    is_log: bool,
    from: f64,
    to: f64,
    ticks: Vec<Tick>,
    /// Faint lines without words.
    light: Vec<f64>,
    label: String,
}

impl Axis {
    fn new(scaled: Scaled, label: String) -> Axis {
        let Scaled { is_log, from, to, ticks, light } = scaled;
        let at = |value: f64| on_paper(is_log, value);
        Axis {
            is_log,
            from: at(from),
            to: at(to),
            ticks: ticks.into_iter().map(|(value, words)| (at(value), words)).collect(),
            light: light.into_iter().map(at).collect(),
            label,
        }
    }

    fn on_paper(&self, value: f64) -> f64 {
        on_paper(self.is_log, value).max(self.from)
    }

    fn words(&self, at: f64) -> String {
        self.ticks.iter().find(|(tick, _)| *tick == at).map_or_else(String::new, |(_, words)| words.clone())
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, at: &f64, (first, last): (i32, i32)) -> i32 {
        // A value that is not a finite number is outside of the range.
        let share = ((at - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        first + libm::round(share * f64::from(last - first)) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight().allow_light_points() {
            true => self.light.clone(),
            false => self.ticks.iter().map(|(at, _)| *at).collect(),
        }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.from..self.to
    }
}

fn on_paper(is_log: bool, value: f64) -> f64 {
    if is_log { libm::log10(value) } else { value }
}

/// Names that fit next to each other: smaller, or cut short, or none if the legend has them.
fn fitting_names(names: &mut [Tick], font: &Font, width: i32, legend: &[Series]) -> i32 {
    let room = width / i32::try_from(names.len().max(1)).unwrap_or(i32::MAX) - GAP;
    for size in [TICK_TEXT, LEAST_TEXT] {
        if names.iter().all(|(_, name)| width_of(font, name, size) <= room) {
            return size;
        }
    }
    let is_in_legend = |(_, name): &Tick| legend.iter().any(|series| series.label == *name);
    let are_in_legend = names.iter().all(is_in_legend);
    for (_, name) in names {
        *name = if are_in_legend { String::new() } else { fitting(font, name, LEAST_TEXT, room) };
    }
    LEAST_TEXT
}

/// Drops overlapping tick labels: those of every second, third, … tick remain.
fn thin(axis: &mut Axis, font: &Font, width: i32) {
    let place = |at: f64| (at - axis.from) / (axis.to - axis.from) * f64::from(width);
    let spans: Vec<(f64, f64)> = axis
        .ticks
        .iter()
        .map(|(at, words)| {
            let half = f64::from(width_of(font, words, TICK_TEXT) + GAP) / 2.0;
            (place(*at) - half, place(*at) + half)
        })
        .collect();
    let many = spans.len();
    let is_shown = |step: usize, index: usize| (many - 1 - index).is_multiple_of(step);
    let fits = |step: &usize| {
        let shown: Vec<&(f64, f64)> =
            spans.iter().enumerate().filter(|(index, _)| is_shown(*step, *index)).map(|(_, span)| span).collect();
        shown.windows(2).all(|pair| pair[0].1 <= pair[1].0)
    };
    let step = (1..=many).find(fits).unwrap_or(1);
    for (index, (_, words)) in axis.ticks.iter_mut().enumerate() {
        if !is_shown(step, index) {
            words.clear();
        }
    }
}

impl<'a> Panel<'a> {
    pub(super) fn new(plot: &'a Plot, font: &Font, width: i32) -> Panel<'a> {
        let y = Axis::new(plot.y_scaled(), fitting(font, &plot.y.label(), TEXT, plot_height(width)));
        let words = y.ticks.iter().map(|(_, words)| width_of(font, words, TICK_TEXT)).max().unwrap_or(0);
        let name = if y.label.is_empty() { 0 } else { LINE + GAP / 2 };
        let left = GAP + name + words + TO_TICK_TEXT;
        let mut x = Axis::new(plot.x_scaled(), plot.x.label());
        let last = x.ticks.last().map_or(0, |(_, words)| width_of(font, words, TICK_TEXT));
        let right = match plot.x.places {
            Places::Names(_) => 2 * GAP,
            Places::Numbers { .. } => (last / 2).max(2 * GAP),
        };
        let inside = (width - left - right).max(points(10));
        let tick_size = match plot.x.places {
            Places::Names(_) => fitting_names(&mut x.ticks, font, inside, &plot.series),
            Places::Numbers { .. } => {
                thin(&mut x, font, inside);
                TICK_TEXT
            }
        };
        let name_size = [TEXT, TICK_TEXT].into_iter().find(|size| width_of(font, &x.label, *size) <= inside);
        let name_size = name_size.unwrap_or(LEAST_TEXT);
        x.label = fitting(font, &x.label, name_size, inside);
        Panel {
            plot,
            width,
            title: lines_of(font, &plot.title, width - 2 * GAP),
            left,
            right,
            x,
            y,
            tick_size,
            name_size,
        }
    }

    /// Below the plot.
    fn bottom(&self) -> i32 {
        let lines = self.x.ticks.iter().map(|(_, words)| words.lines().count()).max().unwrap_or(0) as i32;
        let words = if lines == 0 { 0 } else { CAPITALS + (lines - 1) * LINE_OF_TICKS };
        let name = if self.x.label.is_empty() { 0 } else { GAP + CAPITALS };
        TO_TICK_TEXT + words + name
    }

    fn top(&self) -> i32 {
        GAP + LINE * self.title.len() as i32
    }

    pub(super) fn height(&self) -> i32 {
        self.top() + plot_height(self.width) + self.bottom() + 2 * GAP
    }

    /// Draws it into its area of the whole drawing.
    pub(super) fn draw(&self, area: &Area<'a>, root: &Area<'_>, sheet: &Sheet) -> Drawn {
        let middle = self.left + (self.width - self.left - self.right) / 2;
        for (at, line) in (0..).zip(&self.title) {
            // A title that is longer than the plot below it is centred over everything.
            let half = width_of(sheet.font(), line, TEXT) / 2 + GAP;
            let x = middle.min(self.width - half).max(half);
            area.draw(&Text::new(
                &**line,
                (x, LINE * at + LINE / 2 + GAP / 2),
                style(TEXT, HPos::Center, VPos::Center),
            ))?;
        }
        let mut chart = ChartBuilder::on(area)
            .margin_top(self.top())
            .margin_right(self.right)
            .margin_bottom(2 * GAP)
            .margin_left(GAP)
            .set_label_area_size(LabelAreaPosition::Left, self.left - GAP)
            .set_label_area_size(LabelAreaPosition::Bottom, self.bottom())
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        self.draw_axes(&mut chart)?;
        for &(scheme, value) in &self.plot.stated {
            let line = [self.x.from, self.x.to].map(|x| chart.backend_coord(&(x, self.y.on_paper(value))));
            sheet.begin_dashes(&STATED);
            root.draw(&PathElement::new(line, stroke(ink_of(scheme), 8)))?;
            sheet.end();
        }
        for (series, place) in self.plot.series.iter().zip(self.plot.bar_places()) {
            sheet.begin(&series.label);
            match series.shape {
                Shape::Bars => self.draw_bars(&chart, root, sheet, series, place)?,
                Shape::Reference => self.draw_reference(&chart, root, sheet, series)?,
                Shape::Line | Shape::Dots => self.draw_marks(&chart, root, sheet, series)?,
            }
            sheet.end();
        }
        self.draw_claimed(&chart, root, sheet)
    }

    fn draw_axes(&self, chart: &mut Chart<'_>) -> Drawn {
        let (x_words, y_words) = (|at: &f64| self.x.words(*at), |at: &f64| self.y.words(*at));
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh()
            .bold_line_style(stroke(GRID, 5))
            .light_line_style(stroke(LIGHT_GRID, 4))
            .axis_style(stroke(INK, 6))
            .set_all_tick_mark_size(TICK)
            .x_label_style(style(self.tick_size, HPos::Center, VPos::Top))
            .y_label_style(style(TICK_TEXT, HPos::Right, VPos::Center))
            .axis_desc_style(style(self.name_size, HPos::Center, VPos::Top))
            .x_label_formatter(&x_words)
            .y_label_formatter(&y_words);
        if !self.x.label.is_empty() {
            mesh.x_desc(&*self.x.label);
        }
        if !self.y.label.is_empty() {
            mesh.y_desc(&*self.y.label);
        }
        Ok(mesh.draw()?)
    }

    fn at(&self, chart: &Chart<'_>, x: f64, y: f64) -> (i32, i32) {
        chart.backend_coord(&(self.x.on_paper(x), self.y.on_paper(y)))
    }

    /// The text that a value shows under the pointer.
    fn in_words(&self, datum: &Datum) -> String {
        let x = datum.sizes.map_or_else(|| self.plot.x.place(datum.x), |sizes| sizes.in_words());
        let ends = datum.ends.map_or_else(String::new, |(low, high)| format!(" ({}–{})", number(low), number(high)));
        format!("{x}: {} {}{ends}", number(datum.y), self.plot.y.unit).replace("  ", " ").trim_end().to_owned()
    }

    fn draw_marks(&self, chart: &Chart<'_>, root: &Area<'_>, sheet: &Sheet, series: &Series) -> Drawn {
        let ink = ink_of(series.scheme);
        let aside = self.aside(chart, series);
        if series.shape == Shape::Line {
            let at = |datum: &Datum| {
                let (x, y) = self.at(chart, datum.x, datum.y);
                (x + aside, y)
            };
            let line: Vec<(i32, i32)> = series.data.iter().map(at).collect();
            sheet.begin_dashes(dashes(series.scheme));
            root.draw(&PathElement::new(line, stroke(ink, 11)))?;
            sheet.end();
        }
        for datum in series.data.iter().step_by(marked_of(series.data.len())) {
            let (x, y) = self.at(chart, datum.x, datum.y);
            let x = x + aside;
            sheet.begin(&self.in_words(datum));
            self.draw_interval(chart, root, (x, datum), stroke(ink, 7))?;
            mark(root, (x, y), series.scheme)?;
            sheet.end();
        }
        Ok(())
    }

    /// The interval of a value, around a place of the page.
    fn draw_interval(&self, chart: &Chart<'_>, root: &Area<'_>, (x, datum): (i32, &Datum), look: ShapeStyle) -> Drawn {
        const CAP: i32 = points(5) / 2;
        let Some((low, high)) = datum.ends else { return Ok(()) };
        let [low, high] = [low, high].map(|end| self.at(chart, datum.x, end).1);
        let interval = [(x - CAP, low), (x + CAP, low), (x, low), (x, high), (x - CAP, high), (x + CAP, high)];
        Ok(root.draw(&PathElement::new(interval, look))?)
    }

    /// How far a line with intervals is shifted sideways, so that intervals at one place do not cover each other: a point or
    /// so.
    fn aside(&self, chart: &Chart<'_>, series: &Series) -> i32 {
        const MOST: i32 = points(8) / 5;
        let beside: Vec<&Series> = self.plot.series.iter().filter(|other| other.shape == Shape::Line).collect();
        let has_intervals = beside.iter().flat_map(|series| &series.data).any(|datum| datum.ends.is_some());
        let Some(place) = beside.iter().position(|other| std::ptr::eq(*other, series)).filter(|_| has_intervals) else {
            return 0;
        };
        let places: Vec<i32> = series.data.iter().map(|datum| self.at(chart, datum.x, datum.y).0).collect();
        let room = places.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(MOST);
        let lines = i32::try_from(beside.len()).unwrap_or(i32::MAX).max(1);
        let step = MOST.min(room * 3 / 5 / lines);
        (2 * i32::try_from(place).unwrap_or(0) - (lines - 1)) * step / 2
    }

    /// The bars of one series, next to those of others.
    fn draw_bars(
        &self,
        chart: &Chart<'_>,
        root: &Area<'_>,
        sheet: &Sheet,
        series: &Series,
        (bar, bars): (usize, usize),
    ) -> Drawn {
        /// Share of the room of a name.
        const SHARE: f64 = 0.8;
        let width = SHARE / bars.max(1) as f64;
        for datum in &series.data {
            let left = datum.x - SHARE / 2.0 + width * bar as f64;
            let corners = [self.at(chart, left, self.plot.foot()), self.at(chart, left + width, datum.y)];
            let middle = i32::midpoint(corners[0].0, corners[1].0);
            sheet.begin(&self.in_words(datum));
            root.draw(&Rectangle::new(corners, ink_of(series.scheme).filled()))?;
            // With a light edge it is seen on a dark bar as well.
            for look in [stroke(WHITE, 21), stroke(INK, 8)] {
                self.draw_interval(chart, root, (middle, datum), look)?;
            }
            sheet.end();
        }
        Ok(())
    }

    fn draw_reference(&self, chart: &Chart<'_>, root: &Area<'_>, sheet: &Sheet, series: &Series) -> Drawn {
        /// Share of the room of a name, a little more than the bars have.
        const HALF: f64 = 0.43;
        for datum in &series.data {
            sheet.begin(&self.in_words(datum));
            let line = [datum.x - HALF, datum.x + HALF].map(|x| self.at(chart, x, datum.y));
            root.draw(&PathElement::new(line, stroke(INK, 15)))?;
            sheet.end();
        }
        Ok(())
    }

    fn draw_claimed(&self, chart: &Chart<'_>, root: &Area<'_>, sheet: &Sheet) -> Drawn {
        for &Claimed { scheme, x, low, high } in &self.plot.claimed {
            let [low, high] = [low, high].map(|end| self.at(chart, x, end));
            let look = stroke(ink_of(scheme), 8);
            sheet.begin("claimed change");
            if low != high {
                root.draw(&PathElement::new([low, high], stroke(RULE, 5)))?;
                root.draw(&Circle::new(low, CLAIMED_RADIUS, look))?;
            }
            root.draw(&Circle::new(high, CLAIMED_RADIUS, look))?;
            sheet.end();
        }
        Ok(())
    }
}

/// Height of the plot itself, without its surroundings.
fn plot_height(width: i32) -> i32 {
    (width * 11 / 20).clamp(points(95), points(150))
}
