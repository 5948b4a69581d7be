//! Takes down what is drawn, for the formats that a drawing is written in: letters are outlines of one font.
//!
//! All coordinates are whole numbers of [`PER_POINT`] to a point of a printed page, so that a drawing has the same bytes everywhere.

use std::cell::RefCell;

use crate::font::{Font, Placed};
use flowsieve_settings::files::printable;

/// Units of a drawing in a point; an inch has 72 points.
pub(crate) const PER_POINT: i32 = 20;

/// Red, green and blue.
pub(crate) type Ink = (u8, u8, u8);

/// From the left and from above, in units.
pub(crate) type Point = (i32, i32);

/// Where a text has its anchor, from left to right.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Across {
    Left,
    Middle,
    Right,
}

/// The same from above to below. A text is as high as its capitals: descenders lie in the margins.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Down {
    Top,
    Middle,
    Bottom,
}

/// Something that was drawn.
pub(crate) enum Mark {
    /// Everything until the end belongs together, and may have a title.
    Begin(Option<String>),
    /// Lines until the end have dashes and gaps of these lengths; without any they are whole.
    BeginDashes(Vec<i32>),
    End,
    Shape(Outline, Paint),
    Text(Text),
}

pub(crate) enum Outline {
    Rectangle { x: i32, y: i32, width: u32, height: u32 },
    Circle { x: i32, y: i32, radius: u32 },
    Path { points: Vec<Point>, closed: bool },
}

/// How an outline is drawn.
#[derive(Clone, Copy)]
pub(crate) enum Paint {
    Line { ink: Ink, width: u32 },
    Fill(Ink),
}

/// A line of letters.
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) ink: Ink,
    /// Its anchor.
    pub(crate) at: Point,
    /// How far it is turned around its anchor, clockwise.
    pub(crate) degrees: i32,
    /// Units of the drawing for one of the font.
    pub(crate) scale: f64,
    /// From the beginning of its first letter to its anchor, in units of the font.
    pub(crate) left: u32,
    /// From its anchor down to its letters' feet, in units of the font.
    pub(crate) down: f64,
    pub(crate) letters: Vec<Placed>,
}

/// A drawing in progress.
pub(crate) struct Sheet {
    title: String,
    size: (u32, u32),
    font: Font,
    marks: RefCell<Vec<Mark>>,
}

/// A finished one.
pub(crate) struct Drawing {
    pub(crate) title: String,
    pub(crate) size: (u32, u32),
    pub(crate) font: Font,
    pub(crate) marks: Vec<Mark>,
}

impl Sheet {
    /// An empty sheet of this size in units.
    pub(crate) fn new(title: &str, size: (u32, u32), font: Font) -> Sheet {
        Sheet { title: title.to_owned(), size, font, marks: RefCell::default() }
    }

    pub(crate) fn font(&self) -> &Font {
        &self.font
    }

    /// Everything drawn until [`Sheet::end`] belongs together, and shows this title under the pointer.
    pub(crate) fn begin(&self, title: &str) {
        self.add(Mark::Begin(Some(title.to_owned())));
    }

    /// Lines drawn until [`Sheet::end`] have dashes and gaps of these lengths; without any they are whole.
    pub(crate) fn begin_dashes(&self, lengths: &[i32]) {
        self.add(match lengths {
            [] => Mark::Begin(None),
            lengths => Mark::BeginDashes(lengths.to_vec()),
        });
    }

    pub(crate) fn end(&self) {
        self.add(Mark::End);
    }

    /// A line through points.
    pub(crate) fn line(&self, points: impl Into<Vec<Point>>, (ink, width): (Ink, u32)) {
        let outline = Outline::Path { points: points.into(), closed: false };
        self.add(Mark::Shape(outline, Paint::Line { ink, width }));
    }

    /// A filled shape with these corners.
    pub(crate) fn polygon(&self, points: Vec<Point>, ink: Ink) {
        self.add(Mark::Shape(Outline::Path { points, closed: true }, Paint::Fill(ink)));
    }

    /// A filled rectangle between two of its corners.
    pub(crate) fn rectangle(&self, [from, to]: [Point; 2], ink: Ink) {
        let (x, y) = (from.0.min(to.0), from.1.min(to.1));
        let (width, height) = (from.0.abs_diff(to.0), from.1.abs_diff(to.1));
        self.add(Mark::Shape(Outline::Rectangle { x, y, width, height }, Paint::Fill(ink)));
    }

    pub(crate) fn circle(&self, (x, y): Point, radius: u32, paint: Paint) {
        self.add(Mark::Shape(Outline::Circle { x, y, radius }, paint));
    }

    /// Letters of this size, turned clockwise around their anchor.
    pub(crate) fn text(
        &self,
        text: &str,
        (size, ink): (i32, Ink),
        (across, down): (Across, Down),
        degrees: i32,
        at: Point,
    ) {
        let size = f64::from(size);
        // Lines are as far apart as the letters are high, and a seventh.
        let line_height = (size * 8.0 / 7.0) as i32;
        for (line, text) in (0..).zip(text.split('\n')).filter(|(_, text)| !text.is_empty()) {
            let (letters, width) = self.font.set(&printable(text));
            let capital = self.font.capital() * self.font.units_per_em();
            let left = match across {
                Across::Left => 0,
                Across::Middle => width / 2,
                Across::Right => width,
            };
            let down = match down {
                Down::Top => capital,
                Down::Middle => capital / 2.0,
                Down::Bottom => 0.0,
            };
            self.add(Mark::Text(Text {
                text: text.to_owned(),
                ink,
                at: (at.0, at.1 + line * line_height),
                degrees,
                scale: size / self.font.units_per_em(),
                left,
                down: down.round(),
                letters,
            }));
        }
    }

    fn add(&self, mark: Mark) {
        self.marks.borrow_mut().push(mark);
    }

    pub(crate) fn into_drawing(self) -> Drawing {
        Drawing { title: self.title, size: self.size, font: self.font, marks: self.marks.into_inner() }
    }
}
