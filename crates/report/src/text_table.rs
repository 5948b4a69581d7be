//! Tables as text: aligned columns that fit a terminal.

use std::borrow::Cow;

use flowsieve_settings::files::printable;

/// The least number of columns of a terminal.
pub(crate) const WIDTH: usize = 80;

/// The meaning of a colour, where there is colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As the rest of the text.
    Plain,
    /// It takes less.
    Better,
    /// It takes more.
    Worse,
    /// It is not known, or not reliable.
    Faint,
    /// It begins what follows.
    Heading,
}

impl Tone {
    /// Its text for a terminal with colours (ECMA-48).
    pub fn paint(self, text: &str, colour: bool) -> Cow<'_, str> {
        let code = match self {
            Tone::Plain => return text.into(),
            Tone::Better => 32,
            Tone::Worse => 31,
            Tone::Faint => 2,
            Tone::Heading => 1,
        };
        if colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m").into() } else { text.into() }
    }
}

/// A cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell { text: printable(text).into_owned(), tone: Tone::Plain }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        text.as_str().into()
    }
}

/// A column.
pub(crate) struct Column {
    pub(crate) heading: String,
    /// Words are to the left, numbers to the right.
    pub(crate) is_word: bool,
    /// If not all fit, the least important are left out; those of 0 never.
    pub(crate) importance: u8,
}

impl Column {
    pub(crate) fn words(heading: &str) -> Column {
        Column { heading: heading.into(), is_word: true, importance: 0 }
    }

    pub(crate) fn numbers(heading: &str, importance: u8) -> Column {
        Column { heading: heading.into(), is_word: false, importance }
    }
}

/// A table; `rows` have a cell for each column.
pub(crate) struct TextTable {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl TextTable {
    /// Its columns two blanks apart. The least important are left out if all would be wider than [`WIDTH`].
    pub(crate) fn text(&self, colour: bool) -> String {
        let length = |text: &str| text.chars().count();
        let width = |at: usize| {
            let cells = self.rows.iter().map(|row| length(&row[at].text));
            cells.fold(length(&self.columns[at].heading), usize::max)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let whole = |shown: &[usize]| shown.iter().map(|&at| widths[at] + 2).sum::<usize>().saturating_sub(2);
        while whole(&shown) > WIDTH {
            let droppable = shown.iter().copied().filter(|&at| self.columns[at].importance > 0);
            // If several are equally unimportant, the last.
            let Some(least) = droppable.rev().min_by_key(|&at| self.columns[at].importance) else { break };
            shown.retain(|&at| at != least);
        }
        let heading = |column: &Column| Cell { text: column.heading.clone(), tone: Tone::Heading };
        let header: Vec<Cell> = self.columns.iter().map(heading).collect();
        let mut text = String::new();
        for row in [&header].into_iter().chain(&self.rows) {
            let cells = shown.iter().map(|&at| {
                let Cell { text, tone } = &row[at];
                let blanks = " ".repeat(widths[at] - length(text));
                let text = tone.paint(text, colour);
                if self.columns[at].is_word { format!("{text}{blanks}") } else { format!("{blanks}{text}") }
            });
            text += cells.collect::<Vec<_>>().join("  ").trim_end();
            text.push('\n');
        }
        text
    }
}

/// A blank at which no line is broken, so that an option keeps its value.
pub(crate) const UNBROKEN: char = '\u{a0}';

/// Returns a paragraph, broken between words where it is wider than 80 columns; its other lines begin with `indent`.
pub fn paragraph(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(WIDTH)
        .subsequent_indent(indent)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit);
    textwrap::fill(&printable(text), options).replace(UNBROKEN, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(long: &str) -> TextTable {
        TextTable {
            columns: vec![Column::words("scheme"), Column::numbers("mean", 0), Column::numbers("flows", 1)],
            rows: vec![
                vec!["dctcp".into(), "4.70".into(), "20,000".into()],
                vec![long.into(), Cell { text: "0.93".into(), tone: Tone::Better }, "20,000".into()],
            ],
        }
    }

    #[test]
    fn text__aligned_with_the_colour_outside() {
        assert_eq!(table("pias").text(false), "scheme  mean   flows\ndctcp   4.70  20,000\npias    0.93  20,000\n");
        assert!(table("pias").text(true).ends_with("pias    \x1b[32m0.93\x1b[0m  20,000\n"));
    }

    #[test]
    fn text__what_matters_least_is_left_out_where_it_is_too_wide() {
        let long = "x".repeat(70);
        let text = table(&long).text(false);
        assert_eq!(text.lines().next_back(), Some(format!("{long}  0.93").as_str()));
        // A column of importance 0 stays, however wide.
        let longer = "x".repeat(90);
        assert!(table(&longer).text(false).contains(&longer));
    }

    #[test]
    fn paragraph__breaks_between_words_alone() {
        let text = paragraph(&format!("{} 0.930 (0.922–0.937) {}", "word ".repeat(13), "y".repeat(90)), "  ");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].chars().count() <= WIDTH && lines[1].starts_with("  "), "{text}");
        assert!(lines.iter().any(|line| line.trim() == "y".repeat(90)), "{text}");
        assert_eq!(
            paragraph(&format!("{} --seeds{UNBROKEN}12", "x".repeat(72)), ""),
            format!("{}\n--seeds 12", "x".repeat(72))
        );
    }
}
