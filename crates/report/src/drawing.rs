//! Figures for print, one or two columns of a page wide, and for a screen, a plot each: with letters of eight points.

mod flow;
mod panel;
#[cfg(test)]
mod tests;

use crate::figure::{Figure, Plot, Shape};
use crate::font::Font;
use crate::looks::{Dash, Symbol, colour};
use crate::sheet::{Across, Down, Drawing, Ink, PER_POINT, Paint, Point, Sheet};
use crate::{pdf, svg};
pub(crate) use flow::flow_inline;
pub use flow::flow_svg;
use flowsieve_results::timeline::Cause;
use panel::Panel;

/// The most plots that are readable in one figure.
pub const MOST_PLOTS: usize = 9;

const fn points(many: i32) -> i32 {
    many * PER_POINT
}

const TEXT: i32 = points(8);
const LINE: i32 = points(10);
const GAP: i32 = points(3);
const SAMPLE: i32 = points(18);
const RADIUS: i32 = points(21) / 10;
const INK: Ink = (0x22, 0x22, 0x22);
const RULE: Ink = (0x66, 0x66, 0x66);
const WHITE: Ink = (0xff, 0xff, 0xff);

/// Width of a figure on the pages of most journals and proceedings of two columns.
#[derive(Clone, Copy)]
struct Width {
    in_words: &'static str,
    units: i32,
}

const ONE_COLUMN: Width = Width { in_words: "3.5in", units: points(252) };
const TWO_COLUMNS: Width = Width { in_words: "7.16in", units: points(51_552) / 100 };

/// A figure as wide as one or two columns of a page.
pub(crate) fn svg(figure: &Figure, columns: u8) -> Result<String, Box<dyn std::error::Error>> {
    let width = width(columns);
    Ok(svg::svg(&drawn(figure, width.units, columns)?, width.in_words))
}

/// The same as a PDF.
pub(crate) fn pdf(figure: &Figure, columns: u8) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    Ok(pdf::pdf(&drawn(figure, width(columns).units, columns)?))
}

fn width(columns: u8) -> Width {
    if columns == 2 { TWO_COLUMNS } else { ONE_COLUMN }
}

/// One plot as a part of a page, which has its title, with the scale that it shares with others of its measure. It is so many
/// points wide, at most 235: less than a telephone's 376 pixels, so that letters of seven points have eleven pixels there.
pub(crate) fn inline(plot: &Plot, among: &[Plot], width: i32) -> Result<String, Box<dyn std::error::Error>> {
    let width = points(width);
    let font = Font::new()?;
    let untitled = Plot { title: String::new(), ..plot.clone() };
    let panel = Panel::new(&untitled, among, &font, width);
    let alone = [untitled.clone()];
    let legend = Legend::new(if panel.says_its_series() { &[] } else { &alone }, &font, width);
    Ok(svg::inline(&on_sheet(&plot.title, &legend, &[panel], 1, width, font)?))
}

/// Plots next to and below each other, below a legend.
fn drawn(figure: &Figure, width: i32, columns: u8) -> Result<Drawing, Box<dyn std::error::Error>> {
    let font = Font::new()?;
    let across = across(figure.plots.len(), columns);
    let legend = Legend::new(&figure.plots, &font, width);
    let panel = |plot| Panel::new(plot, &figure.plots, &font, width / across as i32);
    let panels: Vec<Panel> = figure.plots.iter().map(panel).collect();
    on_sheet(&figure.title, &legend, &panels, across, width, font)
}

fn on_sheet(
    title: &str,
    legend: &Legend,
    panels: &[Panel<'_>],
    across: usize,
    width: i32,
    font: Font,
) -> Result<Drawing, Box<dyn std::error::Error>> {
    let panel_width = width / i32::try_from(across)?;
    let heights: Vec<i32> = panels.chunks(across).map(|row| row.iter().map(Panel::height).max().unwrap_or(0)).collect();
    let down = legend.height() + heights.iter().sum::<i32>();
    let (across_units, down_units) = (u32::try_from(width)?, u32::try_from(down)?);
    let sheet = Sheet::new(title, (across_units, down_units), font);
    sheet.rectangle([(0, 0), (width, down)], WHITE);
    legend.draw(&sheet);
    let mut top = legend.height();
    for (row, height) in panels.chunks(across).zip(heights) {
        for (at, panel) in (0..).zip(row) {
            panel.draw(&sheet, (at * panel_width, top));
        }
        top += height;
    }
    Ok(sheet.into_drawing())
}

/// The first plots of a figure as SVG, as many as are readable in one.
pub fn figure_svg(figure: &Figure) -> Option<String> {
    let shown = Figure { plots: figure.plots.iter().take(MOST_PLOTS).cloned().collect(), ..figure.clone() };
    svg(&shown, if shown.plots.len() == 1 { 1 } else { 2 }).ok()
}

/// Number of plots next to each other.
pub(crate) fn across(plots: usize, columns: u8) -> usize {
    match (columns, plots) {
        (1, _) | (_, ..2) => 1,
        (_, 2 | 4) => 2,
        _ => 3,
    }
}

fn ink_of(scheme: usize) -> Ink {
    let part = |at: usize| u8::from_str_radix(&colour(scheme)[at..at + 2], 16).unwrap_or(0);
    (part(1), part(3), part(5))
}

/// The ink and the width of a line.
fn stroke(ink: Ink, tenths_of_a_point: i32) -> (Ink, u32) {
    (ink, (tenths_of_a_point * PER_POINT / 10).unsigned_abs())
}

fn ring(sheet: &Sheet, centre: Point, radius: i32, (ink, width): (Ink, u32)) {
    sheet.circle(centre, radius.unsigned_abs(), Paint::Line { ink, width });
}

/// That of its longest line.
fn width_of(font: &Font, text: &str, size: i32) -> i32 {
    text.lines().map(|line| font.width(line, f64::from(size)).ceil() as i32).max().unwrap_or(0)
}

/// A text in one line that is no wider than `width`, cut short if necessary.
fn fitting(font: &Font, text: &str, size: i32, width: i32) -> String {
    let mut fitting = text.replace('\n', " ");
    while width_of(font, &fitting, size) > width && !fitting.is_empty() {
        let mut letters: Vec<char> = fitting.chars().collect();
        letters.truncate(letters.len().saturating_sub(2));
        fitting = letters.into_iter().collect::<String>();
        if !fitting.is_empty() {
            fitting.push('…');
        }
    }
    fitting
}

/// A title in at most two lines.
fn lines_of(font: &Font, title: &str, width: i32) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in title.split_whitespace() {
        let last = lines.len() - 1;
        let longer = if lines[last].is_empty() { word.to_owned() } else { format!("{} {word}", lines[last]) };
        if last == 0 && !lines[last].is_empty() && width_of(font, &longer, TEXT) > width {
            lines.push(word.to_owned());
        } else {
            lines[last] = longer;
        }
    }
    lines.iter().map(|line| fitting(font, line, TEXT, width)).filter(|line| !line.is_empty()).collect()
}

/// What a sample in a legend stands for.
#[derive(Clone, Copy, PartialEq)]
enum Sample {
    Of(usize, Shape),
    /// A value without an interval.
    Unsure,
    /// A range that was not measured.
    Range,
    /// A level that was not measured.
    Level,
    /// The way of a packet on lines, sent for the first time or again.
    Way {
        again: bool,
    },
    /// A packet's wait.
    Wait(Cause),
    /// A loss.
    Lost,
    /// A silence that a timer ended.
    Timer,
}

impl Sample {
    fn width(self) -> i32 {
        match self {
            Sample::Of(_, Shape::Line) | Sample::Level | Sample::Way { .. } | Sample::Wait(_) | Sample::Timer => SAMPLE,
            Sample::Of(..) | Sample::Unsure | Sample::Range | Sample::Lost => 4 * RADIUS,
        }
    }

    fn draw(self, sheet: &Sheet, (left, middle): Point) {
        let centre = (left + self.width() / 2, middle);
        let line = [(left, middle), (left + self.width(), middle)];
        match self {
            Sample::Of(scheme, Shape::Line) => {
                sheet.begin_dashes(dashes(scheme));
                sheet.line(line, stroke(ink_of(scheme), 11));
                sheet.end();
                mark(sheet, centre, scheme, false);
            }
            Sample::Of(scheme, Shape::Dots) => mark(sheet, centre, scheme, false),
            Sample::Of(scheme, Shape::Bars) => {
                let half = points(3);
                sheet.rectangle([(centre.0 - half, middle - half), (centre.0 + half, middle + half)], ink_of(scheme));
            }
            Sample::Of(_, Shape::Reference) => sheet.line(line, stroke(INK, 15)),
            Sample::Unsure => ring(sheet, centre, RADIUS, stroke(RULE, 7)),
            Sample::Range => ring(sheet, centre, RANGE_RADIUS, stroke(RULE, 8)),
            Sample::Level => {
                sheet.begin_dashes(&LEVEL);
                sheet.line(line, stroke(RULE, 8));
                sheet.end();
            }
            Sample::Way { again } => flow::way(sheet, again, || sheet.line(line, flow::LINE_OF_WAY)),
            Sample::Wait(cause) => sheet.line(line, flow::look(cause)),
            Sample::Lost => flow::cross(sheet, centre),
            Sample::Timer => flow::silence(sheet, line),
        }
    }
}

/// A sample, its text, and where it begins in its line.
type Item = (Sample, String, i32);

struct Legend {
    /// Line by line.
    lines: Vec<Vec<Item>>,
}

impl Legend {
    fn new(plots: &[Plot], font: &Font, width: i32) -> Legend {
        let mut items: Vec<(Sample, String)> = Vec::new();
        for series in plots.iter().flat_map(|plot| &plot.series) {
            let item = (Sample::Of(series.scheme, series.shape), series.label.clone());
            let is_same = |other: &(Sample, String)| match (other.0, item.0) {
                (Sample::Of(a, _), Sample::Of(b, _)) => a == b && other.1 == item.1,
                _ => false,
            };
            if !items.iter().any(is_same) {
                items.push(item);
            }
        }
        items.sort_by_key(|(sample, _)| match sample {
            Sample::Of(_, Shape::Reference) => usize::MAX,
            Sample::Of(scheme, _) => *scheme,
            _ => usize::MAX,
        });
        if plots.iter().any(|plot| plot.marked().any(|datum| plot.is_unsure(datum))) {
            items.push((Sample::Unsure, "hollow: no interval, too few flows or seeds".into()));
        }
        let marks = || plots.iter().map(|plot| &plot.marks);
        if let Some(marks) = marks().find(|marks| !marks.ranges.is_empty()) {
            items.push((Sample::Range, marks.words.range[1].into()));
        }
        if let Some(marks) = marks().find(|marks| !marks.levels.is_empty()) {
            items.push((Sample::Level, marks.words.level[1].into()));
        }
        Legend::of(items, font, width)
    }

    fn of(items: Vec<(Sample, String)>, font: &Font, width: i32) -> Legend {
        /// Between two items of a line.
        const BETWEEN: i32 = 3 * GAP;
        let most = width - 4 * GAP;
        let mut lines: Vec<(i32, Vec<Item>)> = Vec::new();
        for (sample, name) in items {
            let name = fitting(font, &name, TEXT, most - sample.width() - GAP);
            let needed = sample.width() + GAP + width_of(font, &name, TEXT);
            match lines.last_mut() {
                Some((used, line)) if *used + BETWEEN + needed <= most => {
                    line.push((sample, name, *used + BETWEEN));
                    *used += BETWEEN + needed;
                }
                _ => lines.push((needed, vec![(sample, name, 0)])),
            }
        }
        let centred = |(used, line): (i32, Vec<Item>)| {
            line.into_iter().map(|(sample, name, x)| (sample, name, x + (width - used) / 2)).collect()
        };
        Legend { lines: lines.into_iter().map(centred).collect() }
    }

    fn height(&self) -> i32 {
        LINE * self.lines.len() as i32 + 2 * GAP
    }

    fn draw(&self, sheet: &Sheet) {
        for (at, line) in (0..).zip(&self.lines) {
            let middle = GAP + LINE * at + LINE / 2;
            for (sample, name, x) in line {
                sample.draw(sheet, (*x, middle));
                let after = (x + sample.width() + GAP, middle);
                sheet.text(name, (TEXT, INK), (Across::Left, Down::Middle), 0, after);
            }
        }
    }
}

fn dashes(scheme: usize) -> &'static [i32] {
    const DASHES: [i32; 2] = [points(4), points(2)];
    const DOTS: [i32; 2] = [points(1), points(3) / 2];
    const DASH_DOT: [i32; 4] = [points(5), points(3) / 2, points(1), points(3) / 2];
    match Dash::of(scheme) {
        Dash::Solid => &[],
        Dash::Dashes => &DASHES,
        Dash::Dots => &DOTS,
        Dash::Both => &DASH_DOT,
    }
}

const LEVEL: [i32; 2] = [points(2), points(2)];
const RANGE_RADIUS: i32 = points(7) / 2;

/// A scheme's symbol around a point of the page.
fn mark(sheet: &Sheet, (x, y): Point, scheme: usize, is_unsure: bool) {
    const R: i32 = RADIUS;
    /// Half of the thickness of a cross's arms.
    const T: i32 = RADIUS * 2 / 5;
    /// Corners of shapes that look as large as the circle.
    const S: i32 = RADIUS * 9 / 10;
    const D: i32 = RADIUS * 13 / 10;
    const U: i32 = RADIUS * 11 / 10;
    let ink = ink_of(scheme);
    let corners: &[Point] = match Symbol::of(scheme) {
        Symbol::Circle => {
            sheet.circle((x, y), R.unsigned_abs(), Paint::Fill(if is_unsure { WHITE } else { ink }));
            if is_unsure {
                ring(sheet, (x, y), R, stroke(ink, 7));
            }
            return;
        }
        Symbol::Square => &[(-S, -S), (S, -S), (S, S), (-S, S)],
        Symbol::Diamond => &[(0, -D), (D, 0), (0, D), (-D, 0)],
        Symbol::Up => &[(0, -D), (U, S), (-U, S)],
        Symbol::Down => &[(0, D), (U, -S), (-U, -S)],
        Symbol::Cross => {
            const A: i32 = RADIUS * 11 / 10;
            &[
                (-A, -A + T),
                (-A + T, -A),
                (0, -T),
                (A - T, -A),
                (A, -A + T),
                (T, 0),
                (A, A - T),
                (A - T, A),
                (0, T),
                (-A + T, A),
                (-A, A - T),
                (-T, 0),
            ]
        }
        Symbol::Plus => &[
            (-T, -D),
            (T, -D),
            (T, -T),
            (D, -T),
            (D, T),
            (T, T),
            (T, D),
            (-T, D),
            (-T, T),
            (-D, T),
            (-D, -T),
            (-T, -T),
        ],
    };
    let mut around: Vec<Point> = corners.iter().map(|(right, down)| (x + right, y + down)).collect();
    sheet.polygon(around.clone(), if is_unsure { WHITE } else { ink });
    if is_unsure {
        around.push(around[0]);
        sheet.line(around, stroke(ink, 7));
    }
}
