//! One plot of a drawing: its axes, and the data between them.

use super::{
    GAP, INK, LEVEL, LINE, RANGE_RADIUS, RULE, TEXT, WHITE, dashes, fitting, ink_of, lines_of, mark, points, ring,
    stroke, width_of,
};
use crate::axes::Scaled;
use crate::figure::{Datum, Places, Plot, Range, Series, Shape};
use crate::font::Font;
use crate::format::number;
use crate::looks::marked_of;
use crate::sheet::{Across, Down, Ink, Point, Sheet};

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
const GRID: Ink = (0xe2, 0xe2, 0xe2);
const LIGHT_GRID: Ink = (0xf2, 0xf2, 0xf2);

/// The place of the data on a sheet: its first and last unit.
struct Frame {
    across: (i32, i32),
    /// From below.
    up: (i32, i32),
}

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

    /// A place on paper within a range of a sheet.
    fn map(&self, at: f64, (first, last): (i32, i32)) -> i32 {
        // A value that is not a finite number is outside of the range.
        let share = ((at - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        first + libm::round(share * f64::from(last - first)) as i32
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
    /// `among`: the plots of its figure.
    pub(super) fn new(plot: &'a Plot, among: &[Plot], font: &Font, width: i32) -> Panel<'a> {
        let y = Axis::new(plot.y_scaled_among(among), fitting(font, &plot.y.label(), TEXT, plot_height(width)));
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

    /// Whether each series has its own place, whose name says which it is.
    pub(super) fn says_its_series(&self) -> bool {
        let marks = &self.plot.marks;
        let is_place =
            |series: &Series| series.data.len() == 1 && self.x.ticks.iter().any(|(_, name)| *name == series.label);
        marks.ranges.is_empty() && marks.levels.is_empty() && self.plot.series.iter().all(is_place)
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

    /// Draws it, from this corner of the sheet on.
    pub(super) fn draw(&self, sheet: &Sheet, (left, top): Point) {
        let middle = self.left + (self.width - self.left - self.right) / 2;
        for (at, line) in (0..).zip(&self.title) {
            // A title that is longer than the plot below it is centred over everything.
            let half = width_of(sheet.font(), line, TEXT) / 2 + GAP;
            let x = middle.min(self.width - half).max(half);
            let place = (left + x, top + LINE * at + LINE / 2 + GAP / 2);
            sheet.text(line, (TEXT, INK), (Across::Middle, Down::Middle), 0, place);
        }
        let foot = top + self.top() + plot_height(self.width);
        let frame =
            Frame { across: (left + self.left, left + self.width - self.right - 1), up: (foot - 1, top + self.top()) };
        self.draw_axes(&frame, sheet, left + GAP);
        for &(scheme, value) in &self.plot.marks.levels {
            let y = self.y.map(self.y.on_paper(value), frame.up);
            sheet.begin_dashes(&LEVEL);
            sheet.line([(frame.across.0, y), (frame.across.1, y)], stroke(ink_of(scheme), 8));
            sheet.end();
        }
        for (series, place) in self.plot.series.iter().zip(self.plot.bar_places()) {
            sheet.begin(&series.label);
            match series.shape {
                Shape::Bars => self.draw_bars(&frame, sheet, series, place),
                Shape::Reference => self.draw_reference(&frame, sheet, series),
                Shape::Line | Shape::Dots => self.draw_marks(&frame, sheet, series),
            }
            sheet.end();
        }
        self.draw_ranges(&frame, sheet);
    }

    /// `edge`: where the name of the vertical axis is.
    fn draw_axes(&self, &Frame { across, up }: &Frame, sheet: &Sheet, edge: i32) {
        let (left, foot) = (across.0 - 1, up.0 + 1);
        let lines = |places: &mut dyn Iterator<Item = f64>, look| {
            for y in places.map(|at| self.y.map(at, up)) {
                sheet.line([(across.0, y), (across.1, y)], look);
            }
        };
        lines(&mut self.y.light.iter().copied(), stroke(LIGHT_GRID, 4));
        let middle = up.1 + (foot - up.1) / 2;
        sheet.text(&self.y.label, (self.name_size, INK), (Across::Middle, Down::Top), -90, (edge, middle));
        let middle = across.0 + (across.1 + 1 - across.0) / 2;
        let below = foot + self.bottom();
        sheet.text(&self.x.label, (self.name_size, INK), (Across::Middle, Down::Bottom), 0, (middle, below));
        lines(&mut self.y.ticks.iter().map(|(at, _)| *at), stroke(GRID, 5));
        let axis = stroke(INK, 6);
        sheet.line([(left, up.1), (left, up.0)], axis);
        for (at, words) in &self.y.ticks {
            let y = self.y.map(*at, up);
            let place = (left + 1 - TO_TICK_TEXT, y);
            sheet.text(words, (TICK_TEXT, INK), (Across::Right, Down::Middle), 0, place);
            sheet.line([(left - TICK, y), (left, y)], axis);
        }
        sheet.line([(across.0, foot), (across.1, foot)], axis);
        for (at, words) in &self.x.ticks {
            let x = self.x.map(*at, across);
            let place = (x, foot + TO_TICK_TEXT);
            sheet.text(words, (self.tick_size, INK), (Across::Middle, Down::Top), 0, place);
            sheet.line([(x, foot), (x, foot + TICK)], axis);
        }
    }

    fn at(&self, frame: &Frame, x: f64, y: f64) -> Point {
        (self.x.map(self.x.on_paper(x), frame.across), self.y.map(self.y.on_paper(y), frame.up))
    }

    /// The text that a value shows under the pointer.
    fn in_words(&self, datum: &Datum) -> String {
        let x = datum.sizes.map_or_else(|| self.plot.x.place(datum.x), |sizes| sizes.in_words());
        let ends = datum.ends.map_or_else(String::new, |(low, high)| format!(" ({}–{})", number(low), number(high)));
        format!("{x}: {} {}{ends}", number(datum.y), self.plot.y.unit).replace("  ", " ").trim_end().to_owned()
    }

    fn draw_marks(&self, frame: &Frame, sheet: &Sheet, series: &Series) {
        let ink = ink_of(series.scheme);
        let aside = self.aside(frame, series);
        if series.shape == Shape::Line {
            let at = |datum: &Datum| {
                let (x, y) = self.at(frame, datum.x, datum.y);
                (x + aside, y)
            };
            let line: Vec<(i32, i32)> = series.data.iter().map(at).collect();
            sheet.begin_dashes(dashes(series.scheme));
            sheet.line(line, stroke(ink, 11));
            sheet.end();
        }
        for datum in series.data.iter().step_by(marked_of(series.data.len())) {
            let (x, y) = self.at(frame, datum.x, datum.y);
            let x = x + aside;
            sheet.begin(&self.in_words(datum));
            self.draw_interval(frame, sheet, (x, datum), stroke(ink, 7));
            mark(sheet, (x, y), series.scheme, self.plot.is_unsure(datum));
            sheet.end();
        }
    }

    /// The interval of a value, around a place of the page.
    fn draw_interval(&self, frame: &Frame, sheet: &Sheet, (x, datum): (i32, &Datum), look: (Ink, u32)) {
        const CAP: i32 = points(5) / 2;
        let Some((low, high)) = datum.ends else { return };
        let [low, high] = [low, high].map(|end| self.at(frame, datum.x, end).1);
        let interval = [(x - CAP, low), (x + CAP, low), (x, low), (x, high), (x - CAP, high), (x + CAP, high)];
        sheet.line(interval, look);
    }

    /// How far a line with intervals is shifted sideways, so that intervals at one place do not cover each other: a point or
    /// so.
    fn aside(&self, frame: &Frame, series: &Series) -> i32 {
        const MOST: i32 = points(8) / 5;
        let beside: Vec<&Series> = self.plot.series.iter().filter(|other| other.shape == Shape::Line).collect();
        let has_intervals = beside.iter().flat_map(|series| &series.data).any(|datum| datum.ends.is_some());
        let Some(place) = beside.iter().position(|other| std::ptr::eq(*other, series)).filter(|_| has_intervals) else {
            return 0;
        };
        let places: Vec<i32> = series.data.iter().map(|datum| self.at(frame, datum.x, datum.y).0).collect();
        let room = places.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(MOST);
        let lines = i32::try_from(beside.len()).unwrap_or(i32::MAX).max(1);
        let step = MOST.min(room * 3 / 5 / lines);
        (2 * i32::try_from(place).unwrap_or(0) - (lines - 1)) * step / 2
    }

    /// The bars of one series, next to those of others.
    fn draw_bars(&self, frame: &Frame, sheet: &Sheet, series: &Series, (bar, bars): (usize, usize)) {
        /// Share of the room of a name.
        const SHARE: f64 = 0.8;
        let width = SHARE / bars.max(1) as f64;
        for datum in &series.data {
            let left = datum.x - SHARE / 2.0 + width * bar as f64;
            let corners = [self.at(frame, left, self.plot.foot()), self.at(frame, left + width, datum.y)];
            let middle = i32::midpoint(corners[0].0, corners[1].0);
            sheet.begin(&self.in_words(datum));
            sheet.rectangle(corners, ink_of(series.scheme));
            // With a light edge it is seen on a dark bar as well.
            for look in [stroke(WHITE, 21), stroke(INK, 8)] {
                self.draw_interval(frame, sheet, (middle, datum), look);
            }
            sheet.end();
        }
    }

    fn draw_reference(&self, frame: &Frame, sheet: &Sheet, series: &Series) {
        /// Share of the room of a name, a little more than the bars have.
        const HALF: f64 = 0.43;
        for datum in &series.data {
            sheet.begin(&self.in_words(datum));
            let line = [datum.x - HALF, datum.x + HALF].map(|x| self.at(frame, x, datum.y));
            sheet.line(line, stroke(INK, 15));
            sheet.end();
        }
    }

    fn draw_ranges(&self, frame: &Frame, sheet: &Sheet) {
        for &Range { scheme, x, low, high } in &self.plot.marks.ranges {
            let [low, high] = [low, high].map(|end| self.at(frame, x, end));
            let look = stroke(ink_of(scheme), 8);
            sheet.begin(self.plot.marks.words.range[1]);
            if low != high {
                sheet.line([low, high], stroke(RULE, 5));
                ring(sheet, low, RANGE_RADIUS, look);
            }
            ring(sheet, high, RANGE_RADIUS, look);
            sheet.end();
        }
    }
}

/// Height of the plot itself, without its surroundings.
fn plot_height(width: i32) -> i32 {
    (width * 11 / 20).clamp(points(95), points(150))
}
