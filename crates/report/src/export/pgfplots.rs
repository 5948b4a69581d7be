//! A figure as LaTeX draws it: axes of pgfplots in the paper's own letters, in the colours, marks and dashes of every other figure.

use std::fmt::{self, Write};

use super::latex::escaped;
use crate::axes::Scaled;
use crate::figure::{Base, Datum, Figure, Plot, Series, Shape};
use crate::format::capitalised;
use crate::looks::{Dash, Symbol, colour, marked_of};

/// All plots of a result's figure, each as a float of one column; or as one float across two columns, with `across` plots next
/// to each other.
pub(super) fn latex(figure: &Figure, columns: u8, across: usize) -> String {
    let mut text = String::from("% \\usepackage{pgfplots} \\pgfplotsset{compat=1.16}\n");
    // Writing into a String does not fail.
    let _ = if columns == 2 {
        float(&mut text, "figure*", &figure.plots, &figure.plots, across, &figure.title)
    } else {
        figure.plots.iter().try_for_each(|plot| {
            let caption =
                if figure.title.is_empty() { &plot.title } else { &format!("{}: {}", figure.title, plot.title) };
            float(&mut text, "figure", &[Plot { title: String::new(), ..plot.clone() }], &figure.plots, 1, caption)
        })
    };
    text
}

/// Plots below their legend; `all` are those of the figure.
fn float(text: &mut String, float: &str, plots: &[Plot], all: &[Plot], across: usize, caption: &str) -> fmt::Result {
    writeln!(text, "\\begin{{{float}}}[t]\n  \\centering\n  \\small")?;
    let width = WIDTH / across as f64;
    writeln!(
        text,
        "  \\pgfplotsset{{every axis/.append style={{width={width:.3}\\linewidth, height={:.3}\\linewidth, \
         title style={{font=\\small, align=center, text width={:.3}\\linewidth}},\n    \
         tick label style={{font=\\scriptsize}}, ymajorgrids}}}}",
        HEIGHT * width,
        TITLE * width,
    )?;
    let mut legend: Vec<&Series> = Vec::new();
    for series in plots.iter().flat_map(|plot| &plot.series) {
        if !legend.iter().any(|other| other.label == series.label) {
            legend.push(series);
        }
    }
    for (at, series) in legend.iter().enumerate() {
        let between = if at == 0 { "" } else { "\\quad\n" };
        write!(text, "{between}  {}~{}", sample(series), escaped(&series.label))?;
    }
    writeln!(text, "\\par")?;
    for (at, plot) in plots.iter().enumerate() {
        axis(text, plot, all)?;
        if at + 1 < plots.len() {
            writeln!(text, "{}", if (at + 1) % across == 0 { "  \\par" } else { "  \\hfill" })?;
        }
    }
    writeln!(text, "  \\caption{{{}.}}\n\\end{{{float}}}", escaped(&capitalised(caption)))
}

/// Share of the page: pgfplots may put slightly more around an axis than it reckons.
const WIDTH: f64 = 0.96;
/// Share of a plot's width.
const HEIGHT: f64 = 0.62;
const TITLE: f64 = 0.75;

/// Shares of the room of a name: that of bars, and half of that of a reference.
const BARS: f64 = 0.8;
const REFERENCE: f64 = 0.43;

/// The style of a series in its plot and in the legend.
fn look(series: &Series) -> String {
    let part = |at: usize| u8::from_str_radix(&colour(series.scheme)[at..at + 2], 16).unwrap_or(0);
    let ink = format!("{{rgb,255:red,{};green,{};blue,{}}}", part(1), part(3), part(5));
    let dash = match Dash::of(series.scheme) {
        Dash::Solid => "solid",
        Dash::Dashes => "dashed",
        Dash::Dots => "dotted",
        Dash::Both => "dashdotted",
    };
    let mark = match Symbol::of(series.scheme) {
        Symbol::Circle => "mark=*",
        Symbol::Square => "mark=square*",
        Symbol::Diamond => "mark=diamond*",
        Symbol::Up => "mark=triangle*",
        Symbol::Down => "mark=triangle*, mark options={solid, rotate=180}",
        Symbol::Cross => "mark=x",
        Symbol::Plus => "mark=+",
    };
    // The symbol's own options come last, so they win.
    let marks = format!("mark options={{solid}}, {mark}, mark size=1.6pt");
    match series.shape {
        Shape::Line => format!("color={ink}, {dash}, thick, {marks}"),
        Shape::Dots => format!("color={ink}, only marks, {marks}"),
        Shape::Bars => format!("ybar, draw=none, fill={ink}, mark=none"),
        Shape::Reference => "very thick, mark=none".into(),
    }
}

/// The legend's sample before a name.
fn sample(series: &Series) -> String {
    let look = look(series).replace("ybar, ", "");
    match series.shape {
        Shape::Bars => format!("\\tikz\\path[{look}] (0,0) rectangle (5pt,5pt);"),
        Shape::Dots => format!("\\tikz[baseline=-0.6ex]\\draw[{look}] plot coordinates {{(0,0)}};"),
        Shape::Line | Shape::Reference => {
            format!(
                "\\tikz[baseline=-0.6ex]\\draw[{look}, mark indices={{2}}] plot coordinates {{(0,0) (9pt,0) (18pt,0)}};"
            )
        }
    }
}

fn axis(text: &mut String, plot: &Plot, all: &[Plot]) -> fmt::Result {
    writeln!(text, "  \\begin{{tikzpicture}}\n    \\begin{{axis}}[title={{{}}},", escaped(&plot.title))?;
    writeln!(text, "      xlabel={{{}}}, ylabel={{{}}},", escaped(&plot.x.label()), escaped(&plot.y.label()))?;
    // Bars on a logarithmic axis would stand on its end by themselves.
    let foot = if plot.y.base == Base::Ratio { ", log origin y=0" } else { "" };
    writeln!(text, "      {}{foot},", scaled("y", &plot.y_scaled_among(all)))?;
    writeln!(text, "      {}, x tick label style={{align=center}}]", scaled("x", &plot.x_scaled()))?;
    for (series, (bar, bars)) in plot.series.iter().zip(plot.bar_places()) {
        match series.shape {
            Shape::Bars => {
                let width = BARS / bars as f64;
                let aside = width * (bar as f64 + 0.5) - BARS / 2.0;
                let look = format!("{}, bar width={width}, bar shift=0pt", look(series));
                values(text, series, &look, aside, "black")?;
            }
            Shape::Reference => {
                for datum in &series.data {
                    let ends = [-REFERENCE, REFERENCE].map(|aside| (datum.x + aside, datum.y));
                    writeln!(text, "      \\addplot[{}] coordinates {{{}}};", look(series), places(ends))?;
                }
            }
            Shape::Line | Shape::Dots => {
                let mut look = look(series);
                let every = marked_of(series.data.len());
                if every > 1 {
                    look += &format!(", mark repeat={every}");
                }
                values(text, series, &look, 0.0, "solid")?;
            }
        }
    }
    writeln!(text, "    \\end{{axis}}\n  \\end{{tikzpicture}}")
}

/// The options of an axis: its mode, its ends, and its ticks with their words.
fn scaled(axis: &str, scaled: &Scaled) -> String {
    let Scaled { is_log, from, to, ticks, .. } = scaled;
    let tick = |(at, words): &(f64, String)| {
        let lines: Vec<String> = words.lines().map(escaped).collect();
        (at.to_string(), format!("{{{}}}", lines.join("\\\\")))
    };
    let (at, words): (Vec<String>, Vec<String>) = ticks.iter().map(tick).unzip();
    let mode = if *is_log { format!("{axis}mode=log, ") } else { String::new() };
    let (at, words) = (at.join(","), words.join(","));
    format!("{mode}{axis}min={from}, {axis}max={to}, {axis}tick={{{at}}}, {axis}ticklabels={{{words}}}")
}

fn places(data: impl IntoIterator<Item = (f64, f64)>) -> String {
    data.into_iter().map(|(x, y)| format!("({x},{y})")).collect::<Vec<String>>().join(" ")
}

/// Values with their intervals, moved aside.
fn values(text: &mut String, series: &Series, look: &str, aside: f64, interval: &str) -> fmt::Result {
    if series.data.iter().all(|datum| datum.ends.is_none()) {
        let data = series.data.iter().map(|datum| (datum.x + aside, datum.y));
        return writeln!(text, "      \\addplot[{look}] coordinates {{{}}};", places(data));
    }
    writeln!(
        text,
        "      \\addplot[{look}, error bars/.cd, y dir=both, y explicit, error bar style={{{interval}}}]\n        \
         table[x=x, y=y, y error minus=below, y error plus=above, row sep=\\\\] {{\n        x y below above\\\\"
    )?;
    for Datum { x, y, ends, .. } in &series.data {
        let (low, high) = ends.unwrap_or((*y, *y));
        writeln!(text, "        {} {y} {} {}\\\\", x + aside, y - low, high - y)?;
    }
    writeln!(text, "        }};")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Base, tests::plot};

    #[test]
    fn latex__an_axis_a_plot_with_values_intervals_and_ticks() {
        let figure = Figure {
            title: "50 % & more".into(),
            plots: vec![plot(Base::Zero, &[1.0, 2.0]), plot(Base::Zero, &[1.0])],
        };
        let latex = latex(&figure, 1, 1);
        assert!(latex.starts_with("% \\usepackage{pgfplots}"), "{latex}");
        assert_eq!(latex.matches("\\begin{figure}").count(), 2);
        assert!(latex.contains("\\caption{50 \\% \\& more: Mean FCT, all flows.}\n\\end{figure}"), "{latex}");
        assert!(latex.contains("xtick={0.5,0.6}, xticklabels={{0.5},{0.6}}, x tick"), "{latex}");
        assert!(latex.contains("ytick={0,0.5,1,1.5,2,2.5}, yticklabels={{0.0},{0.5},{1.0},"), "{latex}");
        assert!(latex.contains("xlabel={load}, ylabel={FCT (ms)},"), "{latex}");
        // The interval of 2 is from 1.8 to 2.4.
        assert!(latex.contains("0.6 2 0.19999999999999996 0.3999999999999999\\\\"), "{latex}");
        assert_eq!((latex.matches("\\addplot[").count(), latex.matches("~dctcp").count()), (4, 2), "{latex}");
    }

    #[test]
    fn latex__plots_stand_beside_and_below_each_other_and_braces_close() {
        let bars = |shape: Shape, scheme: usize, name: &str| Series {
            scheme,
            name: name.into(),
            label: name.into(),
            shape,
            data: vec![Datum { x: 0.0, y: 3.0, ..Datum::default() }, Datum { x: 1.0, y: 5.0, ..Datum::default() }],
        };
        let links = Plot {
            series: vec![bars(Shape::Bars, 0, "a"), bars(Shape::Bars, 4, "b"), bars(Shape::Reference, 0, "offered")],
            ..plot(Base::Zero, &[])
        };
        let figure =
            Figure { title: String::new(), plots: vec![links.clone(), plot(Base::ZeroOrLog, &[1.0, 50.0]), links] };
        let latex = latex(&figure, 2, 2);
        assert_eq!((latex.matches("\\hfill").count(), latex.matches("  \\par\n").count()), (1, 1), "{latex}");
        assert!(
            latex.contains("ymode=log")
                && latex.contains("bar width=0.4, bar shift=0pt] coordinates {(-0.2,3) (0.8,5)};")
        );
        assert!(latex.contains("coordinates {(-0.43,3) (0.43,3)};") && latex.contains("\\end{figure*}"), "{latex}");
        assert_eq!(latex.matches('{').count(), latex.matches('}').count());
    }
}
