//! `plots.csv`: the numbers of every plot of the page, a row for each place of a series, with the ends of its interval.

use flowsieve_results::SizeClass;
use serde_json::Value;

use crate::cases::Case;
use crate::figures::Figure;

/// What the page's plots show, one after the other.
pub(crate) fn plots(figures: &[&Figure], cases: &[Case], classes: &[SizeClass]) -> String {
    let mut text = String::from("plot,case,load,class,axis,series,x,y,low,high\n");
    for figure in figures {
        // The page holds the same text: what draws it reads it.
        let Some(plot) = figure.json.as_deref().and_then(|json| serde_json::from_str::<Value>(json).ok()) else {
            continue;
        };
        let case = &cases[figure.case];
        let load = figure.load.map_or(String::new(), |load| case.loads[load].name());
        let class = figure.class.map_or("", |class| &classes[class].name);
        let axis = plot["layout"]["yaxis"]["title"]["text"].as_str().unwrap_or("");
        let place = [&*figure.title, &case.name(), &load, class, axis].map(quoted);
        for trace in plot["data"].as_array().into_iter().flatten() {
            rows(&mut text, &place.join(","), trace);
        }
    }
    text
}

fn rows(text: &mut String, place: &str, trace: &Value) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (up, down) = (list(&trace["error_y"]["array"]), list(&trace["error_y"]["arrayminus"]));
    for (at, (x, y)) in list(&trace["x"]).iter().zip(list(&trace["y"])).enumerate() {
        let end = |lengths: &[Value], sign: f64| {
            let end = lengths.get(at).and_then(Value::as_f64).zip(y.as_f64());
            end.map_or(String::new(), |(length, y)| crate::format::rounded(y + sign * length).to_string())
        };
        let name = quoted(trace["name"].as_str().unwrap_or(""));
        let x = x.as_str().map_or_else(|| x.to_string(), quoted);
        *text += &format!("{place},{name},{x},{y},{},{}\n", end(&down, -1.0), end(&up, 1.0));
    }
}

/// A cell, in quotes where it needs them.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}
