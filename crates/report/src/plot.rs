//! The looks of a plot, as what plotly.js draws: traces, layout and configuration of its own JSON
//! (<https://plotly.com/javascript/reference/>).
//!
//! A scheme has one colour, one symbol and one dash throughout. The colours are Okabe and Ito's, which people with any
//! kind of colour vision tell apart; the symbol says the same without colour.

use serde_json::{Value, json};

use crate::format::rounded;

/// Okabe and Ito's colours, without the yellow that vanishes on white.
pub(crate) const COLOURS: [&str; 7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];

/// A value of a scheme, with the ends of its interval.
pub(crate) struct Datum {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) ends: Option<(f64, f64)>,
}

/// What a scheme has in a plot.
pub(crate) struct Series {
    /// Its number in the sweep.
    pub(crate) scheme: usize,
    pub(crate) name: String,
    pub(crate) data: Vec<Datum>,
}

/// A vertical axis from zero to where values and intervals end, or a logarithmic one where the values span more than
/// shows on that.
pub(crate) fn fitting_axis(title: &str, series: &[Series]) -> Value {
    const SPAN: f64 = 20.0;
    let data = || series.iter().flat_map(|series| &series.data);
    let (least, most) =
        data().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), datum| (least.min(datum.y), most.max(datum.y)));
    let mut axis = axis(title);
    if most > SPAN * least {
        axis["type"] = json!("log");
    } else {
        let end = data().map(|datum| datum.ends.map_or(datum.y, |(_, high)| high)).fold(most, f64::max);
        axis["range"] = json!([0.0, rounded(1.05 * end)]);
    }
    axis
}

/// A vertical axis from zero.
pub(crate) fn axis_from_zero(title: &str) -> Value {
    let mut axis = axis(title);
    axis["rangemode"] = json!("tozero");
    axis
}

/// An axis of numbers.
pub(crate) fn axis(title: &str) -> Value {
    json!({
        "title": { "text": title, "font": { "size": 13 } },
        "gridcolor": "#e6e6e6",
        "linecolor": "#999999",
        "zeroline": false,
        "automargin": true,
    })
}

/// An axis of numbers, some of which have names.
pub(crate) fn named_axis(title: &str, values: &[f64], names: &[String]) -> Value {
    let mut axis = axis(title);
    axis["tickvals"] = json!(values);
    axis["ticktext"] = json!(names);
    axis
}

/// An axis of names.
pub(crate) fn category() -> Value {
    let mut axis = axis("");
    axis["type"] = json!("category");
    axis
}

/// A line for each series.
pub(crate) fn lines(series: &[Series]) -> Vec<Value> {
    let line = |series: &Series| {
        let x: Vec<f64> = series.data.iter().map(|datum| rounded(datum.x)).collect();
        let mut line = points(series, "lines+markers", json!(x));
        line["line"] = json!({ "color": colour(series.scheme), "dash": dash(series.scheme), "width": 2 });
        line
    };
    series.iter().map(line).collect()
}

/// A dot for each series, over its name.
pub(crate) fn dots(series: &[Series]) -> Vec<Value> {
    series.iter().map(|series| points(series, "markers", json!(vec![&series.name; series.data.len()]))).collect()
}

/// A scheme's bars over names.
pub(crate) fn bar(scheme: usize, name: &str, names: &[String], heights: &[f64]) -> Value {
    json!({ "type": "bar", "name": name, "x": names, "y": heights, "marker": { "color": colour(scheme) } })
}

/// Short lines across bars, to hold them against.
pub(crate) fn reference(name: &str, names: &[String], heights: &[f64]) -> Value {
    let marker = json!({ "symbol": "line-ew-open", "size": 26, "line": { "width": 3 }, "color": "#333333" });
    json!({ "type": "scatter", "name": name, "mode": "markers", "x": names, "y": heights, "marker": marker })
}

/// The plot; `None` without traces.
pub(crate) fn draw(traces: Vec<Value>, x_axis: Value, y_axis: Value) -> Option<Value> {
    if traces.is_empty() {
        return None;
    }
    Some(json!({
        "data": traces,
        "layout": {
            "font": { "family": "system-ui, sans-serif", "size": 13, "color": "#222222" },
            // The bar of buttons is above the legend.
            "margin": { "l": 64, "r": 16, "t": 64, "b": 56 },
            "height": 380,
            "showlegend": true,
            "legend": { "orientation": "h", "x": 0, "y": 1, "yanchor": "bottom" },
            "barmode": "group",
            "hovermode": "closest",
            "xaxis": x_axis,
            "yaxis": y_axis,
        },
        "config": {
            "responsive": true,
            "displaylogo": false,
            "displayModeBar": "hover",
            "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
        },
    }))
}

/// The points of a series with their intervals.
fn points(series: &Series, mode: &str, x: Value) -> Value {
    let y: Vec<f64> = series.data.iter().map(|datum| rounded(datum.y)).collect();
    let mut trace = json!({
        "type": "scatter",
        "name": series.name,
        "mode": mode,
        "x": x,
        "y": y,
        "marker": { "color": colour(series.scheme), "symbol": symbol(series.scheme), "size": 8 },
    });
    let lengths = |of: fn(&Datum, (f64, f64)) -> f64| -> Option<Vec<f64>> {
        series.data.iter().map(|datum| datum.ends.map(|ends| rounded(of(datum, ends)))).collect()
    };
    let (up, down) = (lengths(|datum, ends| ends.1 - datum.y), lengths(|datum, ends| datum.y - ends.0));
    if let (Some(up), Some(down)) = (up, down) {
        trace["error_y"] = json!({
            "type": "data", "symmetric": false, "array": up, "arrayminus": down, "thickness": 1.2, "width": 4,
        });
    }
    trace
}

fn colour(scheme: usize) -> &'static str {
    COLOURS[scheme % COLOURS.len()]
}

fn symbol(scheme: usize) -> &'static str {
    ["circle", "square", "diamond", "triangle-up", "x"][scheme % 5]
}

fn dash(scheme: usize) -> &'static str {
    ["solid", "dash", "dot"][(scheme / COLOURS.len()) % 3]
}
