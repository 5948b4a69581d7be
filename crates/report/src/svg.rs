//! Writes a drawing as self-contained SVG: letters are outlines, and it names no font, file or address.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use askama::filters::{Html, escape};
use plotters_backend::BackendCoord;
use ttf_parser::GlyphId;

use crate::font::Font;
use crate::sheet::{Drawing, Mark, Outline, Paint, Text};
use flowsieve_files::printable;

/// The drawing. `width` is the width to be shown, with its unit.
pub(crate) fn svg(drawing: &Drawing, width: &str) -> String {
    let (across, down) = drawing.size;
    let title = shown(&drawing.title);
    let mut writer = Writer { font: &drawing.font, body: String::new(), letters: BTreeMap::new() };
    for mark in &drawing.marks {
        // Writing into a String does not fail.
        let _ = writer.mark(mark);
    }
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

struct Writer<'a> {
    font: &'a Font,
    body: String,
    /// The letters in use, with their outlines.
    letters: BTreeMap<GlyphId, String>,
}

impl Writer<'_> {
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
                        format!("path d=\"{}{}\"", path(points), if *closed { "Z" } else { "" })
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
        let turn = if *degrees == 0 { String::new() } else { format!(" rotate({degrees})") };
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

/// Escapes text for XML, without the characters that XML refuses.
fn shown(text: &str) -> String {
    let text = printable(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    // Escaping into a String does not fail.
    escape(&text, Html).map_or_else(|never| match never {}, |text| text.to_string())
}

/// Points one after the other as the data of a path.
fn path(points: &[BackendCoord]) -> String {
    let mut path = String::new();
    for (x, y) in points {
        let command = if path.is_empty() { 'M' } else { 'L' };
        // Writing into a String does not fail.
        let _ = write!(path, "{command}{x} {y}");
    }
    path
}
