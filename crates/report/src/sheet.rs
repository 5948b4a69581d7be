//! Takes down what plotters draws, for the formats that a drawing is written in: letters are outlines of one font.
//!
//! All coordinates are whole numbers of [`PER_POINT`] to a point of a printed page, so that a drawing has the same bytes everywhere.

use std::cell::RefCell;
use std::convert::Infallible;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontTransform,
};

use crate::font::{Font, Placed};
use flowsieve_files::printable;

/// Units of a drawing in a point; an inch has 72 points.
pub(crate) const PER_POINT: i32 = 20;

/// Red, green and blue.
pub(crate) type Ink = (u8, u8, u8);

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
    Path { points: Vec<BackendCoord>, closed: bool },
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
    pub(crate) at: BackendCoord,
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

    /// The pen with which plotters draws.
    pub(crate) fn pen(&self) -> Pen<'_> {
        Pen { sheet: self }
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

    fn add(&self, mark: Mark) {
        self.marks.borrow_mut().push(mark);
    }

    pub(crate) fn into_drawing(self) -> Drawing {
        Drawing { title: self.title, size: self.size, font: self.font, marks: self.marks.into_inner() }
    }
}

/// Draws on a sheet.
pub(crate) struct Pen<'a> {
    sheet: &'a Sheet,
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl Pen<'_> {
    /// An outline, with its line or filled.
    fn shape<S: BackendStyle>(&self, outline: Outline, style: &S, fill: bool) -> Drawn {
        let BackendColor { alpha, rgb: ink } = style.color();
        if alpha > 0.0 {
            let paint = if fill { Paint::Fill(ink) } else { Paint::Line { ink, width: style.stroke_width() } };
            self.sheet.add(Mark::Shape(outline, paint));
        }
        Ok(())
    }
}

impl DrawingBackend for Pen<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.sheet.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> Drawn {
        self.draw_rect(at, (at.0 + 1, at.1 + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S, fill: bool) -> Drawn {
        let (x, y) = (from.0.min(to.0), from.1.min(to.1));
        let (width, height) = (from.0.abs_diff(to.0), from.1.abs_diff(to.1));
        self.shape(Outline::Rectangle { x, y, width, height }, style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, points: I, style: &S) -> Drawn {
        self.shape(Outline::Path { points: points.into_iter().collect(), closed: false }, style, false)
    }

    fn draw_circle<S: BackendStyle>(&mut self, (x, y): BackendCoord, radius: u32, style: &S, fill: bool) -> Drawn {
        self.shape(Outline::Circle { x, y, radius }, style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, points: I, style: &S) -> Drawn {
        self.shape(Outline::Path { points: points.into_iter().collect(), closed: true }, style, true)
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Drawn {
        let font = &self.sheet.font;
        let (size, anchor) = (style.size(), style.anchor());
        if text.is_empty() {
            return Ok(());
        }
        if let Some((first, below)) = text.split_once('\n') {
            // As far apart as the letters are high, and a seventh.
            self.draw_text(first, style, (x, y))?;
            return self.draw_text(below, style, (x, y + (size * 8.0 / 7.0) as i32));
        }
        let (letters, width) = font.set(&printable(text));
        let capital = font.capital() * font.units_per_em();
        let left = match anchor.h_pos {
            HPos::Left => 0,
            HPos::Center => width / 2,
            HPos::Right => width,
        };
        // Text is as high as its capitals: descenders lie in the margins.
        let down = match anchor.v_pos {
            VPos::Top => capital,
            VPos::Center => capital / 2.0,
            VPos::Bottom => 0.0,
        };
        let degrees = match style.transform() {
            FontTransform::None => 0,
            FontTransform::Rotate90 => 90,
            FontTransform::Rotate180 => 180,
            FontTransform::Rotate270 => -90,
        };
        self.sheet.add(Mark::Text(Text {
            text: text.to_owned(),
            ink: style.color().rgb,
            at: (x, y),
            degrees,
            scale: size / font.units_per_em(),
            left,
            down: down.round(),
            letters,
        }));
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let font = &self.sheet.font;
        Ok((font.width(text, style.size()).ceil() as u32, (font.capital() * style.size()).ceil() as u32))
    }
}
