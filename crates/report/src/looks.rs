//! The style of a scheme in every figure: one colour, one symbol and one dash, by its number in the sweep.
//!
//! The first three colours are Paul Tol's high-contrast scheme (<https://sronpersonalpages.nl/~pault/>); the others lie between
//! them. Printed in grey, any two differ in lightness; with any kind of colour vision you can tell neighbours apart. Symbol and
//! dash say the same without colour, and continue where the colours begin anew.

/// Ordered so that neighbours are far apart in lightness.
const COLOURS: [&str; 6] = ["#004488", "#DDAA33", "#BB5566", "#000000", "#40A796", "#0B6B2E"];

/// Returns n such that every n-th value of a line has a mark: more than 40 marks would hide the line, and then about 20
/// remain.
pub(crate) fn marked_of(values: usize) -> usize {
    if values > 40 { values.div_ceil(20) } else { 1 }
}

/// The colour of a scheme, as red, green and blue in hexadecimal.
pub(crate) fn colour(scheme: usize) -> &'static str {
    COLOURS[scheme % COLOURS.len()]
}

/// The look of a scheme, in the names that the Python package takes for symbols and dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Red, green and blue in hexadecimal: `#004488`.
    pub colour: &'static str,
    /// The symbol of its values.
    pub symbol: &'static str,
    /// The dash of its lines.
    pub dash: &'static str,
}

/// Returns the look of a scheme by its number in the sweep: that of the report, for figures that others draw.
pub fn look(scheme: usize) -> Look {
    let symbol = match Symbol::of(scheme) {
        Symbol::Circle => "circle",
        Symbol::Square => "square",
        Symbol::Diamond => "diamond",
        Symbol::Up => "triangle-up",
        Symbol::Down => "triangle-down",
        Symbol::Cross => "x",
        Symbol::Plus => "cross",
    };
    let dash = match Dash::of(scheme) {
        Dash::Solid => "solid",
        Dash::Dashes => "dash",
        Dash::Dots => "dot",
        Dash::Both => "dashdot",
    };
    Look { colour: colour(scheme), symbol, dash }
}

/// The symbol of a scheme's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Symbol {
    Circle,
    Square,
    Diamond,
    Up,
    Down,
    Cross,
    Plus,
}

impl Symbol {
    pub(crate) fn of(scheme: usize) -> Symbol {
        use Symbol::{Circle, Cross, Diamond, Down, Plus, Square, Up};
        const ALL: [Symbol; 7] = [Circle, Square, Diamond, Up, Down, Cross, Plus];
        ALL[scheme % ALL.len()]
    }
}

/// The dash of a scheme's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dash {
    Solid,
    Dashes,
    Dots,
    /// Dashes and dots in turn.
    Both,
}

impl Dash {
    pub(crate) fn of(scheme: usize) -> Dash {
        const ALL: [Dash; 4] = [Dash::Solid, Dash::Dashes, Dash::Dots, Dash::Both];
        ALL[scheme % ALL.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// CIE L*, from 0 (black) to 100 (white).
    fn lightness(colour: &str) -> f64 {
        let part = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        let linear = |part: f64| if part <= 0.040_45 { part / 12.92 } else { libm::pow((part + 0.055) / 1.055, 2.4) };
        let y = 0.2126 * linear(part(1)) + 0.7152 * linear(part(3)) + 0.0722 * linear(part(5));
        if y > 0.008_856 { 116.0 * libm::cbrt(y) - 16.0 } else { 903.3 * y }
    }

    #[test]
    fn colour__any_two_differ_in_grey_and_stand_out_from_white() {
        for (index, one) in COLOURS.iter().enumerate() {
            assert!(lightness(one) < 75.0, "{one}");
            for other in &COLOURS[..index] {
                assert!((lightness(one) - lightness(other)).abs() > 9.0, "{one} {other}");
            }
        }
        for pair in COLOURS.windows(2) {
            assert!((lightness(pair[0]) - lightness(pair[1])).abs() > 20.0, "{pair:?}");
        }
    }

    #[test]
    fn symbol__with_the_dash_no_two_of_many_schemes_look_the_same_without_colour() {
        let looks: BTreeSet<(Symbol, Dash)> = (0..28).map(|scheme| (Symbol::of(scheme), Dash::of(scheme))).collect();
        assert_eq!(looks.len(), 28);
    }
}
