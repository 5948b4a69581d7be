//! Figures for print: one or two columns of a page wide, with letters of eight points.

mod panel;
#[cfg(test)]
mod tests;

use plotters::coord::Shift;
use plotters::prelude::{
    Circle, DrawingArea, IntoDrawingArea, PathElement, Polygon, RGBColor, Rectangle, Text, TextStyle, WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, ShapeStyle};

use crate::figure::{Figure, Shape};
use crate::font::Font;
use crate::looks::{Dash, Symbol, colour};
use crate::sheet::{Drawing, PER_POINT, Pen, Sheet};
use crate::{pdf, svg};
use panel::Panel;

/// The most plots that are readable in one figure.
pub(crate) const MOST_PLOTS: usize = 9;

const fn points(many: i32) -> i32 {
    many * PER_POINT
}

const TEXT: i32 = points(8);
const LINE: i32 = points(10);
const GAP: i32 = points(3);
const SAMPLE: i32 = points(18);
const RADIUS: i32 = points(21) / 10;
const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const RULE: RGBColor = RGBColor(0x66, 0x66, 0x66);

/// Width of a figure on the pages of most journals and proceedings of two columns.
#[derive(Clone, Copy)]
struct Width {
    in_words: &'static str,
    units: i32,
}

const ONE_COLUMN: Width = Width { in_words: "3.5in", units: points(252) };
const TWO_COLUMNS: Width = Width { in_words: "7.16in", units: points(51_552) / 100 };

type Area<'a> = DrawingArea<Pen<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// A figure as wide as one or two columns of a page.
pub(crate) fn svg(figure: &Figure, columns: u8) -> Result<String, Box<dyn std::error::Error>> {
    let width = width(columns);
    Ok(svg::svg(&drawn(figure, width, columns)?, width.in_words))
}

/// The same as a PDF.
pub(crate) fn pdf(figure: &Figure, columns: u8) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    Ok(pdf::pdf(&drawn(figure, width(columns), columns)?))
}

fn width(columns: u8) -> Width {
    if columns == 2 { TWO_COLUMNS } else { ONE_COLUMN }
}

/// Plots next to and below each other, below a legend.
fn drawn(figure: &Figure, width: Width, columns: u8) -> Result<Drawing, Box<dyn std::error::Error>> {
    let font = Font::new()?;
    let across = across(figure.plots.len(), columns);
    let panel_width = width.units / i32::try_from(across)?;
    let legend = Legend::new(figure, &font, width.units);
    let panels: Vec<Panel> = figure.plots.iter().map(|plot| Panel::new(plot, &font, panel_width)).collect();
    let heights: Vec<i32> = panels.chunks(across).map(|row| row.iter().map(Panel::height).max().unwrap_or(0)).collect();
    let down = legend.height() + heights.iter().sum::<i32>();
    let sheet = Sheet::new(&figure.title, (u32::try_from(width.units)?, u32::try_from(down)?), font);
    let root = sheet.pen().into_drawing_area();
    root.fill(&WHITE)?;
    legend.draw(&root, &sheet)?;
    let mut top = legend.height();
    for (row, height) in panels.chunks(across).zip(heights) {
        for (at, panel) in (0..).zip(row) {
            let area = root.clone().shrink((at * panel_width, top), (panel_width, height));
            panel.draw(&area, &root, &sheet)?;
        }
        top += height;
    }
    drop(root);
    Ok(sheet.into_drawing())
}

/// The metrics of a paper's claims, for a page of a screen.
pub(crate) fn of_claims(figure: &Figure) -> Option<String> {
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

fn style(size: i32, h_pos: HPos, v_pos: VPos) -> TextStyle<'static> {
    TextStyle::from(("", size)).color(&INK).pos(Pos::new(h_pos, v_pos))
}

fn ink_of(scheme: usize) -> RGBColor {
    let part = |at: usize| u8::from_str_radix(&colour(scheme)[at..at + 2], 16).unwrap_or(0);
    RGBColor(part(1), part(3), part(5))
}

fn stroke(colour: RGBColor, tenths_of_a_point: i32) -> ShapeStyle {
    colour.stroke_width((tenths_of_a_point * PER_POINT / 10).unsigned_abs())
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
    Claimed,
    Stated,
}

impl Sample {
    fn width(self) -> i32 {
        match self {
            Sample::Of(_, Shape::Line) | Sample::Stated => SAMPLE,
            Sample::Of(..) | Sample::Claimed => 4 * RADIUS,
        }
    }

    fn draw(self, root: &Area<'_>, sheet: &Sheet, (left, middle): (i32, i32)) -> Drawn {
        let centre = (left + self.width() / 2, middle);
        let line = [(left, middle), (left + self.width(), middle)];
        match self {
            Sample::Of(scheme, Shape::Line) => {
                sheet.begin_dashes(dashes(scheme));
                root.draw(&PathElement::new(line, stroke(ink_of(scheme), 11)))?;
                sheet.end();
                mark(root, centre, scheme)
            }
            Sample::Of(scheme, Shape::Dots) => mark(root, centre, scheme),
            Sample::Of(scheme, Shape::Bars) => {
                let half = points(3);
                let corners = [(centre.0 - half, middle - half), (centre.0 + half, middle + half)];
                Ok(root.draw(&Rectangle::new(corners, ink_of(scheme).filled()))?)
            }
            Sample::Of(_, Shape::Reference) => Ok(root.draw(&PathElement::new(line, stroke(INK, 15)))?),
            Sample::Claimed => Ok(root.draw(&Circle::new(centre, CLAIMED_RADIUS, stroke(RULE, 8)))?),
            Sample::Stated => {
                sheet.begin_dashes(&STATED);
                root.draw(&PathElement::new(line, stroke(RULE, 8)))?;
                sheet.end();
                Ok(())
            }
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
    fn new(figure: &Figure, font: &Font, width: i32) -> Legend {
        let mut items: Vec<(Sample, String)> = Vec::new();
        for series in figure.plots.iter().flat_map(|plot| &plot.series) {
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
            Sample::Of(_, Shape::Reference) | Sample::Claimed | Sample::Stated => usize::MAX,
            Sample::Of(scheme, _) => *scheme,
        });
        if figure.plots.iter().any(|plot| !plot.claimed.is_empty()) {
            items.push((Sample::Claimed, "claimed change".into()));
        }
        if figure.plots.iter().any(|plot| !plot.stated.is_empty()) {
            items.push((Sample::Stated, "claimed value".into()));
        }
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

    fn draw(&self, root: &Area<'_>, sheet: &Sheet) -> Drawn {
        for (at, line) in (0..).zip(&self.lines) {
            let middle = GAP + LINE * at + LINE / 2;
            for (sample, name, x) in line {
                sample.draw(root, sheet, (*x, middle))?;
                root.draw(&Text::new(
                    &**name,
                    (x + sample.width() + GAP, middle),
                    style(TEXT, HPos::Left, VPos::Center),
                ))?;
            }
        }
        Ok(())
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

const STATED: [i32; 2] = [points(2), points(2)];
const CLAIMED_RADIUS: i32 = points(7) / 2;

/// A scheme's symbol around a point of the page.
fn mark(root: &Area<'_>, (x, y): (i32, i32), scheme: usize) -> Drawn {
    const R: i32 = RADIUS;
    /// Half of the thickness of a cross's arms.
    const T: i32 = RADIUS * 2 / 5;
    /// Corners of shapes that look as large as the circle.
    const S: i32 = RADIUS * 9 / 10;
    const D: i32 = RADIUS * 13 / 10;
    const U: i32 = RADIUS * 11 / 10;
    let filled = ink_of(scheme).filled();
    let corners: &[(i32, i32)] = match Symbol::of(scheme) {
        Symbol::Circle => return Ok(root.draw(&Circle::new((x, y), R, filled))?),
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
    let around: Vec<(i32, i32)> = corners.iter().map(|(right, down)| (x + right, y + down)).collect();
    Ok(root.draw(&Polygon::new(around, filled))?)
}
