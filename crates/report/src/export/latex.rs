//! Tables for LaTeX, with the package booktabs.

use std::fmt::Write as _;

use flowsieve_results::{Metric, ResultDir, Statistic};
use flowsieve_settings::files::printable;

use super::{Selection, value};
use crate::cases::{At, Case, Layout};
use crate::format::{UNTOLD, capitalised, number};
use crate::group::Group;

/// Text as LaTeX shows it.
pub(super) fn escaped(text: &str) -> String {
    let mut latex = String::new();
    for letter in printable(text).chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                latex.push('\\');
                latex.push(letter);
            }
            '\\' => latex.push_str("\\textbackslash{}"),
            '~' => latex.push_str("\\textasciitilde{}"),
            '^' => latex.push_str("\\textasciicircum{}"),
            // TeX's first fonts have these letters in other places.
            '<' => latex.push_str("\\textless{}"),
            '>' => latex.push_str("\\textgreater{}"),
            '|' => latex.push_str("\\textbar{}"),
            '\u{fffd}' => latex.push('?'),
            other => latex.push(other),
        }
    }
    latex
}

/// A booktabs table for each case, group and measure, with a column for each scheme; below a value its interval, then its ratio
/// to the first scheme. `columns`: how many columns of the page a table spans.
pub fn latex(dir: &ResultDir, layout: &Layout, selection: &Selection, columns: u8) -> String {
    let mut text = String::from("% \\usepackage{booktabs}\n");
    for case in &layout.cases {
        for &group in &selection.groups {
            for &measure in &selection.measures {
                // Writing into a String does not fail.
                let _ = latex_table(&mut text, dir, layout, (case, group, measure), columns);
            }
        }
    }
    text
}

/// The most schemes whose intervals fit next to each other in one column of a page, and across two.
const MOST_IN_ONE: usize = 3;
const MOST_IN_TWO: usize = 7;
/// The most schemes across two columns whose ratios have their intervals next to them, not below.
const MOST_WIDE: usize = 4;

/// What a table shows.
struct Table<'a> {
    dir: &'a ResultDir,
    case: &'a Case,
    group: Group,
    measure: (Metric, Statistic),
    /// Divides values.
    scale: f64,
    /// Whether a ratio has its interval next to it.
    is_wide: bool,
}

fn latex_table(
    text: &mut String,
    dir: &ResultDir,
    layout: &Layout,
    (case, group, (metric, statistic)): (&Case, Group, (Metric, Statistic)),
    columns: u8,
) -> std::fmt::Result {
    let experiment = &dir.manifest().experiment;
    let unit = group.unit(dir, case);
    let (what, scale) = match metric {
        Metric::Fct => (format!("{} {} ({})", statistic.name(), group.time(), unit.name), 1.0 / unit.of(1.0)),
        Metric::Slowdown => (format!("{} slowdown", statistic.name()), 1.0),
    };
    let seeds = case.points().map(|point| experiment.points[point].parts.len()).max().unwrap_or(0);
    let mut about = vec![what, group.name(dir)];
    about.extend(Some(layout.case_name(case)).filter(|name| !name.is_empty()));
    let first = experiment.schemes.first().map_or("", |scheme| experiment.label_of(&scheme.name));
    let schemes: Vec<&str> = experiment.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
    let (float, most) = if columns == 2 { ("table*", MOST_IN_TWO) } else { ("table", MOST_IN_ONE) };
    let is_wide = columns == 2 && schemes.len() <= MOST_WIDE;
    let table = Table { dir, case, group, measure: (metric, statistic), scale, is_wide };
    writeln!(text, "\\begin{{{float}}}[t]\n  \\centering\n  \\small\n  \\setlength{{\\tabcolsep}}{{4pt}}")?;
    let caption = escaped(&capitalised(&about.join(", ")));
    let seeds = format!("{seeds} seeds");
    writeln!(
        text,
        "  \\caption{{{caption}; 95\\,\\% intervals over {seeds}; below, the ratio to {}, paired by seed.}}",
        escaped(first)
    )?;
    // More schemes than fit the width stand below the first.
    for (index, schemes) in schemes.chunks(most).enumerate() {
        if index > 0 {
            writeln!(text, "  \\par\\medskip")?;
        }
        table.write(text, layout.x_name(), schemes)?;
    }
    writeln!(text, "\\end{{{float}}}")
}

impl Table<'_> {
    /// Some of its schemes next to each other.
    fn write(&self, text: &mut String, x_name: &str, schemes: &[&str]) -> std::fmt::Result {
        let experiment = &self.dir.manifest().experiment;
        writeln!(text, "  \\begin{{tabular}}{{l{}}}\n    \\toprule", "r".repeat(schemes.len()))?;
        let heads: Vec<String> = schemes.iter().map(|scheme| escaped(experiment.label_of(scheme))).collect();
        writeln!(text, "    {} & {} \\\\\n    \\midrule", escaped(x_name), heads.join(" & "))?;
        for at in &self.case.at {
            let lines = self.lines(at, schemes);
            for (index, line) in
                lines.iter().enumerate().filter(|(index, line)| *index == 0 || line.iter().any(|cell| !cell.is_empty()))
            {
                let head = if index == 0 { escaped(&at.name()) } else { String::new() };
                writeln!(text, "    {head} & {} \\\\", line.join(" & "))?;
            }
        }
        writeln!(text, "    \\bottomrule\n  \\end{{tabular}}")
    }

    /// By scheme: the values, their intervals, the ratios, and the intervals of these.
    fn lines(&self, at: &At, schemes: &[&str]) -> [Vec<String>; 4] {
        let experiment = &self.dir.manifest().experiment;
        let within = |interval: Option<(f64, f64)>, scale: f64| {
            interval.map_or(String::new(), |(low, high)| format!("[{}, {}]", number(low / scale), number(high / scale)))
        };
        let small = |text: String| if text.is_empty() { text } else { format!("{{\\footnotesize {text}}}") };
        let mut lines = [const { Vec::new() }; 4];
        for scheme in schemes {
            let point = at.points.iter().copied().find(|&point| experiment.points[point].scheme == *scheme);
            let value = point.and_then(|point| value(self.dir, point, self.group, self.measure));
            lines[0].push(match &value {
                None => "--".into(),
                Some(value) if value.untold.is_some() => UNTOLD.into(),
                Some(value) => number(value.estimate.value / self.scale),
            });
            let interval = value.as_ref().map_or(String::new(), |value| within(value.estimate.interval, self.scale));
            lines[1].push(small(interval));
            let ratio = value.and_then(|value| value.ratio);
            let interval = ratio.map_or(String::new(), |ratio| within(ratio.interval, 1.0));
            let ratio = ratio.map_or(String::new(), |ratio| number(ratio.value));
            let (ratio, below) = if self.is_wide {
                (format!("{ratio} {interval}").trim().to_owned(), String::new())
            } else {
                (ratio, interval)
            };
            lines[2].push(small(ratio));
            lines[3].push(small(below));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escaped__what_latex_would_read() {
        assert_eq!(
            escaped("a_b & 50% #1 {x} $~^\\ >10MB"),
            "a\\_b \\& 50\\% \\#1 \\{x\\} \\$\\textasciitilde{}\\textasciicircum{}\\textbackslash{} \\textgreater{}10MB"
        );
    }

    proptest! {
        /// Asserts that every special character has a backslash before it, and that braces balance.
        #[test]
        fn escaped__leaves_nothing_to_latex(text in any::<String>()) {
            let latex = escaped(&text);
            let named = ["backslash", "asciitilde", "asciicircum", "less", "greater", "bar"];
            let commands = named.iter().fold(latex.clone(), |text, name| text.replace(&format!("\\text{name}{{}}"), ""));
            let mut letters = commands.chars().peekable();
            while let Some(letter) = letters.next() {
                if letter == '\\' {
                    let next = letters.next();
                    prop_assert!(next.is_some_and(|next| "&%$#_{}".contains(next)), "{latex}");
                } else {
                    prop_assert!(!"&%$#_{}~^<>|".contains(letter) && !letter.is_control(), "{latex}");
                }
            }
        }
    }
}
