//! A plot in the form that plotly.js draws: traces, layout and configuration of its own JSON
//! (<https://plotly.com/javascript/reference/>).

use serde_json::{Value, json};

use crate::figure::{Datum, Places, Plot, Series, Shape, Sizes, XAxis};
use crate::format::rounded;
use crate::looks::{Look, colour, look};

/// The plot; `None` if there is nothing to draw.
pub(crate) fn json(plot: &Plot) -> Option<Value> {
    if plot.is_empty() {
        return None;
    }
    let traces: Vec<Value> = plot.series.iter().map(|series| trace(series, &plot.x)).collect();
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
            "xaxis": x_axis(&plot.x),
            "yaxis": y_axis(plot),
        },
        "config": {
            "responsive": true,
            "displaylogo": false,
            "displayModeBar": "hover",
            "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
        },
    }))
}

fn axis(title: &str) -> Value {
    json!({
        "title": { "text": title, "font": { "size": 13 } },
        "gridcolor": "#e6e6e6",
        "linecolor": "#999999",
        "zeroline": false,
        "automargin": true,
    })
}

fn x_axis(x: &XAxis) -> Value {
    let mut axis = axis(&x.label());
    match &x.places {
        Places::Names(names) => {
            axis["type"] = json!("category");
            axis["categoryorder"] = json!("array");
            axis["categoryarray"] = json!(names);
        }
        Places::Numbers { is_log, ticks } => {
            if !ticks.is_empty() {
                axis["tickvals"] = ticks.iter().map(|(at, _)| json!(at)).collect();
                axis["ticktext"] = ticks.iter().map(|(_, name)| json!(name)).collect();
                axis["tickangle"] = json!(0);
            }
            if *is_log {
                axis["type"] = json!("log");
            }
        }
    }
    axis
}

fn y_axis(plot: &Plot) -> Value {
    let mut axis = axis(&plot.y.label());
    let range = plot.y_range();
    if range.is_log {
        axis["type"] = json!("log");
    } else {
        axis["range"] = json!([rounded(range.from), rounded(range.to)]);
    }
    axis
}

fn trace(series: &Series, x: &XAxis) -> Value {
    let places: Vec<Value> = match &x.places {
        Places::Names(_) => series.data.iter().map(|datum| json!(x.place(datum.x))).collect(),
        Places::Numbers { .. } => series.data.iter().map(|datum| json!(rounded(datum.x))).collect(),
    };
    let heights: Vec<f64> = series.data.iter().map(|datum| rounded(datum.y)).collect();
    let mut trace = json!({ "type": "scatter", "name": series.name, "x": places, "y": heights });
    match series.shape {
        Shape::Line => {
            trace["mode"] = json!("lines+markers");
            trace["marker"] = marker(series.scheme);
            trace["line"] = json!({ "color": colour(series.scheme), "dash": look(series.scheme).dash, "width": 2 });
        }
        Shape::Dots => {
            trace["mode"] = json!("markers");
            trace["marker"] = marker(series.scheme);
        }
        Shape::Bars => {
            trace["type"] = json!("bar");
            trace["marker"] = json!({ "color": colour(series.scheme) });
        }
        Shape::Reference => {
            trace["mode"] = json!("markers");
            let line = json!({ "width": 3 });
            trace["marker"] = json!({ "symbol": "line-ew-open", "size": 26, "line": line, "color": "#333333" });
        }
    }
    add_intervals(&mut trace, &series.data);
    add_sizes(&mut trace, &series.data);
    trace
}

fn add_intervals(trace: &mut Value, data: &[Datum]) {
    let lengths = |of: fn(&Datum, (f64, f64)) -> f64| -> Option<Vec<f64>> {
        data.iter().map(|datum| datum.ends.map(|ends| rounded(of(datum, ends)))).collect()
    };
    let (up, down) = (lengths(|datum, ends| ends.1 - datum.y), lengths(|datum, ends| datum.y - ends.0));
    if let (Some(up), Some(down)) = (up, down) {
        trace["error_y"] = json!({
            "type": "data", "symmetric": false, "array": up, "arrayminus": down, "thickness": 1.2, "width": 4,
        });
    }
}

/// The flows of a value, for the pointer and for the page's own CSV.
fn add_sizes(trace: &mut Value, data: &[Datum]) {
    let bins: Option<Vec<Value>> =
        data.iter().map(|datum| datum.sizes.map(|sizes| json!([sizes.above, sizes.up_to]))).collect();
    let Some(bins) = bins else { return };
    trace["customdata"] = bins.into();
    let in_words = |datum: &Datum| datum.sizes.map(Sizes::in_words);
    trace["text"] = data.iter().map(|datum| json!(in_words(datum))).collect();
}

fn marker(scheme: usize) -> Value {
    let Look { colour, symbol, .. } = look(scheme);
    json!({ "color": colour, "symbol": symbol, "size": 8 })
}
