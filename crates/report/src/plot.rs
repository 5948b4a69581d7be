//! The looks of a plot, and its JSON for plotly.js.
//!
//! A scheme has one colour, one symbol and one dash throughout. The colours are Okabe and Ito's, which people with any
//! kind of colour vision tell apart; the symbol says the same without colour.

use plotly::common::{
    Anchor, DashType, ErrorData, ErrorType, Font, Line, Marker, MarkerSymbol, Mode, Orientation, Title,
};
use plotly::configuration::{DisplayModeBar, ModeBarButtonName};
use plotly::layout::{Axis, AxisType, BarMode, HoverMode, Legend, Margin, RangeMode};
use plotly::{Bar, Configuration, Layout, Plot, Scatter, Trace};
use serde::Serialize;

use crate::format::rounded;

/// Okabe and Ito's colours, without the yellow that vanishes on white.
const COLOURS: [&str; 7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];

/// What a scheme has at one place, with the ends of its interval.
pub(crate) struct Place {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) ends: Option<(f64, f64)>,
}

/// A scheme's places.
pub(crate) struct Series {
    /// Its number in the sweep.
    pub(crate) scheme: usize,
    pub(crate) name: String,
    pub(crate) places: Vec<Place>,
}

/// A vertical axis from zero to where values and intervals end, or a logarithmic one where the values span more than
/// shows on that.
pub(crate) fn fitting_axis(title: &str, series: &[Series]) -> Axis {
    const SPAN: f64 = 20.0;
    let places = || series.iter().flat_map(|series| &series.places);
    let (least, most) =
        places().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), place| (least.min(place.y), most.max(place.y)));
    if most > SPAN * least {
        return axis(title).type_(AxisType::Log);
    }
    let end = places().map(|place| place.ends.map_or(place.y, |(_, high)| high)).fold(most, f64::max);
    axis(title).range(vec![0.0, rounded(1.05 * end)])
}

/// A vertical axis from zero.
pub(crate) fn axis_from_zero(title: &str) -> Axis {
    axis(title).range_mode(RangeMode::ToZero)
}

/// An axis of numbers.
pub(crate) fn axis(title: &str) -> Axis {
    let title = Title::with_text(title).font(Font::new().size(13));
    Axis::new().title(title).grid_color("#e6e6e6").line_color("#999999").zero_line(false).auto_margin(true)
}

/// An axis of names.
pub(crate) fn category() -> Axis {
    axis("").type_(AxisType::Category)
}

/// A line for each series.
pub(crate) fn lines(series: &[Series]) -> Vec<Box<dyn Trace>> {
    let line = |series: &Series| {
        let x = series.places.iter().map(|place| rounded(place.x)).collect();
        let line = Line::new().color(colour(series.scheme)).dash(dash(series.scheme)).width(2.0);
        with_intervals(Scatter::new(x, values(series)).mode(Mode::LinesMarkers).line(line), series)
    };
    series.iter().map(line).collect()
}

/// A dot for each series, over its name.
pub(crate) fn dots(series: &[Series]) -> Vec<Box<dyn Trace>> {
    let dot = |series: &Series| {
        let x = vec![series.name.clone(); series.places.len()];
        with_intervals(Scatter::new(x, values(series)).mode(Mode::Markers), series)
    };
    series.iter().map(dot).collect()
}

/// A scheme's bars over names.
pub(crate) fn bar(scheme: usize, name: &str, names: Vec<String>, heights: Vec<f64>) -> Box<dyn Trace> {
    Bar::new(names, heights).name(name).marker(Marker::new().color(colour(scheme)))
}

/// Short lines across bars, to hold them against.
pub(crate) fn reference(name: &str, names: Vec<String>, heights: Vec<f64>) -> Box<dyn Trace> {
    let line = Line::new().width(3.0);
    let marker = Marker::new().symbol(MarkerSymbol::LineEWOpen).size(26).line(line).color("#333333");
    Scatter::new(names, heights).name(name).mode(Mode::Markers).marker(marker)
}

/// The plot as JSON; `None` without traces.
pub(crate) fn draw(traces: Vec<Box<dyn Trace>>, x_axis: Axis, y_axis: Axis) -> Option<String> {
    if traces.is_empty() {
        return None;
    }
    let mut plot = Plot::new();
    plot.add_traces(traces);
    let legend = Legend::new().orientation(Orientation::Horizontal).x(0.0).y(1.0).y_anchor(Anchor::Bottom);
    plot.set_layout(
        Layout::new()
            .font(Font::new().family("system-ui, sans-serif").size(13).color("#222222"))
            // The bar of buttons is above the legend.
            .margin(Margin::new().left(64).right(16).top(64).bottom(56))
            .height(380)
            .show_legend(true)
            .legend(legend)
            .bar_mode(BarMode::Group)
            .hover_mode(HoverMode::Closest)
            .x_axis(x_axis)
            .y_axis(y_axis),
    );
    let unused = vec![ModeBarButtonName::Select2d, ModeBarButtonName::Lasso2d, ModeBarButtonName::AutoScale2d];
    let configuration = Configuration::new().responsive(true).display_logo(false);
    let configuration = configuration.display_mode_bar(DisplayModeBar::Hover).mode_bar_buttons_to_remove(unused);
    plot.set_configuration(configuration);
    Some(plot.to_json())
}

fn values(series: &Series) -> Vec<f64> {
    series.places.iter().map(|place| rounded(place.y)).collect()
}

fn with_intervals<X: Serialize + Clone + 'static>(trace: Box<Scatter<X, f64>>, series: &Series) -> Box<dyn Trace> {
    let marker = Marker::new().color(colour(series.scheme)).symbol(symbol(series.scheme)).size(8);
    let trace = trace.name(&series.name).marker(marker);
    let lengths = |of: fn(&Place, (f64, f64)) -> f64| -> Option<Vec<f64>> {
        series.places.iter().map(|place| place.ends.map(|ends| rounded(of(place, ends)))).collect()
    };
    let (up, down) = (lengths(|place, ends| ends.1 - place.y), lengths(|place, ends| place.y - ends.0));
    match (up, down) {
        (Some(up), Some(down)) => {
            let data = ErrorData::new(ErrorType::Data).symmetric(false).array(up).array_minus(down);
            trace.error_y(data.thickness(1.2).width(4))
        }
        _ => trace,
    }
}

fn colour(scheme: usize) -> &'static str {
    COLOURS[scheme % COLOURS.len()]
}

fn symbol(scheme: usize) -> MarkerSymbol {
    match scheme % 5 {
        0 => MarkerSymbol::Circle,
        1 => MarkerSymbol::Square,
        2 => MarkerSymbol::Diamond,
        3 => MarkerSymbol::TriangleUp,
        _ => MarkerSymbol::X,
    }
}

fn dash(scheme: usize) -> DashType {
    match (scheme / COLOURS.len()) % 3 {
        0 => DashType::Solid,
        1 => DashType::Dash,
        _ => DashType::Dot,
    }
}
