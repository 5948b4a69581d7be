//! The numbers of plots as one tidy table, from which each of them can be drawn again. It has a row for each value of a series,
//! which names its own place and units.

use std::io::{self, Write};

use crate::figure::{Datum, Marks, Places, Plot, Range, Shape};
use crate::format::rounded;

/// A plot and what distinguishes it from others of the same title.
pub(crate) struct Row<'a> {
    /// The other swept keys, in words.
    pub(crate) case: String,
    /// The value on the x axis of other plots to which it belongs.
    pub(crate) at: String,
    /// Its flows.
    pub(crate) class: String,
    pub(crate) plot: &'a Plot,
}

const COLUMNS: &str = "plot,case,at,class,series,kind,x_name,x_unit,x,from_bytes,to_bytes,y_name,y_unit,y,low,high";

/// Writes the values of plots, one after the other; those of a sample of receivers with a column that says so.
pub(crate) fn write<'a>(
    out: impl Write,
    screened: Option<&str>,
    plots: impl IntoIterator<Item = Row<'a>>,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(COLUMNS.split(',').chain(screened.map(|_| "screened")))?;
    for Row { case, at, class, plot } in plots {
        let Plot { x: x_axis, y: y_axis, .. } = plot;
        let mut row = |series: &str, kind: &str, [x, from, to, y, low, high]: [String; 6]| {
            let cells = [
                &*plot.title,
                &case,
                &at,
                &class,
                series,
                kind,
                &x_axis.name,
                &x_axis.unit,
                &x,
                &from,
                &to,
                &y_axis.name,
                &y_axis.unit,
                &y,
                &low,
                &high,
            ];
            csv.write_record(cells.into_iter().chain(screened))
        };
        let name = |scheme: usize| {
            plot.series.iter().find(|series| series.scheme == scheme).map_or("", |series| &*series.name)
        };
        // Places without an axis are those of the series, which it shows under the labels of the legend.
        let is_by_series = x_axis.name.is_empty() && matches!(x_axis.places, Places::Names(_));
        let place = |scheme: usize, x: f64| if is_by_series { name(scheme).to_owned() } else { x_axis.place(x) };
        for series in &plot.series {
            let kind = if series.shape == Shape::Reference { "reference" } else { "measured" };
            for datum in &series.data {
                row(&series.name, kind, cells(place(series.scheme, datum.x), datum))?;
            }
        }
        let nothing = String::new;
        let Marks { words, ranges, levels } = &plot.marks;
        for &Range { scheme, x, low, high } in ranges {
            let cells = [place(scheme, x), nothing(), nothing(), nothing(), value(low), value(high)];
            row(name(scheme), words.range[0], cells)?;
        }
        for &(scheme, level) in levels {
            let cells = [nothing(), nothing(), nothing(), value(level), nothing(), nothing()];
            row(name(scheme), words.level[0], cells)?;
        }
    }
    csv.flush()
}

fn value(value: f64) -> String {
    rounded(value).to_string()
}

/// The x, the sizes, y and the ends of the interval of a value.
fn cells(place: String, datum: &Datum) -> [String; 6] {
    let [low, high] = datum.ends.map_or([String::new(), String::new()], |(low, high)| [low, high].map(value));
    let from = datum.sizes.map_or(String::new(), |sizes| sizes.above.to_string());
    let to = datum.sizes.and_then(|sizes| sizes.up_to).map_or(String::new(), |bytes| bytes.to_string());
    [place, from, to, value(datum.y), low, high]
}
