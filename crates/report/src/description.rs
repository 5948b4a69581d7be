//! A plot as data, for programs that draw it themselves: its axes, ticks, series, looks and intervals are those of every other
//! drawing of it.

use serde_json::{Value, json};

use crate::axes::Scaled;
use crate::figure::{Datum, Places, Plot, Series, Shape};
use crate::looks::{look, marked_of};

/// `all`: the plots of its figure.
pub(crate) fn json(plot: &Plot, all: &[Plot]) -> Value {
    let series = plot.series.iter().zip(plot.bar_places()).map(|(series, place)| described(series, place));
    json!({
        "title": plot.title,
        "x": axis(&plot.x.label(), &plot.x_scaled(), matches!(plot.x.places, Places::Names(_))),
        "y": axis(&plot.y.label(), &plot.y_scaled_among(all), false),
        "foot": plot.foot(),
        "series": series.collect::<Vec<Value>>(),
    })
}

/// `names`: its values are the numbers of names, and a bar may stand around each.
fn axis(label: &str, scaled: &Scaled, names: bool) -> Value {
    let Scaled { is_log, from, to, ticks, light } = scaled;
    json!({
        "label": label,
        "names": names,
        "log": is_log,
        "from": from,
        "to": to,
        "ticks": ticks,
        "light": light,
    })
}

/// `place`: which of how many bars at a place it has. Of its values every `every`th has a mark.
fn described(series: &Series, place: (usize, usize)) -> Value {
    let look = look(series.scheme);
    let datum = |datum: &Datum| {
        let (low, high) = datum.ends.unzip();
        json!({ "x": datum.x, "y": datum.y, "low": low, "high": high })
    };
    json!({
        "scheme": series.scheme,
        "name": series.name,
        "label": series.label,
        "shape": match series.shape {
            Shape::Line => "line",
            Shape::Dots => "dots",
            Shape::Bars => "bars",
            Shape::Reference => "reference",
        },
        "colour": look.colour,
        "symbol": look.symbol,
        "dash": look.dash,
        "bar": place,
        "every": marked_of(series.data.len()),
        "data": series.data.iter().map(datum).collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Base;
    use crate::figure::tests::plot;

    #[test]
    fn json__has_what_a_drawing_shows() {
        let described = json(&plot(Base::ZeroOrLog, &[1.0, 30.0]), &[]);
        assert_eq!(described["y"]["label"], "FCT (ms)");
        assert_eq!(described["y"]["log"], true);
        let ticks: Vec<&str> =
            described["y"]["ticks"].as_array().unwrap().iter().filter_map(|tick| tick[1].as_str()).collect();
        assert_eq!(ticks, ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]);
        let pias = &described["series"][1];
        assert_eq!(
            (&pias["colour"], &pias["symbol"], &pias["dash"]),
            (&json!("#DDAA33"), &json!("square"), &json!("dash"))
        );
        assert_eq!((&pias["shape"], &pias["data"][0]["x"]), (&json!("line"), &json!(0.5)));
        let (low, y) = (pias["data"][0]["low"].as_f64().unwrap(), pias["data"][0]["y"].as_f64().unwrap());
        assert!((low - 0.9 * y).abs() < 1e-9, "{pias}");
    }
}
