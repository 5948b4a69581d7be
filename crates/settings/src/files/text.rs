//! Texts from outside, for a terminal and for a spreadsheet.

use std::borrow::Cow;

/// Returns whether a terminal obeys the character, or whether it changes the direction of the text after it (Unicode's
/// embeddings, overrides and isolates).
pub fn leads(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Makes control characters visible, which a terminal would obey and XML refuses, and characters that change the
/// direction of the text after them.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(leads) { text.replace(leads, "\u{fffd}").into() } else { text.into() }
}

/// Prepares a whole message or table for a terminal: like [`printable`], but keeps lines and tabs and, if `colour` is
/// set, the colours of this program's own messages and tables. It is the last step before output.
pub fn for_terminal(text: &str, colour: bool) -> Cow<'_, str> {
    if !text.contains(|letter| leads(letter) && letter != '\n' && letter != '\t') {
        return text.into();
    }
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(letter) = rest.chars().next() {
        if let Some(length) = colour.then(|| own_colour(rest)).flatten() {
            shown.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        shown.push(if leads(letter) && letter != '\n' && letter != '\t' { '\u{fffd}' } else { letter });
        rest = &rest[letter.len_utf8()..];
    }
    shown.into()
}

/// Returns the length of the sequence of a colour, or of bold, faint or underlined letters, at the start of a text
/// (ECMA-48, 8.3.117). None of them hides or moves text.
fn own_colour(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\x1b[")?;
    let end = inner.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    let is_own = |code: &str| matches!(code.parse(), Ok(0_u8..=2 | 4 | 22 | 30..=37 | 39 | 90..=97)) || code.is_empty();
    (end <= 8 && inner[end..].starts_with('m') && inner[..end].split(';').all(is_own)).then_some(end + 3)
}

/// Writes a cell of a CSV file that no spreadsheet takes for a formula: an apostrophe precedes what would begin one.
/// Numbers stay.
pub fn safe_cell(cell: &str) -> Cow<'_, str> {
    let begins = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if begins && cell.parse::<f64>().is_err() { format!("'{cell}").into() } else { cell.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn printable__shows_what_a_terminal_or_a_reader_would_be_led_by() {
        let leads = "a\u{1b}[2J\n\u{7f}\u{9b}m\u{202e}b\u{2066}c\u{2069}";
        assert_eq!(printable(leads), "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}m\u{fffd}b\u{fffd}c\u{fffd}");
        assert_eq!(printable("µs – שלום"), "µs – שלום");
    }

    #[test]
    fn for_terminal__keeps_lines_and_colours_and_nothing_else() {
        let text = "\x1b[1m\x1b[91merror\x1b[0m: a\n\tb\x1b[2J\x1b]0;title\x07\x1b[8mhidden\r\x1b[31;8m\u{9b}2J\x1b";
        let shown = "\u{fffd}[2J\u{fffd}]0;title\u{fffd}\u{fffd}[8mhidden\u{fffd}\u{fffd}[31;8m\u{fffd}2J\u{fffd}";
        assert_eq!(for_terminal(text, true), format!("\x1b[1m\x1b[91merror\x1b[0m: a\n\tb{shown}"));
        assert!(!for_terminal(text, false).contains('\x1b'));
        assert_eq!(for_terminal("plain\n\tµ", false), "plain\n\tµ");
    }

    #[test]
    fn safe_cell__quotes_formulas_and_no_numbers() {
        for (cell, safe) in [
            ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
            ("+a", "'+a"),
            ("-a", "'-a"),
            ("@a", "'@a"),
            ("-1.5e3", "-1.5e3"),
            ("pias", "pias"),
            ("", ""),
        ] {
            assert_eq!(safe_cell(cell), safe);
        }
    }

    proptest! {
        // The same cases each time.
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(38), failure_persistence: None, ..ProptestConfig::with_cases(300)
        })]
        #[test]
        fn for_terminal__of_any_text_obeys_nothing(text in "(\\PC|\x1b|\\[|[0-9;m]|\u{9b}|\n){0,40}") {
            let plain = for_terminal(&text, false);
            prop_assert!(plain.chars().all(|letter| !leads(letter) || letter == '\n' || letter == '\t'));
            prop_assert_eq!(plain.chars().count(), text.chars().count());
        }
    }
}
