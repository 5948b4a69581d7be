//! A plot in the form that plotly.js draws: traces, layout and configuration of its own JSON
//! (<https://plotly.com/javascript/reference/>).

use serde_json::{Value, json};

use crate::axes::Scaled;
use crate::figure::{Datum, Places, Plot, Series, Shape, Sizes};
use crate::format::rounded;
use crate::looks::{Look, colour, look};

/// The plot; `None` if there is nothing to draw.
pub(crate) fn json(plot: &Plot) -> Option<Value> {
    if plot.is_empty() {
        return None;
    }
    let traces: Vec<Value> = plot.series.iter().map(|series| trace(series, plot)).collect();
    Some(json!({
        "data": traces,
        "layout": {
            "font": { "family": "system-ui, sans-serif", "size": 13, "color": "#222222" },
            // The bar of buttons is above the legend.
            "margin": { "l": 64, "r": 16, "t": 64, "b": 56 },
            "height": 380,
            "showlegend": true,
            "legend": { "orientation": "h", "x": 0, "y": 1, "yanchor": "bottom" },
            "barmode": if plot.bar_places().iter().any(|(_, bars)| *bars > 1) { "group" } else { "overlay" },
            "hovermode": "closest",
            "xaxis": x_axis(plot),
            "yaxis": axis(&plot.y.label(), &plot.y_scaled()),
        },
        "config": {
            "responsive": true,
            "displaylogo": false,
            "displayModeBar": "hover",
            "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
        },
    }))
}

/// An axis with the scale and the ticks that it has in every drawing. plotly.js counts a logarithmic axis in powers of ten.
fn axis(title: &str, scaled: &Scaled) -> Value {
    let on_paper = |value: f64| rounded(if scaled.is_log { libm::log10(value) } else { value });
    json!({
        "title": { "text": title, "font": { "size": 13 } },
        "type": if scaled.is_log { "log" } else { "linear" },
        "range": [on_paper(scaled.from), on_paper(scaled.to)],
        "tickvals": scaled.ticks.iter().map(|(at, _)| rounded(*at)).collect::<Vec<f64>>(),
        "ticktext": scaled.ticks.iter().map(|(_, words)| words.replace('\n', "<br>")).collect::<Vec<String>>(),
        "tickangle": 0,
        "gridcolor": "#e6e6e6",
        "linecolor": "#999999",
        "zeroline": false,
        "automargin": true,
    })
}

fn x_axis(plot: &Plot) -> Value {
    let mut axis = axis(&plot.x.label(), &plot.x_scaled());
    if let Places::Names(names) = &plot.x.places {
        axis["type"] = json!("category");
        axis["categoryorder"] = json!("array");
        axis["categoryarray"] = json!(names);
        // Names are long: plotly.js turns and thins them as they fit.
        for own in ["range", "tickvals", "ticktext", "tickangle"] {
            axis.as_object_mut().map(|axis| axis.remove(own));
        }
    }
    axis
}

fn trace(series: &Series, plot: &Plot) -> Value {
    let x = &plot.x;
    let places: Vec<Value> = match &x.places {
        Places::Names(_) => series.data.iter().map(|datum| json!(x.place(datum.x))).collect(),
        Places::Numbers { .. } => series.data.iter().map(|datum| json!(rounded(datum.x))).collect(),
    };
    let heights: Vec<f64> = series.data.iter().map(|datum| rounded(datum.y)).collect();
    let mut trace = json!({ "type": "scatter", "name": series.label, "x": places, "y": heights });
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
            // plotly.js counts a bar from where it stands.
            let foot = plot.foot();
            if foot != 0.0 {
                trace["base"] = json!(foot);
                trace["y"] = series.data.iter().map(|datum| json!(rounded(datum.y - foot))).collect();
            }
            trace["marker"] = json!({ "color": colour(series.scheme) });
        }
        Shape::Reference => {
            trace["mode"] = json!("markers");
            let line = json!({ "width": 3 });
            trace["marker"] = json!({ "symbol": "line-ew-open", "size": 26, "line": line, "color": "#333333" });
        }
    }
    add_intervals(&mut trace, series);
    add_sizes(&mut trace, &series.data);
    trace
}

fn add_intervals(trace: &mut Value, series: &Series) {
    let Series { data, shape, .. } = series;
    let lengths = |of: fn(&Datum, (f64, f64)) -> f64| -> Option<Vec<f64>> {
        data.iter().map(|datum| datum.ends.map(|ends| rounded(of(datum, ends)))).collect()
    };
    let (up, down) = (lengths(|datum, ends| ends.1 - datum.y), lengths(|datum, ends| datum.y - ends.0));
    if let (Some(up), Some(down)) = (up, down) {
        trace["error_y"] = json!({
            "type": "data", "symmetric": false, "array": up, "arrayminus": down, "thickness": 1.2, "width": 4,
        });
        if *shape == Shape::Bars {
            trace["error_y"]["color"] = json!("#333333");
        }
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
