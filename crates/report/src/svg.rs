//! Writes a drawing as self-contained SVG: letters are outlines, and it names no font, file or address. Within a page its text is
//! text, in the page's letters.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use askama::filters::{Html, escape};
use ttf_parser::GlyphId;

use crate::font::Font;
use crate::sheet::{Drawing, Mark, Outline, Paint, Point, Text};
use flowsieve_settings::files::printable;

/// The drawing. `width` is the width to be shown, with its unit.
pub(crate) fn svg(drawing: &Drawing, width: &str) -> String {
    let (across, down) = drawing.size;
    let title = shown(&drawing.title);
    let writer = Writer::of(drawing, false);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"{width}\" \
         viewBox=\"0 0 {across} {down}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n<defs>"
    );
    for (GlyphId(letter), outline) in writer.letters {
        // Writing into a String does not fail.
        let _ = writeln!(svg, "<path id=\"letter-{letter}\" d=\"{outline}\"/>");
    }
    svg + "</defs>\n<g fill=\"none\" stroke-linejoin=\"round\">\n" + &writer.body + "</g>\n</svg>\n"
}

/// The drawing for a page, whose styles choose its size and letters.
pub(crate) fn inline(drawing: &Drawing) -> String {
    let ((across, down), title) = (drawing.size, shown(&drawing.title));
    let body = Writer::of(drawing, true).body;
    format!("<svg viewBox=\"0 0 {across} {down}\" role=\"img\" aria-label=\"{title}\" fill=\"none\">{body}</svg>")
}

struct Writer<'a> {
    font: &'a Font,
    is_inline: bool,
    body: String,
    /// The letters in use, with their outlines.
    letters: BTreeMap<GlyphId, String>,
}

impl Writer<'_> {
    fn of(drawing: &Drawing, is_inline: bool) -> Writer<'_> {
        let mut writer = Writer { font: &drawing.font, is_inline, body: String::new(), letters: BTreeMap::new() };
        for mark in &drawing.marks {
            // Writing into a String does not fail.
            let _ = writer.mark(mark);
        }
        writer
    }

    fn mark(&mut self, mark: &Mark) -> std::fmt::Result {
        match mark {
            Mark::Begin(None) => write!(self.body, "<g>"),
            Mark::Begin(Some(title)) => write!(self.body, "<g><title>{}</title>", shown(title)),
            Mark::BeginDashes(lengths) => {
                let lengths: Vec<String> = lengths.iter().map(i32::to_string).collect();
                write!(self.body, "<g stroke-dasharray=\"{}\">", lengths.join(" "))
            }
            Mark::End => writeln!(self.body, "</g>"),
            Mark::Shape(outline, paint) => {
                let element = match outline {
                    Outline::Rectangle { x, y, width, height } => {
                        format!("rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"")
                    }
                    Outline::Circle { x, y, radius } => format!("circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\""),
                    Outline::Path { points, closed } => {
                        format!("path d=\"{}{}\"", path(points, self.is_inline), if *closed { "Z" } else { "" })
                    }
                };
                match *paint {
                    Paint::Fill((red, green, blue)) => {
                        writeln!(self.body, "<{element} fill=\"#{red:02x}{green:02x}{blue:02x}\"/>")
                    }
                    Paint::Line { ink: (red, green, blue), width } => writeln!(
                        self.body,
                        "<{element} stroke=\"#{red:02x}{green:02x}{blue:02x}\" stroke-width=\"{width}\"/>"
                    ),
                }
            }
            Mark::Text(text) => self.text(text),
        }
    }

    fn text(&mut self, text: &Text) -> std::fmt::Result {
        let Text { text, ink: (red, green, blue), at: (x, y), degrees, scale, left, down, letters } = text;
        if self.is_inline {
            // As wide as the letters of which the drawing was made, whatever the page's are; of numbers the difference is small.
            let (length, size) = (self.font.set(&printable(text)).1, self.font.units_per_em() * scale);
            let anchor = match left {
                0 => "start",
                left if *left == length => "end",
                _ => "middle",
            };
            let (length, down) = (f64::from(length) * scale, down * scale);
            let fitted = match text.len() {
                ..6 => String::new(),
                _ => format!(" textLength=\"{length:.0}\" lengthAdjust=\"spacingAndGlyphs\""),
            };
            let place = match degrees {
                0 => format!("x=\"{x}\" y=\"{:.0}\"", f64::from(*y) + down),
                _ => format!("transform=\"translate({x} {y}){}\" y=\"{down:.0}\"", turned(*degrees)),
            };
            return write!(
                self.body,
                "<text {place} font-size=\"{size:.0}\" text-anchor=\"{anchor}\"{fitted} \
                 fill=\"#{red:02x}{green:02x}{blue:02x}\">{}</text>",
                shown(text),
            );
        }
        let turn = turned(*degrees);
        write!(
            self.body,
            "<g role=\"img\" aria-label=\"{}\" fill=\"#{red:02x}{green:02x}{blue:02x}\" \
             transform=\"translate({x} {y}){turn} scale({scale} -{scale}) translate(-{left} -{down})\">",
            shown(text),
        )?;
        for letter in letters {
            let outline = self.letters.entry(letter.glyph).or_insert_with(|| self.font.outline(letter.glyph));
            if !outline.is_empty() {
                write!(self.body, "<use xlink:href=\"#letter-{}\" x=\"{}\"/>", letter.glyph.0, letter.x)?;
            }
        }
        writeln!(self.body, "</g>")
    }
}

fn turned(degrees: i32) -> String {
    if degrees == 0 { String::new() } else { format!(" rotate({degrees})") }
}

/// Escapes text for XML, without the characters that XML refuses.
fn shown(text: &str) -> String {
    let text = printable(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    // Escaping into a String does not fail.
    escape(&text, Html).map_or_else(|never| match never {}, |text| text.to_string())
}

/// Points one after the other as the data of a path; a short one says only what changes.
fn path(points: &[Point], is_short: bool) -> String {
    let mut path = String::new();
    let mut before = None;
    for &(x, y) in points {
        // Writing into a String does not fail.
        let _ = match before.replace((x, y)) {
            None => write!(path, "M{x} {y}"),
            Some((_, same)) if is_short && same == y => write!(path, "H{x}"),
            Some((same, _)) if is_short && same == x => write!(path, "V{y}"),
            Some(_) => write!(path, "L{x} {y}"),
        };
    }
    path
}
