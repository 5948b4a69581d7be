//! The letters of figures, as outlines of a font that the program carries (`fonts/`): a figure looks the same wherever it is shown.

use std::fmt::Write as _;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

const ROBOTO: &[u8] = include_bytes!("../fonts/Roboto-Regular.ttf");

/// Replaces a letter that the font does not have.
const MISSING: char = '\u{fffd}';

/// A font whose text is set letter by letter, from left to right.
pub(crate) struct Font {
    face: Face<'static>,
}

/// A letter of a text: its glyph, and where it begins, in units of the font.
pub(crate) struct Placed {
    pub(crate) glyph: GlyphId,
    pub(crate) x: u32,
}

impl Font {
    /// Fails only with a font that is damaged.
    pub(crate) fn new() -> Result<Font, ttf_parser::FaceParsingError> {
        Ok(Font { face: Face::parse(ROBOTO, 0)? })
    }

    /// Divide a size by this to get units of the font.
    pub(crate) fn units_per_em(&self) -> f64 {
        f64::from(self.face.units_per_em())
    }

    /// Height of capitals, as a share of the size.
    pub(crate) fn capital(&self) -> f64 {
        f64::from(self.face.capital_height().unwrap_or(self.face.ascender())) / self.units_per_em()
    }

    /// The letters of a text, and where it ends.
    pub(crate) fn set(&self, text: &str) -> (Vec<Placed>, u32) {
        let mut x = 0;
        let place = |letter: char| {
            let glyph =
                [letter, MISSING].into_iter().find_map(|letter| self.face.glyph_index(letter)).unwrap_or_default();
            let at = x;
            x += u32::from(self.face.glyph_hor_advance(glyph).unwrap_or(0));
            Placed { glyph, x: at }
        };
        let placed = text.chars().map(place).collect();
        (placed, x)
    }

    /// Width of a text.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        f64::from(self.set(text).1) * size / self.units_per_em()
    }

    /// The outline of a letter as the data of an SVG path, in units of the font, upwards; empty for a space.
    pub(crate) fn outline(&self, glyph: GlyphId) -> String {
        let mut path = Path(String::new());
        self.trace(glyph, &mut path);
        path.0
    }

    /// Follows the outline of a letter, in units of the font, upwards; draws nothing for a space.
    pub(crate) fn trace(&self, glyph: GlyphId, pen: &mut dyn OutlineBuilder) {
        self.face.outline_glyph(glyph, pen);
    }
}

struct Path(String);

impl Path {
    /// Ends of lines and curves lie on whole units or half way between them.
    fn add(&mut self, command: char, at: &[f32]) {
        self.0.push(command);
        for (index, at) in at.iter().enumerate() {
            let gap = if index > 0 && *at >= 0.0 { " " } else { "" };
            // Writing into a String does not fail.
            let _ = write!(self.0, "{gap}{at}");
        }
    }
}

impl OutlineBuilder for Path {
    fn move_to(&mut self, x: f32, y: f32) {
        self.add('M', &[x, y]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.add('L', &[x, y]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.add('Q', &[x1, y1, x, y]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.add('C', &[x1, y1, x2, y2, x, y]);
    }

    fn close(&mut self) {
        self.0.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set__every_letter_of_figures_is_there_and_others_have_a_sign() {
        let font = Font::new().unwrap();
        let glyph = |letter: char| font.set(&letter.to_string()).0[0].glyph;
        let missing = glyph(MISSING);
        for letter in (' '..='~').chain("±×–—µ≈≤≥−…αλ".chars()) {
            assert_ne!(glyph(letter), missing, "{letter}");
        }
        assert_eq!(glyph('語'), missing);
        assert_ne!(missing, GlyphId(0));
    }

    #[test]
    fn width__adds_up_and_scales() {
        let font = Font::new().unwrap();
        assert_eq!(font.width("", 8.0), 0.0);
        assert!((font.width("ab", 8.0) - font.width("a", 8.0) - font.width("b", 8.0)).abs() < 1e-9);
        assert!((font.width("load", 16.0) - 2.0 * font.width("load", 8.0)).abs() < 1e-9);
    }

    #[test]
    fn outline__lines_and_curves_or_nothing() {
        let font = Font::new().unwrap();
        let of = |letter: char| font.outline(font.set(&letter.to_string()).0[0].glyph);
        assert_eq!(of(' '), "");
        assert!(of('o').starts_with('M') && of('o').contains('Q') && of('o').ends_with('Z'), "{}", of('o'));
        // A stroke has four sides.
        assert_eq!(of('l').matches('L').count(), 4, "{}", of('l'));
    }
}
