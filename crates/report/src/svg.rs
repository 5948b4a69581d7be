//! Writes what plotters draws as self-contained SVG: letters are outlines, and it names no font, file or address.
//!
//! All coordinates are whole numbers of [`PER_POINT`] to a point of a printed page, so that a drawing has the same bytes everywhere.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write as _;

use askama::filters::{Html, escape};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontTransform,
};
use ttf_parser::GlyphId;

use crate::font::Font;
use flowsieve_files::printable;

/// Units of a drawing in a point; an inch has 72 points.
pub(crate) const PER_POINT: i32 = 20;

/// A drawing in progress.
pub(crate) struct Sheet {
    title: String,
    size: (u32, u32),
    font: Font,
    written: RefCell<Written>,
}

#[derive(Default)]
struct Written {
    body: String,
    /// The letters in use, with their outlines.
    letters: BTreeMap<GlyphId, String>,
}

impl Sheet {
    /// An empty sheet of this size in units.
    pub(crate) fn new(title: &str, size: (u32, u32), font: Font) -> Sheet {
        Sheet { title: title.to_owned(), size, font, written: RefCell::default() }
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
        self.write(format_args!("<g><title>{}</title>", shown(title)));
    }

    /// Lines drawn until [`Sheet::end`] have dashes and gaps of these lengths; without any they are whole.
    pub(crate) fn begin_dashes(&self, lengths: &[i32]) {
        let lengths: Vec<String> = lengths.iter().map(i32::to_string).collect();
        match lengths.as_slice() {
            [] => self.write(format_args!("<g>")),
            lengths => self.write(format_args!("<g stroke-dasharray=\"{}\">", lengths.join(" "))),
        }
    }

    pub(crate) fn end(&self) {
        self.write(format_args!("</g>\n"));
    }

    fn write(&self, text: std::fmt::Arguments<'_>) {
        // Writing into a String does not fail.
        let _ = self.written.borrow_mut().body.write_fmt(text);
    }

    /// The drawing. `width` is the width to be shown, with its unit.
    pub(crate) fn into_svg(self, width: &str) -> String {
        let (across, down) = self.size;
        let Written { body, letters } = self.written.into_inner();
        let title = shown(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"{width}\" \
             viewBox=\"0 0 {across} {down}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n<defs>"
        );
        for (GlyphId(letter), outline) in letters {
            // Writing into a String does not fail.
            let _ = writeln!(svg, "<path id=\"letter-{letter}\" d=\"{outline}\"/>");
        }
        svg + "</defs>\n<g fill=\"none\" stroke-linejoin=\"round\">\n" + &body + "</g>\n</svg>\n"
    }
}

/// Escapes text for XML, without the characters that XML refuses.
fn shown(text: &str) -> String {
    let text = printable(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    // Escaping into a String does not fail.
    escape(&text, Html).map_or_else(|never| match never {}, |text| text.to_string())
}

/// Draws on a sheet.
pub(crate) struct Pen<'a> {
    sheet: &'a Sheet,
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl Pen<'_> {
    /// An element, with its line or filled.
    fn shape<S: BackendStyle>(&self, element: std::fmt::Arguments<'_>, style: &S, fill: bool) -> Drawn {
        let BackendColor { alpha, rgb: (red, green, blue) } = style.color();
        let width = style.stroke_width();
        if alpha == 0.0 {
            return Ok(());
        }
        match fill {
            true => self.sheet.write(format_args!("<{element} fill=\"#{red:02x}{green:02x}{blue:02x}\"/>\n")),
            false => self.sheet.write(format_args!(
                "<{element} stroke=\"#{red:02x}{green:02x}{blue:02x}\" stroke-width=\"{width}\"/>\n"
            )),
        }
        Ok(())
    }
}

/// Points one after the other as the data of a path.
fn path(points: impl IntoIterator<Item = BackendCoord>) -> String {
    let mut path = String::new();
    for (x, y) in points {
        let command = if path.is_empty() { 'M' } else { 'L' };
        // Writing into a String does not fail.
        let _ = write!(path, "{command}{x} {y}");
    }
    path
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
        self.shape(format_args!("rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\""), style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, points: I, style: &S) -> Drawn {
        self.shape(format_args!("path d=\"{}\"", path(points)), style, false)
    }

    fn draw_circle<S: BackendStyle>(&mut self, (x, y): BackendCoord, radius: u32, style: &S, fill: bool) -> Drawn {
        self.shape(format_args!("circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\""), style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, points: I, style: &S) -> Drawn {
        self.shape(format_args!("path d=\"{}Z\"", path(points)), style, true)
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Drawn {
        let font = &self.sheet.font;
        let (size, anchor, (red, green, blue)) = (style.size(), style.anchor(), style.color().rgb);
        if text.is_empty() {
            return Ok(());
        }
        if let Some((first, below)) = text.split_once('\n') {
            // As far apart as the letters are high, and a seventh.
            self.draw_text(first, style, (x, y))?;
            return self.draw_text(below, style, (x, y + (size * 8.0 / 7.0) as i32));
        }
        let (placed, width) = font.set(&printable(text));
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
        let turn = match style.transform() {
            FontTransform::None => "",
            FontTransform::Rotate90 => " rotate(90)",
            FontTransform::Rotate180 => " rotate(180)",
            FontTransform::Rotate270 => " rotate(-90)",
        };
        let scale = size / font.units_per_em();
        let mut letters = String::new();
        for letter in &placed {
            let mut written = self.sheet.written.borrow_mut();
            let outline = written.letters.entry(letter.glyph).or_insert_with(|| font.outline(letter.glyph));
            if !outline.is_empty() {
                // Writing into a String does not fail.
                let _ = write!(letters, "<use xlink:href=\"#letter-{}\" x=\"{}\"/>", letter.glyph.0, letter.x);
            }
        }
        self.sheet.write(format_args!(
            "<g aria-label=\"{}\" fill=\"#{red:02x}{green:02x}{blue:02x}\" \
             transform=\"translate({x} {y}){turn} scale({scale} -{scale}) translate(-{left} -{})\">{letters}</g>\n",
            shown(text),
            down.round(),
        ));
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
