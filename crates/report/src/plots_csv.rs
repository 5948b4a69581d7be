//! `plots.csv`: the numbers of every plot of the page, a row for each place of a series, with the ends of its interval.

use std::io::{self, Write};

use flowsieve_results::SizeClass;
use serde_json::Value;

use crate::cases::Layout;
use crate::figures::Figure;
use crate::format::rounded;

/// Writes what the page's plots show, one after the other.
pub(crate) fn write(out: impl Write, figures: &[&Figure], layout: &Layout, classes: &[SizeClass]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["plot", "case", layout.x_name(), "class", "axis", "series", "x", "y", "low", "high"])?;
    for figure in figures {
        let Some(plot) = &figure.plot else { continue };
        let case = &layout.cases[figure.case];
        let at = figure.at.map_or(String::new(), |at| case.at[at].name());
        let class = figure.class.map_or("", |class| &classes[class].name);
        let axis = text(&plot["layout"]["yaxis"]["title"]["text"]);
        let labels = [&*figure.title, &layout.case_name(case), &at, class, &axis];
        for trace in list(&plot["data"]) {
            for row in rows(trace) {
                csv.write_record(labels.into_iter().chain(row.iter().map(String::as_str)))?;
            }
        }
    }
    csv.flush()
}

/// The series, x, y and the ends of the interval at each place of a trace.
fn rows(trace: &Value) -> impl Iterator<Item = [String; 5]> {
    let (up, down) = (list(&trace["error_y"]["array"]), list(&trace["error_y"]["arrayminus"]));
    list(&trace["x"]).iter().zip(list(&trace["y"])).enumerate().map(move |(at, (x, y))| {
        let end = |lengths: &[Value], sign: f64| {
            let end = lengths.get(at).and_then(Value::as_f64).zip(y.as_f64());
            end.map_or(String::new(), |(length, y)| rounded(y + sign * length).to_string())
        };
        [text(&trace["name"]), text(x), text(y), end(down, -1.0), end(up, 1.0)]
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
