//! Writes a drawing as a PDF of one page, as large as the drawing. Letters are outlines, as in SVG, so that no font is missing; what
//! they say is kept next to them, so that it can be searched and copied.

use std::collections::BTreeMap;

use pdf_writer::types::LineJoinStyle;
use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, TextStr};
use ttf_parser::{GlyphId, OutlineBuilder};

use crate::sheet::{Drawing, Ink, Mark, Outline, PER_POINT, Paint, Text};
use flowsieve_settings::files::printable;

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const ABOUT: Ref = Ref::new(5);
const FIRST_LETTER: i32 = 6;

/// The drawing as a file.
pub(crate) fn pdf(drawing: &Drawing) -> Vec<u8> {
    let points = |units: u32| units as f32 / PER_POINT as f32;
    let (width, height) = (points(drawing.size.0), points(drawing.size.1));
    let mut writer = Writer { content: Content::new(), letters: BTreeMap::new() };
    // A drawing counts from its upper left corner down, a page from its lower left corner up.
    let unit = points(1);
    writer.content.transform([unit, 0.0, 0.0, -unit, 0.0, height]).set_line_join(LineJoinStyle::RoundJoin);
    for mark in &drawing.marks {
        writer.mark(mark, &|letter| outline(drawing, letter));
    }
    let Writer { content, letters } = writer;
    let content = content.finish();

    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    let mut page = pdf.page(PAGE);
    page.media_box(Rect::new(0.0, 0.0, width, height)).parent(PAGES).contents(CONTENT);
    let mut resources = page.resources();
    let mut outlines = resources.x_objects();
    let drawn = letters.iter().filter_map(|(letter, outline)| Some((letter, outline.as_ref()?)));
    let mut objects = Vec::new();
    for (id, (letter, outline)) in (FIRST_LETTER..).map(Ref::new).zip(drawn) {
        outlines.pair(Name(name(*letter).as_bytes()), id);
        objects.push((id, outline));
    }
    outlines.finish();
    resources.finish();
    page.finish();
    let em = drawing.font.units_per_em() as f32;
    for (id, outline) in objects {
        // No letter reaches as far as two sizes from where it begins.
        pdf.form_xobject(id, outline).bbox(Rect::new(-2.0 * em, -2.0 * em, 3.0 * em, 3.0 * em));
    }
    pdf.stream(CONTENT, &content);
    pdf.document_info(ABOUT).title(TextStr(&printable(&drawing.title))).creator(TextStr("Flowsieve"));
    pdf.finish()
}

/// A letter's name among the page's resources.
fn name(letter: GlyphId) -> String {
    format!("letter{}", letter.0)
}

/// Fills the outline of a letter; nothing for a space.
fn outline(drawing: &Drawing, letter: GlyphId) -> Option<Vec<u8>> {
    let mut pen = Pen { content: Content::new(), at: (0.0, 0.0), is_empty: true };
    drawing.font.trace(letter, &mut pen);
    if pen.is_empty {
        return None;
    }
    pen.content.fill_nonzero();
    Some(pen.content.finish().into_vec())
}

/// Follows an outline.
struct Pen {
    content: Content,
    at: (f32, f32),
    is_empty: bool,
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.content.move_to(x, y);
        (self.at, self.is_empty) = ((x, y), false);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.content.line_to(x, y);
        self.at = (x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        // PDF has cubic curves alone: their handles lie two thirds of the way to the quadratic one's.
        let towards = |from: f32, to: f32| from + (to - from) * 2.0 / 3.0;
        let (from_x, from_y) = self.at;
        self.curve_to(towards(from_x, x1), towards(from_y, y1), towards(x, x1), towards(y, y1), x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.content.cubic_to(x1, y1, x2, y2, x, y);
        self.at = (x, y);
    }

    fn close(&mut self) {
        self.content.close_path();
    }
}

struct Writer {
    content: Content,
    /// The letters in use, with their outlines.
    letters: BTreeMap<GlyphId, Option<Vec<u8>>>,
}

impl Writer {
    fn mark(&mut self, mark: &Mark, outline: &dyn Fn(GlyphId) -> Option<Vec<u8>>) {
        match mark {
            Mark::Begin(_) => _ = self.content.save_state(),
            Mark::BeginDashes(lengths) => {
                self.content.save_state().set_dash_pattern(lengths.iter().map(|length| *length as f32), 0.0);
            }
            Mark::End => _ = self.content.restore_state(),
            Mark::Shape(outline, paint) => {
                match *paint {
                    Paint::Fill(ink) => self.fill_with(ink),
                    Paint::Line { ink, width } => {
                        let [red, green, blue] = parts(ink);
                        self.content.set_stroke_rgb(red, green, blue).set_line_width(width as f32);
                    }
                }
                self.follow(outline);
                match paint {
                    Paint::Fill(_) => self.content.fill_nonzero(),
                    Paint::Line { .. } => self.content.stroke(),
                };
            }
            Mark::Text(text) => self.text(text, outline),
        }
    }

    fn fill_with(&mut self, ink: Ink) {
        let [red, green, blue] = parts(ink);
        self.content.set_fill_rgb(red, green, blue);
    }

    fn follow(&mut self, outline: &Outline) {
        let content = &mut self.content;
        match outline {
            Outline::Rectangle { x, y, width, height } => {
                content.rect(*x as f32, *y as f32, *width as f32, *height as f32);
            }
            Outline::Circle { x, y, radius } => {
                /// Of handles that bend a quarter of a circle.
                const HANDLE: f32 = 0.552_285;
                let (x, y, r) = (*x as f32, *y as f32, *radius as f32);
                let h = HANDLE * r;
                content
                    .move_to(x + r, y)
                    .cubic_to(x + r, y + h, x + h, y + r, x, y + r)
                    .cubic_to(x - h, y + r, x - r, y + h, x - r, y)
                    .cubic_to(x - r, y - h, x - h, y - r, x, y - r)
                    .cubic_to(x + h, y - r, x + r, y - h, x + r, y)
                    .close_path();
            }
            Outline::Path { points, closed } => {
                for (index, (x, y)) in points.iter().enumerate() {
                    if index == 0 {
                        content.move_to(*x as f32, *y as f32);
                    } else {
                        content.line_to(*x as f32, *y as f32);
                    }
                }
                if *closed {
                    content.close_path();
                }
            }
        }
    }

    fn text(&mut self, text: &Text, outline: &dyn Fn(GlyphId) -> Option<Vec<u8>>) {
        let Text { text, ink, at: (x, y), degrees, scale, left, down, letters } = text;
        self.fill_with(*ink);
        let said = printable(text);
        self.content.begin_marked_content_with_properties(Name(b"Span")).properties().actual_text(TextStr(&said));
        // Letters stand upright in a drawing that counts down.
        let scale = *scale as f32;
        let (cos, sin) = match degrees {
            90 => (0.0, 1.0),
            180 => (-1.0, 0.0),
            -90 => (0.0, -1.0),
            _ => (1.0, 0.0),
        };
        self.content.save_state().transform([
            scale * cos,
            scale * sin,
            scale * sin,
            -scale * cos,
            *x as f32,
            *y as f32,
        ]);
        self.content.transform([1.0, 0.0, 0.0, 1.0, -(*left as f32), -(*down as f32)]);
        let mut before = 0.0;
        for letter in letters {
            if self.letters.entry(letter.glyph).or_insert_with(|| outline(letter.glyph)).is_some() {
                let x = letter.x as f32;
                self.content.transform([1.0, 0.0, 0.0, 1.0, x - before, 0.0]);
                self.content.x_object(Name(name(letter.glyph).as_bytes()));
                before = x;
            }
        }
        self.content.restore_state().end_marked_content();
    }
}

/// Of an ink, from 0 to 1.
fn parts((red, green, blue): Ink) -> [f32; 3] {
    [red, green, blue].map(|part| f32::from(part) / 255.0)
}
